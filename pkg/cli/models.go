package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
		example: `legwork models
legwork models --json | jq '.[] | {name, state}'`,
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
	a.printf("%s\n", a.describe(status))
	for _, s := range status {
		if s.State == llm.Up {
			return nil
		}
	}
	return &exitError{code: exitBackend}
}

func (a *app) probe(ctx context.Context) ([]llm.EndpointStatus, error) {
	reg, err := a.loadRegistry()
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
	return a.describe(status), nil
}

func (a *app) describe(status []llm.EndpointStatus) string {
	return a.redact(strings.TrimRight(llm.Describe(status), "\n"))
}

// complete is the verb behind `legwork complete` and local_complete.
func (a *app) complete(ctx context.Context, in mcpserver.Completion, progress func(string)) (*llm.Answer, error) {
	if strings.TrimSpace(in.Prompt) == "" {
		return nil, &offload.InputError{Msg: "prompt: missing; give the text the model should answer"}
	}
	if in.MaxTokens < 0 {
		return nil, &offload.InputError{Msg: fmt.Sprintf("max_tokens: %d is negative", in.MaxTokens)}
	}
	if t := in.Temperature; t != nil && (*t < 0 || *t > 2) {
		return nil, &offload.InputError{Msg: fmt.Sprintf("temperature: %v is out of range: 0 to 2", *t)}
	}
	var schema json.RawMessage
	if in.Schema != "" {
		if !json.Valid([]byte(in.Schema)) {
			return nil, &offload.InputError{Msg: "schema: it is not valid JSON"}
		}
		schema = json.RawMessage(in.Schema)
	}
	cfg, reg, _, err := a.ground()
	if err != nil {
		return nil, err
	}
	ans, err := reg.Complete(ctx, llm.CompleteRequest{
		Prompt: in.Prompt, System: in.System, Model: in.Model, Endpoint: in.Endpoint, MaxTokens: in.MaxTokens,
		Temperature: in.Temperature, Schema: schema,
		OnProgress: func(p llm.Progress) { progress("local_complete: " + p.Text) },
	})
	if err == nil {
		a.recordComplete(ctx, cfg, ans)
	}
	return ans, err
}

// requestModel gives the words with which Claude asks the user for a model.
func (a *app) requestModel(ctx context.Context, name, why string) (string, error) {
	if strings.TrimSpace(name) == "" {
		return "", &offload.InputError{Msg: "model: missing; name the model you want the user to start"}
	}
	reg, err := a.loadRegistry()
	if err != nil {
		return "", err
	}
	return reg.RequestModel(ctx, name, why)
}

func (a *app) registerEndpoint(ctx context.Context, in mcpserver.EndpointInput) (string, error) {
	reg, err := a.loadRegistry()
	if err != nil {
		return "", err
	}
	applied, status, err := reg.RegisterEndpoint(ctx, a.options(), config.Scope(in.Scope), config.Endpoint{
		Name: in.Name, BaseURL: in.BaseURL, Backend: in.Backend, Host: in.Host, Notes: in.Notes, Concurrency: in.Concurrency,
	})
	if err != nil {
		return "", &offload.InputError{Msg: "register_endpoint: " + err.Error()}
	}
	return a.redact(appliedText(applied)) + "\n" + a.describe([]llm.EndpointStatus{status}), nil
}

func (a *app) registerModel(ctx context.Context, in mcpserver.ModelInput) (string, error) {
	reg, err := a.loadRegistry()
	if err != nil {
		return "", err
	}
	if known := a.endpointNames(); in.Endpoint != "" && len(known) > 0 && !slices.Contains(known, in.Endpoint) {
		return "", &offload.InputError{Msg: fmt.Sprintf("register_model: endpoint: there is no %q; known: %s (register_endpoint adds one)", in.Endpoint, strings.Join(known, ", "))}
	}
	applied, choice, err := reg.RegisterModel(ctx, a.options(), config.Scope(in.Scope), config.Model{
		Name: in.Name, ServedName: in.ServedName, Endpoint: in.Endpoint, Context: in.Context, Host: in.Host,
		Notes: in.Notes, BringUp: in.BringUp,
	})
	var none *llm.NoModelError
	switch {
	case errors.As(err, &none):
		return a.redact(appliedText(applied) + "\nnot served now: " + none.Advice), nil
	case err != nil:
		return "", &offload.InputError{Msg: "register_model: " + err.Error()}
	}
	return a.redact(fmt.Sprintf("%s\nserved now as %s by %s, window %d", appliedText(applied), choice.Model, choice.Endpoint, choice.PlanWindow())), nil
}

// endpointNames are the endpoints that the settings name.
func (a *app) endpointNames() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var names []string
	for _, e := range a.last.Endpoints {
		names = append(names, e.Name)
	}
	return names
}

// loadRegistry is the registry under the settings as they are now.
func (a *app) loadRegistry() (*llm.Registry, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	return a.registry(cfg)
}
