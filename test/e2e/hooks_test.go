package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/test/e2e/backend"
	"legwork/test/e2e/claude"
)

// bash is a call of the client's own tool.
func bash(command string) backend.Tool {
	return backend.Tool{Name: "Bash", Input: map[string]any{"command": command, "description": "run it"}}
}

// tapRun writes a script that prints a TAP run of n tests with noise; the failing one, if any, is last.
func tapRun(t *testing.T, dir, name string, n int, fails bool) string {
	t.Helper()
	last, exit := "ok", 0
	if fails {
		last, exit = "not ok", 1
	}
	text := fmt.Sprintf(`awk 'BEGIN {
print "TAP version 13"
for (i = 1; i < %d; i++) { printf "[worker %%d] connected to queue orders-%%02d in %%d ms\n", i %% 4, i %% 16, (i * 37) %% 90; printf "ok %%d - case %%04d holds\n", i, i }
print "%s %d - the last one"
print "1..%d"; exit %d }'
`, n, last, n, n, exit)
	write(t, filepath.Join(dir, name), text)
	return "sh " + name
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Long output of successful commands reaches the model folded, and what was asked for line by line as it is.
func TestBashOutputShrinks(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	install(t, c, gitURL(t, plugin(t)))
	source := "package main\n\n" + strings.Repeat("// a line of source that nobody may fold away\nvar x = 1\n", 200)
	write(t, filepath.Join(c.Dir, "main.go"), source)
	small, large := tapRun(t, c.Dir, "small.sh", 380, false), tapRun(t, c.Dir, "large.sh", 1500, false)
	b := backend.New(t,
		backend.Turn{Tools: []backend.Tool{bash(small)}},
		backend.Turn{Tools: []backend.Tool{bash(large)}},
		backend.Turn{Tools: []backend.Tool{bash("cat main.go")}},
		backend.Turn{Tools: []backend.Tool{bash(small + " # LEGWORK_RAW")}},
		backend.Turn{Text: "done"})
	ev := c.Print(b.URL, "run them", "--allowedTools=Bash")
	results := b.Results()
	if !ev.OK() || len(results) != 4 {
		t.Fatalf("%+v\n%+v", ev.Run, results)
	}
	if r := results[0]; r.Error || len(r.Text) > 1500 || !strings.Contains(r.Text, "380 passed, 0 failed") {
		t.Errorf("a passing run of 25 kB became %d bytes: %.1500s", len(r.Text), r.Text)
	}
	if r := results[1]; r.Error || !strings.Contains(r.Text, "1500 passed, 0 failed") {
		t.Errorf("a passing run of 100 kB: %.2500s", r.Text)
	}
	if r := results[2]; strings.TrimSpace(r.Text) != strings.TrimSpace(source) {
		t.Errorf("a source file was changed: %.300s", r.Text)
	}
	if r := results[3]; len(r.Text) < 20_000 {
		t.Errorf("LEGWORK_RAW did not keep the output: %d bytes", len(r.Text))
	}
	path := results[0].Text[strings.Index(results[0].Text, "All of it, unchanged: ")+len("All of it, unchanged: "):]
	path, _, _ = strings.Cut(path, " (")
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "case 0379 holds") {
		t.Errorf("the whole text is not at %s: %v", path, err)
	}
	// The model may read it, and the text of an offload, without anybody's permission.
	write(t, filepath.Join(c.Dir, "a.log"), "first\nsecond\n")
	resume := "--resume=" + ev.Init().Get("session_id").Str
	b = backend.New(t,
		backend.Turn{Tools: []backend.Tool{{Name: "Read", Input: map[string]any{"file_path": path, "offset": 3, "limit": 2}}}},
		backend.Turn{Tools: []backend.Tool{bash("tail -2 " + path)}},
		backend.Turn{Tools: []backend.Tool{offloaded("tail -1 a.log")}})
	c.Print(b.URL, "read it", resume, allow("offload"))
	results = b.Results()
	results = results[len(results)-3:]
	for i, want := range []string{"case 0001 holds", "ok 380 - the last one", filepath.Join("tool-results", "legwork-")} {
		if results[i].Error || !strings.Contains(results[i].Text, want) {
			t.Errorf("%q is missing: error %v: %.500s", want, results[i].Error, results[i].Text)
		}
	}
	rows, err := os.ReadFile(filepath.Join(c.Home, ".state/legwork/runs.jsonl"))
	if n := strings.Count(string(rows), `"tool":"reread"`); err != nil || n != 2 {
		t.Errorf("%d fetches of the whole text are counted: %v\n%s", n, err, rows)
	}
}

// The end of a long failing run is gone before any hook sees it; the model is told, with the cures, and
// with one of them in force the real end is there.
func TestFailureIsExplained(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	install(t, c, gitURL(t, plugin(t)))
	run := tapRun(t, c.Dir, "red.sh", 1500, true)
	b := backend.New(t, backend.Turn{Tools: []backend.Tool{bash(run)}}, backend.Turn{Text: "done"})
	if ev := c.Print(b.URL, "run it", "--allowedTools=Bash"); !ev.OK() {
		t.Fatalf("%+v", ev.Run)
	}
	main := b.Main()
	last := main[len(main)-1].Text()
	if !strings.Contains(last, "its real end is gone") || !strings.Contains(last, "BASH_MAX_OUTPUT_LENGTH=150000") {
		t.Errorf("the model is not told: %.3000s", last)
	}
	write(t, filepath.Join(c.Dir, ".claude", "settings.local.json"), `{"env":{"BASH_MAX_OUTPUT_LENGTH":"150000"}}`) // as set-up offers it
	b = backend.New(t, backend.Turn{Tools: []backend.Tool{bash(run)}}, backend.Turn{Text: "done"})
	c.Print(b.URL, "run it", "--allowedTools=Bash")
	main = b.Main()
	if last := main[len(main)-1].Text(); !strings.Contains(last, "not ok 1500 - the last one") || !strings.Contains(last, "its end are complete") {
		t.Errorf("the real end is missing: %.3000s", last)
	}
}

// Whatever becomes of the hook, the model gets what the command printed: the hook is off, the server answers nonsense,
// nothing, too late, or is gone.
func TestTroubleKeepsTheOutput(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, c *claude.Client, commands ...string) {
		t.Helper()
		var turns []backend.Turn
		for _, cmd := range commands {
			turns = append(turns, backend.Turn{Tools: []backend.Tool{bash(cmd)}})
		}
		b := backend.New(t, turns...)
		ev := c.Print(b.URL, "run them", "--allowedTools=Bash", "--max-turns=20")
		results := b.Results()
		if !ev.OK() || len(results) != len(commands) {
			t.Fatalf("%+v\n%+v", ev.Run, results)
		}
		for i, r := range results {
			if r.Error || !strings.HasPrefix(r.Text, "TAP version 13") || !strings.Contains(r.Text, "ok 380 - the last one") {
				t.Errorf("%s: error %v, %d bytes: %.300s", commands[i], r.Error, len(r.Text), r.Text)
			}
		}
	}
	t.Run("server in trouble", func(t *testing.T) {
		t.Parallel()
		c := claude.New(t)
		install(t, c, fakePlugin(t))
		run := tapRun(t, c.Dir, "run.sh", 380, false)
		var commands []string
		for _, trouble := range troubles {
			commands = append(commands, run+" "+trouble.word)
		}
		check(t, c, append(commands, run)...)
	})
	t.Run("hooks off", func(t *testing.T) {
		t.Parallel()
		c := claude.New(t)
		install(t, c, plugin(t))
		write(t, filepath.Join(c.Dir, ".claude", "settings.local.json"), `{"disableAllHooks":true}`)
		check(t, c, tapRun(t, c.Dir, "run.sh", 380, false))
	})
	t.Run("shrink off", func(t *testing.T) {
		t.Parallel()
		c := claude.New(t)
		install(t, c, plugin(t))
		writeConfig(t, c, "shrink: off\n")
		check(t, c, tapRun(t, c.Dir, "run.sh", 380, false))
	})
}

// An interrupt while the hook is called ends the client at once, and nothing stays.
func TestInterruptDuringHook(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	install(t, c, fakePlugin(t))
	b := backend.New(t, backend.Turn{Tools: []backend.Tool{bash(tapRun(t, c.Dir, "run.sh", 380, false) + " slow")}})
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(c.Dir, "called")); err == nil {
				interrupt()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	ev := c.PrintContext(ctx, b.URL, "run it", "--allowedTools=Bash")
	if ctx.Err() == nil {
		t.Fatalf("the hook was never called: %+v", ev.Run)
	}
	if left := c.Left(); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// readOnly are commands that the client runs without asking anybody.
var readOnly = []string{
	"git status", "git diff", "git log --oneline", "ls", "ls -la", "cat a.txt", "grep -n hello a.txt", "head -1 a.txt", "wc -l a.txt",
	"cat a.txt | grep hello", "git status | head -3", "ls | wc -l",
}

// K10: without any rule, as many prompts with us as without: none. Through offload there are none either.
func TestReadOnlyCommandsAskNobody(t *testing.T) {
	t.Parallel()
	for _, with := range []bool{false, true} {
		c := claude.New(t)
		if with {
			install(t, c, plugin(t))
		}
		repository(t, c)
		var all []backend.Tool
		for _, cmd := range readOnly {
			all = append(all, bash(cmd))
			if with {
				all = append(all, call("offload", map[string]any{"command": cmd, "question": "what was printed?"}))
			}
		}
		b := backend.New(t, backend.Turn{Tools: all})
		ev := c.Print(b.URL, "look around", allow("offload"))
		results := b.Results()
		if !ev.OK() || len(results) != len(all) {
			t.Fatalf("%+v\n%+v", ev.Run, results)
		}
		for i, r := range results {
			if r.Error {
				t.Errorf("with the plugin: %v, %s: %.300s", with, all[i].Input, r.Text)
			}
		}
	}
}

// repository is a small git project with one commit.
func repository(t *testing.T, c *claude.Client) {
	t.Helper()
	write(t, filepath.Join(c.Dir, "a.txt"), "hello\nthere\n")
	write(t, filepath.Join(c.Dir, "ok.sh"), "echo fine\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = c.Dir, c.Env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write(t, filepath.Join(c.Dir, ".env"), "SECRET=hidden-value\n")
}

const someRules = `{"permissions":{"allow":["Bash(sh ok.sh)","Bash(cat:*)","Bash(grep:*)","Bash(head:*)","Bash(diff:*)"],
"deny":["Bash(git push:*)","Read(./.env)"],"ask":["Bash(git commit:*)"]},"env":{"GIT_TERMINAL_PROMPT":"0"}%s}`

// ruled are commands with what becomes of them under someRules in a session where nobody can be asked.
var ruled = []struct {
	command string
	refused bool
}{
	{"sh ok.sh", false},
	{"cat a.txt", false},
	{"git status", false},
	{"cat .env", true},
	{"grep SECRET .env", true},
	{"head -1 .env", true},
	{"diff .env a.txt", true},
	{"git push origin main", true},
	{"git commit -m x --allow-empty", true},
	{"touch made", true},
}

// try runs the commands, each in a turn of its own, and checks that what is refused is refused.
func try(t *testing.T, c *claude.Client, turn func(command string) backend.Tool, refused func(i int) bool, flags ...string) {
	t.Helper()
	var turns []backend.Turn
	for _, r := range ruled {
		turns = append(turns, backend.Turn{Tools: []backend.Tool{turn(r.command)}})
	}
	b := backend.New(t, turns...)
	ev := c.Print(b.URL, "run them", append(flags, allow("offload"), "--max-turns=30")...)
	results := b.Results()
	if len(results) != len(ruled) {
		t.Fatalf("%+v\n%+v", ev.Run, results)
	}
	for i, r := range results {
		if r.Error != refused(i) {
			t.Errorf("%s: refused %v: %.400s", ruled[i].command, r.Error, r.Text)
		}
		if strings.Contains(r.Text, "hidden-value") {
			t.Errorf("%s printed the secret", ruled[i].command)
		}
	}
}

func offloaded(command string) backend.Tool {
	return call("offload", map[string]any{"command": command, "question": "what was printed?"})
}

// K11, K12: what the rules for Bash and Read say holds without us, with us, through offload's command, and through it
// when hooks are off, in every mode. "made" is what no rule allows.
func TestPermissionParity(t *testing.T) {
	t.Parallel()
	asBash := func(i int) bool { return ruled[i].refused }
	for _, row := range []struct {
		name, mode string
		plugin     bool
		more       string // settings
		turn       func(string) backend.Tool
		refused    func(i int) bool
		made       bool // "touch made" ran
	}{
		{name: "Bash without the plugin", turn: bash, refused: asBash},
		{name: "Bash", plugin: true, turn: bash, refused: asBash},
		{name: "offload", plugin: true, turn: offloaded, refused: asBash},
		{name: "offload without hooks", plugin: true, more: `,"disableAllHooks":true`, turn: offloaded, refused: asBash},
		{name: "offload, nothing asks", plugin: true, mode: "dontAsk", turn: offloaded, refused: asBash},
		{name: "offload, edits accepted", plugin: true, mode: "acceptEdits", turn: offloaded, made: true, refused: func(i int) bool { return ruled[i].refused && ruled[i].command != "touch made" }},
		// The client itself asks here for what an ask rule names, so we do too.
		{name: "offload, permissions bypassed", plugin: true, mode: "bypassPermissions", turn: offloaded, made: true, refused: func(i int) bool { return ruled[i].refused && ruled[i].command != "touch made" }},
		{name: "offload in plan mode", plugin: true, mode: "plan", turn: offloaded, refused: func(int) bool { return true }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := claude.New(t)
			c.Setenv("IS_SANDBOX", "1") // lets root bypass permissions
			if row.plugin {
				install(t, c, plugin(t))
			}
			repository(t, c)
			write(t, filepath.Join(c.Dir, ".claude", "settings.local.json"), fmt.Sprintf(someRules, row.more))
			var flags []string
			if row.mode != "" {
				flags = append(flags, "--permission-mode="+row.mode)
			}
			try(t, c, row.turn, row.refused, flags...)
			if _, err := os.Stat(filepath.Join(c.Dir, "made")); (err == nil) != row.made {
				t.Errorf("what no rule allows: made %v", err == nil)
			}
		})
	}
}

// What a user types by name reaches the model with all its words, though the client hands on the first only.
func TestPromptTyped(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	install(t, c, plugin(t))
	b := backend.New(t, backend.Turn{Text: "done"})
	ev := c.Print(b.URL, "/"+prefix+"triage go test ./pkg/money")
	main := b.Main()
	if !ev.OK() || len(main) == 0 {
		t.Fatalf("%+v", ev.Run)
	}
	text := main[0].Text()
	for _, want := range []string{"go test ./pkg/money", "A test run is to be understood", prefix + "offload with the command `go"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not reach the model", want)
		}
	}
}
