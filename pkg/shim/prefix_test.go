package shim

import (
	"fmt"
	"strings"
	"testing"
)

// A talk is a conversation in the shapes the real client sends, as recorded from it (own text): the first user turn is
// an array, a system turn follows it, the newest block carries the moving cache mark, tool results come as strings and
// arrays with the keys in the client's order, thinking is replayed, and system turns appear in the middle.
type talk struct {
	turns []string
	dir   string
	marks bool // prompt caching on: cache marks, and the last text turn is an array instead of a string
}

// body is the request for what was said so far.
func (k *talk) body(billing string) string {
	turns := make([]string, len(k.turns))
	copy(turns, k.turns)
	if k.marks {
		turns[len(turns)-1] = mark(turns[len(turns)-1])
	}
	return `{"model":"local","messages":[` + strings.Join(turns, ",") + `],"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1.` + billing +
		`; cc_entrypoint=sdk-cli;"},{"type":"text","text":"You help with code."},{"type":"text","text":"Rules:\n- one\n- two"}],"tools":[` + editTool +
		`],"metadata":{"user_id":"{\"session\":\"` + billing + `\"}"},"max_tokens":8192,"output_config":{"effort":"high"},"stream":true}`
}

// mark puts the cache mark on the last block, turning a string content into an array as the client does.
func mark(turn string) string {
	content := get(turn, "content")
	const cc = `,"cache_control":{"type":"ephemeral"}}`
	if strings.HasPrefix(content, `"`) {
		return setMember(turn, "content", `[{"type":"text","text":`+content+cc+`]`)
	}
	return setMember(turn, "content", strings.TrimSuffix(content, "}]")+cc+"]")
}

func (k *talk) say(role, content string) {
	k.turns = append(k.turns, `{"role":"`+role+`","content":`+content+`}`)
}

// begin is the first request of a job.
func begin(dir string, marks bool) *talk {
	k := &talk{dir: dir, marks: marks}
	k.say("user", `[{"type":"text","text":"Notes for this session."},{"type":"text","text":"Fix the test"}]`)
	k.say("system", quote("# Environment\nWorking directory: "+dir+"\nPlatform: linux"))
	return k
}

// step adds one answer and what the client says to it. The kinds go round.
func (k *talk) step(i int) {
	id := fmt.Sprintf("toolu_%02d", i)
	use := `{"type":"tool_use","id":"` + id + `","name":"Edit","input":{"path":"` + k.dir + `/f.go","line":` + fmt.Sprint(1<<53+i) + `,"offset":105.0,"s":"\u00e9\ud83d\ude00"}}`
	result := `{"tool_use_id":"` + id + `","type":"tool_result","content":"line ` + fmt.Sprint(i) + `\n"}`
	switch i % 7 {
	case 0: // text, answered by a new prompt as a string
		k.say("assistant", `[{"type":"text","text":"Done `+fmt.Sprint(i)+`"}]`)
		k.say("user", quote(fmt.Sprintf("and now %d", i)))
	case 1: // thinking and a call
		k.say("assistant", `[{"type":"thinking","thinking":"hm","signature":""},`+use+`]`)
		k.say("user", `[`+result+`]`)
	case 2: // result as an array, an error
		k.say("assistant", `[{"type":"text","text":"next"},`+use+`]`)
		k.say("user", `[{"tool_use_id":"`+id+`","type":"tool_result","content":[{"type":"text","text":"x"}],"is_error":true}]`)
	case 3: // two calls, results in one turn, then a system turn (an MCP server connected)
		other := strings.ReplaceAll(use, id, id+"b")
		k.say("assistant", `[`+use+`,`+other+`]`)
		k.say("user", `[`+result+`,`+strings.ReplaceAll(result, id, id+"b")+`]`)
		k.say("system", quote("A server has connected: tools of it."))
	case 4: // a reminder beside the result
		k.say("assistant", `[`+use+`]`)
		k.say("user", `[`+result+`,{"type":"text","text":"reminder"}]`)
	case 5: // system turn as an array between two user turns
		k.say("assistant", `[{"type":"text","text":"ok"}]`)
		k.say("user", `[{"type":"text","text":"more"}]`)
		k.say("system", `[{"type":"text","text":"budget: 5"}]`)
	case 6: // image result
		k.say("assistant", `[`+use+`]`)
		k.say("user", `[{"tool_use_id":"`+id+`","type":"tool_result","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]}]`)
	}
}

// What is forwarded for a turn is the front of what is forwarded for the next: messages, and everything else equal.
func TestAppendOnly(t *testing.T) {
	t.Parallel()
	for _, marks := range []bool{false, true} {
		for name, change := range map[string]func(*spliceRules){
			"native":      nil,
			"text only":   func(r *spliceRules) { r.textOnly = true },
			"alternating": func(r *spliceRules) { r.alternate = true },
			"learned fields": func(r *spliceRules) {
				r.drop = learnedDrops("messages.*.content.*.is_error", "metadata", "output_config")
			},
		} {
			t.Run(fmt.Sprint(name, " marks ", marks), func(t *testing.T) {
				t.Parallel()
				k := begin("/home/u/a", marks)
				before := ""
				for i := range 30 {
					// The billing line changes between runs of the client (A02); with resumed jobs, in mid-conversation.
					got, _ := spliced(t, k.body(fmt.Sprint(i/10)), change)
					if name != "learned fields" {
						got = dropMembers(got, func(k string) bool { return k == "metadata" })
					}
					if before != "" {
						if err := extends(before, got); err != nil {
							t.Fatalf("turn %d: %v", i, err)
						}
					}
					before = got
					k.step(i)
				}
			})
		}
	}
}

// The same holds for what is translated.
func TestAppendOnlyTranslated(t *testing.T) {
	t.Parallel()
	s, err := New(Target{BaseURL: "http://127.0.0.1:1", Route: RouteChat}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := begin("/home/u/a", true)
	before := ""
	for i := range 30 {
		body, _ := spliced(t, k.body("x"), func(r *spliceRules) { r.chat = true })
		got := s.toChat(body, &notes{})
		if before != "" {
			if err := extends(before, got); err != nil {
				t.Fatalf("turn %d: %v", i, err)
			}
		}
		before = got
		k.step(i)
	}
}

// Two jobs in two directories share everything up to the first turn that names the directory.
func TestJobsShareTheFront(t *testing.T) {
	t.Parallel()
	a, _ := spliced(t, begin("/home/u/a", false).body("1"), nil)
	b, _ := spliced(t, begin("/srv/other/place", false).body("2"), nil)
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	if front := a[:i]; !strings.Contains(front, "Working directory: ") || !strings.Contains(front, "Fix the test") {
		t.Errorf("shared front ends at %d: %s", i, clip(a[max(0, i-80):], 120))
	}
	rest := func(s string) string {
		return dropMembers(s, func(k string) bool { return k == "messages" || k == "metadata" })
	}
	if rest(a) != rest(b) {
		t.Errorf("system or tools differ:\n%s\n%s", rest(a), rest(b))
	}
}
