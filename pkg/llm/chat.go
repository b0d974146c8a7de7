package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Chat plans, waits for a slot, sends, streams and judges one call. A dropped
// connection is tried once more; a server that is full, loading or restarting is
// waited for inside ctx's deadline (or FirstByteTimeout, without one). Errors:
// [*TransportError], [*RequestError], [*TimeoutError], [*OverflowError], and
// ctx's when the caller cancelled; everything the model did is in the Answer.
func (r *Registry) Chat(ctx context.Context, q Request) (*Answer, error) {
	cfg, _ := r.snapshot()
	c, err := r.newCall(ctx, cfg, q)
	if err != nil {
		return nil, err
	}
	ans, err := c.once(ctx, q.Messages)
	if err != nil {
		return nil, err
	}
	if ans.Outcome == Empty && ans.Reasoning != "" && c.last.finish == finishLength {
		if ans, err = c.thinkLess(ctx, ans); err != nil {
			return nil, err
		}
	}
	if c.schema != nil && ans.Outcome == Answered {
		return c.settle(ctx, ans)
	}
	return ans, nil
}

// call is one Chat on its way.
type call struct {
	r      *Registry
	cfg    *Settings
	q      Request
	rep    *reporter
	schema *checker
	think  Think
	budget int

	last *raw // of the last exchange
	used Usage
	tries,
	retries int
	waited time.Duration
	start  time.Time
}

func (r *Registry) newCall(ctx context.Context, cfg *Settings, q Request) (*call, error) {
	if len(q.Messages) == 0 {
		return nil, errors.New("chat: no messages")
	}
	if r.server(q.Choice.Endpoint) == nil {
		return nil, unknownEndpoint(cfg, q.Choice.Endpoint)
	}
	c := &call{
		r: r, cfg: cfg, q: q, think: q.Think, start: time.Now(),
		rep:    &reporter{f: q.OnProgress, endpoint: q.Choice.Endpoint},
		budget: cmp.Or(q.MaxTokens, cfg.AnswerTokens),
	}
	var err error
	if q.Schema != nil {
		if c.schema, err = newChecker(q.Schema); err != nil {
			return nil, err
		}
	}
	return c, ctx.Err()
}

// once gets one answer, on whichever endpoint has room. After a failure of the
// transport another endpoint that serves the model is preferred.
func (c *call) once(ctx context.Context, msgs []Message) (*Answer, error) {
	var failed []string
	for {
		s := c.place(failed)
		c.rep.endpoint = s.Name
		ans, err := c.on(ctx, s, msgs)
		var te *TransportError
		if !errors.As(err, &te) || ctx.Err() != nil {
			return ans, err
		}
		failed = append(failed, s.Name)
		c.r.forget(s.Name)
		again := errors.As(te.Err, new(*droppedError)) && c.retries == 0 || len(failed) <= len(c.q.Choice.Also)
		if !again {
			return nil, err
		}
		c.retries++
		c.rep.say(PhaseRetry, "%s failed (%s), once more", s.Name, te.Error())
	}
}

// place picks the endpoint with most free slots among those serving the model.
func (c *call) place(failed []string) *server {
	if len(c.q.Choice.Also) == 0 {
		return c.r.server(c.q.Choice.Endpoint)
	}
	var best *server
	most := 0
	for _, name := range append([]string{c.q.Choice.Endpoint}, c.q.Choice.Also...) {
		s := c.r.server(name)
		if s == nil || slices.Contains(failed, name) && len(failed) <= len(c.q.Choice.Also) {
			continue
		}
		held, _ := c.r.slots.held(s.key)
		if f := slotTotal(c.cfg, s, s.told()) - held; best == nil || f > most {
			best, most = s, f
		}
	}
	if best == nil {
		return c.r.server(c.q.Choice.Endpoint)
	}
	return best
}

// on holds one slot of one endpoint until the call there is over.
func (c *call) on(ctx context.Context, s *server, msgs []Message) (*Answer, error) {
	before := time.Now()
	t, err := c.r.acquire(ctx, c.cfg, s, c.rep)
	c.waited += time.Since(before)
	if err != nil {
		return nil, c.ended(ctx, s, err)
	}
	defer t.release()

	w := c.wireCall(s, msgs)
	p, err := c.r.plan(ctx, s, w, c.limit(w.backend))
	if err != nil {
		return nil, err
	}
	out, err := c.converse(ctx, s, w, &p)
	if err != nil {
		return nil, err
	}
	return c.judge(s, w, &p, out)
}

// limit is the most that prompt and answer may take.
func (c *call) limit(b Backend) int {
	if b == Ollama && c.q.Choice.MaxWindow > 0 {
		return c.q.Choice.MaxWindow
	}
	return c.q.Choice.Window
}

func (c *call) wireCall(s *server, msgs []Message) *wireCall {
	backend := s.kind()
	if backend == Auto {
		backend = c.q.Choice.Backend
	}
	w := &wireCall{
		backend: backend, model: c.q.Choice.Model, messages: msgs, maxTokens: c.budget, temperature: c.q.Temperature,
		seed: c.q.Seed, stop: c.q.Stop, think: c.think, schema: c.q.Schema, keepAlive: c.cfg.KeepAlive,
	}
	if c.schema != nil && (backend == Anthropic || s.refuses("response_format", "format")) {
		w.messages = withSchema(msgs, c.q.Schema)
	}
	return w
}

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
		case vWait:
			deadline, ok := ctx.Deadline()
			if !ok || giveUp.Before(deadline) {
				deadline = giveUp
			}
			wait := max(pause, retryDelay(err))
			if time.Now().Add(wait).After(deadline) {
				return nil, final
			}
			c.rep.say(PhaseLoading, "%s is not ready (%s), trying again", s.Name, excerpt([]byte(final.Error())))
			if err := sleep(ctx, wait); err != nil {
				return nil, c.ended(ctx, s, err)
			}
			pause = min(2*pause, backoffMost)
		default:
			return nil, final
		}
	}
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
		st = &statusError{status: 500, body: fault.body}
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
		window := cmp.Or(ref.window, c.q.Choice.Window, w.numCtx)
		return ref, &OverflowError{Endpoint: s.Name, Model: w.model, Prompt: ref.prompt, Exact: ref.prompt > 0, Window: window}
	case ref.verdict == vDropped:
		return ref, &TransportError{Endpoint: s.Name, Status: st.status, Message: msg, Err: &droppedError{err: st}}
	case st.status >= 500 && permanent(st.body), st.status >= 400 && st.status < 500 && st.status != 429:
		return ref, &RequestError{Endpoint: s.Name, Status: st.status, Message: msg}
	}
	return ref, &TransportError{Endpoint: s.Name, Status: st.status, Message: msg}
}

// ended names the limit that ended a call, or passes the caller's cancellation on.
func (c *call) ended(ctx context.Context, s *server, err error) error {
	var limit *TimeoutError
	switch {
	case errors.As(err, &limit):
		return limit
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		t := &TimeoutError{Endpoint: s.Name, Limit: "deadline", After: time.Since(c.start)}
		if c.last != nil {
			t.Partial = c.last.text.String()
		}
		return t
	case ctx.Err() != nil:
		return fmt.Errorf("call to %s: %w", s.Name, ctx.Err())
	}
	return err
}

// judge makes the answer of a complete exchange and learns from it.
func (c *call) judge(s *server, w *wireCall, p *plan, out *raw) (*Answer, error) {
	c.last = out
	c.used.Prompt += out.usage.Prompt
	c.used.Cached += out.usage.Cached
	c.used.Completion += out.usage.Completion
	ans := &Answer{
		Text: out.text.String(), Reasoning: strings.TrimSpace(out.reasoning.String()), Note: p.note,
		Usage: c.used, Model: w.model, Endpoint: s.Name, Window: p.window, MaxTokens: p.maxTokens,
		Attempts: c.tries, Waited: c.waited, FirstByte: out.firstByte, Duration: out.took,
	}
	if ans.Reasoning == "" {
		ans.Reasoning, ans.Text = splitReasoning(ans.Text)
	}
	if w.backend == Ollama && p.numCtx > 0 {
		s.setLoaded(w.model, p.numCtx)
	}
	ans.Unreliable = p.suspect(w.backend, out.usage.Prompt)
	if ans.Unreliable == "" && out.usage.Prompt >= 32 {
		c.r.tokens.learn(w.model, p.x, out.usage.Prompt)
	}
	empty := strings.TrimSpace(ans.Text) == ""
	switch {
	case out.looped:
		ans.Outcome = Looped
		ans.note("the model repeated itself without end and was stopped")
	case empty && out.finish == finishLength && p.window > 0 && out.usage.Prompt >= p.window-2:
		return nil, &OverflowError{Endpoint: s.Name, Model: w.model, Prompt: out.usage.Prompt, Window: p.window}
	case empty:
		ans.Outcome = Empty
		ans.note(emptyWhy(ans, out))
	case out.finish == finishLength:
		ans.Outcome = CutOff
		ans.note(fmt.Sprintf("cut off after %d tokens", out.usage.Completion))
	case out.finish == finishUnparsable:
		ans.Outcome = CutOff
		ans.note("the server could not make sense of what the model wrote and gave up")
	case out.finish == "content_filter":
		ans.Outcome = CutOff
		ans.note("cut off by the server's content filter")
	default:
		ans.Outcome = Answered
	}
	return ans, nil
}

func (a *Answer) note(s string) {
	if a.Note != "" {
		a.Note += "; "
	}
	a.Note += s
}

func emptyWhy(ans *Answer, out *raw) string {
	switch {
	case ans.Reasoning != "" && out.finish == finishLength:
		return fmt.Sprintf("the whole budget of %d tokens went into thinking", ans.MaxTokens)
	case ans.Reasoning != "":
		return "the model only thought and gave no answer"
	case out.finish == "tool_calls" || out.finish == "tool_use":
		return "the model called a tool where none was offered"
	case out.finish == finishUnparsable:
		return "the server could not make sense of what the model wrote"
	case out.finish == finishLength:
		return "no text within the budget"
	}
	return "the model gave an empty answer"
}

// thinkLess is the one more try after thinking took the whole budget: with
// thinking off unless the caller wants it, and with more room.
func (c *call) thinkLess(ctx context.Context, first *Answer) (*Answer, error) {
	if c.think != ThinkOn {
		c.think = ThinkOff
	}
	c.budget *= 2
	c.rep.say(PhaseRetry, "thinking took the whole budget, once more")
	ans, err := c.once(ctx, c.q.Messages)
	if err != nil {
		return nil, err
	}
	ans.note(fmt.Sprintf("second try, in the first the whole budget of %d tokens went into thinking", first.MaxTokens))
	return ans, nil
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
