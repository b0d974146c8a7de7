package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// backoff between two tries on a server that is full, loading or restarting.
const (
	backoffFirst = 200 * time.Millisecond
	backoffMost  = 10 * time.Second
)

// converse sends until the server gives an answer or a reason not to go on:
// waits where it says "later", leaves out a field it does not take.
func (c *call) converse(ctx context.Context, s *server, w *wireCall, p *plan) (*raw, error) {
	format := wireFor(w.backend)
	pause := backoffFirst
	giveUp := time.Now().Add(c.cfg.FirstByteTimeout)
	for changes := 0; ; {
		w.maxTokens, w.numCtx = p.maxTokens, p.numCtx
		fields := format.body(w)
		body, err := encode(fields, s.dropped())
		if err != nil {
			return nil, err
		}
		c.tries++
		stop := c.rep.reading(p.prompt)
		out, err := c.r.exchange(ctx, c.cfg, s, format, body, c.rep)
		stop()
		if err == nil {
			return out, nil
		}
		c.partial = out.text.String()
		if body := faultBody(err); modelsFault(body) {
			out.finish = finishUnparsable
			return out, nil
		}
		ref, final := c.refusal(ctx, s, w, err, fields)
		switch ref.verdict {
		case vDrop:
			if changes++; changes > 8 {
				return nil, final
			}
			s.drop(ref.field)
			c.r.log.Info("the server refuses a field; it is left out from now on", "endpoint", s.Name, "field", ref.field)
			if c.schema != nil && strings.Contains(ref.field, "format") {
				w.messages = withSchema(w.messages, c.q.Schema)
				next, err := c.r.plan(ctx, s, w, c.limit(w.backend))
				if err != nil {
					return nil, err
				}
				*p = next
			}
		case vClamp:
			if changes++; changes > 2 {
				return nil, final
			}
			s.learnWindow(w.model, ref.window)
			next, err := c.r.plan(ctx, s, w, ref.window)
			if err != nil {
				return nil, err
			}
			*p = next
		case vOverflow:
			// Ollama measures against the window we asked for; a larger one may do.
			limit := c.limit(w.backend)
			if w.backend != Ollama || p.numCtx >= limit && limit > 0 || p.numCtx >= ctxSteps[len(ctxSteps)-1] {
				return nil, final
			}
			p.grow(limit)
		case vWait:
			if err := c.later(ctx, s, max(pause, retryDelay(err)), giveUp, final); err != nil {
				return nil, err
			}
			pause = min(2*pause, backoffMost)
		default:
			return nil, final
		}
	}
}

// later waits for a server that is full, loading or restarting, unless that
// would take until giveUp or the caller's deadline: then it returns why.
func (c *call) later(ctx context.Context, s *server, wait time.Duration, giveUp time.Time, why error) error {
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(giveUp) {
		giveUp = deadline
	}
	if time.Now().Add(wait).After(giveUp) {
		return why
	}
	c.rep.say(PhaseLoading, "%s is not ready (%s), trying again", s.Name, excerpt([]byte(why.Error())))
	if err := sleep(ctx, wait); err != nil {
		return c.ended(ctx, s, err)
	}
	return nil
}

// faultBody is what the server said of an error of its own.
func faultBody(err error) []byte {
	var st *statusError
	var fault *faultError
	switch {
	case errors.As(err, &fault):
		return fault.body
	case errors.As(err, &st) && st.status >= 500:
		return st.body
	}
	return nil
}

// faultStatus is the status an error inside a stream names, else 500.
func faultStatus(body []byte) int {
	for _, path := range []string{"error.code", "code", "error.status"} {
		if n := int(gjson.GetBytes(body, path).Int()); n >= 400 && n < 600 {
			return n
		}
	}
	return http.StatusInternalServerError
}

func retryDelay(err error) time.Duration {
	if st, ok := errors.AsType[*statusError](err); ok {
		return st.after
	}
	return 0
}

// refusal turns the error of an exchange into what to do and, if nothing can be
// done, the error to return.
func (c *call) refusal(ctx context.Context, s *server, w *wireCall, err error, sent map[string]any) (refusal, error) {
	var st *statusError
	var fault *faultError
	var dropped *droppedError
	switch {
	case ctx.Err() != nil || errors.As(err, new(*TimeoutError)):
		return refusal{}, c.ended(ctx, s, err)
	case errors.As(err, &fault):
		st = &statusError{status: faultStatus(fault.body), body: fault.body}
	case errors.As(err, &st):
	case errors.As(err, &dropped):
		return refusal{}, &TransportError{Endpoint: s.Name, Message: s.redact(dropped.Error()), Err: dropped}
	case isRefused(err):
		ref := refusal{verdict: vWait}
		if len(c.q.Choice.Also) > 0 {
			ref.verdict = vFinal // another endpoint is the better wait
		}
		_, detail := explainDial(err, s)
		return ref, &TransportError{Endpoint: s.Name, Message: s.redact(detail), Err: err}
	default:
		_, detail := explainDial(err, s)
		return refusal{}, &TransportError{Endpoint: s.Name, Message: s.redact(detail), Err: err}
	}
	ref := judge(st.status, st.body, sent)
	msg := s.redact(excerpt(st.body))
	switch {
	case ref.verdict == vOverflow:
		window := cmp.Or(ref.window, w.numCtx, c.q.Choice.Window)
		return ref, &OverflowError{Endpoint: s.Name, Model: w.model, Prompt: ref.prompt, Exact: ref.prompt > 0, Window: window}
	case ref.verdict == vDropped:
		return ref, &TransportError{Endpoint: s.Name, Status: st.status, Message: msg, Err: &droppedError{err: st}}
	case st.status >= 500 && permanent(st.body), st.status >= 400 && st.status < 500 && st.status != 429:
		return ref, &RequestError{Endpoint: s.Name, Status: st.status, Message: msg}
	}
	return ref, &TransportError{Endpoint: s.Name, Status: st.status, Message: msg}
}

// ended names the limit that ended a call, with the text received until then, or
// passes the caller's cancellation on.
func (c *call) ended(ctx context.Context, s *server, err error) error {
	limit, ok := errors.AsType[*TimeoutError](err)
	if !ok && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		limit, ok = &TimeoutError{Endpoint: s.Name, Limit: "deadline", After: time.Since(c.start)}, true
	}
	switch {
	case ok:
		_, limit.Partial = splitReasoning(c.partial)
		return limit
	case ctx.Err() != nil:
		return fmt.Errorf("call to %s: %w", s.Name, ctx.Err())
	}
	return err
}

// --- what a server refuses

func (s *server) dropped() map[string]bool {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	return maps.Clone(s.learned.dropped)
}

func (s *server) drop(field string) {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	if s.learned.dropped == nil {
		s.learned.dropped = map[string]bool{}
	}
	s.learned.dropped[field] = true
}

func (s *server) refuses(fields ...string) bool {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	return slices.ContainsFunc(fields, func(f string) bool { return s.learned.dropped[f] })
}

func (s *server) learnWindow(model string, window int) {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	if s.learned.windows == nil {
		s.learned.windows = map[string]int{}
	}
	s.learned.windows[model] = window
}
