package digest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

func scan(t testing.TB, text string, opt Options) *Doc {
	t.Helper()
	d, err := Scan(context.Background(), strings.NewReader(text), opt)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// noise is n log lines of a few kinds, different in their numbers.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := range n {
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&b, "2025-03-04 10:%02d:%02d INFO [worker-%d] request %d served in %d ms\n", i/60%60, i%60, r.IntN(16), r.IntN(1e6), r.IntN(90))
		case 1:
			fmt.Fprintf(&b, "2025-03-04 10:%02d:%02d DEBUG [cache] lookup key=order:%d hit=%t\n", i/60%60, i%60, r.IntN(1e6), r.IntN(2) > 0)
		default:
			fmt.Fprintf(&b, "2025-03-04 10:%02d:%02d INFO [queue] message %x queued at offset %d\n", i/60%60, i%60, r.Uint32(), r.IntN(1e9))
		}
	}
	return b.String()
}

func has(s Selection, no int) bool {
	return slices.ContainsFunc(s.Lines, func(l Line) bool { return l.No == no })
}

func TestScanCounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a": 1, "a\n": 1, "a\nb": 2, "\n\n": 2, strings.Repeat("x", 3*maxPiece): 1, strings.Repeat("x", 3*maxPiece) + "\ny\n": 2} {
		d := scan(t, text, Options{})
		if d.Lines() != want || d.Bytes() != int64(len(text)) {
			t.Errorf("%.10q: %d lines %d bytes, want %d lines %d bytes", text, d.Lines(), d.Bytes(), want, len(text))
		}
	}
}

// The pieces of a text are the text, wherever the reads end.
func TestPiecesAreTheText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("function(a,b){return a+b};", 2000) + strings.Repeat("é", 5000)
	text := "first\n\n" + long + "\nmiddle\n" + strings.Repeat("z", 2*blockSize) + "\nlast"
	for _, size := range []int{1, 7, 4096, len(text)} {
		var got strings.Builder
		next := 1
		s := splitter{fn: func(p piece) error {
			if p.no != next {
				t.Fatalf("line %d where %d is due", p.no, next)
			}
			if len(p.text) > maxPiece {
				t.Fatalf("a piece of %d bytes", len(p.text))
			}
			got.Write(p.text)
			if !p.more {
				got.WriteByte('\n')
				next++
			}
			return nil
		}}
		for i := 0; i < len(text); i += size {
			if err := s.feed([]byte(text[i:min(len(text), i+size)])); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		if got.String() != text+"\n" {
			t.Errorf("reads of %d bytes: the pieces are not the text", size)
		}
	}
}

func TestSelectFindsTheLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, question string }{
		{"2025-03-04 11:00:00 ERROR [ledger] checksum of segment 42 differs", "Which segment has a different checksum?"},
		{"2025-03-04 11:00:00 ERROR [ledger] no space left on device while writing /data/seg", "Was a disk full?"},
		{"2025-03-04 11:00:00 WARN  [auth] certificate of partner-7 expired", "Whose certificate is no longer valid?"},
		{"2025-03-04 11:00:00 INFO  [main] received SIGTERM, draining", "Why did the program quit?"},
		{"2025-03-09 11:00:00 INFO  [queue] message 77aa1 queued at offset 5", "Which message was queued on 9 March?"},
		{"2025-03-04 11:00:00 INFO  [worker-3] request 5 served in 8123 ms", "What was the slowest request?"},
		{"2025-03-04 11:00:00 INFO  [boot] listening on 0.0.0.0:8443", "On which port is the service reachable?"},
		{"2025-03-04 11:00:00 INFO  [flags] feature newCheckoutFlow enabled", "Was newCheckoutFlow turned on?"},
	} {
		text := noise(3000) + c.line + "\n" + noise(2000)
		s, err := scan(t, text, Options{}).Select(t.Context(), c.question, Budget{Tokens: 500})
		if err != nil {
			t.Fatal(err)
		}
		if !has(s, 3001) {
			t.Errorf("%s\nnot found: %s\n%s", c.question, c.line, s.Text())
		}
		if s.Coverage.LinesScanned != 5001 || s.Coverage.BytesScanned != int64(len(text)) || s.Coverage.LinesKept != len(s.Lines) {
			t.Errorf("coverage %+v", s.Coverage)
		}
	}
}

func TestSelectKeepsBudget(t *testing.T) {
	t.Parallel()
	d := scan(t, noise(5000)+strings.Repeat("y", 9000)+"\n"+noise(10), Options{})
	for _, tokens := range []int{0, 10, 100, 2000} {
		for _, q := range []string{"", "Which request was the slowest?", "What was queued last?", "yyyy"} {
			s, err := d.Select(t.Context(), q, Budget{Tokens: tokens, BytesPerToken: 4})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(s.Text()); n > tokens*4 {
				t.Errorf("%q at %d tokens: %d bytes", q, tokens, n)
			}
		}
	}
}

// K06: what is shortened is never longer than the text it was made from.
func TestSelectNeverLonger(t *testing.T) {
	t.Parallel()
	for n := 1; n < 60; n += 3 {
		text := noise(n)
		for _, extra := range []int{-200, -1, 0, 1, 200} {
			s, err := scan(t, text, Options{}).Select(t.Context(), "Which request was served?", Budget{Tokens: len(text) + extra, BytesPerToken: 1})
			if err != nil {
				t.Fatal(err)
			}
			if !s.Whole && len(s.Text()) > len(text) {
				t.Errorf("%d lines, budget %+d: %d bytes of %d", n, extra, len(s.Text()), len(text))
			}
		}
	}
}

func TestSelectWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k=v;", 3000)
	s, err := scan(t, "one\n"+long+"\nthree", Options{}).Select(t.Context(), "three?", Budget{Tokens: 10000})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Whole || len(s.Lines) != 3 || s.Lines[1].Text != long || s.Coverage.LinesCut != 0 {
		t.Errorf("a text that fits is not given whole: %d lines, whole=%t", len(s.Lines), s.Whole)
	}
}

// A line is never cut below 400 bytes, and the cut says how much is missing.
func TestCutsStateTheirSize(t *testing.T) {
	t.Parallel()
	long := "2025-03-04 11:00:00 ERROR payload " + strings.Repeat("abcdefg ", 900) + "needle_77 " + strings.Repeat("tail ", 900)
	s, err := scan(t, noise(2000)+long+"\n"+noise(2000), Options{}).Select(t.Context(), "Where is needle_77?", Budget{Tokens: 1000})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Lines, func(l Line) bool { return l.No == 2001 })
	if i < 0 {
		t.Fatalf("the long line is not kept:\n%s", s.Text())
	}
	l := s.Lines[i]
	if !strings.Contains(l.Text, "needle_77") || l.Cut < 10000 || !strings.Contains(l.Text, "byte") || len(l.Text) < 400 || len(l.Text) > 1200 {
		t.Errorf("cut %d, %d bytes: %s", l.Cut, len(l.Text), l.Text)
	}
	if s.Coverage.LinesCut == 0 || s.Coverage.BytesCut < int64(l.Cut) {
		t.Errorf("coverage does not tell of the cut: %+v", s.Coverage)
	}
}

func TestRepeatsAreTold(t *testing.T) {
	t.Parallel()
	s, err := scan(t, noise(9000), Options{}).Select(t.Context(), "How is the cache doing?", Budget{Tokens: 300})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.Text(), "(×") || !strings.Contains(s.Text(), "like it, lines ") {
		t.Errorf("thousands of lines alike are not told:\n%s", s.Text())
	}
	for _, l := range s.Lines {
		if l.Count > 0 && (l.First < 1 || l.Last > 9000 || l.Last-l.First+1 < l.Count) {
			t.Errorf("×%d between %d and %d", l.Count, l.First, l.Last)
		}
	}
}

// A larger text than is kept is read again; the selection is the same.
func TestReopen(t *testing.T) {
	t.Parallel()
	text := noise(4000) + "2025-03-04 12:00:00 ERROR [db] deadlock detected by process 77\n" + noise(4000)
	opened := 0
	reopen := func() (io.ReadCloser, error) {
		opened++
		return io.NopCloser(iotest.HalfReader(strings.NewReader(text))), nil
	}
	kept, err := scan(t, text, Options{}).Select(t.Context(), "Was there a deadlock?", Budget{Tokens: 200})
	if err != nil {
		t.Fatal(err)
	}
	again, err := scan(t, text, Options{Keep: 1000, Reopen: reopen}).Select(t.Context(), "Was there a deadlock?", Budget{Tokens: 200})
	if err != nil {
		t.Fatal(err)
	}
	if kept.Text() != again.Text() || opened == 0 || !has(kept, 4001) {
		t.Errorf("kept and re-read text differ (opened %d times)\n%s\n%s", opened, kept.Text(), again.Text())
	}
	if _, err := scan(t, text, Options{Keep: 1000}).Select(t.Context(), "x", Budget{Tokens: 10}); !errors.Is(err, ErrReopen) {
		t.Errorf("no way to read again: %v", err)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad disk")
	if _, err := Scan(t.Context(), io.MultiReader(strings.NewReader(noise(10)), iotest.ErrReader(bad)), Options{}); !errors.Is(err, bad) {
		t.Errorf("a read error is lost: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Scan(ctx, strings.NewReader(noise(10)), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestAnswered(t *testing.T) {
	t.Parallel()
	text := noise(2000) + "2025-03-04 12:00:00 ERROR [printer] paper jam in tray 2\n" + "2025-03-04 12:00:01 INFO --- PASS: TestFailedLogin (0.00s)\n" + noise(2000)
	d := scan(t, text, Options{})
	for q, want := range map[string]bool{
		"Which tray has a paper jam?":               true,
		"How many ms did request 5 take?":           true,
		"Which Zeppelin landed on the roof?":        false,
		"Which GPU overheated?":                     false,
		"Which replica lost its quorum membership?": false,
	} {
		s, err := d.Select(t.Context(), q, Budget{Tokens: 300})
		if err != nil {
			t.Fatal(err)
		}
		if s.Answered != want {
			t.Errorf("%s answered=%t (%.2f, %s)", q, s.Answered, s.Confidence, s.Why)
		}
	}
	s, err := scan(t, "=== RUN TestFailedLogin\n--- PASS: TestFailedLogin (0.00s)\nok  \tx\t0.1s\n", Options{}).Select(t.Context(), "Which test failed?", Budget{Tokens: 300})
	if err != nil {
		t.Fatal(err)
	}
	if s.Answered {
		t.Error("a green run is said to hold a failure")
	}
}

func TestChunks(t *testing.T) {
	t.Parallel()
	text := noise(3000) + strings.Repeat("q", 20000) + "\nend\n"
	d := scan(t, text, Options{})
	next, folded := 1, 0
	for c, err := range d.Chunks(t.Context(), 1000) {
		if err != nil {
			t.Fatal(err)
		}
		if c.From > next || c.To < c.From {
			t.Errorf("lines %d to %d, %d was due", c.From, c.To, next)
		}
		if c.Tokens > 1000+maxPiece {
			t.Errorf("chunk of %d tokens", c.Tokens)
		}
		next, folded = c.To+1, folded+c.Folded
	}
	if next != d.Lines()+1 {
		t.Errorf("chunks end at line %d of %d", next-1, d.Lines())
	}
	if folded == 0 {
		t.Error("nothing folded among thousands of lines alike")
	}
	for c, err := range d.Chunks(t.Context(), 1000) { // a reader may stop early
		if err != nil || c.From != 1 {
			t.Errorf("first chunk from line %d: %v", c.From, err)
		}
		break
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	log := scan(t, noise(500), Options{}).BytesPerToken()
	prose := scan(t, strings.Repeat("The quick brown fox jumps over the lazy dog while nobody is looking at it. ", 90), Options{}).BytesPerToken()
	if log > 3 || log < 1.5 || prose < 3.5 || prose > 5 {
		t.Errorf("log %.1f, prose %.1f bytes a token", log, prose)
	}
}

func FuzzSelect(f *testing.F) {
	f.Add([]byte("ERROR a failed\nb took 5 ms\n"), "Which took longest?", 100)
	f.Add([]byte("\x00\xff{\"a\":1}\n\n# h\n  x"), "when did \"a\" fail on 3 May in the evening?", 7)
	f.Add([]byte("0"), "\xe0evening", 101)
	f.Add([]byte(strings.Repeat("a,b;", 3000)), "How many b-3 a@v1.2.3 first last?", 500)
	f.Fuzz(func(t *testing.T, text []byte, question string, tokens int) {
		if len(text) > 1<<16 || len(question) > 500 || tokens < 0 || tokens > 1e5 {
			return
		}
		d, err := Scan(t.Context(), bytes.NewReader(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.Select(t.Context(), question, Budget{Tokens: tokens, BytesPerToken: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Text()) > tokens {
			t.Fatalf("%d bytes for a budget of %d", len(s.Text()), tokens)
		}
		for i, l := range s.Lines {
			if l.No < 1 || l.No > d.Lines() || i > 0 && l.No <= s.Lines[i-1].No || l.Cut < 0 {
				t.Fatalf("line %+v of %d", l, d.Lines())
			}
		}
		if _, _, err := d.Count(t.Context(), question); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Support(t.Context(), question, string(text[:min(len(text), 60)])); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkScanSelect is scan and one question over 64 MiB that are not kept in memory.
func BenchmarkScanSelect(b *testing.B) {
	part := []byte(noise(200_000))
	size := 0
	open := func() io.Reader {
		var rs []io.Reader
		size = 0
		for size < 64<<20 {
			rs = append(rs, bytes.NewReader(part))
			size += len(part)
		}
		return io.MultiReader(rs...)
	}
	open()
	b.SetBytes(int64(size))
	for b.Loop() {
		d, err := Scan(b.Context(), open(), Options{Reopen: func() (io.ReadCloser, error) { return io.NopCloser(open()), nil }})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.Select(b.Context(), "Which request took longest?", Budget{Tokens: 2000}); err != nil {
			b.Fatal(err)
		}
	}
}

// One text answers several questions at once (run with -race).
func TestConcurrentQuestions(t *testing.T) {
	t.Parallel()
	d := scan(t, noise(2000)+"2025-03-04 12:00:00 ERROR [db] deadlock detected\n", Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := d.Select(t.Context(), fmt.Sprintf("Was there a deadlock %d?", i), Budget{Tokens: 200})
			if err != nil || !has(s, 2001) {
				t.Errorf("question %d: %v\n%s", i, err, s.Text())
			}
		})
	}
	wg.Wait()
}

// The same question gives the same lines every time: nothing may hang on the order of a map.
func TestSelectIsRepeatable(t *testing.T) {
	t.Parallel()
	d := scan(t, noise(6000), Options{})
	for _, q := range []string{"Which request was the slowest, and when was the first message queued?", "What went wrong?", "How many lookups hit?"} {
		first := ""
		for range 5 {
			s, err := d.Select(t.Context(), q, Budget{Tokens: 400})
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = s.Text()
			}
			if s.Text() != first {
				t.Fatalf("%s: two different selections", q)
			}
		}
	}
}
