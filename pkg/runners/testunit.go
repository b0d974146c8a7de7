package runners

import "strings"

var (
	testunitSummary = lazy(`^(\d+) tests?, (\d+) assertions?, (\d+) failures?, (\d+) errors?, (\d+) pendings?, (\d+) omissions?, (\d+) notifications?`)
	testunitHead    = lazy(`^(Failure|Error|Pending|Omission|Notification): (.+)$`)
	testunitID      = lazy(`^(.+?\([A-Z][\w:]*\)|[^:]+?)(?:: (.*))?$`)
	testunitSource  = lazy(`^\s+(?:=>\s*)?\d+: `)
)

func testunitParser() parser {
	return parser{
		name: "test-unit", kind: kindTests, marks: []string{" assertions, ", "Loaded suite "},
		own: lazy(`^(?:Loaded suite |Started$|Finished in |\d+ tests, |\d+(?:\.\d+)?% passed|\d+\.\d+ tests/s)`),
		sniff: func(t *Text) match {
			if lastMatch(t, testunitSummary()) >= 0 {
				return t.all(scoreCertain)
			}
			if i := t.FindPrefix("Loaded suite ", 0); i >= 0 && t.FindPrefix("Started", i) >= 0 {
				return t.all(scoreSure)
			}
			return match{}
		}, parse: testunitParse,
	}
}

func testunitParse(t *Text, f *finding) {
	testunitFailures(t, f)
	sum := lastMatch(t, testunitSummary())
	if sum < 0 {
		f.State = StateDidNotFinish
		f.note("no summary line: the run ended before test-unit did")
		return
	}
	m := testunitSummary().FindStringSubmatch(t.Line(sum))
	total, failed, errs, pend, omit := atoi(m[1]), atoi(m[3]), atoi(m[4]), atoi(m[5]), atoi(m[6])
	f.Tests = Counts{Passed: new(max(total-failed-errs-pend-omit, 0)), Failed: new(failed), Skipped: new(omit), Todo: new(pend), Errors: new(errs)}
	switch {
	case failed+errs > 0:
		f.worse(StateFailed)
	case total == 0 || total == pend+omit:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

func testunitFailures(t *Text, f *finding) {
	for i := 0; i < t.Len(); i++ {
		m := testunitHead().FindStringSubmatch(t.lines[i])
		if m == nil || !strings.HasPrefix(t.Line(i-1), "=====") {
			continue
		}
		body, next := t.block(i+1, func(l string) bool { return strings.HasPrefix(l, "=====") || strings.HasPrefix(l, "Finished in ") })
		i = next - 1
		if m[1] != "Failure" && m[1] != "Error" {
			continue
		}
		id := testunitID().FindStringSubmatch(m[2])
		if id == nil {
			continue
		}
		keep := []string{id[2]}
		var frames []frame
		for _, l := range body {
			if fr, _, ok := cutPos(l); ok && strings.Contains(l, ":in ") {
				frames = append(frames, fr)
				continue
			}
			if testunitSource().MatchString(l) {
				continue
			}
			keep = append(keep, l)
		}
		fr := t.firstOwn(frames)
		f.fail(Failure{ID: id[1], File: fr.file, Line: fr.line, Message: message(keep...)})
	}
}
