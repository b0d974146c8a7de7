// Package backend is a scripted stand-in for the Messages API, for tests that drive the real Claude Code client: it
// plays the model's turns from a list and keeps every request.
//
//	b := backend.New(t, backend.Turn{Tools: []backend.Tool{{Name: "Bash", Input: map[string]any{"command": "ls"}}}},
//		backend.Turn{Text: "done"})
//	… run the client with ANTHROPIC_BASE_URL = b.URL …
//	b.Results() // what the client's tools answered
//
// Only requests of the main loop, which bring tools, take a turn from the list; when it is used up the model says
// "done". Pitfall: every reply needs an id of its own, or the client merges the turns into one message.
package backend

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// Turn is one reply of the model. The zero Turn is an empty answer.
type Turn struct {
	Thinking string
	Text     string
	Tools    []Tool // tool calls after the text
	Stop     string // stop_reason; "" is end_turn, or tool_use with tools
	Status   int    // instead of a reply: this HTTP status with Body
	Body     string
	// Wait holds the reply back until it is closed or the client leaves; pings keep the client patient.
	Wait <-chan struct{}
	// Cut resets the connection after so many events; 0 never.
	Cut int
	// Usage as reported; 0 is a default.
	InputTokens, OutputTokens int
}

// Tool is one call of a turn.
type Tool struct {
	Name  string
	Input any
}

// Request is one request as it came in.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	At           time.Time
}

// Main tells whether the request is of the main loop, which brings tools.
func (r Request) Main() bool {
	return r.Path == "/v1/messages" && len(gjson.GetBytes(r.Body, "tools").Array()) > 0
}

// Tools are the names of the tools offered to the model.
func (r Request) Tools() []string {
	var names []string
	for _, t := range gjson.GetBytes(r.Body, "tools.#.name").Array() {
		names = append(names, t.Str)
	}
	return names
}

// Text is everything the model can read in the request: the system prompt and all messages, one part a line.
func (r Request) Text() string {
	var b strings.Builder
	collect(&b, gjson.GetBytes(r.Body, "system"))
	collect(&b, gjson.GetBytes(r.Body, "messages"))
	return b.String()
}

func collect(b *strings.Builder, v gjson.Result) {
	switch {
	case v.IsArray():
		v.ForEach(func(_, e gjson.Result) bool { collect(b, e); return true })
	case v.IsObject():
		for _, key := range []string{"text", "content", "thinking"} {
			collect(b, v.Get(key))
		}
	case v.Type == gjson.String:
		b.WriteString(v.Str)
		b.WriteByte('\n')
	}
}

// Result is what one tool call answered.
type Result struct {
	Tool  string
	Text  string
	Error bool
}

// Server plays the model.
type Server struct {
	URL string
	// Window is what it tells of its window, in tokens.
	Window int

	http *httptest.Server
	stop chan struct{}

	mu       sync.Mutex
	turns    []Turn
	answer   func(Request) Turn
	requests []Request
	replies  int
}

// New starts a server on 127.0.0.1 that ends with the test.
func New(t testing.TB, turns ...Turn) *Server {
	t.Helper()
	s := &Server{Window: 131072, turns: turns, stop: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	if addr, ok := s.http.Listener.Addr().(*net.TCPAddr); ok {
		s.replies = addr.Port * 1000 // a resumed session holds the ids of both servers
	}
	t.Cleanup(func() {
		close(s.stop)
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// Answer lets fn choose the turn of every request of the main loop, in place of the list.
func (s *Server) Answer(fn func(Request) Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = fn
}

// Script replaces the turns that are left.
func (s *Server) Script(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = turns
}

// Requests are all requests so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Main are the requests of the main loop.
func (s *Server) Main() []Request {
	var out []Request
	for _, r := range s.Requests() {
		if r.Main() {
			out = append(out, r)
		}
	}
	return out
}

// Results are the answers of all tool calls, in the order in which the last request of the main loop holds them.
func (s *Server) Results() []Result {
	requests := s.Main()
	if len(requests) == 0 {
		return nil
	}
	return s.ResultsOf(requests[len(requests)-1])
}

// ResultsOf are the answers of tool calls that a request holds.
func (*Server) ResultsOf(r Request) []Result {
	names := map[string]string{}
	var out []Result
	messages := gjson.GetBytes(r.Body, "messages")
	messages.ForEach(func(_, m gjson.Result) bool {
		m.Get("content").ForEach(func(_, c gjson.Result) bool {
			switch c.Get("type").Str {
			case "tool_use":
				names[c.Get("id").Str] = c.Get("name").Str
			case "tool_result":
				var b strings.Builder
				collect(&b, c.Get("content"))
				out = append(out, Result{Tool: names[c.Get("tool_use_id").Str], Text: b.String(), Error: c.Get("is_error").Bool()})
			}
			return true
		})
		return true
	})
	return out
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	req := Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body, At: time.Now()}
	turn, n := s.take(req)
	switch {
	case r.Method == http.MethodHead:
	case strings.HasSuffix(req.Path, "/count_tokens"):
		reply(w, http.StatusOK, fmt.Sprintf(`{"input_tokens":%d}`, len(body)/4))
	case req.Path == "/v1/models":
		reply(w, http.StatusOK, fmt.Sprintf(`{"object":"list","data":[{"id":"scripted-model","object":"model","owned_by":"llamacpp","meta":{"n_ctx":%d}}]}`, s.Window))
	case req.Path != "/v1/messages":
		reply(w, http.StatusNotFound, `{"type":"error","error":{"type":"not_found_error","message":"no such path"}}`)
	case turn.Status != 0:
		reply(w, turn.Status, turn.Body)
	default:
		s.write(w, r, turn, message(turn, n, gjson.GetBytes(body, "model").Str), gjson.GetBytes(body, "stream").Bool())
	}
}

// take records the request and chooses its turn.
func (s *Server) take(req Request) (Turn, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	s.replies++
	switch {
	case !req.Main():
		return Turn{Text: "done"}, s.replies
	case s.answer != nil:
		return s.answer(req), s.replies
	case len(s.turns) == 0:
		return Turn{Text: "done"}, s.replies
	}
	turn := s.turns[0]
	s.turns = s.turns[1:]
	return turn, s.replies
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

type object = map[string]any

// message is the whole reply.
func message(t Turn, n int, model string) object {
	var content []object
	if t.Thinking != "" {
		content = append(content, object{"type": "thinking", "thinking": t.Thinking, "signature": ""})
	}
	if t.Text != "" {
		content = append(content, object{"type": "text", "text": t.Text})
	}
	for i, tool := range t.Tools {
		content = append(content, object{"type": "tool_use", "id": fmt.Sprintf("toolu_%05d%02d", n, i), "name": tool.Name, "input": tool.Input})
	}
	stop := t.Stop
	if stop == "" {
		stop = "end_turn"
		if len(t.Tools) > 0 {
			stop = "tool_use"
		}
	}
	in, out := max(t.InputTokens, 1000), max(t.OutputTokens, 20)
	if t.InputTokens > 0 {
		in = t.InputTokens
	}
	return object{
		"id": fmt.Sprintf("msg_%05d", n), "type": "message", "role": "assistant", "model": model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": in, "output_tokens": out},
	}
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, t Turn, m object, stream bool) {
	events := &eventWriter{w: w, cut: t.Cut}
	if stream {
		w.Header().Set("Content-Type", "text/event-stream")
		events.flush()
	}
	if !s.wait(r, t, stream, events) {
		return
	}
	if !stream && t.Cut > 0 {
		panic(http.ErrAbortHandler)
	}
	if !stream {
		body, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		reply(w, http.StatusOK, string(body))
		return
	}
	events.message(m)
}

// wait holds the reply back as the turn wants; false when nobody waits for it any more.
func (s *Server) wait(r *http.Request, t Turn, stream bool, events *eventWriter) bool {
	if t.Wait == nil {
		return true
	}
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-t.Wait:
			return true
		case <-r.Context().Done():
			return false
		case <-s.stop:
			return false
		case <-tick.C:
			if stream {
				events.send("ping", object{})
			}
		}
	}
}

// eventWriter writes server-sent events.
type eventWriter struct {
	w    http.ResponseWriter
	cut  int
	sent int
}

func (e *eventWriter) flush() {
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (e *eventWriter) send(name string, data object) {
	if e.cut > 0 && e.sent >= e.cut {
		panic(http.ErrAbortHandler)
	}
	e.sent++
	data["type"] = name
	b, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", name, b)
	e.flush()
}

// message streams a whole reply the way the API does.
func (e *eventWriter) message(m object) {
	content, _ := m["content"].([]object)
	start := object{}
	maps.Copy(start, m)
	start["content"], start["stop_reason"] = []object{}, nil
	e.send("message_start", object{"message": start})
	for i, block := range content {
		e.block(i, block)
	}
	e.send("message_delta", object{"delta": object{"stop_reason": m["stop_reason"], "stop_sequence": nil}, "usage": m["usage"]})
	e.send("message_stop", object{})
}

func (e *eventWriter) block(i int, block object) {
	open := object{}
	maps.Copy(open, block)
	var deltas []object
	switch block["type"] {
	case "text":
		open["text"] = ""
		text, _ := block["text"].(string)
		for part := range strings.SplitAfterSeq(text, " ") {
			deltas = append(deltas, object{"type": "text_delta", "text": part})
		}
	case "thinking":
		open["thinking"] = ""
		deltas = append(deltas, object{"type": "thinking_delta", "thinking": block["thinking"]})
	case "tool_use":
		open["input"] = object{}
		input, err := json.Marshal(block["input"])
		if err != nil {
			panic(err)
		}
		deltas = append(deltas, object{"type": "input_json_delta", "partial_json": string(input)})
	}
	e.send("content_block_start", object{"index": i, "content_block": open})
	for _, d := range deltas {
		e.send("content_block_delta", object{"index": i, "delta": d})
	}
	e.send("content_block_stop", object{"index": i})
}
