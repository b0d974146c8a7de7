package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"legwork/pkg/config"
	"legwork/pkg/doctor"
	"legwork/pkg/llm"
	"legwork/pkg/mcpserver"
	"legwork/pkg/setup"
)

func setupCommand() *command {
	return &command{
		name: "setup", short: "Find servers, choose models, write the settings; asks on a terminal, takes flags elsewhere.",
		example: `legwork setup                                       # on a terminal: asks, shows, writes after a yes
legwork setup --json                                # what is there, and what can be chosen
legwork setup --endpoint gpu=http://gpu.lan:8000 --model qwen3-coder --auto-use offload,research --yes
legwork setup --snippet user --yes                  # the note for Claude in ~/.claude/CLAUDE.md
legwork setup --remove-snippet --yes`,
		bind: func(fs *pflag.FlagSet) runFunc {
			o := setupOptions{flags: fs}
			fs.StringArrayVar(&o.endpoints, "endpoint", nil, "add a server, as `NAME=URL`; may be repeated")
			fs.StringArrayVar(&o.keys, "plugin-key", nil, "send the API key that Claude Code keeps (plugin option api_key) to the endpoint `NAME`; may be repeated")
			fs.BoolVar(&o.adopt, "adopt", false, "write down the local servers that were found")
			for _, m := range modelFlags {
				o.models = append(o.models, fs.String(m.flag, "", m.doc+", `NAME`; none: no choice"))
			}
			fs.StringVar(&o.autoUse, "auto-use", "", "tools Claude may use on its own, a `LIST` with commas; none: none")
			fs.StringVar(&o.searxng, "searxng", "", "SearXNG to search with, `URL`; it is tried first; none: none")
			fs.StringArrayVar(&o.imports, "import", nil, "take over the settings of an older tool from `FILE`; may be repeated")
			fs.StringVar(&o.snippet, "snippet", "", "put the note for Claude into CLAUDE.md, `WHERE`: user or project")
			fs.BoolVar(&o.remove, "remove-snippet", false, "take the note out again")
			fs.BoolVar(&o.yes, "yes", false, "write without asking")
			fs.BoolVar(&o.noDoctor, "no-doctor", false, "do not check everything at the end")
			return func(ctx context.Context, a *app, _ []string) error { return a.runSetup(ctx, &o) }
		},
	}
}

// modelFlags are the models that can be chosen.
var modelFlags = []struct{ flag, key, doc string }{
	{"model", "defaults.model", "model of every tool that names none"},
	{"offload-model", "offload.model", "model of offload"},
	{"research-model", "research.model", "model of research"},
	{"delegate-model", "delegate.model", "model of delegate, or a list from small to big"},
}

type setupOptions struct {
	flags                    *pflag.FlagSet
	endpoints, keys, imports []string
	models                   []*string // as modelFlags
	autoUse, searxng         string
	snippet                  string
	adopt, remove            bool
	yes, noDoctor            bool
}

// none is how a choice is taken back.
const none = "none"

func (a *app) runSetup(ctx context.Context, o *setupOptions) error {
	choices, err := o.choices()
	if err != nil {
		return err
	}
	asks := choices.Empty() && !a.global.json
	if asks && (!isTerminalInput(a.stdin) || !isTerminal(a.stderr)) {
		return &exitError{exitUsage, errors.New("setup: there is no terminal to ask on; choose with flags (--endpoint, --model, --auto-use, --searxng, --import, --snippet, --remove-snippet; then --yes), or look with --json")}
	}
	cfg, facts, err := a.setupFacts(ctx, choices.Empty())
	if err != nil {
		return err
	}
	if asks {
		return a.setupDialog(ctx, &dialog{in: newLines(a.stdin), out: a.stderr}, cfg, facts)
	}
	if choices.Empty() {
		return a.printJSON(map[string]any{"found": facts, "choose": howToChoose()})
	}
	if o.searxng != "" && o.searxng != none {
		if f := doctor.SearXNG(ctx, o.searxng, cfg.Research.SearchHeaders(o.searxng)); f.Status == doctor.Fail {
			return &exitError{exitBackend, fmt.Errorf("setup: --searxng is not set: %s: %s; `legwork configure --set research.searxng_url=%s` sets it untried", f.Text, f.Fix, o.searxng)}
		}
	}
	plan, err := setup.MakePlan(cfg, facts, choices)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("setup: %w", err)}
	}
	plan.Notes = append(plan.Notes, a.unserved(ctx, plan)...)
	var done *setup.Done
	if o.yes {
		d, err := setup.Apply(ctx, a.options(), plan)
		if err != nil {
			return &exitError{exitUsage, fmt.Errorf("setup: %w", err)}
		}
		done = &d
	}
	return a.endSetup(ctx, plan, done, o.noDoctor)
}

// choices reads the flags.
func (o *setupOptions) choices() (setup.Choices, error) {
	c := setup.Choices{Adopt: o.adopt, Imports: o.imports, Note: setup.Place(o.snippet), RemoveNote: o.remove}
	if o.snippet != "" && o.snippet != string(setup.User) && o.snippet != string(setup.Project) {
		return c, &exitError{exitUsage, fmt.Errorf("setup: --snippet: %q is neither user nor project", o.snippet)}
	}
	if o.snippet != "" && o.remove {
		return c, &exitError{exitUsage, errors.New("setup: --snippet and --remove-snippet exclude each other")}
	}
	for _, e := range o.endpoints {
		name, base, ok := strings.Cut(e, "=")
		if !ok || name == "" || base == "" {
			return c, &exitError{exitUsage, fmt.Errorf("setup: --endpoint: %q is not NAME=URL, as in gpu=http://gpu.lan:8000", e)}
		}
		c.Settings = append(c.Settings, config.Change{Key: "endpoints." + name, Value: map[string]any{"base_url": base}})
	}
	for _, name := range o.keys {
		c.Settings = append(c.Settings, config.Change{Key: "endpoints." + name + ".api_key_env", Value: config.KeyVariable})
	}
	add := func(flag, key, value string) {
		switch {
		case !o.flags.Changed(flag):
		case value == none && key == "auto_use":
			c.Settings = append(c.Settings, config.Change{Key: key, Value: []string{}})
		case value == none || value == "":
			c.Settings = append(c.Settings, config.Change{Key: key, Unset: true})
		default:
			c.Settings = append(c.Settings, config.Change{Key: key, Value: value})
		}
	}
	for i, m := range modelFlags {
		add(m.flag, m.key, *o.models[i])
	}
	add("auto-use", "auto_use", o.autoUse)
	add("searxng", "research.searxng_url", o.searxng)
	return c, nil
}

// setupFacts looks what is there; with measure every server that is up gets one short call.
func (a *app) setupFacts(ctx context.Context, measure bool) (*config.Config, *setup.Facts, error) {
	say, end := a.progress()
	defer end()
	say("looking for model servers")
	cfg, models, state, err := a.ground()
	if err != nil {
		return nil, nil, err
	}
	bare := *cfg
	bare.Endpoints = nil
	local := llm.New(llm.FromConfig(&bare), llm.Options{StateDir: state, Logger: a.log})
	f, err := setup.Look(ctx, setup.Deps{
		Config: cfg, Options: a.options(), Models: models, Local: local, Prefix: mcpserver.ToolPrefix, Env: a.env, Dir: a.dir(),
	})
	if err != nil {
		return nil, nil, err
	}
	if measure {
		say("measuring them")
		var wg sync.WaitGroup
		for i := range f.Servers {
			s := &f.Servers[i]
			reg := local
			if s.Configured {
				reg = models
			}
			wg.Go(func() {
				if speed := doctor.Measure(ctx, cfg, reg, s.EndpointStatus); speed != nil {
					s.FirstTokenMS, s.TokensPerSec = speed.FirstTokenMS, speed.TokensPerSec
				}
			})
		}
		wg.Wait()
	}
	return cfg, f, ctx.Err()
}

// offlineFacts are the facts without asking any server.
func (a *app) offlineFacts(ctx context.Context) (*config.Config, *setup.Facts, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, nil, err
	}
	none := llm.New(llm.Settings{}, llm.Options{Logger: a.log})
	f, err := setup.Look(ctx, setup.Deps{Config: cfg, Options: a.options(), Models: none, Local: none, Prefix: mcpserver.ToolPrefix, Env: a.env, Dir: a.dir()})
	return cfg, f, err
}

// howToChoose tells a program that drives the set-up what it can pass on.
func howToChoose() []string {
	out := []string{"--endpoint NAME=URL", "--plugin-key NAME", "--adopt"}
	for _, m := range modelFlags {
		out = append(out, "--"+m.flag+" NAME")
	}
	return append(out, "--auto-use LIST", "--searxng URL", "--import FILE", "--snippet user|project", "--remove-snippet",
		"none takes a choice back; without --yes the changes are only shown; ask the user before --yes")
}

// unserved warns of models that were chosen and that nobody serves now. They may be started later, so that is no error.
func (a *app) unserved(ctx context.Context, p *setup.Plan) []string {
	var out []string
	for _, c := range p.Changes {
		if !slices.ContainsFunc(modelFlags, func(m struct{ flag, key, doc string }) bool { return m.key == c.Key }) || c.Unset {
			continue
		}
		for name := range strings.FieldsFuncSeq(fmt.Sprint(c.Value), func(r rune) bool { return r == ',' || r == ' ' || r == '[' || r == ']' }) {
			reg, err := a.loadRegistry()
			if err != nil {
				continue
			}
			var noModel *llm.NoModelError
			if _, err := reg.Choose(ctx, llm.Want{Model: name}); errors.As(err, &noModel) {
				words := name + " is not served now by an endpoint that is configured yet"
				if len(noModel.Ambiguous) > 0 {
					words = fmt.Sprintf("%s means several of the models served now: %s; name one of them", name, strings.Join(noModel.Ambiguous, ", "))
				}
				out = append(out, c.Key+": "+words)
			}
		}
	}
	return out
}

// endSetup prints what was planned or done and, when something was written, looks whether it works.
func (a *app) endSetup(ctx context.Context, plan *setup.Plan, done *setup.Done, noDoctor bool) error {
	var report *doctor.Report
	if done != nil && !noDoctor {
		r, err := a.checkup(ctx, false)
		if err != nil {
			return err
		}
		report = r
	}
	if a.global.json {
		return a.printJSON(map[string]any{"changes": plan.Lines, "notes": plan.Notes, "written": done, "doctor": report})
	}
	a.printf("%s", a.redact(planText(plan)))
	switch {
	case plan.Empty():
	case done == nil:
		a.printf("nothing was written; add --yes to write it\n")
	default:
		a.printf("%s", a.redact(doneText(*done)))
	}
	if report != nil {
		a.printf("\n%s", a.redact(report.Text()))
	}
	return nil
}

func planText(p *setup.Plan) string {
	var b strings.Builder
	if p.Empty() {
		b.WriteString("nothing to change\n")
	}
	for _, l := range p.Lines {
		b.WriteString("  " + l + "\n")
	}
	for _, n := range p.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return b.String()
}

func doneText(d setup.Done) string {
	var b strings.Builder
	for _, f := range d.Files {
		b.WriteString("written: " + f + "\n")
	}
	for _, w := range d.Warnings {
		b.WriteString("warning: " + w + "\n")
	}
	return b.String()
}
