package shim

import (
	"strings"
	"testing"
)

// Each row is one answer of a server and what the client may see of it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	callText := `{"name": "Edit", "arguments": {"path": "a.go", "line": 3}}`
	const called = `[tool:Edit{"path": "a.go", "line": 3}] tool_use`
	start := textStream("end_turn")[0]
	rows := []struct {
		name    string
		chunks  []string
		want    string
		changed string
	}{
		{"plain text passes", textStream("end_turn", "hel", "lo"), "[text:hello] end_turn", ""},
		{"a tool call passes", toolStream("tool_use", "Edit", `{"pa`, `th":"x"}`), `[tool:Edit{"path":"x"}] tool_use`, ""},
		{"A16 bare call", textStream("end_turn", callText[:9], callText[9:]), called, "became a tool call"},
		{"A16 fenced call", textStream("end_turn", "```json\n"+callText+"\n```\n"), called, "became a tool call"},
		{"A16 tagged call", textStream("end_turn", "<tool_call>", callText, "\n</tool_call>"), called, "became a tool call"},
		{"A16 fence never closed", textStream("end_turn", "```\n"+callText), called, "became a tool call"},
		{"A16 function and parameters", textStream("end_turn", `{"function":"Edit","parameters":{"path":"b"}}`), `[tool:Edit{"path":"b"}] tool_use`, "became a tool call"},
		{"A16 input", textStream("end_turn", `{"name":"Edit","input":{"path":"b"}}`), `[tool:Edit{"path":"b"}] tool_use`, "became a tool call"},
		{"A16 OpenAI's nesting, arguments as a string", textStream("end_turn", `{"type":"function","function":{"name":"Edit","arguments":"{\"path\":\"b\"}"}}`), `[tool:Edit{"path":"b"}] tool_use`, "became a tool call"},
		{"A16 doubled outer braces", textStream("end_turn", `{{"name":"Edit","arguments":{"path":"b"}}}`), `[tool:Edit{"path":"b"}] tool_use`, "became a tool call"},
		{"A16 all braces doubled", textStream("end_turn", `{{"name":"Edit","arguments":{{"path":"b{{c}}"}}}}`), `[tool:Edit{"path":"b{{c}}"}] tool_use`, "became a tool call"},
		{"A16 raw newline in a string", textStream("end_turn", "{\"name\":\"Edit\",\"arguments\":{\"path\":\"a\nb\"}}"), `[tool:Edit{"path":"a\nb"}] tool_use`, "became a tool call"},
		{"A16 numbers keep their digits", textStream("end_turn", `{"name":"Edit","arguments":{"path":"p","line":12345678901234567890}}`), `[tool:Edit{"path":"p","line":12345678901234567890}] tool_use`, "became a tool call"},
		{"prose around a call stays text", textStream("end_turn", "I would do:\n```json\n"+callText+"\n```"), "[text:I would do:\n```json\n" + callText + "\n```] end_turn", ""},
		{"prose behind a call stays text", textStream("end_turn", callText, "\nDone."), "[text:" + callText + "\nDone.] end_turn", ""},
		{"other JSON stays text", textStream("end_turn", `{"name":"pkg","version":"1"}`), `[text:{"name":"pkg","version":"1"}] end_turn`, ""},
		{"an unknown tool stays text", textStream("end_turn", `{"name":"Nope","arguments":{}}`), `[text:{"name":"Nope","arguments":{}}] end_turn`, ""},
		{"wrong arguments stay text", textStream("end_turn", `{"name":"Edit","arguments":{"line":"x"}}`), `[text:{"name":"Edit","arguments":{"line":"x"}}] end_turn`, ""},
		{
			"tool_use without input",
			[]string{
				start,
				ev(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"Edit"}}`),
				ev(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"q\"}"}}`),
				ev(`{"type":"content_block_stop","index":0}`), ev(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}`), ev(`{"type":"message_stop"}`),
			},
			`[tool:Edit{"path":"q"}] tool_use`, "input added",
		},
		{"stop reason does not fit the call", toolStream("end_turn", "Edit", `{"path":"x"}`), `[tool:Edit{"path":"x"}] tool_use`, "stop reason"},
		{"a cut call never looks complete", toolStream("max_tokens", "Edit", `{"path":"x`), "[text:[The call of Edit was not executed: cut off by the output limit after 10 characters.]] max_tokens", "withheld"},
		{"a call cut before its arguments", toolStream("max_tokens", "Edit"), "[text:[The call of Edit was not executed: cut off by the output limit before its arguments.]] max_tokens", "withheld"},
		{"a call whole on the last token", toolStream("max_tokens", "Edit", `{"path":"x"}`), `[tool:Edit{"path":"x"}] tool_use`, "stop reason max_tokens became tool_use"},
		{"a stop sequence that hit", append(textStream("", "hi")[:4:4], ev(`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":"X"},"usage":{"output_tokens":1}}`), ev(`{"type":"message_stop"}`)), "[text:hi] stop_sequence", "stop reason end_turn became stop_sequence"},
		{"missing ends", textStream("end_turn", "hi")[:4], "", "connection"},
		{"missing block end and message end", append(textStream("end_turn", "hi")[:3:3], ev(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`)), "[text:hi] end_turn", "missing end of a block"},
		{"missing block start", append([]string{start, textStream("", "hi")[2]}, textStream("end_turn")[2:]...), "[text:hi] end_turn", "missing start of a block"},
		{"no usage at all", []string{
			ev(`{"type":"message_start","message":{"id":"z","type":"message","role":"assistant","content":[]}}`), textStream("", "x")[1], textStream("", "hey")[2],
			ev(`{"type":"content_block_stop","index":0}`), ev(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`), ev(`{"type":"message_stop"}`),
		}, "[text:hey] end_turn", "usage filled in"},
		{"A08 lines and letters cut anywhere", cutEverywhere(strings.Join(textStream("end_turn", "grüße 🙂"), "")), "[text:grüße 🙂] end_turn", ""},
		{"CRLF and comments", []string{strings.ReplaceAll(": hello\n\n"+strings.Join(textStream("end_turn", "x"), ""), "\n", "\r\n")}, "[text:x] end_turn", ""},
		{"a second delta with the usage only", append(append(textStream("end_turn", "hi")[:5:5], ev(`{"type":"message_delta","delta":{},"usage":{"output_tokens":9}}`)), ev(`{"type":"message_stop"}`)), "[text:hi] end_turn", ""},
		{"white space before a printed call", append([]string{
			start, ev(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
			ev(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\n\n"}}`), ev(`{"type":"content_block_stop","index":0}`),
			ev(`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`), ev(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":` + quote(callText) + `}}`),
			ev(`{"type":"content_block_stop","index":1}`),
		}, textStream("end_turn")[3:]...), "[text:\n\n " + called[1:], "became a tool call"},
		{"thinking before a call", append([]string{
			start, ev(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`),
			ev(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`), ev(`{"type":"content_block_stop","index":0}`),
			ev(`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`), ev(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":` + quote(callText) + `}}`),
			ev(`{"type":"content_block_stop","index":1}`),
		}, textStream("end_turn")[3:]...), `[thinking:hm tool:Edit{"path": "a.go", "line": 3}] tool_use`, "became a tool call"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, newFake(t, answer{chunks: row.chunks}), func(_ *Target, o *Options) { o.NoSecondAsk = true })
			got := r.post(t, ask(""))
			rec := r.record(t, 0)
			if row.want == "" {
				if rec.Outcome != Cut || rec.Calls != 0 {
					t.Fatalf("outcome %s, body %s", rec.Outcome, got.body)
				}
				return
			}
			if b := blocks(got.message(t)); b != row.want {
				t.Errorf("client saw %s\nwant       %s", b, row.want)
			}
			if changed := strings.Join(rec.Changed, "; "); (row.changed == "") != (changed == "") || !strings.Contains(changed, row.changed) {
				t.Errorf("changed = %q, want %q", changed, row.changed)
			}
		})
	}
}

// cutEverywhere makes every byte a write of its own.
func cutEverywhere(s string) []string {
	out := make([]string, len(s))
	for i := range len(s) {
		out[i] = s[i : i+1]
	}
	return out
}
