package llmtest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A real llama-server turns the tool script into a tool_use block, and the fake
// streams the same events.
func TestLiveToolCall(t *testing.T) {
	const body = `{"model":"x","max_tokens":60,"temperature":0,"stream":true,"messages":[{"role":"user","content":"hi"}],` +
		`"tools":[{"name":"pick","description":"d","input_schema":{"type":"object","properties":{"a":{"type":"boolean"}}}}]}`
	real := StartLlamaServer(t, WriteGGUF(t, t.TempDir(), GGUF{Name: "tool", Script: ToolScript}), "-np", "1", "-c", "4096")
	fake := NewLlamaServer(t, Config{})
	fake.Script(Reply{Tools: []ToolUse{{ID: "x", Name: "pick", Input: []byte(`{"a":true}`)}}})
	var events [2]string
	for i, url := range []string{real.URL, fake.URL} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "event: "); ok && !strings.HasSuffix(events[i], name) {
				events[i] += name
			}
		}
		if text := string(b); !strings.Contains(text, `"name":"pick"`) || !strings.Contains(text, `"stop_reason":"tool_use"`) {
			t.Errorf("%s: %s", url, text)
		}
	}
	if events[0] != events[1] {
		t.Errorf("the fake differs from the real server:\n%s\n%s", events[1], events[0])
	}
}
