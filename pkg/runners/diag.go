package runners

import (
	"slices"
	"strings"
)

// frame is one position of a stack trace.
type frame struct {
	file string
	line int
}

// firstOwn is the first frame inside the project, or the zero frame.
func (t *Text) firstOwn(frames []frame) frame {
	for _, f := range frames {
		if f.file != "" && !foreign(f.file) && !strings.HasPrefix(f.file, "/usr/bin/") && !strings.HasPrefix(f.file, "/usr/local/bin/") {
			return frame{t.path(f.file), f.line}
		}
	}
	return frame{}
}

// path is p as the project names it.
func (t *Text) path(p string) string { return cleanPath(p, t.Hint.Dir) }

// diag is one diagnostic line "file:line:col: severity: message".
type diag struct {
	file      string
	line, col int
	severity  string // "error", "warning", "note", … in lower case; "" if not given
	message   string
}

func (d diag) buildError(t *Text) BuildError {
	return BuildError{File: t.path(d.file), Line: d.line, Col: d.col, Message: cutLine(d.message, maxMessageLine)}
}

// severities are the words compilers put before a message.
var severities = []string{
	"fatal error", "internal compiler error", "error", "sorry, unimplemented", "warning", "note", "remark", "info",
	"information", "style", "help", "convention", "refactor", "hint", "fatal",
}

// parseDiag reads "FILE:LINE[:COL]: [severity: ]MESSAGE"; ok is false for
// anything else. FILE may hold blanks only when a severity follows.
func parseDiag(l string) (d diag, ok bool) {
	if len(l) < 6 || l[0] == ' ' || l[0] == '\t' || l[0] == '#' {
		return d, false
	}
	from := 0
	if len(l) > 2 && l[1] == ':' && (l[2] == '\\' || l[2] == '/') {
		from = 2
	}
	for {
		i := strings.IndexByte(l[from:], ':')
		if i < 0 {
			return d, false
		}
		i += from
		n, rest, isNum := leadingInt(l[i+1:])
		if !isNum || !strings.HasPrefix(rest, ":") {
			from = i + 1
			continue
		}
		d.file, d.line = l[:i], n
		rest = rest[1:]
		if c, after, isCol := leadingInt(rest); isCol && strings.HasPrefix(after, ":") {
			d.col, rest = c, after[1:]
		}
		if l2, after, ok := leadingInt(rest); ok && l2 > 0 { // mypy's end position
			if _, after, ok = leadingInt(strings.TrimPrefix(after, ":")); ok {
				rest = strings.TrimPrefix(after, ":")
			}
		}
		if !strings.HasPrefix(rest, " ") {
			return d, false
		}
		d.severity, d.message = cutSeverity(strings.TrimSpace(rest))
		return d, d.message != "" && plausibleFile(d.file, d.severity != "")
	}
}

// cutSeverity takes a leading "error: " or "error[E0308]: " off.
func cutSeverity(s string) (severity, message string) {
	for _, w := range severities {
		if len(s) <= len(w) || !strings.EqualFold(s[:len(w)], w) {
			continue
		}
		switch rest := s[len(w):]; {
		case strings.HasPrefix(rest, ":"):
			return w, strings.TrimSpace(rest[1:])
		case strings.HasPrefix(rest, "["):
			if _, after, ok := strings.Cut(rest, "]:"); ok {
				return w, strings.TrimSpace(after)
			}
		}
	}
	return "", s
}

// plausibleFile rejects log prefixes such as "12:30:05" and "[info] x".
func plausibleFile(f string, severity bool) bool {
	if f == "" || strings.ContainsAny(f, "\"'`<>|=[]{}") && !severity {
		return false
	}
	if strings.IndexByte(f, ' ') >= 0 && !severity {
		return false
	}
	if severity {
		return true
	}
	base := f[strings.LastIndexAny(f, "/\\")+1:]
	dot := strings.LastIndexByte(base, '.')
	return dot >= 0 && dot < len(base)-1 && base[len(base)-1] > '9'
}

// isError says that a severity word fails a build.
func isError(severity string) bool {
	switch severity {
	case "error", "fatal error", "internal compiler error", "sorry, unimplemented", "fatal":
		return true
	}
	return false
}

// buildOnce adds x unless the same place and message are there already.
func (f *finding) buildOnce(x BuildError) {
	for i := len(f.BuildErrors) - 1; i >= 0 && i >= len(f.BuildErrors)-64; i-- {
		if f.BuildErrors[i] == x {
			return
		}
	}
	f.build(x)
}

// verdict sets the state of a compiler or linter: findings fail the build, and so
// does bad, the tool's own line that says it failed ("" for none), where the
// findings themselves are not in the text. clean is what the tool says, or, for a
// tool that is silent about success, the exit code 0; that code alone proves
// nothing for others, because in a pipe it is that of the last command.
func (f *finding) verdict(t *Text, clean bool, bad string) {
	switch {
	case len(f.BuildErrors) > 0:
		f.worse(StateBuildFailed)
	case bad != "":
		f.build(BuildError{Message: cutLine(strings.TrimSpace(bad), maxMessageLine)})
		f.note("the list of errors is not in the text, only the line that sums it up")
		f.worse(StateBuildFailed)
	case t.ExitBad():
		f.worse(StateBuildFailed)
	case clean:
		f.worse(StatePassed)
	}
}

// saying is the last line that matches p and whose groups hold says true of (nil:
// any), "" for none.
func saying(t *Text, p *pattern, holds func(m []string) bool) string {
	if p.lit != "" && !t.Has(p.lit) {
		return ""
	}
	for _, l := range slices.Backward(t.lines) {
		if m := p.FindStringSubmatch(l); m != nil && (holds == nil || holds(m)) {
			return l
		}
	}
	return ""
}

// counted is true of a match whose first group is a number above 0.
func counted(m []string) bool { return atoi(m[1]) > 0 }

// block collects lines after i up to the first for which stop is true.
func (t *Text) block(i int, stop func(string) bool) (lines []string, end int) {
	for end = i; end < t.Len(); end++ {
		if stop(t.lines[end]) {
			break
		}
		lines = append(lines, t.lines[end])
	}
	return lines, end
}

// blank reports a line of white space only.
func blank(l string) bool { return strings.TrimSpace(l) == "" }

// cutPos finds "path:line" (or "path:line:col") at the start of s, path without
// blanks, and returns what follows it.
func cutPos(s string) (fr frame, rest string, ok bool) {
	end := strings.IndexAny(s, " \t")
	word := s
	if end >= 0 {
		word, rest = s[:end], s[end:]
	}
	word = strings.TrimRight(word, ":,)")
	if i := strings.Index(word, ":in"); i > 0 {
		word = word[:i]
	}
	p, l, _, ok := splitPos(word)
	return frame{p, l}, rest, ok
}

// camel reports whether s looks like a class name ("RuntimeError", "a.b.Error").
func camel(s string) bool {
	s = s[strings.LastIndexAny(s, ".:\\$")+1:]
	return s != "" && s[0] >= 'A' && s[0] <= 'Z'
}
