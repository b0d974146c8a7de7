package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"legwork/pkg/llm/llmtest"
)

// G06: what a command prints stays out of the protocol, and no command reads the client's messages.
func TestProtocolStaysCleanG06(t *testing.T) {
	posix(t)
	s := llmtest.NewOpenAI(t, llmtest.Config{Models: []llmtest.Model{{ID: "m"}}})
	u := newUser(t, endpoint("gpu", s.URL))
	in, client := io.Pipe()
	server, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := Main([]string{"mcp"}, u.env, in, out, io.Discard)
		out.Close()
		ended <- code
	}()
	lines := bufio.NewReader(server)
	send := func(line string) {
		t.Helper()
		if _, err := fmt.Fprintln(client, line); err != nil {
			t.Fatal(err)
		}
	}
	recv := func(id string) string {
		t.Helper()
		line, err := lines.ReadString('\n')
		if err != nil || !json.Valid([]byte(line)) || gjson.Get(line, "id").Raw != id {
			t.Fatalf("wanted the answer to %s, got %q, %v", id, line, err)
		}
		return line
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	recv("1")
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": map[string]any{
		"name": "offload", "arguments": map[string]any{
			"question": "what came?", "command": `echo '{"jsonrpc":"2.0","id":99,"result":{}}'; echo '{"jsonrpc":"2.0","id":98,"result":{}}' >&2; cat; exit 4`,
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	send(string(call))
	if reply := gjson.Get(recv("2"), "result.content.0.text").Str; !strings.HasPrefix(reply, "exit 4") {
		t.Errorf("the reply is %q", reply)
	}
	send(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	recv("3")
	// D14: a key never comes back, neither in an answer nor in an error.
	for i, reply := range []llmtest.Reply{{Text: "the key is the-secret-key-1"}, {Status: 400, Body: `{"error":{"message":"bad key the-secret-key-1"}}`}} {
		s.Script(reply)
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"local_complete","arguments":{"prompt":"hi"}}}`, 4+i))
		if got := recv(fmt.Sprint(4 + i)); strings.Contains(got, "the-secret-key-1") || !strings.Contains(got, "key") {
			t.Errorf("the reply is %s", got)
		}
	}
	client.Close()
	if code := <-ended; code != 0 {
		t.Errorf("exit %d", code)
	}
}
