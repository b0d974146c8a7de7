package research

import (
	"fmt"
	"math"
	"sort"
	"strings"
)

// extractLines is how many sentences stand in for an answer.
const extractLines = 6

// extractLine is a sentence, row or line of a page that shares words with the
// question.
type extractLine struct {
	source *source
	text   string
	score  float64
}

// extract answers with the best sentences of the pages. It is what stands when
// there is no model, or when it failed.
func (r *run) extract() {
	r.result.Extractive = true
	lines := r.scoredLines()
	var b strings.Builder
	seen := map[string]bool{}
	count := map[*source]int{}
	for _, l := range lines {
		if len(seen) == extractLines || l.score < lines[0].score*0.45 {
			break
		}
		text := oneLine(l.text, 300)
		if seen[text] || count[l.source] == 3 {
			continue
		}
		seen[text] = true
		count[l.source]++
		fmt.Fprintf(&b, "- %s [%d]\n", text, l.source.n)
		r.result.Claims = append(r.result.Claims,
			Claim{Text: text, Cited: []int{l.source.n}, Sources: []int{l.source.n}, Verdict: Supported, Quote: text})
	}
	if b.Len() == 0 {
		r.result.Answer = "The pages that were read hold none of the words of the question. They begin:\n" + r.beginnings()
		return
	}
	r.result.Answer = "No model wrote this; the best matching passages:\n" + strings.TrimRight(b.String(), "\n")
}

// beginnings shows what the pages are about when nothing on them fits.
func (r *run) beginnings() string {
	var lines []string
	for _, s := range r.sources {
		for _, p := range s.pieces {
			if p.kind == prosePiece && len(strings.Fields(p.text)) >= 4 {
				lines = append(lines, fmt.Sprintf("- %s [%d]", oneLine(p.text, 160), s.n))
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}

// scoredLines ranks the pieces of all pages; words in the heading above a piece
// count half.
func (r *run) scoredLines() []extractLine {
	weights := r.questionWeights()
	var lines []extractLine
	for _, s := range r.sources {
		for i, p := range s.evidence.pieces {
			score := 0.0
			heading := s.evidence.heads[p.heading].terms
			for term, w := range weights {
				switch {
				case s.evidence.terms[i][term]:
					score += w
				case heading[term]:
					score += w / 2
				}
			}
			text := p.text
			if next := i + 1; len(strings.Fields(text)) < 6 && p.kind == prosePiece && next < len(s.evidence.pieces) && s.pieces[next].section == p.section {
				text += " — " + s.pieces[next].text // a term and its definition
			}
			if words := len(strings.Fields(text)); score > 0 && words >= 4 {
				lines = append(lines, extractLine{s, text, score / (1 + float64(max(0, words-40))/80)})
			}
		}
	}
	sort.SliceStable(lines, func(i, j int) bool { return lines[i].score > lines[j].score })
	return lines
}

// questionWeights weighs the words of the question by their rarity on the pages.
func (r *run) questionWeights() map[string]float64 {
	weights := map[string]float64{}
	for _, t := range tokenize(plainDates(r.req.Question + " " + strings.Join(r.req.Queries, " "))) {
		if t.content() {
			weights[t.term] = 0
		}
	}
	total := 0
	df := map[string]int{}
	for _, s := range r.sources {
		total += len(s.evidence.pieces)
		for term := range weights {
			df[term] += len(s.evidence.where[term])
		}
	}
	for term := range weights {
		weights[term] = math.Log(1 + float64(total+1)/float64(1+df[term]))
	}
	return weights
}
