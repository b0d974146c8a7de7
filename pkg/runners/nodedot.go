package runners

import "strings"

// sniffNodeDot recognises the dot reporter: a line of . and X, and failures
// under "Failed tests:".
func sniffNodeDot(t *Text) match {
	i := 0
	for i < t.Len() && (strings.TrimSpace(t.Line(i)) == "" || strings.HasPrefix(t.Line(i), "> ")) {
		i++
	}
	start := i
	for i < t.Len() && t.Line(i) != "" && strings.Trim(t.Line(i), ".X") == "" {
		i++
	}
	if i == start {
		return match{}
	}
	if j := t.FindPrefix("Failed tests:", i); j >= 0 {
		return t.all(scoreSure)
	}
	if i >= t.Len() && !t.unended {
		return t.all(scoreWeak + 5)
	}
	return match{}
}

func parseNodeDot(t *Text, f *finding) {
	f.Runner = "node-test dot"
	defer func() { f.Runner = "node-test" }()
	i := t.FindPrefix("Failed tests:", 0)
	if i < 0 {
		f.State = StatePassed
		for _, l := range t.lines {
			if strings.Contains(l, "X") {
				f.State = StateFailed
			}
		}
		f.note("the dot reporter names no tests and no counts")
		return
	}
	nodeFailures(t, specTree{}, specFailures(t.Slice(i+1, t.Len()), false), f)
	if len(f.Failures) > 0 || len(f.Suites) > 0 {
		f.worse(StateFailed)
	} else {
		f.State = StatePassed
	}
}

// adopt puts the last n failures that have no parent yet under name. A subtest
// that is a parent itself counts as one, so its children move along.
func adopt(f *finding, name string, n, roots int) int {
	last := len(f.Failures)
	for i := last - 1; i >= 0 && i >= last-min(n, roots); i-- {
		f.Failures[i].ID = jsID(name, f.Failures[i].ID)
	}
	return roots
}
