package delegate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// surface is what the tests take from one target. Names are part of the interface that the caller wants, not
// of the test's text, so a model may be told them.
type surface struct {
	module string   // modCommon, modES or "" when the language has one kind only, or nobody says which
	pkg    string   // the package clause of the Go files beside it
	names  []string // what is imported by name, in the order of the test
	whole  bool     // the module itself, or its default export, is called
}

// Kinds of JavaScript modules.
const (
	modCommon = "CommonJS"
	modES     = "ES"
)

func (s *surface) add(name string) {
	if name != "" && name != "default" && !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
	s.whole = s.whole || name == "default"
}

// surfaceOf reads the test files for what they take from the i-th target.
func (c *call) surfaceOf(i int) surface {
	rel, l := c.res.Targets[i], c.langs[i]
	var s surface
	switch l.family() {
	case "javascript":
		s.module = c.moduleKind(rel)
		for _, name := range slices.Sorted(maps.Keys(c.test.texts)) {
			if languageOf(name).family() == "javascript" {
				s.fromNode(name, rel, c.test.texts[name])
			}
		}
	case "python":
		for _, name := range slices.Sorted(maps.Keys(c.test.texts)) {
			if languageOf(name).name == "python" {
				s.fromPython(name, rel, c.test.texts[name])
			}
		}
	case "go":
		c.fromGo(&s, rel)
	}
	return s
}

// moduleKind goes by the extension and the nearest package.json, as node does. A file that other tools
// compile may hold either kind.
func (c *call) moduleKind(rel string) string {
	switch path.Ext(rel) {
	case ".mjs":
		return modES
	case ".cjs":
		return modCommon
	case ".js":
	default:
		return ""
	}
	for dir := path.Dir(rel); ; dir = path.Dir(dir) {
		b, err := os.ReadFile(c.tree.Path(path.Join(dir, "package.json")))
		if err == nil {
			if regexp.MustCompile(`"type"\s*:\s*"module"`).Match(b) {
				return modES
			}
			break
		}
		if dir == "." || dir == "/" {
			break
		}
	}
	if program(c.req.Test) == "node" {
		return modCommon
	}
	return "" // a bundler may stand between
}

// fromNode reads one JavaScript test.
func (s *surface) fromNode(test, rel, text string) {
	ours := func(spec string) bool {
		if !strings.HasPrefix(spec, ".") {
			return false
		}
		p, bare := path.Join(path.Dir(test), spec), strings.TrimSuffix(rel, path.Ext(rel))
		return p == rel || strings.TrimSuffix(p, path.Ext(p)) == bare || p == bare || path.Join(p, "index") == bare
	}
	code := stripComments(languageOf(test), text)
	taken := regexp.MustCompile(`(?m)\bimport\s+([^'";]*?)\s*from\s*['"]([^'"\n]+)['"]|(?:const|let|var)\s+(\{[^}]*\}|\w+)\s*=\s*(?:await\s+import|require)\(\s*['"]([^'"\n]+)['"]\s*\)(?:\.(\w+))?`)
	for _, m := range taken.FindAllStringSubmatch(code, -1) {
		switch {
		case m[2] != "" && ours(m[2]):
			s.bindings(code, m[1], true)
		case m[4] != "" && ours(m[4]) && m[5] != "":
			s.add(m[5])
		case m[4] != "" && ours(m[4]):
			s.bindings(code, m[3], false)
		}
	}
}

// bindings reads what stands between import and from, or left of require: {a, b as c}, a, * as a.
func (s *surface) bindings(code, text string, es bool) {
	if open := strings.IndexByte(text, '{'); open >= 0 {
		list, _, _ := strings.Cut(text[open+1:], "}")
		for item := range strings.SplitSeq(list, ",") {
			f := strings.FieldsFunc(strings.TrimPrefix(strings.TrimSpace(item), "type "), func(r rune) bool { return r == ' ' || r == ':' || r == '=' })
			if len(f) > 0 {
				s.add(f[0])
			}
		}
		text = text[:open]
	}
	star := strings.Contains(text, "*")
	f := strings.Fields(strings.Trim(strings.NewReplacer("*", " ", ",", " ", " as ", " ").Replace(text), " "))
	if len(f) == 0 || f[0] == "type" {
		return
	}
	name := f[len(f)-1]
	members := regexp.MustCompile(`(?:^|[^\w.$])`+regexp.QuoteMeta(name)+`\.(\w+)`).FindAllStringSubmatch(code, -1)
	if es && !star {
		s.whole = true
		return
	}
	called := regexp.MustCompile(`(?:^|[^\w.$])` + regexp.QuoteMeta(name) + `\(`).MatchString(code)
	if called || len(members) == 0 {
		s.whole = s.whole || called
		return
	}
	for _, m := range members {
		s.add(m[1])
	}
}

// fromPython reads one Python test.
func (s *surface) fromPython(test, rel, text string) {
	stem := strings.TrimSuffix(strings.TrimSuffix(rel, ".py"), "/__init__")
	dotted := strings.ReplaceAll(stem, "/", ".")
	ours := func(module string) bool {
		if strings.HasPrefix(module, ".") {
			dir, n := path.Dir(test), len(module)-len(strings.TrimLeft(module, "."))
			for range n - 1 {
				dir = path.Dir(dir)
			}
			return path.Join(dir, strings.ReplaceAll(module[n:], ".", "/")) == stem
		}
		return module != "" && (dotted == module || strings.HasSuffix(dotted, "."+module))
	}
	code := stripComments(languageOf(test), text)
	member := func(alias string) {
		for _, m := range regexp.MustCompile(`(?:^|[^\w.])`+regexp.QuoteMeta(alias)+`\.(\w+)`).FindAllStringSubmatch(code, -1) {
			s.add(m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\s*from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n(]+)`).FindAllStringSubmatch(code, -1) {
		for item := range strings.SplitSeq(strings.Trim(m[2], "()"), ",") {
			f := strings.Fields(item)
			switch {
			case len(f) == 0 || f[0] == "*":
			case ours(m[1]):
				s.add(f[0])
			case ours(strings.TrimSuffix(m[1], ".") + "." + f[0]):
				member(f[len(f)-1])
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\s*import\s+([\w.]+)(?:\s+as\s+(\w+))?`).FindAllStringSubmatch(code, -1) {
		if ours(m[1]) {
			member(m[1])
			if m[2] != "" {
				member(m[2])
			}
		}
	}
}

// fromGo reads the Go files beside the target: the package's name, and what its tests use that nobody declares.
func (c *call) fromGo(s *surface, rel string) {
	dir := path.Dir(rel)
	entries, err := os.ReadDir(c.tree.Path(dir))
	if err != nil {
		return
	}
	declared, used := map[string]bool{}, []string{}
	for _, e := range entries {
		name := e.Name()
		if path.Ext(name) != ".go" || path.Join(dir, name) == rel {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), c.tree.Path(path.Join(dir, name)), nil, 0)
		if err != nil {
			continue
		}
		pkg := f.Name.Name
		outside := strings.HasSuffix(name, "_test.go") && strings.HasSuffix(pkg, "_test")
		if s.pkg == "" || !strings.HasSuffix(name, "_test.go") {
			s.pkg = strings.TrimSuffix(pkg, "_test")
		}
		switch {
		case outside:
			used = append(used, selected(f, s.pkg)...)
			continue
		case strings.HasSuffix(name, "_test.go"):
			used = append(used, unresolved(f)...)
		}
		if f.Scope != nil {
			for n := range f.Scope.Objects {
				declared[n] = true
			}
		}
	}
	for _, n := range used {
		if !declared[n] {
			s.add(n)
		}
	}
}

// unresolved are the names a file uses and neither declares nor imports nor has from the language.
func unresolved(f *ast.File) []string {
	imported := map[string]bool{}
	for _, im := range f.Imports {
		imported[importName(im)] = true
	}
	var out []string
	for _, id := range f.Unresolved {
		if !imported[id.Name] && !universe(id.Name) && !slices.Contains(out, id.Name) {
			out = append(out, id.Name)
		}
	}
	return out
}

// selected are the names that a file takes from the package called pkg.
func selected(f *ast.File, pkg string) []string {
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == pkg && !slices.Contains(out, sel.Sel.Name) {
				out = append(out, sel.Sel.Name)
			}
		}
		return true
	})
	return out
}

func importName(im *ast.ImportSpec) string {
	if im.Name != nil {
		return im.Name.Name
	}
	return path.Base(strings.Trim(im.Path.Value, `"`))
}

// universe says that Go itself declares the name.
func universe(name string) bool {
	const names = ` any append bool byte cap clear close comparable complex complex128 complex64 copy delete error false float32 float64 imag int int16 int32
		int64 int8 iota len make max min new nil panic print println real recover rune string true uint uint16 uint32 uint64 uint8 uintptr _ `
	return slices.Contains(strings.Fields(names), name)
}

// writeSurfaces adds what is known of how the targets are used to the task.
func (c *call) writeSurfaces(b *strings.Builder) {
	head := "\n## Its interface\n"
	for i := range c.surfaces {
		if text := c.surfaceText(i); text != "" {
			b.WriteString(head + text + "\n")
			head = ""
		}
	}
}

// maxNames bounds how many names of an interface are told.
const maxNames = 12

// surfaceText tells the model how a target is loaded and what is taken from it; "" when nothing is known.
func (c *call) surfaceText(i int) string {
	s := c.surfaces[i]
	rel := c.res.Targets[i]
	names := s.names[:min(len(s.names), maxNames)]
	list := "`" + strings.Join(names, "`, `") + "`"
	switch {
	case s.module == modCommon && len(names) > 0 && !s.whole:
		return fmt.Sprintf("`%s` is a CommonJS module. It ends with `module.exports = { %s };`", rel, strings.Join(names, ", "))
	case s.module == modCommon && s.whole:
		return fmt.Sprintf("`%s` is a CommonJS module. It ends with `module.exports = ` and the one function or class.", rel)
	case s.module == modES && s.whole:
		return fmt.Sprintf("`%s` is an ES module with a default export.", rel)
	case s.module == modES && len(names) > 0:
		return fmt.Sprintf("`%s` is an ES module. It exports by name: %s.", rel, list)
	case c.langs[i].family() == "go" && s.pkg != "" && len(names) > 0:
		return fmt.Sprintf("`%s` belongs to package %s and declares %s.", rel, s.pkg, list)
	case c.langs[i].family() == "go" && s.pkg != "":
		return fmt.Sprintf("`%s` belongs to package %s.", rel, s.pkg)
	case c.langs[i].family() == "javascript" && len(names) > 0:
		return fmt.Sprintf("`%s` exports by name: %s.", rel, list)
	case len(names) > 0:
		return fmt.Sprintf("`%s` defines %s.", rel, list)
	}
	return ""
}
