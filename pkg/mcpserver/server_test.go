package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/pkg/offload"
	"legwork/pkg/proc"
)

var update = flag.Bool("update", false, "rewrite the snapshot of tools/list")

// peer talks to a server over pipes, as a client does.
type peer struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	done chan error
}

func serve(t *testing.T, v *Verbs, autoUse ...string) *peer {
	t.Helper()
	s, err := New(Options{Version: "0", Verbs: v, AutoUse: autoUse, Children: &proc.Group{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{t: t, in: inW, out: bufio.NewReader(outR), done: make(chan error, 1)}
	go func() {
		p.done <- s.Serve(t.Context(), inR, outW)
		outW.Close()
	}()
	t.Cleanup(func() { inW.Close() })
	p.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	p.recv()
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

type message struct {
	ID     any    `json:"id"`
	Method string `json:"method"`
	Params struct {
		Token    any     `json:"progressToken"`
		Progress float64 `json:"progress"`
		Message  string  `json:"message"`
	} `json:"params"`
	Result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Tools json.RawMessage `json:"tools"`
	} `json:"result"`
}

func (m message) text() string {
	if len(m.Result.Content) == 0 {
		return ""
	}
	return m.Result.Content[0].Text
}

func (p *peer) recv() message {
	p.t.Helper()
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		p.t.Fatalf("%v in %q", err, line)
	}
	return m
}

func call(id int, tool, args, meta string) string {
	if meta != "" {
		meta = `,"_meta":` + meta
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, id, tool, args, meta)
}

// The session tests run one after another: mcp-go keeps one session for all stdio servers of a process.
func TestSession(t *testing.T) {
	t.Run("snapshot of tools/list", testSnapshot)
	t.Run("arguments", testArguments)
	t.Run("a panic is an error result", testPanic)
	t.Run("32 calls wait, ping and cancel work", testManyCalls)
	t.Run("a cancellation that comes at once", testEarlyCancel)
	t.Run("progress", testProgress)
	t.Run("hooks", testHooks)
	t.Run("prompts", testPrompts)
	t.Run("a long argument", testLongArgument)
	t.Run("the end does not wait for a stuck handler", testStuckHandler)
}

func testSnapshot(t *testing.T) {
	p := serve(t, &Verbs{}, "offload")
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	raw := p.recv().Result.Tools
	var list []map[string]any
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "tools.json")
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
		t.Errorf("tools/list changed; look at it and run with -update (-want +got):\n%s", diff)
	}
	if len(raw) > 12_000 {
		t.Errorf("tools/list has %d bytes, more than 12000", len(raw))
	}
	checkTools(t, list)
}

// G07, A37: what would hide a tool or break a session.
func checkTools(t *testing.T, list []map[string]any) {
	t.Helper()
	for _, tl := range list {
		name, _ := tl["name"].(string)
		if full := "mcp__plugin_legwork_legwork__" + name; len(full) > 64 {
			t.Errorf("%s is %d characters long", full, len(full))
		}
		schema, _ := tl["inputSchema"].(map[string]any)
		if schema["type"] != "object" || schema["anyOf"] != nil || schema["$ref"] != nil || schema["additionalProperties"] != false {
			t.Errorf("%s: schema %v", name, schema)
		}
		props, _ := schema["properties"].(map[string]any)
		for arg, s := range props {
			if m, _ := s.(map[string]any); m["type"] == nil || strings.HasPrefix(fmt.Sprint(m["type"]), "[") {
				t.Errorf("%s.%s: type %v", name, arg, m["type"])
			}
		}
		ann, _ := tl["annotations"].(map[string]any)
		for _, h := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title"} {
			if ann[h] == nil {
				t.Errorf("%s: %s is not set", name, h)
			}
		}
		if d, _ := tl["description"].(string); d == "" || len(d) > 300 {
			t.Errorf("%s: description of %d characters", name, len(d))
		}
	}
}

func testArguments(t *testing.T) {
	v := &Verbs{Offload: func(_ context.Context, r offload.Request, _ func(string)) (*offload.Result, error) {
		return nil, &offload.InputError{Msg: "got " + r.Question}
	}}
	p := serve(t, v)
	for _, c := range []struct{ tool, args, want string }{
		{"offload", `{"question":"q","cmd":"ls"}`, `offload: unknown argument "cmd"; known: question, command, files`},
		{"offload", `{"question":3}`, `question: must be a string, got number`},
		{"offload", `{"question":"q","files":"a"}`, `files: must be a list of strings, got string`},
		{"offload", `[]`, `must be one JSON object`},
		{"offload_files", `{"question":"q"}`, `files: missing`},
		{"offload", `{"question":"why"}`, `got why`},
	} {
		p.send(call(1, c.tool, c.args, ""))
		if m := p.recv(); !strings.Contains(m.text(), c.want) || !m.Result.IsError {
			t.Errorf("%s %s\n got %q (error %v)\nwant %q", c.tool, c.args, m.text(), m.Result.IsError, c.want)
		}
	}
}

func testPanic(t *testing.T) {
	v := &Verbs{Offload: func(context.Context, offload.Request, func(string)) (*offload.Result, error) { panic("boom") }}
	p := serve(t, v)
	p.send(call(1, "offload", `{"question":"q","command":"x"}`, ""))
	if m := p.recv(); !m.Result.IsError || !strings.Contains(m.text(), "boom") {
		t.Errorf("%+v", m)
	}
}

// blocking is an offload that waits for its context and counts what began and ended.
func blocking(began, ended chan string) *Verbs {
	return &Verbs{Offload: func(ctx context.Context, r offload.Request, _ func(string)) (*offload.Result, error) {
		began <- r.Question
		<-ctx.Done()
		ended <- r.Question
		return nil, ctx.Err()
	}}
}

// G03: many calls wait on models while ping is answered and a cancellation arrives.
func testManyCalls(t *testing.T) {
	const n = 40
	began, ended := make(chan string, n), make(chan string, n)
	p := serve(t, blocking(began, ended))
	for i := 1; i <= n; i++ {
		p.send(call(i, "offload", fmt.Sprintf(`{"question":"q%d","command":"x"}`, i), ""))
	}
	for range n {
		<-began
	}
	p.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	if m := p.recv(); m.ID != "ping" {
		t.Fatalf("got %+v before the ping's answer", m)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"test"}}`)
	if q := <-ended; q != "q7" {
		t.Errorf("%s ended instead of q7", q)
	}
	if m := p.recv(); m.ID != float64(7) || !strings.Contains(m.text(), "cancelled") {
		t.Errorf("%+v", m)
	}
}

// mcp-go loses a cancellation that arrives before a worker has begun the call; ours does not.
func testEarlyCancel(t *testing.T) {
	began, ended := make(chan string, 200), make(chan string, 200)
	p := serve(t, blocking(began, ended))
	for i := 1; i <= 50; i++ {
		p.send(call(i, "offload", `{"question":"q","command":"x"}`, "") + "\n" +
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
		p.recv()
	}
}

func testProgress(t *testing.T) {
	release := make(chan struct{})
	v := &Verbs{Offload: func(_ context.Context, r offload.Request, say func(string)) (*offload.Result, error) {
		for i := range 1000 {
			say(fmt.Sprintf("step %d", i))
		}
		if r.Command == "long" {
			<-release
		}
		return nil, errors.New("done")
	}}
	p := serve(t, v)
	p.send(call(1, "offload", `{"question":"q","command":"long"}`, `{"progressToken":"tok"}`))
	first := p.recv()
	if first.Method != "notifications/progress" || first.Params.Token != "tok" || first.Params.Message != "offload: step 999" {
		t.Errorf("%+v", first)
	}
	close(release)
	if m := p.recv(); m.ID != float64(1) {
		t.Errorf("one burst gave more than one message: %+v", m)
	}
	// None for a call that is over before the first is due, and none without a token.
	for id := 2; id <= 30; id++ {
		meta := `{"progressToken":5}`
		if id%2 == 0 {
			meta = ""
		}
		p.send(call(id, "offload", `{"question":"q","command":"short"}`, meta))
		if m := p.recv(); m.ID != float64(id) {
			t.Fatalf("got %+v instead of the reply", m)
		}
	}
}

// G01: a long line does not end the session.
func testLongArgument(t *testing.T) {
	v := &Verbs{Offload: func(_ context.Context, r offload.Request, _ func(string)) (*offload.Result, error) {
		return nil, fmt.Errorf("%d bytes", len(r.Question))
	}}
	p := serve(t, v)
	p.send(call(1, "offload", `{"question":"`+strings.Repeat("a", 2<<20)+`","command":"x"}`, ""))
	if m := p.recv(); m.text() != "2097152 bytes" {
		t.Errorf("%.80q", m.text())
	}
	p.send(call(2, "offload", `{"question":"`+strings.Repeat("a", 9<<20)+`","command":"x"}`, ""))
	if m := p.recv(); !strings.Contains(m.text(), "the limit is") {
		t.Errorf("%.80q", m.text())
	}
}

// G04: a handler that ignores its context does not hold the exit.
func testStuckHandler(t *testing.T) {
	began := make(chan struct{})
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	v := &Verbs{Offload: func(context.Context, offload.Request, func(string)) (*offload.Result, error) {
		close(began)
		<-stuck
		return nil, nil
	}}
	p := serve(t, v)
	p.send(call(1, "offload", `{"question":"q","command":"x"}`, ""))
	<-began
	p.in.Close()
	select {
	case err := <-p.done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server waits for the handler")
	}
}

func TestToolNamesAreKnown(t *testing.T) {
	t.Parallel()
	names := ToolNames()
	for _, want := range []string{"offload", "offload_files", "configure"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %v", want, names)
		}
	}
}
