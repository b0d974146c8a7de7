package llmtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Real servers are used by tests when they are found: named by an environment
// variable, else on PATH. RealModelEnv names a GGUF file with a real tokenizer.
const (
	LlamaServerEnv = "LEGWORK_TEST_LLAMA_SERVER"
	OllamaEnv      = "LEGWORK_TEST_OLLAMA"
	RealModelEnv   = "LEGWORK_TEST_MODEL"
)

// Live is a running real server.
type Live struct {
	URL string
	log *logBuffer
}

// Log is what the server wrote so far.
func (l *Live) Log() string { return l.log.String() }

// RealModel is a GGUF file with real weights, or the test is skipped.
func RealModel(t testing.TB) string {
	t.Helper()
	path := os.Getenv(RealModelEnv)
	if path == "" {
		t.Skipf("no real model: set %s to a GGUF file", RealModelEnv)
	}
	return path
}

// findProgram looks in the environment and on PATH.
func findProgram(t testing.TB, env, name string) string {
	t.Helper()
	if p := os.Getenv(env); p != "" {
		return p
	}
	p, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no real %s: none on PATH and %s is not set", name, env)
	}
	return p
}

// StartLlamaServer runs a real llama-server on one model, on a port of its own,
// with one thread. The test is skipped when there is no such server.
func StartLlamaServer(t testing.TB, model string, args ...string) *Live {
	t.Helper()
	program := findProgram(t, LlamaServerEnv, "llama-server")
	port := freePort(t)
	args = append([]string{"-m", model, "--host", "127.0.0.1", "--port", port, "-t", "1", "--jinja"}, args...)
	l := run(t, exec.Command(program, args...), "http://127.0.0.1:"+port, "LD_LIBRARY_PATH="+filepath.Dir(program)) //nolint:noctx // it lives until the test ends, see run
	l.await(t, l.URL+"/health")
	return l
}

// StartOllama runs a real Ollama with a home and models of its own. Models are
// created from GGUF files under their file names. Skipped when there is none.
func StartOllama(t testing.TB, models ...string) *Live {
	t.Helper()
	program := findProgram(t, OllamaEnv, "ollama")
	port, home := freePort(t), t.TempDir()
	env := []string{"OLLAMA_HOST=127.0.0.1:" + port, "HOME=" + home, "OLLAMA_MODELS=" + filepath.Join(home, "models"), "OLLAMA_NO_CLOUD=1"}
	l := run(t, exec.Command(program, "serve"), "http://127.0.0.1:"+port, env...) //nolint:noctx // it lives until the test ends, see run
	l.await(t, l.URL+"/api/version")
	for _, m := range models {
		file := filepath.Join(home, "Modelfile")
		text := fmt.Sprintf("FROM %s\nTEMPLATE \"\"\"%s\"\"\"\nPARAMETER num_thread 1\n", m, OllamaTemplate)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(m), ".gguf")
		cmd := exec.CommandContext(t.Context(), program, "create", name, "-f", file)
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ollama create %s: %v\n%s", name, err, out)
		}
	}
	return l
}

// run starts a server and ends it, by its own process, when the test ends.
func run(t testing.TB, cmd *exec.Cmd, url string, env ...string) *Live {
	t.Helper()
	l := &Live{URL: url, log: &logBuffer{}}
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = l.log, l.log
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", cmd.Path, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		// Politely first: Ollama has a child of its own to end.
		if cmd.Process.Signal(os.Interrupt) != nil {
			_ = cmd.Process.Kill()
		}
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	})
	return l
}

// await waits until the server answers 200.
func (l *Live) await(t testing.TB, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the server did not come up:\n%s", l.Log())
		}
	}
}

func freePort(t testing.TB) string {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// logBuffer is a bytes.Buffer for several writers.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
