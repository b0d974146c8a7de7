package runners

import "strings"

var (
	checkSummary = lazy(`^(?:Running suite\(s\):)?(\d+)%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$`)
	checkLine    = lazy(`^(.+?):(\d+):([FE]):([^:]*):([^:]*):(\d+): (.*)$`)
)

func checkParser() parser {
	return parser{
		name: "check", kind: kindTests, marks: []string{"Running suite(s):", "%: Checks: "},
		sniff: func(t *Text) match {
			if lastMatch(t, checkSummary()) >= 0 || t.FindPrefix("Running suite(s): ", 0) >= 0 {
				return t.all(scoreCertain)
			}
			return match{}
		}, parse: func(t *Text, f *finding) {
			checkParse(t, f)
			memoryBeside(t, f)
		},
	}
}

func checkParse(t *Text, f *finding) {
	suite := ""
	if i := t.FindPrefix("Running suite(s): ", 0); i >= 0 {
		suite = strings.TrimPrefix(t.Line(i), "Running suite(s): ") + "/"
		if strings.HasPrefix(t.Line(i+1), " ") {
			suite = "" // several suites: the lines do not say which
		}
	}
	total, failed, errs, seen := 0, 0, 0, false
	for i := 0; i < t.Len(); i++ {
		if m := checkSummary().FindStringSubmatch(t.lines[i]); m != nil {
			total, failed, errs, seen = total+atoi(m[2]), failed+atoi(m[3]), errs+atoi(m[4]), true
			continue
		}
		m := checkLine().FindStringSubmatch(t.lines[i])
		if m == nil {
			continue
		}
		body, next := t.block(i+1, func(l string) bool {
			return checkLine().MatchString(l) || checkSummary().MatchString(l) || strings.HasPrefix(l, "Running suite(s): ") || !strings.HasPrefix(l, " ")
		})
		i = next - 1
		f.fail(Failure{ID: suite + m[4] + "/" + m[5], File: t.path(m[1]), Line: atoi(m[2]), Message: message(append([]string{m[7]}, body...)...)})
	}
	if !seen {
		f.State = StateDidNotFinish
		f.note("no summary line: the run ended before check did")
		return
	}
	f.Tests = Counts{Passed: new(max(total-failed-errs, 0)), Failed: new(failed), Errors: new(errs)}
	switch {
	case failed+errs > 0:
		f.State = StateFailed
	case total == 0:
		f.State = StateNoTests
	default:
		f.State = StatePassed
	}
}
