package llmtest

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// NewOllama is Ollama: it serves any number of models, loads one with the
// num_ctx asked for, cuts long prompts without a word unless told not to, and
// lets only local Host headers in. Its window before a load is not known.
func NewOllama(t testing.TB, cfg Config) *Server {
	t.Helper()
	if cfg.Slots == 0 {
		cfg.Slots = 1
	}
	if cfg.Window == 0 {
		cfg.Window = 4096
	}
	return start(t, "ollama", cfg, func(s *Server) {
		for _, m := range s.cfg.Models {
			if m.Loaded {
				s.ctx[m.ID] = m.Window
			}
		}
		get := func(route string, h http.HandlerFunc) { s.mux.HandleFunc(route, localOnly(h)) }
		get("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "Ollama is running") })
		get("GET /api/version", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, `{"version":"0.0.0"}`) })
		get("GET /api/tags", s.ollamaTags)
		get("GET /api/ps", s.ollamaPS)
		get("POST /api/show", s.ollamaShow)
		get("GET /v1/models", s.ollamaModels)
		get("POST /api/chat", s.ollamaChat)
		get("POST /v1/chat/completions", s.generation(openAI, openAIWhole, s.ollamaUnknown))
		get("POST /v1/messages", s.generation(anthropic("ollama"), anthropicWhole("ollama"), s.ollamaUnknown))
		get("/", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "404 page not found", 404) })
	})
}

func localOnly(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		h(w, r)
	}
}

func (s *Server) ollamaTags(w http.ResponseWriter, _ *http.Request) {
	list := []any{}
	for _, m := range s.cfg.Models {
		entry := map[string]any{
			"name": m.ID, "model": m.ID, "modified_at": "2026-01-01T00:00:00Z", "size": 1, "digest": "sha256:" + m.ID,
			"details": map[string]any{"parent_model": "", "format": "gguf", "family": "qwen3", "families": []string{"qwen3"}, "parameter_size": "8.2B", "quantization_level": "Q4_K_M"},
		}
		if m.Remote != "" {
			entry["remote_host"], entry["remote_model"] = m.Remote, m.ID
		}
		list = append(list, entry)
	}
	sendJSON(w, 200, marshal(map[string]any{"models": list}))
}

func (s *Server) ollamaPS(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	list := []any{}
	for _, m := range s.cfg.Models {
		if n := s.ctx[m.ID]; n > 0 {
			list = append(list, map[string]any{"name": m.ID, "model": m.ID, "size": 1, "size_vram": 0, "expires_at": "2026-01-01T00:05:00Z", "context_length": n})
		}
	}
	s.mu.Unlock()
	sendJSON(w, 200, marshal(map[string]any{"models": list}))
}

func (s *Server) ollamaShow(w http.ResponseWriter, r *http.Request) {
	var b struct{ Model, Name string }
	data, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(data, &b) != nil {
		sendJSON(w, 400, `{"error":"unexpected EOF"}`)
		return
	}
	m, ok := s.model(b.Model + b.Name)
	if !ok {
		sendJSON(w, 404, `{"error":"model '`+b.Model+`' not found"}`)
		return
	}
	sendJSON(w, 200, marshal(map[string]any{
		"modelfile": "FROM x", "template": "{{ .Prompt }}", "details": map[string]any{"family": "qwen3"},
		"model_info": map[string]any{"general.architecture": "qwen3", "qwen3.context_length": m.Max}, "capabilities": m.Caps,
	}))
}

func (s *Server) ollamaModels(w http.ResponseWriter, _ *http.Request) {
	list := []any{}
	for _, m := range s.cfg.Models {
		list = append(list, map[string]any{"id": m.ID, "object": "model", "created": 1, "owned_by": "library"})
	}
	sendJSON(w, 200, marshal(map[string]any{"object": "list", "data": list}))
}

func (s *Server) ollamaUnknown(w http.ResponseWriter, c Call) bool {
	if _, ok := s.model(c.Model); ok {
		return false
	}
	switch c.Path {
	case "/v1/messages":
		sendJSON(w, 404, AnthropicError("not_found_error", "model '"+c.Model+"' not found"))
	case "/v1/chat/completions":
		sendJSON(w, 404, `{"error":{"message":"model '`+c.Model+`' not found","type":"api_error","param":null,"code":null}}`)
	default:
		sendJSON(w, 404, `{"error":"model '`+c.Model+`' not found"}`)
	}
	return true
}

// ollamaChat loads with num_ctx, refuses or cuts what does not fit.
func (s *Server) ollamaChat(w http.ResponseWriter, r *http.Request) {
	open := func(k *sink, c Call, rep Reply) func(usage) stream {
		return func(u usage) stream { return &ollamaWire{k: k, c: c, r: rep, u: s.cut(c, rep, u)} }
	}
	whole := func(c Call, rep Reply, u usage) string {
		o := &ollamaWire{c: c, r: rep, u: s.cut(c, rep, u)}
		v := o.last()
		v["model"] = c.Model
		m := map[string]any{"role": "assistant", "content": rep.text()}
		if rep.Reasoning != "" {
			m["thinking"] = rep.Reasoning
		}
		v["message"] = m
		return marshal(v)
	}
	s.generation(open, whole, s.ollamaRefuse)(w, r)
}

type ollamaOptions struct {
	Options  struct{ NumCtx int } `json:"options"`
	Truncate *bool                `json:"truncate"`
	Think    any                  `json:"think"`
}

func ollamaAsked(c Call) ollamaOptions {
	var raw struct {
		Options struct {
			NumCtx int `json:"num_ctx"`
		} `json:"options"`
		Truncate *bool `json:"truncate"`
		Think    any   `json:"think"`
	}
	_ = json.Unmarshal(c.Body, &raw)
	return ollamaOptions{struct{ NumCtx int }{raw.Options.NumCtx}, raw.Truncate, raw.Think}
}

// window is the num_ctx in force for a call; another than loaded means a load.
func (s *Server) window(c Call, m Model) int {
	n := ollamaAsked(c).Options.NumCtx
	if n == 0 {
		n = s.cfg.Window
	}
	n = min(n, m.Max)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx[m.ID] != n {
		s.ctx[m.ID] = n
		s.loads++
	}
	return n
}

func (s *Server) ollamaRefuse(w http.ResponseWriter, c Call) bool {
	if s.ollamaUnknown(w, c) {
		return true
	}
	m, _ := s.model(c.Model)
	n := s.window(c, m)
	if len(c.Messages) == 0 {
		sendJSON(w, 200, `{"model":"`+c.Model+`","message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}`)
		return true
	}
	asked := ollamaAsked(c)
	if v, ok := asked.Think.(bool); ok && v && !slices.Contains(m.Caps, "thinking") {
		sendJSON(w, 400, `{"error":"\"`+strings.TrimSuffix(m.ID, ":latest")+`\" does not support thinking"}`)
		return true
	}
	if asked.Truncate != nil && !*asked.Truncate && s.promptTokens(c) > n {
		sendJSON(w, 400, `{"error":"the input length exceeds the context length"}`)
		return true
	}
	return false
}

// cut reports at most the window, as a server does that shortened the prompt.
func (s *Server) cut(c Call, r Reply, u usage) usage {
	if m, ok := s.model(c.Model); ok && r.Prompt == 0 {
		u.prompt = min(u.prompt, s.window(c, m))
	}
	return u
}
