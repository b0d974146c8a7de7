package llmtest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// ChatTemplate is what a fake llama-server shows in /props.
const ChatTemplate = "{%- for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"

// NewLlamaServer is llama-server with one model: any model name is accepted,
// the window is per slot, overflow is a 400 with both numbers.
func NewLlamaServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	return start(t, "llama", cfg, func(s *Server) {
		s.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, `{"status":"ok"}`) })
		s.mux.HandleFunc("GET /v1/models", s.llamaModels)
		s.mux.HandleFunc("GET /props", s.llamaProps)
		s.mux.HandleFunc("GET /slots", s.llamaSlots)
		s.mux.HandleFunc("POST /tokenize", s.llamaTokenize)
		s.mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
		s.mux.HandleFunc("POST /v1/chat/completions", s.generation(openAI, openAIWhole, s.llamaRefuse))
		s.mux.HandleFunc("POST /v1/messages", s.generation(anthropic("llama"), anthropicWhole("llama"), s.llamaRefuse))
		s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, 404, `{"error":{"message":"File Not Found","type":"not_found_error","code":404}}`)
		})
	})
}

func (s *Server) llamaModels(w http.ResponseWriter, _ *http.Request) {
	var list, data []any
	for _, m := range s.cfg.Models {
		kind := "completion"
		for _, c := range m.Caps {
			if c == "embedding" {
				kind = "embedding"
			}
		}
		list = append(list, map[string]any{"name": m.ID, "model": m.ID, "capabilities": []string{kind}})
		data = append(data, map[string]any{
			"id": m.ID, "aliases": append([]string{m.ID}, m.Aliases...), "tags": []string{}, "object": "model", "created": 1, "owned_by": "llamacpp",
			"meta": map[string]any{"vocab_type": 2, "n_vocab": 263, "n_ctx": m.Window, "n_ctx_train": m.Max, "n_embd": 64, "n_params": 1, "size": 1, "ftype": "Q4_K - Medium"},
		})
	}
	sendJSON(w, 200, marshal(map[string]any{"models": list, "object": "list", "data": data}))
}

func (s *Server) llamaProps(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	sleeping := s.sleeping
	s.mu.Unlock()
	sendJSON(w, 200, marshal(map[string]any{
		"default_generation_settings": map[string]any{"params": map[string]any{}, "n_ctx": s.cfg.Models[0].Window},
		"total_slots":                 s.cfg.Slots, "model_alias": s.cfg.Models[0].ID, "model_path": "/models/x.gguf",
		"modalities": map[string]any{"vision": false, "video": false, "audio": false}, "endpoint_slots": true, "endpoint_props": false,
		"endpoint_metrics": false, "chat_template": ChatTemplate, "build_info": "b10488-d32676d", "is_sleeping": sleeping,
		"chat_template_caps": map[string]any{"supports_tool_calls": true, "supports_tools": true, "supports_system_role": true},
	}))
}

func (s *Server) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sleeping {
		s.sleeping = false
		s.wakes++
	}
}

func (s *Server) llamaSlots(w http.ResponseWriter, _ *http.Request) {
	s.wake()
	s.mu.Lock()
	busy := s.running
	s.mu.Unlock()
	var out []any
	for i := range s.cfg.Slots {
		out = append(out, map[string]any{"id": i, "n_ctx": s.cfg.Models[0].Window, "speculative": false, "is_processing": i < busy})
	}
	sendJSON(w, 200, marshal(out))
}

func (s *Server) llamaTokenize(w http.ResponseWriter, r *http.Request) {
	s.wake()
	var b struct{ Content string }
	data, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(data, &b) != nil {
		sendJSON(w, 500, `{"error":{"code":500,"message":"parse error","type":"server_error"}}`)
		return
	}
	sendJSON(w, 200, marshal(map[string]any{"tokens": make([]int, s.tokens(b.Content))}))
}

// countTokens counts with the template, and does not fail above the window.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	s.wake()
	c, err := readCall(r)
	if err != nil {
		sendJSON(w, 500, `{"error":{"code":500,"message":"'messages' is required","type":"server_error"}}`)
		return
	}
	sendJSON(w, 200, marshal(map[string]any{"input_tokens": s.promptTokens(c)}))
}

func (s *Server) llamaRefuse(w http.ResponseWriter, c Call) bool {
	if n := s.promptTokens(c); n >= s.cfg.Models[0].Window {
		sendJSON(w, 400, LlamaOverflow(n, s.cfg.Models[0].Window))
		return true
	}
	for i, m := range c.Messages {
		if m.Role == "system" && i > 0 && strings.Contains(s.cfg.Models[0].ID, "strict") {
			sendJSON(w, 500, `{"error":{"code":500,"message":"\n------------\nWhile executing CallExpression at line 85, column 32 in source:\n…Error: Jinja Exception: System message must be at the beginning.","type":"server_error"}}`)
			return true
		}
	}
	return false
}
