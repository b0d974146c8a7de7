package research

import (
	"slices"
	"strings"
)

// support is how well a page bears a claim out.
type support struct {
	score   float64 // share of the claim's weight found in one place, 0 when a must is missing
	share   float64 // the same without the musts
	from    int     // first and last piece of that place
	to      int
	found   map[string]bool // terms of the claim found there
	figures []bool          // of the claim's figures
	why     string          // what is missing
	against bool            // the place says something else about the same thing
}

// in looks the claim up on one page.
func (c *checker) in(claim claimTerms, page *evidence) support {
	best := support{from: -1, figures: make([]bool, len(claim.figures))}
	bestRank := -1.0
	for _, i := range page.candidates(claim) {
		for _, w := range page.windows(i) {
			s := page.weigh(claim, w[0], w[1])
			all := 0
			for _, ok := range s.figures {
				if ok {
					all++
				}
			}
			// Figures first: a place that has them all is the place of the claim.
			rank := s.share + 0.6*float64(all)/float64(max(1, len(claim.figures))) - 0.01*float64(w[1]-w[0])
			if rank > bestRank {
				best, bestRank = s, rank
			}
		}
	}
	best.score = best.share
	best.why = c.missing(claim, page, best)
	if best.why == "" && best.from >= 0 {
		best.why = page.contradicts(claim, best)
		best.against = best.why != ""
	}
	if best.why != "" {
		best.score = 0
	}
	return best
}

// missing names the first must that the page lacks, "" when it has them all.
func (c *checker) missing(claim claimTerms, page *evidence, best support) string {
	for i, f := range claim.figures {
		if !best.figures[i] || page.otherFigure(claim, f, best) {
			return "no " + strings.TrimSpace(f.raw+" "+f.unit.name) + " there"
		}
	}
	for _, f := range claim.counted {
		if page.holds(f, best) {
			continue
		}
		if f.unit.name == "%" {
			if page.otherShare(f, best) {
				return "no " + f.raw + " there"
			}
			continue // a writer computes shares
		}
		if f.counts != "" && f.value > 2 && len(page.where[f.counts]) > 0 || f.per != "" && page.otherRate(f, best) {
			return "no " + f.raw + " there"
		}
	}
	for _, q := range claim.quotes {
		if !strings.Contains(page.flat, q) {
			return "the quoted words are not there"
		}
	}
	for _, span := range claim.code {
		if !page.hasCode(span) {
			return span + " is not there"
		}
	}
	for _, t := range claim.names {
		if len(page.where[t.term]) == 0 && !page.context[t.term] && !page.inHeading(t.term) && !page.spelledOut(t) && !strings.Contains(page.flat, strings.ToLower(t.raw)) {
			return t.raw + " is not mentioned there"
		}
	}
	if best.from < 0 {
		return "nothing about it there"
	}
	return ""
}

// hasCode looks for a code span as it stands, else for each of its words: a
// writer joins an option and its value, and puts () behind a function.
func (e *evidence) hasCode(span string) bool {
	if strings.Contains(e.flat, span) {
		return true
	}
	for word := range strings.FieldsSeq(span) {
		if !strings.Contains(e.flat, strings.TrimSuffix(word, "()")) {
			return false
		}
	}
	return true
}

// holds reports whether a figure stands in a place or in the heading above it.
func (e *evidence) holds(f figure, place support) bool {
	for i := max(place.from, 0); i <= place.to && i < len(e.figures); i++ {
		if f.in(e.figures[i]) || f.inHeading(e.heads[e.pieces[i].heading].figures) {
			return true
		}
	}
	return false
}

// otherShare reports whether the place gives a share, in percent or as a fraction.
func (e *evidence) otherShare(f figure, place support) bool {
	for i := max(place.from, 0); i <= place.to && i < len(e.figures); i++ {
		if slices.ContainsFunc(e.figures[i], func(o figure) bool { return o.unit.name == f.unit.name }) {
			return true
		}
	}
	return false
}

// otherRate reports whether the place gives a rate by the same unit of time.
func (e *evidence) otherRate(f figure, place support) bool {
	for i := max(place.from, 0); i <= place.to && i < len(e.figures); i++ {
		if slices.ContainsFunc(e.figures[i], func(o figure) bool { return o.per == f.per }) {
			return true
		}
	}
	return false
}

// otherFigure reports whether the place gives another figure of the same sort for
// what the claim speaks of, and f for something else: "1 when a row could not be
// parsed, 3 when a file could not be opened".
func (e *evidence) otherFigure(claim claimTerms, f figure, place support) bool {
	own, other, stands := -1.0, -1.0, false
	claimed := slices.Concat(claim.figures, claim.counted)
	for i := max(place.from, 0); i <= place.to && place.from >= 0; i++ {
		if e.pieces[i].kind != prosePiece {
			return false
		}
		for _, clause := range clauses(plainDates(e.pieces[i].text)) {
			tokens := tokenize(clause)
			figures := figuresOf(clause, tokens)
			share := 0.0
			counted := map[string]bool{}
			for _, t := range tokens {
				if !counted[t.term] {
					share += claim.weights[t.term]
					counted[t.term] = true
				}
			}
			here := f.in(figures)
			stands = stands || here
			switch {
			case here || slices.ContainsFunc(figures, func(o figure) bool { return o.in(claimed) }):
				own = max(own, share)
			case rival(f, figures, claimed):
				other = max(other, share)
			}
		}
	}
	return stands && own < 0.4*other && other > own+0.25*claim.total
}

// rival reports whether a figure that the claim does not hold could stand for f.
func rival(f figure, figures, claimed []figure) bool {
	return slices.ContainsFunc(figures, func(o figure) bool {
		return o.unit.name == f.unit.name && !o.in(claimed)
	})
}

// clauses splits a sentence where a new statement may begin.
func clauses(s string) []string {
	var out []string
	start := 0
	for i := 0; i+1 < len(s); i++ {
		if (s[i] == ',' || s[i] == ';' || s[i] == ':') && s[i+1] == ' ' {
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

func (e *evidence) inHeading(term string) bool {
	for _, h := range e.heads {
		if h.terms[term] {
			return true
		}
	}
	return false
}

// spelledOut reports whether an acronym's words stand on the page.
func (e *evidence) spelledOut(t token) bool {
	if len(t.raw) < 3 || strings.ToUpper(t.raw) != t.raw {
		return false
	}
	return strings.Contains(e.short, strings.ToLower(t.raw))
}
