package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"legwork/pkg/config"
	"legwork/pkg/llm"
	"legwork/pkg/llm/llmtest"
)

// home is a user with settings, an older tool's settings and a project.
type home struct {
	t    *testing.T
	dir  string
	opts config.Options
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: dir}
	h.opts = config.Options{Dir: filepath.Join(dir, "project"), Env: []string{
		"HOME=" + dir, "USERPROFILE=" + dir, "LEGWORK_CONFIG_HOME=" + filepath.Join(dir, "config"), "LEGWORK_STATE_HOME=" + filepath.Join(dir, "state"),
	}}
	put(t, filepath.Join(dir, "project/.git/HEAD"), "ref: refs/heads/main\n")
	return h
}

func (h *home) load() *config.Config {
	h.t.Helper()
	cfg, err := config.Load(h.opts)
	if err != nil {
		h.t.Fatal(err)
	}
	return cfg
}

// look gathers the facts; local are the servers on the usual ports.
func (h *home) look(local ...string) *Facts {
	h.t.Helper()
	cfg := h.load()
	s := llm.Settings{}
	for _, u := range local {
		s.Endpoints = append(s.Endpoints, llm.Endpoint{Name: "local", BaseURL: u, WellKnown: true})
	}
	mine := llm.FromConfig(cfg)
	if len(cfg.Endpoints) == 0 {
		mine = s
	}
	f, err := Look(h.t.Context(), Deps{
		Config: cfg, Options: h.opts, Models: llm.New(mine, llm.Options{StateDir: h.dir}), Local: llm.New(s, llm.Options{StateDir: h.dir}),
		Prefix: "mcp__x__", Env: h.opts.Env,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return f
}

// do plans and applies; it returns the lines of the plan.
func (h *home) do(f *Facts, c Choices) []string {
	h.t.Helper()
	p, err := MakePlan(h.load(), f, c)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := Apply(h.t.Context(), h.opts, p); err != nil {
		h.t.Fatal(err)
	}
	return p.Lines
}

// A second run has nothing to do, and what was chosen is in force after the first.
func TestSecondRunIsIdle(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	c := Choices{Note: User, Settings: []config.Change{
		{Key: "endpoints.gpu", Value: map[string]any{"base_url": s.URL}},
		{Key: "defaults.model", Value: "test-model"},
		{Key: "auto_use", Value: "offload,delegate"},
		{Key: "offload.command_timeout", Value: "10m"},
		{Key: "delegate.model", Value: "a,b"},
	}}
	lines := h.do(h.look(), c)
	if len(lines) != 5 || !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "CLAUDE.md") }) {
		t.Errorf("the first run: %q", lines)
	}
	cfg := h.load()
	if e, ok := cfg.Endpoint("gpu"); !ok || e.BaseURL != s.URL || cfg.Defaults.Model != "test-model" || len(cfg.AutoUse) != 2 {
		t.Errorf("in force: %+v, %q, %q", e, cfg.Defaults.Model, cfg.AutoUse)
	}
	note := read(t, filepath.Join(h.dir, ".claude/CLAUDE.md"))
	if !strings.Contains(note, "mcp__x__delegate") || strings.Contains(note, "mcp__x__research") {
		t.Errorf("the note does not follow the choice of tools:\n%s", note)
	}
	if lines := h.do(h.look(), c); len(lines) != 0 {
		t.Errorf("the second run: %q", lines)
	}
	f := h.look()
	if len(f.Servers) != 1 || !f.Servers[0].Configured || f.Servers[0].Models[0].ID != "test-model" {
		t.Errorf("servers: %+v", f.Servers)
	}
	if lines := h.do(f, Choices{RemoveNote: true}); len(lines) != 1 {
		t.Errorf("removing: %q", lines)
	}
	if _, err := os.Stat(filepath.Join(h.dir, ".claude/CLAUDE.md")); !os.IsNotExist(err) {
		t.Error("the file we made stays")
	}
	if lines := h.do(h.look(), Choices{RemoveNote: true}); len(lines) != 0 {
		t.Errorf("removing again: %q", lines)
	}
}

// The first endpoint would hide the local servers, so they are written down with it; later ones are the user's choice.
func TestLocalServersAreNotLost(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	local, gpu := llmtest.NewOllama(t, llmtest.Config{}), llmtest.NewLlamaServer(t, llmtest.Config{})
	f := h.look(local.URL, llmtest.Refused(t))
	if len(f.Servers) != 1 || f.Servers[0].Configured {
		t.Fatalf("found: %+v", f.Servers)
	}
	h.do(f, Choices{Settings: []config.Change{{Key: "endpoints.gpu", Value: map[string]any{"base_url": gpu.URL}}}})
	cfg := h.load()
	if e, ok := cfg.Endpoint("local"); !ok || e.BaseURL != local.URL || e.Backend != "ollama" || len(cfg.Endpoints) != 2 {
		t.Errorf("endpoints: %+v", cfg.Endpoints)
	}
	if f := h.look(strings.Replace(local.URL, "127.0.0.1", "localhost", 1)); len(f.Servers) != 2 {
		t.Errorf("a server is listed twice: %+v", f.Servers)
	}
}

// Settings of older tools: shown without secrets, taken over once; a file that came with a repository is not offered.
func TestImports(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	old := filepath.Join(h.dir, ".config/localagents/models.yaml")
	put(t, old, "endpoints:\n  box: {base_url: 'http://127.0.0.1:9', api_key: very-secret-key-1}\nmodels: {coder: {notes: big}}\ndefaults: {model: coder, timeout_s: 600}\n")
	put(t, filepath.Join(h.dir, "project/models.yaml"), "endpoints: {evil: {base_url: 'http://evil.example'}}\n")
	f := h.look()
	if len(f.Imports) != 1 || f.Imports[0].Path != old || !f.Imports[0].New {
		t.Fatalf("imports: %+v", f.Imports)
	}
	lines := h.do(f, Choices{Imports: []string{old}})
	if all := strings.Join(lines, "\n"); strings.Contains(all, "very-secret-key-1") || !strings.Contains(all, "endpoints.box") {
		t.Errorf("lines:\n%s", all)
	}
	if e, _ := h.load().Endpoint("box"); e.APIKey.Reveal() != "very-secret-key-1" {
		t.Errorf("not taken over: %+v", e)
	}
	if f = h.look(); f.Imports[0].New {
		t.Error("it is offered again")
	}
	if lines := h.do(f, Choices{Imports: []string{old}}); len(lines) != 0 {
		t.Errorf("again: %q", lines)
	}
	if _, err := MakePlan(h.load(), f, Choices{Imports: []string{filepath.Join(h.dir, "none")}}); err == nil {
		t.Error("a file that is not there is imported")
	}
}

// Nothing is written when one part of a plan cannot be, or when the user interrupted.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := filepath.Join(h.dir, ".claude/CLAUDE.md")
	put(t, path, "mine\n")
	p, err := MakePlan(h.load(), h.look(), Choices{Note: User, Settings: []config.Change{{Key: "defaults.model", Value: "m"}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Apply(ctx, h.opts, p); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	put(t, path, "mine, saved meanwhile\n")
	if _, err := Apply(t.Context(), h.opts, p); !errors.Is(err, ErrChanged) {
		t.Errorf("changed: %v", err)
	}
	bad := &Plan{Changes: []config.Change{{Key: "defaults.model", Value: "m"}, {Key: "nonsense", Value: "x"}}}
	if _, err := Apply(t.Context(), h.opts, bad); err == nil {
		t.Error("nonsense was written")
	}
	if cfg := h.load(); cfg.Defaults.Model != "" || read(t, path) != "mine, saved meanwhile\n" {
		t.Errorf("written: %q, %q", cfg.Defaults.Model, read(t, path))
	}
}

func TestBashAdvice(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if f := h.look(); f.BashOutput != "" || !strings.Contains(f.Advice, "settings.json") {
		t.Errorf("%q %q", f.BashOutput, f.Advice)
	}
	for _, s := range []string{`{"env":{"BASH_MAX_OUTPUT_LENGTH":"150000"}}`, `{"env":{"BASH_MAX_OUTPUT_LENGTH":150000}}`} {
		put(t, filepath.Join(h.dir, ".claude/settings.json"), s)
		if f := h.look(); f.BashOutput != "150000" || f.Advice != "" {
			t.Errorf("%s: %q %q", s, f.BashOutput, f.Advice)
		}
	}
}
