// Package cli is the command line of legwork: the grammar, the object graph that every command and
// the MCP server share, the rendering for terminals and the exit codes.
//
// Rules: a command decodes its arguments, calls the same verb function as the MCP tool, and prints.
// Results go to stdout, everything else (progress, errors, warnings) to stderr. With --json the full
// result is one object.
//
// Pitfall: `legwork mcp` speaks a protocol on stdout, so nothing here prints to os.Stdout directly.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"legwork/pkg/llm"
	"legwork/pkg/offload"
	"legwork/pkg/research"
)

// Exit codes, stable for scripts.
const (
	exitDone        = 0
	exitFailed      = 1 // the work failed
	exitUsage       = 2 // usage or bad input
	exitBackend     = 3 // a server is unreachable or in error
	exitTimeout     = 4
	exitRefused     = 5 // a rule forbids it
	exitInterrupted = 130
)

// root is the whole command line.
func root() *command {
	return &command{
		name: "legwork", short: "Hands bulk work to a model on your own hardware.",
		example: `legwork offload --command 'go test ./...' 'which test fails, and why?'
legwork offload --file server.log:1-5000 'when did the first timeout happen?'
legwork models`,
		subs: []*command{
			offloadCommand(), researchCommand(), delegateCommand(), agentCommand(), jobsCommand(), superviseCommand(), digestCommand(), extractCommand(), statsCommand(), modelsCommand(), completeCommand(), configureCommand(), trustCommand(),
			setupCommand(), doctorCommand(), cleanCommand(), rawCommand(), shimCommand(), benchCommand(), mcpCommand(), versionCommand(), hookCommand(),
		},
	}
}

// gcPercent collects earlier than Go does by default: reading a large log takes a quarter less memory for
// a few percent more time.
const gcPercent = 50

// Main runs one command line and returns its exit code.
func Main(args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if lookup(env, "GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	app := newApp(env, stdin, stdout, stderr)
	defer app.close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if word, _, _ := root().next(args); word == "" && slices.Contains(args, "--version") {
		args = []string{"version"}
	}
	err := root().run(ctx, app, "", args)
	app.hintWarnings(args)
	if err == nil || errors.Is(err, errHelp) {
		return exitDone
	}
	return app.report(ctx, err)
}

// hintWarnings says in one line that settings are not used, to those who run a command by hand.
func (a *app) hintWarnings(args []string) {
	word, _, _ := root().next(args)
	if a.global.quiet || a.last == nil || len(a.last.Warnings) == 0 || slices.Contains([]string{"configure", "trust", "hook", "mcp"}, word) {
		return
	}
	more := ""
	if n := len(a.last.Warnings) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more: legwork configure)", n)
	}
	fmt.Fprintf(a.stderr, "legwork: settings: %s%s\n", a.redact(a.last.Warnings[0].String()), more)
}

// exitError ends a command with a code; a nil Err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// report prints an error once, redacted, and picks the exit code.
func (a *app) report(ctx context.Context, err error) int {
	var ex *exitError
	if errors.As(err, &ex) && ex.err == nil {
		return ex.code
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(a.stderr, "legwork: %s\nSee %s --help.\n", a.redact(usage.msg), usage.path)
		return exitUsage
	}
	code := exitCode(ctx, err)
	if ex != nil {
		code = ex.code
	}
	fmt.Fprintf(a.stderr, "legwork: %s\n", a.redact(err.Error()))
	return code
}

func exitCode(ctx context.Context, err error) int {
	var input *offload.InputError
	var refused *offload.RefusedError
	var none *llm.NoModelError
	var transport *llm.TransportError
	var request *llm.RequestError
	var timeout *llm.TimeoutError
	var over *llm.OverflowError
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &input), isInput(err), errors.Is(err, research.ErrRequest), errors.Is(err, llm.ErrSchema), isAgentInput(err):
		return exitUsage
	case errors.As(err, &refused), isRefused(err), isAgentRefused(err):
		return exitRefused
	case errors.Is(err, research.ErrSearch), errors.Is(err, research.ErrPages):
		return exitBackend
	case errors.Is(err, llm.ErrNoServer), errors.As(err, &transport), errors.As(err, &request):
		return exitBackend
	case errors.As(err, &none), errors.As(err, &over):
		return exitUsage
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	}
	return exitFailed
}
