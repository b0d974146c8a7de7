package offload

import (
	"context"
	"errors"
	"io"
	"strings"

	"legwork/pkg/clean"
	"legwork/pkg/digest"
	"legwork/pkg/runners"
)

// DigestRequest says what is known about a text.
type DigestRequest struct {
	Exit     *int // nil: unknown
	Command  string
	Question string
	Budget   int // tokens of Digested.Text; 0: 1000
}

// Span is a range of lines, both included.
type Span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Digested is what the reader makes of a text without a model.
type Digested struct {
	runners.Result
	Answered bool   `json:"answered"` // by the reader's scores the text says something about the question
	Kept     []Span `json:"kept"`
	Text     string `json:"text"`
}

// Digest reads one text. open is called once, or twice for a text too large to keep.
func Digest(ctx context.Context, open func() (io.ReadCloser, error), q DigestRequest) (*Digested, error) {
	if q.Budget <= 0 {
		q.Budget = 1000
	}
	cleaned := func() (io.ReadCloser, error) {
		f, err := open()
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{clean.NewReader(f), f}, nil
	}
	in, err := cleaned()
	if err != nil {
		return nil, badInput("%v", err)
	}
	defer in.Close()
	hint := runners.Hint{Exit: q.Exit, Command: q.Command}
	scan := runners.NewScanner(hint)
	doc, err := digest.Scan(ctx, io.TeeReader(in, scan), digest.Options{Reopen: cleaned})
	if err != nil {
		return nil, err
	}
	out := &Digested{Result: scan.Result(hint), Kept: []Span{}}
	if out.Failures == nil {
		out.Failures = []runners.Failure{}
	}
	if out.BuildErrors == nil {
		out.BuildErrors = []runners.BuildError{}
	}
	return out, out.fill(ctx, doc, open, q)
}

// fill sets Text and Kept: the parsed facts, then the best lines, never more than the text itself.
func (d *Digested) fill(ctx context.Context, doc *digest.Doc, open func() (io.ReadCloser, error), q DigestRequest) error {
	facts := d.Lines(runners.Render{Messages: maxIDs, Limit: maxShown})
	budget := q.Budget - len(strings.Join(facts, "\n"))/3
	sel, err := doc.Select(ctx, q.Question, digest.Budget{Tokens: max(budget, 50)})
	if err != nil && !errors.Is(err, digest.ErrReopen) {
		return err
	}
	d.Answered = sel.Answered
	for _, l := range sel.Lines {
		if n := len(d.Kept); n > 0 && d.Kept[n-1].To == l.No-1 {
			d.Kept[n-1].To = l.No
			continue
		}
		d.Kept = append(d.Kept, Span{l.No, l.No})
	}
	d.Text = strings.TrimSpace(strings.Join(append(facts, strings.TrimRight(sel.Text(), "\n")), "\n"))
	if int64(len(d.Text)) < doc.Bytes() || doc.Bytes() > 1<<20 {
		return nil
	}
	f, err := open()
	if err != nil {
		return nil // the digest stands
	}
	defer f.Close()
	raw, err := io.ReadAll(clean.NewReader(f))
	if err != nil || doc.Lines() == 0 {
		return nil
	}
	d.Text, d.Kept = strings.TrimRight(string(raw), "\n"), []Span{{1, doc.Lines()}}
	return nil
}
