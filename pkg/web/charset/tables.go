package charset

import (
	"bytes"
	"compress/flate"
	_ "embed" // the tables
	"fmt"
	"io"
	"sync"
)

//go:generate go run gen.go

// What the tables of two-byte sets span. A set uses a part of it.
const (
	FirstLead, Leads   = 0x81, 0x7e
	FirstTrail, Trails = 0x40, 0xbf
	FourByte           = 39420 // GB18030's of four bytes for U+0080 to U+FFFF
)

// jisRow is the length of a row of the JIS character sets, and their number.
const jisRow = 94

// packed holds, compressed, a plane for each single-byte set (from 0x80 on), for the two-byte sets, lead by lead, in
// the order of the struct tables, for JIS X 0212 and for GB18030's of four bytes. See gen.go for what a plane is.
//
//go:embed tables.bin
var packed []byte

// tables are what bytes mean; 0 is nothing.
type tables struct {
	single                      map[string][]rune
	gbk, korean, shiftJIS, big5 []rune
	jis0212                     []rune
	gbFour                      []rune // GB18030's characters of four bytes below U+10000
}

// unpacked are the tables; most runs never need them.
var unpacked = sync.OnceValue(func() *tables {
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		panic(fmt.Sprintf("the tables of character sets are damaged: %v", err)) // they are part of the program
	}
	next := func(n int) []rune {
		out, last := make([]rune, n), uint16(0)
		high, low, beyond := raw[:n], raw[n:2*n], raw[2*n:]
		for i := range out {
			last += uint16(high[i])<<8 | uint16(low[i])
			out[i] = rune(last)
			if beyond[i/8]>>(i%8)&1 == 1 {
				out[i] |= 2 << 16
			}
		}
		raw = raw[2*n+(n+7)/8:]
		return out
	}
	t := &tables{single: map[string][]rune{}}
	for _, name := range SingleByte() {
		t.single[name] = next(128)
	}
	for _, set := range []*[]rune{&t.gbk, &t.korean, &t.shiftJIS, &t.big5} {
		*set = next(Leads * Trails)
	}
	t.jis0212 = next(jisRow * jisRow)
	t.gbFour = next(FourByte)
	return t
})

// double is the character of two bytes in the table of a two-byte set, or 0.
func double(set []rune, lead, trail byte) rune {
	l, t := int(lead)-FirstLead, int(trail)-FirstTrail
	if l < 0 || l >= Leads || t < 0 || t >= Trails {
		return 0
	}
	return set[l*Trails+t]
}

// jis0208 is the character at a row and a cell, from 0 on; Shift JIS is the same table folded in two.
func (t *tables) jis0208(row, cell int) rune {
	lead := row/2 + 0x81
	if lead > 0x9f {
		lead += 0x40
	}
	trail := cell + 0x9f
	if row%2 == 0 {
		trail = cell + 0x40
		if trail >= 0x7f {
			trail++
		}
	}
	return double(t.shiftJIS, byte(lead), byte(trail))
}
