package clean

import (
	"bytes"
	"io"
	"unicode/utf8"
)

const (
	blockSize  = 64 << 10
	sampleSize = 4 << 10 // how much is looked at before a byte order mark is believed
	maxEmpty   = 100     // reads in a row without data or error before the source is called broken
)

// Reader is an io.Reader of cleaned text. It is not safe for concurrent use.
type Reader struct {
	src   io.Reader
	in    []byte // block read from src; in[:tail] was not understood yet (a character cut by the block's end)
	tail  int
	begun bool
	wide  *utf16Decoder // set when the source is UTF-16
	c     cleaner
	given int // c.out[:given] has been returned
	err   error
}

func newReader(r io.Reader) *Reader {
	return &Reader{src: r, c: cleaner{st: Stats{Encoding: "utf-8"}}}
}

// Read gives cleaned text. An error of the source is returned after all text before it.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.given == r.c.frame {
		if r.err != nil {
			return 0, r.err
		}
		r.c.compact(r.given)
		r.given = 0
		r.fill()
	}
	n := copy(p, r.c.out[r.given:r.c.frame])
	r.given += n
	r.c.st.Out += int64(n)
	return n, nil
}

// Stats tells what was found so far.
func (r *Reader) Stats() Stats { return r.c.st }

// fill reads one block and cleans it; at the end of the source it completes the last line and sets r.err.
func (r *Reader) fill() {
	if r.in == nil {
		r.in = make([]byte, blockSize)
	}
	n, err := r.readBlock(r.in[r.tail:], 1)
	if !r.begun && n > 0 {
		n, err = r.begin(n, err)
	}
	end := r.tail + n
	used := r.clean(r.in[:end], err != nil)
	r.tail = copy(r.in, r.in[used:end])
	if err != nil {
		r.c.finish()
		r.err = err
	}
}

// clean takes as much of b as can be understood without what follows, all of it when last is set.
func (r *Reader) clean(b []byte, last bool) int {
	if r.wide == nil {
		return r.c.feed(b, last)
	}
	used := r.wide.decode(b, last, &r.c.st)
	// The decoder cuts between characters, but an escape introducer may wait for the character after it.
	n := r.c.feed(r.wide.out, last)
	r.wide.out = append(r.wide.out[:0], r.wide.out[n:]...)
	return used
}

// begin looks for a byte order mark in the first n bytes. FF FE alone proves nothing (a stray byte pair in front of
// 8-bit text reads the same), so the bytes after it must look like UTF-16 too.
func (r *Reader) begin(n int, err error) (int, error) {
	r.begun = true
	for n < 3 && err == nil && bytes.HasPrefix([]byte("\xef\xbb\xbf"), r.in[:n]) || n == 1 && err == nil && r.in[0] >= 0xfe {
		var m int
		m, err = r.readBlock(r.in[n:], 1)
		n += m
	}
	if bytes.HasPrefix(r.in[:n], []byte("\xef\xbb\xbf")) {
		return copy(r.in, r.in[3:n]), err
	}
	big := bytes.HasPrefix(r.in[:n], []byte("\xfe\xff"))
	if !big && !bytes.HasPrefix(r.in[:n], []byte("\xff\xfe")) {
		return n, err
	}
	if n < sampleSize && err == nil {
		var m int
		m, err = r.readBlock(r.in[n:], sampleSize-n)
		n += m
	}
	if !looksWide(r.in[2:n], big) {
		return n, err
	}
	r.wide = &utf16Decoder{big: big}
	r.c.st.Encoding = "utf-16le"
	if big {
		r.c.st.Encoding = "utf-16be"
	}
	return copy(r.in, r.in[2:n]), err
}

// looksWide says whether b can be UTF-16: its blanks and newlines have a NUL for a high byte, and units of two ASCII
// characters, of which 8-bit text consists, are few even in Chinese.
func looksWide(b []byte, big bool) bool {
	high := 1
	if big {
		high = 0
	}
	nul, ascii, units := 0, 0, len(b)/2
	for i := 0; i+1 < len(b); i += 2 {
		switch {
		case b[i+high] == 0 && b[i+1-high] != 0:
			nul++
		case plain[b[i]] && plain[b[i+1]]:
			ascii++
		}
	}
	return nul > 0 && 2*ascii < units
}

// readBlock reads until at least least bytes are there or the source has ended.
func (r *Reader) readBlock(b []byte, least int) (n int, err error) {
	for empty := 0; n < least && err == nil; {
		var m int
		m, err = r.src.Read(b[n:])
		n += m
		if m > 0 {
			empty = 0
		} else if empty++; empty > maxEmpty && err == nil {
			err = io.ErrNoProgress
		}
	}
	r.c.st.In += int64(n)
	return n, err
}

// Binary tells whether what was read so far looks like no text at all: many control characters, or NULs between other
// bytes, as in programs, images and archives. Text in a foreign 8-bit encoding is not binary, nor is a log with a hole
// of NULs in it.
func (s Stats) Binary() bool {
	odd := s.Controls + s.NULRuns
	base := s.In - s.NULs + s.NULRuns
	if odd < 4 {
		return false
	}
	return odd*12 >= base || odd*50 >= base && s.BadBytes*5 >= base
}

// utf16Decoder turns UTF-16 into UTF-8.
type utf16Decoder struct {
	big bool
	out []byte // decoded and not yet cleaned
}

// decode appends the characters of b to out and returns how many bytes it used; at most three are left when not last.
func (d *utf16Decoder) decode(b []byte, last bool, st *Stats) int {
	i := 0
	for i+1 < len(b) {
		u := d.unit(b[i:])
		size := 2
		switch {
		case u < 0xd800 || u > 0xdfff:
		case u < 0xdc00 && i+3 < len(b) && d.unit(b[i+2:])&^0x3ff == 0xdc00:
			u = 0x10000 + (u-0xd800)<<10 + (d.unit(b[i+2:]) - 0xdc00)
			size = 4
		case u < 0xdc00 && i+3 >= len(b) && !last:
			return i
		default:
			u = utf8.RuneError
			st.BadBytes += 2
		}
		d.out = utf8.AppendRune(d.out, u)
		i += size
	}
	if last && i < len(b) {
		d.out = utf8.AppendRune(d.out, utf8.RuneError)
		st.BadBytes++
		i++
	}
	return i
}

func (d *utf16Decoder) unit(b []byte) rune {
	if d.big {
		return rune(b[0])<<8 | rune(b[1])
	}
	return rune(b[1])<<8 | rune(b[0])
}
