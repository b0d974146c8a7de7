package shim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// randomTurns makes a conversation nobody would write on purpose: any order of roles, calls without results, results
// without calls or in the wrong turn, empty and odd contents, white space between the values.
func randomTurns(r *rand.Rand, n int) []string {
	var open []string
	id := 0
	space := func() string { return []string{"", " ", "\n  "}[r.IntN(3)] }
	textOf := func() string {
		return []string{`"a"`, `""`, `"x\u00e9\"\\ud83d"`, `"` + strings.Repeat("w ", r.IntN(9)) + `"`, `"\ud83d\ude00"`}[r.IntN(5)]
	}
	block := func(role string) string {
		switch k := r.IntN(9); {
		case k < 3:
			return `{"type":"text",` + space() + `"text":` + textOf() + `}`
		case k == 3:
			return `{"type":"text","text":` + textOf() + `,"cache_control":{"type":"ephemeral"}}`
		case k < 7 && role == "assistant":
			id++
			open = append(open, fmt.Sprint("t", id))
			return fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"Edit","input":{"n":%d.0,%s"big":1234567890123456789%d,"s":%s}}`, id, id, space(), id%10, textOf())
		case k < 7 && len(open) > 0:
			at := r.IntN(len(open))
			done := open[at]
			if r.IntN(5) > 0 {
				open = append(open[:at], open[at+1:]...)
			}
			return `{"tool_use_id":"` + done + `","type":"tool_result","content":` + []string{textOf(), `[{"type":"text","text":` + textOf() + `}]`, "[]"}[r.IntN(3)] + `}`
		case k == 7 && role == "assistant":
			return `{"type":"thinking","thinking":"hm","signature":""}`
		case k == 8:
			return `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}`
		default:
			return `{"type":"text","text":"plain"}`
		}
	}
	var out []string
	for range n {
		role := []string{"user", "user", "assistant", "assistant", "assistant", "system", "developer"}[r.IntN(7)]
		content := textOf()
		if r.IntN(4) > 0 {
			var parts []string
			for range r.IntN(4) {
				parts = append(parts, space()+block(role))
			}
			content = "[" + strings.Join(parts, ",") + space() + "]"
		}
		out = append(out, space()+`{"role":"`+role+`",`+space()+`"content":`+content+`}`)
	}
	return out
}

// Whatever the conversation, what is forwarded is in order and append-only, and what need not change did not.
func TestSpliceRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		turns := randomTurns(r, 1+r.IntN(12))
		change := func(*spliceRules) {}
		if seed%3 == 1 {
			change = func(x *spliceRules) { x.textOnly, x.alternate = true, true }
		}
		body := func(k int) string { return `{"messages":[` + strings.Join(turns[:k], ",") + `],"max_tokens":5}` }
		got, _ := spliced(t, body(len(turns)), change)
		check := func(err error) {
			if err != nil {
				t.Fatalf("seed %d: %v\nin  %s\nout %s", seed, err, body(len(turns)), got)
			}
		}
		check(inOrder(got))
		check(inputsKept(body(len(turns)), got))
		if again, _ := spliced(t, got, change); again != got {
			check(fmt.Errorf("not stable: %s", again))
		}
		// A request ends with a turn of the client; the next one goes on with the model's answer.
		for k := 1; k < len(turns); k++ {
			role := func(i int) string { return gjson.Get(turns[i], "role").Str }
			if role(k-1) == "assistant" || role(k) != "assistant" {
				continue
			}
			front, _ := spliced(t, body(k), change)
			check(extends(front, got))
		}
	}
}

// inOrder checks roles and that every call is answered once, in the turn behind it, before anything else.
func inOrder(body string) error {
	var open []string
	msgs := gjson.Get(body, "messages").Array()
	for i, m := range msgs {
		role := m.Get("role").Str
		switch role {
		case "assistant":
			if len(open) > 0 && msgs[i-1].Get("role").Str != "assistant" {
				return fmt.Errorf("calls %v never answered", open)
			}
			for _, b := range m.Get("content").Array() {
				if b.Get("type").Str == "tool_use" {
					open = append(open, b.Get("id").Str)
				}
			}
		case "user":
			results, others := 0, 0
			for _, b := range m.Get("content").Array() {
				if b.Get("type").Str != "tool_result" {
					others++
					continue
				}
				results++
				id := b.Get("tool_use_id").Str
				at := -1
				for j, o := range open {
					if o == id {
						at = j
					}
				}
				if at < 0 {
					return fmt.Errorf("result of %s without an open call", id)
				}
				open = append(open[:at], open[at+1:]...)
			}
			if results > 0 && others > 0 || results == 0 && len(open) > 0 {
				return fmt.Errorf("turn %d mixes results and text, or comes before the results of %v", i, open)
			}
		default:
			return fmt.Errorf("role %q", role)
		}
	}
	if len(msgs) > 0 && msgs[len(msgs)-1].Get("role").Str == "assistant" || len(open) > 0 {
		return fmt.Errorf("ends with the assistant or open calls %v", open)
	}
	return nil
}

// inputsKept checks that tool inputs were forwarded byte for byte.
func inputsKept(in, out string) error {
	for _, m := range gjson.Get(in, "messages").Array() {
		for _, b := range m.Get("content").Array() {
			if input := b.Get("input").Raw; b.Get("type").Str == "tool_use" && !strings.Contains(out, input) {
				return fmt.Errorf("input changed: %s", input)
			}
		}
	}
	return nil
}
