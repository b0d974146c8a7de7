package llm

import (
	"context"
	"testing"
	"time"

	"legwork/pkg/llm/llmtest"
)

// registry makes a registry over the given endpoints, with state of its own.
func registry(t testing.TB, eps ...Endpoint) *Registry {
	t.Helper()
	return registryWith(t, Settings{Endpoints: eps})
}

func registryWith(t testing.TB, s Settings) *Registry {
	t.Helper()
	return New(s, Options{StateDir: t.TempDir()})
}

func ep(name string, s *llmtest.Server) Endpoint { return Endpoint{Name: name, BaseURL: s.URL} }

// choose is Choose that must work.
func choose(t testing.TB, r *Registry, w Want) Choice {
	t.Helper()
	c, err := r.Choose(t.Context(), w)
	if err != nil {
		t.Fatalf("Choose(%+v): %v", w, err)
	}
	return c
}

// chat is one plain call that must not fail.
func chat(t testing.TB, r *Registry, q Request) *Answer {
	t.Helper()
	a, err := chatErr(t.Context(), t, r, q)
	if err != nil {
		t.Fatalf("Chat: %v", err)
	}
	return a
}

// chatErr fills what the test leaves out.
func chatErr(ctx context.Context, t testing.TB, r *Registry, q Request) (*Answer, error) {
	t.Helper()
	if q.Choice.Model == "" {
		q.Choice = choose(t, r, Want{})
	}
	if q.Messages == nil {
		q.Messages = []Message{{"user", "What is the answer?"}}
	}
	return r.Chat(ctx, q)
}

func say(text string) []Message { return []Message{{"user", text}} }

// within gives a context with a generous limit.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
