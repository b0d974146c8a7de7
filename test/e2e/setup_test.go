package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"legwork/pkg/llm/llmtest"
	"legwork/test/e2e/backend"
	"legwork/test/e2e/claude"
)

// fenced is the text of the first code block in what the model was sent.
func fenced(t *testing.T, text, after string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, after)
	_, rest, open := strings.Cut(rest, "```\n")
	block, _, closed := strings.Cut(rest, "\n```")
	if !ok || !open || !closed {
		t.Fatalf("no code block after %q in:\n%s", after, text)
	}
	return block
}

// The set-up from beginning to end: the command shows what was found without a question, the model passes the user's
// choice on, and afterwards the settings hold, the note stands, and everything was checked.
func TestLocalSetupWrites(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	install(t, c, plugin(t))
	model := llmtest.NewLlamaServer(t, llmtest.Config{Models: []llmtest.Model{{ID: "small-coder"}}})
	gpu := llmtest.NewOpenAI(t, llmtest.Config{Models: []llmtest.Model{{ID: "big-coder"}}})
	writeConfig(t, c, fmt.Sprintf("endpoints:\n  desk: {base_url: %s}\n  gpu: {base_url: %s}\n", model.URL, gpu.URL))
	root := regexp.MustCompile(`sh "([^"]+)/bin/legwork" setup --json`)
	var launcher string
	b := backend.New(t)
	turn := 0
	b.Answer(func(r backend.Request) backend.Turn {
		turn++
		switch turn {
		case 1:
			m := root.FindStringSubmatch(r.Text())
			if m == nil {
				return backend.Turn{Text: "no launcher"}
			}
			launcher = fmt.Sprintf("sh %q setup --json --model big-coder --auto-use offload,delegate --snippet user", m[1]+"/bin/legwork")
			return backend.Turn{Tools: []backend.Tool{bash(launcher)}}
		case 2:
			return backend.Turn{Tools: []backend.Tool{bash(launcher + " --yes")}}
		}
		return backend.Turn{Text: "It works."}
	})
	ev := c.Print(b.URL, "/legwork:local-setup take the big one", "--allowedTools=Bash(sh:*)")
	if !ev.OK() {
		t.Fatalf("%+v", ev.Run)
	}
	first := b.Main()[0].Text()
	found := fenced(t, first, "and how to choose:")
	for _, want := range []string{`"small-coder"`, `"big-coder"`, `"note_text"`, `--auto-use LIST`, `"state": "absent"`} {
		if !strings.Contains(found, want) {
			t.Errorf("what was found lacks %s:\n%s", want, found)
		}
	}
	if !strings.Contains(first, "take the big one") {
		t.Error("the user's wish is lost")
	}
	results := b.Results()
	if len(results) != 2 || results[0].Error || results[1].Error {
		t.Fatalf("results: %+v", results)
	}
	if !strings.Contains(results[0].Text, `"written": null`) || !strings.Contains(results[1].Text, "config.local.yaml") || !strings.Contains(results[1].Text, `"check": "endpoint gpu"`) {
		t.Errorf("shown:\n%s\nwritten:\n%s", results[0].Text, results[1].Text)
	}
	settings, err := os.ReadFile(filepath.Join(c.Home, ".config/legwork/config.local.yaml"))
	if err != nil || !strings.Contains(string(settings), "big-coder") || !strings.Contains(string(settings), "delegate") {
		t.Errorf("settings: %v\n%s", err, settings)
	}
	// The note is read in the next session, and names the tools as the client does.
	b2 := backend.New(t, backend.Turn{Text: "Hello."})
	if ev := c.Print(b2.URL, "hello"); !ev.OK() {
		t.Fatalf("%+v", ev.Run)
	}
	if text := b2.Main()[0].Text(); !strings.Contains(text, "## Local worker (legwork)") || !strings.Contains(text, prefix+"delegate") {
		t.Error("the next session does not see the note")
	}
}

// The commands that only show need no permission and no turn of the model before.
func TestCommandsThatShow(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	install(t, c, plugin(t))
	model := llmtest.NewLlamaServer(t, llmtest.Config{Models: []llmtest.Model{{ID: "small-coder"}}})
	writeConfig(t, c, fmt.Sprintf("endpoints:\n  desk: {base_url: %s}\n", model.URL))
	for _, try := range []struct{ command, after, want string }{
		{"/legwork:local-models", "serve now:", "small-coder"},
		{"/legwork:local-jobs", "if any:", "no jobs"},
	} {
		b := backend.New(t, backend.Turn{Text: "That is it."})
		if ev := c.Print(b.URL, try.command); !ev.OK() || len(b.Main()) == 0 {
			t.Fatalf("%s: %+v", try.command, ev.Run)
		}
		if shown := fenced(t, b.Main()[0].Text(), try.after); !strings.Contains(shown, try.want) {
			t.Errorf("%s shows:\n%s", try.command, shown)
		}
	}
	// With all servers off the command still shows it.
	model.Close()
	b := backend.New(t, backend.Turn{Text: "It is off."})
	if ev := c.Print(b.URL, "/legwork:local-models"); !ev.OK() || len(b.Main()) == 0 || !strings.Contains(fenced(t, b.Main()[0].Text(), "serve now:"), "down") {
		t.Errorf("with the server off: %+v", ev.Run)
	}
}

// The key that the client keeps reaches the model server through the plugin's server, and lies in no file of ours; with
// nothing filled in, the server runs all the same.
func TestKeyKeptByTheClient(t *testing.T) {
	t.Parallel()
	const key = "kept-by-the-client-1"
	c := claude.New(t)
	c.Must("plugin", "marketplace", "add", plugin(t))
	c.Must("plugin", "install", "legwork@legwork", "--config", "api_key="+key)
	model := llmtest.NewVLLM(t, llmtest.Config{APIKey: key})
	writeConfig(t, c, fmt.Sprintf("endpoints:\n  gpu: {base_url: %s, api_key_env: LEGWORK_API_KEY}\n", model.URL))
	allowBash(t, c, "Bash(env)")
	b := backend.New(t,
		backend.Turn{Tools: []backend.Tool{call("local_complete", map[string]any{"prompt": "hello"})}},
		backend.Turn{Tools: []backend.Tool{call("configure", map[string]any{})}},
		backend.Turn{Tools: []backend.Tool{call("offload", map[string]any{"command": "env", "question": "which variables hold a key?"})}})
	ev := c.Print(b.URL, "ask it", allow("local_complete", "configure", "offload"))
	results := b.Results()
	if !ev.OK() || len(results) != 3 {
		t.Fatalf("%+v\n%+v", ev.Run, results)
	}
	if results[0].Error || !strings.Contains(results[0].Text, "ok") {
		t.Errorf("the server did not let us in: %+v", results[0])
	}
	for _, r := range results {
		if strings.Contains(r.Text, key) {
			t.Errorf("%s shows the key: %s", r.Tool, r.Text)
		}
	}
	if !strings.Contains(results[1].Text, "endpoints.gpu.api_key") || !strings.Contains(results[1].Text, "LEGWORK_API_KEY") {
		t.Errorf("the origin of the key is not shown: %s", results[1].Text)
	}
	for _, dir := range []string{".config/legwork", ".state/legwork", ".cache/legwork"} {
		err := filepath.WalkDir(filepath.Join(c.Home, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // not there: nothing in it
			}
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), key) {
				t.Errorf("%s holds the key", path)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// After the uninstaller and the client's own, the home holds what the user made and what the client keeps of its sessions,
// and nothing of ours.
func TestUninstallLeavesNothing(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	dir := plugin(t)
	install(t, c, dir)
	model := llmtest.NewLlamaServer(t, llmtest.Config{})
	settings := fmt.Sprintf("endpoints:\n  desk: {base_url: %s}\n", model.URL)
	writeConfig(t, c, settings)
	write(t, filepath.Join(c.Home, ".claude/CLAUDE.md"), "My rules.\n")
	allowBash(t, c, "Bash(seq 3000)")
	b := backend.New(t,
		backend.Turn{Tools: []backend.Tool{call("offload", map[string]any{"command": "seq 3000", "question": "what is the last number?"})}},
		backend.Turn{Tools: []backend.Tool{call("configure", map[string]any{"set": []string{"offload.answer_tokens=900"}})}},
		backend.Turn{Tools: []backend.Tool{bash(fmt.Sprintf("sh %q setup --snippet user --yes --no-doctor", dir+"/bin/legwork"))}})
	if ev := c.Print(b.URL, "work", allow("offload", "configure")+",Bash(sh:*)"); !ev.OK() || len(b.Results()) != 3 {
		t.Fatalf("%+v\n%+v", ev.Run, b.Results())
	}
	if text, err := os.ReadFile(filepath.Join(c.Home, ".claude/CLAUDE.md")); err != nil || !strings.Contains(string(text), "legwork") {
		t.Fatalf("the note does not stand: %v %s", err, text)
	}
	cmd := exec.Command("sh", filepath.Join(dir, "bin/legwork"), "clean", "--uninstall")
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.Must("plugin", "uninstall", "legwork@legwork")
	c.Must("plugin", "marketplace", "remove", "legwork")
	want := map[string]string{".config/legwork/config.yaml": settings, ".claude/CLAUDE.md": "My rules.\n"}
	err := filepath.WalkDir(c.Home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, _ := filepath.Rel(c.Home, path)
		if text, ours := want[rel]; ours {
			if got, err := os.ReadFile(path); err != nil || string(got) != text {
				t.Errorf("%s was changed: %v %q", rel, err, got)
			}
			delete(want, rel)
			return nil
		}
		if strings.HasPrefix(rel, ".claude/plugins/") {
			return nil // the client keeps its copy for a while
		}
		name := strings.ToLower(filepath.Base(rel))
		if strings.Contains(name, "legwork") || strings.HasPrefix(rel, ".config") || strings.HasPrefix(rel, ".state/legwork") || strings.HasPrefix(rel, ".cache/legwork") {
			t.Errorf("%s stays", rel)
		}
		return nil
	})
	if err != nil || len(want) != 0 {
		t.Errorf("%v; gone: %v", err, want)
	}
}
