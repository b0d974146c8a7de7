package clean

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestText(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"empty", "", ""},
		{"unicode", "naïve – 日本語 😀 ü\n", "naïve – 日本語 😀 ü\n"},
		{"no-break space stays", "a\u00a0b", "a\u00a0b"},
		{"utf-8 byte order mark", "\ufefftext", "text"},

		{"colour", "\x1b[1;31mred\x1b[0m\n", "red\n"},
		{"colour with colons", "\x1b[38:2::255:100:0mx\x1b[m", "x"},
		{"D07 private mode", "\x1b[?25lhidden\x1b[?25h", "hidden"},
		{"intermediate in CSI", "\x1b[2 qx\x1b[!p", "x"},
		{"D07 title ended by BEL", "\x1b]0;title\x07text", "text"},
		{"D07 title ended by ST", "\x1b]0;title\x1b\\text", "text"},
		{"hyperlink keeps its text", "\x1b]8;;http://x/y\x1b\\link\x1b]8;;\x1b\\ after", "link after"},
		{"title with a check mark", "\x1b]0;\u2714 done\x07text", "text"},
		{"8-bit CSI", "\x9b31mred\x9b0m", "red"},
		{"8-bit CSI as characters", "\u009b31mred\u009b0m", "red"},
		{"8-bit OSC", "\x9d0;title\x9ctext", "text"},
		{"8-bit OSC as characters", "\u009d0;title\u009ctext", "text"},
		{"quotes encoded twice", "say \u00e2\u0080\u009chello\u00e2\u0080\u009d\nnext\n", "say âhelloâ\nnext\n"},
		{"DCS", "\x1bP1$r0m\x1b\\text", "text"},
		{"APC", "\x1b_Gf=100;AAAA\x1b\\text", "text"},
		{"screen title", "\x1bkname\x1b\\text", "text"},
		{"Linux palette", "\x1b]P0000000a\x1b]Rb", "ab"},
		{"charset", "\x1b(Bx\x1b)0y\x0f", "xy"},
		{"save and restore cursor", "\x1b7x\x1b8\x1b=\x1b>", "x"},
		{"tput sgr0", "\x1b(B\x1b[mx", "x"},
		{"string closed by another sequence", "\x1b]0;title\x1b[31mred", "red"},
		{"string never closed", "\x1b]0;important\nnext\n", "]0;important\nnext\n"},
		{"string never closed at the end", "a\x1b]0;b", "a]0;b"},
		{"CSI cut by a newline", "a\x1b[3\nb", "a\nb"},
		{"CSI never closed", "a\x1b[3", "a"},
		{"lone ESC keeps the word", "a\x1bhello\x1b", "ahello"},
		{"lone ESC and a blank", "a\x1b hello", "a hello"},
		{"two ESC", "\x1b\x1b[31mx", "x"},

		{"CRLF", "a\r\nb\r\n", "a\nb\n"},
		{"CR CR LF", "a\r\r\nb", "a\nb"},
		{"last frame wins", "10%\r50%\r100% done\nnext", "100% done\nnext"},
		{"shorter last frame", "downloading\rok\n", "ok\n"},
		{"erase and redraw", "working…\r\x1b[Kdone\n", "done\n"},
		{"erased and left empty", "working…\r\x1b[K\nnext", "working…\nnext"},
		{"erase line, go left", "50%\x1b[2K\x1b[1Gdone\n", "done\n"},
		{"go left by a lot", "50%\x1b[1000Ddone\n", "done\n"},
		{"column 1", "50%\x1b[Gdone", "done"},
		{"column n overwrites", "abc 50%\x1b[5G100%", "abc 100%"},
		{"column n beyond the end", "ab\x1b[6Gcd", "ab   cd"},
		{"status at the right", "Starting x\r\x1b[15C[ OK ]\n", "Starting x     [ OK ]\n"},
		{"blanks as cursor moves", "a\x1b[3Cb", "a   b"},
		{"words placed on the screen", "\x1b[1;1Hone\x1b[1;20Htwo", "one two"},
		{"CR at the end", "50%\r", "50%"},
		{"frames stop at the newline", "a\n1\r2\nb", "a\n2\nb"},

		{"overstruck bold", "N\bNA\bAM\bME\bE", "NAME"},
		{"underline", "_\bf_\bo_\bo", "foo"},
		{"spinner", "|\b/\b-\b\\\bdone", "done"},
		{"backspace, nothing written", "abc\b\b\n", "abc\n"},
		{"backspace of a wide character", "é\bx", "x"},
		{"backspace stops at the line", "a\n\b\b\bb", "a\nb"},
		{"back and forth", "abc\x1b[2D\x1b[2Cd", "abcd"},

		{"D08 bad bytes", "\xff\xfe caf\xe9", "\uFFFD\uFFFD caf\uFFFD"},
		{"D08 bad bytes and a NUL", "\xff\xfe caf\xe9 and\x00 more words\n", "\uFFFD\uFFFD caf\uFFFD and  more words\n"},
		{"D08 cut character", "a\xe2\x82", "a\uFFFD\uFFFD"},
		{"D08 surrogate half", "a\xed\xa0\x80b", "a\uFFFD\uFFFD\uFFFDb"},
		{"D08 8-bit text with C1 codes", "\x93quoted\x94", "\uFFFDquoted\uFFFD"},
		{"D08 CP949", "\xb0\xa1\xb3\xaa", "\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"NULs", "a\x00\x00\x00b\x00c", "a b c"},
		{"other controls", "a\x01\x02\x7fb\x07", "ab"},
		{"form feed", "a\fb", "a b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := string(Bytes([]byte(c.in))); got != c.want {
				t.Errorf("whole: got %q, want %q", got, c.want)
			}
			got, err := io.ReadAll(NewReader(iotest.OneByteReader(strings.NewReader(c.in))))
			if err != nil || string(got) != c.want {
				t.Errorf("byte by byte: got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	in := "1\r2\r3\n\x1b[31mx\x1b]0;t\x07\n\xff\xfea\x00\x00b\x01"
	_, got := BytesStats([]byte(in))
	want := Stats{
		In: int64(len(in)), Out: int64(len("3\nx\n\uFFFD\uFFFDa b")), Lines: 2, BadBytes: 2, NULs: 2,
		NULRuns: 1, Controls: 1, Sequences: 2, Frames: 2, Encoding: "utf-8",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestUTF16(t *testing.T) {
	t.Parallel()
	text := "Zeile 1\r\nsmörgås 😀\x1b[31m rot\x1b[0m\r\nEnde \u009b1mfett"
	want := "Zeile 1\nsmörgås 😀 rot\nEnde fett"
	for _, big := range []bool{false, true} {
		var in []byte
		for _, u := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
			if big {
				in = append(in, byte(u>>8), byte(u))
			} else {
				in = append(in, byte(u), byte(u>>8))
			}
		}
		got, st := BytesStats(in)
		if string(got) != want || st.BadBytes != 0 || st.Binary() || !strings.HasPrefix(st.Encoding, "utf-16") {
			t.Errorf("big-endian %v: %q %+v", big, got, st)
		}
		one, _ := io.ReadAll(NewReader(iotest.OneByteReader(bytes.NewReader(in))))
		if string(one) != want {
			t.Errorf("big-endian %v, byte by byte: %q", big, one)
		}
		cut, st := BytesStats(in[:len(in)-1])
		if string(cut) != strings.TrimSuffix(want, "t")+"\uFFFD" || st.BadBytes != 1 {
			t.Errorf("cut in a character: %q %+v", cut, st)
		}
	}
}

func TestBinary(t *testing.T) {
	t.Parallel()
	random := make([]byte, 20_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	program := bytes.Repeat([]byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x03\x00>\x00\x01\x00\x00\x00text"), 50)
	cases := []struct {
		name string
		in   []byte
		want bool
	}{
		{"text", []byte("hello\nworld\n"), false},
		{"empty", nil, false},
		{"one bell", []byte("ok\a\n"), false},
		{"colours", bytes.Repeat([]byte("\x1b[31mx\x1b[0m\n"), 50), false},
		{"D08 CP949 text", bytes.Repeat([]byte("\xb0\xa1\xb3\xaa\xb4\xd9\n"), 100), false},
		{"log with a hole", append(make([]byte, 5000), bytes.Repeat([]byte("a line of a log\n"), 20)...), false},
		{"find -print0", bytes.Repeat([]byte("./pkg/clean/clean_test.go\x00"), 100), false},
		{"D08 compressed", random, true},
		{"D08 program", program, true},
		{"UTF-16 without a mark", []byte("h\x00e\x00l\x00l\x00o\x00"), true},
	}
	for _, c := range cases {
		if _, st := BytesStats(c.in); st.Binary() != c.want {
			t.Errorf("%s: binary %v, want %v: %+v", c.name, st.Binary(), c.want, st)
		}
	}
}

// An endless line must not grow in memory, whatever it is made of.
func TestEndlessLine(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{
		"text": "abcdefgh", "frames": "50%\r", "blanks": "\x1b[400C", "wide": "日本語", "string": "\x1b]0;aaaa",
		"parameters": "\x1b[1;1;1;", "backspaces": "ab\b", "columns": "x\x1b[500G",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := NewReader(io.LimitReader(&endless{part: part}, 2<<20))
			if _, err := io.Copy(io.Discard, r); err != nil {
				t.Fatal(err)
			}
			if c := cap(r.c.out) + cap(r.c.seq); c > 32*MaxFrame { // one block of moves becomes 90 times as many blanks
				t.Errorf("holds %d bytes", c)
			}
		})
	}
}

type endless struct {
	part string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.part[e.at]
		e.at = (e.at + 1) % len(e.part)
	}
	return len(p), nil
}

func TestSourceErrorComesAfterTheText(t *testing.T) {
	t.Parallel()
	r := NewReader(io.MultiReader(strings.NewReader("a\nunfinished"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	got, err := io.ReadAll(r)
	if string(got) != "a\nunfinished" || err != io.ErrUnexpectedEOF { //nolint:errorlint // exactly that error
		t.Errorf("got %q, %v", got, err)
	}
}

// FuzzReader holds what must be true of any input: same newlines, valid text without controls, and the same result
// however the input is cut.
func FuzzReader(f *testing.F) {
	f.Add([]byte("\x1b[31mred\x1b[0m\r\n50%\r100%\n\xff\x00\x9b1m\u009d0;t\u009c"), uint8(1))
	f.Add([]byte("\x1b]0;t\x1b\\x\bè\b\x1b[3C\x1b[2Dy\x1bP\n"), uint8(3))
	f.Add([]byte("\xff\xfea\x00\n\x00"), uint8(2))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		got, st := BytesStats(in)
		if !utf8.Valid(got) {
			t.Fatalf("not UTF-8: %q", got)
		}
		if i := bytes.IndexFunc(got, func(r rune) bool {
			return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
		}); i >= 0 {
			t.Fatalf("control left at %d: %q", i, got)
		}
		if n := bytes.Count(got, []byte("\n")); st.Encoding == "utf-8" && n != bytes.Count(in, []byte("\n")) || int64(n) != st.Lines {
			t.Fatalf("%d newlines became %d (%d counted)", bytes.Count(in, []byte("\n")), n, st.Lines)
		}
		cut, err := io.ReadAll(NewReader(&chunks{in, int(size%7) + 1}))
		if err != nil || !bytes.Equal(cut, got) {
			t.Fatalf("in chunks: %q, whole: %q, %v", cut, got, err)
		}
	})
}

type chunks struct {
	b []byte
	n int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:min(c.n, len(c.b))])
	c.b = c.b[n:]
	return n, nil
}

func BenchmarkPlain(b *testing.B) {
	benchmark(b, strings.Repeat("2026-01-02 03:04:05 INFO  service started on port 8080, took 12 ms\n", 1000))
}

func BenchmarkColour(b *testing.B) {
	benchmark(b, strings.Repeat("\x1b[32m✓\x1b[39m renders the list \x1b[2m(12 ms)\x1b[22m\r\n", 1000))
}

func BenchmarkUnicode(b *testing.B) {
	benchmark(b, strings.Repeat("日本語のログ行です、naïve café\n", 1000))
}

func benchmark(b *testing.B, part string) {
	src := []byte(strings.Repeat(part, 20))
	b.SetBytes(int64(len(src)))
	buf := make([]byte, 64<<10)
	for b.Loop() {
		r := NewReader(bytes.NewReader(src))
		for {
			if _, err := r.Read(buf); err != nil {
				break
			}
		}
	}
}
