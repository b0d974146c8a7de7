package offload

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func readAll(t *testing.T, c *captured) string {
	t.Helper()
	r, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCaptureKeepsAllBelowTheCap(t *testing.T) {
	t.Parallel()
	s := Store{Dir: filepath.Join(t.TempDir(), "raw"), Max: 1000}
	id, c := s.create()
	for _, part := range []string{"first\n", strings.Repeat("x", 500), "\nlast\n"} {
		_, _ = c.Write([]byte(part))
	}
	out := c.finish()
	if got := readAll(t, out); !strings.HasPrefix(got, "first\n") || !strings.HasSuffix(got, "\nlast\n") || len(got) != 512 {
		t.Errorf("kept %d bytes: %.20q…", len(got), got)
	}
	st, err := os.Stat(out.path)
	if err != nil || (st.Mode().Perm() != 0o600 && os.PathSeparator == '/') {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if out.omitted != 0 || out.problem != "" || !idForm.MatchString(id) {
		t.Errorf("omitted %d, problem %q, id %q", out.omitted, out.problem, id)
	}
}

// D04, D05: over the cap the end is kept too, and the gap is stated in bytes.
func TestCaptureOverTheCap(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir(), Max: 1 << 20}
	_, c := s.create()
	line := []byte(strings.Repeat("y", 99) + "\n")
	for range 100_000 { // 10 MB
		_, _ = c.Write(line)
	}
	_, _ = c.Write([]byte("the last line\n"))
	out := c.finish()
	got := readAll(t, out)
	if !strings.HasSuffix(got, "the last line\n") {
		t.Error("the last line is not kept")
	}
	if out.bytes != 10_000_014 || out.omitted == 0 {
		t.Errorf("bytes %d, omitted %d", out.bytes, out.omitted)
	}
	marker := got[strings.Index(got, "\n[… "):]
	marker = marker[:strings.Index(marker, "…]\n")+len("…]\n")]
	if int64(len(got)-len(marker))+out.omitted != out.bytes {
		t.Errorf("%d kept + %d omitted is not %d", len(got)-len(marker), out.omitted, out.bytes)
	}
}

// A store that cannot be written (here: its folder is a file) loses nothing of a normal output.
func TestCaptureWithoutDisk(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "raw")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	id, c := Store{Dir: file, Max: 1 << 20}.create()
	big := bytes.Repeat([]byte("z\n"), tailKeep) // 8 MiB: head and tail
	_, _ = c.Write([]byte("head\n"))
	_, _ = c.Write(big)
	_, _ = c.Write([]byte("tail\n"))
	out := c.finish()
	got := readAll(t, out)
	if id != "" || out.problem == "" || out.path != "" {
		t.Errorf("id %q, problem %q, path %q", id, out.problem, out.path)
	}
	if !strings.HasPrefix(got, "head\n") || !strings.HasSuffix(got, "tail\n") || out.omitted == 0 {
		t.Errorf("%d bytes, omitted %d", len(got), out.omitted)
	}
}

// A disk that fills up in the middle: what it took is read back, the rest is kept in memory.
func TestCaptureDiskFillsUp(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir(), Max: 1 << 20}
	_, c := s.create()
	_, _ = c.Write([]byte("before\n"))
	ro, err := os.Open(c.file.Name()) // a handle that refuses writes, as a full disk does
	if err != nil {
		t.Fatal(err)
	}
	c.file.Close()
	c.file = ro
	_, _ = c.Write([]byte("after\n"))
	_, _ = c.Write([]byte("end\n"))
	out := c.finish()
	if got := readAll(t, out); got != "before\nafter\nend\n" {
		t.Errorf("got %q", got)
	}
	if out.problem == "" {
		t.Error("the problem is not told")
	}
}

func TestStoreSweep(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir(), Max: 250, Age: time.Hour}
	keep := func(id string, size int, age time.Duration, finished bool) {
		t.Helper()
		if err := os.WriteFile(s.path(id), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(s.path(id), when, when); err != nil {
			t.Fatal(err)
		}
		if finished {
			if err := s.record(Entry{ID: id, Started: when}); err != nil {
				t.Fatal(err)
			}
		}
	}
	keep("raaaaaaa", 10, 2*time.Hour, true)     // too old
	keep("rbbbbbbb", 100, 30*time.Minute, true) // the oldest of too much
	keep("rccccccc", 100, 20*time.Minute, true)
	keep("rddddddd", 100, 10*time.Minute, true)
	keep("reeeeeee", 10, 2*time.Hour, false) // somebody still writes to it
	if err := os.WriteFile(filepath.Join(s.Dir, "notes.txt"), []byte("the user's"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.sweep(time.Now())
	for id, want := range map[string]bool{"raaaaaaa": false, "rbbbbbbb": false, "rccccccc": true, "rddddddd": true, "reeeeeee": true} {
		if _, err := os.Stat(s.path(id)); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", id, err == nil, want)
		}
	}
	if n, _ := s.Remove(""); n != 3 {
		t.Errorf("removed %d", n)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "notes.txt")); err != nil {
		t.Error("a file that is not ours was removed")
	}
}

func TestRing(t *testing.T) {
	t.Parallel()
	for _, chunk := range []int{1, 3, 7, 100} {
		r := ring{max: 10}
		text := "abcdefghijklmnopqrstuvwxyz"
		for s := text; s != ""; {
			n := min(chunk, len(s))
			r.Write([]byte(s[:n]))
			s = s[n:]
		}
		if got := string(r.bytes()); got != "qrstuvwxyz" || r.total != 26 {
			t.Errorf("chunks of %d: %q, total %d", chunk, got, r.total)
		}
	}
}
