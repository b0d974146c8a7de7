package shim

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// chatDecoder turns what /v1/chat/completions answers into Anthropic's events. Tool calls are passed on at the end: the
// pieces of several may alternate, and the client may not see them before the stop reason is known anyway.
type chatDecoder struct {
	req     *request
	h       handler
	started bool
	kind    string // of the open block, "" when none
	index   int
	calls   []*chatCall
	finish  string
	usage   string
}

type chatCall struct {
	index    int64
	id, name string
	args     strings.Builder
}

func readChatStream(r io.Reader, req *request, h handler) error {
	d := &chatDecoder{req: req, h: h}
	sse := newSSEReader(r)
	for {
		f, err := sse.next()
		if err != nil {
			if d.finish == "" && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
				return errCut
			}
			if errors.Is(err, io.EOF) {
				return d.end()
			}
			return err
		}
		data := strings.TrimSpace(f.data)
		if data == "[DONE]" {
			if d.finish == "" {
				return errCut
			}
			return d.end()
		}
		if !shallow(data) || !gjson.Valid(data) {
			return errCut
		}
		if f.event == "error" || d.isError(data) {
			fail := streamFailure(data)
			return &fail
		}
		if fail := d.chunk(data); fail != nil {
			return fail
		}
	}
}

func (d *chatDecoder) isError(data string) bool {
	e := get(data, "error")
	return e != "" && e != "null"
}

func (d *chatDecoder) send(typ, data string) *failure { return d.h(typ, data) }

func (d *chatDecoder) start(data string) *failure {
	if d.started {
		return nil
	}
	d.started = true
	return d.send("message_start", `{"type":"message_start","message":{"id":`+orElse(get(data, "id"), `""`)+
		`,"type":"message","role":"assistant","model":`+orElse(get(data, "model"), quote(d.req.model))+
		`,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":`+strconv.Itoa(d.req.tokens)+`,"output_tokens":0}}}`)
}

// chunk takes one piece of a stream, or the whole of a message dressed as one.
func (d *chatDecoder) chunk(data string) *failure {
	if f := d.start(data); f != nil {
		return f
	}
	if u := get(data, "usage"); strings.HasPrefix(u, "{") {
		d.usage = u
	}
	choice := gjson.Get(data, "choices.0").Raw
	delta := get(choice, "delta")
	if !strings.HasPrefix(delta, "{") {
		delta = get(choice, "message")
	}
	thought := contentText(get(delta, "reasoning_content"))
	if thought == "" {
		thought = contentText(get(delta, "reasoning"))
	}
	if f := d.piece("thinking", thought); f != nil {
		return f
	}
	said := contentText(get(delta, "content"))
	if said == "" {
		said = text(delta, "refusal")
	}
	if f := d.piece("text", said); f != nil {
		return f
	}
	list := get(delta, "tool_calls")
	for e := range elements(list) {
		d.call(list[e.valAt:e.end])
	}
	if reason := text(choice, "finish_reason"); reason != "" {
		d.finish = reason
	}
	return nil
}

// contentText is the text of a content given as a string or as parts.
func contentText(raw string) string {
	if !strings.HasPrefix(raw, "[") {
		return unquote(raw)
	}
	var b strings.Builder
	for e := range elements(raw) {
		b.WriteString(text(raw[e.valAt:e.end], "text"))
	}
	return b.String()
}

// piece passes text or thinking on, opening a block when the kind changes.
func (d *chatDecoder) piece(kind, s string) *failure {
	if s == "" {
		return nil
	}
	if d.kind != kind {
		if f := d.closeBlock(); f != nil {
			return f
		}
		blank := `{"type":"text","text":""}`
		if kind == "thinking" {
			blank = `{"type":"thinking","thinking":"","signature":""}`
		}
		if f := d.send("content_block_start", `{"type":"content_block_start","index":`+strconv.Itoa(d.index)+`,"content_block":`+blank+`}`); f != nil {
			return f
		}
		d.kind = kind
	}
	return d.send("content_block_delta", `{"type":"content_block_delta","index":`+strconv.Itoa(d.index)+`,"delta":{"type":"`+kind+`_delta","`+kind+`":`+quote(s)+`}}`)
}

func (d *chatDecoder) closeBlock() *failure {
	if d.kind == "" {
		return nil
	}
	d.kind = ""
	d.index++
	return d.send("content_block_stop", `{"type":"content_block_stop","index":`+strconv.Itoa(d.index-1)+`}`)
}

// call takes a piece of a tool call. Some servers leave the index out or give every call the same: a new id then
// begins a new call.
func (d *chatDecoder) call(raw string) {
	index := gjson.Get(raw, "index")
	id, fn := text(raw, "id"), get(raw, "function")
	var c *chatCall
	for _, known := range d.calls {
		if index.Exists() && known.index == index.Int() && (id == "" || known.id == "" || known.id == id) {
			c = known
		}
	}
	if c == nil && !index.Exists() && id == "" && text(fn, "name") == "" && len(d.calls) > 0 {
		c = d.calls[len(d.calls)-1]
	}
	if c == nil {
		c = &chatCall{index: index.Int()}
		d.calls = append(d.calls, c)
	}
	if id != "" {
		c.id = id
	}
	if name := text(fn, "name"); name != "" && c.name == "" {
		c.name = name
	}
	switch args := get(fn, "arguments"); {
	case strings.HasPrefix(args, `"`):
		c.args.WriteString(unquote(args))
	case strings.HasPrefix(args, "{"):
		c.args.WriteString(args)
	}
}

// end sends the calls, the stop reason and the usage.
func (d *chatDecoder) end() error {
	if f := d.closeBlock(); f != nil {
		return f
	}
	for _, c := range d.calls {
		at := strconv.Itoa(d.index)
		d.index++
		events := []struct{ typ, data string }{
			{"content_block_start", `{"type":"content_block_start","index":` + at + `,"content_block":{"type":"tool_use","id":` + quote(c.id) + `,"name":` + quote(c.name) + `,"input":{}}}`},
			{"content_block_delta", `{"type":"content_block_delta","index":` + at + `,"delta":{"type":"input_json_delta","partial_json":` + quote(c.args.String()) + `}}`},
			{"content_block_stop", `{"type":"content_block_stop","index":` + at + `}`},
		}
		for _, e := range events {
			if f := d.send(e.typ, e.data); f != nil {
				return f
			}
		}
	}
	stop := d.finish
	if known, ok := map[string]string{
		"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use",
		"function_call": "tool_use", "content_filter": "refusal", "eos_token": "end_turn",
	}[d.finish]; ok {
		stop = known
	}
	data := `{"type":"message_delta","delta":{"stop_reason":` + quote(stop) + `,"stop_sequence":null},"usage":` + chatUsage(d.usage) + `}`
	if f := d.send("message_delta", data); f != nil {
		return f
	}
	if f := d.send("message_stop", `{"type":"message_stop"}`); f != nil {
		return f
	}
	return nil
}

// chatUsage counts the way the client does: cached tokens are no part of input_tokens. A server that does not tell
// them is not made to say that there were none.
func chatUsage(u string) string {
	if u == "" {
		return "{}"
	}
	prompt, read, cached := gjson.Get(u, "prompt_tokens").Int(), "", gjson.Get(u, "prompt_tokens_details.cached_tokens")
	if cached.Type == gjson.Number {
		n := min(cached.Int(), prompt)
		prompt -= n
		read = `,"cache_read_input_tokens":` + strconv.FormatInt(n, 10)
	}
	return `{"input_tokens":` + strconv.FormatInt(prompt, 10) + read +
		`,"output_tokens":` + strconv.FormatInt(gjson.Get(u, "completion_tokens").Int(), 10) + `}`
}

// playChat plays a whole completion.
func playChat(msg string, req *request, h handler) error {
	d := &chatDecoder{req: req, h: h}
	if f := d.chunk(msg); f != nil {
		return f
	}
	if d.finish == "" {
		if len(d.calls) == 0 && d.kind == "" {
			return errCut
		}
		d.finish = "stop"
	}
	return d.end()
}
