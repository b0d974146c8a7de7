package shim

import "strings"

// A conversation is the messages array taken apart without loss: emitting it again gives the same bytes, so a rule
// that changes one block leaves all others as the client wrote them.
type conversation struct {
	turns []turn
	close string // from behind the last turn to the end of the array
}

type turn struct {
	sep        string // what stands before the turn: comma and white space
	raw        string // as received
	head, tail string // what stands around the content
	role       string
	blocks     []block
	close      string // from behind the last block to the end of the content
	changed    bool   // emit from blocks, not raw
}

// block is one content block. A content given as a string is one text block whose literal is kept in lit.
type block struct {
	sep string
	raw string
	lit string
	typ string
}

const (
	userHead = `{"role":"user","content":`
	userTail = `}`
)

func parseConversation(raw string) conversation {
	c := conversation{close: "]", turns: make([]turn, 0, strings.Count(raw, `"role"`))}
	last := 0
	for e := range elements(raw) {
		t := parseTurn(raw[e.valAt:e.end])
		t.sep = raw[e.start:e.valAt]
		c.turns = append(c.turns, t)
		last = e.end
	}
	if last > 0 {
		c.close = raw[last:]
	}
	return c
}

func parseTurn(raw string) turn {
	t := turn{raw: raw, close: "]"}
	for m := range members(raw) {
		switch m.key {
		case "role":
			t.role = unquote(raw[m.valAt:m.end])
		case "content":
			t.head, t.tail = raw[:m.valAt], raw[m.end:]
			t.blocks, t.close = parseContent(raw[m.valAt:m.end])
		}
	}
	if t.head == "" { // no content at all: an empty turn, whatever else it holds
		t.head, t.tail, t.changed = `{"role":`+quote(t.role)+`,"content":`, "}", true
	}
	return t
}

func parseContent(raw string) ([]block, string) {
	switch {
	case strings.HasPrefix(raw, `"`):
		return []block{{lit: raw, typ: "text"}}, "]"
	case strings.HasPrefix(raw, "["):
		var blocks []block
		last := 1
		for e := range elements(raw) {
			b := raw[e.valAt:e.end]
			blocks = append(blocks, block{sep: raw[e.start:e.valAt], raw: b, typ: text(b, "type")})
			last = e.end
		}
		return blocks, raw[last:]
	default:
		return nil, "]"
	}
}

// json is the block as an object.
func (b *block) json() string {
	if b.raw == "" {
		return `{"type":"text","text":` + b.lit + `}`
	}
	return b.raw
}

// literal is the text of a text block that holds nothing but text, as a JSON string.
func (b *block) literal() (string, bool) {
	if b.lit != "" {
		return b.lit, true
	}
	if b.typ != "text" {
		return "", false
	}
	lit := ""
	for m := range members(b.raw) {
		switch m.key {
		case "type":
		case "text":
			lit = b.raw[m.valAt:m.end]
		default:
			return "", false
		}
	}
	return lit, strings.HasPrefix(lit, `"`)
}

// textLiteral is the text of any text block as a JSON string, "" for other blocks.
func (b *block) textLiteral() string {
	if b.lit != "" {
		return b.lit
	}
	if b.typ != "text" {
		return ""
	}
	return literal(b.raw, "text")
}

func (b *block) empty() bool { return b.typ == "text" && len(b.textLiteral()) <= 2 }

func textBlock(s string) block { return block{typ: "text", lit: quote(s)} }

// emit writes the array again.
func (c *conversation) emit(b *strings.Builder) {
	b.WriteByte('[')
	for i := range c.turns {
		t := &c.turns[i]
		b.WriteString(separator(t.sep, i == 0))
		t.emit(b)
	}
	b.WriteString(c.close)
}

func (t *turn) emit(b *strings.Builder) {
	if !t.changed {
		b.WriteString(t.raw)
		return
	}
	b.WriteString(t.head)
	if lit, ok := t.single(); ok {
		b.WriteString(lit)
	} else {
		b.WriteByte('[')
		for i := range t.blocks {
			b.WriteString(separator(t.blocks[i].sep, i == 0))
			b.WriteString(t.blocks[i].json())
		}
		b.WriteString(t.close)
	}
	b.WriteString(t.tail)
}

// single is the literal of a turn that is one plain text. The client sends its last user turn as an array with a cache
// mark and the same turn as a string one request later; both have to be forwarded alike, so the string form wins.
func (t *turn) single() (string, bool) {
	if len(t.blocks) != 1 {
		return "", false
	}
	if t.role == "assistant" && t.blocks[0].lit == "" {
		return "", false
	}
	return t.blocks[0].literal()
}

// separator makes what stood before a value fit its new place.
func separator(sep string, first bool) string {
	comma := strings.IndexByte(sep, ',')
	switch {
	case first && comma >= 0:
		return strings.TrimLeft(sep[comma+1:], " \n\t\r")
	case !first && comma < 0:
		return ","
	default:
		return sep
	}
}

// toolUses lists the ids of the turn's tool calls in order.
func (t *turn) toolUses() []string {
	var ids []string
	for i := range t.blocks {
		if t.blocks[i].typ == "tool_use" {
			ids = append(ids, text(t.blocks[i].raw, "id"))
		}
	}
	return ids
}
