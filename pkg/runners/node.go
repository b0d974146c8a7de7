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
		if s := strings.TrimLeft(t.Line(i), " "); strings.HasPrefix(s, "▶ ") || strings.HasPrefix(s, "✔ ") || strings.HasPrefix(s, "✖ ") || strings.HasPrefix(s, "﹣ ") || strings.HasPrefix(s, "ℹ ") {
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
	case mark == "✖" && !(dir != "" && !n.suite):
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
	nodeVerdict(t, f, sum >= 0, tree.files, tree.leaves)
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
			f.Tests.Passed = num(n)
		case "fail":
			bump(&f.Tests.Failed, n)
		case "cancelled":
			bump(&f.Tests.Failed, n)
			if n > 0 {
				f.extra("cancelled", n)
			}
		case "skipped":
			f.Tests.Skipped = num(n)
		case "todo":
			f.Tests.Todo = num(n)
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

// adopt puts the last n failures that have no parent yet under name. A subtest
// that is a parent itself counts as one, so its children move along.
func adopt(f *finding, name string, n, roots int) int {
	last := len(f.Failures)
	for i := last - 1; i >= 0 && i >= last-min(n, roots); i-- {
		f.Failures[i].ID = jsID(name, f.Failures[i].ID)
	}
	return roots
}

// nodeBody makes a message of an error's inspected form.
func nodeBody(body []string) string {
	msg := jsMessage(body)
	if len(msg) > 1 && msg[0] == '\'' && msg[len(msg)-1] == '\'' {
		msg = msg[1 : len(msg)-1]
	}
	return msg
}

// nodeFail files one failure: a test, a hook of a suite, or a file as such.
func nodeFail(t *Text, f *finding, x Failure, body []string, suite bool) {
	x.File = cleanPath(x.File, t.Hint.Dir)
	if fr, ok := ownFrame(body); ok && x.Line == 0 {
		x.File, x.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
	}
	if looksLikeFile(x.ID) && (x.Message == "test failed" || x.Message == "" || x.Line <= 1) {
		nodeFile(t, f, x)
		return
	}
	if suite && strings.Contains(x.Message, "did not finish before its parent") {
		return
	}
	if suite {
		f.suite(SuiteFailure{Kind: SuiteHook, Name: x.ID, File: x.File, Line: x.Line, Message: x.Message})
	}
	f.fail(x)
}

// nodeFile says why a whole file failed: it did not load, an error came outside
// the tests, or its process died.
func nodeFile(t *Text, f *finding, x Failure) {
	s := SuiteFailure{Kind: SuiteUncaught, Name: x.ID, File: cleanPath(x.ID, t.Hint.Dir), Message: x.Message}
	around := nodeStderr(t, x.ID)
	if b, ok := jsLoadError(around); ok {
		b.File = cleanPath(b.File, t.Hint.Dir)
		f.build(b)
		s.Kind, s.Message, s.Line = SuiteLoad, b.Message, b.Line
		f.worse(StateBuildFailed)
		f.suite(s)
		return
	}
	for _, l := range around {
		msg := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(l, "ℹ "), "# "))
		if strings.Contains(msg, "generated asynchronous activity after the test ended") || strings.HasPrefix(msg, "Error: A resource generated asynchronous activity") {
			s.Message = msg
			if _, rest, ok := strings.Cut(msg, " at "); ok {
				if p, n, _, ok := splitPos(firstField(rest)); ok {
					s.File, s.Line = cleanPath(p, t.Hint.Dir), n
				}
			}
			f.suite(s)
			f.worse(StateFailed)
			return
		}
	}
	if e := uncaught(around); len(e) > 0 {
		s.Message = jsMessage(e)
		if fr, ok := ownFrame(e); ok {
			s.File, s.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
		}
		f.suite(s)
		f.worse(StateFailed)
		return
	}
	if f.Runner == "node-test dot" || f.Runner == "node-test junit" {
		f.suite(s) // these reporters do not show what the file itself printed
		f.worse(StateFailed)
		return
	}
	// No word of an error: the process of this file died or left with a code.
	s.Kind = SuiteCrash
	f.suite(s)
	f.worse(StateDidNotFinish)
	f.note("the process of " + x.ID + " ended without a word: its tests did not finish")
}

func firstField(s string) string {
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return s[:i]
	}
	return s
}

// nodeStderr collects what the file's process wrote outside the report: lines
// that are no results, comments of TAP unwrapped.
func nodeStderr(t *Text, file string) []string {
	end := t.Len()
	for i := range t.Len() {
		l := t.Line(i)
		if strings.HasPrefix(l, "✖ "+file) || strings.HasPrefix(l, "not ok ") && strings.HasSuffix(l, " - "+file) {
			end = i
			break
		}
	}
	start := max(0, end-400)
	for i := end - 1; i >= start; i-- {
		l := t.Line(i)
		s, ok := strings.CutPrefix(l, "✖ ")
		if !ok && strings.HasPrefix(l, "not ok ") {
			_, s, ok = strings.Cut(l, " - ")
		}
		if name, _, found := cutDuration(s); found {
			s = name
		}
		if ok && looksLikeFile(s) {
			start = i
			break
		}
	}
	out := make([]string, 0, end-start)
	for i := start; i < end; i++ {
		out = append(out, strings.TrimPrefix(strings.TrimPrefix(t.Line(i), "# "), "ℹ "))
	}
	return out
}

// uncaught finds the error that node prints before it dies:
// "path:1 / source / ^ / / Error: text / at …/ / Node.js v20".
func uncaught(lines []string) []string {
	for i, l := range lines {
		if strings.HasPrefix(l, "Node.js v") {
			for j := i - 1; j >= 0 && j > i-80; j-- {
				if strings.HasPrefix(strings.TrimSpace(lines[j]), "^") || strings.HasPrefix(lines[j], "Uncaught") {
					return lines[j+1 : i]
				}
			}
		}
	}
	return nil
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

// sniffNodeDot recognises the dot reporter: a line of . and X, and failures
// under "Failed tests:".
func sniffNodeDot(t *Text) match {
	i := 0
	for i < t.Len() && (strings.TrimSpace(t.Line(i)) == "" || strings.HasPrefix(t.Line(i), "> ")) {
		i++
	}
	start := i
	for i < t.Len() && t.Line(i) != "" && strings.Trim(t.Line(i), ".X") == "" {
		i++
	}
	if i == start {
		return match{}
	}
	if j := t.FindPrefix("Failed tests:", i); j >= 0 {
		return t.all(scoreSure)
	}
	if i >= t.Len() {
		return t.all(scoreWeak + 5)
	}
	return match{}
}

func parseNodeDot(t *Text, f *finding) {
	f.Runner = "node-test dot"
	defer func() { f.Runner = "node-test" }()
	i := t.FindPrefix("Failed tests:", 0)
	if i < 0 {
		f.State = StatePassed
		for _, l := range t.lines {
			if strings.Contains(l, "X") {
				f.State = StateFailed
			}
		}
		f.note("the dot reporter names no tests and no counts")
		return
	}
	nodeFailures(t, specTree{}, specFailures(t.Slice(i+1, t.Len()), false), f)
	if len(f.Failures) > 0 || len(f.Suites) > 0 {
		f.worse(StateFailed)
	} else {
		f.State = StatePassed
	}
}
