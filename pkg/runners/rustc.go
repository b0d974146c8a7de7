package runners

import (
	"encoding/json"
	"strings"
)

var (
	rustHead  = lazy(`^(error|warning)(?:\[([\w:]+)\])?: (.*)$`)
	rustArrow = lazy(`^\s*--> (.+?):(\d+):(\d+)$`)
	// rustEnd is what rustc and cargo say after the errors.
	rustEnd   = lazy(`^(?:error: could not compile |error: aborting due to |\{"reason":"build-finished","success":false)`)
	rustLabel = lazy(`^\s*\|.*?[\^-]+ (\S.*)$`)
)

func cargoBuildParser() parser {
	return parser{
		name: "cargo build", kind: kindBuild,
		marks: []string{"error[E", "error: ", "could not compile", "   Compiling ", "    Checking ", "    Finished ", `"reason":"compiler-message"`},
		sniff: func(t *Text) match {
			switch {
			case t.Has(`"reason":"build-finished"`), t.Has("error: could not compile `"), t.FindPrefix("error[E", 0) >= 0 && t.Has(" --> "):
				return t.all(scoreCertain)
			case t.FindPrefix("error: aborting due to ", 0) >= 0, lastMatch(t, rustArrow()) >= 0 && t.FindPrefix("error", 0) >= 0:
				return t.all(scoreSure)
			case t.ExitBad() && cargoManifest(t) >= 0:
				return t.all(scoreSure)
			case t.ExitOK() && t.FindPrefix("    Finished ", 0) >= 0 && !t.Has("     Running `"):
				return t.all(scoreLikely)
			}
			return match{}
		},
		parse: func(t *Text, f *finding) {
			rustErrors(t, f)
			if i := cargoManifest(t); len(f.BuildErrors) == 0 && i >= 0 {
				body, _ := t.block(i, func(string) bool { return false })
				f.build(BuildError{Message: message(body[:min(len(body), 12)]...)})
			}
			f.verdict(t, t.FindPrefix("    Finished ", 0) >= 0 || t.Has(`"reason":"build-finished","success":true`), saying(t, rustEnd(), nil))
		},
	}
}

// cargoManifest finds an error of cargo itself.
func cargoManifest(t *Text) int {
	for i, l := range t.lines {
		for _, p := range []string{"error: failed to ", "error: no matching package", "error: could not find `Cargo.toml`", "error: manifest path", "error: package ID", "error: no bin target", "error: the lock file", "error: no such command", "error: couldn't read", "error: the manifest-path", "error: feature"} {
			if strings.HasPrefix(l, p) {
				return i
			}
		}
	}
	return -1
}

// rustErrors adds the errors of rustc in its long, short and JSON forms.
func rustErrors(t *Text, f *finding) {
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		switch {
		case strings.HasPrefix(l, `{"reason":"compiler-message"`):
			rustJSON(t, l, f)
		case strings.HasPrefix(l, "error"):
			i = rustLong(t, i, f)
		case strings.Contains(l, ": error"):
			if d, ok := parseDiag(l); ok && d.severity == "error" && strings.HasSuffix(d.file, ".rs") {
				f.buildOnce(d.buildError(t))
			}
		}
	}
}

func rustLong(t *Text, i int, f *finding) int {
	m := rustHead().FindStringSubmatch(t.lines[i])
	if m == nil || strings.HasPrefix(m[3], "could not compile ") || strings.HasPrefix(m[3], "aborting due to ") || strings.HasPrefix(m[3], "build failed") ||
		strings.HasPrefix(m[3], "test failed, to rerun") || strings.Contains(m[3], "target failed") || strings.Contains(m[3], "process didn't exit successfully") {
		return i
	}
	e := BuildError{Message: m[3]}
	if m[2] != "" {
		e.Message += " [" + m[2] + "]"
	}
	body, next := t.block(i+1, func(l string) bool { return rustHead().MatchString(l) || blank(l) })
	for _, l := range body {
		if a := rustArrow().FindStringSubmatch(l); a != nil && e.File == "" {
			e.File, e.Line, e.Col = t.path(a[1]), atoi(a[2]), atoi(a[3])
			continue
		}
		if strings.Contains(l, "^") && e.File != "" && strings.Count(e.Message, "\n") < 3 {
			if lab := rustLabel().FindStringSubmatch(l); lab != nil {
				e.Message += "\n" + lab[1]
			}
		}
	}
	if e.File == "" {
		if len(body) == 0 || !strings.HasPrefix(m[3], "linking with ") && !strings.HasPrefix(m[3], "failed to run custom build command") {
			return i
		}
		e.Message = message(append([]string{e.Message}, tail(body, 8)...)...)
	}
	f.buildOnce(e)
	return next - 1
}

// tail is the last n lines.
func tail(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

func rustJSON(t *Text, l string, f *finding) {
	var ev struct {
		Message struct {
			Level   string
			Message string
			Code    *struct{ Code string }
			Spans   []struct {
				FileName    string `json:"file_name"`
				LineStart   int    `json:"line_start"`
				ColumnStart int    `json:"column_start"`
				IsPrimary   bool   `json:"is_primary"`
				Label       string
			}
		}
	}
	if json.Unmarshal([]byte(l), &ev) != nil || ev.Message.Level != "error" || strings.HasPrefix(ev.Message.Message, "aborting due to ") {
		return
	}
	e := BuildError{Message: ev.Message.Message}
	if ev.Message.Code != nil {
		e.Message += " [" + ev.Message.Code.Code + "]"
	}
	for _, s := range ev.Message.Spans {
		if s.IsPrimary && e.File == "" {
			e.File, e.Line, e.Col = t.path(s.FileName), s.LineStart, s.ColumnStart
			if s.Label != "" {
				e.Message += "\n" + s.Label
			}
		}
	}
	f.buildOnce(e)
}
