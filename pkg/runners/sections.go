package runners

import (
	"strings"
)

// One command often runs the same runner several times: npm over workspaces, a
// loop over packages, make in sub-directories. Parsers believe the last summary,
// so such output is cut where a new run begins and the parts are read one by one.

// runStart recognises the first line of a run that can follow another one.
func runStart(t *Text, i int) bool {
	l := t.Line(i)
	if l == "" {
		return false
	}
	switch l[0] {
	case '>':
		return npmHeader(l) && strings.HasPrefix(t.Line(i+1), "> ")
	case '=':
		return pyRule(l) == "test session starts"
	case 'T':
		return strings.HasPrefix(l, "TAP version 1") && len(l) == len("TAP version 13")
	case 'b':
		return strings.HasPrefix(l, "bun test v")
	case 'm':
		return strings.HasPrefix(l, "make[") && strings.Contains(l, "]: Entering directory ")
	case 'R':
		return pwRunning().MatchString(l) && strings.HasPrefix(l, "Running ")
	case ' ':
		return strings.HasPrefix(l, " RUN  v")
	}
	return followsEnd(t, i, l)
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
	return strings.HasPrefix(prev, "Ran all test suites") || strings.HasPrefix(prev, "Ran all test files") // jest
}

// npmHeader reads "> name@1.0.0 test".
func npmHeader(l string) bool {
	f := strings.Fields(strings.TrimPrefix(l, "> "))
	return len(f) >= 2 && strings.LastIndexByte(f[0], '@') > 0
}

// sections cuts t at the starts of runs; nil when there is only one.
func sections(t *Text) []*Text {
	var cuts []int
	for i := range t.Len() {
		if runStart(t, i) {
			cuts = append(cuts, i)
		}
	}
	// npm's header and the runner's own start a few lines below are one start.
	var starts []int
	for _, c := range cuts {
		if n := len(starts); n > 0 && c-starts[n-1] <= 4 {
			continue
		}
		starts = append(starts, c)
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
// means that the later "start" was printed by a test, so the whole is one run.
func readSections(t *Text) (f finding, ok bool) {
	parts := sections(t)
	if len(parts) < 2 {
		return f, false
	}
	read := 0
	for i, part := range parts {
		p := parseRun(part)
		if p.Runner == "" {
			continue
		}
		if i < len(parts)-1 && p.State == StateDidNotFinish && read == 0 {
			return f, false
		}
		f = join(f, p)
		read++
	}
	return f, read > 1
}
