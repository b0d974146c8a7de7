package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"legwork/pkg/config"
	"legwork/pkg/ledger"
	"legwork/pkg/llm"
	"legwork/pkg/mcpserver"
)

// caller is on whose behalf this process works: Claude's when it was started by its client, else a person's.
func (a *app) caller() ledger.Caller {
	return ledger.Caller{Claude: lookup(a.env, "CLAUDECODE") == "1", Session: lookup(a.env, "CLAUDE_CODE_SESSION_ID")}
}

// runNames are the tools whose runs are counted under another one's name.
var runNames = map[string]string{"offload_files": "offload", "resume_job": "run_agent"}

// called counts a tool call of the client: what was written for it and what was answered, be it an error.
func (h *hooks) called(ctx context.Context, tool string, args []byte) (context.Context, func(string, error)) {
	caller := ledger.Caller{Claude: true, Session: sessionOf(h.session.Transcript())}
	if caller.Session == "" {
		caller.Session = lookup(h.app.env, "CLAUDE_CODE_SESSION_ID")
	}
	if name := runNames[tool]; name != "" {
		tool = name
	}
	h.lookBack(ctx)
	cctx, call := ledger.Begin(ctx, caller)
	start := time.Now()
	return cctx, func(reply string, err error) {
		h.app.endCall(ctx, call, ledger.Run{
			Tool: tool, ClaudeTokIn: int64(llm.Estimate(reply)), ClaudeTokOut: int64(llm.Estimate(string(args))),
			MS: time.Since(start).Milliseconds(),
		}, err)
	}
}

// lookBack counts what was fetched since the last call or hook.
func (h *hooks) lookBack(ctx context.Context) {
	h.app.mu.Lock()
	cfg := h.app.last
	h.app.mu.Unlock()
	if cfg != nil && cfg.Store.Ledger {
		h.follow(ctx, cfg)
	}
}

// counted runs a command whose runs are counted. Claude may call it through Bash: then it reads what is printed.
func (a *app) counted(ctx context.Context, tool string, args []string, run func(context.Context) error) error {
	caller := a.caller()
	printed := &countingWriter{w: a.stdout}
	if caller.Claude {
		a.stdout = printed
	}
	cctx, call := ledger.Begin(ctx, caller)
	start := time.Now()
	err := run(cctx)
	a.endCall(ctx, call, ledger.Run{
		Tool: tool, ClaudeTokIn: ledger.BaseCommand(printed.n, err != nil), ClaudeTokOut: int64(llm.Estimate(strings.Join(args, " "))),
		MS: time.Since(start).Milliseconds(),
	}, err)
	return err
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// appendLimit bounds the wait for another process that writes to the run log.
const appendLimit = 2 * time.Second

// endCall writes the lines of a call. What a person asked without a run is nobody's cost and leaves no line.
func (a *app) endCall(ctx context.Context, call *ledger.Call, alone ledger.Run, err error) {
	a.mu.Lock()
	cfg := a.last
	a.mu.Unlock()
	state, serr := config.StateHome(a.env)
	if serr != nil || cfg == nil || !cfg.Store.Ledger {
		return
	}
	alone.Outcome, alone.Project = a.outcome(ctx, err), cfg.Project.Root
	alone.OK = alone.Outcome == ledger.Asked
	if alone.OK && !call.Claude() {
		alone.Tool = ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendLimit)
	defer cancel()
	for _, run := range call.End(alone) {
		if run.Tool == "" {
			continue
		}
		if err := ledger.New(state).Append(ctx, run); err != nil {
			a.log.Warn("run log", "err", err)
		}
	}
}

// outcome is how a call ended that brought no run.
func (a *app) outcome(ctx context.Context, err error) string {
	if err == nil {
		return ledger.Asked
	}
	code := exitCode(ctx, err)
	if ex, ok := errors.AsType[*exitError](err); ok {
		code = ex.code
	}
	switch {
	case code == exitInterrupted || errors.Is(err, context.Canceled):
		return ledger.Cancelled
	case code == exitUsage || code == exitRefused || mcpserver.IsArgument(err):
		return ledger.Refused
	case code == exitBackend:
		return ledger.Transport
	case code == exitTimeout:
		return ledger.Timeout
	}
	return ledger.Failed
}

// recordComplete adds an answer of local_complete to the run log.
func (a *app) recordComplete(ctx context.Context, cfg *config.Config, ans *llm.Answer) {
	state, err := config.StateHome(a.env)
	if err != nil || !cfg.Store.Ledger {
		return
	}
	outcome := map[llm.Outcome]string{
		llm.Answered: ledger.Done, llm.CutOff: ledger.CutOff, llm.Empty: ledger.CutOff, llm.Looped: ledger.CutOff,
	}[ans.Outcome]
	if outcome == "" {
		outcome = ledger.Failed
	}
	err = ledger.New(state).Append(ctx, ledger.Run{
		Tool: "local_complete", Model: ans.Model, Endpoint: ans.Endpoint, OK: outcome == ledger.Done, Outcome: outcome, Attempts: ans.Attempts,
		InTok: int64(ans.Usage.Prompt), OutTok: int64(ans.Usage.Completion), CachedTok: int64(ans.Usage.Cached),
		MS: ans.Duration.Milliseconds(), Project: cfg.Project.Root,
	})
	if err != nil {
		a.log.Warn("run log", "err", err)
	}
}

// recordSession notes that a session of Claude Code began with us in it: it pays for our presence whether or not
// anything is used.
func (a *app) recordSession(ctx context.Context, cfg *config.Config) {
	caller := a.caller()
	state, err := config.StateHome(a.env)
	if err != nil || !cfg.Store.Ledger || !caller.Claude || caller.Session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sessionLimit)
	defer cancel()
	_ = ledger.New(state).Append(ctx, ledger.Run{
		Tool: ledger.ToolSession, OK: true, Outcome: ledger.Asked, Session: caller.Session, Project: cfg.Project.Root,
	})
}

// sessionLimit is short, because a session waits for the hook.
const sessionLimit = 200 * time.Millisecond
