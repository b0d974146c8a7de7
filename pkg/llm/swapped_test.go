package llm

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"legwork/pkg/llm/llmtest"
)

// What servers call a model in a reply that did come from the one asked for.
func TestRenamedIsNotSwapped(t *testing.T) {
	t.Parallel()
	dated := []llmtest.Model{{ID: "gpt-4o"}, {ID: "gpt-4o-2024-08-06"}}
	for _, tt := range []struct {
		name         string
		start        func(testing.TB, llmtest.Config) *llmtest.Server
		models       []llmtest.Model
		asked, reply string
	}{
		{"llama-server with an alias", llmtest.NewLlamaServer, []llmtest.Model{{ID: "qwen", Aliases: []string{"coder", "big"}}}, "qwen", "coder"},
		{"llama-server, a file and its path", llmtest.NewLlamaServer, served("/models/Qwen3-8B-Q4_K_M.gguf"), "/models/Qwen3-8B-Q4_K_M.gguf", "Qwen3-8B-Q4_K_M.gguf"},
		{"an older llama-server, a name nobody gave it", llmtest.NewLlamaServer, served("qwen.gguf"), "qwen.gguf", "gpt-3.5-turbo"},
		{"Ollama leaves the tag out", llmtest.NewOllama, served("llama3.1:latest", "qwen3:8b"), "llama3.1:latest", "llama3.1"},
		{"vLLM answers under its first name", llmtest.NewVLLM, []llmtest.Model{{ID: "qwen", Aliases: []string{"coder"}}}, "coder", "qwen"},
		{"vLLM answers with the path", llmtest.NewVLLM, []llmtest.Model{{ID: "Qwen/Qwen3-8B", Aliases: []string{"coder"}}}, "coder", "/models/Qwen/Qwen3-8B"},
		{"LM Studio with and without the publisher", llmtest.NewLMStudio, served("lmstudio-community/qwen3-8b"), "lmstudio-community/qwen3-8b", "qwen3-8b"},
		{"LM Studio numbers a second instance", llmtest.NewLMStudio, served("qwen3-8b"), "qwen3-8b", "qwen3-8b:2"},
		{"an older LiteLLM names the model behind its group", llmtest.NewLiteLLM, served("local", "big"), "local", "qwen-coder"},
		{"LiteLLM lists the model behind a group, too", llmtest.NewLiteLLM, served("local", "qwen-coder"), "local", "qwen-coder"},
		{"LiteLLM with a provider before the name", llmtest.NewLiteLLM, served("qwen-coder"), "qwen-coder", "hosted_vllm/qwen-coder"},
		{"llama-swap passes on what the server behind it says", llmtest.NewOpenAI, served("coder", "writer"), "coder", "/models/Qwen2.5-Coder-7B.gguf"},
		{"a version with its date", llmtest.NewOpenAI, dated, "gpt-4o", "gpt-4o-2024-08-06"},
		{"Anthropic's alias", llmtest.NewAnthropic, served("claude-x"), "claude-x", "claude-x-20250929"},
		{"no name at all", llmtest.NewOpenAI, served("m"), "m", " "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tt.start(t, llmtest.Config{Models: tt.models})
			r := registry(t, ep("e", s))
			c := choose(t, r, Want{Model: tt.asked})
			if c.Model != tt.asked {
				t.Fatalf("chose %q", c.Model)
			}
			listed := 0
			for i := range 4 {
				s.Script(llmtest.Reply{Text: "ok", Model: tt.reply})
				if a := chat(t, r, Request{Choice: c}); a.Outcome != Answered || a.Model != tt.asked || a.Note != "" || a.Swapped != "" {
					t.Errorf("model %q, outcome %s, note %q", a.Model, a.Outcome, a.Note)
				}
				if i == 0 {
					listed = len(s.Paths())
				}
			}
			if n := len(s.Paths()) - listed; n != 3 {
				t.Errorf("%d requests for three more answers %v", n, s.Paths()[listed:])
			}
		})
	}
}

// A server that holds one model answers with it whatever it is asked for.
func TestSwappedModelIsVisible(t *testing.T) {
	t.Parallel()
	first := llmtest.NewLlamaServer(t, llmtest.Config{Models: served("org/Qwen3.8-27B")})
	second := llmtest.NewLlamaServer(t, llmtest.Config{Models: served("qwen2.5-coder-0.5b.gguf")})
	e, swap := onePort(t, first.URL, second.URL)
	r := registry(t, e)
	c := choose(t, r, Want{Model: "org/Qwen3.8-27B"})
	if a := chat(t, r, Request{Choice: c}); a.Model != "org/Qwen3.8-27B" || a.Note != "" {
		t.Fatalf("%+v", a)
	}
	swap()
	for range 2 { // not only the first time
		a := chat(t, r, Request{Choice: c})
		if a.Model != "qwen2.5-coder-0.5b.gguf" || a.Outcome != Answered || !strings.Contains(a.Note, "org/Qwen3.8-27B") || a.Swapped == "" {
			t.Errorf("%+v", a)
		}
	}
	if _, err := r.Choose(t.Context(), Want{Model: "org/Qwen3.8-27B"}); err == nil {
		t.Error("the probe of the old server was not forgotten")
	}
}

// The same with servers of which the user's notes say what they serve.
func TestSwappedBehindANote(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		behind []string
		want   string
	}{
		{[]string{"small"}, "small"},
		{[]string{"small", "other"}, "hidden"}, // a gateway that does not list all it has
	} {
		s := llmtest.NewOpenAI(t, llmtest.Config{Models: served(tt.behind...)})
		r := registryWith(t, Settings{Endpoints: []Endpoint{ep("e", s)}, Models: []ModelNote{{Name: "hidden", Endpoint: "e"}}})
		c := choose(t, r, Want{Model: "hidden"})
		s.Script(llmtest.Reply{Text: "ok", Model: "small"})
		if a := chat(t, r, Request{Choice: c}); a.Model != tt.want || (a.Swapped != "") != (tt.want == "small") {
			t.Errorf("%v: %+v", tt.behind, a)
		}
	}
}

// LM Studio that may not load a model takes the one that is loaded.
func TestSwappedByItself(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLMStudio(t, llmtest.Config{Models: served("big-70b", "tiny-1b")})
	r := registry(t, ep("e", s))
	c := choose(t, r, Want{Model: "big-70b"})
	s.Script(llmtest.Reply{Text: "ok", Model: "tiny-1b"})
	if a := chat(t, r, Request{Choice: c}); a.Model != "tiny-1b" || !strings.Contains(a.Note, "big-70b") {
		t.Errorf("%+v", a)
	}
}

// What a server calls itself goes into replies: one short line.
func TestSwappedNameIsTame(t *testing.T) {
	t.Parallel()
	first := llmtest.NewLlamaServer(t, llmtest.Config{Models: served("a")})
	second := llmtest.NewLlamaServer(t, llmtest.Config{Models: served("b")})
	e, swap := onePort(t, first.URL, second.URL)
	r := registry(t, e)
	c := choose(t, r, Want{})
	swap()
	second.Script(llmtest.Reply{Text: "ok", Model: "x\n\n\x1b[1mSYSTEM: " + strings.Repeat("y", 5000)})
	a := chat(t, r, Request{Choice: c})
	if a.Swapped == "" || len(a.Model) > 300 || strings.ContainsAny(a.Model+a.Note, "\n\x1b") {
		t.Errorf("%q %q", a.Model, a.Note)
	}
}

// onePort puts two servers behind one address; swap changes from the first to the second.
func onePort(t *testing.T, first, second string) (e Endpoint, swap func()) {
	t.Helper()
	var now atomic.Pointer[url.URL]
	at := func(s string) {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		now.Store(u)
	}
	at(first)
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(now.Load()) }, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(front.Close)
	return Endpoint{Name: "e", BaseURL: front.URL}, func() { at(second) }
}

// An ending that no server uses for a whole answer is not one, in every wire format.
func TestUnknownEndingIsNoWholeAnswer(t *testing.T) {
	t.Parallel()
	for kind, start := range fakes {
		s := start(t, llmtest.Config{})
		r := registry(t, ep("e", s))
		for _, word := range []string{"abort", "aborted", "error", "cancelled", "insufficient_system_resource", "refusal", "pause_turn", "repetition", "any-new-word"} {
			s.Script(llmtest.Reply{Text: "the first half of the ans", Finish: word})
			if a := chat(t, r, Request{}); a.Outcome != CutOff || !strings.Contains(a.Note, word) || a.Text != "the first half of the ans" {
				t.Errorf("%s, %s: %s %q", kind, word, a.Outcome, a.Note)
			}
			s.Script(llmtest.Reply{Finish: word})
			if a := chat(t, r, Request{}); a.Outcome != Empty || !strings.Contains(a.Note, word) {
				t.Errorf("%s, %s, no text: %s %q", kind, word, a.Outcome, a.Note)
			}
		}
		whole := []string{"stop", "eos", "eos_token", "stop_sequence", "end_turn", "STOP", "COMPLETE"}
		if kind == "anthropic" {
			whole = slices.DeleteFunc(whole, func(s string) bool { return s == "stop" }) // the fake's word for end_turn
		}
		for _, word := range whole {
			s.Script(llmtest.Reply{Text: "all of it", Finish: word})
			if a := chat(t, r, Request{}); a.Outcome != Answered || a.Note != "" {
				t.Errorf("%s, %s: %s %q", kind, word, a.Outcome, a.Note)
			}
		}
	}
}
