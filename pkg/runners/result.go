// Package runners reads what test runners, compilers, linters and crashing
// programs print, without a model, and says it in one form: a Result.
//
// Rules: the exit code or signal comes first, the text second; nothing over a
// non-zero exit ever reads as passed; a text no parser knows is StateUnknown,
// which is not zero tests and not success. Every runner is one entry of the
// table in table.go and one file; what all of them share is in text.go (lines),
// help.go (frames, messages) and settle.go (how exit code and text combine).
//
// Pitfall: tested code prints too. A line that looks like a verdict ("2 passed",
// "--- FAIL: X") counts only where the runner's own grammar puts it, so anchor
// patterns, and believe the last summary rather than the first.
package runners

// State is what became of a run. When several apply the order of stateRank
// decides: did not finish > build failed > failed > no tests > passed.
type State string

// The states. StateUnknown means that no parser recognised the text (or that
// it says nothing either way); it is never a success.
const (
	StatePassed       State = "passed"
	StateFailed       State = "failed"
	StateNoTests      State = "no_tests"
	StateDidNotFinish State = "did_not_finish"
	StateBuildFailed  State = "build_failed"
	StateUnknown      State = "unknown"
)

// Counts holds numbers of tests as the runner counts them; nil means that the
// output does not say, which is different from 0.
type Counts struct {
	Passed  *int `json:"passed"`
	Failed  *int `json:"failed"`
	Skipped *int `json:"skipped"`
	Todo    *int `json:"todo"`
	Errors  *int `json:"errors"`
}

// Failure is one failed test (or, with an empty ID, a failure outside any test,
// such as a stack trace).
type Failure struct {
	// ID is the full name that can be run again: nested names joined with " > "
	// for JavaScript runners, else as the runner prints it. Never shortened.
	ID string `json:"id"`
	// File is the path as printed (relative to Hint.Dir where that is known), ""
	// if the output does not say.
	File string `json:"file,omitempty"`
	// Line is the failing assertion or the innermost frame inside the project,
	// counted from 1; 0 if the output does not say.
	Line int `json:"line,omitempty"`
	// Message is the essential text: what was expected and what came, the panic,
	// the error; foreign frames and test source are dropped. May span lines.
	Message string `json:"message,omitempty"`
}

// SuiteFailure is a failure above the single test: a file that does not load, a
// failing before-all hook, a coverage threshold, an uncaught error outside tests.
type SuiteFailure struct {
	// Kind is one of the Suite… constants.
	Kind string `json:"kind"`
	// Name is the file, suite or package it happened in, "" if unknown.
	Name    string `json:"name,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message,omitempty"`
}

// Kinds of SuiteFailure.
const (
	SuiteLoad      = "load"      // a test file or package did not load, collect or compile
	SuiteHook      = "hook"      // before-all/after-all, TestMain, a fixture of a whole suite
	SuiteThreshold = "threshold" // coverage or another limit, obsolete snapshots, fail-on-warnings
	SuiteUncaught  = "uncaught"  // an error outside any test
	SuiteCrash     = "crash"     // the process of a suite died
)

// BuildError is one message of a compiler, linter, loader or build tool.
type BuildError struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // from 1; 0 if not shown
	Col     int    `json:"col,omitempty"`  // from 1; 0 if not shown
	Message string `json:"message"`
}

// Evidence is what a side channel (an end marker, a per-test report) says about
// a run that we started ourselves. It beats the text. Nil: no channel was used.
type Evidence struct {
	// Channel names the side channels that spoke ("pytest", "node+pytest").
	Channel string `json:"channel"`
	// Started says that a runner began and its channel works; without it the
	// rest is empty and proves nothing.
	Started bool `json:"started"`
	// Finished says that every runner that started wrote its end marker.
	Finished bool `json:"finished"`
	// Planned is how many tests the runner set out to run, nil if not told.
	Planned *int `json:"planned,omitempty"`
	// Passed, Failed and Skipped are the ids reported; all nil if the channel
	// names no tests (go test without -v).
	Passed  []string `json:"passed,omitempty"`
	Failed  []string `json:"failed,omitempty"`
	Skipped []string `json:"skipped,omitempty"`
	// Empty are test files or binaries that ran no test.
	Empty []string `json:"empty,omitempty"`
	// Lost are test binaries that ended before their tests did.
	Lost []string `json:"lost,omitempty"`
	// Exits say which code of the project ended the process ("exit(0) from src/math.js:1:9").
	Exits []string `json:"exits,omitempty"`
}

// Result is what a run's output says.
type Result struct {
	State State `json:"state"`
	// Runner is the name of the parser that read the text, several joined with
	// "+", or "" when none recognised it.
	Runner string `json:"runner"`
	Tests  Counts `json:"tests"`
	// Failures are the failed tests in order of appearance, each once.
	Failures []Failure `json:"failures"`
	// Suites are failures above the single test.
	Suites []SuiteFailure `json:"suites,omitempty"`
	// BuildErrors are messages of compilers, linters and loaders.
	BuildErrors []BuildError `json:"build_errors"`
	// Notes tell what a reader must know: a disagreement of exit code and text,
	// a lost exit code, text that was cut.
	Notes []string `json:"notes,omitempty"`
	// Extra are further counts by the runner's own word (xfailed, reruns, warnings).
	Extra map[string]int `json:"extra,omitempty"`
	// Evidence is set when a side channel was attached.
	Evidence *Evidence `json:"evidence,omitempty"`
}

// Hint is what is known about the run besides its text. The zero value knows
// nothing (a log file of unknown origin).
type Hint struct {
	// Command is the shell command that ran, "" if unknown.
	Command string
	// Exit is the exit code as the shell saw it, nil if unknown.
	Exit *int
	// Signal is the name of the signal that ended the process ("SIGKILL"), "" for none.
	Signal string
	// TimedOut says that a time limit of ours ended the run.
	TimedOut bool
	// Dir is the working directory of the run; paths below it are made relative.
	Dir string
	// Truncated says that the text is known to be incomplete.
	Truncated bool
}
