package shim

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// maxErrorBody and maxAnswer bound what is read of a server's error and of an answer that is no stream.
const (
	maxErrorBody = 256 << 10
	maxAnswer    = 64 << 20
)

var (
	errStalled = errors.New("the server fell silent")
	errGone    = errors.New("the client left")
)

// upstream sends requests to the one server of a job.
type upstream struct {
	client *http.Client
	target Target
	opt    Options
}

func newUpstream(t Target, opt Options) *upstream {
	rt := opt.Transport
	if rt == nil {
		rt = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 15 * time.Second,
			MaxIdleConns:        256, MaxIdleConnsPerHost: 256,
			IdleConnTimeout:    4 * time.Second, // llama-server and uvicorn close after 5; a request sent into that moment is lost
			DisableCompression: true,            // a compressed stream would be buffered
			WriteBufferSize:    64 << 10,
		}
	}
	return &upstream{target: t, opt: opt, client: &http.Client{
		Transport: rt,
		// A redirect would send the key and the conversation to a host nobody named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// flight is one request to the server. cancel ends it and frees its slot; it must be called.
type flight struct {
	resp   *http.Response
	body   *watched
	cancel context.CancelCauseFunc
	ctx    context.Context
}

// post sends body. The first byte may take opt.FirstByte, later ones opt.Idle each.
func (u *upstream) post(ctx context.Context, path, body string, client http.Header, localHost bool) (*flight, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.target.API+path, strings.NewReader(body))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	u.headers(req, client, localHost)
	dog := time.AfterFunc(u.opt.FirstByte, func() { cancel(errStalled) })
	resp, err := u.client.Do(req) //nolint:bodyclose // flight.cancel closes it
	if err != nil {
		dog.Stop()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	c := &flight{resp: resp, ctx: ctx}
	c.body = &watched{r: resp.Body, ctx: ctx, dog: dog, limit: u.opt.FirstByte, stream: isStream(resp)}
	c.cancel = func(cause error) {
		dog.Stop()
		cancel(cause)
		_ = resp.Body.Close()
	}
	return c, nil
}

// drain reads the end of a stream whose message is over, so that the connection can be used again. A server that keeps
// it open is not waited for.
func (c *flight) drain() {
	late := time.AfterFunc(20*time.Millisecond, func() { c.cancel(nil) })
	defer late.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(c.body, 64<<10))
}

// headers sets what the server needs to know. The client's own are not forwarded: its key is ours, and beta flags
// break strict gateways. The real API gets the flags.
func (u *upstream) headers(req *http.Request, client http.Header, localHost bool) {
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("User-Agent", "legwork")
	h.Set("Anthropic-Version", orElse(client.Get("Anthropic-Version"), "2023-06-01"))
	if u.target.Kind == Anthropic {
		if beta := client.Get("Anthropic-Beta"); beta != "" {
			h.Set("Anthropic-Beta", beta)
		}
	}
	if u.target.APIKey != "" {
		h.Set("Authorization", "Bearer "+u.target.APIKey)
		h.Set("X-Api-Key", u.target.APIKey)
	}
	// An empty value is not sent; it lets the transport try again on a fresh connection when a kept one turns out to be
	// closed before a byte of the answer came. A queued generation is not lost to the server's idle limit that way.
	h["Idempotency-Key"] = []string{}
	for k, v := range u.target.Header {
		h[http.CanonicalHeaderKey(k)] = v
	}
	req.Host = orElse(u.target.Host, req.Host)
	if localHost { // Ollama behind a tunnel answers its own name only
		req.Host = "localhost"
		if port := req.URL.Port(); port != "" {
			req.Host += ":" + port
		}
	}
}

func isStream(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
}

// watched is a body whose silences are limited. A comment is a sign of life, not the beginning of the answer.
type watched struct {
	r      io.Reader
	ctx    context.Context
	dog    *time.Timer
	limit  time.Duration // of one silence
	stream bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 && w.stream {
		w.dog.Reset(w.limit)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		if cause := context.Cause(w.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}

// small is for questions with a short answer, about the server itself.
func (u *upstream) small(ctx context.Context, method, path, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.target.BaseURL+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	u.headers(req, http.Header{}, false)
	resp, err := u.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	return resp.StatusCode, string(data), err
}

// transportFailure says what went wrong below HTTP.
func transportFailure(err error, base string) failure {
	switch {
	case errors.Is(err, errStalled):
		return failure{class: classStall, message: "the server fell silent for too long and was given up"}.shaped()
	case errors.Is(err, context.Canceled):
		return failure{class: classTransport, status: 499, kind: "api_error", message: "the client left"}
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		f := failure{class: classTransport, message: fmt.Sprintf("no model server answers at %s: %v", hostOf(base), op.Err)}.shaped()
		f.hint(5)
		return f
	}
	return failure{class: classTransport, message: "connection to the model server failed: " + err.Error()}.shaped()
}

func hostOf(base string) string {
	if u, err := url.Parse(base); err == nil {
		return u.Host
	}
	return "the endpoint"
}

// idSet remembers the ids of messages and calls, because the client merges turns that share one.
type idSet struct {
	mu  sync.Mutex
	ids map[string]bool
}

func newIDSet() *idSet { return &idSet{ids: map[string]bool{}} }

// seen reports whether id was asked about before, and remembers it.
func (s *idSet) seen(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids[id] {
		return true
	}
	s.ids[id] = true
	return false
}

// strikes counts how often the same body failed in a way that a retry might cure.
type strikes struct {
	mu    sync.Mutex
	count map[[32]byte]int
}

func newStrikes() *strikes { return &strikes{count: map[[32]byte]int{}} }

func (s *strikes) hit(body string) int {
	key := sha256.Sum256([]byte(body))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[key]++
	return s.count[key]
}
