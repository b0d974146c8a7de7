package research

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// passageWords is the length at which a passage is closed.
const passageWords = 140

// passage is a run of pieces of one section that is shown as a whole.
type passage struct {
	source *source
	index  int // place on its page
	text   string
	words  int
	terms  map[string]int
	score  float64
}

// passagesOf groups the pieces of a page. Rows are shown with their table's
// head, so that a row is understood without the rows above it.
func passagesOf(s *source) []*passage {
	var out []*passage
	var b strings.Builder
	words, section := 0, -1
	header := ""
	var last piece
	flush := func() {
		if text := strings.TrimSpace(b.String()); text != "" {
			p := &passage{source: s, index: len(out), text: text, words: words, terms: map[string]int{}}
			for _, t := range tokenize(last.heading + "\n" + text) {
				if t.content() {
					p.terms[t.term]++
				}
			}
			out = append(out, p)
		}
		b.Reset()
		words, header = 0, ""
	}
	for _, p := range s.pieces {
		fresh := p.block != last.block || p.kind != last.kind
		if p.section != section || words >= passageWords && (fresh || p.kind != codePiece) || words >= 3*passageWords {
			flush()
			section = p.section
			if p.heading != "" {
				b.WriteString("## " + p.heading + "\n")
			}
		}
		if fresh && b.Len() > 0 {
			b.WriteByte('\n')
		}
		if p.kind == rowPiece && p.header != header {
			header = p.header
			if p.text != header {
				b.WriteString(header + "\n")
			}
		}
		b.WriteString(p.text)
		if p.kind == prosePiece {
			b.WriteByte(' ')
		} else {
			b.WriteByte('\n')
		}
		words += len(strings.Fields(p.text))
		last = p
	}
	flush()
	return out
}

// rank scores passages against question and queries by BM25. Terms of the
// question weigh double: queries are guesses.
func rank(passages []*passage, question string, queries []string) {
	weights := map[string]float64{}
	for _, q := range queries {
		for _, t := range tokenize(plainDates(q)) {
			if t.content() {
				weights[t.term] = max(weights[t.term], 1)
			}
		}
	}
	for _, t := range tokenize(plainDates(question)) {
		if t.content() {
			weights[t.term] = 2
		}
	}
	df := map[string]int{}
	total := 0
	for _, p := range passages {
		total += p.words
		for term := range p.terms {
			if weights[term] > 0 {
				df[term]++
			}
		}
	}
	mean := float64(total)/float64(max(1, len(passages))) + 1
	for _, p := range passages {
		p.score = 0
		for term, w := range weights {
			tf := float64(p.terms[term])
			if tf == 0 {
				continue
			}
			idf := math.Log(1 + (float64(len(passages)-df[term])+0.5)/(float64(df[term])+0.5))
			p.score += w * idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(p.words)/mean))
		}
	}
}

// choosePassages fills the budget with the best passages of all pages. The first
// passage of every page that has anything to say comes first: a page of which
// nothing is shown cannot be cited.
func choosePassages(passages []*passage, budgetBytes int) []*passage {
	ranked := slices.Clone(passages)
	slices.SortStableFunc(ranked, func(a, b *passage) int { return cmp.Compare(b.score, a.score) })
	var chosen []*passage
	taken := map[*passage]bool{}
	used := 0
	take := func(p *passage) {
		if size := len(p.text) + 20; !taken[p] && used+size <= budgetBytes {
			taken[p] = true
			used += size
			chosen = append(chosen, p)
		}
	}
	whole := 0
	for _, p := range ranked {
		whole += len(p.text)
	}
	first := map[*source]bool{}
	for _, p := range ranked {
		if !first[p.source] {
			first[p.source] = true
			take(p)
		}
	}
	for _, p := range ranked {
		// What shares no word with the question is shown only where that costs little.
		if p.score <= 0 && whole > budgetBytes/2 {
			break
		}
		take(p)
	}
	slices.SortStableFunc(chosen, func(a, b *passage) int {
		return cmp.Or(cmp.Compare(a.source.n, b.source.n), cmp.Compare(a.index, b.index))
	})
	return chosen
}
