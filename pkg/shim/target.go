package shim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Kind is the family of a server: it decides what is spliced and which errors are expected.
type Kind string

// The families. Unknown gets the treatment of a local server that has promised nothing.
const (
	LlamaCPP  Kind = "llama.cpp"
	VLLM      Kind = "vllm"
	Ollama    Kind = "ollama"
	LMStudio  Kind = "lmstudio"
	OpenAI    Kind = "openai"
	Anthropic Kind = "anthropic" // the real thing or a gateway to it: passed through, nothing dropped
	Unknown   Kind = ""
)

// Route is the way out to the server.
type Route string

// The ways out. RouteAuto asks the server once, with the first request.
const (
	RouteAuto   Route = ""
	RouteNative Route = "messages"         // POST /v1/messages
	RouteChat   Route = "chat/completions" // POST /v1/chat/completions, translated
)

// MinWindow is the smallest window in tokens a job can work in: the client's own lean prompt takes about 4,000, an
// answer 1,024, and one tool result has to fit beside them.
const MinWindow = 8192

// Target is the server and model of one job, as found by the caller's probe. Plain data.
type Target struct {
	Name    string // the endpoint's name, for messages
	BaseURL string // http://host:port, with or without a path; a trailing /v1 is accepted; may hold user and password
	API     string // root of /messages and /chat/completions; empty: BaseURL + "/v1"
	Host    string // Host header; empty: as the URL says
	Kind    Kind
	Route   Route
	Model   string // name the server knows; empty: whatever the client asks for
	Window  int    // tokens in force for prompt and answer together; 0: unknown, nothing is guarded or clamped
	// CountTokens says that the server has /v1/messages/count_tokens. A wrong true costs one 404.
	CountTokens bool
	TextOnly    bool        // the model cannot see images: they become notes
	APIKey      string      // sent as bearer token and as x-api-key
	Header      http.Header // sent with every request
	Learned     string      // file in which refused fields are remembered per endpoint; empty: only in memory
	// Count is the server's tokenizer for plain text, if there is one. Nil: bytes are counted and the ratio is learned
	// from the server's own usage.
	Count func(ctx context.Context, text string) (int, error)
}

// WindowError says that a model's window is too small for the client, with the arithmetic.
type WindowError struct {
	Model  string
	Window int
	Fix    string // how to get a larger one, when known
}

func (e *WindowError) Error() string {
	msg := fmt.Sprintf("window of %s is %d tokens, %d are needed: about 4000 for the client's own prompt, 1024 for an answer, the rest for one tool result",
		e.Model, e.Window, MinWindow)
	if e.Fix != "" {
		msg += "; " + e.Fix
	}
	return msg
}

func (t *Target) check() error {
	u, err := url.Parse(t.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("shim target: base_url must look like http://host:port")
	}
	t.BaseURL = strings.TrimSuffix(strings.TrimRight(t.BaseURL, "/"), "/v1")
	if t.API = strings.TrimRight(t.API, "/"); t.API == "" {
		t.API = t.BaseURL + "/v1"
	}
	if t.Window < 0 {
		return errors.New("shim target: window must not be negative")
	}
	if t.Window > 0 && t.Window < MinWindow {
		return &WindowError{Model: t.label(), Window: t.Window, Fix: t.windowFix()}
	}
	return nil
}

// key names the server in the store of lessons; the model is part of it because a gateway serves many.
func (t *Target) key() string {
	base := t.BaseURL
	if u, err := url.Parse(base); err == nil {
		u.User = nil
		base = u.String()
	}
	return base + " " + t.Model
}

func (t *Target) label() string {
	if t.Model != "" {
		return t.Model
	}
	return "the model"
}

// local is false for the real API, where nothing has to be taken out.
func (t *Target) local() bool { return t.Kind != Anthropic }

// cutsSilently is true for servers that drop the beginning of a prompt that is too long, and say nothing.
func (t *Target) cutsSilently() bool { return t.Kind == Ollama || t.Kind == LMStudio }

func (t *Target) windowFix() string {
	switch t.Kind {
	case Ollama:
		return "raise it with OLLAMA_CONTEXT_LENGTH, or let the shim make a variant with num_ctx"
	case LlamaCPP:
		return "start llama-server with a larger -c (with -np N each slot gets c/N)"
	case VLLM:
		return "start vllm with a larger --max-model-len"
	case LMStudio:
		return "load the model with a larger context length"
	default:
		return ""
	}
}
