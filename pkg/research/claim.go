package research

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"legwork/pkg/digest"
)

// claimTerms is what has to be found of a claim.
type claimTerms struct {
	text    string
	weights map[string]float64
	kin     map[string][]string // terms that may stand for one of the weights
	total   float64
	figures []figure // that must stand where the claim is made
	counted []figure // number words with what they count: must stand there when the page speaks of such things
	names   []token  // that must stand somewhere on the page
	quotes  []string
	code    []string // code spans: must stand on the page
}

// Weights of what has no rarity on the pages: words that stand on none of them,
// and figures, which are rare by nature.
const (
	unknownWeight = 2.5
	figureWeight  = 3.0
	countWeight   = 2.0 // of number words, which a writer also counts by himself
)

// checker looks claims up in all pages of an answer.
type checker struct {
	pages    map[int]*evidence
	df       map[string]int
	pieces   int
	names    map[string]bool
	question map[string]bool
	asked    []figure
	asking   string // the question, flattened
}

func newChecker(question string, sources []*source) *checker {
	c := &checker{pages: map[int]*evidence{}, df: map[string]int{}, names: map[string]bool{}, question: map[string]bool{}, asking: flatten(question)}
	for _, s := range sources {
		c.pages[s.n] = s.evidence
		c.pieces += len(s.evidence.pieces)
		for term, list := range s.evidence.where {
			c.df[term] += len(list)
		}
		maps.Copy(c.names, s.evidence.names)
	}
	plain := plainDates(question)
	tokens := tokenize(plain)
	for _, t := range tokens {
		c.question[t.term] = true
	}
	c.asked = figuresOf(plain, tokens)
	return c
}

// read takes a claim apart.
func (c *checker) read(text string) claimTerms {
	text = plainDates(text)
	claim := claimTerms{text: text, weights: map[string]float64{}, kin: map[string][]string{}}
	tokens := tokenize(text)
	figures := figuresOf(text, tokens)
	for i, t := range tokens {
		if !t.content() || t.digit || slices.ContainsFunc(figures, func(f figure) bool { return f.word && f.first <= i && i <= f.last }) {
			continue
		}
		w := math.Log(1 + float64(c.pieces+1)/float64(1+c.df[t.term]))
		if c.df[t.term] == 0 {
			w = unknownWeight // a word of the writer's own, most likely
		}
		isName := !measureWord(t) && (t.name || unicode.IsUpper(firstRune(t.raw)) && (c.names[t.term] || i > 0 && !startsSentence(text, t.start)))
		switch {
		case isName && c.question[t.term] && c.df[t.term] == 0:
			// The pages call the thing by another name, so this is no must.
		case isName:
			w *= 1.3
			claim.names = append(claim.names, t)
		case c.question[t.term]:
			w *= 0.5
		}
		claim.weights[t.term] = w
		if !isName {
			for _, word := range digest.Related(t.raw) {
				claim.kin[t.term] = append(claim.kin[t.term], newToken(word, 0).term)
			}
		}
	}
	for _, w := range claim.weights {
		claim.total += w
	}
	for _, f := range figures {
		switch {
		case f.in(c.asked):
			continue
		case f.word && (f.unit.name == "" || f.unit.name == "%"):
			claim.counted = append(claim.counted, f) // "three ways" may be counted by the writer
			continue
		}
		claim.figures = append(claim.figures, f)
	}
	claim.total += figureWeight*float64(len(claim.figures)) + countWeight*float64(len(claim.counted))
	claim.quotes = quotesOf(text)
	for _, span := range codeSpans(text) {
		if !strings.Contains(c.asking, span) {
			claim.code = append(claim.code, span)
		}
	}
	return claim
}

// measureWord reports whether a token is a unit, which figures are compared with.
func measureWord(t token) bool {
	lower := strings.ToLower(t.raw)
	_, unit := unitsBySpelling()[lower]
	return unit || lower == "celsius" || lower == "fahrenheit"
}

// codeSpans returns what stands between single backticks, flattened.
func codeSpans(text string) []string {
	var out []string
	parts := strings.Split(text, "`")
	for i := 1; i+1 < len(parts); i += 2 {
		if span := flatten(parts[i]); span != "" {
			out = append(out, span)
		}
	}
	return out
}

// startsSentence reports whether a word is capitalised because of its place.
func startsSentence(text string, at int) bool {
	before := strings.TrimRight(text[:at], " *_`\"'“‘([")
	return before == "" || strings.ContainsRune(".:!?;-–—|•\n", lastRune(before))
}

func lastRune(s string) rune {
	r := rune(0)
	for _, c := range s[max(0, len(s)-4):] {
		r = c
	}
	return r
}

// quotesOf returns the literal quotes of a claim that are long enough to be ones.
func quotesOf(text string) []string {
	var out []string
	for _, marks := range [][2]string{{"“", "”"}, {"\"", "\""}, {"«", "»"}} {
		rest := text
		for {
			_, after, ok := strings.Cut(rest, marks[0])
			if !ok {
				break
			}
			quote, tail, ok := strings.Cut(after, marks[1])
			if !ok {
				break
			}
			if len(strings.Fields(quote)) >= 3 {
				out = append(out, strings.Trim(flatten(quote), " .,;:!?…"))
			}
			rest = tail
		}
	}
	return out
}

// bare reports whether a sentence claims too little to be looked up.
func (t claimTerms) bare() bool {
	return len(t.figures) == 0 && len(t.quotes) == 0 && len(t.weights)+len(t.counted) < 3
}
