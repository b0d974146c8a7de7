package shim

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// emitter takes the events of one answer: the SSE stream to the client, or the collector of a whole message.
type emitter interface {
	emit(typ, data string) error
}

// repairer passes an answer on, event by event, and repairs what the client would trip over. Text and thinking flow
// through at once. Held back are: the message's start until there is content (so that an empty answer can be asked for
// again), a text while it can still become a tool call, and tool calls until the stop reason is known (so that one cut
// by max_tokens never looks complete).
type repairer struct {
	req     *request
	out     emitter
	n       *notes
	ids     *idSet
	schemas *schemaCache
	rec     *Record
	local   bool // the real API's texts are never taken for calls

	start    string // message_start as received
	started  bool   // and sent
	cur      *outBlock
	queue    []*outBlock
	next     int // index of the next block sent
	textSent bool
	toolSent bool

	stop     string
	delta    string // the last message_delta
	ended    bool   // message_stop came
	streamed strings.Builder
	outBytes int
}

// outBlock is one content block on its way.
type outBlock struct {
	kind    string
	start   string
	events  []string // deltas while held
	input   strings.Builder
	text    strings.Builder
	gate    *callGate
	index   int // as received
	at      int // as sent
	live    bool
	stopped bool
	failed  bool // meant as a call, must not run: a forced call may take its place
}

// reset makes p ready for another answer. Only possible before anything was sent.
func (p *repairer) reset(req *request) {
	*p = repairer{req: req, out: p.out, n: p.n, ids: p.ids, schemas: p.schemas, rec: p.rec, local: p.local}
}

// maxKept bounds the text kept for the record's "looked like a call".
const maxKept = 256 << 10

// handle takes one event of the server. A failure ends the answer.
func (p *repairer) handle(typ, data string) *failure {
	switch typ {
	case "message_start":
		if p.start == "" {
			p.start = data
		}
	case "content_block_start":
		p.begin(data)
	case "content_block_delta":
		return p.append(data)
	case "content_block_stop":
		if b := p.find(int(gjson.Get(data, "index").Int())); b != nil {
			p.finish(b, data)
		}
	case "message_delta":
		p.noteEnd(data)
	case "message_stop":
		p.ended = true
	case "error":
		f := streamFailure(data)
		return &f
	}
	return nil
}

// noteEnd keeps message_delta. Some servers send a second one that holds only the usage.
func (p *repairer) noteEnd(data string) {
	stop := text(get(data, "delta"), "stop_reason")
	if usage := get(data, "usage"); stop == "" && p.stop != "" && usage != "" {
		p.delta = setMember(p.delta, "usage", usage)
		return
	}
	p.delta, p.stop = data, orElse(stop, p.stop)
}

// streamFailure reads an error event, wrapped the way Anthropic does or bare.
func streamFailure(data string) failure {
	status := 500
	inner := get(data, "error")
	if strings.HasPrefix(inner, "{") {
		if c := int(gjson.Get(inner, "code").Int()); c >= 400 && c < 600 {
			status = c
		}
		if text(inner, "type") == "overloaded_error" {
			status = 529
		}
	} else if c := int(gjson.Get(data, "code").Int()); c >= 400 && c < 600 {
		status = c
	}
	f := classify(status, nil, data)
	// In a stream the client acts on the type alone: overloaded waits, everything else is asked for again at once.
	if f.kind != "overloaded_error" {
		f.kind = "api_error"
	}
	return f
}

func (p *repairer) begin(data string) {
	if p.cur != nil {
		p.n.add("missing end of a block added")
		p.finish(p.cur, "")
	}
	if len(p.queue) == 1 && p.queue[0].kind == "text" && strings.TrimSpace(p.queue[0].text.String()) == "" {
		space := p.queue[0] // white space before something else is no call
		p.queue = nil
		p.release(space)
	}
	content := get(data, "content_block")
	b := &outBlock{kind: text(content, "type"), start: data, index: int(gjson.Get(data, "index").Int())}
	p.cur = b
	switch b.kind {
	case "tool_use":
		b.start = p.fixToolStart(data, content)
		p.queue = append(p.queue, b)
	case "text":
		if lit := text(content, "text"); lit != "" {
			b.text.WriteString(lit)
		}
		if p.local && len(p.req.tools) > 0 && p.req.choice != "none" && !p.textSent && !p.toolSent && len(p.queue) == 0 {
			b.gate = &callGate{}
			if b.gate.feed(b.text.String()) {
				p.queue = append(p.queue, b)
				return
			}
		}
		p.open(b)
	default:
		p.open(b)
	}
}

// open sends a block's start, or queues the block behind those held back.
func (p *repairer) open(b *outBlock) {
	if len(p.queue) > 0 {
		p.queue = append(p.queue, b)
		return
	}
	p.release(b)
}

func (p *repairer) fixToolStart(data, content string) string {
	fixed := content
	if !strings.HasPrefix(get(content, "input"), "{") {
		p.n.add("input added to a tool call")
		fixed = setMember(fixed, "input", "{}")
	}
	if id := text(content, "id"); id == "" || p.ids.seen(id) {
		p.n.add("tool call got an id of its own")
		fixed = setMember(fixed, "id", quote("toolu_"+randomHex(12)))
	}
	if fixed == content {
		return data
	}
	return setMember(data, "content_block", fixed)
}

func (p *repairer) find(index int) *outBlock {
	if p.cur != nil && p.cur.index == index {
		return p.cur
	}
	for _, b := range slices.Backward(p.queue) {
		if b.index == index {
			return b
		}
	}
	return p.cur
}

func (p *repairer) append(data string) *failure {
	d := get(data, "delta")
	kind := text(d, "type")
	b := p.find(int(gjson.Get(data, "index").Int()))
	if b == nil || !takes(b.kind, kind) {
		if kind == "input_json_delta" {
			f := failure{class: classTransport, message: "the server sent a piece of a tool call without its beginning"}.shaped()
			return &f
		}
		if b = p.missingStart(kind, data); b == nil {
			p.n.add("stray " + clip(kind, 30) + " dropped")
			return nil
		}
	}
	switch kind {
	case "text_delta":
		p.appendText(b, text(d, "text"), data)
		return nil
	case "input_json_delta":
		b.input.WriteString(text(d, "partial_json"))
	}
	p.outBytes += len(data)
	p.pass(b, data)
	return nil
}

// takes tells whether a delta can belong to a kind of block.
func takes(block, delta string) bool {
	switch delta {
	case "text_delta":
		return block == "text"
	case "input_json_delta":
		return block != "text" && block != "thinking"
	case "thinking_delta", "signature_delta":
		return block == "thinking"
	default:
		return true
	}
}

// missingStart opens the block a delta belongs to when the server forgot to.
func (p *repairer) missingStart(kind, data string) *outBlock {
	blank := map[string]string{"text_delta": `{"type":"text","text":""}`, "thinking_delta": `{"type":"thinking","thinking":"","signature":""}`}[kind]
	if blank == "" {
		return nil
	}
	p.n.add("missing start of a block added")
	p.begin(`{"type":"content_block_start","index":` + strconv.Itoa(int(gjson.Get(data, "index").Int())) + `,"content_block":` + blank + `}`)
	return p.cur
}

func (p *repairer) appendText(b *outBlock, s, data string) {
	p.outBytes += len(s)
	if b.live {
		p.keep(s)
		p.pass(b, data)
		return
	}
	b.text.WriteString(s)
	b.events = append(b.events, data)
	if b.gate == nil || b.gate.feed(s) || len(p.queue) != 1 {
		return
	}
	p.queue = nil
	p.release(b) // it can no longer become a call
}

// keep remembers streamed text for the record.
func (p *repairer) keep(s string) {
	if strings.TrimSpace(s) != "" {
		p.textSent = true
	}
	if p.streamed.Len()+len(s) <= maxKept {
		p.streamed.WriteString(s)
	}
}

func (p *repairer) pass(b *outBlock, data string) {
	if !b.live {
		b.events = append(b.events, data)
		return
	}
	p.send("content_block_delta", b, data)
}

// finish ends a block. data is the server's own event, "" when it sent none.
func (p *repairer) finish(b *outBlock, data string) {
	if b.stopped {
		return
	}
	b.stopped = true
	if p.cur == b {
		p.cur = nil
	}
	if b.live {
		p.send("content_block_stop", b, orElse(data, `{"type":"content_block_stop","index":`+strconv.Itoa(b.index)+`}`))
	}
}

// release sends a block's start and everything held of it.
func (p *repairer) release(b *outBlock) {
	p.sendStart()
	b.live, b.at = true, p.next
	p.next++
	p.send("content_block_start", b, b.start)
	if b.kind == "text" {
		p.keep(b.text.String())
	}
	for _, e := range b.events {
		p.send("content_block_delta", b, e)
	}
	b.events = nil
	if b.kind == "tool_use" {
		p.toolSent = true
	}
	if b.stopped {
		p.send("content_block_stop", b, `{"type":"content_block_stop","index":`+strconv.Itoa(b.index)+`}`)
	}
}

func (p *repairer) send(typ string, b *outBlock, data string) {
	if b.index != b.at {
		data = setMember(data, "index", strconv.Itoa(b.at))
	}
	_ = p.out.emit(typ, data) // a client that is gone ends the exchange through its context
}

// sendStart sends message_start, with an id nobody had before and a usage.
func (p *repairer) sendStart() {
	if p.started {
		return
	}
	p.started = true
	data := p.start
	if get(data, "message") == "" {
		p.n.add("missing start of the message added")
		data = `{"type":"message_start","message":{"type":"message","role":"assistant","model":` + quote(p.req.model) + `,"content":[],"stop_reason":null,"stop_sequence":null}}`
	}
	msg := get(data, "message")
	fixed := msg
	if id := text(msg, "id"); id == "" || p.ids.seen(id) {
		p.n.add("message got an id of its own")
		fixed = setMember(fixed, "id", quote("msg_"+randomHex(12)))
	}
	if c := get(msg, "content"); !strings.HasPrefix(c, "[") {
		fixed = setMember(fixed, "content", "[]")
	}
	if usage := get(msg, "usage"); promptTokens(usage) == 0 {
		if !strings.HasPrefix(usage, "{") {
			usage = `{"input_tokens":0,"output_tokens":0}`
		}
		if p.req.tokens > 0 {
			p.n.add("usage filled in")
			usage = setMember(usage, "input_tokens", strconv.Itoa(p.req.tokens))
		}
		fixed = setMember(fixed, "usage", usage)
	}
	if fixed != msg {
		data = setMember(data, "message", fixed)
	}
	_ = p.out.emit("message_start", data)
}

// promptTokens is the whole prompt in a usage object, the way the client counts: fresh, cached and written to a cache.
func promptTokens(usage string) int {
	return int(gjson.Get(usage, "input_tokens").Int() + gjson.Get(usage, "cache_read_input_tokens").Int() +
		gjson.Get(usage, "cache_creation_input_tokens").Int())
}
