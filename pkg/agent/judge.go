package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"legwork/pkg/claudecode"
	"legwork/pkg/jobs"
	"legwork/pkg/proc"
	"legwork/pkg/shim"
)

// verdict is how a job stands.
type verdict struct {
	state  jobs.State
	ending string
	why    string // in words
}

// stopped is the verdict on a session that we ended ourselves; ok is false when nobody did.
func stopped(ctx context.Context) (v verdict, ok bool) {
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
		return v, false
	case errors.Is(cause, jobs.ErrCancelled):
		return verdict{jobs.Cancelled, Cancelled, "cancelled"}, true
	case errors.Is(cause, errStalled):
		return verdict{jobs.Stalled, Stalled, errStalled.Error()}, true
	case errors.Is(cause, context.DeadlineExceeded):
		return verdict{jobs.Timeout, TimedOut, "its time limit passed"}, true
	}
	return verdict{jobs.Interrupted, Interrupted, "legwork was told to end"}, true
}

// silentEnd is the verdict on a client that ended without a result (B02).
func silentEnd(exit proc.Exit, stderr string) verdict {
	said := "and said nothing"
	if s := strings.TrimSpace(stderr); s != "" {
		said = "and said: " + oneLine(s, 500)
	}
	v := verdict{jobs.Failed, NoResult, fmt.Sprintf("the client ended without a result (%s) %s", exit, said)}
	if exit.Signal != "" {
		v.state, v.ending = jobs.Interrupted, Killed
	}
	return v
}

// judge is the verdict on a turn that ended with a result. The client calls much a success that is none.
func judge(r claudecode.Result, sum shim.Summary, last lastThing) verdict {
	failed := func(ending, format string, a ...any) verdict {
		return verdict{jobs.Failed, ending, fmt.Sprintf(format, a...)}
	}
	switch {
	case r.Subtype == "error_max_turns" || r.Terminal == "max_turns":
		return failed(MaxTurns, "it used up its turns")
	case r.Terminal == "prompt_too_long" || r.Terminal == "blocking_limit" || r.IsError && sum.Last == shim.Overflowed:
		return failed(Overflow, "the conversation does not fit the model's window any more")
	case sum.Last == shim.EmptyAnswer:
		return failed(EmptyAnswer, "the model's answer was empty, twice")
	case sum.Last == shim.Cut:
		return verdict{jobs.Interrupted, Cut, "the connection to the model broke in mid-answer; resume_job goes on"}
	case sum.Last == shim.Stalled:
		return verdict{jobs.Stalled, Stalled, "the model server fell silent"}
	case r.IsError:
		return failed(APIError, "%s", orElse(oneLine(r.Text, 400), orElse(strings.Join(r.Errors, "; "), r.Subtype)))
	case sum.LastUnexecuted:
		return failed(CallAsText, "its last answer is a tool call as text; nothing was executed")
	case strings.TrimSpace(r.Text) == "":
		return failed(EmptyAnswer, "its last answer is empty")
	case last == refused:
		return failed(Denied, "the last thing it tried was refused: %s", strings.Join(r.Denied, ", "))
	}
	return verdict{jobs.Succeeded, Done, "done"}
}
