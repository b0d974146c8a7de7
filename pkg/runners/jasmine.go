package runners

import (
	"regexp"
	"strings"
	"sync"
)

// jasmine: "3 specs, 1 failure, 1 pending spec"; the number of specs includes
// pending ones. Suite and spec names are joined with a blank.

var jasmineTotals = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:Ran \d+ of )?(\d+) specs?, (\d+) failures?(?:, (\d+) pending specs?)?`)
})

func jasmineEnd(t *Text) int {
	for i := t.Len() - 1; i >= 0; i-- {
		if l := t.Line(i); strings.Contains(l, " spec") && jasmineTotals().MatchString(l) {
			return i
		}
	}
	return -1
}

func sniffJasmine(t *Text) match {
	start := t.FindPrefix("Randomized with seed ", 0)
	if start < 0 {
		start = t.FindPrefix("Started", 0)
	}
	end := jasmineEnd(t)
	switch {
	case end >= 0:
		for end+1 < t.Len() && (strings.HasPrefix(t.Line(end+1), "Finished in") || strings.HasPrefix(t.Line(end+1), "Randomized")) {
			end++
		}
		return span(scoreCertain, max(0, min(start, end)), end+1)
	case t.Has("Incomplete: No specs found"), t.Has("node_modules/jasmine"):
		return t.all(scoreSure)
	case start >= 0 && strings.HasPrefix(t.Line(start), "Randomized with seed") && t.Line(start+1) == "Started":
		return span(scoreSure-10, start, t.Len())
	}
	return match{}
}

func parseJasmine(t *Text, f *finding) {
	jasmineFailures(t, f)
	end := jasmineEnd(t)
	if end < 0 {
		switch b, ok := jsLoadError(t.lines); {
		case t.Has("No specs found"):
			f.State = StateNoTests
		case ok:
			b.File = cleanPath(b.File, t.Hint.Dir)
			f.build(b)
			f.State = StateBuildFailed
		default:
			f.State = StateDidNotFinish
			f.note("jasmine's totals are missing: the run did not come to its end")
		}
		return
	}
	m := jasmineTotals().FindStringSubmatch(t.Line(end))
	specs, failed, pending := atoi(m[1]), atoi(m[2]), atoi(m[3])
	if after0, ok := strings.CutPrefix(t.Line(end), "Ran "); ok {
		if n, _, ok := leadingInt(after0); ok {
			specs = n
		}
	}
	bad := failed
	if n := len(f.Failures); n > 0 && n < failed {
		bad = n // suite errors count as failures, but they are no specs
	}
	f.Tests = Counts{Passed: new(max(0, specs-bad-pending)), Failed: new(failed), Skipped: new(pending), Todo: new(0)}
	switch {
	case failed > 0 || len(f.Failures) > 0 || len(f.Suites) > 0:
		f.worse(StateFailed)
	case specs-pending <= 0:
		f.worse(StateNoTests)
	case t.Find("Incomplete: ", 0) >= 0 && t.ExitBad():
		f.worse(StateFailed)
		f.suite(SuiteFailure{Kind: SuiteThreshold, Message: strings.TrimSpace(t.Line(t.Find("Incomplete: ", 0)))})
	default:
		f.worse(StatePassed)
	}
}

var jasmineEntry = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+\) (.+)$`) })

func jasmineFailures(t *Text, f *finding) {
	i := t.FindPrefix("Failures:", 0)
	for i++; i > 0 && i < t.Len(); i++ {
		l := t.Line(i)
		if strings.HasPrefix(l, "Pending:") || jasmineTotals().MatchString(l) {
			break
		}
		m := jasmineEntry().FindStringSubmatch(l)
		suite := strings.HasPrefix(l, "Suite error: ")
		if m == nil && !suite {
			continue
		}
		end := i + 1
		for end < t.Len() && (t.Line(end) == "" || strings.HasPrefix(t.Line(end), " ")) {
			end++
		}
		body := t.Slice(i+1, end).lines
		msg, fr, placed := jasmineBody(body)
		i = end - 1
		if suite {
			f.suite(SuiteFailure{Kind: SuiteHook, Name: strings.TrimPrefix(l, "Suite error: "), File: cleanPath(fr.path, t.Hint.Dir), Line: fr.line, Message: msg})
			continue
		}
		x := Failure{ID: m[1], Message: msg}
		if placed {
			x.File, x.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
		}
		f.fail(x)
	}
}

// jasmineBody keeps the messages; there may be several per spec.
func jasmineBody(body []string) (string, jsPos, bool) {
	var keep []string
	in := false
	for _, l := range body {
		switch strings.TrimSpace(l) {
		case "Message:":
			in = true
			continue
		case "Stack:":
			in = false
		}
		if in {
			keep = append(keep, l)
		}
	}
	fr, ok := ownFrame(body)
	return message(keep...), fr, ok
}
