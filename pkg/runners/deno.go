package runners

import (
	"regexp"
	"strings"
	"sync"
)

// deno test ends with "ok | 2 passed (1 step) | 0 failed | 1 ignored (7ms)" and
// prints errors as "name ... step => ./file.ts:7:11".

var denoSummary = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(ok|FAILED) \| (\d+) passed(?: \(\d+ steps?\))? \| (\d+) failed(?: \(\d+ steps?\))?(?: \| (\d+) ignored(?: \(\d+ steps?\))?)?(?: \| \d+ measured)?(?: \| (\d+) filtered out)? \(`)
})

func denoEnd(t *Text) int {
	for i := t.Len() - 1; i >= 0; i-- {
		if l := t.Line(i); strings.Contains(l, " passed") && denoSummary().MatchString(l) {
			return i
		}
	}
	return -1
}

func sniffDeno(t *Text) match {
	end := denoEnd(t)
	start := -1
	for i := range t.Len() {
		if l := t.Line(i); strings.HasPrefix(l, "running ") && (strings.Contains(l, " test from ") || strings.Contains(l, " tests from ")) || strings.HasPrefix(l, "Check ") && start < 0 {
			start = i
			break
		}
	}
	switch {
	case end >= 0:
		return span(scoreCertain, max(0, min(start, end)), t.Len())
	case start >= 0 && strings.HasPrefix(t.Line(start), "running "):
		return t.all(scoreSure)
	case t.FindPrefix("error: No test modules found", 0) >= 0, t.Has("error: Type checking failed"), t.Has("error: The module's source code could not be parsed: "), t.FindPrefix("Stack backtrace:", 0) > 0 && t.FindPrefix("error: ", 0) >= 0 && t.Has("file:///"), start >= 0 && t.Has("[ERROR]: "):
		return t.all(scoreSure)
	}
	return match{}
}

func parseDeno(t *Text, f *finding) {
	denoFailures(t, f)
	if t.FindPrefix("error: No test modules found", 0) >= 0 {
		f.State = StateNoTests
		return
	}
	end := denoEnd(t)
	if end < 0 {
		denoNoSummary(t, f)
		return
	}
	m := denoSummary().FindStringSubmatch(t.Line(end))
	f.Tests = Counts{Passed: new(atoi(m[2])), Failed: new(atoi(m[3])), Skipped: new(atoi(m[4]))}
	switch {
	case m[1] == "FAILED" || val(f.Tests.Failed) > 0:
		f.worse(StateFailed)
	case val(f.Tests.Passed) == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

// denoNoSummary: type errors and missing modules come before any test.
func denoNoSummary(t *Text, f *finding) {
	f.Failures = nil
	for i := range t.Len() {
		l := strings.TrimPrefix(t.Line(i), "error: ")
		code, msg, ok := strings.Cut(l, " [ERROR]: ")
		if ok && strings.HasPrefix(code, "TS") || strings.HasPrefix(t.Line(i), "error: ") && !strings.Contains(l, "Type checking failed") {
			b := BuildError{Message: l}
			if ok {
				b.Message = code + ": " + msg
			}
			for j := i; j < min(i+8, t.Len()); j++ {
				if fr, ok := jsFrame(t.Line(j)); ok {
					b.File, b.Line, b.Col = cleanPath(fr.path, t.Hint.Dir), fr.line, fr.col
					break
				}
			}
			f.build(b)
		}
	}
	if len(f.BuildErrors) > 0 {
		f.State = StateBuildFailed
		return
	}
	f.State = StateDidNotFinish
	f.note("deno's totals are missing: the run did not come to its end")
}

func denoFailures(t *Text, f *finding) {
	from := t.FindPrefix(" ERRORS", 0)
	if from < 0 {
		return
	}
	for i := from + 1; i < t.Len(); i++ {
		l := t.Line(i)
		if strings.HasPrefix(l, " FAILURES") {
			return
		}
		name, place, ok := strings.Cut(l, " => ")
		if uncaught, found := strings.CutSuffix(l, " (uncaught error)"); found {
			i = denoUncaught(t, i, uncaught, f)
			continue
		}
		p, n, _, posOK := splitPos(place)
		if !ok || !posOK {
			continue
		}
		end := denoBlockEnd(t, i+1)
		body := t.Slice(i+1, end).lines
		x := Failure{ID: name, File: cleanPath(p, t.Hint.Dir), Line: n, Message: denoMessage(body)}
		if fr, ok := ownFrame(body); ok {
			x.File, x.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
		}
		f.fail(x)
		i = end - 1
	}
}

func denoBlockEnd(t *Text, i int) int {
	for ; i < t.Len(); i++ {
		l := t.Line(i)
		if strings.HasPrefix(l, " FAILURES") || strings.HasSuffix(l, " (uncaught error)") || strings.Contains(l, " => ") && !strings.HasPrefix(l, " ") && t.Line(i-1) == "" {
			return i
		}
	}
	return i
}

// denoMessage drops the source line that stands above the caret, and frames.
func denoMessage(body []string) string {
	var keep []string
	for i, l := range body {
		if isFrame(l) {
			break
		}
		next := ""
		if i+1 < len(body) {
			next = strings.TrimSpace(body[i+1])
		}
		if s := strings.TrimSpace(l); s != "" && strings.Trim(s, "^") == "" || next != "" && strings.Trim(next, "^") == "" {
			continue
		}
		keep = append(keep, strings.TrimPrefix(l, "error: "))
	}
	return message(keep...)
}

// denoUncaught: an error outside the tests of a file, mostly while it loads.
func denoUncaught(t *Text, i int, file string, f *finding) int {
	end := denoBlockEnd(t, i+1)
	body := t.Slice(i+1, end).lines
	s := SuiteFailure{Kind: SuiteUncaught, Name: file, File: cleanPath(file, t.Hint.Dir), Message: denoMessage(body)}
	if fr, ok := ownFrame(body); ok {
		s.File, s.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
	}
	if b, ok := jsLoadError(body); ok {
		b.File = cleanPath(b.File, t.Hint.Dir)
		f.build(b)
		s.Kind = SuiteLoad
		f.worse(StateBuildFailed)
	}
	f.suite(s)
	f.worse(StateFailed)
	return end - 1
}
