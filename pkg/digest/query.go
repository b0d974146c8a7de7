package digest

import (
	"math"
	"regexp"
	"strings"
	"sync"
)

// maxConcepts is how many words of a question count; later ones are left out.
const maxConcepts = 32

// pairWeight is what two words of the question side by side add, times their rarity.
const pairWeight = 0.5

// phrasePart is what a word counts for that is part of a known phrase, which counts itself.
const phrasePart = 0.6

// concept is one content word, identifier or quoted phrase of a question.
type concept struct {
	text   string
	weight float64 // importance, before rarity
	needle string  // an identifier or phrase, looked for as it is (lower case)
	known  bool    // the word itself, or a spelling of it, is in the text
	rarity float64 // idf of the word itself (1 when it is not in the text)
	pair   bool    // two words of the question side by side: a bonus, not a word of its own
	before int     // 1 + the concept of the word in front of it in the question, 0 for none
	after  int     // the same for the word behind
	named  bool    // written like a name: capitals inside a sentence, digits, inner punctuation
}

// variant is a word that stands for a concept.
type variant struct {
	hash    uint64
	concept uint8
	weight  float64 // what a match is worth: kind of relation × rarity of the word
	kind    float64 // 1 the word itself, less for its kin
	rarity  float64 // idf of this word
	gate    bool    // only tells that the concept's needle should be looked for
}

// query is a question made ready for matching against one text.
type query struct {
	text     string
	concepts []concept
	slots    []variant       // open addressing by hash; a hash may stand several times
	first    [1 << 10]uint64 // bits of the hashes that begin a pair
	pairs    map[uint64][]variant
	when     moment
	want     want
	failure  bool // the question is about something going wrong
	failed   bool // it asks what failed, in so many words
	total    float64
}

var (
	quoted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("\"([^\"]{2,80})\"|“([^”]{2,80})”|`([^`]{2,80})`|(?:^|[\\s(])'([^']{2,80})'")
	})
	failedIntent = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(fail|fails|failed|failing|failures?|crash\w*|panic\w*|exceptions?)\b`)
	})
	failureIntent = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(fail\w*|error\w*|crash\w*|die[ds]?|dead|why|wrong|problems?|troubles?|broke\w*|could ?n[o']t|can ?n?[o']t|unable|blew|refus\w*|den(y|ied)|reject\w*|turn(ed)? away|went down|abort\w*|panic\w*|kill\w*|exception\w*|warn\w*|complain\w*|missing|invalid|lost|leak\w*|deadlock\w*|timed? ?out|timeouts?)\b`)
	})
)

// newQuery reads a question against the words of d.
func newQuery(d *Doc, question string) *query {
	q := &query{text: question, pairs: map[uint64][]variant{}}
	q.want = readWant(question)
	rest := question
	q.when, rest = readMoment(rest)
	var vs []variant
	for _, m := range quoted().FindAllStringSubmatch(rest, -1) {
		for _, s := range m[1:] {
			if s != "" {
				vs = q.addNeedle(d, s, vs)
			}
		}
	}
	sentenceStart, proper := true, map[string]bool{}
	for f := range strings.FieldsSeq(rest) {
		w := strings.TrimFunc(f, func(r rune) bool { return strings.ContainsRune(".,;:!?\"'`()“”‘’…", r) })
		if looksLikeName(w) {
			vs = q.addNeedle(d, w, vs)
		} else if !sentenceStart && isProper(w) {
			proper[lower(w)] = true
		}
		sentenceStart = strings.HasSuffix(f, ".") || strings.HasSuffix(f, "?")
	}
	plain := q.plain(rest)
	q.failure, q.failed = failureIntent().MatchString(plain), failedIntent().MatchString(plain)
	vs = q.addWords(d, rest, vs)
	q.index(vs)
	for i, c := range q.concepts {
		q.concepts[i].named = c.named || proper[c.text]
		q.total += c.weight * c.rarity // a pair has weight 0
	}
	return q
}

// plain is s without its identifiers: "errors@v0.8.1" does not ask for errors.
func (q *query) plain(s string) string {
	s = lower(s)
	for _, c := range q.concepts {
		s = strings.ReplaceAll(s, c.needle, " ")
	}
	return s
}

// looksLikeName is true for identifiers: digits with letters, inner punctuation or capitals.
func looksLikeName(w string) bool {
	var digit, letter, upper, mid, hyphen bool
	for i := range len(w) {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digit = true
		case c >= 'A' && c <= 'Z':
			upper = upper || i > 0
			letter = true
		case c >= 'a' && c <= 'z', c >= 0x80:
			letter = true
		case c == '-', c == '/' && !upper && !digit: // either/or of plain words
			hyphen = true
		case c == '\'':
		default:
			mid = mid || i > 0 && i < len(w)-1
		}
	}
	return len(w) > 1 && (digit && (letter || mid || hyphen) || mid && letter || upper)
}

// isProper is true for a word with a capital that does not stand at the start of a sentence.
func isProper(w string) bool { return len(w) > 2 && w[0] >= 'A' && w[0] <= 'Z' }

// addNeedle adds an identifier or phrase that must be found as it is written, in any case.
func (q *query) addNeedle(d *Doc, s string, vs []variant) []variant {
	written := s
	s = lower(s)
	if len(q.concepts) >= maxConcepts/2 || q.has(s) {
		return vs
	}
	var gate uint64
	low := math.MaxInt
	for _, w := range words(written) {
		h := stemHash(w)
		if n := d.df(h); n < low {
			low, gate = n, h
		}
	}
	if gate == 0 {
		return vs
	}
	if v, ok := strings.CutPrefix(s, "v"); ok && len(v) > 2 && v[0] >= '0' && v[0] <= '9' {
		s = v
	}
	c := concept{text: s, needle: s, weight: 1.4, rarity: d.idf(low), named: true, known: low > 0}
	vs = append(vs, variant{hash: gate, concept: uint8(len(q.concepts)), weight: c.rarity * c.weight, kind: 1, gate: true})
	q.concepts = append(q.concepts, c)
	return vs
}

func (q *query) has(s string) bool {
	for _, c := range q.concepts {
		if c.text == s {
			return true
		}
	}
	return false
}

// addWords adds the content words of s, their kin, and the phrases they make.
func (q *query) addWords(d *Doc, s string, vs []variant) []variant {
	ws := words(s)
	inName := map[string]bool{} // parts of an identifier count less: the identifier counts itself
	for _, c := range q.concepts {
		for _, w := range words(c.needle) {
			inName[w] = true
		}
	}
	table, stop, weak := relatedTable(), stopWords(), weakWords()
	prev := 0
	seen, inPhrase := map[string]bool{}, 0 // inPhrase: words below this index belong to a phrase
	for i, w := range ws {
		st := stemString(w)
		if phrase, n := longestPhrase(table, ws[i:]); n > 1 && !seen[phrase] && len(q.concepts) < maxConcepts {
			seen[phrase], inPhrase = true, i+n
			vs = q.addConcept(d, strings.Join(ws[i:i+n], " "), 0.8, table[phrase], ws[i:i+n], vs)
		}
		if key := particleVerb(table, ws[i:]); key != "" && !seen[key] && len(q.concepts) < maxConcepts {
			seen[key] = true
			vs = q.addConcept(d, strings.ReplaceAll(key, "_", " "), 0.8, table[key], strings.Split(key, "_"), vs)
		}
		if stop[w] || seen[st] || len(q.concepts) >= maxConcepts || len(w) < 2 && !isDigits(w) {
			prev = 0
			continue
		}
		seen[st] = true
		weight := 1.0
		switch {
		case inName[w] && (len(w) < 3 || isDigits(w)):
			continue
		case inName[w]:
			weight = 0.4
		case weak[w]:
			weight = 0.5
		}
		if i < inPhrase {
			weight *= phrasePart
		}
		vs = q.addConcept(d, w, weight, table[st], []string{w}, vs)
		if now := len(q.concepts); prev > 0 {
			q.concepts[now-1].before, q.concepts[prev-1].after = prev, now
		}
		prev = len(q.concepts)
		q.addPair(d, ws, i)
		if i+1 < len(ws) && !stop[ws[i+1]] { // "time out" is also written "timeout"
			vs = append(vs, variant{hash: stemHash(w + ws[i+1]), concept: uint8(len(q.concepts) - 1), weight: d.idf(d.df(stemHash(w + ws[i+1]))), kind: 1})
		}
	}
	return vs
}

// addPair lets a line that has the words i and i+1 of the question side by side, in either order, score
// more than one that has them apart.
func (q *query) addPair(d *Doc, ws []string, i int) {
	if i+1 >= len(ws) || len(q.concepts) >= maxConcepts || stopWords()[ws[i+1]] {
		return
	}
	a, b := stemHash(ws[i]), stemHash(ws[i+1])
	low := min(d.df(a), d.df(b))
	if low == 0 || a == b {
		return
	}
	c := concept{text: ws[i] + " " + ws[i+1], rarity: d.idf(low), pair: true, known: true}
	v := variant{concept: uint8(len(q.concepts)), weight: pairWeight * c.rarity, kind: 1}
	for _, p := range [][2]uint64{{a, b}, {b, a}} {
		q.beginsPair(p[0])
		v.hash = pairHash(p[0], p[1])
		q.pairs[v.hash] = append(q.pairs[v.hash], v)
	}
	q.concepts = append(q.concepts, c)
}

func (q *query) beginsPair(h uint64) { q.first[h>>6&1023] |= 1 << (h >> 1 & 31) }

// mayBeginPair is false for nearly all words that no pair begins with.
func (q *query) mayBeginPair(h uint64) bool { return q.first[h>>6&1023]&(1<<(h>>1&31)) != 0 }

// longestPhrase finds a phrase of the table (two to four words) at the start of ws.
func longestPhrase(table map[string][]kin, ws []string) (string, int) {
	for n := min(4, len(ws)); n > 1; n-- {
		st := make([]string, n)
		for i := range n {
			st[i] = stemString(ws[i])
		}
		key := strings.Join(st, "_")
		if len(table[key]) > 0 {
			return key, n
		}
	}
	return "", 0
}

// particleVerb finds a verb of the table whose particle stands a little later: "turn people away".
func particleVerb(table map[string][]kin, ws []string) string {
	for k := 2; k < min(4, len(ws)); k++ {
		switch ws[k] {
		case "away", "down", "up", "off", "out", "over", "back", "behind", "in", "on":
			if key := stemString(ws[0]) + "_" + ws[k]; len(table[key]) > 0 {
				return key
			}
		}
	}
	return ""
}

// addConcept adds a word or phrase and all that may stand for it.
func (q *query) addConcept(d *Doc, text string, weight float64, kins []kin, self []string, vs []variant) []variant {
	id := uint8(len(q.concepts))
	c := concept{text: text, weight: weight, rarity: 1}
	add := func(ws []string, w float64) {
		hs := make([]uint64, len(ws))
		low := math.MaxInt
		for i, x := range ws {
			hs[i] = stemHash(x)
			low = min(low, d.df(hs[i]))
		}
		if low == 0 || len(hs) > 3 {
			return
		}
		if w > kinWeight {
			c.known = true
			c.rarity = min(c.rarity, d.idf(low))
		}
		v := variant{concept: id, weight: w * weight * d.idf(low), kind: w, rarity: d.idf(low), hash: hs[0]}
		if len(hs) == 1 {
			vs = append(vs, v)
			return
		}
		q.beginsPair(hs[0])
		v.hash = pairHash(hs[0], hs[1])
		q.pairs[v.hash] = append(q.pairs[v.hash], v)
	}
	add(self, 1)
	for _, k := range kins {
		add(k.words, k.weight)
	}
	q.concepts = append(q.concepts, c)
	return vs
}

// index puts the variants into the probing table.
func (q *query) index(vs []variant) {
	n := 256
	for n < 4*len(vs) {
		n *= 2
	}
	q.slots = make([]variant, n)
	for _, v := range vs {
		if v.hash == 0 {
			continue
		}
		i := int(v.hash>>7) & (n - 1)
		for q.slots[i].hash != 0 {
			i = (i + 1) & (n - 1)
		}
		q.slots[i] = v
	}
}

func isDigits(w string) bool {
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' {
			return false
		}
	}
	return w != ""
}
