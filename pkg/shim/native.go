package shim

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// handler takes the events of an answer in Anthropic's form; a failure ends the answer.
type handler func(typ, data string) *failure

// errCut is a stream that ended before the server said so.
var errCut = errors.New("the connection was cut before the answer was whole")

// readStream passes the events of a native stream to h until the message has ended, without waiting for the server to
// close the connection.
func readStream(r io.Reader, h handler) error {
	sse := newSSEReader(r)
	finished := false
	for {
		f, err := sse.next()
		if err != nil {
			if finished && errors.Is(err, io.EOF) {
				return nil // only message_stop is missing
			}
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return errCut
			}
			return err
		}
		data := strings.TrimSpace(f.data)
		if data == "[DONE]" {
			continue
		}
		if !shallow(data) || !gjson.Valid(data) {
			return errCut // a broken frame: what follows would be missing a piece
		}
		data = strings.ReplaceAll(data, "\n", " ")
		typ := text(data, "type")
		if f.event == "error" || typ == "" && get(data, "error") != "" {
			typ = "error"
		}
		if typ == "" {
			typ = f.event
			data = setMember(data, "type", quote(typ))
		}
		if fail := h(typ, data); fail != nil {
			return fail
		}
		switch typ {
		case "message_stop":
			return nil
		case "message_delta":
			finished = finished || text(get(data, "delta"), "stop_reason") != ""
		}
	}
}

// playMessage passes a whole message to h as the events a stream would have had.
func playMessage(msg string, h handler) error {
	start := setMember(msg, "content", "[]")
	start = setMember(setMember(start, "stop_reason", "null"), "stop_sequence", "null")
	events := []struct{ typ, data string }{{"message_start", `{"type":"message_start","message":` + start + `}`}}
	add := func(typ, data string) { events = append(events, struct{ typ, data string }{typ, data}) }
	content := get(msg, "content")
	i := 0
	for e := range elements(content) {
		at := strconv.Itoa(i)
		first, delta := splitBlock(content[e.valAt:e.end])
		add("content_block_start", `{"type":"content_block_start","index":`+at+`,"content_block":`+first+`}`)
		if delta != "" {
			add("content_block_delta", `{"type":"content_block_delta","index":`+at+`,"delta":`+delta+`}`)
		}
		add("content_block_stop", `{"type":"content_block_stop","index":`+at+`}`)
		i++
	}
	if reason := get(msg, "stop_reason"); reason != "" && reason != "null" {
		add("message_delta", `{"type":"message_delta","delta":{"stop_reason":`+reason+`,"stop_sequence":`+orElse(get(msg, "stop_sequence"), "null")+
			`},"usage":`+orElse(get(msg, "usage"), "{}")+`}`)
	} else if i == 0 || get(msg, "type") != `"message"` {
		return errCut // an aborted generation, or no message at all
	}
	add("message_stop", `{"type":"message_stop"}`)
	for _, e := range events {
		if f := h(e.typ, e.data); f != nil {
			return f
		}
	}
	return nil
}

// splitBlock divides a finished block into its start and its one delta.
func splitBlock(b string) (start, delta string) {
	switch text(b, "type") {
	case "text":
		return setMember(b, "text", `""`), `{"type":"text_delta","text":` + orElse(get(b, "text"), `""`) + `}`
	case "tool_use":
		input := get(b, "input")
		if input == "" || isEmptyObject(input) {
			return b, ""
		}
		return setMember(b, "input", "{}"), `{"type":"input_json_delta","partial_json":` + quote(input) + `}`
	default:
		return b, ""
	}
}

// collector puts the events of an answer together to one message.
type collector struct {
	start  string
	blocks []string
	kind   string
	cur    string
	text   strings.Builder
	input  strings.Builder
	delta  string
}

func (c *collector) emit(typ, data string) error {
	switch typ {
	case "message_start":
		c.start = get(data, "message")
	case "content_block_start":
		c.cur = get(data, "content_block")
		c.kind = text(c.cur, "type")
		c.text.Reset()
		c.input.Reset()
		c.text.WriteString(text(c.cur, "text") + text(c.cur, "thinking"))
	case "content_block_delta":
		d := get(data, "delta")
		c.text.WriteString(text(d, "text") + text(d, "thinking"))
		c.input.WriteString(text(d, "partial_json"))
		if sig := get(d, "signature"); sig != "" {
			c.cur = setMember(c.cur, "signature", sig)
		}
	case "content_block_stop":
		c.close()
	case "message_delta":
		c.delta = data
	}
	return nil
}

func (c *collector) close() {
	switch c.kind {
	case "text", "thinking":
		c.cur = setMember(c.cur, c.kind, quote(c.text.String()))
	case "tool_use":
		if c.input.Len() > 0 {
			c.cur = setMember(c.cur, "input", c.input.String())
		}
	}
	c.blocks = append(c.blocks, c.cur)
}

// message is the whole answer.
func (c *collector) message() string {
	msg := setMember(c.start, "content", "["+strings.Join(c.blocks, ",")+"]")
	d := get(c.delta, "delta")
	msg = setMember(msg, "stop_reason", orElse(get(d, "stop_reason"), "null"))
	msg = setMember(msg, "stop_sequence", orElse(get(d, "stop_sequence"), "null"))
	usage := orElse(get(msg, "usage"), "{}")
	more := get(c.delta, "usage")
	for m := range members(more) {
		usage = setMember(usage, m.key, more[m.valAt:m.end])
	}
	return setMember(msg, "usage", usage)
}
