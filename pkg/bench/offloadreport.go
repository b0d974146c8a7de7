package bench

import (
	"fmt"
	"io"
	"slices"

	"legwork/pkg/offload"
)

// OffloadReport sums up the replies of a real model.
type OffloadReport struct {
	Set     string          `json:"set"`
	Models  []string        `json:"models"`
	Rows    []OffloadRow    `json:"rows"`
	Records []OffloadRecord `json:"records"`
}

// OffloadRow is one measured share, with the bar it has to reach; bar 0 is no bar.
type OffloadRow struct {
	What   string  `json:"what"`
	Of, N  int     `json:"-"`
	Share  float64 `json:"share"`
	Bar    float64 `json:"bar,omitempty"`
	AtMost bool    `json:"at_most,omitempty"`
	mean   bool    // a mean of shares, not a count
}

func (r OffloadRow) ok() bool {
	switch {
	case r.Bar == 0 || r.N == 0:
		return true
	case r.AtMost:
		return r.Share <= r.Bar
	}
	return r.Share >= r.Bar
}

// share is the row's figure; one that was counted has its interval.
func (r OffloadRow) share() string {
	if r.mean {
		return fmt.Sprintf("%.0f %%", r.Share)
	}
	return rate(r.Of, r.N)
}

// Ok reports whether every bar is reached.
func (r *OffloadReport) Ok() bool {
	return !slices.ContainsFunc(r.Rows, func(w OffloadRow) bool { return !w.ok() })
}

func sumOffload(set string, recs []OffloadRecord) *OffloadReport {
	rep := &OffloadReport{Set: set, Records: recs}
	for _, r := range recs {
		if r.Model != "" && !slices.Contains(rep.Models, r.Model) {
			rep.Models = append(rep.Models, r.Model)
		}
	}
	type test = func(OffloadRecord) bool
	real := func(r OffloadRecord) bool { return r.Kind != kindSecond && r.Kind != Unanswerable }
	marked := func(r OffloadRecord) bool { return r.By == offload.ByModel && r.Says != "" }
	share := func(what string, bar float64, atMost bool, of, is test) {
		row := OffloadRow{What: what, Bar: bar, AtMost: atMost}
		for _, r := range recs {
			if of(r) {
				row.N++
				if is(r) {
					row.Of++
				}
			}
		}
		row.Share = percent(row.Of, row.N)
		rep.Rows = append(rep.Rows, row)
	}
	right := func(r OffloadRecord) bool { return r.Right }
	by := func(how string) test { return func(r OffloadRecord) bool { return real(r) && r.By == how } }
	share("the right answer can be read in the reply (answer or lines)", 0, false, real, func(r OffloadRecord) bool { return r.Right || r.Shown })
	share("… all lines that answer are shown", 0, false, real, func(r OffloadRecord) bool { return r.Shown })
	share("the model's answer is right", 0, false, by(offload.ByModel), right)
	share("the model's answer is right, where a line says so", 85, false, func(r OffloadRecord) bool { return real(r) && marked(r) }, right)
	share("… where no line says so", 0, false, func(r OffloadRecord) bool { return by(offload.ByModel)(r) && !marked(r) }, right)
	share("the computed or parsed answer is right", 0, false, func(r OffloadRecord) bool {
		return real(r) && (r.By == offload.ByCount || r.By == offload.ByParser)
	}, right)
	no := func(r OffloadRecord) bool { return r.Kind == Unanswerable }
	share("not in the text, but the answer is marked as said by a line", 10, true, no, marked)
	share("not in the text, and the reply says so or parsed the run", 0, false, no, func(r OffloadRecord) bool { return r.NotIn || r.Right })
	share("second question: at least 95 % of the prompt came from the cache", 0, false, func(r OffloadRecord) bool { return r.Kind == kindSecond },
		func(r OffloadRecord) bool { return r.Cached >= 0.95 })
	rep.meanCached()
	return rep
}

// meanCached adds the mean share of the prompt that was cached at second questions.
func (r *OffloadReport) meanCached() {
	row := OffloadRow{What: "second question: mean share of the prompt from the cache", Bar: 95, mean: true}
	for _, rec := range r.Records {
		if rec.Kind == kindSecond {
			row.N++
			row.Share += 100 * rec.Cached
		}
	}
	row.Share /= float64(max(row.N, 1))
	r.Rows = append(r.Rows, row)
}

// Write prints the report as a Markdown table.
func (r *OffloadReport) Write(w io.Writer) error {
	fmt.Fprintf(w, "| %s, model %v | of | share (95 %% interval) | bar |\n|---|---|---|---|\n", r.Set, r.Models)
	for _, row := range r.Rows {
		if row.N == 0 {
			continue
		}
		bar := "–"
		if row.Bar > 0 {
			sign, verdict := "≥", "ok"
			if row.AtMost {
				sign = "≤"
			}
			if !row.ok() {
				verdict = "missed"
			}
			bar = fmt.Sprintf("%s %.0f %% (%s)", sign, row.Bar, verdict)
		}
		if _, err := fmt.Fprintf(w, "| %s | %d | %s | %s |\n", row.What, row.N, row.share(), bar); err != nil {
			return err
		}
	}
	var in, out, tokens, n int
	var ms int64
	for _, rec := range r.Records {
		if rec.Kind != kindSecond {
			n, in, out, tokens, ms = n+1, in+rec.InTok, out+rec.OutTok, tokens+rec.Tokens, ms+rec.MS
		}
	}
	n = max(n, 1)
	_, err := fmt.Fprintf(w, "\nMeans of a question: prompt %d tokens, answer %d, reply %d (4 bytes a token), %.1f s.\n", in/n, out/n, tokens/n, float64(ms)/float64(n)/1000)
	return err
}
