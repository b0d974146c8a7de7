package llm

import (
	"strings"
	"testing"

	"legwork/pkg/llm/llmtest"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	o := llmtest.NewOllama(t, llmtest.Config{Models: []llmtest.Model{
		{ID: "qwen3:8b", Max: 262144, Caps: []string{"completion", "tools", "thinking"}}, {ID: "bge", Caps: []string{"embedding"}},
	}})
	l := llmtest.NewLlamaServer(t, llmtest.Config{Window: 32768, Slots: 2})
	r := registryWith(t, Settings{
		Endpoints: []Endpoint{ep("box", o), {Name: "gpu", BaseURL: l.URL, Host: "rack", APIKey: "sk-secret-key"}, {Name: "off", BaseURL: llmtest.Refused(t)}},
		Models:    []ModelNote{{Name: "test-model", Notes: "default coder"}},
	})
	tk, err := newSlotTable(r.slots.dir).acquire(t.Context(), r.server("gpu").key, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tk.release()
	got := Describe(probe(t, r))
	for _, want := range []string{
		"box", "ollama  up", "qwen3:8b  window 32768 (up to 262144 on demand)  tools, thinking\n", "bge  embedding or rerank",
		"llama.cpp  up  slots 2, 1 free", "(rack)", "window 32768, small for agents (under 128k)", "(default coder)", "off", "down  (the host is up, nothing listens on",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "sk-secret") {
		t.Error("a key is shown")
	}
	if Describe(nil) == "" {
		t.Error("nothing must be said, too")
	}
}

// A gateway that lists nothing serves what the user says it does.
func TestUnlistedModels(t *testing.T) {
	t.Parallel()
	s := llmtest.NewOpenAI(t, llmtest.Config{})
	r := registryWith(t, Settings{Endpoints: []Endpoint{ep("gw", s)}, Models: []ModelNote{{Name: "hidden", ServedName: "org/hidden-7b", Endpoint: "gw", Context: 65536}, {Name: "pattern", ServedName: "*x*", Endpoint: "gw"}}})
	if c := choose(t, r, Want{Model: "hidden"}); c.Model != "org/hidden-7b" || c.Window != 65536 {
		t.Errorf("%+v", c)
	}
	if n := len(probe(t, r)[0].Models); n != 2 {
		t.Errorf("%d models, want the listed and the named one", n)
	}
}

// No secret in any message: key, header, password in the URL.
func TestNoSecretInMessages(t *testing.T) {
	t.Parallel()
	const key, head, pass = "sk-abcdefgh", "tok-12345678", "pa55word"
	s := llmtest.NewOpenAI(t, llmtest.Config{})
	s.Script(llmtest.Reply{Status: 400, Body: llmtest.OpenAIError(400, "x", "bad key "+key+" or header "+head)})
	e := Endpoint{Name: "e", BaseURL: strings.Replace(s.URL, "http://", "http://user:"+pass+"@", 1), APIKey: key, Headers: map[string]string{"X-Token": head}}
	r := registry(t, e)
	_, err := chatErr(t.Context(), t, r, Request{})
	text := err.Error() + Describe(probe(t, r)) + r.Redact("Authorization: Bearer "+key)
	s.Close()
	r.forget("e")
	text += Describe(probe(t, r))
	_, err = r.Choose(t.Context(), Want{})
	text += err.Error()
	for _, secret := range []string{key, head, pass} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is shown in\n%s", secret, text)
		}
	}
}
