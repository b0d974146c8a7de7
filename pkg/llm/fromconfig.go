package llm

import (
	"context"
	"os"
	"strings"

	"legwork/pkg/config"
)

// localServersEnv replaces the well-known local ports by other addresses,
// comma-separated, or by nothing with "none". It has no effect once an endpoint
// is configured.
const localServersEnv = "LEGWORK_LOCAL_SERVERS"

// FromConfig takes what the registry needs out of the configuration. With no
// endpoint configured the well-known local ports are used.
func FromConfig(cfg *config.Config) Settings {
	s := Settings{
		DefaultModel: cfg.Defaults.Model, ToolModel: map[string]string{"offload": cfg.Offload.Model, "research": cfg.Research.Model},
		AnswerTokens: cfg.LLM.AnswerTokens, NumCtx: cfg.LLM.NumCtx, KeepAlive: cfg.LLM.KeepAlive,
		FirstByteTimeout: cfg.LLM.FirstByteTimeout, IdleTimeout: cfg.LLM.IdleTimeout,
		ProbeTimeout: cfg.LLM.ProbeTimeout, Concurrency: cfg.LLM.Concurrency,
	}
	if len(cfg.Delegate.Model) > 0 {
		s.ToolModel["delegate"] = cfg.Delegate.Model[0]
	}
	for _, m := range cfg.Models {
		s.Models = append(s.Models, ModelNote{
			Name: m.Name, ServedName: m.ServedName, Endpoint: m.Endpoint, Context: m.Context,
			Host: m.Host, Notes: m.Notes, BringUp: m.BringUp,
		})
	}
	for _, e := range cfg.Servers() {
		ep := Endpoint{
			Name: e.Name, BaseURL: e.BaseURL, Backend: Backend(e.Backend), Host: e.Host, Notes: e.Notes,
			APIKey: e.APIKey.Reveal(), Concurrency: e.Concurrency, Headers: map[string]string{},
			WellKnown: len(cfg.Endpoints) == 0,
		}
		for k, v := range e.Headers {
			ep.Headers[k] = v.Reveal()
		}
		s.Endpoints = append(s.Endpoints, ep)
	}
	if env := strings.TrimSpace(os.Getenv(localServersEnv)); env != "" && len(cfg.Endpoints) == 0 {
		s.Endpoints = localServers(env)
	}
	return s
}

func localServers(env string) []Endpoint {
	if env == "none" {
		return nil
	}
	var out []Endpoint
	for i, u := range strings.Split(env, ",") {
		name := "local"
		if i > 0 {
			name += string(rune('1' + i))
		}
		out = append(out, Endpoint{Name: name, BaseURL: strings.TrimSpace(u), Backend: Auto, WellKnown: true})
	}
	return out
}

// RegisterEndpoint writes an endpoint to the user's or project's sidecar, takes the new
// configuration into use, and probes the endpoint at once.
func (r *Registry) RegisterEndpoint(ctx context.Context, opts config.Options, scope config.Scope, e config.Endpoint) (config.Applied, EndpointStatus, error) {
	applied, err := config.RegisterEndpoint(ctx, opts, scope, e)
	if err != nil {
		return applied, EndpointStatus{}, err
	}
	if err := r.reload(opts); err != nil {
		return applied, EndpointStatus{}, err
	}
	sts, err := r.probeSome(ctx, e.Name)
	if err != nil || len(sts) == 0 {
		return applied, EndpointStatus{}, err
	}
	return applied, sts[0], nil
}

// RegisterModel writes a note on a model to the sidecar, takes it into use, and
// says where the model is served now: a *NoModelError when nowhere.
func (r *Registry) RegisterModel(ctx context.Context, opts config.Options, scope config.Scope, m config.Model) (config.Applied, Choice, error) {
	applied, err := config.RegisterModel(ctx, opts, scope, m)
	if err != nil {
		return applied, Choice{}, err
	}
	if err := r.reload(opts); err != nil {
		return applied, Choice{}, err
	}
	choice, err := r.Choose(ctx, Want{Model: m.Name})
	return applied, choice, err
}

func (r *Registry) reload(opts config.Options) error {
	cfg, err := config.Load(opts)
	if err != nil {
		return err
	}
	r.Use(FromConfig(cfg))
	return nil
}
