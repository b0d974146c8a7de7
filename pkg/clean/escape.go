package clean

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// state is where the cleaner stands in a control sequence (ECMA-48 and what terminals made of it).
type state uint8

const (
	ground        state = iota
	escaped             // after ESC
	intermediate        // after ESC and one of ' '…'/'
	csi                 // after ESC [
	controlString       // in OSC, DCS, APC, PM, SOS or a screen title
	stringEscape        // after ESC in a control string
)

// maxColumn bounds cursor moves that are turned into blanks.
const maxColumn = 512

func (c *cleaner) begin(s state) {
	c.state = s
	c.seq = c.seq[:0]
	c.raw8 = false
}

// end closes a sequence.
func (c *cleaner) end() int {
	c.state = ground
	c.st.Sequences++
	return 1
}

// escape takes one byte of a sequence; it returns 0 when the byte is not part of it and must be looked at again.
func (c *cleaner) escape(b byte) int {
	switch c.state {
	case escaped:
		return c.afterEscape(b)
	case intermediate:
		return c.afterIntermediate(b)
	case csi:
		return c.inCSI(b)
	case stringEscape:
		if b == '\\' {
			return c.end()
		}
		c.end() // any other sequence closes the string
		c.begin(escaped)
		return 0
	default:
		return c.inString(b)
	}
}

// afterEscape knows the two-character sequences by name: a lone ESC in front of ordinary text must not eat a letter.
func (c *cleaner) afterEscape(b byte) int {
	switch {
	case b == '[':
		c.begin(csi)
	case b == ']', b == 'P', b == 'X', b == '^', b == '_', b == 'k':
		c.begin(controlString)
		c.seq = append(c.seq, b)
	case b >= ' ' && b <= '/':
		c.begin(intermediate)
		c.seq = append(c.seq, b)
	case b == 0x1b:
		c.st.Controls++
	case bytes.IndexByte([]byte("6789<=>DEHMNOVWZ\\clmno|}~"), b) >= 0:
		return c.end()
	default:
		c.state = ground
		c.st.Controls++
		return 0
	}
	return 1
}

func (c *cleaner) afterIntermediate(b byte) int {
	switch {
	case b >= ' ' && b <= '/' && len(c.seq) < 3:
		c.seq = append(c.seq, b)
		return 1
	case c.seq[0] == ' ' && bytes.IndexByte([]byte("FGLMN"), b) < 0: // ESC and a word, not a request for 7-bit codes
	case b >= '0' && b <= '~':
		return c.end()
	}
	c.state = ground
	c.st.Controls++
	c.text(c.seq)
	return 0
}

func (c *cleaner) inCSI(b byte) int {
	switch {
	case b >= ' ' && b <= '?':
		if len(c.seq) < maxSeq {
			c.seq = append(c.seq, b)
		}
		return 1
	case b >= '@' && b <= '~':
		c.move(b)
		return c.end()
	case b == 0x18, b == 0x1a: // cancel
		return c.end()
	}
	c.end()
	return 0
}

// move does what of the cursor's moves matters within one line; all else a sequence may ask for has no text.
func (c *cleaner) move(final byte) {
	n, plain := 1, len(c.seq) == 0
	if v, err := strconv.Atoi(string(c.seq)); err == nil && v >= 0 {
		n, plain = max(v, 1), true
	}
	switch final {
	case 'G', '`': // to column n
		if plain {
			c.toColumn(n)
		}
	case 'K': // erase: the whole line, or up to the cursor
		if s := string(c.seq); s == "1" || s == "2" {
			c.redraw, c.back = true, 0
		}
	case 'D': // left
		if plain && !c.redraw {
			c.back += min(n, maxColumn)
		}
	case 'C': // right: Windows consoles send blanks this way
		if plain && c.redraw {
			c.toColumn(n + 1)
		} else if plain && n <= c.back {
			c.back -= n
		} else if plain {
			c.blanks(n - c.back)
		}
	case 'H', 'f': // anywhere on the screen; at least the words must not be glued together
		if len(c.out) > c.frame && !c.redraw && c.out[len(c.out)-1] != ' ' {
			c.blanks(1)
		}
	}
}

// toColumn puts the cursor before character n of the line, counted from 1.
func (c *cleaner) toColumn(n int) {
	if n == 1 {
		c.redraw, c.back = true, 0
		return
	}
	if n > maxColumn {
		return
	}
	c.redraw, c.back = false, 0
	line := []rune(string(c.out[c.frame:min(len(c.out), c.frame+4*maxColumn)]))
	if len(line) < n-1 {
		c.blanks(n - 1 - len(line))
		return
	}
	c.out = append(c.out[:c.frame], string(line[:n-1])...)
}

// blanks writes n blanks at the cursor.
func (c *cleaner) blanks(n int) {
	c.redraw, c.back = false, 0
	if n > 0 {
		c.text(bytes.Repeat([]byte{' '}, min(n, maxColumn)))
	}
}

func (c *cleaner) inString(b byte) int {
	switch {
	case b == 0x07, b == 0x18, b == 0x1a:
		return c.end()
	case b == 0x9c && (c.raw8 || len(c.seq) > 0 && c.seq[len(c.seq)-1] == 0xc2):
		return c.end()
	case b == 0x1b:
		c.state = stringEscape
		return 1
	case b == '\n':
		c.release()
		return 0
	}
	if len(c.seq) < maxSeq {
		c.seq = append(c.seq, b)
	}
	if linuxPalette(c.seq) {
		return c.end()
	}
	return 1
}

// linuxPalette knows the two strings that the Linux console takes without an end: "]R" and "]Pnrrggbb".
func linuxPalette(seq []byte) bool {
	return len(seq) == 2 && seq[1] == 'R' && seq[0] == ']' || len(seq) == 9 && seq[1] == 'P' && seq[0] == ']'
}

// release gives the text of a control string that was never closed.
func (c *cleaner) release() {
	c.state = ground
	c.st.Controls++
	for _, r := range string(c.seq) {
		if r == utf8.RuneError {
			c.st.BadBytes++
		}
		if r >= ' ' && r != 0x7f && (r < 0x80 || r >= 0xa0) {
			c.text([]byte(string(r)))
		}
	}
}
