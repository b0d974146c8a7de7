package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// anthropicVersion is the only version of that API there has been.
const anthropicVersion = "2023-06-01"

// wireCall is one call in the terms all wire formats share.
type wireCall struct {
	backend     Backend
	model       string
	messages    []Message
	maxTokens   int
	temperature *float64
	seed        *int
	stop        []string
	think       Think
	schema      json.RawMessage
	numCtx      int // Ollama
	keepAlive   string
}

// delta is one piece of an answer.
type delta struct {
	text      string
	reasoning string
	finish    string // finishStop, finishLength or the server's own word
	model     string // the name the server gives the model that answers
	usage     *Usage
	end       bool // the server says that the answer is complete
}

// The endings that matter; all wire formats are brought to these two words.
const (
	finishStop   = "stop"
	finishLength = "length"
	// finishUnparsable: the server failed to parse what the model wrote.
	finishUnparsable = "unparsable"
)

// finishOf brings a server's word for the end of an answer to ours. A word that
// is not known stays as it is, and does not count as a whole answer: servers have
// more words for giving up (abort, error, refusal) than for being done.
func finishOf(word string) string {
	switch strings.ToLower(word) {
	case "length", "max_tokens", "model_length", "model_context_window_exceeded":
		return finishLength
	case "stop", "eos", "eos_token", "stop_token", "stop_sequence", "end_turn", "complete", "completed", "done":
		return finishStop
	}
	return word
}

// wire is one wire format. A stream is read with the same functions as a
// complete body, so both give the same answer.
type wire struct {
	url    func(s *server) string
	body   func(c *wireCall) map[string]any
	stream func(r io.Reader, f func(delta) (stop bool)) error
	full   func(body []byte) ([]delta, error) // nil: one line of the stream is a whole reply, too
}

func wireFor(b Backend) *wire {
	switch b {
	case Ollama:
		return &wire{func(s *server) string { return s.root + "/api/chat" }, ollamaBody, ollamaStream, nil}
	case Anthropic:
		return &wire{func(s *server) string { return s.api + "/messages" }, anthropicBody, anthropicStream, anthropicFull}
	}
	return &wire{func(s *server) string { return s.api + "/chat/completions" }, openAIBody, openAIStream, openAIFull}
}

// errBroken is a piece of a stream that is no JSON: the stream was cut.
var errBroken = errors.New("the stream broke off inside a piece")

// faultError is an error the server reports inside a stream or a 200.
type faultError struct{ body []byte }

func (e *faultError) Error() string { return excerpt(e.body) }

// put sets a field when it is asked for.
func put[T any](body map[string]any, key string, v *T) {
	if v != nil {
		body[key] = *v
	}
}

// --- OpenAI's /v1/chat/completions

func openAIBody(c *wireCall) map[string]any {
	b := map[string]any{
		"model": c.model, "messages": c.messages, "stream": true, "max_tokens": c.maxTokens,
		"stream_options": map[string]any{"include_usage": true},
	}
	put(b, "temperature", c.temperature)
	put(b, "seed", c.seed)
	if len(c.stop) > 0 {
		b["stop"] = c.stop
	}
	if c.think != ThinkDefault {
		b["chat_template_kwargs"] = map[string]any{"enable_thinking": c.think == ThinkOn}
	}
	if c.schema != nil {
		b["response_format"] = map[string]any{
			"type":        "json_schema",
			"json_schema": map[string]any{"name": "answer", "schema": c.schema, "strict": true},
		}
	}
	return b
}

func openAIStream(r io.Reader, f func(delta) bool) error {
	return readSSE(r, func(ev sseEvent) (bool, error) {
		if len(ev.data) == 0 {
			return f(delta{}), nil
		}
		if strings.TrimSpace(string(ev.data)) == "[DONE]" {
			f(delta{end: true})
			return true, nil
		}
		ds, err := openAIParse(ev.data, "delta")
		if err != nil {
			return true, err
		}
		if slices.ContainsFunc(ds, f) {
			return true, nil
		}
		return false, nil
	})
}

func openAIFull(body []byte) ([]delta, error) {
	ds, err := openAIParse(body, "message")
	if err == nil && !gjson.GetBytes(body, "choices").Exists() {
		err = errBroken
	}
	return append(ds, delta{end: true}), err
}

// openAIParse reads a chunk (part "delta") or a whole reply (part "message").
func openAIParse(b []byte, part string) ([]delta, error) {
	if !gjson.ValidBytes(b) {
		return nil, errBroken
	}
	j := gjson.ParseBytes(b)
	if e := j.Get("error"); e.Exists() && e.Type != gjson.Null {
		return nil, &faultError{b}
	}
	var d delta
	choice := j.Get("choices.0")
	m := choice.Get(part)
	d.text = contentText(m.Get("content"))
	for _, k := range []string{"reasoning_content", "reasoning", "thinking"} {
		if v := m.Get(k); v.Type == gjson.String {
			d.reasoning = v.Str
			break
		}
	}
	d.finish = finishOf(choice.Get("finish_reason").String())
	d.model = j.Get("model").String()
	if u := j.Get("usage"); u.IsObject() {
		d.usage = &Usage{
			Prompt:     int(u.Get("prompt_tokens").Int()),
			Cached:     int(u.Get("prompt_tokens_details.cached_tokens").Int()),
			Completion: int(u.Get("completion_tokens").Int()),
		}
	}
	return []delta{d}, nil
}

// contentText is content as a string or as a list of text parts.
func contentText(v gjson.Result) string {
	if !v.IsArray() {
		if v.Type == gjson.String {
			return v.Str
		}
		return ""
	}
	var b strings.Builder
	for _, p := range v.Array() {
		b.WriteString(p.Get("text").String())
	}
	return b.String()
}

// --- Ollama's /api/chat

func ollamaBody(c *wireCall) map[string]any {
	opts := map[string]any{"num_predict": c.maxTokens}
	if c.numCtx > 0 {
		opts["num_ctx"] = c.numCtx
	}
	put(opts, "temperature", c.temperature)
	put(opts, "seed", c.seed)
	if len(c.stop) > 0 {
		opts["stop"] = c.stop
	}
	b := map[string]any{
		"model": c.model, "messages": c.messages, "stream": true, "options": opts,
		// The honest modes: refuse a prompt that does not fit, stop when the window is full.
		"truncate": false, "shift": false,
	}
	if c.think != ThinkDefault {
		b["think"] = c.think == ThinkOn
	}
	if c.keepAlive != "" {
		b["keep_alive"] = c.keepAlive
	}
	if c.schema != nil {
		b["format"] = c.schema
	}
	return b
}

func ollamaStream(r io.Reader, f func(delta) bool) error {
	return readNDJSON(r, func(line []byte) (bool, error) {
		if !gjson.ValidBytes(line) {
			return true, errBroken
		}
		j := gjson.ParseBytes(line)
		if j.Get("error").Exists() {
			return true, &faultError{line}
		}
		d := delta{text: j.Get("message.content").String(), reasoning: j.Get("message.thinking").String(), end: j.Get("done").Bool(), model: j.Get("model").String()}
		if d.end {
			d.finish = finishOf(j.Get("done_reason").String())
			d.usage = &Usage{Prompt: int(j.Get("prompt_eval_count").Int()), Completion: int(j.Get("eval_count").Int())}
		}
		return f(d) || d.end, nil
	})
}

// --- Anthropic's /v1/messages

func anthropicBody(c *wireCall) map[string]any {
	var system []string
	turns := make([]Message, 0, len(c.messages))
	for _, m := range c.messages {
		if m.Role == "system" {
			system = append(system, m.Content)
		} else {
			turns = append(turns, m)
		}
	}
	b := map[string]any{"model": c.model, "messages": turns, "stream": true, "max_tokens": c.maxTokens}
	if len(system) > 0 {
		b["system"] = strings.Join(system, "\n\n")
	}
	put(b, "temperature", c.temperature)
	if len(c.stop) > 0 {
		b["stop_sequences"] = c.stop
	}
	switch c.think {
	case ThinkOff:
		b["thinking"] = map[string]any{"type": "disabled"}
	case ThinkOn:
		b["thinking"] = map[string]any{"type": "enabled", "budget_tokens": max(1, c.maxTokens/2)}
	}
	if c.schema != nil {
		b["output_config"] = map[string]any{"format": map[string]any{"type": "json_schema", "schema": c.schema}}
	}
	return b
}

func anthropicStream(r io.Reader, f func(delta) bool) error {
	var usage Usage
	return readSSE(r, func(ev sseEvent) (bool, error) {
		if len(ev.data) == 0 {
			return f(delta{}), nil
		}
		if !gjson.ValidBytes(ev.data) {
			return true, errBroken
		}
		j := gjson.ParseBytes(ev.data)
		var d delta
		switch j.Get("type").String() {
		case "message_start":
			anthropicUsage(&usage, j.Get("message.usage"))
			d.model = j.Get("message.model").String()
		case "content_block_start":
			d.text, d.reasoning = j.Get("content_block.text").String(), j.Get("content_block.thinking").String()
		case "content_block_delta":
			d.text, d.reasoning = j.Get("delta.text").String(), j.Get("delta.thinking").String()
		case "message_delta":
			anthropicUsage(&usage, j.Get("usage"))
			d.finish = finishOf(j.Get("delta.stop_reason").String())
			u := usage
			d.usage = &u
		case "message_stop":
			f(delta{end: true})
			return true, nil
		default:
			// llama-server sends its errors without the wrapper type.
			if ev.name == "error" || j.Get("error").Exists() {
				return true, &faultError{ev.data}
			}
		}
		return f(d), nil
	})
}

func anthropicFull(b []byte) ([]delta, error) {
	if !gjson.ValidBytes(b) {
		return nil, errBroken
	}
	j := gjson.ParseBytes(b)
	if j.Get("type").String() == "error" || j.Get("error").Exists() {
		return nil, &faultError{b}
	}
	if !j.Get("content").Exists() {
		return nil, fmt.Errorf("%w: no content", errBroken)
	}
	var d delta
	for _, block := range j.Get("content").Array() {
		d.text += block.Get("text").String()
		d.reasoning += block.Get("thinking").String()
	}
	d.finish, d.model = finishOf(j.Get("stop_reason").String()), j.Get("model").String()
	d.end = d.finish != "" // Ollama gives no stop_reason when it aborted
	var u Usage
	anthropicUsage(&u, j.Get("usage"))
	d.usage = &u
	return []delta{d}, nil
}

// anthropicUsage takes what is told: input_tokens excludes what came from the
// cache, and a stream tells the prompt at the start, at the end, or twice.
func anthropicUsage(u *Usage, j gjson.Result) {
	read, made := int(j.Get("cache_read_input_tokens").Int()), int(j.Get("cache_creation_input_tokens").Int())
	if n := int(j.Get("input_tokens").Int()) + read + made; n > 0 {
		u.Prompt, u.Cached = n, read
	}
	if n := int(j.Get("output_tokens").Int()); n > 0 {
		u.Completion = n
	}
}
