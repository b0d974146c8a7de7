package runners

import "strings"

// pyVerdict decides the state.
func pyVerdict(t *Text, d pyDoc, f *finding) {
	cut := func(why string) {
		f.worse(StateDidNotFinish)
		f.Tests = Counts{}
		f.note(why)
	}
	tail := max(0, t.Len()-60)
	switch {
	case bang(t, tail, "KeyboardInterrupt") || bang(t, tail, "_pytest.outcomes.Exit") || bang(t, tail, "Interrupted: ") && !bang(t, tail, "during collection") && val(f.Tests.Failed)+val(f.Tests.Errors) == 0:
		cut("the run was interrupted")
		return
	case t.FindPrefix("INTERNALERROR> ", 0) >= 0:
		cut("pytest itself failed (INTERNALERROR)")
		return
	case t.FindPrefix("Fatal Python error: ", 0) >= 0 && d.sum < 0:
		cut(t.Line(t.FindPrefix("Fatal Python error: ", 0)))
		return
	case t.FindPrefix("ImportError while loading conftest", 0) >= 0:
		pyConftest(t, f)
		return
	case d.sum < 0:
		pyNoTotals(t, d, f, cut)
		return
	}
	ran := val(f.Tests.Passed) + val(f.Tests.Failed) + val(f.Tests.Todo) + f.Extra["xpassed"]
	switch {
	case val(f.Tests.Failed)+val(f.Tests.Errors) == 0 && len(d.sections)+len(d.entries) > 0 && f.Extra["subtests failed"] == 0 && ran > 0:
		cut("the totals do not fit the failures above them: a test printed them")
	case len(f.BuildErrors) > 0:
		f.worse(StateBuildFailed)
	case val(f.Tests.Failed) > 0 || val(f.Tests.Errors) > 0 || len(f.Suites) > 0 || f.Extra["subtests failed"] > 0:
		f.worse(StateFailed)
	case ran == 0 && len(f.Failures) > 0:
		f.worse(StateFailed)
		f.Tests = Counts{}
	case ran == 0:
		f.State = StateNoTests
		if strings.Contains(t.Line(d.sum), "collected") {
			f.Tests = Counts{}
		}
	default:
		f.worse(StatePassed)
	}
	if pyInterrupted(t) && f.State == StateBuildFailed && d.quietCounts(t) {
		f.Tests = Counts{Errors: f.Tests.Errors}
	}
}

// quietCounts: totals printed by -q after errors during collection speak of
// errors alone.
func (d pyDoc) quietCounts(t *Text) bool {
	return len(d.sections) == 0 && !strings.HasPrefix(t.Line(d.sum), "=")
}

func pyInterrupted(t *Text) bool { return bang(t, 0, "during collection") }

// bang looks for "!!!!! text !!!!!".
func bang(t *Text, from int, text string) bool {
	for i := from; i < t.Len(); i++ {
		if l := t.Line(i); strings.HasPrefix(l, "!!") && strings.Contains(l, text) {
			return true
		}
	}
	return false
}

// pyNoTotals: -qq, a refused command line, or a run that broke off.
func pyNoTotals(t *Text, d pyDoc, f *finding, cut func(string)) {
	if i := pyUsage(t); i >= 0 {
		f.State = StateNoTests
		f.note(t.Line(i))
		return
	}
	header := t.Has("== test session starts ==")
	done := pyCountMarks(t, f)
	switch {
	case header || !done && len(d.entries) == 0:
		cut("pytest's totals are missing: the run did not come to its end")
	case len(f.BuildErrors) > 0:
		f.worse(StateBuildFailed)
	case len(f.Failures) > 0 || len(d.entries) > 0 || val(f.Tests.Failed)+val(f.Tests.Errors) > 0:
		f.worse(StateFailed)
	case t.ExitOK():
		f.worse(StatePassed)
	default:
		cut("no totals and no word of a failure")
	}
}

// pyCountMarks counts the progress marks of a run without totals (-qq); it
// reports whether they reach 100 %.
func pyCountMarks(t *Text, f *finding) (done bool) {
	marks := map[rune]int{}
	for i := range t.Len() {
		l := t.Line(i)
		if !strings.HasSuffix(l, "%]") || !pyProgress().MatchString(l) {
			continue
		}
		done = strings.HasSuffix(l, "[100%]")
		if j := strings.Index(l, ".py "); j >= 0 {
			l = l[j+4:]
		}
		for _, c := range l[:strings.IndexByte(l, '[')] {
			marks[c]++
		}
	}
	if done {
		f.Tests = Counts{Passed: new(marks['.']), Failed: new(marks['F']), Skipped: new(marks['s']), Todo: new(marks['x']), Errors: new(marks['E'])}
	}
	return done
}
