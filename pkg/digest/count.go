package digest

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"
)

const (
	maxMasks = 1024
	topKept  = 5
)

// counter collects, during the pass of a question, what a counting answer needs: how many lines match
// which of its words, the first and the last of them, and the extremes of their numbers.
type counter struct {
	q      *query
	fields bool
	masks  map[uint32]*maskStat // by what lines match, related words included
	exact  map[uint32]*maskStat // by the question's own words only
	values map[fieldKey]*extremes
}

type maskStat struct {
	count       int
	first, last nearby
	opening     uint64 // of the first line
	alike       int    // lines with that opening; kept only when the first or last is asked for
}

type fieldKey struct {
	mask  uint32
	kind  fieldKind
	label uint64 // of plain numbers only
}

type extremes struct {
	count int
	top   []measured // best first, in the direction of the question
}

type measured struct {
	value float64
	raw   string
	nearby
}

func newCounter(q *query) *counter {
	return &counter{q: q, masks: map[uint32]*maskStat{}, exact: map[uint32]*maskStat{}, values: map[fieldKey]*extremes{}, fields: q.want&(wantMost|wantLeast|wantDuration) != 0}
}

// visit sees every line with what it matches.
func (c *counter) visit(u *unit) {
	if u.off > 0 || u.mask == 0 && !c.fields {
		return
	}
	if c.fields { // lines that match nothing are measured too, for a question whose subject has no word in the text
		eachField(u.text[:min(len(u.text), maxPiece)], func(f field) { c.measure(u, f) })
	}
	if u.mask == 0 {
		return
	}
	c.sight(c.masks, u.mask, u)
	if u.exact != 0 {
		c.sight(c.exact, u.exact, u)
	}
}

// sight counts u under mask.
func (c *counter) sight(in map[uint32]*maskStat, mask uint32, u *unit) {
	s := in[mask]
	if s == nil {
		if len(in) >= maxMasks {
			return
		}
		s = &maskStat{first: near(u.no, u.text, 0)}
		in[mask] = s
	}
	s.count++
	if c.q.want&(wantFirst|wantLast) != 0 {
		h := openingHash(u.text)
		if s.opening == 0 {
			s.opening = h
		}
		if s.opening == h {
			s.alike++
		}
	}
	if c.q.want&wantLast != 0 {
		s.last = near(u.no, u.text, 0)
	}
}

// measure keeps f when it is among the extremes of its kind.
func (c *counter) measure(u *unit, f field) {
	k := fieldKey{mask: u.mask, kind: f.kind}
	if f.kind == fieldPlain {
		k.label = wordHash(f.label)
	}
	e := c.values[k]
	if e == nil {
		if len(c.values) >= 4*maxMasks {
			return
		}
		e = &extremes{}
		c.values[k] = e
	}
	e.count++
	if len(e.top) == topKept && !c.beats(f.value, e.top[topKept-1].value) {
		return
	}
	e.add(c, measured{f.value, string(f.raw), near(u.no, u.text, 0)})
}

func (e *extremes) add(c *counter, m measured) {
	i := len(e.top)
	for i > 0 && (c.beats(m.value, e.top[i-1].value) || m.value == e.top[i-1].value && m.no < e.top[i-1].no) {
		i--
	}
	e.top = slices.Insert(e.top, i, m)
	if len(e.top) > topKept {
		e.top = e.top[:topKept]
	}
}

// beats compares in the direction the question asks for.
func (c *counter) beats(a, b float64) bool {
	if c.q.want&wantLeast != 0 && c.q.want&wantMost == 0 {
		return a < b
	}
	return a > b
}

// kindOrder is which kinds of numbers the question may mean, most likely first.
func (c *counter) kindOrder() []fieldKind {
	switch w := c.q.want; {
	case w&wantDuration != 0:
		return []fieldKind{fieldDuration}
	case w&wantSize != 0:
		return []fieldKind{fieldSize, fieldPlain}
	}
	return []fieldKind{fieldPercent, fieldSize, fieldDuration, fieldPlain}
}

// weightOf adds up the importance of the concepts in mask. Over a population of many, rarity says nothing.
func (c *counter) weightOf(mask uint32, flat bool) float64 {
	w := 0.0
	for mk := mask; mk != 0; mk &= mk - 1 {
		k := c.q.concepts[bits.TrailingZeros32(mk)]
		if flat && askedFor[k.text] {
			continue
		}
		if flat {
			w += k.weight
		} else {
			w += (k.weight + btof(k.pair)*pairWeight) * k.rarity
		}
	}
	return w
}

// named is the identifiers of the question that lines with numbers hold: an answer is about them.
func (c *counter) named() uint32 {
	var need uint32
	for i, k := range c.q.concepts {
		if k.named && k.known {
			for key := range c.values {
				if key.mask&(1<<i) != 0 && key.mask&need == need {
					need |= 1 << i
					break
				}
			}
		}
	}
	return need
}

// population is the numbers of one kind on all lines that match a set of concepts.
type population struct {
	mask  uint32
	kind  fieldKind
	count int
	score float64
	top   []measured
}

// populations ranks what the superlative of the question may be over. A superlative is asked of many, so
// a set of concepts counts by its weight times the logarithm of its lines: "the longest fetch" is over
// all fetches, not over the three lines that hold one more word of the question by chance.
func (c *counter) populations() []population {
	var out []population
	seen := map[fieldKey]bool{}
	need := c.named()
	superlative := c.q.want&(wantMost|wantLeast) != 0
	for rank, kind := range c.kindOrder() {
		for k := range c.values {
			key := fieldKey{mask: k.mask, kind: kind}
			if k.kind != kind || seen[key] || k.mask&need != need {
				continue
			}
			seen[key] = true
			p := c.gather(k.mask, kind)
			p.score = c.weightOf(k.mask, superlative)
			if superlative {
				p.score *= math.Log(1+float64(p.count)) * math.Pow(0.6, float64(rank))
			}
			out = append(out, p)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.mask, b.mask), cmp.Compare(a.kind, b.kind)) < 0
	})
	return out
}

// gather joins the extremes of all lines that match at least mask. Plain numbers count only when their
// label is a word of the question.
func (c *counter) gather(mask uint32, kind fieldKind) population {
	p := population{mask: mask, kind: kind}
	var e extremes
	for k, v := range c.values {
		if k.kind != kind || k.mask&mask != mask || kind == fieldPlain && !c.q.names(k.label, false) {
			continue
		}
		p.count += v.count
		for _, m := range v.top {
			e.add(c, m)
		}
	}
	p.top = e.top
	return p
}

// names is true when h is a word of the question, or its kin unless exact.
func (q *query) names(h uint64, exact bool) bool {
	if h == 0 {
		return false
	}
	mask := len(q.slots) - 1
	for i := int(h>>7) & mask; q.slots[i].hash != 0; i = (i + 1) & mask {
		if v := &q.slots[i]; v.hash == h && !v.gate && (!exact || v.kind > kinWeight) {
			return true
		}
	}
	return false
}

// subjects are the sets of concepts that the first and last may be asked of: all that the best line
// matches, and each rare word of the question alone.
func (c *counter) subjects() []uint32 {
	var mask uint32
	best := 0.0
	for m := range c.masks {
		if w := c.weightOf(m, false); w > best+1e-9 || w > best-1e-9 && m < mask {
			best, mask = w, m
		}
	}
	out := []uint32{mask}
	var single []int
	for i, k := range c.q.concepts {
		if k.known && k.weight >= 0.5 && mask != 1<<i {
			single = append(single, i)
		}
	}
	slices.SortStableFunc(single, func(a, b int) int { return cmp.Compare(c.q.concepts[b].rarity, c.q.concepts[a].rarity) })
	for _, i := range single[:min(3, len(single))] {
		out = append(out, 1<<i)
	}
	return out
}

// ends counts the lines that match at least mask and gives the first and the last.
func ends(in map[uint32]*maskStat, mask uint32) (count int, first, last nearby) {
	for o, s := range in {
		if o&mask != mask {
			continue
		}
		count += s.count
		if first.no == 0 || s.first.no < first.no {
			first = s.first
		}
		if s.last.no > last.no {
			last = s.last
		}
	}
	return count, first, last
}

// show gives the lines a counting question needs, best first.
func (c *counter) show() []nearby {
	var out []nearby
	if c.q.want&(wantFirst|wantLast) != 0 {
		for _, m := range c.subjects() {
			n, first, last := ends(c.masks, m)
			if n > 0 && c.q.want&wantFirst != 0 {
				out = append(out, first)
			}
			if n > 1 && c.q.want&wantLast != 0 && last.no > 0 {
				out = append(out, last)
			}
		}
	}
	if c.fields { // "how long did X take" is often told by the largest duration of the lines about X
		limit := 6
		if c.q.want&(wantMost|wantLeast) == 0 {
			limit = 2
		}
		for i, p := range c.populations() {
			if i >= limit {
				break
			}
			n := 1
			if i == 0 && limit > 2 {
				n = 3
			}
			for _, m := range p.top[:min(n, len(p.top))] {
				out = append(out, m.nearby)
			}
		}
		if limit > 2 {
			if p := c.gather(0, c.kindOrder()[0]); len(p.top) > 0 {
				out = append(out, p.top[0].nearby)
			}
		}
	}
	return out
}
