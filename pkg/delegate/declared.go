package delegate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A model that is asked for the whole file may send the part it was told of. What it leaves out no test need
// miss, so the names of the file as it was are held against those of the answer.

// declared counts the names that a source file declares: those of its top level, and the methods of its classes
// as Class.method where the language tells them apart.
func declared(l language, text string) map[string]int {
	code := masked(l, text)
	switch l.family() {
	case "python":
		return declaredPython(text, code)
	case "javascript":
		return declaredScript(code)
	case "go":
		if out := declaredGo(text); out != nil {
			return out
		}
	}
	out := map[string]int{}
	depth := depths(code)
	for _, d := range declarations() {
		if !slices.Contains(d.languages, l.name) {
			continue
		}
		for _, m := range regexp.MustCompile(`(?m)`+d.re).FindAllStringSubmatchIndex(code, -1) {
			if name := code[m[2]:m[3]]; depth[m[2]] <= d.depth && !slices.Contains(keywords(), name) {
				out[name]++
			}
		}
	}
	return out
}

// declaration is a form in which a language declares a name, in group 1.
type declaration struct {
	languages []string
	re        string
	depth     int // how many brackets may be open before the name
}

// declarations is the table for languages that are not parsed; what is inside a function is not told from what
// is inside a class, so only functions are looked for there.
func declarations() []declaration {
	return []declaration{
		{[]string{"go"}, `^func (?:\([^)]*\) )?(\w+)`, 0},
		{[]string{"go"}, `^(?:type|var|const) (\w+)`, 0},
		{[]string{"rust"}, `^\s*(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|mod|type|union|static|const)\s+(?:mut\s+)?(\w+)`, 0},
		{[]string{"rust"}, `^\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:default|const|async|unsafe|extern)\s+)*fn\s+(\w+)`, 1},
		{[]string{"rust"}, `^\s*macro_rules!\s*(\w+)`, 0},
		{[]string{"ruby"}, `^\s*(?:def\s+(?:self\.)?|class\s+|module\s+)([\w:]+[?!=]?)`, 0},
		{[]string{"ruby"}, `^\s*([A-Z]\w*)\s*=[^=]`, 0},
		{[]string{"php"}, `\b(?:function\s+&?|class\s+|interface\s+|trait\s+|enum\s+)(\w+)`, 1},
		{[]string{"php"}, `^\s*(?:(?:public|private|protected|final)\s+)*const\s+(?:\w+\s+)?(\w+)\s*=`, 1},
		{[]string{"shell"}, `^(?:function\s+)?([\w-]+)\s*\(\)`, 0},
		{[]string{"shell"}, `^function\s+([\w-]+)`, 0},
		{[]string{"java"}, `\b(?:class|interface|enum|record)\s+(\w+)`, 1},
		{[]string{"java"}, `^\s*(?:(?:public|private|protected|static|final|abstract|synchronized)\s+)+(?:<[^>]*>\s*)?[\w<>\[\], ?.]+\s(\w+)\s*\(`, 2},
		{[]string{"c"}, `^[A-Za-z_][\w \t*&:<>,]*[ \t*&](\w+)\([^;{}]*\)[^;{}]*\{`, 0},
		{[]string{"c"}, `^\s*#\s*define\s+(\w+)`, 0},
		{[]string{"c"}, `^(?:typedef\s+)?(?:struct|enum|union|class)\s+(\w+)[^;()]*\{`, 0},
	}
}

// keywords are words that a form of the table may take for a name.
func keywords() []string {
	return strings.Fields("if for while switch catch return else do try function")
}

func declaredPython(text, code string) map[string]int {
	out := map[string]int{}
	method := regexp.MustCompile(`(?m)^([ \t]+)(?:async\s+)?(?:def|class)\s+(\w+)`)
	for _, p := range pythonParts(text) {
		for _, name := range p.names {
			out[name] = 1
		}
		list := method.FindAllStringSubmatch(code[p.from:p.to], -1)
		if len(list) == 0 || strings.HasPrefix(p.head, "def ") || strings.HasPrefix(p.head, "async ") {
			continue
		}
		first := slices.MinFunc(list, func(a, b []string) int { return len(a[1]) - len(b[1]) })
		for _, m := range list {
			switch {
			case m[1] != first[1]: // inside a method
			case strings.HasPrefix(p.head, "class "):
				out[p.name()+"."+m[2]] = 1
			default:
				out[m[2]] = 1 // under if or try
			}
		}
	}
	return out
}

func declaredScript(code string) map[string]int {
	out := map[string]int{}
	at := declaredNode(code)
	depth := depths(code)
	for name, pos := range at {
		if !takenIn(code[pos:]) {
			out[name] = 1
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^[ \t]*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+class|interface|type|enum|namespace)\s+([\w$]+)`).FindAllStringSubmatchIndex(code, -1) {
		if depth[m[0]] == 0 {
			out[code[m[2]:m[3]]] = 1
		}
	}
	names, _ := exported(code)
	for name := range names {
		out[name] = 1
	}
	method := regexp.MustCompile(`(?m)^[ \t]*(?:(?:static|async|get|set|public|private|protected|readonly|override)\s+)*\*?\s*([\w$]+)\s*(?:<[^>\n]*>)?(?:\(|=\s*(?:async\s*)?(?:\(|[\w$]+\s*=>))`)
	for _, m := range regexp.MustCompile(`(?m)^[ \t]*(?:export\s+)?(?:default\s+)?(?:abstract\s+)?class\s+([\w$]+)[^{]*\{`).FindAllStringSubmatchIndex(code, -1) {
		end := closing(code, m[1]-1, '{', '}')
		if depth[m[0]] != 0 || end < 0 {
			continue
		}
		for _, k := range method.FindAllStringSubmatchIndex(code[m[1]:end], -1) {
			if name := code[m[1]+k[2] : m[1]+k[3]]; depth[m[1]+k[0]] == 1 && !slices.Contains(keywords(), name) {
				out[code[m[2]:m[3]]+"."+name] = 1
			}
		}
	}
	return out
}

// declaredGo is nil for a file that does not parse.
func declaredGo(text string) map[string]int {
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	out := map[string]int{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil && len(d.Recv.List) > 0 {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			out[name]++
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					out[s.Name.Name]++
				case *ast.ValueSpec:
					for _, n := range s.Names {
						out[n.Name]++
					}
				}
			}
		}
	}
	delete(out, "_")
	return out
}

// receiver is the name of a method's type.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// lost are the names of the i-th target as it was that an answer no longer has, though nobody asked for that;
// files are all targets of the answer, since code may move from one to another.
func (c *call) lost(i int, files map[string]string) []string {
	if !c.before[i].Exists {
		return nil
	}
	was := c.original(i)
	for _, p := range slices.Backward(c.ownTests(i)) {
		was = was[:p.from] + was[p.to:]
	}
	names := declared(c.langs[i], was)
	have := declared(c.langs[i], files[c.res.Targets[i]])
	for j, rel := range c.res.Targets {
		if j == i {
			continue
		}
		old := declared(c.langs[j], c.original(j))
		for name := range declared(c.langs[j], files[rel]) {
			if old[name] == 0 {
				have[name] = max(have[name], names[name])
			}
		}
	}
	all := c.releases(slices.Sorted(maps.Keys(names)))
	code := masked(c.langs[i], files[c.res.Targets[i]])
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		class, member, isMember := strings.Cut(name, ".")
		switch {
		case have[name] >= names[name] || all(name):
		case isMember && (slices.Contains(out, class) || all(class) || strings.HasPrefix(member, "_") && !strings.HasPrefix(member, "__")):
			// The class is told, or what is missing is its own affair.
		case have[name] == 0 && boundAnyway(code, name):
		default:
			out = append(out, name)
		}
	}
	return out
}

// boundAnyway finds a name that an answer declares in a form of its own: imported, assigned, inside a condition.
func boundAnyway(code, name string) bool {
	name = regexp.QuoteMeta(name[strings.LastIndexByte(name, '.')+1:])
	return regexp.MustCompile(`(?m)\b(?:def|class|func|function\*?|fn|const|let|var|type|struct|enum|trait|interface|mod)\s+(?:\([^)]*\)\s*|self\.|mut\s+)?` + name + `(?:[^\w$]|$)` +
		`|^\s*(?:from|import|use|export|pub use|require)\b[^\n]*[^\w$]` + name + `(?:[^\w$]|$)` +
		`|^\s*(?:(?:export|static|public|private|readonly|const|let|var)\s+)*(?:[\w$]+\.)*` + name + `\s*(?::[^=\n]+)?=[^=]`).MatchString(code)
}

// releases tells which names the task lets go: a sentence that speaks of removing or renaming names them, or
// speaks of functions in general.
func (c *call) releases(names []string) func(string) bool {
	let := map[string]bool{}
	every := false
	removing := regexp.MustCompile(`(?i)\b(?:remov|delet|drop|renam|replac|rid of|no longer|instead of|becom|inlin|merg|mov(?:e|ed|es|ing)\b|split|obsolete|deprecat|dead|unused|now called|rewrit)|→|->|=>`)
	general := regexp.MustCompile(`(?i)\b(?:remov|delet|drop|renam|inlin|merg|replac|rewrit)\w*\s+(?:\w+\s+){0,4}?(?:functions?|methods?|class(?:es)?|helpers?|constants?|dead code|unused code|(?:whole|entire) file|everything)\b|\bfrom scratch\b`)
	for s := range strings.SplitSeq(regexp.MustCompile(`[.;!?]\s+|\n`).ReplaceAllString(c.wish(), "\x00"), "\x00") {
		if !removing.MatchString(s) && !general.MatchString(s) {
			continue
		}
		named := false
		for _, name := range names {
			plain := name[strings.LastIndexByte(name, '.')+1:]
			if word(plain).MatchString(s) {
				let[name], named = true, true
			}
		}
		every = every || !named && general.MatchString(s)
	}
	return func(name string) bool { return every || let[name] }
}

// elided matches a comment that stands for code which is not sent.
func elided() *regexp.Regexp {
	const mark = `^\s*(?:#|//|/\*|--|<!--)\s*`
	return regexp.MustCompile(`(?im)` + mark + `(?:\.\.\.|…)\s*(?:\*/|-->)?\s*$` +
		`|` + mark + `(?:\.\.\.|…)\s*\(?\s*(?:the\s+)?(?:rest|existing|other|remaining|previous|unchanged|same|original|keep)\b.*$` +
		`|` + mark + `(?:the\s+)?(?:rest of|remaining|existing|other) (?:the )?(?:\w+ )?(?:code|file|functions?|methods?|class|implementation)\b.{0,40}(?:unchanged|the same|as before|as is|here|remains?|stays?|\.\.\.).*$`)
}

// leavesOut says what an answer lacks of the file as it was; "" for nothing.
func (c *call) leavesOut(i int, files map[string]string) string {
	if !c.before[i].Exists {
		return ""
	}
	if gone := c.lost(i, files); len(gone) > 0 {
		more := ""
		if n := len(gone) - maxNames; n > 0 {
			gone, more = gone[:maxNames], fmt.Sprintf(" and %d more", n)
		}
		return "the answer leaves out " + strings.Join(gone, ", ") + more + "; send the whole file"
	}
	was := c.original(i)
	for _, line := range elided().FindAllString(files[c.res.Targets[i]], -1) {
		if !strings.Contains(was, line) {
			return "the answer leaves out code (" + clip(strings.TrimSpace(line), 80) + "); send the whole file"
		}
	}
	return ""
}

// remark notes what a pass does not tell of the files it is about.
func (c *call) remark() {
	comments := c.req.AllowGreen
	for i, rel := range c.res.Targets {
		l, was, now := c.langs[i], c.original(i), c.best.files[rel]
		comments = comments && c.before[i].Exists && normal(l, stripComments(l, was)) == normal(l, stripComments(l, now))
		if len(declared(l, was)) > 0 {
			continue
		}
		// Nothing in the file has a name by which it could be missed.
		if kept, all := keptLines(was, now); all >= 10 && 2*kept < all {
			c.note("%s keeps %d of the %d lines it had", rel, kept, all)
		}
	}
	if comments {
		c.note("what differs from the files as they were looks like comments only")
	}
}

// keptLines counts the lines of a text, blank ones aside, and those of them that another text has too.
func keptLines(was, now string) (kept, all int) {
	have := map[string]bool{}
	for line := range strings.SplitSeq(now, "\n") {
		have[strings.TrimSpace(line)] = true
	}
	for line := range strings.SplitSeq(was, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			all++
			if have[line] {
				kept++
			}
		}
	}
	return kept, all
}
