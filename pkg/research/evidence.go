package research

import (
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// maxPieces bounds how much of a page is searched for support.
const maxPieces = 20_000

// lead is how many pieces at the top of a page say what all of it is about.
const lead = 4

// evidence is a page prepared for looking claims up.
type evidence struct {
	pieces   []piece
	terms    []map[string]bool // of each piece, with the head of its table
	figures  [][]figure
	where    map[string][]int // term → pieces
	context  map[string]bool  // terms of title and address: true everywhere on the page
	ctxFigs  []figure
	heads    map[string]headTerms // by path of headings
	flat     string               // normalised text, for quotes
	names    map[string]bool      // words that are written with a capital inside sentences
	short    string               // initials of names, for acronyms
	versions map[string][]string  // figures that follow a name in the lead: "Python 3.12"
}

// headTerms are the words and figures of a path of headings.
type headTerms struct {
	terms   map[string]bool
	figures []figure
}

// newEvidence prepares a page; head is what is true of all of it: title, address,
// date.
func newEvidence(head string, page []piece) *evidence {
	e := &evidence{pieces: page[:min(len(page), maxPieces)], where: map[string][]int{}, context: map[string]bool{}, heads: map[string]headTerms{}, names: map[string]bool{}, versions: map[string][]string{}}
	var flat strings.Builder
	var initials []byte
	for i, p := range e.pieces {
		text := plainDates(p.text)
		tokens := tokenize(text)
		terms := map[string]bool{}
		for _, t := range tokens {
			terms[t.term] = true
			for _, part := range t.parts() {
				terms[part] = true
			}
			initials = addInitial(initials, t)
			if unicode.IsUpper(firstRune(t.raw)) && !startsSentence(text, t.start) {
				e.names[t.term] = true
			}
		}
		if p.header != "" && p.header != p.text {
			for _, t := range tokenize(p.header) {
				terms[t.term] = true
			}
		}
		initials = append(initials, ' ')
		e.addHeading(p.heading)
		for term := range terms {
			e.where[term] = append(e.where[term], i)
		}
		e.terms = append(e.terms, terms)
		figures := figuresOf(text, tokens)
		e.figures = append(e.figures, figures)
		if i < lead {
			for _, f := range figures {
				if f.of != "" {
					e.versions[f.of] = append(e.versions[f.of], f.text)
				}
			}
		}
		flat.WriteString(flatten(p.text) + " ")
	}
	head = plainDates(head)
	tokens := tokenize(head)
	for _, t := range tokens {
		e.context[t.term] = true
	}
	e.ctxFigs = figuresOf(head, tokens)
	e.flat, e.short = flat.String(), string(initials)
	return e
}

func (e *evidence) addHeading(heading string) {
	if _, known := e.heads[heading]; known {
		return
	}
	text := plainDates(heading)
	tokens := tokenize(text)
	h := headTerms{terms: map[string]bool{}, figures: figuresOf(text, tokens)}
	for _, t := range tokens {
		h.terms[t.term] = true
	}
	e.heads[heading] = h
}

// addInitial collects the first letters of runs of capitalised words.
func addInitial(initials []byte, t token) []byte {
	r := firstRune(t.raw)
	switch {
	case r < 0x80 && unicode.IsUpper(r):
		return append(initials, byte(unicode.ToLower(r)))
	case stopWords()[strings.ToLower(t.raw)]:
		return initials
	}
	return append(initials, ' ')
}

// flatten makes quotes comparable: lower case, one space, plain quotes, no marks
// of emphasis.
func flatten(s string) string {
	return strings.Join(strings.Fields(flattener().Replace(strings.ToLower(s))), " ")
}

var flattener = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("*", "", "_", "", "`", "", "’", "'", "‘", "'", "“", "\"", "”", "\"", "–", "-", "—", "-", "\u00a0", " ")
})

// candidates are the pieces that share most with a claim.
func (e *evidence) candidates(claim claimTerms) []int {
	scores := map[int]float64{}
	for term, w := range claim.weights {
		list := e.where[term]
		if len(list) > 2000 {
			continue
		}
		for _, i := range list {
			scores[i] += w
		}
	}
	if len(claim.figures) > 0 {
		for i, figures := range e.figures {
			for _, f := range claim.figures {
				if f.in(figures) {
					scores[i] += claim.total/float64(len(claim.weights)+1) + 1
				}
			}
		}
	}
	out := make([]int, 0, len(scores))
	for i := range scores {
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b int) int {
		if d := scores[b] - scores[a]; math.Abs(d) > 1e-12 {
			return int(math.Copysign(1, d))
		}
		return a - b
	})
	return out[:min(24, len(out))]
}

// windows are the places around a piece that are read as one: up to three
// sentences of a section, four of a paragraph, a single row, a few lines of code.
func (e *evidence) windows(i int) [][2]int {
	out := [][2]int{{i, i}}
	p := e.pieces[i]
	if p.kind == rowPiece {
		return out
	}
	reach := 3
	if p.kind == codePiece {
		reach = 4
	}
	joins := func(j, distance int) bool {
		return j >= 0 && j < len(e.pieces) && e.pieces[j].section == p.section && e.pieces[j].kind != rowPiece &&
			(distance < 3 || e.pieces[j].block == p.block)
	}
	for before := range reach + 1 {
		if before > 0 && !joins(i-before, before) {
			break
		}
		for after := range reach + 1 - before {
			if after > 0 && !joins(i+after, before+after) {
				break
			}
			if before+after > 0 {
				out = append(out, [2]int{i - before, i + after})
			}
		}
	}
	return out
}

// A related word counts kinShare of the word itself, in claims of kinFrom words and
// more: of a short one nothing else may be left.
const (
	kinShare = 0.6
	kinFrom  = 5
)

// anyIn reports whether one of the terms stands in a place.
func (e *evidence) anyIn(terms []string, from, to int) bool {
	return slices.ContainsFunc(terms, func(term string) bool {
		for i := from; i <= to; i++ {
			if e.terms[i][term] {
				return true
			}
		}
		return false
	})
}

// weigh measures one place.
func (e *evidence) weigh(claim claimTerms, from, to int) support {
	s := support{from: from, to: to, found: map[string]bool{}, figures: make([]bool, len(claim.figures))}
	heading := e.heads[e.pieces[from].heading]
	got, total := 0.0, claim.total
	for term, w := range claim.weights {
		hit := heading.terms[term]
		for i := from; i <= to && !hit; i++ {
			hit = e.terms[i][term]
		}
		if !hit && e.context[term] {
			// True of every place on the page, so it says less about this one.
			hit, w, total = true, w/2, total-w/2
		}
		if hit {
			got += w
			s.found[term] = true
		} else if len(claim.weights) >= kinFrom && e.anyIn(claim.kin[term], from, to) {
			got += w * kinShare
		}
	}
	for _, f := range claim.counted {
		if e.holds(f, s) {
			got += countWeight
		}
	}
	for k, f := range claim.figures {
		s.figures[k] = f.in(e.ctxFigs) || f.of != "" && slices.Contains(e.versions[f.of], f.text)
		for i := from; i <= to && !s.figures[k]; i++ {
			s.figures[k] = f.in(e.figures[i])
		}
		if !s.figures[k] {
			s.figures[k] = f.inHeading(heading.figures)
		}
		if s.figures[k] {
			got += figureWeight
		}
	}
	s.share = 1
	if total > 0 {
		s.share = got / total
	}
	return s
}

// quote is the place as one line.
func (e *evidence) quote(s support, limit int) string {
	if s.from < 0 {
		return ""
	}
	var parts []string
	for i := s.from; i <= s.to; i++ {
		parts = append(parts, e.pieces[i].text)
	}
	text := strings.Join(parts, " ")
	if s.to > s.from && len([]rune(text)) > limit {
		// The piece that holds most of the claim is worth more than the first.
		best, most := s.from, -1
		for i := s.from; i <= s.to; i++ {
			n := 0
			for term := range s.found {
				if e.terms[i][term] {
					n++
				}
			}
			if n > most {
				best, most = i, n
			}
		}
		text = e.pieces[best].text
	}
	return oneLine(text, limit)
}
