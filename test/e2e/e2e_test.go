// Package e2e_test drives the real Claude Code client with the plugin installed, the way a user has it, and a scripted
// model in place of Claude.
package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"legwork/pkg/llm/llmtest"
	"legwork/test/e2e/backend"
	"legwork/test/e2e/claude"
)

const prefix = "mcp__plugin_legwork_legwork__" // how the client names our tools

func call(name string, input map[string]any) backend.Tool {
	return backend.Tool{Name: prefix + name, Input: input}
}

// allow is the flag that lets the run use our tools without asking.
func allow(tools ...string) string {
	for i := range tools {
		tools[i] = prefix + tools[i]
	}
	return "--allowedTools=" + strings.Join(tools, ",")
}

// allowBash gives the user a rule for Bash, which our commands obey.
func allowBash(t *testing.T, c *claude.Client, rule string) {
	t.Helper()
	write(t, filepath.Join(c.Dir, ".claude", "settings.local.json"), fmt.Sprintf(`{"permissions":{"allow":[%q]}}`, rule))
}

func TestValidate(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	dir := plugin(t)
	for _, args := range [][]string{
		{"--strict", dir},
		{"--strict", filepath.Join(dir, ".claude-plugin/plugin.json")},
		{"--strict", filepath.Join(dir, ".claude-plugin/marketplace.json")},
		{"--strict", "--profile", "directory", dir}, // what the plugin directory wants too: README, licence, icon
	} {
		if out := c.Must(append([]string{"plugin", "validate"}, args...)...); !strings.Contains(out, "passed") || strings.Contains(out, "warning") {
			t.Errorf("validate %q: %s", args, out)
		}
	}
}

// The main job: a noisy failing run is read for Claude, from a plugin installed over git, without any other step.
func TestOffloadInstalledFromGit(t *testing.T) {
	t.Parallel()
	offloadFromGit(t, plugin(t))
}

// The binaries that are committed do the same while the sources go on: the plugin can be installed from every commit.
func TestShippedBinaryInstalls(t *testing.T) {
	t.Parallel()
	bin, current := shipped()
	switch {
	case bin == "":
		t.Skip("no release has been made: bin/prebuilt is empty")
	case current:
		t.Skip("the whole suite runs the shipped binary: it is of these sources")
	}
	offloadFromGit(t, pluginWith(t, bin))
}

func offloadFromGit(t *testing.T, dir string) {
	t.Helper()
	c := claude.New(t)
	install(t, c, gitURL(t, dir))
	copyFile(t, "../../examples/failing/run.sh", filepath.Join(c.Dir, "run.sh"), 0o644)
	allowBash(t, c, "Bash(sh run.sh)")
	b := backend.New(t,
		backend.Turn{Text: "I will have it read.", Tools: []backend.Tool{call("offload", map[string]any{
			"command": "sh run.sh", "question": "which test fails, and why?",
		})}},
		backend.Turn{Text: "Test 117 fails."})
	ev := c.Print(b.URL, "run the tests", allow("offload"))
	if !ev.OK() {
		t.Fatalf("the run failed: %+v", ev.Run)
	}
	checkServer(t, ev.Init())
	first := b.Main()[0]
	if !slices.Contains(first.Tools(), prefix+"offload") {
		t.Errorf("offload is not offered from the start: %q", first.Tools())
	}
	if !strings.Contains(first.Text(), prefix+"offload with your question") {
		t.Error("the reminder of the session start did not reach the model")
	}
	results := b.Results()
	if len(results) != 1 || results[0].Tool != prefix+"offload" || results[0].Error {
		t.Fatalf("results: %+v", results)
	}
	reply := results[0].Text
	head, _, _ := strings.Cut(reply, "\n")
	if !strings.Contains(head, "exit 1") {
		t.Errorf("the first line does not give the status: %q", head)
	}
	for _, want := range []string{"rounds half a cent up", "10.12"} {
		if !strings.Contains(reply, want) {
			t.Errorf("the reply lacks %q:\n%s", want, reply)
		}
	}
	if len(reply) > 4000 {
		t.Errorf("the reply has %d bytes", len(reply))
	}
}

func checkServer(t *testing.T, init gjson.Result) {
	t.Helper()
	for _, s := range init.Get("mcp_servers").Array() {
		if s.Get("name").Str == "plugin:legwork:legwork" && s.Get("status").Str == "connected" {
			return
		}
	}
	t.Errorf("the server was not connected when the session began: %s", init.Get("mcp_servers").Raw)
}

// Two questions of one turn are answered at the same time: the tool that cannot change anything says so.
func TestTwoFilesAtOnce(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	install(t, c, plugin(t))
	var both sync.WaitGroup
	both.Add(2)
	model := llmtest.NewLlamaServer(t, llmtest.Config{Slots: 2, Answer: func(call llmtest.Call) llmtest.Reply {
		if !strings.Contains(string(call.Body), "payload of") {
			return llmtest.Reply{Text: "ok"}
		}
		both.Done()
		met := make(chan struct{})
		go func() { both.Wait(); close(met) }()
		select {
		case <-met:
		case <-time.After(20 * time.Second): // one after the other: the second was not asked
		}
		return llmtest.Reply{Text: "the payload is in line 2"}
	}})
	writeConfig(t, c, fmt.Sprintf("endpoints:\n  fake: {base_url: %s, backend: llama.cpp}\n", model.URL))
	for _, name := range []string{"a.log", "b.log"} {
		text := "first\npayload of " + name + "\n" + strings.Repeat("noise\n", 50)
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := backend.New(t, backend.Turn{Tools: []backend.Tool{
		call("offload_files", map[string]any{"files": []string{"a.log"}, "question": "where is the payload?"}),
		call("offload_files", map[string]any{"files": []string{"b.log"}, "question": "where is the payload?"}),
	}})
	ev := c.Print(b.URL, "look", allow("offload_files"))
	results := b.Results()
	if !ev.OK() || len(results) != 2 {
		t.Fatalf("%+v\n%+v", ev.Run, results)
	}
	for _, r := range results {
		if r.Error || !strings.Contains(r.Text, "test-model") {
			t.Errorf("the model did not answer: %+v", r)
		}
	}
	if model.Peak() < 2 {
		t.Errorf("at most %d question at a time", model.Peak())
	}
}

func writeConfig(t *testing.T, c *claude.Client, text string) {
	t.Helper()
	dir := filepath.Join(c.Home, ".config/legwork")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLocalSetup(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	install(t, c, plugin(t))
	model := llmtest.NewLlamaServer(t, llmtest.Config{})
	writeConfig(t, c, fmt.Sprintf("endpoints:\n  fake: {base_url: %s, backend: llama.cpp}\n", model.URL))
	b := backend.New(t,
		backend.Turn{Tools: []backend.Tool{call("list_models", map[string]any{})}},
		backend.Turn{Tools: []backend.Tool{call("configure", map[string]any{})}},
		backend.Turn{Text: "It works."})
	ev := c.Print(b.URL, "/legwork:local-setup take the small one", allow("list_models", "configure"))
	if !ev.OK() {
		t.Fatalf("%+v", ev.Run)
	}
	first := b.Main()[0].Text()
	if !strings.Contains(first, "Set up legwork") || !strings.Contains(first, "take the small one") {
		t.Error("the command's text did not reach the model")
	}
	results := b.Results()
	if len(results) != 2 || results[0].Error || results[1].Error || !strings.Contains(results[0].Text, "test-model") {
		t.Errorf("results: %+v", results)
	}
	// Every tool that the command names must exist.
	have := ev.Init().Get("tools").Raw
	for _, word := range strings.FieldsFunc(first, func(r rune) bool { return r == '`' || r == ' ' || r == '\n' || r == ',' || r == '.' }) {
		if strings.HasPrefix(word, prefix) && !strings.Contains(have, `"`+word+`"`) {
			t.Errorf("the command names %s, which is not there: %s", word, have)
		}
	}
}

// G04, B05: the client is interrupted while a command of ours runs; nothing of it may stay.
func TestInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	install(t, c, plugin(t))
	allowBash(t, c, "Bash")
	b := backend.New(t, backend.Turn{Tools: []backend.Tool{call("offload", map[string]any{
		"command": "touch started; sleep 600 & sleep 601; echo never", "question": "what happened?",
	})}})
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(c.Dir, "started")); err == nil {
				interrupt()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	ev := c.PrintContext(ctx, b.URL, "run it", allow("offload"))
	if ctx.Err() == nil {
		t.Fatalf("the command never ran: %+v", ev.Run)
	}
}
