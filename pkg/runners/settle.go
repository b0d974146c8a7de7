package runners

import (
	"fmt"
	"strings"
)

// settle lets the exit code have its say over what the text says.
func settle(t *Text, f finding) Result {
	r := f.Result
	if r.State == "" {
		r.State = StateUnknown
	}
	r.Failures = once(r.Failures)
	if r.BuildErrors == nil {
		r.BuildErrors = []BuildError{}
	}
	if r.Runner == "" && r.State == StateUnknown && t.ExitBad() && strings.TrimSpace(t.whole) == "" {
		r.State = StateDidNotFinish
		r.Notes = append(r.Notes, "no output at all: nothing shows that anything ran")
	}
	if r.State == StatePassed && len(r.Failures)+len(r.Suites) > 0 && !f.forgiven {
		r.State = StateFailed
		r.Notes = append(r.Notes, "the summary reads as passed, but failures stand beside it")
		if len(r.Failures) > 0 && val(r.Tests.Failed)+val(r.Tests.Errors) == 0 {
			r.Tests = Counts{} // they leave those out
		}
	}
	how := ended(t.Hint)
	switch code, known := t.Exit(); {
	case how != "" && !f.exitExplained:
		if r.State != StateDidNotFinish {
			r.Notes = append(r.Notes, "the run "+how+"; what the text says came before that")
		}
		r.State = StateDidNotFinish
	case known && code != 0 && r.State == StatePassed:
		r.Notes = append(r.Notes, fmt.Sprintf("exit code %d although the text reads as passed: the exit code counts", code))
		r.State = StateFailed
	case known && code == 0 && f.forgiven && r.State == StateFailed:
		r.State = StatePassed
	case known && code == 0 && (r.State == StateFailed || r.State == StateBuildFailed):
		r.Notes = append(r.Notes, "exit code 0 although the text shows failures: the code was lost on the way (pipe, `;`, `|| true`) or the tool does not set it")
	}
	return r
}

// ended says how a run was ended by force, "" if it was not.
func ended(h Hint) string {
	switch {
	case h.TimedOut:
		return "ran into the time limit"
	case h.Signal != "":
		return "was killed by " + h.Signal
	case h.Exit == nil:
		return ""
	}
	switch c := *h.Exit; c {
	case 124:
		return "ran into a time limit (exit 124)"
	case 129, 130, 131, 132, 133, 134, 135, 136, 137, 139, 141, 143, 152, 153, 159:
		return fmt.Sprintf("was ended by signal %d (exit %d)", c-128, c)
	}
	return ""
}

// once drops failures that say the same as an earlier one (a run repeated for
// several projects, a report that lists its failures twice); it never returns nil.
func once(all []Failure) []Failure {
	out := make([]Failure, 0, len(all))
	seen := make(map[Failure]bool, len(all))
	for _, x := range all {
		if !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	return out
}
