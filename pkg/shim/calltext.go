package shim

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Small coders print their tool calls as text, whatever parser the server runs, and the job then ends as if it were
// done. Such a text becomes a real call when the whole answer is one JSON object that names an offered tool and fits
// its schema: bare, in a fence, or in <tool_call> tags. Anything else stays text.

// callKeys are the keys a printed call may have at its top.
var callKeys = map[string]bool{
	"name": true, "function": true, "arguments": true, "parameters": true, "input": true, "id": true, "type": true,
}

var callTags = []string{"tool_call", "function_call"}

// printed is what a text turned out to be.
type printed int

const (
	plainText  printed = iota
	failedCall         // meant as a call, cannot become one
	goodCall
)

// call is a printed call, ready to be a tool_use block.
type call struct {
	name string
	args string // raw JSON object
	why  string // failedCall: what is wrong
}

// readCall reads an answer's whole text.
func readCall(s string, r *request, schemas *schemaCache) (call, printed) {
	obj, ok := loneObject(s)
	if !ok {
		return call{}, plainText
	}
	fixed, ok := repairObject(obj)
	if !ok {
		if startsLikeCall(obj) {
			return call{why: "its JSON is broken"}, failedCall
		}
		return call{}, plainText
	}
	c, kind := takeApart(fixed)
	if kind != goodCall {
		return c, kind
	}
	t, ok := r.tool(c.name)
	if !ok {
		c.why = "no tool is called " + clip(c.name, 60)
		return c, failedCall
	}
	if why := schemas.misfit(t.schema, c.args); why != "" {
		c.why = "its arguments do not fit " + t.name + ": " + why
		return c, failedCall
	}
	return c, goodCall
}

// loneObject takes fences and tags off and returns the object when nothing else is there.
func loneObject(s string) (string, bool) {
	s = strings.TrimSpace(s)
	for range 3 {
		inner, ok := unwrap(s)
		if !ok {
			break
		}
		s = strings.TrimSpace(inner)
	}
	return s, strings.HasPrefix(s, "{") && (strings.HasSuffix(s, "}") || startsLikeCall(s))
}

// unwrap removes one layer of fence or tag. A missing end is accepted: small models leave it out.
func unwrap(s string) (string, bool) {
	if rest, ok := strings.CutPrefix(s, "```"); ok {
		rest = strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
		return strings.TrimSuffix(strings.TrimRight(rest, " \r\n\t"), "```"), true
	}
	for _, tag := range callTags {
		if rest, ok := strings.CutPrefix(s, "<"+tag+">"); ok {
			return strings.TrimSuffix(strings.TrimRight(rest, " \r\n\t"), "</"+tag+">"), true
		}
	}
	return s, false
}

// repairObject undoes the two faults that have one reading only: doubled braces, and raw control characters inside
// strings. It fails when the text is no single object afterwards.
func repairObject(s string) (string, bool) {
	for _, fix := range []func(string) string{
		func(s string) string { return s },
		escapeControls,
		undoubleOuter,
		undoubleAll,
		func(s string) string { return escapeControls(undoubleOuter(s)) },
		func(s string) string { return escapeControls(undoubleAll(s)) },
	} {
		if t := strings.TrimSpace(fix(s)); strings.HasPrefix(t, "{") && shallow(t) && gjson.Valid(t) {
			return t, true
		}
	}
	return "", false
}

func undoubleOuter(s string) string {
	if strings.HasPrefix(s, "{{") && strings.HasSuffix(s, "}}") {
		return s[1 : len(s)-1]
	}
	return s
}

// undoubleAll halves every pair of equal braces outside strings.
func undoubleAll(s string) string {
	if !strings.HasPrefix(s, "{{") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			end := stringEnd(s, i)
			b.WriteString(s[i:end])
			i = end - 1
		case (c == '{' || c == '}') && i+1 < len(s) && s[i+1] == c:
			b.WriteByte(c)
			i++
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// escapeControls writes the control characters inside strings as escapes; raw they can mean nothing else.
func escapeControls(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			b.WriteByte(s[i])
			continue
		}
		end := stringEnd(s, i)
		for _, c := range []byte(s[i:end]) {
			switch {
			case c == '\n':
				b.WriteString(`\n`)
			case c == '\t':
				b.WriteString(`\t`)
			case c == '\r':
				b.WriteString(`\r`)
			case c < ' ':
				const hex = "0123456789abcdef"
				b.WriteString(`\u00`)
				b.WriteByte(hex[c>>4])
				b.WriteByte(hex[c&15])
			default:
				b.WriteByte(c)
			}
		}
		i = end - 1
	}
	return b.String()
}

// takeApart finds name and arguments of a call-shaped object.
func takeApart(obj string) (call, printed) {
	var names, args []string
	for m := range members(obj) {
		raw := obj[m.valAt:m.end]
		if !callKeys[m.key] {
			return call{}, plainText
		}
		switch m.key {
		case "name":
			names = append(names, raw)
		case "function":
			if strings.HasPrefix(raw, "{") { // OpenAI's nesting
				if len(names)+len(args) > 0 {
					return call{}, plainText
				}
				return takeApart(raw)
			}
			names = append(names, raw)
		case "arguments", "parameters", "input":
			args = append(args, raw)
		}
	}
	if len(names) != 1 || len(args) != 1 || !strings.HasPrefix(names[0], `"`) {
		return call{}, plainText
	}
	c := call{name: unquote(names[0]), args: args[0]}
	if strings.HasPrefix(c.args, `"`) { // arguments as a string of JSON
		inner := strings.TrimSpace(unquote(c.args))
		if !strings.HasPrefix(inner, "{") || !shallow(inner) || !gjson.Valid(inner) {
			c.why = "its arguments are a plain string"
			return c, failedCall
		}
		c.args = inner
	}
	if !strings.HasPrefix(c.args, "{") {
		c.why = "its arguments are no object"
		return c, failedCall
	}
	return c, goodCall
}

// startsLikeCall tells whether broken JSON was meant as a call: its first key is one of a call, and it has a name and
// arguments.
func startsLikeCall(s string) bool {
	g := callGate{}
	if !g.feed(strings.TrimSpace(s)) && !g.closed() {
		return false
	}
	return hasKey(s, "name", "function") && hasKey(s, "arguments", "parameters", "input")
}

func hasKey(s string, keys ...string) bool {
	for _, k := range keys {
		if i := strings.Index(s, `"`+k+`"`); i >= 0 && strings.HasPrefix(strings.TrimLeft(s[i+len(k)+2:], " \n\t\r"), ":") {
			return true
		}
	}
	return false
}

// looksLikeCall tells whether a text that stayed text holds something like a call of an offered tool, for the record.
func looksLikeCall(s string, r *request) (string, bool) {
	for _, tag := range callTags {
		if strings.Contains(s, "<"+tag+">") {
			return "tags of a tool call in the text", true
		}
	}
	if !hasKey(s, "arguments", "parameters", "input") || !hasKey(s, "name", "function") {
		return "", false
	}
	for _, t := range r.tools {
		if strings.Contains(s, quote(t.name)) {
			return "a call of " + t.name + " in the text", true
		}
	}
	return "", false
}

// maxTries and maxCall bound the search for a call at the end of a text.
const (
	maxTries = 64
	maxCall  = 64 << 10
)

// endsWithCall tells whether a text that says something first ends in a call of an offered tool: clearly meant as one,
// but not alone, so it stays text and is worth a second ask.
func endsWithCall(s string, r *request) bool {
	if len(r.tools) == 0 {
		return false
	}
	for trimmed := ""; trimmed != s; {
		trimmed = s
		s = strings.TrimRight(strings.TrimSuffix(s, "```"), " \r\n\t")
		for _, tag := range callTags {
			s = strings.TrimSuffix(s, "</"+tag+">")
		}
	}
	if !strings.HasSuffix(s, "}") {
		return false
	}
	for at, tries := len(s), 0; tries < maxTries; tries++ {
		if at = strings.LastIndexByte(s[:at], '{'); at < 0 || len(s)-at > maxCall {
			return false
		}
		if obj, ok := repairObject(s[at:]); ok {
			if c, kind := takeApart(obj); kind != plainText {
				_, offered := r.tool(c.name)
				return offered
			}
		}
	}
	return false
}

// callGate watches a text grow and tells as early as possible that it can no longer become a call, so that a stream is
// held back no longer than needed. It decides on form alone; readCall has the last word.
type callGate struct {
	state    gateState
	seen     string // of a fence, tag or tail in progress
	depth    int
	keyDepth int
	inString bool
	escaped  bool
	wantKey  bool
	key      []byte
	isKey    bool
	body     bool // the object has begun
}

type gateState int

const (
	gateLead gateState = iota
	gateFence
	gateLang
	gateTag
	gateBody
	gateTail
	gateNo
)

// feed adds text and reports whether it can still become a call.
func (g *callGate) feed(s string) bool {
	for i := 0; i < len(s) && g.state != gateNo; i++ {
		g.step(s[i])
	}
	return g.state != gateNo
}

// closed reports whether a whole object was seen.
func (g *callGate) closed() bool { return g.body && g.depth == 0 }

func (g *callGate) step(c byte) {
	space := c == ' ' || c == '\n' || c == '\t' || c == '\r'
	switch g.state {
	case gateLead:
		g.lead(c, space)
	case gateFence:
		if g.seen += string(c); g.seen == "```" {
			g.state = gateLang
		} else if !strings.HasPrefix("```", g.seen) {
			g.state = gateNo
		}
	case gateLang:
		switch {
		case space:
			g.state = gateLead
		case c == '{' || c == '<':
			g.lead(c, false)
		case !identByte(string(c), 0):
			g.state = gateNo
		}
	case gateTag:
		g.tag(c)
	case gateBody:
		g.object(c, space)
	case gateTail:
		g.tail(c, space)
	}
}

func (g *callGate) lead(c byte, space bool) {
	switch {
	case space:
	case c == '{':
		g.state, g.body, g.depth, g.keyDepth, g.wantKey = gateBody, true, 1, 1, true
	case c == '`':
		g.state, g.seen = gateFence, "`"
	case c == '<':
		g.state, g.seen = gateTag, "<"
	default:
		g.state = gateNo
	}
}

func (g *callGate) tag(c byte) {
	g.seen += string(c)
	for _, tag := range callTags {
		full := "<" + tag + ">"
		if g.seen == full {
			g.state = gateLead
			return
		}
		if strings.HasPrefix(full, g.seen) {
			return
		}
	}
	g.state = gateNo
}

// object follows the JSON just well enough to see the keys at the top.
func (g *callGate) object(c byte, space bool) {
	switch {
	case g.inString:
		g.str(c)
	case c == '"':
		g.inString, g.isKey, g.key = true, g.wantKey && g.depth == g.keyDepth, g.key[:0]
		g.wantKey = false
	case c == '{' && g.wantKey && g.depth == 1 && g.keyDepth == 1:
		g.depth, g.keyDepth = 2, 2 // doubled braces
	case c == '{' || c == '[':
		g.depth++
	case c == '}' || c == ']':
		if g.depth--; g.depth <= 0 {
			g.state, g.seen = gateTail, ""
		}
	case c == ',':
		g.wantKey = g.wantKey || g.depth == g.keyDepth
	case space:
	default:
		if g.wantKey && g.depth == g.keyDepth {
			g.state = gateNo
		}
	}
}

func (g *callGate) str(c byte) {
	switch {
	case g.escaped:
		g.escaped = false
	case c == '\\':
		g.escaped = true
	case c == '"':
		g.inString = false
		if g.isKey && !callKeys[string(g.key)] {
			g.state = gateNo
		}
		return
	}
	if g.isKey {
		if g.key = append(g.key, c); len(g.key) > 16 {
			g.state = gateNo
		}
	}
}

// tail accepts closing fences, closing tags and one brace too many, nothing else.
func (g *callGate) tail(c byte, space bool) {
	if space && g.seen == "" {
		return
	}
	g.seen += string(c)
	closers := []string{"```", "}"}
	for _, tag := range callTags {
		closers = append(closers, "</"+tag+">")
	}
	for _, closer := range closers {
		if g.seen == closer {
			g.seen = ""
			return
		}
		if strings.HasPrefix(closer, g.seen) {
			return
		}
	}
	g.state = gateNo
}
