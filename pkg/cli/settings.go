package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"legwork/pkg/config"
	"legwork/pkg/offload"
)

func configureCommand() *command {
	return &command{
		name: "configure", short: "Show and change settings, each with its origin.",
		example: `legwork configure
legwork configure --set offload.model=qwen3-coder --set research.sources=8
legwork configure --unset offload.model --scope project
legwork configure import`,
		bind: func(fs *pflag.FlagSet) runFunc {
			set := fs.StringArray("set", nil, "change a setting, as `KEY=VALUE`; may be repeated")
			unset := fs.StringArray("unset", nil, "give up the setting `KEY`; may be repeated")
			scope := fs.String("scope", "user", "where to write: user or project")
			return func(ctx context.Context, a *app, _ []string) error {
				return a.runConfigure(ctx, *set, *unset, *scope)
			}
		},
		subs: []*command{importCommand()},
	}
}

func (a *app) runConfigure(ctx context.Context, set, unset []string, scope string) error {
	if len(set)+len(unset) > 0 {
		applied, err := a.change(ctx, set, unset, scope)
		if err != nil {
			return err
		}
		return a.printApplied(applied)
	}
	cfg, err := a.load()
	if err != nil {
		return err
	}
	if a.global.json {
		return a.printJSON(map[string]any{"settings": cfg.View(), "warnings": cfg.Warnings})
	}
	a.printf("%s\n", a.redact(settingsText(cfg)))
	return nil
}

// configure is the tool of that name.
func (a *app) configure(ctx context.Context, set, unset []string, scope string) (string, error) {
	if len(set)+len(unset) == 0 {
		cfg, err := a.load()
		if err != nil {
			return "", err
		}
		return a.redact(settingsText(cfg)), nil
	}
	applied, err := a.change(ctx, set, unset, scope)
	if err != nil {
		return "", err
	}
	return a.redact(appliedText(applied)), nil
}

// change writes settings into the sidecar of the scope and reads the configuration again.
func (a *app) change(ctx context.Context, set, unset []string, scope string) (config.Applied, error) {
	changes, err := parseChanges(set, unset)
	if err != nil {
		return config.Applied{}, err
	}
	applied, err := config.Apply(ctx, a.options(), config.Scope(scope), changes)
	if err != nil {
		return config.Applied{}, &offload.InputError{Msg: err.Error()}
	}
	_, err = a.load()
	return applied, err
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
		fmt.Fprintf(&b, "%d more settings have their built-in value:", defaults)
		builtins(&b, cfg.View())
	}
	for _, warn := range cfg.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warn.String())
	}
	return strings.TrimRight(b.String(), "\n")
}

// builtins lists what nobody set, a line a section: the reply of a tool is read by a model that pays for it.
func builtins(b *strings.Builder, entries []config.Entry) {
	last := ""
	for _, e := range entries {
		if !e.Default {
			continue
		}
		section, key, named := strings.Cut(e.Key, ".")
		switch {
		case !named:
			section, key = "", e.Key
			b.WriteString("\n ")
		case section != last:
			b.WriteString("\n  " + section + ":")
		}
		last = section
		b.WriteString(" " + key)
		if e.Value != "" {
			b.WriteString("=" + strings.ReplaceAll(oneLine(e.Value, 40), ", ", ","))
		}
	}
	b.WriteString("\n")
}

func appliedText(ap config.Applied) string {
	if ap.File == "" {
		return "nothing to change"
	}
	out := []string{fmt.Sprintf("%s: %s", ap.File, strings.Join(ap.Keys, ", "))}
	for _, w := range ap.Warnings {
		out = append(out, "warning: "+w)
	}
	return strings.Join(out, "\n")
}

// written is an applied change as --json prints it.
type written struct {
	File     string   `json:"file"` // empty: nothing had to be written
	Keys     []string `json:"keys"`
	Warnings []string `json:"warnings"`
}

func asWritten(ap config.Applied) *written {
	return &written{ap.File, append([]string{}, ap.Keys...), append([]string{}, ap.Warnings...)}
}

func (a *app) printApplied(ap config.Applied) error {
	if a.global.json {
		return a.printJSON(asWritten(ap))
	}
	a.printf("%s\n", a.redact(appliedText(ap)))
	return nil
}

func importCommand() *command {
	return &command{
		name: "import", args: "[FILE]", max: 1,
		short: "Take over the settings of an older tool: config.json of local-llm-worker, models.yaml of localagents.",
		example: `legwork configure import                          # where those tools keep it
legwork configure import ~/old/models.yaml --dry-run`,
		bind: func(fs *pflag.FlagSet) runFunc {
			dry := fs.Bool("dry-run", false, "only show what would be taken over")
			return func(ctx context.Context, a *app, args []string) error {
				file, err := a.importFrom(args)
				if err != nil {
					return &exitError{exitUsage, err}
				}
				return a.runImport(ctx, file, *dry)
			}
		},
	}
}

// importFrom is the file named, else the only one in the places of the older tools.
func (a *app) importFrom(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	found := config.FindImports(a.options())
	switch len(found) {
	case 0:
		return "", errors.New("no settings of localagents or local-llm-worker where those tools keep them; name the file")
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("several files could be taken over; name one: %s", strings.Join(found, ", "))
}

func (a *app) runImport(ctx context.Context, file string, dry bool) error {
	plan, err := config.Import(file)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	var done *written
	if !dry {
		applied, err := config.Apply(ctx, a.options(), config.ScopeUser, plan.Changes)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		done = asWritten(applied)
	}
	keys := []string{} // values may be secrets of a file that is not loaded
	for _, ch := range plan.Changes {
		keys = append(keys, ch.Key)
	}
	if a.global.json {
		return a.printJSON(map[string]any{"path": plan.Path, "format": plan.Format, "settings": keys, "notes": plan.Notes, "written": done})
	}
	a.printf("%s (%s): %d settings\n", plan.Path, plan.Format, len(keys))
	for _, key := range keys {
		a.printf("  %s\n", key)
	}
	for _, n := range plan.Notes {
		a.printf("note: %s\n", n)
	}
	if done == nil {
		a.printf("nothing was written\n")
		return nil
	}
	a.printf("%s\n", a.redact(appliedText(config.Applied(*done))))
	return nil
}

func trustCommand() *command {
	return &command{
		name: "trust", short: "Let this project's configuration, as it is now, redirect traffic.",
		example: `legwork trust
legwork trust --revoke`,
		bind: func(fs *pflag.FlagSet) runFunc {
			revoke := fs.Bool("revoke", false, "take the trust back")
			return func(ctx context.Context, a *app, _ []string) error {
				if *revoke {
					return a.runRevoke(ctx)
				}
				return a.runTrust(ctx)
			}
		},
	}
}

func (a *app) runRevoke(ctx context.Context) error {
	had, err := config.Revoke(ctx, a.options())
	if err != nil {
		return &exitError{exitUsage, err}
	}
	switch {
	case a.global.json:
		return a.printJSON(map[string]bool{"revoked": had})
	case had:
		a.printf("trust taken back\n")
	default:
		a.printf("this project was not trusted\n")
	}
	return nil
}

func (a *app) runTrust(ctx context.Context) error {
	files, err := config.Trust(ctx, a.options())
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if a.global.json {
		return a.printJSON(files)
	}
	for _, f := range files {
		a.printf("trusted as it is now: %s\n", f.Path)
		if len(f.Ignored) > 0 {
			a.printf("  now in force: %s\n", strings.Join(f.Ignored, ", "))
		}
	}
	return nil
}

func rawCommand() *command {
	return &command{
		name: "raw", short: "List and clean the kept output of commands.",
		example: `legwork raw
legwork offload --raw rk3x7abq 'what was the first warning?'
legwork raw clean --all`,
		bind: func(*pflag.FlagSet) runFunc {
			return func(_ context.Context, a *app, _ []string) error { return a.listRaw() }
		},
		subs: []*command{
			{
				name: "list", short: "List the kept outputs, newest first.",
				example: `legwork raw list
legwork raw list --json`,
				bind: func(*pflag.FlagSet) runFunc {
					return func(_ context.Context, a *app, _ []string) error { return a.listRaw() }
				},
			},
			{
				name: "clean", args: "[ID]", max: 1, short: "Delete one kept output, or all.",
				example: `legwork raw clean rk3x7abq
legwork raw clean --all`,
				bind: func(fs *pflag.FlagSet) runFunc {
					all := fs.Bool("all", false, "delete all kept outputs")
					return func(_ context.Context, a *app, args []string) error {
						if (len(args) == 0) != *all {
							return &exitError{exitUsage, errors.New("name one output, or --all (`legwork raw` lists them)")}
						}
						return a.cleanRaw(strings.Join(args, ""))
					}
				},
			},
		},
	}
}

func (a *app) listRaw() error {
	store, err := a.store()
	if err != nil {
		return err
	}
	entries, err := store.List()
	if err != nil {
		return err
	}
	if a.global.json {
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

func (a *app) cleanRaw(id string) error {
	store, err := a.store()
	if err != nil {
		return err
	}
	if id != "" {
		if _, err := store.Get(id); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	n, bytes := store.Remove(id)
	if a.global.json {
		return a.printJSON(map[string]int64{"removed": int64(n), "bytes": bytes})
	}
	a.printf("%d kept outputs removed, %d bytes\n", n, bytes)
	return nil
}
