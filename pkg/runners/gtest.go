package runners

import "strings"

var (
	gtestStart   = lazy(`^\[==========\] Running (\d+) tests? from (\d+) test (?:suites?|cases?)\.$`)
	gtestEnd     = lazy(`^\[==========\] (\d+) tests? from \d+ test (?:suites?|cases?) ran\.`)
	gtestResult  = lazy(`\[(       OK |  FAILED  |  SKIPPED )\] (\S+?)(?:, where (?:Get|Type)Param\(?.*)? \(\d+ ms\)$`)
	gtestTally   = lazy(`^\[  (PASSED |FAILED |SKIPPED) \] (\d+) tests?[.,]`)
	gtestPlace   = lazy(`^(.+?)(?::(\d+)|\((\d+)\)): (Failure|Skipped|error: .*|Failure.*)$`)
	gtestFixture = lazy(`^\[  FAILED  \] (\S+): SetUpTestSuite or TearDownTestSuite`)
)

func gtestParser() parser {
	return parser{
		name: "googletest", kind: kindTests, marks: []string{"[==========]", "[ RUN      ]", "Running main() from"},
		own: lazy(`^(?:\[[ =A-Z-]{10}\]|Running main\(\) from|Note: Google Test |\s*\d+ FAILED TESTS?)`),
		sniff: func(t *Text) match {
			if t.FindPrefix("[==========]", 0) >= 0 || t.FindPrefix("[ RUN      ]", 0) >= 0 {
				return t.all(scoreCertain)
			}
			return match{}
		}, parse: func(t *Text, f *finding) {
			gtestParse(t, f)
			memoryBeside(t, f)
		},
	}
}

// gtestRun is the reader's state over one or more runs in the same output.
type gtestRun struct {
	t *Text
	f *finding
	// open is the test that began and has not ended.
	open string
	// lost are the tests in which a run died before the next one began.
	lost []Failure
	// setup is what failed between tests: the set-up of a suite.
	setup Failure
	// since is where the output of the current test (or the gap) begins.
	since   int
	started bool
	ended   bool // a closing line came after the last test
	repeat  bool
	seen    map[string]bool // failures listed
	hooks   map[string]bool
	total   int
	tally   map[string]int
	ran     Counts
}

func gtestParse(t *Text, f *finding) {
	r := &gtestRun{t: t, f: f, seen: map[string]bool{}, hooks: map[string]bool{}, repeat: t.Has("Repeating all tests (iteration ")}
	f.Tests = Counts{}
	for i, l := range t.lines {
		r.line(i, l)
	}
	r.finish()
}

func (r *gtestRun) line(i int, l string) {
	if name, ok := strings.CutPrefix(l, "[ RUN      ] "); ok {
		if gap := r.t.lines[min(r.since, i):i]; r.open == "" && len(gap) > 1 && len(gap) < 400 {
			if x := gtestBlock(r.t, gap); x.File != "" || x.Message != "" {
				r.setup = x
			}
		}
		r.open, r.since, r.ended, r.started = name, i+1, false, true
		return
	}
	if strings.Contains(l, " ms)") {
		if m := gtestResult().FindStringSubmatch(l); m != nil && (m[2] == r.open || r.open == "") {
			if m[1] == "  FAILED  " {
				r.fail(m[2], i)
			}
			r.open, r.since = "", i+1
			return
		}
	}
	if r.open != "" && !strings.HasPrefix(l, "[==========] ") {
		return
	}
	switch {
	case strings.HasPrefix(l, "[==========] "):
		r.bar(i, l)
	case strings.HasPrefix(l, "[  ") && r.ended:
		if m := gtestTally().FindStringSubmatch(l); m != nil {
			r.tally[strings.TrimSpace(m[1])] = atoi(m[2])
		}
	}
	if strings.Contains(l, "SetUpTestSuite") {
		if m := gtestFixture().FindStringSubmatch(l); m != nil && !r.hooks[m[1]] {
			r.hooks[m[1]] = true
			r.f.suite(SuiteFailure{Kind: SuiteHook, Name: m[1], File: r.setup.File, Line: r.setup.Line, Message: r.setup.Message})
		}
	}
}

// bar reads the lines that open and close a run.
func (r *gtestRun) bar(i int, l string) {
	if m := gtestStart().FindStringSubmatch(l); m != nil && (r.open == "" || r.died(i)) {
		if r.started && !r.ended || r.open != "" {
			r.lose(i)
		}
		r.settleRun()
		r.started, r.ended, r.since, r.total = true, false, i+1, atoi(m[1])
		return
	}
	if m := gtestEnd().FindStringSubmatch(l); m != nil && r.open == "" {
		r.started, r.ended, r.total, r.tally = true, true, atoi(m[1]), map[string]int{}
	}
}

// died reports that the open test never ends: from line i on, where another run
// begins, it has no more results than beginnings. One more means that the test
// itself printed a run.
func (r *gtestRun) died(i int) bool {
	more := 0
	for _, l := range r.t.lines[i:] {
		if name, ok := strings.CutPrefix(l, "[ RUN      ] "); ok && name == r.open {
			more--
		} else if m := gtestResult().FindStringSubmatch(l); m != nil && m[2] == r.open {
			more++
		}
		if more > 0 {
			return false
		}
	}
	return true
}

// lose keeps the test in which the run before line i died, the zero Failure's id
// when that was between two tests.
func (r *gtestRun) lose(i int) {
	r.lost = append(r.lost, r.unfinished(i))
	r.open = ""
}

// unfinished is the open test with what it printed before line end.
func (r *gtestRun) unfinished(end int) Failure {
	lines := r.t.lines[min(r.since, end):end]
	x := gtestBlock(r.t, lines)
	if x.Message == "" {
		x = nativeBlock(r.t, lines)
	}
	x.ID = r.open
	return x
}

// settleRun adds the counts of a run that is over.
func (r *gtestRun) settleRun() {
	if r.tally == nil {
		return
	}
	passed, skipped := r.tally["PASSED"], r.tally["SKIPPED"]
	failed := max(r.total-passed-skipped, 0)
	if r.repeat {
		r.ran = Counts{}
	}
	bump(&r.ran.Passed, passed)
	bump(&r.ran.Failed, failed)
	bump(&r.ran.Skipped, skipped)
	r.tally = nil
}

func (r *gtestRun) finish() {
	f := r.f
	over := r.ended && r.tally != nil && r.open == ""
	r.settleRun()
	if r.open != "" {
		r.lost = append(r.lost, r.unfinished(r.t.Len()))
	}
	over = over && len(r.lost) == 0
	if over {
		f.Tests = r.ran
		f.Tests.Todo = new(0)
	}
	for _, x := range r.lost {
		if x.ID == "" {
			f.note("a run ended between two tests, before its totals")
			continue
		}
		f.note("started and never finished: " + x.ID)
		f.fail(x)
	}
	switch {
	case !over:
		f.State = StateDidNotFinish
	case val(f.Tests.Failed) > 0 || len(f.Failures) > 0 || len(f.Suites) > 0:
		f.State = StateFailed
	case val(f.Tests.Passed) == 0:
		f.State = StateNoTests
	default:
		f.State = StatePassed
	}
}

func (r *gtestRun) fail(id string, i int) {
	if r.seen[id] {
		return // a repeated run fails again
	}
	r.seen[id] = true
	x := gtestBlock(r.t, r.t.lines[min(r.since, i):i])
	x.ID = id
	r.f.fail(x)
}

// gtestBlock reads what a test printed: the first failure gives the place, all
// of them the message.
func gtestBlock(t *Text, lines []string) Failure {
	var x Failure
	var keep []string
	in := false
	for _, l := range lines {
		if strings.HasPrefix(l, "[") && strings.Contains(l, "]") && (strings.HasPrefix(l, "[-----") || strings.HasPrefix(l, "[=====") || strings.HasPrefix(l, "[  PASSED")) {
			continue
		}
		m := gtestPlace().FindStringSubmatch(l)
		if m == nil {
			if strings.HasPrefix(l, "unknown file: ") {
				in = true
				continue
			}
			if in {
				keep = append(keep, l)
			}
			continue
		}
		in = true
		if len(keep) > 0 && len(keep) < 200 {
			keep = append(keep, "")
		}
		if fr := (frame{m[1], atoi(m[2] + m[3])}); x.File == "" && !foreign(fr.file) {
			x.File, x.Line = t.path(fr.file), fr.line
		}
		if strings.HasPrefix(m[4], "error: ") {
			keep = append(keep, m[4][len("error: "):])
		}
	}
	x.Message = message(keep...)
	return x
}
