package runners

import "strings"

var javacCount = lazy(`^(\d+) errors?$`)

func javacParser() parser {
	return parser{
		name: "javac", kind: kindBuild, marks: []string{".java:", ".kt:", "error: "},
		sniff: func(t *Text) match {
			for _, l := range t.lines {
				if d, ok := parseDiag(l); ok && (strings.HasSuffix(d.file, ".java") || strings.HasSuffix(d.file, ".kt") || strings.HasSuffix(d.file, ".scala")) && d.severity != "" {
					return t.all(scoreSure)
				}
			}
			if t.ExitBad() && lastMatch(t, javacCount()) >= 0 && t.FindPrefix("error: ", 0) >= 0 {
				return t.all(scoreSure)
			}
			return match{}
		},
		parse: func(t *Text, f *finding) {
			javacLines(t, f)
			for _, l := range t.lines {
				if s, ok := strings.CutPrefix(l, "error: "); ok && len(f.BuildErrors) == 0 {
					f.build(BuildError{Message: s})
				}
			}
			f.verdict(t, t.SilentOK(), saying(t, javacCount(), counted))
		},
	}
}

// javacLines adds javac's messages with the details ("symbol: …") that follow
// the quoted source line and its caret.
func javacLines(t *Text, f *finding) {
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		if !strings.Contains(l, ": error: ") {
			continue
		}
		d, ok := parseDiag(l)
		if !ok || !isError(d.severity) {
			continue
		}
		lines := []string{d.message}
		caret := false
		for j := i + 1; j < min(i+10, t.Len()); j++ {
			s := t.lines[j]
			if _, isDiag := parseDiag(s); isDiag || javacCount().MatchString(s) {
				break
			}
			if strings.TrimSpace(s) == "^" {
				caret = true
				continue
			}
			if caret {
				if !strings.HasPrefix(s, "  ") {
					break
				}
				lines = append(lines, strings.TrimSpace(s))
			}
		}
		d.message = strings.Join(lines, "\n")
		f.buildOnce(d.buildError(t))
	}
}
