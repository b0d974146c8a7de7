// Package proc runs other programs for legwork and makes sure that they end with the call that started them.
//
// Every child gets a process group and session of its own (on Windows a job object), no controlling terminal, null as
// stdin unless told otherwise, and an environment without git's location variables. Its output is always read to the
// end, so a child never blocks on a full pipe. A call is over when its main process ends: what that process left
// behind in its group, or what still holds the output, is killed and reported as Exit.Background. On a timeout or a
// cancelled context the group gets SIGTERM, a grace period and SIGKILL, and so does what left the group but still
// carries the call's mark in its environment; what was printed until then has reached the writers.
//
// Shutting down fast: give every call the same *Group and call Group.Kill, which sends SIGKILL to all of them before
// it returns (microseconds), or cancel the calls' context with the cause ErrShutdown, which skips the grace period.
//
// Crashes: Linux kills the main process when ours dies, Windows the whole tree. For the rest give the Group a folder
// (Group.Dir) and call Sweep at the next start.
//
// One pitfall: with Spec.Shell the exit status of `a | b` is b's alone. LastOfPipe tells when that is so; pipefail is
// not forced on the command, because it changes what correct commands mean (`yes | head` would fail).
package proc

import (
	"context"
	"errors"
	"io"
	"time"
)

// DefaultGrace is how long a stopped child has between one signal of the stop sequence and the next.
const DefaultGrace = 2 * time.Second

var (
	// ErrShutdown as the cause of a cancelled context (context.CancelCauseFunc) makes a call kill its children at
	// once, without a grace period. Start returns it too when its Group was killed.
	ErrShutdown = errors.New("legwork is shutting down")
	// ErrSpec is wrapped by Run and Start when the Spec cannot be run at all.
	ErrSpec = errors.New("cannot run")
)

// Spec says what to run. Exactly one of Shell and Argv is set.
type Spec struct {
	Shell string   // a command line for `sh -c`, on Windows for `cmd.exe /d /s /c`
	Argv  []string // a program and its arguments, looked up in PATH unless it holds a separator
	Dir   string   // working folder; "" is ours
	Env   []string // the whole environment; nil is CleanEnv(os.Environ()). A mark of ours is added
	Stdin io.Reader
	// StdinPipe gives the caller the write end as Process.Stdin instead; Start only.
	StdinPipe bool
	// Stdout and Stderr receive the output from one goroutine each while the child runs; nil discards. The same
	// writer in both means one pipe, so the order of lines is the child's. A writer that blocks blocks the child; one
	// that fails is not called again, the error is in Exit.OutputErr and the rest is read and dropped.
	Stdout, Stderr io.Writer
	Timeout        time.Duration // 0 is none
	Grace          time.Duration // 0 is DefaultGrace
	// Interrupt puts SIGINT, and another Grace, before SIGTERM when the child is stopped.
	Interrupt bool
}

// Exit says how a child ended. Whether that was a success is the caller's judgement; OK is the usual one.
type Exit struct {
	Code       int    // exit status; 128+n when killed by signal n; 127 when the program was not found; -1 unknown
	Signal     string // "SIGKILL" when the main process itself died of a signal
	TimedOut   bool   // Spec.Timeout, or the context's deadline, passed
	Cancelled  bool   // the context ended, or Stop or Kill was called
	Background bool   // it left processes behind; they were killed
	Held       bool   // something out of reach still holds the output; it was read up to the end of the call
	Daemons    int    // processes that detached themselves properly (own session, own output) and were left alone
	Duration   time.Duration
	Timeout    time.Duration // the limit that passed or would have, for messages
	OutputErr  error         // the first error of a writer: output is incomplete, the status still right
	shell      bool
}

// OK is true for exit status 0 of a child that was neither stopped by us nor cut short.
func (e Exit) OK() bool {
	return e.Code == 0 && e.Signal == "" && !e.TimedOut && !e.Cancelled
}

// Run starts the child, waits for its end and returns how it ended. The error is for what never ran (ErrSpec, a
// missing folder, no permission); a child that fails, is not found (127), is stopped or times out is no error.
func Run(ctx context.Context, spec Spec) (Exit, error) {
	return (*Group)(nil).Run(ctx, spec)
}

// Start is Run for a child that lives on: the caller must call Wait.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	return (*Group)(nil).Start(ctx, spec)
}
