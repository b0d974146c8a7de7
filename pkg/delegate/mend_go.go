package delegate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// packageGo gives a file the package clause of the files beside it.
func packageGo(text string, s surface) string {
	if s.pkg == "" {
		return text
	}
	clause := regexp.MustCompile(`(?m)^package (\w+)`)
	code := masked(languageOf("x.go"), text)
	m := clause.FindStringSubmatchIndex(code)
	if m == nil {
		if regexp.MustCompile(`(?m)^(?:func|import|type|const|var) `).MatchString(code) {
			return "package " + s.pkg + "\n\n" + text
		}
		return text
	}
	if text[m[2]:m[3]] == s.pkg {
		return text
	}
	return text[:m[2]] + s.pkg + text[m[3]:]
}

// goHomes are the packages of Go's library that code mostly uses, by the name it uses them under.
func goHomes() map[string]string {
	out := map[string]string{}
	for p := range strings.FieldsSeq(`bufio bytes cmp container/heap container/list context crypto/md5 crypto/sha1 crypto/sha256 encoding/base64 encoding/binary
		encoding/csv encoding/hex encoding/json errors fmt html io io/fs iter log maps math math/big math/bits net net/http net/url os path path/filepath
		reflect regexp slices sort strconv strings sync sync/atomic text/tabwriter text/template time unicode unicode/utf8`) {
		out[p[strings.LastIndexByte(p, '/')+1:]] = p
	}
	return out
}

// importGo removes imports that are not used and adds those of the library that are missing; the compiler
// refuses a file with either.
func importGo(text string, _ surface) string {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "x.go", text, parser.ParseComments)
	if err != nil {
		return text
	}
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && id.Obj == nil { // nil: not of this file
				used[id.Name] = true
			}
		}
		return true
	})
	have := map[string]bool{}
	type span struct{ from, to int }
	var drop []span
	for _, im := range f.Imports {
		name := importName(im)
		have[name] = true
		_, known := goHomes()[name]
		if used[name] || name == "_" || name == "." || im.Name == nil && !known {
			continue // the name of a package outside the library is not always its path's end
		}
		from, to := set.Position(im.Pos()).Offset, set.Position(im.End()).Offset
		drop = append(drop, span{from, to})
	}
	var add []string
	for name, p := range goHomes() {
		if used[name] && !have[name] {
			add = append(add, p)
		}
	}
	for _, d := range slices.Backward(drop) {
		from, to := d.from, d.to
		line := strings.LastIndexByte(text[:from], '\n') + 1
		if head := strings.TrimSpace(text[line:from]); head == "import" || head == "" {
			from = line
		}
		if to < len(text) && text[to] == '\n' {
			to++
		}
		text = text[:from] + text[to:]
	}
	if len(add) == 0 {
		return text
	}
	slices.Sort(add)
	at := set.Position(f.Name.End()).Offset
	return text[:at] + "\n\nimport (\n\t\"" + strings.Join(add, "\"\n\t\"") + "\"\n)" + text[at:]
}
