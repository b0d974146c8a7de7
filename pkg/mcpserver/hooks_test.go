package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What the hooks answer is the client's JSON, and {} whenever the original is to stand. K09: exactly this
// is said, so a command's text is never changed and nothing is ever allowed.
func testHooks(t *testing.T) {
	read := ""
	v := &Verbs{
		Session: &Session{},
		Reread:  func(_ context.Context, in ReadResult) { read = in.Path },
		Shrink: func(_ context.Context, in BashResult) (*Replacement, error) {
			switch in.Command {
			case "fold":
				return &Replacement{Text: "short\n\"text\"", Message: "folded"}, nil
			case "fail":
				return nil, errors.New("no")
			case "panic":
				panic("boom")
			}
			return nil, nil
		},
		Failure: func(_ context.Context, in BashResult) string { return in.Error },
		Permission: func(_ context.Context, in PermissionInput) (verdict, reason string) {
			switch in.Command {
			case "":
				return "", ""
			case "panic":
				panic("boom")
			}
			return "ask", "why"
		},
	}
	p := serve(t, v)
	for _, c := range []struct{ tool, args, want string }{
		{"hook_shrink", `{"command":"fold","transcript":"/s/a.jsonl"}`, `{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"interrupted":false,"isImage":false,"stderr":"","stdout":"short\n\"text\""}},"systemMessage":"folded"}`},
		{"hook_shrink", `{"command":"leave"}`, `{}`},
		{"hook_shrink", `{"command":"fail"}`, `{}`},
		{"hook_shrink", `{}`, `{}`},
		{"hook_failure", `{"error":"it was cut"}`, `{"hookSpecificOutput":{"additionalContext":"it was cut","hookEventName":"PostToolUseFailure"}}`},
		{"hook_failure", `{}`, `{}`},
		{"hook_permission", `{"command":"ls","tool_use":"t1"}`, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"why"}}`},
		{"hook_permission", `{}`, `{}`},
		{"hook_reread", `{"path":"/s/a/tool-results/x.txt","content":"c","transcript":"/s/a.jsonl"}`, `{}`},
	} {
		p.send(call(1, c.tool, c.args, ""))
		if m := p.recv(); m.text() != c.want || m.Result.IsError {
			t.Errorf("%s %s\n got %s\nwant %s", c.tool, c.args, m.text(), c.want)
		}
	}
	for _, args := range []string{`{"command":"panic"}`, `{"surprise":1}`, `{"command":7}`} {
		p.send(call(1, "hook_shrink", args, ""))
		if m := p.recv(); !m.Result.IsError { // which the client takes for no hook at all
			t.Errorf("%s: %+v", args, m)
		}
	}
	p.send(call(1, "hook_permission", `{"command":"panic","tool_use":"t3"}`, ""))
	if m := p.recv(); !m.Result.IsError || v.Session.WasAsked("t3", "panic") {
		t.Errorf("a hook that broke counts as a question put to the user: %+v", m)
	}
	if read != "/s/a/tool-results/x.txt" {
		t.Errorf("read %q", read)
	}
	if got := v.Session.Transcript(); got != "/s/a.jsonl" {
		t.Errorf("transcript %q", got)
	}
	if !v.Session.WasAsked("t1", "ls") || v.Session.WasAsked("t1", "rm -rf .") || v.Session.WasAsked("t2", "ls") {
		t.Error("what was asked is not what is remembered")
	}
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if list := string(p.recv().Result.Tools); strings.Contains(list, "hook_") {
		t.Errorf("hook tools are listed: %s", list)
	}
	if slices.ContainsFunc(ToolNames(), func(n string) bool { return strings.HasPrefix(n, "hook_") }) {
		t.Error("hook tools have a public name")
	}
}

// Old calls are forgotten, the latest are not.
func TestSessionForgets(t *testing.T) {
	t.Parallel()
	var s Session
	const n = 5 * maxAsked
	for i := range n {
		s.note("", fmt.Sprint(i), "ls")
	}
	if len(s.asked)+len(s.old) > 2*maxAsked || s.WasAsked("0", "ls") {
		t.Error("nothing is forgotten")
	}
	for i := n - maxAsked; i < n; i++ {
		if !s.WasAsked(fmt.Sprint(i), "ls") {
			t.Fatalf("call %d of %d is forgotten", i, n)
		}
	}
}
