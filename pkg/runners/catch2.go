package runners

import (
	"encoding/xml"
	"slices"
	"strings"
)

var (
	catchAll     = lazy(`^All tests passed \((\d+) assertions? in (\d+) test cases?\)$`)
	catchCases   = lazy(`^test cases: +(\d+) \|(.*)$`)
	catchPart    = lazy(`(\d+) (passed|failed as expected|failed|skipped)`)
	catchFailed  = lazy(`^(.+?)(?::(\d+)|\((\d+)\)): FAILED:$`)
	catchCompact = lazy(`^(.+?)(?::(\d+)|\((\d+)\)): failed: (.*)$`)
	catchShort   = lazy(`^(Failed|Passed)(?: (?:all|both))? (\d+)? ?test cases?(?: \(\d+ skipped\))?(?:, failed (?:all |both )?(\d+) assertions?| with (\d+) assertions?)?`)
	catchRule    = lazy(`^(-{79}|={79}|\.{79}|~{79})$`)
)

func catchParser() parser {
	return parser{
		name: "catch2", kind: kindTests,
		marks: []string{"Catch", "All tests passed (", "test cases:", " test case", "No tests ran", "<Catch", `.global" name="`, "Filters: ", "Randomness seeded"},
		sniff: func(t *Text) match {
			switch {
			case catchJUnitAt(t) >= 0:
				return t.all(scoreCertain + 2)
			case lastMatch(t, catchAll()) >= 0, lastMatch(t, catchCases()) >= 0, t.Has("<Catch name="), t.Has("<Catch2TestRun"):
				return t.all(scoreCertain)
			case strings.HasPrefix(t.Line(0), "Filters: ") && (t.Len() == 1 || strings.HasPrefix(t.Line(1), "Randomness seeded to: ")),
				strings.HasPrefix(t.Line(0), "Randomness seeded to: "):
				return t.all(scoreLikely)
			case t.FindPrefix("No tests ran", 0) >= 0, t.FindPrefix("No test cases matched ", 0) >= 0, t.Has(" host application."):
				return t.all(scoreSure)
			case lastMatch(t, catchShort()) >= 0 && (t.Has(": failed: ") || t.Has(" test cases with ") || t.Has(" test case with ")):
				return t.all(scoreSure)
			}
			return match{}
		}, parse: func(t *Text, f *finding) {
			catchParse(t, f)
			memoryBeside(t, f)
		},
	}
}

func catchParse(t *Text, f *finding) {
	if i := t.Find("<Catch", 0); i >= 0 && t.HasAny("<Catch name=", "<Catch2TestRun") {
		catchXML(t, i, f)
		return
	}
	if i := catchJUnitAt(t); i >= 0 {
		catchJUnit(t, i, f)
		return
	}
	fatal := catchBlocks(t, f)
	catchSummary(t, f)
	if fatal {
		f.worse(StateDidNotFinish)
	}
	f.exitExplained = f.State == StateFailed && !t.ExitOK() && t.Hint.Signal == ""
}

func catchSummary(t *Text, f *finding) {
	zero := func() { f.Tests = Counts{Passed: new(0), Failed: new(0), Skipped: new(0), Todo: new(0)} }
	if i := lastMatch(t, catchAll()); i >= 0 {
		zero()
		f.Tests.Passed = new(atoi(catchAll().FindStringSubmatch(t.Line(i))[2]))
		f.worse(StatePassed)
		return
	}
	if i := lastMatch(t, catchCases()); i >= 0 {
		zero()
		for _, m := range catchPart().FindAllStringSubmatch(t.Line(i), -1) {
			switch n := atoi(m[1]); m[2] {
			case "passed":
				f.Tests.Passed = new(n)
			case "failed":
				f.Tests.Failed = new(n)
			case "failed as expected":
				f.Tests.Todo = new(n)
			case "skipped":
				f.Tests.Skipped = new(n)
			}
		}
		switch {
		case val(f.Tests.Failed) > 0 || len(f.Failures) > 0:
			f.worse(StateFailed)
		case val(f.Tests.Passed)+val(f.Tests.Todo) == 0:
			f.worse(StateNoTests)
		default:
			f.worse(StatePassed)
		}
		return
	}
	if t.HasAny("No tests ran", "No test cases matched ") {
		zero()
		f.worse(StateNoTests)
		return
	}
	if i := lastMatch(t, catchShort()); i >= 0 {
		m := catchShort().FindStringSubmatch(t.Line(i))
		n := new(max(atoi(m[2]), 1))
		if m[1] == "Passed" {
			zero()
			f.Tests.Passed = n
			f.worse(StatePassed)
			return
		}
		f.Tests.Failed = n
		f.worse(StateFailed)
		return
	}
	f.worse(StateDidNotFinish)
	f.note("no summary: the run ended before Catch2 did")
}

// catchBlocks reads the console and the compact reporter. It reports whether a
// test died of a signal.
func catchBlocks(t *Text, f *finding) (fatal bool) {
	id, seen := "", map[string]bool{}
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		if strings.HasPrefix(l, "-----") && catchRule().MatchString(l) {
			if name, next := catchHeader(t, i); name != "" {
				id, i = name, next
			}
			continue
		}
		if m := catchCompact().FindStringSubmatch(l); m != nil {
			f.fail(Failure{File: t.path(m[1]), Line: atoi(m[2] + m[3]), Message: catchExpansion(m[4])})
			continue
		}
		m := catchFailed().FindStringSubmatch(l)
		if m == nil {
			continue
		}
		body, next := t.block(i+1, func(l string) bool { return catchRule().MatchString(l) || catchFailed().MatchString(l) })
		i = next - 1
		fatal = fatal || strings.Contains(strings.Join(body, "\n"), "due to a fatal error condition")
		if seen[id] && id != "" {
			continue
		}
		seen[id] = true
		f.fail(Failure{ID: id, File: t.path(m[1]), Line: atoi(m[2] + m[3]), Message: catchMessage(body)})
	}
	return fatal
}

// catchHeader reads the lines between two rules: the test case, then its
// sections, indented; then the place.
func catchHeader(t *Text, i int) (string, int) {
	var parts []string
	for j := i + 1; j < min(i+40, t.Len()); j++ {
		l := t.lines[j]
		if strings.HasPrefix(l, "-----") && catchRule().MatchString(l) {
			return strings.Join(parts, " > "), j
		}
		if blank(l) {
			return "", i
		}
		switch {
		case len(parts) > 0 && (indent(l) == 0 || catchWrapped(t.lines[j-1], l)):
			parts[len(parts)-1] += " " + strings.TrimSpace(l) // a long name goes on
		default:
			parts = append(parts, strings.TrimSpace(l))
		}
	}
	return "", i
}

// catchWrapped says that l goes on where prev ran into the right margin.
func catchWrapped(prev, l string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(l), " ")
	return len(prev)+1+len(word) > 79
}

// catchMessage drops the macro with the test's source.
func catchMessage(body []string) string {
	var keep []string
	for i, l := range body {
		s := strings.TrimSpace(l)
		if i == 0 && strings.HasPrefix(l, "  ") && strings.HasSuffix(s, ")") {
			continue
		}
		if s == "with expansion:" {
			continue
		}
		keep = append(keep, s)
	}
	return message(keep...)
}

func catchExpansion(s string) string {
	if i := strings.LastIndex(s, " for: "); i >= 0 {
		return s[i+len(" for: "):]
	}
	return s
}

type catchNode struct {
	XMLName xml.Name
	Attrs   []xml.Attr  `xml:",any,attr"`
	Nodes   []catchNode `xml:",any"`
	Text    string      `xml:",chardata"`
}

func (n catchNode) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func catchXML(t *Text, i int, f *finding) {
	var root catchNode
	d := xml.NewDecoder(strings.NewReader(strings.Join(t.lines[i:], "\n")))
	if err := d.Decode(&root); err != nil {
		f.State = StateDidNotFinish
		f.note("the XML report is incomplete")
		return
	}
	f.Tests = Counts{Passed: new(0), Failed: new(0), Skipped: new(0), Todo: new(0)}
	root.walk(t, f, nil)
	switch {
	case val(f.Tests.Failed) > 0:
		f.State = StateFailed
	case val(f.Tests.Passed) == 0:
		f.State = StateNoTests
	default:
		f.State = StatePassed
	}
	f.exitExplained = f.State == StateFailed && t.Hint.Signal == ""
}

func (n catchNode) walk(t *Text, f *finding, path []string) {
	switch n.XMLName.Local {
	case "TestCase":
		path = []string{strings.TrimSpace(n.attr("name"))}
		for _, c := range n.Nodes {
			if c.XMLName.Local != "OverallResult" {
				continue
			}
			switch {
			case c.attr("success") == "true" && n.failing():
				bump(&f.Tests.Todo, 1) // expected to fail
				return
			case c.attr("success") != "true":
				bump(&f.Tests.Failed, 1)
			case c.attr("skips") != "" && c.attr("skips") != "0":
				bump(&f.Tests.Skipped, 1)
			default:
				bump(&f.Tests.Passed, 1)
			}
		}
	case "Section":
		path = append(slices.Clip(path), strings.TrimSpace(n.attr("name")))
	case "Expression", "Failure", "Exception", "FatalErrorCondition":
		if n.attr("success") == "true" {
			return
		}
		x := Failure{ID: strings.Join(path, " > "), File: t.path(n.attr("filename")), Line: atoi(n.attr("line")), Message: message(strings.Split(n.Text, "\n")...)}
		for _, c := range n.Nodes {
			if c.XMLName.Local == "Expanded" {
				x.Message = strings.TrimSpace(c.Text)
			}
		}
		if k := len(f.Failures); k == 0 || f.Failures[k-1].ID != x.ID {
			f.fail(x)
		}
		return
	}
	for _, c := range n.Nodes {
		c.walk(t, f, path)
	}
}

// catchJUnitAt finds Catch2's own JUnit report, whose test cases are sections.
func catchJUnitAt(t *Text) int {
	if !t.Has(`.global" name="`) {
		return -1
	}
	return t.FindPrefix("<testsuites", 0)
}

var catchAt = lazy(`^\s*at (.+):(\d+)$`)

func catchJUnit(t *Text, i int, f *finding) {
	var root catchNode
	d := xml.NewDecoder(strings.NewReader(strings.Join(t.lines[i:], "\n")))
	if err := d.Decode(&root); err != nil {
		f.State = StateDidNotFinish
		f.note("the JUnit report is incomplete")
		return
	}
	failed := map[string]bool{} // by test case
	for _, suite := range root.Nodes {
		for _, c := range suite.Nodes {
			if c.XMLName.Local != "testcase" {
				continue
			}
			path := strings.Split(c.attr("name"), "/")
			failed[path[0]] = failed[path[0]] || false
			for _, bad := range c.Nodes {
				if n := bad.XMLName.Local; n != "failure" && n != "error" {
					continue
				}
				failed[path[0]] = true
				x := catchJUnitFailure(t, strings.Join(path, " > "), strings.Split(bad.Text, "\n"))
				if k := len(f.Failures); k == 0 || f.Failures[k-1].ID != x.ID {
					f.fail(x)
				}
			}
		}
	}
	f.Tests = Counts{Passed: new(0), Failed: new(0), Skipped: new(0), Todo: new(0)}
	for _, bad := range failed {
		if bad {
			bump(&f.Tests.Failed, 1)
		} else {
			bump(&f.Tests.Passed, 1)
		}
	}
	switch {
	case len(f.Failures) > 0:
		f.State = StateFailed
	case len(failed) == 0:
		f.State = StateNoTests
	default:
		f.State = StatePassed
	}
}

func catchJUnitFailure(t *Text, id string, lines []string) Failure {
	x := Failure{ID: id}
	var keep []string
	for _, l := range lines {
		if m := catchAt().FindStringSubmatch(l); m != nil {
			x.File, x.Line = t.path(m[1]), atoi(m[2])
			continue
		}
		if strings.TrimSpace(l) != "FAILED:" && !blank(l) {
			keep = append(keep, l)
		}
	}
	x.Message = catchMessage(keep)
	return x
}

// failing says that an assertion below n failed.
func (n catchNode) failing() bool {
	if n.XMLName.Local == "Expression" && n.attr("success") == "false" {
		return true
	}
	for _, c := range n.Nodes {
		if c.failing() {
			return true
		}
	}
	return false
}
