package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"legwork/pkg/config"
	"legwork/pkg/offload"
)

type configureCmd struct {
	Set    []string  `help:"Change a setting." placeholder:"KEY=VALUE" sep:"none"`
	Unset  []string  `help:"Give up a setting." placeholder:"KEY"`
	Scope  string    `help:"Where to write: user or project." enum:"user,project" default:"user"`
	Import importCmd `cmd:"" help:"Take over the configuration of an older tool."`
	View   viewCmd   `cmd:"" default:"1" hidden:"" help:"Show the settings."`
}

type viewCmd struct{}

// Run shows or changes settings.
func (v *viewCmd) Run(ctx context.Context, a *app) error {
	c := &a.global.Configure
	if a.global.JSON && len(c.Set)+len(c.Unset) == 0 {
		cfg, err := a.load()
		if err != nil {
			return err
		}
		return a.printJSON(map[string]any{"settings": cfg.View(), "warnings": cfg.Warnings})
	}
	text, err := a.configure(ctx, c.Set, c.Unset, c.Scope)
	if err != nil {
		return err
	}
	a.printf("%s\n", text)
	return nil
}

// configure is the verb behind `legwork configure` and the tool of that name.
func (a *app) configure(ctx context.Context, set, unset []string, scope string) (string, error) {
	if len(set)+len(unset) == 0 {
		cfg, err := a.load()
		if err != nil {
			return "", err
		}
		return a.redact(settingsText(cfg)), nil
	}
	changes, err := parseChanges(set, unset)
	if err != nil {
		return "", err
	}
	applied, err := config.Apply(ctx, a.options(), config.Scope(scope), changes)
	if err != nil {
		return "", &offload.InputError{Msg: err.Error()}
	}
	if _, err := a.load(); err != nil {
		return "", err
	}
	return a.redact(appliedText(applied)), nil
}

func parseChanges(set, unset []string) ([]config.Change, error) {
	var changes []config.Change
	for _, s := range set {
		key, value, ok := strings.Cut(s, "=")
		if !ok || strings.TrimSpace(key) == "" {
			return nil, &offload.InputError{Msg: fmt.Sprintf("set: %q is not KEY=VALUE, as in offload.model=qwen3", s)}
		}
		changes = append(changes, config.Change{Key: strings.TrimSpace(key), Value: strings.TrimSpace(value)})
	}
	for _, key := range unset {
		changes = append(changes, config.Change{Key: strings.TrimSpace(key), Unset: true})
	}
	return changes, nil
}

// settingsText shows what is set, each with its origin, then the built-in rest in short.
func settingsText(cfg *config.Config) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 2, 2, 2, ' ', 0)
	defaults := 0
	for _, e := range cfg.View() {
		if e.Default {
			defaults++
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", e.Key, e.Value, e.Origin)
	}
	_ = w.Flush()
	if defaults > 0 {
		fmt.Fprintf(&b, "%d more settings have their built-in value:\n", defaults)
		for _, e := range cfg.View() {
			if e.Default {
				fmt.Fprintf(&b, "  %s=%s\n", e.Key, e.Value)
			}
		}
	}
	for _, warn := range cfg.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warn.String())
	}
	return strings.TrimRight(b.String(), "\n")
}

func appliedText(ap config.Applied) string {
	if ap.File == "" {
		return "nothing to change"
	}
	out := fmt.Sprintf("%s: %s", ap.File, strings.Join(ap.Keys, ", "))
	for _, w := range ap.Warnings {
		out += "\nwarning: " + w
	}
	return out
}

type importCmd struct {
	File  string `arg:"" help:"config.json of local-llm-worker, or models.yaml of localagents." type:"existingfile"`
	Write bool   `help:"Write the settings; without it they are only shown."`
}

// Run shows or takes over the settings of an older tool.
func (c *importCmd) Run(ctx context.Context, a *app) error {
	plan, err := config.Import(c.File)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	a.printf("%s: %d settings\n", plan.Format, len(plan.Changes))
	for _, ch := range plan.Changes {
		a.printf("  %s\n", ch.Key)
	}
	for _, n := range plan.Notes {
		a.printf("note: %s\n", n)
	}
	if !c.Write {
		a.printf("nothing was written; add --write to take them over\n")
		return nil
	}
	applied, err := config.Apply(ctx, a.options(), config.ScopeUser, plan.Changes)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	a.printf("%s\n", a.redact(appliedText(applied)))
	return nil
}

type trustCmd struct {
	Revoke bool `help:"Take the trust back."`
}

// Run trusts the project's configuration files as they are now.
func (c *trustCmd) Run(ctx context.Context, a *app) error {
	if c.Revoke {
		had, err := config.Revoke(ctx, a.options())
		if err != nil {
			return &exitError{exitUsage, err}
		}
		if !had {
			a.printf("this project was not trusted\n")
			return nil
		}
		a.printf("trust taken back\n")
		return nil
	}
	files, err := config.Trust(ctx, a.options())
	if err != nil {
		return &exitError{exitUsage, err}
	}
	for _, f := range files {
		a.printf("trusted as it is now: %s\n", f.Path)
		if len(f.Ignored) > 0 {
			a.printf("  now in force: %s\n", strings.Join(f.Ignored, ", "))
		}
	}
	return nil
}

type rawCmd struct {
	List  rawListCmd  `cmd:"" default:"1" help:"List the kept outputs."`
	Clean rawCleanCmd `cmd:"" help:"Delete one kept output, or all."`
}

type rawListCmd struct{}

// Run lists the kept outputs, newest first.
func (c *rawListCmd) Run(a *app) error {
	store, err := a.store()
	if err != nil {
		return err
	}
	entries, err := store.List()
	if err != nil {
		return err
	}
	if a.global.JSON {
		return a.printJSON(entries)
	}
	w := tabwriter.NewWriter(a.stdout, 2, 2, 2, ' ', 0)
	for _, e := range entries {
		fmt.Fprintf(w, "%s\t%s\t%d bytes\t%s\t%s\n", e.ID, e.Started.Format(time.DateTime), e.Bytes, e.Ending, a.redact(oneLine(e.Command, 60)))
	}
	return w.Flush()
}

func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}

type rawCleanCmd struct {
	ID  string `arg:"" optional:"" help:"The output to delete."`
	All bool   `help:"Delete all kept outputs."`
}

// Run deletes kept outputs.
func (c *rawCleanCmd) Run(a *app) error {
	if (c.ID == "") != c.All {
		return &exitError{exitUsage, errors.New("name one output, or --all (`legwork raw` lists them)")}
	}
	store, err := a.store()
	if err != nil {
		return err
	}
	if c.ID != "" {
		if _, err := store.Get(c.ID); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	n, bytes := store.Remove(c.ID)
	a.printf("%d kept outputs removed, %d bytes\n", n, bytes)
	return nil
}
