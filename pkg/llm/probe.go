package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tidwall/gjson"
)

// probeFresh is how long a probe is reused.
const probeFresh = 2 * time.Second

// Probe asks every endpoint at once what it serves, within Settings.ProbeTimeout;
// an answer younger than 2 s is reused. Results come in order of priority. Dead
// endpoints are results, not errors; the error is ctx's.
func (r *Registry) Probe(ctx context.Context) ([]EndpointStatus, error) {
	return r.probeSome(ctx, "")
}

// probeSome probes the endpoint of that name, or all.
func (r *Registry) probeSome(ctx context.Context, only string) ([]EndpointStatus, error) {
	cfg, servers := r.snapshot()
	var picked []*server
	for _, s := range servers {
		if only == "" || s.Name == only {
			picked = append(picked, s)
		}
	}
	out := make([]EndpointStatus, len(picked))
	var wg sync.WaitGroup
	for i, s := range picked {
		wg.Go(func() { out[i] = r.probeShared(ctx, s, cfg.ProbeTimeout) })
	}
	wg.Wait()
	for i, s := range picked {
		r.dress(cfg, s, &out[i])
	}
	return out, ctx.Err()
}

// probeShared reuses a fresh probe and lets callers that come together share one.
func (r *Registry) probeShared(ctx context.Context, s *server, limit time.Duration) EndpointStatus {
	for {
		s.learned.mu.Lock()
		if p := s.learned.probed; p != nil && r.now().Sub(p.At) < probeFresh {
			defer s.learned.mu.Unlock()
			return *p
		}
		running := s.learned.probing
		if running == nil {
			break
		}
		s.learned.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
			return EndpointStatus{State: Down, Detail: "not probed: " + ctx.Err().Error(), At: r.now()}
		}
	}
	done := make(chan struct{})
	s.learned.probing = done
	s.learned.mu.Unlock()

	st := r.probeNow(ctx, s, limit)

	s.learned.mu.Lock()
	if ctx.Err() == nil { // a cancelled probe says nothing about the server
		s.learned.probed = &st
	}
	s.learned.probing = nil
	s.learned.mu.Unlock()
	close(done)
	return st
}

// probeNow is one probe of one endpoint.
func (r *Registry) probeNow(ctx context.Context, s *server, limit time.Duration) EndpointStatus {
	start := r.now()
	st := EndpointStatus{Backend: s.Backend, State: Foreign}
	if s.bad != "" {
		st.Detail, st.At = s.bad, start
		return st
	}
	ctx, cancel := context.WithTimeout(ctx, limit-limit/32) // the rest is for telling
	defer cancel()
	p := &prober{r: r, s: s, st: &st}
	backend := s.Backend
	if backend == Auto {
		s.learned.mu.Lock()
		backend = s.learned.backend
		s.learned.mu.Unlock()
	}
	p.run(ctx, backend)
	if st.State != Up && st.State != Sleeping && s.Backend == Auto && backend != "" {
		// Something else may live there now.
		st = EndpointStatus{Backend: Auto, State: Foreign}
		p.run(ctx, "")
	}
	s.learned.mu.Lock()
	s.learned.backend = ""
	if st.State == Up || st.State == Sleeping || st.State == Loading {
		s.learned.backend = st.Backend
	}
	s.learned.mu.Unlock()
	st.At = r.now()
	st.Took = st.At.Sub(start)
	return st
}

// dress adds what is not probed: names, notes, the user's overrides, slots.
func (r *Registry) dress(cfg *Settings, s *server, st *EndpointStatus) {
	st.Name, st.BaseURL, st.Host, st.Notes = s.Name, publicURL(s.root), s.Host, s.Notes
	st.WellKnown = s.WellKnown
	st.Detail = s.redact(st.Detail)
	models := append(unlisted(cfg, s, st), st.Models...)
	for i := range models {
		m := &models[i]
		s.learned.mu.Lock()
		if w := s.learned.windows[m.ID]; m.Window == 0 && w > 0 {
			m.Window, m.WindowWhy = w, "error"
		}
		s.learned.mu.Unlock()
		if st.Backend == Ollama && !m.Loaded {
			m.Window, m.WindowWhy = ollamaPlan(cfg.NumCtx, m.MaxWindow), "asked"
		}
		if n, ok := noteFor(cfg, s.Name, *m); ok {
			m.Note = n.Notes
			if n.Context > 0 {
				m.Window, m.WindowWhy = n.Context, "models:"
				m.MaxWindow = max(m.MaxWindow, n.Context)
			}
		}
		m.MaxWindow = max(m.MaxWindow, m.Window)
		if m.WindowWhy == "models:" || (m.Window > 0 && st.Backend != Ollama) {
			m.MaxWindow = m.Window // only Ollama can be asked for more
		}
	}
	st.Models = models
	st.Slots.Total = slotTotal(cfg, s, st.Slots.Server)
	st.Slots.Held, st.Slots.Others = r.slots.held(s.key)
}

// unlisted are models the user says are behind a gateway that does not list them.
func unlisted(cfg *Settings, s *server, st *EndpointStatus) []Model {
	if st.State != Up || st.Backend != OpenAI && st.Backend != Anthropic {
		return nil
	}
	var out []Model
	for _, n := range cfg.Models {
		id := n.served()
		if n.Endpoint != s.Name || strings.ContainsAny(id, "*?") {
			continue
		}
		if t, _ := matchAll(id, st.Models); t == tierNone {
			out = append(out, Model{ID: id, Loaded: true, Caps: guessCaps(id)})
		}
	}
	return out
}

// prober fills one EndpointStatus.
type prober struct {
	r  *Registry
	s  *server
	st *EndpointStatus
}

// get asks for several routes at once.
func (p *prober) get(ctx context.Context, urls ...string) []reply {
	out := make([]reply, len(urls))
	var wg sync.WaitGroup
	for i, u := range urls {
		wg.Go(func() { out[i] = p.r.ask(ctx, p.s, u, nil) })
	}
	wg.Wait()
	return out
}

// run probes with a known backend, or finds it out first.
func (p *prober) run(ctx context.Context, backend Backend) {
	if backend == "" || backend == Auto {
		if backend = p.detect(ctx); backend == "" {
			return
		}
	}
	p.st.Backend = backend
	switch backend {
	case LlamaCpp:
		p.llamaCpp(ctx)
	case Ollama:
		p.ollama(ctx)
	case VLLM:
		p.vllm(ctx)
	case LMStudio:
		p.lmStudio(ctx)
	default:
		p.openAI(ctx)
	}
}

// detect tells the backends apart by routes that only list things. Never
// /health: a LiteLLM gateway makes every model generate on it.
func (p *prober) detect(ctx context.Context) Backend {
	rs := p.get(ctx, p.s.api+"/models", p.s.root+"/props", p.s.root+"/api/version", p.s.root+"/api/v0/models")
	models, props, version, lms := rs[0], rs[1], rs[2], rs[3]
	owner := gjson.GetBytes(models.json(), "data.0.owned_by").String()
	switch {
	case gjson.GetBytes(props.json(), "default_generation_settings").Exists(), owner == "llamacpp", isLoading(models):
		return LlamaCpp
	case gjson.GetBytes(lms.json(), "data.0.compatibility_type").Exists(), gjson.GetBytes(lms.json(), "data.0.state").Exists():
		return LMStudio
	case gjson.GetBytes(version.json(), "version").Type == gjson.String:
		return Ollama
	case owner == "vllm":
		return VLLM
	case gjson.GetBytes(models.json(), "data.0.type").String() == "model" && !gjson.GetBytes(models.json(), "data.0.object").Exists():
		if p.get(ctx, p.s.root+"/health/liveliness")[0].status == http.StatusOK {
			return OpenAI // LiteLLM lists in the shape of the headers it is asked with, and serves both ways
		}
		return Anthropic
	case gjson.GetBytes(models.json(), "data").IsArray():
		return OpenAI
	}
	if p.hostRefused(models) || p.hostRefused(version) {
		return p.detect(ctx)
	}
	p.fail(models)
	return ""
}

// hostRefused recognises Ollama's check of the Host header (403, empty body)
// and switches to a local Host; false when that is already the case.
func (p *prober) hostRefused(rep reply) bool {
	if rep.err != nil || rep.status != http.StatusForbidden || len(rep.body) > 0 {
		return false
	}
	p.s.learned.mu.Lock()
	defer p.s.learned.mu.Unlock()
	was := p.s.learned.localHost
	p.s.learned.localHost = true
	return !was
}

// isLoading recognises llama-server's reply on every route while it loads.
func isLoading(rep reply) bool {
	return rep.err == nil && rep.status == http.StatusServiceUnavailable &&
		strings.Contains(strings.ToLower(string(rep.body)), "loading")
}

// fail says why the endpoint cannot be used. It reports true when it cannot.
func (p *prober) fail(rep reply) bool {
	st := p.st
	if rep.err != nil {
		st.State = Down
		st.HostUp, st.Detail = explainDial(rep.err, p.s)
		return true
	}
	st.HostUp = true
	switch {
	case isLoading(rep):
		st.State, st.Detail = Loading, "the server is loading its model"
	case rep.status == http.StatusUnauthorized || rep.status == http.StatusForbidden:
		st.State = Refused
		st.Detail = fmt.Sprintf("HTTP %d: the server wants another api_key", rep.status)
		if p.s.APIKey == "" {
			st.Detail = fmt.Sprintf("HTTP %d: the server wants an api_key", rep.status)
		}
	case rep.status == http.StatusBadRequest && bytes.Contains(rep.body, []byte("no_db_connection")): // LiteLLM's words for a wrong key
		st.State, st.Detail = Refused, "HTTP 400: the gateway does not know this api_key"
	case rep.status >= 300 && rep.status < 400:
		st.State, st.Detail = Foreign, fmt.Sprintf("HTTP %d: redirects elsewhere; set base_url to the final address", rep.status)
	case rep.status == http.StatusBadGateway || rep.status == http.StatusServiceUnavailable || rep.status == http.StatusGatewayTimeout:
		st.State, st.Detail = Down, fmt.Sprintf("HTTP %d: a gateway answers, the server behind it does not", rep.status)
	case rep.status >= 500:
		st.State, st.Detail = Down, fmt.Sprintf("HTTP %d: %s", rep.status, excerpt(rep.body))
	case rep.status != http.StatusOK:
		st.State, st.Detail = Foreign, fmt.Sprintf("HTTP %d for the list of models: no model server at this address", rep.status)
	case rep.json() == nil:
		st.State, st.Detail = Foreign, "answers, but not as a model server ("+strings.TrimSpace(rep.ctype)+")"
	default:
		return false
	}
	return true
}

func silent(err error) bool {
	_, ok := errors.AsType[*silentError](err)
	return ok
}

// explainDial tells a host that is down from a port that is closed.
func explainDial(err error, s *server) (hostUp bool, detail string) {
	where := s.root
	if u, e := url.Parse(s.root); e == nil {
		where = u.Host
	}
	var dns *net.DNSError
	switch {
	case isRefused(err):
		return true, "the host is up, nothing listens on " + where
	case errors.As(err, &dns):
		return false, "the name " + dns.Name + " cannot be resolved"
	case silent(err) && (errors.Is(err, context.DeadlineExceeded) || isTimeout(err)):
		return true, where + " takes connections and does not answer in time: busy, stuck, or no model server"
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return false, "no answer from " + where + ": the host is down, unreachable or firewalled"
	case errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH):
		return false, "no route to " + where
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return true, where + ": " + err.Error()
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// excerpt is one short line of a body, for messages.
func excerpt(b []byte) string {
	for _, path := range []string{"error.message", "error", "message", "detail", "detail.0.msg"} {
		if v := gjson.GetBytes(b, path); v.Type == gjson.String && v.Str != "" {
			b = []byte(v.Str)
			break
		}
	}
	line := strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "�")), " ")
	if r := []rune(line); len(r) > 300 {
		line = string(r[:300]) + "…"
	}
	if line == "" {
		return "(empty body)"
	}
	return line
}
