package llm

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// embeddingName is the fallback where a server does not tell what a model is for.
var embeddingName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)embed|rerank|minilm|mpnet|(^|[/_-])(bge|gte|e5|nomic-bert|colbert|splade)([-_.:]|$)`)
})

// otherName is the same for models that hear, speak or paint.
var otherName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)whisper|stable-diffusion|dall-e|moderation|(^|[/_-])(tts|sdxl)([-_.:]|$)`)
})

// guessCaps judges by the name alone.
func guessCaps(id string) Caps {
	e := embeddingName().MatchString(id)
	chat := !e && !otherName().MatchString(id)
	return Caps{Chat: chat, Embedding: e, Tools: chat}
}

// llamaCpp probes llama-server. Sleeping servers are recognised by /props,
// which does not wake them; /slots would.
func (p *prober) llamaCpp(ctx context.Context) {
	rs := p.get(ctx, p.s.api+"/models", p.s.root+"/props")
	if p.fail(rs[0]) {
		return
	}
	if rs[1].status == http.StatusUnauthorized {
		p.fail(rs[1]) // the list of models is open, nothing else is
		return
	}
	p.st.State = Up
	props := gjson.ParseBytes(rs[1].json())
	if props.Get("is_sleeping").Bool() {
		p.st.State, p.st.Detail = Sleeping, "the model sleeps; the first request wakes it"
	}
	window := int(props.Get("default_generation_settings.n_ctx").Int())
	p.st.Slots.Server = int(props.Get("total_slots").Int())
	for i, d := range gjson.GetBytes(rs[0].body, "data").Array() {
		m := Model{ID: d.Get("id").String(), Window: int(d.Get("meta.n_ctx").Int()), WindowWhy: "models", Loaded: p.st.State == Up}
		if s := d.Get("status.value"); s.Exists() { // a router in front of several models
			m.Loaded = s.String() == "loaded"
		} else if window > 0 {
			m.Window, m.WindowWhy = window, "props"
		}
		m.MaxWindow = max(int(d.Get("meta.n_ctx_train").Int()), m.Window)
		for _, a := range d.Get("aliases").Array() {
			if a.String() != m.ID {
				m.Aliases = append(m.Aliases, a.String())
			}
		}
		m.Quant = d.Get("meta.ftype").String()
		m.Caps = llamaCaps(m.ID, props, gjson.GetBytes(rs[0].body, "models."+strconv.Itoa(i)+".capabilities"))
		p.st.Models = append(p.st.Models, m)
	}
	if p.st.State == Up && props.Get("endpoint_slots").Bool() {
		p.llamaSlots(ctx)
	}
}

func llamaCaps(id string, props, listed gjson.Result) Caps {
	c := guessCaps(id)
	names := listed.String()
	if strings.Contains(names, "embedding") || strings.Contains(names, "rerank") {
		c = Caps{Known: true, Embedding: true}
		if strings.Contains(names, "completion") {
			c.Chat = true
		}
		if !c.Chat {
			return c
		}
	}
	tmpl := props.Get("chat_template").String()
	if tmpl == "" {
		return c
	}
	c.Known = true
	c.Tools = props.Get("chat_template_caps.supports_tool_calls").Bool() || props.Get("chat_template_caps.supports_tools").Bool()
	c.Thinking = strings.Contains(tmpl, "enable_thinking") || strings.Contains(tmpl, "<think>") || strings.Contains(tmpl, "reasoning_content")
	c.Vision = props.Get("modalities.vision").Bool()
	return c
}

func (p *prober) llamaSlots(ctx context.Context) {
	rep := p.r.ask(ctx, p.s, p.s.root+"/slots", nil)
	for _, s := range gjson.ParseBytes(rep.json()).Array() {
		if s.Get("is_processing").Bool() {
			p.st.Slots.Busy++
		}
	}
}

// ollama probes Ollama: tags for what there is, ps for what is loaded and with
// which window, show (once per digest) for what a model can do.
func (p *prober) ollama(ctx context.Context) {
	rs := p.get(ctx, p.s.root+"/api/tags", p.s.root+"/api/ps")
	if p.hostRefused(rs[0]) {
		rs = p.get(ctx, p.s.root+"/api/tags", p.s.root+"/api/ps")
	}
	if p.fail(rs[0]) {
		return
	}
	p.st.State = Up
	loaded := map[string]int{}
	for _, m := range gjson.GetBytes(rs[1].json(), "models").Array() {
		loaded[m.Get("model").String()] = int(m.Get("context_length").Int())
	}
	p.s.learned.mu.Lock()
	p.s.learned.ctx = loaded
	p.s.learned.mu.Unlock()
	tags := gjson.GetBytes(rs[0].json(), "models").Array()
	p.st.Models = make([]Model, len(tags))
	limit := make(chan struct{}, 8)
	var wg sync.WaitGroup
	for i, t := range tags {
		id := t.Get("model").String()
		if id == "" {
			id = t.Get("name").String()
		}
		m := &p.st.Models[i]
		*m = Model{ID: id, Quant: t.Get("details.quantization_level").String(), Caps: guessCaps(id)}
		m.Remote = t.Get("remote_host").String()
		m.Window, m.Loaded = loaded[id], loaded[id] > 0
		if m.Loaded {
			m.WindowWhy = "loaded"
		}
		if base, ok := strings.CutSuffix(id, ":latest"); ok {
			m.Aliases = []string{base}
		}
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			p.ollamaShow(ctx, m, t.Get("digest").String())
		})
	}
	wg.Wait()
}

// ollamaShow fills maximum and capabilities of one model; it does not load it.
func (p *prober) ollamaShow(ctx context.Context, m *Model, digest string) {
	p.s.learned.mu.Lock()
	facts, ok := p.s.learned.shows[digest]
	p.s.learned.mu.Unlock()
	if !ok || digest == "" {
		body, err := json.Marshal(map[string]string{"model": m.ID})
		if err != nil {
			return
		}
		rep := p.r.ask(ctx, p.s, p.s.root+"/api/show", body)
		if rep.json() == nil {
			return
		}
		facts = showFacts(rep.body)
		p.s.learned.mu.Lock()
		if p.s.learned.shows == nil {
			p.s.learned.shows = map[string]string{}
		}
		p.s.learned.shows[digest] = facts
		p.s.learned.mu.Unlock()
	}
	f := gjson.Parse(facts)
	m.MaxWindow = int(f.Get("max").Int())
	if caps := f.Get("caps").Array(); len(caps) > 0 {
		m.Caps = Caps{Known: true}
		for _, c := range caps {
			switch c.String() {
			case "completion":
				m.Caps.Chat = true
			case "tools":
				m.Caps.Tools = true
			case "thinking":
				m.Caps.Thinking = true
			case "vision":
				m.Caps.Vision = true
			case "embedding":
				m.Caps.Embedding = true
			}
		}
	}
}

// showFacts keeps the two things needed of a reply that can be megabytes.
func showFacts(body []byte) string {
	var maximum int64
	gjson.GetBytes(body, "model_info").ForEach(func(k, v gjson.Result) bool {
		if strings.HasSuffix(k.String(), ".context_length") {
			maximum = v.Int()
			return false
		}
		return true
	})
	caps := gjson.GetBytes(body, "capabilities").Raw
	if caps == "" {
		caps = "[]"
	}
	return `{"max":` + strconv.FormatInt(maximum, 10) + `,"caps":` + caps + `}`
}

// vllm probes vLLM. Its gauges lag while a long prompt is read, so they only
// add to our own bookkeeping.
func (p *prober) vllm(ctx context.Context) {
	rs := p.get(ctx, p.s.api+"/models", p.s.root+"/metrics")
	if p.fail(rs[0]) {
		return
	}
	p.st.State = Up
	p.listed(rs[0].body)
	if rs[1].ok() {
		p.st.Slots.Busy = gauge(string(rs[1].body), "vllm:num_requests_running")
		p.st.Slots.Waiting = gauge(string(rs[1].body), "vllm:num_requests_waiting")
	}
}

// gauge sums the samples of one Prometheus metric.
func gauge(text, name string) int {
	sum := 0.0
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		f := strings.Fields(rest[strings.LastIndexByte(rest, '}')+1:])
		if len(f) == 0 {
			continue
		}
		if v, err := strconv.ParseFloat(f[0], 64); err == nil {
			sum += v
		}
	}
	return int(sum)
}

// lmStudio probes LM Studio by its own route, which knows states and windows.
func (p *prober) lmStudio(ctx context.Context) {
	rep := p.r.ask(ctx, p.s, p.s.root+"/api/v0/models", nil)
	if p.fail(rep) {
		return
	}
	p.st.State = Up
	for _, d := range gjson.GetBytes(rep.body, "data").Array() {
		m := Model{ID: d.Get("id").String(), Loaded: d.Get("state").String() == "loaded", Quant: d.Get("quantization").String()}
		m.MaxWindow = int(d.Get("max_context_length").Int())
		if m.Window = int(d.Get("loaded_context_length").Int()); m.Window > 0 {
			m.WindowWhy = "loaded"
		}
		switch d.Get("type").String() {
		case "embeddings":
			m.Caps = Caps{Known: true, Embedding: true}
		case "llm", "vlm":
			m.Caps = Caps{Known: true, Chat: true, Tools: true, Vision: d.Get("type").String() == "vlm"}
			if caps := d.Get("capabilities"); caps.IsArray() {
				m.Caps.Tools = strings.Contains(caps.Raw, "tool_use")
			}
		default:
			m.Caps = guessCaps(m.ID)
		}
		p.st.Models = append(p.st.Models, m)
	}
}

// openAI probes anything else: a gateway passes on what it knows, if anything.
func (p *prober) openAI(ctx context.Context) {
	rs := p.get(ctx, p.s.api+"/models", p.s.api+"/model/info")
	if rs[0].err == nil && rs[0].status == http.StatusNotFound && p.s.Backend != Auto {
		// A server without a list; the user says what it is, and `models:` what it serves.
		p.st.State, p.st.HostUp, p.st.Detail = Up, true, "does not list its models; name them in models: with endpoint: "+p.s.Name
		return
	}
	if p.fail(rs[0]) {
		return
	}
	p.st.State = Up
	p.listed(rs[0].body)
	if gjson.GetBytes(rs[0].body, "data.0.owned_by").String() == "library" {
		p.st.Detail = "this is Ollama by its OpenAI route, where neither num_ctx nor think have an effect: set backend: ollama"
	}
	if p.st.Backend == OpenAI || p.st.Backend == Anthropic {
		p.gatewayInfo(rs[1].json())
	}
}

// windowFields are the names under which servers and gateways tell the window.
var windowFields = []string{"max_model_len", "max_input_tokens", "context_length", "context_window", "max_context_length", "meta.n_ctx", "top_provider.context_length"}

// listed reads a list of models in OpenAI's or Anthropic's shape.
func (p *prober) listed(body []byte) {
	for _, d := range gjson.GetBytes(body, "data").Array() {
		m := Model{ID: d.Get("id").String(), Loaded: true, Caps: guessCaps(d.Get("id").String())}
		if m.ID == "" {
			continue
		}
		m.root = d.Get("root").String()
		for _, f := range windowFields {
			if w := int(d.Get(f).Int()); w > 0 {
				m.Window, m.MaxWindow, m.WindowWhy = w, w, f
				break
			}
		}
		switch d.Get("type").String() {
		case "embedding", "embeddings", "rerank", "reranker":
			m.Caps = Caps{Known: true, Embedding: true}
		}
		p.st.Models = append(p.st.Models, m)
	}
}

// gatewayInfo adds what LiteLLM's /v1/model/info tells.
func (p *prober) gatewayInfo(body []byte) {
	for _, d := range gjson.GetBytes(body, "data").Array() {
		for i := range p.st.Models {
			m := &p.st.Models[i]
			if m.ID != d.Get("model_name").String() {
				continue
			}
			info := d.Get("model_info")
			if w := int(info.Get("max_input_tokens").Int()); w > 0 && m.Window == 0 {
				m.Window, m.MaxWindow, m.WindowWhy = w, w, "max_input_tokens"
			}
			switch info.Get("mode").String() {
			case "chat", "completion", "responses":
				m.Caps.Known, m.Caps.Chat, m.Caps.Embedding = true, true, false
			case "embedding", "rerank":
				m.Caps = Caps{Known: true, Embedding: true}
			}
		}
	}
}
