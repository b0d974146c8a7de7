package llm

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"legwork/pkg/llm/llmtest"
)

// The live tests run the same paths against real servers on tiny models. They
// do not run in parallel: one real server at a time.

func zero() *float64 { return new(float64) }

func TestLiveLlamaServer(t *testing.T) {
	model := llmtest.WriteGGUF(t, t.TempDir(), llmtest.GGUF{Name: "hello", Script: llmtest.HelloScript})
	srv := llmtest.StartLlamaServer(t, model, "-np", "2", "-c", "4096")
	r := registry(t, Endpoint{Name: "e", BaseURL: srv.URL + "/v1/"})
	st := probe(t, r)[0]
	if st.Backend != LlamaCpp || st.State != Up || st.Slots.Server != 2 || len(st.Models) != 1 || st.Models[0].Window != 2048 || !st.Models[0].Caps.Chat || !st.Models[0].Caps.Known {
		t.Errorf("probe: %+v", st)
	}
	c := choose(t, r, Want{})

	t.Run("chat", func(t *testing.T) {
		a := chat(t, r, Request{Choice: c, Messages: say("hi"), Temperature: zero(), MaxTokens: 50})
		if a.Text != "Hello from the local model." || a.Outcome != Answered || a.Usage.Prompt == 0 || a.Usage.Completion == 0 {
			t.Errorf("%+v", a)
		}
	})
	t.Run("cut off", func(t *testing.T) {
		a := chat(t, r, Request{Choice: c, Messages: say("hi"), Temperature: zero(), MaxTokens: 3})
		if a.Text != "Hello from the" || a.Outcome != CutOff {
			t.Errorf("%+v", a)
		}
	})
	t.Run("overflow", func(t *testing.T) {
		_, err := r.Chat(t.Context(), Request{Choice: c, Messages: say(strings.Repeat("x", 6000))})
		var over *OverflowError
		if !errors.As(err, &over) || over.Window != 2048 || !over.Exact || over.Prompt < 6000 {
			t.Errorf("%v", err)
		}
		blind := c
		blind.Window, blind.MaxWindow = 0, 0 // as if nothing had been probed: the server's own words
		_, err = r.Chat(t.Context(), Request{Choice: blind, Messages: say(strings.Repeat("x", 6000))})
		if !errors.As(err, &over) || over.Window != 2048 {
			t.Errorf("%v", err)
		}
	})
	t.Run("count", func(t *testing.T) {
		if n, exact := r.Count(t.Context(), c, "0123456789"); !exact || n != 10 {
			t.Errorf("%d, %v", n, exact)
		}
	})
	t.Run("schema", func(t *testing.T) {
		// The scripted model cannot follow it; the server constrains what it can.
		a := chat(t, r, Request{Choice: c, Messages: say("hi"), Temperature: zero(), MaxTokens: 30, Schema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)})
		if a.Outcome == Answered && a.JSON == nil {
			t.Errorf("%+v", a)
		}
		t.Logf("%s %q", a.Outcome, a.Text)
	})
}

func TestLiveLlamaServerQueue(t *testing.T) {
	model := llmtest.WriteGGUF(t, t.TempDir(), llmtest.GGUF{Name: "babble"})
	srv := llmtest.StartLlamaServer(t, model, "-np", "2", "-c", "8192")
	r := registry(t, Endpoint{Name: "e", BaseURL: srv.URL})
	c := choose(t, r, Want{})

	t.Run("disconnect frees the slot", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			llmtest.Await(t, "the server is busy", func() bool { r.forget("e"); return probe(t, r)[0].Slots.Busy > 0 })
			cancel()
		}()
		_, err := r.Chat(ctx, Request{Choice: c, Messages: say("go"), MaxTokens: 3900})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		llmtest.Await(t, "the slot is free", func() bool { r.forget("e"); return probe(t, r)[0].Slots.Busy == 0 })
	})
	t.Run("six calls on two slots", func(t *testing.T) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		waits := 0
		for range 6 {
			wg.Go(func() {
				a, err := r.Chat(t.Context(), Request{Choice: c, Messages: say("go"), MaxTokens: 60, OnProgress: func(p Progress) {
					if p.Phase == PhaseWaiting {
						mu.Lock()
						waits++
						mu.Unlock()
					}
				}})
				if err != nil || a.Outcome != CutOff && a.Outcome != Answered && a.Outcome != Empty {
					t.Errorf("%+v, %v", a, err)
				}
			})
		}
		wg.Wait()
		if waits == 0 {
			t.Error("nobody waited for a slot of ours")
		}
	})
	t.Run("another client holds the server", func(t *testing.T) {
		// Not through our slots: the server queues in silence, and we wait.
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		for range 2 {
			wg.Go(func() {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/v1/chat/completions", strings.NewReader(`{"messages":[{"role":"user","content":"x"}],"max_tokens":3900}`))
				if err != nil {
					return
				}
				if resp, err := http.DefaultClient.Do(req); err == nil {
					_ = resp.Body.Close()
				}
			})
		}
		llmtest.Await(t, "both slots are busy", func() bool { r.forget("e"); return probe(t, r)[0].Slots.Busy == 2 })
		if f := probe(t, r)[0].Slots.Free(); f != 0 {
			t.Errorf("%d slots free", f)
		}
		done := make(chan error, 1)
		go func() {
			_, err := r.Chat(t.Context(), Request{Choice: c, Messages: say("go"), MaxTokens: 5})
			done <- err
		}()
		select {
		case err := <-done:
			t.Errorf("answered while the server was full: %v", err)
		case <-time.After(300 * time.Millisecond):
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Must hold: a second question on the same material re-processes at most 5 % of
// its prompt, by the server's own count.
func TestLivePrefixCache(t *testing.T) {
	model := llmtest.WriteGGUF(t, t.TempDir(), llmtest.GGUF{Name: "hello", Script: llmtest.HelloScript})
	srv := llmtest.StartLlamaServer(t, model, "-np", "2", "-c", "32768")
	r := registry(t, Endpoint{Name: "e", BaseURL: srv.URL})
	c := choose(t, r, Want{})
	material := material(rand.New(rand.NewPCG(1, 1)), "log", 12000)
	ask := func(question string) *Answer {
		return chat(t, r, Request{
			Choice: c, Temperature: zero(), MaxTokens: 20,
			Messages: []Message{{"system", "Answer from the material."}, {"user", material + "\n\n" + question}},
		})
	}
	ask("Which worker fails first?")
	a := ask("How long did it take?")
	share := 1 - float64(a.Usage.Cached)/float64(a.Usage.Prompt)
	t.Logf("re-processed %.2f %% of %d tokens", 100*share, a.Usage.Prompt)
	if share > 0.05 {
		t.Errorf("%+v: %.1f %% of the prompt was read again", a.Usage, 100*share)
	}
}

// A sleeping llama-server is not woken by probes, and answers a call.
func TestLiveSleeping(t *testing.T) {
	model := llmtest.WriteGGUF(t, t.TempDir(), llmtest.GGUF{Name: "hello", Script: llmtest.HelloScript})
	srv := llmtest.StartLlamaServer(t, model, "-np", "1", "-c", "4096", "--sleep-idle-seconds", "1")
	r := registry(t, Endpoint{Name: "e", BaseURL: srv.URL})
	state := func() State { r.forget("e"); return probe(t, r)[0].State }
	if s := state(); s != Up {
		t.Errorf("%s", s)
	}
	s := r.server("e")
	llmtest.Await(t, "the model sleeps", func() bool {
		return gjson.GetBytes(r.ask(t.Context(), s, srv.URL+"/props", nil).json(), "is_sleeping").Bool()
	})
	for range 3 {
		if s := state(); s != Sleeping {
			t.Errorf("a probe woke it: %s", s)
		}
	}
	if a := chat(t, r, Request{Temperature: zero()}); a.Outcome != Answered {
		t.Errorf("%+v", a)
	}
}

const chinese = `今天的天气非常好，我们决定去公园散步。公园里有很多人，有的在跑步，有的在打太极拳，还有一些孩子在放风筝。
软件工程师需要不断学习新的技术，因为计算机领域的发展非常迅速。人工智能、云计算和大数据已经改变了很多行业的工作方式。
错误：无法连接到数据库服务器，请检查网络设置后重试。系统将在五分钟后自动重启，请保存您的文件。配置文件中的参数不正确。
`

// Must hold, with a real tokenizer: after ten calls the estimate is at most 10 % off.
func TestLiveEstimate(t *testing.T) {
	srv := llmtest.StartLlamaServer(t, llmtest.RealModel(t), "-np", "1", "-c", "16384")
	r := registry(t, Endpoint{Name: "e", BaseURL: srv.URL})
	c := choose(t, r, Want{})
	rng := rand.New(rand.NewPCG(3, 4))
	texts := map[string]string{"log": material(rng, "log", 12000), "chinese": strings.Repeat(chinese, 4)}
	for _, pattern := range []string{"*.go", "llmtest/*.go", "../../*.md", "../*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		for _, f := range files[:min(5, len(files))] {
			if b, err := os.ReadFile(f); err == nil && len(b) > 2000 {
				texts[f] = string(b)
			}
		}
	}
	// Ten questions, each on a short piece of one of the texts.
	names := slices.Sorted(maps.Keys(texts))
	for i := range 10 {
		text := texts[names[i*len(names)/10]]
		at := rng.IntN(len(text) - 900)
		chat(t, r, Request{Choice: c, Messages: say(strings.ToValidUTF8(text[at:at+900], "")), MaxTokens: 1})
	}
	sum := 0.0
	for name, text := range texts {
		real, exact := r.Count(t.Context(), c, text)
		got := r.Estimate(c, text)
		off := 100 * (float64(got)/float64(real) - 1)
		t.Logf("%s: %d tokens, estimated %d (%+.1f %%), unlearned %d", name, real, got, off, Estimate(text))
		if !exact || math.Abs(off) > 20 {
			t.Errorf("%s: off by %.1f %%", name, off)
		}
		sum += math.Abs(off)
	}
	mean := sum / float64(len(texts))
	t.Logf("mean error over %d texts: %.1f %%", len(texts), mean)
	if mean > 10 {
		t.Errorf("mean error %.1f %%", mean)
	}
}

func TestLiveOllama(t *testing.T) {
	dir := t.TempDir()
	hello := llmtest.WriteGGUF(t, dir, llmtest.GGUF{Name: "hello", Script: llmtest.HelloScript})
	babble := llmtest.WriteGGUF(t, dir, llmtest.GGUF{Name: "babble"})
	srv := llmtest.StartOllama(t, hello, babble)
	r := registry(t, Endpoint{Name: "e", BaseURL: srv.URL + "/v1"})
	st := probe(t, r)[0]
	if st.Backend != Ollama || st.State != Up || len(st.Models) != 2 || st.Models[0].MaxWindow != 32768 || !st.Models[0].Caps.Known {
		t.Errorf("probe: %+v", st)
	}
	c := choose(t, r, Want{Model: "hello"})

	t.Run("chat", func(t *testing.T) {
		a := chat(t, r, Request{Choice: c, Messages: say("hi"), Temperature: zero(), MaxTokens: 50})
		if a.Text != "Hello from the local model." || a.Outcome != Answered || a.Usage.Prompt == 0 || a.Window != 8192 {
			t.Errorf("%+v", a)
		}
		r.forget("e")
		for _, m := range probe(t, r)[0].Models {
			if m.ID == "hello:latest" && (!m.Loaded || m.Window != 8192) {
				t.Errorf("%+v", m)
			}
		}
	})
	t.Run("cut off", func(t *testing.T) {
		a := chat(t, r, Request{Choice: c, Messages: say("hi"), Temperature: zero(), MaxTokens: 3})
		if a.Text != "Hello from the" || a.Outcome != CutOff {
			t.Errorf("%+v", a)
		}
	})
	t.Run("a longer prompt gets a larger window", func(t *testing.T) {
		a := chat(t, r, Request{Choice: c, Messages: say(strings.Repeat("x1 ", 2750)), Temperature: zero(), MaxTokens: 50})
		if a.Usage.Prompt < 8250 || a.Unreliable != "" || a.Window < 16384 {
			t.Errorf("%+v", a)
		}
	})
	t.Run("overflow", func(t *testing.T) {
		_, err := r.Chat(t.Context(), Request{Choice: c, Messages: say(strings.Repeat("x1 ", 15000))})
		if _, ok := errors.AsType[*OverflowError](err); !ok {
			t.Errorf("%v", err)
		}
	})
	t.Run("disconnect", func(t *testing.T) {
		b := choose(t, r, Want{Model: "babble"})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a, err := r.Chat(ctx, Request{Choice: b, Messages: say("go"), MaxTokens: 4000, OnProgress: func(p Progress) {
			if p.Phase == PhaseReading {
				time.AfterFunc(100*time.Millisecond, cancel)
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", a, err)
		}
		if a := chat(t, r, Request{Choice: c, Messages: say("hi"), Temperature: zero(), MaxTokens: 50}); a.Outcome != Answered {
			t.Errorf("%+v", a)
		}
	})
	t.Run("unknown model", func(t *testing.T) {
		gone := c
		gone.Model = "nope"
		var re *RequestError
		if _, err := r.Chat(t.Context(), Request{Choice: gone, Messages: say("x")}); !errors.As(err, &re) || !strings.Contains(err.Error(), "nope") {
			t.Errorf("%v", err)
		}
	})
	t.Run("load", func(t *testing.T) {
		w, err := r.Load(t.Context(), c)
		if err != nil || w != 4096 {
			t.Errorf("%d, %v", w, err)
		}
	})
}

// What real servers call their model, and what is seen of a restart with another.
func TestLiveSwapped(t *testing.T) {
	first := llmtest.WriteGGUF(t, t.TempDir(), llmtest.GGUF{Name: "hello", Script: llmtest.HelloScript})
	second := llmtest.WriteGGUF(t, t.TempDir(), llmtest.GGUF{Name: "other", Script: llmtest.HelloScript})
	same := func(t *testing.T, r *Registry, name string) Choice {
		c := choose(t, r, Want{Model: name})
		if a := chat(t, r, Request{Choice: c, Messages: say("hi"), Temperature: zero(), MaxTokens: 50}); a.Outcome != Answered || a.Model != c.Model || a.Note != "" {
			t.Errorf("model %q for %q, %s, note %q", a.Model, c.Model, a.Outcome, a.Note)
		}
		return c
	}
	t.Run("llama-server", func(t *testing.T) {
		a, b := llmtest.StartLlamaServer(t, first), llmtest.StartLlamaServer(t, second, "--alias", "small,tiny")
		e, swap := onePort(t, a.URL, b.URL)
		r := registry(t, e)
		c := same(t, r, "hello")
		swap()
		ans := chat(t, r, Request{Choice: c, Messages: say("hi"), Temperature: zero(), MaxTokens: 50})
		t.Log(ans.Note)
		if ans.Model == c.Model || ans.Swapped == "" || ans.Outcome != Answered {
			t.Errorf("%+v", ans)
		}
		r.forget("e")
		same(t, r, "tiny")
		same(t, r, "small")
	})
	t.Run("ollama", func(t *testing.T) {
		r := registry(t, Endpoint{Name: "e", BaseURL: llmtest.StartOllama(t, first, second).URL})
		same(t, r, "hello")
		same(t, r, "other:latest")
		// By its OpenAI route, as a gateway would be talked to.
		r = registry(t, Endpoint{Name: "e", BaseURL: llmtest.StartOllama(t, first).URL, Backend: OpenAI})
		same(t, r, "hello")
	})
}
