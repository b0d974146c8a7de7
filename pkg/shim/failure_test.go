package shim

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// Each row is an error a server was seen to send and what the client is told. Where the shim knows a better number
// than the server told, it is 5000.
func TestErrors(t *testing.T) {
	t.Parallel()
	const tooLong = "prompt is too long: "
	rows := []struct {
		name   string
		status int
		body   string
		want   int
		text   string
	}{
		{"A30 llama-server overflow", 400, `{"error":{"code":400,"message":"request (6009 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":6009,"n_ctx":2048}}`, 400, tooLong + "6009 tokens > 2048 maximum"},
		{"A30 vLLM overflow never tells the size", 400, `{"type":"error","error":{"type":"BadRequestError","message":"This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=4097)"}}`, 400, "tokens > 4096 maximum"},
		{"A30 older vLLM", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 6000 tokens (5000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.","code":400}`, 400, "5000 tokens > 4096 maximum"},
		{"A30 vLLM You passed", 400, `{"error":{"message":"You passed 4097 input tokens and requested 10 output tokens. However, the model's context length is only 4096 tokens"}}`, 400, "tokens > 4096 maximum"},
		{"A30 vLLM input length", 400, `{"error":{"message":"You passed 9000 input tokens. However, the model has a maximum input length of 4096 tokens"}}`, 400, tooLong + "9000 tokens > 4096 maximum"},
		{"A30 vLLM exactly full", 400, `{"error":{"message":"max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)","code":400}}`, 400, tooLong},
		{"A30 vLLM as a 500", 500, `{"error":{"message":"maximum context length is 4096 tokens, your request contains 8000"}}`, 400, tooLong + "8000 tokens > 4096 maximum"},
		{"A30 detail", 400, `{"detail":"Prompt too long: 9000 > 4096"}`, 400, tooLong + "9000 tokens > 4096 maximum"},
		{"A30 detail without numbers", 422, `{"detail":"Prompt too long…"}`, 400, tooLong},
		{"A30 OpenAI", 400, `{"error":{"message":"This model's maximum context length is 4097 tokens. However, your messages resulted in 5001 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, 400, "5001 tokens > 4097 maximum"},
		{"A30 through LiteLLM", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - request (6009 tokens) exceeds the available context size (2048 tokens), try increasing it"}}`, 400, "6009 tokens > 2048 maximum"},
		{"A30 LM Studio as a 500", 500, `{"type":"error","error":{"type":"api_error","message":"Trying to keep the first 4932 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}}`, 400, "tokens > 4096 maximum"},
		{"A30 Ollama", 400, `{"error":"the input length exceeds the context length"}`, 400, tooLong},
		{"A30 SGLang", 400, `{"message":"The input (5001 tokens) is longer than the model's context length (4096 tokens)."}`, 400, "5001 tokens > 4096 maximum"},
		{"never 413", 413, `<html>Request Entity Too Large</html>`, 400, tooLong},
		{"template as a 500", 500, `{"error":{"code":500,"message":"\n------------\nWhile executing CallExpression at line 85\nError: Jinja Exception: No user query found in messages.","type":"server_error"}}`, 400, "chat template refuses"},
		{"template, parser generator", 400, `{"error":{"message":"Unable to generate parser for this template. Automatic parser generation failed: x","type":"invalid_request_error"}}`, 400, "chat template refuses"},
		{"system message not first", 400, `{"error":{"message":"System message must be at the beginning.","code":400}}`, 400, "chat template refuses"},
		{"A18 grammar", 400, `{"error":{"message":"failed to parse grammar","code":400}}`, 400, "cannot turn a tool's schema into a grammar: failed to parse grammar"},
		{"A17 call not parsed", 500, `{"error":{"message":"failed to parse input at pos 17","code":500}}`, 500, "failed to parse input"},
		{"tools need a flag", 400, `{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}}`, 400, "takes no tool calls"},
		{"tools unknown to the template", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"x/y:latest does not support tools"}}`, 400, "takes no tool calls"},
		{"wrong key", 401, `{"error":"Unauthorized"}`, 400, "refused the API key (401)"},
		{"unknown model", 404, "{\"type\":\"error\",\"error\":{\"type\":\"NotFoundError\",\"message\":\"The model `nope` does not exist. Valid aliases: qwen-coder.\"}}", 404, "does not exist"},
		{"queue full", 503, `{"type":"error","error":{"type":"Service Unavailable","message":"The engine is currently busy and cannot accept new requests"}}`, 503, "busy"},
		{"rate limit", 429, `{"error":{"message":"slow down"}}`, 429, "slow down"},
		{"plain 500", 500, `oops`, 500, "oops"},
		{"no text at all", 502, ``, 502, "without a text"},
		{"a redirect is not followed", 302, ``, 502, "without a text"},
		{"OpenAI-shaped body check", 400, `{"error":{"message":"1 validation error:\n  {'type': 'literal_error', 'loc': 'body.messages.1.role'}","type":"Bad Request","param":"body.messages.1.role","code":400}}`, 400, "validation error"},
	}
	for _, row := range rows {
		for _, stream := range []string{"true", "false"} {
			t.Run(row.name+" "+stream, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, newFake(t, answer{status: row.status, json: row.body, header: map[string]string{"Location": "http://127.0.0.1:1/"}}), nil)
				got := r.post(t, strings.Replace(ask(""), `"stream":true`, `"stream":`+stream, 1))
				if got.status != row.want || !strings.Contains(gjson.Get(got.body, "error.message").Str, row.text) {
					t.Errorf("%d %s", got.status, got.body)
				}
				if gjson.Get(got.body, "type").Str != "error" || gjson.Get(got.body, "error.type").Str == "" {
					t.Errorf("shape: %s", got.body)
				}
				if retry := got.header.Get("Retry-After"); (got.status >= 500 || got.status == 429) != (retry != "") {
					t.Errorf("status %d with Retry-After %q", got.status, retry)
				}
				if n := len(r.fake.bodies()); n != 1 {
					t.Errorf("%d requests for a permanent error", n)
				}
			})
		}
	}
}

// The numbers of an overflow must say that the prompt is larger, whatever the server told.
func TestOverflowNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]int{{0, 4096, 4097}, {4096, 4096, 4097}, {9000, 4096, 9000}, {0, 0, 2}} {
		if f := overflow(c[0], c[1]); f.tokens != c[2] || f.tokens <= f.window {
			t.Errorf("overflow(%d, %d) = %s", c[0], c[1], f.message)
		}
	}
}

// A35: what can refuse a prompt is asked before the status is out, and only near the limit.
func TestCountedBeforeSending(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 8000)
	rows := []struct {
		name      string
		text      string
		count     func(string) (int, string)
		status    int
		sent      int
		message   string
		maxTokens int64
	}{
		{"fits for certain: not counted", "hi", nil, 200, 1, "", 1000},
		{"counted and fits", long, func(string) (int, string) { return 200, `{"input_tokens":8100}` }, 200, 1, "", 1000},
		{"counted and does not fit", long, func(string) (int, string) { return 200, `{"input_tokens":20500}` }, 400, 0, "prompt is too long: 20500 tokens > 19744 maximum", 0},
		{"vLLM's count fails above the window", long, func(string) (int, string) {
			return 400, `{"error":{"message":"This model's maximum context length is 20000 tokens. However, your prompt contains at least 20001 input tokens"}}`
		}, 400, 0, "> 20000 maximum", 0},
		{"no counter: estimated and sent", long, nil, 200, 1, "", 1000},
		{"no counter: hopeless", strings.Repeat(long, 4), nil, 400, 0, "> 20000 maximum", 0},
		{"A31 clamped to what is left", long, func(string) (int, string) { return 200, `{"input_tokens":19500}` }, 200, 1, "", 500},
		{"no room for an answer", long, func(string) (int, string) { return 200, `{"input_tokens":19950}` }, 400, 0, "prompt is too long: 19950 tokens > 19744 maximum", 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, answer{chunks: textStream("end_turn", "ok")})
			f.count = row.count
			r := newRig(t, f, func(target *Target, _ *Options) { target.Window = 20000 })
			got := r.post(t, `{"model":"m","max_tokens":1000,"stream":true,"messages":[{"role":"user","content":`+quote(row.text)+`}]}`)
			if got.status != row.status || !strings.Contains(got.body, row.message) {
				t.Fatalf("%d %s", got.status, clip(got.body, 300))
			}
			if n := len(f.bodies()); n != row.sent {
				t.Fatalf("%d requests sent, want %d", n, row.sent)
			}
			if row.sent == 1 && gjson.Get(f.last(t).body, "max_tokens").Int() != row.maxTokens {
				t.Errorf("max_tokens %s", get(f.last(t).body, "max_tokens"))
			}
			if row.status == 400 && r.record(t, 0).Outcome != Overflowed {
				t.Errorf("outcome %s", r.record(t, 0).Outcome)
			}
		})
	}
}

// Without a count nothing is cut for a guess: 115 kB of prose are about 25,000 tokens, not 38,000. A server that
// says how long the prompt is gets what that leaves.
func TestGuessDoesNotCut(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog and then it rests for a while. ", 1533)
	ok := answer{chunks: textStream("end_turn", "ok")}
	full := answer{status: 400, json: `{"error":{"message":"You passed 31000 input tokens and requested 4096 output tokens. However, the model's context length is only 32768 tokens, resulting in a maximum input length of 28672 tokens."}}`}
	for _, row := range []struct {
		name    string
		kind    Kind
		asked   string
		answers []answer
		want    int64
	}{
		{"modest", OpenAI, "4000", []answer{ok}, 4000},
		{"an eighth of the window", OpenAI, "6553", []answer{ok}, 4096},
		{"the server knows better", OpenAI, "6553", []answer{full, ok}, 1768},
		{"the real API is not second-guessed", Anthropic, "6553", []answer{ok}, 6553},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, row.answers...)
			r := newRig(t, f, func(x *Target, _ *Options) { x.Kind, x.Window, x.CountTokens = row.kind, 32768, false })
			got := r.post(t, `{"model":"m","max_tokens":`+row.asked+`,"stream":true,"messages":[{"role":"user","content":`+quote(prose)+`}]}`)
			if got.status != 200 {
				t.Fatalf("%d %s", got.status, clip(got.body, 300))
			}
			if sent := gjson.Get(f.last(t).body, "max_tokens").Int(); sent != row.want {
				t.Errorf("max_tokens %d, want %d", sent, row.want)
			}
		})
	}
}

// A35: an overflow that only shows after the first ping ends the stream with an error the client answers with a
// request that is not streamed, and that one gets the real status.
func TestLateOverflow(t *testing.T) {
	t.Parallel()
	late := answer{status: 400, before: 200 * time.Millisecond, json: `{"error":{"message":"request (6009 tokens) exceeds the available context size (2048 tokens)","code":400}}`}
	r := newRig(t, newFake(t, late), func(_ *Target, o *Options) { o.PingEvery = 20 * time.Millisecond })
	got := r.post(t, ask(""))
	last := got.events[len(got.events)-1]
	if got.status != 200 || got.events[0].event != "ping" || last.event != "error" || !strings.Contains(last.data, "prompt is too long: 6009 tokens > 2048 maximum") {
		t.Errorf("%d %s", got.status, got.body)
	}
	got = r.post(t, strings.Replace(ask(""), `"stream":true`, `"stream":false`, 1))
	if got.status != 400 || !strings.Contains(got.body, "prompt is too long") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// A19: a refused field costs one request, once per endpoint, over jobs.
func TestLearning(t *testing.T) {
	t.Parallel()
	rows := []struct{ name, body, refusal, path string }{
		{"pydantic", ask(`,"context_management":{"edits":[]}`), `{"type":"error","error":{"type":"invalid_request_error","message":"context_management: Extra inputs are not permitted"}}`, "context_management"},
		{"nested", ask(`,"thinking":{"type":"adaptive","display":"updates"}`), `{"error":{"message":"thinking.display: Extra inputs are not permitted"}}`, "thinking.display"},
		{"LiteLLM", ask(`,"output_config":{"effort":"high"}`), `{"error":{"message":"litellm.UnsupportedParamsError: openai does not support parameters: ['output_config']"}}`, "output_config"},
		{"tool field", strings.Replace(ask(""), `"name":"Edit"`, `"name":"Edit","defer_loading":true`, 1), `{"error":{"message":"tools.0.defer_loading: Extra inputs are not permitted"}}`, "tools.0.defer_loading"},
		{"vLLM's list", ask(`,"metadata":{"user_id":"u"}`), `{"error":{"message":"1 validation error:\n  {'type': 'extra_forbidden', 'loc': ('body', 'metadata'), 'msg': 'Extra inputs are not permitted'}","code":400}}`, "metadata"},
		{"images", strings.Replace(ask(""), `"content":"hi"`, `"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]`, 1), `{"error":{"message":"qwen-coder is not a multimodal model","code":400}}`, "messages.0.content.0.source"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			store := filepath.Join(t.TempDir(), "sub", "learned.json")
			good := answer{chunks: textStream("end_turn", "ok")}
			f := newFake(t, answer{status: 400, json: row.refusal}, good)
			set := func(target *Target, _ *Options) { target.Learned = store }
			r := newRig(t, f, set)
			for range 2 {
				if msg := r.post(t, row.body).message(t); !strings.Contains(msg, `"ok"`) {
					t.Fatal(msg)
				}
			}
			if msg := newRig(t, f, set).post(t, row.body).message(t); !strings.Contains(msg, `"ok"`) {
				t.Fatal(msg)
			}
			bodies := f.bodies()
			if len(bodies) != 4 { // one refused, one again, one by the same job, one by the next
				t.Fatalf("%d requests", len(bodies))
			}
			if !gjson.Get(bodies[0], row.path).Exists() {
				t.Errorf("left out before the server refused it: %s", bodies[0])
			}
			for _, b := range bodies[1:] {
				if gjson.Get(b, row.path).Exists() {
					t.Errorf("sent again: %s", b)
				}
			}
			if rec := r.record(t, 0); !strings.Contains(strings.Join(rec.Changed, ";"), "learned") || rec.Asks != 2 {
				t.Errorf("record %+v", rec)
			}
		})
	}
}

func TestNothingEssentialIsLearned(t *testing.T) {
	t.Parallel()
	for _, msg := range []string{
		"messages: Extra inputs are not permitted", "max_tokens is not supported", "type: unknown field",
		"the type of this value is not allowed", "model: unexpected field",
	} {
		if got := refusedField(msg, ask(`,"thinking":{"type":"adaptive"}`), func(string) bool { return false }); got != "" {
			t.Errorf("%q taught to drop %s", msg, got)
		}
	}
}

// Strict alternation is met by joining user turns, after the server asked for it.
func TestLearnsAlternation(t *testing.T) {
	t.Parallel()
	f := newFake(t, answer{status: 500, json: `{"error":{"message":"Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/..."}}`}, answer{chunks: textStream("end_turn", "ok")})
	r := newRig(t, f, nil)
	r.post(t, `{"stream":true,"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`).message(t)
	if got := get(f.last(t).body, "messages"); got != `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]` {
		t.Error(got)
	}
}

// A17: a server that cannot parse the model's call is asked again by the client, but not for ever.
func TestBadCallRetriesAreCapped(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t, answer{status: 500, json: `{"error":{"message":"failed to parse input at pos 17: {\"a\": oops"}}`}), nil)
	var got []int
	for range 4 {
		got = append(got, r.post(t, ask("")).status)
	}
	if got[0] != 500 || got[1] != 500 || got[2] != 400 || got[3] != 400 {
		t.Errorf("statuses %v", got)
	}
	if rec := r.record(t, 0); !strings.Contains(rec.Error, "at pos 17") {
		t.Errorf("record %q", rec.Error)
	}
}

func TestGrammarErrorNamesTheTool(t *testing.T) {
	t.Parallel()
	odd := `{"name":"Odd","input_schema":{"type":"object","properties":{"x":{"pattern":"(?=a)"}}}}`
	r := newRig(t, newFake(t, answer{status: 400, json: `{"error":{"message":"failed to parse grammar","code":400}}`}), nil)
	got := r.post(t, strings.Replace(ask(""), `"tools":[`, `"tools":[`+odd+`,`, 1))
	if got.status != 400 || !strings.Contains(got.body, "Odd") {
		t.Error(got.body)
	}
}

// A loading server is waited for inside the shim.
func TestLoadingIsWaitedFor(t *testing.T) {
	t.Parallel()
	loading := answer{status: 503, json: `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`}
	r := newRig(t, newFake(t, loading, loading, answer{chunks: textStream("end_turn", "ok")}), nil)
	if msg := r.post(t, ask("")).message(t); !strings.Contains(msg, `"ok"`) {
		t.Error(msg)
	}
	r = newRig(t, newFake(t, loading), func(_ *Target, o *Options) { o.LoadWait = time.Millisecond })
	if got := r.post(t, ask("")); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestServerDown(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := newRig(t, f, nil)
	f.Close()
	if got := r.post(t, ask("")); got.status != http.StatusBadGateway || !strings.Contains(got.body, "no model server answers at") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestMaxTokensAboveTheWindow(t *testing.T) {
	t.Parallel()
	f := newFake(t, answer{status: 400, json: `{"error":{"message":"max_completion_tokens=32000 cannot be greater than max_model_len=4096. Please request fewer output tokens. (parameter=max_completion_tokens, value=32000)"}}`},
		answer{chunks: textStream("end_turn", "ok")})
	r := newRig(t, f, nil) // the window is not known beforehand
	r.post(t, strings.Replace(ask(""), `"max_tokens":100`, `"max_tokens":32000`, 1)).message(t)
	if n := gjson.Get(f.last(t).body, "max_tokens").Int(); n >= 4096 || n < 3000 {
		t.Errorf("max_tokens %d", n)
	}
}

func TestErrorInMidStream(t *testing.T) {
	t.Parallel()
	head := textStream("end_turn", "so far")[:3]
	rows := []struct {
		name string
		a    answer
		kind string
	}{
		{"llama-server's bare error", answer{chunks: append(head[:3:3], "event: error\ndata: {\"code\":500,\"message\":\"boom\",\"type\":\"server_error\"}\n\n")}, "api_error"},
		{"vLLM's internal_error", answer{chunks: append(head[:3:3], ev(`{"type":"error","error":{"type":"internal_error","message":"boom"}}`))}, "api_error"},
		{"overloaded", answer{chunks: append(head[:3:3], ev(`{"type":"error","error":{"type":"overloaded_error","message":"boom"}}`))}, "overloaded_error"},
		{"A12 A36 cut", answer{chunks: head, cut: true}, "api_error"},
		{"ended without an end", answer{chunks: head}, "api_error"},
		{"broken frame", answer{chunks: append(head[:3:3], "data: {\"type\":\n\n")}, "api_error"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, newFake(t, row.a), nil)
			got := r.post(t, ask(""))
			if len(got.events) == 0 {
				t.Fatalf("%d %s", got.status, got.body)
			}
			last := got.events[len(got.events)-1]
			if last.event != "error" || gjson.Get(last.data, "error.type").Str != row.kind || gjson.Get(last.data, "type").Str != "error" {
				t.Errorf("last event %+v", last)
			}
			if rec := r.record(t, 0); rec.Outcome == Answered {
				t.Errorf("outcome %s", rec.Outcome)
			}
		})
	}
}

// A12: half a tool call never reaches the client, wherever the connection breaks.
func TestCutToolCall(t *testing.T) {
	t.Parallel()
	all := strings.Join(toolStream("tool_use", "Edit", `{"path":`, `"a.go"}`), "")
	for at := 1; at < len(all)-30; at += 7 {
		f := newFake(t, answer{chunks: []string{all[:at]}, cut: true})
		r := newRig(t, f, nil)
		got := r.post(t, ask(""))
		if strings.Contains(got.body, "tool_use\"") && got.status == 200 && !strings.Contains(all[:at], "message_delta") {
			t.Fatalf("cut at %d: %s", at, got.body)
		}
		r.Close()
		f.Close()
	}
}

func TestTransportErrorIsNotTheClientLeaving(t *testing.T) {
	t.Parallel()
	if f := transportFailure(context.DeadlineExceeded, "http://x"); f.status == 499 {
		t.Error("a deadline is not the client leaving")
	}
}
