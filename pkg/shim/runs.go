package shim

import "slices"

// A run is what stands between two assistant turns. Its rules see the calls before it and its own turns, never what
// follows: that is what keeps the conversation append-only.

const (
	noResult    = "(no result: the call was interrupted)"
	emptyTurn   = "(no text)"
	goOn        = "Continue."
	orphanStart = "Result of an earlier tool call: "
)

// normalizeRuns folds system and unknown roles into the user turn at their place, puts results directly behind the
// calls they answer, and closes calls nobody answered. With alternate, user turns that follow each other become one.
func (c *conversation) normalizeRuns(alternate bool, n *notes) {
	var out []turn
	done := 0 // turns before this one are in out
	for i := 0; i < len(c.turns); {
		var calls []string
		for ; i < len(c.turns) && c.turns[i].role == "assistant"; i++ {
			calls = append(calls, c.turns[i].toolUses()...)
		}
		end := i
		for end < len(c.turns) && c.turns[end].role != "assistant" {
			end++
		}
		// Calls at the very end are endWithUser's business.
		if r := (run{turns: c.turns[i:end], calls: calls}); end > i && !r.ordered(alternate) {
			if out == nil {
				out = make([]turn, 0, len(c.turns)+8)
			}
			out = append(append(out, c.turns[done:i]...), r.rebuild(n)...)
			done = end
		}
		i = end
	}
	if out != nil {
		c.turns = append(out, c.turns[done:]...)
	}
}

type run struct {
	turns []turn
	calls []string // ids of the calls that have to be answered here
}

// ordered tells whether the run can be forwarded as it is: user turns only, each either all results or no result,
// results first, every call answered once.
func (r run) ordered(alternate bool) bool {
	open := slices.Clone(r.calls)
	others := 0
	for i := range r.turns {
		t := &r.turns[i]
		if t.role != "user" {
			return false
		}
		results := 0
		for j := range t.blocks {
			if t.blocks[j].typ != "tool_result" {
				continue
			}
			at := slices.Index(open, text(t.blocks[j].raw, "tool_use_id"))
			if at < 0 || others > 0 {
				return false
			}
			open = slices.Delete(open, at, at+1)
			results++
		}
		if results != len(t.blocks) {
			if others++; results > 0 || (alternate && others > 1) {
				return false
			}
		}
	}
	return len(open) == 0
}

// rebuild gives at most two turns: the results, then everything else in order. Servers put the text of a mixed turn
// before its results, which is not what the client said; two turns leave them no choice.
func (r run) rebuild(n *notes) []turn {
	open := slices.Clone(r.calls)
	results := turn{role: "user", changed: true}
	rest := turn{role: "user", changed: true}
	for i := range r.turns {
		t := &r.turns[i]
		folded := t.role != "user"
		if folded {
			n.add("folded a turn of role " + shortRole(t.role))
		}
		for j, b := range t.blocks {
			if b.typ == "tool_result" {
				if at := slices.Index(open, text(b.raw, "tool_use_id")); at >= 0 {
					open = slices.Delete(open, at, at+1)
					results.adopt(t, b)
					continue
				}
				n.add("tool result without its call became text")
				b = textBlock(orphanStart + resultText(b.raw))
			}
			if folded && j == 0 && len(rest.blocks) > 0 {
				b = paragraph(b)
			}
			rest.adopt(t, b)
		}
	}
	for _, id := range open {
		n.add("call without a result closed")
		results.blocks = append(results.blocks, block{
			typ: "tool_result",
			raw: `{"type":"tool_result","tool_use_id":` + quote(id) + `,"content":` + quote(noResult) + `}`,
		})
	}
	return r.place(results, rest)
}

// place sets the separators of the turns that came out.
func (r run) place(results, rest turn) []turn {
	var out []turn
	for _, t := range []turn{results, rest} {
		if len(t.blocks) == 0 {
			continue
		}
		if t.head == "" {
			t.head, t.tail, t.close = userHead, userTail, "]"
		}
		if at := len(out); at < len(r.turns) {
			t.sep = r.turns[at].sep
		}
		out = append(out, t)
	}
	return out
}

// adopt appends a block of from; the first user turn also lends its frame.
func (t *turn) adopt(from *turn, b block) {
	if from.role == "user" && t.head == "" {
		t.head, t.tail, t.close = from.head, from.tail, from.close
		if t.close == "" {
			t.close = "]"
		}
	}
	t.blocks = append(t.blocks, b)
}

// paragraph sets a folded text off from the text before it: some servers join blocks without a separator.
func paragraph(b block) block {
	lit := b.textLiteral()
	if lit == "" {
		return b
	}
	b.lit, b.raw = `"\n\n`+lit[1:], ""
	return b
}

func shortRole(role string) string {
	if len(role) > 20 {
		return role[:20]
	}
	return role
}

// endWithUser gives the server something to answer: local servers either refuse to continue an assistant turn or
// repeat its text in their reply.
func (c *conversation) endWithUser(n *notes) {
	if len(c.turns) == 0 || c.turns[len(c.turns)-1].role != "assistant" {
		return
	}
	var calls []string
	for i := len(c.turns) - 1; i >= 0 && c.turns[i].role == "assistant"; i-- {
		calls = append(c.turns[i].toolUses(), calls...)
	}
	if len(calls) > 0 {
		c.turns = append(c.turns, run{calls: calls}.rebuild(n)...)
		return
	}
	n.add("user turn added behind a trailing assistant turn")
	c.turns = append(c.turns, turn{
		role: "user", changed: true, head: userHead, tail: userTail, close: "]",
		blocks: []block{textBlock(goOn)},
	})
}
