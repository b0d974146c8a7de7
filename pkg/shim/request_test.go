package shim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// spliced is what a local server gets for a body.
func spliced(t *testing.T, body string, change func(*spliceRules)) (string, []string) {
	t.Helper()
	clean, _ := sanitize(body)
	if err := checkJSON(clean); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	rules := spliceRules{local: true}
	if change != nil {
		change(&rules)
	}
	r := parseRequest(clean)
	var n notes
	r.splice(rules, &n)
	if !gjson.Valid(r.body) {
		t.Fatalf("not JSON: %s", r.body)
	}
	return r.body, n.list()
}

// Each row is the messages array as the client sends it and as the server gets it.
func TestMessages(t *testing.T) {
	t.Parallel()
	const call = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Edit","input":{}}]}`
	const result = `{"type":"tool_result","tool_use_id":"t1","content":"ok"}`
	rows := []struct{ name, in, want string }{
		{
			"nothing to do", `[{"role":"user","content":"a"}, {"role":"assistant","content":"b"} ,{"role":"user","content":"c"}]`,
			`[{"role":"user","content":"a"}, {"role":"assistant","content":"b"} ,{"role":"user","content":"c"}]`,
		},
		{
			"A01 late system turn", `[{"role":"user","content":"a"},{"role":"system","content":"s"},{"role":"user","content":"b"}]`,
			`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"\n\ns"},{"type":"text","text":"b"}]}]`,
		},
		{
			"A01 system turn as an array", `[{"role":"user","content":"a"},{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]}]`,
			`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"\n\ns"}]}]`,
		},
		{
			"system turn first", `[{"role":"system","content":"s"},{"role":"user","content":"a"}]`,
			`[{"role":"user","content":[{"type":"text","text":"s"},{"type":"text","text":"a"}]}]`,
		},
		{
			"system turn behind a result", `[{"role":"user","content":"a"},` + call + `,{"role":"user","content":[` + result + `]},{"role":"system","content":"s"}]`,
			`[{"role":"user","content":"a"},` + call + `,{"role":"user","content":[` + result + `]},{"role":"user","content":"s"}]`,
		},
		{
			"unknown role", `[{"role":"user","content":"a"},{"role":"ctx","content":"s"}]`,
			`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"\n\ns"}]}]`,
		},
		{
			"A03 A04 numbers untouched", `[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"id":12345678901234567890,"offset":105.0,"x":1e2}}]},{"role":"user","content":[` + result + `]},{"role":"system","content":"s"}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"id":12345678901234567890,"offset":105.0,"x":1e2}}]},{"role":"user","content":[` + result + `]},{"role":"user","content":"s"}]`,
		},
		{
			"A06 half a surrogate pair", `[{"role":"user","content":"x\ud83dy\\ud83d \ud83d\ude00 \ude00"}]`,
			`[{"role":"user","content":"x\ufffdy\\ud83d \ud83d\ude00 \ufffd"}]`,
		},
		{"bytes that are not UTF-8", "[{\"role\":\"user\",\"content\":\"x\xff\"}]", `[{"role":"user","content":"x` + "\uFFFD" + `"}]`},
		{"moving cache mark", `[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]`, `[{"role":"user","content":"a"}]`},
		{
			"text before its result", `[{"role":"user","content":"a"},` + call + `,{"role":"user","content":[{"type":"text","text":"t"},` + result + `]}]`,
			`[{"role":"user","content":"a"},` + call + `,{"role":"user","content":[` + result + `]},{"role":"user","content":"t"}]`,
		},
		{
			"result in a later turn", `[{"role":"user","content":"a"},` + call + `,{"role":"user","content":"t"},{"role":"user","content":[` + result + `]}]`,
			`[{"role":"user","content":"a"},` + call + `,{"role":"user","content":[` + result + `]},{"role":"user","content":"t"}]`,
		},
		{"orphaned result", `[{"role":"user","content":[` + result + `]}]`, `[{"role":"user","content":"Result of an earlier tool call: ok"}]`},
		{
			"orphaned call", `[{"role":"user","content":"a"},` + call + `,{"role":"user","content":"stop"}]`,
			`[{"role":"user","content":"a"},` + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"(no result: the call was interrupted)"}]},{"role":"user","content":"stop"}]`,
		},
		{
			"call at the end", `[{"role":"user","content":"a"},` + call + `]`,
			`[{"role":"user","content":"a"},` + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"(no result: the call was interrupted)"}]}]`,
		},
		{
			"A23 trailing assistant text", `[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"Continue."}]`,
		},
		{"A23 trailing empty assistant", `[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":""}]}]`, `[{"role":"user","content":"a"}]`},
		{"empty text beside another", `[{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"a"}]}]`, `[{"role":"user","content":"a"}]`},
		{"empty user turn", `[{"role":"user","content":[]}]`, `[{"role":"user","content":"(no text)"}]`},
		{"content null", `[{"role":"user","content":"a"},{"role":"assistant","content":null},{"role":"user","content":"b"}]`, `[{"role":"user","content":"a"},{"role":"assistant","content":"(no text)"},{"role":"user","content":"b"}]`},
		{
			"A21 unsigned thinking is the local server's own", `[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":null},{"type":"text","text":"b"}]},{"role":"user","content":"c"}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":null},{"type":"text","text":"b"}]},{"role":"user","content":"c"}]`,
		},
		{
			"A21 thinking signed elsewhere", `[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"` + strings.Repeat("A", 200) + `"},{"type":"text","text":"b"}]},{"role":"user","content":"c"}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":"c"}]`,
		},
		{
			"tool reference, unknown block", `[{"role":"user","content":"a"},` + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"tool_reference","tool_name":"Grep"},{"type":"odd"}]}]}]`,
			`[{"role":"user","content":"a"},` + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"Tool Grep is available now."},{"type":"text","text":"[a block of type odd was left out]"}]}]}]`,
		},
		{"text that is no string", `[{"role":"user","content":[{"type":"text","text":{"":""}},{"type":"text","text":7}]}]`, `[{"role":"user","content":"(no text)"}]`},
		{"document", `[{"role":"user","content":[{"type":"document","title":"D","source":{"type":"text","media_type":"text/plain","data":"body"}}]}]`, `[{"role":"user","content":"D:\nbody"}]`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, _ := spliced(t, `{"model":"m","messages":`+row.in+`}`, nil)
			if diff := cmp.Diff(row.want, get(got, "messages")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestImagesForTextModels(t *testing.T) {
	t.Parallel()
	// A25: the same image at the top and inside a result; a string result stays a string.
	img := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJDRA=="}}`
	body := `{"messages":[{"role":"user","content":[` + img + `]},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}},{"type":"tool_use","id":"t2","name":"Read","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[` + img + `]},{"type":"tool_result","tool_use_id":"t2","content":"s"}]}]}`
	same, _ := spliced(t, body, nil)
	if same != body {
		t.Errorf("a model that sees images got\n%s", same)
	}
	got, _ := spliced(t, body, func(r *spliceRules) { r.textOnly = true })
	if strings.Contains(got, "QUJD") || strings.Count(got, "cannot see images") != 2 || !strings.Contains(got, `"tool_use_id":"t2","content":"s"}`) {
		t.Errorf("text-only model got\n%s", got)
	}
}

func TestTopLevelFields(t *testing.T) {
	t.Parallel()
	msgs := `"messages":[{"role":"user","content":"a"}]`
	rows := []struct {
		name, in, want string
		change         func(*spliceRules)
	}{
		{
			"A02 billing block", `{"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1.a8f;"},{"type":"text","text":"A"},{"type":"text","text":"B"}],` + msgs + `}`,
			`{"system":[{"type":"text","text":"A\n"},{"type":"text","text":"B"}],` + msgs + `}`, nil,
		},
		{"A02 billing line alone", `{"system":"x-anthropic-billing-header: cc_version=1;",` + msgs + `}`, `{` + msgs + `}`, nil},
		{"A20 betas array", `{"betas":["x"], ` + msgs + `}`, `{` + msgs + `}`, nil},
		{"model renamed in place", `{"model": "claude-x" ,` + msgs + `}`, `{"model": "qwen" ,` + msgs + `}`, func(r *spliceRules) { r.model = "qwen" }},
		{"A19 learned field", `{"context_management":{"edits":[]},` + msgs + `,"metadata":{"a":1.0}}`, `{` + msgs + `,"metadata":{"a":1.0}}`, func(r *spliceRules) { r.drop = learnedDrops("context_management") }},
		{"A19 not learned: untouched", `{"context_management":{"edits":[]},"output_config":{"effort":"high"},` + msgs + `}`, `{"context_management":{"edits":[]},"output_config":{"effort":"high"},` + msgs + `}`, nil},
		{"learned nested field", `{"thinking":{"type":"adaptive","display":"updates"},` + msgs + `}`, `{"thinking":{"type":"adaptive"},` + msgs + `}`, func(r *spliceRules) { r.drop = learnedDrops("thinking.display") }},
		{"learned tool field", `{"tools":[{"name":"E","defer_loading":true,"input_schema":{}}],` + msgs + `}`, `{"tools":[{"name":"E","input_schema":{}}],` + msgs + `}`, func(r *spliceRules) { r.drop = learnedDrops("tools.*.defer_loading") }},
		{"server tools left out", `{"tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"E","input_schema":{}}],` + msgs + `}`, `{"tools":[{"name":"E","input_schema":{}}],` + msgs + `}`, nil},
		{"A18 dropped tool", `{"tools":[{"name":"Bad","input_schema":{}},{"name":"E","input_schema":{}}],` + msgs + `}`, `{"tools":[{"name":"E","input_schema":{}}],` + msgs + `}`, func(r *spliceRules) { r.dropTools = map[string]bool{"Bad": true} }},
		{"A27 stop sequences", `{"stop_sequences":["\u000aX"],` + msgs + `}`, `{"stop_sequences":["\u000aX"],` + msgs + `}`, nil},
		{
			"the real API gets everything", `{"betas":["x"],"system":[{"type":"text","text":"x-anthropic-billing-header: 1"}],"messages":[{"role":"user","content":"a"},{"role":"system","content":"s"}]}`,
			`{"betas":["x"],"system":[{"type":"text","text":"x-anthropic-billing-header: 1"}],"messages":[{"role":"user","content":"a"},{"role":"system","content":"s"}]}`, func(r *spliceRules) { r.local = false },
		},
		{
			"A21 the real API gets no unsigned thinking", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":""},{"type":"text","text":"b"}]}]}`,
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]}]}`, func(r *spliceRules) { r.local = false },
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, _ := spliced(t, row.in, row.change)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func learnedDrops(words ...string) dropSet {
	l := &lessons{known: map[string]bool{}}
	for _, w := range words {
		l.known[w] = true
	}
	return l.drops()
}

func TestClamp(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, body   string
		tokens, want int
	}{
		{"A31 lowered to what is left", `{"max_tokens":64000}`, 16614, 20000 - 16614},
		{"fits", `{"max_tokens":100}`, 16614, 100},
		{"floor", `{"max_tokens":64000}`, 20000, 1},
		{"absent", `{}`, 16614, 20000 - 16614},
	}
	for _, row := range rows {
		r := parseRequest(row.body)
		r.tokens, r.exact = row.tokens, true
		got := r.clamp(row.body, 20000, &notes{})
		if n := gjson.Get(got, "max_tokens").Int(); int(n) != row.want {
			t.Errorf("%s: max_tokens %d, want %d", row.name, n, row.want)
		}
	}
	r := parseRequest(`{"max_tokens":64000}`)
	r.tokens = 30000
	if got := r.clamp(r.in, 20000, &notes{}); got != `{"max_tokens":2500}` {
		t.Errorf("a guess starves the answer: %s", got)
	}
	r = parseRequest(`{"max_tokens":2000}`)
	r.tokens = 30000
	if got := r.clamp(r.in, 20000, &notes{}); got != r.in {
		t.Errorf("a guess cuts a modest answer: %s", got)
	}
	r = parseRequest(`{"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":31999}}`)
	r.tokens = 15000
	if got := r.clamp(r.in, 20000, &notes{}); got != `{"max_tokens":5000}` {
		t.Errorf("thinking budget above the answer: %s", got)
	}
}
