package offload

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"legwork/pkg/digest"
	"legwork/pkg/llm"
	"legwork/pkg/runners"
)

const (
	smallWindow = 4_096 // taken when a server does not tell: the smallest default in the field
	overhead    = 200   // tokens of template and marks around the parts of a prompt
	leastRoom   = 200   // tokens of material below which asking makes no sense
	partSize    = 6_000 // tokens of one part
	shortAnswer = 300   // tokens for a model that does not think before it answers
)

//go:embed prompts/system.md
var systemPrompt string

// asking is how the chosen model is used in this call.
type asking struct {
	llm.Choice
	answer int // tokens of an answer
	room   int // tokens of material that fit beside question and answer
	budgets
}

// plan sizes the call to the model's window and speed.
func (c *call) plan(ch llm.Choice) (asking, error) {
	window := max(ch.Window, ch.MaxWindow)
	if window == 0 {
		window = max(ch.PlanWindow(), smallWindow)
	}
	a := asking{Choice: ch, answer: min(c.Config.Offload.AnswerTokens, window/4), budgets: newSpeeds(c.StateDir).budget(ch)}
	if ch.Caps.Known && !ch.Caps.Thinking {
		a.answer = min(a.answer, shortAnswer)
	}
	a.room = window - a.answer - c.Models.Estimate(ch, systemPrompt+c.req.Question) - overhead
	if a.room < leastRoom {
		return a, fmt.Errorf("%s has %d tokens: %w", ch.Model, window, errWindow)
	}
	return a, nil
}

// askModel reads the material with the model: whole, in parts, or the best lines of it.
func (c *call) askModel(ctx context.Context, ch llm.Choice) error {
	a, err := c.plan(ch)
	if err != nil {
		return err
	}
	total := c.doc.Tokens()
	fits := total <= a.room
	switch c.req.Coverage {
	case "focused":
		return c.askFocused(ctx, a)
	case "full":
		if fits {
			return c.askWhole(ctx, a)
		}
		return c.askParts(ctx, a)
	}
	switch {
	case fits && total <= a.whole:
		return c.askWhole(ctx, a)
	case total <= a.parts:
		return c.askParts(ctx, a)
	}
	return c.askFocused(ctx, a)
}

// askWhole gives the model every line as it stands; nothing is folded.
func (c *call) askWhole(ctx context.Context, a asking) error {
	text, err := c.mat.all()
	if err != nil {
		return err
	}
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		n++
		fmt.Fprintf(&b, "%d: %s", n, line)
	}
	c.res.Coverage.read(1, n)
	c.res.Coverage.Chunks = 1
	return c.ask(ctx, a, c.withFacts(b.String()))
}

func (c *call) askFocused(ctx context.Context, a asking) error {
	sel, err := c.doc.Select(ctx, c.req.Question, digest.Budget{Tokens: min(a.room, a.focus)})
	if err != nil {
		return err
	}
	for _, l := range sel.Lines {
		c.res.Coverage.read(l.No, l.No)
	}
	c.res.Coverage.Chunks, c.res.Coverage.BytesCut = 1, sel.Coverage.BytesCut
	c.res.Coverage.LinesCut = sel.Coverage.LinesCut
	return c.ask(ctx, a, c.withFacts(sel.Text()))
}

// withFacts puts what a parser found before the text, so that the model need not find it again.
func (c *call) withFacts(text string) string {
	if c.res.Run == nil {
		return text
	}
	return strings.Join(c.res.Run.Lines(runners.Render{IDs: maxIDs, Messages: 12, Limit: 600}), "\n") + "\n" + text
}

// ask puts the question about text and takes the answer into the result.
func (c *call) ask(ctx context.Context, a asking, text string) error {
	ans, err := c.chat(ctx, a, text, c.req.Question, func(p llm.Progress) { c.progress("offload: %s", p.Text) })
	if err != nil {
		return err
	}
	c.res.Model, c.res.Endpoint, c.res.Outcome = ans.Model, ans.Endpoint, string(ans.Outcome)
	if ans.Unreliable != "" {
		c.note("unreliable: %s", ans.Unreliable)
	}
	said := strings.TrimSpace(ans.Text)
	switch {
	case ans.Outcome == llm.Answered && said != "":
		c.res.By, c.res.Answer = ByModel, oneParagraph(said)
	case ans.Outcome == llm.CutOff && said != "":
		c.res.By, c.res.Answer = ByModel, oneParagraph(said)
		c.note("the answer is not whole: %s", ans.Note)
	default:
		c.note("the model's answer was unusable (%s): %s", ans.Outcome, ans.Note)
	}
	return nil
}

// chat asks one question about one text. The order is system, material, question: a second question about
// the same material finds it in the server's prefix cache.
func (c *call) chat(ctx context.Context, a asking, text, question string, say func(llm.Progress)) (*llm.Answer, error) {
	cold := 0.0
	ans, err := c.Models.Chat(ctx, llm.Request{
		Choice: a.Choice, MaxTokens: a.answer, Temperature: &cold,
		Think: llm.ThinkOff, // a look-up: models without a GPU think for minutes and say the same
		Messages: []llm.Message{
			{Role: "system", Content: strings.TrimSpace(systemPrompt)},
			{Role: "user", Content: fence(c.mask(text)) + "\n\nQuestion: " + question + "\nAnswer in one short line."},
		},
		OnProgress: say,
	})
	if err != nil {
		return nil, err
	}
	if ans.Swapped == "" {
		newSpeeds(c.StateDir).learn(a.Choice, ans)
	}
	c.tokens.Lock()
	defer c.tokens.Unlock()
	if ans.Swapped != "" && !slices.Contains(c.res.Notes, ans.Swapped) {
		c.note("%s", ans.Swapped)
	}
	c.res.InTok += ans.Usage.Prompt
	c.res.OutTok += ans.Usage.Completion
	c.res.CachedTok += ans.Usage.Cached
	return ans, nil
}

// fence marks the material as data. The mark follows from the text itself: nobody can write it into
// the text beforehand, and the same text keeps the same prompt, which the server's prefix cache needs.
func fence(text string) string {
	mark := fmt.Sprintf("material-%x", sha256.Sum256([]byte(text)))[:17]
	return "<" + mark + ">\n" + strings.TrimRight(text, "\n") + "\n</" + mark + ">"
}

// oneParagraph keeps the reply small: a model asked for one line that writes a page is cut at a sentence.
func oneParagraph(s string) string {
	const limit = 1200
	s = strings.TrimSpace(s)
	if len(s) <= limit {
		return s
	}
	cut := s[:limit]
	if i := strings.LastIndexAny(cut, ".\n"); i > limit/2 {
		cut = cut[:i+1]
	}
	return strings.ToValidUTF8(cut, "") + fmt.Sprintf(" [… %d more bytes of the answer left out]", len(s)-len(cut))
}
