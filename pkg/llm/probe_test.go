package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/pkg/llm/llmtest"
)

func probe(t testing.TB, r *Registry) []EndpointStatus {
	t.Helper()
	sts, err := r.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sts
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"http://h:8080":                    {"http://h:8080", "http://h:8080/v1"},
		"http://h:8080/":                   {"http://h:8080", "http://h:8080/v1"},
		"http://h:8080/v1":                 {"http://h:8080", "http://h:8080/v1"},
		"http://h:8080/v1/":                {"http://h:8080", "http://h:8080/v1"},
		" h:8080/v1// ":                    {"http://h:8080", "http://h:8080/v1"},
		"https://gw.lan/llm":               {"https://gw.lan/llm", "https://gw.lan/llm/v1"},
		"https://gw.lan/llm/v1/":           {"https://gw.lan/llm", "https://gw.lan/llm/v1"},
		"http://h/v1/chat/completions":     {"http://h", "http://h/v1"},
		"http://h/v1/messages?beta=true":   {"http://h", "http://h/v1"},
		"http://h:11434/api/chat":          {"http://h:11434", "http://h:11434/v1"},
		"https://x.example/api/paas/v4":    {"https://x.example/api/paas/v4", "https://x.example/api/paas/v4"},
		"https://x.example/v1beta/openai/": {"https://x.example/v1beta/openai", "https://x.example/v1beta/openai"},
		"http://user:pw@h:1":               {"http://user:pw@h:1", "http://user:pw@h:1/v1"},
		"http://[::1]:8080/v1":             {"http://[::1]:8080", "http://[::1]:8080/v1"},
	} {
		root, api, err := baseURL(in)
		if err != nil || root != want[0] || api != want[1] {
			t.Errorf("%q: %q, %q, %v; want %q", in, root, api, err, want)
		}
	}
	for _, bad := range []string{"", "ftp://h", "http://", "::::"} {
		if _, _, err := baseURL(bad); err == nil {
			t.Errorf("%q must be refused", bad)
		}
	}
}

func TestProbeEveryBackend(t *testing.T) {
	t.Parallel()
	one := []llmtest.Model{{ID: "qwen3:8b", Window: 16384, Max: 40960, Loaded: true}}
	for kind, want := range map[string]EndpointStatus{
		"llama.cpp": {Backend: LlamaCpp, Slots: Slots{Server: 2, Total: 2}, Models: []Model{{Window: 16384, MaxWindow: 16384, WindowWhy: "props"}}},
		"ollama":    {Backend: Ollama, Slots: Slots{Total: 4}, Models: []Model{{Window: 16384, MaxWindow: 40960, WindowWhy: "loaded"}}},
		"vllm":      {Backend: VLLM, Slots: Slots{Total: 4}, Models: []Model{{Window: 16384, MaxWindow: 16384, WindowWhy: "max_model_len"}}},
		"lmstudio":  {Backend: LMStudio, Slots: Slots{Total: 4}, Models: []Model{{Window: 16384, MaxWindow: 16384, WindowWhy: "loaded"}}},
		"litellm":   {Backend: OpenAI, Slots: Slots{Total: 4}, Models: []Model{{Window: 16384, MaxWindow: 16384, WindowWhy: "max_input_tokens"}}},
		"openai":    {Backend: OpenAI, Slots: Slots{Total: 4}, Models: []Model{{}}},
		"anthropic": {Backend: Anthropic, Slots: Slots{Total: 4}, Models: []Model{{}}},
	} {
		for _, named := range []Backend{Auto, want.Backend} {
			s := fakes[kind](t, llmtest.Config{Models: slices.Clone(one), Slots: 2})
			st := probe(t, registry(t, Endpoint{Name: "e", BaseURL: s.URL + "/v1/", Backend: named, Host: "gpu", Notes: "note"}))[0]
			if st.State != Up || !st.HostUp || st.Backend != want.Backend || st.Slots != want.Slots || st.Host != "gpu" || st.Notes != "note" {
				t.Errorf("%s as %s: %+v", kind, named, st)
				continue
			}
			m, w := st.Models[0], want.Models[0]
			if m.ID != "qwen3:8b" || m.Window != w.Window || m.MaxWindow != w.MaxWindow || m.WindowWhy != w.WindowWhy || !m.Caps.Chat {
				t.Errorf("%s as %s: model %+v", kind, named, m)
			}
			if len(s.Calls()) != 0 {
				t.Errorf("%s: the probe generated", kind)
			}
			for _, p := range s.Paths() {
				if strings.HasSuffix(p, "/health") {
					t.Errorf("%s: the probe asked for %s", kind, p)
				}
			}
		}
	}
}

func TestProbeStates(t *testing.T) {
	t.Parallel()
	loading := llmtest.NewLlamaServer(t, llmtest.Config{})
	loading.SetLoading(true)
	sleeping := llmtest.NewLlamaServer(t, llmtest.Config{})
	sleeping.SetSleeping(true)
	keyed := llmtest.NewVLLM(t, llmtest.Config{APIKey: "sk-right-key"})
	keyedLlama := llmtest.NewLlamaServer(t, llmtest.Config{APIKey: "sk-right-key"})
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, llmtest.HTMLBody)
	}))
	t.Cleanup(html.Close)
	moved := httptest.NewServer(http.RedirectHandler("https://elsewhere.invalid/", http.StatusMovedPermanently))
	t.Cleanup(moved.Close)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) }))
	t.Cleanup(gateway.Close)

	r := registryWith(t, Settings{ProbeTimeout: 700 * time.Millisecond, Endpoints: []Endpoint{
		ep("loading", loading), ep("sleeping", sleeping), ep("nokey", keyed),
		{Name: "wrongkey", BaseURL: keyed.URL, APIKey: "sk-wrong-key"},
		{Name: "rightkey", BaseURL: keyed.URL, APIKey: "sk-right-key"},
		ep("llamanokey", keyedLlama),
		{Name: "llamakey", BaseURL: keyedLlama.URL, APIKey: "sk-right-key"},
		{Name: "closed", BaseURL: llmtest.Refused(t)},
		{Name: "silent", BaseURL: llmtest.Silent(t)},
		{Name: "html", BaseURL: html.URL},
		{Name: "moved", BaseURL: moved.URL},
		{Name: "gateway", BaseURL: gateway.URL},
		{Name: "noname", BaseURL: "http://no-such-host.invalid:1"},
		{Name: "badurl", BaseURL: "ftp://x"},
	}})
	want := map[string]struct {
		state  State
		up     bool
		detail string
	}{
		"loading": {Loading, true, "loading"}, "sleeping": {Sleeping, true, "wakes"},
		"nokey": {Refused, true, "wants an api_key"}, "wrongkey": {Refused, true, "another api_key"}, "rightkey": {Up, true, ""},
		"llamanokey": {Refused, true, "wants an api_key"}, "llamakey": {Up, true, ""},
		"closed": {Down, true, "nothing listens"}, "silent": {Down, true, "takes connections"},
		"html": {Foreign, true, "text/html"}, "moved": {Foreign, true, "redirects"}, "gateway": {Down, true, "gateway"},
		"noname": {Down, false, ""}, "badurl": {Foreign, false, "base_url"},
	}
	for _, st := range probe(t, r) {
		w := want[st.Name]
		if st.State != w.state || st.HostUp != w.up || !strings.Contains(st.Detail, w.detail) {
			t.Errorf("%s: %s host up %v %q, want %+v", st.Name, st.State, st.HostUp, st.Detail, w)
		}
		if strings.Contains(fmt.Sprint(st), "sk-") {
			t.Errorf("%s shows its key: %+v", st.Name, st)
		}
	}
	if sleeping.Wakes() != 0 {
		t.Error("the probe woke a sleeping model")
	}
}

// A probe younger than 2 s is reused, and callers that come together share one.
func TestProbeIsShared(t *testing.T) {
	t.Parallel()
	s := llmtest.NewVLLM(t, llmtest.Config{})
	now := time.Now()
	var mu sync.Mutex
	r := New(Settings{Endpoints: []Endpoint{{Name: "e", BaseURL: s.URL, Backend: VLLM}}},
		Options{StateDir: t.TempDir(), Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _, _ = r.Probe(t.Context()) })
	}
	wg.Wait()
	count := func() int {
		n := 0
		for _, p := range s.Paths() {
			if p == "GET /v1/models" {
				n++
			}
		}
		return n
	}
	if count() != 1 {
		t.Errorf("%d probes, want 1", count())
	}
	mu.Lock()
	now = now.Add(3 * time.Second)
	mu.Unlock()
	probe(t, r)
	if count() != 2 {
		t.Errorf("%d probes after 3 s, want 2", count())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Probe(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A local Host header for Ollama: it lets no other in.
func TestOllamaHostHeader(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOllama(t, llmtest.Config{})
	proxied := &http.Client{Transport: hostRewriter{s.URL}}
	r := New(Settings{Endpoints: []Endpoint{{Name: "e", BaseURL: "http://gpu.example:11434"}}}, Options{StateDir: t.TempDir(), Client: proxied})
	if a := chat(t, r, Request{}); a.Text != "ok" {
		t.Errorf("got %+v", a)
	}
	if h := s.Calls()[0].Host; !strings.HasPrefix(h, "localhost") {
		t.Errorf("Host %q", h)
	}
	if target, ok := r.Target("e"); !ok || target.Host != "localhost:11434" || target.Backend != Ollama {
		t.Errorf("target %+v", target)
	}
}

// hostRewriter sends every request to one server and leaves the Host header as it is.
type hostRewriter struct{ to string }

func (h hostRewriter) RoundTrip(r *http.Request) (*http.Response, error) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	r = r.Clone(r.Context())
	r.URL.Host = strings.TrimPrefix(h.to, "http://")
	r.Host = host
	return http.DefaultTransport.RoundTrip(r)
}

// F02: an Ollama address with /v1 is used by its native route, where num_ctx works.
func TestOllamaNativeRouteF02(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOllama(t, llmtest.Config{})
	chat(t, registry(t, Endpoint{Name: "e", BaseURL: s.URL + "/v1"}), Request{})
	if p := s.Calls()[0].Path; p != "/api/chat" {
		t.Errorf("route %s", p)
	}
	st := probe(t, registry(t, Endpoint{Name: "e", BaseURL: s.URL + "/v1", Backend: OpenAI}))[0]
	if st.State != Up || !strings.Contains(st.Detail, "backend: ollama") {
		t.Errorf("Ollama by its OpenAI route deserves a warning: %+v", st)
	}
}

// F10: an embedding model is judged by capability, by name only as a fallback.
func TestEmbeddingF10(t *testing.T) {
	t.Parallel()
	embed := []string{"embedding"}
	o := llmtest.NewOllama(t, llmtest.Config{Models: []llmtest.Model{{ID: "all-minilm:latest", Caps: embed}, {ID: "vectors:latest", Caps: embed}, {ID: "embed-your-code:latest"}}})
	if c := choose(t, registry(t, ep("e", o)), Want{}); c.Model != "embed-your-code:latest" {
		t.Errorf("chose %+v; capabilities count more than the name", c)
	}
	v := llmtest.NewVLLM(t, llmtest.Config{Models: []llmtest.Model{{ID: "BAAI/bge-m3"}, {ID: "Qwen/Qwen3-Reranker-4B"}, {ID: "intfloat/e5-large"}, {ID: "Qwen/Qwen3-8B"}}})
	r := registry(t, ep("e", v))
	if c := choose(t, r, Want{}); c.Model != "Qwen/Qwen3-8B" {
		t.Errorf("chose %+v", c)
	}
	_, err := r.Choose(t.Context(), Want{Model: "BAAI/bge-m3"})
	if err == nil || !strings.Contains(err.Error(), "embedding") {
		t.Errorf("asking for it must say why not: %v", err)
	}
	l := llmtest.NewLlamaServer(t, llmtest.Config{Models: []llmtest.Model{{ID: "plain-name", Caps: embed}}})
	if _, err := registry(t, ep("e", l)).Choose(t.Context(), Want{}); err == nil {
		t.Error("an embedding server has no chat model")
	}
}

func BenchmarkProbe8HalfDead(b *testing.B) {
	var eps []Endpoint
	for i := range 4 {
		eps = append(eps, ep(fmt.Sprint("up", i), []func(testing.TB, llmtest.Config) *llmtest.Server{llmtest.NewLlamaServer, llmtest.NewOllama, llmtest.NewVLLM, llmtest.NewLMStudio}[i](b, llmtest.Config{})))
		dead := llmtest.Silent(b)
		if i%2 == 0 {
			dead = llmtest.Refused(b)
		}
		eps = append(eps, Endpoint{Name: fmt.Sprint("dead", i), BaseURL: dead})
	}
	for b.Loop() {
		if _, err := registry(b, eps...).Probe(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// A LiteLLM gateway lists its models in the shape of the headers it is asked with, and calls a wrong key
// a missing database (seen with 1.108.5).
func TestProbeLiteLLM(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLiteLLM(t, llmtest.Config{APIKey: "right"})
	reg := New(Settings{ProbeTimeout: 2 * time.Second, Endpoints: []Endpoint{
		{Name: "right", BaseURL: s.URL, APIKey: "right"}, {Name: "wrong", BaseURL: s.URL, APIKey: "wrong"},
	}}, Options{StateDir: t.TempDir()})
	sts, err := reg.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st := sts[0]; st.State != Up || st.Backend != OpenAI || len(st.Models) != 1 || st.Models[0].Window != 32768 {
		t.Errorf("%+v", st)
	}
	if st := sts[1]; st.State != Refused || !strings.Contains(st.Detail, "api_key") {
		t.Errorf("%+v", st)
	}
	if n := len(s.Calls()); n != 0 {
		t.Errorf("looking cost %d generations", n)
	}
}
