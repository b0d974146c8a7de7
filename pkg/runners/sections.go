package runners

import (
	"strings"
)

// One command often runs the same runner several times: npm over workspaces, a
// loop over packages, make in sub-directories. Parsers believe the last summary,
// so such output is cut where a new run begins and the parts are read one by one.

// runStart recognises the first line of a run, be it npm's or make's.
func runStart(t *Text, i int) bool {
	l := t.Line(i)
	switch {
	case strings.HasPrefix(l, "> "):
		return npmHeader(l) && strings.HasPrefix(t.Line(i+1), "> ")
	case strings.HasPrefix(l, "make["):
		return strings.Contains(l, "]: Entering directory ")
	}
	return runnerStart(l)
}

// runnerStart recognises the first line that a test runner prints.
func runnerStart(l string) bool {
	if l == "" {
		return false
	}
	switch l[0] {
	case '=':
		return pyRule(l) == "test session starts"
	case 'T':
		return strings.HasPrefix(l, "TAP version 1") && len(l) == len("TAP version 13")
	case 'b':
		return strings.HasPrefix(l, "bun test v")
	case 'R':
		return pwRunning().MatchString(l) && strings.HasPrefix(l, "Running ")
	case ' ':
		return strings.HasPrefix(l, " RUN  v")
	}
	return false
}

// followsEnd: the line before was the last one of a runner that has no first
// line of its own.
func followsEnd(t *Text, i int, l string) bool {
	prev := t.Line(i - 1)
	switch {
	case strings.HasPrefix(prev, "OK") || strings.HasPrefix(prev, "FAILED ("): // unittest
		return strings.HasPrefix(t.Line(i-3), "Ran ")
	case strings.HasSuffix(l, "%]") && strings.Contains(prev, " in "): // pytest -q
		return pyProgress().MatchString(l) && pySummary().MatchString(prev)
	}
	// jest; totals right after its end are what a test wrote, which comes late
	return (strings.HasPrefix(prev, "Ran all test suites") || strings.HasPrefix(prev, "Ran all test files")) && !strings.HasPrefix(l, "Tests: ")
}

// npmHeader reads "> name@1.0.0 test".
func npmHeader(l string) bool {
	f := strings.Fields(strings.TrimPrefix(l, "> "))
	return len(f) >= 2 && strings.LastIndexByte(f[0], '@') > 0
}

// sections cuts t at the starts of runs; nil when there is only one.
func sections(t *Text) []*Text {
	over := map[int]bool{}
	for _, i := range afterTotals(t) {
		over[i] = true
	}
	var starts []int
	for i := range t.Len() {
		switch n := len(starts); {
		case over[i] || followsEnd(t, i, t.lines[i]):
			starts = append(starts, i)
		case runStart(t, i) && (n == 0 || i-starts[n-1] > 4):
			// npm's header and the runner's own start a few lines below are one start.
			starts = append(starts, i)
		}
	}
	if len(starts) == 0 || len(starts) == 1 && blankBefore(t, starts[0]) {
		return nil
	}
	var parts []*Text
	from := 0
	for _, c := range starts {
		if c > from && !blankBefore(t.Slice(from, c), c-from) {
			parts = append(parts, t.Slice(from, c))
			from = c
		}
	}
	return append(parts, t.Slice(from, t.Len()))
}

// blankBefore: only blank lines stand before line i.
func blankBefore(t *Text, i int) bool {
	for j := range min(i, t.Len()) {
		if strings.TrimSpace(t.Line(j)) != "" {
			return false
		}
	}
	return true
}

// readSections reads the parts of several runs. ok is false when that is not
// what the output is: a part before the last one that did not come to its end
// and shows no crash means that the later "start" may have been printed by a test.
// It is read as one run then, and what is unsure stays unknown.
func readSections(t *Text) (f finding, ok bool) {
	parts := sections(t)
	if len(parts) < 2 {
		return f, false
	}
	read := 0
	for i, p := range parseParts(parts, func(_ int, t *Text) finding { return parseRun(t) }) {
		if p.Runner == "" {
			continue
		}
		if i < len(parts)-1 && p.State == StateDidNotFinish && read == 0 && !died(parts[i]) {
			return oneRun(t), true
		}
		f = join(f, p)
		read++
	}
	return f, read > 1
}

// oneRun reads t as the one run that it is when a test printed the starts of
// others. A good result needs as many ends as starts: with fewer of them the first
// run broke off and the result is another's.
func oneRun(t *Text) finding {
	f := parseRun(t)
	open := 0
	for i, l := range t.lines {
		if runnerStart(l) {
			open++
		}
		if runnerEnd(t, i) {
			open--
		}
	}
	if open > 0 && (f.State == StatePassed || f.State == StateNoTests) {
		f.State = StateUnknown
		f.note("the output holds more starts of a run than ends: whether the first one finished is not told")
	}
	return f
}

var pwLast = lazy(`^  \d+ [a-z ]+ \(\d\S*\)$`)

// runnerEnd recognises one line of the totals of the runners of runnerStart.
func runnerEnd(t *Text, i int) bool {
	l := t.lines[i]
	switch {
	case l == "":
		return false
	case l[0] == '=':
		return pySummary().MatchString(l)
	case l[0] == '1':
		return strings.HasPrefix(l, "1..")
	case strings.HasPrefix(l, "Ran "):
		return strings.Contains(l, " across ")
	}
	return strings.HasPrefix(l, " Test Files  ") && strings.HasPrefix(t.Line(i+1), "      Tests  ") || pwLast().MatchString(l)
}

var (
	shellDied = lazy(`^(?:\S+: line \d+: +\d+ )?(?:Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception|Killed|Terminated|Trace/breakpoint trap|Speicherzugriffsfehler)(?: +\((?:core dumped|Speicherabzug geschrieben)\))?(?: .*)?$`)
	diedMarks = []string{"Fatal Python error: ", "FATAL ERROR: ", "fatal error: ", "panic: ", "SIGSEGV: ", "Bun has crashed", "# A fatal error has been detected by the Java"}
)

// died reports that t ends with a crash: the shell's word for it in one of the
// last lines, or the runtime's own at the start of a line.
func died(t *Text) bool {
	for i, rest := t.Len()-1, 8; i >= 0; i-- {
		l := t.lines[i]
		if blank(l) {
			continue
		}
		if rest--; rest >= 0 && shellDied().MatchString(l) || hasAnyPrefix(l, diedMarks) {
			return true
		}
	}
	return false
}
