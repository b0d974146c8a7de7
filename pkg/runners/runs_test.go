package runners_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"legwork/pkg/runners"

	"github.com/rogpeppe/go-internal/txtar"
)

// D11, E10, E14: outputs that hold more than one run. Each file's name says how it
// is read: NAME EXIT STATE PASSED FAILED, then the id of the first failure.
func TestSeveralRuns(t *testing.T) {
	t.Parallel()
	a, err := txtar.ParseFile("testdata/runs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		w := strings.SplitN(f.Name, " ", 6)
		if len(w) < 5 {
			t.Fatalf("%s: want five words", f.Name)
		}
		var h runners.Hint
		if code, err := strconv.Atoi(w[1]); err == nil {
			h.Exit = &code
		}
		r := runners.Parse(f.Data, h)
		got := fmt.Sprintf("%s %s %s", r.State, count(r.Tests.Passed), count(r.Tests.Failed))
		if want := strings.Join(w[2:5], " "); got != want {
			t.Errorf("%s, exit %s: %s, want %s; notes %q", w[0], w[1], got, want, r.Notes)
		}
		if len(w) == 6 && (len(r.Failures) == 0 || r.Failures[0].ID != w[5]) {
			t.Errorf("%s: failures %+v, want %q first", w[0], r.Failures, w[5])
		}
	}
}
