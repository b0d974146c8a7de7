package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/pkg/config"

	"github.com/google/go-cmp/cmp"
)

func TestSetWritesTheSidecarOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const hand = "# mine\nllm: {num_ctx: 1} # kept as it is\n"
	w.user(hand)
	out := w.set(config.ScopeUser, "llm.num_ctx", "4096")
	if diff := cmp.Diff(config.Applied{File: filepath.Join(w.home, "config.local.yaml"), Keys: []string{"llm.num_ctx"}}, out); diff != "" {
		t.Error(diff)
	}
	if cfg := w.load(); cfg.LLM.NumCtx != 4096 || cfg.Origin("llm.num_ctx").File != out.File {
		t.Errorf("%d from %v", cfg.LLM.NumCtx, cfg.Origin("llm.num_ctx"))
	}
	if got := w.read(w.home, "config.yaml"); got != hand {
		t.Errorf("the hand-written file was changed: %q", got)
	}
	if st, err := os.Stat(out.File); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	out, err := config.Apply(t.Context(), w.opts, "", []config.Change{{Key: "llm.num_ctx", Unset: true}})
	if err != nil || w.load().LLM.NumCtx != 1 {
		t.Errorf("unset: %v, %d", err, w.load().LLM.NumCtx)
	}
	if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "config.yaml:2") {
		t.Errorf("unset says where the value comes from now: %v", out.Warnings)
	}
}

// Values of every type, as typed and as JSON, come back as what they were.
func TestSetRoundTrip(t *testing.T) {
	t.Parallel()
	var fromJSON map[string]any
	dec := json.NewDecoder(strings.NewReader(`{"n": 5, "list": ["offload", "delegate"], "yes": true, "map": {"X-A": "v"}, "entry": {"base_url": "http://e:1", "concurrency": 2}}`))
	if err := dec.Decode(&fromJSON); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		key   string
		value any
		get   func(*config.Config) any
		want  any
	}{
		{"research.sources", fromJSON["n"], func(c *config.Config) any { return c.Research.Sources }, 5},
		{"research.sources", "7", func(c *config.Config) any { return c.Research.Sources }, 7},
		{"auto_use", fromJSON["list"], func(c *config.Config) any { return c.AutoUse }, []string{"offload", "delegate"}},
		{"auto_use", "research, Run_Agent", func(c *config.Config) any { return c.AutoUse }, []string{"research", "run_agent"}},
		{"shrink.except", "make *, npm ci", func(c *config.Config) any { return c.Shrink.Except }, []string{"make *", "npm ci"}},
		{"auto_use", "", func(c *config.Config) any { return c.AutoUse }, []string{}},
		{"research.robots", fromJSON["yes"], func(c *config.Config) any { return c.Research.Robots }, true},
		{"research.robots", "off", func(c *config.Config) any { return c.Research.Robots }, false},
		{"store.raw_max", "10MiB", func(c *config.Config) any { return c.Store.RawMax }, config.Bytes(10 << 20)},
		{"store.raw_age", "2d", func(c *config.Config) any { return c.Store.RawAge }, 48 * time.Hour},
		{"llm.idle_timeout", 90 * time.Second, func(c *config.Config) any { return c.LLM.IdleTimeout }, 90 * time.Second},
		{"llm.keep_alive", -1.0, func(c *config.Config) any { return c.LLM.KeepAlive }, "-1"},
		{"offload.model", "no", func(c *config.Config) any { return c.Offload.Model }, "no"},
		{"offload.model", "x: #y", func(c *config.Config) any { return c.Offload.Model }, "x: #y"},
		{"delegate.model", "a,b", func(c *config.Config) any { return c.Delegate.Model }, []string{"a", "b"}},
		{"stats.cache_read", "0.5", func(c *config.Config) any { return c.Stats.CacheRead }, 0.5},
		{"stats.turns", 40.0, func(c *config.Config) any { return c.Stats.Turns }, 40.0},
		{"stats.output", 4.25, func(c *config.Config) any { return c.Stats.Output }, 4.25},
		{"shrink.mode", "off", func(c *config.Config) any { return c.Shrink.Mode }, "off"},
		{"defaults.system_prompt_append", "two\nlines: x\n", func(c *config.Config) any { return c.Defaults.SystemPromptAppend }, "two\nlines: x\n"},
		{"endpoints.g.base_url", "http://g:1", func(c *config.Config) any { return c.Endpoints[0].BaseURL }, "http://g:1"},
		{"endpoints.my.box", fromJSON["entry"], func(c *config.Config) any { return []any{c.Endpoints[0].Name, c.Endpoints[0].Concurrency} }, []any{"my.box", 2}},
		{"endpoints.g", "http://g:1", func(c *config.Config) any { return c.Endpoints[0].BaseURL }, "http://g:1"},
		{"models.qwen3.8-27b.context", "100", func(c *config.Config) any { return c.Models }, []config.Model{{Name: "qwen3.8-27b", Context: 100}}},
		{"models.qwen3.8-27b", map[string]any{}, func(c *config.Config) any { return c.Models }, []config.Model{{Name: "qwen3.8-27b"}}},
	} {
		w := newWorld(t)
		w.set(config.ScopeUser, tt.key, tt.value)
		cfg := w.load()
		noWarnings(t, cfg)
		if diff := cmp.Diff(tt.want, tt.get(cfg)); diff != "" {
			t.Errorf("%s = %v:\n%s\n%s", tt.key, tt.value, diff, w.read(w.home, "config.local.yaml"))
		}
	}
	w := newWorld(t)
	w.set("", "endpoints.g", "http://g:1")
	w.set("", "endpoints.g.headers", fromJSON["map"])
	w.set("", "endpoints.g.headers.X-B", "w")
	w.set("", "endpoints.g.env", "A=1,B=2")
	g := w.load().Endpoints[0]
	if g.Headers["X-A"].Reveal() != "v" || g.Headers["X-B"].Reveal() != "w" || g.Env["B"].Reveal() != "2" {
		t.Errorf("%s", w.read(w.home, "config.local.yaml"))
	}
}

// Either all changes of a call are written or none is.
func TestSetRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct {
		key   string
		value any
		words string
	}{
		{"offload.mdoel", "x", "did you mean offload.model?"},
		{"model", "x", "did you mean"},
		{"offload", "x", "offload is a section"},
		{"offload.model.x", "x", "did you mean offload.model?"},
		{"", "x", "no setting"},
		{"endpoints", "x", "endpoints.<name>.<field>"},
		{"endpoints.", "x", "no setting"},
		{"endpoints.g.base_ulr", "http://g", "did you mean endpoints.g.base_url?"},
		{"endpoints.g", "gpu:8000", "write http://gpu:8000"},
		{"endpoints.g", map[string]any{"url": "http://g"}, "did you mean endpoints.g.base_url?"},
		{"endpoints.g", 5, "want a mapping of fields: base_url"},
		{"endpoints. g", "http://g", "not a name"},
		{"llm.num_ctx", "many", "not a whole number"},
		{"llm.num_ctx", []any{1.0}, "a number is wanted"},
		{"llm.idle_timeout", 30.0, "write 30s"},
		{"auto_use", []any{map[string]any{}}, "plain values"},
		{"endpoints.g.headers.A", "$KEY", "none is expanded"},
		{"offload.coverage", "everything", "auto, full, focused"},
		{"offload.model", struct{}{}, "not supported"},
	} {
		_, err := config.Apply(t.Context(), w.opts, "", []config.Change{{Key: "llm.num_ctx", Value: 5}, {Key: tt.key, Value: tt.value}})
		if err == nil || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s = %v: error %v, want %q", tt.key, tt.value, err, tt.words)
		}
	}
	if _, err := config.Apply(t.Context(), w.opts, "global", []config.Change{{Key: "llm.num_ctx", Value: 5}}); err == nil {
		t.Error("an unknown scope is accepted")
	}
	if _, err := os.Stat(filepath.Join(w.home, "config.local.yaml")); err == nil {
		t.Error("something was written")
	}
}

func TestSidecarKeepsWhatOthersWrote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.userSide(`# top
llm: # about models
  num_ctx: 1 # why
  # between
  answer_tokens: 2
unknown: {kept: true}
base: &b {base_url: http://b:1, notes: shared}
endpoints:
  one: *b
  two: *b
  three: http://t:1
models: [first]
`)
	w.set("", "llm.num_ctx", 9)
	w.set("", "endpoints.one.notes", "own")
	w.set("", "endpoints.three.notes", "x")
	w.set("", "models.second.context", 5)
	cfg := w.load()
	text := w.read(w.home, "config.local.yaml")
	for _, want := range []string{"# top", "# about models", "num_ctx: 9 # why", "# between", "kept: true"} {
		if !strings.Contains(text, want) {
			t.Errorf("lost %q in\n%s", want, text)
		}
	}
	one, _ := cfg.Endpoint("one")
	two, _ := cfg.Endpoint("two")
	three, _ := cfg.Endpoint("three")
	if one.Notes != "own" || one.BaseURL != "http://b:1" || two.Notes != "shared" || three.BaseURL != "http://t:1" || three.Notes != "x" {
		t.Errorf("%+v %+v %+v", one, two, three)
	}
	if diff := cmp.Diff([]config.Model{{Name: "first"}, {Name: "second", Context: 5}}, cfg.Models); diff != "" {
		t.Error(diff)
	}
	for _, key := range []string{"llm.num_ctx", "llm.answer_tokens", "endpoints.one", "endpoints.two.notes"} {
		if _, err := config.Apply(t.Context(), w.opts, "", []config.Change{{Key: key, Unset: true}}); err != nil {
			t.Fatal(err)
		}
	}
	cfg = w.load()
	if two, _ = cfg.Endpoint("two"); cfg.LLM.NumCtx != 0 || two.Notes != "" || two.BaseURL == "" {
		t.Errorf("%s", w.read(w.home, "config.local.yaml"))
	}
	if _, there := cfg.Endpoint("one"); there {
		t.Error("endpoint one is still there")
	}
	before := w.read(w.home, "config.local.yaml")
	out, err := config.Apply(t.Context(), w.opts, "", []config.Change{{Key: "research.sources", Unset: true}})
	if err != nil || out.File != "" || w.read(w.home, "config.local.yaml") != before {
		t.Errorf("unsetting what is not set: %+v %v", out, err)
	}
}

func TestCommentsOnlySidecar(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.userSide("# a note to myself")
	w.set("", "llm.num_ctx", 9)
	if text := w.read(w.home, "config.local.yaml"); !strings.HasPrefix(text, "# a note to myself\n") || w.load().LLM.NumCtx != 9 {
		t.Errorf("%q", text)
	}
}

func TestBrokenSidecarIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.userSide("llm:\n\tnum_ctx: 1\n")
	_, err := config.Apply(t.Context(), w.opts, "", []config.Change{{Key: "llm.num_ctx", Value: 5}})
	if err == nil || !strings.Contains(err.Error(), "config.local.yaml:2") {
		t.Errorf("error %v", err)
	}
	if got := w.read(w.home, "config.local.yaml"); got != "llm:\n\tnum_ctx: 1\n" {
		t.Errorf("changed: %q", got)
	}
}

func TestSetTellsWhatStillWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "LEGWORK_OFFLOAD_MODEL=env")
	w.proj("llm: {num_ctx: 3}\n")
	if out := w.set("", "offload.model", "x"); len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "LEGWORK_OFFLOAD_MODEL wins") {
		t.Errorf("%v", out.Warnings)
	}
	if out := w.set("", "llm.num_ctx", "4"); len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], ".legwork.yaml:1 wins") {
		t.Errorf("%v", out.Warnings)
	}
	if out := w.set(config.ScopeProject, "llm.num_ctx", "4"); len(out.Warnings) != 0 || w.load().LLM.NumCtx != 4 {
		t.Errorf("%v", out.Warnings)
	}
}

// In a project nobody trusts, tools cannot write what the user would have to trust.
func TestProjectScopeAndTrust(t *testing.T) {
	t.Parallel()
	apply := func(w *world, key, value string) error {
		_, err := config.Apply(t.Context(), w.opts, config.ScopeProject, []config.Change{{Key: key, Value: value}})
		return err
	}
	own := newWorld(t) // a project without any file of others
	if err := apply(own, "endpoints.g.base_url", "http://g:1"); err != nil {
		t.Fatal(err)
	}
	if err := apply(own, "research.searxng_url", "http://s"); err != nil {
		t.Fatal(err)
	}
	if cfg := own.load(); len(cfg.Endpoints) != 1 || cfg.Research.SearxngURL != "http://s" {
		t.Errorf("%v", cfg.Warnings)
	}
	foreign := newWorld(t)
	foreign.projSide("llm: {num_ctx: 2}\n")
	if err := apply(foreign, "endpoints.g.base_url", "http://g:1"); !errors.Is(err, config.ErrUntrusted) || !strings.Contains(err.Error(), "legwork trust") {
		t.Errorf("error %v", err)
	}
	if err := apply(foreign, "llm.num_ctx", "5"); err != nil || foreign.load().LLM.NumCtx != 5 {
		t.Errorf("tuning: %v", err)
	}
	if foreign.load().Project.Files[0].Trusted {
		t.Error("writing to a file made it trusted")
	}
	if _, err := config.Trust(t.Context(), foreign.opts); err != nil {
		t.Fatal(err)
	}
	if err := apply(foreign, "endpoints.g.base_url", "http://g:1"); err != nil || len(foreign.load().Endpoints) != 1 {
		t.Errorf("after trust: %v", err)
	}
}

// A link in the repository must not make us write somewhere else.
func TestProjectSidecarLinkIsNotFollowed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("making links needs a privilege on Windows")
	}
	w := newWorld(t)
	victim := filepath.Join(w.home, "victim")
	w.put(victim, "llm: {}\n")
	if err := os.Symlink(victim, filepath.Join(w.project, ".legwork.local.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err := config.Apply(t.Context(), w.opts, config.ScopeProject, []config.Change{{Key: "llm.num_ctx", Value: 5}})
	if err == nil || w.read(victim) != "llm: {}\n" {
		t.Errorf("error %v, victim %q", err, w.read(victim))
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reg := func(e config.Endpoint) (config.Applied, error) {
		return config.RegisterEndpoint(t.Context(), w.opts, "", e)
	}
	if _, err := reg(config.Endpoint{Name: "gpu"}); err == nil || !strings.Contains(err.Error(), "base_url") {
		t.Errorf("without an address: %v", err)
	}
	if _, err := reg(config.Endpoint{Name: "g\npu", BaseURL: "http://g"}); err == nil {
		t.Error("a name of two lines")
	}
	if _, err := reg(config.Endpoint{Name: "gpu.1", BaseURL: "http://gpu:1", Backend: "vLLM", APIKey: "sk-0123456789", Headers: map[string]config.Secret{"A": "b"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := reg(config.Endpoint{Name: "gpu.1", Notes: "n"}); err != nil {
		t.Fatal(err)
	}
	e, _ := w.load().Endpoint("gpu.1")
	if e.BaseURL != "http://gpu:1" || e.Backend != "vllm" || e.APIKey.Reveal() != "sk-0123456789" || e.Notes != "n" {
		t.Errorf("%+v", e)
	}
	out, err := reg(config.Endpoint{Name: "gpu.1", BaseURL: "http://other:1"}) // the key belongs to the old host
	if e, _ = w.load().Endpoint("gpu.1"); err != nil || e.APIKey != "" || len(e.Headers) != 0 || len(out.Warnings) != 2 {
		t.Errorf("moved: %+v %v %v", e, out, err)
	}
	if _, err := config.RegisterModel(t.Context(), w.opts, "", config.Model{Name: "qwen3.8", Endpoint: "gpu.1", BringUp: "start it"}); err != nil {
		t.Fatal(err)
	}
	if m, _ := w.load().Model("qwen3.8"); m.BringUp != "start it" {
		t.Errorf("%+v", m)
	}
}

// Many writers at once: nothing is lost.
func TestConcurrentSets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var wg sync.WaitGroup
	const n = 20
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			_, errs[i] = config.RegisterModel(t.Context(), w.opts, "", config.Model{Name: fmt.Sprintf("m%d", i), Context: i + 1})
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if got := len(w.load().Models); got != n {
		t.Errorf("%d of %d models", got, n)
	}
}

// A sidecar that was emptied grows as one that is new.
func TestSetAfterUnsettingAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(config.ScopeUser, "research.sources", "4")
	if _, err := config.Apply(t.Context(), w.opts, config.ScopeUser, []config.Change{{Key: "research.sources", Unset: true}}); err != nil {
		t.Fatal(err)
	}
	w.set(config.ScopeUser, "models.a.notes", "x")
	if o := w.load().Origin("models.a.notes"); o.Line < 3 {
		t.Errorf("it is in line %d, not in a block of its own", o.Line)
	}
}
