package shim

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// blockRules are what one server needs done to single blocks.
type blockRules struct {
	textOnly bool            // images become notes
	drop     map[string]bool // keys the server refused on blocks
	anthropic,
	chat bool // translated afterwards: images in results are handled there
}

// foreignSignature is the length from which a thinking signature is taken for one of the real API's, which no local
// server made or can check. Local ones are empty or short.
const foreignSignature = 100

// normalizeBlocks applies the rules to every block and leaves no turn without one. An empty answer at the end is
// dropped; one in the middle is filled, because without it the turns around it would become one and the conversation
// would no longer be append-only.
func (c *conversation) normalizeBlocks(r blockRules, n *notes) {
	for i := range c.turns {
		c.turns[i].blockwise(r, n)
	}
	for last := len(c.turns) - 1; last >= 0 && c.turns[last].role == "assistant" && len(c.turns[last].blocks) == 0; last-- {
		n.add("empty assistant turn dropped")
		c.turns = c.turns[:last]
	}
	for i := range c.turns {
		if t := &c.turns[i]; len(t.blocks) == 0 {
			n.add("empty turn filled")
			t.blocks, t.changed = []block{textBlock(emptyTurn)}, true
		}
	}
}

func (t *turn) blockwise(r blockRules, n *notes) {
	kept := t.blocks[:0]
	for _, b := range t.blocks {
		nb, ok := b.normalize(r, n)
		if !ok {
			t.changed = true
			continue
		}
		if nb.raw != b.raw || nb.lit != b.lit {
			t.changed = true
		}
		kept = append(kept, nb)
	}
	t.blocks = kept
	if t.role == "user" && len(kept) == 1 && !r.anthropic {
		if _, ok := kept[0].literal(); ok {
			t.changed = true // emitted as a string, see turn.single
		}
	}
}

// normalize returns the block as the server should see it, or false to leave it out.
func (b block) normalize(r blockRules, n *notes) (block, bool) {
	if r.anthropic {
		if b.typ == "thinking" && text(b.raw, "signature") == "" {
			n.add("unsigned thinking dropped")
			return b, false
		}
		return b, true
	}
	if b.empty() {
		n.add("empty text dropped")
		return b, false
	}
	if b.raw != "" {
		b.raw = stripKeys(b.raw, r.drop)
	}
	switch b.typ {
	case "text", "tool_use":
		return b, true
	case "thinking":
		if r.chat || len(text(b.raw, "signature")) >= foreignSignature {
			n.add("thinking of another server dropped")
			return b, false
		}
		return b, true
	case "redacted_thinking":
		n.add("redacted thinking dropped")
		return b, false
	case "tool_result":
		b.raw = normalizeResult(b.raw, r, n)
		return b, true
	default:
		return normalizePart(b, r, n), true
	}
}

// normalizePart is normalize for what may also stand inside a tool result.
func normalizePart(b block, r blockRules, n *notes) block {
	switch b.typ {
	case "text":
		return b
	case "image":
		if !r.textOnly {
			return b
		}
		n.add("image left out")
		return b.note(imageNote(b.raw))
	case "document":
		n.add("document became text")
		return b.note(documentText(b.raw))
	case "tool_reference":
		n.add("tool reference became text")
		return b.note("Tool " + text(b.raw, "tool_name") + " is available now.")
	default:
		n.add("block of unknown type became a note")
		return b.note("[a block of type " + shortRole(b.typ) + " was left out]")
	}
}

func (b block) note(s string) block { return block{sep: b.sep, typ: "text", lit: quote(s)} }

// normalizeResult applies the rules inside a tool result. Its content stays a string or an array as it was.
func normalizeResult(raw string, r blockRules, n *notes) string {
	content := get(raw, "content")
	if !strings.HasPrefix(content, "[") {
		return raw
	}
	var e edits
	for x := range elements(content) {
		part := content[x.valAt:x.end]
		b := block{raw: stripKeys(part, r.drop), typ: text(part, "type")}
		b = normalizePart(b, r, n)
		if s := b.json(); s != part {
			e.replace(x.valAt, x.end, s)
		}
	}
	if len(e) == 0 {
		return raw
	}
	return setMember(raw, "content", e.apply(content))
}

// stripKeys drops the cache mark, which moves from turn to turn, and what the server refused before.
func stripKeys(raw string, drop map[string]bool) string {
	found := strings.Contains(raw, `"cache_control"`)
	for k := range drop {
		found = found || strings.Contains(raw, `"`+k+`"`)
	}
	if !found {
		return raw
	}
	return dropMembers(raw, func(k string) bool { return k == "cache_control" || drop[k] })
}

func imageNote(raw string) string {
	src := get(raw, "source")
	size := len(get(src, "data")) * 3 / 4
	return fmt.Sprintf("[%s of %d bytes left out: this model cannot see images]", orElse(text(src, "media_type"), "image"), size)
}

func documentText(raw string) string {
	src := get(raw, "source")
	title := orElse(text(raw, "title"), "document")
	switch text(src, "type") {
	case "text":
		return title + ":\n" + text(src, "data")
	case "content":
		return title + ":\n" + resultText(src)
	default:
		return fmt.Sprintf("[%s (%s) left out: this server cannot read it]", title, orElse(text(src, "media_type"), "unknown type"))
	}
}

// resultText is the text of a tool result, whatever shape its content has.
func resultText(raw string) string {
	content := get(raw, "content")
	if strings.HasPrefix(content, `"`) {
		return unquote(content)
	}
	var parts []string
	for x := range elements(content) {
		part := content[x.valAt:x.end]
		if t := gjson.Get(part, "text"); t.Exists() {
			parts = append(parts, t.String())
		}
	}
	return strings.Join(parts, "\n")
}

func orElse(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
