package runners

import "strings"

var (
	junit4OK    = lazy(`^OK \((\d+) tests?\)$`)
	junit4Fail  = lazy(`^Tests run: (\d+),  Failures: (\d+)$`)
	junit4Item  = lazy(`^\d+\) (?:(.+?)\(([\w.$]+)\)|([\w.$]+))$`)
	antSuite    = lazy(`^(?:Running|Testsuite:) (\S+)$`)
	antCounts   = lazy(`^Tests run: (\d+), Failures: (\d+), Errors: (\d+)(?:, Skipped: (\d+))?, Time elapsed:`)
	antCase     = lazy(`^Testcase: (.+?)(?:\(([\w.$]+)\))?(?: took [\d.,]+ sec|:)(.*)$`)
	antCrashed  = lazy(`^Test (\S+) FAILED(?: \((crashed|timeout)\))?$`)
	antBuildPos = lazy(`^(/?\S+?\.xml):(\d+): (.*)$`)
)

func junit4Parser() parser {
	return parser{
		name: "junit4", kind: kindTests, marks: []string{"JUnit version ", "FAILURES!!!", "OK ("},
		sniff: func(t *Text) match {
			if t.FindPrefix("JUnit version ", 0) >= 0 || lastMatch(t, junit4Fail()) >= 0 {
				return t.all(scoreCertain)
			}
			return match{}
		}, parse: junit4Parse,
	}
}

func junit4Parse(t *Text, f *finding) {
	end := func(l string) bool {
		return junit4Item().MatchString(l) || l == "FAILURES!!!" || junit4Fail().MatchString(l)
	}
	load := 0
	for i := 0; i < t.Len(); i++ {
		m := junit4Item().FindStringSubmatch(t.lines[i])
		if m == nil {
			continue
		}
		body, next := t.block(i+1, end)
		i = next - 1
		fr, msg := javaTrace(body)
		if m[3] != "" { // a class: its @BeforeClass or @AfterClass
			f.suite(SuiteFailure{Kind: SuiteHook, Name: m[3], File: fr.file, Line: fr.line, Message: msg})
			continue
		}
		if m[1] == "initializationError" {
			load++
			f.suite(SuiteFailure{Kind: SuiteLoad, Name: m[2], File: fr.file, Line: fr.line, Message: msg})
			continue
		}
		f.fail(Failure{ID: m[2] + "." + m[1], File: fr.file, Line: fr.line, Message: msg})
	}
	ok, bad := lastMatch(t, junit4OK()), lastMatch(t, junit4Fail())
	switch {
	case ok < 0 && bad < 0:
		f.State = StateDidNotFinish
		f.note("no result line: the run ended before JUnit did")
	case ok > bad:
		n := atoi(junit4OK().FindStringSubmatch(t.Line(ok))[1])
		f.Tests.Passed, f.Tests.Failed = new(n), new(0)
		f.State = StatePassed
		if n == 0 {
			f.State = StateNoTests
		}
	default:
		m := junit4Fail().FindStringSubmatch(t.Line(bad))
		total, failed := atoi(m[1]), atoi(m[2])
		f.Tests.Passed, f.Tests.Failed = new(max(total-failed, 0)), new(failed)
		f.State = StateFailed
		if load > 0 {
			f.State = StateBuildFailed
			f.build(BuildError{Message: f.Suites[0].Name + ": " + f.Suites[0].Message})
		}
	}
}

func antParser() parser {
	return parser{
		name: "ant", kind: kindTests, marks: []string{"Buildfile: ", "[junit] ", "[javac] "},
		sniff: func(t *Text) match {
			if t.FindPrefix("Buildfile: ", 0) >= 0 || t.Has("    [junit] Running ") {
				return t.all(scoreCertain)
			}
			return match{}
		}, parse: antParse,
	}
}

// antTag takes "    [junit] " off a line.
func antTag(l string) (tag, rest string) {
	s := strings.TrimLeft(l, " ")
	if !strings.HasPrefix(s, "[") || len(s) == len(l) {
		return "", l
	}
	tag, rest, ok := strings.Cut(s[1:], "]")
	if !ok || strings.ContainsAny(tag, " []") {
		return "", l
	}
	return tag, strings.TrimPrefix(rest, " ")
}

func antParse(t *Text, f *finding) {
	a := antRun{t: t, f: f, seen: map[string]bool{}}
	var javac []string
	for i := 0; i < t.Len(); i++ {
		switch tag, l := antTag(t.lines[i]); tag {
		case "junit", "junitlauncher":
			i = a.line(i, l)
		case "javac":
			javac = append(javac, l)
		}
	}
	f.Tests = a.counts
	javacLines(newText(strings.Join(javac, "\n"), t.Hint), f)
	failed := t.FindPrefix("BUILD FAILED", 0)
	switch {
	case len(f.BuildErrors) > 0:
		f.worse(StateBuildFailed)
	case a.crashed:
		f.worse(StateDidNotFinish)
	case val(f.Tests.Failed)+val(f.Tests.Errors) > 0 || a.bad:
		f.worse(StateFailed)
	case failed >= 0:
		f.worse(StateBuildFailed)
		if m := antBuildPos().FindStringSubmatch(t.Line(failed + 1)); m != nil {
			f.build(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Message: message(m[3], t.Line(failed+2))})
		} else {
			f.build(BuildError{Message: strings.TrimSpace(t.Line(failed + 1))})
		}
	case strings.HasSuffix(t.Line(0), " does not exist!"):
		f.worse(StateBuildFailed)
		f.build(BuildError{Message: t.Line(0)})
	case len(a.seen) == 0 && t.FindPrefix("BUILD SUCCESSFUL", 0) >= 0:
		f.worse(StateNoTests)
		f.note("ant ended well, but no test suite reported")
	case t.FindPrefix("BUILD SUCCESSFUL", 0) < 0:
		f.worse(StateDidNotFinish)
	case val(f.Tests.Passed) == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

// antRun collects the suites; a suite's counts are printed once by the task and
// once more by a formatter.
type antRun struct {
	t            *Text
	f            *finding
	suite        string
	seen         map[string]bool
	counts       Counts
	bad, crashed bool
}

func (a *antRun) line(i int, l string) int {
	if m := antSuite().FindStringSubmatch(l); m != nil {
		a.suite = m[1]
		return i
	}
	if m := antCounts().FindStringSubmatch(l); m != nil {
		if a.seen[a.suite] {
			return i
		}
		a.seen[a.suite] = true
		total, failed, errs, skip := atoi(m[1]), atoi(m[2]), atoi(m[3]), atoi(m[4])
		bump(&a.counts.Passed, max(total-failed-errs-skip, 0))
		bump(&a.counts.Failed, failed)
		bump(&a.counts.Errors, errs)
		bump(&a.counts.Skipped, skip)
		return i
	}
	if m := antCrashed().FindStringSubmatch(l); m != nil {
		a.bad = true
		a.crashed = a.crashed || m[2] != ""
		return i
	}
	if strings.HasPrefix(l, "Null Test:") { // the class itself does not load
		_, what := antTag(a.t.Line(i + 2))
		a.f.suite(SuiteFailure{Kind: SuiteLoad, Name: a.suite, Message: what})
		return i
	}
	m := antCase().FindStringSubmatch(l)
	if m == nil {
		return i
	}
	var body []string
	j := i + 1
	for ; j < a.t.Len(); j++ {
		tag, b := antTag(a.t.lines[j])
		if tag != "junit" || antCase().MatchString(b) || antSuite().MatchString(b) || antCrashed().MatchString(b) {
			break
		}
		body = append(body, b)
	}
	a.testcase(m, body)
	return j - 1
}

func (a *antRun) testcase(m, body []string) {
	verdict := strings.TrimSpace(m[3])
	if verdict == "" && len(body) > 0 {
		verdict, body = strings.TrimSpace(body[0]), body[1:]
	}
	if verdict != "FAILED" && !strings.HasPrefix(verdict, "Caused an ERROR") {
		return
	}
	class := m[2]
	if class == "" {
		class = a.suite
	}
	fr, msg := javaTrace(body)
	if first, rest, ok := strings.Cut(msg, "\n"); ok && strings.HasSuffix(strings.SplitN(rest, "\n", 2)[0], ": "+first) {
		msg = rest // the message is printed again with its class
	}
	a.crashed = a.crashed || strings.Contains(msg, "Forked Java VM exited abnormally")
	a.f.fail(Failure{ID: class + "." + m[1], File: fr.file, Line: fr.line, Message: msg})
}
