package digest

import (
	"context"
	"math/bits"
	"slices"
	"strings"
)

const (
	minNearest = 3
	maxNearest = 8
	maxSupport = 3
)

// Support looks for a line that says what answer says: it holds the answer's figures and identifiers and
// is about the question (shares its terms). A line with only one of the two is no support: figures stand
// in many lines, and so do the question's words. There is none when the reader judges that the text does
// not answer the question.
func (d *Doc) Support(ctx context.Context, question, answer string) (Support, error) {
	r, err := d.read(ctx, question)
	if err != nil {
		return Support{}, err
	}
	s := Support{Nearest: r.nearest()}
	if answered, _, _ := r.judge(); !answered {
		return s, nil
	}
	facts := readFacts(question, answer)
	if len(facts.must) == 0 && len(facts.words) == 0 {
		return s, nil
	}
	search := newSupportSearch(r, facts)
	m := &matcher{d: d, q: r.q, visit: search.visit, floor: 1e9}
	if err := m.run(ctx); err != nil {
		return Support{}, err
	}
	if lines := search.lines(); len(lines) > 0 {
		s.Found, s.Line, s.More = true, lines[0], lines[1:]
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
	inOrder(out)
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
		hard := strings.ContainsAny(w, "0123456789") || looksLikeName(w) || len(w) > 3 && strings.ContainsAny(w[1:len(w)-1], "/._@:")
		switch {
		case hard && !strings.Contains(q, lw):
			f.must = append(f.must, strings.TrimPrefix(lw, "v"))
		case !hard && len(w) > 2 && !stop[lw] && !strings.Contains(q, lw):
			f.words = append(f.words, stemString(lw))
		}
	}
	return f
}

// supportSearch sees every line and keeps, for each fact of the answer and for all of them together, the
// line about the question that holds it.
type supportSearch struct {
	r     *reading
	facts facts
	tok   tokenizer
	named uint32 // identifiers of the question: a line about another one is no support
	least float64
	prev  [2]uint32 // what the lines before match
	all   supporter
	each  []supporter
}

type supporter struct {
	line  Line
	about float64
}

const (
	// minAbout is the least share of the question's weight that a supporting line has to match, and
	// aboutBest the least part of what the best line matches. Answers of a few bytes ("36") stand in
	// many lines, so their line must be nearly the best.
	minAbout   = 0.1
	aboutBest  = 0.5
	aboutShort = 0.8
	shortFacts = 3
)

func newSupportSearch(r *reading, f facts) *supportSearch {
	s := &supportSearch{r: r, facts: f, each: make([]supporter, len(f.must))}
	best := 0.0
	for _, g := range r.cands {
		best = max(best, g.own)
	}
	part, size := aboutBest, 0
	for _, m := range f.must {
		size += len(m)
	}
	if len(f.must) > 0 && size <= shortFacts {
		part = aboutShort
	}
	s.least = max(minAbout*r.q.total, part*best)
	for i, k := range r.q.concepts {
		if k.named && k.known && k.needle != "" {
			s.named |= 1 << i
		}
	}
	return s
}

func (s *supportSearch) visit(u *unit) {
	around := s.prev[0] | s.prev[1]
	s.prev[0], s.prev[1] = s.prev[1], u.mask
	sum := u.sum
	for p, k := u.parents, 0; p != nil && k < 3; p, k = p.up, k+1 {
		around |= p.mask
		for mk := p.mask &^ u.mask; mk != 0; mk &= mk - 1 {
			sum += 0.7 * float64(p.own[bits.TrailingZeros32(mk)])
		}
	}
	if sum < s.least || (u.mask|around)&s.named != s.named {
		return
	}
	if len(s.facts.must) == 0 {
		if s.facts.wordsIn(&s.tok, u.text) {
			s.better(&s.all, u, sum)
		}
		return
	}
	held := 0
	for i, m := range s.facts.must {
		if containsFold(u.text, m) {
			held++
			s.better(&s.each[i], u, sum)
		}
	}
	if held == len(s.facts.must) {
		s.better(&s.all, u, sum)
	}
}

// better makes u the line of p when it is more about the question than the one before.
func (s *supportSearch) better(p *supporter, u *unit, about float64) {
	if about <= p.about {
		return
	}
	g := &candidate{no: u.no, off: u.off, text: string(u.text), at: u.at, end: u.end, more: u.more || u.off > 0}
	text, cut := (&picker{r: s.r}).display(g)
	*p = supporter{Line{No: u.no, Text: text, Score: about, Cut: cut}, about}
}

// lines are the lines that say so: one that holds everything, else up to maxSupport that do together.
func (s *supportSearch) lines() []Line {
	if s.all.about > 0 {
		return []Line{s.all.line}
	}
	var out []Line
	for _, p := range s.each {
		if p.about == 0 {
			return nil
		}
		if !slices.ContainsFunc(out, func(l Line) bool { return l.No == p.line.No }) {
			out = append(out, p.line)
		}
	}
	if len(out) > maxSupport {
		return nil
	}
	inOrder(out)
	return out
}

// wordsIn is true when line holds all content words of an answer that has nothing harder.
func (f facts) wordsIn(t *tokenizer, line []byte) bool {
	t.run(line[:min(len(line), maxPiece)])
	for _, w := range f.words {
		if !slices.Contains(t.hashes, stemHash(w)) {
			return false
		}
	}
	return true
}
