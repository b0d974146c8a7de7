package runners_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"strings"
	"testing"

	"legwork/pkg/bench"
	"legwork/pkg/runners"

	"github.com/google/go-cmp/cmp"
)

var (
	corpusDir  = flag.String("corpus", "", "folder of recorded runs to score instead of the packed ones")
	corpusCmd  = flag.Bool("command", false, "give the command too")
	corpusOnly = flag.String("only", "", "score records with this prefix")
)

// corpus opens testdata/corpus.zip (real output with hand-written truth).
func corpus(t testing.TB) fs.FS {
	t.Helper()
	if *corpusDir != "" {
		return os.DirFS(*corpusDir)
	}
	z, err := zip.OpenReader("testdata/corpus.zip")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = z.Close() })
	return z
}

// The whole corpus of recorded runs: rows D11, D12, E01–E17, K01–K04, K07, K08, K14.
func TestCorpus(t *testing.T) {
	t.Parallel()
	rep, err := bench.ScoreRunnersWith(corpus(t), bench.Options{Only: *corpusOnly, WithCommand: *corpusCmd || *corpusDir == ""})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := rep.Table(&b, true); err != nil {
		t.Fatal(err)
	}
	t.Log(b.String())
	if *corpusDir == "" && !rep.Ok() {
		t.Error("below the bar: every state right, 98 % of counts and ids, no false pass")
	}
}

// record is what the tests below need of NAME.json.
type record struct {
	name string
	out  []byte
	exit int
}

func records(t *testing.T) []record {
	t.Helper()
	fsys := corpus(t)
	names, err := fs.Glob(fsys, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []record
	for _, n := range names {
		raw, err := fs.ReadFile(fsys, n)
		if err != nil {
			t.Fatal(err)
		}
		var meta struct {
			Exit int `json:"exit_code"`
		}
		if err := json.Unmarshal(raw, &meta); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(n, ".json")
		out, err := fs.ReadFile(fsys, name+".out")
		if err != nil {
			continue // packed in a folder given by hand
		}
		all = append(all, record{name, out, meta.Exit})
	}
	return all
}

// D11, D12, K01: nothing over a non-zero exit reads as passed, wherever the text
// is cut.
func TestNonZeroIsNeverPassed(t *testing.T) {
	t.Parallel()
	for _, r := range records(t) {
		for _, cut := range []int{1, 2, 5} {
			for _, part := range [][]byte{r.out[:len(r.out)/cut], r.out[len(r.out)-len(r.out)/cut:]} {
				code := max(r.exit, 1)
				if got := runners.Parse(part, runners.Hint{Exit: &code}); got.State == runners.StatePassed {
					t.Errorf("%s cut to 1/%d: passed over exit %d", r.name, cut, code)
				}
			}
		}
	}
}

// E10 and kin: what is done to every line on the way (CRLF, a service's name, a
// time stamp) does not change what is read.
func TestSameThroughPipes(t *testing.T) {
	t.Parallel()
	ways := map[string]func(string) string{
		"crlf":    func(l string) string { return l + "\r" },
		"compose": func(l string) string { return "app-1  | " + l },
		"stamp":   func(l string) string { return "2026-01-02T03:04:05.1234567Z " + l },
		"clock":   func(l string) string { return "[03:04:05] " + l },
	}
	for _, r := range records(t) {
		if bytes.ContainsAny(r.out, "\r\x1b") || strings.Contains(r.name, "prefixed") || bytes.Count(r.out, []byte("\n")) < 4 {
			continue
		}
		code := r.exit
		want := runners.Parse(r.out, runners.Hint{Exit: &code})
		for way, f := range ways {
			lines := strings.Split(strings.TrimSuffix(string(r.out), "\n"), "\n")
			for i := range lines {
				lines[i] = f(lines[i])
			}
			got := runners.Parse([]byte(strings.Join(lines, "\n")+"\n"), runners.Hint{Exit: &code})
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s through %s:\n%s", r.name, way, d)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"TAP version 13\nnot ok 1 - a # TODO b\n  ---\n  at: 'x.js:1:2'\n  ...\n1..1\n",
		"✖ a (1.2ms)\n  'b'\nℹ tests 1\nℹ fail 1\n\n✖ failing tests:\n\ntest at a.js:1:2\n✖ a (1.2ms)\n  'b'\n",
		"FAIL a.test.js\n  ● s › t\n\n    no\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\n",
		" RUN  v4\n\n FAIL  a.test.ts > b\nError: c\n ❯ a.ts:1:2\n⎯⎯⎯[1/1]⎯\n\n Test Files  1 failed (1)\n      Tests  1 failed (1)\n",
		"=== FAILURES ===\n___ test_a[1 - 2] ___\nE  x\n\na.py:1: E\n=== short test summary info ===\nFAILED a.py::test_a[1 - 2] - x\n=== 1 failed in 0.1s ===\n",
		"=== RUN   TestA\n    a_test.go:1: x\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tp\t0.1s\n",
		"{\"Time\":\"x\",\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"T\"}\n",
		"running 1 test\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\nthread 'a' panicked at a.rs:1:2:\nx\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n",
		"======================================================================\nFAIL: t (m.C.t)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"a.py\", line 1, in t\nE: x\n\n----------------------------------------------------------------------\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n",
		"  1 passing (1ms)\n  1 failing\n\n  1) a\n       b:\n     Error: x\n      at f (a.js:1:2)\n",
		"<testsuites><testsuite name=\"a\"><testcase name=\"b\"><failure>x</failure></testcase></testsuite></testsuites>",
		"(fail) a > b [1ms]\n 1 fail\nRan 1 tests across 1 files.\n", "app-1  | 1..0\napp-1  | x\napp-1  | y\n",
	} {
		f.Add([]byte(s), 1)
		f.Add([]byte(s), 0)
	}
	f.Fuzz(func(t *testing.T, text []byte, code int) {
		r := runners.Parse(text, runners.Hint{Exit: &code})
		if code != 0 && r.State == runners.StatePassed {
			t.Errorf("passed over exit %d", code)
		}
		if r.Failures == nil || r.BuildErrors == nil {
			t.Error("lists must not be nil")
		}
	})
}
