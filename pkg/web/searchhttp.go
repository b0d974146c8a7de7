package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxSearchBytes bounds the answer of a search provider.
const maxSearchBytes = 4 << 20

// SearchOptions are common to all providers.
type SearchOptions struct {
	// Timeout is the time for one request, 0 for 20 s.
	Timeout time.Duration
	// Headers are sent with each request (a proxy's basic auth, for example).
	Headers map[string]string
	// HeadersFor gives the headers for one of several addresses, in place of
	// Headers: a password of one host must not be sent to another.
	HeadersFor func(base string) map[string]string
	// UserAgent names the program, "" for the default.
	UserAgent string
}

// searchClient talks to a provider. It is not guarded: providers are named by
// the user and usually run on this machine.
type searchClient struct {
	http    *http.Client
	headers map[string]string
	agent   string
}

func newSearchClient(o SearchOptions) searchClient {
	if o.Timeout <= 0 {
		o.Timeout = 20 * time.Second
	}
	if o.UserAgent == "" {
		o.UserAgent = DefaultUserAgent
	}
	return searchClient{
		http: &http.Client{
			Timeout: o.Timeout,
			// A query that starts with "!!" makes the engine redirect to another site.
			CheckRedirect: func(next *http.Request, via []*http.Request) error {
				if len(via) >= 3 || next.URL.Host != via[0].URL.Host {
					return http.ErrUseLastResponse
				}
				return nil
			},
		},
		headers: o.Headers,
		agent:   o.UserAgent,
	}
}

// searchReply is a bounded answer with what is needed to judge it.
type searchReply struct {
	status      int
	contentType string // without parameters
	retryAfter  string
	body        []byte
}

// do sends a request with the headers that limiters of search engines want to
// see, and reads the answer. A status 5xx is tried once more.
func (c searchClient) do(ctx context.Context, build func(context.Context) (*http.Request, error)) (searchReply, error) {
	var reply searchReply
	for attempt := range 2 {
		req, err := build(ctx)
		if err != nil {
			return reply, err
		}
		req.Header.Set("User-Agent", c.agent)
		// JSON alone is refused by SearXNG's limiter; Accept-Encoding is set by the transport.
		req.Header.Set("Accept", "application/json, text/html;q=0.9, */*;q=0.5")
		req.Header.Set("Accept-Language", "en-US,en;q=0.8")
		for k, v := range c.headers {
			req.Header.Set(k, v)
		}
		reply, err = c.once(req)
		if err != nil {
			return reply, err
		}
		if reply.status < 500 || attempt > 0 || !pause(ctx, 300*time.Millisecond) {
			break
		}
	}
	return reply, nil
}

func (c searchClient) once(req *http.Request) (searchReply, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return searchReply{}, withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxSearchBytes))
	if err != nil {
		return searchReply{}, fmt.Errorf("read the answer: %w", err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return searchReply{resp.StatusCode, kind, resp.Header.Get("Retry-After"), body}, nil
}

// withoutURL drops the URL from a client error: it may carry a key or a password.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// pause waits and reports whether the context is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// looksJSON reports whether a reply can be decoded, whatever its type says.
func (r searchReply) looksJSON() bool {
	return strings.HasSuffix(r.contentType, "json") || strings.HasPrefix(strings.TrimSpace(string(r.body[:min(64, len(r.body))])), "{")
}

// firstWords shows what a provider said instead of JSON.
func (r searchReply) firstWords() string {
	text := string(r.body)
	if strings.Contains(r.contentType, "html") || strings.HasPrefix(strings.TrimSpace(text), "<") {
		text = tokensOnly(r.body).Markdown
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if cut := []rune(text); len(cut) > 80 {
		text = string(cut[:80]) + "…"
	}
	return text
}

// plain turns a title or snippet, which may hold markup and entities, to text.
func plain(s string) string {
	if strings.ContainsAny(s, "<&") {
		s = tokensOnly([]byte(s)).Markdown
		s = strings.ReplaceAll(s, "\n", " ")
	}
	return strings.Join(strings.Fields(visibleText(s)), " ")
}

// usable reports whether a hit can be fetched.
func usable(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
