package digest

import "bytes"

// parent is a line that the lines below it belong to: less indented, or a heading.
type parent struct {
	nearby
	indent int
	own    [maxConcepts]float32
	mask   uint32
	up     *parent
}

// nest keeps the stack of lines that u belongs to.
func (m *matcher) nest(u *unit) {
	if u.off > 0 {
		u.parents = m.top
		return
	}
	indent, blank := indentOf(u.text)
	u.indent = indent
	if blank {
		u.parents = m.top
		return
	}
	for m.top != nil && m.top.indent >= indent {
		m.top = m.top.up
	}
	if m.n > 0 {
		if prev := m.lastLine(); prev != nil && prev.indent < indent && (m.top == nil || m.top.no != prev.no) {
			m.top = &parent{nearby: near(prev.no, prev.text, 0), indent: prev.indent, own: prev.own, mask: prev.mask, up: m.top}
		}
	}
	u.parents = m.top
}

// lastLine is the line before the newest one, blank lines aside.
func (m *matcher) lastLine() *unit {
	for k := 1; k < ringSize-1 && m.n-k >= 0; k++ {
		if u := &m.ring[(m.n-k)%ringSize]; u.no > 0 && len(bytes.TrimSpace(u.text)) > 0 {
			return u
		}
	}
	return nil
}

// indentOf is the column where a line starts. Tree-drawing characters count as blanks and headings
// stand left of everything.
func indentOf(b []byte) (indent int, blank bool) {
	if n := headingLevel(b); n > 0 {
		return n - 100, false
	}
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == ' ', c == '|':
			indent++
			i++
		case c == '\t':
			indent += 8 - indent%8
			i++
		case c == 0xe2 && i+2 < len(b) && (b[i+1] == 0x94 || b[i+1] == 0x95): // box drawing
			indent++
			i += 3
		default:
			return indent, false
		}
	}
	return indent, true
}

// headingLevel is 1 for the highest heading and 0 for a line that is none: Markdown, the parts of a
// patch, [sections].
func headingLevel(b []byte) int {
	if len(b) < 3 {
		return 0
	}
	switch b[0] {
	case '#':
		n := 1
		for n < len(b) && b[n] == '#' {
			n++
		}
		if n < 7 && n < len(b) && b[n] == ' ' {
			return n
		}
	case 'c':
		if bytes.HasPrefix(b, []byte("commit ")) && len(b) >= 47 {
			return 1
		}
	case 'd':
		if bytes.HasPrefix(b, []byte("diff --git ")) {
			return 2
		}
	case '@':
		if bytes.HasPrefix(b, []byte("@@ ")) {
			return 3
		}
	case '[':
		if b[len(b)-1] == ']' && bytes.IndexByte(b, ' ') < 0 && bytes.Count(b, []byte("]")) == 1 {
			return 7
		}
	}
	return 0
}
