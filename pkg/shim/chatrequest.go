package shim

import (
	"strings"
)

// toChat translates a spliced body for servers that only have /v1/chat/completions. Texts, schemas and arguments are
// copied as they stand, so numbers and escapes survive here too.
func (s *Shim) toChat(body string, n *notes) string {
	r := parseRequest(body)
	drop := s.learned.drops().top
	var b strings.Builder
	b.Grow(len(body) + len(body)/8 + 256)
	b.WriteByte('{')
	key := func(k string) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + k + `":`)
	}
	put := func(k, raw string) {
		if raw != "" && !drop[k] {
			key(k)
			b.WriteString(raw)
		}
	}
	maxKey := "max_tokens"
	if s.learned.has(lessonNewMax) {
		maxKey = "max_completion_tokens"
	}
	put("model", get(body, "model"))
	key("messages")
	chatMessages(&b, r, s.target.TextOnly || s.learned.has(lessonTextOnly))
	for m := range members(body) {
		raw := body[m.valAt:m.end]
		switch m.key {
		case "max_tokens":
			put(maxKey, raw)
		case "temperature", "top_p", "top_k":
			put(m.key, raw)
		case "stop_sequences":
			put("stop", raw)
		case "stream":
			put("stream", raw)
			if raw == "true" {
				put("stream_options", `{"include_usage":true}`)
			}
		case "tools":
			put("tools", chatTools(r.tools))
		case "tool_choice":
			put("tool_choice", chatChoice(raw))
			if get(raw, "disable_parallel_tool_use") == "true" {
				put("parallel_tool_calls", "false")
			}
		case "output_config":
			put("response_format", chatFormat(get(raw, "format")))
		case "model", "messages", "system", "metadata", "thinking", "context_management":
		default:
			n.add("not translated: " + clip(m.key, 40))
		}
	}
	b.WriteByte('}')
	return b.String()
}

func chatTools(tools []tool) string {
	var out []string
	for _, t := range tools {
		if t.schema == "" {
			continue // runs on the real API's side
		}
		f := `{"name":` + quote(t.name)
		if d := get(t.raw, "description"); d != "" {
			f += `,"description":` + d
		}
		f += `,"parameters":` + t.schema + `}`
		out = append(out, `{"type":"function","function":`+f+`}`)
	}
	if len(out) == 0 {
		return ""
	}
	return "[" + strings.Join(out, ",") + "]"
}

func chatChoice(raw string) string {
	switch text(raw, "type") {
	case "any":
		return `"required"`
	case "tool":
		return `{"type":"function","function":{"name":` + quote(text(raw, "name")) + `}}`
	case "none":
		return `"none"`
	case "auto":
		return `"auto"`
	default:
		return ""
	}
}

// chatFormat keeps a demanded answer schema.
func chatFormat(raw string) string {
	schema := get(raw, "schema")
	if text(raw, "type") != "json_schema" || schema == "" {
		return ""
	}
	return `{"type":"json_schema","json_schema":{"name":"answer","schema":` + schema + `}}`
}

func chatMessages(b *strings.Builder, r *request, textOnly bool) {
	b.WriteByte('[')
	if sys := chatSystem(r.system); sys != "" {
		b.WriteString(`{"role":"system","content":` + sys + `}`)
	}
	for i := range r.conv.turns {
		if t := &r.conv.turns[i]; t.role == "assistant" {
			chatAssistant(b, t)
		} else {
			chatUser(b, t, textOnly)
		}
	}
	b.WriteByte(']')
}

// chatMessage begins a message with what all have; the caller writes the content and the brace that ends it.
func chatMessage(b *strings.Builder, head string) {
	if s := b.String(); s[len(s)-1] != '[' {
		b.WriteByte(',')
	}
	b.WriteString(head)
}

// chatSystem joins the system blocks to one string literal.
func chatSystem(raw string) string {
	if strings.HasPrefix(raw, `"`) {
		return raw
	}
	var lits []string
	for e := range elements(raw) {
		if lit := literal(raw[e.valAt:e.end], "text"); lit != "" {
			lits = append(lits, lit)
		}
	}
	return joinLiterals(lits, "")
}

// joinLiterals makes one string literal of several without decoding them. sep is put in as it is.
func joinLiterals(lits []string, sep string) string {
	if len(lits) <= 1 {
		return strings.Join(lits, "")
	}
	var b strings.Builder
	writeLiterals(&b, lits, sep)
	return b.String()
}

func writeLiterals(b *strings.Builder, lits []string, sep string) {
	b.WriteByte('"')
	for i, lit := range lits {
		if i > 0 {
			b.WriteString(sep)
		}
		if len(lit) >= 2 {
			b.WriteString(lit[1 : len(lit)-1])
		}
	}
	b.WriteByte('"')
}

func chatAssistant(b *strings.Builder, t *turn) {
	chatMessage(b, `{"role":"assistant","content":`)
	var lits []string
	calls := 0
	for i := range t.blocks {
		switch t.blocks[i].typ {
		case "text":
			lits = append(lits, t.blocks[i].textLiteral())
		case "tool_use":
			calls++
		}
	}
	if len(lits) == 0 {
		b.WriteString("null")
	} else {
		writeLiterals(b, lits, "")
	}
	sep := `,"tool_calls":[`
	for i := range t.blocks {
		if c := &t.blocks[i]; c.typ == "tool_use" {
			b.WriteString(sep + `{"id":` + orElse(get(c.raw, "id"), `""`) + `,"type":"function","function":{"name":` +
				orElse(get(c.raw, "name"), `""`) + `,"arguments":` + quote(orElse(get(c.raw, "input"), "{}")) + `}}`)
			sep = ","
		}
	}
	if calls > 0 {
		b.WriteByte(']')
	}
	b.WriteByte('}')
}

// chatUser gives the tool messages of a turn, then one user message for everything else.
func chatUser(b *strings.Builder, t *turn, textOnly bool) {
	var rest []block
	images := false
	for i := range t.blocks {
		c := &t.blocks[i]
		switch c.typ {
		case "tool_result":
			text, pictures := chatResult(c.raw)
			chatMessage(b, `{"role":"tool","tool_call_id":`+orElse(get(c.raw, "tool_use_id"), `""`)+`,"content":`)
			b.WriteString(text)
			b.WriteByte('}')
			if !textOnly {
				rest, images = append(rest, pictures...), images || len(pictures) > 0
			}
		case "image":
			rest, images = append(rest, *c), true
		case "text":
			rest = append(rest, *c)
		}
	}
	if len(rest) == 0 {
		return
	}
	chatMessage(b, `{"role":"user","content":`)
	if images {
		chatParts(b, rest)
	} else {
		lits := make([]string, len(rest))
		for i := range rest {
			lits[i] = rest[i].textLiteral()
		}
		writeLiterals(b, lits, `\n\n`)
	}
	b.WriteByte('}')
}

// chatParts writes text and images as typed parts.
func chatParts(b *strings.Builder, blocks []block) {
	sep := "["
	for i := range blocks {
		if c := &blocks[i]; c.typ == "text" {
			b.WriteString(sep + `{"type":"text","text":` + orElse(c.textLiteral(), `""`) + `}`)
		} else {
			b.WriteString(sep + `{"type":"image_url","image_url":{"url":` + orElse(imageURL(c.raw), `""`) + `}}`)
		}
		sep = ","
	}
	b.WriteByte(']')
}

// chatResult is a tool result as one string, and the images in it: a tool message cannot hold those.
func chatResult(raw string) (string, []block) {
	content := get(raw, "content")
	if strings.HasPrefix(content, `"`) {
		return content, nil
	}
	var lits []string
	var pictures []block
	for e := range elements(content) {
		part := content[e.valAt:e.end]
		switch typ := text(part, "type"); typ {
		case "text":
			if lit := literal(part, "text"); lit != "" {
				lits = append(lits, lit)
			}
		case "image":
			pictures = append(pictures, block{raw: part, typ: typ})
			lits = append(lits, `"[image below]"`)
		}
	}
	return orElse(joinLiterals(lits, `\n`), `""`), pictures
}

func imageURL(raw string) string {
	src := get(raw, "source")
	switch text(src, "type") {
	case "base64":
		data := literal(src, "data")
		if data == "" {
			return ""
		}
		return joinLiterals([]string{`"data:"`, orElse(literal(src, "media_type"), `"image/png"`), `";base64,"`, data}, "")
	case "url":
		return literal(src, "url")
	default:
		return ""
	}
}
