package runners

import "strings"

var (
	dotnetSum    = lazy(`^(Passed|Failed|Skipped)! +- Failed: +(\d+), Passed: +(\d+), Skipped: +(\d+), Total: +(\d+),`)
	dotnetTotals = lazy(`^\s*(Total tests|Passed|Failed|Skipped): (\d+)$`)
	dotnetNew    = lazy(`total: (\d+), failed: (\d+), succeeded: (\d+), skipped: (\d+)`)
	dotnetCase   = lazy(`^\s*(?:\[xUnit\.net [\d:.]+\]\s+)?Failed (\S.*?) \[(?:< )?\d[^\]]*\]$`)
	dotnetFrame  = lazy(`^\s*at (.+) in (.+):line (\d+)$`)
	csharpError  = lazy(`^\s*(.+?)\((\d+),(\d+)(?:,\d+,\d+)?\): error ([A-Z]+\d+): (.+?)(?: \[[^\]]+proj[^\]]*\])?$`)
	msbuildError = lazy(`^\s*(?:(\S.*?) ?: )?error ([A-Z]+\d+): (.+?)(?: \[[^\]]+proj[^\]]*\])?$`)
	dotnetThrown = lazy(`^Unhandled exception\. (.+)$`)
)

func dotnetParser() parser {
	return parser{
		name: "dotnet", kind: kindTests,
		marks: []string{"Starting test execution", "Test Run ", "Test run for ", ": error CS", ": error FS", ": error MSB", ": error NU", "Build FAILED.", "Test summary: ", "!  - Failed:", "No test matches the given"},
		sniff: func(t *Text) match {
			switch {
			case lastMatch(t, dotnetSum()) >= 0, t.FindPrefix("Test Run ", 0) >= 0, t.FindPrefix("Test run for ", 0) >= 0, t.Has("Test summary: total:"):
				return t.all(scoreCertain)
			case t.Has("Build FAILED."), lastMatch(t, csharpError()) >= 0, t.Has("No test matches the given"):
				return t.all(scoreSure)
			}
			return match{}
		}, parse: dotnetParse,
	}
}

func dotnetParse(t *Text, f *finding) {
	for _, l := range t.lines {
		if !strings.Contains(l, "error ") {
			continue
		}
		if m := csharpError().FindStringSubmatch(l); m != nil {
			f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: m[4] + ": " + m[5]})
		} else if m := msbuildError().FindStringSubmatch(l); m != nil {
			f.buildOnce(BuildError{File: t.path(m[1]), Message: m[2] + ": " + m[3]})
		}
	}
	dotnetFailures(t, f)
	counted := dotnetCounts(t, f)
	switch {
	case t.HasAny("Test host process crashed", "The active test run was aborted", "Test Run Aborted."):
		f.worse(StateDidNotFinish)
	case len(f.BuildErrors) > 0 || t.Has("Build FAILED."):
		f.worse(StateBuildFailed)
	case val(f.Tests.Failed) > 0 || t.FindPrefix("Test Run Failed.", 0) >= 0:
		f.worse(StateFailed)
	case counted && val(f.Tests.Passed) > 0:
		f.worse(StatePassed)
	case counted, t.HasAny("No test matches the given", "No test is available"):
		f.worse(StateNoTests)
	case t.FindPrefix("Test run for ", 0) >= 0 || t.Has("Starting test execution"):
		f.worse(StateDidNotFinish)
	case t.Has("Build succeeded.") && t.ExitOK():
		f.worse(StatePassed)
	}
}

// dotnetCounts adds up one summary a project; false when there is none.
func dotnetCounts(t *Text, f *finding) bool {
	add := func(passed, failed, skipped int) {
		bump(&f.Tests.Passed, passed)
		bump(&f.Tests.Failed, failed)
		bump(&f.Tests.Skipped, skipped)
	}
	found := false
	for _, l := range t.lines {
		if m := dotnetSum().FindStringSubmatch(l); m != nil {
			add(atoi(m[3]), atoi(m[2]), atoi(m[4]))
			found = true
		}
	}
	if found {
		return true
	}
	if i := t.Find("Test summary: ", 0); i >= 0 {
		if m := dotnetNew().FindStringSubmatch(t.Line(i)); m != nil {
			add(atoi(m[3]), atoi(m[2]), atoi(m[4]))
			return true
		}
	}
	n := map[string]int{}
	for _, l := range t.lines {
		if m := dotnetTotals().FindStringSubmatch(l); m != nil {
			n[m[1]] = atoi(m[2])
		}
	}
	if _, ok := n["Total tests"]; !ok {
		return false
	}
	add(n["Passed"], n["Failed"], n["Skipped"])
	return true
}

func dotnetFailures(t *Text, f *finding) {
	for i := 0; i < t.Len(); i++ {
		m := dotnetCase().FindStringSubmatch(t.lines[i])
		if m == nil {
			continue
		}
		body, next := t.block(i+1, func(l string) bool {
			return !strings.HasPrefix(l, "   ") && !blank(l) && !strings.HasPrefix(strings.TrimSpace(l), "Error Message:") &&
				!strings.HasPrefix(strings.TrimSpace(l), "Stack Trace:") || dotnetCase().MatchString(l)
		})
		i = next - 1
		x := Failure{ID: m[1]}
		var keep []string
		for _, l := range body {
			s := strings.TrimSpace(l)
			if fr := dotnetFrame().FindStringSubmatch(l); fr != nil {
				if x.File == "" && !strings.HasPrefix(fr[1], "Xunit.") && !strings.HasPrefix(fr[1], "NUnit.") && !strings.HasPrefix(fr[1], "System.") {
					x.File, x.Line = t.path(fr[2]), atoi(fr[3])
				}
				continue
			}
			if s == "Error Message:" || s == "Stack Trace:" || strings.HasPrefix(s, "at ") {
				continue
			}
			keep = append(keep, l)
		}
		x.Message = message(keep...)
		f.fail(x)
	}
}

func dotnetCrashParser() parser {
	return parser{
		name: "dotnet", kind: kindCrash, marks: []string{"Unhandled exception. "},
		sniff: func(t *Text) match {
			if lastMatch(t, dotnetThrown()) >= 0 {
				return t.all(scoreLikely)
			}
			return match{}
		},
		parse: func(t *Text, f *finding) {
			i := lastMatch(t, dotnetThrown())
			x := Failure{Message: dotnetThrown().FindStringSubmatch(t.Line(i))[1]}
			body, next := t.block(i+1, func(l string) bool { return l != "" && l[0] != ' ' })
			for _, l := range body {
				if fr := dotnetFrame().FindStringSubmatch(l); fr != nil {
					x.File, x.Line = t.path(fr[2]), atoi(fr[3])
					break
				}
			}
			f.fail(x)
			f.crashed(t, next-1)
		},
	}
}
