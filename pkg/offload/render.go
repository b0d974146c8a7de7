package offload

import (
	"fmt"
	"strings"

	"legwork/pkg/clean"
	"legwork/pkg/runners"
)

// Limits of a reply. The ids of all failing tests are named up to maxIDs, messages are printed for the
// first few; what is left out is counted, and the raw text has it.
const (
	maxMessages = 4
	maxIDs      = 40
	maxShown    = 400 // bytes of one message or line
)

func (c *call) masker() func(string) string {
	if !c.Config.Offload.MaskSecrets {
		return c.Config.Redact
	}
	s := clean.NewSecrets(c.Env)
	return func(text string) string { return c.Config.Redact(s.Mask(text)) }
}

func (c *call) mask(text string) string { return c.res.mask(text) }

// Text is the reply: facts first, then the answer, then the lines it rests on, then where the rest is.
func (r *Result) Text() string {
	var b strings.Builder
	b.WriteString(r.facts() + "\n")
	if r.Run != nil {
		for _, l := range r.Run.Lines(runners.Render{IDs: maxIDs, Messages: maxMessages, Limit: maxShown}) {
			b.WriteString(l + "\n")
		}
	}
	r.writeAnswer(&b)
	r.writeLines(&b)
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if r.Raw != "" {
		fmt.Fprintf(&b, "raw %s · %s\n", r.Raw, r.Path)
	}
	return strings.TrimRight(b.String(), "\n")
}

// maskResult hides secrets in everything that leaves the process.
func (c *call) maskResult() {
	r := c.res
	for _, s := range []*string{&r.Answer, &r.Command} {
		*s = r.mask(*s)
	}
	for i := range r.Lines {
		r.Lines[i].Text = r.mask(r.Lines[i].Text)
	}
	if r.Says != nil {
		r.Says.Text = r.mask(r.Says.Text)
	}
	for i := range r.Notes {
		r.Notes[i] = r.mask(r.Notes[i])
	}
	if r.Run == nil {
		return
	}
	for i := range r.Run.Failures {
		r.Run.Failures[i].Message = r.mask(r.Run.Failures[i].Message)
	}
	for i := range r.Run.Suites {
		r.Run.Suites[i].Message = r.mask(r.Run.Suites[i].Message)
	}
	for i := range r.Run.BuildErrors {
		r.Run.BuildErrors[i].Message = r.mask(r.Run.BuildErrors[i].Message)
	}
}

// facts is the first line: what we know for certain.
func (r *Result) facts() string {
	var parts []string
	if r.Ran != nil {
		parts = append(parts, r.Ran.Ending, seconds(r.Ran.MS))
	}
	parts = append(parts, r.coverage())
	switch {
	case r.Model != "" && r.By == ByReader:
		parts = append(parts, fmt.Sprintf("model %s on %s gave no answer: extractive", r.Model, r.Endpoint))
	case r.Model != "":
		parts = append(parts, fmt.Sprintf("model %s on %s", r.Model, r.Endpoint))
	case r.By == ByReader:
		parts = append(parts, "no model: extractive")
	default:
		parts = append(parts, "no model: "+r.By)
	}
	return strings.Join(parts, " · ")
}

func (r *Result) coverage() string {
	c := r.Coverage
	s := fmt.Sprintf("%s (%s) scanned", plural(c.Lines, "line"), size(c.Bytes))
	switch {
	case c.LinesRead > 0 && c.LinesRead == c.Lines:
		s = fmt.Sprintf("all %s (%s) read", plural(c.Lines, "line"), size(c.Bytes))
	case c.LinesRead > 0:
		s = fmt.Sprintf("%d of %s (%s) read, the rest scanned", c.LinesRead, plural(c.Lines, "line"), size(c.Bytes))
	}
	if c.Chunks > 1 {
		s += fmt.Sprintf(" in %d parts", c.Chunks)
	}
	if c.BytesOmit > 0 {
		s += fmt.Sprintf(", %s in the middle not kept", size(c.BytesOmit))
	}
	if c.BytesBad > 0 {
		s += fmt.Sprintf(", %s not text", size(c.BytesBad))
	}
	return s
}

func seconds(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1000)
}

func (r *Result) writeAnswer(b *strings.Builder) {
	if r.Answer != "" {
		fmt.Fprintf(b, "answer: %s\n", r.Answer)
	}
	if r.Rule != "" {
		fmt.Fprintf(b, "rule: %s\n", r.Rule)
	}
	switch {
	case r.By != ByModel:
	case r.Says != nil:
		fmt.Fprintf(b, "line %d says so: %s\n", r.Says.Line, shownLine(*r.Says))
	default:
		b.WriteString("no line says so: check it against the lines below\n")
	}
	if r.NotInText {
		b.WriteString("the text does not seem to say it; nearest lines:\n")
	}
}

func (r *Result) writeLines(b *strings.Builder) {
	if len(r.Lines) == 0 {
		return
	}
	if !r.NotInText {
		b.WriteString("lines:\n")
	}
	for _, l := range r.Lines {
		b.WriteString(shownLine(l) + "\n")
	}
}

func shownLine(l Line) string {
	s := fmt.Sprintf("%s:%d: %s", l.File, l.Line, l.Text)
	if l.Count > 1 {
		s += fmt.Sprintf("  (×%d between L%d and L%d)", l.Count, l.First, l.Last)
	}
	return s
}
