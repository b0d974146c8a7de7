package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fake is a scripted model server: it keeps what it was sent and answers from a list.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	answers  []answer
	seen     []received
	count    func(body string) (int, string) // count_tokens: status and body; nil: 404
	gone     chan struct{}                   // closed connections, one value each
	messages bool                            // has /v1/messages
}

type received struct {
	path, query, body, host string
	header                  http.Header
}

// answer is one scripted reply. Raw chunks are flushed one by one.
type answer struct {
	status int
	header map[string]string
	json   string
	chunks []string      // a stream, in these writes
	before time.Duration // silence before headers
	after  func(ctx context.Context, w http.ResponseWriter)
	cut    bool // close the connection at the end instead of ending the body
}

func newFake(t testing.TB, answers ...answer) *fake {
	f := &fake{answers: answers, gone: make(chan struct{}, 100), messages: true}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	if r.URL.Path == "/v1/messages/count_tokens" {
		count := f.count
		f.mu.Unlock()
		if count == nil {
			http.Error(w, "404 page not found", http.StatusNotFound)
			return
		}
		status, reply := count(string(body))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, reply)
		return
	}
	if r.URL.Path == "/v1/messages" && !f.messages {
		f.mu.Unlock()
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	f.seen = append(f.seen, received{r.URL.Path, r.URL.RawQuery, string(body), r.Host, r.Header.Clone()})
	var a answer
	if len(f.answers) > 0 {
		a = f.answers[0]
		if len(f.answers) > 1 {
			f.answers = f.answers[1:]
		}
	}
	f.mu.Unlock()
	a.write(w, r, f)
}

func (a answer) write(w http.ResponseWriter, r *http.Request, f *fake) {
	if a.before > 0 {
		select {
		case <-time.After(a.before):
		case <-r.Context().Done():
			f.gone <- struct{}{}
			return
		}
	}
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	if a.chunks != nil || a.after != nil {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_, _ = io.WriteString(w, a.json)
	flush := http.NewResponseController(w)
	for _, c := range a.chunks {
		_, _ = io.WriteString(w, c)
		_ = flush.Flush()
	}
	if a.after != nil {
		_ = flush.Flush()
		a.after(r.Context(), w)
		if r.Context().Err() != nil {
			f.gone <- struct{}{}
		}
	}
	if a.cut {
		if conn, _, err := flush1(w); err == nil {
			_ = conn.Close()
		}
	}
}

func flush1(w http.ResponseWriter) (io.Closer, *bufio.ReadWriter, error) {
	return http.NewResponseController(w).Hijack()
}

func (f *fake) bodies() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, s := range f.seen {
		out = append(out, s.body)
	}
	return out
}

func (f *fake) last(t testing.TB) received {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.seen) == 0 {
		t.Fatal("the server was not asked")
	}
	return f.seen[len(f.seen)-1]
}

// ev is one SSE event of Anthropic's kind.
func ev(data string) string {
	var v struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal([]byte(data), &v)
	return "event: " + v.Type + "\ndata: " + data + "\n\n"
}

// textStream is a faultless stream that says the pieces, ended by stop.
func textStream(stop string, pieces ...string) []string {
	out := []string{
		ev(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}`),
		ev(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
	}
	for _, p := range pieces {
		out = append(out, ev(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+quote(p)+`}}`))
	}
	return append(out, ev(`{"type":"content_block_stop","index":0}`),
		ev(`{"type":"message_delta","delta":{"stop_reason":"`+stop+`","stop_sequence":null},"usage":{"output_tokens":5}}`),
		ev(`{"type":"message_stop"}`))
}

// toolStream is a stream with one tool call whose JSON comes in the pieces.
func toolStream(stop, name string, pieces ...string) []string {
	out := []string{
		ev(`{"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}`),
		ev(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_x","name":"` + name + `","input":{}}}`),
	}
	for _, p := range pieces {
		out = append(out, ev(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":`+quote(p)+`}}`))
	}
	return append(out, ev(`{"type":"content_block_stop","index":0}`),
		ev(`{"type":"message_delta","delta":{"stop_reason":"`+stop+`","stop_sequence":null},"usage":{"output_tokens":5}}`),
		ev(`{"type":"message_stop"}`))
}

const editTool = `{"name":"Edit","description":"change a file","input_schema":{"type":"object","properties":{"path":{"type":"string"},"line":{"type":"integer"}},"required":["path"],"additionalProperties":false}}`

// ask is a minimal request with the Edit tool.
func ask(extra string) string {
	return `{"model":"m","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[` + editTool + `]` + extra + `}`
}

// rig is a shim in front of a fake.
type rig struct {
	*httptest.Server
	shim *Shim
	fake *fake
	recs []Record
	mu   sync.Mutex
}

func newRig(t testing.TB, f *fake, change func(*Target, *Options)) *rig {
	t.Helper()
	target := Target{Name: "test", BaseURL: f.URL, Route: RouteNative, Kind: LlamaCPP, CountTokens: true}
	r := &rig{fake: f}
	opt := Options{OnRecord: func(rec Record) { r.mu.Lock(); r.recs = append(r.recs, rec); r.mu.Unlock() }}
	if change != nil {
		change(&target, &opt)
	}
	s, err := New(target, opt)
	if err != nil {
		t.Fatal(err)
	}
	r.shim = s
	r.Server = httptest.NewServer(s)
	t.Cleanup(func() { r.Close(); _ = s.Close() })
	return r
}

// reply is what the client got.
type reply struct {
	status int
	header http.Header
	body   string
	events []frame
	err    error
}

func (r *rig) post(t testing.TB, body string) reply {
	return r.postTo(t, t.Context(), "/v1/messages?beta=true", body)
}

func (r *rig) postTo(t testing.TB, ctx context.Context, path, body string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.shim.Token())
	req.Header.Set("Anthropic-Beta", "some-beta-1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	out := reply{status: resp.StatusCode, header: resp.Header, body: string(data), err: err}
	sse := newSSEReader(strings.NewReader(out.body))
	for isStream(resp) {
		f, err := sse.next()
		if err != nil {
			break
		}
		out.events = append(out.events, f)
	}
	return out
}

// record waits for the n-th record, which is written just after the client has its answer.
func (r *rig) record(t testing.TB, n int) Record {
	t.Helper()
	for range 1000 {
		r.mu.Lock()
		if len(r.recs) > n {
			rec := r.recs[n]
			r.mu.Unlock()
			return rec
		}
		r.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("record %d was not written", n)
	return Record{}
}

// message puts the events of a reply together, as the client does.
func (p reply) message(t testing.TB) string {
	t.Helper()
	if p.status != http.StatusOK {
		t.Fatalf("status %d: %s", p.status, p.body)
	}
	if len(p.events) == 0 {
		return p.body
	}
	c := &collector{}
	for _, e := range p.events {
		if e.event == "error" {
			t.Fatalf("error event: %s", e.data)
		}
		if got := text(e.data, "type"); got != e.event {
			t.Fatalf("event %q holds type %q", e.event, got)
		}
		_ = c.emit(e.event, e.data)
	}
	if e := p.events[len(p.events)-1]; e.event != "message_stop" {
		t.Fatalf("last event is %s", e.event)
	}
	return c.message()
}

// blocks lists a message's content as "type:what".
func blocks(msg string) string {
	var out []string
	content := get(msg, "content")
	for e := range elements(content) {
		b := content[e.valAt:e.end]
		switch text(b, "type") {
		case "tool_use":
			out = append(out, "tool:"+text(b, "name")+get(b, "input"))
		default:
			out = append(out, text(b, "type")+":"+text(b, "text")+text(b, "thinking"))
		}
	}
	return fmt.Sprint(out, " ", text(msg, "stop_reason"))
}
