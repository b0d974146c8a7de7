package runners_test

import (
	"testing"

	"legwork/pkg/runners"
)

// D11, K14: what a filter at the end of a pipe left out is not known; what it let
// through counts.
func TestThroughFilter(t *testing.T) {
	t.Parallel()
	const (
		noFiles = "?   \texample.com/m/cmd\t[no test files]\n"
		result  = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
		failed  = "--- FAIL: TestA (0.00s)\n    a_test.go:5: boom\nFAIL\nFAIL\texample.com/a\t0.01s\nFAIL\n"
		header  = "============================= test session starts ==============================\nplatform linux -- Python 3.11.2, pytest-7.2.1, pluggy-1.0.0\ncollected 4 items\n"
	)
	tests := []struct {
		command, out string
		exit         int
		want         runners.State
	}{
		{"go test ./... | grep -v '^ok'", noFiles, 0, runners.StateUnknown},
		{"go test ./... 2>&1 | grep -v '^ok' | tail -5", noFiles, 0, runners.StateUnknown},
		{"go test ./...", noFiles, 0, runners.StateNoTests},
		{"go list | grep x; go test ./...", noFiles, 0, runners.StateNoTests},
		{"go test ./... | tee log", noFiles, 0, runners.StateNoTests},
		{"go test ./... || grep x log", noFiles, 0, runners.StateNoTests},
		{"cargo test 2>&1 | grep 'test result'", result, 0, runners.StateUnknown},
		{"go test ./... | tail -20", failed, 0, runners.StateFailed},
		{"go test ./... 2>&1 | grep -- '--- FAIL'", "", 1, runners.StateUnknown},
		{"pytest | tail -20", "", 0, runners.StateUnknown},
		{"pytest | head -3", header, 0, runners.StateDidNotFinish}, // it was ended by the closed pipe
		{"pytest | sed -n 1,3p", header, 0, runners.StateUnknown},
		{"pytest | sed -n 1,3p", header, 137, runners.StateDidNotFinish},
	}
	for _, tt := range tests {
		r := runners.Parse([]byte(tt.out), runners.Hint{Command: tt.command, Exit: &tt.exit})
		if r.State != tt.want {
			t.Errorf("%s, exit %d: %s, want %s; notes %q", tt.command, tt.exit, r.State, tt.want, r.Notes)
		}
	}
}
