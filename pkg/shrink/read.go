package shrink

import (
	"context"
	"io"
	"os"
	"strings"

	"legwork/pkg/clean"
	"legwork/pkg/digest"
	"legwork/pkg/runners"
)

// reading is what the reader made of a text.
type reading struct {
	doc  *digest.Doc
	run  runners.Result
	head []byte // the beginning of the cleaned text
}

// keep bounds the memory for one text; a longer one is read again from its file.
const keep = 4 << 20

// headKept is how much of a text is looked at to tell its kind.
const headKept = 64 << 10

func read(ctx context.Context, o Output, p plan) (*reading, error) {
	open := func() (io.ReadCloser, error) {
		if o.Persisted == "" {
			return io.NopCloser(clean.NewReader(strings.NewReader(o.Text()))), nil
		}
		f, err := os.Open(o.Persisted)
		if err != nil {
			return nil, err
		}
		return cleaned{clean.NewReader(f), f}, nil
	}
	in, err := open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	hint := runners.Hint{Command: o.Command, Dir: o.Dir}
	if p.exit && p.asked == forWork { // the hook comes after successes only; in a pipe it is the last stage's
		zero := 0
		hint.Exit = &zero
	}
	if p.asked == forContent {
		hint.Command = "" // a log of unknown origin
	}
	scan := runners.NewScanner(hint)
	head := &headWriter{limit: headKept}
	r := &reading{}
	r.doc, err = digest.Scan(ctx, io.TeeReader(in, io.MultiWriter(scan, head)), digest.Options{Reopen: open, Keep: keep})
	if err != nil {
		return nil, err
	}
	r.run, r.head = scan.Result(hint), head.buf
	return r, ctx.Err()
}

type cleaned struct {
	io.Reader
	io.Closer
}

// headWriter keeps the first bytes, up to the end of a line.
type headWriter struct {
	buf   []byte
	limit int
}

func (h *headWriter) Write(p []byte) (int, error) {
	h.buf = append(h.buf, p[:min(len(p), h.limit-len(h.buf))]...)
	return len(p), nil
}

// recognised: a parser knows the text and says how the run went.
func (r *reading) recognised() bool { return r.run.Runner != "" && r.run.State != runners.StateUnknown }

// Folding alone is trusted from longLog lines on, when this share of them reads like another one.
const (
	longLog     = 60
	sureRepeats = 0.8
)

// repeats: a long text whose lines mostly read like others.
func (r *reading) repeats() bool {
	lines := r.doc.Lines()
	return lines >= longLog && float64(r.doc.Kinds()) <= float64(lines)*(1-sureRepeats)
}

func (r *reading) rule() string {
	switch {
	case r.recognised():
		return r.run.Runner
	case r.repeats():
		return "repeats"
	}
	return "digest"
}

// lines are those of the text that a reader would want to see, in at most size bytes.
func (r *reading) lines(ctx context.Context, size int) (string, error) {
	sel, err := r.doc.Select(ctx, "", digest.Budget{Tokens: size, BytesPerToken: 1})
	return strings.TrimRight(sel.Text(), "\n"), err
}
