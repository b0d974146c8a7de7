package runners

import (
	"slices"
	"testing"
)

// D11: what stands beside a summary counts more than the summary.
func TestSettleNet(t *testing.T) {
	t.Parallel()
	zero := 0
	text := newText("x\n", Hint{Exit: &zero})
	passed := func(f finding) finding { f.State, f.Runner = StatePassed, "x"; return f }
	for name, f := range map[string]finding{
		"failure": passed(finding{Result: Result{Failures: []Failure{{ID: "a"}}}}),
		"suite":   passed(finding{Result: Result{Suites: []SuiteFailure{{Kind: SuiteHook}}}}),
	} {
		if r := settle(text, f); r.State != StateFailed || len(r.Notes) == 0 {
			t.Errorf("%s beside passed: %s, notes %q", name, r.State, r.Notes)
		}
	}
	counted := finding{Result: Result{Failures: []Failure{{ID: "a"}}, Tests: Counts{Passed: new(4), Failed: new(0)}}}
	if r := settle(text, passed(counted)); r.Tests.Passed != nil || r.Tests.Failed != nil {
		t.Errorf("counts that leave a failure out are kept: %+v", r.Tests)
	}
	rerun := finding{Result: Result{State: StateFailed, Runner: "x", Failures: []Failure{{ID: "a"}}}, forgiven: true}
	if r := settle(text, rerun); r.State != StatePassed {
		t.Errorf("failures made good: %s", r.State)
	}
	other := finding{Result: Result{State: StateFailed, Runner: "y", Failures: []Failure{{ID: "b"}}}}
	if r := settle(text, join(rerun, other)); r.State != StateFailed {
		t.Errorf("failures made good beside others: %s", r.State)
	}
	if r := settle(text, join(rerun, passed(finding{}))); r.State != StatePassed {
		t.Errorf("failures made good beside passed: %s", r.State)
	}
}

// K04: each package that failed is named, also where all say the same.
func TestLinesSuites(t *testing.T) {
	t.Parallel()
	r := Parse([]byte("DATABASE_URL not set\nFAIL\tm/a\t0.003s\nDATABASE_URL not set\nFAIL\tm/b\t0.003s\nDATABASE_URL not set\nFAIL\tm/c\t0.003s\nFAIL\n"), Hint{})
	want := []string{"go-test: FAILED", "✗ hook m/a: DATABASE_URL not set", "✗ hook m/b: DATABASE_URL not set", "✗ hook m/c"}
	if got := r.Lines(Render{IDs: 5, Messages: 2}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	want = append(want[:3:3], "… and 1 more suites")
	if got := r.Lines(Render{IDs: 2, Messages: 2}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
