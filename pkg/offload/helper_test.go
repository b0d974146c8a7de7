package offload

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"legwork/pkg/config"
	"legwork/pkg/llm"
	"legwork/pkg/llm/llmtest"
	"legwork/pkg/proc"
)

// bed is what a call stands on in a test: a folder, settings of its own, and model servers.
type bed struct {
	Deps
	t   *testing.T
	dir string

	mu   sync.Mutex
	said []string // progress
}

// newBed makes one over fake servers; none means that no model server runs.
func newBed(t *testing.T, servers ...*llmtest.Server) *bed {
	t.Helper()
	b := &bed{t: t, dir: t.TempDir()}
	state := t.TempDir()
	env := []string{"LEGWORK_CONFIG_HOME=" + state, "LEGWORK_STATE_HOME=" + state, "PATH=" + os.Getenv("PATH")}
	cfg, err := config.Load(config.Options{Dir: b.dir, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	var set llm.Settings
	for i, s := range servers {
		set.Endpoints = append(set.Endpoints, llm.Endpoint{Name: []string{"gpu", "desk", "attic"}[i], BaseURL: s.URL})
	}
	b.Deps = Deps{
		Config: cfg, Models: llm.New(set, llm.Options{StateDir: state}), StateDir: state, Env: env, Children: &proc.Group{},
		Progress: func(s string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.said = append(b.said, s)
		},
	}
	return b
}

// run asks; it must work.
func (b *bed) run(req Request) *Result {
	b.t.Helper()
	req.Dir = b.dir
	res, err := Run(b.t.Context(), b.Deps, req)
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

func (b *bed) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) progress() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.said, "\n")
}

// unix skips tests whose commands are for a POSIX shell.
func unix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the command is for a POSIX shell")
	}
}

// journal is a log of n lines that all differ, with one line that answers which port was taken.
func journal(n, answerAt int) string {
	var b strings.Builder
	words := []string{"cache", "index", "queue", "mail", "disk", "audit", "session", "worker"}
	for i := 1; i <= n; i++ {
		if i == answerAt {
			fmt.Fprintf(&b, "10:%02d:%02d gateway: cannot bind to port 7443: address already in use\n", i/60%60, i%60)
			continue
		}
		fmt.Fprintf(&b, "10:%02d:%02d %s %s: %s %s of %s done\n", i/60%60, i%60, words[i%8], words[i/8%8], words[i/64%8], words[(i+3)%8], words[i/5%8])
	}
	return b.String()
}

const portQuestion = "To which port could the gateway not bind?"

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in:\n%s", p, text)
		}
	}
}

func hasNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%q must not be in:\n%s", p, text)
		}
	}
}
