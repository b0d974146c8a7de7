package offload

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/sync/errgroup"

	"legwork/pkg/digest"
	"legwork/pkg/llm"
	"legwork/pkg/runners"
)

// Budgets, in tokens. A local model reads a few hundred tokens a second at best, and the measured gain
// of more lines around the right ones is small, so auto stops well below big windows.
const (
	wholeBudget   = 6_000 // auto: material up to here is read whole, in one call
	focusBudget   = 2_500 // auto: else the best lines up to here; 2,000 hold nine of ten answers (bench/)
	chunkBudget   = 6_000 // full: size of a part in map-reduce
	extractBudget = 700   // lines shown when no model answers
	minChunks     = 2     // auto: map-reduce only when this many calls for each free slot are enough
)

//go:embed prompts/system.md
var systemPrompt string

// answer tries, in this order: what the parsed run says, what can be counted, the model, the best lines.
func (c *call) answer(ctx context.Context, model <-chan chosen) error {
	c.res.Lines, c.res.Outcome = []Line{}, "answered"
	if done, err := c.answerFromRun(); done || err != nil {
		return err
	}
	if n, ok, err := c.doc.Count(ctx, c.req.Question); err != nil {
		return err
	} else if ok && !c.asksAboutRun() {
		c.res.Answer, c.res.By, c.res.Rule = n.Value, ByCount, n.Rule
		c.show(n.Lines)
		return nil
	}
	var ch chosen
	select {
	case ch = <-model:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ch.err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.noModel(ch.err)
		return c.extract(ctx)
	}
	c.res.Model, c.res.Endpoint = ch.choice.Model, ch.choice.Endpoint
	if err := c.askModel(ctx, ch.choice); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.modelFailed(err)
		return c.extract(ctx)
	}
	if c.res.Answer == "" {
		return c.extract(ctx)
	}
	return c.support(ctx)
}

var (
	asksTests = regexp.MustCompile(`(?i)\b(tests?|specs?|suites?|cases?|checks?|builds?|compil\w+|lint\w*|assert\w*)\b`)
	asksFails = regexp.MustCompile(`(?i)\b(fail\w*|broke\w*|red|errors?|crash\w*|pass(es|ed|ing)?|succe\w+|green|go(es)? wrong|wrong)\b`)
	asksWhy   = regexp.MustCompile(`(?i)\b(why|how|cause[sd]?|reason|because|explain|fix|root|suggest|should)\b`)
)

// asksAboutRun: the question is about the outcome of a run that a parser understood.
func (c *call) asksAboutRun() bool {
	if c.res.Run == nil || c.res.Run.State == runners.StateUnknown {
		return false
	}
	q := c.req.Question
	return asksFails.MatchString(q) && (asksTests.MatchString(q) || len(strings.Fields(q)) <= 6)
}

// answerFromRun answers "which test fails?" from the parsed result, so that a green run never yields a
// name. Done is false when a reason is asked for that a model may add to the facts.
func (c *call) answerFromRun() (done bool, err error) {
	if !c.asksAboutRun() {
		return false, nil
	}
	run := c.res.Run
	c.res.By, c.res.Answer = ByParser, verdict(run)
	if asksWhy.MatchString(c.req.Question) && explained(run) == 0 && (len(run.Failures) > 0 || run.State == runners.StateDidNotFinish) {
		c.res.By, c.res.Answer = "", ""
		return false, nil
	}
	return true, nil
}

// explained counts the failures that carry their reason.
func explained(r *runners.Result) (n int) {
	for _, f := range r.Failures {
		if f.Message != "" {
			n++
		}
	}
	for _, f := range r.Suites {
		if f.Message != "" {
			n++
		}
	}
	return n + len(r.BuildErrors)
}

// verdict puts a parsed result into one sentence.
func verdict(r *runners.Result) string {
	n := len(r.Failures)
	switch r.State {
	case runners.StatePassed:
		return "no test failed"
	case runners.StateNoTests:
		return "no test ran"
	case runners.StateBuildFailed:
		return fmt.Sprintf("it does not build or load: %s below", plural(len(r.BuildErrors)+len(r.Suites), "error"))
	case runners.StateDidNotFinish:
		if n == 0 {
			return "the run did not finish"
		}
		return fmt.Sprintf("the run did not finish; until then %s failed", plural(n, "test"))
	}
	if n == 0 && len(r.Suites) > 0 {
		return fmt.Sprintf("no single test failed, but %s did", plural(len(r.Suites), "suite"))
	}
	return fmt.Sprintf("%s failed%s", plural(n, "test"), named(r.Failures))
}

// named gives the ids of a few failures; the list below has them all.
func named(fs []runners.Failure) string {
	if len(fs) == 0 || len(fs) > 3 {
		return ""
	}
	var ids []string
	for _, f := range fs {
		if f.ID != "" {
			ids = append(ids, f.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return ": " + strings.Join(ids, "; ")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func (c *call) noModel(err error) {
	c.res.Outcome = "no_model"
	if !errors.Is(err, llm.ErrNoServer) {
		c.note("no model was used: %v", err)
	}
}

// modelFailed tells the four ways a call can go wrong apart.
func (c *call) modelFailed(err error) {
	var timeout *llm.TimeoutError
	var over *llm.OverflowError
	switch {
	case errors.As(err, &timeout):
		c.res.Outcome = "timeout"
	case errors.As(err, &over):
		c.res.Outcome = "overflow"
	default:
		c.res.Outcome = "transport_error"
	}
	c.note("the model gave no answer: %v; these are the reader's best lines", err)
}

// askModel reads the material with the model: whole, in parts, or the best lines of it.
func (c *call) askModel(ctx context.Context, choice llm.Choice) error {
	window := max(choice.Window, choice.MaxWindow)
	if window == 0 {
		window = 4096 // the smallest default in the field (Ollama without a GPU)
	}
	answer := min(c.Config.Offload.AnswerTokens, window/4)
	room := window - answer - c.Models.Estimate(choice, systemPrompt+c.req.Question) - 200
	total := c.doc.Tokens()
	switch mode := c.req.Coverage; {
	case room < 200:
		return fmt.Errorf("the window of %s is %d tokens, too small for a question about a text", choice.Model, window)
	case mode != "focused" && total <= room && (mode == "full" || total <= wholeBudget):
		return c.askWhole(ctx, choice, answer)
	case mode == "full", mode == "auto" && total <= min(room, chunkBudget)*minChunks*max(choice.Slots, 1) && choice.Slots > 1:
		return c.askParts(ctx, choice, answer, min(room, chunkBudget))
	default:
		return c.askFocused(ctx, choice, answer, min(room, focusBudget))
	}
}

func (c *call) askWhole(ctx context.Context, choice llm.Choice, answer int) error {
	var text strings.Builder
	for ch, err := range c.doc.Chunks(ctx, 1<<30) {
		if err != nil {
			return err
		}
		text.WriteString(ch.Text)
		c.res.Coverage.LinesRead += ch.To - ch.From + 1
	}
	c.res.Coverage.Chunks = 1
	return c.ask(ctx, choice, c.withFacts(text.String()), answer)
}

func (c *call) askFocused(ctx context.Context, choice llm.Choice, answer, budget int) error {
	sel, err := c.doc.Select(ctx, c.req.Question, digest.Budget{Tokens: budget})
	if err != nil {
		return err
	}
	c.res.Coverage.LinesRead, c.res.Coverage.Chunks = len(sel.Lines), 1
	c.res.Coverage.BytesCut = sel.Coverage.BytesCut
	c.res.NotInText = !sel.Answered
	return c.ask(ctx, choice, c.withFacts(sel.Text()), answer)
}

// withFacts puts what a parser found before the text, so that the model need not find it again.
func (c *call) withFacts(text string) string {
	if c.res.Run == nil {
		return text
	}
	return strings.Join(c.res.Run.Lines(runners.Render{IDs: maxIDs, Messages: 12, Limit: 600}), "\n") + "\n" + text
}

// askParts asks about each part by itself, as many at once as there are slots, then about the answers.
func (c *call) askParts(ctx context.Context, choice llm.Choice, answer, budget int) error {
	var parts []digest.Chunk
	for ch, err := range c.doc.Chunks(ctx, budget) {
		if err != nil {
			return err
		}
		parts = append(parts, ch)
	}
	found := make([]string, len(parts))
	errs := make([]error, len(parts))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(max(choice.Slots, 1))
	for i, p := range parts {
		g.Go(func() error {
			c.progress("offload: reading chunk %d of %d on %s", i+1, len(parts), choice.Endpoint)
			ans, err := c.chat(gctx, choice, p.Text, partQuestion(c.req.Question), answer)
			if err != nil {
				errs[i] = err
				return gctx.Err()
			}
			if text := strings.TrimSpace(ans.Text); ans.Outcome == llm.Answered && !saysNothing(text) {
				found[i] = fmt.Sprintf("Lines %d to %d: %s", p.From, p.To, text)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	c.res.Coverage.Chunks = len(parts)
	for i, p := range parts {
		if errs[i] != nil {
			c.res.Coverage.ModelFailed++
			continue
		}
		c.res.Coverage.LinesRead += p.To - p.From + 1
	}
	if c.res.Coverage.ModelFailed == len(parts) {
		return errors.Join(errs...)
	}
	if c.res.Coverage.ModelFailed > 0 {
		c.note("%d of %d parts were not read by the model: %v", c.res.Coverage.ModelFailed, len(parts), errors.Join(errs...))
	}
	return c.reduce(ctx, choice, found, answer)
}

func (c *call) reduce(ctx context.Context, choice llm.Choice, found []string, answer int) error {
	var kept []string
	for _, f := range found {
		if f != "" {
			kept = append(kept, f)
		}
	}
	if len(kept) == 0 {
		c.res.NotInText = true
		return nil
	}
	return c.ask(ctx, choice, strings.Join(kept, "\n"), answer)
}

func partQuestion(q string) string {
	return q + "\nThis is one part of a longer text. If this part does not say, reply: not in this part."
}

var nothingForm = regexp.MustCompile(`(?i)^\W*(not in (this|the) (part|material|text)|(this|the) (part|material|text) does not (say|mention|contain)|n/?a|none|unknown|no (answer|information))\b`)

// saysNothing recognises the ways in which models say that a text does not answer.
func saysNothing(s string) bool { return nothingForm.MatchString(s) }

func (c *call) ask(ctx context.Context, choice llm.Choice, text string, answer int) error {
	ans, err := c.chat(ctx, choice, text, c.req.Question, answer)
	if err != nil {
		return err
	}
	c.res.Model, c.res.Endpoint, c.res.Outcome = ans.Model, ans.Endpoint, string(ans.Outcome)
	c.res.By = ByModel
	if ans.Unreliable != "" {
		c.note("unreliable: %s", ans.Unreliable)
	}
	text = strings.TrimSpace(ans.Text)
	switch ans.Outcome {
	case llm.Answered:
		c.res.Answer = oneParagraph(text)
	case llm.CutOff:
		c.res.Answer = oneParagraph(text)
		c.note("the answer was cut off at %d tokens", ans.MaxTokens)
	default:
		c.note("the model's answer was unusable (%s): %s", ans.Outcome, ans.Note)
	}
	return nil
}

func (c *call) chat(ctx context.Context, choice llm.Choice, text, question string, answer int) (*llm.Answer, error) {
	cold := 0.0
	ans, err := c.Models.Chat(ctx, llm.Request{
		Choice: choice, MaxTokens: answer, Temperature: &cold,
		Messages: []llm.Message{
			{Role: "system", Content: strings.TrimSpace(systemPrompt)},
			{Role: "user", Content: fence(c.mask(text)) + "\n\nQuestion: " + question + "\nAnswer in one short line."},
		},
		OnProgress: func(p llm.Progress) { c.progress("offload: %s", p.Text) },
	})
	if err != nil {
		return nil, err
	}
	c.tokens.Lock()
	c.res.InTok += ans.Usage.Prompt
	c.res.OutTok += ans.Usage.Completion
	c.res.CachedTok += ans.Usage.Cached
	c.tokens.Unlock()
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

// support looks for the line that says what the model said.
func (c *call) support(ctx context.Context) error {
	if saysNothing(c.res.Answer) {
		c.res.NotInText = true
	}
	s, err := c.doc.Support(ctx, c.req.Question, c.res.Answer)
	if err != nil {
		return err
	}
	if s.Found {
		l := c.line(s.Line)
		c.res.Says = &l
	}
	c.show(s.Nearest)
	return nil
}

// extract answers with the best lines alone.
func (c *call) extract(ctx context.Context) error {
	sel, err := c.doc.Select(ctx, c.req.Question, digest.Budget{Tokens: extractBudget})
	if err != nil {
		return err
	}
	c.res.By, c.res.Answer, c.res.NotInText = ByReader, "", !sel.Answered
	if c.res.Outcome == "no_model" {
		c.res.Model, c.res.Endpoint = "", ""
	}
	c.show(sel.Lines)
	return nil
}

func (c *call) show(lines []digest.Line) {
	for _, l := range lines {
		c.res.Lines = append(c.res.Lines, c.line(l))
	}
	c.res.Coverage.LinesShown = len(c.res.Lines)
}

func (c *call) line(l digest.Line) Line {
	file, no := c.mat.locate(l.No)
	out := Line{File: file, Line: no, Text: l.Text, Count: l.Count}
	if l.Count > 1 {
		_, out.First = c.mat.locate(l.First)
		_, out.Last = c.mat.locate(l.Last)
	}
	return out
}
