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
	"syscall"

	"github.com/alecthomas/kong"

	"legwork/pkg/llm"
	"legwork/pkg/offload"
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

// grammar is the command line. Flags that all commands share stand at the top.
type grammar struct {
	Config string `help:"Use this configuration file in place of the project's." placeholder:"FILE" type:"path"`
	JSON   bool   `help:"Print the full result as one JSON object." name:"json"`
	Quiet  bool   `help:"No progress on stderr." short:"q"`

	MCP       mcpCmd       `cmd:"" name:"mcp" help:"Run the MCP server on stdio."`
	Offload   offloadCmd   `cmd:"" help:"Ask about a command's output or about files."`
	Digest    digestCmd    `cmd:"" help:"Show what the extractive reader makes of a text, without a model."`
	Models    modelsCmd    `cmd:"" help:"Show what every endpoint serves now."`
	Complete  completeCmd  `cmd:"" help:"One prompt, one answer."`
	Configure configureCmd `cmd:"" help:"Show and change settings, with their origin."`
	Trust     trustCmd     `cmd:"" help:"Let this project's configuration redirect traffic."`
	Raw       rawCmd       `cmd:"" help:"List and clean the kept output of commands."`
	Bench     benchCmd     `cmd:"" help:"Measure the reader against a set with known answers."`
	Hook      hookCmd      `cmd:"" help:"Called by Claude Code's hooks." hidden:""`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

const description = `Hands bulk work to a model on your own hardware.

Examples:
  legwork offload --command 'go test ./...' 'which test fails, and why?'
  legwork offload --file server.log:1-5000 'when did the first timeout happen?'
  legwork models`

// Main runs one command line and returns its exit code.
func Main(args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := newApp(env, stdin, stdout, stderr)
	defer app.close()
	var g grammar
	exit := -1
	parser, err := kong.New(&g, kong.Name("legwork"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exit = code }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.UsageOnError())
	if err != nil {
		fmt.Fprintln(stderr, "legwork:", err)
		return exitUsage
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err := parser.Parse(args)
	if exit >= 0 {
		return exit // --help
	}
	if err != nil {
		var perr *kong.ParseError
		if errors.As(err, &perr) {
			_ = perr.Context.PrintUsage(true)
		}
		fmt.Fprintf(stderr, "legwork: %v\n", err)
		return exitUsage
	}
	app.global = &g
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	kctx.BindTo(ctx, (*context.Context)(nil))
	err = kctx.Run(app)
	if err == nil {
		return exitDone
	}
	return app.report(ctx, err)
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
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &input):
		return exitUsage
	case errors.As(err, &refused):
		return exitRefused
	case errors.Is(err, llm.ErrNoServer), errors.As(err, &transport), errors.As(err, &request):
		return exitBackend
	case errors.As(err, &none):
		return exitUsage
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	}
	return exitFailed
}
