package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"legwork/pkg/llm/llmtest"
)

// The proxy alone: it prints the environment, answers a Messages request from a local server, lets
// nobody in without the token, and ends when it is told to.
func TestShim(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{
		Models: []llmtest.Model{{ID: "tiny"}}, Window: 32768,
		Answer: func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "hello from the local model"} },
	})
	u := newUser(t, endpoint("gpu", s.URL))
	out, w := io.Pipe()
	a := newApp(u.env, strings.NewReader(""), w, io.Discard)
	a.global.json = true
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.runShim(ctx, shimOptions{endpoint: "gpu"}) }()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err, <-done)
	}
	var said struct {
		Address, Model string
		Env            []string
	}
	if err := json.Unmarshal(line, &said); err != nil || said.Model != "tiny" {
		t.Fatalf("%v in %s", err, line)
	}
	env := map[string]string{}
	for _, kv := range said.Env {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	post := func(key string) (int, string) {
		body := `{"model":"tiny","max_tokens":64,"messages":[{"role":"user","content":"hi"}]}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, env["ANTHROPIC_BASE_URL"]+"/v1/messages?beta=true", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-api-key", key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	key := env["ANTHROPIC_API_KEY"]
	if key == "" {
		key = env["ANTHROPIC_AUTH_TOKEN"]
	}
	if code, body := post(key); code != http.StatusOK || !strings.Contains(body, "hello from the local model") {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := post("wrong"); code != http.StatusForbidden && code != http.StatusUnauthorized && !strings.Contains(env["ANTHROPIC_BASE_URL"], key) {
		t.Errorf("a wrong key got %d", code)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
