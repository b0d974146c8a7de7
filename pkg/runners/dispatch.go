package runners

import (
	"slices"
	"sort"
	"strings"
)

// Parse reads the output of a finished (or cut) run. text may hold escape codes,
// CR and bad bytes; what is clean already is not cleaned again. It never fails:
// what it does not recognise is StateUnknown. Time is linear in len(text), and
// memory a small multiple; for huge texts use a Scanner.
func Parse(text []byte, h Hint) Result {
	if len(text) > scanWhole {
		s := NewScanner(h)
		for len(text) > 0 {
			n := min(len(text), 1<<20)
			_, _ = s.Write(text[:n])
			text = text[n:]
		}
		return s.Result(h)
	}
	return parseText(newText(normalise(text), h))
}

func parseText(t *Text) Result {
	var sum finding
	for i, f := range parseParts(unprefix(t), func(_ int, t *Text) finding { return parsePart(t) }) {
		if i == 0 {
			sum = f
			continue
		}
		sum = join(sum, f)
	}
	return settle(t, throughFilter(t, sum))
}

// parsePart reads the output of one service: one run or several.
func parsePart(t *Text) finding {
	if f, ok := readSections(t); ok {
		return f
	}
	return parseRun(t)
}

// parseRun reads a part as one run, perhaps of several runners one after the other.
func parseRun(t *Text) finding {
	kept := pick(candidates(t))
	return beside(t, kept, read(t, kept))
}

// candidates are the parsers that take (a part of) t for their own.
func candidates(t *Text) []candidate {
	var found []candidate
	table := parsers()
	var marked []bool
	if len(t.whole) > marksWorth {
		marked = tableMarks().find(t.whole, len(table))
	}
	for i, p := range table {
		if len(p.marks) > 0 && (marked != nil && !marked[i] || marked == nil && !t.HasAny(p.marks...)) {
			continue
		}
		if m := p.sniff(t); m.score > 0 {
			found = append(found, candidate{p, m, i})
		}
	}
	return found
}

type candidate struct {
	parser
	match
	order int
}

// pick keeps, from the surest down, the matches that do not lie within a surer
// one. Weak matches count only when there is nothing better.
func pick(found []candidate) []candidate {
	found = withoutCopies(found)
	sort.SliceStable(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.kind != b.kind {
			return a.kind < b.kind
		}
		return a.score > b.score
	})
	var kept []candidate
next:
	for _, c := range found {
		for _, k := range kept {
			if k.from < c.to && c.from < k.to {
				continue next
			}
		}
		if len(kept) > 0 && c.score < scoreLikely {
			continue
		}
		kept = append(kept, c)
	}
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].from < kept[j].from })
	return kept
}

// withoutCopies drops reports whose runner also printed its text.
func withoutCopies(found []candidate) []candidate {
	var kept []candidate
	for _, c := range found {
		if len(c.reports) == 0 || !slices.ContainsFunc(found, func(o candidate) bool {
			return len(o.reports) == 0 && o.kind == kindTests && o.score >= scoreSure && o.name != "tap-stream" &&
				(c.reports[0] == "*" || slices.Contains(c.reports, o.name))
		}) {
			kept = append(kept, c)
		}
	}
	return kept
}

// read runs the kept parsers and joins what they found.
func read(t *Text, kept []candidate) finding {
	parts := make([]*Text, 0, len(kept))
	for _, c := range kept {
		part := t
		if len(kept) > 1 {
			part = t.Slice(c.from, c.to)
		}
		parts = append(parts, part)
	}
	found := parseParts(parts, func(i int, t *Text) (f finding) {
		c := kept[i]
		if c.kind >= kindCrash || only(kept, i) {
			t = parts[i] // what ends the whole speaks of its exit code
		}
		f.kind = c.kind
		c.parse(t, &f)
		if f.Runner == "" {
			f.Runner = c.name
		}
		f.countless = (c.kind == kindBuild || c.kind == kindWrapper) && f.Tests == Counts{}
		return f
	})
	var sum finding
	for i, f := range found {
		if i == 0 {
			sum = f
			continue
		}
		sum = join(sum, f)
	}
	return sum
}

// inLog says that f is a stack trace in a log, which proves nothing beside a run
// that has a result.
func (f *finding) inLog() bool {
	return f.kind == kindCrash && (f.State == "" || f.State == StateUnknown)
}

// only: candidate i is the only test runner or build tool.
func only(kept []candidate, i int) bool {
	for j, c := range kept {
		if j != i && c.kind < kindCrash {
			return false
		}
	}
	return true
}

// join adds what a second runner in the same output says.
func join(a, b finding) finding {
	if b.Runner == "" || a.Runner != "" && (b.State == "" || b.State == StateUnknown) && len(b.Failures)+len(b.Suites)+len(b.BuildErrors) == 0 {
		return a
	}
	if a.Runner == "" {
		return b
	}
	if bad(a.State) && a.kind == kindTests && b.onlyPassesOn() {
		return a
	}
	if a.inLog() || b.inLog() {
		if a.inLog() {
			a, b = b, a
		}
		a.Notes = append(a.Notes, b.Notes...)
		return a
	}
	a.forgiven = (a.forgiven || b.forgiven) && (a.forgiven || !bad(a.State)) && (b.forgiven || !bad(b.State))
	switch {
	case a.State == "" || a.State == StateUnknown:
		a.State = b.State
	case a.State == StateNoTests && b.State == StatePassed, a.State == StatePassed && b.State == StateNoTests:
		a.State = StatePassed
		a.Notes = append(a.Notes, "one of the runs ran no test")
	default:
		a.State = worst(a.State, b.State)
	}
	for name := range strings.SplitSeq(b.Runner, "+") {
		if !slices.Contains(strings.Split(a.Runner, "+"), name) {
			a.Runner += "+" + name
		}
	}
	a.Tests = sumCounts(a, b)
	a.countless = a.countless && b.countless
	a.kind = min(a.kind, b.kind)
	a.Failures = append(a.Failures, b.Failures...)
	a.Suites = append(a.Suites, b.Suites...)
	a.BuildErrors = append(a.BuildErrors, b.BuildErrors...)
	a.Notes = append(a.Notes, b.Notes...)
	for k, v := range b.Extra {
		a.extra(k, v)
	}
	a.exitExplained = a.exitExplained && b.exitExplained
	return a
}

// onlyPassesOn reports whether a build tool only says that a command of its failed.
func (f finding) onlyPassesOn() bool {
	return (f.Runner == "make" || f.Runner == "ninja") && len(f.Failures)+len(f.Suites) == 0 &&
		!slices.ContainsFunc(f.BuildErrors, func(e BuildError) bool { return e.File != "" && e.File != "Makefile" })
}

// sumCounts adds what two runs counted.
func sumCounts(a, b finding) Counts {
	switch {
	case a.countless:
		return b.Tests
	case b.countless:
		return a.Tests
	}
	return Counts{
		Passed: add(a.Tests.Passed, b.Tests.Passed), Failed: add(a.Tests.Failed, b.Tests.Failed),
		Skipped: add(a.Tests.Skipped, b.Tests.Skipped), Todo: addClass(a.Tests.Todo, b.Tests.Todo),
		Errors: addClass(a.Tests.Errors, b.Tests.Errors),
	}
}
