package runners

import (
	"regexp"
	"strings"
	"sync"
)

// playwright's text reporters print "  1) file:7:3 › suite › test ───" blocks and
// totals with the names below them. Flaky tests have blocks too, so the list
// under "N failed" says which of them failed in the end.

var pwTotal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^  (\d+) (passed|failed|flaky|skipped|did not run|interrupted|timed out|error(?:s)? w(?:as|ere) not a part of any test.*)(?: \([\d.]+m?[sh]?\))?$`)
})

var pwBlock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^  (\d+)\) (.+?)(?: [─=]+)?$`) })

func pwEnd(t *Text) int {
	for i := t.Len() - 1; i >= 0; i-- {
		if l := t.Line(i); strings.HasPrefix(l, "  ") && pwTotal().MatchString(l) {
			return i
		}
	}
	return -1
}

var pwRunning = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Running \d+ tests? using \d+ workers?`)
})

func sniffPlaywright(t *Text) match {
	start := -1
	for i := range t.Len() {
		if l := t.Line(i); strings.HasPrefix(l, "Running ") && pwRunning().MatchString(l) {
			start = i
			break
		}
	}
	end := pwEnd(t)
	switch {
	case start >= 0 && end >= start:
		return span(scoreCertain, start, end+1)
	case start >= 0:
		return span(scoreSure, start, t.Len())
	case t.FindPrefix("Error: No tests found", 0) >= 0, t.Has("node_modules/playwright/"), t.Has("node_modules/@playwright/"):
		return t.all(scoreSure - 5)
	case end >= 0 && t.Has(" › "):
		return t.all(scoreLikely)
	}
	return match{}
}

func parsePlaywright(t *Text, f *finding) {
	end := pwEnd(t)
	failed, c := pwTotals(t, f)
	pwFailures(t, failed, f)
	pwErrors(t, f)
	switch {
	case end < 0 && len(f.BuildErrors) > 0:
		f.State = StateBuildFailed
		return
	case t.FindPrefix("Error: No tests found", 0) >= 0 && len(f.Suites) > 0:
		f.worse(StateBuildFailed) // there were none because a file did not load
		return
	case t.FindPrefix("Error: No tests found", 0) >= 0:
		f.worse(StateNoTests)
		return
	case end < 0:
		f.State = StateDidNotFinish
		f.note("playwright's totals are missing: the run did not come to its end")
		return
	}
	f.Tests = c
	switch {
	case f.Extra["interrupted"] > 0 || t.Has("Timed out waiting"):
		f.worse(StateDidNotFinish)
	case len(f.BuildErrors) > 0:
		f.worse(StateBuildFailed)
	case val(c.Failed) > 0 || len(f.Suites) > 0:
		f.worse(StateFailed)
	case val(c.Passed) == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

// pwTotals reads the totals, and the names listed under "N failed".
func pwTotals(t *Text, f *finding) (failed map[string]bool, c Counts) {
	failed = map[string]bool{}
	c = Counts{Passed: new(0), Failed: new(0), Skipped: new(0)}
	word := ""
	for i := range t.Len() {
		l := t.Line(i)
		m := pwTotal().FindStringSubmatch(l)
		if m == nil {
			if (word == "failed" || word == "timed out") && strings.HasPrefix(l, "    ") {
				failed[pwName(strings.TrimRight(strings.TrimSpace(l), "─ "))] = true
				continue
			}
			word = ""
			continue
		}
		word = m[2]
		n := atoi(m[1])
		switch word {
		case "passed":
			c.Passed = new(n + f.Extra["flaky"])
		case "failed", "timed out":
			bump(&c.Failed, n)
		case "skipped":
			c.Skipped = new(n)
		default:
			f.extra(firstField(word), n)
			if word == "flaky" {
				bump(&c.Passed, n)
			}
		}
	}
	return failed, c
}

// pwName drops the project and place from "[chromium] › a.spec.ts:7:3 › math › adds".
func pwName(s string) string {
	parts := strings.Split(s, " › ")
	for i, p := range parts {
		if q, _, _, ok := splitPos(p); ok && strings.Contains(q, ".") {
			return jsID(parts[i+1:]...)
		}
	}
	return jsID(parts...)
}

func pwFailures(t *Text, failed map[string]bool, f *finding) {
	seen := map[string]bool{}
	for i := 0; i < t.Len(); i++ {
		m := pwBlock().FindStringSubmatch(t.Line(i))
		if m == nil || !strings.Contains(m[2], " › ") {
			continue
		}
		title := m[2]
		end := i + 1
		for end < t.Len() && pwBlock().FindString(t.Line(end)) == "" && !pwTotal().MatchString(t.Line(end)) && !strings.HasPrefix(t.Line(end), "[") && !strings.HasPrefix(t.Line(end), "::") {
			end++
		}
		body := t.Slice(i+1, end).lines
		for k, l := range body {
			if strings.HasPrefix(l, "    Retry #") {
				body = body[:k]
				break
			}
		}
		i = end - 1
		id := pwName(title)
		if seen[title] || len(failed) > 0 && !failed[id] {
			continue
		}
		seen[title] = true
		x := Failure{ID: id, Message: jestMessage(body)}
		for p := range strings.SplitSeq(title, " › ") {
			if q, n, _, ok := splitPos(p); ok {
				x.File, x.Line = q, n
			}
		}
		if fr, ok := ownFrame(body); ok {
			x.File, x.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
		}
		f.fail(x)
	}
}

// pwErrors reads errors outside tests: a file that does not load, a broken
// configuration, global setup.
func pwErrors(t *Text, f *finding) {
	for i := range t.Len() {
		l := t.Line(i)
		if !looksLikeErrorLine(l) || strings.HasPrefix(l, "Error: No tests found") {
			continue
		}
		body := t.Slice(i, min(i+30, t.Len())).lines
		b, ok := jsLoadError(body)
		if !ok {
			f.suite(SuiteFailure{Kind: SuiteUncaught, Message: jestMessage(body)})
			continue
		}
		if p, n, c, found := jestCodePlace(body); found {
			b.File, b.Line, b.Col = p, n, c
		}
		b.File = cleanPath(b.File, t.Hint.Dir)
		f.build(b)
		f.suite(SuiteFailure{Kind: SuiteLoad, File: b.File, Line: b.Line, Message: b.Message})
		return
	}
}
