package llmtest

import "encoding/json"

// --- /v1/chat/completions

type openAIWire struct {
	k     *sink
	c     Call
	r     Reply
	u     usage
	tools int
}

func openAI(k *sink, c Call, r Reply) func(usage) stream {
	return func(u usage) stream { return &openAIWire{k: k, c: c, r: r, u: u} }
}

func (o *openAIWire) chunk(delta map[string]any, finish any) {
	o.k.write("data: " + marshal(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": o.c.Model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
	}) + "\n\n")
}

func (o *openAIWire) begin() {
	o.k.header("text/event-stream")
	o.chunk(map[string]any{"role": "assistant", "content": nil}, nil)
}

func (o *openAIWire) piece(text, reasoning string) {
	if reasoning != "" {
		o.chunk(map[string]any{"reasoning_content": reasoning}, nil)
		return
	}
	o.chunk(map[string]any{"content": text}, nil)
}

func (o *openAIWire) tool(t ToolUse) {
	o.chunk(map[string]any{"tool_calls": []any{map[string]any{
		"index": o.tools, "id": t.ID, "type": "function", "function": map[string]any{"name": t.Name, "arguments": string(t.Input)},
	}}}, nil)
	o.tools++
}

func (o *openAIWire) end() {
	o.chunk(map[string]any{}, openAIFinish(o.r.finish()))
	if !o.r.NoUsage {
		o.k.write("data: " + marshal(map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": []any{}, "usage": openAIUsage(o.u)}) + "\n\n")
	}
	o.k.write("data: [DONE]\n\n")
}

func (o *openAIWire) fault(body string) { o.k.write("data: " + body + "\n\n") }

func openAIFinish(f string) string {
	if f == "tool_use" {
		return "tool_calls"
	}
	return f
}

func openAIUsage(u usage) map[string]any {
	return map[string]any{
		"prompt_tokens": u.prompt, "completion_tokens": u.completion, "total_tokens": u.prompt + u.completion,
		"prompt_tokens_details": map[string]any{"cached_tokens": u.cached},
	}
}

func openAIWhole(c Call, r Reply, u usage) string {
	msg := map[string]any{"role": "assistant", "content": r.text()}
	if r.Reasoning != "" {
		msg["reasoning_content"] = r.Reasoning
	}
	out := map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": c.Model,
		"choices": []any{map[string]any{"index": 0, "message": msg, "finish_reason": openAIFinish(r.finish())}},
	}
	if !r.NoUsage {
		out["usage"] = openAIUsage(u)
	}
	return marshal(out)
}

// --- /v1/messages

// anthropicWire streams as llama-server, vLLM and Ollama do; the differences
// between them are fields of it.
type anthropicWire struct {
	k *sink
	c Call
	r Reply
	u usage

	kind  string
	open  string // type of the open block
	index int
}

func anthropic(kind string) func(k *sink, c Call, r Reply) func(usage) stream {
	return func(k *sink, c Call, r Reply) func(usage) stream {
		return func(u usage) stream { return &anthropicWire{k: k, c: c, r: r, u: u, kind: kind, index: -1} }
	}
}

func (a *anthropicWire) event(name string, v map[string]any) {
	v["type"] = name
	a.k.write("event: " + name + "\ndata: " + marshal(v) + "\n\n")
}

func (a *anthropicWire) begin() {
	a.k.header("text/event-stream")
	u := map[string]any{"input_tokens": a.u.prompt - a.u.cached, "output_tokens": 0}
	switch a.kind {
	case "ollama":
		u["input_tokens"] = len(a.c.Body) / 4 // an estimate; the real one comes at the end
	case "llama", "anthropic":
		u["cache_read_input_tokens"] = a.u.cached
	case "vllm":
		u["input_tokens"] = a.u.prompt
	}
	a.event("message_start", map[string]any{"message": map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "content": []any{}, "model": a.c.Model,
		"stop_reason": nil, "stop_sequence": nil, "usage": u,
	}})
}

func (a *anthropicWire) block(kind string, v map[string]any) {
	if a.open == kind && kind != "tool_use" {
		return
	}
	a.close()
	a.index++
	a.open = kind
	v["type"] = kind
	a.event("content_block_start", map[string]any{"index": a.index, "content_block": v})
}

func (a *anthropicWire) close() {
	if a.open == "thinking" && a.kind == "llama" {
		a.event("content_block_delta", map[string]any{"index": a.index, "delta": map[string]any{"type": "signature_delta", "signature": ""}})
	}
	if a.open != "" {
		a.event("content_block_stop", map[string]any{"index": a.index})
	}
	a.open = ""
}

func (a *anthropicWire) piece(text, reasoning string) {
	if reasoning != "" {
		a.block("thinking", map[string]any{"thinking": ""})
		a.event("content_block_delta", map[string]any{"index": a.index, "delta": map[string]any{"type": "thinking_delta", "thinking": reasoning}})
		return
	}
	a.block("text", map[string]any{"text": ""})
	a.event("content_block_delta", map[string]any{"index": a.index, "delta": map[string]any{"type": "text_delta", "text": text}})
}

func (a *anthropicWire) tool(t ToolUse) {
	start := map[string]any{"id": t.ID, "name": t.Name}
	if a.kind != "llama" { // llama-server leaves "input" out
		start["input"] = map[string]any{}
	}
	a.block("tool_use", start)
	a.event("content_block_delta", map[string]any{"index": a.index, "delta": map[string]any{"type": "input_json_delta", "partial_json": string(t.Input)}})
}

func (a *anthropicWire) end() {
	a.close()
	u := map[string]any{"output_tokens": a.u.completion}
	switch a.kind {
	case "vllm":
		u["input_tokens"], u["cache_creation_input_tokens"], u["cache_read_input_tokens"] = a.u.prompt-a.u.cached, 0, a.u.cached
	case "ollama":
		u["input_tokens"] = a.u.prompt
	}
	a.event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": anthropicFinish(a.r.finish()), "stop_sequence": nil}, "usage": u})
	a.event("message_stop", map[string]any{})
}

func (a *anthropicWire) fault(body string) { a.k.write("event: error\ndata: " + body + "\n\n") }

func anthropicFinish(f string) string {
	switch f {
	case "stop":
		return "end_turn"
	case "length":
		return "max_tokens"
	}
	return f
}

func anthropicWhole(kind string) func(c Call, r Reply, u usage) string {
	return func(c Call, r Reply, u usage) string {
		content := []any{}
		if r.Reasoning != "" {
			content = append(content, map[string]any{"type": "thinking", "thinking": r.Reasoning, "signature": ""})
		}
		if t := r.text(); t != "" {
			content = append(content, map[string]any{"type": "text", "text": t})
		}
		for _, t := range r.Tools {
			content = append(content, map[string]any{"type": "tool_use", "id": t.ID, "name": t.Name, "input": json.RawMessage(t.Input)})
		}
		us := map[string]any{"input_tokens": u.prompt, "output_tokens": u.completion}
		if kind != "ollama" {
			us["input_tokens"], us["cache_read_input_tokens"] = u.prompt-u.cached, u.cached
		}
		return marshal(map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "content": content, "model": c.Model,
			"stop_reason": anthropicFinish(r.finish()), "stop_sequence": nil, "usage": us,
		})
	}
}

// --- Ollama's /api/chat

type ollamaWire struct {
	k *sink
	c Call
	r Reply
	u usage
}

func (o *ollamaWire) line(v map[string]any) {
	v["model"], v["created_at"] = o.c.Model, "2026-01-01T00:00:00Z"
	o.k.write(marshal(v) + "\n")
}

func (o *ollamaWire) begin() { o.k.header("application/x-ndjson") }

func (o *ollamaWire) piece(text, reasoning string) {
	m := map[string]any{"role": "assistant", "content": text}
	if reasoning != "" {
		m["thinking"] = reasoning
	}
	o.line(map[string]any{"message": m, "done": false})
}

func (o *ollamaWire) tool(t ToolUse) {
	o.line(map[string]any{"message": map[string]any{"role": "assistant", "content": "", "tool_calls": []any{
		map[string]any{"function": map[string]any{"name": t.Name, "arguments": json.RawMessage(t.Input)}},
	}}, "done": false})
}

func (o *ollamaWire) last() map[string]any {
	finish := o.r.finish()
	if finish == "tool_use" {
		finish = "stop"
	}
	v := map[string]any{
		"message": map[string]any{"role": "assistant", "content": ""}, "done": true, "done_reason": finish,
		"total_duration": 5_000_000, "load_duration": 1_000_000,
	}
	if !o.r.NoUsage {
		v["prompt_eval_count"], v["prompt_eval_duration"] = o.u.prompt, 1_000_000
		v["eval_count"], v["eval_duration"] = o.u.completion, 2_000_000
	}
	return v
}

func (o *ollamaWire) end() { o.line(o.last()) }

func (o *ollamaWire) fault(body string) { o.k.write(body + "\n") }
