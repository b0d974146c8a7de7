package delegate

import (
	"regexp"
	"slices"
	"strings"
)

// globals are names that JavaScript has without an import.
func globals() []string {
	return strings.Fields(`AbortController Array Boolean Buffer Date Error EvalError Infinity Intl JSON Map Math NaN Number Object Promise Proxy RangeError
		ReferenceError Reflect RegExp Set String Symbol SyntaxError TextDecoder TextEncoder TypeError URL URLSearchParams WeakMap WeakSet console fetch
		process setTimeout structuredClone`)
}

// dropIdleImport takes out the import of a module that is not there, when nothing depends on it: the file uses
// none of its names, or has them anyway. Otherwise the text comes back as it was.
func dropIdleImport(l language, text, module string) string {
	quoted := `['"]` + regexp.QuoteMeta(module) + `['"]`
	var forms []string
	switch l.family() {
	case "javascript":
		forms = []string{
			`(?m)^[ \t]*import\s+([^'";]*?)\s*(?:from\s*)?` + quoted + `[ \t]*;?[ \t]*\n?`,
			`(?m)^[ \t]*(?:const|let|var)\s+(\{[^}]*\}|[\w$]+)\s*=\s*require\(\s*` + quoted + `\s*\)(?:\.[\w$]+)?[ \t]*;?[ \t]*\n?`,
		}
	case "python":
		top := regexp.QuoteMeta(module) + `(?:\.[\w.]+)?`
		forms = []string{`(?m)^from\s+` + top + `\s+import\s+(\([^)]*\)|[^\n(]+)\n?`, `(?m)^import\s+(` + top + `(?:\s+as\s+\w+)?)[ \t]*\n?`}
	}
	for _, form := range forms {
		for _, m := range regexp.MustCompile(form).FindAllStringSubmatchIndex(text, -1) {
			rest := text[:m[0]] + text[m[1]:]
			code := masked(l, rest)
			idle := !slices.ContainsFunc(bound(l, text[m[2]:m[3]]), func(name string) bool {
				if l.family() == "javascript" && (slices.Contains(globals(), name) || declaredNode(code)[name] > 0) {
					return false
				}
				return regexp.MustCompile(`(?:^|[^\w$.])` + regexp.QuoteMeta(name) + `(?:[^\w$]|$)`).MatchString(code)
			})
			if idle {
				return rest
			}
		}
	}
	return text
}

// bound are the names that an import clause binds: the last word of each item.
func bound(l language, clause string) []string {
	var out []string
	for item := range strings.SplitSeq(strings.NewReplacer("{", ",", "}", ",", "(", ",", ")", ",", "*", " ").Replace(clause), ",") {
		f := strings.FieldsFunc(item, func(r rune) bool { return strings.ContainsRune(" \t\r\n:=", r) })
		if len(f) == 0 {
			continue
		}
		name := f[len(f)-1]
		if l.name == "python" {
			name, _, _ = strings.Cut(name, ".")
		}
		out = append(out, name)
	}
	return out
}
