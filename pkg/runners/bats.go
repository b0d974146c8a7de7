package runners

import "strings"

var (
	batsPretty  = lazy(`^(?:.*?\d+/\d+)? (✓|✗|-) (.+?)(?: \[\d+(?:ms)?\])?$`) // on a terminal the line is drawn twice
	batsTap     = lazy(`^(ok|not ok) (\d+) (.*)$`)
	batsSummary = lazy(`^(\d+) tests?, (\d+) failures?(?:, (\d+) skipped)?(?:, (\d+) not run)?(?: in [\d.]+ seconds?)?$`)
	batsPlace   = lazy(`in test file (.+?), line (\d+)\)`)
	batsStatus  = lazy("^\\s*`(.*)' failed(.*)$")
	batsTiming  = lazy(` in \d+(?:ms|sec)$`)
)

func batsParser() parser {
	return parser{
		name: "bats", kind: kindTests, marks: []string{"in test file ", " ✓ ", " ✗ ", "bats ", "bats-", " failure", "Error: Test file ", "setup_file failed"},
		sniff: func(t *Text) match {
			switch {
			case t.Has("<testsuite "):
				return match{} // its JUnit report
			case strings.HasPrefix(t.Line(0), "Error: Test file ") && strings.HasSuffix(t.Line(0), " does not exist"):
				return t.all(scoreSure)
			case t.Has("not ok 1 setup_file failed"):
				return t.all(scoreCertain + 1)
			case t.Has("in test file ") && lastMatch(t, batsPlace()) >= 0, t.Has("bats warning: "), t.Has("bats-exec-"), t.Has("/bats-core/"):
				return t.all(scoreCertain)
			case lastMatch(t, batsSummary()) >= 0 && lastMatch(t, batsPretty()) >= 0:
				return t.all(scoreSure)
			case strings.HasPrefix(strings.TrimSpace(t.Hint.Command), "bats ") && t.FindPrefix("1..", 0) >= 0:
				return t.all(scoreCertain)
			}
			return match{}
		}, parse: batsParse,
	}
}

func batsParse(t *Text, f *finding) {
	f.Tests = Counts{Passed: new(0), Failed: new(0), Skipped: new(0), Todo: new(0)}
	planned := -1
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		if strings.HasPrefix(l, "1..") {
			planned = atoi(l[3:])
			continue
		}
		if m := batsTap().FindStringSubmatch(l); m != nil {
			body, next := t.block(i+1, func(l string) bool { return !strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "  ") })
			name, skip := batsSkip(m[3])
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

// batsSkip cuts the directive off a name.
func batsSkip(s string) (name string, skip bool) {
	for _, d := range []string{" # skip", " # SKIP"} {
		if name, _, ok := strings.Cut(s, d); ok {
			return name, true
		}
	}
	return s, false
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
		if d, ok := parseDiag(strings.Replace(firstLine(strings.Split(x.Message, "\n")), ": line ", ":", 1)); ok && strings.Contains(d.message, "syntax error") {
			f.build(d.buildError(t))
		}
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
		if s == "---" || s == "..." || s == "message: |" || strings.HasPrefix(s, "bats warning: ") {
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
		f.Tests.Failed, f.Tests.Skipped = new(atoi(m[2])), new(atoi(m[3]))
		f.Tests.Passed = new(max(planned-atoi(m[2])-atoi(m[3])-atoi(m[4]), 0))
		ran = planned - atoi(m[4])
	}
	switch {
	case len(f.BuildErrors) > 0:
		f.worse(StateBuildFailed)
	case planned < 0 && strings.HasPrefix(t.Line(0), "Error: Test file "):
		f.worse(StateNoTests)
		f.note(t.Line(0))
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
