package runners

import "slices"

// One command often runs tools of several kinds ("tsc; jest"), and its exit code is
// that of the last. Inside the lines of a test run everything is the tests' own
// output; outside of them, and beside a tool that found nothing, what another tool
// says counts.

// beside adds to sum, read by kept, what others say in the same text.
func beside(t *Text, kept []candidate, sum finding) finding {
	first, names, guessed := kindWrapper, map[string]bool{}, false
	for _, c := range kept {
		first = min(first, c.kind)
		guessed = guessed || c.own == nil && c.from == 0 && c.to == t.Len()
		names[c.name] = true
	}
	switch {
	case first == kindTests && guessed && bad(sum.State): // the rest may be its own
	case first == kindTests:
		for _, g := range gaps(t, kept) {
			sum = gap(g, names, sum)
		}
	case first == kindBuild && !bad(sum.State):
		t = t.alone(nil)
		for _, c := range strangers(t, names, sum.State) {
			if c.kind != kindTests {
				sum = complain(t, c, sum)
			}
		}
	}
	return sum
}

// gaps are the parts of t that no kept run covers. A wrapper's lines may have any
// run between them.
func gaps(t *Text, kept []candidate) []*Text {
	covered := make([]bool, t.Len())
	for _, c := range kept {
		if c.kind == kindWrapper {
			continue
		}
		from, to := c.span(t)
		for i := max(from, 0); i < min(to, len(covered)); i++ {
			covered[i] = true
		}
	}
	var out []*Text
	for i := 0; i < len(covered); i++ {
		from := i
		for i < len(covered) && !covered[i] {
			i++
		}
		if g := t.Slice(from, i).alone(nil); !blank(g.whole) {
			out = append(out, g)
		}
	}
	return out
}

// span is where a run's own lines stand, from the first to the last; a match that
// reaches to an end of the text may go beyond them.
func (c candidate) span(t *Text) (from, to int) {
	from, to = c.from, c.to
	own := func(l string) bool { return containsAny(l, c.marks) }
	switch {
	case c.own != nil:
		own = func(l string) bool { return c.own().MatchString(l) }
	case len(c.marks) == 0 || from > 0 || to < t.Len():
		return from, to
	}
	if from == 0 {
		if from = slices.IndexFunc(t.lines, own); from < 0 {
			return c.from, c.to
		}
	}
	for end := to == t.Len(); end && to > from+1 && !own(t.lines[to-1]); to-- {
	}
	return from, to
}

// gap adds what stands in a part outside the test runs already read: complaints, and
// runs that failed. (One that passed may have been printed by a test.)
func gap(g *Text, names map[string]bool, sum finding) finding {
	kept := pick(strangers(g, names, sum.State))
	for _, c := range kept {
		part := g
		if len(kept) > 1 {
			part = g.Slice(c.from, c.to)
		}
		sum = complain(part, c, sum)
	}
	return beside(g, kept, sum)
}

// strangers are the parsers besides those named that are sure of t. A crash beside
// a run that failed is left to that run, and so is the word of a build tool that
// one of its commands failed.
func strangers(t *Text, names map[string]bool, state State) []candidate {
	var out []candidate
	for _, c := range candidates(t) {
		least := scoreSure
		switch {
		case names[c.name], c.kind == kindWrapper, bad(state) && (c.kind == kindCrash || c.name == "make" || c.name == "ninja"):
			continue
		case c.kind == kindCrash:
			least = scoreLikely
		}
		if c.score >= least {
			out = append(out, c)
		}
	}
	return out
}

// complain adds what one of strangers says, if it is bad. A crash counts where
// nothing of its program follows, as over exit code 0.
func complain(t *Text, c candidate, sum finding) finding {
	if c.kind == kindCrash {
		t = t.alone(new(int))
	}
	f := finding{kind: c.kind, countless: c.kind == kindBuild}
	c.parse(t, &f)
	if !bad(f.State) || c.kind == kindCrash && f.State == StateFailed || c.kind == kindBuild && sum.knows(f) {
		return sum
	}
	if f.Runner == "" {
		f.Runner = c.name
	}
	if c.kind == kindCrash {
		f.countless = true // it is no end of a test run: their counts stay
		f.Notes = []string{"a crash stands in the text outside the other runs"}
	}
	return join(sum, f)
}

// knows says that all that a compiler or linter complains of is listed already:
// several parsers read the same form.
func (f *finding) knows(x finding) bool {
	return len(x.Suites)+len(x.Failures) == 0 && len(x.BuildErrors) > 0 && !slices.ContainsFunc(x.BuildErrors, func(e BuildError) bool {
		return !slices.Contains(f.BuildErrors, e)
	})
}

// alone is t without what is known of the whole run, whose end is not that of each
// program in it.
func (t *Text) alone(exit *int) *Text {
	c := *t
	c.Hint = Hint{Dir: t.Hint.Dir, Exit: exit}
	return &c
}
