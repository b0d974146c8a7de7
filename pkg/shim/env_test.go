package shim

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// A32: the client is told the real window and an answer size that fits it; too small a window is refused with the
// arithmetic.
func TestEnvTellsTheWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		window          int
		context, output string
	}{
		{32768, "32768", "6553"}, {131072, "131072", "8192"}, {20000, "20000", "4000"}, {16384, "20000", "2048"}, {8192, "20000", "1365"}, {0, "", "8192"},
	} {
		s, err := New(Target{BaseURL: "http://127.0.0.1:1/v1/", Model: "qwen", Window: c.window}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		env := s.Env("127.0.0.1:9")
		for _, want := range []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:9", "ANTHROPIC_AUTH_TOKEN=" + s.Token(), "ANTHROPIC_MODEL=qwen", "CLAUDE_CODE_DISABLE_AUTO_MEMORY=1", "CLAUDE_CODE_MAX_OUTPUT_TOKENS=" + c.output} {
			if !slices.Contains(env, want) {
				t.Errorf("window %d: %s missing in %v", c.window, want, env)
			}
		}
		if has := strings.Contains(strings.Join(env, "\n"), "CLAUDE_CODE_MAX_CONTEXT_TOKENS="+c.context); has != (c.context != "") {
			t.Errorf("window %d: %v", c.window, env)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	var we *WindowError
	if _, err := New(Target{BaseURL: "http://x", Kind: LlamaCPP, Model: "m", Window: 4096}, Options{}); !errors.As(err, &we) || !strings.Contains(err.Error(), "4096") || !strings.Contains(err.Error(), "8192") || !strings.Contains(err.Error(), "-c") {
		t.Errorf("small window: %v", err)
	}
	for _, base := range []string{"", "x", "ftp://x", "http://", ":"} {
		if _, err := New(Target{BaseURL: base}, Options{}); err == nil {
			t.Errorf("base_url %q accepted", base)
		}
	}
}

// fakeOllama loads every model with 4096 tokens unless a variant says otherwise.
func fakeOllama(t *testing.T, maximum, cap int) (*httptest.Server, map[string]int) {
	models, loaded := map[string]int{"qwen3:8b": 4096}, map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		body := string(data)
		model := gjson.Get(body, "model").Str
		switch r.URL.Path {
		case "/api/show":
			_, _ = fmt.Fprintf(w, `{"model_info":{"qwen3.context_length":%d,"qwen3.block_count":3}}`, maximum)
		case "/api/ps":
			var out []string
			for name, n := range loaded {
				out = append(out, fmt.Sprintf(`{"name":%q,"model":%q,"context_length":%d}`, name, name, n))
			}
			_, _ = io.WriteString(w, `{"models":[`+strings.Join(out, ",")+`]}`)
		case "/api/create":
			if models[gjson.Get(body, "from").Str] == 0 {
				http.Error(w, `{"error":"model not found"}`, http.StatusNotFound)
				return
			}
			models[model] = int(gjson.Get(body, "parameters.num_ctx").Int())
			_, _ = io.WriteString(w, `{"status":"success"}`)
		case "/api/chat":
			loaded[model] = min(models[model], cap)
			_, _ = io.WriteString(w, `{"done_reason":"load"}`)
		}
	}))
	t.Cleanup(s.Close)
	return s, models
}

func TestOllamaWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		maximum, cap, want int
		window             int // 0: refused
	}{
		{"variant made", 40960, 1 << 20, 32768, 32768},
		{"limited by the model", 16384, 1 << 20, 32768, 16384},
		{"model too short", 4096, 1 << 20, 32768, 0},
		{"server gives less", 40960, 4096, 32768, 0},
	} {
		server, models := fakeOllama(t, c.maximum, c.cap)
		target := Target{BaseURL: server.URL, Kind: Ollama, Model: "qwen3:8b", Window: 4096}
		got, err := EnsureWindow(t.Context(), target, c.want, Options{})
		if c.window == 0 {
			if _, ok := errors.AsType[*WindowError](err); !ok {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || got.Window != c.window || models[got.Model] != c.window {
			t.Errorf("%s: %+v %v", c.name, got, err)
		}
		before := len(models)
		if again, err := EnsureWindow(t.Context(), target, c.want, Options{}); err != nil || again.Model != got.Model || len(models) != before {
			t.Errorf("%s: second job got %+v %v", c.name, again, err)
		}
	}
	if got, err := EnsureWindow(t.Context(), Target{BaseURL: "http://127.0.0.1:1", Kind: VLLM, Window: 9000}, 32768, Options{}); err != nil || got.Window != 9000 {
		t.Errorf("vLLM: %+v %v", got, err)
	}
}
