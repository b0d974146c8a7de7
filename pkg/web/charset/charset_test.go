package charset

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// Every byte and every sequence that means something means what golang.org/x/text says.
func TestLikeXText(t *testing.T) {
	t.Parallel()
	same := func(name string, b []byte) {
		t.Helper()
		e, err := htmlindex.Get(name)
		if name == "gbk" {
			e, err = htmlindex.Get("gb18030") // the standard reads both alike
		}
		if err != nil {
			t.Fatal(err)
		}
		want, err := e.NewDecoder().Bytes(b)
		if err != nil {
			t.Fatal(err)
		}
		got := Decode(name, b)
		if bytes.ContainsRune(want, utf8.RuneError) {
			if !utf8.Valid(got) || !bytes.ContainsRune(got, utf8.RuneError) {
				t.Errorf("%s: % x is %q and should have a broken character", name, b, got)
			}
			return
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: % x is %q, want %q", name, b, got, want)
		}
	}
	names := append(SingleByte(), "iso-8859-8-i", "x-user-defined", "gbk", "big5", "shift_jis", "euc-kr", "euc-jp", "iso-2022-jp", "utf-16le", "utf-16be")
	for _, name := range names {
		for i := range 256 {
			same(name, []byte{byte(i)})
		}
	}
	for _, name := range []string{"gbk", "big5", "shift_jis", "euc-kr", "euc-jp", "utf-16le", "utf-16be"} {
		for i := range 1 << 16 {
			same(name, []byte{byte(i >> 8), byte(i)})
		}
	}
	for i := range 94 * 94 {
		row, cell := byte(i/94), byte(i%94)
		same("euc-jp", []byte{0x8f, 0xa1 + row, 0xa1 + cell})
		for _, set := range []string{"\x1b$B", "\x1b$@", "\x1b$(D"} {
			same("iso-2022-jp", append([]byte(set), 0x21+row, 0x21+cell, 0x1b, '(', 'B', 'a'))
		}
	}
	for i := range 126 * 10 * 126 * 10 {
		if i < FourByte || i%997 == 0 {
			same("gb18030", []byte{byte(0x81 + i/12600), byte('0' + i/1260%10), byte(0x81 + i/10%126), byte('0' + i%10)})
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(labels) {
		for label := range strings.FieldsSeq(line) {
			e, err := htmlindex.Get(label)
			if label == replacement {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", label, err)
				continue
			}
			if want, _ := htmlindex.Name(e); Lookup(" "+strings.ToUpper(label)+"\n") != want {
				t.Errorf("%s is %s, want %s", label, Lookup(label), want)
			}
		}
	}
	for _, label := range []string{"", " ", "utf", "replacement", "x-nonsense", "utf-8 latin1"} {
		if got := Lookup(label); got != "" {
			t.Errorf("%q is %s", label, got)
		}
	}
}

// A broken character never takes markup with it, and nothing makes the result invalid.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gbk", "big5", "shift_jis", "euc-kr", "euc-jp", "iso-2022-jp"} {
		for lead := 0x81; lead < 0x100; lead++ {
			if got := string(Decode(name, []byte{byte(lead), '<', 'p', '>'})); !strings.HasSuffix(got, "<p>") {
				t.Errorf("%s: %x before a tag is %q", name, lead, got)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, random.IntN(12))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		for line := range strings.Lines(strings.TrimSpace(labels)) {
			name := strings.Fields(line)[0]
			if got := Decode(name, b); name != "utf-8" && !utf8.Valid(got) {
				t.Fatalf("%s: % x is %q", name, b, got)
			}
		}
	}
	if got := Decode("x-nonsense", []byte("a\xff")); string(got) != "a\xff" {
		t.Errorf("%q", got)
	}
	if got := string(Decode("hz-gb-2312", []byte("a"))); got != "a" { // a label, no name
		t.Errorf("%q", got)
	}
	if got := string(Decode(Lookup("hz-gb-2312"), []byte("<script>"))); got != "\uFFFD" {
		t.Errorf("%q", got)
	}
}
