package digest

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

const (
	headShown   = 400 // bytes of a long line's start that are always shown
	windowShown = 400 // bytes around the best match further on
	wholeShown  = 700 // bytes; a line up to this is never cut
	minNote     = 20  // lines alike from which it is told
)

// Select picks the lines that answer the question, within the budget. An empty question picks what a
// reader would want to see anyway: what failed, rare lines, the end. Text that fits is given whole.
func (d *Doc) Select(ctx context.Context, question string, b Budget) (Selection, error) {
	r, err := d.read(ctx, question)
	if err != nil {
		return Selection{}, err
	}
	bpt := b.BytesPerToken
	if bpt <= 0 {
		bpt = d.BytesPerToken()
	}
	limit := int(float64(b.Tokens) * bpt)
	if int64(limit) > d.bytes && !d.fits(limit) { // what is shortened must not come out longer
		limit = int(d.bytes)
	}
	p := &picker{r: r, left: limit, in: map[int]*Line{}, told: map[*template]bool{}}
	if d.fits(limit) {
		if err := p.all(ctx); err != nil {
			return Selection{}, err
		}
	} else {
		p.choose(limit)
	}
	s := p.selection()
	s.Answered, s.Confidence, s.Why = r.judge()
	return s, nil
}

// fits is true when the whole text with its line numbers is not longer than limit.
func (d *Doc) fits(limit int) bool {
	return d.bytes+int64(d.lines)*int64(len(strconv.Itoa(d.lines))+2) <= int64(limit)
}

// picker fills a budget with lines.
type picker struct {
	r     *reading
	left  int // bytes
	in    map[int]*Line
	whole bool
	told  map[*template]bool // templates whose number of lines is told
}

// all takes every line.
func (p *picker) all(ctx context.Context) error {
	p.whole = true
	var b strings.Builder
	return p.r.d.each(ctx, func(u piece) error {
		b.Write(u.text)
		if !u.more {
			p.in[u.no] = &Line{No: u.no, Text: b.String()}
			b.Reset()
		}
		return nil
	})
}

// add takes a line if it fits. The first of many lines alike says so, if that fits too.
func (p *picker) add(line Line) bool {
	if l := p.in[line.No]; l != nil {
		l.Score = max(l.Score, line.Score)
		return true
	}
	n := len(line.Text) + len(strconv.Itoa(line.No)) + 3
	if n > p.left {
		return false
	}
	p.left -= n
	p.in[line.No] = &line
	e := p.r.d.templates.get(templateHash([]byte(line.Text)))
	if e == nil || e.count < minNote || line.Cut > 0 || p.told[e] {
		return true
	}
	if n := len(note(e.count, e.first, e.last)); n <= p.left {
		p.told[e] = true
		p.left -= n
		line.Count, line.First, line.Last = e.count, e.first, e.last
	}
	return true
}

// line shows a remembered line with at most limit bytes, or whole when the cut would save next to nothing.
func (r *reading) line(n nearby, limit int, score float64) Line {
	const worth = 80
	size := max(n.size, r.lens[n.no])
	text := n.text
	if size > limit+worth || size > len(text) {
		text = clipHead([]byte(text), limit)
		return Line{No: n.no, Text: fmt.Sprintf("%s […%d more bytes of this line]", text, size-len(text)), Score: score, Cut: size - len(text)}
	}
	return Line{No: n.no, Text: text, Score: score}
}

// addCandidate takes a candidate's line, cut around its match when it is long.
func (p *picker) addCandidate(g *candidate) bool {
	text, cut := p.display(g)
	if l := p.in[g.no]; l != nil && l.Cut > 0 && cut > 0 { // another part of a long line
		extra := " […] " + clipHead([]byte(g.text[g.at:]), windowShown)
		if g.off+g.at < headShown || len(extra) > p.left || strings.Contains(l.Text, extra[6:]) {
			return true
		}
		p.left -= len(extra)
		l.Text += extra
		l.Cut -= len(extra) - 6
		return true
	}
	return p.add(Line{No: g.no, Text: text, Score: g.score, Cut: cut})
}

// display is how a candidate is shown, and how many bytes of its line that leaves out.
func (p *picker) display(g *candidate) (string, int) {
	total := len(g.text)
	if n := p.r.lens[g.no]; g.more && n > 0 {
		total = n
	}
	if total <= wholeShown && !g.more {
		return g.text, 0
	}
	text, cut := p.shorten(g, total)
	if !g.more && len(text) >= total {
		return g.text, 0
	}
	return text, cut
}

// shorten shows the start of a long line and the surroundings of its match.
func (p *picker) shorten(g *candidate, total int) (string, int) {
	if g.off == 0 && g.at < headShown {
		s := clipHead([]byte(g.text), max(headShown, min(g.end, headShown+windowShown)))
		return fmt.Sprintf("%s […%d more bytes of this line]", s, total-len(s)), total - len(s)
	}
	from, to := window(g)
	mid := g.text[from:to]
	if g.off == 0 {
		head := clipHead([]byte(g.text), min(headShown, from))
		rest := total - len(head) - len(mid)
		return fmt.Sprintf("%s […] %s […%d bytes of this line left out]", head, mid, rest), rest
	}
	return fmt.Sprintf("[… from byte %d of %d] %s […]", g.off+from, total, mid), total - len(mid)
}

// window widens the match of a candidate to windowShown bytes, at character borders.
func window(g *candidate) (int, int) {
	from := max(0, g.at-(windowShown-(g.end-g.at))/2)
	if g.end-g.at > windowShown {
		from = g.at
	}
	to := min(len(g.text), from+max(windowShown, 0))
	from = max(0, min(from, to-windowShown))
	for from > 0 && g.text[from]&0xc0 == 0x80 {
		from--
	}
	for to < len(g.text) && g.text[to]&0xc0 == 0x80 {
		to++
	}
	return from, to
}

// choose spends the budget: what was computed, the best lines with their surroundings, then more of the same.
func (p *picker) choose(limit int) {
	r := p.r
	for _, n := range r.count.show() {
		p.add(r.line(n, wholeShown, 1))
	}
	used := map[uint64]int{} // lines of a template, or with a certain opening, already taken
	passed, rest := make([]*candidate, 0, 64), len(r.cands)
	for rank, g := range r.cands {
		opening := openingHash([]byte(g.text))
		if used[g.tmpl] >= 2 && rank > 4 || used[opening] >= 3 {
			passed = append(passed, g)
			continue
		}
		used[g.tmpl]++
		used[opening]++
		p.addCandidate(g)
		p.surround(g, rank)
		if p.left < limit/12 && rank > 5 {
			rest = rank + 1
			break
		}
	}
	for _, list := range [][]*candidate{passed, r.cands[rest:]} {
		for _, g := range list {
			if p.left < 60 {
				return
			}
			p.addCandidate(g)
		}
	}
}

// surround adds what stands around a good line: its headings, the lines next to it, its like.
func (p *picker) surround(g *candidate, rank int) {
	r := p.r
	if g.lastOne.no > 0 && (rank < 6 || rank < 16 && r.q.want&wantLast != 0) {
		p.add(r.line(g.lastOne, wholeShown, g.score*0.9))
	}
	if rank > 14 && g.score < 0.55 {
		return
	}
	for _, a := range g.around {
		if a.dist <= 1 && (rank < 10 || a.dist == 0) || rank < 3 {
			p.add(r.line(a, headShown, g.score/2))
		}
	}
	if rank < 4 || r.q.want&(wantList|wantFirst|wantLast|wantCount) != 0 && rank < 12 {
		for _, s := range g.samples {
			p.add(r.line(s, wholeShown, g.score*0.9))
		}
	}
}

// inOrder sorts by line number. Unlike a sort from slices, sort.SliceStable costs no code of its own for each type.
func inOrder(lines []Line) {
	sort.SliceStable(lines, func(i, j int) bool { return lines[i].No < lines[j].No })
}

// selection puts the picked lines in order and adds what is like them.
func (p *picker) selection() Selection {
	s := Selection{Whole: p.whole}
	for _, l := range p.in {
		s.Lines = append(s.Lines, *l)
	}
	inOrder(s.Lines)
	c := &s.Coverage
	c.LinesScanned, c.BytesScanned = p.r.d.lines, p.r.d.bytes
	for i := range s.Lines {
		l := &s.Lines[i]
		c.LinesKept++
		c.BytesKept += int64(len(l.Text) + 1)
		if l.Cut > 0 {
			c.LinesCut++
			c.BytesCut += int64(l.Cut)
		}
	}
	return s
}

// note tells of the lines like a shown one; it has a line of its own, so that kept lines stay as they are.
func note(count, first, last int) string {
	return fmt.Sprintf("  (×%s like it, lines %d to %d)\n", thousands(count), first, last)
}

// Text renders the kept lines as "number: text", with a note under a line that stands for many.
func (s Selection) Text() string {
	var b strings.Builder
	for _, l := range s.Lines {
		b.WriteString(strconv.Itoa(l.No))
		b.WriteString(": ")
		b.WriteString(l.Text)
		b.WriteByte('\n')
		if l.Count > 0 {
			b.WriteString(note(l.Count, l.First, l.Last))
		}
	}
	return b.String()
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
