package runners_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"legwork/pkg/runners"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write testdata/tools.golden anew")

// fixture is one recorded output of testdata/tools.txtar.
type fixture struct {
	name string
	exit int
	out  []byte
}

func fixtures(tb testing.TB) []fixture {
	tb.Helper()
	a, err := txtar.ParseFile("testdata/tools.txtar")
	if err != nil {
		tb.Fatal(err)
	}
	var all []fixture
	for _, f := range a.Files {
		w := strings.Fields(f.Name)
		exit, err := strconv.Atoi(strings.TrimPrefix(w[len(w)-1], "exit="))
		if err != nil {
			tb.Fatalf("%s: %v", f.Name, err)
		}
		out := f.Data
		if len(w) == 3 { // "noeol": the program stopped inside a line
			out = bytes.TrimSuffix(out, []byte("\n"))
		}
		all = append(all, fixture{w[0], exit, out})
	}
	return all
}

func count(p *int) string {
	if p == nil {
		return "-"
	}
	return strconv.Itoa(*p)
}

// render is a result in lines that a reader can check against the output.
func render(r runners.Result) string {
	var b strings.Builder
	t := r.Tests
	fmt.Fprintf(&b, "%s by %q passed %s failed %s skipped %s todo %s errors %s\n", r.State, r.Runner, count(t.Passed), count(t.Failed), count(t.Skipped), count(t.Todo), count(t.Errors))
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "failure %q %s:%d %q\n", f.ID, f.File, f.Line, f.Message)
	}
	for _, s := range r.Suites {
		fmt.Fprintf(&b, "suite %s %q %s:%d %q\n", s.Kind, s.Name, s.File, s.Line, s.Message)
	}
	for _, e := range r.BuildErrors {
		fmt.Fprintf(&b, "build %s:%d:%d %q\n", e.File, e.Line, e.Col, e.Message)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note %s\n", n)
	}
	return b.String()
}

// Rows D11, E03, E07, E08, E14, K01–K04, K07, K08, K14: each recorded output is
// read as the golden file says.
func TestTools(t *testing.T) {
	t.Parallel()
	got := &txtar.Archive{}
	for _, f := range fixtures(t) {
		r := runners.Parse(f.out, runners.Hint{Exit: &f.exit, Dir: "/proj"})
		got.Files = append(got.Files, txtar.File{Name: f.name, Data: []byte(render(r))})
	}
	if *update {
		if err := os.WriteFile("testdata/tools.golden", txtar.Format(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := txtar.ParseFile("testdata/tools.golden")
	if err != nil {
		t.Fatal(err)
	}
	golden := map[string]string{}
	for _, f := range want.Files {
		golden[f.Name] = string(f.Data)
	}
	for _, f := range got.Files {
		if d := cmp.Diff(golden[f.Name], string(f.Data)); d != "" {
			t.Errorf("%s:\n%s", f.Name, d)
		}
		delete(golden, f.Name)
	}
	for name := range golden {
		t.Errorf("%s: in the golden file only", name)
	}
}

// D11, D12, K01: over a non-zero exit nothing reads as passed, whole or cut.
func TestToolsNonZeroIsNeverPassed(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures(t) {
		code := max(f.exit, 1)
		for _, n := range []int{len(f.out), len(f.out) / 2, len(f.out) / 3} {
			if r := runners.Parse(f.out[:n], runners.Hint{Exit: &code}); r.State == runners.StatePassed {
				t.Errorf("%s, first %d bytes: passed over exit code %d", f.name, n, code)
			}
		}
	}
}

func FuzzTools(f *testing.F) {
	for _, x := range fixtures(f) {
		f.Add(x.out, x.exit)
	}
	f.Fuzz(func(t *testing.T, out []byte, exit int) {
		r := runners.Parse(out, runners.Hint{Exit: &exit})
		if exit != 0 && r.State == runners.StatePassed {
			t.Errorf("passed over exit code %d", exit)
		}
		for _, x := range r.Failures {
			if len(x.Message) > len(out)+8000 {
				t.Errorf("message of %d bytes from %d", len(x.Message), len(out))
			}
		}
	})
}

// Lines of a service's log that no parser knows, and everything at once.
func BenchmarkParse(b *testing.B) {
	const line = "2026-01-01 12:00:00 INFO  server: request 12345 from 10.0.0.1 took 12ms status=200 path=/api/v1/items?x=1\n"
	var mixed bytes.Buffer
	for _, f := range fixtures(b) {
		mixed.Write(f.out)
	}
	one := 1
	for name, text := range map[string][]byte{"log": bytes.Repeat([]byte(line), 60000), "mixed": mixed.Bytes()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				runners.Parse(text, runners.Hint{Exit: &one})
			}
		})
	}
}

// K14: an answer by exit code is no crash, a tool's own error is no "0 matches",
// and silence proves nothing.
func TestSilentRuns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		command, out string
		exit         int
		want         runners.State
	}{
		{"grep -rn nosuch src", "", 1, runners.StateUnknown},
		{"git diff --quiet", "", 1, runners.StateUnknown},
		{"grep '[' a.txt", "grep: Unmatched [, [^, [:, [., or [=\n", 2, runners.StateDidNotFinish},
		{"./run-tests", "", 1, runners.StateDidNotFinish},
		{"./run-tests", "", 0, runners.StateNoTests},
		{"grep x a | sort", "", 1, runners.StateDidNotFinish},
		{"go vet ./... && npx tsc --noEmit", "", 0, runners.StatePassed},
		{"go vet ./... && ./run-tests", "", 0, runners.StateNoTests},
		{"go test ./...", "", 0, runners.StateNoTests},
	}
	for _, tt := range tests {
		r := runners.Parse([]byte(tt.out), runners.Hint{Command: tt.command, Exit: &tt.exit})
		if r.State != tt.want {
			t.Errorf("%s: %s, want %s; notes %q", tt.command, r.State, tt.want, r.Notes)
		}
	}
}
