package runners

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"
)

// JUnit XML is written by nearly everyone and specified by no one. Names are
// joined by who wrote the file; the report may stand among other lines.

type junitCase struct {
	Name    string       `xml:"name,attr"`
	Class   string       `xml:"classname,attr"`
	File    string       `xml:"file,attr"`
	Line    string       `xml:"line,attr"`
	Status  string       `xml:"status,attr"`
	Result  string       `xml:"result,attr"`
	Failure []junitFault `xml:"failure"`
	Error   []junitFault `xml:"error"`
	Skipped []junitFault `xml:"skipped"`

	suites []string
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type junitReport struct {
	cases    []junitCase
	suites   []junitSuite
	cut      bool
	comments []string
	root     string // name of the outermost <testsuites>
}

type junitSuite struct {
	name, file               string
	tests, failures, errored string
}

func sniffJUnit(t *Text) match {
	from, to := junitSpan(t)
	if from < 0 {
		return match{}
	}
	if t.Has("<testcase") || t.Has("<testsuite ") {
		return span(scoreSure-5, from, to)
	}
	return match{}
}

// junitSpan is the lines of the document.
func junitSpan(t *Text) (int, int) {
	for i := range t.Len() {
		l := strings.TrimSpace(t.Line(i))
		if strings.HasPrefix(l, "<testsuite") || strings.HasPrefix(l, "<?xml") && strings.Contains(strings.Join(t.lines[i:min(i+3, t.Len())], "\n"), "<testsuite") {
			end := t.Len()
			for j := t.Len() - 1; j > i; j-- {
				if strings.Contains(t.Line(j), "</testsuite") {
					end = j + 1
					break
				}
			}
			return i, end
		}
	}
	return -1, -1
}

// readJUnit decodes leniently: what cannot be read any more ends the report.
func readJUnit(text string) junitReport {
	var r junitReport
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var open []string
	depth := 0
	for {
		tok, err := d.Token()
		if err != nil {
			r.cut = depth > 0
			return r
		}
		switch e := tok.(type) {
		case xml.Comment:
			r.comments = append(r.comments, strings.TrimSpace(string(e)))
		case xml.StartElement:
			switch e.Name.Local {
			case "testsuites":
				depth++
				r.root = attr(e, "name")
			case "testsuite":
				depth++
				open = append(open, attr(e, "name"))
				r.suites = append(r.suites, junitSuite{attr(e, "name"), attr(e, "file"), attr(e, "tests"), attr(e, "failures"), attr(e, "errors")})
			case "testcase":
				var c junitCase
				if d.DecodeElement(&c, &e) != nil {
					r.cut = true
					return r
				}
				c.suites = append([]string{}, open...)
				r.cases = append(r.cases, c)
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "testsuites":
				depth--
			case "testsuite":
				depth--
				if len(open) > 0 {
					open = open[:len(open)-1]
				}
			}
			if depth == 0 && (e.Name.Local == "testsuites" || e.Name.Local == "testsuite" && r.root == "") && !strings.Contains(text[min(int(d.InputOffset()), len(text)):], "<testsuite") {
				return r
			}
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func parseJUnit(t *Text, f *finding) {
	from, to := junitSpan(t)
	if from < 0 {
		return
	}
	r := readJUnit(strings.Join(t.lines[from:to], "\n"))
	who := junitWriter(r)
	if who != "" {
		f.Runner = who
	}
	var pass, fail, skip, errs int
	var files []string // node: passed tests that are files as such
	if who == "node-test" {
		f.Runner = "node-test junit"
	}
	for _, c := range r.cases {
		switch {
		case who == "vitest" && c.Name == c.Class && looksLikeFile(c.Name):
			errs++ // the file did not load
			vitestBlock(t, f, "Failed Suites", c.Name, strings.Split(junitText(append(c.Failure, c.Error...)), "\n"))
		case len(c.Error) > 0 && who != "mocha" && who != "playwright" && len(c.Failure) == 0:
			errs++
			junitFail(t, f, who, c, c.Error)
		case len(c.Failure) > 0 || len(c.Error) > 0:
			fail++
			junitFail(t, f, who, c, append(c.Failure, c.Error...))
		case len(c.Skipped) > 0, c.Status == "notrun", c.Status == "disabled", c.Result == "skipped", c.Result == "suppressed":
			skip++
		default:
			pass++
			if len(c.suites) == 0 && looksLikeFile(c.Name) {
				files = append(files, c.Name)
			}
		}
	}
	f.Tests = Counts{Passed: new(pass), Failed: new(fail), Skipped: new(skip), Errors: new(errs)}
	switch who {
	case "node-test":
		nodeJUnitTotals(r, f)
		f.Runner = who
		if !r.cut {
			nodeVerdict(t, f, true, files, 0)
			return
		}
	case "mocha", "jest", "pytest":
		f.Tests.Todo = new(0)
	}
	switch {
	case r.cut:
		f.worse(StateDidNotFinish)
		f.Tests = Counts{}
		f.note("the XML report is cut")
	case fail+errs > 0 || len(f.Suites) > 0:
		f.worse(StateFailed)
	case pass == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

// junitWriter guesses the runner from habits of its report.
func junitWriter(r junitReport) string {
	for _, c := range r.comments {
		if strings.HasPrefix(c, "suites ") || strings.HasPrefix(c, "cancelled ") {
			return "node-test"
		}
	}
	switch r.root {
	case "vitest tests":
		return "vitest"
	case "jest tests":
		return "jest"
	case "Mocha Tests":
		return "mocha"
	case "bun test":
		return "bun"
	case "AllTests":
		return "googletest"
	case "pytest tests":
		return "pytest"
	}
	for _, c := range r.cases {
		if looksLikeFile(c.Class) && strings.Contains(c.Name, " › ") {
			return "playwright"
		}
	}
	for _, s := range r.suites {
		switch s.name {
		case "Mocha Tests":
			return "mocha"
		case "pytest":
			return "pytest"
		case "rspec":
			return "rspec"
		}
	}
	return ""
}

// junitText is all that the faults say.
func junitText(faults []junitFault) string {
	var parts []string
	for _, x := range faults {
		parts = append(parts, strings.TrimSpace(x.Text))
	}
	return strings.Join(parts, "\n")
}

// junitFail turns a case into a failure.
func junitFail(t *Text, f *finding, who string, c junitCase, faults []junitFault) {
	var lines []string
	for _, fault := range faults {
		text := strings.TrimSpace(fault.Text)
		first, _, _ := strings.Cut(fault.Message, "\n")
		if fault.Message != "" && !strings.Contains(text, strings.TrimSpace(first)) {
			lines = append(lines, strings.Split(fault.Message, "\n")...)
		}
		lines = append(lines, strings.Split(text, "\n")...)
		if text == "" && fault.Message != "" && len(lines) == 0 {
			lines = strings.Split(fault.Message, "\n")
		}
	}
	x := Failure{ID: junitID(who, c), File: c.File, Line: atoi(c.Line)}
	x.Message = junitMessage(lines)
	if who == "playwright" {
		x.Message = jestMessage(slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "─────") }))
	}
	if file, line, ok := junitPlace(who, lines); ok {
		x.File, x.Line = file, line
	}
	x.File = cleanPath(x.File, t.Hint.Dir)
	if who == "node-test" && (looksLikeFile(c.Name) || len(faults) > 0 && strings.HasSuffix(faults[0].Message, "subtests failed")) {
		nodeFail(t, f, x, nil, false)
		return
	}
	if who == "pytest" && strings.Contains(x.Message, "collection failure") || c.Class == "" && who == "pytest" {
		pyCollectError(t, f, x, lines)
		return
	}
	f.fail(x)
}

// junitID joins class and name as the runner's own text report would.
func junitID(who string, c junitCase) string {
	switch who {
	case "node-test":
		return jsID(append(append([]string{}, c.suites...), c.Name)...)
	case "vitest":
		return c.Name
	case "bun":
		var path []string
		for _, s := range c.suites {
			if !looksLikeFile(s) {
				path = append(path, s)
			}
		}
		return jsID(append(path, c.Name)...)
	case "mocha", "jest":
		if c.Class == "" || c.Class == c.Name {
			return c.Name
		}
		return jsID(c.Class, c.Name)
	case "pytest":
		return pyID(c.Class, c.Name, c.File)
	case "googletest":
		return c.Class + "." + c.Name
	}
	switch {
	case c.Class == "" || c.Class == c.Name || strings.HasPrefix(c.Name, c.Class):
		return c.Name
	case looksLikeFile(c.Class):
		return strings.ReplaceAll(c.Name, " › ", " > ") // playwright
	}
	return c.Class + "." + c.Name
}

// junitMessage drops frames of any language below the message.
func junitMessage(lines []string) string {
	if len(lines) > 0 && pyTraceback(lines) {
		return pyMessage(lines)
	}
	var keep []string
	for _, l := range lines {
		if isFrame(l) || strings.HasPrefix(strings.TrimSpace(l), "❯ ") {
			break
		}
		keep = append(keep, l)
	}
	return message(keep...)
}

// junitPlace finds the innermost own frame in the fault's text.
func junitPlace(who string, lines []string) (string, int, bool) {
	if fr, ok := ownFrame(lines); ok {
		return fr.path, fr.line, true
	}
	if pyTraceback(lines) || who == "pytest" {
		return pyPlace(lines)
	}
	for _, l := range lines {
		s := strings.TrimSpace(l)
		if p, n, _, ok := splitPos(strings.TrimSuffix(firstField(s), ":")); ok && strings.Contains(p, ".") && !foreign(p) {
			return p, n, true
		}
	}
	return "", 0, false
}

// nodeJUnitTotals reads node's counts from the comments at the end.
func nodeJUnitTotals(r junitReport, f *finding) {
	t := newText(strings.Join(r.comments, "\n"), Hint{})
	if i := t.LastPrefix("tests "); i >= 0 {
		f.Tests = Counts{}
		readNodeTotals(t, i, "", f)
	}
}
