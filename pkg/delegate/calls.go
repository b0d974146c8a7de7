package delegate

import (
	"regexp"
	"slices"
	"strings"
)

// The call of a red test is told beside what came of it. It is read off the test: calls of what the test takes
// from the targets, with nothing but plain values as arguments. Any other text of the test stays hidden.

// maxCalls bounds how many calls of one test are told; more would say less.
const maxCalls = 2

// callOf names what a red test called; "" when that is not plain.
func (c *call) callOf(id, file string, line int) string {
	for _, rel := range c.test.files {
		text := c.test.texts[rel]
		l := languageOf(rel)
		if text == "" {
			continue
		}
		code := masked(l, text)
		var calls []string
		if line > 0 && (file == rel || strings.HasSuffix(rel, "/"+file) || strings.HasSuffix(file, "/"+rel)) {
			calls = c.plainCalls(l, text, code, lineStart(code, line), statementEnd(code, lineStart(code, line)))
		}
		if len(calls) == 0 {
			if from, to := bodyOf(l, text, id); to > from {
				calls = c.plainCalls(l, text, code, from, to)
			}
		}
		if n := len(calls); n > 0 {
			if n > maxCalls {
				return ""
			}
			return strings.Join(calls, ", ")
		}
	}
	return ""
}

// lineStart is where the n-th line begins.
func lineStart(text string, n int) int {
	at := 0
	for range n - 1 {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// bodyOf is the part of a test file that belongs to the test with this id: from its declaration to the next.
func bodyOf(l language, text, id string) (from, to int) {
	if l.declared == "" || id == "" {
		return 0, 0
	}
	if i := strings.IndexByte(id, '['); i > 0 && l.name == "python" {
		return 0, 0 // one of several sets of values
	}
	all := regexp.MustCompile(l.declared).FindAllStringSubmatchIndex(text, -1)
	for i, m := range all {
		name := ""
		for g := 2; g+1 < len(m); g += 2 {
			if m[g] >= 0 {
				name = text[m[g]:m[g+1]]
			}
		}
		if id != name && !strings.HasSuffix(id, "::"+name) && !strings.HasSuffix(id, " > "+name) && !strings.HasSuffix(id, "."+name) {
			continue
		}
		if to > from {
			return 0, 0 // two tests of one name
		}
		from, to = m[0], len(text)
		if i+1 < len(all) {
			to = all[i+1][0]
		}
	}
	return from, to
}

// plainCalls finds the calls in a part of a test, each once.
func (c *call) plainCalls(l language, text, code string, from, to int) []string {
	var names []string
	for _, s := range c.surfaces {
		for _, n := range s.names {
			names = append(names, regexp.QuoteMeta(n))
		}
	}
	if len(names) == 0 || to > len(code) {
		return nil
	}
	var out []string
	re := regexp.MustCompile(`(?:^|[^\w$])((?:new\s+|\w+\.)?(?:` + strings.Join(names, "|") + `)\()`)
	for at := from; at < to; {
		m := re.FindStringSubmatchIndex(code[at:to])
		if m == nil {
			break
		}
		begin, open := at+m[2], at+m[3]-1
		end := shut(code, open)
		if end < 0 || end > to {
			break
		}
		if plainValues(code[open:end], names) {
			if t := text[begin:end]; !slices.Contains(out, t) && len(t) <= 200 && !strings.Contains(t, "\n") && !makes(l, t) {
				out = append(out, t)
			}
		}
		at = end
	}
	return out
}

// makes says that a call makes an object, of which the test then asks more than the call tells.
func makes(l language, call string) bool {
	name := call[strings.LastIndexByte(call[:strings.IndexByte(call, '(')], '.')+1:]
	return strings.HasPrefix(call, "new ") || l.name == "python" && name[0] >= 'A' && name[0] <= 'Z'
}

// shut is the index behind the bracket that closes the one at open; -1 when none does.
func shut(code string, open int) int {
	n := 0
	for i := open; i < len(code); i++ {
		switch code[i] {
		case '(', '[', '{':
			n++
		case ')', ']', '}':
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// plainValues says that the arguments hold literals only, calls of the interface among them.
func plainValues(args string, names []string) bool {
	words := regexp.MustCompile(`[A-Za-z_$][\w$]*\s*:?`)
	for _, w := range words.FindAllStringIndex(args, -1) {
		word := args[w[0]:w[1]]
		if w[0] > 0 && (args[w[0]-1] >= '0' && args[w[0]-1] <= '9') {
			continue // an exponent or a suffix of a number
		}
		if strings.HasSuffix(word, ":") {
			continue // a key
		}
		switch word = strings.TrimSpace(word); word {
		case "true", "false", "null", "undefined", "None", "True", "False", "nil", "NaN", "Infinity", "new", "b", "r", "f", "u", "string", "int", "float64", "bool", "byte", "rune":
			continue
		}
		if !slices.Contains(names, regexp.QuoteMeta(word)) {
			return false
		}
	}
	return true
}
