package runners

// kind orders parsers: what a test framework says goes before a compiler's
// message in the same place, that before a crash, and a wrapper (npm, make,
// timeout) speaks only where nothing else does, or adds to it.
type kind int

const (
	kindTests kind = iota
	kindBuild
	kindCrash
	kindWrapper
)

// parser is one entry of the table.
type parser struct {
	// name is Result.Runner ("pytest", "go test", "tsc").
	name string
	kind kind
	// reports names the runners whose machine-readable report this entry reads;
	// beside their text in the same output it is a second copy and is left out.
	// "*" is every test runner (JUnit XML).
	reports []string
	// marks are literals of which at least one stands in every output of this
	// runner; without one of them sniff is not called. Cheap to test: keep them
	// specific (4 bytes or more). Empty: sniff is always called.
	marks []string
	// own is a line of the runner's frame (its header, its marks, its totals), for
	// matches that reach to an end of the text: what stands before the first and
	// after the last such line may be another tool's. nil: lines that hold a mark.
	own func() *pattern
	// sniff looks closer and says how sure it is, and where.
	sniff func(t *Text) match
	// parse reads the text (the whole of it, or the lines of its match when
	// several runners share the output) and fills f.
	parse func(t *Text, f *finding)
}

// match says how sure a parser is that (a part of) the text is its own, and
// which lines that part spans (to exclusive). The zero match means "not mine".
// A weaker match inside the span of a stronger one is text printed by tests and
// ignored; disjoint strong matches of different runners are read one by one.
type match struct {
	score    int
	from, to int
}

// Scores. Between them is fine too.
const (
	scoreWeak    = 20 // could be; used when nothing better is there
	scoreLikely  = 50 // the shape fits, no summary
	scoreSure    = 80 // the runner's own summary or header, where its grammar puts it
	scoreCertain = 95 // a form nobody else prints
)

// span is a match over lines from to to (exclusive).
func span(score, from, to int) match { return match{score, from, to} }

// all is a match over the whole text.
func (t *Text) all(score int) match { return match{score, 0, t.Len()} }

// finding is what one parser makes of the text, before the exit code has its say.
// State is what the text alone says; leave StateUnknown ("" counts as unknown)
// when it does not tell.
type finding struct {
	Result
	// kind is that of the parser, after a join the first in order.
	kind kind
	// exitExplained: the non-zero exit code is this runner's normal way to say
	// what State says, even where it looks like a signal (mocha exits with the
	// number of failures, 124 included).
	exitExplained bool
	// forgiven: the text shows failures that the runner itself made good (a
	// rerun), so an exit code 0 makes the run passed.
	forgiven bool
	// countless: what was read runs no tests (a compiler, make), so its missing
	// counts leave nothing out of a sum.
	countless bool
}

func (f *finding) fail(x Failure)       { f.Failures = append(f.Failures, x) }
func (f *finding) suite(x SuiteFailure) { f.Suites = append(f.Suites, x) }
func (f *finding) build(x BuildError)   { f.BuildErrors = append(f.BuildErrors, x) }
func (f *finding) note(s string)        { f.Notes = append(f.Notes, s) }
func (f *finding) extra(k string, n int) {
	if f.Extra == nil {
		f.Extra = map[string]int{}
	}
	f.Extra[k] += n
}

// worse raises the state to s if s outranks what is there.
func (f *finding) worse(s State) { f.State = worst(f.State, s) }

// val is the count or 0 when unknown.
func val(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}

// add adds two counts; unknown plus unknown stays unknown, known plus unknown is
// unknown too, because a sum that leaves something out is wrong.
func add(a, b *int) *int {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}

// addClass adds counts of a class that many runners do not have (todo, errors):
// where one runner has no such class the other's count is the sum.
func addClass(a, b *int) *int {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return new(*a + *b)
}

// bump adds n to a count, which becomes known.
func bump(p **int, n int) {
	v := val(*p) + n
	*p = &v
}

// stateRank orders states by priority; higher wins.
func stateRank(s State) int {
	switch s {
	case StateDidNotFinish:
		return 5
	case StateBuildFailed:
		return 4
	case StateFailed:
		return 3
	case StateNoTests:
		return 2
	case StatePassed:
		return 1
	}
	return 0
}

// bad says that s is worse than having run nothing.
func bad(s State) bool { return stateRank(s) > stateRank(StateNoTests) }

// worst returns the state of higher priority.
func worst(a, b State) State {
	if stateRank(b) > stateRank(a) {
		return b
	}
	return a
}
