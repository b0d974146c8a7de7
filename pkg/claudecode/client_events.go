package claudecode

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Event is one thing that a session tells. Kind says which fields are set.
type Event struct {
	Kind    EventKind
	Message string // id of the model's message, on Text and ToolCall
	Text    string // Text: what the model says; ToolResult: what the tool answered; Denied, Retry, Notice: what happened
	Tool    string // ToolCall, Denied: its name
	Call    string // ToolCall, ToolResult: id that pairs them
	Input   gjson.Result
	Error   bool // ToolResult: the tool failed
	Init    Init
	Result  Result
}

// EventKind tells events apart.
type EventKind string

// The kinds. What is not listed is not reported.
const (
	EventInit       EventKind = "init"
	EventText       EventKind = "text"
	EventToolCall   EventKind = "tool_call"
	EventToolResult EventKind = "tool_result"
	EventDenied     EventKind = "denied"
	EventRetry      EventKind = "retry"
	EventCompacted  EventKind = "compacted"
	EventNotice     EventKind = "notice" // an error message in place of the model's
	EventResult     EventKind = "result"
)

// Init is what a session begins with.
type Init struct {
	SessionID, Version, Model string
	Tools, Servers            []string
}

// Result is how a turn of ours ended. Subtype can be "success" while IsError is set.
type Result struct {
	Subtype   string
	IsError   bool
	Text      string
	Terminal  string // terminal_reason: completed, max_turns, prompt_too_long, api_error …
	Status    int    // of the API, on api_error
	Turns     int
	Errors    []string
	Denied    []string // tools that were refused
	SessionID string
}

// ParseEvent reads one line of stream-json; ok is false when it is none. A line may hold several events, and most
// kinds of line hold none that matters.
func ParseEvent(line []byte) (events []Event, ok bool) {
	if !gjson.ValidBytes(line) {
		return nil, false
	}
	v := gjson.ParseBytes(line)
	if !v.IsObject() {
		return nil, false
	}
	switch v.Get("type").Str {
	case "system":
		return systemEvent(v), true
	case "assistant":
		return assistantEvents(v), true
	case "user":
		return resultEvents(v), true
	case "result":
		return []Event{{Kind: EventResult, Result: resultOf(v)}}, true
	}
	return nil, true
}

func systemEvent(v gjson.Result) []Event {
	switch v.Get("subtype").Str {
	case "init":
		return []Event{{Kind: EventInit, Init: Init{
			SessionID: v.Get("session_id").Str, Version: v.Get("claude_code_version").Str, Model: v.Get("model").Str,
			Tools: texts(v.Get("tools")), Servers: texts(v.Get("mcp_servers.#.name")),
		}}}
	case "permission_denied":
		return []Event{{Kind: EventDenied, Tool: v.Get("tool_name").Str, Call: v.Get("tool_use_id").Str, Text: firstOf(v, "message", "decision_reason", "reason")}}
	case "api_retry":
		return []Event{{Kind: EventRetry, Text: strings.TrimSpace(v.Get("error_status").Raw + " " + v.Get("error").String())}}
	case "compact_boundary":
		return []Event{{Kind: EventCompacted, Text: v.Get("compact_metadata.pre_tokens").Raw}}
	}
	return nil
}

func firstOf(v gjson.Result, paths ...string) string {
	for _, p := range paths {
		if s := v.Get(p).String(); s != "" {
			return s
		}
	}
	return ""
}

func texts(v gjson.Result) []string {
	var out []string
	for _, e := range v.Array() {
		out = append(out, e.String())
	}
	return out
}

func assistantEvents(v gjson.Result) []Event {
	var out []Event
	id := v.Get("message.id").Str
	for _, c := range v.Get("message.content").Array() {
		switch c.Get("type").Str {
		case "text":
			kind := EventText
			if v.Get("error").Exists() && v.Get("error").Type != gjson.Null {
				kind = EventNotice
			}
			out = append(out, Event{Kind: kind, Message: id, Text: c.Get("text").Str})
		case "tool_use":
			out = append(out, Event{Kind: EventToolCall, Message: id, Tool: c.Get("name").Str, Call: c.Get("id").Str, Input: c.Get("input")})
		}
	}
	return out
}

func resultEvents(v gjson.Result) []Event {
	var out []Event
	for _, c := range v.Get("message.content").Array() {
		if c.Get("type").Str == "tool_result" {
			out = append(out, Event{Kind: EventToolResult, Call: c.Get("tool_use_id").Str, Error: c.Get("is_error").Bool(), Text: contentText(c.Get("content"))})
		}
	}
	return out
}

func contentText(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.Str
	}
	var b strings.Builder
	for _, c := range v.Array() {
		switch c.Get("type").Str {
		case "text":
			b.WriteString(c.Get("text").Str)
		default:
			b.WriteString("[" + c.Get("type").Str + "]")
		}
	}
	return b.String()
}

func resultOf(v gjson.Result) Result {
	r := Result{
		Subtype: v.Get("subtype").Str, IsError: v.Get("is_error").Bool(), Text: v.Get("result").Str, Terminal: v.Get("terminal_reason").Str,
		Status: int(v.Get("api_error_status").Int()), Turns: int(v.Get("num_turns").Int()), SessionID: v.Get("session_id").Str,
		Errors: texts(v.Get("errors")),
	}
	for _, d := range v.Get("permission_denials.#.tool_name").Array() {
		if !slices.Contains(r.Denied, d.Str) {
			r.Denied = append(r.Denied, d.Str)
		}
	}
	return r
}

// DefaultMaxLine is the longest line of events that is read.
const DefaultMaxLine = 64 << 20

// Lines cuts a stream of events into lines, whatever pieces it comes in. It is an io.Writer that never fails. A line
// above MaxLine is skipped, not the session; one that is no JSON is joined with what follows, in case a raw line
// break stood inside a string, and given up when what follows is an event of its own.
type Lines struct {
	MaxLine int                                  // bytes; 0: DefaultMaxLine
	OnLine  func(line []byte, events []Event)    // line is only valid during the call
	OnBad   func(fragment []byte, reason string) // may be nil

	buf     []byte
	held    []byte // a line that is no event by itself
	skipped int
}

func (l *Lines) limit() int {
	if l.MaxLine > 0 {
		return l.MaxLine
	}
	return DefaultMaxLine
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.add(p)
			return n, nil
		}
		l.add(p[:i])
		p = p[i+1:]
		l.endLine()
	}
}

// Close reads a last line that has no end.
func (l *Lines) Close() {
	l.endLine()
	l.giveUp("no JSON")
}

func (l *Lines) add(p []byte) {
	if l.skipped > 0 || len(l.buf)+len(p) > l.limit() {
		l.skipped += len(l.buf) + len(p)
		l.buf = nil
		return
	}
	l.buf = append(l.buf, p...)
}

func (l *Lines) endLine() {
	line := bytes.TrimSpace(l.buf)
	switch {
	case l.skipped > 0:
		l.skipped = 0
		l.bad(nil, "a line over the limit was skipped")
	case len(line) > 0:
		l.line(line)
	}
	if cap(l.buf) > 1<<20 {
		l.buf = nil // one large line must not hold its memory for the rest of the job
	}
	l.buf = l.buf[:0]
}

func (l *Lines) line(line []byte) {
	if events, ok := ParseEvent(line); ok {
		l.giveUp("no JSON")
		l.OnLine(line, events)
		return
	}
	if l.held != nil && len(l.held)+len(line) < l.limit() {
		joined := slices.Concat(l.held, []byte(`\n`), line)
		if events, ok := ParseEvent(joined); ok {
			l.held = nil
			l.OnLine(joined, events)
			return
		}
		l.held = joined
		return
	}
	l.giveUp("no JSON")
	if line[0] == '{' {
		l.held = bytes.Clone(line)
		return
	}
	l.bad(line, "no JSON")
}

func (l *Lines) giveUp(reason string) {
	if l.held != nil {
		l.bad(l.held, reason)
		l.held = nil
	}
}

func (l *Lines) bad(fragment []byte, reason string) {
	if l.OnBad != nil {
		l.OnBad(fragment, reason)
	}
}
