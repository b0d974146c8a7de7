package delegate

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// normal is a text without what does not change what the code does: comments, added tests, blank lines and
// blanks at line ends.
func normal(l language, text string) string {
	text, _ = stripTests(l, text)
	text = stripComments(l, text)
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRight(line, " \t\r"); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// stripComments blanks out comments; strings stay whole, and so do line numbers.
func stripComments(l language, text string) string {
	if l.line == "" && l.open == "" {
		return text
	}
	var b strings.Builder
	scan(l, text, func(piece string, kind byte) {
		if kind == 'c' {
			piece = strings.Repeat("\n", strings.Count(piece, "\n"))
		}
		b.WriteString(piece)
	})
	return b.String()
}

// scan cuts a text into code ('x'), strings ('s') and comments ('c'). It knows the quotes of the usual
// languages; a quote that never ends is taken for code.
func scan(l language, text string, piece func(string, byte)) {
	start := 0
	flush := func(to int) {
		if to > start {
			piece(text[start:to], 'x')
		}
	}
	for i := 0; i < len(text); {
		rest := text[i:]
		n, kind := 0, byte('c')
		switch {
		case l.line != "" && strings.HasPrefix(rest, l.line) && !strings.HasPrefix(rest, "#!"):
			if n = strings.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
		case l.open != "" && strings.HasPrefix(rest, l.open):
			if n = strings.Index(rest[len(l.open):], l.shut); n < 0 {
				n = len(rest)
			} else {
				n += len(l.open) + len(l.shut)
			}
		default:
			n, kind = quoted(l, rest), 's'
		}
		if n == 0 {
			i++
			continue
		}
		flush(i)
		piece(text[i:i+n], kind)
		i += n
		start = i
	}
	flush(len(text))
}

// quoted is the length of the string literal that s begins with; 0 when there is none.
func quoted(l language, s string) int {
	for _, q := range []string{`"""`, `'''`} {
		if l.name == "python" && strings.HasPrefix(s, q) {
			if n := strings.Index(s[3:], q); n >= 0 {
				return n + 6
			}
			return 0
		}
	}
	switch {
	case s[0] == '`' && (l.name == "go" || l.family() == "javascript"):
	case s[0] == '"':
	case s[0] == '\'' && l.name != "rust" && l.name != "go":
	default:
		return 0
	}
	raw := s[0] == '`' && l.name == "go"
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && !raw:
			i++
		case s[i] == '\n' && s[0] != '`' && l.name != "rust":
			return 0
		case s[i] == s[0]:
			return i + 1
		}
	}
	return 0
}

// literals are the string literals of at least n characters in a text, without their quotes.
func literals(l language, text string, n int) []string {
	var out []string
	scan(l, text, func(piece string, kind byte) {
		if kind == 's' {
			if s := strings.Trim(piece, "\"'`"); len(s) >= n {
				out = append(out, s)
			}
		}
	})
	return out
}

// stripTests takes away test functions that a model adds to a source file, and says how many.
func stripTests(l language, text string) (string, int) {
	switch l.family() {
	case "python":
		return dropIndented(text, regexp.MustCompile(`^(?:async )?def test_\w*\(|^class Test\w*[(:]|^if __name__ == ['"]__main__['"]:\s*(?:#.*)?$`), func(block string) bool {
			return !strings.HasPrefix(block, "if ") || regexp.MustCompile(`unittest\.main|pytest\.main|\btest_?\w*\(|\bassert\b`).MatchString(block)
		}, regexp.MustCompile(`(?m)^(?:import (?:pytest|unittest)|from (?:pytest|unittest)\b.*)$\n?`))
	case "javascript":
		return dropBraced(l, text, regexp.MustCompile(`(?m)^(?:describe|it|test)(?:\.\w+)?\(`), regexp.MustCompile(`(?m)^(?:import .*['"](?:node:test|vitest|@jest/globals|mocha|chai)['"];?|(?:const|let|var) .*require\(['"](?:node:test|vitest|@jest/globals|mocha|chai)['"]\).*)$\n?`), '(', ')')
	case "go":
		return dropBraced(l, text, regexp.MustCompile(`(?m)^func (?:Test|Benchmark|Fuzz)\w*\(\w+ \*testing\.\w+\)`), regexp.MustCompile(`(?m)^\s*(?:import )?"testing"$\n?`), '{', '}')
	case "rust":
		return dropBraced(l, text, regexp.MustCompile(`(?m)^#\[cfg\(test\)\]\s*(?:mod|pub mod) \w+`), nil, '{', '}')
	}
	return text, 0
}

// dropIndented removes blocks of a language that goes by indentation.
func dropIndented(text string, head *regexp.Regexp, really func(block string) bool, imports *regexp.Regexp) (string, int) {
	lines := strings.SplitAfter(text, "\n")
	var out []string
	dropped := 0
	for i := 0; i < len(lines); {
		if !head.MatchString(strings.TrimRight(lines[i], "\r\n")) {
			out = append(out, lines[i])
			i++
			continue
		}
		end := i + 1
		for end < len(lines) && (strings.TrimSpace(lines[end]) == "" || lines[end][0] == ' ' || lines[end][0] == '\t') {
			end++
		}
		if block := strings.Join(lines[i:end], ""); really(block) {
			dropped++
			for len(out) > 0 && strings.HasPrefix(out[len(out)-1], "@") {
				out = out[:len(out)-1]
			}
		} else {
			out = append(out, lines[i:end]...)
		}
		i = end
	}
	text = strings.Join(out, "")
	if dropped > 0 {
		text = imports.ReplaceAllString(text, "")
	}
	return text, dropped
}

// dropBraced removes blocks that open and shut; what does not shut stays.
func dropBraced(l language, text string, head, imports *regexp.Regexp, open, shut byte) (string, int) {
	dropped := 0
	from := 0
	for {
		loc := head.FindStringIndex(text[from:])
		if loc == nil {
			break
		}
		begin := from + loc[0]
		end := balanced(l, text[begin:], open, shut)
		if end < 0 {
			from += loc[1]
			continue
		}
		end += begin
		for end < len(text) && (text[end] == ';' || text[end] == '\n' || text[end] == ' ') {
			end++
		}
		text = text[:begin] + text[end:]
		from = begin
		dropped++
	}
	if dropped > 0 && imports != nil {
		text = imports.ReplaceAllString(text, "")
	}
	return text, dropped
}

// balanced is where the first open's partner ends, strings and comments left out; -1 when it has none.
func balanced(l language, text string, open, shut byte) int {
	depth, at, end := 0, 0, -1
	scan(l, text, func(piece string, kind byte) {
		if kind == 'x' && end < 0 {
			for i := range len(piece) {
				switch piece[i] {
				case open:
					depth++
				case shut:
					depth--
					if depth == 0 && end < 0 {
						end = at + i + 1
					}
				}
			}
		}
		at += len(piece)
	})
	return end
}
