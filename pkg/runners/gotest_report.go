package runners

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// report turns what was read into counts, failures and a state.
func (r *goRun) report(t *Text, f *finding) {
	var pass, fail, skip, ran int
	root := r.root()
	r.adopt()
	for _, p := range r.pkgs {
		r.packageBuild(t, p, f)
		for _, name := range p.order {
			x := p.tests[name]
			if r.verbose && x.runs == 0 && p.result != "" && r.dropless(t) || !r.verbose && p.result == "ok" {
				continue // printed by a test
			}
			for _, res := range x.kept(r.verbose) {
				ran++
				switch res {
				case "PASS":
					pass++
				case "FAIL":
					fail++
				case "SKIP":
					skip++
				}
			}
			if p.result != "ok" && (x.failed(r.verbose) || len(x.results) == 0 && panicked(dedent(x.out)) >= 0) {
				r.failure(t, p, x, root, f)
			}
		}
		r.packageState(t, p, root, f)
	}
	pass += t.dropped["--- PASS: "] + t.dropped["json pass"]
	skip += t.dropped["--- SKIP: "] + t.dropped["json skip"]
	r.counts(f, pass, fail, skip)
	r.verdict(t, f, ran+t.dropped["--- PASS: "]+t.dropped["json pass"])
}

// adopt gives a package that failed without a failed test those that stand above
// the "ok" of another one: several go commands wrote at once (make -j), and a
// package that is ok has no failed test of its own.
func (r *goRun) adopt() {
	for i, p := range r.pkgs {
		if p.result != "FAIL" || strings.Contains(p.note, "failed]") || panicked(p.out) >= 0 || len(r.failedIn(p)) > 0 {
			continue
		}
		for j := i - 1; j >= 0 && r.pkgs[j].result == "ok"; j-- {
			names := r.failedIn(r.pkgs[j])
			for _, name := range names {
				*p.test(name) = *r.pkgs[j].tests[name]
				delete(r.pkgs[j].tests, name)
			}
			if len(names) > 0 {
				r.pkgs[j].order = slices.DeleteFunc(r.pkgs[j].order, func(n string) bool { return slices.Contains(names, n) })
				break
			}
		}
	}
}

// failedIn are the tests of p that failed, without names that only a test printed.
func (r *goRun) failedIn(p *goPkg) (names []string) {
	for _, name := range p.order {
		if x := p.tests[name]; x.failed(r.verbose) && (!r.verbose || x.runs > 0) {
			names = append(names, name)
		}
	}
	return names
}

func (r *goRun) counts(f *finding, pass, fail, skip int) {
	if r.verbose {
		f.Tests = Counts{Passed: new(pass), Failed: new(fail), Skipped: new(skip)}
		return
	}
	f.Tests = Counts{Failed: new(fail)}
	if fail == 0 && r.anyFailed() && len(f.BuildErrors) == 0 {
		f.Tests.Failed = nil // cut: the failing test is not in the text
	}
}

func (r *goRun) anyFailed() bool {
	for _, p := range r.pkgs {
		if p.result == "FAIL" {
			return true
		}
	}
	return false
}

// root is the import path above all packages, "" when it cannot be told.
func (r *goRun) root() string {
	var all []string
	seen := map[string]bool{}
	for _, p := range r.pkgs {
		if p.name != "" && !seen[p.name] {
			seen[p.name] = true
			all = append(all, p.name)
		}
	}
	if len(all) < 2 {
		return ""
	}
	base := strings.Split(all[0], "/")
	for _, n := range all[1:] {
		parts := strings.Split(n, "/")
		i := 0
		for i < len(base) && i < len(parts) && base[i] == parts[i] {
			i++
		}
		base = base[:i]
	}
	return strings.Join(base, "/")
}

// goFile puts the package's directory before a bare file name.
func goFile(file, pkg, root string) string {
	if strings.Contains(file, "/") || root == "" || !strings.HasPrefix(pkg, root+"/") {
		return file
	}
	return path.Join(strings.TrimPrefix(pkg, root+"/"), file)
}

var goLogLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s+(\S+\.go):(\d+): ?`)
})

// failure lists a failed test, unless it is only the parent of one.
func (r *goRun) failure(t *Text, p *goPkg, x *goTest, root string, f *finding) {
	out := dedent(x.out)
	if panicked(out) < 0 && message(out...) == "" {
		for _, name := range p.order {
			if strings.HasPrefix(name, x.name+"/") && p.tests[name].failed(r.verbose) {
				return
			}
		}
	}
	fl := Failure{ID: x.name, Message: message(out...)}
	if i := panicked(out); i >= 0 {
		fl.File, fl.Line, fl.Message = goPanic(t, out[i:])
	} else {
		for _, l := range x.out {
			if m := goLogLine().FindStringSubmatch(l); m != nil {
				fl.File, fl.Line = goFile(m[1], p.name, root), atoi(m[2])
			}
		}
	}
	f.fail(fl)
}

// panicked is the line that starts a panic or a runtime error, -1 if there is none.
func panicked(out []string) int {
	for i, l := range out {
		if strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") || strings.HasPrefix(l, "SIGSEGV: ") || strings.HasPrefix(l, "SIGQUIT: ") || strings.HasPrefix(l, "runtime: goroutine stack exceeds") {
			return i
		}
	}
	return -1
}

// goPanic keeps the panic's own lines and the first frame in the project.
func goPanic(t *Text, out []string) (file string, line int, msg string) {
	var keep []string
	for i, l := range out {
		if strings.HasPrefix(l, "goroutine ") {
			for j := i; j+1 < len(out); j++ {
				s := strings.TrimSpace(out[j+1])
				if !strings.Contains(s, ".go:") || !strings.HasPrefix(out[j+1], "\t") || strings.Contains(out[j], "created by ") {
					continue
				}
				if p, n, _, ok := splitPos(firstField(s)); ok && !foreign(p) && !strings.HasSuffix(p, "_testmain.go") {
					file, line = cleanPath(p, t.Hint.Dir), n
					keep = append(keep, strings.TrimSpace(out[j]), file+":"+s[strings.LastIndexByte(firstField(s), ':')+1:len(firstField(s))])
					break
				}
			}
			break
		}
		if strings.TrimSpace(l) != "" && len(keep) < 20 {
			keep = append(keep, l)
		}
	}
	return file, line, message(keep...)
}

// packageBuild collects the compiler's messages that stand before a package line.
func (r *goRun) packageBuild(t *Text, p *goPkg, f *finding) {
	if !strings.Contains(p.note, "build failed") && !strings.Contains(p.note, "setup failed") && p.name != "" {
		if goComplaints(t, p.out, f) {
			f.worse(StateBuildFailed)
		}
		return
	}
	before := len(f.BuildErrors)
	goBuildErrors(t, p.out, f)
	if len(f.BuildErrors) == before && p.name != "" {
		if msg := message(lastLines(p.out, 20)...); msg != "" {
			f.build(BuildError{Message: msg})
		}
	}
	if p.name != "" {
		f.worse(StateBuildFailed)
		f.suite(SuiteFailure{Kind: SuiteLoad, Name: p.name, Message: strings.Trim(p.note, "[]")})
	}
}

// goComplaints reads what go vet or go build printed before a package's tests: lines
// with a place, below "# package". Warnings of a C compiler fail nothing.
func goComplaints(t *Text, out []string, f *finding) bool {
	before := len(f.BuildErrors)
	headed := false
	for _, l := range out {
		m := goBuildPos().FindStringSubmatch(l)
		switch {
		case strings.HasPrefix(l, "# "):
			headed = true
		case m == nil:
			headed = headed && strings.HasPrefix(l, "\t")
		case headed && (strings.HasSuffix(m[1], ".go") || strings.Contains(m[4], "error: ")):
			goBuildErrors(t, []string{l}, f)
		}
	}
	return len(f.BuildErrors) > before
}

// goBuildErrors reads "file.go:3:18: message" with its indented lines.
func goBuildErrors(t *Text, lines []string, f *finding) {
	for i := 0; i < len(lines); i++ {
		m := goBuildPos().FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		msg := []string{m[4]}
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\t") {
			i++
			msg = append(msg, strings.TrimSpace(lines[i]))
		}
		f.build(BuildError{File: cleanPath(m[1], t.Hint.Dir), Line: atoi(m[2]), Col: atoi(m[3]), Message: message(msg...)})
	}
}

// packageState looks at a package as a whole: a panic, a failure without a
// failing test, an "ok" without a test.
func (r *goRun) packageState(t *Text, p *goPkg, root string, f *finding) {
	build := strings.Contains(p.note, "failed]")
	crash := panicked(p.out) >= 0
	failedTests := false
	for _, x := range p.tests {
		if p.result != "ok" && panicked(dedent(x.out)) >= 0 {
			crash = true
		}
		failedTests = failedTests || x.failed(r.verbose)
	}
	switch {
	case p.result == "FAIL" && crash:
		if i := panicked(p.out); i >= 0 {
			s := SuiteFailure{Kind: SuiteCrash, Name: p.name}
			s.File, s.Line, s.Message = goPanic(t, p.out[i:])
			f.suite(s)
		}
		f.worse(StateDidNotFinish)
	case p.result == "FAIL" && !build && !failedTests:
		f.worse(StateFailed)
		f.suite(SuiteFailure{Kind: SuiteHook, Name: p.name, Message: message(lastLines(p.out, 20)...)})
	case p.result == "FAIL" && !build:
		f.worse(StateFailed)
	case p.result == "ok" && r.verbose && len(p.tests) == 0 && !strings.Contains(p.note, "no tests to run") && r.dropless(t) && !benched(p.out):
		f.worse(StateDidNotFinish)
		f.note("package " + p.name + " says ok, but none of its tests ran: it ended before them")
	}
}

// benched: out holds a result of a benchmark, which no "=== RUN" announces.
func benched(out []string) bool {
	return slices.ContainsFunc(out, func(l string) bool {
		return strings.HasPrefix(l, "Benchmark") && strings.Contains(l, " ns/op")
	})
}

// dropless: nothing was left out of the text, so a missing test is missing.
func (r *goRun) dropless(t *Text) bool { return len(t.dropped) == 0 }

func lastLines(lines []string, n int) []string {
	return lines[max(0, len(lines)-n):]
}

func (r *goRun) verdict(t *Text, f *finding, ran int) {
	ok, none := 0, 0
	for _, p := range r.pkgs {
		switch {
		case p.result == "ok" && strings.Contains(p.note, "no tests to run"), p.result == "?":
			none++
		case p.result == "ok":
			ok++
		}
	}
	switch {
	case len(f.BuildErrors) > 0 && f.State == "":
		f.worse(StateBuildFailed)
	case r.cut && f.State != StateDidNotFinish:
		f.worse(StateDidNotFinish)
		f.note("the text ends before the package's result")
	case f.State == "" && r.failed:
		f.worse(StateFailed)
		f.note("go test says FAIL at the end; the failure itself is not in the text")
		f.Tests = Counts{}
	case f.State != "":
	case ok > 0 && (!r.verbose || ran > 0 && val(f.Tests.Passed) > 0):
		f.worse(StatePassed)
	case none > 0 || ok > 0:
		f.worse(StateNoTests)
		f.Tests.Passed = new(val(f.Tests.Passed))
		f.Tests.Skipped = new(val(f.Tests.Skipped))
	}
	if f.State == StateDidNotFinish {
		f.Tests = Counts{}
	}
}
