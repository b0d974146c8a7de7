package digest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// foldAfter is how many lines of one template a chunk holds before further ones are only counted.
const foldAfter = 12

const (
	minChunk   = 100 // tokens; a part may be larger by one piece of a line
	noteTokens = 20
)

var errStop = errors.New("stop")

// Chunks cuts the whole text into parts of about tokens tokens, at line boundaries. A line longer than a
// part is split, and its parts carry the same number. Within a part, lines that read like more than 12
// earlier ones of it are counted in Folded, and a note stands where they were.
func (d *Doc) Chunks(ctx context.Context, tokens int) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		w := chunkWriter{limit: max(tokens, minChunk), yield: yield}
		w.reset()
		err := d.each(ctx, w.add)
		if err == nil && w.b.Len()+w.run > 0 {
			err = w.flush()
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(Chunk{}, err)
		}
	}
}

type chunkWriter struct {
	limit int // tokens
	yield func(Chunk, error) bool
	b     strings.Builder
	c     Chunk
	seen  map[uint64]int
	run   int // folded lines since the last written one
	from  int
}

func (w *chunkWriter) reset() {
	w.b.Reset()
	w.c, w.seen, w.run = Chunk{}, map[uint64]int{}, 0
}

func (w *chunkWriter) add(p piece) error {
	no := strconv.Itoa(p.no)
	n := estimate(p.text) + len(no) + 2
	if w.b.Len() > 0 && w.c.Tokens+n+noteTokens > w.limit {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.c.From == 0 {
		w.c.From = p.no
	}
	w.c.To = p.no
	h := templateHash(p.text)
	if w.seen[h]++; w.seen[h] > foldAfter && !p.more && p.off == 0 {
		if w.run == 0 {
			w.from = p.no
		}
		w.run++
		w.c.Folded++
		return nil
	}
	w.note()
	w.c.Tokens += n
	w.b.WriteString(no)
	w.b.WriteString(": ")
	w.b.Write(p.text)
	w.b.WriteByte('\n')
	return nil
}

// note says how many lines were folded just before.
func (w *chunkWriter) note() {
	if w.run > 0 {
		w.c.Tokens += noteTokens
		fmt.Fprintf(&w.b, "(%d lines like earlier ones, from line %d)\n", w.run, w.from)
		w.run = 0
	}
}

func (w *chunkWriter) flush() error {
	w.note()
	w.c.Text = w.b.String()
	c := w.c
	w.reset()
	if !w.yield(c, nil) {
		return errStop
	}
	return nil
}
