package shim

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// The second ask: a reply that is clearly a failed tool call is asked for once more in a way that leaves the model
// nothing but a valid call. Where the server can be held to a schema, the answer's whole text has to be
// {"name": an offered tool, "arguments": what fits it}. tool_choice any is for the others: llama-server lets text go
// before the call it then demands, so a small model repeats the failed call there and fills its limit with blank
// lines, and Ollama does not read it at all.

// forcedRoom is how many tokens a forced call may take beyond the size of the one that failed. A small model held to a
// grammar easily writes without end, and the client's own limit is thousands of tokens: minutes of waiting.
const forcedRoom = 1024

// force asks once more and puts the call that comes in the place of the failed one.
func (x *exchange) force(ctx context.Context, p *repairer) {
	if x.s.opt.NoSecondAsk || x.req.required || len(x.req.tools) == 0 || !x.s.target.local() {
		return
	}
	c, fail := x.askForced(ctx, forcedRoom+p.outBytes) // a token is a byte at least
	if fail != nil {
		x.n.add("second ask failed: " + clip(fail.message, 120))
		return
	}
	if c == nil {
		return
	}
	calls := p.adopt(c.message())
	if calls == 0 {
		x.n.add("second ask with a forced call brought none")
		return
	}
	x.n.add("second ask with a forced call, because of " + strings.Join(x.rec.Unexecuted, "; "))
	x.rec.Forced += calls
	x.rec.Unexecuted = nil
}

// askForced returns the repaired answer, nil when there is no way to ask.
func (x *exchange) askForced(ctx context.Context, limit int) (*collector, *failure) {
	if schema := x.callSchema(); schema != "" {
		x.viaChat = true
		c, fail := x.askSecond(ctx, func() string {
			return setMember(x.bounded(limit), "output_config", `{"format":{"type":"json_schema","schema":`+schema+`}}`)
		})
		x.viaChat = false
		if fail == nil || fail.status >= 500 || ctx.Err() != nil {
			return c, fail
		}
		x.n.add("answer schema refused: " + clip(fail.message, 120))
	}
	if x.s.learned.has("tool_choice") {
		return nil, nil
	}
	return x.askSecond(ctx, func() string { return setMember(x.bounded(limit), "tool_choice", `{"type":"any"}`) })
}

// askSecond sends what body makes and collects the answer. Its usage is added, its findings are not the answer's.
func (x *exchange) askSecond(ctx context.Context, body func() string) (*collector, *failure) {
	c := &collector{}
	second := x.repairer(c)
	second.rec = &Record{}
	var fail *failure
	if x.viaChat {
		x.rec.Asks++
		fail = x.once(ctx, body(), second) // what is learned from a refusal is for the native route
	} else {
		fail = x.ask(ctx, body, second)
	}
	if fail != nil {
		return nil, fail
	}
	second.settle()
	second.end()
	x.rec.Usage.Output += second.rec.Usage.Output
	return c, nil
}

// bounded is body in one piece and of up to limit tokens.
func (x *exchange) bounded(limit int) string {
	body := setMember(x.body(), "stream", "false")
	if asked := int(gjson.Get(body, "max_tokens").Int()); asked <= 0 || asked > limit {
		body = setMember(body, "max_tokens", strconv.Itoa(limit))
	}
	return body
}

// callSchema is the schema of a call of any offered tool, "" where the server is not known to hold to one beside
// tools, or where a tool's schema refers to its own root.
func (x *exchange) callSchema() string {
	if k := x.s.target.Kind; k != LlamaCPP && k != Ollama {
		return ""
	}
	var calls []string
	for _, t := range x.req.tools {
		switch {
		case t.schema == "":
			continue // runs on the real API's side
		case strings.Contains(t.schema, `"$ref"`):
			return ""
		}
		calls = append(calls, `{"type":"object","properties":{"name":{"const":`+quote(t.name)+`},"arguments":`+t.schema+
			`},"required":["name","arguments"],"additionalProperties":false}`)
	}
	if len(calls) == 0 {
		return ""
	}
	return `{"anyOf":[` + strings.Join(calls, ",") + `]}`
}

// onlyReads are the client's tools that change nothing. A model held to a schema calls something, whatever it wished:
// small ones answered a wish to find files with a command that deletes, and one to delete with an overwritten file.
var onlyReads = map[string]bool{"Read": true, "Glob": true, "Grep": true, "LS": true, "NotebookRead": true, "WebFetch": true, "WebSearch": true}

var printedName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:"(?:name|function)"\s*:\s*"|\[The call of )([\w.:-]+)`)
})

// names says that a failed call's text names a tool, or a variant of its name such as EditFile or edit_file for Edit.
func names(failed, tool string) bool {
	plain := strings.NewReplacer("_", "", "-", "", ".", "")
	tool = strings.ToLower(plain.Replace(tool))
	for _, m := range printedName().FindAllStringSubmatch(failed, -1) {
		if name := strings.ToLower(plain.Replace(m[1])); strings.Contains(name, tool) || len(name) > 2 && strings.Contains(tool, name) {
			return true
		}
	}
	return false
}
