package digest

import (
	"context"
	"slices"
	"strings"
)

const (
	minNearest = 3
	maxNearest = 8
)

// Support looks for a line that says what answer says: it holds the answer's figures and identifiers and
// is about the question (shares its terms). A line with only one of the two is no support: figures stand
// in many lines, and so do the question's words.
func (d *Doc) Support(ctx context.Context, question, answer string) (Support, error) {
	r, err := d.read(ctx, question)
	if err != nil {
		return Support{}, err
	}
	s := Support{Nearest: r.nearest()}
	facts := readFacts(question, answer)
	if len(facts.must) == 0 && len(facts.words) == 0 {
		return s, nil
	}
	best := &supportSearch{r: r, facts: facts}
	m := &matcher{d: d, q: r.q, visit: best.visit, floor: 1e9}
	if err := m.run(ctx); err != nil {
		return Support{}, err
	}
	if best.found.No > 0 {
		s.Found, s.Line = true, best.found
	}
	return s, nil
}

// nearest are the lines the reader ranks first, in text order.
func (r *reading) nearest() []Line {
	p := &picker{r: r}
	var out []Line
	seen := map[int]bool{}
	used := map[uint64]int{}
	for _, g := range r.cands {
		if len(out) >= maxNearest || len(out) >= minNearest && g.score < 0.45*r.cands[0].score {
			break
		}
		if seen[g.no] || used[g.tmpl] >= 3 {
			continue
		}
		seen[g.no] = true
		used[g.tmpl]++
		text, cut := p.display(g)
		out = append(out, Line{No: g.no, Text: text, Score: g.score, Cut: cut})
	}
	slices.SortFunc(out, func(a, b Line) int { return a.No - b.No })
	return out
}

// facts are what a line must hold to support an answer.
type facts struct {
	must  []string // figures and identifiers, lower case; at least the first of the answer
	words []string // stems of content words, used when there is nothing harder
}

// readFacts takes the figures and identifiers out of an answer, those of the question aside.
func readFacts(question, answer string) facts {
	var f facts
	q := lower(question)
	stop := stopWords()
	for w := range strings.FieldsSeq(answer) {
		w = strings.TrimFunc(w, func(r rune) bool { return strings.ContainsRune(".,;:!?\"'`()[]{}<>“”‘’…*", r) })
		if w == "" || len(f.must) >= 8 {
			continue
		}
		lw := lower(w)
		hard := strings.ContainsAny(w, "0123456789") || looksLikeName(w)
		switch {
		case hard && !strings.Contains(q, lw):
			f.must = append(f.must, strings.TrimPrefix(lw, "v"))
		case !hard && len(w) > 2 && !stop[lw] && !strings.Contains(q, lw):
			f.words = append(f.words, stemString(lw))
		}
	}
	return f
}

// supportSearch sees every line and keeps the one that supports the answer best.
type supportSearch struct {
	r     *reading
	facts facts
	tok   tokenizer
	found Line
	best  float64
}

// minAbout is the least share of the question's weight that a supporting line has to match.
const minAbout = 0.12

func (s *supportSearch) visit(u *unit) {
	about := 0.0
	if s.r.q.total > 0 {
		sum := u.sum
		k := 0
		for p := u.parents; p != nil && k < 3; p, k = p.up, k+1 {
			for c := range p.own {
				sum += 0.7 * float64(max(0, p.own[c]-u.own[c]))
			}
		}
		about = sum / s.r.q.total
	}
	if about < minAbout && s.r.q.total > 0 {
		return
	}
	held := s.facts.heldBy(&s.tok, u.text)
	if held < 0.999 {
		return
	}
	if score := about + 0.001; score > s.best {
		s.best = score
		g := &candidate{no: u.no, off: u.off, text: string(u.text), at: u.at, end: u.end, more: u.more || u.off > 0}
		p := &picker{r: s.r}
		text, cut := p.display(g)
		s.found = Line{No: u.no, Text: text, Score: score, Cut: cut}
	}
}

// heldBy is the share of the facts that stand in line.
func (f facts) heldBy(t *tokenizer, line []byte) float64 {
	if len(f.must) > 0 {
		n := 0
		for _, m := range f.must {
			if containsFold(line, m) {
				n++
			}
		}
		return float64(n) / float64(len(f.must))
	}
	t.run(line[:min(len(line), maxPiece)])
	n := 0
	for _, w := range f.words {
		if slices.Contains(t.hashes, stemHash(w)) {
			n++
		}
	}
	return float64(n) / float64(len(f.words))
}
