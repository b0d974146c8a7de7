package llm

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"legwork/pkg/llm/llmtest"
)

// F01: the server cut the prompt without a word; its count tells.
func TestSilentTruncationF01(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prompt, reported int
		window           int
		unreliable       bool
	}{
		"about half the window": {50_000, 16386, 32768, true},
		"exactly the window":    {36_000, 32768, 32768, true},
		"one short of it":       {36_000, 32767, 32768, true},
		"honest":                {20_000, 19_100, 32768, false},
		"denser text than ours": {20_000, 26_000, 32768, false},
		"looser text than ours": {20_000, 13_000, 32768, false},
		"short prompt":          {300, 120, 32768, false},
		"reported nothing":      {20_000, 0, 32768, false},
	} {
		p := plan{prompt: tt.prompt, doubt: 0.25, window: tt.window}
		if got := p.suspect(Ollama, tt.reported); (got != "") != tt.unreliable {
			t.Errorf("%s: %q", name, got)
		}
	}
	// The whole way: an old Ollama that ignores truncate.
	s := llmtest.NewOllama(t, llmtest.Config{Models: []llmtest.Model{{ID: "old", Max: 32768}}, TokenBytes: 9})
	s.Script(llmtest.Reply{Text: "all tests passed", Prompt: 11000})
	text := strings.Repeat("some words of a long log that goes on and on\n", 2600)
	r := registry(t, ep("e", s))
	a := chat(t, r, Request{Messages: say(text), MaxTokens: 1000})
	if a.Unreliable == "" || a.Outcome != Answered {
		t.Errorf("got %+v", a)
	}
	if r.tokens.fit("old").Calls != 0 {
		t.Error("nothing may be learned from a cut prompt")
	}
}

func TestOllamaNumCtx(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOllama(t, llmtest.Config{Models: []llmtest.Model{{ID: "m:latest", Max: 40960}}, TokenBytes: 5})
	r := registry(t, ep("e", s))
	numCtx := func() int {
		calls := s.Calls()
		return ollamaNumCtx(calls[len(calls)-1])
	}
	words := func(n int) []Message { return say(strings.Repeat("word ", n)) }
	c := choose(t, r, Want{})
	if c.Window != 32768 || c.MaxWindow != 40960 {
		t.Errorf("%+v", c)
	}
	for _, step := range []struct{ words, answer, want, loads int }{
		{100, 512, 8192, 1},
		{5000, 512, 8192, 1},
		{9000, 2000, 16384, 2},
		{100, 512, 16384, 2},    // stays as loaded: no reload
		{22000, 2000, 32768, 3}, // up a step
		{32000, 4000, 40960, 4}, // the model's maximum
	} {
		a := chat(t, r, Request{Choice: c, Messages: words(step.words), MaxTokens: step.answer})
		if numCtx() != step.want || s.Loads() != step.loads {
			t.Errorf("%d words: num_ctx %d after %d loads, want %d and %d", step.words, numCtx(), s.Loads(), step.want, step.loads)
		}
		if a.Window != step.want || a.Unreliable != "" {
			t.Errorf("%+v", a)
		}
	}
	var over *OverflowError
	if _, err := r.Chat(t.Context(), Request{Choice: c, Messages: words(90_000)}); !errors.As(err, &over) || over.Window != 40960 {
		t.Errorf("got %v", err)
	}
	last := s.Calls()[len(s.Calls())-1]
	if last.Field("truncate") != false || last.Field("shift") != false {
		t.Errorf("the honest modes are not asked for: %s", last.Body[:200])
	}

	capped := registryWith(t, Settings{Endpoints: []Endpoint{ep("e", s)}, NumCtx: 8192, KeepAlive: "1h"})
	c = choose(t, capped, Want{})
	if c.MaxWindow != 8192 || c.Window != 8192 {
		t.Errorf("%+v", c)
	}
	chat(t, capped, Request{Choice: c, Messages: words(5000), MaxTokens: 8000})
	if numCtx() != 8192 || s.Calls()[len(s.Calls())-1].Field("keep_alive") != "1h" {
		t.Errorf("num_ctx %d", numCtx())
	}
}

func ollamaNumCtx(c llmtest.Call) int {
	o, _ := c.Field("options").(map[string]any)
	n, _ := o["num_ctx"].(float64)
	return int(n)
}

// Prompt + answer ≤ window, and an exact count is asked for when it is close.
func TestPlanFitsTheWindow(t *testing.T) {
	t.Parallel()
	for kind, start := range map[string]func(testing.TB, llmtest.Config) *llmtest.Server{"llama.cpp": llmtest.NewLlamaServer, "vllm": llmtest.NewVLLM} {
		s := start(t, llmtest.Config{Window: 4096, TokenBytes: 5})
		r := registry(t, ep("e", s))
		text := strings.Repeat("word ", 3000) // 3005 tokens here
		a := chat(t, r, Request{Messages: say(text), MaxTokens: 8192})
		if a.MaxTokens > 4096-3005 || a.MaxTokens < 1000 || !strings.Contains(a.Note, "lowered") {
			t.Errorf("%s: %+v", kind, a)
		}
		_, err := chatErr(t.Context(), t, r, Request{Messages: say(strings.Repeat("word ", 4200))})
		var over *OverflowError
		if !errors.As(err, &over) || !over.Exact || over.Prompt != 4205 || over.Window != 4096 {
			t.Errorf("%s: %v", kind, err)
		}
		if n := len(s.Calls()); n != 1 {
			t.Errorf("%s: %d generations; an overflow known beforehand is not sent", kind, n)
		}
	}
}

// What servers say about an overflow is read, in every shape.
func TestOverflowShapes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status         int
		body           string
		prompt, window int
	}{
		{400, llmtest.LlamaOverflow(6009, 2048), 6009, 2048},
		{400, llmtest.VLLMOverflow(4096), 4097, 4096},
		{400, llmtest.OpenAIError(400, "BadRequestError", "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)"), 0, 0},
		{400, llmtest.OpenAIError(400, "BadRequestError", "You passed 5000 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens"), 5000, 0},
		{400, `{"error":"the input length exceeds the context length"}`, 0, 0},
		{400, `{"error":"the prompt is longer than the context length currently available"}`, 0, 0},
		{400, llmtest.AnthropicError("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), 210000, 200000},
		{500, llmtest.AnthropicError("api_error", "Context length exceeded: the model's context window is full"), 0, 0},
		{400, llmtest.OpenAIError(400, "x", "litellm.ContextWindowExceededError: OpenAIException - "+vllmText), 4097, 4096},
		{400, `{"detail":"Prompt too long for this model"}`, 0, 0},
		{400, `{"error":{"message":"…","code":"context_length_exceeded"}}`, 0, 0},
	} {
		got := judge(tt.status, []byte(strings.Replace(tt.body, "Prompt too", "prompt too", 1)), nil)
		if got.verdict != vOverflow || got.prompt != tt.prompt || got.window != tt.window {
			t.Errorf("%s: %+v", tt.body, got)
		}
	}
}

const vllmText = "This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input tokens"

// vLLM refuses a budget above its window; the window is learned from its words.
func TestBudgetAboveUnknownWindow(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOpenAI(t, llmtest.Config{Answer: func(c llmtest.Call) llmtest.Reply {
		if n, _ := c.Field("max_tokens").(float64); n > 4096 {
			return llmtest.Reply{Status: 400, Body: llmtest.VLLMBudget(int(n), 4096)}
		}
		return llmtest.Reply{Text: "ok"}
	}})
	r := registry(t, ep("e", s))
	a := chat(t, r, Request{MaxTokens: 8192})
	if a.Text != "ok" || a.MaxTokens > 4096 || len(s.Calls()) != 2 {
		t.Errorf("%+v after %d calls", a, len(s.Calls()))
	}
	r.forget("e")
	if c := choose(t, r, Want{}); c.Window != 4096 {
		t.Errorf("the window is not remembered: %+v", c)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for kind, exact := range map[string]bool{"llama.cpp": true, "vllm": true, "anthropic": true, "ollama": false, "openai": false, "lmstudio": false} {
		s := fakes[kind](t, llmtest.Config{})
		r := registry(t, ep("e", s))
		n, ok := r.Count(t.Context(), choose(t, r, Want{}), strings.Repeat("word ", 60))
		if ok != exact || n < 50 || n > 150 {
			t.Errorf("%s: %d, exact %v", kind, n, ok)
		}
	}
}

// Real tokenizers as far as they differ: how digits, words and CJK are cut.
var tokenizers = map[string]func(string) int{
	"a token a digit":   func(s string) int { return cut(s, 1, 6, 1) },
	"three digits each": func(s string) int { return cut(s, 3, 7, 1) },
	"short words":       func(s string) int { return cut(s, 2, 3, 2) },
	"five bytes each":   func(s string) int { return len(s)/5 + 1 },
	"a token a byte":    func(s string) int { return len(s) },
}

// cut counts tokens with at most so many digits or letters in one.
func cut(s string, digits, word, cjk int) int {
	n, run, kind := 0, 0, 0
	for _, r := range s {
		k, most := 0, 1
		switch {
		case r < 0x2000 && unicode.IsLetter(r):
			k, most = 1, word
		case r >= '0' && r <= '9':
			k, most = 2, digits
		case isCJK(r):
			n += cjk
			kind = 0
			continue
		case r == ' ':
			kind = 0
			continue
		}
		if k == 0 || k != kind || run >= most {
			n++
			run = 0
		}
		run++
		kind = k
	}
	return n
}

// material makes text of one class, different every time.
func material(rng *rand.Rand, class string, size int) string {
	var b strings.Builder
	words := strings.Fields("connection refused while reading response header from upstream request failed with status the quick brown fox handler timeout internationalization")
	for b.Len() < size {
		w := words[rng.IntN(len(words))]
		switch class {
		case "log":
			fmt.Fprintf(&b, "2026-01-%02dT%02d:%02d:%02d.%03dZ INFO [worker-%d] %s id=%x took=%dms\n", rng.IntN(28)+1, rng.IntN(24), rng.IntN(60), rng.IntN(60), rng.IntN(1000), rng.IntN(16), w, rng.Uint64(), rng.IntN(5000))
		case "code":
			fmt.Fprintf(&b, "\tif err := %s.Do(ctx, req%d); err != nil {\n\t\treturn fmt.Errorf(\"%s: %%w\", err)\n\t}\n", w, rng.IntN(10), w)
		case "prose":
			b.WriteString(w + " ")
		case "cjk":
			b.WriteRune(rune(0x4e00 + rng.IntN(2000)))
		}
	}
	return b.String()
}

// Must hold: after ten calls on one model the estimate is at most 10 % off.
func TestEstimateLearns(t *testing.T) {
	t.Parallel()
	for name, count := range tokenizers {
		rng := rand.New(rand.NewPCG(1, 2))
		book := &tokenBook{dir: t.TempDir(), models: map[string]*tokenFit{}}
		classes := []string{"log", "code", "prose", "cjk"}
		for i := range 10 {
			text := material(rng, classes[i%4], 2000+rng.IntN(20000))
			x := measure(text)
			x[cMessage] = 2
			book.learn("m", x, count(text)+12)
		}
		fresh := &tokenBook{dir: book.dir, models: map[string]*tokenFit{}} // as the next process sees it
		fit := fresh.fit("m")
		for _, class := range classes {
			text := material(rng, class, 12000)
			got, want := float64(fit.guess(measure(text))), float64(count(text))
			t.Logf("%s, %s: %.0f of %.0f tokens (%+.1f %%)", name, class, got, want, 100*(got/want-1))
			if math.Abs(got/want-1) > 0.10 {
				t.Errorf("%s, %s: estimated %.0f, real %.0f", name, class, got, want)
			}
		}
		if fit.Calls != 10 || fit.doubt() > 0.4 {
			t.Errorf("%s: %d calls, doubt %.2f", name, fit.Calls, fit.doubt())
		}
	}
}

func TestEstimateByClass(t *testing.T) {
	t.Parallel()
	// Counted with Qwen2.5's tokenizer.
	for text, want := range map[string]int{
		"The quick brown fox jumps over the lazy dog.\n":                         11,
		"2026-11-29T21:13:12.345Z INFO [worker-3] GET /api/v1/users/12345 200\n": 56,
		"if err != nil {\n\treturn fmt.Errorf(\"open %s: %w\", path, err)\n}\n":  22,
		"今天的天气非常好，我们决定去公园散步。":                                                    12,
	} {
		if got := Estimate(text); math.Abs(float64(got)/float64(want)-1) > 0.35 {
			t.Errorf("%q: %d, really %d", text, got, want)
		}
	}
	if Estimate("") != 0 {
		t.Error("nothing is no tokens")
	}
}

// A damaged file of experience is forgotten, not fatal.
func TestTokenBookDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	book := &tokenBook{dir: dir, models: map[string]*tokenFit{}}
	for _, bad := range []string{"", "{", `{"calls":3}`, `{"calls":3,"tokens_per_class":[1e9,0,0,0,0,0,0,0,0,0,0]}`} {
		if err := os.MkdirAll(filepath.Join(dir, "tokens"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(book.path("m"), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		fresh := &tokenBook{dir: dir, models: map[string]*tokenFit{}}
		if f := fresh.fit("m"); f.W != priorWeights {
			t.Errorf("%q: %+v", bad, f.W)
		}
	}
}

// Load makes Ollama load with its own default and tells the window then in force.
func TestLoad(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOllama(t, llmtest.Config{Window: 4096, Models: []llmtest.Model{{ID: "m:latest", Max: 32768}}})
	r := registry(t, ep("e", s))
	c := choose(t, r, Want{})
	if w, err := r.Load(t.Context(), c); err != nil || w != 4096 {
		t.Errorf("%d, %v", w, err)
	}
	if m := probe(t, r)[0].Models[0]; !m.Loaded || m.Window != 4096 || m.MaxWindow != 32768 {
		t.Errorf("%+v", m)
	}
	c.Model = "nope"
	if _, err := r.Load(t.Context(), c); err == nil || !strings.Contains(err.Error(), "nope") {
		t.Errorf("%v", err)
	}
	l := llmtest.NewLlamaServer(t, llmtest.Config{Window: 2048})
	r = registry(t, ep("e", l))
	if w, err := r.Load(t.Context(), choose(t, r, Want{})); err != nil || w != 2048 || len(l.Calls()) != 0 {
		t.Errorf("%d, %v", w, err)
	}
}

// A prompt that is longer than estimated gets a larger window, not an error.
func TestOllamaGrows(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOllama(t, llmtest.Config{Models: []llmtest.Model{{ID: "m:latest", Max: 40000}}, TokenBytes: 1})
	r := registry(t, ep("e", s))
	a := chat(t, r, Request{Messages: say(strings.Repeat("word ", 3900)), MaxTokens: 100}) // 19,500 tokens here
	if a.Window != 32768 || a.Attempts != 3 || a.Unreliable != "" {
		t.Errorf("%+v", a)
	}
	var over *OverflowError
	_, err := chatErr(t.Context(), t, registry(t, ep("e", s)), Request{Messages: say(strings.Repeat("word ", 9000)), MaxTokens: 100})
	if !errors.As(err, &over) || over.Window != 40000 {
		t.Errorf("%v", err)
	}
}
