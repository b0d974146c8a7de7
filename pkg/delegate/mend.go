package delegate

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// mending is one rule that puts right what no model call is needed for: code that does what was asked, in a
// form that cannot load. A rule speaks only where the code as it stands is sure to fail, and what it makes
// counts only when the gate says that it is better.
type mending struct {
	family string
	what   string // as told in the verdict
	fix    func(text string, s surface) string
}

// mendings is the table; rules of one family work one after the other.
func mendings() []mending {
	return []mending{
		{"javascript", "ES module syntax turned into CommonJS", toCommon},
		{"javascript", "CommonJS syntax turned into an ES module", toES},
		{"javascript", "the exports moved below what they name", exportsLast},
		{"javascript", "what the test imports exported", exportNames},
		{"javascript", "a built-in module imported", importNode},
		{"javascript", "assignments to a property that only has a getter left out", dropGetterWrites},
		{"python", "standard imports added", importPython},
		{"python", "the name that the test imports given to what was written under another", namePython},
		{"go", "the package clause set", packageGo},
		{"go", "imports put right", importGo},
	}
}

// mend applies the rules to a candidate; told is empty when none applies.
func (c *call) mend(files map[string]string) (mended map[string]string, told []string) {
	mended = maps.Clone(files)
	for i, rel := range c.res.Targets {
		for _, m := range mendings() {
			if m.family != c.langs[i].family() {
				continue
			}
			if text := m.fix(mended[rel], c.surfaces[i]); text != mended[rel] {
				mended[rel] = text
				told = append(told, m.what)
			}
		}
	}
	return mended, told
}

// masked is a text of the same length whose strings and comments are blanked out, line breaks aside.
func masked(l language, text string) string {
	var b strings.Builder
	scan(l, text, func(piece string, kind byte) {
		if kind == 'x' {
			b.WriteString(piece)
			return
		}
		for i := range len(piece) {
			if piece[i] == '\n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(' ')
			}
		}
	})
	return b.String()
}

// depths tells for each byte of a masked text how many brackets are open before it.
func depths(code string) []int {
	out := make([]int, len(code)+1)
	n := 0
	for i := range len(code) {
		out[i] = n
		switch code[i] {
		case '{', '(', '[':
			n++
		case '}', ')', ']':
			n--
		}
	}
	out[len(code)] = n
	return out
}

// statementEnd is where the statement that begins at from ends, its line break included: at a semicolon or a
// line end outside of brackets.
func statementEnd(code string, from int) int {
	n := 0
	for i := from; i < len(code); i++ {
		switch code[i] {
		case '{', '(', '[':
			n++
		case '}', ')', ']':
			n--
		case '\n':
			if n <= 0 && !continues(code, from, i) {
				return i + 1
			}
		}
	}
	return len(code)
}

// continues says that a statement goes on in the next line.
func continues(code string, from, end int) bool {
	line := strings.TrimRight(code[from:end], " \t\r")
	return strings.HasSuffix(line, "=") || strings.HasSuffix(line, ",") || strings.HasSuffix(line, "=>") || strings.HasPrefix(strings.TrimLeft(code[end:], " \t\r\n"), ".")
}

// declaredNode are the names that a JavaScript text declares at its top level, with where each begins.
func declaredNode(code string) map[string]int {
	out := map[string]int{}
	depth := depths(code)
	for _, m := range regexp.MustCompile(`(?m)^[ \t]*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\*?|class|const|let|var)\s+([\w$]+)`).FindAllStringSubmatchIndex(code, -1) {
		if name := code[m[2]:m[3]]; depth[m[0]] == 0 {
			if _, ok := out[name]; !ok {
				out[name] = m[0]
			}
		}
	}
	return out
}

func javascript() language { return languages()[0] }

// exported tells what a JavaScript text exports: by name, and whether as a whole.
func exported(code string) (names map[string]bool, whole bool) {
	names = map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\s*export\s+(?:async\s+)?(?:function\*?|class|const|let|var)\s+([\w$]+)`).FindAllStringSubmatch(code, -1) {
		names[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?:^|[^\w.$])(?:module\.)?exports\.([\w$]+)\s*=[^=]`).FindAllStringSubmatch(code, -1) {
		names[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?:\bmodule\.exports\s*=|[^.\w]exports\s*=)\s*\{`).FindAllStringIndex(code, -1) {
		for _, name := range objectKeys(code[m[1]:]) {
			names[name] = true
		}
	}
	for _, m := range regexp.MustCompile(`\bexport\s*\{([^}]*)\}?`).FindAllStringSubmatch(code, -1) {
		for item := range strings.SplitSeq(m[1], ",") {
			f := strings.FieldsFunc(item, func(r rune) bool { return strings.ContainsRune(" \t\r\n:", r) })
			switch {
			case len(f) > 2 && f[1] == "as" && f[2] == "default":
				whole = true
			case len(f) > 2 && f[1] == "as":
				names[f[2]] = true
			case len(f) > 0:
				names[f[0]] = true
			}
		}
	}
	whole = whole || regexp.MustCompile(`\bexport\s+default\b|\bmodule\.exports\s*=\s*[^{\s=]`).MatchString(code)
	return names, whole
}

// objectKeys are the names of an object literal in masked code, from behind its opening brace: properties, methods
// and shorthands, not what stands inside of them.
func objectKeys(code string) (keys []string) {
	key := regexp.MustCompile(`^\s*(?:(?:async|get|set)\s+)?\*?\s*([\w$]+)\s*(?:[(:,}]|$)`)
	depth, fresh := 0, true
	for i := 0; i < len(code); i++ {
		if depth == 0 && fresh {
			if m := key.FindStringSubmatch(code[i:]); m != nil {
				keys = append(keys, m[1])
			}
			fresh = false
		}
		switch code[i] {
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			if depth--; depth < 0 {
				return keys
			}
		case ',':
			fresh = depth == 0
		}
	}
	return keys
}

// exportsLast moves an export behind the class, const or let that it names: before it, the name is dead.
func exportsLast(text string, _ surface) string {
	code := masked(javascript(), text)
	depth, at := depths(code), declaredNode(code)
	var moved strings.Builder
	var out strings.Builder
	from := 0
	for _, m := range regexp.MustCompile(`(?m)^(?:module\.exports(?:\.\w+)?\s*=|exports\.\w+\s*=|export\s+default\s+)\s*`).FindAllStringIndex(code, -1) {
		if m[0] < from || depth[m[0]] != 0 {
			continue
		}
		end := statementEnd(code, m[0])
		value := strings.TrimSpace(code[m[1]:end])
		if !regexp.MustCompile(`^(?:[\w$]+|\{[\w$\s,:]*\});?$`).MatchString(value) {
			continue // code of its own, which may be meant to run here
		}
		late := false
		for _, name := range regexp.MustCompile(`[\w$]+`).FindAllString(value, -1) {
			pos, ok := at[name]
			late = late || ok && pos > m[0] && !regexp.MustCompile(`^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function|var)`).MatchString(code[pos:])
		}
		if !late {
			continue
		}
		out.WriteString(text[from:m[0]])
		moved.WriteString(strings.TrimRight(text[m[0]:end], "\n") + "\n")
		from = end
	}
	if from == 0 {
		return text
	}
	return strings.TrimLeft(strings.TrimRight(out.String()+text[from:], "\n"), "\n") + "\n\n" + moved.String()
}

// toCommon rewrites import and export for a file that is loaded as CommonJS.
func toCommon(text string, s surface) string {
	code := masked(javascript(), text)
	if s.module != modCommon || !regexp.MustCompile(`(?m)^\s*(?:export|import)\s+[\w{*'"]|^\s*(?:export|import)\s*\{`).MatchString(code) {
		return text
	}
	names, _ := exported(code)
	text = regexp.MustCompile(`(?m)^import\s+\*\s+as\s+(\w+)\s+from\s+(['"][^'"]+['"]);?`).ReplaceAllString(text, "const $1 = require($2);")
	text = regexp.MustCompile(`(?m)^import\s+(\w+)\s+from\s+(['"][^'"]+['"]);?`).ReplaceAllString(text, "const $1 = require($2);")
	text = regexp.MustCompile(`(?m)^import\s+(\{[^}]*\})\s+from\s+(['"][^'"]+['"]);?`).ReplaceAllStringFunc(text, func(line string) string {
		m := regexp.MustCompile(`(\{[^}]*\})\s+from\s+(['"][^'"]+['"])`).FindStringSubmatch(line)
		return "const " + strings.ReplaceAll(m[1], " as ", ": ") + " = require(" + m[2] + ");"
	})
	text = regexp.MustCompile(`(?m)^import\s+(['"][^'"]+['"]);?`).ReplaceAllString(text, "require($1);")
	text = regexp.MustCompile(`(?m)^export\s+\{[^}]*\};?[ \t]*\n?`).ReplaceAllString(text, "")
	named := regexp.MustCompile(`(?m)^export\s+default\s+((?:async\s+)?(?:function\*?|class)\s+([\w$]+))`)
	main := ""
	if m := named.FindStringSubmatch(text); m != nil {
		main = m[2]
		text = named.ReplaceAllString(text, "$1")
	}
	text = regexp.MustCompile(`(?m)^export\s+default\s+`).ReplaceAllString(text, "module.exports = ")
	text = regexp.MustCompile(`(?m)^export\s+((?:async\s+)?(?:function|class|const|let|var)\b)`).ReplaceAllString(text, "$1")
	text = strings.TrimRight(text, "\n") + "\n"
	if main != "" {
		text += "\nmodule.exports = " + main + ";\n"
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		text += "module.exports." + name + " = " + name + ";\n"
	}
	return text
}

// toES rewrites require and module.exports for a file that is loaded as an ES module.
func toES(text string, s surface) string {
	code := masked(javascript(), text)
	if s.module != modES || !regexp.MustCompile(`\brequire\(|\bmodule\.exports\b|(?:^|[^\w.$])exports\.\w`).MatchString(code) {
		return text
	}
	text = regexp.MustCompile(`(?m)^(?:const|let|var)\s+(\w+)\s*=\s*require\(\s*(['"][^'"]+['"])\s*\);?`).ReplaceAllString(text, "import $1 from $2;")
	text = regexp.MustCompile(`(?m)^(?:const|let|var)\s+(\w+)\s*=\s*require\(\s*(['"][^'"]+['"])\s*\)\.(\w+);?`).ReplaceAllString(text, "import { $3 as $1 } from $2;")
	text = regexp.MustCompile(`(?m)^(?:const|let|var)\s+\{([^}]*)\}\s*=\s*require\(\s*(['"][^'"]+['"])\s*\);?`).ReplaceAllStringFunc(text, func(line string) string {
		m := regexp.MustCompile(`\{([^}]*)\}\s*=\s*require\(\s*(['"][^'"]+['"])`).FindStringSubmatch(line)
		return "import {" + regexp.MustCompile(`\s*:\s*`).ReplaceAllString(m[1], " as ") + "} from " + m[2] + ";"
	})
	at := declaredNode(code)
	text = regexp.MustCompile(`(?m)^(?:module\.)?exports\.(\w+)\s*=\s*(\w+)\s*;?[ \t]*$`).ReplaceAllStringFunc(text, func(line string) string {
		m := regexp.MustCompile(`exports\.(\w+)\s*=\s*(\w+)`).FindStringSubmatch(line)
		return "export { " + m[2] + " as " + m[1] + " };"
	})
	text = regexp.MustCompile(`(?m)^(?:module\.)?exports\.(\w+)\s*=`).ReplaceAllString(text, "export const $1 =")
	text = regexp.MustCompile(`(?m)^module\.exports\s*=\s*\{([\w$\s,:]*)\}\s*;?`).ReplaceAllStringFunc(text, func(line string) string {
		var items []string
		_, list, _ := strings.Cut(line, "{")
		list, _, _ = strings.Cut(list, "}")
		for item := range strings.SplitSeq(list, ",") {
			name, value, ok := strings.Cut(strings.TrimSpace(item), ":")
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			switch {
			case ok && name != value:
				items = append(items, value+" as "+name)
			case name != "":
				items = append(items, name)
			}
		}
		return "export { " + strings.Join(items, ", ") + " };"
	})
	text = regexp.MustCompile(`(?m)^module\.exports\s*=\s*(\w+)\s*;?[ \t]*$`).ReplaceAllStringFunc(text, func(line string) string {
		name := regexp.MustCompile(`=\s*(\w+)`).FindStringSubmatch(line)[1]
		if _, ok := at[name]; ok && !s.whole {
			return "export { " + name + " };\nexport default " + name + ";"
		}
		return "export default " + name + ";"
	})
	return regexp.MustCompile(`(?m)^module\.exports\s*=\s*`).ReplaceAllString(text, "export default ")
}
