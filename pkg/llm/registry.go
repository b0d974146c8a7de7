package llm

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// Options are the registry's surroundings.
type Options struct {
	StateDir string       // slots and learned token ratios are kept below it; must be set for limits to hold across processes
	Client   *http.Client // nil: one of its own
	Logger   *slog.Logger // nil: silent
	Now      func() time.Time
}

// Registry knows the endpoints. It is safe for concurrent use; keep one per process.
type Registry struct {
	opts     Options
	settings Settings
}

// New makes a registry. It does no I/O.
func New(s Settings, o Options) *Registry {
	return &Registry{opts: o, settings: s.withDefaults()}
}

// Use replaces the settings for calls that start from now on.
func (r *Registry) Use(s Settings) { r.settings = s.withDefaults() }

// Probe asks every endpoint at once what it serves, within Settings.ProbeTimeout;
// an answer younger than 2 s is reused. Results come in order of priority. Dead
// endpoints are results, not errors; the error is ctx's.
func (r *Registry) Probe(ctx context.Context) ([]EndpointStatus, error) {
	return nil, errors.ErrUnsupported
}

// Choose names the model for a call, see [Want]. Errors: [*NoModelError], ctx's.
func (r *Registry) Choose(ctx context.Context, w Want) (Choice, error) {
	return Choice{}, errors.ErrUnsupported
}

// Chat plans, waits for a slot, sends, streams and judges one call. Errors:
// [*TransportError], [*RequestError], [*TimeoutError], [*OverflowError], and
// ctx's when the caller cancelled; everything the model did is in the Answer.
func (r *Registry) Chat(ctx context.Context, q Request) (*Answer, error) {
	return nil, errors.ErrUnsupported
}

// Count counts the tokens of text for the chosen model: exact when the server
// counts, else by estimate.
func (r *Registry) Count(ctx context.Context, c Choice, text string) (n int, exact bool) {
	return r.Estimate(c, text), false
}

// Estimate counts without asking the server, with what was learned of the model.
func (r *Registry) Estimate(c Choice, text string) int { return Estimate(text) }

// Estimate counts tokens by content class alone: digits, words, punctuation, CJK.
func Estimate(text string) int { return len(text)/3 + 1 }

// Acquire waits for a slot on the chosen endpoint and holds it until release is
// called (or the process ends). Chat does this itself; the agent's proxy uses it.
func (r *Registry) Acquire(ctx context.Context, c Choice, onProgress func(Progress)) (release func(), err error) {
	return nil, errors.ErrUnsupported
}

// Target is what a proxy needs to send a request to an endpoint itself.
type Target struct {
	Root   string      // base URL without /v1 and trailing slash
	Header http.Header // authorisation and the user's headers
	Host   string      // Host header to send, empty: as the URL says
}

// Target returns how to reach an endpoint.
func (r *Registry) Target(endpoint string) (Target, bool) { return Target{}, false }

// Load makes the server load the model if it has to (Ollama), and returns the
// window then in force, 0 when unknown. It never generates.
func (r *Registry) Load(ctx context.Context, c Choice) (window int, err error) {
	return c.Window, errors.ErrUnsupported
}
