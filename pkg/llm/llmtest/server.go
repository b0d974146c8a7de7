// Package llmtest has fake model servers that behave as the real ones were seen
// to: bodies, status codes, silences and quirks included. They are for tests of
// every package that talks to a model.
//
//	s := llmtest.NewLlamaServer(t, llmtest.Config{Slots: 2, Window: 4096})
//	s.Script(llmtest.Reply{Text: "42"}, llmtest.Reply{Status: 503, Body: llmtest.LoadingBody})
//	… let the code under test use s.URL …
//	calls := s.Calls() // what it sent
//
// Pitfall: a request that waits for a slot gets no byte at all, not even
// headers, exactly as on a real server.
package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Model is one model a fake serves.
type Model struct {
	ID      string
	Aliases []string
	Window  int      // in force; 0: Config.Window. On Ollama: of a loaded model
	Max     int      // the model's own maximum; 0: 4 × Window
	Caps    []string // Ollama's words: completion, tools, thinking, vision, embedding; nil: completion, tools
	Loaded  bool     // Ollama, LM Studio: in memory
	Remote  string   // Ollama: a cloud model's host
}

// Config of a fake. Everything has a default.
type Config struct {
	Models []Model // nil: one, "test-model"
	Window int     // tokens; 0: 32768
	Slots  int     // generations at once; 0: 4 (Ollama: 1)
	APIKey string  // wanted from the client; empty: none
	// Answer makes the reply when no scripted one is left; nil: "ok".
	Answer func(Call) Reply
	// TokenBytes is how many bytes of prompt make a token; 0: 3.
	TokenBytes float64
}

// Call is one request for a generation.
type Call struct {
	Path     string
	Header   http.Header
	Host     string
	Body     []byte
	Model    string
	Messages []Message
	Stream   bool
}

// Message is one turn of a call; content given in parts is joined.
type Message struct{ Role, Content string }

// Last is the content of the last turn.
func (c Call) Last() string {
	if len(c.Messages) == 0 {
		return ""
	}
	return c.Messages[len(c.Messages)-1].Content
}

// Field decodes one top-level field of the body, nil when absent.
func (c Call) Field(name string) any {
	var m map[string]any
	if err := json.Unmarshal(c.Body, &m); err != nil {
		return nil
	}
	return m[name]
}

// Server is a running fake.
type Server struct {
	URL  string
	kind string
	cfg  Config
	http *httptest.Server
	mux  *http.ServeMux

	mu        sync.Mutex
	script    []Reply
	calls     []Call
	paths     []string
	loading   bool
	sleeping  bool
	running   int
	waiting   int
	peak      int
	cancelled int
	wakes     int
	freed     *sync.Cond
	ctx       map[string]int // Ollama: model → num_ctx it is loaded with
	loads     int            // Ollama: times a model was (re)loaded
}

func start(t testing.TB, kind string, cfg Config, routes func(*Server)) *Server {
	t.Helper()
	if cfg.Window == 0 {
		cfg.Window = 32768
	}
	if cfg.Slots == 0 {
		cfg.Slots = 4
	}
	if cfg.TokenBytes == 0 {
		cfg.TokenBytes = 3
	}
	if cfg.Models == nil {
		cfg.Models = []Model{{ID: "test-model"}}
	}
	for i := range cfg.Models {
		m := &cfg.Models[i]
		if m.Caps == nil {
			m.Caps = []string{"completion", "tools"}
		}
		if m.Window == 0 {
			m.Window = cfg.Window
		}
		if m.Max == 0 {
			m.Max = 4 * m.Window
		}
	}
	s := &Server{kind: kind, cfg: cfg, mux: http.NewServeMux(), ctx: map[string]int{}}
	s.freed = sync.NewCond(&s.mu)
	routes(s)
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	t.Cleanup(s.Close)
	return s
}

// serve is what all fakes do first: note the path, check key and state.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.paths = append(s.paths, r.Method+" "+r.URL.Path)
	loading := s.loading
	s.mu.Unlock()
	switch {
	case loading:
		sendJSON(w, http.StatusServiceUnavailable, LoadingBody)
	case !s.allowed(r):
		switch s.kind {
		case "litellm":
			sendJSON(w, http.StatusBadRequest, `{"error":{"message":"No connected db.","type":"no_db_connection","param":null,"code":"400"}}`)
		case "vllm":
			sendJSON(w, http.StatusUnauthorized, `{"error":"Unauthorized"}`)
		default:
			sendJSON(w, http.StatusUnauthorized, `{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}`)
		}
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// allowed checks the key as each server does: vLLM takes only Bearer, and
// llama-server leaves its list of models open.
func (s *Server) allowed(r *http.Request) bool {
	if s.cfg.APIKey == "" || s.kind == "llama" && r.URL.Path == "/v1/models" || s.kind == "vllm" && !strings.HasPrefix(r.URL.Path, "/v1/") {
		return true
	}
	return r.Header.Get("Authorization") == "Bearer "+s.cfg.APIKey || s.kind != "vllm" && r.Header.Get("X-Api-Key") == s.cfg.APIKey
}

// Close stops the server; the port refuses connections from then on.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.mu.Lock()
	s.freed.Broadcast()
	s.mu.Unlock()
	s.http.Close()
}

// Script adds replies, given in order before Config.Answer is asked.
func (s *Server) Script(rs ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, rs...)
}

// SetLoading makes every route answer 503, as llama-server does while it loads.
func (s *Server) SetLoading(v bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loading = v
}

// SetSleeping puts llama-server's model to sleep; a generation, /tokenize or
// /slots wakes it.
func (s *Server) SetSleeping(v bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sleeping = v
}

// Wakes counts how often a request woke the sleeping model.
func (s *Server) Wakes() int { return s.count(&s.wakes) }

// Calls returns the generations asked for, in order.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Paths returns "METHOD /path" of every request, in order.
func (s *Server) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.paths)
}

// InFlight is how many generations run now, Waiting how many are queued, Peak
// the most that ever ran at once, Cancelled how many clients left early.
func (s *Server) InFlight() int { return s.count(&s.running) }

// Waiting is how many generations are queued.
func (s *Server) Waiting() int { return s.count(&s.waiting) }

// Peak is the most generations that ever ran at once.
func (s *Server) Peak() int { return s.count(&s.peak) }

// Cancelled is how many clients left before their answer ended.
func (s *Server) Cancelled() int { return s.count(&s.cancelled) }

// Loads is how often Ollama loaded a model, anew with another num_ctx included.
func (s *Server) Loads() int { return s.count(&s.loads) }

func (s *Server) count(n *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *n
}

// Await waits until cond holds, and fails the test after a generous time.
func Await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// model finds a served model by id or alias.
func (s *Server) model(name string) (Model, bool) {
	for _, m := range s.cfg.Models {
		if m.ID == name || slices.Contains(m.Aliases, name) || strings.TrimSuffix(m.ID, ":latest") == name {
			return m, true
		}
	}
	return Model{}, false
}

// tokens counts a call's prompt as this fake's tokenizer does.
func (s *Server) tokens(text string) int { return int(float64(len(text))/s.cfg.TokenBytes) + 1 }

func (s *Server) promptTokens(c Call) int {
	n := 0
	for _, m := range c.Messages {
		n += s.tokens(m.Content) + 4
	}
	return n
}

// readCall decodes a request for a generation.
func readCall(r *http.Request) (Call, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Call{}, err
	}
	var b struct {
		Model    string
		Stream   *bool
		System   json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return Call{}, err
	}
	c := Call{Path: r.URL.Path, Header: r.Header.Clone(), Host: r.Host, Body: body, Model: b.Model}
	c.Stream = b.Stream != nil && *b.Stream || b.Stream == nil && r.URL.Path == "/api/chat" // Ollama's native route streams by default
	if len(b.System) > 0 {
		c.Messages = append(c.Messages, Message{"system", contentText(b.System)})
	}
	for _, m := range b.Messages {
		c.Messages = append(c.Messages, Message{m.Role, contentText(m.Content)})
	}
	return c, nil
}

func contentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Type, Text string
		Content    json.RawMessage
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Text != "" {
			b.WriteString(p.Text)
		} else if len(p.Content) > 0 {
			b.WriteString(contentText(p.Content))
		}
	}
	return b.String()
}

// take records a call and gives its reply.
func (s *Server) take(c Call) Reply {
	s.mu.Lock()
	s.calls = append(s.calls, c)
	if s.sleeping {
		s.sleeping = false
		s.wakes++
	}
	if len(s.script) > 0 {
		r := s.script[0]
		s.script = s.script[1:]
		s.mu.Unlock()
		return r
	}
	s.mu.Unlock()
	if s.cfg.Answer != nil {
		return s.cfg.Answer(c)
	}
	return Reply{Text: "ok"}
}

// slot waits for a slot like the server does: in silence. It returns nil when
// the client left before its turn.
func (s *Server) slot(r *http.Request) (release func()) {
	stop := make(chan struct{})
	defer close(stop)
	go func() { // wake the waiter when the client leaves
		select {
		case <-r.Context().Done():
			s.mu.Lock()
			s.freed.Broadcast()
			s.mu.Unlock()
		case <-stop:
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting++
	for s.running >= s.cfg.Slots && r.Context().Err() == nil {
		s.freed.Wait()
	}
	s.waiting--
	if r.Context().Err() != nil {
		s.cancelled++
		return nil
	}
	s.running++
	s.peak = max(s.peak, s.running)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
		s.freed.Broadcast()
	}
}

func sendJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// marshal is json.Marshal for values that cannot fail.
func marshal(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("llmtest: %v", err))
	}
	return strings.TrimRight(b.String(), "\n")
}

// drop ends the connection without a word, as a dying runner does.
func drop(w http.ResponseWriter) {
	h, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := h.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// Refused is the address of a port where nothing listens.
func Refused(t testing.TB) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	return "http://" + addr
}

// Silent is a server that takes connections and never says anything.
func Silent(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}
