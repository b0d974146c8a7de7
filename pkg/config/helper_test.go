package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/pkg/config"
)

// world is a machine with a user and one project.
type world struct {
	t       *testing.T
	home    string // LEGWORK_CONFIG_HOME
	project string
	opts    config.Options
}

func newWorld(t *testing.T, env ...string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: filepath.Join(root, "config"), project: filepath.Join(root, "project")}
	w.put(filepath.Join(w.project, ".git", "HEAD"), "ref: refs/heads/main\n")
	w.opts = config.Options{
		Dir: w.project,
		Env: append([]string{
			"HOME=" + root, "USERPROFILE=" + root,
			"LEGWORK_CONFIG_HOME=" + w.home, "LEGWORK_STATE_HOME=" + filepath.Join(root, "state"),
		}, env...),
	}
	return w
}

func (w *world) put(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) user(text string) { w.t.Helper(); w.put(filepath.Join(w.home, "config.yaml"), text) }

func (w *world) userSide(text string) {
	w.t.Helper()
	w.put(filepath.Join(w.home, "config.local.yaml"), text)
}

func (w *world) proj(text string) {
	w.t.Helper()
	w.put(filepath.Join(w.project, ".legwork.yaml"), text)
}

func (w *world) projSide(text string) {
	w.t.Helper()
	w.put(filepath.Join(w.project, ".legwork.local.yaml"), text)
}

func (w *world) read(elem ...string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *world) load() *config.Config {
	w.t.Helper()
	cfg, err := config.Load(w.opts)
	if err != nil {
		w.t.Fatal(err)
	}
	return cfg
}

func (w *world) set(scope config.Scope, key string, value any) config.Applied {
	w.t.Helper()
	out, err := config.Apply(w.t.Context(), w.opts, scope, []config.Change{{Key: key, Value: value}})
	if err != nil {
		w.t.Fatalf("set %s: %v", key, err)
	}
	return out
}

// warned fails unless exactly one warning of the key says all the words.
func warned(t *testing.T, cfg *config.Config, key string, words ...string) config.Warning {
	t.Helper()
	var found []config.Warning
	for _, w := range cfg.Warnings {
		if w.Key == key {
			found = append(found, w)
		}
	}
	if len(found) != 1 {
		t.Fatalf("want one warning about %q, got %v (of %v)", key, found, cfg.Warnings)
	}
	for _, word := range words {
		if !strings.Contains(found[0].Text, word) {
			t.Errorf("warning about %q: want %q in %q", key, word, found[0].Text)
		}
	}
	return found[0]
}

func noWarnings(t *testing.T, cfg *config.Config) {
	t.Helper()
	for _, w := range cfg.Warnings {
		t.Errorf("unexpected warning: %s", w)
	}
}
