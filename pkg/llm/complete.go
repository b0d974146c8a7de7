package llm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// CompleteRequest is one prompt, one answer, no tools.
type CompleteRequest struct {
	Prompt      string
	System      string
	Model       string // as in Want
	Endpoint    string
	MaxTokens   int
	Temperature *float64
	Seed        *int
	Think       Think
	Schema      json.RawMessage
	OnProgress  func(Progress)
}

// Complete chooses a model and asks it once. Errors are those of
// [Registry.Choose] and [Registry.Chat].
func (r *Registry) Complete(ctx context.Context, q CompleteRequest) (*Answer, error) {
	if strings.TrimSpace(q.Prompt) == "" {
		return nil, errors.New("prompt is empty: give the text to complete")
	}
	choice, err := r.Choose(ctx, Want{Model: q.Model, Endpoint: q.Endpoint, Tool: "local_complete", Wait: true, OnProgress: q.OnProgress})
	if err != nil {
		return nil, err
	}
	var msgs []Message
	if q.System != "" {
		msgs = append(msgs, Message{"system", q.System})
	}
	msgs = append(msgs, Message{"user", q.Prompt})
	return r.Chat(ctx, Request{
		Choice: choice, Messages: msgs, MaxTokens: q.MaxTokens, Temperature: q.Temperature, Seed: q.Seed,
		Think: q.Think, Schema: q.Schema, OnProgress: q.OnProgress,
	})
}
