package mcpserver

import (
	"context"
	"encoding/json"
	"sync"
)

// The hook tools are called by Claude Code's hooks through the running server (hooks/hooks.json): no
// process is started, and the tools stand in no list. Their reply is the hook's JSON; whatever is wrong
// with it, the client goes on as if there were no hook.

// Session is what the hooks tell about the client's session.
type Session struct {
	mu         sync.Mutex
	transcript string
	asked, old map[string]string // tool use → the command that the permission hook has looked at
}

// maxAsked bounds what is remembered of calls; a call follows its hook within moments.
const maxAsked = 500

// Transcript is the path of the session's transcript, "" before the first hook.
func (s *Session) Transcript() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transcript
}

func (s *Session) note(transcript, toolUse, command string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if transcript != "" {
		s.transcript = transcript
	}
	if toolUse == "" {
		return
	}
	if s.asked == nil || len(s.asked) >= maxAsked {
		s.asked, s.old = map[string]string{}, s.asked
	}
	s.asked[toolUse] = command
}

// WasAsked tells whether the permission hook has seen this call with this command, so that a question the
// rules demand has been put to the user. A command that another hook changed afterwards was not seen.
func (s *Session) WasAsked(toolUse, command string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, ok := s.asked[toolUse]
	if !ok {
		seen, ok = s.old[toolUse]
	}
	return ok && seen == command
}

// toolUseKey carries the client's id of a tool call in a context.
type toolUseKey struct{}

// ToolUse is the client's id of the call that ctx belongs to, "" when it told none.
func ToolUse(ctx context.Context) string {
	id, _ := ctx.Value(toolUseKey{}).(string)
	return id
}

// BashResult is the input of the hook after a Bash command.
type BashResult struct {
	Command     string `json:"command,omitempty"`
	Stdout      string `json:"stdout,omitempty"`
	Stderr      string `json:"stderr,omitempty"`
	Persisted   string `json:"persisted,omitempty"`
	Interrupted string `json:"interrupted,omitempty"`
	IsImage     string `json:"is_image,omitempty"`
	Background  string `json:"background,omitempty"` // id of the task when the command still runs: at its limit, the client moves it to the background
	Error       string `json:"error,omitempty"`      // of a failing command
	Transcript  string `json:"transcript,omitempty"`
	Dir         string `json:"dir,omitempty"`
}

// Replacement is what the hook shows in place of a result.
type Replacement struct{ Text, Message string }

func runShrink(ctx context.Context, v *Verbs, in BashResult, _ func(string)) (string, error) {
	v.Session.note(in.Transcript, "", "")
	r, err := v.Shrink(ctx, in)
	if err != nil || r == nil {
		return "{}", nil // the original stands; the error is in the log
	}
	return hookJSON("PostToolUse", map[string]any{"updatedToolOutput": map[string]any{
		"stdout": r.Text, "stderr": "", "interrupted": false, "isImage": false,
	}}, r.Message), nil
}

func runFailure(ctx context.Context, v *Verbs, in BashResult, _ func(string)) (string, error) {
	v.Session.note(in.Transcript, "", "")
	text := v.Failure(ctx, in)
	if text == "" {
		return "{}", nil
	}
	return hookJSON("PostToolUseFailure", map[string]any{"additionalContext": text}, ""), nil
}

// ReadResult is the input of the hook after a file of the session's folder was read.
type ReadResult struct {
	Path       string `json:"path,omitempty"`
	Content    string `json:"content,omitempty"`
	Transcript string `json:"transcript,omitempty"`
}

// runReread notes that a text which had been made shorter was wanted after all. It changes nothing.
func runReread(ctx context.Context, v *Verbs, in ReadResult, _ func(string)) (string, error) {
	v.Session.note(in.Transcript, "", "")
	v.Reread(ctx, in)
	return "{}", nil
}

// PermissionInput is the input of the hook before one of our tools.
type PermissionInput struct {
	Command    string `json:"command,omitempty"`
	Mode       string `json:"mode,omitempty"`
	Dir        string `json:"dir,omitempty"`
	ToolUse    string `json:"tool_use,omitempty"`
	Transcript string `json:"transcript,omitempty"`
}

func runPermission(ctx context.Context, v *Verbs, in PermissionInput, _ func(string)) (string, error) {
	v.Session.note(in.Transcript, "", "")
	verdict, reason := v.Permission(ctx, in)
	if err := ctx.Err(); err != nil {
		return "", err // the client has gone on without us, so nobody was asked
	}
	v.Session.note("", in.ToolUse, in.Command)
	if verdict == "" {
		return "{}", nil
	}
	return hookJSON("PreToolUse", map[string]any{"permissionDecision": verdict, "permissionDecisionReason": reason}, ""), nil
}

func hookJSON(event string, specific map[string]any, message string) string {
	specific["hookEventName"] = event
	out := map[string]any{"hookSpecificOutput": specific}
	if message != "" {
		out["systemMessage"] = message
	}
	b, err := json.Marshal(out)
	if err != nil {
		return "{}"
	}
	return string(b)
}
