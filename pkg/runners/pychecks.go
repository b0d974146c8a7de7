package runners

import (
	"encoding/json"
	"strings"
)

var (
	mypyFound   = lazy(`^Found (\d+) errors? in (\d+) files? \((?:checked|errors prevented) `)
	mypyClean   = lazy(`^Success: no issues found in \d+ source files?`)
	flakeLine   = lazy(`^(.+?):(\d+):(?:(\d+):)? ([A-Z]{1,4}\d{2,5}) (.*)$`)
	pylintLine  = lazy(`^(.+?):(\d+):(\d+): ([CRWEFI]\d{4}): (.*)$`)
	lintBracket = lazy(`^(\S.*?):(\d+): \[([A-Z]+\d+)(?:\(([\w-]+)\))?[^\]]*\] (.*)$`)
	githubLine  = lazy(`^::error .*?file=([^,:]+),line=(\d+)(?:,col=(\d+))?.*?::(.*)$`)
	ruffGroup   = lazy(`^  +(\d+):(\d+) +([A-Z]{1,4}\d{2,5} .*)$`)
	pylintRated = lazy(`^Your code has been rated at (\S+)/10`)
	ruffFound   = lazy(`^Found (\d+) errors?[. (]`)
	ruffFull    = lazy(`^(?:error\[)?([A-Z]{1,4}\d{2,5}|invalid-syntax|[a-z-]+)\]?:? (.*)$`)
	ruffArrow   = lazy(`^\s*--> (.+?):(\d+):(\d+)$`)
	pyrightLine = lazy(`^\s+(.+?):(\d+):(\d+) - (error|warning|information): (.*)$`)
	pyrightSum  = lazy(`^(\d+) errors?, (\d+) warnings?, (\d+) (?:informations?|notes?)`)
	blackBad    = lazy(`^\d+ files? (?:would be reformatted|would fail to reformat|failed to reformat)|, \d+ files? (?:would fail|failed) to reformat`)
	blackWould  = lazy(`^(?:would reformat|Would reformat:|error: cannot format) (.+)$`)
)

// pyCheckers are linters and type checkers of Python; each prints lines of its
// own form, so that one output with two of them is read by both.
func pyCheckers() []parser {
	return []parser{
		{name: "mypy", kind: kindBuild, marks: []string{" error: ", "Success: no issues found", " (checked ", " (errors prevented ", `"severity": "error"`}, sniff: mypySniff, parse: mypyParse},
		{name: "pylint", kind: kindBuild, marks: []string{"************* Module ", "Your code has been rated", `"message-id"`, `"messageId"`}, sniff: pylintSniff, parse: pylintParse},
		{name: "pyright", kind: kindBuild, marks: []string{" - error: ", " errors, ", " error, ", `"generalDiagnostics"`}, sniff: pyrightSniff, parse: pyrightParse},
		{name: "ruff", kind: kindBuild, marks: []string{"All checks passed!", "--> ", "Found ", "::error title=", `"noqa_row"`}, sniff: ruffSniff, parse: ruffParse},
		{name: "flake8", kind: kindBuild, marks: []string{".py:"}, sniff: flakeSniff, parse: flakeParse},
		{name: "black", kind: kindBuild, marks: []string{"ould reformat", "would be reformatted", "would be left unchanged"}, sniff: blackSniff, parse: blackParse},
	}
}

func mypySniff(t *Text) match {
	if lastMatch(t, mypyFound()) >= 0 || lastMatch(t, mypyClean()) >= 0 || t.Has(`"severity": "error"`) && strings.HasPrefix(t.Line(0), `{"file": `) {
		return t.all(scoreCertain)
	}
	for _, l := range t.lines {
		if d, ok := parseDiag(l); ok && d.severity == "error" && (strings.HasSuffix(d.file, ".py") || strings.HasSuffix(d.file, ".pyi")) {
			return t.all(scoreLikely)
		}
	}
	return match{}
}

func mypyParse(t *Text, f *finding) {
	for i, l := range t.lines {
		if strings.HasPrefix(l, "{") && mypyJSON(t, l, f) {
			continue
		}
		if d, ok := parseDiag(l); ok && isError(d.severity) {
			// --pretty wraps messages; the error's name in brackets ends them.
			for j := i + 1; !strings.HasSuffix(d.message, "]") && j < i+4 && indent(t.Line(j)) == 0 && strings.HasSuffix(t.Line(j), "]"); j++ {
				d.message += " " + t.Line(j)
			}
			f.buildOnce(d.buildError(t))
		} else if s, cut := strings.CutPrefix(l, "mypy: "); cut {
			f.buildOnce(BuildError{Message: s})
		} else if i := strings.Index(l, ": error: "); i > 0 && !ok && !strings.HasPrefix(l, " ") {
			f.buildOnce(BuildError{File: t.path(l[:i]), Message: l[i+len(": error: "):]})
		}
	}
	f.verdict(t, lastMatch(t, mypyClean()) >= 0, saying(t, mypyFound(), counted))
}

func mypyJSON(t *Text, l string, f *finding) bool {
	var d struct {
		File, Message, Severity string
		Line, Column            int
	}
	if json.Unmarshal([]byte(l), &d) != nil || d.File == "" {
		return false
	}
	if d.Severity == "error" {
		f.buildOnce(BuildError{File: t.path(d.File), Line: d.Line, Col: d.Column, Message: d.Message})
	}
	return true
}

func pylintSniff(t *Text) match {
	if t.FindPrefix("************* Module ", 0) >= 0 || lastMatch(t, pylintRated()) >= 0 || t.Has(`"message-id"`) || t.Has(`"messageId"`) {
		return t.all(scoreCertain)
	}
	return match{}
}

func pylintParse(t *Text, f *finding) {
	if t.HasAny(`"message-id"`, `"messageId"`) {
		pylintJSON(t, f)
	}
	for _, l := range t.lines {
		if m := pylintLine().FindStringSubmatch(l); m != nil {
			f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: m[4] + ": " + m[5]})
		}
		parseableLine(t, l, f)
	}
	f.verdict(t, lastMatch(t, pylintRated()) >= 0, saying(t, pylintRated(), func(m []string) bool { return m[1] != "10.00" }))
}

// parseableLine reads the form that several linters call "pylint" or "parseable".
func parseableLine(t *Text, l string, f *finding) {
	if m := lintBracket().FindStringSubmatch(l); m != nil {
		msg := m[3] + ": " + m[5]
		if m[4] != "" {
			msg += " (" + m[4] + ")"
		}
		f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Message: msg})
	}
}

func pylintJSON(t *Text, f *finding) {
	type item struct {
		Path, Symbol, Message string
		ID                    string `json:"message-id"`
		NewID                 string `json:"messageId"`
		Line, Column          int
	}
	var items []item
	whole := t.whole
	if i := strings.IndexAny(whole, "[{"); i >= 0 {
		whole = whole[i:]
	}
	if strings.HasPrefix(whole, "{") {
		var v struct{ Messages []item }
		_ = json.NewDecoder(strings.NewReader(whole)).Decode(&v) // a cut report: what was read counts
		items = v.Messages
	} else {
		_ = json.NewDecoder(strings.NewReader(whole)).Decode(&items)
	}
	for _, it := range items {
		f.buildOnce(BuildError{File: t.path(it.Path), Line: it.Line, Col: it.Column, Message: it.ID + it.NewID + ": " + it.Message + " (" + it.Symbol + ")"})
	}
}

func pyrightSniff(t *Text) match {
	if lastMatch(t, pyrightSum()) >= 0 || t.Has(`"generalDiagnostics"`) {
		return t.all(scoreCertain)
	}
	return match{}
}

func pyrightParse(t *Text, f *finding) {
	clean := t.Has(`"generalDiagnostics"`) && pyrightJSON(t, f)
	for _, l := range t.lines {
		if m := pyrightLine().FindStringSubmatch(l); m != nil && m[4] == "error" {
			f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: m[5]})
		}
	}
	f.verdict(t, clean || lastMatch(t, pyrightSum()) >= 0, saying(t, pyrightSum(), counted))
}

// pyrightJSON reports whether the report came to its end and counts no error.
func pyrightJSON(t *Text, f *finding) bool {
	var v struct {
		Summary            *struct{ ErrorCount int }
		GeneralDiagnostics []struct {
			File, Severity, Message, Rule string
			Range                         struct{ Start struct{ Line, Character int } }
		} `json:"generalDiagnostics"`
	}
	i := max(strings.IndexByte(t.whole, '{'), 0)
	if json.NewDecoder(strings.NewReader(t.whole[i:])).Decode(&v) != nil {
		f.worse(StateDidNotFinish)
		return false
	}
	for _, d := range v.GeneralDiagnostics {
		if d.Severity == "error" {
			f.buildOnce(BuildError{File: t.path(d.File), Line: d.Range.Start.Line + 1, Col: d.Range.Start.Character + 1, Message: d.Message})
		}
	}
	return v.Summary != nil && v.Summary.ErrorCount == 0
}

func ruffSniff(t *Text) match {
	switch {
	case t.FindPrefix("All checks passed!", 0) >= 0, t.Has(`"noqa_row"`):
		return t.all(scoreCertain)
	case t.Has("::error title=ruff (") || t.Has("::error title=Ruff ("):
		return t.all(scoreCertain)
	case lastMatch(t, ruffFound()) >= 0 && (lastMatch(t, lintBracket()) >= 0 || lastMatch(t, ruffGroup()) >= 0 || lastMatch(t, flakeLine()) >= 0 || lastMatch(t, ruffArrow()) >= 0 || t.Has("invalid-syntax")):
		return t.all(scoreCertain)
	}
	return match{}
}

func ruffParse(t *Text, f *finding) {
	if t.Has(`"noqa_row"`) {
		ruffJSON(t, f)
	}
	group := ""
	for i, l := range t.lines {
		if m := githubLine().FindStringSubmatch(l); m != nil {
			f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: strings.ReplaceAll(m[4], "%0A", "\n")})
			continue
		}
		if strings.HasSuffix(l, ":") && !strings.HasPrefix(l, " ") {
			group = strings.TrimSuffix(l, ":")
		}
		if m := ruffGroup().FindStringSubmatch(l); m != nil && group != "" {
			f.buildOnce(BuildError{File: t.path(group), Line: atoi(m[1]), Col: atoi(m[2]), Message: m[3]})
			continue
		}
		parseableLine(t, l, f)
		if m := flakeLine().FindStringSubmatch(l); m != nil {
			f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: m[4] + " " + m[5]})
			continue
		}
		if d, ok := parseDiag(l); ok && strings.HasPrefix(d.message, "invalid-syntax") || ok && strings.HasPrefix(d.message, "SyntaxError") {
			f.buildOnce(d.buildError(t))
			continue
		}
		if m := ruffArrow().FindStringSubmatch(l); m != nil {
			if h := ruffFull().FindStringSubmatch(t.Line(i - 1)); h != nil {
				f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: h[1] + ": " + h[2]})
			}
		}
	}
	f.verdict(t, t.FindPrefix("All checks passed!", 0) >= 0, "")
}

func ruffJSON(t *Text, f *finding) {
	var items []struct {
		Code, Message, Filename string
		Location                struct{ Row, Column int }
	}
	i := max(strings.IndexByte(t.whole, '['), 0)
	if json.NewDecoder(strings.NewReader(t.whole[i:])).Decode(&items) != nil {
		f.worse(StateDidNotFinish)
		return
	}
	for _, it := range items {
		f.buildOnce(BuildError{File: t.path(it.Filename), Line: it.Location.Row, Col: it.Location.Column, Message: it.Code + " " + it.Message})
	}
}

func flakeSniff(t *Text) match {
	first := -1
	for i, l := range t.lines {
		if strings.Contains(l, ".py:") && (flakeLine().MatchString(l) || lintBracket().MatchString(l)) {
			first = i
			break
		}
	}
	if first < 0 {
		return match{}
	}
	return t.all(scoreSure)
}

func flakeParse(t *Text, f *finding) {
	for _, l := range t.lines {
		if m := flakeLine().FindStringSubmatch(l); m != nil {
			f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: m[4] + " " + m[5]})
		}
		parseableLine(t, l, f)
	}
	f.verdict(t, false, "")
}

func blackSniff(t *Text) match {
	if t.HasAny("would be reformatted", "would be left unchanged") {
		return t.all(scoreSure)
	}
	return match{}
}

func blackParse(t *Text, f *finding) {
	for _, l := range t.lines {
		if m := blackWould().FindStringSubmatch(l); m != nil {
			file, _, _ := strings.Cut(m[1], ": ")
			f.buildOnce(BuildError{File: t.path(file), Message: l})
		} else if m := ruffArrow().FindStringSubmatch(l); m != nil {
			f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: "would be reformatted"})
		}
	}
	f.verdict(t, true, saying(t, blackBad(), nil))
}
