package offload

import (
	"context"
	"errors"
	"time"

	"legwork/pkg/llm"
)

const (
	// loadWait bounds how long a call waits for a server that is loading its model.
	loadWait = 90 * time.Second
	// lookAgain: after a command that ran longer, servers are looked for once more.
	lookAgain = 10 * time.Second
)

// chosen is the model of a call, found while the command runs.
type chosen struct {
	choice llm.Choice
	err    error
}

// chooseModel looks for the model. One that was asked for by name must exist before anything runs;
// otherwise the look-up happens beside the command, and ends with ctx.
func (c *call) chooseModel(ctx context.Context) (<-chan chosen, error) {
	out := make(chan chosen, 1)
	if c.Models == nil {
		out <- chosen{err: llm.ErrNoServer}
		return out, nil
	}
	if c.req.Model != "" || c.req.Endpoint != "" {
		ch, err := c.choose(ctx)
		if err != nil {
			return nil, err
		}
		out <- chosen{choice: ch}
		return out, nil
	}
	c.looking.Go(func() {
		ch, err := c.choose(ctx)
		out <- chosen{ch, err}
	})
	return out, nil
}

// choose waits, within limits, for a server that is loading.
func (c *call) choose(ctx context.Context) (llm.Choice, error) {
	ctx, cancel := context.WithTimeout(ctx, loadWait)
	defer cancel()
	return c.Models.Choose(ctx, llm.Want{
		Tool: "offload", Model: c.req.Model, Endpoint: c.req.Endpoint, Wait: true,
		OnProgress: func(p llm.Progress) { c.progress("offload: waiting: %s", p.Text) },
	})
}

// await is the model that was found, or why there is none.
func (c *call) await(ctx context.Context, model <-chan chosen) (llm.Choice, error) {
	select {
	case ch := <-model:
		if errors.Is(ch.err, llm.ErrNoServer) && c.Models != nil && time.Since(c.start) > lookAgain {
			return c.choose(ctx)
		}
		return ch.choice, ch.err
	case <-ctx.Done():
		return llm.Choice{}, context.Cause(ctx)
	}
}

// noModel says why no model answers. That no server runs is normal where none is configured, and told by
// the first line.
func (c *call) noModel(err error) {
	c.res.Outcome = "no_model"
	if !errors.Is(err, llm.ErrNoServer) || len(c.Config.Endpoints) > 0 {
		c.note("no model was used: %s", short(err.Error(), 600))
	}
}

// errWindow is a window that holds no question about a text.
var errWindow = errors.New("its window is too small for a question about a text")

// modelFailed tells the ways apart in which a call can go wrong.
func (c *call) modelFailed(err error) {
	var timeout *llm.TimeoutError
	var over *llm.OverflowError
	switch {
	case errors.As(err, &timeout):
		c.res.Outcome = "timeout"
	case errors.As(err, &over), errors.Is(err, errWindow):
		c.res.Outcome = "overflow"
	default:
		c.res.Outcome = "transport_error"
	}
	c.note("the model gave no answer: %s; these are the reader's best lines", short(err.Error(), 600))
}
