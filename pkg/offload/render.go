package offload

import (
	"fmt"
	"slices"
	"strings"

	"legwork/pkg/runners"
)

// Limits of a reply. The ids of all failing tests are named up to maxIDs, messages are printed for the
// first few; what is left out is counted, and the raw text has it.
const (
	maxMessages = 4
	maxIDs      = 40
	maxShown    = 400 // bytes of one message or line
)

func (c *call) mask(text string) string { return c.res.mask(text) }

// Text is the reply: facts first, then the answer, then the lines it rests on, then where the rest is.
func (r *Result) Text() string {
	var b strings.Builder
	b.WriteString(r.facts() + "\n")
	if text := r.runText(); r.Whole == "" {
		b.WriteString(text)
	} else if state, _, ok := strings.Cut(text, "\n"); ok {
		b.WriteString(state + "\n") // what the text comes to is never left to the reader
	}
	r.writeAnswer(&b)
	if r.Whole != "" {
		b.WriteString("the whole text:\n" + r.Whole + "\n")
	} else {
		r.writeLines(&b)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if r.Raw != "" {
		fmt.Fprintf(&b, "raw %s · %s\n", r.Raw, r.Path)
	}
	return strings.TrimRight(b.String(), "\n")
}

// runText is what a test runner or compiler said.
func (r *Result) runText() string {
	if r.Run == nil {
		return ""
	}
	lines := r.Run.Lines(runners.Render{IDs: maxIDs, Messages: maxMessages, Limit: maxShown})
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// maskResult hides secrets in everything that leaves the process.
func (c *call) maskResult() {
	r := c.res
	for _, s := range []*string{&r.Answer, &r.Command, &r.Question, &r.Whole} {
		*s = r.mask(*s)
	}
	for i := range r.Lines {
		r.Lines[i].Text = r.mask(r.Lines[i].Text)
	}
	if r.Says != nil {
		r.Says.Text = r.mask(r.Says.Text)
	}
	for i := range r.SaysMore {
		r.SaysMore[i].Text = r.mask(r.SaysMore[i].Text)
	}
	for i := range r.Notes {
		r.Notes[i] = r.mask(r.Notes[i])
	}
	if r.Run == nil {
		return
	}
	for i := range r.Run.Failures {
		f := &r.Run.Failures[i]
		f.ID, f.Message = r.mask(f.ID), r.mask(f.Message)
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
	parts = append(parts, r.Coverage.String())
	switch {
	case r.Model != "" && r.By == ByReader:
		parts = append(parts, fmt.Sprintf("model %s on %s gave no answer: extractive", modelName(r.Model), r.Endpoint))
	case r.Model != "":
		parts = append(parts, fmt.Sprintf("model %s on %s", modelName(r.Model), r.Endpoint))
	case r.By == ByReader:
		parts = append(parts, "no model: extractive")
	default:
		parts = append(parts, "no model: "+r.By)
	}
	return strings.Join(parts, " · ")
}

// modelName shortens an id that is the path of a file, as llama-server without an alias serves it.
func modelName(id string) string {
	if name, ok := strings.CutSuffix(id, ".gguf"); ok {
		return name[strings.LastIndexAny(name, `/\`)+1:]
	}
	return id
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
	case r.By != ByModel || saysNothing(r.Answer):
	case r.Says == nil:
		b.WriteString("no line says so: judge by the lines below\n")
	case len(r.SaysMore) == 0:
		fmt.Fprintf(b, "line %d says so: %s\n", r.Says.Line, shownLine(*r.Says))
	default:
		nos, texts := []string{fmt.Sprint(r.Says.Line)}, shownLine(*r.Says)
		for _, l := range r.SaysMore {
			nos, texts = append(nos, fmt.Sprint(l.Line)), texts+"\n"+shownLine(l)
		}
		fmt.Fprintf(b, "lines %s together say so:\n%s\n", strings.Join(nos, ", "), texts)
	}
	if r.NotInText {
		b.WriteString("the text does not seem to say it (by the reader's scores)\n")
	}
}

// writeLines prints the lines that are not printed yet.
func (r *Result) writeLines(b *strings.Builder) {
	head := "lines:\n"
	if r.By == ByModel || r.NotInText {
		head = "nearest lines:\n"
	}
	for _, l := range r.Lines {
		if r.Says != nil && l.same(*r.Says) || slices.ContainsFunc(r.SaysMore, l.same) {
			continue
		}
		b.WriteString(head + shownLine(l) + "\n")
		head = ""
	}
}

func (l Line) same(o Line) bool { return l.File == o.File && l.Line == o.Line && l.Text == o.Text }

func shownLine(l Line) string {
	s := fmt.Sprintf("%s:%d: %s", l.File, l.Line, l.Text)
	if l.Count > 1 {
		s += fmt.Sprintf("  (×%d between L%d and L%d)", l.Count, l.First, l.Last)
	}
	return s
}
