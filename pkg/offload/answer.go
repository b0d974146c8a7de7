package offload

import (
	"context"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode"

	"legwork/pkg/digest"
)

const (
	extractBudget = 700 // tokens of lines that are shown when no model answers
	nearBudget    = 500 // tokens of lines from which those beside a model's answer are taken
	maxNear       = 8   // of them
)

// answer tries, in this order: what the parsed run says, what can be counted, the model, the best lines.
func (c *call) answer(ctx context.Context, model <-chan chosen) error {
	c.res.Lines, c.res.Outcome = []Line{}, "answered"
	if c.answerFromRun() || c.emptyText() {
		return nil
	}
	if done, err := c.count(ctx); done || err != nil {
		return err
	}
	choice, err := c.await(ctx, model)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		c.noModel(err)
		return c.extract(ctx)
	}
	c.res.Model, c.res.Endpoint = choice.Model, choice.Endpoint
	if err = c.askModel(ctx, choice); err != nil {
		c.res.Coverage.spans = nil // sent, not read
	}
	c.res.Coverage.settle(c.mat)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		c.modelFailed(err)
	}
	if err != nil || c.res.Answer == "" {
		return c.extract(ctx)
	}
	return c.support(ctx)
}

// emptyText answers when there is nothing to read.
func (c *call) emptyText() bool {
	if c.doc.Lines() > 0 {
		return false
	}
	c.res.By, c.res.Answer = ByReader, "the text is empty"
	if c.res.Ran != nil {
		c.res.Answer = "the command printed nothing"
	}
	return true
}

// count answers a question that counts, over the whole material.
func (c *call) count(ctx context.Context) (done bool, err error) {
	if plainLines().MatchString(c.req.Question) {
		c.res.Answer, c.res.By, c.res.Rule = grouped(c.doc.Lines()), ByCount, "all lines of the text"
		return true, nil
	}
	n, ok, err := c.doc.Count(ctx, c.req.Question)
	if err != nil || !ok {
		return false, err
	}
	c.res.Answer, c.res.By, c.res.Rule = n.Value, ByCount, n.Rule
	c.show(n.Lines)
	return true, nil
}

// plainLines asks for the number of lines, without a word on what stands in them.
var plainLines = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^how many lines( of (text|output))?( (are|does|do|did|has|have|in|is|were|was)( (there|in|it|the|this|that|file|log|output|text|printed|have|has|print|long|total|altogether|[\w./-]+\.\w+))*)?\s*\??$`)
})

var countingForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(how (many|often)|(number|count|total|sum|average|mean) of|(long|slow|fast|larg|bigg|small|high|low)est|most (often|frequent\w*|common\w*))\b`)
})

// beyondRules tells that nobody counted: models get such questions wrong nearly always.
func (c *call) beyondRules() {
	if countingForm().MatchString(c.req.Question) {
		c.note("nothing was counted over the whole text: the reader's rules do not reach this question")
	}
}

// support looks for the line that says what the model said. Whether the text answers at all is judged by
// the reader's scores: models refuse what is shown to them and invent what is not.
func (c *call) support(ctx context.Context) error {
	sel, err := c.doc.Select(ctx, c.req.Question, digest.Budget{Tokens: nearBudget})
	if err != nil {
		return err
	}
	c.res.NotInText = !sel.Answered && !c.asksInGeneral()
	answer := c.res.Answer
	if saysNothing(answer) || addsNothing(answer, c.req.Question) {
		answer = "" // nothing to look for; the nearest lines are wanted all the same
	}
	s, err := c.doc.Support(ctx, c.req.Question, answer)
	if err != nil {
		return err
	}
	if s.Found && ofReader(append(s.More, s.Line), s.Nearest, sel.Lines) {
		l := c.line(s.Line)
		c.res.Says = &l
		for _, m := range s.More {
			c.res.SaysMore = append(c.res.SaysMore, c.line(m))
		}
	} else {
		c.beyondRules()
	}
	c.show(nearest(s.Nearest, sel.Lines))
	return nil
}

// ofReader: each line is one that the reader itself ranks high for the question. A line elsewhere that
// holds the answer's names and shares a word with the question is chance more often than support.
func ofReader(lines []digest.Line, own ...[]digest.Line) bool {
	for _, l := range lines {
		same := func(o digest.Line) bool { return o.No == l.No || o.Text == l.Text }
		if !slices.ContainsFunc(slices.Concat(own...), same) {
			return false
		}
	}
	return true
}

// addsNothing: an answer made of the question's own words is no answer, though lines hold it.
func addsNothing(answer, question string) bool {
	split := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	known := split(question)
	return !slices.ContainsFunc(split(answer), func(w string) bool { return !slices.Contains(known, w) })
}

// nearest takes the best few lines of the ranking, and fills up with those that a selection holds: the
// ranking alone knows nothing of the lines around and of what has been said already. Of 128 questions on
// 44 texts the lines that answer were shown for 102 instead of 93, with as many tokens.
func nearest(ranked, selected []digest.Line) []digest.Line {
	byScore := func(lines []digest.Line) []digest.Line {
		lines = slices.Clone(lines)
		sort.SliceStable(lines, func(i, j int) bool { return lines[i].Score > lines[j].Score })
		return lines
	}
	out := byScore(ranked)
	out = out[:min(len(out), maxNear/2)]
	for _, l := range byScore(selected) {
		if len(out) < maxNear && !slices.ContainsFunc(out, func(o digest.Line) bool { return o.No == l.No }) {
			out = append(out, l)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].No < out[j].No })
	return out
}

// extract answers with the best lines alone.
func (c *call) extract(ctx context.Context) error {
	sel, err := c.doc.Select(ctx, c.req.Question, digest.Budget{Tokens: extractBudget})
	if err != nil {
		return err
	}
	c.show(sel.Lines)
	if c.asksAboutRun() { // it asked why, and the output does not say: the facts stand
		c.res.By, c.res.Answer = ByParser, verdict(c.res.Run)
		return nil
	}
	c.res.By, c.res.Answer, c.res.NotInText = ByReader, "", !sel.Answered && !c.asksInGeneral()
	c.beyondRules()
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

// preferRaw puts the text itself into the result when what we would print of it is no shorter.
func (c *call) preferRaw() {
	const most = 8 << 10 // bytes; what we print is seldom longer
	r := c.res
	if r.Coverage.Bytes > most || r.Coverage.BytesOmit > 0 || len(c.mat.parts) != 1 || r.Coverage.Lines == 0 {
		return
	}
	ours := len(r.runText())
	for _, l := range r.Lines {
		ours += len(l.Text) + 1
	}
	all := len(r.Lines) == r.Coverage.Lines && len(r.Lines) > maxNear // shown without their numbers then
	if int64(ours) <= r.Coverage.Bytes && !all {
		return
	}
	if text, err := c.mat.all(); err == nil {
		r.Whole = strings.TrimRight(text, "\n")
		r.Coverage.LinesShown = r.Coverage.Lines
	}
}
