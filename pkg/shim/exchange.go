package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxRequest bounds a body of the client.
const maxRequest = 64 << 20

// exchange is one request of the client and everything done for it.
type exchange struct {
	s       *Shim
	header  http.Header // the client's
	req     *request
	rec     *Record
	n       notes
	spliced *notes // of the last splicing
	sent    string // the body last sent, for the full record
	window  int    // as told by an error, 0: nothing told
	// untouched is a whole answer as the server sent it.
	untouched string
	// viaChat sends a request of the native route to /v1/chat/completions.
	viaChat bool
}

func (s *Shim) serveMessages(w http.ResponseWriter, r *http.Request) {
	x := s.exchange(r, "/v1/messages")
	ctx := r.Context()
	out := newSSESink(w, s.opt.Full)
	fail := x.read(w, r)
	if fail == nil {
		fail = x.prepare(ctx)
	}
	switch {
	case fail != nil:
		x.refuse(out, *fail)
	case x.req.stream:
		x.stream(ctx, out)
	default:
		x.whole(ctx, out)
	}
	x.close(out)
}

func (s *Shim) exchange(r *http.Request, path string) *exchange {
	return &exchange{s: s, header: r.Header, rec: &Record{
		Time: time.Now().UTC(), ID: randomHex(8), Path: path,
		Model: s.target.Model, Status: http.StatusOK,
	}}
}

// read takes the body in.
func (x *exchange) read(w http.ResponseWriter, r *http.Request) *failure {
	body, err := readBody(w, r)
	if err != nil {
		f := badRequest(err.Error())
		return &f
	}
	x.rec.BytesIn = len(body)
	body, bad := sanitize(body)
	if bad > 0 {
		x.n.addf("%d broken characters replaced", bad)
	}
	if err := checkJSON(body); err != nil {
		f := badRequest(err.Error())
		return &f
	}
	x.req = parseRequest(body)
	x.rec.Model = orElse(x.rec.Model, x.req.model)
	x.rec.Stream, x.rec.Messages, x.rec.Tools = x.req.stream, x.req.turns, len(x.req.tools)
	if x.req.turns == 0 {
		f := badRequest("messages: at least one message is required")
		return &f
	}
	return nil
}

// readBody reads the body into a string without a second copy.
func readBody(w http.ResponseWriter, r *http.Request) (string, error) {
	var b strings.Builder
	if r.ContentLength > 0 && r.ContentLength <= maxRequest {
		b.Grow(int(r.ContentLength))
	}
	_, err := io.Copy(&b, http.MaxBytesReader(w, r.Body, maxRequest))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return "", fmt.Errorf("request larger than %d MB", maxRequest>>20)
	}
	if err != nil {
		return "", fmt.Errorf("request body not read: %w", err)
	}
	return b.String(), nil
}

// prepare splices and measures.
func (x *exchange) prepare(ctx context.Context) *failure {
	if err := x.s.findRoute(ctx); err != nil {
		f := transportFailure(err, x.s.target.BaseURL)
		return &f
	}
	x.splice()
	return x.s.measure(ctx, x.req, x.header, &x.n)
}

// splice makes the forwarded body from what is known about the server now. It can be done again after a lesson.
func (x *exchange) splice() {
	if x.spliced != nil {
		fresh := parseRequest(x.req.in)
		fresh.tokens, fresh.exact = x.req.tokens, x.req.exact
		x.req = fresh
	}
	x.spliced = &notes{}
	x.req.splice(x.s.rules(), x.spliced)
	x.req.conv = conversation{} // the forwarded body is all that is needed while the server works
}

func (s *Shim) rules() spliceRules {
	drop := map[string]bool{}
	for _, name := range s.opt.DropTools {
		drop[name] = true
	}
	return spliceRules{
		model: s.target.Model, local: s.target.local(), chat: s.route() == RouteChat,
		textOnly:  s.target.TextOnly || s.learned.has(lessonTextOnly),
		alternate: s.learned.has(lessonAlternate), drop: s.learned.drops(), dropTools: drop,
	}
}

// stream answers a streaming request.
func (x *exchange) stream(ctx context.Context, out *sseSink) {
	stop := keepAlive(out, x.s.opt.PingEvery)
	defer stop()
	if fail := x.answer(ctx, out); fail != nil {
		x.refuse(out, *fail)
	}
}

// keepAlive pings in the silences of out until the returned function is called.
func keepAlive(out *sseSink, every time.Duration) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTimer(every)
		defer t.Stop()
		for {
			select {
			case <-quit:
				return
			case <-t.C:
				t.Reset(out.ping(every))
			}
		}
	}()
	return func() { close(quit); <-done }
}

// answer asks until there is an answer worth giving: an empty one is asked for once more, a failed call is asked for
// once with a call forced. The real API is taken at its word.
func (x *exchange) answer(ctx context.Context, out emitter) *failure {
	for try := 1; ; try++ {
		p := x.repairer(out)
		if fail := x.ask(ctx, x.body, p); fail != nil {
			return fail
		}
		switch p.settle() {
		case endEmpty:
			if try == 1 && x.s.target.local() {
				x.n.add("empty answer asked for again")
				continue
			}
		case endFailed:
			x.force(ctx, p)
		case endDone:
		}
		p.end()
		return nil
	}
}

func (x *exchange) repairer(out emitter) *repairer {
	return &repairer{req: x.req, out: out, n: &x.n, ids: x.s.ids, schemas: x.s.tools, rec: x.rec, local: x.s.target.local()}
}

// body is what is sent now.
func (x *exchange) body() string {
	if x.s.target.Kind == Anthropic && !x.req.exact {
		return x.req.body // nothing is counted there, and the real API knows its own limits
	}
	return x.req.clamp(x.req.body, orZero(x.window, x.s.target.Window), x.spliced)
}

// whole answers a request that wants one JSON message.
func (x *exchange) whole(ctx context.Context, out *sseSink) {
	before := x.n.len()
	c := &collector{}
	if fail := x.answer(ctx, c); fail != nil {
		x.refuse(out, *fail)
		return
	}
	msg := c.message()
	if raw := x.untouched; raw != "" && x.n.len() == before {
		msg = raw // nothing was repaired: the server's own bytes
	}
	out.json(http.StatusOK, msg)
}

// refuse tells the client, and the record, that there is no answer.
func (x *exchange) refuse(out *sseSink, f failure) {
	x.rec.Error = clip(f.message, 500)
	if f.raw != "" && !strings.Contains(f.raw, f.message) {
		x.rec.Error += " · " + clip(f.raw, 500)
	}
	x.rec.Status = f.status
	if out.isCommitted() {
		x.rec.Status = http.StatusOK
	}
	x.rec.Outcome = outcomeOf(f)
	if f.status != 499 {
		out.fail(f)
	}
}

func outcomeOf(f failure) Outcome {
	switch {
	case f.status == 499:
		return ClientGone
	case f.class == classOverflow:
		return Overflowed
	case f.class == classStall:
		return Stalled
	case f.class == classTransport:
		return Cut
	case f.status < 500 && f.status != http.StatusTooManyRequests:
		return Refused
	default:
		return Busy
	}
}

// close writes the record.
func (x *exchange) close(out *sseSink) {
	rec := x.rec
	rec.TotalMS = ms(time.Since(rec.Time))
	rec.BytesOut = out.bytes
	if !out.first.IsZero() {
		rec.FirstMS = ms(out.first.Sub(rec.Time))
	}
	if rec.Outcome == "" {
		rec.Outcome = Answered
	}
	var b *bodies
	if x.req != nil {
		rec.BytesUp, rec.Prompt, rec.Counted = len(x.req.body), x.req.tokens, x.req.exact
		x.measured()
		if x.s.opt.Full {
			b = &bodies{ID: rec.ID, Received: x.s.rec.body(x.req.in), Forwarded: x.s.rec.body(x.sent), Answer: x.s.rec.body(out.log.String())}
		}
	}
	rec.Route = x.s.route()
	if x.spliced != nil {
		rec.Changed = x.spliced.list()
	}
	rec.Changed = append(rec.Changed, x.n.list()...)
	if err := x.s.rec.put(*rec, b); err != nil {
		x.s.log.Warn("request record not written", "err", err)
	}
	x.s.log.Info("request", "id", rec.ID, "status", rec.Status, "outcome", rec.Outcome, "ms", int(rec.TotalMS),
		"prompt", rec.Usage.Total(), "cached", rec.Usage.Cached, "output", rec.Usage.Output, "changed", len(rec.Changed))
}

// measured learns from the server's own usage, and doubts it where it must be wrong.
func (x *exchange) measured() {
	total := x.rec.Usage.Total()
	if total == 0 || x.rec.Usage.Estimated || x.rec.Outcome != Answered {
		return
	}
	w := x.s.target.Window
	if w > 0 && total >= w-1 || (x.req.tokens > 4096 && total < x.req.tokens/2 && x.s.target.Kind == Ollama) {
		x.rec.Suspect = fmt.Sprintf("the server read %d tokens of a prompt of about %d: it may have cut it silently", total, x.req.tokens)
		return
	}
	x.s.meter.learn(x.req, total)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
