package llm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// raw is one complete exchange, before it is judged.
type raw struct {
	text, reasoning strings.Builder
	finish          string
	model           string // as the reply names it
	usage           Usage
	ended, looped   bool
	firstByte       time.Duration
	took            time.Duration
}

// statusError is a reply other than 200.
type statusError struct {
	status int
	body   []byte
	after  time.Duration // Retry-After, 0: not told
}

func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.status, excerpt(e.body)) }

// droppedError is a connection that ended before the answer did.
type droppedError struct {
	got int // bytes of answer until then
	err error
}

func (e *droppedError) Error() string {
	return fmt.Sprintf("the connection was dropped after %d bytes of answer: %v", e.got, e.err)
}

func (e *droppedError) Unwrap() error { return e.err }

var errNoEnd = errors.New("the answer ended without its end mark")

// maxFull bounds a reply that does not stream.
const maxFull = 64 << 20

// watchdog cancels a request when nothing comes: first for the long wait before
// the first token, then between pieces. The cancellation closes the connection,
// and with it the server's work.
type watchdog struct {
	cfg    *Settings
	name   string
	cancel context.CancelCauseFunc
	timer  *time.Timer
	began  bool
}

func watch(ctx context.Context, cfg *Settings, name string) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{cfg: cfg, name: name, cancel: cancel}
	w.timer = time.AfterFunc(cfg.FirstByteTimeout, func() { w.fire() })
	return ctx, w
}

func (w *watchdog) fire() {
	w.cancel(&TimeoutError{Endpoint: w.name, Limit: "first byte", After: w.cfg.FirstByteTimeout})
}

// alive is called for every sign of life; began says that the answer has begun.
func (w *watchdog) alive(began bool) {
	if !began && !w.began {
		w.timer.Reset(w.cfg.FirstByteTimeout)
		return
	}
	if !w.began && w.timer.Stop() {
		w.began = true
		w.timer = time.AfterFunc(w.cfg.IdleTimeout, func() {
			w.cancel(&TimeoutError{Endpoint: w.name, Limit: "idle", After: w.cfg.IdleTimeout})
		})
		return
	}
	w.timer.Reset(w.cfg.IdleTimeout)
}

func (w *watchdog) stop() { w.timer.Stop(); w.cancel(nil) }

// exchange sends one body and reads the answer to its end. Errors:
// *statusError, *droppedError, *faultError, *TimeoutError of our own limits,
// ctx's, or what the dialler says.
func (r *Registry) exchange(ctx context.Context, cfg *Settings, s *server, w *wire, body []byte, rep *reporter) (*raw, error) {
	outer := ctx
	ctx, dog := watch(ctx, cfg, s.Name)
	defer dog.stop()
	start := time.Now()
	out := &raw{}
	err := r.receive(ctx, s, w, body, rep, dog, out, start)
	out.took = time.Since(start)
	if err == nil {
		return out, nil
	}
	if outer.Err() != nil {
		return out, outer.Err()
	}
	if limit, ok := errors.AsType[*TimeoutError](context.Cause(ctx)); ok {
		return out, limit
	}
	return out, err
}

func (r *Registry) receive(ctx context.Context, s *server, w *wire, body []byte, rep *reporter, dog *watchdog, out *raw, start time.Time) error {
	accept := http.Header{"Accept": {"text/event-stream, application/x-ndjson, application/json"}, "Anthropic-Version": {anthropicVersion}}
	resp, err := r.send(ctx, s, w.url(s), body, accept)
	for range 3 {
		// Servers close kept-alive connections after seconds; nothing was sent then.
		if err == nil || !strings.Contains(err.Error(), "server closed idle connection") {
			break
		}
		resp, err = r.send(ctx, s, w.url(s), body, accept)
	}
	if err != nil {
		return dialOrDropped(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		b, readErr := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if readErr != nil && len(b) == 0 {
			return &droppedError{err: readErr}
		}
		return &statusError{resp.StatusCode, b, retryAfter(resp.Header.Get("Retry-After"))}
	}
	in := bufio.NewReaderSize(resp.Body, 16<<10)
	switch first, err := firstByte(in); {
	case err != nil:
		return &droppedError{err: err}
	case first == '<':
		return &statusError{status: resp.StatusCode, body: []byte("an HTML page, not an answer of a model server")}
	case first == '{' && w.full != nil:
		return readFull(in, w, out, dog, start)
	}
	if err := readStream(in, w, out, dog, rep, start); err != nil || out.looped {
		return err
	}
	// To the real end, so that the server is done with us and the connection can
	// be used again; but some keep it open after their end mark.
	dog.timer.Stop()
	dog.timer = time.AfterFunc(lingerMost, func() { dog.cancel(nil) })
	_, _ = io.Copy(io.Discard, io.LimitReader(in, maxLine))
	return nil
}

// lingerMost bounds the wait for the end of the body after the end of the answer.
const lingerMost = 100 * time.Millisecond

// firstByte peeks at the first byte that is no blank.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\n' && b != '\r' && b != '\t' {
			return b, in.UnreadByte()
		}
	}
}

// readFull reads a reply of a server that does not stream.
func readFull(in *bufio.Reader, w *wire, out *raw, dog *watchdog, start time.Time) error {
	out.firstByte = time.Since(start)
	dog.alive(true)
	b, err := io.ReadAll(io.LimitReader(in, maxFull))
	if err != nil {
		return &droppedError{len(b), err}
	}
	ds, err := w.full(b)
	if err != nil {
		return brokenOr(err, len(b))
	}
	for _, d := range ds {
		out.take(d)
	}
	if !out.ended {
		return &droppedError{out.text.Len(), errNoEnd}
	}
	return nil
}

func readStream(in io.Reader, w *wire, out *raw, dog *watchdog, rep *reporter, start time.Time) error {
	var said, thought loopWatch
	err := w.stream(in, func(d delta) bool {
		something := d.text != "" || d.reasoning != ""
		if something && out.firstByte == 0 {
			out.firstByte = time.Since(start)
		}
		dog.alive(something || d.finish != "" || d.end)
		out.take(d)
		if !something {
			return false
		}
		rep.piece()
		out.looped = d.text != "" && said.add(d.text) || d.reasoning != "" && thought.add(d.reasoning)
		return out.looped
	})
	switch {
	case out.looped:
		return nil
	case err != nil:
		return brokenOr(err, out.text.Len())
	case out.ended || out.finish != "":
		return nil
	case said.stuck() || thought.stuck():
		// Ollama stops after 30 equal tokens without an end mark.
		out.looped = true
		return nil
	}
	return &droppedError{out.text.Len(), errNoEnd}
}

func (o *raw) take(d delta) {
	o.text.WriteString(d.text)
	o.reasoning.WriteString(d.reasoning)
	if d.finish != "" {
		o.finish = d.finish
	}
	if d.usage != nil {
		o.usage = *d.usage
	}
	if d.model != "" { // gateways leave it out of pieces that are their own
		o.model = d.model
	}
	o.ended = o.ended || d.end
}

// brokenOr leaves what the server said as it is; anything else while reading is
// a dropped connection.
func brokenOr(err error, got int) error {
	if _, ok := errors.AsType[*faultError](err); ok {
		return err
	}
	return &droppedError{got, err}
}

// dialOrDropped tells a connection that was never made from one that broke: a
// kept-alive connection that the server had closed shows only when used.
func dialOrDropped(err error) error {
	if isRefused(err) || isTimeout(err) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err) || strings.Contains(err.Error(), "EOF") {
		return &droppedError{err: err}
	}
	return err
}

func retryAfter(v string) time.Duration {
	if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil && n >= 0 {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}
