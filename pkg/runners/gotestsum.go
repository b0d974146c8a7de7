package runners

import (
	"regexp"
	"strings"
	"sync"
)

// gotestsum runs go test -json and prints a form of its own, with failures at
// the end ("=== FAIL: pkg TestX (0.00s)") and "DONE 5 tests, 1 failure in 0.003s".

var gtsDone = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^DONE (?:(\d+) runs, )?(\d+) tests?(?:, (\d+) skipped)?(?:, (\d+) failures?)?(?:, (\d+) errors?)? in \d+`)
})

func sniffGotestsum(t *Text) match {
	for i := t.Len() - 1; i >= 0; i-- {
		if l := t.Line(i); strings.HasPrefix(l, "DONE ") && gtsDone().MatchString(l) {
			return span(scoreCertain+3, 0, i+1)
		}
	}
	if t.FindPrefix("=== Failed", 0) >= 0 && t.FindPrefix("=== FAIL: ", 0) >= 0 {
		return t.all(scoreSure)
	}
	return match{}
}

func parseGotestsum(t *Text, f *finding) {
	f.Runner = "go-test"
	var m []string
	runs := 0
	for i := range t.Len() {
		l := t.Line(i)
		if d := gtsDone().FindStringSubmatch(l); d != nil && strings.HasPrefix(l, "DONE ") {
			m = d
			runs++
		}
	}
	gtsFailures(t, f)
	gtsPackages(t, f)
	if m == nil {
		f.worse(StateDidNotFinish)
		return
	}
	total, skip, fail, errs := atoi(m[2]), atoi(m[3]), atoi(m[4]), atoi(m[5])
	if n := len(f.BuildErrors); n > 0 || errs > 0 {
		f.worse(StateBuildFailed)
		fail -= min(fail, gtsBroken(f))
	}
	f.Tests = Counts{Passed: new(max(0, total-fail-skip)), Failed: new(fail), Skipped: new(skip)}
	switch {
	case m[1] != "" && fail > 0:
		f.forgiven = t.ExitOK()
		f.Tests.Passed, f.Tests.Failed = nil, nil
		f.extra("reruns", atoi(m[1])-1)
		f.worse(StateFailed)
		if f.forgiven {
			f.note("failures went away when run again (--rerun-fails)")
		}
	case fail > 0 || len(f.Failures) > 0 || len(f.Suites) > 0:
		f.worse(StateFailed)
	case total-skip == 0:
		f.State = StateNoTests
	default:
		f.worse(StatePassed)
	}
	if f.State == StateDidNotFinish {
		f.Tests = Counts{}
	}
}

// gtsBroken is how many packages did not build: each counts as one failure.
func gtsBroken(f *finding) int {
	n := 0
	for _, s := range f.Suites {
		if s.Kind == SuiteLoad {
			n++
		}
	}
	return n
}

// gtsFailures reads the sections "=== Failed" and "=== Errors".
func gtsFailures(t *Text, f *finding) {
	seen := map[string]bool{}
	for i := 0; i < t.Len(); i++ {
		l := t.Line(i)
		if l == "=== Errors" {
			end := gtsEnd(t, i+1)
			goBuildErrors(t, t.Slice(i+1, end).lines, f)
			continue
		}
		rest, ok := strings.CutPrefix(l, "=== FAIL: ")
		if !ok {
			continue
		}
		end := gtsEnd(t, i+1)
		body := t.Slice(i+1, end).lines
		i = end - 1
		if j := strings.LastIndex(rest, " ("); j > 0 {
			rest = rest[:j]
		}
		rest = strings.TrimSuffix(rest, " (re-run 1)")
		pkg, name, isTest := strings.Cut(rest, " ")
		if seen[rest] {
			continue
		}
		seen[rest] = true
		if !isTest {
			gtsPackage(t, f, pkg, body)
			continue
		}
		p := newGoPkg(pkg)
		x := p.test(name)
		x.results, x.out = []string{"FAIL"}, body
		before := len(f.Failures)
		(&goRun{}).failure(t, p, x, "", f)
		for k := before; k < len(f.Failures); k++ {
			fl := &f.Failures[k]
			if fl.File != "" && !strings.Contains(fl.File, "/") && pkg != "." {
				fl.File = pkg + "/" + fl.File // gotestsum prints the package's directory
			}
			if panicked(dedent(body)) >= 0 {
				f.worse(StateDidNotFinish)
			}
		}
	}
	gtsDropParents(f)
}

// gtsDropParents removes failures without a word of their own whose subtests
// are listed.
func gtsDropParents(f *finding) {
	kept := f.Failures[:0]
	for _, x := range f.Failures {
		parent := false
		for _, y := range f.Failures {
			parent = parent || strings.HasPrefix(y.ID, x.ID+"/")
		}
		if !parent || x.Message != "" {
			kept = append(kept, x)
		}
	}
	f.Failures = kept
}

func gtsEnd(t *Text, i int) int {
	for i < t.Len() && !strings.HasPrefix(t.Line(i), "=== ") && !strings.HasPrefix(t.Line(i), "DONE ") {
		i++
	}
	return i
}

// gtsPackage: a package that failed as such, because it did not build or its
// process died.
func gtsPackage(t *Text, f *finding, pkg string, body []string) {
	before := len(f.BuildErrors)
	goBuildErrors(t, body, f)
	joined := strings.Join(body, "\n")
	switch {
	case len(f.BuildErrors) > before || strings.Contains(joined, "[build failed]") || strings.Contains(joined, "[setup failed]"):
		f.suite(SuiteFailure{Kind: SuiteLoad, Name: pkg, Message: message(body...)})
		f.worse(StateBuildFailed)
	case panicked(body) >= 0:
		s := SuiteFailure{Kind: SuiteCrash, Name: pkg}
		s.File, s.Line, s.Message = goPanic(t, body[panicked(body):])
		f.suite(s)
		f.worse(StateDidNotFinish)
	default:
		f.suite(SuiteFailure{Kind: SuiteHook, Name: pkg, Message: message(body...)})
	}
}

var gtsEmpty = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:∅|EMPTY) +(\S+)(?: \(([^)]*)\))?$`)
})

// gtsPackages looks for packages that ran no test while others did. A package
// without test files takes no time; one that ended early took some.
func gtsPackages(t *Text, f *finding) {
	var empty []string
	ran := false
	for i := range t.Len() {
		l := t.Line(i)
		if m := gtsEmpty().FindStringSubmatch(l); m != nil {
			if m[2] != "0s" && m[2] != "1ms" && m[2] != "cached" {
				empty = append(empty, m[1])
			}
			continue
		}
		ran = ran || strings.HasPrefix(l, "PASS ") || strings.HasPrefix(l, "✓  ") || strings.HasPrefix(l, "✓ ")
	}
	if len(empty) > 0 && ran {
		f.worse(StateDidNotFinish)
		f.note("no test ran in " + strings.Join(empty, ", ") + ": without test files, or ended before its tests")
	}
}
