package delegate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"legwork/pkg/config"
	"legwork/pkg/llm"
	"legwork/pkg/llm/llmtest"
	"legwork/pkg/proc"
)

// site is a repository, a model server and settings.
type site struct {
	t        testing.TB
	home     string
	dir      string
	state    string
	env      []string
	server   *llmtest.Server
	settings string // more YAML
	models   []llmtest.Model
}

func needs(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range append([]string{"git"}, tools...) {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	if slices.Contains(tools, "cargo") && exec.Command("cargo", "--version").Run() != nil { // a proxy without a toolchain
		t.Skip("cargo does not run here")
	}
}

func newSite(t testing.TB, files map[string]string) *site {
	t.Helper()
	needs(t)
	home := t.TempDir()
	s := &site{t: t, home: home, dir: filepath.Join(home, "project"), state: filepath.Join(home, "state")}
	put(t, home, "gitconfig", "[user]\n\tname = Test\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n")
	s.env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+filepath.Join(home, "gitconfig"), "GIT_CONFIG_NOSYSTEM=1",
		"LEGWORK_CONFIG_HOME="+filepath.Join(home, "config"), "LEGWORK_STATE_HOME="+s.state)
	for name, text := range files {
		put(t, s.dir, name, text)
	}
	s.git("init", "-q")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "start")
	return s
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s *site) git(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (s *site) read(name string) string {
	b, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
	if err != nil {
		return "<missing>"
	}
	return string(b)
}

// answers scripts the server's replies; a text without a fence gets one, unless it begins with RAW:.
func (s *site) answers(tag string, texts ...string) {
	s.t.Helper()
	if s.server == nil {
		s.server = llmtest.NewLlamaServer(s.t, llmtest.Config{Models: s.models})
	}
	for _, text := range texts {
		if raw, ok := strings.CutPrefix(text, "RAW:"); ok {
			text = raw
		} else if !strings.Contains(text, "```") {
			text = "```" + tag + "\n" + text + "\n```"
		}
		s.server.Script(llmtest.Reply{Text: text})
	}
}

func (s *site) deps() Deps {
	s.t.Helper()
	if s.server == nil {
		s.answers("")
	}
	put(s.t, s.home, "config/config.yaml", fmt.Sprintf("endpoints:\n  local: {base_url: %s}\n%s", s.server.URL, s.settings))
	cfg, err := config.Load(config.Options{Dir: s.dir, Env: s.env})
	if err != nil {
		s.t.Fatal(err)
	}
	if s.settings == "" {
		cfg.Delegate.Sandbox = "off" // its build caches are empty in every test
	}
	for _, w := range cfg.Warnings {
		s.t.Log(w)
	}
	return Deps{
		Config: cfg, Models: llm.New(llm.FromConfig(cfg), llm.Options{StateDir: s.state}), StateDir: s.state, Env: s.env, Children: &proc.Group{},
	}
}

func (s *site) run(req Request) (*Result, error) {
	s.t.Helper()
	if req.Dir == "" {
		req.Dir = s.dir
	}
	if req.Spec == "" {
		req.Spec = "slug(s) lowers the text. It joins words with one dash."
	}
	return Run(s.t.Context(), s.deps(), req)
}

// clean fails unless no worktree is left.
func (s *site) clean() {
	s.t.Helper()
	left, _ := filepath.Glob(filepath.Join(s.state, "worktrees", "*"))
	if len(left) > 0 {
		s.t.Errorf("left behind: %v", left)
	}
	if list := s.git("worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 1 {
		s.t.Errorf("worktrees left:\n%s", list)
	}
}
