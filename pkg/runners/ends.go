package runners

import "strings"

// runEnd is how the end of a run is known where runs of the same runner follow
// each other without a first line of their own (a loop over test files).
type runEnd struct {
	// total is the last line of a run's totals.
	total func() *pattern
	// lead is a line that a run prints before its totals: without it they were
	// printed by a test, unless a filter took it from all of them.
	lead func() *pattern
	// tail are lines that still belong to a run after its totals, as blank ones do.
	tail func() *pattern
	// begin tells the first line of a run where details follow the totals of the
	// one before; totals without one were printed by a test, as with lead.
	begin func(t *Text, i int) bool
	// sum is what stands in an output whose last totals are the sum of the others.
	sum func() *pattern
}

// took ends what parallel_tests prints: totals per process, then the sum of them.
var took = lazy(`^Took \d+ seconds`)

// finished, timed and denoHead stand before the totals of several runners.
var (
	finished = lazy(`^Finished in `)
	timed    = lazy(`^Time: `)
	denoHead = lazy(`^running \d+ tests? from `)
)

// runEnds has one entry for each form of totals of which a run prints one.
var runEnds = []runEnd{
	{total: minitestSummary, lead: finished, sum: took},
	{total: rspecSummary, lead: finished, sum: took, tail: lazy(`^(?:Failed examples:|rspec \S.*|Randomized with seed \d+)$`)},
	{total: testunitSummary, lead: finished, sum: took, tail: lazy(`^(?:[\d.]+% passed|-{40,}|[\d.]+ tests/s, .*)$`)},
	{total: exunitSummary, lead: finished, tail: lazy(`^Randomized with seed \d+$`)},
	{total: lazy(`^(?:OK \(\d+ tests?, \d+ assertions?\)|Tests: \d+, Assertions: \d+.*\.)$`), lead: timed},                            // PHPUnit
	{total: lazy(`^(?:OK \(\d+ tests?\)|Tests run: \d+,  Failures: \d+)$`), lead: timed},                                              // JUnit 4
	{total: lazy(`^\[ +\d+ tests failed +\]$`)},                                                                                       // JUnit 5
	{total: lazy(`^(?:All tests passed \(\d+ assertions? in \d+ test cases?\)|test cases: +\d+ \|.*)$`), tail: lazy(`^assertions: `)}, // Catch2
	{total: catchShort},
	{total: lazy(`^(?:ok|FAILED) \| \d+ passed.* \| \d+ failed.* \(\S+\)$`), lead: denoHead, tail: lazy(`^error: Test failed$`)}, // deno
	{total: lazy(`^ +\d+ passing \(\S+\)$`), begin: mochaBegins},
	{total: lazy(`^ℹ duration_ms [\d.]+$`), begin: nodeBegins},
	{total: lazy(`^(?:Ran \d+ of )?\d+ specs?, \d+ failures?`), tail: lazy(`^(?:Finished in |Randomized with seed )`)},              // jasmine
	{total: lazy(`^  Duration:  [\d.]+m?s$`)},                                                                                       // uvu
	{total: lazy(`^(?:\d+ [a-z]+, )*\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected)(?:, \d+ [a-z]+)* in [\d.]+s`)}, // pytest -q
	{total: proveResult},
	{total: tclSummary},
}

// afterTotals are the lines at which a further run begins after a run's totals:
// those that another line of totals of the same form follows.
func afterTotals(t *Text) []int {
	var cuts []int
	for _, e := range runEnds {
		if lastMatch(t, e.total()) < 0 || e.sum != nil && lastMatch(t, e.sum()) >= 0 {
			continue
		}
		leads := e.lead != nil && lastMatch(t, e.lead()) >= 0
		prev, led := -1, !leads
		for i, l := range t.lines {
			if e.lead != nil && e.lead().MatchString(l) {
				led = true
			}
			if !led || !e.total().MatchString(l) {
				continue
			}
			if prev >= 0 {
				if next := e.next(t, prev, i); next > 0 {
					cuts = append(cuts, next)
				}
			}
			prev, led = i, !leads
		}
	}
	return cuts
}

// next is where the run begins whose totals are line end, after one whose totals
// are line at.
func (e runEnd) next(t *Text, at, end int) int {
	if e.begin != nil {
		for i := at + 1; i < end; i++ {
			if e.begin(t, i) {
				return i
			}
		}
		for i := range at {
			if e.begin(t, i) {
				return 0
			}
		}
	}
	for i := at + 1; e.tail != nil && i < end; i++ {
		if !blank(t.lines[i]) && !e.tail().MatchString(t.lines[i]) {
			return i
		}
	}
	return at + 1
}

// mochaBegins: a run begins with an empty line after the one that ended the last.
func mochaBegins(t *Text, i int) bool {
	l := t.lines[i]
	return strings.HasPrefix(l, "  ") && indent(l) == 2 && !mochaEntry().MatchString(l) && i > 0 && t.lines[i-1] == "" && t.Line(i-2) == ""
}

// nodeBegins: a result at the margin that is not one of the failures listed again.
func nodeBegins(t *Text, i int) bool {
	return isSpecMark(t.lines[i]) && t.lines[i] != "✖ failing tests:" && indent(t.lines[i]) == 0 && !strings.HasPrefix(t.Line(i-1), "test at ")
}
