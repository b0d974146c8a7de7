package research

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"legwork/pkg/llm"
)

// answer lets the model answer from the best passages and checks what it says;
// without a usable answer the best sentences stand in.
func (r *run) answer(ctx context.Context) error {
	r.result.Answer, r.result.Claims, r.result.Extractive, r.unmet = "", nil, false, false
	if len(r.sources) == 0 {
		r.result.Outcome, r.unmet = NoSources, true
		r.result.Answer = "No page was found, so there is no answer. This does not mean that nothing exists."
		return nil
	}
	var all []*passage
	for _, s := range r.sources {
		all = append(all, s.passages...)
	}
	rank(all, r.req.Question, r.queries)
	if r.deps.Model == nil {
		r.result.Outcome = NoModel
		r.extract()
		return nil
	}
	reply, err := r.ask(ctx, all)
	if err != nil {
		if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
			return cause
		}
		r.result.Outcome = failureOutcome(err)
		r.note("the model did not answer: " + err.Error())
		r.extract()
		return nil
	}
	r.result.Outcome = reply.Outcome
	r.result.Model, r.result.Endpoint = cmp.Or(reply.Model, r.deps.Model.Name()), reply.Endpoint
	text := strings.TrimSpace(reply.Text)
	if reply.Outcome == Empty || reply.Outcome == Looped || text == "" {
		r.result.Outcome = cmp.Or(strings.TrimPrefix(reply.Outcome, Answered), Empty)
		r.extract()
		return nil
	}
	if reply.Outcome == CutOff {
		r.note("the answer is not whole: " + cmp.Or(reply.Note, "cut off by its token budget"))
	}
	r.progress("checking citations")
	r.result.Answer, r.result.Claims = r.checkAnswer(r.disarm(text))
	r.unmet = tooLittle(r.result.Answer, r.result.Claims)
	return nil
}

// failureOutcome tells a time limit from a broken exchange.
func failureOutcome(err error) string {
	var limit interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &limit) && limit.Timeout() {
		return Timeout
	}
	return Transport
}

// ask sends the prompt with as many passages as the window holds. Sizes are
// estimated; a server that finds the prompt too long is asked with half of it.
func (r *run) ask(ctx context.Context, all []*passage) (reply Reply, err error) {
	r.progress("%s answers from %d sources", r.deps.Model.Name(), len(r.sources))
	budget := r.budget()
	for range 3 {
		chosen := choosePassages(all, budget)
		reply, err = r.deps.Model.Ask(ctx, answerSystem, prompt(r.req.Question, chosen, boundary()), r.deps.AnswerTokens)
		if overflow := (*llm.OverflowError)(nil); errors.As(err, &overflow) {
			budget /= 2
			continue
		}
		if err == nil {
			r.count(reply)
			r.shown(chosen, all)
		}
		return reply, err
	}
	return reply, err
}

// shown records what the model was given of each page.
func (r *run) shown(chosen, all []*passage) {
	for _, s := range r.sources {
		s.shown = 0
	}
	given, whole := 0, 0
	for _, p := range chosen {
		p.source.shown += p.words
		given += p.words
	}
	for _, p := range all {
		whole += p.words
	}
	r.cut = ""
	if given < whole {
		r.cut = fmt.Sprintf("the model was given the %d most relevant of %d words", given, whole)
	}
}

// Bytes of source text given to the model: three bytes a token are assumed,
// which is safe for prose and for code.
const (
	bytesPerToken = 3
	maxBudget     = 16_000 * bytesPerToken // more makes small models worse, not better
	unknownWindow = 8192
	overhead      = 900 // tokens of the system prompt, heads of sources, the template
)

func (r *run) budget() int {
	window := cmp.Or(r.deps.Model.Window(), unknownWindow)
	tokens := window - r.deps.AnswerTokens - overhead - len(r.req.Question)/bytesPerToken
	return min(max(tokens, 700)*bytesPerToken, maxBudget)
}

func (r *run) count(reply Reply) {
	if reply.Swapped != "" {
		r.note(reply.Swapped)
	}
	r.result.InTok += reply.InTok
	r.result.OutTok += reply.OutTok
	r.result.CachedTok += reply.CachedTok
}

// tooLittle reports whether a second round is worth its time: the answer says
// that the sources do not answer, or nothing of it is borne out by a page.
func tooLittle(answer string, claims []Claim) bool {
	if unmetPhrase(answer[:min(len(answer), 160)]) {
		return true
	}
	held := 0
	for _, c := range claims {
		if c.Verdict != Unsupported {
			held++
		}
	}
	return held == 0
}
