package shim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

func chatRig(t *testing.T, a ...answer) *rig {
	t.Helper()
	return newRig(t, newFake(t, a...), func(target *Target, _ *Options) { target.Route, target.Kind = RouteChat, OpenAI })
}

func chunk(delta, finish string) string {
	if finish != "" {
		finish = `"` + finish + `"`
	} else {
		finish = "null"
	}
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

const chatEnd = "data: {\"id\":\"chatcmpl-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":80}}}\n\ndata: [DONE]\n\n"

// Each row is an Anthropic request and the chat request made of it.
func TestToChat(t *testing.T) {
	t.Parallel()
	rows := []struct{ name, in, want string }{
		{
			"everything", `{"model":"m","max_tokens":9,"stream":true,"temperature":0.50,"stop_sequences":["X"],"system":[{"type":"text","text":"A"},{"type":"text","text":"B\u00e9"}],` +
				`"tools":[{"name":"Edit","description":"d\"","input_schema":{"type":"object","x":1.0}}],"tool_choice":{"type":"any","disable_parallel_tool_use":true},"metadata":{"u":1},"thinking":{"type":"adaptive"},` +
				`"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":""},{"type":"text","text":"t"},{"type":"tool_use","id":"t1","name":"Edit","input":{"id":12345678901234567890,"o":105.0}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"r1"},{"type":"text","text":"r2"}]},{"type":"text","text":"go"}]}]}`,
			`{"model":"m","messages":[{"role":"system","content":"A\nB\u00e9"},{"role":"user","content":"hi"},` +
				`{"role":"assistant","content":"t","tool_calls":[{"id":"t1","type":"function","function":{"name":"Edit","arguments":"{\"id\":12345678901234567890,\"o\":105.0}"}}]},` +
				`{"role":"tool","tool_call_id":"t1","content":"r1\nr2"},{"role":"user","content":"go"}],` +
				`"max_tokens":9,"stream":true,"stream_options":{"include_usage":true},"temperature":0.50,"stop":["X"],` +
				`"tools":[{"type":"function","function":{"name":"Edit","description":"d\"","parameters":{"type":"object","x":1.0}}}],"tool_choice":"required","parallel_tool_calls":false}`,
		},
		{
			"images", `{"messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}},{"type":"image","source":{"type":"url","url":"http://x/y.png"}}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}},{"type":"image_url","image_url":{"url":"http://x/y.png"}}]}]}`,
		},
		{
			"image in a result", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]}]}]}`,
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"Read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t1","content":"[image below]"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]}]}`,
		},
		{
			"named tool, answer schema", `{"tool_choice":{"type":"tool","name":"Edit"},"output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}},"messages":[{"role":"user","content":"a"}]}`,
			`{"messages":[{"role":"user","content":"a"}],"tool_choice":{"type":"function","function":{"name":"Edit"}},"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"}}}}`,
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, err := New(Target{BaseURL: "http://127.0.0.1:1", Route: RouteChat}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			body, _ := spliced(t, row.in, func(r *spliceRules) { r.chat = true })
			if diff := cmp.Diff(row.want, s.toChat(body, &notes{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Each row is a chat answer and what the client sees of it.
func TestFromChat(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name   string
		chunks []string
		want   string
	}{
		{"text", []string{chunk(`{"role":"assistant","content":null}`, ""), chunk(`{"content":"he"}`, ""), chunk(`{"content":"y"}`, "stop"), chatEnd}, "[text:hey] end_turn"},
		{"A07 empty tool list beside text", []string{chunk(`{"content":"hi","tool_calls":[]}`, ""), chunk(`{}`, "stop"), chatEnd}, "[text:hi] end_turn"},
		{"tool call in pieces", []string{
			chunk(`{"content":"ok"}`, ""), chunk(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"Edit","arguments":""}}]}`, ""),
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}`, ""), chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}}]}`, ""), chunk(`{}`, "tool_calls"), chatEnd,
		}, `[text:ok tool:Edit{"path":"x"}] tool_use`},
		{"two calls, pieces alternating", []string{
			chunk(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"Edit","arguments":"{\"pa"}},{"index":1,"id":"c2","function":{"name":"Edit","arguments":"{\"path\":"}}]}`, ""),
			chunk(`{"tool_calls":[{"index":1,"function":{"arguments":"\"b\"}"}},{"index":0,"function":{"arguments":"th\":\"a\"}"}}]}`, ""), chunk(`{}`, "tool_calls"), chatEnd,
		}, `[tool:Edit{"path":"a"} tool:Edit{"path":"b"}] tool_use`},
		{"two calls with one index", []string{
			chunk(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"Edit","arguments":"{\"path\":\"a\"}"}}]}`, ""),
			chunk(`{"tool_calls":[{"index":0,"id":"c2","function":{"name":"Edit","arguments":"{\"path\":\"b\"}"}}]}`, "tool_calls"), chatEnd,
		}, `[tool:Edit{"path":"a"} tool:Edit{"path":"b"}] tool_use`},
		{"arguments as an object", []string{chunk(`{"tool_calls":[{"id":"c1","function":{"name":"Edit","arguments":{"path":"a"}}}]}`, "stop"), chatEnd}, `[tool:Edit{"path":"a"}] tool_use`},
		{"reasoning", []string{chunk(`{"reasoning_content":"hm"}`, ""), chunk(`{"content":"a"}`, "stop"), chatEnd}, "[thinking:hm text:a] end_turn"},
		{"length", []string{chunk(`{"content":"a"}`, "length"), chatEnd}, "[text:a] max_tokens"},
		{"A12 cut call by length", []string{chunk(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"Edit","arguments":"{\"pa"}}]}`, "length"), chatEnd}, "[text:[The call of Edit was not executed: cut off by the output limit after 4 characters.]] max_tokens"},
		{"A16 printed call", []string{chunk(`{"content":"{\"name\":\"Edit\","}`, ""), chunk(`{"content":"\"arguments\":{\"path\":\"x\"}}"}`, "stop"), chatEnd}, `[tool:Edit{"path":"x"}] tool_use`},
		{"no [DONE]", []string{chunk(`{"content":"a"}`, "stop")}, "[text:a] end_turn"},
		{"content as parts", []string{chunk(`{"content":[{"type":"text","text":"a"}]}`, "stop"), chatEnd}, "[text:a] end_turn"},
		{"cut everywhere", cutEverywhere(chunk(`{"content":"ü"}`, "stop") + chatEnd), "[text:ü] end_turn"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := chatRig(t, answer{chunks: row.chunks})
			got := r.post(t, ask(""))
			if b := blocks(got.message(t)); b != row.want {
				t.Errorf("client saw %s", b)
			}
			if p := r.fake.last(t).path; p != "/v1/chat/completions" {
				t.Errorf("asked %s", p)
			}
			if len(row.chunks) > 1 {
				if u := r.record(t, 0).Usage; u.Input != 20 || u.Cached != 80 || u.Output != 7 || u.Estimated {
					t.Errorf("usage %+v", u)
				}
			}
		})
	}
}

func TestFromChatErrors(t *testing.T) {
	t.Parallel()
	for name, chunks := range map[string][]string{
		"cut":           {chunk(`{"content":"a"}`, "")},
		"DONE too soon": {chunk(`{"content":"a"}`, ""), "data: [DONE]\n\n"},
		"error chunk":   {chunk(`{"content":"a"}`, ""), "data: {\"error\":{\"message\":\"boom\",\"code\":500}}\n\n"},
	} {
		got := chatRig(t, answer{chunks: chunks}).post(t, ask(""))
		if len(got.events) == 0 || got.events[len(got.events)-1].event != "error" {
			t.Errorf("%s: %s", name, got.body)
		}
	}
}

func TestFromWholeChat(t *testing.T) {
	t.Parallel()
	body := strings.Replace(ask(""), `"stream":true`, `"stream":false`, 1)
	rows := []struct{ name, json, want string }{
		{"text", `{"id":"c","model":"m","choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`, "[text:hi] end_turn"},
		{"call", `{"id":"c","model":"m","choices":[{"message":{"content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"Edit","arguments":"{\"path\":\"a\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`, `[tool:Edit{"path":"a"}] tool_use`},
		{"A16 printed call", `{"choices":[{"message":{"content":"{\"name\":\"Edit\",\"arguments\":{\"path\":\"a\"}}"},"finish_reason":"stop"}]}`, `[tool:Edit{"path":"a"}] tool_use`},
	}
	for _, row := range rows {
		r := chatRig(t, answer{json: row.json})
		got := r.post(t, body)
		if b := blocks(got.message(t)); b != row.want {
			t.Errorf("%s: %s", row.name, b)
		}
		if !gjson.Get(got.body, "usage.output_tokens").Exists() || gjson.Get(got.body, "usage.input_tokens").Int() == 0 {
			t.Errorf("%s: usage %s", row.name, got.body)
		}
	}
}

// The way out is chosen by asking once.
func TestRouteByProbe(t *testing.T) {
	t.Parallel()
	f := newFake(t, answer{chunks: []string{chunk(`{"content":"a"}`, "stop"), chatEnd}})
	f.messages = false
	r := newRig(t, f, func(target *Target, _ *Options) { target.Route = RouteAuto })
	for range 2 {
		if b := blocks(r.post(t, ask("")).message(t)); b != "[text:a] end_turn" {
			t.Error(b)
		}
	}
	if n := len(f.bodies()); n != 2 || r.record(t, 0).Route != RouteChat {
		t.Errorf("%d requests, route %s", n, r.record(t, 0).Route)
	}
	f = newFake(t, answer{status: 400, json: `{"error":{"message":"'messages' is required"}}`}, answer{chunks: textStream("end_turn", "n")})
	r = newRig(t, f, func(target *Target, _ *Options) { target.Route = RouteAuto })
	if b := blocks(r.post(t, ask("")).message(t)); b != "[text:n] end_turn" || r.record(t, 0).Route != RouteNative {
		t.Errorf("%s", b)
	}
}

// Fields of the chat form are learned too.
func TestChatLearning(t *testing.T) {
	t.Parallel()
	good := answer{chunks: []string{chunk(`{"content":"a"}`, "stop"), chatEnd}}
	f := newFake(t, answer{status: 400, json: `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`},
		answer{status: 400, json: `{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`}, good)
	r := newRig(t, f, func(target *Target, _ *Options) { target.Route = RouteChat })
	r.post(t, ask("")).message(t)
	last := f.last(t).body
	if gjson.Get(last, "max_completion_tokens").Int() != 100 || gjson.Get(last, "max_tokens").Exists() || gjson.Get(last, "stream_options").Exists() {
		t.Error(last)
	}
}
