package llm

import (
	"encoding/json"
	"time"
)

// State of an endpoint.
type State string

// The states. Down with HostUp set means that the machine answered and nothing
// listens there; without it nothing answered at all. Refused means that a
// server is there and does not let us in, Foreign that it is no model server.
const (
	Up       State = "up"
	Loading  State = "loading"
	Sleeping State = "sleeping"
	Down     State = "down"
	Refused  State = "refused"
	Foreign  State = "foreign"
)

// Caps are a model's capabilities. Known is false when the server does not
// tell; then the others are a guess from the name.
type Caps struct {
	Known     bool `json:"known"`
	Chat      bool `json:"chat"`
	Tools     bool `json:"tools"`
	Thinking  bool `json:"thinking"`
	Vision    bool `json:"vision"`
	Embedding bool `json:"embedding"` // embedding or rerank: never used for chat
}

// Model is one model an endpoint serves now.
type Model struct {
	ID        string   `json:"id"`                  // as the server names it
	Aliases   []string `json:"aliases,omitempty"`   // other names it answers to
	Window    int      `json:"window"`              // tokens in force for one request, 0: unknown
	MaxWindow int      `json:"max_window"`          // the model's own maximum, 0: unknown
	Loaded    bool     `json:"loaded"`              // in memory now
	Remote    string   `json:"remote,omitempty"`    // the host it really runs on, when the server only passes calls on (Ollama's cloud models)
	Caps      Caps     `json:"caps"`                //
	Note      string   `json:"note,omitempty"`      // the user's note on it
	Quant     string   `json:"quant,omitempty"`     // quantisation, when told
	WindowWhy string   `json:"window_by,omitempty"` // where Window comes from: "props", "loaded", "asked", "models:" …

	root string // vLLM: what is loaded, the same for all its names
}

// Slots counts requests an endpoint can run at once. Held counts ours, over all
// processes of this machine; Others is the part of it held by other processes.
type Slots struct {
	Total   int `json:"total"`   // as used for queueing: setting, else the server's own, else 4
	Server  int `json:"server"`  // what the server told, 0: nothing
	Busy    int `json:"busy"`    // as the server told; can lag by seconds
	Waiting int `json:"waiting"` // queued in the server, as told
	Held    int `json:"held"`
	Others  int `json:"others"`
}

// EndpointStatus is what a probe found.
type EndpointStatus struct {
	Name    string        `json:"name"`
	BaseURL string        `json:"base_url"` // without secrets
	Backend Backend       `json:"backend"`  // as found
	State   State         `json:"state"`
	HostUp  bool          `json:"host_up"`
	Detail  string        `json:"detail,omitempty"` // one line: why it is not up, what to do
	Models  []Model       `json:"models,omitempty"`
	Slots   Slots         `json:"slots"`
	Host    string        `json:"host,omitempty"`
	Notes   string        `json:"notes,omitempty"`
	Took    time.Duration `json:"took_ns"`
	At      time.Time     `json:"at"`
	// WellKnown marks a local port that was tried because nothing is configured.
	WellKnown bool `json:"well_known,omitempty"`
}

// Want says which model a call needs.
type Want struct {
	Model    string // name, glob or part of a name; empty: the tool's setting, then defaults.model, then the only one there is
	Endpoint string // only there
	Tool     string // "offload", "research", "delegate": whose setting counts
	Tools    bool   // needs tool calls: models known not to have them are left out
	Vision   bool
	// Wait lets Choose wait for an endpoint that is loading, until ctx ends or
	// FirstByteTimeout has passed.
	Wait       bool
	OnProgress func(Progress)
}

// Choice is one model on one endpoint, and where else the same model is served.
type Choice struct {
	Model     string   `json:"model"`    // id as served
	Endpoint  string   `json:"endpoint"` // name
	Backend   Backend  `json:"backend"`
	Window    int      `json:"window"`     // tokens to plan with, prompt and answer together; 0: unknown
	MaxWindow int      `json:"max_window"` // what a single call may reach (Ollama loads more on demand), ≥ Window
	Slots     int      `json:"slots"`      // requests that run at once, over all its endpoints
	Caps      Caps     `json:"caps"`
	Also      []string `json:"also,omitempty"` // other endpoints serving it, used when they have a free slot
	How       string   `json:"how"`            // why this one: "exact", "glob", "fuzzy", "only model", "setting offload.model" …
}

// Message is one turn. Role is "system", "user" or "assistant".
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Think says what to ask of a thinking model.
type Think string

// ThinkDefault leaves it to the server; the others are asked for where the
// server knows how, and dropped where it refuses.
const (
	ThinkDefault Think = ""
	ThinkOff     Think = "off"
	ThinkOn      Think = "on"
)

// Request is one chat call.
type Request struct {
	Choice      Choice
	Messages    []Message
	MaxTokens   int             // answer budget; 0: the setting; lowered to what the window leaves
	Temperature *float64        // nil: the server's default
	Seed        *int            // nil: none
	Stop        []string        //
	Think       Think           //
	Schema      json.RawMessage // JSON schema the answer must satisfy; nil: free text
	OnProgress  func(Progress)  // called from one goroutine at a time; must not block
}

// Phase of a running call.
type Phase string

// The phases in their order.
const (
	PhaseLoading Phase = "loading" // the endpoint loads its model
	PhaseWaiting Phase = "waiting" // for a slot of ours
	PhaseReading Phase = "reading" // sent, nothing came back yet
	PhaseWriting Phase = "writing" // tokens arrive
	PhaseRetry   Phase = "retry"
)

// Progress is one report on a running call.
type Progress struct {
	Phase    Phase
	Endpoint string
	Ahead    int    // calls in front of us, in PhaseWaiting
	Tokens   int    // pieces received so far, reasoning included
	Text     string // ready to show: "waiting for a slot on gpu, 2 ahead"
}

// Outcome of a call that reached the model and came back.
type Outcome string

// The outcomes. Invalid: Request.Schema was given and neither the answer nor
// its one repair satisfies it.
const (
	Answered Outcome = "answered"
	CutOff   Outcome = "cut_off" // the budget, the window or the server ended it; Text is what came
	Empty    Outcome = "empty"   // nothing but, maybe, reasoning
	Looped   Outcome = "looped"  // an endless cycle, stopped early
	Invalid  Outcome = "invalid"
)

// Usage in tokens, summed over the attempts of one call. Prompt includes Cached.
type Usage struct {
	Prompt     int `json:"prompt"`
	Cached     int `json:"cached"`
	Completion int `json:"completion"`
}

// Answer is what came back.
type Answer struct {
	Text       string          `json:"text"`                // without reasoning
	JSON       json.RawMessage `json:"json,omitempty"`      // with a schema: the validated value
	Reasoning  string          `json:"reasoning,omitempty"` //
	Outcome    Outcome         `json:"outcome"`             //
	Note       string          `json:"note,omitempty"`      // why, when not Answered; what was changed (clamped budget, repair)
	Unreliable string          `json:"unreliable,omitempty"`
	Swapped    string          `json:"swapped,omitempty"` // another model answered than was asked for, in words; Model is the one that did
	Usage      Usage           `json:"usage"`
	Model      string          `json:"model"`
	Endpoint   string          `json:"endpoint"`
	Window     int             `json:"window"`
	MaxTokens  int             `json:"max_tokens"` // as sent
	Attempts   int             `json:"attempts"`
	Waited     time.Duration   `json:"waited_ns"` // for a slot
	FirstByte  time.Duration   `json:"first_byte_ns"`
	Duration   time.Duration   `json:"duration_ns"` // of the exchange, without Waited
}
