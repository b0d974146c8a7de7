package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"legwork/pkg/config"
	"legwork/pkg/doctor"
	"legwork/pkg/llm"
	"legwork/pkg/llm/llmtest"
	"legwork/pkg/proc"
)

// patient is a machine with settings, on which the doctor is run.
type patient struct {
	t    *testing.T
	dir  string
	deps doctor.Deps
}

func newPatient(t *testing.T, settings string) *patient {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &patient{t: t, dir: dir}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "USERPROFILE=" + dir,
		"LEGWORK_CONFIG_HOME=" + filepath.Join(dir, "config"), "LEGWORK_STATE_HOME=" + filepath.Join(dir, "state"),
	}
	p.write("config/config.yaml", settings)
	p.deps = doctor.Deps{
		Options: config.Options{Dir: dir, Env: env}, Env: env, Version: "1.2.3", Program: filepath.Join(dir, "bin/legwork"),
		StateDir: filepath.Join(dir, "state"), Children: &proc.Group{},
		Registry: func(cfg *config.Config) (*llm.Registry, error) {
			return llm.New(llm.FromConfig(cfg), llm.Options{StateDir: filepath.Join(dir, "state")}), nil
		},
		AgentWindow: func(_ *config.Config, _ string, window, _ int) (string, error) {
			if window < 10000 {
				return "", errors.New("the window is small; start it with more")
			}
			return "", nil
		},
		Task: func(_ context.Context, file, _ string) (doctor.TaskResult, error) {
			_, err := os.Stat(file)
			return doctor.TaskResult{Answer: "it was /srv/vault7", Model: "m"}, err
		},
	}
	return p
}

func (p *patient) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) run() *doctor.Report {
	p.t.Helper()
	r, err := doctor.Run(p.t.Context(), p.deps)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Check == "" || f.Text == "" || (f.Status == doctor.Warn || f.Status == doctor.Fail) && f.Fix == "" {
			p.t.Errorf("an unfinished finding: %+v", f)
		}
	}
	return r
}

// want fails unless a check ended so, with words of its text or its fix.
func want(t *testing.T, r *doctor.Report, check string, status doctor.Status, words ...string) doctor.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Check != check {
			continue
		}
		for _, w := range words {
			if !strings.Contains(f.Text+" "+f.Fix, w) {
				t.Errorf("%s does not say %q: %+v", check, w, f)
			}
		}
		if f.Status != status {
			t.Errorf("%s is %s, want %s: %s", check, f.Status, status, f.Text)
		}
		return f
	}
	t.Errorf("no finding %q:\n%s", check, r.Text())
	return doctor.Finding{}
}

func endpoint(name, url string) string { return fmt.Sprintf("  %s: {base_url: %q}\n", name, url) }

// A healthy machine: the server got a real call, its speed was measured, and nothing of the checks stays.
func TestHealthy(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("the check makes a worktree, which needs git")
	}
	s := llmtest.NewLlamaServer(t, llmtest.Config{Answer: func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "1 2 3 4 5 6 7 8 9"} }})
	p := newPatient(t, "endpoints:\n"+endpoint("gpu", s.URL))
	r := p.run()
	f := want(t, r, "endpoint gpu", doctor.OK, "test-model answers", "first token after", "window 32768")
	if f.Speed == nil || f.Speed.Model != "test-model" {
		t.Errorf("no speed: %+v", f)
	}
	if calls := s.Calls(); len(calls) != 1 {
		t.Errorf("%d calls were made", len(calls))
	}
	want(t, r, "models", doctor.OK, "offload, research, delegate, run_agent")
	want(t, r, "agent window", doctor.OK)
	want(t, r, "task", doctor.OK, "rightly")
	want(t, r, "git", doctor.OK)
	want(t, r, "worktree", doctor.OK)
	want(t, r, "disk", doctor.OK)
	want(t, r, "leftovers", doctor.OK)
	want(t, r, "version", doctor.OK)
	if left, _ := filepath.Glob(filepath.Join(p.dir, "state", "doctor-*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	if r.Status == doctor.Fail {
		t.Errorf("status %s:\n%s", r.Status, r.Text())
	}
}

// Servers that are dead in different ways are told apart, and all together cost no more than the limit.
func TestDeadServers(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	locked := llmtest.NewVLLM(t, llmtest.Config{APIKey: "right"})
	loading := llmtest.NewLlamaServer(t, llmtest.Config{})
	loading.SetLoading(true)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	gone := llmtest.Refused(t)
	p := newPatient(t, "endpoints:\n"+endpoint("silent", "http://"+ln.Addr().String())+endpoint("loading", loading.URL)+endpoint("web", web.URL)+
		fmt.Sprintf("  off: {base_url: %q, backend: vllm, host: attic}\n  locked: {base_url: %q, api_key_env: LEGWORK_API_KEY}\n  wrong: {base_url: %q, api_key: not-the-right-one}\n", gone, locked.URL, locked.URL))
	start := time.Now()
	r := p.run()
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	want(t, r, "endpoint silent", doctor.Fail, "does not answer")
	want(t, r, "endpoint loading", doctor.Warn, "loading its model", "memory")
	want(t, r, "endpoint web", doctor.Fail, "no model server", "base_url")
	want(t, r, "endpoint off", doctor.Fail, "attic", "opens its port only when the model is loaded")
	want(t, r, "endpoint locked", doctor.Warn, "api_key", "LEGWORK_API_KEY, which is not set", "list_models")
	want(t, r, "endpoint wrong", doctor.Fail, "another api_key")
	want(t, r, "models", doctor.Warn)
	if r.Status != doctor.Fail || strings.Contains(r.Text(), "not-the-right-one") {
		t.Errorf("status %s:\n%s", r.Status, r.Text())
	}
}

// One of several servers that is off is a warning; a server that lists a model and cannot run it is a failure.
func TestOneOfTwo(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{Window: 4096, Models: []llmtest.Model{{ID: "a-model"}}})
	s.Script(llmtest.Reply{Status: 500, Body: `{"error":{"message":"failed to allocate compute buffers"}}`}, llmtest.Reply{Status: 500, Body: `{"error":{"message":"failed to allocate compute buffers"}}`},
		llmtest.Reply{Status: 500, Body: `{"error":{"message":"failed to allocate compute buffers"}}`})
	many := llmtest.NewOpenAI(t, llmtest.Config{Models: []llmtest.Model{{ID: "b-model"}, {ID: "c-model"}}})
	p := newPatient(t, "endpoints:\n"+endpoint("gpu", s.URL)+endpoint("many", many.URL)+endpoint("off", llmtest.Refused(t)))
	p.deps.Task = func(context.Context, string, string) (doctor.TaskResult, error) {
		return doctor.TaskResult{Answer: "the moon", Model: "b-model"}, nil
	}
	r := p.run()
	want(t, r, "endpoint off", doctor.Warn, "nothing listens")
	want(t, r, "endpoint gpu", doctor.Fail, "compute buffers", "memory")
	want(t, r, "models", doctor.Warn, "a-model", "b-model", "c-model", "defaults.model")
	want(t, r, "task", doctor.Warn, "the moon")
	p.write("config/config.yaml", "endpoints:\n"+endpoint("gpu", s.URL)+"defaults: {model: z-model}\n")
	want(t, p.run(), "models", doctor.Warn, "z-model")
	p.write("config/config.yaml", "endpoints:\n"+endpoint("gpu", s.URL))
	want(t, p.run(), "agent window", doctor.Warn, "start it with more")
}

// An Ollama without a model in memory is not made to load one.
func TestNothingIsLoaded(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOllama(t, llmtest.Config{})
	p := newPatient(t, "endpoints:\n"+endpoint("box", s.URL))
	want(t, p.run(), "endpoint box", doctor.OK, "no call was made")
	if len(s.Calls()) != 0 {
		t.Error("a call was made")
	}
}

func TestOfflineAsksNobody(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	p := newPatient(t, "endpoints:\n"+endpoint("gpu", s.URL)+"research: {searxng_url: "+s.URL+"}\n")
	p.deps.Offline = true
	r := p.run()
	if len(s.Paths()) != 0 {
		t.Errorf("it asked %q", s.Paths())
	}
	want(t, r, "endpoint", doctor.Skip)
	want(t, r, "search", doctor.Skip)
	want(t, r, "state", doctor.OK)
}

// SearXNG: JSON off, limiter on, engines dead, fine.
func TestSearch(t *testing.T) {
	t.Parallel()
	answer := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		status  doctor.Status
		words   []string
	}{
		{"json off", answer(403, "text/html", "<h1>Forbidden</h1>"), doctor.Fail, []string{"search.formats"}},
		{"limiter", answer(429, "text/html", "Too Many Requests"), doctor.Fail, []string{"limiter: false"}},
		{"not searx", answer(200, "text/html", "<p>welcome"), doctor.Fail, []string{"instead of JSON"}},
		{"fine", answer(200, "application/json", `{"results":[{"url":"https://a.example/","title":"A"}],"unresponsive_engines":[["slow","timeout"]]}`), doctor.OK, []string{"limiter lets legwork through", "slow (timeout)"}},
		{"empty", answer(200, "application/json", `{"results":[]}`), doctor.Warn, []string{"engines"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(c.handler)
			t.Cleanup(srv.Close)
			f := doctor.SearXNG(t.Context(), srv.URL, nil)
			want(t, &doctor.Report{Findings: []doctor.Finding{f}}, "search", c.status, c.words...)
		})
	}
	want(t, &doctor.Report{Findings: []doctor.Finding{doctor.SearXNG(t.Context(), llmtest.Refused(t), nil)}}, "search", doctor.Fail, "is it running")
}

// H04: the binary and the plugin around it are of one version.
func TestVersionsH04(t *testing.T) {
	t.Parallel()
	p := newPatient(t, "")
	p.deps.Offline = true
	p.write("plugin/.claude-plugin/plugin.json", `{"name":"legwork","version":"1.2.2"}`)
	p.deps.Program = filepath.Join(p.dir, "plugin/bin/prebuilt/legwork-linux-amd64")
	p.write(".claude/plugins/installed_plugins.json", `{"plugins":{"other@x":[{"version":"9"}],"legwork@legwork":[{"version":"1.2.3"}]}}`)
	r := p.run()
	want(t, r, "version", doctor.Fail, "1.2.3", "1.2.2", "update")
	want(t, r, "plugin", doctor.OK, "legwork@legwork 1.2.3")
	p.write("plugin/.claude-plugin/plugin.json", `{"name":"legwork","version":"1.2.3"}`)
	p.write(".claude/settings.json", `{"enabledPlugins":{"legwork@legwork":false}}`)
	r = p.run()
	want(t, r, "version", doctor.OK)
	want(t, r, "plugin", doctor.Warn, "switched off", "enable")
	p.write(".claude/settings.json", `{}`)
	p.write(".claude/plugins/installed_plugins.json", `{"plugins":{"legwork@legwork":[{"version":"1.0.0"}]}}`)
	want(t, p.run(), "plugin", doctor.Warn, "1.0.0", "update")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	p := newPatient(t, "offload: {comand_timeout: 5s}\n")
	p.deps.Offline = true
	p.write(".git/HEAD", "ref: refs/heads/main\n")
	p.write(".legwork.yaml", "endpoints: {theirs: {base_url: http://evil.example}}\n")
	want(t, p.run(), "settings", doctor.Warn, "legwork trust")
	if text := p.run().Text(); !strings.Contains(text, "comand_timeout") || strings.Count(text, "legwork trust") != 1 {
		t.Errorf("report:\n%s", text)
	}
	p.write("config/config.yaml", "offload: [\nx")
	r := p.run()
	want(t, r, "settings", doctor.Fail, "config.yaml:")
	want(t, r, "git", doctor.OK)
}

// What a server that was killed left running, and a state directory that others may read, are told.
func TestStateAndLeftovers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes and sleep are of POSIX systems")
	}
	p := newPatient(t, "")
	p.deps.Offline = true
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	id, ok := proc.Find(child.Process.Pid)
	if !ok {
		t.Fatal("the child is gone")
	}
	p.write("state/children/"+(proc.Identity{PID: 1 << 22, Start: 1}).String()+"-"+id.String(), "")
	p.write("state/worktrees/wabc.lock", "")
	p.write("state/worktrees/wabc/tree.json", "{}")
	if err := os.Chmod(p.deps.StateDir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := p.run()
	want(t, r, "state", doctor.Warn, "chmod 700", "0755")
	want(t, r, "leftovers", doctor.Warn, "1 processes", "1 worktrees", "legwork clean")
	if !proc.Alive(id) {
		t.Error("a look ended the process")
	}
}

// The report as JSON has the words that scripts rely on.
func TestJSON(t *testing.T) {
	t.Parallel()
	p := newPatient(t, "")
	p.deps.Offline = true
	b, err := json.Marshal(p.run())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"version":"1.2.3"`, `"status":`, `"findings":[{"check":"version"`} {
		if !bytes.Contains(b, []byte(key)) {
			t.Errorf("no %s in %s", key, b)
		}
	}
}
