package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"legwork/pkg/llm/llmtest"
)

// user is a home with settings of its own, from which commands are run.
type user struct {
	t   *testing.T
	dir string
	env []string
}

func newUser(t *testing.T, config string) *user {
	t.Helper()
	dir := t.TempDir()
	u := &user{t: t, dir: dir, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CLAUDE_PROJECT_DIR=" + dir,
		"LEGWORK_CONFIG_HOME=" + filepath.Join(dir, "config"), "LEGWORK_STATE_HOME=" + filepath.Join(dir, "state"),
	}}
	if config != "" {
		u.write("config/config.yaml", config)
	}
	return u
}

func (u *user) write(name, text string) {
	u.t.Helper()
	path := filepath.Join(u.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

// run gives stdout, stderr and the exit code of one command.
func (u *user) run(args ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	var out, err bytes.Buffer
	code = Main(append([]string{"-q"}, args...), u.env, strings.NewReader(""), &out, &err)
	return out.String(), err.String(), code
}

// posix skips where commands are not for a POSIX shell.
func posix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the command is for a POSIX shell")
	}
}

func (u *user) want(code int, has string, args ...string) string {
	u.t.Helper()
	out, err, got := u.run(args...)
	if got != code || !strings.Contains(out+err, has) {
		u.t.Errorf("legwork %s: exit %d, want %d with %q\nstdout: %s\nstderr: %s", strings.Join(args, " "), got, code, has, out, err)
	}
	return out
}

func endpoint(name, url string) string {
	return fmt.Sprintf("endpoints:\n  %s: {base_url: %q, api_key: the-secret-key-1}\n", name, url)
}

func TestModels(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{Models: []llmtest.Model{{ID: "tiny-coder"}}, Window: 16384, Slots: 2})
	u := newUser(t, endpoint("gpu", s.URL)+"  gone: {base_url: \""+llmtest.Refused(t)+"\"}\n")
	out := u.want(0, "tiny-coder", "models")
	for _, want := range []string{"gpu", "16384", "gone", "down"} {
		if !strings.Contains(out, want) {
			t.Errorf("models does not show %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "the-secret-key-1") {
		t.Error("models shows the key")
	}
	var list []struct {
		Name  string `json:"name"`
		State string `json:"state"`
	}
	if err := json.Unmarshal([]byte(u.want(0, "", "models", "--json")), &list); err != nil || len(list) != 2 || list[0].State != "up" {
		t.Errorf("%v, %+v", err, list)
	}
	if len(s.Calls()) != 0 {
		t.Error("looking at models cost a generation")
	}
}

func TestModelsNothingUp(t *testing.T) {
	t.Parallel()
	u := newUser(t, endpoint("gone", llmtest.Refused(t)))
	u.want(exitBackend, "down", "models")
	u.want(exitBackend, "gone", "complete", "hello")
}

func TestComplete(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOpenAI(t, llmtest.Config{Models: []llmtest.Model{{ID: "a-model"}, {ID: "b-model"}}})
	u := newUser(t, endpoint("box", s.URL))
	// Never guess: two models, none chosen.
	u.want(exitUsage, "a-model", "complete", "hello")
	s.Script(llmtest.Reply{Text: "forty-two"})
	if out := u.want(0, "forty-two", "complete", "--model", "b", "the answer?"); out != "forty-two\n" {
		t.Errorf("stdout is %q", out)
	}
	if got := s.Calls(); len(got) != 1 || got[0].Model != "b-model" || got[0].Last() != "the answer?" {
		t.Errorf("%+v", got)
	}
	s.Script(llmtest.Reply{Text: "half of", Finish: "length"})
	u.want(exitFailed, "cut", "complete", "--model", "b", "long?")
	s.Script(llmtest.Reply{Text: `{"name":"x"}`})
	u.want(0, `"name"`, "complete", "--model", "b", "--schema", `{"type":"object","required":["name"]}`, "who?")
	u.want(exitUsage, "not valid JSON", "complete", "--model", "b", "--schema", `{`, "who?")
	u.want(exitUsage, "prompt", "complete", "")
}

// Settings: shown with their origin, changed in the sidecar only, in force on the next call.
func TestConfigure(t *testing.T) {
	t.Parallel()
	u := newUser(t, endpoint("box", "http://127.0.0.1:1"))
	before, err := os.ReadFile(filepath.Join(u.dir, "config/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := u.want(0, "config.yaml:2", "configure")
	if strings.Contains(out, "the-secret-key-1") || !strings.Contains(out, "(set)") {
		t.Errorf("the key is not masked:\n%s", out)
	}
	u.want(0, "offload.command_timeout", "configure", "--set", "offload.command_timeout=90s")
	if out := u.want(0, "", "configure"); !strings.Contains(out, "1m30s") || !strings.Contains(out, "config.local.yaml") {
		t.Errorf("the change is not in force:\n%s", out)
	}
	u.want(exitUsage, "offload.command_timeout", "configure", "--set", "offload.comand_timeout=90s")
	u.want(exitUsage, "offload.command_timeout", "configure", "--set", "offload.command_timeout=soon")
	u.want(exitUsage, "KEY=VALUE", "configure", "--set", "nonsense")
	u.want(0, "", "configure", "--unset", "offload.command_timeout")
	if after, err := os.ReadFile(filepath.Join(u.dir, "config/config.yaml")); err != nil || !bytes.Equal(before, after) {
		t.Error("the hand-written file was changed")
	}
}

// A project file that nobody trusted may not send traffic anywhere.
func TestProjectTrust(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOpenAI(t, llmtest.Config{Models: []llmtest.Model{{ID: "theirs"}}})
	u := newUser(t, "")
	u.write(".git/HEAD", "ref: refs/heads/main\n")
	u.write(".legwork.yaml", endpoint("theirs", s.URL)+"offload: {command_timeout: 5s}\n")
	out := u.want(0, "legwork trust", "configure")
	if !strings.Contains(out, "5s") {
		t.Errorf("tuning of an untrusted project does not count:\n%s", out)
	}
	u.env = append(u.env, "LEGWORK_ENDPOINTS_OWN_BASE_URL="+llmtest.Refused(t))
	u.want(exitBackend, "", "complete", "hello")
	if n := len(s.Paths()); n != 0 {
		t.Fatalf("%d requests went to the project's server before it was trusted", n)
	}
	u.want(0, "trusted", "trust")
	s.Script(llmtest.Reply{Text: "hi"})
	u.want(0, "hi", "complete", "hello")
	u.write(".legwork.yaml", endpoint("theirs", s.URL)+"offload: {command_timeout: 6s}\n")
	u.want(exitBackend, "", "complete", "hello")
	u.want(0, "trust taken back", "trust", "--revoke")
}

func TestImport(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	u.write("models.yaml", "endpoints:\n  box:\n    base_url: http://127.0.0.1:9\n    backend: vllm\nmodels:\n  coder:\n    notes: big\ndefaults:\n  model: coder\n")
	u.want(0, "nothing was written", "configure", "import", filepath.Join(u.dir, "models.yaml"), "--dry-run")
	u.want(0, "config.local.yaml", "configure", "import")
	if out := u.want(0, "", "configure"); !strings.Contains(out, "http://127.0.0.1:9") {
		t.Errorf("not taken over:\n%s", out)
	}
	u.want(exitUsage, "", "configure", "import", filepath.Join(u.dir, "none.yaml"))
}

// A broken configuration is told with file and line.
func TestBrokenConfiguration(t *testing.T) {
	t.Parallel()
	u := newUser(t, "offload: [\nmodel")
	u.want(exitUsage, "config.yaml", "models")
	u.want(0, "legwork: use ", "hook", "session-start")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	u.want(0, "Examples:", "--help")
	u.want(0, "Examples:", "offload", "--help")
	u.want(0, "offload", "-h")
	u.want(exitUsage, "unknown command", "ofload")
	u.want(exitUsage, "missing argument", "offload")
	u.want(exitUsage, "unknown flag", "offload", "--comand", "x", "q")
	u.want(exitUsage, "unexpected argument", "offload", "--command", "x", "which", "test")
	u.want(exitUsage, "unknown command", "bench", "nothing")
	u.want(exitUsage, "unknown command", "ofload", "--help")
	u.want(exitUsage, "See legwork raw clean --help", "raw", "clean", "a", "b")
	u.want(0, "legwork raw clean", "help", "raw", "clean")
	u.want(0, "Usage: legwork configure [COMMAND]", "configure", "--help")
	u.want(0, "legwork ", "--version")
	u.want(0, "\"version\"", "version", "--json")
	u.want(exitUsage, "temperature: 9 is out of range", "complete", "--temperature", "9", "hi")
	u.want(exitUsage, "max_tokens: -1 is negative", "complete", "--max-tokens", "-1", "hi")
}

// Every command shows how it is used.
func TestEveryCommandHasExamples(t *testing.T) {
	t.Parallel()
	var walk func(path string, cmd *command)
	walk = func(path string, cmd *command) {
		if cmd.bind != nil && !cmd.hidden && !strings.Contains(cmd.example, "legwork ") {
			t.Errorf("%s has no example", path)
		}
		for _, sub := range cmd.subs {
			walk(path+" "+sub.name, sub)
		}
	}
	walk("legwork", root())
}

// With --json every command prints one object or list, and nothing else.
func TestJSONEverywhere(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{Models: []llmtest.Model{{ID: "tiny-coder"}}})
	u := newUser(t, endpoint("gpu", s.URL))
	u.write(".git/HEAD", "ref: refs/heads/main\n")
	u.write(".legwork.yaml", "offload: {command_timeout: 5s}\n")
	u.write("old.yaml", "models: {coder: {notes: big}}\n")
	u.write("run.log", "ERROR: disk full\n")
	for _, args := range [][]string{
		{"offload", "--command", "echo hello", "what does it say?"},
		{"complete", "hello"},
		{"models"},
		{"version"},
		{"configure"},
		{"configure", "--set", "offload.model=x"},
		{"configure", "--unset", "offload.model"},
		{"configure", "--unset", "offload.model"},
		{"configure", "import", filepath.Join(u.dir, "old.yaml"), "--dry-run"},
		{"configure", "import", filepath.Join(u.dir, "old.yaml")},
		{"trust"},
		{"trust", "--revoke"},
		{"raw"},
		{"raw", "clean", "--all"},
		{"digest", filepath.Join(u.dir, "run.log")},
		{"extract", filepath.Join(u.dir, "run.log")},
	} {
		if out, errText, code := u.run(append(args, "--json")...); code != 0 || !json.Valid([]byte(out)) || strings.Contains(out, "the-secret-key-1") {
			t.Errorf("%v: exit %d\n%s%s", args, code, out, errText)
		}
	}
}

// G10: replies that a model pays for say what is asked and no more.
func TestReplySizesG10(t *testing.T) {
	posix(t)
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{Models: []llmtest.Model{{ID: "tiny-coder"}}})
	u := newUser(t, endpoint("gpu", s.URL))
	noise := "for i in $(seq 400); do echo \"step $i of the build is done, nothing to see here\"; done; echo 'ERROR: disk is full'; exit 3"
	for _, c := range []struct {
		most int // bytes; a token is three to four
		args []string
	}{
		{2400, []string{"configure"}},
		{200, []string{"configure", "--set", "offload.model=tiny-coder"}},
		{300, []string{"models"}},
		{1500, []string{"offload", "--command", noise, "what went wrong?"}},
		{100, []string{"complete", "hello"}},
	} {
		out, _, code := u.run(c.args...)
		out = strings.ReplaceAll(out, u.dir, "") // as long as this machine wants
		if code != 0 || len(out) > c.most {
			t.Errorf("%v: exit %d, %d bytes, more than %d:\n%s", c.args, code, len(out), c.most, out)
		}
		if strings.Contains(out, "nothing to see here\"; done") {
			t.Errorf("%v: the request is echoed:\n%s", c.args, out)
		}
	}
}

// The text of the session's start is short and names only tools that exist.
func TestReminder(t *testing.T) {
	t.Parallel()
	known := []string{"offload", "research"}
	if got := reminder([]string{"offload", "research", "delegate"}, known); strings.Contains(got, "delegate") || len(got) > 300 {
		t.Errorf("%d characters: %s", len(got), got)
	}
	if got := reminder(nil, known); got != "" {
		t.Errorf("nothing to use gives %q", got)
	}
}
