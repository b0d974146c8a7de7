package llm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/pkg/config"
	"legwork/pkg/llm/llmtest"
)

// home is a user's configuration directory with this config.yaml.
func home(t *testing.T, yaml string) config.Options {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Options{Dir: t.TempDir(), Env: []string{"LEGWORK_CONFIG_HOME=" + dir, "HOME=" + dir}}
}

func load(t *testing.T, opts config.Options) Settings {
	t.Helper()
	cfg, err := config.Load(opts)
	if err != nil {
		t.Fatal(err)
	}
	return FromConfig(cfg)
}

func TestFromConfig(t *testing.T) {
	t.Parallel()
	s := load(t, home(t, `
endpoints:
  gpu: {base_url: "http://gpu.lan:8000/v1", backend: vllm, host: gpu, notes: big one, headers: {X-Team: red-1234}, api_key: sk-12345678, concurrency: 3}
models:
  coder: {served_name: "*Qwen3*", endpoint: gpu, context: 131072, bring_up: start it, notes: n, host: gpu}
defaults: {model: coder}
offload: {model: small}
delegate: {model: [a, b]}
llm: {answer_tokens: 99, num_ctx: 1000, keep_alive: 30m, first_byte_timeout: 1m, idle_timeout: 30s, probe_timeout: 1s, concurrency: 2}
`))
	e := s.Endpoints[0]
	if e.Name != "gpu" || e.Backend != VLLM || e.APIKey != "sk-12345678" || e.Headers["X-Team"] != "red-1234" || e.Concurrency != 3 || e.WellKnown || e.Notes != "big one" {
		t.Errorf("%+v", e)
	}
	if m := s.Models[0]; m != (ModelNote{Name: "coder", ServedName: "*Qwen3*", Endpoint: "gpu", Context: 131072, BringUp: "start it", Notes: "n", Host: "gpu"}) {
		t.Errorf("%+v", m)
	}
	if s.DefaultModel != "coder" || s.ToolModel["offload"] != "small" || s.ToolModel["delegate"] != "a" || s.AnswerTokens != 99 || s.NumCtx != 1000 ||
		s.KeepAlive != "30m" || s.FirstByteTimeout != time.Minute || s.IdleTimeout != 30*time.Second || s.ProbeTimeout != time.Second || s.Concurrency != 2 {
		t.Errorf("%+v", s)
	}
}

// With no endpoint configured the well-known ports are tried, or what the
// environment names instead.
func TestLocalServers(t *testing.T) {
	opts := home(t, "defaults: {model: x}\n")
	t.Setenv(localServersEnv, "")
	if s := load(t, opts); len(s.Endpoints) != 4 || !s.Endpoints[0].WellKnown {
		t.Errorf("%+v", s.Endpoints)
	}
	t.Setenv(localServersEnv, "http://127.0.0.1:1, 127.0.0.1:2")
	if s := load(t, opts); len(s.Endpoints) != 2 || s.Endpoints[1].BaseURL != "127.0.0.1:2" || s.Endpoints[0].Name == s.Endpoints[1].Name {
		t.Errorf("%+v", s.Endpoints)
	}
	t.Setenv(localServersEnv, llmtest.Refused(t))
	r := New(load(t, opts), Options{StateDir: t.TempDir()})
	_, err := r.Choose(t.Context(), Want{})
	if err == nil || !strings.Contains(err.Error(), "well-known") || !strings.Contains(err.Error(), "ollama serve") {
		t.Errorf("%v", err)
	}
	t.Setenv(localServersEnv, "none")
	if s := load(t, opts); len(s.Endpoints) != 0 {
		t.Errorf("%+v", s.Endpoints)
	}
}

// register_endpoint and register_model write the sidecar and probe at once.
func TestRegister(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{Models: []llmtest.Model{{ID: "qwen3-8b-q4.gguf"}}})
	opts := home(t, "llm: {answer_tokens: 50}\n")
	r := New(load(t, opts), Options{StateDir: t.TempDir()})
	applied, st, err := r.RegisterEndpoint(t.Context(), opts, config.ScopeUser, config.Endpoint{Name: "mine", BaseURL: s.URL, Notes: "desk"})
	if err != nil || st.State != Up || st.Notes != "desk" || !strings.HasSuffix(applied.File, "config.local.yaml") {
		t.Fatalf("%+v, %+v, %v", applied, st, err)
	}
	_, c, err := r.RegisterModel(t.Context(), opts, config.ScopeUser, config.Model{Name: "coder", ServedName: "qwen3*", Context: 8000})
	if err != nil || c.Model != "qwen3-8b-q4.gguf" || c.Window != 8000 {
		t.Errorf("%+v, %v", c, err)
	}
	_, _, err = r.RegisterModel(t.Context(), opts, config.ScopeUser, config.Model{Name: "huge", BringUp: "ssh rack start-huge"})
	if err == nil || !strings.Contains(err.Error(), "ssh rack start-huge") {
		t.Errorf("%v", err)
	}
	if a := chat(t, r, Request{}); a.MaxTokens != 50 {
		t.Errorf("%+v", a)
	}
}
