package runners

import (
	"strings"
)

// node:test prints "spec" on terminals and from node 23 everywhere, TAP into
// pipes before; "dot" has names only for failures. A file that ends early, is
// empty or whose tests are all filtered out is one passed test named like the
// file: that is not a pass.

func sniffNodeSpec(t *Text) match {
	i := t.LastPrefix("ℹ tests ")
	if i < 0 {
		i = t.LastPrefix("ℹ pass ")
	}
	if i >= 0 {
		end := i + 1
		for end < t.Len() && strings.HasPrefix(t.Line(end), "ℹ ") {
			end++
		}
		if strings.HasPrefix(t.Line(end+1), "✖ failing tests:") {
			end = t.Len()
		}
		return span(scoreCertain, nodeStart(t), end)
	}
	if sniffNodeDot(t).score >= scoreLikely {
		return match{}
	}
	if t.Has("node:internal/test_runner/") && t.FindPrefix("✖ ", 0) >= 0 {
		return t.all(scoreSure)
	}
	if t.FindPrefix("Could not find '", 0) == 0 && t.Len() < 3 {
		return t.all(scoreWeak + 10)
	}
	if specLines(t) {
		return t.all(scoreWeak + 10)
	}
	return match{}
}

// nodeStart is the first line of spec output.
func nodeStart(t *Text) int {
	for i := range t.Len() {
		if s := strings.TrimLeft(t.Line(i), " "); eslintEnd(s) {
			continue
		} else if strings.HasPrefix(s, "▶ ") || strings.HasPrefix(s, "✔ ") || strings.HasPrefix(s, "✖ ") || strings.HasPrefix(s, "﹣ ") || strings.HasPrefix(s, "ℹ ") {
			return i
		}
	}
	return 0
}

// specLines reports result lines with a duration as only node prints them.
func specLines(t *Text) bool {
	for i := range t.Len() {
		s := strings.TrimLeft(t.Line(i), " ")
		if (strings.HasPrefix(s, "✔ ") || strings.HasPrefix(s, "✖ ")) && strings.HasSuffix(s, "ms)") && strings.Contains(s, ".") {
			return true
		}
	}
	return false
}

// specNode is a failed line of the result tree.
type specNode struct {
	path   []string
	name   string
	line   int // index
	indent int
	suite  bool // closes a "▶" group
	used   bool
}

// specTree is what the result lines of a spec report hold.
type specTree struct {
	failed      []specNode
	passed      int
	files       []string // passed tests named like a file
	leaves      int
	open        []specNode // groups not closed
	messages    map[int][]string
	childFailed map[string]bool
}

// specResult splits "✖ name (1.2ms) # why"; more says that the name goes on in
// the next line. A duration is not printed for tests that never ran.
func specResult(t *Text, i int) (mark, name, directive string, last int, ok bool) {
	s := strings.TrimLeft(t.Line(i), " ")
	if eslintEnd(s) {
		return "", "", "", i, false
	}
	mark, s, ok = strings.Cut(s, " ")
	if !ok || mark != "✔" && mark != "✖" && mark != "﹣" && mark != "▶" && mark != "⚠" {
		return "", "", "", i, false
	}
	if mark == "▶" {
		if n, _, found := cutDuration(s); found { // older versions close groups with ▶ name (1ms)
			return mark, n, "close", i, true
		}
		return mark, s, "", i, true
	}
	own := indent(t.Line(i))
	full := s
	for j := i; ; j++ {
		if n, d, found := cutDuration(full); found {
			return mark, n, d, j, true
		}
		next := t.Line(j + 1)
		if j-i > 20 || j+1 >= t.Len() || j == i && (strings.TrimSpace(next) == "" || indent(next) > own) || isSpecMark(next) {
			return mark, s, "", i, true
		}
		full += "\n" + next
	}
}

func isSpecMark(l string) bool {
	s := strings.TrimLeft(l, " ")
	for _, m := range []string{"✔ ", "✖ ", "﹣ ", "▶ ", "ℹ ", "⚠ "} {
		if strings.HasPrefix(s, m) {
			return true
		}
	}
	return false
}

// cutDuration cuts " (1.234ms)" and a following " # directive".
func cutDuration(s string) (name, directive string, ok bool) {
	end := len(s)
	for {
		i := strings.LastIndex(s[:end], "ms)")
		if i < 0 {
			return s, "", false
		}
		rest := s[i+3:]
		j := strings.LastIndex(s[:i], " (")
		if j >= 0 && isDecimal(s[j+2:i]) && (rest == "" || strings.HasPrefix(rest, " #")) {
			return s[:j], strings.TrimSpace(rest), true
		}
		end = i
	}
}

func isDecimal(s string) bool {
	for i := 0; i < len(s); i++ {
		if (s[i] < '0' || s[i] > '9') && s[i] != '.' && s[i] != 'e' && s[i] != '-' {
			return false
		}
	}
	return s != ""
}

// readSpecTree reads result lines up to the summary.
func readSpecTree(t *Text, end int) specTree {
	tree := specTree{messages: map[int][]string{}, childFailed: map[string]bool{}}
	var stack []specNode
	for i := 0; i < end; i++ {
		mark, name, dir, last, ok := specResult(t, i)
		if !ok {
			continue
		}
		ind := indent(t.Line(i))
		for len(stack) > 0 && stack[len(stack)-1].indent > ind {
			stack = stack[:len(stack)-1]
		}
		top := len(stack) - 1
		if mark == "▶" && dir == "" {
			if top >= 0 && stack[top].indent == ind {
				stack = stack[:top]
			}
			stack = append(stack, specNode{name: name, indent: ind, line: i})
			continue
		}
		node := specNode{name: name, indent: ind, line: last}
		if top >= 0 && stack[top].indent == ind {
			node.suite = stack[top].name == name
			stack = stack[:top]
		}
		for _, s := range stack {
			node.path = append(node.path, s.name)
		}
		i = last
		tree.take(mark, dir, node)
	}
	tree.open = stack
	return tree
}

func (tree *specTree) take(mark, dir string, n specNode) {
	key := strings.Join(append(n.path, n.name), "\x00")
	switch {
	case mark == "✖" && (dir == "" || n.suite):
		if n.suite && tree.childFailed[key] {
			return
		}
		tree.failed = append(tree.failed, n)
		for i := range n.path {
			tree.childFailed[strings.Join(n.path[:i+1], "\x00")] = true
		}
		tree.leaves++
	case mark == "✔" && !n.suite:
		tree.leaves++
		tree.passed++
		if len(n.path) == 0 && looksLikeFile(n.name) {
			tree.files = append(tree.files, n.name)
		}
	}
}

func parseNodeSpec(t *Text, f *finding) {
	if t.FindPrefix("Could not find '", 0) == 0 {
		f.State = StateNoTests
		f.note(t.Line(0))
		return
	}
	sum := t.LastPrefix("ℹ tests ")
	end := t.FindPrefix("✖ failing tests:", max(sum, 0))
	if sum >= 0 {
		readNodeTotals(t, sum, "ℹ ", f)
	}
	treeEnd := t.Len()
	if end >= 0 {
		treeEnd = end
	}
	tree := readSpecTree(t, treeEnd)
	details := t.Slice(0, treeEnd)
	if end >= 0 {
		details = t.Slice(end+1, t.Len())
	}
	blocks := specFailures(details, end >= 0)
	nodeFailures(t, tree, blocks, f)
	complete := sum >= 0 && t.FindPrefix("ℹ fail ", sum) >= 0
	if complete && len(tree.failed) > 0 && f.Tests.Failed == nil {
		complete = false
	}
	nodeVerdict(t, f, complete, tree.files, tree.leaves)
}

// readNodeTotals reads "ℹ pass 3" or "# pass 3" lines from line i on.
func readNodeTotals(t *Text, i int, lead string, f *finding) {
	for ; i < t.Len(); i++ {
		s, ok := strings.CutPrefix(t.Line(i), lead)
		if !ok {
			return
		}
		word, v, _ := strings.Cut(s, " ")
		n, _, ok := leadingInt(strings.TrimSpace(v))
		if !ok {
			continue
		}
		switch word {
		case "pass":
			f.Tests.Passed = new(n)
		case "fail":
			bump(&f.Tests.Failed, n)
		case "cancelled":
			bump(&f.Tests.Failed, n)
			if n > 0 {
				f.extra("cancelled", n)
			}
		case "skipped":
			f.Tests.Skipped = new(n)
		case "todo":
			f.Tests.Todo = new(n)
		}
	}
}

// specBlock is one entry under "failing tests:".
type specBlock struct {
	name      string
	file      string
	line      int
	body      []string
	directive string
}

// specFailures reads "test at file:1:2 / ✖ name (1ms) / error" entries. Without
// that section (a cut text, the dot reporter) the bodies below ✖ lines serve.
func specFailures(t *Text, section bool) []specBlock {
	var out []specBlock
	var file string
	var line int
	for i := 0; i < t.Len(); i++ {
		l := t.Line(i)
		if s, ok := strings.CutPrefix(l, "test at "); ok && section {
			if p, n, _, ok := splitPos(s); ok {
				file, line = p, n
			}
			continue
		}
		mark, name, dir, last, ok := specResult(t, i)
		if !ok || mark != "✖" {
			continue
		}
		b := specBlock{name: name, file: file, line: line, directive: dir}
		own := indent(l)
		for i = last + 1; i < t.Len(); i++ {
			l := t.Line(i)
			if strings.TrimSpace(l) != "" && indent(l) <= own || strings.HasPrefix(l, "test at ") {
				break
			}
			if len(b.body) < 3000 {
				b.body = append(b.body, l)
			}
		}
		i--
		file, line = "", 0
		out = append(out, b)
	}
	return out
}

// nodeFailures joins the tree (full names) with the details (place, message).
func nodeFailures(t *Text, tree specTree, blocks []specBlock, f *finding) {
	seen := map[string]bool{}
	roots := 0 // failures at the end of the list whose parent is not known yet
	for _, b := range blocks {
		if b.directive != "" {
			continue // a failing TODO or expected failure
		}
		id, suite := b.name, false
		for i := range tree.failed {
			n := &tree.failed[i]
			if !n.used && n.name == b.name {
				n.used, suite = true, n.suite
				id = jsID(append(append([]string{}, n.path...), n.name)...)
				break
			}
		}
		text := nodeBody(b.body)
		if n, ok := subtestsFailed(text); ok {
			// Without a tree (the dot reporter) a parent follows its children.
			if id == b.name && len(tree.failed) == 0 {
				roots = adopt(f, b.name, n, roots)
			}
			continue
		}
		seen[id] = true
		roots++
		nodeFail(t, f, Failure{ID: id, File: b.file, Line: b.line, Message: text}, b.body, suite)
	}
	for _, n := range tree.failed {
		id := jsID(append(append([]string{}, n.path...), n.name)...)
		if !n.used && !n.suite && len(blocks) == 0 && !seen[id] {
			seen[id] = true
			nodeFail(t, f, Failure{ID: id}, nil, false)
		}
	}
}

// subtestsFailed recognises the message of a parent whose children failed.
func subtestsFailed(msg string) (int, bool) {
	n, rest, ok := leadingInt(strings.Trim(msg, "'"))
	return n, ok && n > 0 && (rest == " subtest failed" || rest == " subtests failed")
}

// nodeBody makes a message of an error's inspected form.
func nodeBody(body []string) string {
	msg := jsMessage(body)
	if len(msg) > 1 && msg[0] == '\'' && msg[len(msg)-1] == '\'' {
		msg = msg[1 : len(msg)-1]
	}
	return msg
}

// nodeVerdict decides the state from totals and failures.
func nodeVerdict(t *Text, f *finding, complete bool, files []string, leaves int) {
	failed := val(f.Tests.Failed) > 0
	switch {
	case !complete:
		f.worse(StateDidNotFinish)
		f.Tests = Counts{}
		f.note("the report breaks off: no totals at the end")
	case failed && f.State == "":
		f.State = StateFailed
	case failed:
	case val(f.Tests.Passed) == 0:
		f.State = StateNoTests
	case len(files) > 0 && len(files) >= val(f.Tests.Passed):
		f.State = StateNoTests
		f.note("every passed test is a file as such: no test ran in " + strings.Join(files, ", "))
		f.Tests = Counts{}
	case len(files) > 0:
		f.State = StateDidNotFinish
		f.note("no test ran to its end in " + strings.Join(files, ", ") + ": node counts a file that ends early or holds no test as one passed test")
		f.Tests = Counts{}
	default:
		f.State = StatePassed
	}
	_ = leaves
	if f.State == StateDidNotFinish {
		f.Tests = Counts{}
	}
}
