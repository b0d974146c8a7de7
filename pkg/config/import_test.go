package config_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/pkg/config"

	"github.com/google/go-cmp/cmp"
)

func TestImportLocalagents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(w.project, "old", "models.yaml")
	w.put(path, `defaults:
  permission_mode: acceptEdits
  max_turns: 40
  timeout_s: 1800
  probe_timeout_s: 2.5
  system_prompt_append: |
    Two
    lines.
endpoints:
  llamacpp:
    base_url: http://127.0.0.1:8080
    backend: llama.cpp
  other:
    base_url: http://box.lan:9000
    backend: other
    env: {A: b}
    colour: blue
`)
	w.put(filepath.Join(w.project, "old", "models.local.yaml"), "endpoints:\n  added:\n    base_url: http://added:1\n    host: added\n")
	plan, err := config.Import(path)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Format != "localagents" || len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "colour") {
		t.Errorf("%s %v", plan.Format, plan.Notes)
	}
	if _, err := config.Apply(t.Context(), w.opts, "", plan.Changes); err != nil {
		t.Fatal(err)
	}
	cfg := w.load()
	noWarnings(t, cfg)
	if diff := cmp.Diff([]config.Endpoint{
		{Name: "llamacpp", BaseURL: "http://127.0.0.1:8080", Backend: "llama.cpp"},
		{Name: "other", BaseURL: "http://box.lan:9000", Backend: "auto", Env: map[string]config.Secret{"A": "b"}},
		{Name: "added", BaseURL: "http://added:1", Backend: "auto", Host: "added"},
	}, cfg.Endpoints); diff != "" {
		t.Error(diff)
	}
	got := []any{cfg.Defaults.MaxTurns, cfg.Defaults.Timeout, cfg.LLM.ProbeTimeout, cfg.Defaults.SystemPromptAppend}
	if diff := cmp.Diff([]any{40, 30 * time.Minute, 2500 * time.Millisecond, "Two\nlines.\n"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestImportLocalLLMWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(w.home, "old.json")
	w.put(path, `{
  "base_url": "http://gpu.lan:11434/v1", "api": "ollama", "api_key": "sk-0123456789", "headers": {"X-Team": "blue-team"},
  "model": "qwen3-coder:30b", "offload_model": "", "delegate_model": "devstral", "search_url": "http://localhost:8888",
  "research_sources": 4, "page_timeout_ms": 30000, "num_ctx": 65536, "max_tokens": 4096, "keep_alive": -1,
  "concurrency": 2, "timeout_ms": 600000, "test_timeout_ms": 120000, "max_attempts": 5, "allow_private_urls": true,
  "link_dirs": ["node_modules"], "log_path": "", "auto_use": [], "mystery": 1
}`)
	plan, err := config.Import(path)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Format != "local-llm-worker" || len(plan.Notes) != 3 {
		t.Errorf("%s %q", plan.Format, plan.Notes)
	}
	if _, err := config.Apply(t.Context(), w.opts, "", plan.Changes); err != nil {
		t.Fatal(err)
	}
	cfg := w.load()
	noWarnings(t, cfg)
	e := cfg.Endpoints[0]
	got := []any{
		e.Name, e.BaseURL, e.Backend, e.APIKey.Reveal(), e.Headers["X-Team"].Reveal(), cfg.Defaults.Model, cfg.Offload.Model, cfg.Delegate.Model,
		cfg.Research.SearxngURL, cfg.Research.Sources, cfg.Research.PageTimeout, cfg.LLM.NumCtx, cfg.LLM.AnswerTokens, cfg.LLM.KeepAlive,
		cfg.LLM.Concurrency, cfg.Delegate.TestTimeout, cfg.Offload.CommandTimeout, cfg.Delegate.Attempts, cfg.Delegate.LinkDirs, cfg.Store.Ledger, cfg.AutoUse,
	}
	want := []any{
		"gpu", "http://gpu.lan:11434/v1", "ollama", "sk-0123456789", "blue-team", "qwen3-coder:30b", "",
		[]string{"devstral"},
		"http://localhost:8888", 4, 30 * time.Second, 65536, 4096, "-1",
		2, 2 * time.Minute, 2 * time.Minute, 5,
		[]string{"node_modules"},
		false,
		[]string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestImportRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for text, words := range map[string]string{
		`{"colour": "blue"}`: "neither", "": "no settings", "{": "not YAML", "[1]": "settings",
	} {
		path := filepath.Join(w.home, "x.json")
		w.put(path, text)
		if _, err := config.Import(path); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := config.Import(filepath.Join(w.home, "missing")); err == nil {
		t.Error("a missing file is no error")
	}
	cam := filepath.Join(w.home, "camel.json")
	w.put(cam, `{"baseUrl": "http://127.0.0.1:1234", "numCtx": "many"}`)
	plan, err := config.Import(cam)
	if err != nil || len(plan.Changes) != 1 || plan.Changes[0].Key != "endpoints.local" || len(plan.Notes) != 1 {
		t.Errorf("%+v %v", plan, err)
	}
}

func TestFindImports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(filepath.Join(w.project, ".local-llm-worker.json"), "{}")
	w.put(filepath.Join(filepath.Dir(w.project), ".config", "localagents", "models.yaml"), "")
	if got := config.FindImports(w.opts); len(got) != 2 {
		t.Errorf("%v", got)
	}
}
