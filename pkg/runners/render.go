package runners

import (
	"fmt"
	"path"
	"strings"
)

// Render says how much of a Result is printed.
type Render struct {
	// IDs is how many failures and errors are named at most; 0 names all.
	IDs int
	// Messages is how many of them carry their message.
	Messages int
	// Limit is the longest message in bytes; a cut is stated.
	Limit int
}

// Lines puts a Result into lines: the state with its counts, then every failure once. An unknown state
// gives none.
func (r *Result) Lines(o Render) []string {
	if r.State == StateUnknown || r.State == "" {
		return nil
	}
	out := []string{r.headline()}
	left := o.Messages
	said := map[string]bool{} // a file that does not load may stand there as suite and as error
	named := map[SuiteFailure]bool{}
	for i, s := range r.Suites {
		if o.IDs > 0 && i == o.IDs {
			out = append(out, fmt.Sprintf("… and %d more suites", len(r.Suites)-i))
			break
		}
		if named[s] {
			continue
		}
		named[s] = true
		said[fmt.Sprint(path.Base(s.File), s.Line, s.Message)] = true
		out = append(out, failureLine(strings.TrimSpace(s.Kind+" "+s.Name), s.File, s.Line, s.Message, &left, o.Limit))
	}
	for i, f := range r.Failures {
		if o.IDs > 0 && i == o.IDs {
			out = append(out, fmt.Sprintf("… and %d more failures", len(r.Failures)-i))
			break
		}
		out = append(out, failureLine(f.ID, f.File, f.Line, f.Message, &left, o.Limit))
	}
	for i, e := range r.BuildErrors {
		if o.IDs > 0 && i == o.IDs {
			out = append(out, fmt.Sprintf("… and %d more errors", len(r.BuildErrors)-i))
			break
		}
		if said[fmt.Sprint(path.Base(e.File), e.Line, e.Message)] {
			continue
		}
		always := 1 // a compiler's message is all it says
		out = append(out, failureLine("", e.File, e.Line, e.Message, &always, o.Limit))
	}
	return out
}

func (r *Result) headline() string {
	words := map[State]string{
		StatePassed: "passed", StateFailed: "FAILED", StateNoTests: "NO TESTS RAN",
		StateDidNotFinish: "DID NOT FINISH", StateBuildFailed: "BUILD FAILED",
	}
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
	s := r.Runner + ": " + words[r.State]
	if len(n) > 0 {
		s += " (" + strings.Join(n, ", ") + ")"
	}
	return s
}

func failureLine(id, file string, line int, message string, left *int, limit int) string {
	s := "✗ " + id
	if file != "" {
		at := file
		if line > 0 {
			at = fmt.Sprintf("%s:%d", file, line)
		}
		switch {
		case id == "":
			s += at
		case !strings.HasPrefix(id, at):
			s += " (" + at + ")"
		}
	}
	if message == "" || *left <= 0 {
		return s
	}
	*left--
	text := strings.TrimSpace(shorten(message, limit))
	if id == "" && file == "" {
		return s + strings.ReplaceAll(text, "\n", "\n  ")
	}
	return s + ": " + strings.ReplaceAll(text, "\n", "\n  ")
}

// shorten cuts a message at a line end where it can, and states the cut.
func shorten(s string, limit int) string {
	if limit <= 0 || len(s) <= limit+40 {
		return s
	}
	cut := s[:limit]
	if i := strings.LastIndexByte(cut, '\n'); i > limit/2 {
		cut = cut[:i]
	}
	cut = strings.ToValidUTF8(cut, "")
	return fmt.Sprintf("%s [… %d more bytes]", cut, len(s)-len(cut))
}
