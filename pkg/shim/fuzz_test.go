package shim

import (
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// FuzzSSE: however a stream is cut, the same events come out.
func FuzzSSE(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "event: x\r\ndata: 1\r\ndata: 2\r\n\r\n", ": c\n\ndata", "data:\xff\n\n\n", "\uFEFFdata: {\"a\":1}\n\n"} {
		f.Add(s, uint8(1))
	}
	f.Fuzz(func(t *testing.T, s string, size uint8) {
		read := func(r io.Reader) (out []frame) {
			sse := newSSEReader(r)
			for range 1000 {
				x, err := sse.next()
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Fatal(err)
					}
					return out
				}
				out = append(out, x)
			}
			return out
		}
		whole := read(strings.NewReader(s))
		cut := read(&pieces{s: s, n: int(size%7) + 1})
		if len(whole) != len(cut) {
			t.Fatalf("%d events whole, %d cut", len(whole), len(cut))
		}
		for i := range whole {
			if whole[i] != cut[i] {
				t.Fatalf("event %d: %q and %q", i, whole[i], cut[i])
			}
		}
	})
}

// pieces hands out n bytes at a time.
type pieces struct {
	s string
	n int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.s == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(p.n, len(b))], p.s)
	p.s = p.s[n:]
	return n, nil
}

// FuzzSplice: valid JSON in, valid JSON and UTF-8 out, on every way; no turn keeps a role servers refuse; splicing what
// was spliced changes nothing more; tool inputs survive byte for byte.
func FuzzSplice(f *testing.F) {
	k := begin("/d", true)
	for i := range 8 {
		f.Add(k.body("1"))
		k.step(i)
	}
	for _, s := range []string{
		`{"messages":[]}`, `{"messages":[{"role":"x","content":{}}],"messages":[{}]}`, `{"messages":[1,"a",null,[]],"tools":[1],"system":[2]}`,
		`{"messages":[{"content":[{"type":"tool_result"}]}]}`, "{\"messages\":[{\"role\":\"user\",\"content\":\"\xed\xa0\x80\\ud800\"}]}", `{"m\u0065ssages":[{"role":"system","content":"s"}]}`,
	} {
		f.Add(s)
	}
	s, err := New(Target{BaseURL: "http://127.0.0.1:1", Route: RouteChat}, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		clean, _ := sanitize(body)
		if !utf8.ValidString(clean) {
			t.Fatal("not UTF-8")
		}
		if checkJSON(clean) != nil {
			return
		}
		for _, rules := range []spliceRules{{local: true}, {}, {chat: true}, {local: true, textOnly: true, alternate: true, chat: true, drop: learnedDrops("metadata", "thinking.display", "tools.*.strict", "messages.*.content.*.citations")}} {
			r := parseRequest(clean)
			r.splice(rules, &notes{})
			if !gjson.Valid(r.body) || !utf8.ValidString(r.body) {
				t.Fatalf("rules %+v\nin  %s\nout %s", rules, clean, r.body)
			}
			if rules.chat {
				if out := s.toChat(r.body, &notes{}); !gjson.Valid(out) || !utf8.ValidString(out) {
					t.Fatalf("in  %s\nout %s", clean, out)
				}
			}
			if !rules.local {
				continue
			}
			for i := range r.conv.turns {
				if role := r.conv.turns[i].role; role != "user" && role != "assistant" {
					t.Fatalf("role %q left", role)
				}
			}
			again := parseRequest(r.body)
			again.splice(rules, &notes{})
			if again.body != r.body {
				t.Fatalf("not stable\n1 %s\n2 %s", r.body, again.body)
			}
		}
	})
}

// FuzzAnswer: whatever a server streams, the client gets valid events in a valid order, and no tool call whose input is
// not a whole object.
func FuzzAnswer(f *testing.F) {
	for _, s := range [][]string{
		textStream("end_turn", "hi"), toolStream("tool_use", "Edit", `{"path":"x"}`), toolStream("max_tokens", "Edit", `{"pa`),
		textStream("end_turn", `{"name":"Edit","arguments":{"path":"x"}}`),
		{chunk(`{"content":"a","tool_calls":[{"index":0,"function":{"name":"Edit","arguments":"{}"}}]}`, "stop"), chatEnd},
	} {
		f.Add(strings.Join(s, ""), false)
		f.Add(strings.Join(s, ""), true)
	}
	req := parseRequest(ask(""))
	f.Fuzz(func(t *testing.T, stream string, chat bool) {
		c := &checker{t: t}
		p := &repairer{req: req, out: c, n: &notes{}, ids: newIDSet(), schemas: newSchemaCache(), rec: &Record{}, local: true}
		read := readStream
		if chat {
			read = func(r io.Reader, h handler) error { return readChatStream(r, req, h) }
		}
		if read(strings.NewReader(stream), p.handle) == nil {
			p.settle()
			p.end()
			if !c.stopped {
				t.Fatal("no end")
			}
		}
	})
}

// checker is a client that believes nothing.
type checker struct {
	t       *testing.T
	started bool
	stopped bool
	open    string
	input   strings.Builder
	index   int64
}

func (c *checker) emit(typ, data string) error {
	if !gjson.Valid(data) || strings.ContainsAny(data, "\n\r") || text(data, "type") != typ {
		c.t.Fatalf("event %s: %s", typ, data)
	}
	if c.stopped || (typ == "message_start") == c.started {
		c.t.Fatalf("%s out of order", typ)
	}
	switch typ {
	case "message_start":
		c.started = true
		if !gjson.Get(data, "message.usage").IsObject() || gjson.Get(data, "message.id").Str == "" {
			c.t.Fatalf("start: %s", data)
		}
	case "content_block_start":
		if c.open != "" || gjson.Get(data, "index").Int() != c.index {
			c.t.Fatalf("block %s, open %q, want index %d", data, c.open, c.index)
		}
		c.open = orElse(gjson.Get(data, "content_block.type").Str, "?")
		c.input.Reset()
	case "content_block_delta":
		if c.open == "" || gjson.Get(data, "index").Int() != c.index {
			c.t.Fatalf("delta outside a block: %s", data)
		}
		if kind := text(get(data, "delta"), "type"); !takes(c.open, kind) && c.open != "?" {
			c.t.Fatalf("%s in a block of type %s", kind, c.open)
		}
		c.input.WriteString(gjson.Get(data, "delta.partial_json").Str)
	case "content_block_stop":
		if c.open == "tool_use" && c.input.Len() > 0 && !gjson.Valid(c.input.String()) {
			c.t.Fatalf("tool input %s", c.input.String())
		}
		c.open = ""
		c.index++
	case "message_delta":
		if gjson.Get(data, "delta.stop_reason").Str == "" || !gjson.Get(data, "usage.output_tokens").Exists() {
			c.t.Fatalf("delta: %s", data)
		}
	case "message_stop":
		c.stopped = true
	}
	return nil
}

// FuzzReadCall: a printed call that is accepted is an offered tool with an object; the gate never lets one slip that
// reading accepts.
func FuzzReadCall(f *testing.F) {
	for _, s := range []string{`{"name":"Edit","arguments":{"path":"x"}}`, "```json\n{{\"name\":\"Edit\",\"arguments\":{\"path\":\"x\"}}}\n```", "<tool_call>\n{\"name\":\"Edit\",\"input\":{\"path\":\"\n\"}}", `{"name":"Edit","arguments":{"path":"p","line":1e999999999}}`} {
		f.Add(s)
	}
	req := parseRequest(ask(""))
	schemas := newSchemaCache()
	f.Fuzz(func(t *testing.T, s string) {
		c, kind := readCall(s, req, schemas)
		g := callGate{}
		held := g.feed(s)
		if kind == goodCall && (c.name != "Edit" || !gjson.Valid(c.args) || !strings.HasPrefix(c.args, "{")) {
			t.Fatalf("%q gave %+v", s, c)
		}
		if kind == goodCall && !held {
			t.Fatalf("%q is a call but was let through as text", s)
		}
	})
}
