package runners

import (
	"regexp"
	"strings"
	"sync"
)

// mocha's reporters share the end: "  3 passing (5ms)", "  1 failing" and numbered
// failures with one line per level of the name. Tests print without a newline at
// times, so the last "passing" line counts.

var mochaPassing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ +(\d+) passing \(\S+\)$`)
})

var mochaEntry = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^  (\d+)\) (.+)$`)
})

func mochaSummary(t *Text) int {
	for i := t.Len() - 1; i >= 0; i-- {
		if strings.Contains(t.Line(i), " passing (") && mochaPassing().MatchString(t.Line(i)) {
			return i
		}
	}
	return -1
}

func sniffMocha(t *Text) match {
	if sum := mochaSummary(t); sum >= 0 {
		end := sum + 1
		for end < t.Len() && (t.Line(end) == "" || strings.HasPrefix(t.Line(end), " ") || mochaTail(t, end)) {
			end++
		}
		return span(scoreSure+5, mochaStart(t), end)
	}
	if t.Has("node_modules/mocha/") || t.FindPrefix("Error: No test files found", 0) >= 0 {
		return t.all(scoreSure - 5)
	}
	for i := range t.Len() {
		if l := t.Line(i); strings.HasPrefix(l, "    ✔ ") || strings.HasPrefix(l, "    ✓ ") {
			return t.all(scoreLikely - 5)
		}
	}
	return match{}
}

// mochaTail: multi-line messages stand at the margin, so the end of the failures
// is where nothing indented follows any more.
func mochaTail(t *Text, i int) bool {
	for j := i; j < min(t.Len(), i+200); j++ {
		if l := t.Line(j); mochaEntry().MatchString(l) || isFrame(l) && strings.HasPrefix(l, "      at ") {
			return true
		}
	}
	return false
}

// mochaStart is the first line of the report: the header above the first result.
func mochaStart(t *Text) int {
	for i := range t.Len() {
		l := t.Line(i)
		if strings.HasPrefix(l, "  ") && (strings.Contains(l, "✔ ") || strings.Contains(l, "✓ ") || mochaPassing().MatchString(l) || mochaEntry().MatchString(strings.TrimPrefix(l, "  "))) {
			for i > 0 && (t.Line(i-1) == "" || strings.HasPrefix(t.Line(i-1), "  ")) {
				i--
			}
			return i
		}
	}
	return 0
}

func parseMocha(t *Text, f *finding) {
	sum := mochaSummary(t)
	if sum < 0 {
		mochaNoSummary(t, f)
		return
	}
	f.Tests = Counts{Passed: new(atoi(mochaPassing().FindStringSubmatch(t.Line(sum))[1])), Failed: new(0), Skipped: new(0), Todo: new(0)}
	i := sum + 1
	for ; i < t.Len() && i < sum+4; i++ {
		n, word, ok := leadingInt(strings.TrimSpace(t.Line(i)))
		if !ok {
			continue
		}
		switch strings.TrimSpace(word) {
		case "pending":
			f.Tests.Skipped = new(n)
		case "failing":
			f.Tests.Failed = new(n)
		}
	}
	mochaFailures(t, sum+1, f)
	f.exitExplained = mochaExit(t, val(f.Tests.Failed))
	switch {
	case val(f.Tests.Failed) > 0 || len(f.Failures) > 0 || len(f.Suites) > 0:
		f.worse(StateFailed)
	case val(f.Tests.Passed) == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

// mochaFailures reads the numbered entries below the totals.
func mochaFailures(t *Text, from int, f *finding) {
	want := 1
	for i := from; i < t.Len(); i++ {
		m := mochaEntry().FindStringSubmatch(t.Line(i))
		if m == nil || atoi(m[1]) != want {
			continue
		}
		want++
		path, body := mochaTitle(t, i, m[2])
		end := body
		for end < t.Len() {
			if n := mochaEntry().FindStringSubmatch(t.Line(end)); n != nil && atoi(n[1]) == want {
				break
			}
			end++
		}
		mochaFail(t, f, path, t.Slice(body, end).lines)
		i = end - 1
	}
}

// mochaTitle reads the levels of a name; the last one ends in a colon.
func mochaTitle(t *Text, i int, first string) (path []string, next int) {
	path = []string{first}
	for j := i + 1; ; j++ {
		last := path[len(path)-1]
		if s, ok := strings.CutSuffix(last, ":"); ok && (t.Line(j) == "" || indent(t.Line(j)) < 7+2*len(path)-2 || j-i > 20) {
			path[len(path)-1] = s
			return path, j
		}
		l := t.Line(j)
		if j >= t.Len() || l == "" || j-i > 20 {
			return path, j
		}
		if indent(l) >= 7 {
			path = append(path, strings.TrimSpace(l))
		} else {
			path[len(path)-1] += "\n" + l // a newline in the name
		}
	}
}

func mochaFail(t *Text, f *finding, path []string, body []string) {
	x := Failure{ID: jsID(path...), Message: strings.TrimSpace(jsMessage(body))}
	if fr, ok := ownFrame(body); ok {
		x.File, x.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
	}
	last := path[len(path)-1]
	switch {
	case strings.HasPrefix(last, `"before all" hook`) || strings.HasPrefix(last, `"after all" hook`):
		f.suite(SuiteFailure{Kind: SuiteHook, Name: x.ID, File: x.File, Line: x.Line, Message: x.Message})
	case strings.HasPrefix(last, "Uncaught error outside test suite"):
		f.suite(SuiteFailure{Kind: SuiteUncaught, File: x.File, Line: x.Line, Message: x.Message})
		return
	}
	f.fail(x)
}

func mochaNoSummary(t *Text, f *finding) {
	if t.FindPrefix("Error: No test files found", 0) >= 0 {
		f.State = StateNoTests
		return
	}
	if b, ok := jsLoadError(t.lines); ok {
		b.File = cleanPath(b.File, t.Hint.Dir)
		f.build(b)
		f.suite(SuiteFailure{Kind: SuiteLoad, File: b.File, Line: b.Line, Message: b.Message})
		f.State = StateBuildFailed
		return
	}
	if i := t.Find("Exception during run: ", 0); i >= 0 {
		body := t.Slice(i, min(i+30, t.Len())).lines
		s := SuiteFailure{Kind: SuiteLoad, Message: strings.TrimPrefix(strings.TrimSpace(jsMessage(body)), "Exception during run: ")}
		if fr, ok := ownFrame(body); ok {
			s.File, s.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
		}
		f.suite(s)
		f.build(BuildError{File: s.File, Line: s.Line, Message: s.Message})
		f.State = StateBuildFailed
		return
	}
	f.State = StateDidNotFinish
	f.note("no totals at the end: the run did not come to its end")
}
