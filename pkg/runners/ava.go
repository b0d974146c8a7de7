package runners

import (
	"regexp"
	"strings"
	"sync"
)

// ava lists results ("✔ file › title", "✘ [fail]: title message"), then details
// between rules of "─", then totals such as "1 test failed".

var avaTotal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^  (\d+) (tests?|hooks?|known failures?|uncaught exceptions?|unhandled rejections?|previous failures?.*)(?: (passed|failed|skipped|todo|timed out|pending|remaining.*))?$`)
})

func sniffAva(t *Text) match {
	rule := t.FindPrefix("  ─", 0) >= 0
	for i := t.Len() - 1; i >= 0; i-- {
		if l := t.Line(i); strings.HasPrefix(l, "  ") && rule && avaTotal().MatchString(l) {
			return span(scoreCertain, 0, t.Len())
		}
	}
	if t.HasAny("✘ Couldn’t find any", "✘ [fail]: ", "✘ Exiting due to process.exit()", "node_modules/ava/") {
		return t.all(scoreSure)
	}
	for i := range t.Len() {
		if l := t.Line(i); strings.HasPrefix(l, "  ✔ ") && strings.Contains(l, " › ") {
			return t.all(scoreSure - 20)
		}
	}
	return match{}
}

func parseAva(t *Text, f *finding) {
	if t.HasAny("✘ Couldn’t find any files to test", "✘ Couldn’t find any matching tests") {
		f.State = StateNoTests
		return
	}
	total := avaTotals(t, f)
	avaFailures(t, f)
	stopped := false
	for i := range t.Len() {
		s := strings.TrimSpace(t.Line(i))
		switch {
		case strings.HasPrefix(s, "✘ Exiting due to "), strings.HasPrefix(s, "✘ Timed out while running tests"):
			f.suite(SuiteFailure{Kind: SuiteCrash, Message: strings.TrimPrefix(s, "✘ ")})
			stopped = true
		case strings.HasPrefix(s, "✘ ") && strings.Contains(s, " remaining in "):
			stopped = stopped || !t.Has("hook failed") && !t.Has("hooks failed")
		case strings.HasPrefix(s, "Uncaught exception in "), strings.HasPrefix(s, "Unhandled rejection in "):
			avaUncaught(t, i, f)
		case strings.HasPrefix(s, "✘ No tests found in "):
			f.suite(SuiteFailure{Kind: SuiteLoad, Name: strings.TrimPrefix(s, "✘ No tests found in "), Message: "no tests found"})
			f.worse(StateFailed)
		case strings.HasPrefix(s, "✘ ") && strings.Contains(s, " exited with a non-zero exit code"):
			f.suite(SuiteFailure{Kind: SuiteCrash, Message: strings.TrimPrefix(s, "✘ ")})
			f.worse(StateFailed)
		}
	}
	switch {
	case stopped || !total:
		f.worse(StateDidNotFinish)
		f.Tests = Counts{}
	case val(f.Tests.Failed) > 0 || len(f.Failures) > 0:
		f.worse(StateFailed)
	case len(f.Suites) > 0:
		f.worse(StateFailed)
	case val(f.Tests.Passed) == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

// avaTotals reads the lines at the end; it reports whether there are any.
func avaTotals(t *Text, f *finding) bool {
	found := false
	c := Counts{Passed: new(0), Failed: new(0), Skipped: new(0), Todo: new(0)}
	for i := max(0, t.Len()-12); i < t.Len(); i++ {
		m := avaTotal().FindStringSubmatch(t.Line(i))
		if m == nil {
			continue
		}
		found = true
		n := atoi(m[1])
		switch {
		case strings.HasPrefix(m[2], "known failure"):
			bump(&c.Todo, n)
		case strings.HasPrefix(m[2], "uncaught"), strings.HasPrefix(m[2], "unhandled"):
			f.worse(StateFailed)
		case strings.HasPrefix(m[2], "hook"):
			f.suite(SuiteFailure{Kind: SuiteHook, Message: strings.TrimSpace(t.Line(i))})
		case m[3] == "passed":
			c.Passed = new(n)
		case m[3] == "failed":
			c.Failed = new(n)
		case m[3] == "skipped":
			c.Skipped = new(n)
		case m[3] == "todo":
			bump(&c.Todo, n)
		case m[3] == "timed out":
			f.worse(StateDidNotFinish)
		}
	}
	if val(c.Passed) == 0 { // with failures ava leaves the passed ones out
		for i := range t.Len() {
			if strings.HasPrefix(t.Line(i), "  ─") {
				break
			}
			if strings.HasPrefix(t.Line(i), "  ✔ ") {
				bump(&c.Passed, 1)
			}
		}
	}
	f.Tests = c
	return found
}

// avaFailures reads the details: a title alone in its line, which is a prefix of
// a "✘ [fail]:" line, then place, source and message.
func avaFailures(t *Text, f *finding) {
	var titles []string
	for i := range t.Len() {
		if s, ok := strings.CutPrefix(strings.TrimSpace(t.Line(i)), "✘ [fail]: "); ok {
			titles = append(titles, s)
		}
	}
	rule := t.FindPrefix("  ─", 0)
	used := make([]bool, len(titles))
	for i := rule + 1; rule >= 0 && i < t.Len(); i++ {
		l := t.Line(i)
		if indent(l) != 2 || t.Line(i-1) != "" || t.Line(i+1) != "" {
			continue
		}
		k := avaMatch(titles, used, l[2:])
		if k < 0 {
			continue
		}
		used[k] = true
		end := i + 1
		for ; end < t.Len(); end++ {
			if strings.HasPrefix(t.Line(end), "  ─") || indent(t.Line(end)) == 2 && t.Line(end-1) == "" && t.Line(end+1) == "" && avaMatch(titles, used, t.Line(end)[2:]) >= 0 {
				break
			}
		}
		f.fail(avaFailure(t, l[2:], t.Slice(i+1, end).lines))
		i = end - 1
	}
	for k, title := range titles {
		if !used[k] {
			f.fail(Failure{ID: avaID(title)})
		}
	}
}

func avaID(title string) string { return strings.ReplaceAll(title, " › ", " > ") }

func avaMatch(titles []string, used []bool, s string) int {
	for k, title := range titles {
		if !used[k] && s != "" && (title == s || strings.HasPrefix(title, s+" ")) {
			return k
		}
	}
	return -1
}

func avaFailure(t *Text, title string, body []string) Failure {
	x := Failure{ID: avaID(title)}
	var keep []string
	for _, l := range body {
		s := strings.TrimSpace(l)
		if p, n, _, ok := splitPos(strings.TrimPrefix(strings.TrimPrefix(s, "› "), "file://")); ok && looksLikeFile(p) && !foreign(p) {
			if x.Line == 0 {
				x.File, x.Line = cleanPath(p, t.Hint.Dir), n
			}
			continue
		}
		if avaSource().MatchString(l) || isFrame(l) || strings.HasPrefix(s, "› ") {
			continue
		}
		keep = append(keep, l)
	}
	if fr, ok := ownFrame(body); ok {
		x.File, x.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
	}
	x.Message = message(keep...)
	return x
}

var avaSource = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^   ?\d+: |^ +\d+:   `) })

func avaUncaught(t *Text, i int, f *finding) {
	s := strings.TrimSpace(t.Line(i))
	_, file, _ := strings.Cut(s, " in ")
	body := t.Slice(i+1, min(i+40, t.Len())).lines
	x := SuiteFailure{Kind: SuiteUncaught, Name: file, File: file, Message: jsMessage(body)}
	if fr, ok := ownFrame(body); ok {
		x.File, x.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
	}
	if b, ok := jsLoadError(body); ok {
		b.File = cleanPath(b.File, t.Hint.Dir)
		if b.File == "" {
			b.File = file
		}
		f.build(b)
		x.Kind = SuiteLoad
		f.worse(StateBuildFailed)
	}
	f.suite(x)
	f.worse(StateFailed)
}
