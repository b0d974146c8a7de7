package delegate

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"legwork/pkg/repo"
	"legwork/pkg/runners"
)

// How sure a PASS of this gate is, from best to least.
const (
	GateNames    = "names"          // every test by name, as its runner noted it
	GateCounts   = "counts"         // the runner noted that it came to its end, and how many tests it ran
	GateText     = "text"           // read off the runner's output
	GateExitOnly = "exit-code-only" // nothing but the exit code
)

// level says what evidence a gate can give, by its red run.
func (c *call) level(r gateRun) string {
	ev := r.result.Evidence
	switch {
	case ev != nil && ev.Started && (r.passed != nil || r.failed != nil):
		return GateNames
	case ev != nil && ev.Started && ev.Channel == "pytest", ev != nil && ev.Started && ev.Channel == "node:test":
		return GateNames // nothing was collected yet
	case c.silent(r):
		return GateExitOnly
	case r.attached:
		return GateCounts
	}
	return GateText
}

// testRunners are the readers of package runners whose programs run tests by name; the others read
// compilers, linters, shells and crashes.
func testRunners() []string {
	return []string{
		"ava", "bats", "bun", "cargo-nextest", "cargo-test", "catch2", "check", "ctest", "deno", "dotnet", "exunit", "go-test", "googletest", "gotestsum", "gradle",
		"gtest", "jasmine", "jest", "junit", "junit-xml", "junit4", "junit5", "maven", "minitest", "mocha", "node-test", "phpunit", "playwright", "prove", "pytest",
		"rspec", "tap", "tap-stream", "tape", "tcltest", "test-unit", "unittest", "uvu", "vitest",
	}
}

// silent says that neither the run nor the test files speak of tests by name, so that the exit code is all
// there is.
func (c *call) silent(r gateRun) bool {
	t := r.result.Tests
	if t.Passed != nil || t.Failed != nil || c.test.named && !c.byHand() || r.result.Evidence != nil && r.result.Evidence.Started {
		return false
	}
	if slices.ContainsFunc(r.result.Failures, func(f runners.Failure) bool { return f.ID != "" }) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(r.result.Runner, "+"), func(n string) bool { return slices.Contains(testRunners(), n) })
}

// notRed says why the baseline is no honest start; "" when it is red for the right reason.
func (c *call) notRed(r gateRun) string {
	res := r.result
	switch {
	case r.exit.TimedOut:
		return fmt.Sprintf("it %s (delegate.test_timeout)", r.exit)
	case r.exit.Code == 127 || r.exit.Code == 126:
		return fmt.Sprintf("the command cannot run: %s%s", r.exit, lastLine(r.tail))
	case res.State == runners.StateNoTests && !c.silent(r):
		return "no test ran; check the path and the names in the command" + lastLine(r.tail)
	case r.exit.OK() && (res.State == runners.StateFailed || res.State == runners.StateBuildFailed):
		return "the tests fail, yet the command exits 0; its exit code must be the runner's"
	case r.exit.OK() && c.req.AllowGreen:
		if c.level(r) == GateExitOnly || r.green() == 0 {
			return "it is green, as allowed, but leaves no evidence of any test that a later run could be held against"
		}
		return ""
	case r.exit.OK() && res.State == runners.StateDidNotFinish && !c.silent(r):
		return "it exits 0 though its tests did not finish" + notes(res)
	case r.exit.OK():
		return fmt.Sprintf("it passes already (%s); write a test that fails first, or say allow_green_baseline for a refactoring", r.summary())
	case r.exit.Signal != "" && !c.existing():
		return fmt.Sprintf("it was %s before the code under test was there", r.exit)
	}
	if missing := c.missing(res, r.tail); missing != "" {
		return missing
	}
	return ""
}

func notes(res runners.Result) string {
	if len(res.Notes) == 0 {
		return ""
	}
	return ": " + strings.Join(res.Notes, "; ")
}

func lastLine(tail string) string {
	lines := strings.Split(strings.TrimSpace(tail), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	return " (" + clip(last, 200) + ")"
}

// existing says that every target is there already.
func (c *call) existing() bool {
	return !slices.ContainsFunc(c.before, func(o repo.Original) bool { return !o.Exists })
}

// absences are the words with which loaders say that a module is not there; group 1 names it. toolOnly
// marks those that never mean the code under test.
func absences() []struct {
	re       *regexp.Regexp
	toolOnly bool
} {
	return []struct {
		re       *regexp.Regexp
		toolOnly bool
	}{
		{regexp.MustCompile(`No module named '?([\w.]+)'?`), false},
		{regexp.MustCompile(`Cannot find (?:module|package) ['"]([^'"]+)['"]`), false},
		{regexp.MustCompile(`Failed to (?:load url|resolve import) "?([^\s"]+)"?`), false},
		{regexp.MustCompile(`no required module provides package ([^\s;:]+)`), true},
		{regexp.MustCompile(`cannot find module providing package ([^\s;:]+)`), true},
		{regexp.MustCompile(`package ([^\s]+) is not in (?:std|GOROOT)`), false},
		{regexp.MustCompile(`can't find crate for .(\w+).`), false},
		{regexp.MustCompile(`use of (?:undeclared|unresolved) (?:crate or module|module or unlinked crate) .(\w+).`), false},
		{regexp.MustCompile(`cannot load such file -- (\S+)`), false},
		{regexp.MustCompile(`go: (cannot find main module)`), true},
		{regexp.MustCompile(`error: (could not find .Cargo\.toml.)`), true},
		{regexp.MustCompile(`npm (?:ERR!|error) (Missing script: \S+)`), true},
		{regexp.MustCompile(`sh: (?:\d+: )?(\S+): (?:command )?not found`), true},
		{regexp.MustCompile(`(?:pyenv|rbenv|nodenv|goenv|asdf): (\S+): command not found`), true},
		{regexp.MustCompile(`error: (rustup could not choose a version of \S+ to run)`), true},
	}
}

// missing names a dependency whose absence, rather than the missing work, makes the gate red.
func (c *call) missing(res runners.Result, tail string) string {
	if res.State == runners.StateFailed && len(res.Suites) == 0 && len(res.BuildErrors) == 0 && res.Runner != "" {
		return "" // tests ran and failed
	}
	var text strings.Builder
	for _, b := range res.BuildErrors {
		text.WriteString(b.Message + "\n")
	}
	for _, s := range res.Suites {
		text.WriteString(s.Message + "\n")
	}
	text.WriteString(tail)
	for _, a := range absences() {
		for _, m := range a.re.FindAllStringSubmatch(text.String(), -1) {
			if a.toolOnly || !c.provides(m[1]) {
				return fmt.Sprintf("it is red because something else is missing: %s", clip(m[0], 200))
			}
		}
	}
	return ""
}

// provides says that a module of that name may be one that a target will be.
func (c *call) provides(module string) bool {
	module = strings.TrimPrefix(strings.ReplaceAll(module, `\`, "/"), "./")
	for _, rel := range c.res.Targets {
		stem := strings.TrimSuffix(rel, path.Ext(rel))
		base := path.Base(stem)
		if base == "index" || base == "__init__" || base == "mod" || base == "lib" || base == "main" {
			base = path.Base(path.Dir(stem))
		}
		want := path.Base(strings.TrimSuffix(module, path.Ext(module)))
		switch languageOf(rel).family() {
		case "python":
			dotted := strings.ReplaceAll(stem, "/", ".")
			if dotted == module || strings.HasSuffix(dotted, "."+module) || strings.Contains("."+dotted+".", "."+module+".") {
				return true
			}
		case "go":
			if strings.HasSuffix(module, path.Dir(rel)) || path.Base(module) == path.Base(path.Dir(rel)) {
				return true
			}
		case "rust":
			if module == base || module == path.Base(stem) {
				return true
			}
		default:
			if want == base || want == path.Base(stem) || path.Base(module) == path.Base(rel) {
				return true
			}
		}
	}
	return false
}

// verdict of a run over a candidate.
type finding struct {
	pass  bool
	class string // "" when passed, else one of the class constants
	why   string
}

// Classes of an attempt that did not pass.
const (
	classFormat     = "format"     // the answer holds no usable file
	classImport     = "import"     // it needs what is not there
	classMeddle     = "meddling"   // it reaches for the test runner; it is not run
	classRepeat     = "repeat"     // the same code again
	classLoad       = "load"       // the test could not load or compile it
	classTests      = "tests"      // tests are red
	classUnfinished = "unfinished" // exit 0, but the tests did not finish
	classScope      = "scope"      // the code changed what decides the gate
	classTimeout    = "timeout"    // the test did not end
)

// judge decides whether a run is a pass. Exit 0 is never enough.
func (c *call) judge(r gateRun) finding {
	f := c.weigh(r)
	f.why = strings.ReplaceAll(strings.ReplaceAll(f.why, c.tree.Dir+"/", ""), c.tree.Dir, c.dir)
	return f
}

func (c *call) weigh(r gateRun) finding {
	res := r.result
	for _, ch := range r.changed {
		if ch.Tracked || decides(ch.Path) || isTestName(ch.Path) {
			return finding{class: classScope, why: "while the test ran, the code changed " + ch.String() + "; it may not"}
		}
	}
	switch {
	case r.exit.TimedOut:
		return finding{class: classTimeout, why: fmt.Sprintf("the test %s", r.exit)}
	case !r.exit.OK() && (res.State == runners.StateBuildFailed || r.noTests()):
		return finding{class: classLoad, why: "the code does not load or compile"}
	case !r.exit.OK() && res.State == runners.StateDidNotFinish && len(res.Failures) == 0 && !c.silent(r):
		return finding{class: classUnfinished, why: "the tests did not finish: " + r.exit.String() + notes(res)}
	case !r.exit.OK():
		return finding{class: classTests, why: r.exit.String()}
	}
	if who := c.guilty(res); who != "" {
		return finding{class: classUnfinished, why: "tests did not finish: " + who}
	}
	if c.res.Gate == GateExitOnly && c.silent(r) {
		if m := regexp.MustCompile(`\bAssertionError\b|Traceback \(most recent call last\)`).FindString(r.tail); m != "" {
			return finding{class: classUnfinished, why: "exit 0, but the output shows an error that should have ended it: " + m}
		}
		return finding{pass: true}
	}
	switch res.State {
	case runners.StatePassed:
	case runners.StateUnknown:
		return finding{class: classUnfinished, why: "tests did not finish: exit 0, but the output shows no result of any test"}
	case runners.StateNoTests, runners.StateDidNotFinish:
		return finding{class: classUnfinished, why: "tests did not finish" + notes(res)}
	case runners.StateBuildFailed:
		return finding{class: classLoad, why: "exit 0, but the code does not load or compile"}
	default:
		return finding{class: classTests, why: "exit 0, but tests are red"}
	}
	return c.accounted(r)
}

// noTests says that the runner's own report names no test at all: what failed is the file, not a test in it.
func (r gateRun) noTests() bool {
	return (r.passed != nil || r.failed != nil) && len(r.passed)+len(r.failed)+len(r.skipped) == 0 && r.result.State == runners.StateFailed
}

// guilty names a target that ended the process.
func (c *call) guilty(res runners.Result) string {
	if res.Evidence == nil {
		return ""
	}
	for _, e := range res.Evidence.Exits {
		_, at, _ := strings.Cut(e, " from ") // path:line:column
		file := regexp.MustCompile(`(?::\d+){1,2}$`).ReplaceAllString(at, "")
		for _, rel := range c.res.Targets {
			if file == c.tree.Path(rel) || filepath.Join(c.tree.Path(c.dir), filepath.FromSlash(file)) == c.tree.Path(rel) {
				return e
			}
		}
	}
	return ""
}

// accounted compares a green run with the red one: the same tests, each with its own pass, never fewer.
func (c *call) accounted(r gateRun) finding {
	unfinished := func(format string, a ...any) finding {
		return finding{class: classUnfinished, why: "tests did not finish: " + fmt.Sprintf(format, a...)}
	}
	started := r.result.Evidence != nil && r.result.Evidence.Started
	worked := c.red.result.Evidence != nil && c.red.result.Evidence.Started
	ranByText := c.red.result.State == runners.StateFailed && !worked
	if !started && (worked || r.attached && !ranByText) {
		return unfinished("exit 0, but the runner wrote no report")
	}
	if r.passed == nil && r.failed == nil {
		if before, now := c.red.total(), r.total(); now < before {
			return unfinished("%d tests ran before, %d now", before, now)
		}
		return finding{pass: true}
	}
	if len(r.failed) > 0 {
		return finding{class: classTests, why: "exit 0, but the runner's own report names red tests"}
	}
	if len(r.passed) == 0 {
		return unfinished("no test has a pass of its own")
	}
	must := slices.Clone(c.red.passed)
	if c.red.result.State != runners.StateBuildFailed {
		must = append(must, c.red.failed...) // else some are stand-ins for files that did not load
	}
	for _, name := range must {
		if !slices.Contains(r.passed, name) {
			return unfinished("%q has no pass of its own", clip(name, 120))
		}
	}
	for _, name := range c.test.declared {
		in := func(list []string) bool {
			return slices.ContainsFunc(list, func(id string) bool { return strings.Contains(id, unescape(name)) })
		}
		skippedBefore := in(c.red.skipped)
		switch {
		case in(r.passed):
		case in(r.skipped) && (c.test.skips || skippedBefore):
		case c.test.skips && !in(must):
		default:
			return unfinished("%q has no pass of its own", clip(name, 120))
		}
	}
	return finding{pass: true}
}

// unescape undoes the escapes of a quoted name.
func unescape(s string) string {
	return strings.NewReplacer(`\'`, `'`, `\"`, `"`, "\\`", "`", `\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(s)
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
