package runners

import (
	"encoding/json"
	"strings"
)

func goBuildParser() parser {
	return parser{
		name: "go build", kind: kindBuild,
		marks: []string{".go:", "go: ", "build-output", "go.mod:", "package ", "usage: go ", "directory not found", `"posn":`},
		sniff: func(t *Text) match {
			if t.Has(`"posn": "`) {
				return t.all(scoreSure)
			}
			if !t.ExitOK() || t.Has(`"Action":"build-fail"`) {
				if goHasDiag(t) || t.Has(`"Action":"build-output"`) {
					return t.all(scoreSure)
				}
				if t.ExitBad() && (t.FindPrefix("go: ", 0) >= 0 || goUsage(t) >= 0 || t.FindPrefix("go.mod:", 0) >= 0 ||
					t.FindPrefix("package ", 0) >= 0 && t.HasAny("is not in std", "imports ", "cannot find package")) {
					return t.all(scoreLikely)
				}
			}
			return match{}
		}, parse: goBuildParse,
	}
}

func goHasDiag(t *Text) bool {
	headed := t.ExitBad() || t.FindPrefix("# ", 0) >= 0
	for _, l := range t.lines {
		if !strings.Contains(l, ".go:") {
			continue
		}
		// "file.go:12: text" is also what a program logs with its position.
		if d, ok := goDiag(l); ok && strings.HasSuffix(d.file, ".go") && (d.col > 0 || headed) {
			return true
		}
	}
	return false
}

func goDiag(l string) (diag, bool) {
	d, ok := parseDiag(strings.TrimPrefix(l, "vet: "))
	if !ok || !strings.HasSuffix(d.file, ".go") && !strings.HasSuffix(d.file, "go.mod") && !strings.HasSuffix(d.file, "go.work") {
		return d, false
	}
	if d.severity != "" {
		d.message = d.severity + ": " + d.message
	}
	return d, true
}

func goBuildParse(t *Text, f *finding) {
	if t.Has(`"Action":"build-`) {
		t = goBuildText(t)
	}
	goErrors(t, f)
	goVetJSON(t, f)
	if i := goUsage(t); i >= 0 && len(f.BuildErrors) == 0 {
		f.build(BuildError{Message: t.Line(i)})
	}
	if len(f.BuildErrors) == 0 {
		for _, l := range t.lines {
			if strings.HasPrefix(l, "go: ") && !strings.HasPrefix(l, "go: downloading ") && !strings.HasPrefix(l, "go: finding ") ||
				strings.HasPrefix(l, "package ") || strings.HasPrefix(l, "pattern ") || strings.HasPrefix(l, "no required module") {
				f.build(BuildError{Message: strings.TrimPrefix(l, "go: ")})
			}
		}
	}
	f.verdict(t, false, "")
}

// goUsage is the line in which the go command refuses its arguments.
func goUsage(t *Text) int {
	for i, l := range t.lines {
		if strings.HasPrefix(l, "flag provided but not defined: ") && strings.HasPrefix(t.Line(i+1), "usage: go ") ||
			strings.HasPrefix(l, "stat ") && strings.HasSuffix(l, ": directory not found") {
			return i
		}
	}
	return -1
}

var goVetPair = lazy(`"posn": "(.+?)",?\s*\n(?:\s*"end": .*\n)?\s*"message": (".*")`)

// goVetJSON reads "go vet -json", which ends with exit code 0 whatever it finds.
func goVetJSON(t *Text, f *finding) {
	if !t.Has(`"posn": "`) {
		return
	}
	for _, m := range goVetPair().FindAllStringSubmatch(t.whole, -1) {
		var msg string
		if json.Unmarshal([]byte(m[2]), &msg) != nil {
			continue
		}
		p, l, c, _ := splitPos(m[1])
		f.buildOnce(BuildError{File: t.path(p), Line: l, Col: c, Message: msg})
	}
}

// goErrors adds the compiler's and vet's lines; what follows indented belongs to
// the message (the have/want of a call), except quoted source.
func goErrors(t *Text, f *finding) {
	for i := 0; i < t.Len(); i++ {
		d, ok := goDiag(t.lines[i])
		if !ok {
			continue
		}
		lines := []string{d.message}
		for j := i + 1; strings.HasPrefix(t.Line(j), "\t") || strings.HasPrefix(t.Line(j), "    "); j++ {
			if strings.TrimSpace(t.Line(j+1)) == "^" || strings.TrimSpace(t.Line(j)) == "^" {
				continue
			}
			lines = append(lines, t.Line(j))
		}
		d.message = message(lines...)
		f.buildOnce(d.buildError(t))
	}
}

// goBuildText is the text inside the events of "go build -json"; lines that are
// no events stay.
func goBuildText(t *Text) *Text {
	var b strings.Builder
	for _, l := range t.lines {
		var ev struct{ Action, Output string }
		if strings.HasPrefix(l, "{") && json.Unmarshal([]byte(l), &ev) == nil {
			b.WriteString(ev.Output)
			continue
		}
		b.WriteString(l + "\n")
	}
	return newText(b.String(), t.Hint)
}
