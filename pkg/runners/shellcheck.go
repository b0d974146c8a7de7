package runners

import (
	"encoding/json"
	"strings"
)

var (
	shellcheckIn   = lazy(`^In (.+) line (\d+):$`)
	shellcheckMark = lazy(`^( *)\^(?:-+\^?)?-*-? ?(SC\d+) \((\w+)\): (.*)$`)
	shellcheckGcc  = lazy(`^(.+?):(\d+):(\d+): (error|warning|note): (.*) \[(SC\d+)\]$`)
)

func shellcheckParser() parser {
	return parser{
		name: "shellcheck", kind: kindBuild, marks: []string{"SC1", "SC2", "SC3", `"code":`},
		sniff: func(t *Text) match {
			switch {
			case t.FindPrefix("In ", 0) >= 0 && lastMatch(t, shellcheckIn()) >= 0 && lastMatch(t, shellcheckMark()) >= 0,
				lastMatch(t, shellcheckGcc()) >= 0, t.Has(`"endColumn":`) && t.Has(`"level":`) && t.Has(`"code":`):
				return t.all(scoreCertain)
			}
			return match{}
		}, parse: shellcheckParse,
	}
}

func shellcheckParse(t *Text, f *finding) {
	var at frame
	for _, l := range t.lines {
		if m := shellcheckIn().FindStringSubmatch(l); m != nil {
			at = frame{m[1], atoi(m[2])}
			continue
		}
		if m := shellcheckMark().FindStringSubmatch(l); m != nil && at.file != "" {
			f.buildOnce(BuildError{File: t.path(at.file), Line: at.line, Col: len(m[1]) + 1, Message: m[2] + " (" + m[3] + "): " + m[4]})
			continue
		}
		if m := shellcheckGcc().FindStringSubmatch(l); m != nil {
			f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: m[6] + " (" + m[4] + "): " + m[5]})
		}
	}
	if len(f.BuildErrors) == 0 {
		shellcheckJSON(t, f)
	}
	f.verdict(t, false, "")
}

func shellcheckJSON(t *Text, f *finding) {
	type item struct {
		File, Level, Message string
		Line, Column, Code   int
	}
	var items []item
	i := strings.IndexAny(t.whole, "[{")
	if i < 0 {
		return
	}
	d := json.NewDecoder(strings.NewReader(t.whole[i:]))
	if t.whole[i] == '{' {
		var v struct{ Comments []item }
		_ = d.Decode(&v) // anything else has no items
		items = v.Comments
	} else {
		_ = d.Decode(&items)
	}
	for _, it := range items {
		if it.Code > 0 {
			f.buildOnce(BuildError{File: t.path(it.File), Line: it.Line, Col: it.Column, Message: "SC" + itoa(it.Code) + " (" + it.Level + "): " + it.Message})
		}
	}
}
