package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"legwork/pkg/config"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultsWithoutAnyFile(t *testing.T) {
	t.Parallel()
	cfg := newWorld(t).load()
	noWarnings(t, cfg)
	got := []any{
		cfg.Defaults.MaxTurns, cfg.Defaults.Timeout, cfg.LLM.AnswerTokens, cfg.LLM.ProbeTimeout, cfg.Offload.Coverage,
		cfg.Offload.MaskSecrets, cfg.Research.Sources, cfg.Delegate.LinkDirs, cfg.Store.RawMax, cfg.Store.RawAge,
		cfg.AutoUse, cfg.Shrink.Mode, len(cfg.Endpoints), len(cfg.Servers()),
	}
	want := []any{
		60, 30 * time.Minute, 8192, 2500 * time.Millisecond, "auto", true, 5,
		[]string{"node_modules", ".venv", "venv", "vendor"},
		config.Bytes(500e6), 7 * 24 * time.Hour,
		[]string{"offload", "research"},
		"safe", 0, 4,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	cfg.AutoUse[0] = "changed" // what one caller does to its copy is nothing to the next
	if again := newWorld(t).load(); again.AutoUse[0] != "offload" {
		t.Errorf("defaults are shared between loads: %v", again.AutoUse)
	}
}

// The schema of the design, key for key.
func TestEveryDocumentedKeyIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(`
endpoints:
  workstation: {base_url: http://127.0.0.1:8080, backend: llama.cpp}
  gpu: {base_url: http://gpu.lan:8000, backend: vllm, host: gpu, notes: "", headers: {}, api_key: "", env: {}, concurrency: 0}
models:
  qwen3.8-27b: {notes: default coder; start with --reasoning on, host: gpu, served_name: "*Qwen3.8*", endpoint: gpu, context: 131072, bring_up: "…"}
defaults: {model: "", permission_mode: acceptEdits, allowed_tools: [Read, Edit, Write, Glob, Grep, Bash, WebFetch], disallowed_tools: [Agent, Task],
           setting_sources: [project, local], max_turns: 60, timeout: 30m, system_prompt_append: "…", dump_requests: false}
llm:      {answer_tokens: 8192, num_ctx: 0, keep_alive: "", first_byte_timeout: 10m, idle_timeout: 2m, concurrency: 0, probe_timeout: 2.5s}
offload:  {model: "", answer_tokens: 2048, coverage: auto, command_timeout: 10m, commands: rules, mask_secrets: true}
research: {model: "", sources: 5, rounds: 2, searxng_url: "", searxng_headers: {}, brave_api_key: "", tavily_api_key: "", page_timeout: 15s, allow_hosts: [], robots: true}
delegate: {model: "", attempts: 3, policy: default, candidates: 1,
           test_timeout: 10m, sandbox: auto, link_dirs: [node_modules, .venv, venv, vendor]}
agent:    {claude: "", tools: lean, verify_attempts: 3}
store:    {raw_max: 500MB, raw_age: 7d, worktree_age: 24h, ledger: true}
auto_use: [offload, research]
shrink:   {mode: safe, above: 6000, except: []}
stats:    {cache_write: 1.25, cache_read: 0.1, output: 5, later_turns: 10, turns: 50, prefix_tokens: 0, search_cost: 1800}
`)
	cfg := w.load()
	noWarnings(t, cfg)
	for _, s := range config.Reference() {
		if strings.Contains(s.Key, "<name>") {
			continue
		}
		if o := cfg.Origin(s.Key); o.File != filepath.Join(w.home, "config.yaml") || o.Line == 0 {
			t.Errorf("%s: origin %v, want a line of the file", s.Key, o)
		}
	}
	if len(cfg.Delegate.Model) != 0 {
		t.Errorf("an empty model is a list of %q", cfg.Delegate.Model)
	}
	if m, _ := cfg.Model("qwen3.8-27b"); m.Context != 131072 || m.ServedName != "*Qwen3.8*" {
		t.Errorf("model: %+v", m)
	}
}

func TestLaterLayersWin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "LEGWORK_LLM_NUM_CTX=5")
	keys := []string{"llm.answer_tokens", "llm.num_ctx", "offload.answer_tokens", "research.sources", "research.rounds", "delegate.attempts"}
	w.user("llm: {answer_tokens: 1, num_ctx: 1}\noffload: {answer_tokens: 1}\nresearch: {sources: 1, rounds: 1}\n")
	w.userSide("llm: {num_ctx: 2}\noffload: {answer_tokens: 2}\nresearch: {sources: 2, rounds: 2}\n")
	w.proj("llm: {num_ctx: 3}\nresearch: {sources: 3,\n  rounds: 3}\n")
	w.projSide("llm: {num_ctx: 4}\nresearch:\n  rounds: 4\n")
	cfg := w.load()
	noWarnings(t, cfg)
	if diff := cmp.Diff([]int{1, 5, 2, 3, 4, 3}, []int{
		cfg.LLM.AnswerTokens, cfg.LLM.NumCtx, cfg.Offload.AnswerTokens, cfg.Research.Sources, cfg.Research.Rounds, cfg.Delegate.Attempts,
	}); diff != "" {
		t.Error(diff)
	}
	want := []string{
		filepath.Join(w.home, "config.yaml") + ":1", "LEGWORK_LLM_NUM_CTX", filepath.Join(w.home, "config.local.yaml") + ":2",
		filepath.Join(w.project, ".legwork.yaml") + ":2", filepath.Join(w.project, ".legwork.local.yaml") + ":3", "built-in",
	}
	for i, k := range keys {
		if got := cfg.Origin(k).String(); got != want[i] {
			t.Errorf("origin of %s: %s, want %s", k, got, want[i])
		}
	}
}

func TestEntriesMergePerNameAndField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("endpoints:\n  b: {base_url: http://b:1, notes: hand}\n  a: {base_url: http://a:1, concurrency: 2}\nmodels:\n  m: {notes: n, context: 1}\ndelegate: {link_dirs: [x, y]}\n")
	w.userSide("endpoints:\n  c: {base_url: http://c:1}\n  a: {concurrency: 7}\nmodels: {m: {context: 2}, k: }\ndelegate: {link_dirs: [z]}\n")
	cfg := w.load()
	noWarnings(t, cfg)
	var names []string
	for _, e := range cfg.Endpoints {
		names = append(names, e.Name)
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, names); diff != "" {
		t.Errorf("order is priority:\n%s", diff)
	}
	if a, _ := cfg.Endpoint("a"); a.BaseURL != "http://a:1" || a.Concurrency != 7 || a.Backend != "auto" {
		t.Errorf("a = %+v", a)
	}
	if diff := cmp.Diff([]config.Model{{Name: "m", Notes: "n", Context: 2}, {Name: "k"}}, cfg.Models); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"z"}, cfg.Delegate.LinkDirs); diff != "" {
		t.Errorf("lists replace:\n%s", diff)
	}
}

// Everything a value can look like, by key.
func TestValues(t *testing.T) {
	t.Parallel()
	tests := []struct {
		yaml string
		get  func(*config.Config) any
		want any
	}{
		{"llm: {idle_timeout: 90s}", func(c *config.Config) any { return c.LLM.IdleTimeout }, 90 * time.Second},
		{"llm: {idle_timeout: 1h30m}", func(c *config.Config) any { return c.LLM.IdleTimeout }, 90 * time.Minute},
		{"store: {raw_age: 1w2d12h}", func(c *config.Config) any { return c.Store.RawAge }, (9*24 + 12) * time.Hour},
		{"store: {raw_max: 10MB}", func(c *config.Config) any { return c.Store.RawMax }, config.Bytes(10e6)},
		{"store: {raw_max: 10MiB}", func(c *config.Config) any { return c.Store.RawMax }, config.Bytes(10 << 20)},
		{"store: {raw_max: 1.5 gb}", func(c *config.Config) any { return c.Store.RawMax }, config.Bytes(15e8)},
		{"store: {raw_max: 2g}", func(c *config.Config) any { return c.Store.RawMax }, config.Bytes(2e9)},
		{"store: {raw_max: 4096}", func(c *config.Config) any { return c.Store.RawMax }, config.Bytes(4096)},
		{`llm: {num_ctx: "32768"}`, func(c *config.Config) any { return c.LLM.NumCtx }, 32768},
		{"llm: {num_ctx: 32_768}", func(c *config.Config) any { return c.LLM.NumCtx }, 32768},
		{"llm: {num_ctx: 32768.0}", func(c *config.Config) any { return c.LLM.NumCtx }, 32768},
		{"research: {robots: no}", func(c *config.Config) any { return c.Research.Robots }, false},
		{"research: {robots: 'False'}", func(c *config.Config) any { return c.Research.Robots }, false},
		{"shrink: off", func(c *config.Config) any { return c.Shrink.Mode }, "off"},
		{"shrink: {mode: ON}", func(c *config.Config) any { return c.Shrink.Mode }, "on"},
		{"llm: {keep_alive: -1}", func(c *config.Config) any { return c.LLM.KeepAlive }, "-1"},
		{"llm: {keep_alive: 30m}", func(c *config.Config) any { return c.LLM.KeepAlive }, "30m"},
		{"delegate: {model: small}", func(c *config.Config) any { return c.Delegate.Model }, []string{"small"}},
		{"delegate: {model: [small, big]}", func(c *config.Config) any { return c.Delegate.Model }, []string{"small", "big"}},
		{"offload: {model: [one]}", func(c *config.Config) any { return c.Offload.Model }, "one"},
		{"offload: {model: 123}", func(c *config.Config) any { return c.Offload.Model }, "123"},
		{"auto_use: []", func(c *config.Config) any { return c.AutoUse }, []string{}},
		{"auto_use: offload, delegate", func(c *config.Config) any { return c.AutoUse }, []string{"offload", "delegate"}},
		{"auto_use:\n- offload\n- ~\n", func(c *config.Config) any { return c.AutoUse }, []string{"offload"}},
		{"defaults: {allowed_tools: 'Bash(git log:*, x), Read'}", func(c *config.Config) any { return c.Defaults.AllowedTools }, []string{"Bash(git log:*, x)", "Read"}},
		{"defaults: {timeout_s: 1800}", func(c *config.Config) any { return c.Defaults.Timeout }, 30 * time.Minute},
		{"defaults: {probe_timeout_s: 1.5}", func(c *config.Config) any { return c.LLM.ProbeTimeout }, 1500 * time.Millisecond},
		{"defaults: {system_prompt_append: |\n    a\n    b\n}", func(c *config.Config) any { return c.Defaults.MaxTurns }, 60},
		{"endpoints: {g: http://g:1}", func(c *config.Config) any { return c.Endpoints[0].BaseURL }, "http://g:1"},
		{"endpoints: {g: {base_url: 'http://g:1/', backend: llamacpp}}", func(c *config.Config) any { return c.Endpoints[0].Backend }, "llama.cpp"},
		{"endpoints: {g: {base_url: 'http://g:1', backend: other}}", func(c *config.Config) any { return c.Endpoints[0].Backend }, "auto"},
		{"endpoints: {g: {base_url: 'http://g:1', backend: LM-Studio}}", func(c *config.Config) any { return c.Endpoints[0].Backend }, "lmstudio"},
		{"models: [a, b]", func(c *config.Config) any { return c.Models }, []config.Model{{Name: "a"}, {Name: "b"}}},
		{"offload:\nllm: ~\n", func(c *config.Config) any { return c.LLM.AnswerTokens }, 8192},
		{"offload: {model: ~}", func(c *config.Config) any { return c.Offload.Model }, ""},
		{"b: &b {num_ctx: 9}\nllm: {<<: *b, answer_tokens: 8}", func(c *config.Config) any { return c.LLM.NumCtx }, 9},
		{"x: &x 9\nllm: {num_ctx: *x}", func(c *config.Config) any { return c.LLM.NumCtx }, 9},
		{"\ufeffllm: {num_ctx: 9}", func(c *config.Config) any { return c.LLM.NumCtx }, 9},
		{"llm:\r\n  num_ctx: 9\r\n", func(c *config.Config) any { return c.LLM.NumCtx }, 9},
		{"# only a comment\n", func(c *config.Config) any { return len(c.Warnings) }, 0},
		{"", func(c *config.Config) any { return len(c.Warnings) }, 0},
		{"---\nllm: {num_ctx: 9}\n...\n", func(c *config.Config) any { return []int{c.LLM.NumCtx, len(c.Warnings)} }, []int{9, 0}},
		{"llm: {num_ctx: 9}\nllm: {num_ctx: 10}", func(c *config.Config) any { return c.LLM.NumCtx }, 10},
	}
	for _, tt := range tests {
		t.Run(tt.yaml, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if strings.Contains(tt.yaml, "|\n") {
				tt.yaml = "defaults:\n  system_prompt_append: |\n    a\n    b\n"
				tt.get, tt.want = func(c *config.Config) any { return c.Defaults.SystemPromptAppend }, "a\nb\n"
			}
			w.user(tt.yaml)
			if diff := cmp.Diff(tt.want, tt.get(w.load())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A bad value is a warning that names what would work, and the value below it stays.
func TestBadValuesAreNotUsed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		yaml, key, words string
	}{
		{"llm: {idle_timeout: 30}", "llm.idle_timeout", "30s"},
		{"llm: {idle_timeout: soon}", "llm.idle_timeout", "90s"},
		{"llm: {idle_timeout: -5m}", "llm.idle_timeout", "out of range"},
		{"llm: {num_ctx: many}", "llm.num_ctx", "not a whole number"},
		{"stats: {output: much}", "stats.output", "not a number"},
		{"stats: {output: .nan}", "stats.output", "not a number"},
		{"stats: {output: -1}", "stats.output", "out of range: 0 to 1000"},
		{"stats: {output: .inf}", "stats.output", ""},
		{"llm: {num_ctx: 1.5}", "llm.num_ctx", "not a whole number"},
		{"llm: {num_ctx: -1}", "llm.num_ctx", "out of range"},
		{"llm: {num_ctx: 99999999999999999999}", "llm.num_ctx", "not a whole number"},
		{"llm: {num_ctx: [1]}", "llm.num_ctx", "a number is wanted"},
		{"llm: {num_ctx: {a: 1}}", "llm.num_ctx", "a number is wanted"},
		{"llm: {num_ctx: !env CTX}", "llm.num_ctx", "!env"},
		{"llm: [1]", "llm", "a mapping"},
		{"llm: 5", "llm", "a mapping"},
		{"research: {robots: maybe}", "research.robots", "neither true nor false"},
		{"store: {raw_max: 10 bananas}", "store.raw_max", "500MB"},
		{"store: {raw_max: -1MB}", "store.raw_max", "not a size"},
		{"offload: {coverage: ful}", "offload.coverage", "did you mean full?"},
		{"offload: {model: [a, b]}", "offload.model", "one name"},
		{"offload: {model: {a: b}}", "offload.model", "text is wanted"},
		{`offload: {model: "a\nb"}`, "offload.model", "one printable line"},
		{"delegate: {link_dirs: [../secrets]}", "delegate.link_dirs", "inside the project"},
		{"delegate: {link_dirs: [/etc]}", "delegate.link_dirs", "inside the project"},
		{`delegate: {link_dirs: ['C:\x']}`, "delegate.link_dirs", "inside the project"},
		{"auto_use: [[a]]", "auto_use", "plain values"},
		{"auto_use: {a: b}", "auto_use", "a list"},
		{"auto_use: [ofload]", "auto_use", "did you mean offload?"},
		{"shrink: sometimes", "shrink.mode", "off, safe, on"},
		{"defaults: {setting_sources: [proj]}", "defaults.setting_sources", "did you mean project?"},
		{"endpoints: {g: {base_url: 'gpu:8000'}}", "endpoints.g.base_url", "http://gpu:8000"},
		{"endpoints: {g: {base_url: 'ftp://gpu'}}", "endpoints.g.base_url", "http and https"},
		{"endpoints: {g: {base_url: 'http://'}}", "endpoints.g.base_url", "not a URL"},
		{"endpoints: {g: {base_url: 'http://g?x=1'}}", "endpoints.g.base_url", "query"},
		{"endpoints: {g: {base_url: 'http://g:1', backend: tensorrt}}", "endpoints.g.backend", "llama.cpp, vllm"},
		{"endpoints: {g: {notes: x}}", "endpoints.g", "no valid base_url"},
		{"endpoints: {g: }", "endpoints.g", "no valid base_url"},
		{"endpoints: [http://g]", "endpoints", "a mapping"},
		{"endpoints: {g: {base_url: 'http://g:1', headers: [a]}}", "endpoints.g.headers", "a mapping is wanted"},
		{"endpoints: {g: {base_url: 'http://g:1', api_key: '${KEY}'}}", "endpoints.g.api_key", "none is expanded"},
		{"endpoints: {g: {base_url: 'http://g:1', headers: {A: $KEY}}}", "endpoints.g.headers", "none is expanded"},
		{"endpoints: {gpu: http://g}\nmodels: {m: {endpoint: gpo}}", "models.m.endpoint", "did you mean gpu?"},
		{"models: {m: {context: big}}", "models.m.context", "not a whole number"},
		{"models: {m: text}", "models.m", "a mapping"},
		{"models: [{a: b}]", "models", "list of model names"},
		{"offlaod: {model: x}", "offlaod", "did you mean offload?"},
		{"offload: {mdoel: x}", "offload.mdoel", "did you mean offload.model?"},
		{"num_ctx: 5", "num_ctx", "did you mean llm.num_ctx?"},
		{"searxngUrl: 5", "searxngUrl", "did you mean research.searxng_url?"},
		{"endpoints: {g: {base_url: 'http://g:1', baseurl: x}}", "endpoints.g.baseurl", "did you mean endpoints.g.base_url?"},
		{"models: {m: {contxt: 5}}", "models.m.contxt", "did you mean models.m.context?"},
		{"zzzzqqqq: 1", "zzzzqqqq", "unknown key"},
		{"llm: {num_ctx: 1, num_ctx: 2}", "llm.num_ctx", "written twice"},
		{"[a]: b", "", "plain word"},
		{"llm: {num_ctx: 1}\n---\nllm: {num_ctx: 2}\n", "", "first document"},
	}
	for _, tt := range tests {
		t.Run(tt.yaml, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.user(tt.yaml)
			warned(t, w.load(), tt.key, tt.words)
		})
	}
}

func TestBadValueKeepsTheOneBelow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "LEGWORK_LLM_NUM_CTX=lots")
	w.user("llm: {num_ctx: 4096}")
	w.userSide("llm: {num_ctx: loads}")
	cfg := w.load()
	if cfg.LLM.NumCtx != 4096 || len(cfg.Warnings) != 2 {
		t.Errorf("num_ctx = %d, warnings %v", cfg.LLM.NumCtx, cfg.Warnings)
	}
	if o := cfg.Origin("llm.num_ctx"); o.File != cfg.UserFile {
		t.Errorf("origin %v", o)
	}
}

// A file that is not YAML is an error that names the file and the line.
func TestNotYAML(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, yaml string
		line       int
		words      string
	}{
		{"tab", "llm:\n\tnum_ctx: 1\n", 2, "tab"},
		{"tab in list", "a: 1\nauto_use:\n\t- x\n", 3, "tab"},
		{"tab first", "\tllm: 1\n", 1, "tab"},
		{"open list", "a: 1\nauto_use: [x, y\nb: 2\n", 2, "',' or ']'"},
		{"open quote", "a: 1\nb: 'x\nc: 2\n", 2, "end of stream"},
		{"two colons", "a: 1\nb: c: d\n", 2, "mapping values"},
		{"no colon", "a: 1\nb: 2\nc\nd: 3\n", 3, "could not find expected ':'"},
		{"at sign", "a: 1\nb: @x\n", 2, "quotes"},
		{"indent", "a:\n  b: 1\n c: 2\n", 3, "did not find expected key"},
		{"list in mapping", "a: 1\n- b\n", 2, "did not find expected key"},
		{"anchor", "a: 1\nb: 2\nc: *nope\n", 3, "nope"},
		{"control", "a: 1\nb: \x01\n", 2, "control"},
		{"latin1", "a: 1\nb: 2\nc: \xe9\n", 3, "UTF-8"},
		{"list", "- a\n- b\n", 1, "settings (key: value)"},
		{"text", "\n\njust text\n", 3, "settings (key: value)"},
		{"json cut", "{\"llm\": {\"num_ctx\": 1\n", 1, "not YAML"},
		{"nul", "a: 1\n\x00\n", 2, "control"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.user(tt.yaml)
			_, err := config.Load(w.opts)
			where := fmt.Sprintf("%s:%d: ", filepath.Join(w.home, "config.yaml"), tt.line)
			if err == nil || !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("error %v\nwant %q and %q", err, where, tt.words)
			}
		})
	}
}

func TestWhatIsNotAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(w.home, "config.yaml")
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(w.opts); err == nil || !strings.Contains(err.Error(), path+" is a directory") {
		t.Errorf("directory: %v", err)
	}
	huge := newWorld(t)
	huge.user("a: " + strings.Repeat("x", 1<<20))
	if _, err := config.Load(huge.opts); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("huge: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	dangling := newWorld(t)
	dangling.user("x")
	link := filepath.Join(dangling.home, "config.yaml")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nonexistent/target", link); err != nil {
		t.Fatal(err)
	}
	noWarnings(t, dangling.load())
	linked := newWorld(t)
	linked.put(filepath.Join(linked.project, "dotfiles.yaml"), "llm: {num_ctx: 7}\n")
	linked.put(filepath.Join(linked.home, "x"), "")
	if err := os.Symlink(filepath.Join(linked.project, "dotfiles.yaml"), filepath.Join(linked.home, "config.yaml")); err != nil {
		t.Fatal(err)
	}
	if cfg := linked.load(); cfg.LLM.NumCtx != 7 {
		t.Error("a symlinked file is not read")
	}
	if os.Getuid() != 0 {
		secret := newWorld(t)
		secret.user("llm: {}")
		if err := os.Chmod(filepath.Join(secret.home, "config.yaml"), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(secret.opts); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("unreadable: %v", err)
		}
	}
}

// Aliases that hold themselves, and merges that multiply, end.
func TestHostileYAMLEnds(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 {k: v}\n")
	for i := 1; i < 12; i++ {
		list := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 60), ", ")
		fmt.Fprintf(&bomb, "a%d: &a%d {<<: [%s]}\n", i, i, list)
	}
	bomb.WriteString("llm: {<<: *a11}\n")
	for _, text := range []string{
		"a: &x [*x]\nauto_use: *x\n", "endpoints: &e {g: *e}\n", "llm: &l {<<: *l, num_ctx: 3}\n", bomb.String(),
		"models:\n" + strings.Repeat("  ? {}\n  : 1\n", 300),
	} {
		w := newWorld(t)
		w.user(text)
		if cfg := w.load(); len(cfg.Warnings) > 101 {
			t.Errorf("%d warnings for %.40q", len(cfg.Warnings), text)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		"LEGWORK_OFFLOAD_MODEL=coder", "LEGWORK_AUTO_USE=offload, delegate", "LEGWORK_DELEGATE_LINK_DIRS=[a, b]",
		"LEGWORK_LLM_IDLE_TIMEOUT=5m", "LEGWORK_RESEARCH_ROBOTS=0", "LEGWORK_RESEARCH_MODEL=",
		"LEGWORK_ENDPOINTS_MY_GPU_BASE_URL=http://other:1/v1", "LEGWORK_ENDPOINTS_MY_GPU_API_KEY=sk-0123456789",
		"LEGWORK_ENDPOINTS_NEW_BASE_URL=http://new:2", `LEGWORK_ENDPOINTS_NEW_HEADERS={"X-A":"b,c"}`,
		"LEGWORK_MODELS_QWEN3_8_27B_CONTEXT=99", "LEGWORK_LLM_NUMCTX=5", "LEGWORK_RAW=1", "LEGWORK_STORE_LEDGER=nope",
	)
	w.user("endpoints: {my-gpu: {base_url: http://gpu:1}}\nmodels: {qwen3.8-27b: {context: 5}}\nresearch: {model: kept}\n")
	cfg := w.load()
	warned(t, cfg, "store.ledger", "neither true nor false")
	if len(cfg.Warnings) != 2 || !strings.Contains(cfg.Warnings[0].String(), "LEGWORK_LLM_NUMCTX") || !strings.Contains(cfg.Warnings[0].Text, "LEGWORK_LLM_NUM_CTX") {
		t.Errorf("warnings: %v", cfg.Warnings)
	}
	got := []any{
		cfg.Offload.Model, cfg.AutoUse, cfg.Delegate.LinkDirs, cfg.LLM.IdleTimeout, cfg.Research.Robots, cfg.Research.Model,
		cfg.Endpoints[0].BaseURL, cfg.Endpoints[0].APIKey.Reveal(), cfg.Endpoints[1].Name, cfg.Endpoints[1].Headers["X-A"].Reveal(), cfg.Models[0].Context,
	}
	want := []any{
		"coder",
		[]string{"offload", "delegate"},
		[]string{"a", "b"},
		5 * time.Minute, false, "kept",
		"http://other:1/v1", "sk-0123456789", "new", "b,c", 99,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestProjectIsFoundWithoutGit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.proj("llm: {num_ctx: 3}")
	sub := filepath.Join(w.project, "a", "b")
	w.put(filepath.Join(sub, "x"), "")
	w.opts.Dir = sub
	if cfg := w.load(); cfg.LLM.NumCtx != 3 || cfg.Project.Root != w.project {
		t.Errorf("from a subdirectory: %d in %s", cfg.LLM.NumCtx, cfg.Project.Root)
	}
	w.put(filepath.Join(w.project, "a", ".git"), "gitdir: ../../worktrees/a\n") // a worktree or submodule
	if cfg := w.load(); cfg.LLM.NumCtx != 0 || cfg.Project.Root != filepath.Join(w.project, "a") {
		t.Errorf("in a worktree: %d in %s", cfg.LLM.NumCtx, cfg.Project.Root)
	}
	plain := newWorld(t)
	if err := os.RemoveAll(filepath.Join(plain.project, ".git")); err != nil {
		t.Fatal(err)
	}
	plain.proj("llm: {num_ctx: 4}")
	if cfg := plain.load(); cfg.LLM.NumCtx != 4 {
		t.Error("outside a repository the working directory's file is not read")
	}
}

func TestNamedFileReplacesTheProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.proj("llm: {num_ctx: 3}")
	w.put(filepath.Join(w.project, "other.yaml"), "endpoints: {g: {base_url: http://g:1}}\n")
	w.opts.File = "other.yaml"
	cfg := w.load()
	noWarnings(t, cfg)
	if cfg.LLM.NumCtx != 0 || len(cfg.Endpoints) != 1 {
		t.Errorf("num_ctx %d, endpoints %v", cfg.LLM.NumCtx, cfg.Endpoints)
	}
	w.opts.File = "missing.yaml"
	if _, err := config.Load(w.opts); err == nil || !strings.Contains(err.Error(), "missing.yaml") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestModelsYAMLIsTakenOnlyWhenItIsOurs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"version: 2\nmodels:\n  - name: customers\n    columns: [id]\n",     // another tool's
		"{{ config(materialized='table') }}\n", "default_model: {api: x}\n", // not even YAML
	} {
		w := newWorld(t)
		w.put(filepath.Join(w.project, "models.yaml"), text)
		cfg := w.load()
		noWarnings(t, cfg)
		if len(cfg.Project.Files) != 0 {
			t.Errorf("taken: %q", text)
		}
	}
	w := newWorld(t)
	w.user("endpoints: {llamacpp: {base_url: http://127.0.0.1:8080}}")
	w.put(filepath.Join(w.project, "models.yaml"), "defaults: {max_turns: 9, timeout_s: 60}\nendpoints:\n  llamacpp: {concurrency: 3}\n")
	cfg := w.load()
	noWarnings(t, cfg)
	if cfg.Defaults.MaxTurns != 9 || cfg.Defaults.Timeout != time.Minute || cfg.Endpoints[0].Concurrency != 3 {
		t.Errorf("%+v %+v", cfg.Defaults, cfg.Endpoints)
	}
	w.proj("defaults: {max_turns: 4}")
	if cfg := w.load(); cfg.Defaults.MaxTurns != 4 || cfg.Defaults.Timeout != 30*time.Minute {
		t.Error(".legwork.yaml does not replace models.yaml")
	}
	broken := newWorld(t)
	broken.put(filepath.Join(broken.project, "models.yaml"), "endpoints:\n\tg: 1\n")
	if _, err := config.Load(broken.opts); err == nil || !strings.Contains(err.Error(), "models.yaml:2:") {
		t.Errorf("one of ours that is broken: %v", err)
	}
}

func TestNoHomeAtAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opts.Env = []string{"PATH=/bin"}
	w.proj("llm: {num_ctx: 3}")
	cfg := w.load()
	warned(t, cfg, "", "LEGWORK_CONFIG_HOME")
	if cfg.LLM.NumCtx != 3 {
		t.Error("the project's file is not read")
	}
	if _, err := config.StateHome([]string{"LEGWORK_STATE_HOME=rel"}); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("relative directory: %v", err)
	}
}

// Every key of the reference is a struct field and has a line of documentation.
func TestReference(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range config.Reference() {
		if s.Doc == "" || s.Env == "" || seen[s.Key] {
			t.Errorf("incomplete or double: %+v", s)
		}
		seen[s.Key] = true
	}
	trusted := map[string]bool{}
	for _, s := range config.Reference() {
		trusted[s.Key] = !s.Trust
	}
	for _, key := range []string{
		"endpoints.<name>.base_url", "endpoints.<name>.headers", "endpoints.<name>.api_key", "endpoints.<name>.env",
		"models.<name>.bring_up", "defaults.permission_mode", "defaults.allowed_tools", "defaults.disallowed_tools",
		"defaults.setting_sources", "research.searxng_url", "research.allow_hosts", "agent.claude", "offload.commands",
		"offload.mask_secrets", "delegate.sandbox", "store.raw_age",
	} {
		if may, known := trusted[key]; !known || may {
			t.Errorf("%s: known %v, a project may set it without trust: %v", key, known, may)
		}
	}
	if n := reflect.TypeFor[config.Config]().NumField(); n < 10 {
		t.Errorf("only %d fields", n)
	}
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	text := "endpoints:\n"
	for i := range 8 {
		text += fmt.Sprintf("  gpu%d: {base_url: http://gpu%d.lan:8000, backend: vllm, headers: {X-A: b}, api_key: sk-0123456789}\n", i, i)
	}
	text += "offload: {model: x, command_timeout: 30s}\nauto_use: [offload]\n"
	for _, name := range []string{"config.yaml", "config.local.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	opts := config.Options{Dir: dir, Env: []string{"LEGWORK_CONFIG_HOME=" + dir, "LEGWORK_OFFLOAD_MODEL=abc"}}
	for b.Loop() {
		if _, err := config.Load(opts); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("endpoints: {g: {base_url: http://g:1}}\nllm: &l {<<: *l}\n")
	f.Add("a: [1, 2\nb: \t3\n")
	f.Add("models: [a, {b: c}]\nshrink: off\n? [x]\n: y\n")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(config.Options{Dir: dir, Env: []string{"LEGWORK_CONFIG_HOME=" + dir}})
		if err == nil {
			_ = cfg.View()
			_ = cfg.Redact(text)
		}
	})
}
