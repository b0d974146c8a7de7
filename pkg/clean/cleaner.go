package clean

import (
	"bytes"
	"unicode/utf8"
)

// cleaner is the state machine between bytes and text. out[frame:] is the part of the current line that a carriage
// return or a backspace may still take back; out[:frame] is final.
type cleaner struct {
	out   []byte
	frame int
	st    Stats

	redraw bool // the cursor is at the start of the frame: the next character replaces it
	back   int  // the cursor stands that many characters before the end of the frame
	nul    bool // the last byte was NUL

	state state
	seq   []byte // bytes of the sequence being read, up to maxSeq
	raw8  bool   // the control string was opened by an 8-bit code, so a bare 0x9C ends it
}

// maxSeq is how much of a sequence is remembered: parameters, or the text of an unclosed control string.
const maxSeq = 4 << 10

// plain are the bytes that are themselves: printable ASCII, tab and newline. Everything else takes the slow way.
var plain = func() (t [256]bool) {
	for b := ' '; b < 0x7f; b++ {
		t[b] = true
	}
	t['\n'], t['\t'] = true, true
	return t
}()

// feed cleans b and returns how many bytes it used. What it leaves, at most four bytes, needs the bytes after it;
// with last set it leaves nothing.
func (c *cleaner) feed(b []byte, last bool) int {
	for i := 0; i < len(b); {
		if c.state == ground {
			j := i
			for j < len(b) && plain[b[j]] {
				j++
			}
			if j > i {
				c.text(b[i:j])
				i = j
				continue
			}
		}
		n := c.step(b[i:], last)
		if n < 0 {
			return i
		}
		i += n
	}
	return len(b)
}

// step handles the bytes at the start of b that are not plain and returns how many; -1 when it needs more of them.
func (c *cleaner) step(b []byte, last bool) int {
	switch {
	case c.state != ground:
		return c.escape(b[0])
	case b[0] >= utf8.RuneSelf:
		return c.high(b, last)
	}
	if b[0] != 0 {
		c.nul = false
	}
	switch b[0] {
	case '\r':
		c.redraw, c.back = true, 0
	case '\b':
		c.back++
	case 0x1b:
		c.begin(escaped)
	case 0:
		c.st.NULs++
		if !c.nul {
			c.st.NULRuns++
			c.text([]byte{' '})
		}
		c.nul = true
	case '\v', '\f':
		c.text([]byte{' '})
	case 0x07, 0x0e, 0x0f: // bell, and the shifts between character sets that `tput sgr0` sends
		c.st.Sequences++
	default:
		c.st.Controls++
	}
	return 1
}

// high handles a run of non-ASCII bytes.
func (c *cleaner) high(b []byte, last bool) int {
	i := 0
	for i < len(b) && b[i] >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 || r < 0xa0 {
			break
		}
		i += size
	}
	if i > 0 {
		c.text(b[:i])
		return i
	}
	if !last && !utf8.FullRune(b) {
		return -1
	}
	r, size := utf8.DecodeRune(b)
	code := r // an 8-bit control, as a character or as a bare byte
	if r == utf8.RuneError {
		code = rune(b[0])
	}
	if code == 0x9b || code == 0x9d {
		if len(b) == size && !last {
			return -1
		}
		if len(b) > size && c.opens(code, b[size], size == 1) {
			return size
		}
	}
	if r == utf8.RuneError {
		c.st.BadBytes++
		c.text([]byte("\uFFFD"))
		return 1
	}
	c.st.Controls++
	return size
}

// opens starts the sequence of an 8-bit introducer if what follows is one. In text of other encodings, and in text
// encoded twice, the same codes are letters and quotes; those are not followed by parameters.
func (c *cleaner) opens(code rune, next byte, raw bool) bool {
	digit := next >= '0' && next <= '9'
	switch {
	case code == 0x9b && (digit || next == '?' || next == '>'):
		c.begin(csi)
	case code == 0x9d && digit:
		c.begin(controlString)
		c.raw8 = raw
	default:
		return false
	}
	return true
}

// text appends printable characters, tabs and newlines.
func (c *cleaner) text(b []byte) {
	c.nul = false
	if c.redraw || c.back > 0 {
		if b[0] != '\n' {
			c.takeBack()
		}
		c.redraw, c.back = false, 0
	}
	c.out = append(c.out, b...)
	if nl := bytes.LastIndexByte(b, '\n'); nl >= 0 {
		c.st.Lines += int64(bytes.Count(b[:nl+1], []byte{'\n'}))
		c.frame = len(c.out) - (len(b) - nl - 1)
	}
	if len(c.out)-c.frame > MaxFrame+blockSize {
		c.frame = len(c.out) - MaxFrame
		for c.frame < len(c.out) && !utf8.RuneStart(c.out[c.frame]) {
			c.frame++
		}
	}
}

// takeBack removes what the next character is written over: the whole frame after a carriage return, the last
// characters after backspaces. What a shorter new frame would leave of the old one on a terminal goes as well.
func (c *cleaner) takeBack() {
	if c.redraw {
		if len(c.out) > c.frame {
			c.st.Frames++
		}
		c.out = c.out[:c.frame]
		return
	}
	for ; c.back > 0 && len(c.out) > c.frame; c.back-- {
		_, size := utf8.DecodeLastRune(c.out[c.frame:])
		c.out = c.out[:len(c.out)-size]
	}
}

// finish ends the text: nothing can be taken back any more.
func (c *cleaner) finish() {
	if c.state == controlString || c.state == stringEscape {
		c.release()
	}
	c.state = ground
	c.redraw, c.back = false, 0
	c.frame = len(c.out)
}

// compact drops the first n bytes of out, which have been handed on.
func (c *cleaner) compact(n int) {
	c.out = append(c.out[:0], c.out[n:]...)
	c.frame -= n
}
