package digest

import (
	"fmt"
	"slices"
	"strings"
)

const (
	judged       = 25   // candidates that are looked at
	kinCounts    = 0.8  // a related word, when it is rare
	aroundCounts = 0.5  // a word in the lines around
	answeredFrom = 0.56 // confidence from which the text is said to answer
)

// askedFor are words that name the kind of answer, not what the answer is about; whether a line has such
// an answer is seen by its form.
var askedFor = newSet(`version versions release port ports address size speed code status reason number amount slowest fastest largest
	biggest highest lowest longest shortest smallest peak maximum minimum id month year line lines name kind two three four five`)

// subject is true for a word that says what the question is about.
func (k concept) subject() bool { return !k.pair && !askedFor[k.text] && k.text != "how long" }

// cover says how much of the question a candidate is about.
type cover struct {
	has   uint32  // concepts found in the line
	share float64 // of the question's weight, lines around included
	rare  float64 // rarity of the rarest word of the question that stands in the line as it is
}

// covers looks at a candidate again and tells the question's own words from related ones. Related words
// count by their rarity: in a text where every line says "partition" it does not tell of a disk.
func (r *reading) covers(t *tokenizer, g *candidate) cover {
	var found [maxConcepts]float64
	q := r.q
	text := []byte(g.text[g.at:g.end])
	t.run(text)
	mask := len(q.slots) - 1
	var spent uint64 // the word that stands for the last related concept; it cannot stand for two
	hit := func(v *variant, word uint64) {
		if v.gate && !containsFold(text, q.concepts[v.concept].needle) {
			return
		}
		x := v.kind
		if x <= kinWeight {
			if x = kinCounts * min(1, v.rarity/0.25); found[v.concept] >= x || spent == word {
				return
			}
			spent = word
		}
		found[v.concept] = max(found[v.concept], x)
	}
	for k, h := range t.hashes {
		for i := int(h>>7) & mask; q.slots[i].hash != 0; i = (i + 1) & mask {
			if q.slots[i].hash == h {
				hit(&q.slots[i], h)
			}
		}
		if k+1 < len(t.hashes) && q.mayBeginPair(h) {
			for _, v := range q.pairs[pairHash(h, t.hashes[k+1])] {
				hit(&v, v.hash)
			}
		}
	}
	var c cover
	total := 0.0
	all := !slices.ContainsFunc(q.concepts, concept.subject) // "which port?" has no other word
	for i, k := range q.concepts {
		if k.pair || !all && !k.subject() {
			continue
		}
		total += k.weight
		if found[i] > 0 {
			c.has |= 1 << i
		} else if g.ctxMask&(1<<i) != 0 {
			found[i] = aroundCounts
		}
		c.share += k.weight * found[i]
	}
	for i, k := range q.concepts {
		if c.has&(1<<i) != 0 && k.known && found[i] >= nearWeight && k.weight >= 0.8 && !q.torn(i, c.has) {
			c.rare = max(c.rare, k.rarity)
		}
	}
	if total > 0 {
		c.share /= total
	}
	return c
}

// torn is true when concept i stands beside another word in the question ("data race") that is in the
// text too, but not in this line: the word alone may mean something else.
func (q *query) torn(i int, has uint32) bool {
	for _, n := range [...]int{q.concepts[i].before, q.concepts[i].after} {
		if n > 0 && q.concepts[n-1].known && has&(1<<(n-1)) == 0 {
			return true
		}
	}
	return false
}

// resolved is true when concept i is part of a phrase of the question that has.
func (q *query) resolved(i int, has uint32) bool {
	for k, c := range q.concepts {
		if has&(1<<k) != 0 && strings.Contains(" "+c.text+" ", " "+q.concepts[i].text+" ") {
			return true
		}
	}
	return false
}

// judge says whether the text answers the question, by the scores alone.
func (r *reading) judge() (answered bool, confidence float64, why string) {
	if len(r.q.concepts) == 0 {
		return true, 1, "no words to look for"
	}
	var t tokenizer
	var has uint32
	best, severe := 0.0, false
	var covers []cover
	for _, g := range r.cands[:min(len(r.cands), judged)] {
		c := r.covers(&t, g)
		if c.rare > 0.45 {
			c.share += 0.25 * c.rare
		}
		covers = append(covers, c)
		has |= c.has
		best = max(best, c.share)
	}
	for i, c := range covers {
		severe = severe || c.share >= 0.5*best && r.cands[i].severity >= sevError
	}
	confidence = min(1, best)
	why = fmt.Sprintf("the best line shares %.0f%% of the question", 100*confidence)
	var absent []string
	for i, k := range r.q.concepts {
		if k.named && !k.known && !r.q.resolved(i, has) {
			absent = append(absent, k.text)
		}
	}
	if len(absent) > 0 {
		confidence *= 0.5
		why = fmt.Sprintf("%q is nowhere in the text", strings.Join(absent, ", "))
	}
	if r.q.failed && !severe {
		confidence = min(confidence, 0.2)
		why = "nothing in the text says that something failed"
	}
	return confidence >= answeredFrom, confidence, why
}
