// Package shim stands between one headless Claude Code and one model server and hides what the two believe of each
// other. It is an http.Handler for /v1/messages and /v1/messages/count_tokens.
//
// The story of one request: check the job's token, read the body, splice it (only what the server cannot take is
// touched, every other byte is forwarded as it came), count it and answer an overflow before anything is committed,
// send it (natively, or translated to /v1/chat/completions), keep the client alive with pings while the server is
// silent, repair the answer event by event, write one line to the job's record.
//
// Rules:
//   - The conversation stays append-only: what is forwarded for turn n is the front of what is forwarded for turn
//     n+1, so the server's prefix cache holds. Every rule of splicing therefore looks at a run of turns and never at
//     what follows it.
//   - A tool call that is not complete never reaches the client.
//   - When nothing needs doing, nothing is done: an answer without a fault is passed on byte for byte.
//   - An error says whether a second try makes sense: permanent ones are 400, whatever the server called them.
//
// Pitfall: the client counts a 200 as "the prompt fits". Once the status is out, an overflow can no longer start its
// compaction, so everything that can refuse a prompt has to be asked before the first byte.
package shim

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options are the settings of one job's shim. The zero value works.
type Options struct {
	// Token is what the client must send. Empty: a random one is made.
	Token string
	// RecordDir is where requests.jsonl is written (0600). Empty: no file, OnRecord and Summary still work.
	RecordDir string
	// Full also writes requests_full.jsonl: bodies as received, as forwarded, and the answer, secrets masked.
	Full bool
	// OnRecord is called after each request, from the request's goroutine; it must be quick.
	OnRecord func(Record)
	// Mask hides further secrets in the records (the target's key, headers and the token always are hidden).
	Mask func(text string) string
	// DropTools are tools never offered to the server: the way out when one schema breaks its grammar.
	DropTools []string
	// NoSecondAsk turns off the one forced repetition of a reply that is clearly a failed tool call.
	NoSecondAsk bool
	// PingEvery is the longest silence the client sees in a stream. Default 10 s.
	PingEvery time.Duration
	// FirstByte is how long the server may be silent before its first event (queue, prompt reading). Default 10 min.
	FirstByte time.Duration
	// Idle is how long a stream that has begun may be silent. Default 2 min.
	Idle time.Duration
	// LoadWait is how long a server that is loading its model is waited for. Default 10 min.
	LoadWait time.Duration
	// Transport carries the requests to the server. Nil: a plain one, environment proxies honoured.
	Transport http.RoundTripper
	// Log gets one line per request and one per lesson learned. Nil: nothing.
	Log *slog.Logger
}

// Shim is the handler for one job. Safe for concurrent use. Close it when the job has ended.
type Shim struct {
	target  Target
	opt     Options
	token   string
	log     *slog.Logger
	up      *upstream
	learned *lessons
	meter   *meter
	ids     *idSet
	rec     *recorder
	strikes *strikes
	tools   *schemaCache
	found   routeState

	closed sync.Once
}

// New checks the target and makes a shim for it. It does not talk to the server.
// It fails with *WindowError when the window is known and below MinWindow, and with an error naming the field when the
// target is incomplete.
func New(t Target, opt Options) (*Shim, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	opt.defaults()
	token := opt.Token
	if token == "" {
		token = randomHex(24)
	}
	learned, err := loadLessons(t.Learned, t.key())
	if err != nil {
		// A damaged store costs one refused request per lesson, not the job.
		opt.Log.Warn("learned refusals not read", "path", t.Learned, "err", err)
	}
	rec, err := newRecorder(opt, secretsOf(t, token))
	if err != nil {
		return nil, err
	}
	if t.Route != RouteAuto {
		opt.Log.Info("way out chosen", "endpoint", t.Name, "route", t.Route, "window", t.Window)
	}
	return &Shim{
		target: t, opt: opt, token: token, log: opt.Log,
		up: newUpstream(t, opt), learned: learned, meter: newMeter(), ids: newIDSet(), rec: rec,
		strikes: newStrikes(), tools: newSchemaCache(),
	}, nil
}

func (o *Options) defaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&o.PingEvery, 10*time.Second)
	set(&o.FirstByte, 10*time.Minute)
	set(&o.Idle, 2*time.Minute)
	set(&o.LoadWait, 10*time.Minute)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// Token is the secret the client has to send: as bearer token, as x-api-key, or as first element of the path.
func (s *Shim) Token() string { return s.token }

// Summary is what the job did so far.
func (s *Shim) Summary() Summary { return s.rec.summary() }

// Close releases the record files and idle connections. Requests in flight are not waited for; Serve does that.
func (s *Shim) Close() error {
	var err error
	s.closed.Do(func() {
		s.up.client.CloseIdleConnections()
		err = s.rec.close()
	})
	return err
}

// Listen opens a port of 127.0.0.1 for Serve; port 0 takes any free one.
func Listen(ctx context.Context, port int) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("shim cannot listen: %w", err)
	}
	return ln, nil
}

// Serve answers requests on ln until ctx ends, then cuts what is in flight, so that no server slot is held by a job
// that is gone. It refuses a listener that other machines can reach.
func (s *Shim) Serve(ctx context.Context, ln net.Listener) error {
	if a, ok := ln.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		_ = ln.Close()
		return fmt.Errorf("shim listens on loopback only, not on %s", ln.Addr())
	}
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 30 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		// The base context is already over, so handlers are returning; Shutdown only waits for them.
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if srv.Shutdown(grace) != nil {
			_ = srv.Close()
		}
	})
	err := srv.Serve(ln)
	if stop() {
		return err // the listener failed, nobody asked us to stop
	}
	<-done
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ServeHTTP implements http.Handler.
func (s *Shim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK) // the client's reachability test, sent without a key
		return
	}
	path, ok := s.admit(r)
	if !ok {
		writeFailure(w, failure{
			status: http.StatusForbidden, kind: "permission_error",
			message: "this port belongs to another job: token missing or wrong",
		})
		return
	}
	switch {
	case path == "/v1/messages" && r.Method == http.MethodPost:
		s.serveMessages(w, r)
	case path == "/v1/messages/count_tokens" && r.Method == http.MethodPost:
		s.serveCount(w, r)
	case path == "/v1/models" && r.Method == http.MethodGet:
		s.serveModels(w)
	default:
		writeFailure(w, failure{
			status: http.StatusNotFound, kind: "not_found_error",
			message: r.Method + " " + path + " is not served here; POST /v1/messages is",
		})
	}
}

// admit checks the token and returns the path without it.
func (s *Shim) admit(r *http.Request) (string, bool) {
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, "/"); ok {
		if first, tail, found := strings.Cut(rest, "/"); found && s.is(first) {
			return "/" + tail, true
		}
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return path, s.is(r.Header.Get("x-api-key")) || s.is(bearer)
}

func (s *Shim) is(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // crypto/rand.Read never fails
	return hex.EncodeToString(b)
}
