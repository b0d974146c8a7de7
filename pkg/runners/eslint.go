package runners

import (
	"encoding/json"
	"strings"
)

var (
	eslintRow     = lazy(`^\s+(\d+):(\d+)\s+(error|warning|✖|⚠|×)\s+(.*?)(?:\s{2,}(\S+))?$`)
	eslintSum     = lazy(`^✖ (\d+) problems? \((\d+) errors?, (\d+) warnings?\)`)
	eslintCompact = lazy(`^(.+?): line (\d+), col (\d+), (Error|Warning) - (.*)$`)
	eslintUnix    = lazy(`^(.+?):(\d+):(\d+): (.*) \[(Error|Warning)(?:/(\S+))?\]$`)
	eslintProblem = lazy(`^(\d+) problems?$`)
)

func eslintParser() parser {
	return parser{
		name: "eslint", kind: kindBuild,
		marks: []string{" problem", `"errorCount":`, "Oops! Something went wrong!", "ESLint"},
		sniff: func(t *Text) match {
			switch {
			case lastMatch(t, eslintSum()) >= 0 || t.Has(`"fatalErrorCount":`) || t.Has(`"errorCount":`) && t.Has(`"filePath":`):
				return t.all(scoreCertain)
			case lastMatch(t, eslintProblem()) >= 0 && (lastMatch(t, eslintCompact()) >= 0 || lastMatch(t, eslintUnix()) >= 0):
				return t.all(scoreCertain)
			case t.FindPrefix("Oops! Something went wrong!", 0) >= 0, t.Has("ESLint found too many warnings"):
				return t.all(scoreSure)
			}
			return match{}
		}, parse: eslintParse,
	}
}

type lintItem struct {
	BuildError
	warning bool
}

func eslintParse(t *Text, f *finding) {
	items := eslintItems(t, f)
	errors := 0
	for _, it := range items {
		if !it.warning {
			errors++
			f.build(it.BuildError)
		}
	}
	f.extra("errors", errors)
	f.extra("warnings", len(items)-errors)
	if errors == 0 && (t.ExitBad() || t.Has("ESLint found too many warnings")) {
		for _, it := range items {
			f.build(it.BuildError) // a limit on warnings
		}
	}
	if i := t.FindPrefix("Oops! Something went wrong!", 0); i >= 0 {
		body, _ := t.block(i+1, func(string) bool { return false })
		f.build(BuildError{Message: message(body[:min(len(body), 12)]...)})
		f.State = StateDidNotFinish
		return
	}
	said := lastMatch(t, eslintSum()) >= 0 || t.Has(`"errorCount":`) || eslintListed(t, len(items))
	bad := saying(t, eslintSum(), func(m []string) bool { return atoi(m[2]) > 0 })
	if i := t.Find("ESLint found too many warnings", 0); i >= 0 {
		bad = t.Line(i)
	}
	f.verdict(t, said, bad)
}

// eslintEnd says that l is ESLint's closing line, and not a test of that name.
func eslintEnd(l string) bool {
	return strings.HasPrefix(l, "✖ ") && !strings.HasSuffix(l, "ms)") && eslintSum().MatchString(l)
}

// eslintListed: the forms that only count problems are clean of errors when all of
// them are listed.
func eslintListed(t *Text, n int) bool {
	i := lastMatch(t, eslintProblem())
	return i >= 0 && n >= atoi(eslintProblem().FindStringSubmatch(t.Line(i))[1])
}

func eslintItems(t *Text, f *finding) []lintItem {
	if t.Has(`"errorCount":`) {
		return eslintJSON(t, f)
	}
	var out []lintItem
	file := ""
	for _, l := range t.lines {
		if l != "" && l[0] != ' ' {
			if m := eslintCompact().FindStringSubmatch(l); m != nil {
				out = append(out, lintItem{BuildError{t.path(m[1]), atoi(m[2]), atoi(m[3]), m[5]}, m[4] == "Warning"})
				continue
			}
			if m := eslintUnix().FindStringSubmatch(l); m != nil {
				msg := m[4]
				if m[6] != "" {
					msg += " (" + m[6] + ")"
				}
				out = append(out, lintItem{BuildError{t.path(m[1]), atoi(m[2]), atoi(m[3]), msg}, m[5] == "Warning"})
				continue
			}
			file = strings.TrimSpace(l)
			continue
		}
		m := eslintRow().FindStringSubmatch(l)
		if m == nil || file == "" {
			continue
		}
		msg := strings.TrimSpace(m[4])
		if m[5] != "" {
			msg += " (" + m[5] + ")"
		}
		out = append(out, lintItem{BuildError{t.path(file), atoi(m[1]), atoi(m[2]), msg}, m[3] == "warning" || m[3] == "⚠"})
	}
	return out
}

func eslintJSON(t *Text, f *finding) []lintItem {
	var files []struct {
		FilePath string `json:"filePath"`
		Messages []struct {
			RuleID   string `json:"ruleId"`
			Severity int    `json:"severity"`
			Message  string `json:"message"`
			Line     int    `json:"line"`
			Column   int    `json:"column"`
		} `json:"messages"`
	}
	i := strings.Index(t.whole, `[{"filePath"`)
	if i < 0 {
		i = max(strings.IndexByte(t.whole, '['), 0)
	}
	if err := json.NewDecoder(strings.NewReader(t.whole[i:])).Decode(&files); err != nil || len(files) == 0 || files[0].FilePath == "" {
		f.worse(StateDidNotFinish)
		f.note("the JSON report is incomplete")
	}
	var out []lintItem
	for _, file := range files {
		for _, m := range file.Messages {
			msg := m.Message
			if m.RuleID != "" {
				msg += " (" + m.RuleID + ")"
			}
			out = append(out, lintItem{BuildError{t.path(file.FilePath), m.Line, m.Column, msg}, m.Severity == 1})
		}
	}
	return out
}
