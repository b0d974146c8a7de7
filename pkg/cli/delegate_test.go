package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/pkg/jobs"
	"legwork/pkg/llm/llmtest"
	"legwork/pkg/mcpserver"
)

// delegateSite is a repository whose test wants the word "right" in out.txt, and the app beside it.
func delegateSite(t *testing.T, server *llmtest.Server) (*app, string, string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs git and a POSIX shell")
	}
	home := t.TempDir()
	dir, state := filepath.Join(home, "project"), filepath.Join(home, "state")
	for name, text := range map[string]string{
		"config/config.yaml": "endpoints:\n  local: {base_url: " + server.URL + "}\n", "project/check.sh": "grep -q right out.txt\n", "gitconfig": "",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL="+filepath.Join(home, "gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "CLAUDE_PROJECT_DIR="+dir,
		"LEGWORK_CONFIG_HOME="+filepath.Join(home, "config"), "LEGWORK_STATE_HOME="+state, "LEGWORK_DELEGATE_SANDBOX=off")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "start"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git: %v %s", err, out)
		}
	}
	var out bytes.Buffer
	a := newApp(env, strings.NewReader(""), &out, io.Discard)
	t.Cleanup(a.close)
	return a, dir, state
}

// What a failing test prints of a key is neither replied nor kept, and the model does not get it either.
func TestDelegateMasksKeys(t *testing.T) {
	t.Parallel()
	var prompts strings.Builder
	var mu sync.Mutex
	server := llmtest.NewLlamaServer(t, llmtest.Config{Answer: func(c llmtest.Call) llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		prompts.WriteString(c.Last() + "\n")
		return llmtest.Reply{Text: "```text\nwrong\n```"}
	}})
	a, dir, state := delegateSite(t, server)
	a.env = append(a.env, "DEPLOY_TOKEN=blue-horse-9134-xyz")
	hub := "ghp_" + strings.Repeat("a1", 18)
	script := "echo \"AssertionError: login with $DEPLOY_TOKEN failed, " + hub + "\"; exit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "check.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	minute := 60.0
	text, err := a.delegateTool(t.Context(), mcpserver.DelegateInput{Spec: "Write the word.", TargetFile: "out.txt", TestCommand: "sh check.sh", WaitS: &minute}, func(string) {})
	if err != nil || !strings.Contains(text, "login with [masked] failed") {
		t.Errorf("%v\n%s", err, text)
	}
	all := map[string]string{"reply": text}
	for _, pattern := range []string{"delegates/*.txt", "jobs/*/job.json", "jobs/*/transcript.txt"} {
		paths, _ := filepath.Glob(filepath.Join(state, pattern))
		if len(paths) == 0 {
			t.Errorf("no %s", pattern)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[pattern] += string(b)
		}
	}
	for name, got := range all {
		if strings.Contains(got, "blue-horse") || strings.Contains(got, hub) {
			t.Errorf("the %s: a key is left:\n%s", name, got)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if strings.Contains(prompts.String(), "blue-horse") {
		t.Error("the model was given the key")
	}
}

// A log that an older version kept is masked when it is shown.
func TestJobLogMasksKeys(t *testing.T) {
	t.Parallel()
	a, _, state := delegateSite(t, llmtest.NewLlamaServer(t, llmtest.Config{}))
	a.env = append(a.env, "DEPLOY_TOKEN=blue-horse-9134-xyz")
	var out bytes.Buffer
	a.stdout = &out
	h, err := jobs.New(state).Create(jobs.Spec{Kind: "run_agent", Task: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Say("< DEPLOY_TOKEN=blue-horse-9134-xyz\n< DB_PASS=another-value"); err != nil {
		t.Fatal(err)
	}
	text, err := a.logTool(t.Context(), mcpserver.JobLogInput{Job: h.ID()})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.logJob(t.Context(), h.ID(), 10, false); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{text, out.String()} {
		if !strings.Contains(got, "DEPLOY_TOKEN=[masked]\n< DB_PASS=[masked]") {
			t.Errorf("got %s", got)
		}
	}
}

func TestDelegateWait(t *testing.T) {
	t.Parallel()
	go1 := make(chan struct{})
	server := llmtest.NewLlamaServer(t, llmtest.Config{Answer: func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Text: "```text\nright\n```", Hold: go1}
	}})
	a, dir, state := delegateSite(t, server)
	zero := 0.0
	in := mcpserver.DelegateInput{Spec: "Write the word.", TargetFile: "out.txt", TestCommand: "sh check.sh", WaitS: &zero}
	text, err := a.delegateTool(t.Context(), in, func(string) {})
	if err != nil || !strings.HasPrefix(text, "job ") {
		t.Fatalf("%q %v", text, err)
	}
	id := strings.Fields(text)[1]
	close(go1)
	job, err := jobs.New(state).Await(t.Context(), id, time.Minute, nil)
	if err != nil || job.State != jobs.Succeeded || !strings.HasPrefix(job.Reply, "PASS · attempt 1/3 · out.txt") {
		t.Fatalf("%+v %v", job, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "out.txt")); err != nil || string(b) != "right\n" {
		t.Errorf("%q %v", b, err)
	}
	// Green now: a second call is refused, within the wait.
	minute := 60.0
	in.WaitS = &minute
	if _, err := a.delegateTool(t.Context(), in, func(string) {}); err == nil || !strings.Contains(err.Error(), "passes already") {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "worktrees", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
