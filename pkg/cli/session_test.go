package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"legwork/pkg/mcpserver"
)

// session is a running `legwork mcp`, as the client talks to it.
type session struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func newSession(t *testing.T, u *user) *session {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		Main([]string{"mcp"}, u.env, inR, outW, io.Discard)
		outW.Close()
	}()
	t.Cleanup(func() { inW.Close(); <-done })
	s := &session{t: t, in: inW, out: bufio.NewReader(outR)}
	s.rpc("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	return s
}

func (s *session) rpc(method, params string) gjson.Result {
	s.t.Helper()
	s.id++
	if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.id, method, params); err != nil {
		s.t.Fatal(err)
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	return gjson.GetBytes(line, "result")
}

// call gives the text of a tool's answer and whether it is an error.
func (s *session) call(tool string, args any, toolUse string) (string, bool) {
	s.t.Helper()
	params := map[string]any{"name": tool, "arguments": args}
	if toolUse != "" {
		params["_meta"] = map[string]any{"claudecode/toolUseId": toolUse}
	}
	raw, err := json.Marshal(params)
	if err != nil {
		s.t.Fatal(err)
	}
	r := s.rpc("tools/call", string(raw))
	return r.Get("content.0.text").Str, r.Get("isError").Bool()
}

type args = map[string]any

// The tests of sessions run one after another: a process serves one at a time.
func TestSessions(t *testing.T) {
	t.Run("a broken configuration", testBrokenOverMCP)
	t.Run("output folds", testFoldOverMCP)
	t.Run("rules", testRulesOverMCP)
}

// The server starts with a configuration it cannot read, and every tool says what is wrong and where.
func testBrokenOverMCP(t *testing.T) {
	u := newUser(t, "")
	u.write(".git/HEAD", "ref: refs/heads/main\n")
	u.write(".legwork.yaml", "offload:\n  model: x\n bad: [\n")
	u.write("a.txt", "text\n")
	s := newSession(t, u)
	with := map[string]args{
		"offload": {"question": "q", "command": "true"}, "offload_files": {"question": "q", "files": []string{"a.txt"}}, "research": {"question": "q"},
		"local_complete": {"prompt": "p"}, "request_model": {"model": "m"}, "register_endpoint": {"name": "n", "base_url": "http://127.0.0.1:9"},
		"register_model": {"name": "n"}, "delegate": {"target_file": "a.txt", "test_command": "true", "spec": "s"},
	}
	free := []string{"wait_job", "job_status", "job_log", "list_jobs", "cancel_job"} // of any configuration
	for _, tool := range mcpserver.ToolNames() {
		a := with[tool]
		if slices.Contains(free, tool) {
			continue
		}
		if a == nil {
			a = args{}
		}
		text, failed := s.call(tool, a, "")
		if !failed || !strings.Contains(text, ".legwork.yaml:3:") {
			t.Errorf("%s: error %v: %s", tool, failed, text)
		}
	}
	for tool, a := range map[string]args{"hook_shrink": {"command": "make", "stdout": strings.Repeat("ok 1 - a line of a run\n", 1000)}, "hook_failure": {"error": "x"}} {
		if text, failed := s.call(tool, a, ""); failed || text != "{}" {
			t.Errorf("%s: error %v: %s", tool, failed, text)
		}
	}
}

// K15, K16: a folded result says where the whole is, which is where the client lets its model read.
func testFoldOverMCP(t *testing.T) {
	u := newUser(t, "")
	u.env = append(u.env, "BASH_MAX_OUTPUT_LENGTH=150000")
	transcript := filepath.Join(u.dir, "projects", "p", "abc.jsonl")
	s := newSession(t, u)
	var run strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&run, "ok %d - the case number %d holds\n", i+1, i+1)
	}
	run.WriteString("1..1000\n")
	text, failed := s.call("hook_shrink", args{"command": "make test", "stdout": run.String(), "stderr": "a word of warning\n", "interrupted": "false", "is_image": "false", "transcript": transcript, "dir": u.dir}, "")
	shown := gjson.Get(text, "hookSpecificOutput.updatedToolOutput.stdout").Str
	if failed || !strings.Contains(shown, "1000 passed, 0 failed") || !strings.Contains(gjson.Get(text, "systemMessage").Str, "LEGWORK_RAW") {
		t.Fatalf("error %v: %s", failed, text)
	}
	files, err := filepath.Glob(filepath.Join(u.dir, "projects/p/abc/tool-results/*"))
	if err != nil || len(files) != 1 || !strings.Contains(shown, files[0]) {
		t.Fatalf("%q %v: %s", files, err, shown)
	}
	if whole, err := os.ReadFile(files[0]); err != nil || string(whole) != run.String()+"a word of warning\n" {
		t.Errorf("the whole text: %d bytes, %v", len(whole), err)
	}
	if st, err := os.Stat(files[0]); err == nil && runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
	rows, err := os.ReadFile(filepath.Join(u.dir, "state", "runs.jsonl"))
	if err != nil || gjson.GetBytes(rows, "tool").Str != "shrink" || gjson.GetBytes(rows, "raw_bytes").Int() == 0 {
		t.Errorf("run log: %s %v", rows, err)
	}
	// What is fetched of it after all is counted against the saving.
	s.call("hook_reread", args{"path": files[0], "content": strings.Repeat("words ", 100), "transcript": transcript}, "")
	s.call("hook_reread", args{"path": filepath.Join(u.dir, "other.txt"), "content": "x", "transcript": transcript}, "")
	s.call("hook_shrink", args{"command": "tail -3 '" + files[0] + "' | cat", "stdout": strings.Repeat("words ", 100), "transcript": transcript}, "")
	s.call("hook_shrink", args{"command": "cat " + filepath.Join(u.dir, "other.txt"), "stdout": "words", "transcript": transcript}, "")
	rows, err = os.ReadFile(filepath.Join(u.dir, "state", "runs.jsonl"))
	if n := bytes.Count(rows, []byte(`"tool":"reread"`)); err != nil || n != 2 || bytes.Count(rows, []byte(`"rule":"tap-stream"`)) != 3 {
		t.Errorf("%d fetches are noted: %s %v", n, rows, err)
	}
	for name, in := range map[string]args{
		"interrupted": {"interrupted": "true", "transcript": transcript}, "an image": {"is_image": "true", "transcript": transcript}, "no session": {"transcript": ""},
		"still running": {"background": "b1", "transcript": transcript},
	} {
		in["command"], in["stdout"] = "make test", run.String()
		if text, failed := s.call("hook_shrink", in, ""); failed || text != "{}" {
			t.Errorf("%s: %v %s", name, failed, text)
		}
	}
	// The user's own limit is known: a text of 100,000 characters is whole at both ends.
	cut := "Exit code 1\n" + strings.Repeat("a", 5000) + "\n\n... [90012 characters truncated] ...\n\n" + strings.Repeat("b", 5000)
	if text, _ := s.call("hook_failure", args{"command": "make", "error": cut}, ""); !strings.Contains(text, "its end are complete") {
		t.Error(text)
	}
}

// K11, K12: the server itself keeps the rules, also where no hook has asked.
func testRulesOverMCP(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a POSIX shell")
	}
	u := newUser(t, "")
	u.env = append(u.env, "LEGWORK_LOCAL_SERVERS=none")
	more := t.TempDir()
	rules, err := json.Marshal(args{"permissions": args{
		"allow": []string{"Bash(sh ok.sh)"}, "ask": []string{"Bash(git commit:*)", "Read(./asked.txt)"}, "deny": []string{"Bash(curl:*)", "Read(./.env)"},
		"additionalDirectories": []string{more},
	}})
	if err != nil {
		t.Fatal(err)
	}
	u.write(".claude/settings.local.json", string(rules))
	for name, text := range map[string]string{"ok.sh": "echo fine\n", ".env": "KEY=hidden\n", "asked.txt": "hidden\n", "a.txt": "open\n"} {
		u.write(name, text)
	}
	other := filepath.Join(t.TempDir(), "other.txt")
	for _, file := range []string{filepath.Join(more, "more.txt"), other} {
		if err := os.WriteFile(file, []byte("text\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newSession(t, u)
	offload := func(use string, a args) (string, bool) {
		t.Helper()
		a["question"] = "what is in it?"
		return s.call("offload", a, use)
	}
	for _, c := range []struct {
		what    string
		in      args
		hooked  bool
		refused string // "" for done
	}{
		{"an allowed command, no hooks", args{"command": "sh ok.sh"}, false, ""},
		{"a read-only command, no hooks", args{"command": "cat a.txt"}, false, ""},
		{"a command nobody allowed, no hooks", args{"command": "touch made"}, false, "hooks are off"},
		{"what a rule asks about, no hooks", args{"command": "git commit -m x"}, false, "Bash(git commit:*)"},
		{"the same, and the user was asked", args{"command": "touch made"}, true, ""},
		{"a denied command", args{"command": "curl http://127.0.0.1:9/"}, true, "Bash(curl:*)"},
		{"a denied file through a command", args{"command": "cat .env"}, true, "Read(./.env)"},
		{"a denied file", args{"files": []string{".env"}}, false, "Read(./.env)"},
		{"a denied file through a pattern", args{"files": []string{"*env*", ".*"}}, false, "Read(./.env)"},
		{"a file that a rule asks about", args{"files": []string{"asked.txt"}}, false, "Read(./asked.txt)"},
		{"a file of the project", args{"files": []string{"a.txt"}}, false, ""},
		{"a file of an additional directory", args{"files": []string{filepath.Join(more, "more.txt")}}, false, ""},
		{"a file elsewhere", args{"files": []string{other}}, false, "outside"},
	} {
		use := strings.ReplaceAll(c.what, " ", "_")
		if c.hooked {
			s.call("hook_permission", args{"command": c.in["command"], "tool_use": use, "dir": u.dir}, "")
		}
		text, failed := offload(use, c.in)
		if failed != (c.refused != "") || !strings.Contains(text, c.refused) || strings.Contains(text, "hidden") {
			t.Errorf("%s: error %v, want %q: %s", c.what, failed, c.refused, text)
		}
	}
	// A command that was changed after the hook had seen it was not asked about.
	s.call("hook_permission", args{"command": "sh ok.sh", "tool_use": "t9", "dir": u.dir}, "")
	if text, failed := offload("t9", args{"command": "touch made2"}); !failed {
		t.Error(text)
	}
	for command, want := range map[string]string{"curl x": "deny", "git commit -m x": "ask", "touch x": "ask", "sh ok.sh": "", "ls": "", "": ""} {
		text, _ := s.call("hook_permission", args{"command": command, "mode": "default", "dir": u.dir}, "")
		if got := gjson.Get(text, "hookSpecificOutput.permissionDecision").Str; got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}
