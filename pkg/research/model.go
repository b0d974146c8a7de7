package research

import (
	"context"
	"errors"

	"legwork/pkg/llm"
)

// registryModel is a model of the live registry.
type registryModel struct {
	registry *llm.Registry
	choice   llm.Choice
	progress func(string)
}

// FromRegistry chooses the model of a research: name is the caller's wish, ""
// for the setting. The error says what to start or to set; give its text to
// [Deps].NoModel to go on without a model.
func FromRegistry(ctx context.Context, registry *llm.Registry, name string, progress func(string)) (Model, error) {
	choice, err := registry.Choose(ctx, llm.Want{Model: name, Tool: "research"})
	if err != nil {
		return nil, err
	}
	return &registryModel{registry, choice, progress}, nil
}

func (m *registryModel) Name() string { return m.choice.Model }

func (m *registryModel) Window() int { return m.choice.Window }

// Ask runs one chat without tools, at low temperature: the answer shall follow
// the sources.
func (m *registryModel) Ask(ctx context.Context, system, user string, answerTokens int) (Reply, error) {
	temperature := 0.2
	answer, err := m.registry.Chat(ctx, llm.Request{
		Choice:      m.choice,
		Messages:    []llm.Message{{Role: "system", Content: system}, {Role: "user", Content: user}},
		MaxTokens:   answerTokens,
		Temperature: &temperature,
		OnProgress: func(p llm.Progress) {
			if m.progress != nil && p.Phase != llm.PhaseWriting {
				m.progress(p.Text)
			}
		},
	})
	if err != nil {
		return Reply{}, err
	}
	if answer == nil {
		return Reply{}, errors.New("the model returned nothing")
	}
	return Reply{
		Text: answer.Text, Outcome: string(answer.Outcome), Note: answer.Note, Swapped: answer.Swapped, Model: answer.Model, Endpoint: answer.Endpoint,
		InTok: answer.Usage.Prompt, OutTok: answer.Usage.Completion, CachedTok: answer.Usage.Cached,
	}, nil
}
