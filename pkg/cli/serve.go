package cli

import (
	"context"
	"fmt"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"legwork/pkg/config"
	"legwork/pkg/mcpserver"
	"legwork/pkg/proc"
)

// version is the plugin's; `make bump` and `make release` write it here and into the manifests.
var version = "0.1.1"

// source is the commit that the binaries of a release were built from, in full; the release build sets it.
var source string

func versionCommand() *command {
	return &command{
		name: "version", short: "Print the version.",
		example: `legwork version
legwork version --json`,
		bind: func(*pflag.FlagSet) runFunc {
			return func(_ context.Context, a *app, _ []string) error { return a.printVersion() }
		},
	}
}

// printVersion prints the version and the commit it was built from, where that is known.
func (a *app) printVersion() error {
	if a.global.json {
		return a.printJSON(map[string]string{"version": version, "commit": commit()})
	}
	a.printf("%s\n", strings.TrimSpace("legwork "+version+" "+commit()))
	return nil
}

// commit is what this program was built from, in twelve digits, where that is known.
func commit() string {
	if source != "" {
		return source[:min(12, len(source))]
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	out, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			out = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	return out + dirty
}

// builtinAutoUse stands in when the configuration cannot be read.
func builtinAutoUse() []string { return []string{"offload", "research"} }

func mcpCommand() *command {
	return &command{
		name: "mcp", short: "Run the MCP server on stdio.",
		example: `legwork mcp        # as Claude Code starts it; it ends when stdin does
claude mcp add legwork -- legwork mcp`,
		bind: func(*pflag.FlagSet) runFunc { return runMCP },
	}
}

// runMCP serves MCP until the client goes. A configuration that cannot be read does not keep the server
// from starting: every tool then answers with what is wrong.
func runMCP(ctx context.Context, a *app, _ []string) error {
	a.openLog()
	autoUse := builtinAutoUse()
	if cfg, err := a.load(); err == nil {
		autoUse = cfg.AutoUse
	} else {
		a.log.Error("configuration", "err", err)
	}
	a.adoptChildren()
	defer a.adoptJobs()()
	h := &hooks{app: a, session: &mcpserver.Session{}}
	srv, err := mcpserver.New(mcpserver.Options{
		Version: version, AutoUse: autoUse, Children: a.children, Redact: a.redact, Logger: a.log, Called: h.called,
		Verbs: &mcpserver.Verbs{
			Offload: h.offload, Research: a.research, Delegate: a.delegateTool, Models: a.modelsText, Configure: a.configure, Complete: a.complete,
			RegisterEndpoint: a.registerEndpoint, RegisterModel: a.registerModel, RequestModel: a.requestModel,
			Agent: a.runAgentTool, ResumeJob: a.resumeTool, WaitJob: a.waitTool, JobStatus: a.statusTool, JobLog: a.logTool,
			ListJobs: a.listTool, CancelJob: a.cancelTool,
			Session: h.session, Shrink: h.shrink, Failure: h.failure, Permission: h.permission, Reread: h.reread,
		},
	})
	if err != nil {
		return err
	}
	// The client sends SIGINT twice and SIGTERM 100 ms later; the second signal must not kill us
	// while the first is being carried out.
	sctx, stop := signal.NotifyContext(ctx, stopSignals()...)
	defer stop()
	err = srv.Serve(sctx, a.stdin, a.stdout)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	h.lookBack(last)
	return err
}

// lastLook bounds what is done once the session is over: the client waits 100 ms at most.
const lastLook = 30 * time.Millisecond

// adoptChildren keeps a record of running children, and ends what a server that was killed left behind.
func (a *app) adoptChildren() {
	state, err := config.StateHome(a.env)
	if err != nil {
		return
	}
	a.children.Dir = filepath.Join(state, "children")
	if n, err := proc.Sweep(a.children.Dir); err != nil || n > 0 {
		a.log.Info("left-over children", "ended", n, "err", err)
	}
}

// adoptJobs looks at all jobs beside the start of a server: one whose process is gone is lost, and what it left
// running is ended. The returned function waits for that.
func (a *app) adoptJobs() (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if store, err := a.jobStore(); err == nil {
			_, _ = store.List() // what cannot be read is told to whoever asks for it
		}
	}()
	return func() { <-done }
}

func hookCommand() *command {
	return &command{
		name: "hook", short: "Called by Claude Code's hooks.", hidden: true,
		subs: []*command{{
			name: "session-start", short: "Print the reminder for the start of a session.",
			example: `legwork hook session-start`,
			bind: func(*pflag.FlagSet) runFunc {
				return func(ctx context.Context, a *app, _ []string) error { return a.sessionStart(ctx) }
			},
		}},
	}
}

// reminders say, for each tool that may stand in auto_use, when Claude should choose it. All of them
// together must stay below 300 characters.
var reminders = []struct{ tool, text string }{
	{"offload", "%s with your question, not Bash or Read, for long or noisy output (tests, builds, logs, big files)"},
	{"research", "%s for web questions"},
	{"delegate", "%s for a file that a test can judge (write the test first)"},
	{"run_agent", "%s for mechanical multi-step edits"},
}

// sessionStart prints one short text, the same at startup, resume, clear and compact, so that the prompt's
// front stays the same. It never fails a session: without a configuration the defaults speak.
func (a *app) sessionStart(ctx context.Context) error {
	autoUse := builtinAutoUse()
	cfg, err := a.load()
	if err == nil {
		autoUse = cfg.AutoUse
	}
	if text := reminder(autoUse, mcpserver.ToolNames()); text != "" {
		a.printf("%s\n", text)
	}
	if err == nil {
		a.recordSession(ctx, cfg)
	}
	return nil
}

// reminder names the first tool in full; the others have the same prefix.
func reminder(autoUse, known []string) string {
	var parts []string
	prefix := mcpserver.ToolPrefix
	for _, r := range reminders {
		if slices.Contains(autoUse, r.tool) && slices.Contains(known, r.tool) {
			parts = append(parts, fmt.Sprintf(r.text, prefix+r.tool))
			prefix = "…"
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "legwork: use " + strings.Join(parts, "; ") + "."
}
