package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"legwork/pkg/claudecode"
	"legwork/pkg/config"
	"legwork/pkg/ledger"
	"legwork/pkg/llm"
	"legwork/pkg/mcpserver"
	"legwork/pkg/offload"
	"legwork/pkg/shrink"
)

// hooks are the functions behind Claude Code's hooks, for one session.
type hooks struct {
	app     *app
	session *mcpserver.Session

	mu   sync.Mutex
	kept map[string]*kept // by path: the whole of texts that were made shorter
	// files are those that offload has answered about, by path or pattern → the rule of the answer
	files map[string]string

	seen followups
}

// shrink answers the hook after a successful Bash command.
func (h *hooks) shrink(ctx context.Context, in mcpserver.BashResult) (*mcpserver.Replacement, error) {
	cfg, err := h.app.load()
	if err != nil {
		return nil, err
	}
	h.follow(ctx, cfg)
	h.noteReread(ctx, cfg, in, false)
	start := time.Now()
	out := shrink.Output{
		Command: in.Command, Stdout: in.Stdout, Stderr: in.Stderr, Persisted: in.Persisted, Dir: in.Dir,
		Special: in.Interrupted == "true" || in.IsImage == "true" || in.Background != "",
	}
	s, err := shrink.Bash(ctx, cfg.Shrink, out, func() string { return h.whole(in) })
	if err != nil {
		h.app.log.Warn("shrink", "err", err)
	}
	if err != nil || s == nil {
		return nil, err
	}
	h.record(ctx, cfg, in, s, time.Since(start))
	return &mcpserver.Replacement{
		Text: s.Text,
		Message: fmt.Sprintf("legwork folded %d lines of output (%d bytes to %d, %s). All of it: %s. `# %s` behind a command keeps its output as it is.",
			s.Lines, s.Raw, len(s.Text), s.Rule, s.Path, shrink.RawVariable),
	}, nil
}

// whole is where all of a result can be read: the client's own file, or one of ours beside it.
func (h *hooks) whole(in mcpserver.BashResult) string {
	if in.Persisted != "" {
		return in.Persisted
	}
	text := shrink.Output{Stdout: in.Stdout, Stderr: in.Stderr}.Text()
	name := fmt.Sprintf(published+"%x.txt", sha256.Sum256([]byte(text)))
	path, err := claudecode.PublishText(in.Transcript, text, name[:16]+".txt")
	if err != nil {
		h.app.log.Warn("shrink: the whole text could not be kept", "err", err)
		return ""
	}
	return path
}

func (h *hooks) record(ctx context.Context, cfg *config.Config, in mcpserver.BashResult, s *shrink.Shrunk, took time.Duration) {
	h.keep(s.Path, s.Rule)
	shown := int64(utf8.RuneCountInString(in.Stdout) + utf8.RuneCountInString(in.Stderr))
	if in.Persisted != "" {
		shown = s.Raw // of which the client would have shown a preview
	}
	h.append(ctx, cfg, ledger.Run{
		Tool: ledger.ToolShrink, BaseTok: ledger.BaseCommand(shown, false), ClaudeTokIn: int64(llm.Estimate(s.Text)), RawBytes: s.Raw,
		MS: took.Milliseconds(), Rule: s.Rule, Raw: filepath.Base(s.Path), Session: sessionOf(in.Transcript),
	})
}

func (h *hooks) append(ctx context.Context, cfg *config.Config, run ledger.Run) {
	state, err := config.StateHome(h.app.env)
	if err != nil || !cfg.Store.Ledger {
		return
	}
	run.OK, run.Outcome, run.Project = true, ledger.Done, cfg.Project.Root
	if err := ledger.New(state).Append(ctx, run); err != nil {
		h.app.log.Warn("run log", "err", err)
	}
}

func sessionOf(transcript string) string {
	if transcript == "" {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(transcript), ".jsonl")
}

// failure answers the hook after a failing Bash command.
func (h *hooks) failure(ctx context.Context, in mcpserver.BashResult) string {
	cfg, err := h.app.load()
	if err != nil {
		return ""
	}
	h.follow(ctx, cfg)
	h.noteReread(ctx, cfg, in, true)
	if cfg.Shrink.Mode == "off" {
		return ""
	}
	kept, err := strconv.Atoi(lookup(h.app.env, "BASH_MAX_OUTPUT_LENGTH")) // the client hands its environment on
	if err != nil {
		kept = 0
	}
	text := h.app.redact(shrink.Failure(in.Command, in.Error, kept))
	if text != "" {
		h.append(ctx, cfg, ledger.Run{Tool: ledger.ToolNote, ClaudeTokIn: int64(llm.Estimate(text)), Session: sessionOf(in.Transcript)})
	}
	return text
}

// permission answers the hook before our offload tool. It never says allow: no opinion leaves the matter
// to the user's rule for the tool.
func (h *hooks) permission(_ context.Context, in mcpserver.PermissionInput) (verdict, reason string) {
	if strings.TrimSpace(in.Command) == "" {
		return "", ""
	}
	dir := h.app.dir() // where it runs; the session's shell may be elsewhere by now
	d := claudecode.LoadRules(claudecode.Place{Dir: dir, Env: h.app.env}).Command(in.Command, in.Mode, dir)
	switch d.Verdict {
	case claudecode.Deny:
		return "deny", permissionReason(d)
	case claudecode.Ask:
		return "ask", permissionReason(d)
	}
	return "", ""
}

func permissionReason(d claudecode.Decision) string {
	parts := []string{"legwork keeps the rules you gave Bash: " + d.Reason}
	if d.Rule != "" {
		parts = append(parts, fmt.Sprintf("rule %s in %s", d.Rule, d.File))
	}
	if d.Needed != "" {
		parts = append(parts, "a rule that would allow it: "+d.Needed)
	}
	return strings.Join(parts, "; ")
}

// offload is the verb for a session of Claude Code: a command that the rules ask about runs only when
// the permission hook has seen it, and the whole text is put where the model may read it.
func (h *hooks) offload(ctx context.Context, req offload.Request, progress func(string)) (*offload.Result, error) {
	if id := mcpserver.ToolUse(ctx); id != "" && req.Command != "" && !h.session.WasAsked(id, req.Command) {
		rules := claudecode.LoadRules(claudecode.Place{Dir: h.app.dir(), Env: h.app.env})
		if d := rules.Command(req.Command, "", h.app.dir()); d.Verdict == claudecode.Ask {
			return nil, &offload.RefusedError{Msg: "refused: hooks are off or the permission hook failed, so nobody was asked. " + permissionReason(d)}
		}
	}
	res, err := h.app.offload(ctx, req, progress)
	if err == nil && len(req.Files) > 0 {
		h.watch(req.Files, h.app.dir(), ledger.OffloadRule(offload.RuleOf(res)))
	}
	if err != nil || res.Path == "" {
		return res, err
	}
	defer func() { h.keep(res.Path, ledger.OffloadRule(offload.RuleOf(res))) }()
	path, err := claudecode.Publish(h.session.Transcript(), res.Path, published+res.Raw+".txt")
	if err != nil {
		h.app.log.Warn("the whole text could not be put into the session's folder", "err", err)
	} else if path != "" {
		res.Path = path
	}
	return res, nil
}
