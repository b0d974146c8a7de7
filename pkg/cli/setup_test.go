package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"legwork/pkg/llm/llmtest"
)

// files is everything below a folder, for comparing before and after.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(b)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return out
}

// Scripts: without a terminal and flags it says which flags; without --yes nothing is written; the second time there is
// nothing to do.
func TestSetupByFlags(t *testing.T) {
	posix(t)
	t.Setenv("LEGWORK_LOCAL_SERVERS", "none")
	s := llmtest.NewLlamaServer(t, llmtest.Config{Models: []llmtest.Model{{ID: "tiny-coder"}}})
	u := newUser(t, "")
	u.want(exitUsage, "--endpoint", "setup")
	before := files(t, u.dir)
	args := []string{"setup", "--endpoint", "gpu=" + s.URL, "--model", "tiny-coder", "--auto-use", "offload", "--snippet", "user", "--no-doctor"}
	u.want(0, "add --yes", args...)
	if after := files(t, u.dir); len(after) != len(before) {
		t.Errorf("it wrote without a yes: %v", after)
	}
	out := u.want(0, "written: ", append(args, "--yes")...)
	if !strings.Contains(out, "endpoints.gpu: "+s.URL) || !strings.Contains(out, "CLAUDE.md") {
		t.Errorf("it does not say what it wrote:\n%s", out)
	}
	u.want(0, "defaults.model", "configure")
	u.want(0, "tiny-coder", "models")
	note, err := os.ReadFile(filepath.Join(u.dir, ".claude/CLAUDE.md"))
	if err != nil || !strings.Contains(string(note), "__offload`") {
		t.Errorf("the note: %v %s", err, note)
	}
	u.want(0, "nothing to change", append(args, "--yes")...)
	u.want(0, "CLAUDE.md", "setup", "--remove-snippet", "--yes", "--no-doctor")
	if _, err := os.Stat(filepath.Join(u.dir, ".claude/CLAUDE.md")); !os.IsNotExist(err) {
		t.Error("the note's file stays")
	}
	u.want(0, "", "setup", "--model", "none", "--auto-use", "none", "--yes", "--no-doctor")
	if out := u.want(0, "", "configure"); strings.Contains(out, "tiny-coder") {
		t.Errorf("the choice was not taken back:\n%s", out)
	}
	u.want(exitUsage, "NAME=URL", "setup", "--endpoint", "gpu")
	u.want(exitUsage, "neither user nor project", "setup", "--snippet", "somewhere")
	u.want(exitUsage, "exclude", "setup", "--snippet", "user", "--remove-snippet")
	u.want(exitUsage, "auto_use", "setup", "--auto-use", "ofload", "--yes")
	u.want(exitUsage, "none.yaml", "setup", "--import", filepath.Join(u.dir, "none.yaml"), "--yes")
	u.want(exitBackend, "not set", "setup", "--searxng", s.URL, "--yes")
	u.want(0, "not served now", "setup", "--model", "unheard-of", "--no-doctor")
}

// What a program that drives it gets: the facts, how to choose, and after the choice what was written and the check.
func TestSetupJSON(t *testing.T) {
	posix(t)
	s := llmtest.NewLlamaServer(t, llmtest.Config{Models: []llmtest.Model{{ID: "tiny-coder"}}, Answer: func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Text: "1 2 3 4 5 6 7 8"}
	}})
	t.Setenv("LEGWORK_LOCAL_SERVERS", s.URL)
	u := newUser(t, "")
	u.write(".config/local-llm-worker/config.json", `{"model": "tiny-coder", "api_key": "very-secret-key-1", "base_url": "`+s.URL+`"}`)
	out := u.want(0, "", "setup", "--json")
	r := gjson.Parse(out)
	for path, want := range map[string]string{
		"found.servers.0.name": "local", "found.servers.0.chat_models.0.id": "tiny-coder", "found.servers.0.chat_models.0.window": "32768",
		"found.servers.0.configured": "false", "found.notes.0.state": "absent", "found.imports.0.format": "local-llm-worker", "found.imports.0.new": "true",
		"found.settings.#(key==auto_use).value": "offload, research",
	} {
		if got := r.Get(path).String(); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if !r.Get("found.servers.0.first_token_ms").Exists() && len(s.Calls()) != 1 {
		t.Errorf("no speed was measured: %s", out)
	}
	if !r.Get("choose").IsArray() || len(out) > 4000 || strings.Contains(out, "very-secret-key-1") {
		t.Errorf("%d bytes:\n%s", len(out), out)
	}
	out = u.want(0, "", "setup", "--json", "--import", filepath.Join(u.dir, ".config/local-llm-worker/config.json"), "--yes")
	r = gjson.Parse(out)
	if !json.Valid([]byte(out)) || strings.Contains(out, "very-secret-key-1") || !strings.HasSuffix(r.Get("written.files.0").Str, "config.local.yaml") ||
		r.Get(`doctor.findings.#(check=="endpoint local").status`).Str != "ok" {
		t.Errorf("written:\n%s", out)
	}
}

// A dialog, as on a terminal: everything is asked for, and nothing is written before the yes.
func TestSetupDialog(t *testing.T) {
	posix(t)
	t.Setenv("LEGWORK_LOCAL_SERVERS", "none")
	s := llmtest.NewOpenAI(t, llmtest.Config{Models: []llmtest.Model{{ID: "small-coder"}, {ID: "big-coder"}}})
	talk := func(u *user, answers ...string) (string, error) {
		t.Helper()
		var out bytes.Buffer
		a := newApp(u.env, strings.NewReader(""), &out, &out)
		defer a.close()
		a.global.quiet = true
		cfg, facts, err := a.setupFacts(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		err = a.setupDialog(t.Context(), &dialog{in: newLines(strings.NewReader(strings.Join(answers, "\n") + "\n")), out: &out}, cfg, facts)
		return out.String(), err
	}
	u := newUser(t, "")
	//                server   name  more  default    offload  research delegate      auto_use            searxng  note    write
	yes := []string{s.URL, "gpu", "", "small-coder", "none", "none", "2", "nonsense", "offload,delegate", "none", "project", "y"}
	out, err := talk(u, append(yes[:len(yes)-1], "n")...)
	if err != nil || !strings.Contains(out, "nothing was written") || len(files(t, filepath.Join(u.dir, "config"))) != 0 {
		t.Fatalf("after a no: %v, %v\n%s", err, files(t, filepath.Join(u.dir, "config")), out)
	}
	out, err = talk(u, append(yes[:len(yes)-1], "yes")...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"No model server was found", "auto_use", "BASH_MAX_OUTPUT_LENGTH", "delegate.model: big-coder", "written: ", "legwork " + version + ": "} {
		if !strings.Contains(out, want) {
			t.Errorf("the dialog does not show %q:\n%s", want, out)
		}
	}
	if out := u.want(0, "", "configure"); !strings.Contains(out, "big-coder") || !strings.Contains(out, "offload, delegate") || !strings.Contains(out, s.URL) {
		t.Errorf("settings:\n%s", out)
	}
	if note := files(t, u.dir)["CLAUDE.md"]; !strings.Contains(note, "__delegate`") {
		t.Errorf("the note: %q", note)
	}
	// Enter everywhere changes nothing.
	before := files(t, filepath.Join(u.dir, "config"))
	if out, err = talk(u, "", "", "", "", "", "", "", "", "", ""); err != nil || !strings.Contains(out, "nothing to change") {
		t.Errorf("the second time: %v\n%s", err, out)
	}
	if after := files(t, filepath.Join(u.dir, "config")); len(after) != len(before) || after["config.local.yaml"] != before["config.local.yaml"] {
		t.Error("the second time changed the settings")
	}
	// An input that ends is no yes.
	if _, err := talk(newUser(t, ""), s.URL); err == nil {
		t.Error("the end of the input is taken for an answer")
	}
}

// Ctrl-C at a question ends it at once and leaves nothing written.
func TestSetupInterrupted(t *testing.T) {
	t.Setenv("LEGWORK_LOCAL_SERVERS", "none")
	u := newUser(t, "")
	var out bytes.Buffer
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(); _ = r.Close() })
	a := newApp(u.env, r, &out, &out)
	defer a.close()
	a.global.quiet = true
	cfg, facts, err := a.setupFacts(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.setupDialog(ctx, &dialog{in: newLines(r), out: &out}, cfg, facts) }()
	cancel()
	select {
	case err := <-ended:
		if err == nil || a.report(ctx, err) != exitInterrupted {
			t.Errorf("%v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it still waits for an answer")
	}
	if got := files(t, filepath.Join(u.dir, "config")); len(got) != 0 {
		t.Errorf("written: %v", got)
	}
}
