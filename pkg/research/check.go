package research

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The bar for support: a claim's weight that must be found in one place of the
// page. Below sure, down to likely, a page passes only when no other page bears
// the claim out clearly better.
const (
	sure   = 0.68
	likely = 0.62
	margin = 0.12
	joint  = 0.3 // what each of several pages must add when only together they support
)

// checkAnswer looks every sentence up in all pages and rewrites the citations:
// right ones stay, a wrong one is corrected when exactly one other page says it,
// the rest is marked. Numbers of pages that do not exist are removed.
func (r *run) checkAnswer(text string) (answer string, claims []Claim) {
	c := newChecker(r.req.Question, r.sources)
	var out strings.Builder
	fence := false
	unknown := map[int]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		bare := strings.TrimSpace(line)
		if strings.HasPrefix(bare, "```") {
			fence = !fence
		}
		cites := strings.ContainsAny(bare, "[【")
		if fence || bare == "" || strings.HasPrefix(bare, "```") || headingLevel(bare) > 0 && !cites || strings.Trim(bare, "|-: ") == "" {
			out.WriteString(line + "\n")
			continue
		}
		body := strings.TrimLeft(line, " \t>")
		prefix := line[:len(line)-len(body)]
		if n := cmp.Or(listMark(body), headingLevel(body)); n > 0 {
			prefix, body = prefix+body[:n], body[n:]
		}
		out.WriteString(prefix)
		for i, sentence := range sentences(body) {
			if i > 0 {
				out.WriteByte(' ')
			}
			for _, seg := range segments(sentence) {
				checked, claim := c.segment(seg, unknown)
				out.WriteString(checked)
				if claim != nil {
					claims = append(claims, *claim)
				}
			}
		}
		out.WriteByte('\n')
	}
	if len(unknown) > 0 {
		var list []string
		for n := range unknown {
			list = append(list, "["+strconv.Itoa(n)+"]")
		}
		slices.Sort(list)
		r.note("the model cited pages that do not exist, removed: " + strings.Join(list, ", "))
	}
	return strings.TrimSpace(out.String()), claims
}

// segment checks one part of a sentence and writes it with its marks. The claim
// is nil for text that claims nothing.
func (c *checker) segment(seg segment, unknown map[int]bool) (string, *Claim) {
	known := make([]int, 0, len(seg.cites))
	for _, n := range seg.cites {
		switch {
		case c.pages[n] == nil:
			unknown[n] = true
		case !slices.Contains(known, n):
			known = append(known, n)
		}
	}
	terms := c.read(seg.text)
	if len(seg.cites) == 0 && (terms.bare() || leadIn(seg.text)) {
		return seg.text + seg.tail, nil
	}
	claim := &Claim{Text: strings.TrimSpace(strings.Trim(seg.text, "|*_ ")), Cited: append([]int{}, seg.cites...), Sources: []int{}}
	marks := c.judge(claim, terms, known)
	text, tail := seg.text, seg.tail
	if len(seg.cites) == 0 && marks != "" {
		// The mark goes before the final dot, or before the bar of a table row.
		trimmed := strings.TrimRight(text, " .!?。！？|*_")
		text, tail = trimmed, text[len(trimmed):]
	}
	if marks == "" {
		return text + tail, claim
	}
	return text + " " + marks + tail, claim
}

// leadIn reports whether a sentence only leads to others, asks, or speaks of the
// sources as such.
func leadIn(s string) bool {
	s = strings.ToLower(strings.TrimSpace(strings.Trim(s, "*_ ")))
	return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "?") ||
		(strings.Contains(s, "source") || strings.Contains(s, "page")) && unmetPhrase(s)
}

// judge decides on a claim and returns its marks.
func (c *checker) judge(claim *Claim, terms claimTerms, cited []int) string {
	found := map[int]support{}
	var numbers []int
	for n, page := range c.pages {
		found[n] = c.in(terms, page)
		numbers = append(numbers, n)
	}
	slices.SortFunc(numbers, func(a, b int) int {
		switch {
		case found[a].score > found[b].score:
			return -1
		case found[a].score < found[b].score:
			return 1
		}
		return a - b
	})
	good, ofCited := c.supporting(terms, found, numbers, cited)
	switch {
	case ofCited:
		claim.Verdict = Supported
	case len(claim.Cited) == 0 && len(good) > 0:
		good, claim.Verdict = good[:1], Added
	case len(good) == 1 && !slices.ContainsFunc(cited, func(n int) bool { return found[n].against }):
		claim.Verdict = Corrected
	default:
		return c.unsupported(claim, terms, found, numbers, cited, good)
	}
	slices.Sort(good)
	claim.Sources = good
	claim.Quote = c.pages[good[0]].quote(found[good[0]], 240)
	return marks(good, "")
}

// unsupported marks a claim and says why.
func (c *checker) unsupported(claim *Claim, terms claimTerms, found map[int]support, numbers, cited, good []int) string {
	claim.Verdict = Unsupported
	switch {
	case len(good) > 0:
		claim.Why = "other pages say it: " + strings.Join(strings.Fields(marks(good, "")), "")
	case len(cited) > 0:
		claim.Why = found[cited[0]].why
	case len(numbers) > 0:
		claim.Why = found[numbers[0]].why
	}
	if claim.Why == "" {
		claim.Why = "too little of it is there"
	}
	if len(cited) == 0 {
		return "[?]"
	}
	return marks(cited, "?")
}

func marks(numbers []int, suffix string) string {
	var b strings.Builder
	for _, n := range numbers {
		fmt.Fprintf(&b, "[%d%s]", n, suffix)
	}
	return b.String()
}

// supporting returns the pages that bear a claim out: of the cited ones those
// that do; else, when several are cited, all of them if they do together; else
// the others that surely do.
func (c *checker) supporting(terms claimTerms, found map[int]support, numbers, cited []int) (good []int, ofCited bool) {
	best := found[numbers[0]].score
	holds := func(n int) bool {
		s := found[n].score
		return s >= sure && s >= best-2*margin || s >= likely && s >= best-margin
	}
	for _, n := range cited {
		if holds(n) {
			good = append(good, n)
		}
	}
	if len(good) > 0 {
		return good, true
	}
	if len(cited) > 1 && c.together(terms, found, cited) {
		return slices.Clone(cited), true
	}
	for _, n := range numbers {
		if s := found[n].score; s >= sure && s >= best-margin {
			good = append(good, n)
		}
	}
	return good, false
}

// together reports whether several pages bear a claim out between them: each
// adds its part, and no figure or word of weight is left over.
func (c *checker) together(terms claimTerms, found map[int]support, cited []int) bool {
	terms2 := map[string]bool{}
	figures := make([]bool, len(terms.figures))
	for _, n := range cited {
		s := found[n]
		if s.share < joint {
			return false
		}
		for term := range s.found {
			terms2[term] = true
		}
		for i, ok := range s.figures {
			figures[i] = figures[i] || ok
		}
	}
	got := 0.0
	for term := range terms2 {
		got += terms.weights[term]
	}
	return !slices.Contains(figures, false) && got >= sure*terms.total && len(terms.quotes) == 0
}
