package llm

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// verdict on a reply that is no answer.
type verdict int

const (
	vFinal    verdict = iota // say so
	vWait                    // come back later: loading, full, limited
	vDropped                 // the runner died: once more
	vDrop                    // without the field it refuses
	vOverflow                // the prompt does not fit
	vClamp                   // the answer budget alone is larger than the window
)

// refusal is what a server's error means.
type refusal struct {
	verdict verdict
	field   string // vDrop
	prompt  int    // vOverflow, 0: not told
	window  int    // vOverflow, vClamp; 0: not told
}

// overflowShape is one server's way of saying that the prompt is too long.
type overflowShape struct {
	say            *regexp.Regexp
	prompt, window int // index of the group, 0: not told
}

// overflowShapes in the words of llama-server, vLLM (new, old), Ollama, Anthropic,
// OpenAI, LM Studio.
var overflowShapes = sync.OnceValue(func() []overflowShape {
	re := regexp.MustCompile
	return []overflowShape{
		{re(`request \((\d+) tokens\) exceeds the available context size \((\d+) tokens\)`), 1, 2},
		{re(`exceed_context_size_error`), 0, 0},
		{re(`maximum context length is (\d+) tokens\. However, your prompt contains at least (\d+)`), 2, 1},
		{re(`maximum context length is (\d+) tokens\. However, you requested (\d+)`), 0, 1},
		{re(`You passed (\d+) input tokens`), 1, 0},
		{re(`max_tokens must be at least 1, got -?\d+`), 0, 0},
		{re(`input length exceeds the (?:available )?context length`), 0, 0},
		{re(`prompt is longer than the context length`), 0, 0},
		{re(`tokens to keep from the initial prompt is greater than the context length`), 0, 0},
		{re(`prompt is too long: (\d+) tokens > (\d+)`), 1, 2},
		{re(`(?i)context_length_exceeded|prompt too long|exceeds? (?:the )?(?:model's )?(?:maximum )?context (?:length|window|size)`), 0, 0},
		{re(`(?i)context (?:length|window) (?:is )?(?:exceeded|overflow|not (?:large|big) enough|of only)`), 0, 0},
	}
})

// clampShape is vLLM's refusal of a budget that is larger than its window.
var clampShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`max_(?:completion_)?tokens=\d+ cannot be greater than max_model_len=(\d+)`)
})

// fieldWords are the words by which servers name the optional fields we send.
var fieldWords = []struct {
	field string
	words []string
}{
	{"response_format", []string{"response_format", "json_schema", "grammar", "guided", "structured"}},
	{"format", []string{"format", "grammar", "schema"}},
	{"output_config", []string{"output_config"}},
	{"chat_template_kwargs", []string{"chat_template_kwargs", "enable_thinking"}},
	{"think", []string{"thinking", "think"}},
	{"thinking", []string{"thinking"}},
	{"stream_options", []string{"stream_options", "include_usage"}},
	{"keep_alive", []string{"keep_alive"}},
	{"truncate", []string{"truncate"}},
	{"shift", []string{"shift"}},
	{"seed", []string{"seed"}},
	{"temperature", []string{"temperature"}},
	{"stop", []string{"'stop'", `"stop"`, "stop_sequences", "`stop`"}},
	{"stop_sequences", []string{"stop_sequences"}},
}

// permanent500 are failures that servers report as their own though the request causes them.
var permanent500 = []string{"Jinja Exception", "parse_error", "type_error", "is required", "not supported"}

// died500 are the words for a runner that ended in mid-call.
var died500 = []string{"EOF", "connection reset", "broken pipe", "runner process", "forcibly closed", "connection refused", "Connection error", "server disconnected"}

// unparsable are the words for an answer the server could not read as its chat
// template wants it: the model's failure, not the server's.
var unparsable = []string{"does not match the expected", "Failed to parse input at pos", "failed to parse input at pos", "Failed to parse tool call"}

// modelsFault says whether an error is about what the model wrote.
func modelsFault(reply []byte) bool {
	return slices.ContainsFunc(unparsable, func(w string) bool { return strings.Contains(string(reply), w) })
}

// judge tells what an error reply asks for. body holds the fields we sent.
func judge(status int, reply []byte, sent map[string]any) refusal {
	text := string(reply)
	for _, s := range overflowShapes() {
		if m := s.say.FindStringSubmatch(text); m != nil && status != http.StatusTooManyRequests {
			r := refusal{verdict: vOverflow, prompt: groupInt(m, s.prompt), window: groupInt(m, s.window)}
			if r.prompt == 0 {
				r.prompt = int(gjson.GetBytes(reply, "error.n_prompt_tokens").Int())
			}
			if r.window == 0 {
				r.window = int(gjson.GetBytes(reply, "error.n_ctx").Int())
			}
			return r
		}
	}
	if m := clampShape().FindStringSubmatch(text); m != nil {
		return refusal{verdict: vClamp, window: groupInt(m, 1)}
	}
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, 529:
		return refusal{verdict: vWait}
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		if f := refusedField(text, sent); f != "" {
			return refusal{verdict: vDrop, field: f}
		}
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return refusal{verdict: vDropped}
	case http.StatusInternalServerError:
		if strings.Contains(text, "grammar") && sent["response_format"] != nil {
			return refusal{verdict: vDrop, field: "response_format"}
		}
		has := func(w string) bool { return strings.Contains(text, w) }
		if slices.ContainsFunc(died500, has) && !slices.ContainsFunc(permanent500, has) {
			return refusal{verdict: vDropped}
		}
	}
	return refusal{verdict: vFinal}
}

// permanent says whether a 5xx is caused by the request itself.
func permanent(reply []byte) bool {
	return slices.ContainsFunc(permanent500, func(w string) bool { return strings.Contains(string(reply), w) })
}

// refusedField finds the optional field that a server does not take.
func refusedField(text string, sent map[string]any) string {
	if strings.Contains(text, "max_completion_tokens") && strings.Contains(text, "max_tokens") && sent["max_tokens"] != nil {
		return "max_tokens" // sent under its newer name instead
	}
	for _, f := range fieldWords {
		if _, ok := sent[f.field]; !ok {
			continue
		}
		for _, w := range f.words {
			if strings.Contains(text, w) {
				return f.field
			}
		}
	}
	return ""
}

func groupInt(m []string, i int) int {
	if i == 0 || i >= len(m) {
		return 0
	}
	v, err := strconv.Atoi(m[i])
	if err != nil {
		return 0
	}
	return v
}

// encode makes the body of a call, without what this server refused earlier.
func encode(fields map[string]any, dropped map[string]bool) ([]byte, error) {
	for f := range dropped {
		if f == "max_tokens" {
			if v, ok := fields[f]; ok {
				fields["max_completion_tokens"] = v
			}
		}
		delete(fields, f)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // "<" as written: half the bytes, and the same prefix for every cache
	if err := enc.Encode(fields); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}
