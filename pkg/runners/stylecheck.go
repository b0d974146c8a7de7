package runners

import "strings"

var (
	rubocopLine  = lazy(`^(\S.*?):(\d+):(\d+): ([CWEFRI]): (?:\[\w+\] )?(.*)$`)
	rubocopSum   = lazy(`^(\d+) files? inspected, (\d+|no) offenses? detected(?:, (\d+) offenses? (?:auto-?)?corrected\b)?`)
	prettierFile = lazy(`^\[(?:warn|error)\] (\S+\.\w+)(?:: (.*?) \((\d+):(\d+)\))?$`)
	prettierBad  = lazy(`^(?:\[\w+\] )?(?:Code style issues found|Error occurred when checking code style) `)
	golangciSum  = lazy(`^(\d+) issues[.:]$`)
	biomeHead    = lazy(`^(\S+?\.\w+)(?::(\d+):(\d+))? ([\w/]+)(?: +FIXABLE)? +━+$`)
)

// styleParsers are formatters and linters whose findings are lines of their own form.
func styleParsers() []parser {
	return []parser{
		{name: "rubocop", kind: kindBuild, marks: []string{" inspected, "}, sniff: sniffLast(rubocopSum), parse: func(t *Text, f *finding) {
			for _, l := range t.lines {
				if m := rubocopLine().FindStringSubmatch(l); m != nil {
					f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: m[4] + ": " + m[5]})
				}
			}
			f.verdict(t, lastMatch(t, rubocopSum()) >= 0, saying(t, rubocopSum(), func(m []string) bool { return atoi(m[2]) > atoi(m[3]) }))
		}},
		{
			name: "prettier", kind: kindBuild, marks: []string{"Checking formatting...", "Code style issues", "All matched files use Prettier"}, sniff: func(t *Text) match { return t.all(scoreSure) },
			parse: func(t *Text, f *finding) {
				for _, l := range t.lines {
					if m := prettierFile().FindStringSubmatch(l); m != nil {
						msg := m[2]
						if msg == "" {
							msg = "not formatted"
						}
						f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[3]), Col: atoi(m[4]), Message: msg})
					}
				}
				f.verdict(t, t.Has("All matched files use Prettier"), saying(t, prettierBad(), nil))
			},
		},
		{name: "golangci-lint", kind: kindBuild, marks: []string{" issues.", " issues:"}, sniff: sniffLast(golangciSum), parse: func(t *Text, f *finding) {
			goErrors(t, f)
			f.verdict(t, lastMatch(t, golangciSum()) >= 0, saying(t, golangciSum(), counted))
		}},
		{name: "biome", kind: kindBuild, marks: []string{" ━━"}, sniff: sniffLast(biomeHead), parse: func(t *Text, f *finding) {
			for i, l := range t.lines {
				m := biomeHead().FindStringSubmatch(l)
				if m == nil {
					continue
				}
				var msg strings.Builder
				msg.WriteString(m[4])
				for j := i + 1; j < i+6; j++ {
					if s, ok := strings.CutPrefix(strings.TrimSpace(t.Line(j)), "× "); ok {
						msg.WriteString(": " + s)
						break
					}
				}
				f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: msg.String()})
			}
			f.verdict(t, false, "")
		}},
	}
}

// sniffLast is a sniff for a line that only this tool prints.
func sniffLast(p func() *pattern) func(t *Text) match {
	return func(t *Text) match {
		if lastMatch(t, p()) >= 0 {
			return t.all(scoreCertain)
		}
		return match{}
	}
}
