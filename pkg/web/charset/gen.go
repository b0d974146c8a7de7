//go:build ignore

// Gen writes tables.bin from the tables of golang.org/x/text; see tables.go for the layout.
package main

import (
	"bytes"
	"compress/flate"
	"log"
	"os"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"

	"legwork/pkg/web/charset"
)

func main() {
	var raw bytes.Buffer
	for _, name := range charset.SingleByte() {
		e := get(name)
		plane(&raw, 128, func(i int) rune { return one(e, []byte{byte(0x80 + i)}) })
	}
	for _, name := range []string{"gb18030", "euc-kr", "shift_jis", "big5"} {
		e := get(name)
		plane(&raw, charset.Leads*charset.Trails, func(i int) rune {
			return one(e, []byte{byte(charset.FirstLead + i/charset.Trails), byte(charset.FirstTrail + i%charset.Trails)})
		})
	}
	e := get("euc-jp")
	plane(&raw, 94*94, func(i int) rune { return one(e, []byte{0x8f, byte(0xa1 + i/94), byte(0xa1 + i%94)}) })
	e = get("gb18030")
	plane(&raw, charset.FourByte, func(i int) rune {
		return one(e, []byte{byte(0x81 + i/12600), byte('0' + i/1260%10), byte(0x81 + i/10%126), byte('0' + i%10)})
	})

	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	check(err)
	_, err = w.Write(raw.Bytes())
	check(err)
	check(w.Close())
	check(os.WriteFile("tables.bin", out.Bytes(), 0o644))
}

// plane writes n characters as their differences, the high bytes before the low ones. Those of the plane beyond
// U+FFFF, U+2xxxx all of them, have a bit each behind.
func plane(w *bytes.Buffer, n int, at func(i int) rune) {
	high, low, beyond, last := make([]byte, n), make([]byte, n), make([]byte, (n+7)/8), uint16(0)
	for i := range n {
		r := at(i)
		if r > 0xffff {
			if r>>16 != 2 {
				log.Fatalf("%U is in neither of the two planes", r)
			}
			beyond[i/8] |= 1 << (i % 8)
		}
		d := uint16(r) - last
		last = uint16(r)
		high[i], low[i] = byte(d>>8), byte(d)
	}
	w.Write(high)
	w.Write(low)
	w.Write(beyond)
}

// one is what the bytes mean, if they are one character of one code point.
func one(e encoding.Encoding, b []byte) rune {
	out, err := e.NewDecoder().Bytes(b)
	check(err)
	r, n := utf8.DecodeRune(out)
	if r == utf8.RuneError || n != len(out) {
		return 0
	}
	return r
}

func get(name string) encoding.Encoding {
	e, err := htmlindex.Get(name)
	check(err)
	return e
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
