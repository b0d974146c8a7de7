package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"legwork/pkg/web"
)

// ExtractPage is the score of one page of an extraction set.
type ExtractPage struct {
	Page      string        `json:"page"`
	Method    web.Method    `json:"method"`
	Precision float64       `json:"precision"`
	Recall    float64       `json:"recall"`
	F1        float64       `json:"f1"`
	Rows      int           `json:"rows"`       // table rows of the truth
	RowsFound int           `json:"rows_found"` // of those, rows whose cells stand on one line of ours, in order
	Code      int           `json:"code"`       // code blocks of the truth
	CodeFound int           `json:"code_found"` // of those, blocks found line for line
	Took      time.Duration `json:"took_ns"`
	Panicked  bool          `json:"panicked,omitempty"`
}

// ExtractReport is the score of a set. F1 is the mean over pages; words are
// compared as bags, characters of scripts without spaces count one by one.
type ExtractReport struct {
	Set       string        `json:"set"`
	Pages     []ExtractPage `json:"pages"`
	Precision float64       `json:"precision"`
	Recall    float64       `json:"recall"`
	F1        float64       `json:"f1"`
	Rows      int           `json:"rows"`
	RowsFound int           `json:"rows_found"`
	Code      int           `json:"code"`
	CodeFound int           `json:"code_found"`
	Median    time.Duration `json:"median_ns"`
	Slowest   time.Duration `json:"slowest_ns"`
	Panics    int           `json:"panics"`
}

// ExtractSet reads every page below dir (a folder with source.html and
// expected.html each) and scores the text against the expected one. It is an
// error when dir holds no page; a page that cannot be read well is only a score.
func ExtractSet(ctx context.Context, dir string) (ExtractReport, error) {
	report := ExtractReport{Set: filepath.Base(filepath.Clean(dir))}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != "source.html" {
			return errors.Join(err, ctx.Err())
		}
		page, err := scorePage(filepath.Dir(path))
		if err != nil {
			return err
		}
		page.Page, _ = filepath.Rel(dir, filepath.Dir(path))
		report.Pages = append(report.Pages, page)
		return ctx.Err()
	})
	if err != nil {
		return report, fmt.Errorf("read the extraction set: %w", err)
	}
	if len(report.Pages) == 0 {
		return report, fmt.Errorf("no page in %s: expected folders with source.html and expected.html", dir)
	}
	report.sum()
	return report, nil
}

func (r *ExtractReport) sum() {
	times := make([]time.Duration, 0, len(r.Pages))
	for _, p := range r.Pages {
		r.Precision += p.Precision
		r.Recall += p.Recall
		r.F1 += p.F1
		r.Rows += p.Rows
		r.RowsFound += p.RowsFound
		r.Code += p.Code
		r.CodeFound += p.CodeFound
		r.Slowest = max(r.Slowest, p.Took)
		times = append(times, p.Took)
		if p.Panicked {
			r.Panics++
		}
	}
	n := float64(len(r.Pages))
	r.Precision, r.Recall, r.F1 = r.Precision/n, r.Recall/n, r.F1/n
	slices.Sort(times)
	r.Median = times[len(times)/2]
}

// Text renders the report: the sums, then the worst pages.
func (r ExtractReport) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d pages, F1 %.3f (precision %.3f, recall %.3f), rows %d/%d (%s), code blocks %d/%d (%s)\n",
		r.Set, len(r.Pages), r.F1, r.Precision, r.Recall, r.RowsFound, r.Rows, share(r.RowsFound, r.Rows), r.CodeFound, r.Code, share(r.CodeFound, r.Code))
	fmt.Fprintf(&b, "time per page: median %.1f ms, slowest %.0f ms; panics: %d\n", ms(r.Median), ms(r.Slowest), r.Panics)
	worst := slices.Clone(r.Pages)
	sort.SliceStable(worst, func(i, j int) bool { return worst[i].F1 < worst[j].F1 })
	for _, p := range worst[:min(8, len(worst))] {
		fmt.Fprintf(&b, "  %.3f (p %.2f r %.2f) %s, read as %s\n", p.F1, p.Precision, p.Recall, p.Page, p.Method)
	}
	return b.String()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func share(part, whole int) string {
	if whole == 0 {
		return "none expected"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

func scorePage(dir string) (page ExtractPage, err error) {
	source, err := os.ReadFile(filepath.Join(dir, "source.html"))
	if err != nil {
		return page, err
	}
	expected, err := os.ReadFile(filepath.Join(dir, "expected.html"))
	if err != nil {
		return page, err
	}
	got, page := timedRead(source)
	want := readTruth(web.DecodeText(expected, ""))

	page.Precision, page.Recall, page.F1 = bagF1(bagOf(got), bagOf(want.text))
	lines := strings.Split(got, "\n")
	words := wordLines(lines)
	page.Rows, page.Code = len(want.rows), len(want.code)
	for _, row := range want.rows {
		if hasRow(words, row) {
			page.RowsFound++
		}
	}
	for _, block := range want.code {
		if hasBlock(lines, block) {
			page.CodeFound++
		}
	}
	return page, nil
}

// timedRead runs the extractor as a fetched page would, decoding included.
func timedRead(source []byte) (text string, page ExtractPage) {
	start := time.Now()
	defer func() {
		page.Took = time.Since(start)
		if recover() != nil {
			page.Panicked = true
		}
	}()
	doc := web.ExtractHTML(web.DecodeText(source, ""), nil)
	page.Method = doc.Method
	return doc.Markdown, page
}
