package digest

import (
	"context"
	"io"
	"iter"
)

// Doc is a scanned text. It is safe for use by several goroutines at once.
type Doc struct{}

// Scan reads r to its end. It keeps templates, counts and sizes, and the text itself when it is small.
func Scan(ctx context.Context, r io.Reader, opt Options) (*Doc, error) { return nil, ErrReopen }

// Lines and Bytes give the size of the text.
func (d *Doc) Lines() int   { return 0 }
func (d *Doc) Bytes() int64 { return 0 }

// BytesPerToken estimates how many bytes of this text make one token.
func (d *Doc) BytesPerToken() float64 { return 0 }

// Tokens estimates the tokens of the whole text.
func (d *Doc) Tokens() int { return 0 }

// Select picks the lines that answer the question. An empty question picks what a reader
// would want to see anyway: what failed, rare lines, the start and the end.
func (d *Doc) Select(ctx context.Context, question string, b Budget) (Selection, error) {
	return Selection{}, ErrReopen
}

// Count answers questions that count (how many, first, last, longest, slowest, largest, most frequent, which ones).
// ok is false when the question does not count or the rules do not reach it.
func (d *Doc) Count(ctx context.Context, question string) (c Counted, ok bool, err error) {
	return Counted{}, false, ErrReopen
}

// Support looks for the line that says what answer says.
func (d *Doc) Support(ctx context.Context, question, answer string) (Support, error) {
	return Support{}, ErrReopen
}

// Chunks cuts the whole text into parts of at most tokens tokens.
func (d *Doc) Chunks(ctx context.Context, tokens int) iter.Seq2[Chunk, error] {
	return func(func(Chunk, error) bool) {}
}

// Text renders the kept lines as "number: text", with notes on repeats.
func (s Selection) Text() string { return "" }
