package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidwall/gjson"
)

// ctxSteps are the windows asked of Ollama. Few, because every other value
// makes it load the model anew.
var ctxSteps = [...]int{8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576}

// defaultNumCtx is the window planned with on Ollama where the user sets none:
// more is asked for only when a prompt needs it, since it costs video memory.
const defaultNumCtx = 32768

// smallAnswer is the least room kept for an answer while counts are estimates.
const smallAnswer = 256

func ctxStep(need int) int {
	for _, s := range ctxSteps {
		if s >= need {
			return s
		}
	}
	return need
}

// ollamaPlan is the window to plan with for a model that is not loaded.
func ollamaPlan(setting, maximum int) int {
	switch {
	case setting > 0 && maximum > 0:
		return min(setting, maximum)
	case setting > 0:
		return setting
	case maximum > 0:
		return min(defaultNumCtx, maximum)
	}
	return unknownWindow
}

// plan is how one call fits its window.
type plan struct {
	x         features
	prompt    int // tokens, estimated or exact
	exact     bool
	doubt     float64 // relative error of prompt
	window    int     // in force for this call, 0: unknown
	numCtx    int     // asked of Ollama
	maxTokens int
	note      string
}

func measureMessages(msgs []Message) features {
	var x features
	for _, m := range msgs {
		x.add(measure(m.Content))
	}
	x[cMessage] += float64(len(msgs))
	return x
}

// plan counts the prompt and fits the answer beside it: prompt + answer ≤
// window. The server is asked for an exact count only when it is close.
func (r *Registry) plan(ctx context.Context, s *server, w *wireCall, limit int) (plan, error) {
	fit := r.tokens.fit(w.model)
	p := plan{x: measureMessages(w.messages), doubt: fit.doubt(), window: limit, maxTokens: w.maxTokens}
	p.prompt = fit.guess(p.x)
	if limit <= 0 {
		if w.backend == Ollama {
			p.numCtx = ctxStep(p.most() + p.maxTokens)
			p.window = p.numCtx
		}
		return p, nil
	}
	if p.most()+min(p.maxTokens, limit/4) > limit {
		if n, ok := r.countPrompt(ctx, s, w); ok {
			p.prompt, p.exact, p.doubt = n, true, 0
		}
	}
	if p.least() >= limit {
		return p, &OverflowError{Endpoint: s.Name, Model: w.model, Prompt: p.prompt, Exact: p.exact, Window: limit}
	}
	room := limit - p.most()
	if !p.exact {
		room = max(room, min(p.maxTokens, smallAnswer, limit/2))
	}
	room = max(room, 1)
	if room < p.maxTokens {
		p.note = fmt.Sprintf("answer budget lowered from %d to %d tokens: the window holds %d", p.maxTokens, room, limit)
		p.maxTokens = room
	}
	if w.backend == Ollama {
		p.numCtx = min(ctxStep(p.most()+p.maxTokens), limit)
		if in := s.loaded(w.model); in >= p.most()+p.maxTokens && in <= limit {
			p.numCtx = in // as it is loaded now
		}
		p.window = p.numCtx
	}
	return p, nil
}

// grow asks for the next larger window: the prompt is longer than estimated.
func (p *plan) grow(limit int) {
	p.prompt = max(p.prompt, p.numCtx)
	p.numCtx = ctxStep(p.numCtx + 1)
	if limit > 0 {
		p.numCtx = min(p.numCtx, limit)
	}
	p.window = p.numCtx
}

// most and least are the bounds of the prompt's size.
func (p *plan) most() int {
	if p.exact {
		return p.prompt + 2
	}
	return p.prompt + int(p.doubt*float64(p.prompt)) + 32
}

func (p *plan) least() int {
	if p.exact {
		return p.prompt
	}
	return int(float64(p.prompt) * (1 - p.doubt))
}

// loaded is the window a model is loaded with on Ollama, 0: not loaded or unknown.
func (s *server) loaded(model string) int {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	return s.learned.ctx[model]
}

func (s *server) setLoaded(model string, window int) {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	if s.learned.ctx == nil {
		s.learned.ctx = map[string]int{}
	}
	s.learned.ctx[model] = window
}

// countPrompt asks the server how many tokens the messages make, template included.
func (r *Registry) countPrompt(ctx context.Context, s *server, w *wireCall) (int, bool) {
	switch w.backend {
	case LlamaCpp, Anthropic:
		fields := anthropicBody(w)
		delete(fields, "stream")
		return r.countBy(ctx, s, s.api+"/messages/count_tokens", fields, "input_tokens")
	case VLLM:
		// Its count_tokens fails above the window; /tokenize does not.
		return r.countBy(ctx, s, s.root+"/tokenize", map[string]any{"model": w.model, "messages": w.messages}, "count")
	}
	return 0, false
}

// Count counts the tokens of text for the chosen model: exact when the server
// counts, else by estimate. Ask it for texts that will be sent: it wakes a
// sleeping server.
func (r *Registry) Count(ctx context.Context, c Choice, text string) (n int, exact bool) {
	s := r.server(c.Endpoint)
	if s != nil {
		switch c.Backend {
		case LlamaCpp:
			n, exact = r.countBy(ctx, s, s.root+"/tokenize", map[string]any{"content": text}, "tokens.#")
		case VLLM:
			n, exact = r.countBy(ctx, s, s.root+"/tokenize", map[string]any{"model": c.Model, "prompt": text, "add_special_tokens": false}, "count")
		case Anthropic:
			msgs := []Message{{Role: "user", Content: text}}
			n, exact = r.countBy(ctx, s, s.api+"/messages/count_tokens", map[string]any{"model": c.Model, "messages": msgs}, "input_tokens")
		}
	}
	if exact {
		return n, true
	}
	return r.Estimate(c, text), false
}

// countLimit bounds the wait for a count: an estimate is there at once.
const countLimit = 15 * time.Second

func (r *Registry) countBy(ctx context.Context, s *server, url string, fields map[string]any, path string) (int, bool) {
	body, err := json.Marshal(fields)
	if err != nil {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	v := gjson.GetBytes(r.ask(ctx, s, url, body).json(), path)
	return int(v.Int()), v.Exists()
}

// Estimate counts without asking the server, with what was learned of the model.
func (r *Registry) Estimate(c Choice, text string) int {
	fit := r.tokens.fit(c.Model)
	return fit.guess(measure(text))
}

// FitsBytes is about how many bytes of a text like sample make n tokens.
func (r *Registry) FitsBytes(c Choice, sample string, n int) int {
	if sample == "" || n <= 0 {
		return 0
	}
	return int(float64(len(sample)) / float64(max(1, r.Estimate(c, sample))) * float64(n))
}

// silentlyCuts lists the servers that shorten a prompt without a word.
func silentlyCuts(b Backend) bool { return b == Ollama || b == LMStudio || b == OpenAI }

// suspect says why an answer may rest on a shortened prompt; empty: no sign of it.
func (p *plan) suspect(b Backend, reported int) string {
	if reported <= 0 {
		return ""
	}
	if p.window > 0 && reported >= p.window-1 {
		return fmt.Sprintf("the prompt filled the window (%d of %d tokens): the server may have cut it", reported, p.window)
	}
	if !silentlyCuts(b) {
		return ""
	}
	share := 1 - max(0.3, 2*p.doubt)
	if p.prompt-reported >= smallAnswer && float64(reported) < share*float64(p.prompt) {
		return fmt.Sprintf("the server read %d tokens of a prompt of about %d: it was cut without a word", reported, p.prompt)
	}
	return ""
}
