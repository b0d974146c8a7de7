package llm

import (
	"cmp"
	"context"
	"errors"
	"slices"
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

	last    *raw   // the last complete exchange
	partial string // what came before the last one failed
	used    Usage
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
	return c.judge(ctx, s, w, &p, out)
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
