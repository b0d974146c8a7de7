package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
)

// DefaultUserAgent says honestly who asks.
const DefaultUserAgent = "legwork/1 (reads pages for one user's question; honours robots.txt)"

// Limits of one fetch that no server can talk us out of.
const (
	maxRedirects   = 5
	maxTextBytes   = 4 << 20  // decoded
	maxPDFBytes    = 32 << 20 // on disk, never in memory
	maxWait        = 8 * time.Second
	defaultTimeout = 15 * time.Second
)

// FetchOptions configure a [Fetcher]. The zero value is usable.
type FetchOptions struct {
	// AllowHosts are exact exceptions from the rule that only public addresses
	// are dialled: "host:port", or "host" for ports 80 and 443.
	AllowHosts []string
	// IgnoreRobots turns robots.txt off.
	IgnoreRobots bool
	// PageTimeout is the time for one page with all its redirects, 0 for 15 s.
	// What has arrived by then is kept when it is text.
	PageTimeout time.Duration
	// Concurrent and PerHost bound the requests under way, 0 for 6 and 2.
	Concurrent, PerHost int
	// CacheDir keeps pages between runs; "" keeps none.
	CacheDir  string
	UserAgent string // "" for DefaultUserAgent
	Logger    *slog.Logger

	resolver  *net.Resolver // tests answer names themselves
	pdfToText string        // path of pdftotext, "" to look it up, "-" for none
}

// Fetcher reads pages. It is safe for concurrent use and should live as long as
// the process: limits per host, robots.txt and waiting times are kept in it.
type Fetcher struct {
	guard   *guard
	client  *http.Client
	options FetchOptions
	all     *semaphore.Weighted
	hosts   *hostLimits
	robots  *robotsCache
	cache   *pageCache // nil: none
}

// NewFetcher checks the options; an exception that is no host:port is an error.
func NewFetcher(o FetchOptions) (*Fetcher, error) {
	g, err := newGuard(o.AllowHosts, o.resolver)
	if err != nil {
		return nil, err
	}
	if o.PageTimeout <= 0 {
		o.PageTimeout = defaultTimeout
	}
	if o.Concurrent <= 0 {
		o.Concurrent = 6
	}
	if o.PerHost <= 0 {
		o.PerHost = 2
	}
	if o.UserAgent == "" {
		o.UserAgent = DefaultUserAgent
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Fetcher{
		guard: g, options: o,
		all:    semaphore.NewWeighted(int64(o.Concurrent)),
		hosts:  newHostLimits(o.PerHost),
		robots: newRobotsCache(),
		cache:  newPageCache(o.CacheDir),
	}
	f.client = &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // a proxy would dial in our place, past the guard
			DialContext:            g.dialContext,
			ForceAttemptHTTP2:      true,
			DisableCompression:     true, // decoded by us, where the ratio can be seen
			MaxResponseHeaderBytes: 256 << 10,
			MaxIdleConnsPerHost:    o.PerHost,
			MaxIdleConns:           16,
			IdleConnTimeout:        20 * time.Second,
			TLSHandshakeTimeout:    10 * time.Second,
		},
		// Redirects are followed by hand: every hop is checked, counted and limited.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return f, nil
}

// Close drops idle connections. The Fetcher stays usable.
func (f *Fetcher) Close() { f.client.CloseIdleConnections() }

// Failure says what kind of obstacle kept a page from being read.
type Failure string

// The kinds of failure.
const (
	FailRefused     Failure = "refused"     // our guard or scheme rule
	FailRobots      Failure = "robots"      // robots.txt asks us not to
	FailStatus      Failure = "status"      // an HTTP error status
	FailWall        Failure = "wall"        // login, captcha or consent in place of the page
	FailTimeout     Failure = "timeout"     // the deadline passed with nothing usable
	FailUnreachable Failure = "unreachable" // no connection, broken connection
	FailUnreadable  Failure = "unreadable"  // nothing that can be read as text
	FailRedirects   Failure = "redirects"   // too many, or without an address
	FailBomb        Failure = "bomb"        // compressed beyond reason
)

// FetchError says why a page was not read. Its text is fit for a reply.
type FetchError struct {
	URL        string
	Kind       Failure
	Status     int           // HTTP status when there was one
	RetryAfter time.Duration // what the server asked for, 0 when it did not
	Reason     string
	Err        error
}

func (e *FetchError) Error() string { return e.Reason }

func (e *FetchError) Unwrap() error { return e.Err }

func fail(kind Failure, err error, format string, args ...any) *FetchError {
	return &FetchError{Kind: kind, Reason: fmt.Sprintf(format, args...), Err: err}
}

// Fetch reads one page. The error is a *FetchError, or the context's error when
// the caller gave up.
func (f *Fetcher) Fetch(ctx context.Context, raw string) (Page, error) {
	start := time.Now()
	u, err := parseTarget(raw)
	if err != nil {
		return Page{}, &FetchError{URL: raw, Kind: FailRefused, Reason: err.Error(), Err: err}
	}
	if err := f.all.Acquire(ctx, 1); err != nil {
		return Page{}, err
	}
	defer f.all.Release(1)
	page, err := f.fetch(ctx, u)
	if err != nil {
		if ctx.Err() != nil {
			return Page{}, ctx.Err()
		}
		var known *FetchError
		if !errors.As(err, &known) {
			known = &FetchError{Kind: FailUnreachable, Reason: err.Error(), Err: err}
		}
		known.URL = raw
		f.options.Logger.DebugContext(ctx, "page not read", "url", raw, "kind", known.Kind, "reason", known.Reason)
		return Page{}, known
	}
	page.URL, page.Took = raw, time.Since(start)
	return page, nil
}

// parseTarget accepts what users paste: a missing scheme means https. Credentials
// and fragment are dropped, a code host's page of a file becomes the file.
func parseTarget(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if !strings.Contains(raw, "://") && !strings.HasPrefix(raw, "/") {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%q is not a web address", raw)
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return rawFile(u), nil
}

// fetch follows redirects by hand, one attempt at each hop.
func (f *Fetcher) fetch(parent context.Context, u *url.URL) (Page, error) {
	ctx, cancel := context.WithTimeout(parent, f.options.PageTimeout)
	defer cancel()
	fromException := f.guard.allowed(hostPort(u))
	for range maxRedirects + 1 {
		if err := f.guard.checkURL(u); err != nil {
			return Page{}, fail(FailRefused, err, "%s", err)
		}
		// An exception is asked for by name; a public page may not redirect into it.
		if f.guard.allowed(hostPort(u)) && !fromException {
			return Page{}, fail(FailRefused, ErrRefused, "a redirect leads to %s, which may only be asked for directly", hostPort(u))
		}
		if !f.options.IgnoreRobots && !f.mayFetch(ctx, u) {
			return Page{}, fail(FailRobots, nil, "%s asks programs not to read this page (robots.txt; research.robots: false overrides)", u.Host)
		}
		cached := f.cache.load(u)
		if cached.fresh(time.Now()) {
			return f.read(ctx, cached.body())
		}
		got, err := f.hop(ctx, u, cached)
		if err != nil {
			return Page{}, err
		}
		if got.location == nil {
			defer got.discard()
			return f.read(ctx, got)
		}
		u = rawFile(got.location)
	}
	return Page{}, fail(FailRedirects, nil, "more than %d redirects", maxRedirects)
}
