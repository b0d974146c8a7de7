package llm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// server is an endpoint ready to be talked to, with what was learned about it.
// The learned part outlives a change of settings as long as URL and key stay.
type server struct {
	Endpoint
	root   string      // without /v1 and trailing slash
	api    string      // root of the OpenAI-style routes, ends in a version
	key    string      // file-name-safe identity of the server, the same in every process
	header http.Header // authorisation and the user's headers
	bad    string      // why the base URL cannot be used, empty: it can

	learned *learned
}

// learned is what a server taught us. It is only ever kept in memory: servers
// change behind their address.
type learned struct {
	mu        sync.Mutex
	backend   Backend
	localHost bool               // only a local Host header is let in
	dropped   map[string]bool    // optional body fields it refuses, by wire field
	windows   map[string]int     // model → window told in an error
	shows     map[string]string  // Ollama: digest → what /api/show told
	ctx       map[string]int     // Ollama: model → window it is loaded with
	renamed   map[[2]string]bool // name asked for, name in the reply: one model
	probed    *EndpointStatus
	probing   chan struct{} // closed when the running probe ends
}

// versionTail matches a base URL that names its API version itself, other than /v1.
var versionTail = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`/(v[02-9]\w*|v1\w+)(/openai)?$|/openai$`)
})

// routeTails are what users paste along with the base URL.
var routeTails = []string{"/chat/completions", "/completions", "/messages", "/models", "/api/chat", "/api/tags", "/api/generate"}

// baseURL splits what the user wrote into root and root of the OpenAI-style routes.
func baseURL(s string) (root, api string, err error) {
	s = strings.TrimSpace(s)
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", "", errors.New("base_url must look like http://host:port")
	}
	u.RawQuery, u.Fragment = "", ""
	p := strings.TrimRight(u.Path, "/")
	for _, t := range routeTails {
		p = strings.TrimRight(strings.TrimSuffix(p, t), "/")
	}
	if versionTail().MatchString(p) {
		u.Path = p
		return u.String(), u.String(), nil
	}
	u.Path = strings.TrimRight(strings.TrimSuffix(p, "/v1"), "/")
	return u.String(), u.String() + "/v1", nil
}

func newServer(e Endpoint) *server {
	s := &server{Endpoint: e, header: http.Header{}, learned: &learned{}}
	if s.Backend == "" {
		s.Backend = Auto
	}
	var err error
	if s.root, s.api, err = baseURL(e.BaseURL); err != nil {
		s.bad = err.Error()
	}
	if e.APIKey != "" {
		// Both: vLLM takes only Bearer, Anthropic-style gateways only x-api-key.
		s.header.Set("Authorization", "Bearer "+e.APIKey)
		s.header.Set("X-Api-Key", e.APIKey)
	}
	for k, v := range e.Headers {
		s.header.Set(k, v)
	}
	sum := sha256.Sum256([]byte(s.root))
	s.key = fileSafe(strings.TrimPrefix(strings.TrimPrefix(publicURL(s.root), "https://"), "http://")) + "-" + hex.EncodeToString(sum[:4])
	return s
}

// sameServer says whether what was learned about a still holds for b.
func sameServer(a, b *server) bool {
	return a.root == b.root && a.APIKey == b.APIKey && a.Backend == b.Backend && fmt.Sprint(a.Headers) == fmt.Sprint(b.Headers)
}

func fileSafe(s string) string {
	safe := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}
	s = strings.Map(safe, s)
	return s[:min(len(s), 60)]
}

// publicURL is u without user and password.
func publicURL(s string) string {
	if u, err := url.Parse(s); err == nil {
		u.User = nil
		return u.String()
	}
	return s
}

// redact takes the endpoint's secrets out of a text.
func (s *server) redact(text string) string {
	hide := func(v string) {
		if len(v) >= 4 {
			text = strings.ReplaceAll(text, v, "(set)")
		}
	}
	hide(s.APIKey)
	for _, v := range s.Headers {
		hide(strings.TrimPrefix(v, "Bearer "))
	}
	if u, err := url.Parse(s.root); err == nil && u.User != nil {
		hide(u.User.String())
		if p, ok := u.User.Password(); ok {
			hide(p)
		}
	}
	return text
}

// hostHeader is the Host to send, empty: as the URL says.
func (s *server) hostHeader() string {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	if !s.learned.localHost {
		return ""
	}
	if u, err := url.Parse(s.root); err == nil && u.Port() != "" {
		return "localhost:" + u.Port()
	}
	return "localhost"
}

// newClient is used when the caller brings none. No limit on response headers:
// a queued request gets none for minutes. No redirects: they would carry keys
// to another host and turn a POST into a GET.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     30 * time.Second,
			DisableCompression:  true,
			ForceAttemptHTTP2:   true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// send makes one HTTP request; body nil means GET.
func (r *Registry) send(ctx context.Context, s *server, target string, body []byte, extra http.Header) (*http.Response, error) {
	method, rd := http.MethodGet, io.Reader(nil)
	if body != nil {
		method, rd = http.MethodPost, bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, rd)
	if err != nil {
		return nil, fmt.Errorf("endpoint %s: base_url: %w", s.Name, err)
	}
	maps.Copy(req.Header, s.header)
	for k, v := range extra {
		if req.Header.Get(k) == "" {
			req.Header[k] = v
		}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Host = s.hostHeader()
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	resp, err := r.client.Do(req.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil && connected.Load() {
		return nil, &silentError{err}
	}
	return resp, err
}

// silentError is an exchange that failed after the connection stood: the host is up, its server said
// nothing (or not enough) in time.
type silentError struct{ error }

func (e *silentError) Unwrap() error { return e.error }

// maxProbeBody bounds what a probe reads of one reply.
const maxProbeBody = 8 << 20

// reply is a short HTTP exchange, read to its end.
type reply struct {
	status int
	body   []byte
	ctype  string
	err    error // transport error; the others are zero then
}

func (p reply) ok() bool { return p.err == nil && p.status == http.StatusOK }

// json is the body when the reply is a JSON success, else nil.
func (p reply) json() []byte {
	if p.ok() && json.Valid(p.body) {
		return p.body
	}
	return nil
}

// ask makes a short exchange; body nil means GET.
func (r *Registry) ask(ctx context.Context, s *server, target string, body []byte) reply {
	resp, err := r.send(ctx, s, target, body, http.Header{"Accept": {"application/json"}, "Anthropic-Version": {anthropicVersion}})
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxProbeBody))
	if err != nil {
		return reply{err: err}
	}
	return reply{status: resp.StatusCode, body: b, ctype: resp.Header.Get("Content-Type")}
}
