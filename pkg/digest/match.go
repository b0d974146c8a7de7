package digest

import (
	"context"
	"math/bits"
	"slices"
)

const (
	ringSize   = 5 // a line is judged with two lines on each side
	maxGroups  = 2000
	windowSize = 56      // words of a long line that are judged together
	clipAt     = 900     // bytes of a line that are remembered beside the candidates themselves
	maxMemory  = 8 << 20 // bytes of text that candidates may hold
	maxSamples = 8
)

// unit is a piece with what it matches.
type unit struct {
	piece
	own     [maxConcepts]float32
	mask    uint32
	exact   uint32 // of mask, the words of the question as they stand or in another spelling
	sum     float64
	at, end int // bytes of text where the match is densest
	indent  int
	parents *parent
}

// nearby is a line that may be shown because of another: a neighbour, a heading, one of the same kind.
type nearby struct {
	no   int
	text string // its beginning
	size int    // bytes of the whole line, as far as they are known
	dist int    // lines away; 0 for headings
}

// near copies the beginning of b.
func near(no int, b []byte, dist int) nearby {
	return nearby{no: no, text: clipHead(b, clipAt), size: len(b), dist: dist}
}

// candidate is a line worth considering, with its like.
type candidate struct {
	no, off, at, end int
	text             string
	more             bool // text is a part of a longer line
	forced           bool
	lex              float64
	own              float64 // of lex, without the lines around
	mask, ctxMask    uint32
	exact            uint32
	tmpl             uint64
	count            int
	first, last      int
	lastOne          nearby // the last line of the kind, when wanted
	around           []nearby
	samples          []nearby
	score            float64
	severity         uint8
	fits             float64
	moment           int
	rare             float64
}

// matcher goes over the text once and collects candidates.
type matcher struct {
	d       *Doc
	q       *query
	tok     tokenizer
	ends    []int
	ring    [ringSize]unit
	n       int // pieces seen
	top     *parent
	groups  map[uint64]*candidate
	floor   float64
	memory  int
	wanted  []int // line numbers to take in any case, ascending
	longLen map[int]int
	visit   func(*unit) // sees every piece with its matches, may be nil
	wide    bool        // remember the last line of each group too
}

// run reads the whole text.
func (m *matcher) run(ctx context.Context) error {
	m.groups, m.longLen = map[uint64]*candidate{}, map[int]int{}
	if err := m.d.each(ctx, m.add); err != nil {
		return err
	}
	for range ringSize / 2 { // let the last lines reach the middle of the ring
		m.step(nil)
	}
	return nil
}

func (m *matcher) add(p piece) error {
	m.step(&p)
	return nil
}

// step puts p (nil after the end) into the ring and judges the piece two before it.
func (m *matcher) step(p *piece) {
	u := &m.ring[m.n%ringSize]
	if u.mask != 0 {
		u.own = [maxConcepts]float32{}
	}
	u.mask, u.exact, u.sum = 0, 0, 0
	if p == nil {
		u.no = 0
	} else {
		buf := append(u.text[:0], p.text...)
		u.piece = *p
		u.text = buf
		if p.off > 0 && !p.more {
			m.longLen[p.no] = p.off + len(p.text)
		}
		m.match(u)
		m.nest(u)
		if m.visit != nil {
			m.visit(u)
		}
	}
	m.n++
	if c := m.n - 1 - ringSize/2; c >= 0 {
		m.judge(c)
	}
}

// match finds the concepts of the question in u.
func (m *matcher) match(u *unit) {
	t := &m.tok
	t.run(u.text)
	u.at, u.end = 0, len(u.text)
	if len(t.hashes) <= windowSize*3/2 {
		m.window(u, t.hashes)
		return
	}
	m.bestWindow(u)
}

// window notes the best match of each concept among the words hs.
func (m *matcher) window(u *unit, hs []uint64) {
	q := m.q
	mask := len(q.slots) - 1
	for k, h := range hs {
		for i := int(h>>7) & mask; q.slots[i].hash != 0; i = (i + 1) & mask {
			if v := &q.slots[i]; v.hash == h {
				m.hit(u, v)
			}
		}
		if k+1 < len(hs) && q.mayBeginPair(h) {
			for _, v := range q.pairs[pairHash(h, hs[k+1])] {
				m.hit(u, &v)
			}
		}
	}
	if u.mask == 0 {
		return
	}
	for mk := u.mask; mk != 0; mk &= mk - 1 {
		u.sum += float64(u.own[bits.TrailingZeros32(mk)])
	}
}

func (m *matcher) hit(u *unit, v *variant) {
	if u.own[v.concept] >= float32(v.weight) && (v.kind <= kinWeight || u.exact&(1<<v.concept) != 0) {
		return
	}
	if v.gate && !containsFold(u.text, m.q.concepts[v.concept].needle) {
		return
	}
	u.own[v.concept] = max(u.own[v.concept], float32(v.weight))
	u.mask |= 1 << v.concept
	if v.kind > kinWeight {
		u.exact |= 1 << v.concept
	}
}

// bestWindow judges a long piece by its best windowSize words.
func (m *matcher) bestWindow(u *unit) {
	m.offsets(u.text)
	hs := m.tok.hashes
	var best unit
	for a := 0; a < len(hs); a += windowSize / 2 {
		b := min(a+windowSize, len(hs))
		var w unit
		w.text = u.text[m.ends[a]:m.ends[b]]
		m.window(&w, hs[a:b])
		if w.sum > best.sum {
			w.at, w.end = m.ends[a], m.ends[b]
			best = w
		}
		if b == len(hs) {
			break
		}
	}
	if best.mask != 0 {
		u.own, u.mask, u.exact, u.sum, u.at, u.end = best.own, best.mask, best.exact, best.sum, best.at, best.end
	}
}

// offsets fills m.ends so that word k of text starts at or after ends[k] and ends before ends[k+1].
func (m *matcher) offsets(text []byte) {
	m.ends = append(m.ends[:0], 0)
	for i := 0; i < len(text); {
		switch classes[text[i]] {
		case clsSep:
			i++
			continue
		case clsDigit:
			for i < len(text) && classes[text[i]] == clsDigit {
				i++
			}
		default:
			i = wordEnd(text, i)
		}
		m.ends = append(m.ends, i)
	}
	m.ends[len(m.ends)-1] = len(text)
}

// judge scores piece c (a running number) with its surroundings and keeps it when it is worth it.
func (m *matcher) judge(c int) {
	u := &m.ring[c%ringSize]
	if u.no == 0 {
		return
	}
	forced := false
	for len(m.wanted) > 0 && m.wanted[0] <= u.no {
		forced = m.wanted[0] == u.no
		m.wanted = m.wanted[1:]
	}
	lex, ctxMask := u.sum, uint32(0)
	if m.q.total > 0 {
		var extra float64
		extra, ctxMask = m.context(c, u)
		if u.mask == 0 {
			extra *= 0.6
		}
		lex += 0.4 * extra
		lex *= 0.7 + 0.3*min(1, lex/m.q.total)
	}
	if len(u.text) > 2400 || u.off > 0 { // long lines match much by chance
		lex *= 0.75
	}
	moment := 0
	if m.q.when.set && lex > 0 {
		switch moment = m.q.when.matches(u.text); moment {
		case 1:
			lex *= 1.3
		case -1:
			lex *= 0.6
		}
	}
	if !forced && (lex <= m.floor || lex < 0.02) {
		return
	}
	m.keep(c, u, lex, ctxMask, moment, forced)
}

// context adds up what the lines around u match and u does not.
func (m *matcher) context(c int, u *unit) (float64, uint32) {
	var ctx [maxConcepts]float32
	var mask uint32
	take := func(own *[maxConcepts]float32, bitsOf uint32, decay float32) {
		mask |= bitsOf
		for mk := bitsOf; mk != 0; mk &= mk - 1 {
			k := bits.TrailingZeros32(mk)
			ctx[k] = max(ctx[k], own[k]*decay)
		}
	}
	for _, n := range [...]struct {
		d     int
		decay float32
	}{{-1, 0.7}, {1, 0.7}, {-2, 0.4}, {2, 0.4}} {
		if k := c + n.d; k >= 0 && k < m.n {
			if o := &m.ring[k%ringSize]; o.mask != 0 && o.no > 0 {
				take(&o.own, o.mask, n.decay)
			}
		}
	}
	decay := float32(0.9)
	for p, k := u.parents, 0; p != nil && k < 5; p, k = p.up, k+1 {
		if p.mask != 0 {
			take(&p.own, p.mask, decay)
		}
		decay *= 0.85
	}
	sum := 0.0
	for mk := mask; mk != 0; mk &= mk - 1 {
		k := bits.TrailingZeros32(mk)
		if x := ctx[k] - u.own[k]; x > 0 {
			sum += float64(x)
		}
	}
	return sum, mask &^ u.mask
}

// keep adds u to the candidate of its kind, or makes a new one.
func (m *matcher) keep(c int, u *unit, lex float64, ctxMask uint32, moment int, forced bool) {
	tmpl := templateHash(u.text)
	key := (tmpl ^ uint64(u.mask)*fnvPrime) + uint64(int64(u.sum*64)*3+int64(moment)+1)*0x9e3779b97f4a7c15
	g := m.groups[key]
	if g != nil {
		g.count++
		g.last = u.no
		g.forced = g.forced || forced
		if lex > g.lex*1.02 {
			m.fill(g, c, u, lex, ctxMask)
		} else if u.off > 0 {
			return
		} else if len(g.samples) < maxSamples {
			g.samples = append(g.samples, near(u.no, u.text, 0))
			m.memory += min(len(u.text), clipAt)
		} else if m.wide {
			g.lastOne = near(u.no, u.text, 0)
		}
		return
	}
	if len(m.groups) >= 2*maxGroups || m.memory > maxMemory {
		m.compact()
	}
	g = &candidate{tmpl: tmpl, count: 1, first: u.no, last: u.no, forced: forced, moment: moment}
	m.fill(g, c, u, lex, ctxMask)
	m.groups[key] = g
}

// fill makes u the line that stands for g.
func (m *matcher) fill(g *candidate, c int, u *unit, lex float64, ctxMask uint32) {
	if g.text != "" && g.off == 0 && len(g.samples) < maxSamples {
		g.samples = append(g.samples, near(g.no, []byte(g.text), 0))
	}
	g.no, g.off, g.at, g.end, g.more = u.no, u.off, u.at, u.end, u.more || u.off > 0
	g.text, g.lex, g.own, g.mask, g.exact, g.ctxMask = string(u.text), lex, u.sum, u.mask, u.exact, ctxMask
	m.memory += len(g.text)
	g.around = g.around[:0]
	for d := -2; d <= 2; d++ {
		if k := c + d; d != 0 && k >= 0 && k < m.n {
			if o := &m.ring[k%ringSize]; o.no > 0 && o.no != u.no && o.off == 0 {
				g.around = append(g.around, near(o.no, o.text, max(d, -d)))
				m.memory += min(len(o.text), clipAt)
			}
		}
	}
	k := 0
	for p := u.parents; p != nil && k < 4; p, k = p.up, k+1 {
		g.around = append(g.around, p.nearby)
	}
}

// compact forgets the worse half of the candidates.
func (m *matcher) compact() {
	all := make([]float64, 0, len(m.groups))
	for _, g := range m.groups {
		all = append(all, g.lex)
	}
	slices.Sort(all)
	m.floor = max(m.floor, all[len(all)/2])
	m.memory = 0
	for k, g := range m.groups {
		if g.lex <= m.floor && !g.forced {
			delete(m.groups, k)
			continue
		}
		m.memory += len(g.text)
		for _, list := range [][]nearby{g.around, g.samples} {
			for _, n := range list {
				m.memory += len(n.text)
			}
		}
	}
}
