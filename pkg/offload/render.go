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
		for _, l := range runLines(r.Run, maxMessages, maxShown) {
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

// runLines renders what a runner or compiler said: the counts, then each failure once.
func runLines(r *runners.Result, messages, limit int) []string {
	if r.State == runners.StateUnknown {
		return nil
	}
	out := []string{headline(r)}
	left := messages
	for _, s := range r.Suites {
		out = append(out, item(strings.TrimSpace(s.Kind+" "+s.Name), s.File, s.Line, s.Message, &left, limit))
	}
	for i, f := range r.Failures {
		if i == maxIDs {
			out = append(out, fmt.Sprintf("… and %d more failures", len(r.Failures)-i))
			break
		}
		out = append(out, item(f.ID, f.File, f.Line, f.Message, &left, limit))
	}
	for i, e := range r.BuildErrors {
		if i == maxIDs {
			out = append(out, fmt.Sprintf("… and %d more errors", len(r.BuildErrors)-i))
			break
		}
		left = max(left, 1) // a compiler's message is its whole content
		out = append(out, item("", e.File, e.Line, e.Message, &left, limit))
	}
	return out
}

func headline(r *runners.Result) string {
	words := map[runners.State]string{
		runners.StatePassed: "passed", runners.StateFailed: "FAILED", runners.StateNoTests: "NO TESTS RAN",
		runners.StateDidNotFinish: "DID NOT FINISH", runners.StateBuildFailed: "BUILD FAILED",
	}
	s := r.Runner + ": " + words[r.State]
	var n []string
	for _, c := range []struct {
		n    *int
		word string
	}{
		{r.Tests.Passed, "passed"},
		{r.Tests.Failed, "failed"},
		{r.Tests.Errors, "errors"},
		{r.Tests.Skipped, "skipped"},
		{r.Tests.Todo, "todo"},
	} {
		if c.n != nil && (*c.n > 0 || c.word == "passed" || c.word == "failed") {
			n = append(n, fmt.Sprintf("%d %s", *c.n, c.word))
		}
	}
	if len(n) > 0 {
		s += " (" + strings.Join(n, ", ") + ")"
	}
	return s
}

func item(id, file string, line int, message string, left *int, limit int) string {
	s := "✗ " + id
	if file != "" {
		at := file
		if line > 0 {
			at = fmt.Sprintf("%s:%d", file, line)
		}
		if id == "" {
			s += at
		} else if !strings.HasPrefix(id, at) {
			s += " (" + at + ")"
		}
	}
	if message == "" || *left <= 0 {
		return s
	}
	*left--
	return s + ": " + indent(cutText(message, limit))
}

func indent(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") }

// cutText shortens a message at a line end where it can, and states the cut.
func cutText(s string, limit int) string {
	if len(s) <= limit+40 {
		return s
	}
	cut := s[:limit]
	if i := strings.LastIndexByte(cut, '\n'); i > limit/2 {
		cut = cut[:i]
	}
	cut = strings.ToValidUTF8(cut, "")
	return fmt.Sprintf("%s [… %d more bytes]", cut, len(s)-len(cut))
}
