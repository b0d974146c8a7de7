package llm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// judge makes the answer of a complete exchange and learns from it.
func (c *call) judge(ctx context.Context, s *server, w *wireCall, p *plan, out *raw) (*Answer, error) {
	c.last = out
	c.used.Prompt += out.usage.Prompt
	c.used.Cached += out.usage.Cached
	c.used.Completion += out.usage.Completion
	ans := &Answer{
		Text: out.text.String(), Reasoning: strings.TrimSpace(out.reasoning.String()), Note: p.note,
		Usage: c.used, Endpoint: s.Name, Window: p.window, MaxTokens: p.maxTokens,
		Attempts: c.tries, Waited: c.waited, FirstByte: out.firstByte, Duration: out.took,
	}
	if ans.Model, ans.Swapped = c.answered(ctx, s, w.backend, w.model, out.model); ans.Swapped != "" {
		ans.note(ans.Swapped)
	}
	if ans.Reasoning == "" {
		ans.Reasoning, ans.Text = splitReasoning(ans.Text)
	}
	if w.backend == Ollama && p.numCtx > 0 {
		s.setLoaded(w.model, p.numCtx)
	}
	ans.Unreliable = p.suspect(w.backend, out.usage.Prompt)
	if ans.Unreliable == "" && out.usage.Prompt >= 32 {
		c.r.tokens.learn(ans.Model, p.x, out.usage.Prompt)
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
	case out.finish == finishStop || out.finish == "": // some end the stream without a word
		ans.Outcome = Answered
	case out.finish == "content_filter":
		ans.Outcome = CutOff
		ans.note("cut off by the server's content filter")
	default:
		ans.Outcome = CutOff
		ans.note("the server ended it with " + serverWord(out.finish) + ", which does not say that it is whole")
	}
	return ans, nil
}

func (a *Answer) note(s string) {
	if a.Note != "" {
		a.Note += "; "
	}
	a.Note += s
}

// serverWord quotes a word of a server for a message, in one short line.
func serverWord(s string) string {
	if r := []rune(s); len(r) > 100 {
		s = string(r[:100]) + "…"
	}
	return strconv.Quote(s)
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
	case out.finish != finishStop && out.finish != "":
		return "the server ended it with " + serverWord(out.finish) + " before any text"
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
