package digest

import (
	"context"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Count answers questions that count (how many, first, last, longest, slowest, largest, most frequent, which ones).
// ok is false when the question does not count or the rules do not reach it.
func (d *Doc) Count(ctx context.Context, question string) (c Counted, ok bool, err error) {
	r, err := d.read(ctx, question)
	if err != nil {
		return Counted{}, false, err
	}
	if r.q.want&wantFrequent != 0 {
		if c, ok, err = r.mostFrequentValue(ctx); ok || err != nil {
			return c, ok, err
		}
		if knownForm(askedNoun(question)) != nil {
			return Counted{}, false, nil // an address or a path is asked for, and a kind of line is neither
		}
	}
	c, ok = r.count.result(r)
	return c, ok, nil
}

// result is the computed answer.
func (c *counter) result(r *reading) (Counted, bool) {
	switch w := c.q.want; {
	case w&wantFrequent != 0:
		return c.frequent(r)
	case w&(wantMost|wantLeast) != 0:
		return c.extreme(r)
	case w&wantCount != 0 && w&(wantDuration|wantSize) == 0:
		return c.howMany(r)
	case firstWord().MatchString(c.q.text) || lastWord().MatchString(c.q.text):
		return c.firstLast(r)
	}
	return Counted{}, false
}

// extreme answers longest, slowest, largest, smallest …
func (c *counter) extreme(r *reading) (Counted, bool) {
	p, about, ok := c.population()
	if !ok {
		return Counted{}, false
	}
	kind := map[fieldKind]string{fieldDuration: "durations", fieldSize: "sizes", fieldPercent: "percentages", fieldPlain: "numbers"}[p.kind]
	dir := "largest"
	if !c.beats(2, 1) {
		dir = "smallest"
	}
	out := Counted{Kind: dir, Value: p.top[0].raw, Rule: fmt.Sprintf("the %s of %s %s on %s", dir, thousands(p.count), kind, about)}
	for _, m := range p.top[:min(3, len(p.top))] {
		out.Lines = append(out.Lines, r.line(m.nearby, wholeShown, m.value))
	}
	return out, true
}

// fewOf tells a population that is too small a part of all numbers of its kind to be what was meant.
const fewOf = 50

// population is the numbers that a superlative is over, for an answer that states it: those on lines with
// a word of the question as it stands, or all when no such word is in the text.
func (c *counter) population() (p population, about string, ok bool) {
	subject := false
	for _, k := range c.q.concepts {
		subject = subject || k.known && !k.pair && !askedFor[k.text] && k.weight >= 0.4
	}
	if subject {
		for _, p := range c.populations() {
			if p.mask != 0 && c.knownIn(p.mask) && p.count > 1 {
				if all := c.gather(0, p.kind); p.count*fewOf < all.count {
					return p, "", false
				}
				return p, "lines about " + c.spell(p.mask), true
			}
		}
	}
	for _, kind := range c.kindOrder() {
		if p := c.gather(0, kind); p.count > 1 && kind != fieldPlain {
			return p, "all lines", !subject
		}
	}
	return p, "", false
}

// knownIn is true when mask holds a word of the question that is in the text as it stands.
func (c *counter) knownIn(mask uint32) bool {
	for mk := mask; mk != 0; mk &= mk - 1 {
		if k := c.q.concepts[bits.TrailingZeros32(mk)]; k.known && !askedFor[k.text] {
			return true
		}
	}
	return false
}

// spell names the concepts of mask.
func (c *counter) spell(mask uint32) string {
	var w []string
	for mk := mask; mk != 0; mk &= mk - 1 {
		k := c.q.concepts[bits.TrailingZeros32(mk)]
		part := slices.ContainsFunc(w, func(s string) bool { return strings.Contains(s, k.text) }) // of a name or phrase
		if !k.pair && !part {
			w = append(w, k.text)
		}
	}
	return `"` + strings.Join(w, ", ") + `"`
}

// minCount is how many lines there must be to count lines.
const minCount = 4

// stated finds a line that says the number: "14 skipped", "errors: 3". It must be a rare line about the
// question, or a total.
func (c *counter) stated(r *reading) (Counted, bool) {
	var t tokenizer
	for _, g := range r.cands[:min(len(r.cands), maxNearest)] {
		if cv := r.covers(&t, g); cv.share < 0.5 || g.rare < 0.5 && g.severity != sevSummary {
			continue
		}
		if n, _ := c.lines(r, g.exact); n >= minCount {
			continue
		}
		if v := c.numbersBeside([]byte(g.text)); v != "" {
			return Counted{Kind: "stated", Value: v, Rule: fmt.Sprintf("line %d states it", g.no), Lines: []Line{r.line(near(g.no, []byte(g.text), 0), wholeShown, g.score)}}, true
		}
	}
	return Counted{}, false
}

// numbersBeside gives the numbers of a line that stand right before or behind a word of the question.
func (c *counter) numbersBeside(line []byte) string {
	var out []string
	eachField(line, func(f field) {
		switch {
		case len(out) >= 6:
		case named[strings.ToLower(string(f.label))] && !c.q.names(wordHash(f.label), true): // "process 23517 detected deadlock"
		case len(f.next) > 0 && c.q.names(wordHash(f.next), true):
			out = append(out, string(f.raw)+" "+string(f.next))
		case len(f.next) == 0 && len(f.label) > 0 && c.q.names(wordHash(f.label), true):
			out = append(out, string(f.label)+" "+string(f.raw))
		}
	})
	return strings.Join(out, ", ")
}

// named are words whose number is a name, not a count: what stands behind it says what that one did.
var named = newSet("process pid ppid tid thread id uid gid user session connection conn transaction txn xid port line row page block " +
	"job task worker node host shard partition replica channel slot core cpu gpu device disk attempt step stage phase test case run build " +
	"version v release rev revision commit request req offset address status code signal exit error errno room rank table index key")

// need is the words of the question that a counted line must hold: all that are in the text as they
// stand. ok is false when a content word is not, for then there is nothing sure to count. No word at all
// means every line.
func (c *counter) need() (mask uint32, ok bool) {
	for i, k := range c.q.concepts {
		if k.pair || askedFor[k.text] || countWords[k.text] {
			continue
		}
		if !k.known {
			if k.weight >= 0.5 && !lineWords[k.text] {
				return 0, false
			}
			continue
		}
		mask |= 1 << i
	}
	return mask, true
}

// countWords belong to the asking, not to what is counted.
var countWords = newSet("first second third last earliest latest often frequent frequently common most recent all")

// lineWords may just mean the lines themselves.
var lineWords = newSet("request requests requested line lines entry entries event events occurrence occurrences message messages call calls attempt attempts")

// lines gives the lines that match at least mask, one for each way to match it, in order.
func (c *counter) lines(r *reading, mask uint32) (n int, out []Line) {
	for m, s := range c.exact {
		if m&mask == mask {
			n += s.count
			out = append(out, r.line(s.first, wholeShown, 0))
		}
	}
	inOrder(out)
	return n, out[:min(len(out), maxNearest)]
}

// howMany counts the lines that hold all known words of the question.
func (c *counter) howMany(r *reading) (Counted, bool) {
	if s, ok := c.stated(r); ok {
		return s, true
	}
	need, ok := c.need()
	if !ok || need == 0 {
		return Counted{}, false
	}
	n, lines := c.lines(r, need)
	if n < minCount { // so few lines state a number rather than being counted
		return Counted{}, false
	}
	return Counted{Kind: "count", Value: thousands(n), Rule: "lines that hold all of " + c.spell(need), Lines: lines}, true
}

// firstLast answers which line about something comes first, last, or both.
func (c *counter) firstLast(r *reading) (Counted, bool) {
	need, ok := c.need()
	if !ok || need == 0 {
		return Counted{}, false
	}
	n, first, last := ends(c.exact, need)
	if n < 2 || !c.alike(need, n) {
		return Counted{}, false
	}
	out := Counted{Rule: fmt.Sprintf("of %s lines that hold all of %s", thousands(n), c.spell(need))}
	if firstWord().MatchString(c.q.text) {
		out.Kind, out.Value = "first", first.text
		out.Lines = append(out.Lines, r.line(first, wholeShown, 1))
	}
	if lastWord().MatchString(c.q.text) && last.no > 0 {
		if out.Kind != "" {
			out.Kind, out.Value = "first and last", first.text+"\n"+last.text
		} else {
			out.Kind, out.Value = "last", last.text
		}
		out.Lines = append(out.Lines, r.line(last, wholeShown, 1))
	}
	return out, out.Kind != ""
}

// alike is true when most of the n lines that match mask begin the same way. Lines of several kinds that
// happen to hold the words have no first one that means anything.
func (c *counter) alike(mask uint32, n int) bool {
	by := map[uint64]int{}
	most := 0
	for m, s := range c.exact {
		if m&mask == mask {
			by[s.opening] += s.alike
			most = max(most, by[s.opening])
		}
	}
	return 10*most >= 7*n
}

var (
	firstWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(first|earliest)\b`) })
	lastWord  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(last|latest|most recent)\b`) })
)

// frequent answers which kind of line stands most often.
func (c *counter) frequent(r *reading) (Counted, bool) {
	type kind struct {
		g *candidate
		e *template
	}
	need, sure := c.need()
	all := sure && need == 0 // nothing but the asking: every line counts
	var ks []kind
	seen := map[*template]bool{}
	for _, g := range r.cands {
		e := r.d.templates.get(g.tmpl)
		if e == nil || seen[e] || !all && g.lex < 0.5*r.top && (!c.q.failure || g.severity < sevError) {
			continue
		}
		seen[e] = true
		ks = append(ks, kind{g, e})
	}
	if len(ks) == 0 {
		return Counted{}, false
	}
	sort.SliceStable(ks, func(i, j int) bool { return ks[i].e.count > ks[j].e.count })
	if ks[0].e.count < 2 {
		return Counted{}, false // nothing stands more than once
	}
	out := Counted{Kind: "most frequent", Value: ks[0].g.text, Rule: fmt.Sprintf("lines that read the same but for numbers, ids and paths; this kind stands %s times", thousands(ks[0].e.count))}
	for _, k := range ks[:min(3, len(ks))] {
		l := r.line(near(k.g.no, []byte(k.g.text), 0), wholeShown, k.g.score)
		l.Count, l.First, l.Last = k.e.count, k.e.first, k.e.last
		out.Lines = append(out.Lines, l)
	}
	return out, true
}

func btof(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
