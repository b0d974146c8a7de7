package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		backend.Turn{Tools: []backend.Tool{bash("LEGWORK_RAW=1 " + small)}},
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
		t.Errorf("LEGWORK_RAW=1 did not keep the output: %d bytes", len(r.Text))
	}
	path := results[0].Text[strings.Index(results[0].Text, "all of it: ")+len("all of it: "):]
	path, _, _ = strings.Cut(path, ";")
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "case 0379 holds") {
		t.Errorf("the whole text is not at %s: %v", path, err)
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
	if !strings.Contains(last, "its end is gone") || !strings.Contains(last, "BASH_MAX_OUTPUT_LENGTH=150000") {
		t.Errorf("the model is not told: %.3000s", last)
	}
	c.Setenv("BASH_MAX_OUTPUT_LENGTH", "150000")
	b = backend.New(t, backend.Turn{Tools: []backend.Tool{bash(run)}}, backend.Turn{Text: "done"})
	c.Print(b.URL, "run it", "--allowedTools=Bash")
	main = b.Main()
	if last := main[len(main)-1].Text(); !strings.Contains(last, "not ok 1500 - the last one") {
		t.Errorf("the real end is missing: %.3000s", last)
	}
}

// K12: allowing our tool does not open what the rules for Bash deny or ask.
func TestPermissionParity(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	install(t, c, gitURL(t, plugin(t)))
	write(t, filepath.Join(c.Dir, ".env"), "SECRET=hidden-value\n")
	write(t, filepath.Join(c.Dir, ".claude", "settings.local.json"),
		`{"permissions":{"allow":["Bash(sh ok.sh)"],"deny":["Bash(git push:*)","Read(./.env)"],"ask":["Bash(git commit:*)"]}}`)
	write(t, filepath.Join(c.Dir, "ok.sh"), "echo fine\n")
	ask := func(command string) backend.Turn {
		return backend.Turn{Tools: []backend.Tool{call("offload", map[string]any{"command": command, "question": "what was printed?"})}}
	}
	commands := []string{"git status", "ls", "sh ok.sh", "git push origin main", "git commit -m x", "cat .env", "touch made"}
	var turns []backend.Turn
	for _, cmd := range commands {
		turns = append(turns, ask(cmd))
	}
	b := backend.New(t, append(turns, backend.Turn{Text: "done"})...)
	ev := c.Print(b.URL, "run them", allow("offload"))
	results := b.Results()
	if !ev.OK() || len(results) != len(commands) {
		t.Fatalf("%+v\n%+v", ev.Run, results)
	}
	for i, cmd := range commands {
		if refused := results[i].Error; refused != (i > 2) {
			t.Errorf("%s: refused %v: %.300s", cmd, refused, results[i].Text)
		}
		if strings.Contains(results[i].Text, "hidden-value") {
			t.Errorf("%s printed the secret", cmd)
		}
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "made")); err == nil {
		t.Error("a command nobody allowed ran")
	}
}
