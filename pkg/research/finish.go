package research

import (
	"fmt"
	"slices"
	"strings"
)

// finish fills the lists of the result once the last answer stands.
func (r *run) finish() {
	r.result.Sources = []Source{}
	quotes := map[int][]string{}
	cited := map[int]bool{}
	verdicts := map[string]int{}
	r.result.Answer = harmless(r.result.Answer)
	for _, c := range r.result.Claims {
		verdicts[c.Verdict]++
		if c.Verdict == Unsupported {
			continue
		}
		for i, n := range c.Sources {
			cited[n] = true
			if i == 0 && c.Quote != "" && !slices.Contains(quotes[n], c.Quote) {
				quotes[n] = append(quotes[n], c.Quote)
			}
		}
	}
	for _, s := range r.sources {
		out := Source{
			N: s.n, URL: s.page.Final, Title: harmless(s.page.Title), Published: s.page.Published, Status: Read, Kind: string(s.page.Kind),
			Words: s.page.Words, Shown: s.shown, Cut: s.page.Cut, Cached: s.page.Cached, Cited: cited[s.n],
		}
		if s.snippet {
			out.Status, out.Why = SnippetOnly, s.why
		}
		if !r.result.Extractive { // there the answer itself is the quote
			out.Quote = joinQuotes(quotes[s.n])
		}
		if commands().MatchString(s.page.Text) {
			r.note(fmt.Sprintf("page %d contains text that gives orders to AI models; it was treated as data", s.n))
		}
		r.result.Sources = append(r.result.Sources, out)
	}
	if r.cut != "" && !r.result.Extractive {
		r.note(r.cut)
	}
	r.result.Failed = r.failed
	r.result.Queries = r.queries
	if n := verdicts[Corrected]; n > 0 {
		r.note(fmt.Sprintf("%d citation(s) pointed to the wrong page and were corrected", n))
	}
	if n := verdicts[Unsupported]; n > 0 && !r.result.Extractive {
		var why []string
		for _, c := range r.result.Claims {
			if c.Verdict == Unsupported && c.Why != "" && !slices.Contains(why, c.Why) {
				why = append(why, c.Why)
			}
		}
		text := fmt.Sprintf("%d of %d statements are not borne out by the cited page", n, len(r.result.Claims))
		if len(why) > 0 {
			text += ": " + oneLine(fmt.Sprint(why[0]), 120)
		}
		r.note(text)
	}
	if r.deps.Model == nil && r.deps.NoModel != "" {
		r.note("no model: " + r.deps.NoModel)
	}
}

// quoteRunes is the length of the line of passages behind one source.
const quoteRunes = 360

// joinQuotes puts the passages behind a number on one line, as many as fit.
func joinQuotes(quotes []string) string {
	if len(quotes) == 0 {
		return ""
	}
	each := max(100, quoteRunes/min(len(quotes), 3))
	var parts []string
	for _, q := range quotes[:min(len(quotes), 3)] {
		parts = append(parts, oneLine(harmless(q), each))
	}
	return strings.Join(parts, " ⏐ ")
}
