package runners

import (
	"regexp"
	"strings"
	"sync"
)

// pyFile matches a traceback's frame.
var pyFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:E\s+)?File "([^"]+)", line (\d+)`)
})

func pyTraceback(lines []string) bool {
	for _, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), "Traceback (most recent call last)") {
			return true
		}
	}
	return false
}

// pyPlace finds the innermost own frame in a section or traceback.
func pyPlace(body []string) (path string, line int, ok bool) {
	for _, l := range body {
		if strings.HasPrefix(l, "----") && strings.Contains(l, " Captured ") {
			break
		}
		p, n, found := pyFrame(l)
		if found && !foreign(p) {
			path, line, ok = p, n, true
		}
	}
	return path, line, ok
}

// pyFirstFile is the file of the outermost own frame.
func pyFirstFile(body []string) string {
	for _, l := range body {
		if p, _, ok := pyFrame(l); ok && !foreign(p) {
			return p
		}
	}
	return ""
}

// pyFrame reads `File "p", line 3`, "p.py:3: in f", "p.py:3: ValueError" and
// "file p.py, line 3".
func pyFrame(l string) (string, int, bool) {
	if strings.Contains(l, `File "`) {
		if m := pyFile().FindStringSubmatch(l); m != nil {
			return m[1], atoi(m[2]), true
		}
	}
	if rest, ok := strings.CutPrefix(l, "file "); ok {
		if p, n, found := strings.Cut(rest, ", line "); found {
			return p, atoi(n), true
		}
	}
	if l == "" || l[0] == ' ' || l[0] == '>' || l[0] == 'E' && strings.HasPrefix(l, "E ") {
		return "", 0, false
	}
	p, n, rest, ok := splitLead(l)
	if !ok || strings.ContainsAny(p, " \t\"'(") || !strings.Contains(p, ".") {
		return "", 0, false
	}
	if strings.HasPrefix(p, "<") || rest == "" || strings.HasPrefix(rest, "in ") || !strings.Contains(rest, " ") || strings.HasSuffix(p, ".py") {
		return p, n, true
	}
	return "", 0, false
}

// pyMessage keeps what was said: the "E" lines of pytest, the last lines of a
// traceback, the comparison of a doctest. Source lines and captured output go.
func pyMessage(body []string) string {
	var out []string
	for i, l := range body {
		if strings.HasPrefix(l, "----") && strings.Contains(l, " Captured ") {
			body = body[:i]
			break
		}
	}
	for _, l := range body {
		if rest, ok := strings.CutPrefix(l, "E "); ok {
			out = append(out, rest)
		} else if l == "E" {
			out = append(out, "")
		}
	}
	if len(out) > 0 {
		return message(out...)
	}
	if pyTraceback(body) {
		return message(pyAfterFrames(body)...)
	}
	for i, l := range body {
		if l == "Expected:" || l == "UNEXPECTED EXCEPTION:" || strings.HasPrefix(l, "UNEXPECTED EXCEPTION:") || strings.HasPrefix(l, "Expected nothing") {
			var keep []string
			for _, l := range body[i:] {
				if _, _, ok := pyFrame(l); ok {
					break
				}
				keep = append(keep, l)
			}
			return message(keep...)
		}
	}
	var keep []string
	for _, l := range body {
		if _, _, ok := pyFrame(l); !ok && (!strings.HasPrefix(l, "[gw") || !strings.Contains(l, " -- Python ")) {
			keep = append(keep, l)
		}
	}
	return message(keep...)
}

// pyAfterFrames is what follows the frames of the last traceback: the error and
// its text, which may span lines.
func pyAfterFrames(body []string) []string {
	last := -1
	for i, l := range body {
		if pyFile().MatchString(l) && !strings.HasPrefix(strings.TrimSpace(l), "E") {
			last = i
		}
	}
	if last < 0 {
		return body
	}
	ind := indent(body[last])
	i := last + 1
	for i < len(body) && (indent(body[i]) > ind || strings.TrimSpace(body[i]) == "") {
		i++
	}
	return body[i:]
}

// pyCollect files a module that could not be collected.
func pyCollect(t *Text, f *finding, s *pySection) {
	x := Failure{Message: pyMessage(s.body), File: s.heading}
	pyCollectError(t, f, x, s.body)
}

// pyCollectError turns a load error into a build error at its innermost own
// frame; a syntax error names its file in the message itself.
func pyCollectError(t *Text, f *finding, x Failure, body []string) {
	b := BuildError{File: x.File, Line: x.Line, Message: x.Message}
	if p, n, ok := pyPlace(body); ok {
		b.File, b.Line = cleanPath(p, t.Hint.Dir), n
	}
	f.build(b)
	f.suite(SuiteFailure{Kind: SuiteLoad, Name: x.File, File: b.File, Line: b.Line, Message: b.Message})
	f.worse(StateBuildFailed)
}

// pyConftest: a conftest.py that does not load ends the run before any test.
func pyConftest(t *Text, f *finding) {
	i := t.FindPrefix("ImportError while loading conftest", 0)
	body := t.Slice(i+1, t.Len()).lines
	name := strings.Trim(strings.TrimPrefix(t.Line(i), "ImportError while loading conftest"), " '.")
	pyCollectError(t, f, Failure{File: cleanPath(name, t.Hint.Dir), Message: pyMessage(body)}, body)
	f.Tests = Counts{}
}

// pyID makes pytest's id of JUnit's class and name: "tests.test_a.TestX" and
// "test_b" become "tests/test_a.py::TestX::test_b".
func pyID(class, name, file string) string {
	if class == "" {
		return name
	}
	parts := strings.Split(class, ".")
	i := len(parts)
	if file == "" {
		for i > 1 && parts[i-1] != "" && parts[i-1][0] >= 'A' && parts[i-1][0] <= 'Z' {
			i--
		}
		file = strings.Join(parts[:i], "/") + ".py"
	} else {
		i = min(len(strings.Split(strings.TrimSuffix(file, ".py"), "/")), len(parts))
	}
	return strings.Join(append(append([]string{file}, parts[i:]...), name), "::")
}
