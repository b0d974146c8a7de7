package runners

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// bun test prints a failure's error before its "(fail) name" line (✗ with
// colours), and totals " 3 pass / 1 fail / Ran 4 tests across 2 files.".

var bunResult = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\(pass\)|\(fail\)|\(skip\)|\(todo\)|✓|✗|»|✎) (.+?)(?: \(attempt \d+\))?(?: \[[\d.]+m?s\])?$`)
})

var bunRan = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Ran (\d+) tests? across \d+ files?\.`)
})

func bunEnd(t *Text) int {
	for i := t.Len() - 1; i >= 0; i-- {
		if l := t.Line(i); strings.HasPrefix(l, "Ran ") && bunRan().MatchString(l) || strings.HasPrefix(l, `error: regex "`) && strings.Contains(l, " matched 0 tests") {
			return i
		}
	}
	return -1
}

func sniffBun(t *Text) match {
	start := t.FindPrefix("bun test v", 0)
	end := bunEnd(t)
	switch {
	case start >= 0 && end >= 0:
		if strings.HasPrefix(t.Line(end+1), "Bailed out") {
			end++
		}
		return span(scoreCertain, start, end+1)
	case start >= 0:
		return span(scoreCertain, start, t.Len())
	case end >= 0 && (t.FindPrefix("(pass) ", 0) >= 0 || t.FindPrefix("(fail) ", 0) >= 0 || t.Has(" expect() calls")):
		return span(scoreSure, 0, end+1)
	}
	return match{}
}

func parseBun(t *Text, f *finding) {
	end := bunEnd(t)
	c := bunResults(t, f)
	switch {
	case t.FindPrefix("No tests found!", 0) >= 0, end < 0 && t.Has("did not match any test files"):
		f.State = StateNoTests
		return
	case end < 0:
		f.State = StateDidNotFinish
		f.note("bun's totals are missing: the run did not come to its end")
		return
	case strings.HasPrefix(t.Line(end), "error: regex"):
		f.State = StateNoTests
		f.Tests = Counts{Passed: new(0), Failed: new(0)}
		return
	}
	if bailed := t.FindPrefix("Bailed out after", end) >= 0; bailed {
		f.Tests = Counts{Passed: c.Passed, Failed: c.Failed}
	} else {
		bunTotals(t, end, f)
	}
	switch {
	case len(f.BuildErrors) > 0:
		f.worse(StateBuildFailed)
	case val(f.Tests.Failed) > 0 || val(f.Tests.Errors) > 0 || len(f.Suites) > 0:
		f.worse(StateFailed)
	case val(f.Tests.Passed) == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

// bunTotals reads the lines above "Ran N tests".
func bunTotals(t *Text, end int, f *finding) {
	f.Tests = Counts{Passed: new(0), Failed: new(0), Skipped: new(0), Todo: new(0)}
	for i := end - 1; i >= 0 && i > end-10; i-- {
		n, word, ok := leadingInt(strings.TrimSpace(t.Line(i)))
		if !ok {
			break
		}
		switch strings.TrimSpace(word) {
		case "pass":
			f.Tests.Passed = new(n)
		case "fail":
			f.Tests.Failed = new(n)
		case "skip":
			f.Tests.Skipped = new(n)
		case "todo":
			f.Tests.Todo = new(n)
		case "error", "errors":
			f.Tests.Errors = new(n)
		}
	}
}

// bunResults lists failures and counts results, for runs that print no totals.
func bunResults(t *Text, f *finding) Counts {
	c := Counts{Passed: new(0), Failed: new(0)}
	file, from, inFile := "", 0, 0
	var spare [][]string // errors before a line that passed: --concurrent prints them first
	seen := map[string]bool{}
	for i := 0; i < t.Len(); i++ {
		l := t.Line(i)
		if p, ok := strings.CutSuffix(l, ":"); ok && looksLikeFile(p) && !strings.HasPrefix(l, " ") {
			file, from, inFile, spare = p, i+1, 0, nil
			continue
		}
		if l == "# Unhandled error between tests" {
			i = bunUnhandled(t, i, file, inFile, f)
			from = i + 1
			continue
		}
		if strings.HasSuffix(l, " tests failed:") {
			break // the list of failures once more
		}
		m := bunResult().FindStringSubmatch(l)
		if m == nil {
			continue
		}
		inFile++
		switch m[1] {
		case "(pass)", "✓":
			bump(&c.Passed, 1)
			if body := t.Slice(from, i).lines; bunHasError(body) && !strings.Contains(l, " (attempt ") {
				spare = append(spare, body)
			}
		case "(fail)", "✗":
			bump(&c.Failed, 1)
			key := file + "\x00" + m[2]
			body := t.Slice(from, i).lines
			if !bunHasError(body) && len(spare) > 0 && !seen[key] {
				body, spare = spare[0], spare[1:]
			}
			x := bunFailure(t, m[2], file, body)
			if s := strings.TrimSpace(t.Line(i + 1)); strings.HasPrefix(s, "^ ") {
				x.Message = strings.TrimSpace(x.Message + "\n" + s[2:])
			}
			if !seen[key] || x.Message != "" {
				f.fail(x)
			}
			seen[key] = true
		}
		from = i + 1
	}
	return c
}

// bunFailure reads the last error before a "(fail)" line: a retried test has one
// per attempt.
func bunFailure(t *Text, name, file string, body []string) Failure {
	for i, b := range slices.Backward(body) {
		if strings.HasPrefix(b, "error: ") || looksLikeErrorLine(b) && !codeFrameLine(b) {
			body = body[i:]
			break
		}
	}
	x := Failure{ID: name, File: file, Message: bunMessage(body)}
	if fr, ok := ownFrame(body); ok {
		x.File, x.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
	}
	return x
}

func bunHasError(body []string) bool {
	for _, l := range body {
		if strings.HasPrefix(l, "error: ") {
			return true
		}
	}
	return false
}

func bunMessage(body []string) string {
	var keep []string
	for _, l := range body {
		if isFrame(l) {
			break
		}
		if bunSource().MatchString(l) || strings.TrimSpace(l) == "^" {
			continue
		}
		keep = append(keep, l)
	}
	return message(keep...)
}

var bunSource = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ *\d+ \|(?: |$)`) })

// bunUnhandled reads the box below "# Unhandled error between tests" and returns
// its last line. Before any test of the file ran it is a file that does not load.
func bunUnhandled(t *Text, i int, file string, ran int, f *finding) int {
	from := i + 1
	if strings.HasPrefix(t.Line(from), "-----") {
		from++
	}
	end := from
	for end < t.Len() && !strings.HasPrefix(t.Line(end), "-----") {
		end++
	}
	body := t.Slice(from, end).lines
	s := SuiteFailure{Kind: SuiteUncaught, Name: file, File: file, Message: bunMessage(body)}
	var errs []BuildError
	for k, l := range body {
		msg, ok := strings.CutPrefix(l, "error: ")
		if !ok && !looksLikeErrorLine(l) {
			continue
		}
		if !ok {
			msg = l
		}
		b := BuildError{File: file, Message: msg}
		if fr, ok := ownFrame(body[k:min(k+4, len(body))]); ok {
			b.File, b.Line, b.Col = cleanPath(fr.path, t.Hint.Dir), fr.line, fr.col
		} else if j := strings.LastIndex(msg, " from '"); j >= 0 {
			b.File = cleanPath(strings.Trim(msg[j+6:], "'"), t.Hint.Dir)
		}
		errs = append(errs, b)
	}
	if len(errs) > 0 {
		s.File, s.Line = errs[0].File, errs[0].Line
	}
	if ran == 0 {
		s.Kind = SuiteLoad
		f.BuildErrors = append(f.BuildErrors, errs...)
		f.worse(StateBuildFailed)
	}
	f.suite(s)
	f.worse(StateFailed)
	return end
}
