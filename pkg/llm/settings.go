package llm

import "time"

// Backend is the kind of server behind an endpoint.
type Backend string

// The backends. Auto is found out by the probe; a gateway such as LiteLLM or
// llama-swap counts as OpenAI.
const (
	Auto      Backend = "auto"
	LlamaCpp  Backend = "llama.cpp"
	VLLM      Backend = "vllm"
	Ollama    Backend = "ollama"
	LMStudio  Backend = "lmstudio"
	OpenAI    Backend = "openai"
	Anthropic Backend = "anthropic"
)

// Endpoint says where one server is. Only BaseURL is needed.
type Endpoint struct {
	Name        string            // what the user calls it
	BaseURL     string            // with or without scheme, /v1, trailing slash, sub-path
	Backend     Backend           // empty or Auto: probed
	Host        string            // the machine, for messages only
	Notes       string            // shown in lists and errors
	APIKey      string            // sent as Bearer and as x-api-key
	Headers     map[string]string // sent with every request
	Concurrency int               // calls in flight over all processes; 0: the server's own slots, else 4
	WellKnown   bool              // not configured: a local port that is tried because nothing is
}

// ModelNote is what the user wrote about a model; all fields but Name are optional.
type ModelNote struct {
	Name       string // the name used in settings and arguments
	ServedName string // glob matched against what is served; empty: Name itself
	Endpoint   string // only there
	Context    int    // tokens; overrides the probed window
	Host       string
	Notes      string
	BringUp    string // how the user starts it; shown, never run
}

// Settings is everything the registry needs of the configuration.
type Settings struct {
	Endpoints    []Endpoint // in order of priority
	Models       []ModelNote
	DefaultModel string            // defaults.model
	ToolModel    map[string]string // tool name → model, "offload" → offload.model

	AnswerTokens     int           // default answer budget, tokens (8192)
	NumCtx           int           // Ollama: most context asked for; 0: as the call needs, up to the model's maximum
	KeepAlive        string        // Ollama keep_alive; empty: the server's own
	FirstByteTimeout time.Duration // request sent → first event (10m)
	IdleTimeout      time.Duration // between two events (2m)
	ProbeTimeout     time.Duration // whole probe of one endpoint (2.5s)
	Concurrency      int           // default of Endpoint.Concurrency
}

// withDefaults fills what is zero.
func (s Settings) withDefaults() Settings {
	setDefault(&s.AnswerTokens, 8192)
	setDefault(&s.FirstByteTimeout, 10*time.Minute)
	setDefault(&s.IdleTimeout, 2*time.Minute)
	setDefault(&s.ProbeTimeout, 2500*time.Millisecond)
	return s
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}
