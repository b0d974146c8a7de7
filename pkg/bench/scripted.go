package bench

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"legwork/pkg/llm"
)

// scriptedModel is what the scripted answerer is called.
const scriptedModel = "scripted"

// scripted stands in the place of a model server, inside this process: an http.RoundTripper that lists one
// model and answers every chat from a script. What it was asked is kept.
type scripted struct {
	answer func(n int) string // the n-th answer, from 0

	mu    sync.Mutex
	asked []string // the contents of all messages of a request, one string each
}

// registry is a model registry that knows the scripted model only.
func (s *scripted) registry(stateDir string) *llm.Registry {
	at := llm.Endpoint{Name: scriptedModel, BaseURL: "http://scripted.invalid", Backend: llm.OpenAI, Concurrency: 64}
	return llm.New(llm.Settings{Endpoints: []llm.Endpoint{at}}, llm.Options{StateDir: stateDir, Client: &http.Client{Transport: s}})
}

// RoundTrip answers one request of a client.
func (s *scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasSuffix(req.URL.Path, "/models") {
		return reply(req, http.StatusOK, "application/json", `{"object":"list","data":[{"id":"`+scriptedModel+`","object":"model","max_model_len":131072}]}`), nil
	}
	if !strings.HasSuffix(req.URL.Path, "/chat/completions") {
		return reply(req, http.StatusNotFound, "application/json", `{"error":{"message":"not found"}}`), nil
	}
	text, err := s.take(req)
	if err != nil {
		return nil, err
	}
	chunk, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": map[string]string{"content": text}, "finish_reason": "stop"}}})
	if err != nil {
		return nil, err
	}
	return reply(req, http.StatusOK, "text/event-stream", "data: "+string(chunk)+"\n\ndata: [DONE]\n\n"), nil
}

// take keeps what was asked and gives the answer to it.
func (s *scripted) take(req *http.Request) (string, error) {
	defer func() { _ = req.Body.Close() }()
	var body struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, m := range body.Messages {
		text.WriteString(m.Content + "\n")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, text.String())
	return s.answer(len(s.asked) - 1), nil
}

// requests are the texts of all chats so far.
func (s *scripted) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.asked...)
}

func reply(req *http.Request, status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// asAnswer is how a model sends files: each in a fenced block, with its path above when there are several.
func asAnswer(targets []string, files map[string]string) string {
	var b strings.Builder
	for _, target := range targets {
		if len(targets) > 1 {
			b.WriteString(target + "\n")
		}
		fence := "```"
		for strings.Contains(files[target], fence) {
			fence += "`"
		}
		b.WriteString(fence + "\n" + strings.TrimRight(files[target], "\n") + "\n" + fence + "\n\n")
	}
	return b.String()
}
