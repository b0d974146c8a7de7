// Package mcpserver is the MCP side of legwork: the list of tools with their schemas and
// descriptions, strict decoding of arguments, progress, cancellation and the end of the session. It is
// the only importer of mcp-go.
//
// Rules: a handler decodes, calls one verb, encodes; it holds no logic of its own. What a caller can
// change comes back as an error result that says what would work; a panic becomes an error result too.
// Replies are text only: Claude Code shows its model structured content instead of the text.
//
// Pitfall: stdout belongs to the protocol. Nothing else may write to it, which is why progress goes
// through the same writer as the replies.
package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/pkg/proc"
)

// workers is the largest pool mcp-go allows. Calls mostly wait for models; the default of 5 would
// make the sixth wait for nothing.
const workers = 100

// Options of a server.
type Options struct {
	Version string
	Verbs   *Verbs
	// AutoUse names the tools that are always loaded by the client, without a search turn.
	AutoUse []string
	// Redact removes secrets of the settings from what tools reply, errors included; nil removes nothing.
	// What hooks reply is the client's own text and stays as it is.
	Redact func(string) string
	// Called is told of each call of a tool that stands in the list, before it is carried out; what it returns is
	// told the reply and, if the tool failed, why. nil: nobody counts.
	Called func(ctx context.Context, tool string, args []byte) (context.Context, func(reply string, err error))
	// Children are killed first when the session ends.
	Children *proc.Group
	Logger   *slog.Logger
}

// Server is the MCP server of one session.
type Server struct {
	opt  Options
	mcp  *server.MCPServer
	book *cancelBook
	out  *output // nil when not serving stdio
}

// New registers all tools. The error is a bug in a tool's definition.
func New(opt Options) (*Server, error) {
	s := &Server{opt: opt, book: newCancelBook()}
	hooks := &server.Hooks{}
	hooks.AddBeforeCallTool(func(_ context.Context, id any, req *mcp.CallToolRequest) {
		if raw, err := json.Marshal(id); err == nil {
			req.Params.RequestState = string(raw) // the handler is not told the id in any other way
		}
	})
	list := allTools()
	hooks.AddAfterListTools(func(_ context.Context, _ any, _ *mcp.ListToolsRequest, res *mcp.ListToolsResult) {
		// A tool filter would refuse the calls of hidden tools as well.
		res.Tools = slices.DeleteFunc(res.Tools, func(p mcp.Tool) bool {
			return slices.ContainsFunc(list, func(t tool) bool { return t.hidden && t.name == p.Name })
		})
	})
	s.mcp = server.NewMCPServer("legwork", opt.Version,
		server.WithToolCapabilities(false), server.WithPromptCapabilities(false), server.WithHooks(hooks), server.WithLogger(opt.Logger))
	for _, t := range list {
		pub, err := t.published(slices.Contains(opt.AutoUse, t.name))
		if err != nil {
			return nil, err
		}
		s.mcp.AddTool(pub, s.handler(t))
	}
	s.addPrompts()
	return s, nil
}

// handler wraps a tool's function: cancellation, progress, panics, and errors as results.
func (s *Server) handler(t tool) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (res *mcp.CallToolResult, _ error) {
		ctx, done := s.book.begin(ctx, req.Params.RequestState)
		defer done()
		var token any
		if m := req.Params.Meta; m != nil {
			token = m.ProgressToken
			if id, ok := m.AdditionalFields["claudecode/toolUseId"].(string); ok {
				ctx = context.WithValue(ctx, toolUseKey{}, id)
			}
		}
		report := startReporter(s.out, token, t.name)
		defer report.end()
		defer func() {
			if p := recover(); p != nil {
				s.opt.Logger.Error("panic in a tool", "tool", t.name, "panic", p, "stack", string(debug.Stack()))
				res = mcp.NewToolResultError(fmt.Sprintf("%s failed inside legwork: %v (a bug; the log has the stack)", t.name, p))
			}
		}()
		args := rawArguments(req)
		ctx, replied := s.called(ctx, t, args)
		text, err := t.call(ctx, s.opt.Verbs, args, report.say)
		if err != nil {
			text = s.redact(t, s.explain(ctx, t, err))
			replied(text, err)
			return mcp.NewToolResultError(text), nil
		}
		text = s.redact(t, text)
		replied(text, nil)
		return mcp.NewToolResultText(text), nil
	}
}

func (s *Server) called(ctx context.Context, t tool, args []byte) (context.Context, func(string, error)) {
	if t.hidden || s.opt.Called == nil {
		return ctx, func(string, error) {}
	}
	return s.opt.Called(ctx, t.name, args)
}

func (s *Server) redact(t tool, text string) string {
	if t.hidden || s.opt.Redact == nil {
		return text
	}
	return s.opt.Redact(text)
}

func rawArguments(req mcp.CallToolRequest) json.RawMessage {
	if len(req.Params.RawArguments) > 0 {
		return req.Params.RawArguments
	}
	raw, err := json.Marshal(req.Params.Arguments)
	if err != nil {
		return nil
	}
	return raw
}

// explain words an error for the model.
func (s *Server) explain(ctx context.Context, t tool, err error) string {
	var arg *argumentError
	switch {
	case errors.As(err, &arg):
		return t.name + ": " + arg.msg
	case ctx.Err() != nil:
		return t.name + ": cancelled"
	}
	return err.Error()
}

// exitGrace is how long running calls may take to note how they ended once the session is over. The
// client kills us about 100 ms after its signal.
const exitGrace = 80 * time.Millisecond

// Serve speaks MCP on in and out until in ends or ctx is done. Then all children are killed at once,
// and Serve returns within exitGrace whatever handlers do.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	// The calls must see why they end: with the session, not by their caller. So ctx's own end does not reach them.
	session := ctx
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(session))
	defer cancel(nil)
	s.out = &output{w: out}
	end := func() {
		s.opt.Children.Kill()
		cancel(proc.ErrShutdown)
	}
	stdio := server.NewStdioServer(s.mcp)
	server.WithWorkerPoolSize(workers)(stdio)
	server.WithQueueSize(10 * workers)(stdio)
	stdio.SetErrorLogger(log.New(logWriter{s.opt.Logger}, "", 0))

	result := make(chan error, 1)
	go func() {
		result <- stdio.Listen(ctx, &watchedInput{in: bufio.NewReaderSize(in, 64<<10), book: s.book, onEnd: end}, s.out)
	}()
	stop := context.AfterFunc(session, end)
	defer stop()
	var err error
	select {
	case err = <-result:
	case <-ctx.Done():
		select {
		case err = <-result:
		case <-time.After(exitGrace):
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// logWriter turns the library's log lines into ours.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	w.log.Warn("mcp", "message", string(p))
	return len(p), nil
}
