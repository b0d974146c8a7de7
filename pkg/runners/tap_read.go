package runners

import (
	"strings"
)

// tapDoc is a TAP stream as a tree, flattened: every point knows its full path.
type tapDoc struct {
	points   []tapPoint // in order of appearance, parents after their children
	comments []string   // "# …" lines outside diagnostics, without "# "
	from, to int        // lines from the first to past the last line of the stream
	version  bool       // a "TAP version" line was there
	plans    int        // top-level plans seen
	planned  int        // tests planned by them
	top      int        // top-level points
	bailed   string     // reason of "Bail out!"
	bail     bool
	braces   bool // subtests in "{ }", as vitest and buffered TAP print them
	cut      bool // subtests were open at the end, or the last diagnostics did not end
}

// tapPoint is one "ok" or "not ok" line.
type tapPoint struct {
	ok       bool
	num      int // 0: none given
	name     string
	path     []string // names of parents, outermost first
	leaf     bool
	skip     bool
	todo     bool
	reason   string // after SKIP or TODO
	indent   int
	line     int      // index in Text
	diag     []tapKey // YAML block
	extra    []string // text between this point and the next one, when there is no YAML
	brace    bool     // "ok 1 - name {": children follow
	children int
}

// id is the path and name joined with " > ", without path parts that are files.
func (p tapPoint) id() string {
	var parts []string
	for _, s := range p.path {
		if !looksLikeFile(s) {
			parts = append(parts, s)
		}
	}
	return strings.Join(append(parts, p.name), " > ")
}

// tapKey is one top-level key of a YAML diagnostic with its raw value: the rest
// of the line, or the deeper lines below it.
type tapKey struct {
	key   string
	value string
	block []string
}

func (p tapPoint) get(key string) *tapKey {
	for i := range p.diag {
		if p.diag[i].key == key {
			return &p.diag[i]
		}
	}
	return nil
}

// text is a key's value as text: scalars unquoted, blocks dedented; nested keys
// of the form "a:\n  b: x" stay as they are. "" when the key is missing.
func (p tapPoint) text(key string) string {
	k := p.get(key)
	if k == nil {
		return ""
	}
	if len(k.block) > 0 {
		return strings.Join(dedent(k.block), "\n")
	}
	return unquoteYAML(k.value)
}

// sub reads "key:\n  sub: value".
func (p tapPoint) sub(key, sub string) string {
	k := p.get(key)
	if k == nil {
		return ""
	}
	for _, l := range k.block {
		if name, v, ok := strings.Cut(strings.TrimSpace(l), ":"); ok && unquoteYAML(name) == sub {
			return unquoteYAML(strings.TrimSpace(v))
		}
	}
	return ""
}

func unquoteYAML(s string) string {
	if len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\'' {
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
	}
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return unescapeQuoted(s[1 : len(s)-1])
	}
	return s
}

// unescapeQuoted undoes the common backslash escapes of double-quoted strings.
func unescapeQuoted(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, "\t", `\/`, "/").Replace(s)
}

// tapLine splits "    not ok 3 - name # SKIP why"; ok2 is false for other lines.
func tapLine(l string) (p tapPoint, ok2 bool) {
	s := strings.TrimLeft(l, " ")
	p.indent = len(l) - len(s)
	if rest, found := strings.CutPrefix(s, "not ok"); found {
		s = rest
	} else if rest, found := strings.CutPrefix(s, "ok"); found {
		s, p.ok = rest, true
	} else {
		return p, false
	}
	if s != "" && s[0] != ' ' {
		return p, false
	}
	s = strings.TrimLeft(s, " ")
	if n, rest, found := leadingInt(s); found && (rest == "" || rest[0] == ' ') {
		p.num, s = n, strings.TrimLeft(rest, " ")
	} else if s != "" && s[0] != '-' && s[0] != '#' {
		// "ok then, let us go" is prose: without a number a dash is asked for.
		return p, false
	}
	s = strings.TrimPrefix(s, "- ")
	p.name = s
	p.directives()
	return p, true
}

// directives cuts "# SKIP …", "# TODO …" and "# time=…" off the name. A "#" that
// is escaped or not followed by one of these words belongs to the name.
func (p *tapPoint) directives() {
	s := strings.TrimRight(p.name, " \t")
	if rest, ok := strings.CutSuffix(s, " {"); ok {
		p.brace, s = true, rest
	}
	for {
		i := strings.LastIndex(s, "# ")
		if i < 0 || i > 0 && s[i-1] != ' ' {
			// "name #SKIP" is written by a few producers
			i = strings.LastIndex(s, " #")
			if i < 0 {
				break
			}
			i++
		}
		word := strings.TrimLeft(s[i+1:], " ")
		up := strings.ToUpper(firstWord(word))
		switch {
		case strings.HasPrefix(up, "SKIP"):
			p.skip = true
		case strings.HasPrefix(up, "TODO"):
			p.todo = true
		case strings.HasPrefix(word, "time="), strings.HasPrefix(word, "duration"):
			s = strings.TrimRight(s[:i], " ")
			continue
		default:
			p.name = unescapeTAP(s)
			return
		}
		p.reason = strings.TrimSpace(strings.TrimLeft(word[len(firstWord(word)):], ": "))
		s = strings.TrimRight(s[:i], " ")
	}
	p.name = unescapeTAP(s)
}

func firstWord(s string) string {
	if i := strings.IndexAny(s, " \t:"); i >= 0 {
		return s[:i]
	}
	return s
}

// unescapeTAP undoes "\#" and "\\" as TAP 14 and node write them, and node's
// spelling of newlines.
func unescapeTAP(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch {
			case strings.HasPrefix(s[i:], `\\n`) || strings.HasPrefix(s[i:], `\\t`) || strings.HasPrefix(s[i:], `\\r`):
				b.WriteByte(map[byte]byte{'n': '\n', 't': '\t', 'r': '\r'}[s[i+2]])
				i += 2
				continue
			case s[i+1] == '#' || s[i+1] == '\\':
				i++
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// tapPlan reads "1..4", with an optional comment.
func tapPlan(s string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(s, "1..")
	if !ok {
		return 0, false
	}
	n, rest, ok = leadingInt(rest)
	rest = strings.TrimSpace(rest)
	return n, ok && (rest == "" || rest[0] == '#')
}

// tapReader builds a tapDoc line by line.
type tapReader struct {
	t       *Text
	doc     tapDoc
	pending []int          // points that still look for a parent, by index
	names   map[int]string // "# Subtest: name" open at an indent
	braces  []tapPoint     // open "{" subtests
}

// readTAP reads all of t as TAP; lines that are none are skipped or kept as the
// point's extra text.
func readTAP(t *Text) tapDoc {
	r := &tapReader{t: t, names: map[int]string{}}
	r.doc.from = -1
	for i := 0; i < t.Len(); i++ {
		i = r.line(i)
	}
	r.finish()
	return r.doc
}

// line reads line i and returns the last line it used.
func (r *tapReader) line(i int) int {
	l := r.t.Line(i)
	s := strings.TrimSpace(l)
	ind := indent(l)
	if p, ok := tapLine(l); ok {
		r.seen(i)
		p.line = i
		return r.point(p)
	}
	switch {
	case s == "":
		return i
	case strings.HasPrefix(s, "TAP version 1"):
		r.seen(i)
		r.doc.version = true
	case s == "}" && len(r.braces) > 0:
		b := r.braces[len(r.braces)-1]
		r.braces = r.braces[:len(r.braces)-1]
		b.brace, r.doc.braces = false, true
		r.add(b)
		r.seen(i)
	case strings.HasPrefix(s, "Bail out!"):
		r.seen(i)
		r.doc.bail, r.doc.bailed = true, strings.TrimSpace(strings.TrimPrefix(s, "Bail out!"))
	case strings.Contains(s, "# Subtest: "):
		_, name, _ := strings.Cut(s, "# Subtest: ")
		r.names[ind] = unescapeTAP(name)
		r.seen(i)
	case s[0] == '#':
		r.comment(i, s)
	default:
		if n, ok := tapPlan(s); ok {
			r.seen(i)
			if ind == 0 {
				r.doc.plans++
				r.doc.planned += n
			}
			return i
		}
		r.more(ind, l)
	}
	return i
}

func (r *tapReader) seen(i int) {
	if r.doc.from < 0 {
		r.doc.from = i
	}
	r.doc.to = i + 1
}

func (r *tapReader) comment(i int, s string) {
	c := strings.TrimPrefix(strings.TrimPrefix(s, "#"), " ")
	r.doc.comments = append(r.doc.comments, c)
	if r.doc.from >= 0 {
		r.doc.to = i + 1
	}
	r.more(0, s)
}

// more keeps text after a point without YAML as its message.
func (r *tapReader) more(_ int, l string) {
	if n := len(r.doc.points); n > 0 {
		p := &r.doc.points[n-1]
		if len(p.diag) == 0 && !p.ok && len(p.extra) < 200 {
			p.extra = append(p.extra, l)
		}
	}
}

// point takes a test point with its YAML block and returns the last line used.
func (r *tapReader) point(p tapPoint) int {
	end := p.line
	if d := r.t.Line(p.line + 1); strings.TrimSpace(d) == "---" && indent(d) > p.indent {
		end = r.yaml(&p, p.line+1)
	}
	r.doc.to = max(r.doc.to, end+1)
	if p.brace {
		r.braces = append(r.braces, p)
		return end
	}
	r.add(p)
	return end
}

// add puts a finished point into the tree: what is pending at deeper indents are
// its children.
func (r *tapReader) add(p tapPoint) {
	p.leaf = true
	delete(r.names, p.indent)
	for len(r.pending) > 0 {
		c := r.pending[len(r.pending)-1]
		if r.doc.points[c].indent <= p.indent {
			break
		}
		r.pending = r.pending[:len(r.pending)-1]
		p.leaf = false
		p.children++
		r.prefix(c, p.name)
	}
	if p.indent == 0 {
		r.doc.top++
	}
	r.doc.points = append(r.doc.points, p)
	r.pending = append(r.pending, len(r.doc.points)-1)
}

// prefix marks point c and everything below it as lying under name. Children
// come directly before their parent, so the range is found by walking back.
func (r *tapReader) prefix(c int, name string) {
	own := r.doc.points[c].indent
	for i := c; i >= 0; i-- {
		q := &r.doc.points[i]
		if i < c && q.indent <= own {
			break
		}
		q.path = append(q.path, name)
	}
}

// yaml reads the block that starts with "---" at line i and returns its last line.
func (r *tapReader) yaml(p *tapPoint, i int) int {
	base := indent(r.t.Line(i))
	keys := -1
	quoted := false // inside a double-quoted value with raw newlines
	for i++; i < r.t.Len(); i++ {
		l := r.t.Line(i)
		s := strings.TrimSpace(l)
		ind := indent(l)
		if quoted {
			quoted = !strings.HasSuffix(s, `"`) || strings.HasSuffix(s, `\\"`)
			if n := len(p.diag); n > 0 {
				p.diag[n-1].block = append(p.diag[n-1].block, strings.Repeat(" ", base+4)+s)
			}
			continue
		}
		quoted = openQuote(s)
		if s == "..." && ind <= base+2 {
			return i
		}
		if s != "" && ind < base {
			return i - 1 // cut block: leave the line to the caller
		}
		if keys < 0 && s != "" {
			keys = ind
		}
		if name, v, ok := strings.Cut(s, ":"); ok && ind == keys && (v == "" || v[0] == ' ') {
			k := tapKey{key: unquoteYAML(name), value: strings.TrimSpace(v)}
			switch strings.TrimRight(k.value, "-+0123456789") {
			case "|", ">":
				k.value = ""
			}
			p.diag = append(p.diag, k)
			continue
		}
		if n := len(p.diag); n > 0 && len(p.diag[n-1].block) < 2000 {
			p.diag[n-1].block = append(p.diag[n-1].block, l)
		}
	}
	r.doc.cut = true
	return r.t.Len() - 1
}

// openQuote: a value starts with a double quote and does not end in this line.
func openQuote(s string) bool {
	_, v, ok := strings.Cut(s, ": ")
	return ok && strings.HasPrefix(v, `"`) && (len(v) == 1 || !strings.HasSuffix(v, `"`) || strings.HasSuffix(v, `\"`))
}

// finish closes what is open: names of subtests that never ended become the
// parents of their children, and numbers out of sequence are dropped.
func (r *tapReader) finish() {
	for _, c := range r.pending {
		if r.doc.points[c].indent == 0 {
			continue
		}
		r.doc.cut = true
		for ind := r.doc.points[c].indent - 1; ind >= 0; ind-- {
			if name, ok := r.names[ind]; ok {
				r.prefix(c, name)
			}
		}
	}
	if len(r.braces) > 0 {
		r.doc.cut = true
	}
	for i := range r.doc.points {
		reverse(r.doc.points[i].path)
	}
	r.doc.points = dropPhantoms(r.doc.points)
}

func reverse(s []string) {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
}

// dropPhantoms removes points that tested code printed: their numbers do not fit
// the sequence of the (sub)test they stand in, while a later point's does.
func dropPhantoms(points []tapPoint) []tapPoint {
	groups := map[string][]int{}
	var order []string
	for i, p := range points {
		key := strings.Join(p.path, "\x00")
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], i)
	}
	drop := map[int]bool{}
	for _, key := range order {
		g := groups[key]
		later := map[int]int{}
		for _, i := range g {
			later[points[i].num]++
		}
		want := 1
		for _, i := range g {
			n := points[i].num
			later[n]--
			if n == 0 {
				continue
			}
			if n != want && n != 1 && later[want] > 0 && points[i].leaf {
				drop[i] = true
				continue
			}
			want = n + 1
		}
	}
	if len(drop) == 0 {
		return points
	}
	kept := points[:0:0]
	for i, p := range points {
		if !drop[i] {
			kept = append(kept, p)
		}
	}
	return kept
}

// looksLikeFile reports whether a test's name is the path of a source file.
func looksLikeFile(s string) bool {
	i := strings.LastIndexByte(s, '.')
	if i < 0 || strings.ContainsAny(s, "\n<>()") {
		return false
	}
	switch s[i+1:] {
	case "js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx", "t", "py", "rb", "bats", "sh", "php", "pl", "svelte", "vue":
		return strings.Count(s, " ") == 0 || strings.Contains(s, "/")
	}
	return false
}
