package bench

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"legwork/pkg/research"
)

// saysNot are words of an answer that the pages do not tell.
const saysNot = `(?i)\b(not|no|none|neither|nothing|cannot|unable|unknown|unspecified)\b|n't\b`

// judge compares the reply with what is known. A claim counts as the fact when it holds the true answer.
func (q *researchQuestion) judge(res *research.Result) (ResearchRecord, error) {
	r := ResearchRecord{
		ID: q.ID, Question: q.Question, Answer: res.Answer, Outcome: res.Outcome, Model: publicID(res.Model), None: q.Unanswerable, Claims: res.Claims, InTok: res.InTok, OutTok: res.OutTok, MS: res.MS,
	}
	r.NotIn = regexp.MustCompile(saysNot).MatchString(res.Answer)
	if q.Unanswerable {
		for _, c := range res.Claims {
			if c.Verdict != research.Unsupported && len(c.Sources) > 0 {
				r.Claimed++
			}
		}
		return r, nil
	}
	want, err := regexp.Compile(q.Answer)
	if err != nil {
		return r, fmt.Errorf("%s: %w", q.ID, err)
	}
	r.Right = want.MatchString(citation().ReplaceAllString(res.Answer, ""))
	for _, c := range res.Claims {
		if !want.MatchString(citation().ReplaceAllString(c.Text, "")) {
			continue
		}
		r.Facts++
		if len(c.Cited) > 0 && !slices.ContainsFunc(c.Cited, func(n int) bool { return pageOf(res, n) != q.Page }) {
			r.Cited++
		}
		if c.Verdict != research.Unsupported && len(c.Sources) > 0 {
			r.Stands++
			if !slices.ContainsFunc(c.Sources, func(n int) bool { return pageOf(res, n) != q.Page }) {
				r.True++
			}
		}
	}
	return r, nil
}

// citation is a number in brackets.
func citation() *regexp.Regexp { return regexp.MustCompile(`\[\d+\??\]|\[\?\]`) }

// ResearchReport is what was found out about research.
type ResearchReport struct {
	Set     string           `json:"set"`
	Checked []CheckedClaim   `json:"checked"`
	Asked   []ResearchRecord `json:"asked,omitempty"`
}

// Precision is the share of citations that stand after the check and are true, in percent; Recall the share of
// true statements whose citation stands and is right.
func (r *ResearchReport) Precision() (precision, recall float64) {
	stands, right, known := 0, 0, 0
	for _, c := range r.Checked {
		stands += b2i(c.Stands)
		right += b2i(c.True)
		known += b2i(c.Truth != truthFalse)
	}
	return percent(right, stands), percent(right, known)
}

// Write prints the report as Markdown; missed lists the planted citations that were judged wrongly.
func (r *ResearchReport) Write(w io.Writer, missed bool) error {
	fmt.Fprintf(w, "| %s, planted citations | of | share |\n|---|--:|--:|\n", r.Set)
	row := func(what string, of, is func(CheckedClaim) bool) {
		n, k := 0, 0
		for _, c := range r.Checked {
			if of(c) {
				n++
				k += b2i(is(c))
			}
		}
		fmt.Fprintf(w, "| %s | %d | %s |\n", what, n, rate(k, n))
	}
	truth := func(t string) func(CheckedClaim) bool { return func(c CheckedClaim) bool { return c.Truth == t } }
	isTrue, stands := func(c CheckedClaim) bool { return c.True }, func(c CheckedClaim) bool { return c.Stands }
	row("precision: a citation that stands is true", stands, isTrue)
	row("recall: a true statement keeps, or gets, its page", func(c CheckedClaim) bool { return c.Truth != truthFalse }, isTrue)
	row("… the right page was cited", truth(truthRight), isTrue)
	row("… another page was cited, and the number is corrected", truth(truthElsewhere), isTrue)
	row("a false statement is marked", truth(truthFalse), func(c CheckedClaim) bool { return !c.Stands })
	if missed {
		fmt.Fprintln(w)
		for _, c := range r.Checked {
			if c.Truth == truthFalse && c.Stands || c.Truth != truthFalse && !c.True {
				fmt.Fprintf(w, "- %s: %s\n", strings.TrimSpace(c.ID+" "+c.How), strings.TrimSpace(c.Verdict+" "+strings.Join(c.Pages, ", ")))
			}
		}
	}
	if len(r.Asked) == 0 {
		return nil
	}
	return r.writeAsked(w)
}

func (r *ResearchReport) writeAsked(w io.Writer) error {
	var n, right, facts, cited, stands, trueN, none, said, quiet int
	var models []string
	var ms []int64
	in, out := 0, 0
	for _, a := range r.Asked {
		if m := a.Model; !slices.Contains(models, m) {
			models = append(models, m)
		}
		ms, in, out = append(ms, a.MS), in+a.InTok, out+a.OutTok
		if a.None {
			none++
			quiet += b2i(a.Claimed == 0)
			said += b2i(a.Claimed == 0 && a.NotIn)
			continue
		}
		n++
		right += b2i(a.Right)
		facts, cited, stands, trueN = facts+a.Facts, cited+a.Cited, stands+a.Stands, trueN+a.True
	}
	slices.Sort(ms)
	name := strings.Join(models, ", ")
	if name == "" {
		name = "no model (the extractive reader)"
	}
	fmt.Fprintf(w, "\n| %s, questions, %s | of | share |\n|---|--:|--:|\n", r.Set, name)
	for _, x := range []struct {
		what string
		k, n int
	}{
		{"the answer is right", right, n},
		{"statements of the right answer: the model cites the right page itself", cited, facts},
		{"… a citation stands after the check", stands, facts},
		{"… and is of the right page", trueN, stands},
		{"not in the pages: no citation stands", quiet, none},
		{"… and the answer says that they do not tell", said, none},
	} {
		fmt.Fprintf(w, "| %s | %d | %s |\n", x.what, x.n, rate(x.k, x.n))
	}
	q := max(1, len(r.Asked))
	_, err := fmt.Fprintf(w, "\nMeans of a question: %d tokens in, %d out; median %s s, P95 %s s.\n", in/q, out/q, seconds(ms, 0.5), seconds(ms, 0.95))
	return err
}
