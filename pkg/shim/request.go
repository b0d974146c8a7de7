package shim

import (
	"slices"
	"strconv"
	"strings"
)

// request is one body of the client, understood as far as the shim needs it, and what is forwarded for it.
type request struct {
	in        string // as received, made valid UTF-8
	model     string
	stream    bool
	maxTokens int // asked for; 0 when absent
	tools     []tool
	choice    string // tool_choice type, "" when absent
	turns     int
	required  bool // tool_choice any or tool

	system string // raw value
	conv   conversation
	body   string   // forwarded, without the clamp
	key    [32]byte // of the conversation, see conversationKey
	tokens int      // prompt tokens: counted, or the best known estimate
	exact  bool     // tokens come from the server's own count
}

// tool is one tool as offered to the server.
type tool struct {
	name   string
	raw    string
	schema string
}

// parseRequest reads body, which must be valid JSON.
func parseRequest(body string) *request {
	r := &request{in: body}
	for m := range members(body) {
		raw := body[m.valAt:m.end]
		switch m.key {
		case "model":
			r.model = unquote(raw)
		case "stream":
			r.stream = raw == "true"
		case "max_tokens":
			r.maxTokens, _ = strconv.Atoi(raw)
		case "system":
			r.system = raw
		case "messages":
			r.conv = parseConversation(raw)
			r.turns = len(r.conv.turns)
		case "tools":
			r.tools = parseTools(raw)
		case "tool_choice":
			r.choice = text(raw, "type")
			r.required = r.choice == "any" || r.choice == "tool"
		}
	}
	return r
}

func parseTools(raw string) []tool {
	var out []tool
	for e := range elements(raw) {
		t := raw[e.valAt:e.end]
		out = append(out, tool{name: text(t, "name"), raw: t, schema: get(t, "input_schema")})
	}
	return out
}

// tool finds an offered tool by its exact name.
func (r *request) tool(name string) (tool, bool) {
	for _, t := range r.tools {
		if t.name == name && t.schema != "" {
			return t, true
		}
	}
	return tool{}, false
}

// spliceRules are what one server needs, from its family and from what it refused before.
type spliceRules struct {
	model     string
	local     bool
	textOnly  bool
	alternate bool
	drop      dropSet
	dropTools map[string]bool
	chat      bool
}

// splice fills r.body: the client's bytes with only what the server cannot take changed.
func (r *request) splice(rules spliceRules, n *notes) {
	r.conv.normalizeBlocks(blockRules{textOnly: rules.textOnly, drop: rules.drop.blocks, anthropic: !rules.local, chat: rules.chat}, n)
	if rules.local {
		r.conv.normalizeRuns(rules.alternate, n)
		r.conv.endWithUser(n)
	}
	var e edits
	removed := map[string]bool{}
	for m := range members(r.in) {
		if m.key == "messages" {
			e.produce(m.valAt, m.end, r.conv.emit)
			continue
		}
		raw := r.in[m.valAt:m.end]
		with, keep := r.field(m.key, raw, rules, n)
		switch {
		case !keep:
			removed[m.key] = true
		case with != raw:
			e.replace(m.valAt, m.end, with)
		}
	}
	if len(removed) > 0 {
		e = slices.DeleteFunc(e, func(x edit) bool { return removed[r.keyAt(x.from)] })
		e.remove(r.in, removed)
	}
	r.body = e.apply(r.in)
	r.key = conversationKey(r)
}

// keyAt is the name of the top-level member whose value starts at off.
func (r *request) keyAt(off int) string {
	for m := range members(r.in) {
		if m.valAt == off {
			return m.key
		}
	}
	return ""
}

// field is what becomes of one top-level member.
func (r *request) field(key, raw string, rules spliceRules, n *notes) (string, bool) {
	if key == "model" {
		if rules.model != "" && rules.model != r.model {
			return quote(rules.model), true
		}
		return raw, true
	}
	if !rules.local {
		return raw, true
	}
	if key == "betas" || rules.drop.top[key] {
		n.add("dropped " + key)
		return "", false
	}
	switch key {
	case "system":
		r.system = spliceSystem(raw, rules.drop.system, n)
		return r.system, r.system != ""
	case "tools":
		return r.spliceTools(raw, rules, n)
	}
	if sub := rules.drop.nested[key]; sub != nil && strings.HasPrefix(raw, "{") {
		raw = dropMembers(raw, func(k string) bool {
			if sub[k] {
				n.add("dropped " + key + "." + k)
			}
			return sub[k]
		})
	}
	return raw, true
}

// billingHeader starts a line the client puts in front of its prompt. It differs between runs, so no prefix cache
// would ever hit behind it.
const billingHeader = "x-anthropic-billing-header:"

// spliceSystem drops the billing block and empty blocks, and ends every block but the last with a newline, because
// servers join the blocks without a separator. "" means that nothing is left.
func spliceSystem(raw string, drop map[string]bool, n *notes) string {
	if strings.HasPrefix(raw, `"`) {
		s := unquote(raw)
		if !strings.HasPrefix(s, billingHeader) {
			return raw
		}
		n.add("dropped the billing line")
		_, rest, _ := strings.Cut(s, "\n")
		if rest == "" {
			return ""
		}
		return quote(rest)
	}
	var kept []block
	last := 0
	for e := range elements(raw) {
		b := block{sep: raw[e.start:e.valAt], raw: raw[e.valAt:e.end]}
		b.typ = text(b.raw, "type")
		last = e.end
		if strings.HasPrefix(text(b.raw, "text"), billingHeader) {
			n.add("dropped the billing line")
			continue
		}
		if b.empty() {
			n.add("empty text dropped")
			continue
		}
		if len(drop) > 0 {
			b.raw = dropMembers(b.raw, func(k string) bool { return drop[k] })
		}
		kept = append(kept, b)
	}
	if last == 0 {
		return raw
	}
	if len(kept) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteByte('[')
	for i, b := range kept {
		out.WriteString(separator(b.sep, i == 0))
		if i < len(kept)-1 {
			b.raw = endWithNewline(b.raw)
		}
		out.WriteString(b.raw)
	}
	out.WriteString(raw[last:])
	return out.String()
}

// endWithNewline adds a newline to the text of a text block that does not end in one.
func endWithNewline(raw string) string {
	lit := literal(raw, "text")
	if len(lit) < 3 || strings.HasSuffix(unquote(lit), "\n") {
		return raw
	}
	return setMember(raw, "text", lit[:len(lit)-1]+`\n"`)
}

// spliceTools leaves out what the server cannot use: tools without a schema (they run on the real API's side), tools
// the caller dropped, keys the server refused.
func (r *request) spliceTools(raw string, rules spliceRules, n *notes) (string, bool) {
	var out strings.Builder
	var kept []tool
	last := 0
	for e := range elements(raw) {
		t := raw[e.valAt:e.end]
		last = e.end
		name := text(t, "name")
		schema := get(t, "input_schema")
		if schema == "" || rules.dropTools[name] {
			n.add("tool left out: " + name)
			continue
		}
		if len(rules.drop.tools) > 0 {
			t = dropMembers(t, func(k string) bool { return rules.drop.tools[k] })
		}
		out.WriteString(separator(raw[e.start:e.valAt], len(kept) == 0))
		out.WriteString(t)
		kept = append(kept, tool{name: name, raw: t, schema: schema})
	}
	if last == 0 {
		return raw, true
	}
	r.tools = kept
	if len(kept) == 0 {
		return "", false
	}
	return "[" + out.String() + raw[last:], true
}

// clamp returns the body with max_tokens lowered to what the window leaves. vLLM refuses a larger one, and a server
// that does not would end the answer early anyway. A guess may be far too high, and an answer cut for it would be our
// fault, so it leaves an eighth of the window; the server has the last word. The thinking budget has to stay below it.
func (r *request) clamp(body string, window int, n *notes) string {
	if window <= 0 || r.tokens <= 0 {
		return body
	}
	left := max(window-r.tokens, 1)
	if !r.exact {
		left = max(left, minAnswer, window/8)
	}
	if r.maxTokens > 0 && r.maxTokens <= left {
		return body
	}
	n.addf("max_tokens %d lowered to %d", r.maxTokens, left)
	body = setMember(body, "max_tokens", strconv.Itoa(left))
	thinking := get(body, "thinking")
	if budget, err := strconv.Atoi(get(thinking, "budget_tokens")); err == nil && budget >= left {
		n.add("thinking dropped: its budget is larger than the answer may be")
		body = dropMembers(body, func(k string) bool { return k == "thinking" })
	}
	return body
}
