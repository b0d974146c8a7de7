package shim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// The tests of this file run the real Claude Code against a scripted server through the shim. They need the client:
// LEGWORK_CLAUDE names its program.

type clientRun struct {
	result string // the result event
	exit   int
	dir    string
	events []string
}

// runClient runs one headless job in dir with nothing of the user's environment.
func runClient(t *testing.T, env []string, dir, prompt string, more ...string) clientRun {
	t.Helper()
	bin := os.Getenv("LEGWORK_CLAUDE")
	if bin == "" {
		t.Skip("LEGWORK_CLAUDE does not name a Claude Code program")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Minute)
	defer cancel()
	args := append([]string{
		"-p", "--output-format", "stream-json", "--verbose", "--model", "local", "--permission-mode", "acceptEdits",
		"--allowedTools", "Bash,Edit,Read,Write", "--setting-sources", "", "--strict-mcp-config",
		"--disable-slash-commands", "--no-session-persistence", "--max-turns", "12",
	}, more...)
	if !slices.Contains(more, "--tools") {
		args = append(args, "--tools", "Bash,Edit,Read,Write")
	}
	cmd := exec.CommandContext(ctx, bin, append(args, "--", prompt)...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=dumb"}, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 5 * time.Second
	_ = cmd.Run()
	run := clientRun{exit: cmd.ProcessState.ExitCode(), dir: dir}
	for line := range strings.SplitSeq(out.String(), "\n") {
		if line == "" {
			continue
		}
		run.events = append(run.events, line)
		if gjson.Get(line, "type").Str == "result" {
			run.result = line
		}
	}
	if run.result == "" {
		t.Fatalf("no result, exit %d\n%s\n%s", run.exit, clip(out.String(), 3000), clip(errs.String(), 2000))
	}
	return run
}

// serveShim runs a shim on a port of its own.
func serveShim(t *testing.T, target Target, opt Options) (*Shim, string) {
	t.Helper()
	s, err := New(target, opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ln, err := Listen(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = s.Close()
	})
	return s, ln.Addr().String()
}

func records(t *testing.T, dir string) []Record {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "requests.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []Record
	for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
		var r Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func tooling(name, input string) answer { return answer{chunks: toolStream("tool_use", name, input)} }

func TestClientToolJob(t *testing.T) {
	t.Parallel()
	t.Run("lean", func(t *testing.T) {
		t.Parallel()
		clientToolJob(t, func(env []string) []string { return env })
	})
	// A user's own session: cache marks that move, thinking, tools found by search.
	t.Run("default", func(t *testing.T) {
		t.Parallel()
		clientToolJob(t, func(env []string) []string { return append(env[:2:2], "CLAUDE_CODE_MAX_CONTEXT_TOKENS=131072") })
	})
}

func clientToolJob(t *testing.T, recipe func([]string) []string) {
	t.Helper()
	dir, rec := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("alpha\nbeta\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFake(t,
		tooling("Read", `{"file_path":`+quote(file)+`}`),
		// A16: the second call is printed as text.
		answer{chunks: textStream("end_turn", "```json\n", `{"name":"Edit","arguments":{"file_path":`+quote(file)+`,"old_string":"beta","new_string":"gamma"}}`, "\n```")},
		tooling("Bash", `{"command":"cat a.txt > copy.txt","description":"copy"}`),
		answer{chunks: textStream("end_turn", "all done")})
	f.count = func(string) (int, string) { return 200, `{"input_tokens":4000}` }
	s, addr := serveShim(t, Target{BaseURL: f.URL, Route: RouteNative, Kind: LlamaCPP, Window: 131072, CountTokens: true}, Options{RecordDir: rec, Full: true})
	run := runClient(t, recipe(s.Env(addr)), dir, "Change beta to gamma in a.txt, then copy it.")
	if run.exit != 0 || gjson.Get(run.result, "is_error").Bool() || gjson.Get(run.result, "result").Str != "all done" {
		t.Errorf("exit %d, result %s", run.exit, run.result)
	}
	for _, name := range []string{"a.txt", "copy.txt"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != "alpha\ngamma\n" {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	bodies := f.bodies()
	for i := 1; i < len(bodies); i++ {
		if err := extends(bodies[i-1], bodies[i]); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if lean := len(recipe(s.Env(addr))) > 3; lean && (strings.Contains(get(bodies[0], "system"), dir) || strings.Contains(get(bodies[0], "tools"), dir)) {
		t.Error("the directory's path stands before the first message")
	}
	sum := s.Summary()
	if sum.Calls != 3 || sum.Converted != 1 || sum.Last != Answered || len(records(t, rec)) != 4 {
		t.Errorf("summary %+v", sum)
	}
}

func TestClientOverflowCompacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFake(t,
		tooling("Read", `{"file_path":`+quote(filepath.Join(dir, "a.txt"))+`}`),
		answer{status: 400, json: `{"error":{"code":400,"message":"request (40000 tokens) exceeds the available context size (20000 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":40000,"n_ctx":20000}}`},
		answer{chunks: textStream("end_turn", "<summary>read a.txt, it holds alpha</summary>")},
		answer{chunks: textStream("end_turn", "finished after compaction")})
	f.count = func(string) (int, string) { return 200, `{"input_tokens":4000}` }
	s, addr := serveShim(t, Target{BaseURL: f.URL, Route: RouteNative, Kind: LlamaCPP, Window: 20000, CountTokens: true}, Options{})
	run := runClient(t, s.Env(addr), dir, "Read a.txt and say what it holds.")
	compacted := false
	for _, e := range run.events {
		compacted = compacted || gjson.Get(e, "subtype").Str == "compact_boundary"
	}
	if run.exit != 0 || !compacted || !strings.HasPrefix(gjson.Get(run.result, "result").Str, "finished") {
		t.Errorf("exit %d, compacted %v, result %s", run.exit, compacted, run.result)
	}
	if s.Summary().Outcomes[Overflowed] != 1 {
		t.Errorf("summary %+v", s.Summary())
	}
}

// A35 with the real client: an overflow found after the first ping still ends in a compaction.
func TestClientLateOverflowCompacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	over := `{"error":{"code":400,"message":"request (40000 tokens) exceeds the available context size (20000 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":40000,"n_ctx":20000}}`
	f := newFake(t, tooling("Read", `{"file_path":`+quote(filepath.Join(dir, "a.txt"))+`}`),
		answer{status: 400, json: over, before: 400 * time.Millisecond}, answer{status: 400, json: over},
		answer{chunks: textStream("end_turn", "<summary>read a.txt, it holds alpha</summary>")},
		answer{chunks: textStream("end_turn", "finished after compaction")})
	s, addr := serveShim(t, Target{BaseURL: f.URL, Route: RouteNative, Kind: LlamaCPP, Window: 20000}, Options{PingEvery: 50 * time.Millisecond})
	run := runClient(t, s.Env(addr), dir, "Read a.txt and say what it holds.")
	if run.exit != 0 || !strings.HasPrefix(gjson.Get(run.result, "result").Str, "finished") || s.Summary().Outcomes[Overflowed] != 2 {
		t.Errorf("exit %d, summary %+v, result %s", run.exit, s.Summary(), run.result)
	}
}

// extends checks that what follows a turn has all of its front, and nothing else changed but the answer's size.
func extends(before, after string) error {
	cut := func(b string) (string, string) {
		for m := range members(b) {
			if m.key == "messages" {
				rest := dropMembers("{"+strings.TrimPrefix(b[m.end:], ","), func(k string) bool { return k == "max_tokens" })
				return b[:m.end-1], rest
			}
		}
		return "", ""
	}
	a, aRest := cut(before)
	b, bRest := cut(after)
	if !strings.HasPrefix(b, a) {
		i := 0
		for i < min(len(a), len(b)) && a[i] == b[i] {
			i++
		}
		return fmt.Errorf("front differs at %d of %d: %q then %q", i, len(a), clip(a[max(0, i-40):], 160), clip(b[max(0, i-40):], 160))
	}
	if aRest != bRest {
		return fmt.Errorf("what follows the messages differs:\n%s\n%s", clip(aRest, 300), clip(bRest, 300))
	}
	return nil
}
