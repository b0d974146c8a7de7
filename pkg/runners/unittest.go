package runners

import (
	"regexp"
	"strings"
	"sync"
)

// unittest prints "FAIL: test (module.Class.test)" sections between rules and
// ends with a rule, "Ran N tests in …" and "OK" or "FAILED (…)". Python 3.11 and
// later put the method's name into the brackets, earlier ones only the class.

const (
	pyDashes = "----------------------------------------------------------------------"
	pyEquals = "======================================================================"
)

var unittestRan = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Ran (\d+) tests? in [\d.]+s$`)
})

var unittestVerbose = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\w+ \([\w.]+\)(?:.*)? \.\.\. `)
})

// unittestSummary is the last "Ran N tests" that stands below its rule.
func unittestSummary(t *Text) int {
	for i := t.Len() - 1; i >= 0; i-- {
		if l := t.Line(i); strings.HasPrefix(l, "Ran ") && t.Line(i-1) == pyDashes && unittestRan().MatchString(l) {
			return i
		}
	}
	return -1
}

func sniffUnittest(t *Text) match {
	start, verbose := -1, false
	for i := range t.Len() {
		l := t.Line(i)
		v := strings.Contains(l, ") ... ") && unittestVerbose().MatchString(l)
		verbose = verbose || v
		if start < 0 && (v || l == pyEquals || l == pyDashes || l != "" && strings.Trim(l, ".FEsxu") == "") {
			start = i
		}
	}
	if i := unittestSummary(t); i >= 0 {
		end := i + 1
		for end < t.Len() && end < i+3 {
			end++
		}
		return span(scoreCertain, min(max(start, 0), i), end)
	}
	if verbose {
		return t.all(scoreSure)
	}
	return match{}
}

func parseUnittest(t *Text, f *finding) {
	i := unittestSummary(t)
	distinct, blocks := unittestSections(t, i, f)
	if i < 0 {
		f.State = StateDidNotFinish
		f.note("unittest's totals are missing: the run did not come to its end")
		return
	}
	ran := atoi(unittestRan().FindStringSubmatch(t.Line(i))[1])
	status := ""
	for j := i + 1; j < i+4 && status == ""; j++ {
		status = strings.TrimSpace(t.Line(j))
	}
	n := unittestNumbers(status)
	failed, errs := n["failures"], n["errors"]
	bad := failed + errs
	if blocks == bad {
		bad = distinct
	}
	xfail, xpass := n["expected failures"], n["unexpected successes"]
	f.Tests = Counts{Passed: new(max(0, ran-bad-n["skipped"]-xfail-xpass)), Failed: new(failed), Skipped: new(n["skipped"]), Todo: new(xfail), Errors: new(errs)}
	if xpass > 0 {
		f.extra("unexpected successes", xpass)
		f.suite(SuiteFailure{Kind: SuiteThreshold, Message: "a test that should fail passed (unexpected success)"})
	}
	switch {
	case f.State == StateBuildFailed:
	case failed+errs+xpass > 0 || strings.HasPrefix(status, "FAILED"):
		f.worse(StateFailed)
	case ran == 0 || val(f.Tests.Passed)+xfail == 0:
		f.worse(StateNoTests)
	case strings.HasPrefix(status, "OK"):
		f.worse(StatePassed)
	default:
		f.worse(StateDidNotFinish)
	}
}

// unittestNumbers reads "FAILED (failures=2, expected failures=1)".
func unittestNumbers(status string) map[string]int {
	n := map[string]int{}
	_, in, ok := strings.Cut(status, "(")
	if !ok {
		return n
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(in, ")"), ", ") {
		if k, v, ok := strings.Cut(part, "="); ok {
			n[k] = atoi(v)
		}
	}
	return n
}

// unittestSections lists the failures; distinct counts tests rather than subtests.
func unittestSections(t *Text, sum int, f *finding) (distinct, blocks int) {
	end := t.Len()
	if sum >= 0 {
		end = sum - 1
	}
	seen := map[string]bool{}
	for i := 0; i < end; i++ {
		if t.Line(i) != pyEquals {
			continue
		}
		word, title, ok := strings.Cut(t.Line(i+1), ": ")
		if !ok || word != "FAIL" && word != "ERROR" && word != "UNEXPECTED SUCCESS" {
			continue
		}
		j := i + 2
		for j < end && t.Line(j) != pyDashes {
			j++ // the test's docstring
		}
		from := j + 1
		for j = from; j < end && t.Line(j) != pyEquals; j++ {
			if t.Line(j) == pyDashes && t.Line(j+1) != "" && strings.HasPrefix(t.Line(j+1), "Ran ") {
				break
			}
		}
		if word == "UNEXPECTED SUCCESS" {
			continue
		}
		blocks++
		base, id := unittestID(title)
		if !seen[base] {
			seen[base] = true
			if !strings.HasPrefix(title, "setUp") && !strings.HasPrefix(title, "tearDown") {
				distinct++
			}
		}
		unittestFail(t, f, id, title, t.Slice(from, j).lines)
		i = j - 1
	}
	return distinct, blocks
}

func unittestFail(t *Text, f *finding, id, title string, body []string) {
	x := Failure{ID: id, Message: message(pyAfterFrames(unittestTrace(body))...)}
	if p, n, ok := pyPlace(body); ok {
		x.File, x.Line = cleanPath(p, t.Hint.Dir), n
	}
	switch {
	case strings.Contains(title, "unittest.loader._FailedTest") || strings.Contains(title, "unittest.loader.ModuleImportFailure"):
		name, _, _ := strings.Cut(title, " (")
		f.build(BuildError{File: x.File, Line: x.Line, Message: x.Message})
		f.suite(SuiteFailure{Kind: SuiteLoad, Name: name, File: x.File, Line: x.Line, Message: x.Message})
		f.worse(StateBuildFailed)
		return
	case strings.HasPrefix(title, "setUpClass") || strings.HasPrefix(title, "setUpModule") || strings.HasPrefix(title, "tearDownClass") || strings.HasPrefix(title, "tearDownModule"):
		f.suite(SuiteFailure{Kind: SuiteHook, Name: title, File: x.File, Line: x.Line, Message: x.Message})
		x.ID = title
	}
	f.fail(x)
}

// unittestTrace drops the captured output that --buffer appends.
func unittestTrace(body []string) []string {
	for i, l := range body {
		if (l == "Stdout:" || l == "Stderr:") && i > 0 && body[i-1] == "" {
			return body[:i]
		}
	}
	return body
}

// unittestID turns "test_a (m.C.test_a) [sub] (i=1)" into "m.C.test_a [sub] (i=1)";
// base leaves the subtest's part out.
func unittestID(title string) (base, id string) {
	name, rest, ok := strings.Cut(title, " (")
	if !ok {
		return title, title
	}
	class, sub, ok := strings.Cut(rest, ")")
	if !ok {
		return title, title
	}
	if !strings.HasSuffix(class, "."+name) {
		class += "." + name
	}
	return class, class + sub
}
