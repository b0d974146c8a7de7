package research

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// What must be shared before two statements are taken to speak of the same thing:
// of the claim's weight, without the word that differs.
const (
	sameThing     = 0.6  // for an opposite
	sameClause    = 0.55 // for a negation on the page
	sameUniversal = 0.4  // for an exception
	onlyDenied    = 0.33 // what may stand in clauses with a negation only
	sameDenied    = 0.85 // for one of the writer, who often denies what the page says in other words
	sameOrder     = 0.9  // for an exchange, which keeps all words
	sameFigures   = 0.75 // for an exchange of figures
)

// comparison lays a claim beside the place that bears it out best. The checks on
// it look for the small changes that turn a true sentence into a false one while
// nearly all its words stay.
type comparison struct {
	page  *evidence
	claim claimTerms
	place support
	at    int                // the piece that holds most of the claim
	mine  []token            // of the claim
	words map[string]float64 // of the claim, without those that are true of the whole page
	there [][]token          // clauses of that piece
}

// contradicts says how the place contradicts the claim, "" when it does not.
func (e *evidence) contradicts(claim claimTerms, best support) string {
	c := comparison{page: e, claim: claim, place: best, at: e.nearest(claim, best), mine: tokenize(claim.text)}
	if e.pieces[c.at].kind == codePiece {
		return ""
	}
	c.words = e.ownWords(claim, c.mine)
	c.there = e.clausesOf(c.at, c.at)
	for _, check := range []func(comparison) string{otherRow, otherColumn, otherName, exchanged, swapped, universal, excepted, withAndWithout, denied, undenied, turned} {
		if why := check(c); why != "" {
			return why
		}
	}
	return ""
}

// nearest is the piece of a place that holds most of the claim.
func (e *evidence) nearest(claim claimTerms, place support) int {
	best, most := place.from, -1.0
	for i := place.from; i <= place.to; i++ {
		got := 0.0
		for term, w := range claim.weights {
			if e.terms[i][term] {
				got += w
			}
		}
		if got > most {
			best, most = i, got
		}
	}
	return best
}

// clausesOf are the clauses of the pieces from one to another.
func (e *evidence) clausesOf(from, to int) (out [][]token) {
	for i := from; i <= to; i++ {
		for _, clause := range clauses(plainDates(e.pieces[i].text)) {
			out = append(out, tokenize(clause))
		}
	}
	return out
}

// ownWords are the weights of a clause's words, without those that are true of the
// whole page.
func (e *evidence) ownWords(claim claimTerms, clause []token) map[string]float64 {
	words := map[string]float64{}
	for _, t := range clause {
		w := claim.weights[t.term]
		switch {
		case w == 0 || e.context[t.term]:
		case len(e.where[t.term]) == 0:
			words[t.term] = w / 2 // the writer's own word for something
		default:
			words[t.term] = w
		}
	}
	return words
}

// otherRow finds that another row of the table is the one that the claim names.
func otherRow(c comparison) string {
	row := c.page.pieces[c.at]
	if row.kind != rowPiece || row.text == row.header {
		return ""
	}
	named := func(i int) (share float64, label string) {
		label, _, _ = strings.Cut(strings.Trim(c.page.pieces[i].text, "| "), "|")
		all, got := 0, 0
		for _, t := range tokenize(label) {
			if !t.content() || t.digit {
				continue // a figure stands in other cells too
			}
			all++
			if slices.ContainsFunc(c.mine, func(m token) bool { return m.term == t.term }) {
				got++
			}
		}
		if all == 0 {
			return 0, ""
		}
		return float64(got) / float64(all), strings.TrimSpace(label)
	}
	own, _ := named(c.at)
	for i := c.at - 1; i >= 0 && c.page.pieces[i].block == row.block; i-- {
		if share, label := named(i); share == 1 && own < 1 && c.page.pieces[i].text != row.header {
			return "that is another row than " + label
		}
	}
	for i := c.at + 1; i < len(c.page.pieces) && c.page.pieces[i].block == row.block; i++ {
		if share, label := named(i); share == 1 && own < 1 {
			return "that is another row than " + label
		}
	}
	return ""
}

// otherColumn finds that the claim names one column of the table and has a figure
// of another.
func otherColumn(c comparison) string {
	row := c.page.pieces[c.at]
	if row.kind != rowPiece || row.text == row.header {
		return ""
	}
	heads, cells := cellsOf(row.header), cellsOf(row.text)
	if len(heads) != len(cells) {
		return ""
	}
	column := 0 // the only one after the label that the claim names
	for i := 1; i < len(heads); i++ {
		label := tokenize(heads[i])
		if len(label) == 0 || !slices.ContainsFunc(label, token.content) || !c.says(label) {
			continue
		}
		if column > 0 {
			return ""
		}
		column = i
	}
	if column == 0 {
		return ""
	}
	figures := func(i int) []figure { return figuresOf(cells[i], tokenize(cells[i])) }
	for _, f := range c.claim.figures {
		if f.in(figures(column)) || f.in(figures(0)) {
			continue
		}
		for i := 1; i < len(cells); i++ {
			if i != column && f.in(figures(i)) {
				return fmt.Sprintf("%s stands in the column %s there", f.raw, strings.TrimSpace(heads[i]))
			}
		}
	}
	return ""
}

// cellsOf cuts a table row.
func cellsOf(row string) []string {
	return strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
}

// says reports whether the claim has all the tokens.
func (c comparison) says(tokens []token) bool {
	for _, t := range tokens {
		if !slices.ContainsFunc(c.mine, func(m token) bool { return m.term == t.term }) {
			return false
		}
	}
	return true
}

// otherName finds a name or month of the claim in whose place the sentence has
// another: "in May" for "in September", "to Corve" for "to Sellmere".
func otherName(c comparison) string {
	if c.page.pieces[c.at].kind != prosePiece {
		return ""
	}
	theirs := slices.Concat(c.there...)
	mine := slots(c.mine)
	there := slots(theirs)
	has := func(tokens []token, term string) bool {
		return slices.ContainsFunc(tokens, func(t token) bool { return t.term == term })
	}
	heading := c.page.heads[c.page.pieces[c.at].heading]
	for slot, name := range mine {
		other, ok := there[slot]
		above := heading.terms[name.term] && !c.page.context[name.term]
		if ok && !above && !has(theirs, name.term) && !has(c.mine, other.term) {
			return fmt.Sprintf("it says %s there, not %s", other.raw, name.raw)
		}
	}
	return ""
}

// slots gives the name that follows each preposition, and the month; a preposition
// that two names follow has none.
func slots(tokens []token) map[string]token {
	out := map[string]token{}
	twice := map[string]bool{}
	put := func(slot string, t token) {
		if old, ok := out[slot]; ok && old.term != t.term {
			twice[slot] = true
		}
		out[slot] = t
	}
	for i, t := range tokens {
		if i == 0 || !unicode.IsUpper(firstRune(t.raw)) {
			continue
		}
		if months[strings.ToLower(t.raw)] {
			put("month", t)
			continue
		}
		switch before := wordAt(tokens, i-1); before {
		case "in", "at", "from", "to", "between", "near", "for":
			put(before, t)
		}
	}
	maps.DeleteFunc(out, func(slot string, _ token) bool { return twice[slot] })
	return out
}

// exchanged finds two words of the claim that have changed places: the claim has
// the words of the place in another order, and in its order once the two are put
// back. A passive, an opposite and two words that "and" joins have good reason.
func exchanged(c comparison) string {
	if c.place.share < sameFigures || len(clauses(c.claim.text)) > 1 {
		return ""
	}
	var theirs []token
	for i := c.place.from; i <= c.place.to; i++ {
		if c.page.pieces[i].kind != prosePiece {
			return ""
		}
		theirs = append(theirs, tokenize(plainDates(c.page.pieces[i].text))...)
	}
	if passive(c.mine) != passive(theirs) {
		return ""
	}
	known := map[string]bool{}
	for _, t := range theirs {
		known[t.term] = true
	}
	there := sequence(theirs, func(t token) bool { return c.claim.weights[t.term] > 0 || t.digit })
	here := sequence(c.mine, func(t token) bool { return (c.claim.weights[t.term] > 0 || t.digit) && known[t.term] })
	least := 4
	if ordered(c.mine) && ordered(theirs) {
		least = 3
	}
	if len(here) < least || len(here) > 24 || len(there) > 60 {
		return ""
	}
	if common(here, there) == len(here) {
		return ""
	}
	for i := range here {
		for k := i + 2; k < len(here); k++ { // next to each other they are a phrase that moved
			a, b := here[i], here[k]
			if a.term == b.term || a.digit != b.digit || !a.digit && c.place.share < sameOrder || joined(c.mine, a, b) || joined(theirs, a, b) {
				continue
			}
			changed := slices.Clone(here)
			changed[i], changed[k] = b, a
			if common(changed, there) == len(here) {
				return a.raw + " and " + b.raw + " have changed places"
			}
		}
	}
	return ""
}

// sequence is the tokens that are kept; the words of a name are one.
func sequence(tokens []token, keep func(token) bool) []token {
	var out []token
	end := -1
	for _, t := range tokens {
		if !keep(t) {
			continue
		}
		capital := unicode.IsUpper(firstRune(t.raw))
		if n := len(out) - 1; n >= 0 && capital && unicode.IsUpper(firstRune(out[n].raw)) && t.start == end+1 {
			out[n].term += " " + t.term
			out[n].raw += " " + t.raw
		} else {
			out = append(out, t)
		}
		end = t.start + len(t.raw)
	}
	return out
}

// common is the length of the longest common subsequence.
func common(a, b []token) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for k, y := range b {
			up := row[k+1]
			if x.term == y.term {
				row[k+1] = diagonal + 1
			} else {
				row[k+1] = max(row[k+1], row[k])
			}
			diagonal = up
		}
	}
	return row[len(b)]
}

// ordered reports whether a statement puts one thing before another.
func ordered(tokens []token) bool {
	return anyWord(tokens, "before", "after", "than")
}

// passive reports whether an agent follows with "by".
func passive(tokens []token) bool {
	return anyWord(tokens, "by")
}

func anyWord(tokens []token, words ...string) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return slices.Contains(words, strings.ToLower(t.raw)) })
}

// joined reports whether two words stand side by side, or with only a word like
// "and" between them.
func joined(tokens []token, a, b token) bool {
	pair := func(x, y token) bool {
		return x.term == a.term && y.term == b.term || x.term == b.term && y.term == a.term
	}
	for i := range tokens {
		if i+1 < len(tokens) && pair(tokens[i], tokens[i+1]) {
			return true
		}
		if i+2 < len(tokens) && pair(tokens[i], tokens[i+2]) {
			switch wordAt(tokens, i+1) {
			case "and", "or", "nor":
				return true
			}
		}
	}
	return false
}

// reach is how many words away from a figure a word may stand that it belongs to.
const reach = 4

// swapped finds two figures of the claim that stand in the sentence with each
// other's words: "agents of 5.2 and a controller of 5.1" for "agents of 5.1 and a
// controller of 5.2". A word belongs to the figure that stands nearest.
func swapped(c comparison) string {
	here, there := owners(c.words, c.mine), owners(c.words, slices.Concat(c.there...))
	agree, moved := 0.0, map[[2]string]float64{}
	for term, figure := range here {
		switch other, known := there[term]; {
		case !known:
		case other == figure:
			agree += c.words[term]
		default:
			moved[[2]string{figure, other}] += c.words[term]
		}
	}
	for pair, w := range moved {
		if back := moved[[2]string{pair[1], pair[0]}]; back > 0 && w+back > 3*agree {
			return min(pair[0], pair[1]) + " and " + max(pair[0], pair[1]) + " are swapped"
		}
	}
	return ""
}

// owners gives each of the words the nearest figure, as digits. Words between two
// figures at the same distance have none.
func owners(words map[string]float64, tokens []token) map[string]string {
	out := map[string]string{}
	for i, t := range tokens {
		if words[t.term] == 0 || t.digit {
			continue
		}
		nearest, distance := "", reach+1
		for k, f := range tokens {
			d := max(i-k, k-i)
			switch {
			case !f.digit || d > distance:
			case d == distance:
				nearest = ""
			default:
				nearest, _ = number(f.raw)
				distance = d
			}
		}
		if nearest != "" {
			out[t.term] = nearest
		}
	}
	return out
}

// universal finds an "all" for what the page says of some.
func universal(c comparison) string {
	all := func(tokens []token) bool {
		for i, t := range tokens {
			switch strings.ToLower(t.raw) {
			case "all", "always", "any", "everyone", "everybody", "entirely":
				return true
			case "every":
				next := wordAt(tokens, i+1)
				if _, unit := unitsBySpelling()[next]; !unit && i+1 < len(tokens) && !tokens[i+1].digit && numberWords()[next] == 0 {
					return true
				}
			}
		}
		return false
	}
	some := []string{"most", "some", "many", "only", "few", "several", "half", "sometimes", "usually", "mostly", "partly", "often", "rarely"}
	theirs, share := nearestClause(c.words, c.there)
	if share < sameUniversal || !all(c.mine) || anyWord(c.mine, some...) {
		return ""
	}
	if anyWord(c.mine, "except", "unless", "but", "apart", "other") {
		return ""
	}
	if share >= sameClause && !all(theirs) && anyWord(theirs, some...) {
		return "it does not say all there"
	}
	if anyWord(slices.Concat(c.there...), "except", "unless") {
		return "it names an exception there"
	}
	return ""
}

// excepted finds that the claim says of the exception what the page says of the
// rest.
func excepted(c comparison) string {
	if anyWord(c.mine, "except", "unless", "but", "apart", "other", "others", "not", "only", "all") {
		return ""
	}
	for _, clause := range c.there {
		at := slices.IndexFunc(clause, func(t token) bool { return strings.EqualFold(t.raw, "except") })
		if at < 0 {
			continue
		}
		rest := 0.0
		for term, w := range c.words {
			if slices.ContainsFunc(clause[:at], func(t token) bool { return t.term == term }) {
				rest += w
			}
		}
		for _, t := range clause[at+1:] {
			if c.words[t.term] > 0 && rest > 0 && !slices.ContainsFunc(clause[:at], func(o token) bool { return o.term == t.term }) {
				return "that is the exception there"
			}
		}
	}
	return ""
}

// withAndWithout finds "without X" for "with X" and the reverse.
func withAndWithout(c comparison) string {
	theirs := slices.Concat(c.there...)
	after := func(tokens []token, word string) map[string]bool {
		terms := map[string]bool{}
		for i, t := range tokens {
			for k := i + 1; strings.EqualFold(t.raw, word) && k < min(i+4, len(tokens)); k++ {
				if tokens[k].content() {
					terms[tokens[k].term] = true
					break
				}
			}
		}
		return terms
	}
	for mine := range after(c.mine, "instead") {
		for other := range after(theirs, "instead") {
			if mine != other && !after(theirs, "instead")[mine] && slices.ContainsFunc(c.mine, func(t token) bool { return t.term == other }) {
				return "it says the reverse there"
			}
		}
	}
	for _, pair := range [][2]string{{"with", "without"}, {"without", "with"}} {
		for term := range after(c.mine, pair[0]) {
			if after(theirs, pair[1])[term] && !after(theirs, pair[0])[term] {
				return fmt.Sprintf("it says %q there, not %q", pair[1], pair[0])
			}
		}
	}
	return ""
}

// denied finds that much of a claim without a "not" stands at the place in
// clauses only that have one.
func denied(c comparison) string {
	if negated(c.mine) || impliesNot(c.mine) {
		return ""
	}
	total, only := 0.0, 0.0
	for term, w := range c.words {
		total += w
		yes, no := false, false
		for _, clause := range parts(c.page.clausesOf(c.place.from, c.place.to)) {
			if slices.ContainsFunc(clause, func(t token) bool { return t.term == term }) {
				if negated(clause) && !impliesNot(clause) {
					no = true
				} else {
					yes = true
				}
			}
		}
		if no && !yes {
			only += w
		}
	}
	if only > onlyDenied*total {
		return "it says the opposite there: negated"
	}
	return ""
}

// undenied finds that the claim denies something at a place that denies nothing.
func undenied(c comparison) string {
	if !negated(c.mine) || c.place.share >= sure+margin || len(clauses(c.claim.text)) > 1 {
		return "" // nearly all of it stands there, in other words
	}
	for _, clause := range c.page.clausesOf(c.place.from, c.place.to) {
		if negated(clause) || impliesNot(clause) {
			return ""
		}
	}
	return "it says the opposite there: no negation"
}

// turned compares each clause of the claim with the clause of the page that shares
// most of its words: there an opposite or a different "not" changes the meaning.
// Both at once do not.
func turned(c comparison) string {
	fine := parts(c.there)
	for _, clause := range clauses(c.claim.text) {
		mine := tokenize(clause)
		words := c.page.ownWords(c.claim, mine)
		theirs, share := nearestClause(words, c.there)
		pair, flipped := opposed(words, mine, theirs)
		if !flipped {
			narrow, _ := nearestClause(words, fine)
			pair, flipped = opposed(words, mine, narrow)
		}
		if part, s := nearestClause(words, fine); s >= sameClause {
			theirs, share = part, s // "paid a third and had no say": the first part denies nothing
		}
		notMine, notTheirs := negated(mine), negated(theirs)
		same := sameClause
		soft := impliesNot(mine) || impliesNot(theirs)
		if notMine {
			same, soft = sameDenied, soft || impliesNot(slices.Concat(c.there...))
		}
		differs := share >= same && notMine != notTheirs && !soft
		switch {
		case flipped && notMine != notTheirs:
		case flipped:
			return fmt.Sprintf("it says %q there, not %q", pair[1], pair[0])
		case differs && notMine:
			return "it says the opposite there: no negation"
		case differs:
			return "it says the opposite there: negated"
		}
	}
	return ""
}

// parts cuts clauses at conjunctions.
func parts(clauses [][]token) (out [][]token) {
	for _, clause := range clauses {
		start := 0
		for i, t := range clause {
			switch strings.ToLower(t.raw) {
			case "and", "but", "while", "whereas", "or":
				out = append(out, clause[start:i])
				start = i + 1
			}
		}
		out = append(out, clause[start:])
	}
	return out
}

// nearestClause is the clause that shares most of the words, and how much of their
// weight it has.
func nearestClause(words map[string]float64, clauses [][]token) (best []token, share float64) {
	share = -1
	for _, clause := range clauses {
		if s := shared(words, clause); s > share {
			best, share = clause, s
		}
	}
	return best, share
}

// shared is the part of the words' weight that stands in a clause; two words at
// least, else it says nothing.
func shared(words map[string]float64, clause []token) float64 {
	total, got, n := 0.0, 0.0, 0
	for term, w := range words {
		total += w
		if slices.ContainsFunc(clause, func(t token) bool { return t.term == term }) {
			got += w
			n++
		}
	}
	if n < 2 {
		return 0
	}
	return got / total
}

// opposed finds a word of mine whose opposite stands in theirs.
func opposed(words map[string]float64, mine, theirs []token) (pair [2]string, ok bool) {
	find := func(tokens []token, term string) int {
		return slices.IndexFunc(tokens, func(t token) bool { return t.term == term })
	}
	for _, p := range oppositeTerms() {
		a, b := find(mine, p[0]), find(theirs, p[1])
		if a < 0 || b < 0 || find(mine, p[1]) >= 0 || slices.ContainsFunc(oppositeTerms(), func(o [2]string) bool { return o[1] == p[1] && find(theirs, o[0]) >= 0 }) {
			continue
		}
		rest := maps.Clone(words)
		delete(rest, p[0])
		if shared(rest, theirs) >= sameThing {
			return [2]string{mine[a].raw, theirs[b].raw}, true
		}
	}
	return pair, false
}
