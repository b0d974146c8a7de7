package digest

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// severityScore is what a level adds, before the weight that the question gives to severity.
var severityScore = [...]float64{sevNone: 0, sevSummary: 0.5, sevWarn: 0.5, sevError: 1.3, sevFatal: 2}

const (
	wantedHead   = 4  // lines of the start that are always considered
	wantedTail   = 12 // and of the end
	wantedSevere = 400
	wantedRare   = 60 // kinds of lines seen once or twice
	rareAmong    = 20 // and only when there are so many times more lines than such kinds
)

// reading is one question over one text: the query and the candidates, best first.
type reading struct {
	d     *Doc
	q     *query
	cands []*candidate
	top   float64 // best lex
	lens  map[int]int
	count *counter
}

// read goes over the text with a question.
func (d *Doc) read(ctx context.Context, question string) (*reading, error) {
	q := newQuery(d, question)
	m := &matcher{d: d, q: q, wanted: d.wantedLines(q)}
	m.wide = q.want&(wantFirst|wantLast|wantList) != 0
	count := newCounter(q)
	m.visit = count.visit
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	r := &reading{d: d, q: q, lens: m.longLen, count: count}
	for _, g := range m.groups {
		r.cands = append(r.cands, g)
		r.top = max(r.top, g.lex)
	}
	r.score(&m.tok)
	return r, nil
}

// wantedLines are lines that a reader looks at whatever the question: the worst, the odd ones out, both
// ends, and the most frequent when that is asked.
func (d *Doc) wantedLines(q *query) []int {
	var severe, rare, all []*template
	for i := range d.templates.list {
		t := &d.templates.list[i]
		all = append(all, t)
		if t.severity >= sevSummary {
			severe = append(severe, t)
		}
		if t.count <= 2 {
			rare = append(rare, t)
		}
	}
	slices.SortFunc(severe, func(a, b *template) int {
		return cmp.Or(cmp.Compare(b.severity, a.severity), cmp.Compare(a.count, b.count), cmp.Compare(a.first, b.first))
	})
	if len(rare)*rareAmong > d.lines {
		rare = nil // every line is one of its kind: nothing stands out
	}
	var out []int
	for _, list := range [][]*template{severe[:min(len(severe), wantedSevere)], rare[:min(len(rare), wantedRare)]} {
		for _, t := range list {
			out = append(out, t.first, t.last)
		}
	}
	if q.want&wantFrequent != 0 {
		slices.SortStableFunc(all, func(a, b *template) int { return b.count - a.count })
		for _, t := range all[:min(len(all), maxNearest)] {
			out = append(out, t.first)
		}
	}
	for i := 1; i <= min(wantedHead, d.lines); i++ {
		out = append(out, i)
	}
	for i := max(1, d.lines-wantedTail+1); i <= d.lines; i++ {
		out = append(out, i)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// score gives every candidate its final score and sorts.
func (r *reading) score(t *tokenizer) {
	q := r.q
	sevWeight := 0.12
	if q.failure {
		sevWeight = 0.3
	}
	if len(q.concepts) == 0 {
		sevWeight = 0.6
	}
	logN := math.Log(float64(r.d.lines) + 2)
	for _, g := range r.cands {
		seen := g.count
		if e := r.d.templates.get(g.tmpl); e != nil {
			g.severity, seen = e.severity, e.count
		} else {
			g.severity = t.severity([]byte(g.text))
		}
		g.rare = max(0, 1-math.Log(float64(seen)+1)/logN)
		lex := 0.0
		if r.top > 0 {
			lex = g.lex / r.top
		}
		window := []byte(g.text[g.at:g.end])
		g.fits = q.fits(window)
		g.score = lex + sevWeight*severityScore[g.severity]*(0.4+0.6*g.rare) + 0.15*g.rare + 0.2*g.fits*min(1, 2*lex)
		if q.want&wantCount != 0 && g.severity == sevSummary {
			g.score += 0.2
		}
		if q.want&wantVersion != 0 && g.no <= wantedHead && lex > 0 {
			g.score += 0.25 // what something is stands at its head
		}
		switch g.moment {
		case 1:
			g.score += 0.15
		case -1:
			g.score *= 0.7
		}
	}
	slices.SortFunc(r.cands, func(a, b *candidate) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return a.no - b.no
	})
}
