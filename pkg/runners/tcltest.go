package runners

import "strings"

var (
	tclSummary = lazy(`^(\S.*):\tTotal\t(\d+)\tPassed\t(\d+)\tSkipped\t(\d+)\tFailed\t(\d+)`)
	tclFailed  = lazy(`^==== (\S+) (.*?) ?FAILED$`)
	tclLine    = lazy(`\(file "(.+?)" line (\d+)\)`)
)

func tcltestParser() parser {
	return parser{
		name: "tcltest", kind: kindTests, marks: []string{"\tTotal\t", "==== "},
		sniff: func(t *Text) match {
			if lastMatch(t, tclSummary()) >= 0 {
				return t.all(scoreCertain)
			}
			if lastMatch(t, tclFailed()) >= 0 && t.Has("---- ") {
				return t.all(scoreSure)
			}
			return match{}
		}, parse: tcltestParse,
	}
}

func tcltestParse(t *Text, f *finding) {
	sum := Counts{Passed: new(0), Failed: new(0), Skipped: new(0)}
	total, seen := 0, false
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		if m := tclSummary().FindStringSubmatch(l); m != nil {
			seen = true
			total += atoi(m[2])
			bump(&sum.Passed, atoi(m[3]))
			bump(&sum.Skipped, atoi(m[4]))
			bump(&sum.Failed, atoi(m[5]))
			continue
		}
		if strings.HasPrefix(l, "Test file error: ") || strings.HasPrefix(l, "Test files exiting with errors:") {
			f.suite(SuiteFailure{Kind: SuiteLoad, Message: message(l, t.Line(i+1))})
			f.worse(StateBuildFailed)
			continue
		}
		m := tclFailed().FindStringSubmatch(l)
		if m == nil || m[2] == "" {
			continue
		}
		end := "==== " + m[1] + " FAILED"
		body, next := t.block(i+1, func(l string) bool { return l == end || tclSummary().MatchString(l) })
		i = next
		f.fail(tclBody(t, m[1], m[2], body))
	}
	if !seen {
		f.worse(StateDidNotFinish)
		return
	}
	f.Tests = sum
	switch {
	case val(sum.Failed) > 0:
		f.worse(StateFailed)
	case total == 0 || val(sum.Passed) == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

// tclBody drops the source of the test.
func tclBody(t *Text, id, description string, body []string) Failure {
	x := Failure{ID: id}
	keep := []string{description}
	source := false
	for _, l := range body {
		switch {
		case strings.HasPrefix(l, "==== Contents of test case:"):
			source = true
			continue
		case strings.HasPrefix(l, "---- "):
			source = false
			l = strings.TrimPrefix(l, "---- ")
		}
		if m := tclLine().FindStringSubmatch(l); m != nil {
			x.File, x.Line = t.path(m[1]), atoi(m[2])
		}
		if !source {
			keep = append(keep, l)
		}
	}
	x.Message = message(keep...)
	return x
}
