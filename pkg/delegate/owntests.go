package delegate

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// A target may hold the tests that judge it. The model writes the whole file and so those too; what judges are
// the tests as they were: they go back in, byte for byte, before anything runs.

// strange says that a file holds tests in a form that is not put back.
func strange(rel, text string) bool {
	l := languageOf(rel)
	switch l.name {
	case "ruby":
		return regexp.MustCompile(`(?m)^(?:RSpec\.)?describe\b|<\s*(?:Minitest::Test|MiniTest::\w+|Test::Unit::TestCase)\b`).MatchString(masked(l, text))
	case "php":
		return regexp.MustCompile(`\bextends\s+[\w\\]*TestCase\b`).MatchString(masked(l, text))
	case "java":
		return regexp.MustCompile(`(?m)^\s*@Test\b`).MatchString(masked(l, text))
	case "c":
		return regexp.MustCompile(`(?m)^\s*(?:TEST(?:_F|_P|_CASE)?|SUBCASE)\(`).MatchString(masked(l, text))
	case "text":
		prose := slices.Contains([]string{"", ".txt", ".rst", ".adoc"}, path.Ext(rel))
		return !prose && regexp.MustCompile(`(?m)^\s*(?:(?:test\s+"[^"\n]*"|unittest)\s*\{|@Test\b|\[(?:Fact|Theory|Test|TestMethod|TestCase)\b|#\[test\])`).MatchString(text)
	}
	return false
}

// original is a target's text as the model was shown it.
func (c *call) original(i int) string {
	return strings.ReplaceAll(strings.TrimPrefix(string(c.before[i].Data), "\ufeff"), "\r\n", "\n")
}

// wish is all that the caller wrote.
func (c *call) wish() string {
	return c.req.Spec + "\n" + c.req.Context + "\n" + strings.Join(c.req.Properties, "\n")
}

// word matches a name that stands alone.
func word(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\w$])` + regexp.QuoteMeta(name) + `(?:[^\w$]|$)`)
}

// wanted says that a name that looks like a test's is part of what is asked for: the tests take it from the
// target, or the task speaks of it and no test file has it.
func (c *call) wanted(i int, name string) bool {
	if name == "" {
		return false
	}
	if i < len(c.surfaces) && slices.Contains(c.surfaces[i].names, name) {
		return true
	}
	if l := c.langs[i].family(); l != "python" && l != "go" || !word(name).MatchString(c.wish()) {
		return false // elsewhere the names of tests are ordinary words
	}
	declares := regexp.MustCompile(`\b(?:def|class|func)\s+` + regexp.QuoteMeta(name) + `\b`)
	for _, text := range c.test.texts {
		if declares.MatchString(text) {
			return false
		}
	}
	return true
}

// product says that a Python function is called like a test and is none: the tests take it from the file, or
// the task speaks of it and the command does not run the file as a test.
func (c *call) product(i int, p part) bool {
	if c.langs[i].name != "python" || p.name() == "" {
		return false
	}
	return i < len(c.surfaces) && slices.Contains(c.surfaces[i].names, p.name()) || !c.runsTarget(i) && c.wanted(i, p.name())
}

// aside says that a part which looks like a test is none that judges the i-th target.
func (c *call) aside(i int, p part) bool {
	return c.product(i, p) || c.langs[i].name == "python" && p.name() == "" && !c.runsTarget(i)
}

// stays says that a part of an answer which looks like a test is no addition: it is asked for, the file had it,
// or it runs nothing but such functions.
func (c *call) stays(i int) func(p part, body string) bool {
	had := map[string]bool{}
	if c.before[i].Exists && c.langs[i].name == "python" {
		for _, p := range pythonParts(c.original(i)) {
			had[p.name()] = true
			had["__main__"] = had["__main__"] || isMain(p)
		}
	}
	stays := func(name string) bool { return name != "" && had[name] || c.wanted(i, name) }
	return func(p part, body string) bool {
		if c.langs[i].name != "python" || !isMain(p) {
			return stays(p.name())
		}
		calls := regexp.MustCompile(`\b(test_?\w*)\(`).FindAllStringSubmatch(body, -1)
		return had["__main__"] || len(calls) > 0 && !slices.ContainsFunc(calls, func(m []string) bool { return !stays(m[1]) })
	}
}

// runsTarget says that the command names the target, as a file or as a module.
func (c *call) runsTarget(i int) bool {
	base := path.Base(c.res.Targets[i])
	return mentions(c.req.Test, base) || word(strings.TrimSuffix(base, path.Ext(base))).MatchString(c.req.Test)
}

// ownTests are the parts of the i-th target as it was that judge it, in their order.
func (c *call) ownTests(i int) []part {
	l := c.langs[i]
	if !c.before[i].Exists || l.family() == "go" {
		return nil // go runs no tests of such a file
	}
	text := c.original(i)
	list := slices.DeleteFunc(testBlocks(l, text, true), func(p part) bool { return c.aside(i, p) })
	if l.name == "python" && len(list) > 0 {
		list = c.withHelpers(i, text, list)
	}
	return list
}

// withHelpers adds what only the tests of a Python file use: their data, and functions that assert.
func (c *call) withHelpers(i int, text string, list []part) []part {
	code := masked(c.langs[i], text)
	asserts := regexp.MustCompile(`\bassert`)
	uses := func(p part, name string) bool { return word(name).MatchString(code[p.from:p.to]) }
	parts := pythonParts(text)
	for grown := true; grown; {
		grown = false
		for _, p := range parts {
			name := p.name()
			code := code[p.from:p.to]
			switch {
			case name == "" || hasPart(list, p) || word(name).MatchString(c.wish()) || c.product(i, p):
			case regexp.MustCompile(`^(?:async\s+)?(?:def|class)\s`).MatchString(p.head) && !asserts.MatchString(code):
			case !slices.ContainsFunc(list, func(q part) bool { return uses(q, name) }):
			case slices.ContainsFunc(parts, func(q part) bool { return q.from != p.from && !hasPart(list, q) && uses(q, name) }):
			default:
				list, grown = append(list, p), true
			}
		}
	}
	slices.SortFunc(list, func(a, b part) int { return a.from - b.from })
	return list
}

func hasPart(list []part, p part) bool {
	return slices.ContainsFunc(list, func(q part) bool { return q.from == p.from })
}

// theirTests are the parts of an answer that stand for tests of the target.
func (c *call) theirTests(i int, text string, own []part) []part {
	list := slices.DeleteFunc(testBlocks(c.langs[i], text, true), func(p part) bool { return c.aside(i, p) })
	if c.langs[i].name != "python" {
		return list
	}
	for _, p := range pythonParts(text) {
		if p.name() != "" && !hasPart(list, p) && slices.ContainsFunc(own, func(q part) bool { return q.name() == p.name() }) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b part) int { return a.from - b.from })
	return list
}

// putTests gives an answer the target's own tests back: where the model left them, or all at the end.
func (c *call) putTests(i int, text string) string {
	own := c.ownTests(i)
	if len(own) == 0 {
		return text
	}
	l, was := c.langs[i], c.original(i)
	key := func(text string, p part) string {
		if l.family() == "javascript" || p.name() == "" {
			return firstLine(text[p.from:]) // the title, or the statement
		}
		return p.name()
	}
	body := func(p part) string { return strings.TrimRight(was[p.from:p.to], "\n") + "\n" }
	their := c.theirTests(i, text, own)
	place := make([]int, len(their)) // which of the own ones stands here; -1: none
	next := 0
	for n, p := range their {
		place[n] = -1
		if next < len(own) && key(text, p) == key(was, own[next]) {
			place[n] = next
			next++
		}
	}
	for n, p := range slices.Backward(their) {
		put := ""
		if k := place[n]; k >= 0 && next == len(own) {
			old := text[p.from:p.to]
			put = body(own[k]) + strings.Repeat("\n", max(0, len(old)-len(strings.TrimRight(old, "\n"))-1))
		}
		text = text[:p.from] + put + text[p.to:]
	}
	if next < len(own) {
		gap := "\n"
		if l.name == "python" {
			gap = "\n\n"
		}
		text = strings.TrimRight(text, "\n") + "\n"
		for _, p := range own {
			text += gap + body(p)
		}
	}
	return c.testImports(i, text, own)
}

// testImports gives the file the imports back that only its tests need.
func (c *call) testImports(i int, text string, own []part) string {
	l, was := c.langs[i], c.original(i)
	if l.family() == "javascript" {
		var add strings.Builder
		for _, line := range runnerImports(l).FindAllString(was, -1) {
			if !strings.Contains(text, strings.TrimSpace(line)) {
				add.WriteString(strings.TrimRight(line, "\n") + "\n")
			}
		}
		head := regexp.MustCompile(`\A(?:#![^\n]*\n)?(?:\s*['"]use strict['"];?[^\n]*\n)?`).FindString(text)
		return head + add.String() + text[len(head):]
	}
	if l.name != "python" {
		return text
	}
	have := map[string]bool{}
	for _, p := range pythonParts(text) {
		for _, name := range append(p.names, imported(text, p)...) {
			have[name] = true
		}
	}
	code := masked(l, was)
	for _, p := range slices.Backward(pythonParts(was)) {
		missing := slices.ContainsFunc(imported(was, p), func(name string) bool {
			return !have[name] && slices.ContainsFunc(own, func(q part) bool { return word(name).MatchString(code[q.from:q.to]) })
		})
		if missing {
			text = insertPython(text, strings.TrimRight(was[p.from:p.to], "\n")+"\n")
		}
	}
	return text
}

// imported are the names that a statement of Python imports.
func imported(text string, p part) []string {
	m := regexp.MustCompile(`(?s)\A(?:from\s+\S+\s+)?import\s+(.*)`).FindStringSubmatch(masked(languageOf("x.py"), text[p.from:p.to]))
	if m == nil {
		return nil
	}
	return bound(languageOf("x.py"), m[1])
}

// touchesTests says what an answer does to the tests that the target holds; "" for nothing. What stands beside
// them could still take their names, or their marks, away.
func (c *call) touchesTests(i int, text string) string {
	own := c.ownTests(i)
	if c.langs[i].name != "python" || len(own) == 0 {
		return ""
	}
	outside := func(text string, list []part) string {
		code := masked(c.langs[i], text)
		for _, p := range slices.Backward(list) {
			code = code[:p.from] + code[p.to:]
		}
		return code
	}
	was, now := outside(c.original(i), own), outside(text, c.theirTests(i, text, own))
	for _, p := range own {
		if name := p.name(); name != "" && word(name).MatchString(now) && !word(name).MatchString(was) {
			return "the file does something to its own tests (" + name + "); it may not"
		}
	}
	return ""
}
