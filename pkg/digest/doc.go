package digest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

const (
	defaultKeep = 16 << 20
	// sketchBits are the sizes of the word counters: the small one for the first sketchSmall bytes of a
	// text, the large one (4 MiB) for what comes after.
	sketchBits      = 16
	sketchBitsLarge = 20
	sketchSmall     = 1 << 20
)

// sketch counts words by hash. Two words may share a counter, so a count is an upper bound: a word that
// counts 0 is certainly not in the text.
type sketch struct{ small, large []uint32 }

func (s *sketch) add(h uint64, large bool) {
	switch {
	case !large:
		if s.small == nil {
			s.small = make([]uint32, 1<<sketchBits)
		}
		s.small[slotOf(h, sketchBits)]++
	default:
		if s.large == nil {
			s.large = make([]uint32, 1<<sketchBitsLarge)
		}
		s.large[slotOf(h, sketchBitsLarge)]++
	}
}

func (s *sketch) count(h uint64) int {
	n := 0
	if s.small != nil {
		n += int(s.small[slotOf(h, sketchBits)])
	}
	if s.large != nil {
		n += int(s.large[slotOf(h, sketchBitsLarge)])
	}
	return n
}

func slotOf(h uint64, bits int) uint64 { return (h >> 1) * 0x9e3779b97f4a7c15 >> (64 - bits) }

// Doc is a scanned text. It is safe for use by several goroutines at once.
type Doc struct {
	opt       Options
	blocks    [][]byte // the text, when it is small enough to keep
	kept      bool
	lines     int
	bytes     int64
	large     bool // the text is past the small counters; set between blocks only
	templates *templateTable
	words     sketch
	numbers   sketch // apart, since every request id would else fill a counter of a word
	density   density
}

// Scan reads r to its end. It keeps templates, word counts and sizes, and the text itself when it is
// not longer than opt.Keep. It ends early, with an error, when ctx is done or r fails.
func Scan(ctx context.Context, r io.Reader, opt Options) (*Doc, error) {
	if opt.Keep == 0 {
		opt.Keep = defaultKeep
	}
	d := &Doc{opt: opt, kept: true, templates: newTemplateTable()}
	var wordTok, kindTok tokenizer
	wordLines := splitter{fn: func(p piece) error { d.learnWords(&wordTok, p); return nil }}
	kindLines := splitter{fn: func(p piece) error { d.learnKind(&kindTok, p); return nil }}
	err := eachBlock(ctx, r, func(b []byte) error {
		d.keep(b)
		d.large = d.bytes > sketchSmall
		var wg sync.WaitGroup // words and kinds of lines do not depend on each other: a core each
		wg.Go(func() { _ = wordLines.feed(b) })
		err := kindLines.feed(b)
		wg.Wait()
		return err
	})
	if err == nil {
		err = errors.Join(wordLines.end(), kindLines.end())
	}
	if err != nil {
		return nil, err
	}
	d.lines = kindLines.no
	return d, nil
}

// keep copies b while the text is small, and gives all up when it is not.
func (d *Doc) keep(b []byte) {
	if d.bytes%(8*blockSize) < blockSize {
		d.density.sample(b[:min(len(b), 64<<10)])
	}
	d.bytes += int64(len(b))
	if d.bytes > d.opt.Keep {
		d.blocks, d.kept = nil, false
		return
	}
	d.blocks = append(d.blocks, bytes.Clone(b))
}

// learnWords counts the words of a piece.
func (d *Doc) learnWords(t *tokenizer, p piece) {
	t.run(p.text)
	for _, h := range t.hashes {
		if h&1 == 0 {
			d.words.add(h, d.large)
		} else {
			d.numbers.add(h, d.large)
		}
	}
}

// learnKind counts the template of a piece.
func (d *Doc) learnKind(t *tokenizer, p piece) {
	if e, fresh := d.templates.add(templateHash(p.text), p.no); fresh {
		e.severity = t.severity(p.text)
	}
}

// df is how many times the word with this hash stands in the text, at most.
func (d *Doc) df(h uint64) int {
	if h&1 == 0 {
		return d.words.count(h)
	}
	return d.numbers.count(h)
}

// idf is the weight of a word that stands in n lines, 1 for one that stands in none.
func (d *Doc) idf(n int) float64 {
	total := float64(d.lines) + 4
	x := min(float64(n), total-1)
	return max(0.04, math.Log(1+(total-x+0.5)/(x+0.5))/math.Log(1+(total+0.5)/0.5))
}

// Lines is the number of lines; an unfinished last line counts.
func (d *Doc) Lines() int { return d.lines }

// Bytes is the size of the text.
func (d *Doc) Bytes() int64 { return d.bytes }

// Kinds is the number of different lines, numbers, ids and paths aside.
func (d *Doc) Kinds() int { return len(d.templates.list) }

// each calls fn with every piece of the text, in order, from memory or by reading it again.
func (d *Doc) each(ctx context.Context, fn func(piece) error) error {
	s := splitter{fn: fn}
	if d.kept {
		for _, b := range d.blocks {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.feed(b); err != nil {
				return err
			}
		}
		return s.end()
	}
	if d.opt.Reopen == nil {
		return ErrReopen
	}
	r, err := d.opt.Reopen()
	if err != nil {
		return fmt.Errorf("reading the text again: %w", err)
	}
	err = eachBlock(ctx, r, s.feed)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return s.end()
}
