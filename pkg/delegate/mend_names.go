package delegate

import (
	"regexp"
	"slices"
	"strings"
)

// exportNames exports what the tests import and the file declares, or has under the only other name.
func exportNames(text string, s surface) string {
	if len(s.names) == 0 && !s.whole {
		return text
	}
	code := masked(javascript(), text)
	es := regexp.MustCompile(`(?m)^\s*export[\s{]`).MatchString(code)
	if !es && s.module == modES {
		es = true
	}
	names, whole := exported(code)
	at := declaredNode(code)
	var add []string
	for _, want := range s.names {
		if names[want] {
			continue
		}
		have := nearest(want, declaredValues(at, code))
		switch {
		case have == "":
		case es && have == want:
			add = append(add, "export { "+want+" };")
		case es:
			add = append(add, "export { "+have+" as "+want+" };")
		default:
			add = append(add, "module.exports."+want+" = "+have+";")
		}
	}
	if s.whole && !whole && len(s.names) == 0 {
		switch list := declaredValues(at, code); {
		case len(list) != 1:
		case es:
			add = append(add, "export default "+list[0]+";")
		default:
			// Names that it has been exported under stay.
			add = append(add, "module.exports = Object.assign("+list[0]+", module.exports);")
		}
	}
	if len(add) == 0 {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n\n" + strings.Join(add, "\n") + "\n"
}

// declaredValues are the functions and classes of the top level, constants that hold a function among them,
// in the order of the text.
func declaredValues(at map[string]int, code string) []string {
	var out []string
	for name, pos := range at {
		if regexp.MustCompile(`^[ \t]*(?:export\s+)?(?:default\s+)?(?:(?:async\s+)?function|class|(?:const|let|var)\s+[\w$]+\s*=\s*(?:async\s+)?(?:function|class|\([^()]*\)\s*=>|[\w$]+\s*=>))`).MatchString(code[pos:]) {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return at[a] - at[b] })
	return out
}

// nearest is the declared name that is meant by want: the same, the same but for case and underscores, or the
// only one there is; "" when it is no clear case.
func nearest(want string, declared []string) string {
	if slices.Contains(declared, want) {
		return want
	}
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	var alike []string
	for _, d := range declared {
		if plain(d) == plain(want) {
			alike = append(alike, d)
		}
	}
	switch {
	case len(alike) == 1:
		return alike[0]
	case len(alike) == 0 && len(declared) == 1:
		return declared[0]
	}
	return ""
}

// importNode adds node's own modules that are used under their name and declared nowhere.
func importNode(text string, s surface) string {
	code := masked(javascript(), text)
	es := s.module == modES || s.module == "" && regexp.MustCompile(`(?m)^\s*(?:export|import)[\s{]`).MatchString(code)
	var add strings.Builder
	for _, name := range []string{"fs", "path", "os", "util", "assert", "events", "child_process", "readline", "zlib", "http", "https", "net", "vm"} {
		word := regexp.QuoteMeta(name)
		used := regexp.MustCompile(`(?:^|[^\w.$])` + word + `\.[A-Za-z]\w*\(`).MatchString(code)
		bound := regexp.MustCompile(`(?:const|let|var|import|function|class|catch)\s*[({]?[^;\n]*\b` + word + `\b[^;\n.]*(?:=|from|\{|\))|[(,]\s*` + word + `\s*[,)=]|\b` + word + `\s*=>`).MatchString(code)
		if !used || bound {
			continue
		}
		if es {
			add.WriteString("import " + name + " from 'node:" + name + "';\n")
		} else {
			add.WriteString("const " + name + " = require('node:" + name + "');\n")
		}
	}
	if add.Len() == 0 {
		return text
	}
	return add.String() + text
}

// dropGetterWrites takes out assignments to a property for which a class has a getter and no setter: in a
// class they always throw.
func dropGetterWrites(text string, _ surface) string {
	code := masked(javascript(), text)
	for _, m := range regexp.MustCompile(`(?m)^\s*get\s+(\w+)\s*\(\s*\)\s*\{`).FindAllStringSubmatch(code, -1) {
		name := m[1]
		if regexp.MustCompile(`\bset\s+` + name + `\s*\(`).MatchString(code) {
			continue
		}
		text = dropLines(javascript(), text, regexp.MustCompile(`(?m)^[ \t]*this\.`+name+`\s*(?:(?:[-+*/]|\*\*)?=[^=>{\n][^{\n]*|\+\+|--)\s*;?[ \t]*$\n?|^[ \t]*(?:\+\+|--)this\.`+name+`\s*;?[ \t]*$\n?`))
	}
	return text
}

// dropLines removes whole lines that match in the masked text.
func dropLines(l language, text string, re *regexp.Regexp) string {
	code := masked(l, text)
	var b strings.Builder
	from := 0
	for _, m := range re.FindAllStringIndex(code, -1) {
		b.WriteString(text[from:m[0]])
		from = m[1]
	}
	return b.String() + text[from:]
}

// pythonHomes are names that everybody knows from one module of the standard library.
func pythonHomes() map[string][]string {
	return map[string][]string{
		"collections":     {"defaultdict", "Counter", "deque", "OrderedDict", "namedtuple", "ChainMap"},
		"collections.abc": {"Iterable", "Iterator", "Mapping", "MutableMapping", "Sequence", "Hashable", "Sized"},
		"typing":          {"List", "Dict", "Tuple", "Set", "Optional", "Union", "Any", "Callable", "Generator", "NamedTuple", "TypeVar", "Generic"},
		"dataclasses":     {"dataclass", "field"},
		"functools":       {"lru_cache", "reduce", "wraps", "partial", "cmp_to_key", "total_ordering", "cached_property"},
		"itertools":       {"groupby", "chain", "product", "permutations", "combinations", "zip_longest", "islice", "accumulate", "takewhile", "dropwhile", "count", "cycle", "repeat", "starmap", "pairwise"},
		"datetime":        {"datetime", "timedelta", "timezone"},
		"decimal":         {"Decimal", "ROUND_HALF_UP"},
		"fractions":       {"Fraction"},
		"enum":            {"Enum", "IntEnum"},
		"abc":             {"ABC", "abstractmethod"},
		"pathlib":         {"Path"},
		"contextlib":      {"contextmanager", "suppress"},
		"heapq":           {"heappush", "heappop", "heapify"},
		"bisect":          {"bisect_left", "bisect_right", "insort"},
		"math":            {"sqrt", "floor", "ceil", "gcd", "isclose", "inf"},
		"copy":            {"deepcopy"},
	}
}

// importPython adds modules and names of the standard library that are used and bound nowhere.
func importPython(text string, _ surface) string {
	code := masked(languageOf("x.py"), text)
	if strings.Contains(code, "import *") {
		return text
	}
	bound := func(name string) bool {
		word := regexp.QuoteMeta(name)
		return regexp.MustCompile(`(?m)\b(?:import|as|def|class|global|for|lambda)\b[^\n:]*\b` + word + `\b|^\s*` + word + `\s*(?::[^=\n]*)?=[^=]|[(,]\s*\*{0,2}` + word + `\s*(?::[^,)\n]*)?(?:=[^=]|[,)][^\n]*:\s*$)|^\s*[\w, ]*\b` + word + `\b[\w, ]*=[^=]|\b` + word + `\s*:=`).MatchString(code)
	}
	var add []string
	for _, name := range commonPython() {
		if regexp.MustCompile(`(?:^|[^\w.])`+name+`\.[A-Za-z]\w*`).MatchString(code) && !bound(name) {
			add = append(add, "import "+name)
		}
	}
	homes := pythonHomes()
	for _, home := range sortedKeys(homes) {
		var names []string
		for _, name := range homes[home] {
			used := `(?:^|[^\w.])` + name + `\s*[(\[]`
			if home == "datetime" || home == "enum" || home == "abc" || home == "typing" || home == "dataclasses" {
				used = `(?:^|[^\w.])` + name + `\b` // annotations, base classes and decorators
			}
			if regexp.MustCompile(used).MatchString(code) && !bound(name) && !slices.Contains(add, "import "+name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			add = append(add, "from "+home+" import "+strings.Join(names, ", "))
		}
	}
	if len(add) == 0 {
		return text
	}
	return insertPython(text, strings.Join(add, "\n")+"\n")
}

// insertPython puts lines in front of the first import or definition: behind a docstring and __future__.
func insertPython(text, lines string) string {
	at := 0
	if m := regexp.MustCompile(`(?ms)\A(?:\s*#[^\n]*\n|\s*\n)*(?:[rRuU]?""".*?"""|[rRuU]?'''.*?''')[^\n]*\n`).FindStringIndex(text); m != nil {
		at = m[1]
	}
	for _, m := range regexp.MustCompile(`(?m)^from __future__ import [^\n]*\n`).FindAllStringIndex(text, -1) {
		at = max(at, m[1])
	}
	return text[:at] + lines + text[at:]
}

// namePython gives the wanted name to what was written under another, when it is clear what is meant.
func namePython(text string, s surface) string {
	code := masked(languageOf("x.py"), text)
	var declared []string
	for _, m := range regexp.MustCompile(`(?m)^(?:async\s+)?(?:def|class)\s+([A-Za-z]\w*)`).FindAllStringSubmatch(code, -1) {
		declared = append(declared, m[1])
	}
	for _, want := range s.names {
		if slices.Contains(declared, want) || regexp.MustCompile(`(?m)^(?:`+regexp.QuoteMeta(want)+`\s*(?::[^=\n]*)?=|(?:from|import)\b[^\n]*\b`+regexp.QuoteMeta(want)+`\b)`).MatchString(code) {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(declared), func(d string) bool { return slices.Contains(s.names, d) })
		if have := nearest(want, others); have != "" {
			text = strings.TrimRight(text, "\n") + "\n\n\n" + want + " = " + have + "\n"
		}
	}
	return text
}
