package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Reply is one scripted answer. The zero Reply is an empty one.
type Reply struct {
	Text      string
	Reasoning string
	Tools     []ToolUse // tool calls after the text
	Pieces    []string  // Text as it streams; nil: word by word
	Finish    string    // "stop", "length", "tool_use"; empty: what the rest says

	Model string // the name in the reply; empty: what the server calls it

	// What the server reports; 0: counted. NoUsage: nothing.
	Prompt, Cached, Completion int
	NoUsage                    bool

	// A raw reply instead: any Status, or Body with ContentType.
	Status      int
	Body        string
	ContentType string
	Header      map[string]string

	// How it goes wrong, or slowly.
	Hold       <-chan struct{} // waits before the first byte until closed, or the client left
	PieceDelay time.Duration
	PieceHold  <-chan struct{} // waits after the first piece
	Drop       bool            // connection reset before the first byte
	CutAfter   int             // connection reset after so many pieces
	NoEnd      bool            // the stream ends without its end mark
	Forever    string          // this piece again and again until the client leaves
	Fault      string          // error object in the stream after the pieces
}

// ToolUse is one tool call of a reply.
type ToolUse struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// Bodies as recorded.
const (
	LoadingBody  = `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`
	RunnerEOF    = `{"error":"POST predict: Post \"http://127.0.0.1:41327/completion\": EOF"}`
	VLLMBusyBody = `{"type":"error","error":{"type":"Service Unavailable","message":"The engine is currently busy and cannot accept new requests. Please try again later."}}`
	HTMLBody     = "<!DOCTYPE html><html><head><title>Router login</title></head><body>Welcome</body></html>"
)

// LlamaOverflow is llama-server's refusal of a prompt.
func LlamaOverflow(prompt, window int) string {
	return fmt.Sprintf(`{"error":{"code":400,"message":"request (%d tokens) exceeds the available context size (%d tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":%d,"n_ctx":%d}}`, prompt, window, prompt, window)
}

// VLLMOverflow is vLLM's, which never tells the true size.
func VLLMOverflow(window int) string {
	return fmt.Sprintf(`{"error":{"message":"This model's maximum context length is %d tokens. However, your prompt contains at least %d input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=%d)","type":"BadRequestError","param":"input_tokens","code":400}}`, window, window+1, window+1)
}

// VLLMBudget is vLLM's refusal of an answer budget larger than its window.
func VLLMBudget(budget, window int) string {
	return fmt.Sprintf(`{"error":{"message":"max_tokens=%d cannot be greater than max_model_len=%d. Please request fewer output tokens. (parameter=max_tokens, value=%d)","type":"BadRequestError","param":"max_tokens","code":400}}`, budget, window, budget)
}

// AnthropicError is an error in Anthropic's shape.
func AnthropicError(kind, message string) string {
	return marshal(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
}

// OpenAIError is an error in OpenAI's shape.
func OpenAIError(status int, kind, message string) string {
	return marshal(map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": status}})
}

func (r Reply) pieces() []string {
	switch {
	case r.Pieces != nil:
		return r.Pieces
	case r.Text == "":
		return nil
	}
	return strings.SplitAfter(r.Text, " ")
}

func (r Reply) text() string {
	if r.Pieces != nil {
		return strings.Join(r.Pieces, "")
	}
	return r.Text
}

// finish in the words of each wire format.
func (r Reply) finish() string {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.Tools) > 0:
		return "tool_use"
	}
	return "stop"
}

// usage is what the server reports.
type usage struct{ prompt, cached, completion int }

func (s *Server) usage(c Call, r Reply) usage {
	u := usage{r.Prompt, r.Cached, r.Completion}
	if u.prompt == 0 {
		u.prompt = s.promptTokens(c)
	}
	if u.completion == 0 {
		u.completion = len(r.pieces()) + len(r.Reasoning)/4 + 8*len(r.Tools) + 1
	}
	return u
}

// stream writes the pieces of one reply in one wire format.
type stream interface {
	begin()
	piece(text, reasoning string)
	tool(t ToolUse)
	end()
	fault(body string)
}

// play gives one reply over a stream, or in one piece by whole.
func (s *Server) play(w http.ResponseWriter, r *http.Request, c Call, rep Reply, open func(usage) stream, whole func(usage) string) {
	done := r.Context().Done()
	gone := func() bool { return r.Context().Err() != nil }
	defer func() {
		if gone() {
			s.mu.Lock()
			s.cancelled++
			s.mu.Unlock()
		}
	}()
	if rep.Hold != nil {
		select {
		case <-rep.Hold:
		case <-done:
			return
		}
	}
	for k, v := range rep.Header {
		w.Header().Set(k, v)
	}
	switch {
	case rep.Drop:
		drop(w)
		return
	case rep.Status != 0 || rep.ContentType != "":
		if rep.ContentType != "" {
			w.Header().Set("Content-Type", rep.ContentType)
		} else {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(max(rep.Status, 200))
		_, _ = w.Write([]byte(rep.Body))
		return
	}
	u := s.usage(c, rep)
	if !c.Stream {
		sendJSON(w, http.StatusOK, whole(u))
		return
	}
	st := open(u)
	st.begin()
	s.pieces(w, done, rep, st)
}

func (s *Server) pieces(w http.ResponseWriter, done <-chan struct{}, rep Reply, st stream) {
	n := 0
	wait := func(c <-chan struct{}, d time.Duration) bool {
		if c == nil && d == 0 {
			return true
		}
		var t <-chan time.Time
		if d > 0 {
			timer := time.NewTimer(d)
			defer timer.Stop()
			t = timer.C
		}
		select {
		case <-c:
		case <-t:
		case <-done:
			return false
		}
		return true
	}
	send := func(text, reasoning string) bool {
		st.piece(text, reasoning)
		if n++; n == rep.CutAfter {
			drop(w)
			return false
		}
		if n == 1 && !wait(rep.PieceHold, 0) {
			return false
		}
		return wait(nil, rep.PieceDelay)
	}
	for _, p := range strings.SplitAfter(rep.Reasoning, " ") {
		if p != "" && !send("", p) {
			return
		}
	}
	for _, p := range rep.pieces() {
		if !send(p, "") {
			return
		}
	}
	for rep.Forever != "" {
		select {
		case <-done:
			return
		default:
		}
		if !send(rep.Forever, "") {
			return
		}
	}
	for _, t := range rep.Tools {
		st.tool(t)
	}
	switch {
	case rep.Fault != "":
		st.fault(rep.Fault)
	case !rep.NoEnd:
		st.end()
	}
}

// generation is the handler of every route that generates.
func (s *Server) generation(open func(*sink, Call, Reply) func(usage) stream, whole func(Call, Reply, usage) string, refuse func(http.ResponseWriter, Call) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := readCall(r)
		if err != nil {
			sendJSON(w, http.StatusBadRequest, OpenAIError(400, "invalid_request_error", err.Error()))
			return
		}
		if refuse != nil && refuse(w, c) {
			s.mu.Lock()
			s.calls = append(s.calls, c)
			s.mu.Unlock()
			return
		}
		release := s.slot(r)
		if release == nil {
			return
		}
		defer release()
		rep := s.take(c)
		if s.kind == "llama" {
			c.Model = s.cfg.Models[0].ID // its own name, whatever was asked for
		}
		if rep.Model != "" {
			c.Model = rep.Model
		}
		s.play(w, r, c, rep, open(&sink{w: w}, c, rep), func(u usage) string { return whole(c, rep, u) })
	}
}

// sink writes server-sent events or lines, flushed at once.
type sink struct{ w http.ResponseWriter }

func (k *sink) header(ctype string) {
	k.w.Header().Set("Content-Type", ctype)
	k.w.WriteHeader(http.StatusOK)
	k.flush()
}

func (k *sink) write(s string) {
	_, _ = k.w.Write([]byte(s))
	k.flush()
}

func (k *sink) flush() {
	if f, ok := k.w.(http.Flusher); ok {
		f.Flush()
	}
}
