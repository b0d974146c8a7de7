package delegate

import (
	"regexp"
	"slices"
	"strings"
)

// part is a statement of a file's top level with its decorators or attributes, up to the next one.
type part struct {
	from, to int
	head     string   // its first line without decorators
	names    []string // what it defines or assigns; none for anything else
}

func (p part) name() string {
	if len(p.names) == 0 {
		return ""
	}
	return p.names[0]
}

// pythonParts cuts a Python file into the statements of its top level. Comments of the top level are parts of
// their own; text in strings is none.
func pythonParts(text string) []part {
	l := languageOf("x.py")
	code := masked(l, text)
	depth, within := depths(code), insideStrings(l, text)
	begins := regexp.MustCompile(`^(?:(?:async\s+)?def|class)\s|^@`)
	goesOn := regexp.MustCompile(`^(?:else|elif|except|finally)\b`)
	defined := regexp.MustCompile(`^(?:async\s+)?(?:def|class)\s+(\w+)`)
	assigned := regexp.MustCompile(`^([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*(?::[^=\n]+)?=[^=]`)
	var out []part
	pending, base, end := false, 0, 0
	for raw := range strings.SplitAfterSeq(text, "\n") {
		at := end
		end += len(raw)
		line := strings.TrimRight(code[at:end], "\r\n")
		sure := !within[at] && begins.MatchString(line) // whatever brackets seem to be open
		switch {
		case len(out) > 0 && !sure && (strings.TrimSpace(raw) == "" || raw[0] == ' ' || raw[0] == '\t' || within[at] || depth[at] > base || goesOn.MatchString(line) || raw[0] == '#' && indentedNext(code[end:])):
		case pending:
			if pending = line == "" || line[0] == '@' || line[0] == ' '; !pending {
				out[len(out)-1].head = strings.TrimRight(raw, "\r\n")
			}
		default:
			base = depth[at]
			out = append(out, part{from: at, head: strings.TrimRight(raw, "\r\n")})
			pending = strings.HasPrefix(line, "@")
		}
		if n := len(out); n > 0 {
			out[n-1].to = end
		}
	}
	for i, p := range out {
		if m := defined.FindStringSubmatch(p.head); m != nil {
			out[i].names = m[1:]
		} else if m := assigned.FindStringSubmatch(p.head); m != nil {
			for name := range strings.SplitSeq(m[1], ",") {
				out[i].names = append(out[i].names, strings.TrimSpace(name))
			}
		}
	}
	return out
}

// indentedNext says that the next line of masked code is indented, so that a comment before it ends nothing.
func indentedNext(code string) bool {
	for line := range strings.SplitSeq(code, "\n") {
		if strings.TrimSpace(line) != "" {
			return line[0] == ' ' || line[0] == '\t'
		}
	}
	return false
}

// testBlocks are the parts of a source file that are tests or run them. wide takes in what only a file that is
// run as a test itself has: fixtures, and functions that a runner would collect for their name alone.
func testBlocks(l language, text string, wide bool) []part {
	switch l.family() {
	case "python":
		return pythonTests(text, wide)
	case "javascript":
		code := masked(l, text)
		list := braced(code, regexp.MustCompile(`(?m)^(describe|it|test)(?:\.\w+)?\(`), '(', ')')
		list = slices.DeleteFunc(list, func(p part) bool { return ownFunction(code, p.name()) })
		list = append(list, braced(code, regexp.MustCompile(`(?m)^if \(import\.meta\.(vitest)\)`), '{', '}')...)
		slices.SortFunc(list, func(a, b part) int { return a.from - b.from })
		return list
	case "go":
		return braced(masked(l, text), regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w*)\(\w+ \*testing\.\w+\)`), '{', '}')
	case "rust":
		return rustTests(text)
	}
	return nil
}

// ownFunction says that a JavaScript file declares a function of this name itself.
func ownFunction(code, name string) bool {
	at, ok := declaredNode(code)[name]
	return ok && !takenIn(code[at:])
}

// takenIn says that a declaration of JavaScript only names another module, or a part of it.
func takenIn(code string) bool {
	return regexp.MustCompile(`^\s*(?:const|let|var)\s+[\w$]+\s*=\s*(?:await\s+import|require)\(`).MatchString(code)
}

// pythonTests are the test functions and classes of a Python file, and what runs them.
func pythonTests(text string, wide bool) []part {
	code := masked(languageOf("x.py"), text)
	function, method := regexp.MustCompile(`^(?:async\s+)?def test_\w*\(`), regexp.MustCompile(`(?m)^\s+(?:async\s+)?def test`)
	if wide {
		function = regexp.MustCompile(`^(?:async\s+)?def (?:test\w*|(?:setup|teardown)_(?:module|function|class|method)|load_tests|pytest_\w+)\(|^pytestmark\b|^assert\b`)
	}
	class := regexp.MustCompile(`^class (?:Test\w*\s*[(:]|\w+\s*\([^)\n]*Test)`)
	fixture := regexp.MustCompile(`(?m)^@(?:pytest\.|pytest_asyncio\.)?fixture\b`)
	runs := regexp.MustCompile(`unittest\.main|pytest\.main|\bdoctest\.|\btest_?\w*\(|\bassert\b`)
	return slices.DeleteFunc(pythonParts(text), func(p part) bool {
		body := code[p.from:p.to]
		switch {
		case function.MatchString(p.head):
			return false
		case class.MatchString(p.head):
			return !method.MatchString(body)
		case isMain(p):
			return !runs.MatchString(body)
		}
		return !fixture.MatchString(body) || !wide && !strings.Contains(text, "pytest")
	})
}

// isMain finds what a Python file does when it is run itself.
func isMain(p part) bool {
	return regexp.MustCompile(`^if __name__ == ['"]__main__['"]:`).MatchString(p.head)
}

// braced are the parts whose head matches in masked code, up to the partner of the bracket that opens behind it.
func braced(code string, head *regexp.Regexp, open, shut byte) []part {
	var out []part
	for from := 0; ; {
		m := head.FindStringSubmatchIndex(code[from:])
		if m == nil {
			return out
		}
		begin, next := from+m[0], from+m[1]
		end := closing(code, begin, open, shut)
		if end < 0 {
			from = next
			continue
		}
		out = append(out, part{from: begin, to: behind(code, end), head: firstLine(code[begin:]), names: []string{code[from+m[2] : from+m[3]]}})
		from = out[len(out)-1].to
	}
}

// closing is where the first open's partner in masked code ends; -1 when it has none.
func closing(code string, from int, open, shut byte) int {
	depth := 0
	for i := from; i < len(code); i++ {
		switch code[i] {
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// behind leaves out what may follow a block: a semicolon, blanks and blank lines.
func behind(code string, end int) int {
	if end < len(code) && code[end] == ';' {
		end++
	}
	for {
		line, _, more := strings.Cut(code[end:], "\n")
		if !more || strings.TrimSpace(line) != "" {
			return end
		}
		end += len(line) + 1
	}
}

// rustTests are the items of a Rust file that only a test build has.
func rustTests(text string) []part {
	code := masked(languageOf("x.rs"), text)
	depth := depths(code)
	named := regexp.MustCompile(`\b(?:fn|mod|struct|enum|const|static|type|trait|use|impl|macro_rules!)\s+([\w:]+)`)
	start := regexp.MustCompile(`(?m)^[ \t]*(?:#\[|(?:pub )?mod \w*test)`)
	attribute := regexp.MustCompile(`#\[(?:\w+::)*\w*test\]`)
	var out []part
	for from := 0; ; {
		m := start.FindStringIndex(code[from:])
		if m == nil {
			return out
		}
		begin, at, test := from+m[0], from+m[0], false
		from += m[1]
		if depth[begin] != 0 {
			continue
		}
		for {
			at += len(code[at:]) - len(strings.TrimLeft(code[at:], " \t\r\n"))
			if !strings.HasPrefix(code[at:], "#[") {
				break
			}
			end := closing(code, at, '[', ']')
			if end < 0 {
				return out
			}
			test = test || forTests(code[at+2:end-1])
			at = end
		}
		end := rustEnd(code, at)
		if test || attribute.MatchString(code[at:end]) && strings.Contains(firstLine(code[at:end]), "test") {
			p := part{from: begin, to: behind(code, end), head: firstLine(code[at:])}
			if m := named.FindStringSubmatch(p.head); m != nil {
				p.names = m[1:]
			}
			out = append(out, p)
		}
		from = end
	}
}

// forTests says that an attribute of Rust marks a test, or what only a test build has.
func forTests(attribute string) bool {
	name, arguments, _ := strings.Cut(strings.TrimSpace(attribute), "(")
	if name = strings.TrimSpace(name); name == "cfg" {
		return regexp.MustCompile(`\btest\b`).MatchString(arguments) && !regexp.MustCompile(`\bnot\s*\(\s*test`).MatchString(arguments)
	}
	name = name[strings.LastIndexByte(name, ':')+1:]
	return strings.HasSuffix(name, "test") || slices.Contains([]string{"bench", "test_case", "case", "quickcheck"}, name)
}

// rustEnd is where the item that begins at from ends.
func rustEnd(code string, from int) int {
	list := regexp.MustCompile(`^\s*(?:pub(?:\([^)]*\))?\s+)?(?:const\s+\w+\s*:|static|use|type|let)\b`).MatchString(code[from:])
	depth := 0
	for i := from; i < len(code); i++ {
		switch code[i] {
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			if depth--; depth == 0 && code[i] == '}' && !list {
				return i + 1
			}
		case ';':
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(code)
}

// stripTests takes away the tests that a model adds to a source file, and says how many; keep tells those that
// stay.
func stripTests(l language, text string, keep func(p part, body string) bool) (string, int) {
	list := testBlocks(l, text, false)
	if keep != nil {
		list = slices.DeleteFunc(list, func(p part) bool { return keep(p, text[p.from:p.to]) })
	}
	if len(list) == 0 {
		return text, 0
	}
	for _, p := range slices.Backward(list) {
		text = text[:p.from] + text[p.to:]
	}
	return dropRunner(l, text), len(list)
}

// runnerImports match the lines with which a file loads a test runner.
func runnerImports(l language) *regexp.Regexp {
	switch l.family() {
	case "python":
		return regexp.MustCompile(`(?m)^(?:import (?:pytest|unittest)\b|from (?:pytest|unittest)\b).*$\n?`)
	case "javascript":
		return regexp.MustCompile(`(?m)^(?:import .*['"](?:node:test|vitest|@jest/globals|mocha|chai)['"];?|(?:const|let|var) .*require\(['"](?:node:test|vitest|@jest/globals|mocha|chai)['"]\)).*$\n?`)
	case "go":
		return regexp.MustCompile(`(?m)^[ \t]*(?:import )?"testing"$\n?`)
	}
	return nil
}

// dropRunner removes those lines.
func dropRunner(l language, text string) string {
	re := runnerImports(l)
	if re == nil {
		return text
	}
	within := insideStrings(l, text)
	var b strings.Builder
	from := 0
	for _, m := range re.FindAllStringIndex(text, -1) {
		if !within[m[0]] {
			b.WriteString(text[from:m[0]])
			from = m[1]
		}
	}
	return b.String() + text[from:]
}
