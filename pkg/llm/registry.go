package llm

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// Options are the registry's surroundings.
type Options struct {
	StateDir string       // slots and learned token counts are kept below it; empty: a folder of the machine's temporary directory
	Client   *http.Client // nil: one of its own, without limits on waiting and without redirects
	Logger   *slog.Logger // nil: silent
	Now      func() time.Time
}

// Registry knows the endpoints. It is safe for concurrent use; keep one per
// process, it remembers what servers refused and what was probed just now.
type Registry struct {
	client *http.Client
	log    *slog.Logger
	now    func() time.Time
	slots  *slotTable
	tokens *tokenBook

	mu       sync.Mutex
	settings *Settings
	servers  []*server
}

// New makes a registry. It does no I/O.
func New(s Settings, o Options) *Registry {
	if o.Client == nil {
		o.Client = newClient()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.StateDir == "" {
		o.StateDir = filepath.Join(os.TempDir(), "legwork-state")
	}
	r := &Registry{
		client: o.Client, log: o.Logger, now: o.Now,
		slots:  newSlotTable(o.StateDir),
		tokens: &tokenBook{dir: o.StateDir, log: o.Logger, models: map[string]*tokenFit{}},
	}
	r.Use(s)
	return r
}

// Use replaces the settings for calls that start from now on.
func (r *Registry) Use(s Settings) {
	s = s.withDefaults()
	servers := make([]*server, 0, len(s.Endpoints))
	for _, e := range s.Endpoints {
		servers = append(servers, newServer(e))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range servers {
		for _, o := range r.servers {
			if sameServer(n, o) {
				n.learned = o.learned
			}
		}
	}
	r.settings, r.servers = &s, servers
}

func (r *Registry) snapshot() (*Settings, []*server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settings, r.servers
}

func (r *Registry) server(name string) *server {
	_, servers := r.snapshot()
	for _, s := range servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// forget makes the next probe of an endpoint a real one.
func (r *Registry) forget(name string) {
	if s := r.server(name); s != nil {
		s.learned.mu.Lock()
		s.learned.probed = nil
		s.learned.mu.Unlock()
	}
}

// Acquire waits for a slot on the chosen endpoint and holds it until release is
// called (or the process ends). Chat does this itself; the agent's proxy uses it.
func (r *Registry) Acquire(ctx context.Context, c Choice, onProgress func(Progress)) (release func(), err error) {
	cfg, _ := r.snapshot()
	s := r.server(c.Endpoint)
	if s == nil {
		return nil, unknownEndpoint(cfg, c.Endpoint)
	}
	t, err := r.acquire(ctx, cfg, s, &reporter{f: onProgress, endpoint: s.Name})
	if err != nil {
		return nil, err
	}
	return t.release, nil
}

func unknownEndpoint(cfg *Settings, name string) error {
	return &NoModelError{Unknown: name, Advice: "known: " + strings.Join(cfg.endpointNames(), ", ")}
}

func (r *Registry) acquire(ctx context.Context, cfg *Settings, s *server, rep *reporter) (*ticket, error) {
	return r.slots.acquire(ctx, s.key, slotTotal(cfg, s, s.told()), rep.waiting)
}

// told is the number of slots the server told in its last probe.
func (s *server) told() int {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	if s.learned.probed == nil {
		return 0
	}
	return s.learned.probed.Slots.Server
}

// Target is what a proxy needs to send a request to an endpoint itself.
type Target struct {
	Root    string      // base URL without /v1 and trailing slash; may hold user and password
	API     string      // root of /chat/completions, /messages and /models
	Backend Backend     // as found by the last probe, else as configured
	Header  http.Header // authorisation and the user's headers
	Host    string      // Host header to send, empty: as the URL says
}

// Target returns how to reach an endpoint; false when there is none of that name.
func (r *Registry) Target(endpoint string) (Target, bool) {
	s := r.server(endpoint)
	if s == nil || s.bad != "" {
		return Target{}, false
	}
	return Target{Root: s.root, API: s.api, Backend: s.kind(), Header: maps.Clone(s.header), Host: s.hostHeader()}, true
}

// kind is the backend as known now.
func (s *server) kind() Backend {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	if s.Backend == Auto && s.learned.backend != "" {
		return s.learned.backend
	}
	return s.Backend
}

// Redact takes the secrets of all endpoints out of a text.
func (r *Registry) Redact(text string) string {
	_, servers := r.snapshot()
	for _, s := range servers {
		text = s.redact(text)
	}
	return text
}

// Load makes the server load the model if it has to (Ollama), with the server's
// own default window, and returns the window then in force, 0 when unknown. It
// never generates. Needed before requests that cannot name their window.
func (r *Registry) Load(ctx context.Context, c Choice) (window int, err error) {
	s := r.server(c.Endpoint)
	cfg, _ := r.snapshot()
	switch {
	case s == nil:
		return 0, unknownEndpoint(cfg, c.Endpoint)
	case s.kind() != Ollama:
		return c.Window, nil
	}
	fields := map[string]any{"model": c.Model, "messages": []Message{}, "stream": false}
	if cfg.KeepAlive != "" {
		fields["keep_alive"] = cfg.KeepAlive
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return 0, err
	}
	rep := r.ask(ctx, s, s.root+"/api/chat", body)
	switch {
	case rep.err != nil && ctx.Err() != nil:
		return 0, ctx.Err()
	case rep.err != nil:
		return 0, &TransportError{Endpoint: s.Name, Message: s.redact(rep.err.Error()), Err: rep.err}
	case rep.status >= http.StatusInternalServerError:
		return 0, &TransportError{Endpoint: s.Name, Status: rep.status, Message: s.redact(excerpt(rep.body))}
	case rep.status != http.StatusOK:
		return 0, &RequestError{Endpoint: s.Name, Status: rep.status, Message: s.redact(excerpt(rep.body))}
	}
	ps := r.ask(ctx, s, s.root+"/api/ps", nil)
	for _, m := range gjson.GetBytes(ps.json(), "models").Array() {
		if m.Get("model").String() == c.Model || m.Get("name").String() == c.Model {
			window = int(m.Get("context_length").Int())
		}
	}
	r.forget(s.Name)
	s.setLoaded(c.Model, window)
	return window, nil
}
