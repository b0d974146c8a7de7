package claudecode

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func collectLines(t *testing.T, limit int, pieces ...string) (kinds []string, bad []string) {
	t.Helper()
	l := &Lines{MaxLine: limit}
	l.OnLine = func(_ []byte, events []Event) {
		for _, e := range events {
			kinds = append(kinds, fmt.Sprintf("%s:%.20s", e.Kind, e.Text))
		}
	}
	l.OnBad = func(b []byte, reason string) { bad = append(bad, fmt.Sprintf("%.20s|%s", b, reason)) }
	for _, p := range pieces {
		if n, err := l.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	l.Close()
	return kinds, bad
}

func text(s string) string {
	b, _ := json.Marshal(s)
	return `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":` + string(b) + `}]}}`
}

// B13: JSON split over writes; a raw line break inside a string; a fragment costs only itself.
func TestLines(t *testing.T) {
	t.Parallel()
	broken := strings.Replace(text("one two"), " ", "\n", 1)
	kinds, bad := collectLines(t, 0, text("a")[:30], text("a")[30:]+"\n"+text("b")+"\n\n", broken+"\n", `{"type":"assist`+"\n", text("c")+"\nnoise\n", text("d"))
	if d := cmp.Diff([]string{"text:a", "text:b", "text:one\ntwo", "text:c", "text:d"}, kinds); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{`{"type":"assist|no JSON`, "noise|no JSON"}, bad); d != "" {
		t.Error(d)
	}
}

// B11: a line of 12 MB is read; one above the limit costs itself, not the session.
func TestLongLine(t *testing.T) {
	t.Parallel()
	long := text(strings.Repeat("x", 12<<20)) + "\n"
	kinds, bad := collectLines(t, 0, long[:5<<20], long[5<<20:], text("b")+"\n")
	if len(kinds) != 2 || len(bad) != 0 {
		t.Errorf("%q %q", kinds, bad)
	}
	kinds, bad = collectLines(t, 1<<20, long[:5<<20], long[5<<20:], text("b")+"\n")
	if len(kinds) != 1 || len(bad) != 1 || kinds[0] != "text:b" {
		t.Errorf("%q %q", kinds, bad)
	}
}

func TestParseEvent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ line, want string }{
		{`{"type":"system","subtype":"init","session_id":"s","claude_code_version":"2.1.332","tools":["Bash"],"mcp_servers":[{"name":"x"}]}`, "init s [Bash] [x]"},
		{`{"type":"system","subtype":"permission_denied","tool_name":"Bash","message":"no"}`, "denied Bash no"},
		{`{"type":"system","subtype":"hook_started"}`, ""},
		{`{"type":"assistant","error":"server_error","message":{"id":"m","content":[{"type":"text","text":"API Error"}]}}`, "notice API Error"},
		{`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":"/a"}}]}}`, "tool_call Edit /a"},
		{`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"bad"},{"type":"image"}]}]}}`, "tool_result true bad[image]"},
		{`{"type":"user","message":{"content":"plain"}}`, ""},
		{`{"type":"result","subtype":"success","is_error":true,"result":"x","terminal_reason":"api_error","api_error_status":500,"permission_denials":[{"tool_name":"Bash"},{"tool_name":"Bash"}]}`, "result true api_error 500 [Bash]"},
		{`{"type":"later_kind"}`, ""},
	} {
		events, ok := ParseEvent([]byte(tc.line))
		got := ""
		for _, e := range events {
			switch e.Kind {
			case EventInit:
				got = fmt.Sprint("init ", e.Init.SessionID, " ", e.Init.Tools, " ", e.Init.Servers)
			case EventDenied:
				got = "denied " + e.Tool + " " + e.Text
			case EventNotice:
				got = "notice " + e.Text
			case EventToolCall:
				got = "tool_call " + e.Tool + " " + e.Input.Get("file_path").Str
			case EventToolResult:
				got = fmt.Sprint("tool_result ", e.Error, " ", e.Text)
			case EventResult:
				got = fmt.Sprint("result ", e.Result.IsError, " ", e.Result.Terminal, " ", e.Result.Status, " ", e.Result.Denied)
			}
		}
		if !ok || got != tc.want {
			t.Errorf("%s: %q, want %q", tc.line, got, tc.want)
		}
	}
	for _, line := range []string{"", "x", "[1]", `{"a":`} {
		if _, ok := ParseEvent([]byte(line)); ok {
			t.Errorf("%q passes for an event", line)
		}
	}
}

// B01, B10: nothing of a session above us, nor the user's login, reaches the client; and no server of ours.
func TestEnvAndArgv(t *testing.T) {
	t.Parallel()
	env := Env([]string{"PATH=/bin", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "ANTHROPIC_API_KEY=sk", "anthropic_base_url=x", "NO_PROXY=corp", "GIT_DIR=/x"}, []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1"})
	slices.Sort(env)
	want := []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1", "GIT_TERMINAL_PROMPT=0", "NO_PROXY=127.0.0.1,localhost", "PATH=/bin", "no_proxy=127.0.0.1,localhost"}
	if d := cmp.Diff(want, env); d != "" {
		t.Error(d)
	}
	s := Session{Client: Client{Path: "claude"}, Model: "m", ID: "u", Mode: "default", Tools: []string{"Bash", "Read"}, NoServers: "n.json", Settings: "s.json", MaxTurns: 5}
	argv := strings.Join(s.Argv(), " ")
	for _, part := range []string{"--strict-mcp-config --mcp-config n.json", "--permission-mode manual", "--tools Bash,Read", "--session-id u", "--max-turns 5"} {
		if !strings.Contains(argv, part) {
			t.Errorf("%q lacks %q", argv, part)
		}
	}
	s.Resume = true
	if argv := s.Argv(); !slices.Contains(argv, "--resume") || slices.Contains(argv, "--session-id") {
		t.Errorf("%q", argv)
	}
	b, err := SettingsJSON([]string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1"}, "/home/u/.claude", Restrictions{Deny: []string{"Bash(git push:*)"}, Ask: []string{"Read(./.env)"}})
	if err != nil || !strings.Contains(string(b), `"CLAUDE_CODE_USE_BEDROCK":""`) || !strings.Contains(string(b), `"ANTHROPIC_BASE_URL":"http://127.0.0.1:1"`) ||
		!strings.Contains(string(b), `"claudeMdExcludes":["/home/u/.claude/**"]`) ||
		!strings.Contains(string(b), `"permissions":{"deny":["Bash(git push:*)"],"ask":["Read(./.env)"]}`) {
		t.Errorf("%s %v", b, err)
	}
}

func TestFindClient(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the fakes are shell scripts")
	}
	dir := t.TempDir()
	fake := func(name, script string) string {
		path := filepath.Join(dir, name, "claude")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := fake("good", "echo '2.1.332 (Claude Code)'")
	old := fake("old", "echo '1.0.3 (Claude Code)'")
	odd := fake("odd", "exit 3")
	env := []string{"PATH=.:" + filepath.Dir(good), "HOME=" + dir}
	for _, tc := range []struct{ setting, path, version string }{
		{"", "PATH=.:" + filepath.Dir(good), "2.1.332"},
		{good, "PATH=", "2.1.332"},
		{"", "PATH=/nonexistent", ""},
		{old, "PATH=", ""},
		{odd, "PATH=", ""},
		{"/nonexistent/claude", env[0], ""},
	} {
		c, err := FindClient(t.Context(), tc.setting, []string{tc.path, "HOME=" + dir})
		if tc.version == "" && !errors.Is(err, ErrNoClient) || tc.version != "" && (err != nil || c.Version != tc.version || c.Note != "") {
			t.Errorf("%+v: %+v %v", tc, c, err)
		}
	}
}

// B16: on Windows only a batch file may be there; the program beside it is taken.
func TestNativeClient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := filepath.Join(dir, "claude.cmd")
	if got := nativeClient(cmd); got != cmd {
		t.Error(got)
	}
	exe := filepath.Join(dir, "node_modules", "@anthropic-ai", "claude-code", "bin", "claude.exe")
	if err := errors.Join(os.MkdirAll(filepath.Dir(exe), 0o700), os.WriteFile(exe, nil, 0o700)); err != nil {
		t.Fatal(err)
	}
	if got := nativeClient(cmd); got != exe {
		t.Error(got)
	}
}
