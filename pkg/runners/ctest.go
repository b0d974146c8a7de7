package runners

import "strings"

var (
	ctestLine   = lazy(`^\s*\d+/\d+ Test\s+#(\d+): (.+?)\s*\.{2,}\s*(\*{3})?(Passed|.+?)(?:\s+[\d.]+ sec.*)?$`)
	ctestFooter = lazy(`^(\d+)% tests passed, (\d+) tests? failed out of (\d+)$`)
	ctestListed = lazy(`^\t\s*(\d+) - (.+?) \(([^()]*(?:\([^()]*\))?[^()]*)\)(?:\s+[\w ,-]+)?$`)
	ctestPrefix = lazy(`^(\d+): ?(.*)$`)
)

func ctestParser() parser {
	return parser{
		name: "ctest", kind: kindTests, marks: []string{"Test project ", "tests passed, ", "No tests were found!!!", "No test configuration file"},
		sniff: func(t *Text) match {
			switch {
			case lastMatch(t, ctestFooter()) >= 0, t.FindPrefix("No tests were found!!!", 0) >= 0:
				return t.all(scoreCertain + 2) // the tests' own framework prints in between
			case t.FindPrefix("Test project ", 0) >= 0:
				return t.all(scoreCertain + 1)
			}
			if t.FindPrefix("No test configuration file found!", 0) >= 0 {
				return t.all(scoreCertain)
			}
			return match{}
		}, parse: ctestParse,
	}
}

// ctestCase is one "3/7 Test #3:" line with the output that belongs to it.
type ctestCase struct {
	number, name, verdict string
	output                []string
}

func ctestParse(t *Text, f *finding) {
	cases := ctestCases(t)
	f.Tests = Counts{Passed: new(0), Failed: new(0), Skipped: new(0)}
	lost := ""
	for _, c := range cases {
		switch {
		case c.verdict == "Passed":
			bump(&f.Tests.Passed, 1)
			if lost == "" && ctestLost(c.output) {
				lost = c.name
			}
		case strings.Contains(c.verdict, "Disabled"), strings.HasPrefix(c.verdict, "Skipped"):
			bump(&f.Tests.Skipped, 1)
		default:
			bump(&f.Tests.Failed, 1)
			x := ctestBody(t, c)
			f.fail(x)
			if strings.HasSuffix(c.name, "_NOT_BUILT") {
				f.worse(StateBuildFailed)
				f.build(BuildError{Message: "test program " + strings.TrimSuffix(c.name, "_NOT_BUILT") + " is not built"})
			}
		}
	}
	ctestListedFailures(t, f)
	ctestVerdict(t, f, len(cases))
	if lost != "" {
		f.worse(StateDidNotFinish)
		f.note("ctest counts " + lost + " as passed, but its own output stops inside the test")
	}
}

func ctestVerdict(t *Text, f *finding, seen int) {
	i := lastMatch(t, ctestFooter())
	if i < 0 {
		f.Tests = Counts{}
		if t.FindPrefix("No tests were found!!!", 0) >= 0 || t.FindPrefix("No test configuration", 0) >= 0 || t.FindPrefix("Total Tests: ", 0) >= 0 {
			f.worse(StateNoTests)
			f.Tests = Counts{Passed: new(0), Failed: new(0)}
			return
		}
		f.worse(StateDidNotFinish)
		return
	}
	m := ctestFooter().FindStringSubmatch(t.Line(i))
	failed, total := atoi(m[2]), atoi(m[3])
	if seen == 0 {
		f.Tests = Counts{Passed: new(total - failed), Failed: new(failed)}
	}
	switch {
	case failed > 0 || val(f.Tests.Failed) > 0:
		f.worse(StateFailed)
	case total == 0 || val(f.Tests.Passed) == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

// ctestCases reads the verdict lines. Output stands before the verdict with a
// "N: " prefix (-V) or after it without one (--output-on-failure).
func ctestCases(t *Text) []ctestCase {
	var out []ctestCase
	byNumber := map[string][]string{}
	tail := -1 // the case whose unprefixed output may follow
	for _, l := range t.lines {
		if m := ctestLine().FindStringSubmatch(l); m != nil {
			verdict := strings.TrimSpace(m[4])
			if m[3] == "" && verdict != "Passed" {
				verdict = strings.TrimSpace(strings.TrimLeft(verdict, "*"))
			}
			out = append(out, ctestCase{number: m[1], name: m[2], verdict: verdict, output: byNumber[m[1]]})
			tail = len(out) - 1
			delete(byNumber, m[1])
			continue
		}
		if m := ctestPrefix().FindStringSubmatch(l); m != nil {
			byNumber[m[1]] = append(byNumber[m[1]], m[2])
			continue
		}
		if strings.HasPrefix(l, "    Start ") || ctestFooter().MatchString(l) || strings.HasPrefix(l, "test ") && leadsInt(l[5:]) {
			if strings.HasPrefix(l, "    Start ") {
				tail = -2
			} else {
				tail = -1
			}
			continue
		}
		switch {
		case tail >= 0:
			out[tail].output = append(out[tail].output, l)
		case tail == -2:
			byNumber["next"] = append(byNumber["next"], l)
		}
		if tail == -2 && strings.HasPrefix(l, "Unable to find executable") {
			byNumber["exe"] = append(byNumber["exe"], l)
		}
	}
	missing := byNumber["exe"]
	for i := range out {
		if strings.HasPrefix(out[i].verdict, "Not Run") && !strings.Contains(out[i].verdict, "Disabled") && len(missing) > 0 {
			out[i].output = append([]string{missing[0]}, out[i].output...)
			missing = missing[1:]
		}
	}
	return out
}

func leadsInt(s string) bool { _, _, ok := leadingInt(s); return ok }

// ctestLost says that a googletest program stopped inside a test.
func ctestLost(lines []string) bool {
	open := false
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "[ RUN      ]"):
			open = true
		case strings.HasPrefix(l, "[==========]") && strings.Contains(l, " ran."):
			open = false
		}
	}
	return open
}

// ctestBody takes place and message from the failing program's own output.
func ctestBody(t *Text, c ctestCase) Failure {
	for len(c.output) > 0 && (strings.HasPrefix(c.output[0], "Test command: ") || strings.HasPrefix(c.output[0], "Working Directory: ") ||
		strings.HasPrefix(c.output[0], "Test timeout ") || blank(c.output[0])) {
		c.output = c.output[1:]
	}
	x := gtestBlock(t, c.output)
	if x.File == "" {
		x = nativeBlock(t, c.output)
	}
	x.ID = c.name
	if x.Message == "" {
		x.Message = c.verdict
	} else if c.verdict != "Failed" {
		x.Message = c.verdict + "\n" + x.Message
	}
	return x
}

// ctestListedFailures adds what the closing list names and the lines did not (quiet mode).
func ctestListedFailures(t *Text, f *finding) {
	i := t.FindPrefix("The following tests FAILED:", 0)
	if i < 0 {
		return
	}
	known := map[string]int{}
	for j, x := range f.Failures {
		known[x.ID] = j + 1
	}
	for i++; i < t.Len(); i++ {
		m := ctestListed().FindStringSubmatch(t.lines[i])
		if m == nil {
			return
		}
		switch j := known[m[2]]; {
		case j == 0:
			f.fail(Failure{ID: m[2], Message: m[3]})
		case m[3] != "Failed" && m[3] != "Not Run" && !strings.Contains(f.Failures[j-1].Message, m[3]):
			f.Failures[j-1].Message = message(m[3], f.Failures[j-1].Message)
		}
	}
}

// nativeBlock looks for a place in free output of a C or C++ test: an assertion,
// a diagnostic with file and line, else the last lines are the message.
func nativeBlock(t *Text, lines []string) Failure {
	for i, l := range lines {
		if x, ok := nativeAssert(t, l); ok {
			return x
		}
		if d, ok := parseDiag(l); ok && !foreign(d.file) {
			return Failure{File: t.path(d.file), Line: d.line, Message: message(lines[i:min(len(lines), i+12)]...)}
		}
	}
	return Failure{Message: message(lines[max(0, len(lines)-12):]...)}
}
