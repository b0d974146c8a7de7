package ledger

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sample(i int) Run {
	return Run{
		TS:   time.Date(2026, 3, 1, 12, 0, 0, 123e6, time.UTC).Add(time.Duration(i) * time.Second),
		Tool: "offload", Model: "qwen3-coder:30b-a3b-q4_K_M", Endpoint: "workstation", OK: true, Outcome: Done, Attempts: 1,
		InTok: 19132, OutTok: 195, CachedTok: 18000, ClaudeTokIn: 130, ClaudeTokOut: 40, BaseTok: 7400, RawBytes: 50000, MS: 57909,
		Job: fmt.Sprintf("j%06d", i), Project: "/home/me/src/project", Session: "5f0c", Rule: "go-test",
	}
}

func readAll(t *testing.T, l *Ledger, since time.Time) ([]Run, Counts) {
	t.Helper()
	var runs []Run
	c, err := l.Read(since, func(r *Run) bool { runs = append(runs, *r); return true })
	if err != nil {
		t.Fatal(err)
	}
	return runs, c
}

func TestAppendAndRead(t *testing.T) {
	t.Parallel()
	l := New(filepath.Join(t.TempDir(), "state"))
	if runs, c := readAll(t, l, time.Time{}); len(runs) != 0 || c != (Counts{}) {
		t.Errorf("a ledger that does not exist: %v %v", runs, c)
	}
	odd := Run{Tool: "delegate", Model: "näme \"quoted\" \\ \n \u2028 <b>", Outcome: Transport, TS: sample(1).TS}
	want := []Run{sample(0), odd, {Tool: "research", Outcome: Refused, TS: sample(2).TS}}
	for _, r := range want {
		if err := l.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	got, c := readAll(t, l, time.Time{})
	if diff := cmp.Diff(want, got); diff != "" || c != (Counts{Lines: 3, Files: 1}) {
		t.Errorf("%v\n%s", c, diff)
	}
	if got, _ := readAll(t, l, sample(1).TS); len(got) != 2 {
		t.Errorf("since: %d runs", len(got))
	}
	if err := l.Append(t.Context(), Run{Tool: "offload"}); err != nil {
		t.Fatal(err)
	}
	n := 0
	if _, err := l.Read(time.Time{}, func(*Run) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("stopping: %d %v", n, err)
	}
	got, _ = readAll(t, l, time.Time{})
	if age := time.Since(got[3].TS); age < 0 || age > time.Hour {
		t.Errorf("no time of its own: %v", got[3].TS)
	}
}

// Whatever is between good lines is counted and passed over.
func TestDamagedLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, err := json.Marshal(sample(0))
	if err != nil {
		t.Fatal(err)
	}
	bad := []string{
		`{"ts":"2026-03-01T12:00:00Z","tool":"off`, `{"tool":"offload"}`, `{"ts":"yesterday","tool":"x"}`, `{"ts":"2026-03-01T12:00:00Z"}`,
		`not json`, `[]`, `{}`, `null`, "\x00\x00\x00", string(good) + string(good), string(good[:len(good)-1]), `{"ts":"2026-03-01T12:00:00Z","tool":5}`,
		`{"ts":"2026-03-01T12:00:00Z","tool":"x","in_tok":1.5}`, `{"ts":"2026-03-01T12:00:00Z","tool":"x","in_tok":99999999999999999999}`,
		`{"ts":"2026-03-01T12:00:00Z","tool":"x","new":{"a":[}}`, `{"ts":"2026-03-01T12:00:00Z","tool":"x","new":}`,
		`{"ts":"2026-03-01T12:00:00Z","tool":"x","ok":1}`, strings.Repeat("x", 3*maxLine),
	}
	text := string(good) + "\n" + strings.Join(bad, "\n"+string(good)+"\n") + "\n\n  \n" + string(good) + "\r\n" + string(good[:20])
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(dir)
	if _, c := readAll(t, l, time.Time{}); c.Lines != len(bad)+1 || c.Damaged != len(bad) {
		t.Errorf("%+v, want %d good and %d damaged", c, len(bad)+1, len(bad))
	}
	// The torn end of a dead process costs itself only.
	if err := l.Append(t.Context(), sample(1)); err != nil {
		t.Fatal(err)
	}
	if _, c := readAll(t, l, time.Time{}); c.Lines != len(bad)+2 || c.Damaged != len(bad)+1 {
		t.Errorf("after the next line: %+v", c)
	}
}

func TestUnknownFieldsAreSkipped(t *testing.T) {
	t.Parallel()
	line := `{ "a" : {"x":["}",{"y":null}]}, "ts":"2026-03-01T12:00:00+01:00" ,"b":[1,-2.5e3],"tool":"t\u00e4","c":"x\"y","d":null,"e":true,"f":1.5}`
	var run Run
	if !newDecoder().decode([]byte(line), &run) || run.Tool != "tä" || run.TS.UTC().Hour() != 11 {
		t.Errorf("%+v", run)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	l := New(t.TempDir())
	l.maxSize = 2000
	const n = 100
	for i := range n {
		if err := l.Append(t.Context(), sample(i)); err != nil {
			t.Fatal(err)
		}
	}
	runs, c := readAll(t, l, time.Time{})
	if c.Files != Keep+1 || c.Damaged != 0 || runs[len(runs)-1].Job != sample(n-1).Job {
		t.Errorf("%+v", c)
	}
	for i := 1; i < len(runs); i++ {
		if !runs[i].TS.Equal(runs[i-1].TS.Add(time.Second)) {
			t.Fatalf("out of order or lost at %d: %v %v", i, runs[i-1].TS, runs[i].TS)
		}
	}
	if _, err := os.Stat(older(l.dir, Keep+1)); err == nil {
		t.Error("the oldest part was kept")
	}
}

// A hundred processes, each with ten writers: every line is whole and none is lost.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const procs, each = 100, 10
	var wg sync.WaitGroup
	for range procs {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWriterProcess$")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), fmt.Sprintf("LEDGER_TEST_LINES=%d", each))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	if _, c := readAll(t, New(dir), time.Time{}); c.Lines != procs*each || c.Damaged != 0 {
		t.Errorf("%+v", c)
	}
}

// TestWriterProcess is the body of the processes that TestManyProcesses starts.
func TestWriterProcess(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("LEDGER_TEST_LINES"))
	if err != nil {
		t.Skip("only of use when started by TestManyProcesses")
	}
	l := New(".")
	l.maxSize = 60_000 // rotated on the way, and nothing falls out
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := l.Append(t.Context(), sample(i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// The hand-written decoder and encoding/json agree on every line that it accepts.
func FuzzDecode(f *testing.F) {
	good, err := json.Marshal(sample(0))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"ts":"2026-03-01T12:00:00Z","tool":"x","new":{"a":[1,{"b":"}"}]},"ok":true}`))
	f.Add([]byte(`{"ts":"2026-03-01T12:00:00,5Z","tool":"x","new":0""}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var got, want Run
		if !newDecoder().decode(line, &got) {
			return
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("accepted %q, encoding/json does not: %v", line, err)
		}
		if !got.TS.Equal(want.TS) {
			t.Fatalf("%q: %v, want %v", line, got.TS, want.TS)
		}
		got.TS, want.TS = time.Time{}, time.Time{}
		// encoding/json matches names without regard to case and replaces bad UTF-8; what we write has neither.
		if string(line) == strings.ToLower(string(line)) && strings.ToValidUTF8(string(line), "") == string(line) && !strings.Contains(string(line), `\u`) && got != want {
			t.Fatalf("%q:\n%+v\n%+v", line, got, want)
		}
	})
}

// million writes a ledger of a million lines into a new directory.
func million(b *testing.B) *Ledger {
	b.Helper()
	dir := b.TempDir()
	f, err := os.Create(filepath.Join(dir, fileName))
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1_000_000 {
		line, err := json.Marshal(sample(i))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return New(dir)
}

// ns/op is the time for a million lines.
func BenchmarkRead(b *testing.B) {
	l := million(b)
	b.ReportAllocs()
	for b.Loop() {
		var sum int64
		if _, err := l.Read(time.Time{}, func(r *Run) bool { sum += r.InTok; return true }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStats(b *testing.B) {
	l := million(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Stats(Query{Weights: DefaultWeights(), Loc: time.UTC, Searched: func(string) bool { return false }}); err != nil {
			b.Fatal(err)
		}
	}
}
