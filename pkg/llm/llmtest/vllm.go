package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// NewVLLM is vLLM: only served names, its words for overflow, a window given as
// max_model_len, gauges in /metrics, Bearer only.
func NewVLLM(t testing.TB, cfg Config) *Server {
	t.Helper()
	return start(t, "vllm", cfg, func(s *Server) {
		s.mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
		s.mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, `{"version":"0.32.0"}`) })
		s.mux.HandleFunc("GET /load", func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, 200, fmt.Sprintf(`{"server_load":%d}`, s.InFlight()))
		})
		s.mux.HandleFunc("GET /metrics", s.vllmMetrics)
		s.mux.HandleFunc("GET /v1/models", s.vllmModels)
		s.mux.HandleFunc("POST /tokenize", s.vllmTokenize)
		s.mux.HandleFunc("POST /v1/messages/count_tokens", s.vllmCount)
		s.mux.HandleFunc("POST /v1/chat/completions", s.generation(openAI, openAIWhole, s.vllmRefuse))
		s.mux.HandleFunc("POST /v1/messages", s.generation(anthropic("vllm"), anthropicWhole("vllm"), s.vllmRefuse))
		s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 404, `{"detail":"Not Found"}`) })
	})
}

func (s *Server) vllmModels(w http.ResponseWriter, _ *http.Request) {
	var data []any
	for _, m := range s.cfg.Models {
		for _, name := range append([]string{m.ID}, m.Aliases...) { // each served name is an entry of its own
			data = append(data, map[string]any{
				"id": name, "object": "model", "created": 1, "owned_by": "vllm", "root": "/models/" + m.ID, "parent": nil,
				"max_model_len": m.Window, "permission": []any{},
			})
		}
	}
	sendJSON(w, 200, marshal(map[string]any{"object": "list", "data": data}))
}

func (s *Server) vllmMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = fmt.Fprintf(w, `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} %d.0
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} %d.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 9.0
`, s.InFlight(), s.Waiting())
}

func (s *Server) vllmTokenize(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Prompt   string
		Messages []struct{ Role, Content string }
	}
	data, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(data, &b) != nil {
		sendJSON(w, 400, OpenAIError(400, "Bad Request", "1 validation error"))
		return
	}
	n := s.tokens(b.Prompt)
	if b.Messages != nil {
		c := Call{}
		for _, m := range b.Messages {
			c.Messages = append(c.Messages, Message{m.Role, m.Content})
		}
		n = s.promptTokens(c)
	}
	sendJSON(w, 200, marshal(map[string]any{"count": n, "max_model_len": s.cfg.Window, "tokens": []int{}}))
}

// vllmCount fails above the window, unlike llama-server's.
func (s *Server) vllmCount(w http.ResponseWriter, r *http.Request) {
	c, err := readCall(r)
	if err != nil {
		sendJSON(w, 400, OpenAIError(400, "Bad Request", "1 validation error"))
		return
	}
	if n := s.promptTokens(c); n <= s.cfg.Window {
		sendJSON(w, 200, fmt.Sprintf(`{"input_tokens":%d,"context_management":{"original_input_tokens":%d}}`, n, n))
		return
	}
	sendJSON(w, 400, AnthropicError("BadRequestError", vllmTooLong(s.cfg.Window)))
}

func vllmTooLong(window int) string {
	return fmt.Sprintf("This model's maximum context length is %d tokens. However, your prompt contains at least %d input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=%d)", window, window+1, window+1)
}

func (s *Server) vllmRefuse(w http.ResponseWriter, c Call) bool {
	m, ok := s.model(c.Model)
	messages := c.Path == "/v1/messages"
	say := func(status int, kind, text string) bool {
		if messages {
			sendJSON(w, status, AnthropicError(kind, text))
		} else {
			sendJSON(w, status, OpenAIError(status, kind, text))
		}
		return true
	}
	if !ok {
		return say(404, "NotFoundError", fmt.Sprintf("The model `%s` does not exist. Valid aliases: %s.", c.Model, s.cfg.Models[0].ID))
	}
	budget, _ := c.Field("max_tokens").(float64)
	name := "max_tokens"
	if messages {
		name = "max_completion_tokens"
	}
	switch n := s.promptTokens(c); {
	case int(budget) > m.Window:
		return say(400, "BadRequestError", fmt.Sprintf("%s=%d cannot be greater than max_model_len=%d. Please request fewer output tokens. (parameter=%s, value=%d)", name, int(budget), m.Window, name, int(budget)))
	case n > m.Window:
		return say(400, "BadRequestError", vllmTooLong(m.Window))
	case n == m.Window:
		return say(400, "BadRequestError", "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)")
	}
	return false
}
