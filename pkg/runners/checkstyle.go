package runners

import (
	"html"
	"strings"
)

var (
	checkstyleFile  = lazy(`<file name=['"]([^'"]+)['"]`)
	checkstyleError = lazy(`<error ([^>]*?)/?>`)
	checkstyleAttr  = lazy(`(\w+)=(?:'([^']*)'|"([^"]*)")`)
)

// checkstyleParser reads the XML form that many linters share; its lines may
// hold several elements, so elements are taken in order of appearance.
func checkstyleParser() parser {
	return parser{
		name: "checkstyle", kind: kindBuild, marks: []string{"<checkstyle"},
		sniff: func(t *Text) match { return t.all(scoreCertain) },
		parse: func(t *Text, f *finding) {
			file := ""
			for _, l := range t.lines {
				if m := checkstyleFile().FindStringSubmatch(l); m != nil {
					file = html.UnescapeString(m[1])
				}
				for _, m := range checkstyleError().FindAllStringSubmatch(l, -1) {
					attr := map[string]string{}
					for _, a := range checkstyleAttr().FindAllStringSubmatch(m[1], -1) {
						attr[a[1]] = html.UnescapeString(a[2] + a[3])
					}
					f.buildOnce(BuildError{
						File: t.path(file), Line: atoi(attr["line"]), Col: atoi(attr["column"]),
						Message: strings.TrimSpace(attr["severity"] + ": " + attr["message"] + " " + attr["source"]),
					})
				}
			}
			f.verdict(t, t.Has("</checkstyle>"), "")
		},
	}
}
