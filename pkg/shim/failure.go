package shim

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// class says what a failure means for the shim itself. What the client is told is in status, kind and message.
type class int

const (
	classOther    class = iota
	classOverflow       // the prompt does not fit
	classMaxTokens
	classTemplate  // the chat template raised: permanent
	classAlternate // the template wants roles to alternate: can be learned
	classGrammar   // a tool schema cannot become a grammar: permanent
	classImages    // can be learned
	classNoTools   // the server or model takes no tools: permanent
	classBadCall   // the server could not parse the model's own call: try again, not for ever
	classLoading   // wait
	classBusy      // the client may try again
	classAuth      // permanent until the user acts
	classNoRoute   // the path does not exist: another way out
	classNoModel
	classTransport // refused, reset, cut
	classStall
)

// failure is an error as the client should see it. The zero status means 500.
type failure struct {
	class      class
	status     int
	kind       string // Anthropic's error type
	message    string
	retryAfter int // seconds, 0: no hint
	tokens     int // overflow: prompt tokens, when told
	window     int // overflow: maximum, when told
	upstream   int // status the server gave, 0: none
	raw        string
}

func (f *failure) Error() string { return f.message }

// shape is one row of the table of error texts. The first that matches wins.
type shape struct {
	class class
	re    string
	// what the groups of re mean: 't' prompt tokens, 'w' window, anything else nothing
	groups string
}

// shapes holds the texts servers were seen to send, overflow first: some of them mention other rows' words as advice.
var shapes = []shape{
	{classOverflow, `request \((\d+) tokens\) exceeds the available context size \((\d+) tokens\)`, "tw"}, // llama-server
	{classMaxTokens, `max_(?:completion_)?tokens=\d+ cannot be greater than max_model_len=(\d+)`, "w"},
	{classOverflow, `maximum context length is (\d+) tokens.{0,80}?(?:contains at least|resulted in|contains) (\d+)`, "wt"},
	{classOverflow, `maximum context length is (\d+) tokens.{0,40}?requested \d+ tokens \((\d+) in the messages`, "wt"},
	{classOverflow, `You passed (\d+) input tokens and requested \d+ output tokens.*?context length is only (\d+)`, "tw"},
	{classOverflow, `You passed (\d+) input tokens.*?maximum input length of (\d+)`, "tw"},
	{classOverflow, `[Ii]nput \((\d+) tokens\) is longer than the model's context length \((\d+)`, "tw"}, // SGLang
	{classOverflow, `must have less than (\d+) tokens\. Given: (\d+)`, "wt"},                             // TGI
	{classOverflow, `must be <= (\d+)\. Given: (\d+) .inputs. tokens`, "wt"},
	{classOverflow, `[Tt]rying to keep the first (\d+) tokens.*?context length of only (\d+)`, "tw"}, // LM Studio
	{classOverflow, `[Pp]rompt (?:is )?too long[^\d]{0,12}(\d+)\D+?(\d+)`, "tw"},
	{classOverflow, `max_tokens must be at least 1, got (?:0|-\d+)`, ""},
	{classOverflow, `(?i)exceed_context_size|context_length_exceeded|ContextWindowExceeded|prompt (?:is )?too long|input is too long|input length exceeds|longer than the (?:model's )?context length|exceeds the (?:model's )?(?:maximum )?context|exceeds the available context|maximum context length|context window exceeds|greater than the context length|reduce the length of the (?:messages|input prompt)|maximum prompt length|context (?:size|length) (?:has been |was )?exceeded|exceeded (?:the )?(?:model's )?context|context the overflows`, ""},
	{classGrammar, `(?i)(?:failed|unable|error|cannot) ?(?:to )?(?:parse|pars|initialize|create|compile|convert|generat)\w*(?: \w+){0,3} grammar|grammar (?:error|is invalid|parse)|invalid grammar|JSON schema conversion failed|unrecognized schema|xgrammar|unsupported JSON schema|Unimplemented keys`, ""},
	{classAlternate, `(?i)roles must alternate|alternate user/assistant|alternat(?:e|ing) between user and assistant`, ""},
	{classImages, `(?i)image input is not supported|not a multimodal model|does not support (?:image|vision)|vision is not supported|image_url is only supported|no mmproj|cannot (?:process|handle) images|images? (?:are|is) not supported`, ""},
	{classTemplate, `(?i)jinja exception|jinja2?\.|TemplateError|Unable to generate parser for this template|cannot apply chat template|chat template|System message must be at the beginning|unexpected message role|executing template`, ""},
	{classNoTools, `(?i)does not support tools|tools? (?:are|is) not supported|requires --enable-auto-tool-choice|tools param requires --jinja`, ""},
	{classBadCall, `(?i)failed to parse (?:input at pos|tool call|messages?: tool)|parse tool call arguments|error parsing tool call|invalid tool call arguments`, ""},
	{classLoading, `(?i)loading model|model is (?:still )?loading|model is not ready|server is loading`, ""},
	{classNoModel, `(?i)model .{0,200}?(?:does not exist|not found)|invalid model name|no such model`, ""},
}

var shapeTable = sync.OnceValue(func() []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(shapes))
	for i, s := range shapes {
		out[i] = regexp.MustCompile(`(?s)` + s.re)
	}
	return out
})

// matchShape finds the row for an error text and the numbers in it.
func matchShape(message string) (c class, tokens, window int) {
	if len(message) > 8<<10 {
		message = message[:8<<10]
	}
	for i, re := range shapeTable() {
		m := re.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		for g, what := range shapes[i].groups {
			v, _ := strconv.Atoi(m[g+1])
			switch what {
			case 't':
				tokens = v
			case 'w':
				window = v
			}
		}
		return shapes[i].class, tokens, window
	}
	return classOther, 0, 0
}

// errorText gets the message out of the error bodies servers send.
func errorText(body string) string {
	if !gjson.Valid(body) {
		return strings.TrimSpace(clip(body, 2000))
	}
	for _, path := range []string{"error.message", "message", "detail", "error", "detail.0.msg"} {
		if v := gjson.Get(body, path); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return clip(body, 2000)
}

// classify reads a server's error answer.
func classify(status int, header http.Header, body string) failure {
	f := failure{upstream: status, status: status, message: errorText(body), raw: clip(body, 2000)}
	f.class, f.tokens, f.window = matchShape(f.message + "\n" + gjson.Get(body, "error.type").String())
	if v := gjson.Get(body, "error.n_prompt_tokens").Int(); v > 0 && f.class == classOverflow {
		f.tokens, f.window = int(v), int(gjson.Get(body, "error.n_ctx").Int())
	}
	if hint, err := strconv.Atoi(header.Get("Retry-After")); err == nil && hint > 0 {
		f.retryAfter = min(hint, 60)
	}
	if f.class == classOther {
		f.class = classByStatus(status, f.message)
	}
	if f.message == "" {
		f.message = "the server answered " + strconv.Itoa(status) + " without a text"
	}
	return f.shaped()
}

func classByStatus(status int, message string) class {
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return classOverflow
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return classAuth
	case status == http.StatusNotFound && !strings.Contains(strings.ToLower(message), "model"),
		status == http.StatusMethodNotAllowed, status == http.StatusNotImplemented:
		return classNoRoute
	case status == http.StatusNotFound:
		return classNoModel
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable, status == 529:
		return classBusy
	default:
		return classOther
	}
}

// shaped sets status, kind and hint from the class: what is permanent becomes a 400, which the client does not retry.
func (f failure) shaped() failure {
	permanent := func(prefix string) {
		f.status, f.kind, f.retryAfter = http.StatusBadRequest, "invalid_request_error", 0
		f.message = prefix + f.message
	}
	switch f.class {
	case classOverflow, classMaxTokens:
		permanent("")
	case classTemplate, classAlternate:
		permanent("the server's chat template refuses this conversation: ")
	case classGrammar:
		permanent("the server cannot turn a tool's schema into a grammar: ")
	case classImages:
		permanent("the model cannot see images: ")
	case classNoTools:
		permanent("the server takes no tool calls: ")
	case classAuth:
		permanent(fmt.Sprintf("the server refused the API key (%d), set the endpoint's api_key: ", f.upstream))
	case classNoModel:
		f.status, f.kind = http.StatusNotFound, "not_found_error"
	case classBusy:
		f.kind = "overloaded_error"
		if f.status == http.StatusTooManyRequests {
			f.kind = "rate_limit_error"
		}
		f.hint(5)
	case classLoading:
		f.status, f.kind = http.StatusServiceUnavailable, "overloaded_error"
		f.hint(10)
	case classBadCall:
		f.status, f.kind = http.StatusInternalServerError, "api_error"
		f.hint(1)
	case classTransport, classStall:
		f.status, f.kind = http.StatusBadGateway, "api_error"
		f.hint(2)
	default:
		f.other()
	}
	return f
}

// other keeps the server's own status, in a shape the client knows.
func (f *failure) other() {
	switch {
	case f.status >= 500:
		f.kind = "api_error"
		f.hint(2)
	case f.status >= 400:
		f.kind = "invalid_request_error"
		if f.status == http.StatusNotFound {
			f.kind = "not_found_error"
		}
	default:
		f.status, f.kind = http.StatusBadGateway, "api_error"
		f.hint(2)
	}
}

func (f *failure) hint(seconds int) {
	if f.retryAfter == 0 {
		f.retryAfter = seconds
	}
}

// overflow is the one text that starts the client's compaction. tokens is made larger than window when the server did
// not tell the true size: the client computes with both.
func overflow(tokens, window int) failure {
	if window <= 0 {
		window = max(tokens-1, 1)
	}
	tokens = max(tokens, window+1)
	return failure{
		class: classOverflow, status: http.StatusBadRequest, kind: "invalid_request_error",
		tokens: tokens, window: window, message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, window),
	}
}

func badRequest(message string) failure {
	return failure{status: http.StatusBadRequest, kind: "invalid_request_error", message: message}
}

// json is the failure in Anthropic's error shape, for a body or an SSE error event.
func (f *failure) json() string {
	return `{"type":"error","error":{"type":` + quote(orElse(f.kind, "api_error")) + `,"message":` + quote(f.message) + `}}`
}

func writeFailure(w http.ResponseWriter, f failure) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if f.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(f.retryAfter))
	}
	if f.status == 0 {
		f.status = http.StatusInternalServerError
	}
	h.Set("X-Should-Retry", strconv.FormatBool(f.status >= 500 || f.status == http.StatusTooManyRequests))
	w.WriteHeader(f.status)
	_, _ = w.Write([]byte(f.json())) // the client may be gone
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
