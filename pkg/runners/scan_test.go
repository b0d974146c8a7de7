package runners

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bigGo is go test -v over n tests, one of which fails in the middle.
func bigGo(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "=== RUN   TestCase%d\n", i)
		fmt.Fprintf(&b, "    case_test.go:10: checking value %d against the table of known values\n", i)
		if i == n/2 {
			b.WriteString("    case_test.go:12: got 7, want -5\n--- FAIL: TestCase" + fmt.Sprint(i) + " (0.00s)\n")
			continue
		}
		fmt.Fprintf(&b, "--- PASS: TestCase%d (0.00s)\n", i)
	}
	b.WriteString("FAIL\nFAIL\texample.com/proj/calc\t12.3s\nFAIL\n")
	return b.Bytes()
}

func TestScannerFindsTheNeedle(t *testing.T) {
	t.Parallel()
	const n = 200_000
	code := 1
	s := NewScanner(Hint{})
	data := bigGo(n)
	for part := range pieces(data, 64<<10) {
		_, _ = s.Write(part)
	}
	r := s.Result(Hint{Exit: &code})
	if r.State != StateFailed || len(r.Failures) != 1 || r.Failures[0].ID != fmt.Sprintf("TestCase%d", n/2) || r.Failures[0].Line != 12 {
		t.Fatalf("state %s, failures %+v", r.State, r.Failures)
	}
	if *r.Tests.Passed != n-1 || *r.Tests.Failed != 1 {
		t.Errorf("passed %d failed %d", *r.Tests.Passed, *r.Tests.Failed)
	}
}

// A package that passed in the middle of a huge go test -json keeps its last event.
func TestScannerKeepsPackageEnds(t *testing.T) {
	t.Parallel()
	const pkgs, tests = 30, 2000
	var b bytes.Buffer
	for p := range pkgs {
		const start = `{"Time":"2026-01-02T03:04:05Z","Action":"%s","Package":"example.com/m/p%d"`
		for i := range tests {
			for _, action := range []string{"run", "pass"} {
				fmt.Fprintf(&b, start+`,"Test":"TestCase%d"}`+"\n", action, p, i)
			}
		}
		fmt.Fprintf(&b, start+`,"Elapsed":0.1}`+"\n", "pass", p)
	}
	if b.Len() < scanWhole {
		t.Fatalf("only %d bytes", b.Len())
	}
	code := 0
	r := Parse(b.Bytes(), Hint{Exit: &code})
	if r.State != StatePassed || *r.Tests.Passed != pkgs*tests {
		t.Errorf("state %s, passed %v, notes %q", r.State, r.Tests.Passed, r.Notes)
	}
}

func pieces(b []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			k := min(n, len(b))
			if !yield(b[:k]) {
				return
			}
			b = b[k:]
		}
	}
}

func TestScannerEqualsParseBelowLimit(t *testing.T) {
	t.Parallel()
	data := bigGo(2000)
	code := 1
	s := NewScanner(Hint{})
	for part := range pieces(data, 1000) {
		_, _ = s.Write(part)
	}
	if d := cmp.Diff(Parse(data, Hint{Exit: &code}), s.Result(Hint{Exit: &code})); d != "" {
		t.Error(d)
	}
}

func BenchmarkScanner(b *testing.B) {
	data := bigGo(600_000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s := NewScanner(Hint{})
		for part := range pieces(data, 64<<10) {
			_, _ = s.Write(part)
		}
		s.Result(Hint{})
	}
}

func BenchmarkParse8MB(b *testing.B) {
	data := bigGo(70_000)[:7<<20]
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Parse(data, Hint{})
	}
}

func BenchmarkParsePlainLog(b *testing.B) {
	data := []byte(strings.Repeat("2026-11-29 12:00:00 INFO worker 12 handled request /api/v1/items in 13 ms, status ok\n", 80_000))[:6<<20]
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Parse(data, Hint{})
	}
}

// A log that goes on after a crash was not written by what died: nothing is said
// of its end. A short text, or one with a command, is a run.
func TestLogGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	crash := "Out of memory: Killed process 4211 (java) total-vm:9120044kB\n"
	lines := strings.Repeat("kernel: wlp3s0: associated\n", 60)
	exit := 1
	for _, tt := range []struct {
		name, text string
		hint       Hint
		want       State
	}{
		{"log", crash + lines, Hint{}, StateUnknown},
		{"end of a log", lines + crash, Hint{}, StateDidNotFinish},
		{"command", crash + lines, Hint{Command: "./serve", Exit: &exit}, StateDidNotFinish},
		{"python", "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\nValueError: x\n" + lines, Hint{}, StateUnknown},
	} {
		if got := Parse([]byte(tt.text), tt.hint); got.State != tt.want {
			t.Errorf("%s: %s", tt.name, got.State)
		}
	}
}
