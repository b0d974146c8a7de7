package shim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// What is done with an answer when the server has finished: printed calls become real ones, calls that are not whole
// are withheld, and the message gets the ends it lacks.

// ending is what a complete answer amounts to before its held blocks are sent.
type ending int

const (
	endDone   ending = iota
	endEmpty         // nothing at all: worth a second try
	endFailed        // clearly a tool call that cannot be executed: worth a forced second ask
)

// truncated tells whether the server stopped for want of room.
func (p *repairer) truncated() bool {
	return p.stop == "max_tokens" || p.stop == "model_context_window_exceeded"
}

// settle looks at what is held when the server has finished and turns printed calls into real ones.
func (p *repairer) settle() ending {
	if p.cur != nil {
		p.n.add("missing end of a block added")
		p.finish(p.cur, "")
	}
	if !p.started && p.blank() {
		return endEmpty
	}
	whole, broken := p.checkCalls()
	if broken > 0 && whole == 0 && !p.truncated() {
		return endFailed
	}
	if end := p.settleText(); end != endDone || whole > 0 || p.rec.Converted > 0 || p.truncated() {
		return end
	}
	if p.local && p.req.choice != "none" && endsWithCall(p.allText(), p.req) {
		p.rec.fail("a call at the end of a longer text")
		return endFailed
	}
	return endDone
}

// allText is the answer's text, sent and held.
func (p *repairer) allText() string {
	parts := []string{p.streamed.String()}
	for _, b := range p.queue {
		parts = append(parts, b.text.String())
	}
	return strings.Join(parts, "")
}

// checkCalls withholds the held calls that are not whole, and counts both kinds.
func (p *repairer) checkCalls() (whole, broken int) {
	for _, b := range p.queue {
		if b.kind != "tool_use" {
			continue
		}
		why := p.incomplete(b)
		if why == "" {
			whole++
			continue
		}
		broken++
		p.rec.fail(b.name() + ": " + why)
		p.replaceByText(b, why)
	}
	return whole, broken
}

// blank is true when the answer holds nothing but white space.
func (p *repairer) blank() bool {
	for _, b := range p.queue {
		if b.kind == "tool_use" || strings.TrimSpace(b.text.String()) != "" {
			return false
		}
	}
	return true
}

func (p *repairer) settleText() ending {
	if len(p.queue) != 1 || p.queue[0].gate == nil || p.textSent || p.toolSent {
		return endDone
	}
	b := p.queue[0]
	c, kind := readCall(b.text.String(), p.req, p.schemas)
	switch kind {
	case goodCall:
		p.n.add("printed call of " + c.name + " became a tool call")
		p.rec.Converted++
		p.queue[0] = p.callBlock(b.index, c)
		return endDone
	case failedCall:
		if p.truncated() {
			c.why += " (cut off by the output limit)"
		}
		p.rec.fail("printed call: " + c.why)
		if !p.truncated() {
			b.failed = true
			return endFailed
		}
	}
	return endDone
}

// callBlock is a complete tool_use block.
func (p *repairer) callBlock(index int, c call) *outBlock {
	return toolBlock(index, "toolu_"+randomHex(12), c.name, c.args)
}

func toolBlock(index int, id, name, args string) *outBlock {
	i := strconv.Itoa(index)
	b := &outBlock{
		kind: "tool_use", index: index, stopped: true,
		start:  `{"type":"content_block_start","index":` + i + `,"content_block":{"type":"tool_use","id":` + quote(id) + `,"name":` + quote(name) + `,"input":{}}}`,
		events: []string{`{"type":"content_block_delta","index":` + i + `,"delta":{"type":"input_json_delta","partial_json":` + quote(args) + `}}`},
	}
	b.input.WriteString(args)
	return b
}

func (b *outBlock) name() string { return text(get(b.start, "content_block"), "name") }

// incomplete says why a tool call must not be executed, "" when it may. A call whose JSON is whole counts as complete
// even when max_tokens was reached with its last character; one without any input cannot be told from a cut one.
func (p *repairer) incomplete(b *outBlock) string {
	raw := b.input.String()
	initial := get(get(b.start, "content_block"), "input")
	if strings.TrimSpace(raw) == "" {
		raw = initial
	}
	trimmed := strings.TrimSpace(raw)
	if !strings.HasPrefix(trimmed, "{") || !shallow(trimmed) || !gjson.Valid(trimmed) {
		if p.truncated() {
			return fmt.Sprintf("cut off by the output limit after %d characters", len(raw))
		}
		return "its JSON is broken"
	}
	last := p.queue[len(p.queue)-1] == b
	if p.truncated() && last && isEmptyObject(trimmed) {
		return "cut off by the output limit before its arguments"
	}
	return ""
}

func isEmptyObject(s string) bool {
	for range members(s) {
		return false
	}
	return true
}

// replaceByText puts a sentence in the place of a call that must not run.
func (p *repairer) replaceByText(b *outBlock, why string) {
	name := b.name()
	p.n.add("call of " + name + " withheld: " + why)
	s := fmt.Sprintf("[The call of %s was not executed: %s.]", name, why)
	i := strconv.Itoa(b.index)
	b.kind, b.stopped, b.failed = "text", true, true
	b.start = `{"type":"content_block_start","index":` + i + `,"content_block":{"type":"text","text":""}}`
	b.events = []string{`{"type":"content_block_delta","index":` + i + `,"delta":{"type":"text_delta","text":` + quote(s) + `}}`}
	b.text.Reset()
	b.text.WriteString(s)
}

// adopt puts the calls of a forced second answer in the place of what failed, and returns how many there were. A
// call of a tool that the failed one did not name stays out, unless that tool only reads.
func (p *repairer) adopt(message string) int {
	content := get(message, "content")
	failed := p.allText()
	var calls []*outBlock
	for e := range elements(content) {
		b := content[e.valAt:e.end]
		if text(b, "type") != "tool_use" {
			continue
		}
		args := get(b, "input")
		t, ok := p.req.tool(text(b, "name"))
		if !ok || !strings.HasPrefix(args, "{") || p.schemas.misfit(t.schema, args) != "" {
			continue
		}
		if !onlyReads[t.name] && !names(failed, t.name) {
			p.n.add("forced call of " + t.name + " not taken: what was printed did not name it")
			continue
		}
		calls = append(calls, toolBlock(len(calls)+1000, "toolu_"+randomHex(12), t.name, args))
	}
	if len(calls) == 0 {
		return 0
	}
	p.queue = append(slices.DeleteFunc(p.queue, func(b *outBlock) bool { return b.failed }), calls...)
	p.stop = "tool_use"
	return len(calls)
}

// end sends what is held and the ends of the message.
func (p *repairer) end() {
	hasTool := p.toolSent
	for _, b := range p.queue {
		hasTool = hasTool || b.kind == "tool_use"
		if b.kind == "tool_use" {
			p.rec.Calls++
		}
		p.release(b)
	}
	p.queue = nil
	p.sendStart()
	if what, ok := looksLikeCall(p.streamed.String(), p.req); ok && !hasTool && len(p.rec.Unexecuted) == 0 {
		p.rec.fail(what)
	}
	_ = p.out.emit("message_delta", p.finalDelta(hasTool))
	if !p.ended {
		p.n.add("missing end of the message added")
	}
	_ = p.out.emit("message_stop", `{"type":"message_stop"}`)
}

// finalDelta is message_delta with a stop reason that fits the blocks, and a usage.
func (p *repairer) finalDelta(hasTool bool) string {
	stop := p.stop
	switch {
	case hasTool && (stop == "" || stop == "end_turn" || p.truncated()):
		stop = "tool_use"
	case !hasTool && (stop == "" || stop == "tool_use"):
		stop = "end_turn"
	}
	if stop == "end_turn" && text(get(p.delta, "delta"), "stop_sequence") != "" {
		stop = "stop_sequence" // llama-server tells the sequence but not the reason
	}
	data := p.delta
	if data == "" {
		data = `{"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null},"usage":{}}`
	}
	if d := get(data, "delta"); text(d, "stop_reason") != stop {
		if stop != p.stop {
			p.n.addf("stop reason %s became %s", orElse(p.stop, "(none)"), stop)
		}
		if d == "" {
			d = "{}"
		}
		data = setMember(data, "delta", setMember(d, "stop_reason", quote(stop)))
	}
	usage := get(data, "usage")
	if !gjson.Get(usage, "output_tokens").Exists() {
		p.n.add("usage filled in")
		if !strings.HasPrefix(usage, "{") {
			usage = "{}"
		}
		data = setMember(data, "usage", setMember(usage, "output_tokens", strconv.Itoa((p.outBytes+3)/4)))
	}
	p.rec.Stop = stop
	if !hasTool && !p.textSent {
		p.rec.Outcome = EmptyAnswer // nothing, or nothing but thinking
	}
	p.rec.use(get(get(p.start, "message"), "usage"), get(data, "usage"), p.req)
	return data
}
