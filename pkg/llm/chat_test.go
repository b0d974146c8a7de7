package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"legwork/pkg/llm/llmtest"
)

// fakes are all kinds of server that can answer a plain chat.
var fakes = map[string]func(testing.TB, llmtest.Config) *llmtest.Server{
	"llama.cpp": llmtest.NewLlamaServer, "ollama": llmtest.NewOllama, "vllm": llmtest.NewVLLM, "openai": llmtest.NewOpenAI,
	"lmstudio": llmtest.NewLMStudio, "anthropic": llmtest.NewAnthropic, "litellm": llmtest.NewLiteLLM,
}

func TestChatEveryBackend(t *testing.T) {
	t.Parallel()
	for kind, start := range fakes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := start(t, llmtest.Config{})
			s.Script(llmtest.Reply{Text: "The answer is 42.", Reasoning: "hm, six times seven", Prompt: 40, Cached: 8, Completion: 9})
			r := registry(t, ep("one", s))
			a := chat(t, r, Request{})
			if a.Text != "The answer is 42." || a.Outcome != Answered || a.Reasoning != "hm, six times seven" {
				t.Errorf("answer %+v", a)
			}
			if a.Usage.Prompt != 40 || a.Usage.Completion != 9 {
				t.Errorf("usage %+v, want 40 prompt (cached ones included) and 9 completion", a.Usage)
			}
			if a.Model != "test-model" || a.Endpoint != "one" || a.Attempts != 1 || a.Unreliable != "" {
				t.Errorf("answer %+v", a)
			}
		})
	}
}

// F04, F05: reasoning is removed only where it is reasoning, the same in a
// stream and in one piece, whatever the pieces.
func TestReasoningF05(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, text, reasoning string }{
		{"leading region", "<think>hm</think>\n\nanswer", "answer", "hm"},
		{"unclosed from the start", "<think>hm, and on", "", "hm, and on"},
		{"closing tag alone", "hm, I see\n</think>\n\nanswer", "answer", "hm, I see"},
		{"closing tag alone in a line", "hm</think>answer", "answer", "hm"},
		{"nested", "<think>a<think>b</think>c</think>d", "d", "a<think>b</think>c"},
		{"opened twice, closed once", "<think>\n<think>a</think>d", "d", "<think>a"},
		{"unclosed after text", "answer <think>more", "answer <think>more", ""},
		{"literal in code", "```js\nconst a = '<think>' + x + '</think>';\n```\n", "```js\nconst a = '<think>' + x + '</think>';\n```\n", ""},
		{"closing literal in code", "```\nif s == \"</think>\" {\n```\n", "```\nif s == \"</think>\" {\n```\n", ""},
		{"closing literal in raw code", "i := strings.Index(s, \"</think>\")\n", "i := strings.Index(s, \"</think>\")\n", ""},
		{"code span", "The tag `</think>` ends it.", "The tag `</think>` ends it.", ""},
		{"a sentence about it", "It looks for </think> and stops.", "It looks for </think> and stops.", ""},
		{"tags in answer after reasoning", "<think>use `<think>`</think>\nWrite `<think>x</think>`.", "Write `<think>x</think>`.", "use `<think>`"},
		{"indented code after reasoning", "<think>x</think>\n    return 1\n", "    return 1\n", "x"},
		{"mistral", "[THINK]x[/THINK]y", "y", "x"},
		{"empty region", "<think>\n\n</think>\n\nanswer", "answer", ""},
		{"nothing", "plain", "plain", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			reasoning, text := splitReasoning(tt.in)
			if text != tt.text || reasoning != tt.reasoning {
				t.Errorf("got text %q reasoning %q, want %q and %q", text, reasoning, tt.text, tt.reasoning)
			}
			var letters []string
			for _, r := range tt.in {
				letters = append(letters, string(r))
			}
			for name, rep := range map[string]llmtest.Reply{
				"by letters": {Pieces: letters},
				"in one": {ContentType: "application/json", Body: string(must(json.Marshal(map[string]any{
					"choices": []any{map[string]any{"message": map[string]any{"content": tt.in}, "finish_reason": "stop"}},
				})))},
			} {
				s := llmtest.NewOpenAI(t, llmtest.Config{})
				s.Script(rep)
				a := chat(t, registry(t, ep("e", s)), Request{Think: ThinkOn})
				if a.Text != tt.text {
					t.Errorf("%s: got %q, want %q", name, a.Text, tt.text)
				}
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Content that holds tags while the server already parts reasoning survives.
func TestReasoningPartedByServer(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	s.Script(llmtest.Reply{Reasoning: "the user wants the tag", Pieces: []string{"<think>", " is the tag"}})
	a := chat(t, registry(t, ep("e", s)), Request{})
	if a.Text != "<think> is the tag" || a.Reasoning != "the user wants the tag" {
		t.Errorf("got %q, %q", a.Text, a.Reasoning)
	}
}

// F03: an empty answer with a full window is one clear error, without a retry.
func TestWindowFullF03(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{Window: 4096})
	s.Script(llmtest.Reply{Finish: "length", Prompt: 4095})
	_, err := chatErr(t.Context(), t, registry(t, ep("e", s)), Request{})
	var over *OverflowError
	if !errors.As(err, &over) || over.Window != 4096 {
		t.Errorf("got %v, want an OverflowError", err)
	}
	if n := len(s.Calls()); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

// F04: thinking took the whole budget; once more without it.
func TestThinkingTakesBudgetF04(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOllama(t, llmtest.Config{Models: []llmtest.Model{{ID: "q:latest", Caps: []string{"completion", "thinking"}}}})
	long := strings.Repeat("thinking ", 40)
	s.Script(llmtest.Reply{Reasoning: long, Finish: "length"}, llmtest.Reply{Text: "42"})
	a := chat(t, registry(t, ep("e", s)), Request{MaxTokens: 100})
	if a.Text != "42" || a.Outcome != Answered || !strings.Contains(a.Note, "thinking") {
		t.Errorf("got %+v", a)
	}
	if calls := s.Calls(); len(calls) != 2 || calls[1].Field("think") != false {
		t.Errorf("second call should turn thinking off: %s", calls[len(calls)-1].Body)
	}

	s.Script(llmtest.Reply{Reasoning: long, Finish: "length"}, llmtest.Reply{Reasoning: long, Finish: "length"})
	a = chat(t, registry(t, ep("e", s)), Request{MaxTokens: 100, Think: ThinkOn})
	if a.Outcome != Empty || !strings.Contains(a.Note, "went into thinking") {
		t.Errorf("got %+v, want Empty that says why", a)
	}
}

func TestCutOff(t *testing.T) {
	t.Parallel()
	for kind, start := range fakes {
		s := start(t, llmtest.Config{})
		s.Script(llmtest.Reply{Text: "half of an", Finish: "length", Completion: 3})
		a := chat(t, registry(t, ep("e", s)), Request{MaxTokens: 3})
		if a.Outcome != CutOff || a.Text != "half of an" || a.Note == "" {
			t.Errorf("%s: got %+v", kind, a)
		}
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	for kind, start := range fakes {
		s := start(t, llmtest.Config{})
		s.Script(llmtest.Reply{Text: "  \n"}, llmtest.Reply{Reasoning: "only thought"})
		r := registry(t, ep("e", s))
		if a := chat(t, r, Request{}); a.Outcome != Empty || a.Note == "" {
			t.Errorf("%s: got %+v", kind, a)
		}
		if a := chat(t, r, Request{}); a.Outcome != Empty || !strings.Contains(a.Note, "thought") {
			t.Errorf("%s: got %+v", kind, a)
		}
		if len(s.Calls()) != 2 {
			t.Errorf("%s: an empty answer is not retried here, %d calls", kind, len(s.Calls()))
		}
	}
}

// F12: a dropped connection is tried once more and never the model's failure.
func TestDroppedF12(t *testing.T) {
	t.Parallel()
	drops := map[string]llmtest.Reply{
		"before headers":      {Drop: true},
		"in mid-answer":       {Text: "half of an answer", CutAfter: 2},
		"no end mark":         {Text: "half of an answer", NoEnd: true},
		"500 EOF":             {Status: 500, Body: llmtest.RunnerEOF},
		"502":                 {Status: 502, Body: "<html>bad gateway</html>", ContentType: "text/html"},
		"error in the stream": {Text: "half", Fault: `{"error":{"code":500,"message":"connection reset by peer","type":"server_error"}}`},
	}
	for name, rep := range drops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := llmtest.NewLlamaServer(t, llmtest.Config{})
			r := registry(t, ep("e", s))
			s.Script(rep, llmtest.Reply{Text: "whole"})
			if a := chat(t, r, Request{}); a.Text != "whole" || a.Outcome != Answered || a.Attempts != 2 {
				t.Errorf("got %+v, want the second try's answer", a)
			}
			s.Script(rep, rep)
			before := len(s.Calls())
			_, err := chatErr(t.Context(), t, r, Request{})
			if _, ok := errors.AsType[*TransportError](err); !ok {
				t.Errorf("got %v, want a TransportError", err)
			}
			if n := len(s.Calls()) - before; n != 2 {
				t.Errorf("%d calls, want 2", n)
			}
		})
	}
}

// What a server cannot parse of the model's output is the model's failure: the
// text until then is kept, and nothing is retried.
func TestUnparsableOutput(t *testing.T) {
	t.Parallel()
	const body = `{"error":{"code":500,"message":"The model produced output that does not match the expected peg-native format","type":"server_error"}}`
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	s.Script(llmtest.Reply{Text: "half an", Fault: body}, llmtest.Reply{Status: 500, Body: body})
	r := registry(t, ep("e", s))
	if a := chat(t, r, Request{}); a.Outcome != CutOff || a.Text != "half an" || a.Note == "" {
		t.Errorf("%+v", a)
	}
	if a := chat(t, r, Request{}); a.Outcome != Empty || len(s.Calls()) != 2 {
		t.Errorf("%+v", a)
	}
}

// Ollama ends the stream without a word after 30 equal tokens.
func TestLoopedSilently(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOllama(t, llmtest.Config{})
	pieces := []string{"The "}
	for range 30 {
		pieces = append(pieces, "na ")
	}
	s.Script(llmtest.Reply{Pieces: pieces, NoEnd: true})
	if a := chat(t, registry(t, ep("e", s)), Request{}); a.Outcome != Looped {
		t.Errorf("got %+v, want Looped", a)
	}
}

// An endless cycle is stopped early, and the server's work with it.
func TestLoopStopped(t *testing.T) {
	t.Parallel()
	for kind, start := range fakes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := start(t, llmtest.Config{})
			s.Script(llmtest.Reply{Text: "Well, ", Forever: "I will now check the next file. "})
			a := chat(t, registry(t, ep("e", s)), Request{})
			if a.Outcome != Looped || len(a.Text) > 32<<10 {
				t.Errorf("outcome %s after %d bytes", a.Outcome, len(a.Text))
			}
			llmtest.Await(t, "the upstream request is closed", func() bool { return s.InFlight() == 0 && s.Cancelled() == 1 })
		})
	}
}

func TestCyclic(t *testing.T) {
	t.Parallel()
	var table, zeros, log, csv strings.Builder
	for i := range 400 {
		fmt.Fprintf(&table, "| %4d | item %d | ok |\n", i, i*7)
		fmt.Fprintf(&log, "12:00:%02d GET /health 200 %dms\n", i%60, i%9)
		fmt.Fprintf(&csv, "%d,0,0,0,0,0,0,0\n", i)
	}
	for range 256 {
		zeros.WriteString("0x00, ")
	}
	tests := []struct {
		name, text string
		want       bool
	}{
		{"table", table.String(), false},
		{"log", log.String(), false},
		{"csv", csv.String(), false},
		{"block of zeros", zeros.String(), false},
		{"rule of dashes", strings.Repeat("-", 2000), false},
		{"few equal rows", strings.Repeat("| 0 | 0 | 0 | 0 | 0 |\n", 60), false},
		{"sentence for ever", strings.Repeat("I will check again. ", 300), true},
		{"letter for ever", strings.Repeat("a", 5000), true},
		{"paragraph for ever", strings.Repeat(log.String()[:900], 10), true},
		{"after honest text", table.String() + strings.Repeat("and so on, ", 500), true},
	}
	for _, tt := range tests {
		var w loopWatch
		got := false
		for i := 0; i < len(tt.text) && !got; i += 7 {
			got = w.add(tt.text[i:min(i+7, len(tt.text))])
		}
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A server that is full or loading is waited for; Retry-After counts.
func TestBusyIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, rep := range map[string]llmtest.Reply{
		"loading":   {Status: 503, Body: llmtest.LoadingBody},
		"vllm full": {Status: 503, Body: llmtest.VLLMBusyBody},
		"in stream": {Text: "a", Fault: `{"error":{"message":"No deployments available for selected model. Try again in 5 seconds.","type":"None","param":"None","code":"429"}}`},
		"limited":   {Status: 429, Body: `{"error":{"message":"slow down"}}`, Header: map[string]string{"Retry-After": "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := llmtest.NewVLLM(t, llmtest.Config{})
			s.Script(rep, rep, llmtest.Reply{Text: "ok"})
			var phases []Phase
			a := chat(t, registry(t, ep("e", s)), Request{OnProgress: func(p Progress) { phases = append(phases, p.Phase) }})
			if a.Outcome != Answered || a.Attempts != 3 {
				t.Errorf("got %+v", a)
			}
			if !strings.Contains(fmt.Sprint(phases), string(PhaseLoading)) {
				t.Errorf("waiting was not reported: %v", phases)
			}
		})
	}
}

// A limited server keeps its TransportError when the deadline leaves no time.
func TestBusyForTooLong(t *testing.T) {
	t.Parallel()
	s := llmtest.NewVLLM(t, llmtest.Config{Answer: func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Status: 429, Body: `{"error":{"message":"slow down"}}`, Header: map[string]string{"Retry-After": "3600"}}
	}})
	r := registry(t, ep("e", s))
	c := choose(t, r, Want{})
	_, err := r.Chat(within(t, time.Minute), Request{Choice: c, Messages: say("x")})
	var te *TransportError
	if !errors.As(err, &te) || te.Status != 429 || !strings.Contains(err.Error(), "slow down") {
		t.Errorf("got %v, want the server's 429", err)
	}
}

// Connection refused is waited for too: the server restarts.
func TestRefusedIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	r := registry(t, ep("e", s))
	c := choose(t, r, Want{})
	s.Close()
	_, err := r.Chat(within(t, 2*time.Second), Request{Choice: c, Messages: say("x")})
	var te *TransportError
	if !errors.As(err, &te) || !strings.Contains(err.Error(), "nothing listens") {
		t.Errorf("got %v, want a TransportError that says the port is closed", err)
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	for name, tt := range map[string]struct {
		rep     llmtest.Reply
		set     Settings
		ctx     time.Duration
		limit   string
		partial string
	}{
		"first byte": {rep: llmtest.Reply{Hold: never}, set: Settings{FirstByteTimeout: 80 * time.Millisecond}, limit: "first byte"},
		"idle":       {rep: llmtest.Reply{Text: "one two", PieceHold: never}, set: Settings{IdleTimeout: 80 * time.Millisecond}, limit: "idle", partial: "one "},
		"deadline":   {rep: llmtest.Reply{Text: "one two", PieceHold: never}, ctx: 2 * time.Second, limit: "deadline", partial: "one "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := llmtest.NewOpenAI(t, llmtest.Config{})
			s.Script(tt.rep)
			tt.set.Endpoints = []Endpoint{ep("e", s)}
			r := registryWith(t, tt.set)
			c := choose(t, r, Want{})
			ctx := t.Context()
			if tt.ctx > 0 {
				ctx = within(t, tt.ctx)
			}
			_, err := r.Chat(ctx, Request{Choice: c, Messages: say("x")})
			var to *TimeoutError
			if !errors.As(err, &to) || to.Limit != tt.limit || (tt.partial != "" && to.Partial != tt.partial) {
				t.Errorf("got %#v, want a timeout by %q with %q", err, tt.limit, tt.partial)
			}
			llmtest.Await(t, "the upstream request is closed", func() bool { return s.InFlight() == 0 })
			if s.Cancelled() != 1 {
				t.Errorf("the upstream request was not cancelled")
			}
		})
	}
}

// Cancelling closes the upstream request at once, before and after headers.
func TestCancelClosesUpstream(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	for kind, start := range fakes {
		for name, rep := range map[string]llmtest.Reply{"queued": {Hold: never}, "writing": {Text: "a b", PieceHold: never}} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				s := start(t, llmtest.Config{})
				s.Script(rep)
				r := registry(t, ep("e", s))
				c := choose(t, r, Want{})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					_, err := r.Chat(ctx, Request{Choice: c, Messages: say("x")})
					done <- err
				}()
				llmtest.Await(t, "the request runs", func() bool { return s.InFlight() == 1 })
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want context.Canceled", err)
				}
				llmtest.Await(t, "the slot is free", func() bool { return s.InFlight() == 0 && s.Cancelled() == 1 })
			})
		}
	}
}

// Things that are no model server, or refuse us, are named as such.
func TestNotAnAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rep  llmtest.Reply
		want string
		req  bool
	}{
		"html":            {llmtest.Reply{Body: llmtest.HTMLBody, ContentType: "text/html"}, "HTML page", false},
		"404":             {llmtest.Reply{Status: 404, Body: `{"error":{"message":"The model does not exist"}}`}, "does not exist", true},
		"template error":  {llmtest.Reply{Status: 500, Body: `{"error":{"code":500,"message":"Jinja Exception: System message must be at the beginning.","type":"server_error"}}`}, "Jinja", true},
		"unauthorized":    {llmtest.Reply{Status: 401, Body: `{"error":"Unauthorized"}`}, "Unauthorized", true},
		"redirect":        {llmtest.Reply{Status: 302, Header: map[string]string{"Location": "http://elsewhere.invalid/"}}, "302", false},
		"server error":    {llmtest.Reply{Status: 500, Body: `{"error":{"message":"CUDA out of memory"}}`}, "CUDA", false},
		"error in a 200":  {llmtest.Reply{ContentType: "application/json", Body: `{"error":{"message":"no deployment left"}}`}, "no deployment", false},
		"fault in stream": {llmtest.Reply{Text: "a", Fault: `{"error":{"message":"grammar stack empty","type":"server_error"}}`}, "grammar stack", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := llmtest.NewOpenAI(t, llmtest.Config{})
			s.Script(tt.rep)
			_, err := chatErr(t.Context(), t, registry(t, ep("e", s)), Request{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want it to say %q", err, tt.want)
			}
			var te *TransportError
			var re *RequestError
			if tt.req != errors.As(err, &re) || tt.req == errors.As(err, &te) {
				t.Errorf("wrong kind of error: %T", err)
			}
			if len(s.Calls()) != 1 {
				t.Errorf("%d calls, want 1: this is no dropped connection", len(s.Calls()))
			}
		})
	}
}

// A19: a field is left out only after the server refused it, and stays out.
func TestRefusedFieldA19(t *testing.T) {
	t.Parallel()
	refuse := func(field, text string) func(llmtest.Call) llmtest.Reply {
		return func(c llmtest.Call) llmtest.Reply {
			if c.Field(field) != nil {
				return llmtest.Reply{Status: 400, Body: llmtest.OpenAIError(400, "invalid_request_error", text)}
			}
			return llmtest.Reply{Text: "ok"}
		}
	}
	for field, text := range map[string]string{
		"stream_options":       "Unrecognized request argument supplied: stream_options",
		"chat_template_kwargs": "Extra inputs are not permitted: chat_template_kwargs",
		"max_tokens":           "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
		"seed":                 "unknown field seed",
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			s := llmtest.NewOpenAI(t, llmtest.Config{Answer: refuse(field, text)})
			r := registry(t, ep("e", s))
			seed := 7
			for range 2 {
				if a := chat(t, r, Request{Think: ThinkOff, Seed: &seed, MaxTokens: 77}); a.Text != "ok" {
					t.Errorf("got %+v", a)
				}
			}
			calls := s.Calls()
			if len(calls) != 3 {
				t.Fatalf("%d calls, want 3: refused once, then remembered", len(calls))
			}
			if field == "max_tokens" && calls[2].Field("max_completion_tokens") != 77.0 {
				t.Errorf("the budget must be sent under its other name: %s", calls[2].Body)
			}
		})
	}
	t.Run("think", func(t *testing.T) {
		t.Parallel()
		s := llmtest.NewOllama(t, llmtest.Config{})
		if a := chat(t, registry(t, ep("e", s)), Request{Think: ThinkOn}); a.Text != "ok" || len(s.Calls()) != 2 {
			t.Errorf("got %+v after %d calls", a, len(s.Calls()))
		}
	})
}

func TestSchema(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	for name, tt := range map[string]struct {
		replies []llmtest.Reply
		json    string
		outcome Outcome
		calls   int
	}{
		"valid":            {[]llmtest.Reply{{Text: `{"n": 1}`}}, `{"n": 1}`, Answered, 1},
		"fenced":           {[]llmtest.Reply{{Text: "Sure!\n```json\n{\"n\": 2}\n```"}}, `{"n": 2}`, Answered, 1},
		"repaired":         {[]llmtest.Reply{{Text: `{"n": "one"}`}, {Text: `{"n": 1}`}}, `{"n": 1}`, Answered, 2},
		"not repaired":     {[]llmtest.Reply{{Text: `no`}, {Text: `still no`}}, "", Invalid, 2},
		"cut off":          {[]llmtest.Reply{{Text: `{"n":`, Finish: "length"}}, "", CutOff, 1},
		"digits preserved": {[]llmtest.Reply{{Text: `{"n":12345678901234567890}`}}, `{"n":12345678901234567890}`, Answered, 1},
	} {
		for kind, start := range fakes {
			s := start(t, llmtest.Config{})
			s.Script(tt.replies...)
			a := chat(t, registry(t, ep("e", s)), Request{Schema: schema})
			if a.Outcome != tt.outcome || string(a.JSON) != tt.json || len(s.Calls()) != tt.calls {
				t.Errorf("%s on %s: %s %q after %d calls", name, kind, a.Outcome, a.JSON, len(s.Calls()))
			}
		}
	}
}

// A18 for plain calls: a grammar the server cannot build is left to us.
func TestSchemaWithoutGrammar(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{Answer: func(c llmtest.Call) llmtest.Reply {
		if c.Field("response_format") != nil {
			return llmtest.Reply{Status: 400, Body: llmtest.OpenAIError(400, "invalid_request_error", "failed to parse grammar")}
		}
		if !strings.Contains(c.Last(), "JSON schema") {
			return llmtest.Reply{Text: "no schema in the prompt"}
		}
		return llmtest.Reply{Text: "[1]"}
	}})
	a := chat(t, registry(t, ep("e", s)), Request{Schema: json.RawMessage(`{"type":"array"}`)})
	if string(a.JSON) != "[1]" || a.Attempts != 2 {
		t.Errorf("got %+v", a)
	}
	_, err := chatErr(t.Context(), t, registry(t, ep("e", s)), Request{Schema: json.RawMessage(`{"type":"nothing"}`)})
	if err == nil || !strings.Contains(err.Error(), "schema") {
		t.Errorf("a broken schema must be named: %v", err)
	}
}

// The same bytes in the same order: system, material, question.
func TestBodyKeepsOrderAndBytes(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	text := "a < b && c > d \u2028 é 日本 \x00 end"
	chat(t, registry(t, ep("e", s)), Request{Messages: []Message{{"system", "be brief"}, {"user", text}}})
	c := s.Calls()[0]
	if len(c.Messages) != 2 || c.Messages[0].Role != "system" || c.Messages[1].Content != text {
		t.Errorf("got %q", c.Messages)
	}
	if !strings.Contains(string(c.Body), "a < b && c > d") {
		t.Errorf("escaped needlessly: %s", c.Body)
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	s.Script(llmtest.Reply{Text: "pong"})
	r := registry(t, ep("e", s))
	a, err := r.Complete(t.Context(), CompleteRequest{Prompt: "ping", System: "say pong"})
	if err != nil || a.Text != "pong" || a.Model != "test-model" {
		t.Errorf("got %+v, %v", a, err)
	}
	if _, err := r.Complete(t.Context(), CompleteRequest{Prompt: " "}); err == nil {
		t.Error("an empty prompt must be refused")
	}
}

// A11 for plain calls: the answer ends at its end mark, not when the socket closes.
func TestEndMarkEndsTheAnswerA11(t *testing.T) {
	t.Parallel()
	for name, body := range map[Backend]string{
		OpenAI:    "data: {\"choices\":[{\"delta\":{\"content\":\"done\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		Anthropic: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"done\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		Ollama:    "{\"message\":{\"content\":\"done\"},\"done\":true,\"done_reason\":\"stop\"}\n",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", map[bool]string{true: "application/x-ndjson", false: "text/event-stream"}[name == Ollama])
			_, _ = io.WriteString(w, body)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		r := registry(t, Endpoint{Name: "e", BaseURL: srv.URL, Backend: name})
		a, err := r.Chat(within(t, 30*time.Second), Request{Choice: Choice{Model: "m", Endpoint: "e", Backend: name}, Messages: say("x")})
		if err != nil || a.Text != "done" || a.Outcome != Answered {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		srv.Close()
	}
}

// A07, A08: lines and letters cut anywhere, comments, CRLF, empty tool lists.
func TestStreamInAnyPieces(t *testing.T) {
	t.Parallel()
	stream := ": ping\r\n\r\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\r\n\r\n" +
		"data: {\"choices\":[{\"delta\":{\"content\":\"héllo \",\"tool_calls\":[]}}]}\n\n" +
		"data:{\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"日本\"}]},\"finish_reason\":null}]}\n\n" +
		"data: {\"choices\":[{\"delta\":{},\n" + "data: \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]"
	for name, rd := range map[string]io.Reader{
		"by bytes": iotest.OneByteReader(strings.NewReader(stream)), "at once": strings.NewReader(stream), "halves": iotest.HalfReader(strings.NewReader(stream)),
	} {
		var got strings.Builder
		finish, end := "", false
		err := openAIStream(rd, func(d delta) bool {
			got.WriteString(d.text)
			finish += d.finish
			end = end || d.end
			return false
		})
		if err != nil || got.String() != "héllo 日本" || finish != "stop" || !end {
			t.Fatalf("%s: %q %q %v %v", name, got.String(), finish, end, err)
		}
	}
}

// BenchmarkOverhead compares a call with the raw HTTP exchange it makes.
func BenchmarkOverhead(b *testing.B) {
	s := llmtest.NewLlamaServer(b, llmtest.Config{Answer: func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "one two three four"} }})
	msgs := say(strings.Repeat("some words of a log that is not short\n", 2000))
	b.Run("raw", func(b *testing.B) {
		body, err := encode(openAIBody(&wireCall{model: "m", messages: msgs, maxTokens: 100}), nil)
		if err != nil {
			b.Fatal(err)
		}
		client := newClient()
		for b.Loop() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.URL+"/v1/chat/completions", strings.NewReader(string(body)))
			if err != nil {
				b.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
	b.Run("Chat", func(b *testing.B) {
		r := registry(b, ep("e", s))
		c, err := r.Choose(b.Context(), Want{})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := r.Chat(b.Context(), Request{Choice: c, Messages: msgs, MaxTokens: 100}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Whatever comes over the wire, nothing panics, and text without tags is untouched.
func FuzzSplitReasoning(f *testing.F) {
	for _, s := range []string{"", "<think>", "</think>", "<think>a</think>b", "`</think>`", "a\n</think>\n\nb", "[THINK]x[/THINK]", "<think><think></think>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		reasoning, text := splitReasoning(s)
		if !strings.ContainsAny(s, "<[") && (text != s || reasoning != "") {
			t.Errorf("%q became %q", s, text)
		}
		if len(text)+len(reasoning) > len(s) {
			t.Errorf("%q grew", s)
		}
	})
}

func FuzzStreams(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n"))
	f.Add([]byte("event: error\r\ndata: {\"code\":500}\r\n\r\n"))
	f.Add([]byte("{\"message\":{\"content\":\"x\"},\"done\":true}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, w := range []*wire{wireFor(OpenAI), wireFor(Ollama), wireFor(Anthropic)} {
			whole, pieces := "", ""
			err1 := w.stream(bytes.NewReader(b), func(d delta) bool { whole += d.text + d.reasoning + d.finish; return false })
			err2 := w.stream(iotest.OneByteReader(bytes.NewReader(b)), func(d delta) bool { pieces += d.text + d.reasoning + d.finish; return false })
			if whole != pieces || (err1 == nil) != (err2 == nil) {
				t.Errorf("at once %q %v, by bytes %q %v", whole, err1, pieces, err2)
			}
			if w.full != nil {
				_, _ = w.full(b)
			}
		}
	})
}
