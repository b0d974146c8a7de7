package delegate

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"
)

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// normal is a text without what never changes what the code does: blank lines and blanks at line ends, strings
// left alone. Comments stay: some are directives, and what looks like one may be code.
func normal(l language, text string) string {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	if l.mark == "" {
		return strings.TrimRight(text, "\n") // blanks may be what is asked for
	}
	within := insideStrings(l, text)
	var b strings.Builder
	end := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		start := end
		end += len(line)
		if !within[end] {
			line = strings.TrimRight(line, " \t\n")
		}
		if line != "" || within[start] {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// insideStrings tells where a string literal goes on from one line to the next: at the first bytes of the lines.
func insideStrings(l language, text string) map[int]bool {
	out := map[int]bool{}
	at := 0
	scan(l, text, func(piece string, kind byte) {
		if kind == 's' {
			for i := range len(piece) {
				if piece[i] == '\n' {
					out[at+i+1] = true
				}
			}
		}
		at += len(piece)
	})
	return out
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

// scan cuts a text into code ('x'), strings ('s'), regular expressions ('r') and comments ('c'). It knows the
// quotes of the usual languages; a quote that never ends is taken for code.
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
		case l.line != "" && strings.HasPrefix(rest, l.line) && !strings.HasPrefix(rest, "#!") && l.comments(text[:i]):
			if n = strings.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
		case l.open != "" && strings.HasPrefix(rest, l.open):
			if n = strings.Index(rest[len(l.open):], l.shut); n < 0 {
				n = len(rest)
			} else {
				n += len(l.open) + len(l.shut)
			}
		case rest[0] == '/' && l.family() == "javascript" && expects(text[:i]):
			n, kind = pattern(rest), 'r'
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

// comments says that a comment may begin behind this text: in a shell $# and a#b are words.
func (l language) comments(before string) bool {
	switch l.name {
	case "shell", "ruby":
		return before == "" || strings.ContainsRune(" \t\r\n;&|(){}", rune(before[len(before)-1]))
	case "yaml":
		return before == "" || strings.ContainsRune(" \t\r\n", rune(before[len(before)-1]))
	}
	return true
}

// expects says that JavaScript expects a value behind this text, so that a slash begins a regular expression.
func expects(before string) bool {
	before = strings.TrimRight(before[max(0, len(before)-400):], " \t\r\n")
	if before == "" || strings.HasSuffix(before, "=>") {
		return true
	}
	if strings.HasSuffix(before, "++") || strings.HasSuffix(before, "--") {
		return false
	}
	if strings.ContainsRune("(,=:[!&|?{;+-*%~^", rune(before[len(before)-1])) {
		return true
	}
	word := before[strings.LastIndexFunc(before, func(r rune) bool { return !nameRune(r) && r != '.' && r != '$' })+1:]
	return slices.Contains([]string{"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do", "else", "await", "yield"}, word)
}

// pattern is the length of the regular expression that s begins with; 0 when there is none.
func pattern(s string) int {
	class := false
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\n':
			return 0
		case s[i] == '\\':
			i++
		case s[i] == '[':
			class = true
		case s[i] == ']':
			class = false
		case s[i] == '/' && !class:
			return i + 1
		}
	}
	return 0
}

// template is the length of the template literal that s begins with, those inside its values included; 0 when
// it does not end.
func template(s string) int {
	depth := 0 // of braces in a value
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '`' && depth == 0:
			return i + 1
		case s[i] == '`':
			n := template(s[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case s[i] == '$' && depth == 0 && i+1 < len(s) && s[i+1] == '{':
			depth = 1
			i++
		case s[i] == '{' && depth > 0:
			depth++
		case s[i] == '}' && depth > 0:
			depth--
		}
	}
	return 0
}

// oneRune is the length of the literal of one character that s begins with, in languages where a lone quote
// means something else; 0 when there is none.
func oneRune(s string) int {
	if len(s) > 2 && s[1] == '\\' {
		if n := strings.IndexByte(s[3:], '\''); n >= 0 && n < 10 {
			return n + 4
		}
		return 0
	}
	_, n := utf8.DecodeRuneInString(s[1:])
	if n > 0 && s[1] != '\'' && s[1] != '\n' && strings.HasPrefix(s[1+n:], "'") {
		return n + 2
	}
	return 0
}

// rawRust is the length of the raw string that s begins with; 0 when there is none.
func rawRust(s string) int {
	marks := 0
	for marks+1 < len(s) && s[marks+1] == '#' {
		marks++
	}
	head := marks + 2
	if head > len(s) || s[head-1] != '"' {
		return 0
	}
	n := strings.Index(s[head:], `"`+strings.Repeat("#", marks))
	if n < 0 {
		return 0
	}
	return head + n + 1 + marks
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
	case s[0] == 'r' && l.name == "rust":
		return rawRust(s)
	case s[0] == '\'' && (l.name == "rust" || l.name == "go"):
		return oneRune(s)
	case s[0] == '`' && l.family() == "javascript":
		return template(s)
	case s[0] == '`' && l.name == "go":
	case s[0] == '"':
	case s[0] == '\'':
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
