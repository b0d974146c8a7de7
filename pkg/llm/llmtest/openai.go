package llmtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// NewOpenAI is a plain OpenAI-compatible server that tells nothing but names.
func NewOpenAI(t testing.TB, cfg Config) *Server {
	t.Helper()
	return start(t, "openai", cfg, func(s *Server) {
		s.openAIRoutes(func(m Model) map[string]any {
			return map[string]any{"id": m.ID, "object": "model", "created": 1, "owned_by": "someone"}
		})
	})
}

func (s *Server) openAIRoutes(entry func(Model) map[string]any) {
	s.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		data := []any{}
		for _, m := range s.cfg.Models {
			if s.kind == "litellm" && r.Header.Get("Anthropic-Version") != "" { // it answers as it is asked
				data = append(data, map[string]any{"type": "model", "id": m.ID, "display_name": m.ID, "max_input_tokens": m.Window})
				continue
			}
			data = append(data, entry(m))
		}
		sendJSON(w, 200, marshal(map[string]any{"object": "list", "data": data}))
	})
	s.mux.HandleFunc("POST /v1/chat/completions", s.generation(openAI, openAIWhole, nil))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, 404, `{"error":{"message":"Not Found","type":"invalid_request_error","code":404}}`)
	})
}

// NewLiteLLM is a LiteLLM gateway: max_input_tokens where the upstream tells
// it, and a /health that makes every model generate.
func NewLiteLLM(t testing.TB, cfg Config) *Server {
	t.Helper()
	return start(t, "litellm", cfg, func(s *Server) {
		s.openAIRoutes(func(m Model) map[string]any {
			return map[string]any{"id": m.ID, "object": "model", "created": 1, "owned_by": "openai", "max_input_tokens": m.Window}
		})
		s.mux.HandleFunc("GET /health/liveliness", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, `"I'm alive!"`) })
		s.mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
			s.take(Call{Path: r.URL.Path, Model: s.cfg.Models[0].ID})
			sendJSON(w, 200, `{"healthy_endpoints":[]}`)
		})
		s.mux.HandleFunc("GET /v1/model/info", func(w http.ResponseWriter, _ *http.Request) {
			data := []any{}
			for _, m := range s.cfg.Models {
				mode := "chat"
				if strings.Contains(strings.Join(m.Caps, " "), "embedding") {
					mode = "embedding"
				}
				data = append(data, map[string]any{"model_name": m.ID, "model_info": map[string]any{"mode": mode, "max_input_tokens": m.Window}})
			}
			sendJSON(w, 200, marshal(map[string]any{"data": data}))
		})
	})
}

// NewLMStudio is LM Studio: states and windows under /api/v0, and unknown
// routes answered 200 with an error text.
func NewLMStudio(t testing.TB, cfg Config) *Server {
	t.Helper()
	return start(t, "lmstudio", cfg, func(s *Server) {
		s.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
			data := []any{}
			for _, m := range s.cfg.Models {
				data = append(data, map[string]any{"id": m.ID, "object": "model", "owned_by": "organization_owner"})
			}
			sendJSON(w, 200, marshal(map[string]any{"object": "list", "data": data}))
		})
		s.mux.HandleFunc("GET /api/v0/models", func(w http.ResponseWriter, _ *http.Request) {
			data := []any{}
			for _, m := range s.cfg.Models {
				e := map[string]any{
					"id": m.ID, "object": "model", "type": "llm", "publisher": "someone", "arch": "qwen3", "compatibility_type": "gguf",
					"quantization": "Q4_K_M", "state": "not-loaded", "max_context_length": m.Max,
				}
				if strings.Contains(strings.Join(m.Caps, " "), "embedding") {
					e["type"] = "embeddings"
				}
				if m.Loaded {
					e["state"], e["loaded_context_length"] = "loaded", m.Window
				}
				data = append(data, e)
			}
			sendJSON(w, 200, marshal(map[string]any{"object": "list", "data": data}))
		})
		s.mux.HandleFunc("POST /v1/chat/completions", s.generation(openAI, openAIWhole, nil))
		s.mux.HandleFunc("POST /v1/messages", s.generation(anthropic("lmstudio"), anthropicWhole("lmstudio"), nil))
		s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			sendJSON(w, 200, marshal(map[string]any{"error": fmt.Sprintf("Unexpected endpoint or method. (%s %s)", r.Method, r.URL.Path)}))
		})
	})
}

// NewAnthropic is a gateway that speaks Anthropic's format only.
func NewAnthropic(t testing.TB, cfg Config) *Server {
	t.Helper()
	return start(t, "anthropic", cfg, func(s *Server) {
		s.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
			data := []any{}
			for _, m := range s.cfg.Models {
				data = append(data, map[string]any{"type": "model", "id": m.ID, "display_name": m.ID, "created_at": "2026-01-01T00:00:00Z"})
			}
			sendJSON(w, 200, marshal(map[string]any{"data": data, "has_more": false}))
		})
		s.mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
		s.mux.HandleFunc("POST /v1/messages", s.generation(anthropic("anthropic"), anthropicWhole("anthropic"), s.anthropicRefuse))
		s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, 404, AnthropicError("not_found_error", "Not Found"))
		})
	})
}

func (s *Server) anthropicRefuse(w http.ResponseWriter, c Call) bool {
	if n := s.promptTokens(c); n > s.cfg.Window {
		sendJSON(w, 400, AnthropicError("invalid_request_error", fmt.Sprintf("prompt is too long: %d tokens > %d maximum", n, s.cfg.Window)))
		return true
	}
	return false
}
