package runners

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// go test prints a line per package ("ok  \tpkg\t0.1s") after that package's
// tests. Tests print freely between, also lines of that very form, so: a name
// counts with -v only when "=== RUN" announced it, the last results of a name
// count, and a package line that comes again later was printed by a test.

// goPkg is one package.
type goPkg struct {
	name    string
	result  string // "ok", "FAIL", "?" or "" while it runs
	note    string // "[no tests to run]", "[build failed]" …
	elapsed string
	tests   map[string]*goTest
	order   []string
	out     []string // output outside tests
}

// goTest is one name in a package; with -count it runs several times.
type goTest struct {
	name    string
	runs    int
	results []string // PASS, FAIL, SKIP in order
	out     []string
}

// goRun is all that was read.
type goRun struct {
	pkgs    []*goPkg
	verbose bool // "=== RUN" lines or JSON events: every test is named
	cut     bool // lines after the last package
	failed  bool // the lone "FAIL" at the very end
}

func (p *goPkg) test(name string) *goTest {
	t := p.tests[name]
	if t == nil {
		t = &goTest{name: name}
		p.tests[name] = t
		p.order = append(p.order, name)
	}
	return t
}

func newGoPkg(name string) *goPkg { return &goPkg{name: name, tests: map[string]*goTest{}} }

// kept are the results that count: the last ones, as many as runs were announced.
func (t *goTest) kept(verbose bool) []string {
	r := t.results
	if verbose && t.runs > 0 && len(r) > t.runs {
		r = r[len(r)-t.runs:]
	}
	return r
}

func (t *goTest) failed(verbose bool) bool {
	return slices.Contains(t.kept(verbose), "FAIL")
}

var goResult = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`--- (PASS|FAIL|SKIP): (\S+) \(\d+\.\d+s\)$`)
})

var goPkgLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(ok  |FAIL|\?   )\t(\S+)(?:[\t ](.*))?$`)
})

// goBuildPos matches a compiler's or vet's "file.go:3:18: message".
var goBuildPos = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:vet: )?((?:\S|[A-Za-z]:\\)[^\s:]*\.(?:go|s|c|h|mod|work)):(\d+)(?::(\d+))?: (.+)$`)
})

func sniffGoTest(t *Text) match {
	first, last, pkgs, runs := -1, -1, 0, 0
	for i := range t.Len() {
		l := t.Line(i)
		hit := false
		switch {
		case strings.HasPrefix(l, "ok  \t") || strings.HasPrefix(l, "FAIL\t") || strings.HasPrefix(l, "?   \t"):
			hit = goPkgLine().MatchString(l)
			if hit {
				pkgs++
			}
		case strings.HasPrefix(l, "=== RUN   "), strings.HasPrefix(l, "=== CONT  "):
			hit = true
			runs++
		case strings.HasPrefix(l, "--- "):
			hit = goResult().MatchString(l)
			if hit {
				runs++
			}
		case l == "FAIL" && last >= 0, l == "PASS" && last >= 0:
			hit = true
		case strings.HasPrefix(l, "# ") && first < 0 && strings.Contains(l, ".test]"), strings.HasPrefix(l, "# ") && first < 0 && strings.Contains(t.Line(i+1), ".go:"):
			first = i
		}
		if hit {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	switch {
	case pkgs > 0:
		return span(scoreCertain, first, last+1)
	case runs > 1:
		return span(scoreSure, first, t.Len())
	}
	return match{}
}

func parseGoTest(t *Text, f *finding) {
	r := readGoTest(t)
	if c := t.Hint.Command; strings.Contains(c, "go test") && (strings.Contains(c, " -v") || strings.Contains(c, "--v")) && !strings.ContainsAny(c, "|;&") {
		r.verbose = true
	}
	r.report(t, f)
}

// goReader reads plain and -v output line by line.
type goReader struct {
	run   *goRun
	cur   *goPkg
	test  string    // whose output comes now, "" for the package's own
	block []goLevel // results above, whose output without -v follows them
	trace bool      // below a panic, which lasts to the package's end
}

// readGoTest reads plain and -v output.
func readGoTest(t *Text) *goRun {
	g := &goReader{run: &goRun{}, cur: newGoPkg("")}
	for i := range t.Len() {
		g.line(t.Line(i))
	}
	r, cur := g.run, g.cur
	for i := t.Len() - 1; i >= 0 && i > t.Len()-3; i-- {
		r.failed = r.failed || t.Line(i) == "FAIL"
	}
	if len(cur.order) > 0 {
		r.cut = true
		r.pkgs = append(r.pkgs, cur)
	} else if len(cur.out) > 0 {
		r.cut = panicked(cur.out) >= 0
		r.pkgs = append(r.pkgs, cur) // build errors without a package line
	}
	return r
}

func (g *goReader) line(l string) {
	if m := goPkgLine().FindStringSubmatch(l); m != nil {
		g.run.close(g.cur, m)
		g.cur, g.test, g.block, g.trace = newGoPkg(""), "", nil, false
		return
	}
	if name, ok := goSwitch(l); ok {
		g.test, g.block = name, nil
		if strings.HasPrefix(l, "=== RUN") {
			g.run.verbose = true
			g.cur.test(name).runs++
		}
		return
	}
	if m := goResult().FindStringSubmatchIndex(l); m != nil {
		if name := l[m[4]:m[5]]; g.run.openBefore(g.cur, name) || goResultAt(l, m[0], g.cur, name, g.run.verbose) {
			g.result(l[:m[0]], l[m[2]:m[3]], name)
			return
		}
	}
	switch {
	case l == "FAIL" || l == "PASS" || strings.HasPrefix(l, "exit status "):
		g.test = ""
		return
	case strings.HasPrefix(l, "coverage: "):
		return
	case len(g.block) > 0:
		g.test = goOwner(g.block, l, g.trace)
	}
	if panicked([]string{l}) == 0 {
		g.trace = true
		if len(g.block) > 0 {
			g.test = g.block[len(g.block)-1].name
		}
	}
	g.cur.output(g.test, l)
}

// result takes "--- FAIL: name" with what stands before it in its line: blanks,
// or text that a test printed without a newline.
func (g *goReader) result(before, word, name string) {
	if g.run.openBefore(g.cur, name) {
		g.cur = g.run.reopen(g.cur)
	}
	x := g.cur.test(name)
	if g.run.verbose && x.runs == 0 && len(x.results) == 0 && len(g.cur.order) == 1 {
		x.out, g.cur.out = g.cur.out, nil // a printed package line cut it off from its "=== RUN"
	}
	x.results = append(x.results, word)
	level := len(before)
	if strings.TrimSpace(before) != "" {
		owner := name
		if g.run.verbose {
			owner = g.test
		}
		g.cur.output(owner, before)
		level = 0
	}
	g.block = append(g.block, goLevel{level, name})
	g.test = name
}

// openBefore: the test was announced before the last package line and has no
// result yet, so that line was printed by the test.
func (r *goRun) openBefore(cur *goPkg, name string) bool {
	if x := cur.tests[name]; !r.verbose || len(r.pkgs) == 0 || x != nil && x.runs > 0 {
		return false
	}
	x := r.pkgs[len(r.pkgs)-1].tests[name]
	return x != nil && x.runs > len(x.results)
}

// reopen takes the last package back and adds what came after its false end.
func (r *goRun) reopen(cur *goPkg) *goPkg {
	old := r.pkgs[len(r.pkgs)-1]
	r.pkgs = r.pkgs[:len(r.pkgs)-1]
	for _, name := range cur.order {
		a, b := cur.tests[name], old.test(name)
		b.runs += a.runs
		b.results = append(b.results, a.results...)
		b.out = append(b.out, a.out...)
	}
	old.out = append(old.out, cur.out...)
	old.name, old.result, old.note, old.elapsed = "", "", "", ""
	return old
}

// goLevel is a result line and its indentation.
type goLevel struct {
	indent int
	name   string
}

// goOwner is the test that an output line below results belongs to: the last
// one that is indented less. Lines at the margin are the report of an example, a
// panic's trace, or printed by whatever runs next (then they belong to no test).
func goOwner(block []goLevel, l string, trace bool) string {
	ind := indent(l)
	last := block[len(block)-1].name
	if trace || ind == 0 && strings.HasPrefix(last, "Example") {
		return last
	}
	if ind == 0 {
		return ""
	}
	for _, b := range slices.Backward(block) {
		if b.indent < ind {
			return b.name
		}
	}
	return last
}

// goResultAt: at the start of a line (indented for subtests) a result is one; in
// mid-line only if the name was announced, because a test printed without newline.
func goResultAt(l string, at int, p *goPkg, name string, verbose bool) bool {
	if strings.TrimLeft(l[:at], " ") == "" {
		return true
	}
	if x := p.tests[name]; x != nil {
		return x.runs > 0
	}
	// Without -v nothing was announced; the name must at least be one of go test's.
	return !verbose && !strings.Contains(name, "/") && (strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz"))
}

// goSwitch reads "=== RUN   X", "=== CONT  X", "=== NAME  X", "=== PAUSE X".
func goSwitch(l string) (string, bool) {
	for _, p := range []string{"=== RUN   ", "=== CONT  ", "=== NAME  ", "=== PAUSE "} {
		if name, ok := strings.CutPrefix(l, p); ok {
			return name, true
		}
	}
	return "", false
}

func (p *goPkg) output(test, l string) {
	if test == "" {
		p.out = append(p.out, l)
		return
	}
	if x := p.test(test); len(x.out) < 5000 {
		x.out = append(x.out, l)
	}
}

// close ends a package with its line; an earlier package of the same name was
// printed by a test and is part of this one.
func (r *goRun) close(cur *goPkg, m []string) {
	cur.name = m[2]
	cur.result = strings.TrimSpace(m[1])
	for part := range strings.SplitSeq(m[3], "\t") {
		if i := strings.IndexByte(part, '['); i >= 0 {
			cur.note = part[i:]
		} else if cur.elapsed == "" {
			cur.elapsed = part
		}
	}
	if n := len(r.pkgs); n > 0 && r.pkgs[n-1].name == cur.name && cur.elapsed != "(cached)" {
		old := r.pkgs[n-1]
		for _, name := range old.order {
			a, b := old.tests[name], cur.test(name)
			b.runs += a.runs
			b.results = append(append([]string{}, a.results...), b.results...)
			b.out = append(append([]string{}, a.out...), b.out...)
		}
		cur.out = append(old.out, cur.out...)
		r.pkgs = r.pkgs[:n-1]
	}
	r.pkgs = append(r.pkgs, cur)
}
