package runners

import "strings"

var (
	gradleCase  = lazy(`^(\S.*?) > (.+) (FAILED|PASSED|SKIPPED)$`)
	gradleTotal = lazy(`^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?$`)
	gradleAt    = lazy(`^    (\S.*?) at (\S+?\.\w+):(\d+)$`)
	kotlinError = lazy(`^e: (?:file://)?(\S+?):(?:(\d+):(\d+)| \((\d+), (\d+)\):?) ?(.*)$`)
)

func gradleParser() parser {
	return parser{
		name: "gradle", kind: kindTests, marks: []string{"> Task :", "BUILD SUCCESSFUL in ", "BUILD FAILED in ", "* What went wrong:"},
		sniff: func(t *Text) match {
			if t.FindPrefix("> Task :", 0) >= 0 || t.FindPrefix("BUILD SUCCESSFUL in ", 0) >= 0 || t.FindPrefix("BUILD FAILED in ", 0) >= 0 ||
				t.FindPrefix("* What went wrong:", 0) >= 0 {
				return t.all(scoreCertain)
			}
			return match{}
		}, parse: gradleParse,
	}
}

func gradleParse(t *Text, f *finding) {
	passed, skipped, total := gradleCases(t, f)
	gradleBuild(t, f)
	ok := t.FindPrefix("BUILD SUCCESSFUL", 0) >= 0
	testTask := t.HasAny("> Task :test\n", ":test\n", ":test FAILED", ":test UP-TO-DATE", ":test FROM-CACHE") || strings.HasSuffix(t.whole, ":test")
	if total {
		f.Tests.Passed, f.Tests.Failed, f.Tests.Skipped = new(passed), new(len(f.Failures)), new(skipped)
	}
	gradleTotals(t, f)
	switch {
	case val(f.Tests.Failed) > 0 || len(f.Failures) > 0:
		f.worse(StateFailed)
	case len(f.BuildErrors) > 0:
		f.worse(StateBuildFailed)
	case !ok && t.FindPrefix("BUILD FAILED", 0) < 0 && t.FindPrefix("* What went wrong:", 0) < 0:
		f.worse(StateDidNotFinish)
	case !ok && t.HasAny("No tests found for given includes", "did not discover any tests to execute"):
		f.worse(StateNoTests)
	case !ok:
		f.worse(StateBuildFailed)
		f.build(BuildError{Message: gradleWrong(t)})
	case !testTask && t.HasAny(":test NO-SOURCE", ":test SKIPPED"):
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
		if !total && val(f.Tests.Passed) == 0 {
			f.note("gradle names passed tests only with test logging: how many ran is not told")
		}
	}
}

// gradleTotals adds the totals that each module with a failed test prints.
func gradleTotals(t *Text, f *finding) {
	var sum Counts
	for _, l := range t.lines {
		if m := gradleTotal().FindStringSubmatch(l); m != nil {
			n, failed, skip := atoi(m[1]), atoi(m[2]), atoi(m[3])
			bump(&sum.Passed, max(n-failed-skip, 0))
			bump(&sum.Failed, failed)
			bump(&sum.Skipped, skip)
			f.Tests = sum
		}
	}
}

func gradleCases(t *Text, f *finding) (passed, skipped int, logged bool) {
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		m := gradleCase().FindStringSubmatch(l)
		if m == nil || strings.HasPrefix(l, ">") {
			continue
		}
		switch m[3] {
		case "PASSED":
			passed, logged = passed+1, true
			continue
		case "SKIPPED":
			skipped++
			continue
		}
		body, next := t.block(i+1, func(l string) bool { return l != "" && l[0] != ' ' })
		i = next - 1
		fr, msg := javaTrace(body)
		if p := gradleAt().FindStringSubmatch(firstLine(body)); p != nil && fr.file == "" {
			fr, msg = frame{p[2], atoi(p[3])}, p[1]
		}
		id := m[1] + " > " + m[2]
		if strings.HasSuffix(m[2], "initializationError") {
			f.suite(SuiteFailure{Kind: SuiteLoad, Name: m[1], File: fr.file, Line: fr.line, Message: msg})
			continue
		}
		f.fail(Failure{ID: id, File: fr.file, Line: fr.line, Message: msg})
	}
	return passed, skipped, logged
}

func firstLine(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

func gradleBuild(t *Text, f *finding) {
	if !t.HasAny(":compile", "e: ", "error: ") {
		return
	}
	javacLines(t, f)
	for _, l := range t.lines {
		if !strings.HasPrefix(l, "e: ") {
			continue
		}
		if m := kotlinError().FindStringSubmatch(l); m != nil {
			f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2] + m[4]), Col: atoi(m[3] + m[5]), Message: m[6]})
		}
	}
}

// gradleWrong is the text under "What went wrong".
func gradleWrong(t *Text) string {
	i := t.FindPrefix("* What went wrong:", 0)
	if i < 0 {
		return "gradle failed"
	}
	body, _ := t.block(i+1, blank)
	return message(body...)
}
