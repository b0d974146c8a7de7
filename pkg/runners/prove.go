package runners

import (
	"strconv"
	"strings"
)

var (
	proveResult  = lazy(`^Result: (PASS|FAIL|NOTESTS)`)
	proveFiles   = lazy(`^Files=(\d+), Tests=(\d+),`)
	proveReport  = lazy(`^(\S.*?)\s+\(Wstat: (\d+)(?: \((?:exited (\d+)|Signal: (\w+)).*?\))? Tests: (\d+) Failed: (\d+)\)`)
	provePlanned = lazy(`planned (\d+) tests? but ran (\d+)`)
	proveNumbers = lazy(`^  Failed tests?: +(.*)$`)
	perlFailed   = lazy(`^# +Failed test(?: '(.*)')?(?: at (\S+) line (\d+)\.)?$`)
	perlAt       = lazy(`^# +at (\S+) line (\d+)\.$`)
	perlError    = lazy(`^(.*?) at (\S+) line (\d+)(?:, near "(.*))?[,.]?"?\.?$`)
)

func proveParser() parser {
	return parser{
		name: "prove", kind: kindTests, marks: []string{"Result: ", "No tests named", "Test Summary Report", " wallclock secs "},
		own: lazy(`^(?:\S+ \.{2,}|All tests successful|Files=\d|Result: |Test Summary Report|\s*(?:not )?ok\b|\s*1\.\.\d)`),
		sniff: func(t *Text) match {
			if lastMatch(t, proveFiles()) >= 0 {
				return t.all(scoreCertain)
			}
			if t.FindPrefix("No tests named and ", 0) >= 0 {
				return t.all(scoreSure)
			}
			return match{}
		}, parse: proveParse,
	}
}

// proveFile is one entry of the summary report.
type proveFile struct {
	name        string
	signal      string
	exited      int
	ran, failed int
	numbers     []int
	parsed      string // "Parse errors" text
}

func proveParse(t *Text, f *finding) {
	if t.FindPrefix("No tests named and ", 0) >= 0 {
		f.State = StateNoTests
		return
	}
	files, failed := proveSummary(t)
	if i := lastMatch(t, proveFiles()); i >= 0 {
		m := proveFiles().FindStringSubmatch(t.Line(i))
		f.Tests.Passed, f.Tests.Failed = new(max(atoi(m[2])-failed, 0)), new(failed)
		if atoi(m[2]) == 0 {
			f.worse(StateNoTests)
		}
	}
	result := ""
	if i := lastMatch(t, proveResult()); i >= 0 {
		result = proveResult().FindStringSubmatch(t.Line(i))[1]
	}
	switch result {
	case "PASS":
		f.worse(StatePassed)
	case "NOTESTS":
		f.worse(StateNoTests)
	case "FAIL":
		f.worse(StateFailed)
	default:
		f.worse(StateDidNotFinish)
	}
	perlCompile(t, f)
	broken := len(f.BuildErrors) > 0
	if broken {
		f.worse(StateBuildFailed)
	}
	diags := perlDiags(t)
	byFile := map[string][]perlDiag{}
	for _, d := range diags {
		byFile[t.path(d.file)] = append(byFile[t.path(d.file)], d)
	}
	for _, p := range files {
		proveFailures(t, p, diags, byFile[p.name], f)
		if p.failed == 0 && p.parsed == "" && p.signal == "" && p.exited > 0 {
			f.suite(SuiteFailure{Kind: SuiteCrash, Name: p.name, File: p.name, Message: p.name + ": all tests passed, then exit " + strconv.Itoa(p.exited)})
			continue
		}
		unfinished := provePlan(p.parsed) || strings.Contains(p.parsed, "No plan found") || p.signal != ""
		if !unfinished {
			continue
		}
		what := p.name + ": " + p.parsed
		if p.signal != "" {
			what = p.name + ": killed by SIG" + p.signal + ", " + p.parsed
		}
		f.suite(SuiteFailure{Kind: SuiteCrash, Name: p.name, File: p.name, Message: what})
		if !broken || p.ran != 0 {
			f.worse(StateDidNotFinish)
		}
	}
}

// proveSummary reads the "Test Summary Report".
func proveSummary(t *Text) (files []proveFile, failed int) {
	start := t.FindPrefix("Test Summary Report", 0)
	if start < 0 {
		return nil, 0
	}
	for i := start; i < t.Len(); i++ {
		l := t.lines[i]
		if m := proveReport().FindStringSubmatch(l); m != nil {
			p := proveFile{name: t.path(m[1]), exited: atoi(m[3]), signal: m[4], ran: atoi(m[5]), failed: atoi(m[6])}
			if w := atoi(m[2]); p.signal == "" && w > 0 && w < 128 {
				p.signal = strconv.Itoa(w)
			}
			files = append(files, p)
			failed += p.failed
			continue
		}
		if len(files) == 0 {
			continue
		}
		p := &files[len(files)-1]
		if m := proveNumbers().FindStringSubmatch(l); m != nil {
			p.numbers = append(p.numbers, numberList(m[1])...)
			for j := i + 1; strings.HasPrefix(t.Line(j), "                "); j++ {
				p.numbers = append(p.numbers, numberList(strings.TrimSpace(t.Line(j)))...)
			}
		}
		if _, e, ok := strings.Cut(l, "Parse errors: "); ok {
			p.parsed = e
		}
	}
	return files, failed
}

// provePlan says that a file ran fewer tests than it planned.
func provePlan(s string) bool {
	m := provePlanned().FindStringSubmatch(s)
	return m != nil && atoi(m[2]) < atoi(m[1])
}

// numberList reads "2, 4-6".
func numberList(s string) (out []int) {
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		a, b, isRange := strings.Cut(part, "-")
		lo := atoi(a)
		hi := lo
		if isRange {
			hi = atoi(b)
		}
		for n := lo; n > 0 && n <= hi && len(out) < 10000; n++ {
			out = append(out, n)
		}
	}
	return out
}

// perlDiag is one "# Failed test" block of Test::More.
type perlDiag struct {
	name string
	frame
	message string
}

// perlDiags collects the blocks of top-level tests, with what follows them.
func perlDiags(t *Text) []perlDiag {
	var out []perlDiag
	for i := 0; i < t.Len(); i++ {
		m := perlFailed().FindStringSubmatch(t.lines[i])
		if m == nil {
			continue
		}
		d := perlDiag{name: m[1], frame: frame{m[2], atoi(m[3])}}
		j := i + 1
		if a := perlAt().FindStringSubmatch(t.Line(j)); a != nil {
			d.frame = frame{a[1], atoi(a[2])}
			j++
		}
		var keep []string
		for ; strings.HasPrefix(t.Line(j), "#") && perlFailed().FindString(t.Line(j)) == "" &&
			!strings.HasPrefix(t.Line(j), "# Looks like you"); j++ {
			keep = append(keep, strings.TrimPrefix(t.Line(j), "#"))
		}
		d.message = message(keep...)
		out = append(out, d)
		i = j - 1
	}
	return out
}

// proveFailures names the failed tests of one file: the report has the numbers,
// the diagnostics (printed in the same order) the names.
func proveFailures(t *Text, p proveFile, diags, own []perlDiag, f *finding) {
	if len(own) != len(p.numbers) && len(diags) == len(p.numbers) {
		own = diags
	}
	for k, n := range p.numbers {
		x := Failure{ID: p.name + " " + strconv.Itoa(n), File: p.name}
		if len(own) == len(p.numbers) {
			d := own[k]
			if d.name != "" {
				x.ID += " " + d.name
			}
			x.File, x.Line, x.Message = t.path(d.file), d.line, d.message
		}
		f.fail(x)
	}
}

// perlCompile finds files that Perl could not compile or load.
func perlCompile(t *Text, f *finding) {
	for i, l := range t.lines {
		missing := strings.HasPrefix(l, "Can't locate ") && strings.Contains(l, "@INC")
		followed := false
		for j := i + 1; j <= i+4 && !followed; j++ {
			followed = strings.HasPrefix(t.Line(j), "Compilation failed in require") || strings.HasPrefix(t.Line(j), "BEGIN failed--compilation aborted") || strings.HasPrefix(t.Line(j), "BEGIN not safe after errors") ||
				strings.Contains(t.Line(j), "had compilation errors.") || strings.HasPrefix(t.Line(j), "Execution of ")
		}
		if !missing && !strings.HasPrefix(l, "syntax error at ") && !followed || strings.HasPrefix(l, "Compilation failed") || strings.HasPrefix(l, "BEGIN ") || strings.HasPrefix(l, "#") {
			continue
		}
		m := perlError().FindStringSubmatch(l)
		if m == nil {
			continue
		}
		f.buildOnce(BuildError{File: t.path(m[2]), Line: atoi(m[3]), Message: l})
	}
}

var perlDied = lazy(`^(.+) at (\S+\.(?:pl|pm|t|cgi)|-e) line (\d+)(?:, <\w+> (?:line|chunk) \d+)?\.$`)

func perlCrashParser() parser {
	return parser{
		name: "perl", kind: kindCrash, marks: []string{" line "},
		sniff: func(t *Text) match {
			if !t.ExitOK() && (lastMatch(t, perlDied()) >= 0 || t.FindPrefix("syntax error at ", 0) >= 0) {
				return t.all(scoreWeak + 25)
			}
			return match{}
		},
		parse: func(t *Text, f *finding) {
			perlCompile(t, f)
			if len(f.BuildErrors) > 0 {
				f.State = StateBuildFailed
				return
			}
			i := lastMatch(t, perlDied())
			if i < 0 {
				f.build(BuildError{Message: t.Line(t.FindPrefix("syntax error at ", 0))})
				f.State = StateBuildFailed
				return
			}
			m := perlDied().FindStringSubmatch(t.Line(i))
			f.fail(Failure{File: t.path(m[2]), Line: atoi(m[3]), Message: m[1]})
			f.crashed(t, i)
		},
	}
}

var tclDied = lazy(`^    \(file "(.+?)" line (\d+)\)$`)

func tclCrashParser() parser {
	return parser{
		name: "tcl", kind: kindCrash, marks: []string{"    while executing", "    (file \""},
		sniff: func(t *Text) match {
			if lastMatch(t, tclDied()) >= 0 {
				return t.all(scoreLikely)
			}
			return match{}
		},
		parse: func(t *Text, f *finding) {
			i := lastMatch(t, tclDied())
			m := tclDied().FindStringSubmatch(t.Line(i))
			at := t.Find("    while executing", 0)
			f.fail(Failure{File: t.path(m[1]), Line: atoi(m[2]), Message: t.Line(at - 1)})
			f.crashed(t, i)
		},
	}
}
