package runners

import "strings"

var (
	tscLine   = lazy(`^(.+?)\((\d+),(\d+)\): error (TS\d+: .*)$`)
	tscPretty = lazy(`^(.+?):(\d+):(\d+) - error (TS\d+: .*)$`)
	tscGlobal = lazy(`^error (TS\d+: .*)$`)
	tscFound  = lazy(`Found (\d+) errors?`)
)

func tscParser() parser {
	return parser{
		name: "tsc", kind: kindBuild, marks: []string{"error TS", "Found 0 errors", "error\x1b"},
		sniff: func(t *Text) match {
			if lastMatch(t, tscLine()) >= 0 || lastMatch(t, tscPretty()) >= 0 || lastMatch(t, tscGlobal()) >= 0 || t.Has("Found 0 errors. Watching") {
				return t.all(scoreCertain)
			}
			return match{}
		},
		parse: func(t *Text, f *finding) {
			for i, l := range t.lines {
				if !strings.Contains(l, "error TS") {
					continue
				}
				m := tscLine().FindStringSubmatch(l)
				if m == nil {
					m = tscPretty().FindStringSubmatch(l)
				}
				if m == nil {
					if g := tscGlobal().FindStringSubmatch(l); g != nil {
						f.buildOnce(BuildError{Message: g[1]})
					}
					continue
				}
				lines := []string{m[4]}
				for j := i + 1; strings.HasPrefix(t.Line(j), "  ") && !blank(t.Line(j)); j++ {
					lines = append(lines, t.Line(j))
				}
				f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: strings.Join(lines, "\n")})
			}
			f.verdict(t, lastMatch(t, tscFound()) >= 0, saying(t, tscFound(), counted))
		},
	}
}
