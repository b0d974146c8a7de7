package runners

import "strings"

var (
	batsPretty  = lazy(`^(?:.*?\d+/\d+)? (✓|✗|-) (.+?)(?: \[\d+(?:ms)?\])?$`) // on a terminal the line is drawn twice
	batsTap     = lazy(`^(ok|not ok) (\d+) (.*)$`)
	batsSummary = lazy(`^(\d+) tests?, (\d+) failures?(?:, (\d+) skipped)?(?:, (\d+) not run)?(?: in [\d.]+ seconds?)?$`)
	batsPlace   = lazy(`in test file (.+?), line (\d+)\)`)
	batsStatus  = lazy("^\\s*`(.*)' failed(.*)$")
	batsTiming  = lazy(` in \d+(?:ms|sec)$`)
	batsWarn    = lazy(`bats warning: Executed (\d+) instead of expected (\d+) tests`)
)

func batsParser() parser {
	return parser{name: "bats", kind: kindTests, marks: []string{"in test file ", " ✓ ", " ✗ ", "bats ", "bats-", " failure"},
		sniff: func(t *Text) match {
			switch {
			case t.Has("in test file ") && lastMatch(t, batsPlace()) >= 0, t.Has("bats warning: "), t.Has("bats-exec-"), t.Has("/bats-core/"):
				return t.all(scoreCertain)
			case lastMatch(t, batsSummary()) >= 0 && lastMatch(t, batsPretty()) >= 0:
				return t.all(scoreSure)
			case strings.HasPrefix(strings.TrimSpace(t.Hint.Command), "bats ") && t.FindPrefix("1..", 0) >= 0:
				return t.all(scoreCertain)
			}
			return match{}
		}, parse: batsParse}
}

func batsParse(t *Text, f *finding) {
	f.Tests = Counts{Passed: num(0), Failed: num(0), Skipped: num(0), Todo: num(0)}
	planned := -1
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		if strings.HasPrefix(l, "1..") {
			planned = atoi(l[3:])
			continue
		}
		if m := batsWarn().FindStringSubmatch(l); m != nil {
			f.worse(StateDidNotFinish)
			f.note(strings.TrimPrefix(l, "# "))
			continue
		}
		if m := batsTap().FindStringSubmatch(l); m != nil {
			body, next := t.block(i+1, func(l string) bool { return !strings.HasPrefix(l, "#") })
			name, _, skip := strings.Cut(m[3], " # skip")
			batsCount(t, f, m[1] == "ok", skip, batsTiming().ReplaceAllString(name, ""), body)
			i = next - 1
			continue
		}
		if m := batsPretty().FindStringSubmatch(l); m != nil {
			body, next := t.block(i+1, func(l string) bool { return !strings.HasPrefix(l, "   ") || batsPretty().MatchString(l) })
			name, _, _ := strings.Cut(m[2], " (skipped")
			batsCount(t, f, m[1] != "✗", m[1] == "-", name, body)
			i = next - 1
		}
	}
	batsVerdict(t, f, planned)
}

func batsCount(t *Text, f *finding, ok, skip bool, name string, body []string) {
	switch {
	case skip:
		bump(&f.Tests.Skipped, 1)
	case ok:
		bump(&f.Tests.Passed, 1)
	default:
		bump(&f.Tests.Failed, 1)
		x := batsBody(t, body)
		x.ID = name
		if strings.HasPrefix(name, "setup_file failed") || strings.HasPrefix(name, "teardown_file failed") || strings.HasPrefix(name, "setup_suite") {
			f.suite(SuiteFailure{Kind: SuiteHook, Name: name, File: x.File, Line: x.Line, Message: x.Message})
			return
		}
		f.fail(x)
	}
}

// batsBody drops the trace and the quoted source of the failing command.
func batsBody(t *Text, body []string) Failure {
	var x Failure
	var keep []string
	for _, l := range body {
		l = strings.TrimPrefix(strings.TrimPrefix(l, "#"), " ")
		s := strings.TrimSpace(l)
		if m := batsPlace().FindStringSubmatch(l); m != nil {
			x.File, x.Line = t.path(m[1]), atoi(m[2])
			continue
		}
		if strings.HasPrefix(s, "(from function ") || strings.HasPrefix(s, "from function ") {
			continue
		}
		if m := batsStatus().FindStringSubmatch(s); m != nil {
			l = "a command failed" + m[2]
		}
		keep = append(keep, l)
	}
	x.Message = message(keep...)
	return x
}

func batsVerdict(t *Text, f *finding, planned int) {
	ran := val(f.Tests.Passed) + val(f.Tests.Failed) + val(f.Tests.Skipped)
	if i := lastMatch(t, batsSummary()); i >= 0 && planned < 0 {
		m := batsSummary().FindStringSubmatch(t.Line(i))
		planned = atoi(m[1])
		f.Tests.Failed, f.Tests.Skipped = num(atoi(m[2])), num(atoi(m[3]))
		f.Tests.Passed = num(max(planned-atoi(m[2])-atoi(m[3])-atoi(m[4]), 0))
		ran = planned - atoi(m[4])
	}
	switch {
	case len(f.Suites) > 0, planned >= 0 && ran < planned:
		if planned >= 0 && ran < planned {
			f.worse(StateDidNotFinish)
		}
		f.worse(StateFailed)
	case planned < 0:
		f.worse(StateDidNotFinish)
	case val(f.Tests.Failed) > 0:
		f.worse(StateFailed)
	case planned == 0 || val(f.Tests.Passed) == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}
