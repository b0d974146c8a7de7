package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"legwork/pkg/config"
	"legwork/pkg/llm"
	"legwork/pkg/mcpserver"
	"legwork/pkg/offload"
)

func modelsCommand() *command {
	return &command{
		name: "models", short: "Show what every endpoint serves now.",
		bind: func(*pflag.FlagSet) runFunc { return runModels },
	}
}

func runModels(ctx context.Context, a *app, _ []string) error {
	status, err := a.probe(ctx)
	if err != nil {
		return err
	}
	if a.global.json {
		return a.printJSON(status)
	}
	a.printf("%s\n", a.redact(statusText(status)))
	for _, s := range status {
		if s.State == llm.Up {
			return nil
		}
	}
	return &exitError{code: exitBackend}
}

func (a *app) probe(ctx context.Context) ([]llm.EndpointStatus, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	reg, err := a.registry(cfg)
	if err != nil {
		return nil, err
	}
	return reg.Probe(ctx)
}

// modelsText is the reply of list_models.
func (a *app) modelsText(ctx context.Context) (string, error) {
	status, err := a.probe(ctx)
	if err != nil {
		return "", err
	}
	return a.redact(statusText(status)), nil
}

// agentWindow is the window below which a headless agent compacts so often that it rarely finishes.
const agentWindow = 128 << 10

func statusText(status []llm.EndpointStatus) string {
	var b strings.Builder
	for _, s := range status {
		fmt.Fprintf(&b, "%s · %s · %s · %s\n", s.Name, s.BaseURL, s.Backend, stateText(s))
		if s.Notes != "" {
			fmt.Fprintf(&b, "  notes: %s\n", s.Notes)
		}
		for _, m := range s.Models {
			b.WriteString("  " + modelLine(m) + "\n")
		}
	}
	if b.Len() == 0 {
		return "no endpoint is configured, and no server answers on the well-known local ports; start one, or set endpoints.NAME.base_url"
	}
	return strings.TrimRight(b.String(), "\n")
}

func stateText(s llm.EndpointStatus) string {
	out := string(s.State)
	if s.State == llm.Down {
		out = "down (nothing answers)"
		if s.HostUp {
			out = "down (the machine is up, no server listens)"
		}
	}
	if s.Slots.Total > 0 && s.State == llm.Up {
		out += fmt.Sprintf(" · %d slots, %d busy", s.Slots.Total, max(s.Slots.Busy, s.Slots.Held))
		if s.Slots.Waiting > 0 {
			out += fmt.Sprintf(", %d waiting", s.Slots.Waiting)
		}
		if s.Slots.Others > 0 {
			out += fmt.Sprintf(", %d held by another legwork", s.Slots.Others)
		}
	}
	if s.Detail != "" {
		out += " · " + s.Detail
	}
	return out
}

func modelLine(m llm.Model) string {
	parts := []string{m.ID}
	switch {
	case m.Caps.Embedding:
		parts = append(parts, "embedding, not for chat")
	case m.Window > 0:
		parts = append(parts, fmt.Sprintf("window %d", m.Window))
		if m.MaxWindow > m.Window {
			parts[len(parts)-1] += fmt.Sprintf(" (up to %d)", m.MaxWindow)
		}
		if max(m.Window, m.MaxWindow) < agentWindow {
			parts = append(parts, "small for agents (under 128k)")
		}
	case m.MaxWindow > 0:
		parts = append(parts, fmt.Sprintf("window up to %d", m.MaxWindow))
	default:
		parts = append(parts, "window unknown")
	}
	for _, c := range []struct {
		has  bool
		word string
	}{{m.Caps.Tools, "tools"}, {m.Caps.Thinking, "thinking"}, {m.Caps.Vision, "vision"}, {m.Loaded, "loaded"}} {
		if c.has {
			parts = append(parts, c.word)
		}
	}
	if m.Quant != "" {
		parts = append(parts, m.Quant)
	}
	if m.Note != "" {
		parts = append(parts, m.Note)
	}
	return strings.Join(parts, " · ")
}

// complete is the verb behind `legwork complete` and local_complete.
func (a *app) complete(ctx context.Context, in mcpserver.Completion, progress func(string)) (*llm.Answer, error) {
	if strings.TrimSpace(in.Prompt) == "" {
		return nil, &offload.InputError{Msg: "prompt: missing; give the text the model should answer"}
	}
	var schema json.RawMessage
	if in.Schema != "" {
		if !json.Valid([]byte(in.Schema)) {
			return nil, &offload.InputError{Msg: "schema: it is not valid JSON"}
		}
		schema = json.RawMessage(in.Schema)
	}
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	reg, err := a.registry(cfg)
	if err != nil {
		return nil, err
	}
	choice, err := reg.Choose(ctx, llm.Want{Model: in.Model, Endpoint: in.Endpoint, Tool: "local_complete", Wait: true})
	if err != nil {
		return nil, err
	}
	msgs := []llm.Message{{Role: "user", Content: in.Prompt}}
	if in.System != "" {
		msgs = append([]llm.Message{{Role: "system", Content: in.System}}, msgs...)
	}
	return reg.Chat(ctx, llm.Request{
		Choice: choice, Messages: msgs, MaxTokens: in.MaxTokens, Temperature: in.Temperature, Schema: schema,
		OnProgress: func(p llm.Progress) { progress("local_complete: " + p.Text) },
	})
}

// requestModel gives the words with which Claude asks the user for a model.
func (a *app) requestModel(ctx context.Context, name string) (string, error) {
	cfg, err := a.load()
	if err != nil {
		return "", err
	}
	reg, err := a.registry(cfg)
	if err != nil {
		return "", err
	}
	choice, err := reg.Choose(ctx, llm.Want{Model: name})
	var none *llm.NoModelError
	switch {
	case err == nil:
		return fmt.Sprintf("%s is served by %s now (window %d); no need to ask", choice.Model, choice.Endpoint, choice.Window), nil
	case errors.As(err, &none):
		return a.redact("ask the user: " + none.Advice), nil
	}
	return "", err
}

func (a *app) registerEndpoint(ctx context.Context, in mcpserver.EndpointInput) (string, error) {
	applied, err := config.RegisterEndpoint(ctx, a.options(), config.Scope(in.Scope), config.Endpoint{
		Name: in.Name, BaseURL: in.BaseURL, Backend: in.Backend, Host: in.Host, Notes: in.Notes, Concurrency: in.Concurrency,
	})
	if err != nil {
		return "", &offload.InputError{Msg: "register_endpoint: " + err.Error()}
	}
	status, err := a.probe(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range status {
		if s.Name == in.Name {
			return a.redact(fmt.Sprintf("written to %s\n%s", applied.File, statusText([]llm.EndpointStatus{s}))), nil
		}
	}
	return fmt.Sprintf("written to %s, but it does not take effect: %s", applied.File, warningsFor(a, "endpoints."+in.Name)), nil
}

func (a *app) registerModel(ctx context.Context, in mcpserver.ModelInput) (string, error) {
	applied, err := config.RegisterModel(ctx, a.options(), config.Scope(in.Scope), config.Model{
		Name: in.Name, ServedName: in.ServedName, Endpoint: in.Endpoint, Context: in.Context, Host: in.Host,
		Notes: in.Notes, BringUp: in.BringUp,
	})
	if err != nil {
		return "", &offload.InputError{Msg: "register_model: " + err.Error()}
	}
	text, err := a.requestModel(ctx, in.Name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("written to %s\n%s", applied.File, text), nil
}

// warningsFor gives the configuration's warnings about a key.
func warningsFor(a *app, key string) string {
	cfg, err := a.load()
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, w := range cfg.Warnings {
		if strings.HasPrefix(w.Key, key) {
			out = append(out, w.Text)
		}
	}
	if len(out) == 0 {
		return "a later layer overrides it"
	}
	return strings.Join(out, "; ")
}
