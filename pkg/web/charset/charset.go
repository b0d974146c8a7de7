// Package charset turns texts of the character sets of the web into UTF-8.
//
// The sets, their names and their rules are those of the Encoding Standard (https://encoding.spec.whatwg.org). It only
// reads: golang.org/x/text, which also writes, adds 0.6 MB of tables to the program; these are a fifth of that. Bytes
// that mean nothing become U+FFFD, and an ASCII character behind them stays: a broken character must not eat the start
// of a tag.
//
// The pitfall: a name that a page gives is not always the set's own ("latin1" is windows-1252); Decode wants the own
// name, as Lookup tells it.
package charset

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

const replacement = "replacement"

// step reads one character from the start of b, which is not empty, writes it and tells how many bytes it took.
type step func(out, b []byte) ([]byte, int)

// Decode turns b into valid UTF-8. Of a set that is not known, and of utf-8 itself, it returns b as it is. A byte-order
// mark stays.
func Decode(name string, b []byte) []byte {
	var next step
	switch name {
	case "", "utf-8":
		return b
	case replacement: // sets that let a server hide a script from a filter
		return []byte("\uFFFD")
	case "utf-16be":
		return decode16(b, binary.BigEndian)
	case "utf-16le":
		return decode16(b, binary.LittleEndian)
	case "x-user-defined":
		next = func(out, b []byte) ([]byte, int) { return put(out, rune(b[0])-0x80+0xf780, 1) }
	case "gbk", "gb18030":
		next = unpacked().chinese
	case "big5":
		next = unpacked().taiwanese
	case "euc-kr":
		next = unpacked().hangul
	case "shift_jis":
		next = unpacked().shifted
	case "euc-jp":
		next = unpacked().extended
	case "iso-2022-jp":
		return unpacked().escaped(b)
	default:
		if name == "iso-8859-8-i" {
			name = "iso-8859-8" // the same characters in another order of writing
		}
		set := unpacked().single[name]
		if set == nil {
			return b
		}
		next = func(out, b []byte) ([]byte, int) { return put(out, set[b[0]-0x80], 1) }
	}
	out := make([]byte, 0, len(b)+len(b)/2)
	for len(b) > 0 {
		if b[0] < utf8.RuneSelf {
			out, b = append(out, b[0]), b[1:]
			continue
		}
		n := 0
		out, n = next(out, b)
		b = b[n:]
	}
	return out
}

// put writes a character that took n bytes; none is a broken one.
func put(out []byte, r rune, n int) ([]byte, int) {
	if r == 0 {
		r = utf8.RuneError
	}
	return utf8.AppendRune(out, r), n
}

// putPair writes the character of two bytes, r. Is there none, a second byte of ASCII is left to be read again.
func putPair(out, b []byte, r rune) ([]byte, int) {
	if len(b) < 2 || r == 0 && b[1] < utf8.RuneSelf {
		return put(out, 0, 1)
	}
	return put(out, r, 2)
}

// at is the i-th byte, 0 behind the end.
func at(b []byte, i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}

func between(c, low, high byte) bool { return low <= c && c <= high }

// chinese reads GB18030, of which GBK is a part.
func (t *tables) chinese(out, b []byte) ([]byte, int) {
	if b[0] == 0x80 {
		return put(out, '€', 1) // as Windows has it
	}
	if !between(at(b, 1), '0', '9') {
		return putPair(out, b, double(t.gbk, b[0], at(b, 1)))
	}
	if b[0] == 0xff || !between(at(b, 2), 0x81, 0xfe) || !between(at(b, 3), '0', '9') {
		return put(out, 0, 1)
	}
	i := ((int(b[0]-0x81)*10+int(b[1]-'0'))*126+int(b[2]-0x81))*10 + int(b[3]-'0')
	const beyond = 189000 // where U+10000 is
	switch {
	case i < len(t.gbFour):
		return put(out, t.gbFour[i], 4)
	case i >= beyond && i-beyond+0x10000 <= utf8.MaxRune:
		return put(out, rune(i-beyond+0x10000), 4)
	}
	return put(out, 0, 1)
}

// taiwanese reads Big5 with the characters of Hong Kong.
func (t *tables) taiwanese(out, b []byte) ([]byte, int) {
	if b[0] == 0x88 { // letters with two accents have no code point of their own
		switch at(b, 1) {
		case 0x62:
			return append(out, "\u00CA\u0304"...), 2
		case 0x64:
			return append(out, "\u00CA\u030C"...), 2
		case 0xa3:
			return append(out, "\u00EA\u0304"...), 2
		case 0xa5:
			return append(out, "\u00EA\u030C"...), 2
		}
	}
	return putPair(out, b, double(t.big5, b[0], at(b, 1)))
}

// hangul reads EUC-KR as Windows extends it.
func (t *tables) hangul(out, b []byte) ([]byte, int) {
	return putPair(out, b, double(t.korean, b[0], at(b, 1)))
}

// katakana is the half-width character of a byte of JIS X 0201.
func katakana(c byte) rune {
	if !between(c, 0xa1, 0xdf) {
		return 0
	}
	return rune(c) - 0xa1 + 0xff61
}

// shifted reads Shift JIS.
func (t *tables) shifted(out, b []byte) ([]byte, int) {
	if b[0] == 0x80 {
		return put(out, 0x80, 1)
	}
	if r := katakana(b[0]); r != 0 {
		return put(out, r, 1)
	}
	return putPair(out, b, double(t.shiftJIS, b[0], at(b, 1)))
}

// extended reads EUC-JP.
func (t *tables) extended(out, b []byte) ([]byte, int) {
	const first, last = 0xa1, 0xfe
	switch {
	case b[0] == 0x8e:
		return putPair(out, b, katakana(at(b, 1)))
	case b[0] == 0x8f && between(at(b, 1), first, last) && between(at(b, 2), first, last):
		return put(out, t.jis0212[int(b[1]-first)*jisRow+int(b[2]-first)], 3)
	case between(b[0], first, last) && between(at(b, 1), first, last):
		return put(out, t.jis0208(int(b[0]-first), int(b[1]-first)), 2)
	}
	return put(out, 0, 1)
}

// escaped reads ISO-2022-JP, whose escape sequences say what the bytes behind them are.
func (t *tables) escaped(b []byte) []byte {
	const first, last = 0x21, 0x7e
	out, set := make([]byte, 0, len(b)), byte('B')
	for len(b) > 0 {
		n := 0
		switch c := b[0]; {
		case c == 0x1b:
			if n = escape(b, &set); n == 0 {
				out, n = put(out, 0, 1)
			}
		case c >= utf8.RuneSelf:
			out, n = put(out, 0, 1)
		case c == '\n':
			out, n, set = append(out, c), 1, 'B'
		case set == 'B':
			out, n = append(out, c), 1
		case set == 'I':
			out, n = put(out, katakana(c|0x80), 1)
		case !between(c, first, last) || !between(at(b, 1), first, last):
			out, n = put(out, 0, 1)
		case set == 'D':
			out, n = put(out, t.jis0212[int(c-first)*jisRow+int(b[1]-first)], 2)
		default:
			out, n = put(out, t.jis0208(int(c-first), int(b[1]-first)), 2)
		}
		b = b[n:]
	}
	return out
}

// escape tells how long the escape sequence at the start of b is, 0 if it is none, and sets which set it turns on:
// B and J are ASCII, I katakana, $ the first table of characters, D the second.
func escape(b []byte, set *byte) int {
	a, c := at(b, 1), at(b, 2)
	switch {
	case a == '(' && (c == 'B' || c == 'J'):
		*set = 'B'
	case a == '(' && c == 'I':
		*set = 'I'
	case a == '$' && (c == '@' || c == 'B'):
		*set = '$'
	case a == '$' && c == '(' && at(b, 3) == 'D':
		*set = 'D'
		return 4
	default:
		return 0
	}
	return 3
}

func decode16(b []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, 0, len(b)/2+1)
	for ; len(b) >= 2; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	if len(b) > 0 {
		units = append(units, utf8.RuneError)
	}
	return []byte(string(utf16.Decode(units)))
}
