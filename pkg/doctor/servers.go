package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"legwork/pkg/config"
	"legwork/pkg/llm"
	"legwork/pkg/web"
)

const (
	callLimit   = 5 * time.Second
	searchLimit = 7 * time.Second
	// speedTokens is how much is written to measure the speed: a slow machine does that in a second or two.
	speedTokens = 16
)

const startServer = "start one (ollama serve, llama-server -m MODEL.gguf --port 8080), or `legwork setup` to name one elsewhere; offload and research work without"

// endpoints asks every server what it serves and makes one real call on each that is up.
func endpoints(ctx context.Context, c *checkup) []Finding {
	defer close(c.measured)
	if c.cfg == nil || c.Offline {
		return one(Skip, "", "not asked")
	}
	sts, err := c.models.Probe(ctx)
	if err != nil {
		return one(Skip, "", "not asked: %v", err)
	}
	var there []llm.EndpointStatus
	up := false
	for _, st := range sts {
		up = up || st.State == llm.Up || st.State == llm.Sleeping
		if !st.WellKnown || st.State != llm.Down && st.State != llm.Foreign {
			there = append(there, st)
		}
	}
	if len(there) == 0 {
		return one(Warn, startServer, "no model server on the usual local ports")
	}
	out := make([]Finding, len(there))
	var wg sync.WaitGroup
	for i, st := range there {
		wg.Go(func() {
			start := time.Now()
			out[i] = c.endpoint(ctx, st, up)
			out[i].Check, out[i].MS = "endpoint "+st.Name, time.Since(start).Milliseconds()
		})
	}
	wg.Wait()
	return out
}

// endpoint judges one server. One of several that is off is a warning: the others do its work.
func (c *checkup) endpoint(ctx context.Context, st llm.EndpointStatus, others bool) Finding {
	bad := Fail
	if others {
		bad = Warn
	}
	e, _ := c.cfg.Endpoint(st.Name)
	switch st.State {
	case llm.Up, llm.Sleeping:
		return c.call(ctx, st)
	case llm.Loading:
		return Finding{Status: Warn, Text: st.BaseURL + " is loading its model", Fix: "wait; if it goes on for minutes the server's own log says why (mostly too little memory for model and window)"}
	case llm.Refused:
		if e.APIKeyEnv != "" && e.APIKey == "" {
			return Finding{
				Status: Warn, Text: fmt.Sprintf("%s cannot be tried from here: its key is in %s, which is not set", st.BaseURL, e.APIKeyEnv),
				Fix: "Claude Code hands its option api_key to the plugin's server only: there, list_models shows whether the key is right",
			}
		}
		fix := fmt.Sprintf("set endpoints.%s.api_key, or keep the key in Claude Code: /plugin configure, option api_key, and endpoints.%s.api_key_env: LEGWORK_API_KEY", st.Name, st.Name)
		return Finding{Status: Fail, Text: st.BaseURL + ": " + st.Detail, Fix: fix}
	case llm.Foreign:
		return Finding{Status: Fail, Text: st.BaseURL + ": " + st.Detail, Fix: fmt.Sprintf("set endpoints.%s.base_url to the address of the model server", st.Name)}
	}
	return Finding{Status: bad, Text: st.BaseURL + ": " + st.Detail, Fix: deadFix(st, e)}
}

// deadFix says how to get a server up that does not answer. vLLM opens its port only when the model is loaded, and a
// server that dies at load never does.
func deadFix(st llm.EndpointStatus, e config.Endpoint) string {
	where := "start the server"
	if e.Host != "" {
		where += " on " + e.Host
	}
	switch {
	case !st.HostUp:
		return fmt.Sprintf("switch the machine on, or check address, VPN and firewall (endpoints.%s.base_url)", st.Name)
	case st.Backend == llm.VLLM || e.Backend == "vllm":
		return where + "; vLLM opens its port only when the model is loaded, which takes minutes: its log says whether it is still loading or died (mostly out of memory)"
	}
	return where + "; if it runs, look at the port and the address it listens on, and in its log whether it died while loading the model (mostly out of memory)"
}

// call makes the real call: a few tokens, timed.
func (c *checkup) call(ctx context.Context, st llm.EndpointStatus) Finding {
	return call(ctx, c.cfg, c.models, st)
}

// Measure makes one short call on a server that was probed and returns its speed; nil when no call could be made, or
// none that was answered.
func Measure(ctx context.Context, cfg *config.Config, models *llm.Registry, st llm.EndpointStatus) *Speed {
	if st.State != llm.Up {
		return nil
	}
	return call(ctx, cfg, models, st).Speed
}

func call(ctx context.Context, cfg *config.Config, models *llm.Registry, st llm.EndpointStatus) Finding {
	m, why := pick(cfg, st)
	if m == nil {
		return Finding{Status: Warn, Text: fmt.Sprintf("%s (%s) is up: %s", st.BaseURL, st.Backend, why), Fix: "load or install a chat model there"}
	}
	if why != "" {
		return Finding{Status: OK, Text: fmt.Sprintf("%s (%s) is up, %s; no call was made: %s", st.BaseURL, st.Backend, served(st), why)}
	}
	choice, err := models.Choose(ctx, llm.Want{Model: m.ID, Endpoint: st.Name})
	if err != nil {
		return Finding{Status: Fail, Text: err.Error(), Fix: "see `legwork models`"}
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	last := "nothing came" // how far it got, for one that is too slow
	ans, err := models.Chat(ctx, llm.Request{
		Choice: choice, MaxTokens: speedTokens, Think: llm.ThinkOff, OnProgress: func(p llm.Progress) { last = p.Text },
		Messages: []llm.Message{{Role: "user", Content: "Count from 1 to 20, separated by blanks. Nothing else."}},
	})
	where := fmt.Sprintf("%s (%s), %s", st.BaseURL, st.Backend, served(st))
	switch {
	case ctx.Err() != nil:
		return Finding{
			Status: Warn, Text: fmt.Sprintf("%s: a call of %d tokens to %s was not over after %s: %s", where, speedTokens, m.ID, callLimit, last),
			Fix: "it may be loading the model, busy with others, or slow: try again, and see `legwork models` for its slots",
		}
	case err != nil:
		return Finding{Status: Fail, Text: where + ": " + err.Error(), Fix: "the server lists the model and cannot run it: its log says why (mostly too little memory, or a broken file)"}
	case ans.Outcome == llm.Empty:
		return Finding{Status: Warn, Text: fmt.Sprintf("%s: %s answered nothing", where, m.ID), Fix: "a model that only thinks needs more room, or has a broken template: try it with `legwork complete`"}
	}
	s := &Speed{Model: m.ID, FirstTokenMS: ans.FirstByte.Milliseconds()}
	text := fmt.Sprintf("%s: %s answers, first token after %d ms", where, m.ID, s.FirstTokenMS)
	if writing := (ans.Duration - ans.FirstByte).Seconds(); ans.Usage.Completion > 4 && writing > 0.002 {
		s.TokensPerSec = float64(ans.Usage.Completion-1) / writing
		text += fmt.Sprintf(", then %.0f tokens/s", s.TokensPerSec)
	}
	return Finding{Status: OK, Text: text, Speed: s}
}

// pick chooses the model for the call: the one the settings name, else one in memory. Waking or loading one takes
// minutes and memory that others may need, so then no call is made; why says so.
func pick(cfg *config.Config, st llm.EndpointStatus) (m *llm.Model, why string) {
	var loaded, first *llm.Model
	for i := range st.Models {
		m := &st.Models[i]
		if !m.Caps.Chat {
			continue
		}
		if first == nil {
			first = m
		}
		if m.Loaded && (loaded == nil || strings.EqualFold(m.ID, cfg.Defaults.Model)) {
			loaded = m
		}
	}
	switch {
	case first == nil:
		return nil, "it serves no chat model"
	case st.State == llm.Sleeping:
		return first, "its model sleeps, and a call would load it"
	case loaded == nil:
		return first, "no model is in memory, and a call would load one"
	case loaded.Remote != "":
		return first, "its model runs on " + loaded.Remote + ", not on your hardware"
	}
	return loaded, ""
}

func served(st llm.EndpointStatus) string {
	n, window := 0, 0
	for _, m := range st.Models {
		if m.Caps.Chat {
			n++
			window = max(window, m.Window)
		}
	}
	text := fmt.Sprintf("%d chat models", n)
	if n == 1 {
		text = "1 chat model"
	}
	if window > 0 {
		text += fmt.Sprintf(", window %d", window)
	}
	return text
}

// models tells which model each tool would use.
func models(ctx context.Context, c *checkup) []Finding {
	if c.cfg == nil || c.Offline {
		return one(Skip, "", "not asked")
	}
	byModel := map[string][]string{}
	var order []string
	for _, tool := range []string{"offload", "research", "delegate", "run_agent"} {
		choice, err := c.models.Choose(ctx, llm.Want{Tool: tool, Tools: tool == "run_agent"})
		var none *llm.NoModelError
		switch {
		case err == nil:
			key := choice.Model + " on " + choice.Endpoint
			if byModel[key] == nil {
				order = append(order, key)
			}
			byModel[key] = append(byModel[key], tool)
		case errors.As(err, &none) && len(none.Ambiguous) > 0 && none.Wanted == "":
			return one(Warn, "choose one: legwork configure --set defaults.model=NAME (or legwork setup)", "several models are served and none is chosen: %s", strings.Join(none.Ambiguous, ", "))
		case errors.As(err, &none) && none.Wanted != "":
			return one(Warn, firstOf(none.Advice, "see `legwork models`"), "%s is set to use %s, which is not served now", tool, none.Wanted)
		case errors.As(err, &none) && len(order) == 0:
			return one(Warn, "see the line about endpoints", "no model is served: offload and research answer with the built-in reader, delegate and run_agent cannot work")
		default:
			return one(Warn, "see `legwork models`", "%s has no model: %v", tool, err)
		}
	}
	var parts []string
	for _, key := range order {
		parts = append(parts, key+" for "+strings.Join(byModel[key], ", "))
	}
	return one(OK, "", "%s", strings.Join(parts, "; "))
}

// agentWindow looks whether a whole session fits the window of the model it would use.
func agentWindow(ctx context.Context, c *checkup) []Finding {
	if c.cfg == nil || c.Offline {
		return one(Skip, "", "not asked")
	}
	choice, err := c.models.Choose(ctx, llm.Want{Tool: "run_agent", Tools: true})
	if err != nil {
		return one(Skip, "", "no model for run_agent")
	}
	note, err := c.AgentWindow(c.cfg, choice.Model, choice.Window, choice.MaxWindow)
	switch {
	case err != nil:
		text, fix, _ := strings.Cut(err.Error(), "; ")
		return one(Warn, firstOf(fix, "start the server with a larger window"), "%s", text)
	case note != "":
		return one(OK, "", "enough for run_agent, but tight: %s", note)
	}
	return one(OK, "", "%d tokens are enough for run_agent", max(choice.Window, choice.MaxWindow))
}

// The tiny task: the answer stands in the text once, and can be compared.
const (
	sample = `02:00:01 nightly job begins
02:00:02 mount of /srv/vault7 ok, mount of /srv/vault8 ok
02:00:09 snapshot of database orders taken
02:14:40 copied 41.2 GB of 97.0 GB
02:14:41 write error on /srv/vault7: no space left on device
02:14:41 nightly job gives up
02:15:00 mail to operators sent
`
	sampleQuestion = "Which folder had the write error?"
	sampleAnswer   = "/srv/vault7"
)

// task goes the whole way once: a file, a question, the model, the line that says so.
func task(ctx context.Context, c *checkup) []Finding {
	if c.cfg == nil || c.Offline || c.Task == nil {
		return one(Skip, "", "not tried")
	}
	dir, err := os.MkdirTemp("", "legwork-doctor-")
	if err != nil {
		return one(Fail, "make room in the temporary folder, or set TMPDIR", "%v", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "nightly.log")
	if err := os.WriteFile(file, []byte(sample), 0o600); err != nil {
		return one(Fail, "make room in the temporary folder, or set TMPDIR", "%v", err)
	}
	select {
	case <-c.measured: // beside it both would be slow
	case <-ctx.Done():
	}
	r, err := c.Task(ctx, file, sampleQuestion)
	switch {
	case ctx.Err() != nil:
		return one(Warn, "the model is slow, loading or busy; see the endpoint's own line", "a question about seven lines was not answered in time")
	case err != nil:
		return one(Fail, "see the lines about endpoints and models", "a question about seven lines failed: %v", err)
	case r.Model == "":
		return one(OK, "", "the built-in reader looked a file through in %d ms, no model was used", r.Took.Milliseconds())
	case !strings.Contains(r.Answer, sampleAnswer):
		return one(Warn, "a larger model reads better: `legwork configure --set offload.model=NAME`", "%s answered a question about seven lines wrongly: %.80q, not %s", r.Model, r.Answer, sampleAnswer)
	}
	return one(OK, "", "%s answered a question about a file in %.1f s, rightly", r.Model, r.Took.Seconds())
}

// search asks SearXNG one real question, as research would. Paid providers are not asked.
func search(ctx context.Context, c *checkup) []Finding {
	if c.cfg == nil {
		return one(Skip, "", "the settings cannot be read")
	}
	r := c.cfg.Research
	keys := r.BraveAPIKey != "" || r.TavilyAPIKey != ""
	switch {
	case r.SearxngURL == "" && keys:
		return one(OK, "", "a key for a search API is set; it was not tried, since every search is billed")
	case r.SearxngURL == "":
		return one(Skip, "legwork configure --set research.searxng_url=http://127.0.0.1:8888 (or a key: research.brave_api_key, research.tavily_api_key)", "research reads given pages only: no search engine is set")
	case c.Offline:
		return one(Skip, "", "not asked")
	}
	var out []Finding
	for base := range strings.FieldsFuncSeq(r.SearxngURL, func(ch rune) bool { return ch == ',' || ch == ' ' }) {
		out = append(out, SearXNG(ctx, base, r.SearchHeaders(base)))
	}
	return out
}

// SearXNG asks one instance as research does and judges the answer: is it JSON, does the limiter let us through, do its
// engines answer.
func SearXNG(ctx context.Context, base string, headers map[string]string) Finding {
	f := Finding{Check: "search", Status: Fail}
	s, err := web.NewSearXNG(web.SearchOptions{Headers: headers}, base)
	if err != nil {
		f.Text, f.Fix = err.Error(), "set research.searxng_url to the address of its start page"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, searchLimit)
	defer cancel()
	ans, err := s.Search(ctx, web.Query{Text: "wikipedia", Limit: 3})
	var failed *web.SearchError
	switch {
	case errors.As(err, &failed):
		f.Text, f.Fix = base+": "+failed.Reason, firstOf(failed.Advice, "its own log says why")
		if failed.Status > 0 {
			f.Text += fmt.Sprintf(" (status %d)", failed.Status)
		}
	case err != nil:
		f.Text, f.Fix = base+": "+err.Error(), "is it running? its address is research.searxng_url"
	case len(ans.Hits) == 0:
		f.Status, f.Text, f.Fix = Warn, base+" answers in JSON and found nothing for a word that everybody has", "look at its engines (Preferences, Engines): they may all be off or blocked"
	default:
		f.Status, f.Text = OK, fmt.Sprintf("%s answers in JSON, its limiter lets legwork through, %d results", base, len(ans.Hits))
		if n := len(ans.Failures); n > 0 {
			f.Text += fmt.Sprintf("; %d engines did not answer: %s", n, ans.Failures[0])
		}
	}
	return f
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}
