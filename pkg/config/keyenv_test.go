package config_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"legwork/pkg/config"
)

// The key that the client keeps reaches the endpoint that names it, and is shown nowhere.
func TestKeyFromVariable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "LEGWORK_API_KEY=plugin-key-123", "LEGWORK_API_KEY_OWN=another-key-123")
	w.user("endpoints:\n  gpu: {base_url: 'http://gpu.lan:8000', api_key_env: LEGWORK_API_KEY}\n  own: {base_url: 'http://own.lan', api_key: of-its-own-1, api_key_env: LEGWORK_API_KEY_OWN}\n")
	cfg := w.load()
	gpu, _ := cfg.Endpoint("gpu")
	own, _ := cfg.Endpoint("own")
	noWarnings(t, cfg)
	if gpu.APIKey.Reveal() != "plugin-key-123" || own.APIKey.Reveal() != "of-its-own-1" {
		t.Errorf("keys %q and %q", gpu.APIKey.Reveal(), own.APIKey.Reveal())
	}
	if o := cfg.Origin("endpoints.gpu.api_key"); o.Env != "LEGWORK_API_KEY" {
		t.Errorf("origin %+v", o)
	}
	var view strings.Builder
	for _, e := range cfg.View() {
		view.WriteString(e.Key + "=" + e.Value + "\n")
	}
	if s := view.String(); strings.Contains(s, "plugin-key-123") || !strings.Contains(s, "endpoints.gpu.api_key=(set)") {
		t.Errorf("view:\n%s", s)
	}
	if got := cfg.Redact("it sent plugin-key-123"); got != "it sent (set)" {
		t.Errorf("redacted: %q", got)
	}
}

// Not set, or empty as the client hands over what nobody filled in: no key, no warning. A client that does not expand the
// option hands over its name, which is no key.
func TestKeyVariableWithoutKey(t *testing.T) {
	t.Parallel()
	for env, warnings := range map[string]int{"A=b": 0, "LEGWORK_API_KEY=": 0, "LEGWORK_API_KEY=${user_config.api_key}": 1} {
		w := newWorld(t, env)
		w.user("endpoints: {gpu: {base_url: 'http://gpu.lan:8000', api_key_env: LEGWORK_API_KEY}}\n")
		cfg := w.load()
		if gpu, _ := cfg.Endpoint("gpu"); gpu.APIKey != "" || len(cfg.Warnings) != warnings {
			t.Errorf("%s: key %q, warnings %v", env, gpu.APIKey.Reveal(), cfg.Warnings)
		}
	}
}

// What the plugin's manifest hands over counts unless the user exported a key of their own; every option of the manifest
// that is filled in is used.
func TestPluginOptions(t *testing.T) {
	t.Parallel()
	manifest, err := os.ReadFile("../../.claude-plugin/plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	var plugin struct {
		UserConfig map[string]struct{ Sensitive bool }
		MCPServers map[string]struct{ Env map[string]string }
	}
	if err := json.Unmarshal(manifest, &plugin); err != nil {
		t.Fatal(err)
	}
	env, n := []string{"LEGWORK_RESEARCH_TAVILY_API_KEY=exported-key-1"}, 0
	for name, value := range plugin.MCPServers["legwork"].Env {
		option := strings.TrimSuffix(strings.TrimPrefix(value, "${user_config."), "}")
		if !plugin.UserConfig[option].Sensitive {
			t.Errorf("%s is given %s, which is no sensitive option", name, value)
		}
		env = append(env, name+"=key-of-"+option)
		n++
	}
	if n != len(plugin.UserConfig) || n != 3 {
		t.Errorf("%d of %d options are handed over", n, len(plugin.UserConfig))
	}
	w := newWorld(t, env...)
	w.user("endpoints: {gpu: {base_url: 'http://gpu.lan:8000', api_key_env: LEGWORK_API_KEY}}\n")
	cfg := w.load()
	noWarnings(t, cfg)
	gpu, _ := cfg.Endpoint("gpu")
	got := []string{gpu.APIKey.Reveal(), cfg.Research.BraveAPIKey.Reveal(), cfg.Research.TavilyAPIKey.Reveal()}
	if want := []string{"key-of-api_key", "key-of-brave_api_key", "exported-key-1"}; !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
}

// Only variables for our keys may be named, a project needs trust to name one, and the key stays with its host.
func TestKeyVariableIsGuarded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "LEGWORK_API_KEY=plugin-key-123", "GITHUB_TOKEN=not-for-models-1")
	w.user("endpoints:\n  gpu: {base_url: 'http://gpu.lan:8000', api_key_env: LEGWORK_API_KEY}\n")
	w.proj("endpoints:\n  gpu: {base_url: 'http://evil.example', api_key_env: GITHUB_TOKEN}\n")
	if gpu, _ := w.load().Endpoint("gpu"); gpu.BaseURL != "http://gpu.lan:8000" || gpu.APIKey.Reveal() != "plugin-key-123" {
		t.Errorf("%+v", gpu)
	}
	if _, err := config.Trust(t.Context(), w.opts); err != nil {
		t.Fatal(err)
	}
	cfg := w.load()
	warned(t, cfg, "endpoints.gpu.api_key_env", "LEGWORK_API_KEY_GPU")
	if gpu, _ := cfg.Endpoint("gpu"); gpu.BaseURL != "http://evil.example" || gpu.APIKey != "" || gpu.APIKeyEnv != "" {
		t.Errorf("the key travels: %+v", gpu)
	}
	for _, name := range []string{"LEGWORK_API_KEY_", "LEGWORK_API_KEYS", "LEGWORK_BIN", "HOME", "legwork_api_key", "LEGWORK_API_KEY_a"} {
		_, err := config.Apply(t.Context(), w.opts, config.ScopeUser, []config.Change{{Key: "endpoints.gpu.api_key_env", Value: name}})
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for _, name := range []string{"LEGWORK_API_KEY", "LEGWORK_API_KEY_GPU2"} {
		w.set(config.ScopeUser, "endpoints.gpu.api_key_env", name)
	}
	// A tool that moves the endpoint to another host leaves the name behind.
	w.set(config.ScopeUser, "endpoints.gpu.base_url", "http://other.example")
	w.set(config.ScopeUser, "endpoints.gpu.base_url", "http://third.example")
	if side := w.read(w.home, "config.local.yaml"); strings.Contains(side, "LEGWORK_API_KEY_GPU2") {
		t.Errorf("the sidecar keeps the name for another host:\n%s", side)
	}
}
