package digest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

const (
	blockSize = 256 << 10
	// maxPiece is the longest part of a line that is looked at as one; longer lines come in pieces, cut
	// after a separator where there is one, so that one minified file of a single line can be ranked.
	maxPiece = 4 << 10
	minPiece = 1 << 10
)

// piece is a line, or a part of a line longer than maxPiece.
type piece struct {
	no   int // line number, from 1
	off  int // where the piece starts in its line
	more bool
	text []byte // valid until the next piece
}

// block is whole lines (or parts of an overlong one) as they were read.
type block struct {
	buf []byte
	err error
}

// readBlocks reads r in a goroutine of its own, so that decoding and scanning use a core each. It ends
// when r does, or when ctx is done; the channel is then closed. Blocks go back through free.
func readBlocks(ctx context.Context, r io.Reader, free chan []byte) <-chan block {
	out := make(chan block, 1)
	go func() {
		defer close(out)
		for {
			var buf []byte
			select {
			case buf = <-free:
			case <-ctx.Done():
				return
			}
			n, err := io.ReadFull(r, buf[:blockSize])
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			select {
			case out <- block{buf[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// eachBlock calls fn with consecutive parts of r; a part may be kept only until fn returns.
func eachBlock(ctx context.Context, r io.Reader, fn func([]byte) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	free := make(chan []byte, 3)
	for range cap(free) {
		free <- make([]byte, blockSize)
	}
	blocks := readBlocks(ctx, r, free)
	defer func() {
		cancel()
		for range blocks { // wait for the reader to end
		}
	}()
	for b := range blocks {
		if len(b.buf) > 0 {
			if err := fn(b.buf); err != nil {
				return err
			}
		}
		if errors.Is(b.err, io.EOF) {
			return nil
		}
		if b.err != nil {
			return fmt.Errorf("reading the text: %w", b.err)
		}
		free <- b.buf[:blockSize]
	}
	return ctx.Err()
}

// splitter turns consecutive parts of a text into pieces.
type splitter struct {
	fn   func(piece) error
	no   int
	off  int
	rest []byte // the beginning of a line that is not complete
}

// feed takes the next part of the text.
func (s *splitter) feed(b []byte) error {
	if len(s.rest) > 0 {
		nl := bytes.IndexByte(b, '\n')
		take := nl + 1
		if nl < 0 {
			take = len(b)
		}
		s.rest = append(s.rest, b[:take]...)
		b = b[take:]
		if nl < 0 && len(s.rest) < 2*maxPiece {
			return nil
		}
		rest := s.rest
		left, err := s.lines(rest)
		if err != nil {
			return err
		}
		s.rest = append(s.rest[:0], rest[len(rest)-left:]...)
		if nl < 0 {
			return nil
		}
	}
	left, err := s.lines(b)
	if err != nil {
		return err
	}
	s.rest = append(s.rest[:0], b[len(b)-left:]...)
	return nil
}

// lines emits the complete lines of b and as much as possible of an overlong one; left bytes remain.
func (s *splitter) lines(b []byte) (left int, err error) {
	for len(b) > 0 {
		nl := bytes.IndexByte(b, '\n')
		switch {
		case nl >= 0 && nl <= maxPiece:
			err = s.emit(b[:nl], false)
			b = b[nl+1:]
		case nl > maxPiece || len(b) > maxPiece:
			n := cutAt(b[:maxPiece])
			err = s.emit(b[:n], true)
			b = b[n:]
		default:
			return len(b), nil
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func (s *splitter) emit(text []byte, more bool) error {
	err := s.fn(piece{no: s.no + 1, off: s.off, more: more, text: text})
	if more {
		s.off += len(text)
	} else {
		s.no++
		s.off = 0
	}
	return err
}

// end emits a last line without a newline.
func (s *splitter) end() error {
	if len(s.rest) == 0 && s.off == 0 {
		return nil
	}
	return s.emit(s.rest, false)
}

// cutAt finds a good place to cut an overlong line: after a separator, else between characters.
func cutAt(b []byte) int {
	for _, seps := range []string{"\x00", "};", "}", ";", ",", " "} {
		if i := bytes.LastIndex(b[minPiece:], []byte(seps)); i >= 0 {
			return minPiece + i + len(seps)
		}
	}
	n := len(b)
	for n > minPiece && b[n-1]&0xc0 == 0x80 {
		n--
	}
	if n > minPiece && b[n-1] >= 0xc0 {
		n--
	}
	return n
}
