package llm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/pkg/llm/llmtest"
)

func served(ids ...string) []llmtest.Model {
	var out []llmtest.Model
	for _, id := range ids {
		out = append(out, llmtest.Model{ID: id})
	}
	return out
}

func TestMatching(t *testing.T) {
	t.Parallel()
	models := []Model{
		{ID: "Qwen/Qwen3-8B"},
		{ID: "Qwen/Qwen3-8B-Instruct"},
		{ID: "llama3.1:latest", Aliases: []string{"llama3.1"}},
		{ID: "/models/devstral-small-Q4_K_M.gguf"},
		{ID: "gpt-oss:20b"},
		{ID: "gpt-oss:120b"},
	}
	for name, want := range map[string]struct {
		how tier
		ids []int
	}{
		"Qwen/Qwen3-8B":           {tierExact, []int{0}},
		"llama3.1":                {tierExact, []int{2}},
		"qwen/qwen3-8b":           {tierEqual, []int{0}},
		"qwen3-8b":                {tierEqual, []int{0}},
		"Qwen/*":                  {tierGlob, []int{0, 1}},
		"*8b-instruct":            {tierGlob, []int{1}},
		"devstral":                {tierFuzzy, []int{3}},
		"devstral-small-q4-k-m":   {tierEqual, []int{3}},
		"gptoss 20b":              {tierEqual, []int{4}},
		"gpt-oss":                 {tierFuzzy, []int{4, 5}},
		"mistral":                 {tierNone, nil},
		"-":                       {tierNone, nil},
		"*nothing*":               {tierNone, nil},
		"devstral-small-Q?_K_M*":  {tierNone, nil},
		"*devstral-small-Q?_K_M*": {tierGlob, []int{3}},
	} {
		how, ids := matchAll(name, models)
		if how != want.how || !slices.Equal(ids, want.ids) {
			t.Errorf("%q: %v %v, want %v %v", name, how, ids, want.how, want.ids)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	a := llmtest.NewVLLM(t, llmtest.Config{Models: served("Qwen/Qwen3-8B")})
	b := llmtest.NewOllama(t, llmtest.Config{Models: append(served("qwen3:8b", "llama3.1:latest"),
		llmtest.Model{ID: "nomic-embed-text:latest", Caps: []string{"embedding"}})})
	set := Settings{Endpoints: []Endpoint{ep("a", a), ep("b", b)}, ToolModel: map[string]string{"offload": "llama3.1"}}
	r := registryWith(t, set)
	for _, tt := range []struct {
		name            string
		want            Want
		model, endpoint string
		how             string
	}{
		{"pinned endpoint and name", Want{Model: "qwen3:8b", Endpoint: "b"}, "qwen3:8b", "b", "exact"},
		{"tool setting", Want{Tool: "offload"}, "llama3.1:latest", "b", "setting offload.model, exact"},
		{"argument beats setting", Want{Tool: "offload", Model: "Qwen/Qwen3-8B"}, "Qwen/Qwen3-8B", "a", "exact"},
		{"fuzzy", Want{Model: "llama"}, "llama3.1:latest", "b", "fuzzy"},
		{"glob", Want{Model: "llama*"}, "llama3.1:latest", "b", "glob"},
	} {
		for range 3 { // the same question gives the same answer
			c, err := r.Choose(t.Context(), tt.want)
			if err != nil || c.Model != tt.model || c.Endpoint != tt.endpoint || c.How != tt.how {
				t.Errorf("%s: %+v, %v", tt.name, c, err)
			}
		}
	}
	for _, tt := range []struct {
		name string
		want Want
		says []string
	}{
		{"two resemble it", Want{Model: "qwen3"}, []string{"several", "Qwen/Qwen3-8B", "qwen3:8b"}},
		{"not there", Want{Model: "mistral"}, []string{`"mistral" is not served`, "llama3.1:latest (b)", "not for chat"}},
		{"several and no default", Want{Endpoint: "b"}, []string{"several models", "defaults.model"}},
		{"unknown endpoint", Want{Endpoint: "c"}, []string{`no endpoint "c"`, "known: a, b"}},
		{"embedding", Want{Model: "nomic-embed-text"}, []string{"embedding"}},
	} {
		_, err := r.Choose(t.Context(), tt.want)
		var none *NoModelError
		if !errors.As(err, &none) || errors.Is(err, ErrNoServer) {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for _, s := range tt.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %q does not say %q", tt.name, err, s)
			}
		}
	}
}

func TestChooseByNote(t *testing.T) {
	t.Parallel()
	a := llmtest.NewVLLM(t, llmtest.Config{Models: served("org/Qwen3.8-27B-FP8"), Window: 262144})
	b := llmtest.NewVLLM(t, llmtest.Config{Models: served("org/Qwen3.8-27B-FP8", "other"), Window: 262144})
	notes := []ModelNote{
		{Name: "coder", ServedName: "*Qwen3.8*", Endpoint: "b", Context: 131072, Notes: "start with --reasoning on"},
		{Name: "big", Host: "rack", Notes: "only at night", BringUp: "systemctl start big"},
	}
	r := registryWith(t, Settings{Endpoints: []Endpoint{ep("a", a), ep("b", b)}, Models: notes, DefaultModel: "coder"})
	c := choose(t, r, Want{})
	if c.Endpoint != "b" || c.Model != "org/Qwen3.8-27B-FP8" || c.Window != 131072 || c.How != "setting defaults.model, glob" {
		t.Errorf("%+v", c)
	}
	_, err := r.Choose(t.Context(), Want{Model: "big"})
	for _, s := range []string{"systemctl start big", "rack", "only at night"} {
		if err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("%v does not say %q", err, s)
		}
	}
	words, err := r.RequestModel(t.Context(), "big", "the small one failed twice")
	if err != nil || !strings.Contains(words, "systemctl start big") || !strings.Contains(words, "failed twice") {
		t.Errorf("%q, %v", words, err)
	}
	words, err = r.RequestModel(t.Context(), "coder", "")
	if err != nil || !strings.Contains(words, "nothing to start") {
		t.Errorf("%q, %v", words, err)
	}
}

// The nickname of a note says nothing about ids: with its model away, another
// one that happens to hold those letters is not it.
func TestNicknameIsNoPattern(t *testing.T) {
	t.Parallel()
	note := ModelNote{Name: "coder", ServedName: "*Qwen3.8-27B*", BringUp: "wake the GPU box"}
	laptop := llmtest.NewOllama(t, llmtest.Config{Models: served("qwen2.5-coder:0.5b", "Coder:7b")})
	r := registryWith(t, Settings{Endpoints: []Endpoint{ep("laptop", laptop)}, Models: []ModelNote{note}, DefaultModel: "coder"})
	for _, w := range []Want{{Tool: "delegate"}, {Model: "coder"}, {Model: "Coder"}} {
		c, err := r.Choose(t.Context(), w)
		if err == nil || !strings.Contains(err.Error(), "is not served") || !strings.Contains(err.Error(), note.BringUp) {
			t.Errorf("%+v: chose %q, %v", w, c.Model, err)
		}
	}
	own := llmtest.NewVLLM(t, llmtest.Config{Models: served("coder", "qwen2.5-coder")}) // --served-model-name coder
	r = registryWith(t, Settings{Endpoints: []Endpoint{ep("own", own)}, Models: []ModelNote{note}, DefaultModel: "coder"})
	if c := choose(t, r, Want{}); c.Model != "coder" {
		t.Errorf("%+v", c)
	}
}

// Endpoints serving the same model share the load by free slots.
func TestShareByFreeSlots(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	answer := func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "ok", Hold: hold} }
	a := llmtest.NewLlamaServer(t, llmtest.Config{Slots: 2, Answer: answer})
	b := llmtest.NewLlamaServer(t, llmtest.Config{Slots: 2, Answer: answer})
	r := registry(t, ep("a", a), ep("b", b))
	c := choose(t, r, Want{})
	if c.Endpoint != "a" || !slices.Equal(c.Also, []string{"b"}) || c.Slots != 4 {
		t.Fatalf("%+v", c)
	}
	done := make(chan string, 4)
	for i := range 4 {
		go func() {
			ans, err := r.Chat(t.Context(), Request{Choice: c, Messages: say("x")})
			if err != nil {
				t.Error(err)
			}
			done <- ans.Endpoint
		}()
		llmtest.Await(t, "the call runs", func() bool { return a.InFlight()+b.InFlight() == i+1 })
	}
	if a.InFlight() != 2 || b.InFlight() != 2 {
		t.Errorf("%d on a, %d on b", a.InFlight(), b.InFlight())
	}
	close(hold)
	for range 4 {
		<-done
	}
}

// When one endpoint fails, the other one that serves the model answers.
func TestFailover(t *testing.T) {
	t.Parallel()
	a := llmtest.NewLlamaServer(t, llmtest.Config{})
	b := llmtest.NewLlamaServer(t, llmtest.Config{})
	r := registry(t, ep("a", a), ep("b", b))
	c := choose(t, r, Want{})
	a.Close()
	ans, err := r.Chat(within(t, 20*time.Second), Request{Choice: c, Messages: say("x")})
	if err != nil || ans.Endpoint != "b" {
		t.Errorf("%+v, %v", ans, err)
	}
}

// A smaller window elsewhere is no place for what was planned for this one.
func TestShareNeedsTheWindow(t *testing.T) {
	t.Parallel()
	a := llmtest.NewLlamaServer(t, llmtest.Config{Window: 65536})
	b := llmtest.NewLlamaServer(t, llmtest.Config{Window: 4096, Slots: 2})
	if c := choose(t, registry(t, ep("a", a), ep("b", b)), Want{}); c.Endpoint != "a" || len(c.Also) != 0 {
		t.Errorf("%+v", c)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	r := registry(t, Endpoint{Name: "gpu", BaseURL: llmtest.Refused(t), Host: "gpu-box", Notes: "turn it on first"})
	_, err := r.Choose(t.Context(), Want{Model: "x"})
	if !errors.Is(err, ErrNoServer) {
		t.Fatalf("got %v", err)
	}
	for _, s := range []string{"gpu", "nothing listens", "gpu-box", "turn it on first", "llama-server"} {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
	if _, err := New(Settings{}, Options{StateDir: t.TempDir()}).Choose(t.Context(), Want{}); !errors.Is(err, ErrNoServer) {
		t.Errorf("without endpoints: %v", err)
	}
}

// Choose can wait for a server that loads; otherwise it says so.
func TestChooseWaitsForLoading(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	s.SetLoading(true)
	r := registry(t, ep("e", s))
	_, err := r.Choose(t.Context(), Want{})
	if err == nil || errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "loading") {
		t.Errorf("got %v", err)
	}
	r.forget("e")
	told := false
	c, err := r.Choose(within(t, 30*time.Second), Want{Wait: true, OnProgress: func(p Progress) {
		told = p.Phase == PhaseLoading
		s.SetLoading(false)
	}})
	if err != nil || c.Model != "test-model" || !told {
		t.Errorf("%+v, %v, told %v", c, err, told)
	}
	s.SetLoading(true)
	r.forget("e")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := r.Choose(ctx, Want{Wait: true}); err == nil || !strings.Contains(err.Error(), "loading") {
		t.Errorf("got %v, want to hear that it is still loading", err)
	}
}

func TestChooseByCapability(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOllama(t, llmtest.Config{Models: []llmtest.Model{{ID: "plain:latest", Caps: []string{"completion"}}, {ID: "handy:latest", Caps: []string{"completion", "tools"}}}})
	r := registry(t, ep("e", s))
	if c := choose(t, r, Want{Tools: true}); c.Model != "handy:latest" {
		t.Errorf("%+v", c)
	}
	if _, err := r.Choose(t.Context(), Want{Model: "plain", Tools: true}); err == nil || !strings.Contains(err.Error(), "cannot do") {
		t.Errorf("got %v", err)
	}
}

// Work stays on the user's own hardware: a cloud model is never picked, only named.
func TestRemoteModel(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOllama(t, llmtest.Config{Models: []llmtest.Model{{ID: "big:cloud", Remote: "https://cloud.example"}, {ID: "small:latest"}}})
	r := registry(t, ep("e", s))
	if c := choose(t, r, Want{}); c.Model != "small:latest" {
		t.Errorf("%+v", c)
	}
	if c, err := r.Choose(t.Context(), Want{Model: "big"}); err == nil {
		t.Errorf("%+v", c)
	}
	if c := choose(t, r, Want{Model: "big:cloud"}); c.Model != "big:cloud" {
		t.Errorf("%+v", c)
	}
}
