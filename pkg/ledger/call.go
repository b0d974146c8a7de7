package ledger

import (
	"context"
	"sync"
)

// Caller says on whose behalf runs are made.
type Caller struct {
	// Claude is set when Claude wrote the call and reads the reply. What a person runs in a shell spares Claude
	// nothing and costs it nothing.
	Claude  bool
	Session string // Claude Code's session, where it is known
}

// Asked is the outcome of a call that is no run of its own: it started one, waited for one, or looked something
// up. Its tokens count, it does not.
const Asked = "asked"

// Call is one call from the moment it is made until its reply is known. A run that is appended within it is kept
// until then, so that its line holds the arguments and the reply as they really were.
type Call struct {
	caller Caller

	mu    sync.Mutex
	ended bool
	runs  []Run
}

type callKey struct{}

// Begin opens a call of caller; [Ledger.Append] under the returned context belongs to it.
func Begin(ctx context.Context, caller Caller) (context.Context, *Call) {
	c := &Call{caller: caller}
	return context.WithValue(ctx, callKey{}, c), c
}

// After returns a context for work that goes on for caller when its call is over, such as a job in a process of its
// own: the lines are written at once, without arguments and reply.
func After(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, callKey{}, &Call{caller: caller, ended: true})
}

// Claude tells whether the call is Claude's.
func (c *Call) Claude() bool { return c.caller.Claude }

// take keeps a run until the call ends and tells whether it did. What a job of the call appends later goes to the
// ledger at once: its reply reaches Claude by another call.
func (c *Call) take(run *Run) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if run.Session == "" {
		run.Session = c.caller.Session
	}
	run.ClaudeTokIn, run.ClaudeTokOut = 0, 0
	if !c.caller.Claude {
		run.BaseTok, run.BaseOut = 0, 0
	}
	if c.ended {
		return false
	}
	c.runs = append(c.runs, *run)
	return true
}

// End closes a call and returns its lines, to be appended with [Ledger.Append] under a context without the call.
// alone is the line of a call in which no run was appended: it asked, was refused, or broke off before there was
// a run. Its ClaudeTokIn and ClaudeTokOut are the reply and the arguments, and go to the first run where there is one.
func (c *Call) End(alone Run) []Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	runs := c.runs
	if len(runs) == 0 {
		if alone.Session == "" {
			alone.Session = c.caller.Session
		}
		runs = []Run{alone}
	}
	first := &runs[0]
	first.ClaudeTokIn, first.ClaudeTokOut = 0, 0
	if c.caller.Claude {
		first.ClaudeTokIn, first.ClaudeTokOut = alone.ClaudeTokIn, alone.ClaudeTokOut
	}
	return runs
}
