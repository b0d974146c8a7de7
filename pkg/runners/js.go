package runners

import (
	"strings"
)

// jsPos is one line of a stack trace.
type jsPos struct {
	path      string
	line, col int
	fn        string
}

// jsFrame reads "    at fn (path:1:2)", "at path:1:2", "fn (path:1:2)" as V8,
// JavaScriptCore and node's TAP print them, and "fn@path:1:2".
func jsFrame(l string) (jsPos, bool) {
	s := strings.TrimSpace(l)
	s, at := strings.CutPrefix(s, "at ")
	if !at {
		s, at = strings.CutPrefix(s, "❯ ")
	}
	s = strings.TrimPrefix(s, "async ")
	if i := strings.LastIndex(s, "("); i >= 0 && strings.HasSuffix(strings.TrimRight(s, " {,"), ")") {
		in := s[i+1 : strings.LastIndexByte(s, ')')]
		if p, n, c, ok := splitPos(in); ok {
			return jsPos{p, n, c, strings.TrimSpace(s[:i])}, at || c > 0
		}
		return jsPos{}, false
	}
	s = strings.TrimRight(s, " {")
	if !at {
		return jsPos{}, false
	}
	fn := ""
	if i := strings.LastIndexByte(s, ' '); i >= 0 {
		fn, s = s[:i], s[i+1:]
	}
	p, n, c, ok := splitPos(s)
	return jsPos{p, n, c, fn}, ok && (c > 0 || at)
}

// isFrame reports whether l looks like a stack frame at all, own or foreign.
func isFrame(l string) bool {
	s := strings.TrimSpace(l)
	if !strings.HasPrefix(s, "at ") {
		return false
	}
	_, ok := jsFrame(l)
	return ok || strings.HasSuffix(s, ")") || strings.Contains(s, "<anonymous>") || strings.HasPrefix(s, "at <") || strings.HasPrefix(s, "at async ")
}

// ownFrame is the first frame of lines inside the project.
func ownFrame(lines []string) (jsPos, bool) {
	for _, l := range lines {
		if f, ok := jsFrame(l); ok && !foreign(f.path) {
			return f, true
		}
	}
	return jsPos{}, false
}

// jsMessage keeps of an error's printed form what was said: the text before the
// first frame; frames and node's property dump after them are dropped.
func jsMessage(lines []string) string {
	var keep []string
	for _, l := range lines {
		if isFrame(l) {
			break
		}
		keep = append(keep, l)
	}
	return message(keep...)
}

// jsID joins nested names the way this package does for JavaScript runners.
func jsID(parts ...string) string { return strings.Join(parts, " > ") }

// jsLoadError looks for the error that keeps a module from loading in lines, and
// says where: a missing module names the file that asks for it, a syntax error
// the file that has it. ok is false when there is none.
func jsLoadError(lines []string) (b BuildError, ok bool) {
	for i, l := range lines {
		s := strings.TrimSpace(l)
		switch {
		case strings.Contains(s, "Cannot find module") || strings.Contains(s, "Cannot find package") || strings.Contains(s, "ERR_MODULE_NOT_FOUND"):
			if !strings.Contains(s, "rror") && !strings.HasPrefix(s, "Cannot find") {
				continue
			}
			b.Message = strings.TrimPrefix(s, "Exception during run: ")
			if _, after, ok := strings.Cut(s, " imported from "); ok {
				b.File = strings.Trim(strings.TrimSpace(after), "'\"")
			}
			for k := i + 1; k < len(lines) && k < i+30; k++ {
				r := strings.TrimSpace(lines[k])
				if b.File == "" && strings.HasPrefix(r, "- ") {
					b.File = strings.TrimSpace(r[2:])
				}
				if f, ok := jsFrame(lines[k]); ok && !foreign(f.path) {
					if b.File == "" || f.path == b.File {
						b.File, b.Line, b.Col = f.path, f.line, f.col
					}
					break
				}
			}
			return b, true
		case strings.HasPrefix(s, "SyntaxError"):
			b.Message = s
			b.File, b.Line = syntaxPlace(lines, i)
			return b, true
		case strings.HasPrefix(s, "ReferenceError: require is not defined in ES module"), strings.Contains(s, "ERR_UNKNOWN_FILE_EXTENSION"),
			strings.Contains(s, "ERR_REQUIRE_ESM"), strings.Contains(s, "ERR_UNSUPPORTED_DIR_IMPORT"), strings.Contains(s, "ERR_PACKAGE_PATH_NOT_EXPORTED"):
			b.Message = s
			if f, ok := ownFrame(lines[i:]); ok {
				b.File, b.Line, b.Col = f.path, f.line, f.col
			}
			return b, true
		}
	}
	return b, false
}

// syntaxPlace finds the "path:line" header that node prints some lines above
// "SyntaxError:".
func syntaxPlace(lines []string, i int) (string, int) {
	for j := i - 1; j >= 0 && j >= i-8; j-- {
		s := strings.TrimPrefix(strings.TrimSpace(lines[j]), "Exception during run: ")
		s = strings.TrimPrefix(s, "file://")
		if p, n, c, ok := splitPos(s); ok && c == 0 && n > 0 && !strings.Contains(p, " ") && strings.ContainsAny(p, "/\\.") {
			return p, n
		}
	}
	if f, ok := ownFrame(lines[i:]); ok {
		return f.path, f.line
	}
	return "", 0
}
