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
	b.WriteByte('{')
	put := func(key, raw string) {
		if raw == "" || drop[key] {
			return
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + key + `":` + raw)
	}
	maxKey := "max_tokens"
	if s.learned.has(lessonNewMax) {
		maxKey = "max_completion_tokens"
	}
	put("model", get(body, "model"))
	put("messages", chatMessages(r, s.target.TextOnly || s.learned.has(lessonTextOnly)))
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

func chatMessages(r *request, textOnly bool) string {
	var out []string
	if sys := chatSystem(r.system); sys != "" {
		out = append(out, `{"role":"system","content":`+sys+`}`)
	}
	for i := range r.conv.turns {
		if t := &r.conv.turns[i]; t.role == "assistant" {
			out = append(out, chatAssistant(t))
		} else {
			out = append(out, chatUser(t, textOnly)...)
		}
	}
	return "[" + strings.Join(out, ",") + "]"
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
	if len(lits) == 0 {
		return ""
	}
	inner := make([]string, len(lits))
	for i, lit := range lits {
		inner[i] = lit[1 : len(lit)-1]
	}
	return `"` + strings.Join(inner, sep) + `"`
}

func chatAssistant(t *turn) string {
	var lits, calls []string
	for i := range t.blocks {
		b := &t.blocks[i]
		switch b.typ {
		case "text":
			lits = append(lits, b.textLiteral())
		case "tool_use":
			calls = append(calls, `{"id":`+orElse(get(b.raw, "id"), `""`)+`,"type":"function","function":{"name":`+
				orElse(get(b.raw, "name"), `""`)+`,"arguments":`+quote(orElse(get(b.raw, "input"), "{}"))+`}}`)
		}
	}
	out := `{"role":"assistant","content":` + orElse(joinLiterals(lits, ""), "null")
	if len(calls) > 0 {
		out += `,"tool_calls":[` + strings.Join(calls, ",") + `]`
	}
	return out + "}"
}

// chatUser gives the tool messages of a turn, then one user message for everything else.
func chatUser(t *turn, textOnly bool) []string {
	var out, parts []string
	var lits []string
	images := false
	add := func(b *block) {
		switch b.typ {
		case "text":
			lits = append(lits, b.textLiteral())
			parts = append(parts, `{"type":"text","text":`+b.textLiteral()+`}`)
		case "image":
			if url := imageURL(b.raw); url != "" {
				images = true
				parts = append(parts, `{"type":"image_url","image_url":{"url":`+url+`}}`)
			}
		}
	}
	for i := range t.blocks {
		b := &t.blocks[i]
		if b.typ != "tool_result" {
			add(b)
			continue
		}
		text, pictures := chatResult(b.raw)
		out = append(out, `{"role":"tool","tool_call_id":`+orElse(get(b.raw, "tool_use_id"), `""`)+`,"content":`+text+`}`)
		if !textOnly {
			for i := range pictures {
				add(&pictures[i])
			}
		}
	}
	switch {
	case images:
		out = append(out, `{"role":"user","content":[`+strings.Join(parts, ",")+`]}`)
	case len(lits) > 0:
		out = append(out, `{"role":"user","content":`+joinLiterals(lits, `\n\n`)+`}`)
	}
	return out
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
