package research

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
)

// maxPieces bounds how much of a page is searched for support.
const maxPieces = 20_000

// evidence is a page prepared for looking claims up.
type evidence struct {
	pieces  []piece
	terms   []map[string]bool // of each piece, with the head of its table
	figures [][]figure
	where   map[string][]int // term → pieces
	context map[string]bool  // terms of title and address: true everywhere on the page
	ctxFigs []figure
	heads   map[string]headTerms // by path of headings
	flat    string               // normalised text, for quotes
	names   map[string]bool      // words that are written with a capital inside sentences
	short   string               // initials of names, for acronyms
}

// headTerms are the words and figures of a path of headings.
type headTerms struct {
	terms   map[string]bool
	figures []figure
}

// newEvidence prepares a page; head is what is true of all of it: title, address,
// date.
func newEvidence(head string, page []piece) *evidence {
	e := &evidence{pieces: page[:min(len(page), maxPieces)], where: map[string][]int{}, context: map[string]bool{}, heads: map[string]headTerms{}, names: map[string]bool{}}
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
		e.figures = append(e.figures, figuresOf(text, tokens))
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
	s = strings.NewReplacer("*", "", "_", "", "`", "", "’", "'", "‘", "'", "“", "\"", "”", "\"", "–", "-", "—", "-", "\u00a0", " ").Replace(strings.ToLower(s))
	return strings.Join(strings.Fields(s), " ")
}

// claimTerms is what has to be found of a claim.
type claimTerms struct {
	text    string
	weights map[string]float64
	total   float64
	figures []figure // that must stand where the claim is made
	counted []figure // number words with what they count: must stand there when the page speaks of such things
	names   []token  // that must stand somewhere on the page
	quotes  []string
	code    []string // code spans: must stand on the page
	negated bool
}

// Weights of what has no rarity on the pages: words that stand on none of them,
// and figures, which are rare by nature.
const (
	unknownWeight = 2.5
	figureWeight  = 3.0
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
	claim := claimTerms{text: text, weights: map[string]float64{}}
	tokens := tokenize(text)
	for i, t := range tokens {
		if !t.content() || t.digit {
			continue
		}
		w := math.Log(1 + float64(c.pieces+1)/float64(1+c.df[t.term]))
		if c.df[t.term] == 0 {
			w = unknownWeight // a word of the writer's own, most likely
		}
		isName := t.name || unicode.IsUpper(firstRune(t.raw)) && (c.names[t.term] || i > 0 && !startsSentence(text, t.start))
		switch {
		case isName && c.question[t.term]:
			// A page may call the thing by another name, so this is no must.
		case isName:
			w *= 1.3
			claim.names = append(claim.names, t)
		case c.question[t.term]:
			w *= 0.5
		}
		claim.weights[t.term] = w
	}
	for _, w := range claim.weights {
		claim.total += w
	}
	for _, f := range figuresOf(text, tokens) {
		switch {
		case f.in(c.asked):
			continue
		case f.word && f.unit.name == "":
			claim.counted = append(claim.counted, f) // "three ways" may be counted by the writer
			continue
		}
		claim.figures = append(claim.figures, f)
	}
	claim.total += figureWeight * float64(len(claim.figures))
	claim.quotes = quotesOf(text)
	for _, span := range codeSpans(text) {
		if !strings.Contains(c.asking, span) {
			claim.code = append(claim.code, span)
		}
	}
	claim.negated = negated(tokens)
	return claim
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

var negations = map[string]bool{
	"not": true, "never": true, "no": true, "cannot": true, "none": true, "neither": true, "nor": true, "without": true,
	"isn't": true, "aren't": true, "doesn't": true, "don't": true, "didn't": true, "won't": true, "can't": true, "wasn't": true, "weren't": true,
	"couldn't": true, "shouldn't": true, "hasn't": true, "haven't": true, "wouldn't": true,
}

func negated(tokens []token) bool {
	return slices.ContainsFunc(tokens, func(t token) bool {
		return negations[strings.ReplaceAll(strings.ToLower(t.raw), "’", "'")]
	})
}

// bare reports whether a sentence claims too little to be looked up.
func (t claimTerms) bare() bool {
	return len(t.figures) == 0 && len(t.quotes) == 0 && len(t.weights) < 3
}

// support is how well a page bears a claim out.
type support struct {
	score   float64 // share of the claim's weight found in one place, 0 when a must is missing
	share   float64 // the same without the musts
	from    int     // first and last piece of that place
	to      int
	found   map[string]bool // terms of the claim found there
	figures []bool          // of the claim's figures
	why     string          // what is missing
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
		if f.counts != "" && f.value > 2 && len(page.where[f.counts]) > 0 && !page.holds(f, best) {
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
	if best.from >= 0 {
		return page.contradicts(claim, best)
	}
	return "nothing about it there"
}

// hasCode looks for a code span as it stands, else for all its words: a writer
// joins an option and its value.
func (e *evidence) hasCode(span string) bool {
	if strings.Contains(e.flat, span) {
		return true
	}
	tokens := tokenize(span)
	for _, t := range tokens {
		if len(e.where[t.term]) == 0 && !e.context[t.term] {
			return false
		}
	}
	return len(tokens) > 1
}

// holds reports whether a figure stands in a place or in the heading above it.
func (e *evidence) holds(f figure, place support) bool {
	for i := max(place.from, 0); i <= place.to && i < len(e.figures); i++ {
		if f.in(e.figures[i]) || f.in(e.heads[e.pieces[i].heading].figures) {
			return true
		}
	}
	return false
}

// otherFigure reports whether the place gives another figure of the same sort for
// what the claim speaks of, and f for something else: "1 when a row could not be
// parsed, 3 when a file could not be opened".
func (e *evidence) otherFigure(claim claimTerms, f figure, place support) bool {
	own, other := -1.0, -1.0
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
			switch {
			case f.in(figures):
				own = max(own, share)
			case rival(f, figures, append(claim.figures, claim.counted...)):
				other = max(other, share)
			}
		}
	}
	return own >= 0 && own < 0.1*claim.total && other > own+0.25*claim.total
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
// sentences of a section, a single row, a few lines of code.
func (e *evidence) windows(i int) [][2]int {
	out := [][2]int{{i, i}}
	p := e.pieces[i]
	if p.kind == rowPiece {
		return out
	}
	reach := 2
	if p.kind == codePiece {
		reach = 4
	}
	joins := func(j int) bool {
		return j >= 0 && j < len(e.pieces) && e.pieces[j].section == p.section && e.pieces[j].kind != rowPiece
	}
	for before := range reach + 1 {
		if before > 0 && !joins(i-before) {
			break
		}
		for after := range reach + 1 - before {
			if after > 0 && !joins(i+after) {
				break
			}
			if before+after > 0 {
				out = append(out, [2]int{i - before, i + after})
			}
		}
	}
	return out
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
		}
	}
	for k, f := range claim.figures {
		s.figures[k] = f.in(e.ctxFigs)
		for i := from; i <= to && !s.figures[k]; i++ {
			s.figures[k] = f.in(e.figures[i])
		}
		if !s.figures[k] {
			s.figures[k] = f.in(heading.figures)
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

// opposites are words of which a claim may not hold one where the page has the
// other.
var opposites = [][2]string{
	{"enabled", "disabled"},
	{"enable", "disable"},
	{"increase", "decrease"},
	{"increased", "decreased"},
	{"minimum", "maximum"},
	{"always", "never"},
	{"allow", "deny"},
	{"allowed", "forbidden"},
	{"required", "optional"},
	{"mandatory", "optional"},
	{"true", "false"},
	{"supported", "unsupported"},
	{"higher", "lower"},
	{"faster", "slower"},
	{"larger", "smaller"},
	{"synchronous", "asynchronous"},
	{"mutable", "immutable"},
	{"rise", "fall"},
	{"rose", "fell"},
	{"gain", "loss"},
	{"north", "south"},
	{"east", "west"},
	{"ascending", "descending"},
	{"inclusive", "exclusive"},
	{"signed", "unsigned"},
}

// contradicts compares a claim with the place that shares nearly all its words:
// there a different "not" or an opposite changes the meaning.
func (e *evidence) contradicts(claim claimTerms, best support) string {
	if best.share < 0.7 || best.from != best.to || e.pieces[best.from].kind == codePiece {
		return ""
	}
	place := tokenize(e.pieces[best.from].text)
	mine := tokenize(claim.text)
	has := func(tokens []token, word string) bool {
		return slices.ContainsFunc(tokens, func(t token) bool { return strings.EqualFold(t.raw, word) })
	}
	for _, pair := range opposites {
		for _, p := range [][2]string{pair, {pair[1], pair[0]}} {
			if has(mine, p[0]) && !has(mine, p[1]) && has(place, p[1]) && !has(place, p[0]) {
				return fmt.Sprintf("it says %q there, not %q", p[1], p[0])
			}
		}
	}
	there := negated(place)
	if claim.negated != there && (claim.negated || contentCount(place) <= len(claim.weights)+len(claim.figures)+3) {
		if claim.negated {
			return "it says the opposite there: no negation"
		}
		return "it says the opposite there: negated"
	}
	return ""
}

func contentCount(tokens []token) int {
	n := 0
	for _, t := range tokens {
		if t.content() {
			n++
		}
	}
	return n
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
