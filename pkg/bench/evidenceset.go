package bench

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"legwork/pkg/clean"
	"legwork/pkg/digest"
)

// Unanswerable is the kind of a question that its text does not answer.
const Unanswerable = "unanswerable"

// evidenceKinds are the kinds of questions in the order of the table; others follow by name.
var evidenceKinds = []string{"lexical", "common", "paraphrase", "aggregate", Unanswerable}

// EvidenceOptions choose how a set is scored.
type EvidenceOptions struct {
	Budget        int     // tokens a selection may cost
	BytesPerToken float64 // 0 = 4, the unit in which such sets are published
}

// EvidenceReport is the score of a set of questions about texts.
type EvidenceReport struct {
	Set       string             `json:"set"`
	Budget    int                `json:"budget"`
	Kinds     []EvidenceKind     `json:"kinds"`
	All       EvidenceKind       `json:"all"` // the answerable ones
	Questions []EvidenceQuestion `json:"questions"`
}

// EvidenceKind adds up one kind of questions. Full counts the questions of which every needed line is
// kept, Partial is the mean share of needed lines kept, SaidNot counts those that the reader judged
// unanswered by the text.
type EvidenceKind struct {
	Kind    string  `json:"kind"`
	N       int     `json:"n"`
	Full    int     `json:"full"`
	Partial float64 `json:"partial"`
	Tokens  float64 `json:"tokens"`
	SaidNot int     `json:"said_not"`
}

// EvidenceQuestion is the score of one question.
type EvidenceQuestion struct {
	ID         string  `json:"id"`
	Kind       string  `json:"kind"`
	Question   string  `json:"question"`
	Needed     int     `json:"needed"`
	Kept       int     `json:"kept"`
	Bytes      int     `json:"bytes"`
	Answered   bool    `json:"answered"`
	Confidence float64 `json:"confidence"`
}

// Ok reports whether the bar is met: 87 % of the answerable questions keep all their evidence, 70 % of
// the paraphrases, and 80 % of the unanswerable ones are said to be so. A kind without questions passes.
func (r EvidenceReport) Ok() bool {
	ok := 100*r.All.Full >= 87*r.All.N
	for _, k := range r.Kinds {
		switch k.Kind {
		case "paraphrase":
			ok = ok && 100*k.Full >= 70*k.N
		case Unanswerable:
			ok = ok && 100*k.SaidNot >= 80*k.N
		}
	}
	return ok
}

// Write prints the report as a Markdown table; with missed, the questions that lost evidence or were
// judged wrongly follow.
func (r EvidenceReport) Write(w io.Writer, missed bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintf(t, "| %s, %d tokens\t| n\t| recall %%\t| partial %%\t| said \"not in the text\" %%\t| mean tokens\t|\n|---\t|---\t|---\t|---\t|---\t|---\t|\n", r.Set, r.Budget)
	for _, k := range append(slices.Clone(r.Kinds), r.All) {
		recall, partial := fmt.Sprintf("%.0f", percent(k.Full, k.N)), fmt.Sprintf("%.0f", 100*k.Partial)
		if k.Kind == Unanswerable {
			recall, partial = "–", "–"
		}
		fmt.Fprintf(t, "| %s\t| %d\t| %s\t| %s\t| %.0f\t| %.0f\t|\n", k.Kind, k.N, recall, partial, percent(k.SaidNot, k.N), k.Tokens)
	}
	if err := t.Flush(); err != nil || !missed {
		return err
	}
	for _, q := range r.Questions {
		switch {
		case q.Kept < q.Needed:
			fmt.Fprintf(w, "lost %d of %d lines: %s (%s) %s\n", q.Needed-q.Kept, q.Needed, q.ID, q.Kind, q.Question)
		case q.Answered == (q.Kind == Unanswerable):
			fmt.Fprintf(w, "judged answered=%t at %.2f: %s (%s) %s\n", q.Answered, q.Confidence, q.ID, q.Kind, q.Question)
		}
	}
	return nil
}

func percent(a, b int) float64 { return 100 * float64(a) / float64(max(1, b)) }

// evidenceLine is a line of questions.jsonl.
type evidenceLine struct {
	ID       string `json:"id"`
	File     string `json:"file"`
	Question string `json:"question"`
	Kind     string `json:"kind"`
	Answer   string `json:"answer"`
	Evidence []struct {
		Regex string `json:"regex"`
	} `json:"evidence"`
}

// EvidenceSet asks the reader every question of dir/questions.jsonl and checks which of the needed lines
// it kept. dir holds one JSON object a line with id, file (relative, gzip-ed when it ends in .gz), question,
// kind and evidence, a list of {line, regex}: a piece of evidence is kept when a line of the selection
// matches its regex.
func EvidenceSet(ctx context.Context, dir string, opt EvidenceOptions) (EvidenceReport, error) {
	if opt.BytesPerToken == 0 {
		opt.BytesPerToken = 4
	}
	report := EvidenceReport{Set: filepath.Base(filepath.Clean(dir)), Budget: opt.Budget}
	lines, err := readEvidence(filepath.Join(dir, "questions.jsonl"))
	if err != nil {
		return report, err
	}
	sort.SliceStable(lines, func(i, j int) bool { return lines[i].File < lines[j].File }) // one text in memory at a time
	var doc *digest.Doc
	file := ""
	for _, l := range lines {
		if l.File != file {
			if doc, err = scanEvidence(ctx, filepath.Join(dir, filepath.FromSlash(l.File))); err != nil {
				return report, fmt.Errorf("%s: %w", l.ID, err)
			}
			file = l.File
		}
		q, err := scoreEvidence(ctx, doc, l, opt)
		if err != nil {
			return report, fmt.Errorf("%s: %w", l.ID, err)
		}
		report.Questions = append(report.Questions, q)
	}
	report.sum()
	return report, nil
}

func readEvidence(path string) ([]evidenceLine, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("no set of questions: %w", err)
	}
	defer func() { _ = f.Close() }()
	var out []evidenceLine
	dec := json.NewDecoder(bufio.NewReader(f))
	for {
		var l evidenceLine
		if err := dec.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: question %d: %w", path, len(out)+1, err)
		}
		out = append(out, l)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no question", path)
	}
	return out, nil
}

// scanEvidence reads a text the way offload does: cleaned, as a stream, and again for each question when
// it is large.
func scanEvidence(ctx context.Context, path string) (*digest.Doc, error) {
	open := func() (io.ReadCloser, error) { return openText(path) }
	r, err := open()
	if err != nil {
		return nil, err
	}
	doc, err := digest.Scan(ctx, r, digest.Options{Reopen: open})
	return doc, errors.Join(err, r.Close())
}

type textFile struct {
	io.Reader
	f *os.File
}

func (t textFile) Close() error { return t.f.Close() }

func openText(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(bufio.NewReader(f)); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		}
	}
	return textFile{clean.NewReader(r), f}, nil
}

func scoreEvidence(ctx context.Context, doc *digest.Doc, l evidenceLine, opt EvidenceOptions) (EvidenceQuestion, error) {
	sel, err := doc.Select(ctx, l.Question, digest.Budget{Tokens: opt.Budget, BytesPerToken: opt.BytesPerToken})
	if err != nil {
		return EvidenceQuestion{}, err
	}
	text := sel.Text()
	q := EvidenceQuestion{ID: l.ID, Kind: l.Kind, Question: l.Question, Needed: len(l.Evidence), Bytes: len(text), Answered: sel.Answered, Confidence: sel.Confidence}
	for _, e := range l.Evidence {
		re, err := regexp.Compile(e.Regex)
		if err != nil {
			return q, fmt.Errorf("evidence: %w", err)
		}
		if slices.ContainsFunc(sel.Lines, func(k digest.Line) bool { return re.MatchString(k.Text) }) {
			q.Kept++
		}
	}
	return q, nil
}

// sum fills Kinds and All from Questions.
func (r *EvidenceReport) sum() {
	by := map[string]*EvidenceKind{}
	r.All = EvidenceKind{Kind: "all answerable"}
	add := func(k *EvidenceKind, q EvidenceQuestion) {
		k.N++
		k.Tokens += float64(q.Bytes) / 4
		if q.Needed > 0 {
			k.Partial += float64(q.Kept) / float64(q.Needed)
		}
		if q.Needed > 0 && q.Kept == q.Needed {
			k.Full++
		}
		if !q.Answered {
			k.SaidNot++
		}
	}
	order := slices.Clone(evidenceKinds)
	for _, q := range r.Questions {
		if by[q.Kind] == nil {
			by[q.Kind] = &EvidenceKind{Kind: q.Kind}
			if !slices.Contains(order, q.Kind) {
				order = append(order, q.Kind)
			}
		}
		add(by[q.Kind], q)
		if q.Kind != Unanswerable {
			add(&r.All, q)
		}
	}
	for _, name := range order {
		if k := by[name]; k != nil {
			r.Kinds = append(r.Kinds, *k.mean())
		}
	}
	r.All.mean()
}

// mean turns sums into means.
func (k *EvidenceKind) mean() *EvidenceKind {
	k.Partial /= float64(max(1, k.N))
	k.Tokens /= float64(max(1, k.N))
	return k
}
