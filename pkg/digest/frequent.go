package digest

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxValues bounds how many different values are told apart.
const maxValues = 50_000

// valueForms are how the things asked for look in a line, by the noun of the question.
var valueForms = sync.OnceValue(func() []struct{ noun, form *regexp.Regexp } {
	const path = `(?:^|[\s"'=(])(/[\w.~%+-]*(?:/[\w.~%+-]*)*)`
	forms := [][2]string{
		{`(?i)^(ip|ips|address|addresses|client|clients|peer|peers|attacker|remote)$`, `\b(\d{1,3}(?:\.\d{1,3}){3})\b`},
		{`(?i)^(url|urls|path|paths|endpoint|endpoints|page|pages|route|routes)$`, path},
		{`(?i)^(file|files|script|scripts)$`, `([\w.-]*/?[\w./-]+\.[a-zA-Z]{1,5})\b`},
		{`(?i)^(status|code|codes)$`, `(?i)(?:" |\b(?:status|code)\W{1,3})([1-5]\d\d)\b`},
	}
	var out []struct{ noun, form *regexp.Regexp }
	for _, f := range forms {
		out = append(out, struct{ noun, form *regexp.Regexp }{regexp.MustCompile(f[0]), regexp.MustCompile(f[1])})
	}
	return out
})

var nounForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:which|what)\s+(?:kind of\s+|type of\s+)?([a-z]+)(?:\s+(ips?|addresse?s?|hosts?|urls?|paths?|files?|codes?|users?|names?)\b)?`)
})

// askedNoun is what a question asks for: "client" in "which client made …", "address" in "which client
// address …", "" when there is none.
func askedNoun(question string) string {
	m := nounForm().FindStringSubmatch(question)
	switch {
	case m == nil:
		return ""
	case m[2] != "":
		return m[2]
	}
	return m[1]
}

// valueForm is how a value of the noun that the question asks for stands in a line: a known form, or the
// word behind the noun ("user alice", "user=alice", `"user":"alice"`).
func valueForm(question string) *regexp.Regexp {
	noun := askedNoun(question)
	if noun == "" {
		return nil
	}
	if form := knownForm(noun); form != nil {
		return form
	}
	if stopWords()[lower(noun)] || len(noun) < 3 {
		return nil
	}
	stem := noun
	if n := len(noun); n > 3 && noun[n-1] == 's' {
		stem = noun[:n-1]
	}
	return regexp.MustCompile(`(?i)\b` + stem + `s?["']?(?:\s*[=:]\s*|\s+)["']?([\w.@/-]+)`)
}

// seenWords say that something stands in a text.
var seenWords = newSet("appear appears appeared occur occurs occurred seen show shows shown happen happens happened come comes stand stands made make makes")

// onlyCounts is true when the question holds nothing but what is asked for and words of counting.
func (q *query) onlyCounts(noun string) bool {
	for _, c := range q.concepts {
		for w := range strings.FieldsSeq(c.text) {
			if w != noun && !countWords[w] && !lineWords[w] && !seenWords[w] {
				return false
			}
		}
	}
	return true
}

// knownForm is nil for a noun whose values have no form of their own.
func knownForm(noun string) *regexp.Regexp {
	for _, f := range valueForms() {
		if f.noun.MatchString(noun) {
			return f.form
		}
	}
	return nil
}

// mostFrequentValue answers "which address failed most often": it goes over the text once more and counts
// the values of what is asked for on the lines about the rest of the question.
func (r *reading) mostFrequentValue(ctx context.Context) (Counted, bool, error) {
	form := valueForm(r.q.text)
	need, ok := r.count.need()
	if form == nil {
		return Counted{}, false, nil
	}
	noun := lower(askedNoun(r.q.text))
	if !ok && knownForm(noun) != nil && r.q.onlyCounts(noun) {
		need, ok = 0, true
	}
	if !ok { // count where the best lines are alike instead
		if len(r.cands) == 0 || r.top == 0 {
			return Counted{}, false, nil
		}
		need = r.cands[0].exact
	}
	for i, c := range r.q.concepts {
		if c.text == noun || lineWords[c.text] { // it need not be there itself; "most requests" means lines
			need &^= 1 << i
		}
	}
	type tally struct {
		n     int
		first nearby
	}
	values, lines := map[string]*tally{}, 0
	visit := func(u *unit) {
		if u.off > 0 || u.exact&need != need {
			return
		}
		g := form.FindSubmatch(u.text[:min(len(u.text), 1000)])
		if g == nil {
			return
		}
		lines++
		v := string(bytes.TrimRight(g[1], ".,;:"))
		if t := values[v]; t != nil {
			t.n++
		} else if len(values) < maxValues {
			values[v] = &tally{1, near(u.no, u.text, 0)}
		}
	}
	m := &matcher{d: r.d, q: r.q, visit: visit, floor: 1e9}
	if err := m.run(ctx); err != nil {
		return Counted{}, false, err
	}
	if len(values) < 2 {
		return Counted{}, false, nil
	}
	var keys []string
	for v := range values {
		keys = append(keys, v)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if values[a].n != values[b].n {
			return values[b].n - values[a].n
		}
		return values[a].first.no - values[b].first.no
	})
	if need == 0 && lines*5 < r.d.lines {
		return Counted{}, false, nil // about every line, yet few lines have such a value: it is another thing's name
	}
	about := "lines that have one"
	if need != 0 {
		about = "lines that hold all of " + r.count.spell(need)
	}
	out := Counted{
		Kind:  "most frequent",
		Value: fmt.Sprintf("%s (%s times)", keys[0], thousands(values[keys[0]].n)),
		Rule:  fmt.Sprintf("%s different values on %s %s", thousands(len(values)), thousands(lines), about),
	}
	for _, k := range keys[:min(3, len(keys))] {
		l := r.line(values[k].first, wholeShown, float64(values[k].n))
		l.Count = values[k].n
		out.Lines = append(out.Lines, l)
	}
	return out, true, nil
}
