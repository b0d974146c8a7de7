package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"legwork/pkg/clean"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// silent keeps a stream open until released, or until the connection goes.
func silent(release <-chan struct{}, then ...string) func(context.Context, http.ResponseWriter) {
	return func(ctx context.Context, w http.ResponseWriter) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		for _, c := range then {
			_, _ = io.WriteString(w, c)
		}
	}
}

// lines reads SSE events from a response as they come.
func lines(t *testing.T, body io.Reader) <-chan frame {
	t.Helper()
	out := make(chan frame, 100)
	go func() {
		defer close(out)
		sse := newSSEReader(body)
		for {
			f, err := sse.next()
			if err != nil {
				return
			}
			out <- f
		}
	}()
	return out
}

func open(t *testing.T, ctx context.Context, r *rig, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", r.shim.Token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func next(t *testing.T, ch <-chan frame) frame {
	t.Helper()
	select {
	case f, ok := <-ch:
		if !ok {
			t.Fatal("stream ended")
		}
		return f
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
	}
	return frame{}
}

// A33 A34: the client gets pings while the server is silent, before and after its headers, and message_start only when
// there is content.
func TestPings(t *testing.T) {
	t.Parallel()
	all := textStream("end_turn", "hi")
	for name, first := range map[string]int{"headers at once": 0, "message_start at once": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			r := newRig(t, newFake(t, answer{chunks: all[:first], after: silent(release, all[first:]...)}),
				func(_ *Target, o *Options) { o.PingEvery = 20 * time.Millisecond })
			resp := open(t, t.Context(), r, ask(""))
			defer func() { _ = resp.Body.Close() }()
			ch := lines(t, resp.Body)
			for range 3 {
				if f := next(t, ch); f.event != "ping" {
					t.Fatalf("got %+v", f)
				}
			}
			close(release)
			for f := next(t, ch); f.event != "message_stop"; f = next(t, ch) {
			}
		})
	}
}

// A33: the client leaving frees the server's slot at once, in every phase.
func TestClientGoneCancelsTheServer(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	for name, a := range map[string]answer{
		"before headers": {before: time.Hour},
		"before content": {after: silent(never)},
		"in mid-stream":  {chunks: textStream("end_turn", "hi")[:3], after: silent(never)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, a)
			r := newRig(t, f, func(_ *Target, o *Options) { o.PingEvery = 10 * time.Millisecond })
			ctx, leave := context.WithCancel(t.Context())
			resp := open(t, ctx, r, ask(""))
			next(t, lines(t, resp.Body))
			leave()
			_ = resp.Body.Close()
			select {
			case <-f.gone:
			case <-time.After(20 * time.Second):
				t.Fatal("the server still works for a client that left")
			}
			if rec := r.record(t, 0); rec.Outcome != ClientGone {
				t.Errorf("outcome %s", rec.Outcome)
			}
		})
	}
}

// A11: the turn ends at message_stop, though the server keeps the connection.
func TestEndsAtMessageStop(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	f := newFake(t, answer{chunks: textStream("end_turn", "hi"), after: silent(never)})
	r := newRig(t, f, nil)
	r.post(t, ask("")).message(t)
	select {
	case <-f.gone:
	case <-time.After(20 * time.Second):
		t.Fatal("the connection was kept")
	}
}

// The watchdog gives up a server that falls silent; events of any kind keep it going.
func TestStalls(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	short := func(_ *Target, o *Options) { o.FirstByte, o.Idle = 1500*time.Millisecond, 1500*time.Millisecond }
	for name, a := range map[string]answer{
		"before the first byte": {before: time.Hour},
		"before content":        {after: silent(never)},
		"in mid-stream":         {chunks: textStream("end_turn", "hi")[:3], after: silent(never)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, newFake(t, a), short)
			got := r.post(t, ask(""))
			if !strings.Contains(got.body, "silent") {
				t.Errorf("%d %s", got.status, got.body)
			}
			if rec := r.record(t, 0); rec.Outcome != Stalled {
				t.Errorf("outcome %s", rec.Outcome)
			}
		})
	}
	comments := answer{after: func(ctx context.Context, w http.ResponseWriter) {
		for range 20 {
			_, _ = io.WriteString(w, ": still here\n\n")
			_ = http.NewResponseController(w).Flush()
			_ = sleep(ctx, 100*time.Millisecond)
		}
		_, _ = io.WriteString(w, strings.Join(textStream("end_turn", "hi"), ""))
	}}
	r := newRig(t, newFake(t, comments), short)
	r.post(t, ask("")).message(t)
}

// An event with empty data is a sign of life on both ways out, and no broken frame.
func TestEmptyEvents(t *testing.T) {
	t.Parallel()
	s := textStream("end_turn", "hi")
	chat := []string{
		"data: \n\n", `data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}` + "\n\n", "data:\n\n",
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n", "data: [DONE]\n\n",
	}
	for name, row := range map[string]struct {
		route  Route
		chunks []string
	}{
		"native": {RouteNative, slices.Concat(s[:3], []string{"event: ping\ndata:\n\n", "event: error\ndata: \n\n"}, s[3:])},
		"chat":   {RouteChat, chat},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, newFake(t, answer{chunks: row.chunks}), func(x *Target, _ *Options) { x.Route = row.route })
			if got := r.post(t, ask("")); got.status != 200 || !strings.Contains(got.body, "message_stop") || strings.Contains(got.body, "event: error") {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
}

// Held back only while it can still become a call: plain text arrives before the server goes on.
func TestHoldBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		held bool
	}{
		{"Hello", false},
		{" \n", true},
		{"```json\n", true},
		{"```go\nfunc", false},
		{"{", true},
		{`{"name": "x", "argu`, true},
		{`{"name": "x", "version"`, false},
		{`{"a`, true},
		{`{"address"`, false},
		{"<tool", true},
		{"<div>", false},
		{"[1,2]", false},
		{`{{"name"`, true},
		{`{"name":"Edit","arguments":{}} and`, false},
		{`{"arguments": {"anything": {"goes": ["here"`, true},
		{"`x`", false},
		{"```json\n{\"dependencies\"", false},
		{"{ // comment", false},
	} {
		g := callGate{}
		held := true
		for i := range len(c.text) {
			held = g.feed(c.text[i : i+1])
		}
		if held != c.held {
			t.Errorf("%q held %v", c.text, held)
		}
	}
	never := make(chan struct{})
	r := newRig(t, newFake(t, answer{chunks: textStream("end_turn", "Hello ", "there")[:3], after: silent(never)}), nil)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp := open(t, ctx, r, ask(""))
	defer func() { _ = resp.Body.Close() }()
	ch := lines(t, resp.Body)
	for f := next(t, ch); !strings.Contains(f.data, "Hello "); f = next(t, ch) {
	}
}

// Tool choice none, or no tools at all: a JSON answer is just an answer.
func TestNoToolsNoHolding(t *testing.T) {
	t.Parallel()
	text := `{"name":"Edit","arguments":{"path":"x"}}`
	for _, body := range []string{`{"stream":true,"messages":[{"role":"user","content":"a"}]}`, ask(`,"tool_choice":{"type":"none"}`)} {
		r := newRig(t, newFake(t, answer{chunks: textStream("end_turn", text)}), nil)
		if got := blocks(r.post(t, body).message(t)); got != "[text:"+text+"] end_turn" {
			t.Error(got)
		}
	}
}

// secondAnswers are what a server may say when it is asked again, natively and held to a schema.
func secondAnswers(kind Kind) map[string]answer {
	call := func(args string) answer {
		return answer{json: `{"id":"msg_9","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t","name":"Edit","input":` + args + `}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":7}}`}
	}
	words := answer{json: `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"no"}],"stop_reason":"end_turn","usage":{}}`}
	if kind != VLLM {
		say := func(s string) answer {
			return answer{json: `{"id":"c","model":"m","choices":[{"message":{"role":"assistant","content":` + quote(s) + `},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":7}}`}
		}
		call = func(args string) answer { return say("{\n  \"name\": \"Edit\",\n  \"arguments\": " + args + "}") }
		words = say("no")
	}
	return map[string]answer{"right": call(`{"path":"right"}`), "misfit": call(`{"line":1}`), "words": words, "fails": {status: 500, json: `{}`}}
}

// A call that cannot be converted is asked for once more with a call forced: by a schema where the server takes one
// beside tools, else by tool_choice.
func TestSecondAsk(t *testing.T) {
	t.Parallel()
	const right = `tool:Edit{"path":"right"}] tool_use`
	prose := "I edit it:\n```json\n" + `{"name":"Edit","arguments":{"path":"x"}}` + "\n```"
	two := "<tool_call>\n" + `{"name":"Edit","arguments":{"path":"x"}}` + "</tool_call>\n<tool_call>\n" + `{"name":"Edit","arguments":{"path":"y"}}` + "</tool_call>"
	invented, elsewhere := `{"name":"EditFile","arguments":{}}`, `{"name":"find_files","arguments":{"word":"limit"}}`
	rows := []struct {
		name   string
		first  []string
		second string
		want   string
		why    string // of the first, "": the second brought nothing
	}{
		{"invented tool name", textStream("end_turn", `{"name":"EditFile","arguments":{"path":"x"}}`), "right", "[" + right, "printed call: no tool is called EditFile"},
		{"another spelling", textStream("end_turn", `{"name":"edit_file","arguments":{"path":"x"}}`), "right", "[" + right, "printed call: no tool is called edit_file"},
		{"a tool it did not name", textStream("end_turn", elsewhere), "right", "[text:" + elsewhere + "] end_turn", ""},
		{"broken JSON", textStream("end_turn", `{"name":"Edit","arguments":{"path":"x"`), "right", "[" + right, "printed call: its JSON is broken"},
		{"arguments as a plain string", textStream("end_turn", `{"name":"Edit","arguments":"ls"}`), "right", "[" + right, "printed call: its arguments are a plain string"},
		{"real call with broken JSON", toolStream("tool_use", "Edit", `{"path":"x`), "right", "[" + right, "Edit: its JSON is broken"},
		{"a call behind prose", textStream("end_turn", prose[:11], prose[11:]), "right", "[text:" + prose + " " + right, "a call at the end of a longer text"},
		{"two calls in one text", textStream("end_turn", two[:20], two[20:]), "right", "[text:" + two + " " + right, "a call at the end of a longer text"},
		{"the second is text again", textStream("end_turn", invented), "words", "[text:" + invented + "] end_turn", ""},
		{"the second fails", textStream("end_turn", invented), "fails", "[text:" + invented + "] end_turn", ""},
		{"the second does not fit either", textStream("end_turn", invented), "misfit", "[text:" + invented + "] end_turn", ""},
	}
	for _, kind := range []Kind{LlamaCPP, Ollama, VLLM} {
		for _, row := range rows {
			t.Run(string(kind)+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				f := newFake(t, answer{chunks: row.first}, secondAnswers(kind)[row.second])
				r := newRig(t, f, func(target *Target, _ *Options) { target.Kind = kind })
				if got := strings.ReplaceAll(blocks(r.post(t, ask("")).message(t)), `{"path": "right"}`, `{"path":"right"}`); got != row.want {
					t.Errorf("client saw %s", got)
				}
				checkForced(t, kind, f.last(t))
				rec := r.record(t, 0)
				if (rec.Forced == 1) != (row.why != "") || rec.Asks != 2 || (rec.Forced == 0) != (len(rec.Unexecuted) > 0) {
					t.Errorf("record %+v", rec)
				}
				if changed := strings.Join(rec.Changed, "\n"); row.why != "" && !strings.Contains(changed, "second ask with a forced call, because of "+row.why) {
					t.Errorf("the record does not say why: %s", changed)
				}
			})
		}
	}
}

// A forced call may run what the failed one named, in whatever spelling, and nothing else.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		failed, tool string
		want         bool
	}{
		{`{"name":"edit_file","arguments":{}}`, "Edit", true},
		{`{"function":{"name": "WriteFile"`, "Write", true},
		{`[The call of Bash was not executed: its JSON is broken.]`, "Bash", true},
		{`{"name":"todo","arguments":{}}`, "TodoWrite", true},
		{`{"name":"Delete","arguments":{"path":"notes.txt"}}`, "Write", false},
		{`{"name":"find_files","arguments":{"command":"bash"}}`, "Bash", false},
		{`{"name":"e","arguments":{}}`, "Edit", false},
		{"no call at all", "Edit", false},
	} {
		if got := names(row.failed, row.tool); got != row.want {
			t.Errorf("%s names %s: %v", row.failed, row.tool, got)
		}
	}
}

// checkForced looks at how the second ask was made.
func checkForced(t *testing.T, kind Kind, q received) {
	t.Helper()
	if kind == VLLM {
		if c := get(q.body, "tool_choice"); c != `{"type":"any"}` || q.path != "/v1/messages" {
			t.Errorf("%s with tool_choice %s", q.path, c)
		}
		return
	}
	call := gjson.Get(q.body, "response_format.json_schema.schema.anyOf.0.properties")
	if q.path != "/v1/chat/completions" || call.Get("name.const").Str != "Edit" || !call.Get("arguments.properties.path").Exists() || !gjson.Get(q.body, "tools.0").Exists() {
		t.Errorf("%s with %s", q.path, q.body)
	}
}

// A server that refuses the schema, or has no such route, is asked with tool_choice. A schema that refers to its own
// root would mean something else inside another one.
func TestSecondAskWithoutSchema(t *testing.T) {
	t.Parallel()
	first, forced := answer{chunks: textStream("end_turn", `{"name":"EditFile","arguments":{}}`)}, secondAnswers(VLLM)["right"]
	rows := []struct {
		name    string
		body    string
		answers []answer
	}{
		{"refused", ask(""), []answer{first, {status: 400, json: `{"error":{"message":"failed to parse grammar"}}`}, forced}},
		{"no such route", ask(""), []answer{first, {status: 404, json: `{}`}, forced}},
		{"refers to its root", strings.Replace(ask(""), `"properties":{`, `"properties":{"line":{"$ref":"#/$defs/l"},`, 1), []answer{first, forced}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, row.answers...)
			r := newRig(t, f, nil)
			if got := blocks(r.post(t, row.body).message(t)); got != `[tool:Edit{"path":"right"}] tool_use` {
				t.Errorf("client saw %s", got)
			}
			if rec := r.record(t, 0); rec.Forced != 1 || rec.Asks != len(row.answers) {
				t.Errorf("record %+v", rec)
			}
			checkForced(t, VLLM, f.last(t))
		})
	}
}

// A model that writes without end once a call is forced is not let run to the client's limit.
func TestSecondAskIsBounded(t *testing.T) {
	t.Parallel()
	first := `{"name":"EditFile","arguments":{}}`
	for asked, want := range map[int]int{8000: forcedRoom + len(first), 300: 300} {
		f := newFake(t, answer{chunks: textStream("end_turn", first)}, answer{status: 500, json: `{}`})
		newRig(t, f, nil).post(t, setMember(ask(""), "max_tokens", strconv.Itoa(asked))).message(t)
		if bodies := f.bodies(); len(bodies) != 2 || get(bodies[0], "max_tokens") != strconv.Itoa(asked) || get(bodies[1], "max_tokens") != strconv.Itoa(want) {
			t.Errorf("asked %d: %q", asked, bodies)
		}
	}
}

// A text that only mentions a call, or says more behind it, is no failed call.
func TestNoSecondAskForProse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`Use {"name":"Edit","arguments":{"path":"x"}} to change it, then run the tests.`,
		"The file holds:\n```json\n{\"name\":\"demo\",\"version\":\"1\"}\n```",
		"Call:\n{\"name\":\"NotOffered\",\"arguments\":{}}", "}", "{}", strings.Repeat("{", 5000) + "}",
	} {
		f := newFake(t, answer{chunks: textStream("end_turn", text)})
		r := newRig(t, f, nil)
		if got := blocks(r.post(t, ask("")).message(t)); got != "[text:"+text+"] end_turn" || len(f.bodies()) != 1 {
			t.Errorf("%q: %d asks, %s", clip(text, 50), len(f.bodies()), clip(got, 200))
		}
	}
}

// A whole call beside a broken one runs, and the model is told of the other.
func TestWholeCallBesideABrokenOne(t *testing.T) {
	t.Parallel()
	all := toolStream("tool_use", "Edit", `{"path":"x"}`)
	chunks := append(all[:4:4], ev(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t9","name":"Edit","input":{}}}`),
		ev(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"pa"}}`), ev(`{"type":"content_block_stop","index":1}`))
	f := newFake(t, answer{chunks: append(chunks, all[4:]...)})
	r := newRig(t, f, nil)
	if got := blocks(r.post(t, ask("")).message(t)); got != `[tool:Edit{"path":"x"} text:[The call of Edit was not executed: its JSON is broken.]] tool_use` {
		t.Error(got)
	}
	if rec := r.record(t, 0); rec.Calls != 1 || len(rec.Unexecuted) != 1 || len(f.bodies()) != 1 {
		t.Errorf("record %+v", rec)
	}
}

// The real API is taken at its word: no second asks, no printed call.
func TestRealAPIIsNotRepaired(t *testing.T) {
	t.Parallel()
	text := `{"name":"Edit","arguments":{"path":"x"}}`
	want := strings.Join(textStream("end_turn", text), "")
	r := newRig(t, newFake(t, answer{chunks: []string{want}}), func(target *Target, _ *Options) { target.Kind = Anthropic })
	if got := r.post(t, ask("")); got.body != want {
		t.Error(got.body)
	}
}

// A15: an answer without content is asked for once more, then reported as empty.
func TestEmptyAnswer(t *testing.T) {
	t.Parallel()
	empty := answer{chunks: append(textStream("tool_use")[:1:1], textStream("tool_use")[3:]...)}
	f := newFake(t, empty)
	r := newRig(t, f, nil)
	if got := blocks(r.post(t, ask("")).message(t)); got != "[] end_turn" {
		t.Error(got)
	}
	if rec := r.record(t, 0); rec.Outcome != EmptyAnswer || rec.Asks != 2 {
		t.Errorf("record %+v", rec)
	}
	r = newRig(t, newFake(t, empty, answer{chunks: textStream("end_turn", "now")}), nil)
	if got := blocks(r.post(t, ask("")).message(t)); got != "[text:now] end_turn" {
		t.Error(got)
	}
	// Ollama: content null.
	r = newRig(t, newFake(t, answer{json: `{"id":"x","type":"message","role":"assistant","content":null,"stop_reason":"max_tokens","usage":{"input_tokens":3,"output_tokens":9}}`}), nil)
	got := r.post(t, strings.Replace(ask(""), `"stream":true`, `"stream":false`, 1))
	if c := get(got.message(t), "content"); c != "[]" || r.record(t, 0).Outcome != EmptyAnswer {
		t.Errorf("%s", got.body)
	}
}

// Ids are unique: the client merges turns that share one.
func TestUniqueIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t, answer{chunks: toolStream("tool_use", "Edit", `{"path":"x"}`)}), nil)
	seen := map[string]bool{}
	for range 3 {
		msg := r.post(t, ask("")).message(t)
		for _, id := range []string{gjson.Get(msg, "id").Str, gjson.Get(msg, "content.0.id").Str} {
			if id == "" || seen[id] {
				t.Errorf("id %q again", id)
			}
			seen[id] = true
		}
	}
}

// A faultless answer is passed on byte for byte, streamed or not.
func TestNoOp(t *testing.T) {
	t.Parallel()
	want := strings.Join(textStream("end_turn", "a", "b{c"), "")
	r := newRig(t, newFake(t, answer{chunks: []string{want}}), nil)
	if got := r.post(t, ask("")); got.body != want {
		t.Errorf("stream changed:\n%s", got.body)
	}
	body := `{"model":"m", "max_tokens":1e2,"stream":false,"odd":[1.0,"\u00e9"],"messages":[ {"role":"user","content":"hi"} ]}`
	msg := `{"id": "msg_7", "type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"\u0041"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1.0,"output_tokens":2}}`
	f := newFake(t, answer{json: msg})
	r = newRig(t, f, nil)
	if got := r.post(t, body); got.body != msg {
		t.Errorf("answer changed: %s", got.body)
	}
	if got := f.last(t); got.body != body || got.query != "" || got.header.Get("Anthropic-Beta") != "" {
		t.Errorf("request changed: %+v", got)
	}
}

// A20 and the two keys: what the server sees beside the body.
func TestHeaders(t *testing.T) {
	t.Parallel()
	f := newFake(t, answer{chunks: textStream("end_turn", "x")})
	r := newRig(t, f, func(target *Target, _ *Options) {
		target.APIKey, target.Header, target.Host = "secret-key-1", http.Header{"X-Team": {"team-seven"}}, "gpu.example"
	})
	r.post(t, ask("")).message(t)
	h := f.last(t).header
	if h.Get("Authorization") != "Bearer secret-key-1" || h.Get("X-Api-Key") != "secret-key-1" || h.Get("X-Team") != "team-seven" || h.Get("Anthropic-Beta") != "" || f.last(t).host != "gpu.example" {
		t.Errorf("headers %v", h)
	}
	for _, v := range h {
		if strings.Contains(strings.Join(v, " "), r.shim.Token()) {
			t.Error("the job's token went to the server")
		}
	}
	f = newFake(t, answer{chunks: textStream("end_turn", "x")})
	r = newRig(t, f, func(target *Target, _ *Options) { target.Kind = Anthropic })
	r.post(t, ask("")).message(t)
	if got := f.last(t); got.header.Get("Anthropic-Beta") != "some-beta-1" || got.query != "beta=true" {
		t.Errorf("the real API got %v %q", got.header, got.query)
	}
}

// A connection the server closed while it was idle costs nothing.
func TestClosedIdleConnection(t *testing.T) {
	t.Parallel()
	ln, err := Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	body := strings.Join(textStream("end_turn", "hi"), "")
	requests := make(chan string, 10)
	go func() { // a server that reads a second request on a connection, then closes it without an answer
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for n := range 2 {
					req, err := http.ReadRequest(bufio.NewReader(conn))
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					requests <- req.Header.Get("Idempotency-Key")
					if n == 1 {
						return
					}
					_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				}
			}()
		}
	}()
	t.Cleanup(func() { _ = ln.Close() })
	r := newRig(t, newFake(t), func(target *Target, _ *Options) { target.BaseURL = "http://" + ln.Addr().String() })
	for range 2 {
		if got := r.post(t, ask("")); got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if n := len(requests); n != 3 {
		t.Errorf("%d requests reached the server, want the second one twice", n)
	}
	if key := <-requests; key != "" {
		t.Errorf("header sent: %q", key)
	}
}

// A gateway may serve its routes below a path of its own, and a password in the URL stays out of every file.
func TestOwnRoutesAndPassword(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "learned.json")
	f := newFake(t, answer{status: 400, json: `{"error":{"message":"metadata: Extra inputs are not permitted"}}`}, answer{chunks: textStream("end_turn", "pass-word-9")})
	dir := t.TempDir()
	r := newRig(t, f, func(target *Target, o *Options) {
		target.BaseURL = strings.Replace(f.URL, "//", "//user:pass-word-9@", 1) + "/team"
		target.API, target.Learned, o.RecordDir, o.Full = target.BaseURL+"/v4/", store, dir, true
	})
	r.post(t, ask(`,"metadata":{}`)).message(t)
	if got := f.last(t); got.path != "/team/v4/messages" || !strings.HasPrefix(got.header.Get("Authorization"), "Basic ") {
		t.Errorf("asked %s with %v", got.path, got.header)
	}
	r.record(t, 0)
	for _, path := range []string{store, filepath.Join(dir, "requests.jsonl"), filepath.Join(dir, "requests_full.jsonl")} {
		if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), "pass-word-9") {
			t.Errorf("%s: %s %v", filepath.Base(path), data, err)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	f := newFake(t, answer{chunks: textStream("end_turn", "x")})
	r := newRig(t, f, nil)
	try := func(path, header, value string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+path, strings.NewReader(ask("")))
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			req.Header.Set(header, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	tok := r.shim.Token()
	for _, c := range []struct {
		path, header, value string
		want                int
	}{
		{"/v1/messages", "", "", 403},
		{"/v1/messages", "X-Api-Key", tok + "x", 403},
		{"/" + tok[1:] + "/v1/messages", "", "", 403},
		{"/v1/messages", "Authorization", "Bearer ", 403},
		{"/v1/messages", "X-Api-Key", tok, 200},
		{"/v1/messages", "Authorization", "Bearer " + tok, 200},
		{"/" + tok + "/v1/messages", "", "", 200},
		{"/v1/nothing", "X-Api-Key", tok, 404},
	} {
		if got := try(c.path, c.header, c.value); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.path, c.header, got, c.want)
		}
	}
}

func TestServeRefusesOpenPorts(t *testing.T) {
	t.Parallel()
	s, err := New(Target{BaseURL: "http://127.0.0.1:1"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Skip("no port on all interfaces: ", err)
	}
	if err := s.Serve(t.Context(), ln); err == nil {
		t.Error("listened on every interface")
	}
}

// The job's end cuts what is in flight and frees the server.
func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFake(t, answer{chunks: textStream("end_turn", "hi")[:3], after: silent(make(chan struct{}))})
	s, err := New(Target{BaseURL: f.URL, Route: RouteNative}, Options{Token: "tok"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ln, err := Listen(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+ln.Addr().String()+"/tok/v1/messages", strings.NewReader(ask("")))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	ch := lines(t, resp.Body)
	for f := next(t, ch); f.event != "content_block_delta"; f = next(t, ch) {
	}
	stop()
	select {
	case <-f.gone:
	case <-time.After(20 * time.Second):
		t.Fatal("the server still works for a job that ended")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	_ = s.Close()
}

func TestRecord(t *testing.T) {
	t.Parallel()
	stream := strings.Join(textStream("end_turn", "hi"), "")
	dir := t.TempDir()
	r := newRig(t, newFake(t, answer{chunks: []string{stream}}), func(_ *Target, o *Options) { o.RecordDir = dir })
	body := ask("")
	r.post(t, body).message(t)
	got := r.record(t, 0)
	if got.ID == "" || got.Time.IsZero() || got.FirstMS <= 0 || got.TotalMS < got.FirstMS || got.Prompt <= 0 {
		t.Errorf("record %+v", got)
	}
	want := Record{
		Time: got.Time, ID: got.ID, FirstMS: got.FirstMS, TotalMS: got.TotalMS, Prompt: got.Prompt,
		Path: "/v1/messages", Route: RouteNative, Model: "m", Stream: true, Status: 200, Outcome: Answered, BytesIn: len(body), BytesUp: len(body),
		BytesOut: int64(len(stream)), Messages: 1, Tools: 1, Usage: Usage{Input: 10, Output: 5, CacheUnknown: true}, Stop: "end_turn", Asks: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if file := records(t, dir); len(file) != 1 || cmp.Diff(got.Usage, file[0].Usage) != "" {
		t.Errorf("file %+v", file)
	}
}

func TestRecordsMaskSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFake(t, answer{chunks: textStream("end_turn", "the key is key-of-the-target and sk-ant-REDACTED")})
	r := newRig(t, f, func(target *Target, o *Options) {
		target.APIKey, target.Header = "key-of-the-target", http.Header{"Authorization": {"Basic c29tZXNlY3JldA=="}}
		o.RecordDir, o.Full, o.Mask = dir, true, clean.NewSecrets([]string{`DEPLOY_TOKEN=quo"ted-horse`}).Mask
	})
	r.post(t, strings.Replace(ask(""), `"hi"`, quote("token "+r.shim.Token()+` c29tZXNlY3JldA== quo"ted-horse DB_PASSWORD="hunter2hunter2" hf_abcdefghijklmnopqrstuvwx`), 1)).message(t)
	r.record(t, 0)
	for _, name := range []string{"requests.jsonl", "requests_full.jsonl"} {
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(data) {
			t.Errorf("%s is not JSON: %s", name, data)
		}
		for _, secret := range []string{"key-of-the-target", "sk-ant-REDACTED", "c29tZXNlY3JldA", `quo`, "hunter2", r.shim.Token(), "hf_abc"} {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s holds %s", name, secret)
			}
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s: mode %v %v", name, info.Mode(), err)
		}
	}
}

// What the record quotes of the model is masked too.
func TestNotesMaskSecrets(t *testing.T) {
	t.Parallel()
	key := "sk-ant-REDACTED"
	r := newRig(t, newFake(t, answer{chunks: textStream("end_turn", `{"name":`+quote("Edit "+key)+`,"arguments":{}}`)}, secondAnswers(LlamaCPP)["right"]), nil)
	r.post(t, ask("")).message(t)
	rec := r.record(t, 0)
	if changed := strings.Join(rec.Changed, "\n"); rec.Forced != 1 || !strings.Contains(changed, "no tool is called Edit ***") || strings.Contains(changed, key) {
		t.Errorf("record %+v", rec)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	for _, body := range []string{"", "null", "[]", "{", `{"messages":[]}`, `{"messages":null}`, `{}`, `{"messages":[{}]`, strings.Repeat("[", 1<<16), `{"a":` + strings.Repeat("[", 1<<16)} {
		if got := r.post(t, body); got.status != 400 || gjson.Get(got.body, "error.type").Str != "invalid_request_error" {
			t.Errorf("%q: %d %s", clip(body, 30), got.status, got.body)
		}
	}
	if len(r.fake.bodies()) != 0 {
		t.Error("a bad request was sent on")
	}
}

// A29: count_tokens is answered for every server.
func TestCountTokens(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","messages":[{"role":"user","content":` + quote(strings.Repeat("word ", 1000)) + `}]}`
	for _, c := range []struct {
		name  string
		count func(string) (int, string)
		tok   func(context.Context, string) (int, error)
		low   int64
		high  int64
	}{
		{"the server's", func(string) (int, string) { return 200, `{"input_tokens":1234}` }, nil, 1234, 1234},
		{"the caller's tokenizer", nil, func(context.Context, string) (int, error) { return 1100, nil }, 1100, 1200},
		{"a bounded guess", nil, nil, 1000, 5200},
		{"above the window", func(string) (int, string) {
			return 400, `{"error":{"message":"This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input tokens"}}`
		}, nil, 4097, 1e6},
	} {
		f := newFake(t)
		f.count = c.count
		r := newRig(t, f, func(target *Target, _ *Options) { target.Count = c.tok })
		got := r.postTo(t, t.Context(), "/v1/messages/count_tokens?beta=true", body)
		if n := gjson.Get(got.body, "input_tokens").Int(); got.status != 200 || n < c.low || n > c.high {
			t.Errorf("%s: %d %s", c.name, got.status, got.body)
		}
	}
}

// Two hundred streams at once, nothing lost or mixed up.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		who := gjson.GetBytes(body, "messages.0.content").String()
		w.Header().Set("Content-Type", "text/event-stream")
		for _, c := range textStream("end_turn", strings.Split(strings.Repeat(who+" ", 50), " ")...) {
			_, _ = io.WriteString(w, c)
		}
	})
	r := newRig(t, f, nil)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			who := fmt.Sprintf("client%d", i)
			got := r.post(t, strings.Replace(ask(""), `"hi"`, quote(who), 1))
			if got.err != nil || strings.Count(got.body, quote(who)) != 50 {
				t.Errorf("%s: %v, %d pieces", who, got.err, strings.Count(got.body, quote(who)))
			}
		})
	}
	wg.Wait()
}

// A prompt Ollama cut in silence is told in the record.
func TestSilentTruncationIsSuspect(t *testing.T) {
	t.Parallel()
	all := textStream("end_turn", "x")
	all[4] = ev(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":4096,"output_tokens":3}}`)
	r := newRig(t, newFake(t, answer{chunks: all}), func(target *Target, _ *Options) { target.Kind, target.CountTokens = Ollama, false })
	r.post(t, strings.Replace(ask(""), `"hi"`, quote(strings.Repeat("word ", 9000)), 1)).message(t)
	if rec := r.record(t, 0); rec.Suspect == "" || rec.Usage.Input != 4096 {
		t.Errorf("record %+v", rec)
	}
}
