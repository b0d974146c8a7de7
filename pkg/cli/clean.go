package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"legwork/pkg/claudecode"
	"legwork/pkg/setup"
)

func cleanCommand() *command {
	return &command{
		name: "clean", short: "Show and remove what legwork keeps on this machine; work of yours stays unless you say so.",
		example: `legwork clean --dry-run             # what there is, and what would go
legwork clean                       # leftovers, and what is past its age
legwork clean --older 3d            # whatever is older than three days
legwork clean --all                 # everything but the run log, settings, unfinished jobs and work that is not applied
legwork clean --uninstall           # that, the run log, the settings that commands wrote, and the note in CLAUDE.md`,
		bind: func(fs *pflag.FlagSet) runFunc {
			var o cleanOptions
			fs.BoolVar(&o.dry, "dry-run", false, "only show it")
			fs.BoolVar(&o.all, "all", false, "of any age, and caches too")
			older := fs.String("older", "", "what is older than `D`, as in 30d or 12h")
			fs.BoolVar(&o.ledger, "ledger", false, "also the run log, from which stats are made")
			fs.BoolVar(&o.settings, "settings", false, "also the settings that commands wrote (config.local.yaml, trust.yaml)")
			fs.BoolVar(&o.work, "work", false, "also worktrees and jobs with work that is not applied; it is lost then")
			fs.BoolVar(&o.uninstall, "uninstall", false, "--all --ledger --settings, the note in CLAUDE.md and the texts in Claude Code's sessions")
			return func(ctx context.Context, a *app, _ []string) error {
				var err error
				if o.older, err = ageOf(*older); err != nil {
					return &exitError{exitUsage, err}
				}
				if o.all && o.older > 0 {
					return &exitError{exitUsage, errors.New("clean: --all and --older exclude each other")}
				}
				if o.uninstall {
					o.all, o.ledger, o.settings = true, true, true
				}
				return a.runClean(ctx, o)
			}
		},
	}
}

// ageOf reads a duration in which days may stand: 30d.
func ageOf(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	bad := fmt.Errorf("clean: --older: %q is no age; write it as 30d or 12h", s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		d, err := time.ParseDuration(days + "h")
		if err != nil || d <= 0 {
			return 0, bad
		}
		return 24 * d, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, bad
	}
	return d, nil
}

type cleanOptions struct {
	dry, all, ledger, settings, work, uninstall bool
	older                                       time.Duration
}

// cleaned is one row: a kind of state, what goes (or would go) of it, and what stays.
type cleaned struct {
	Kind    string   `json:"kind"`
	Removed int      `json:"removed"`       // things, or those that would be
	Bytes   int64    `json:"bytes"`         // of them
	Kept    int      `json:"kept"`          // things that stay
	Stays   int64    `json:"kept_bytes"`    // of those
	Why     string   `json:"why,omitempty"` // they stay
	Paths   []string `json:"paths,omitempty"`
}

// cleanReport is all of it.
type cleanReport struct {
	State   string    `json:"state"` // the folder
	DryRun  bool      `json:"dry_run"`
	Rows    []cleaned `json:"rows"`
	Removed int64     `json:"removed_bytes"`
	Kept    int64     `json:"kept_bytes"`
}

func (a *app) runClean(ctx context.Context, o cleanOptions) error {
	c, err := a.newCleaner(o)
	if err != nil {
		return err
	}
	rows, err := c.run(ctx)
	if err == nil && o.uninstall {
		var note, texts cleaned
		texts, err = a.cleanSessions(o.dry)
		if err == nil {
			note, err = a.cleanNotes(ctx, o.dry)
		}
		rows = append(rows, texts, note)
	}
	r := cleanReport{State: c.state, DryRun: o.dry, Rows: rows}
	for _, row := range rows {
		r.Removed += row.Bytes
		r.Kept += row.Stays
	}
	if a.global.json {
		return errors.Join(a.printJSON(r), err)
	}
	a.printf("%s", a.redact(r.text()))
	return err
}

// cleanNotes takes the note for Claude out of every CLAUDE.md that it is known to stand in.
func (a *app) cleanNotes(ctx context.Context, dry bool) (cleaned, error) {
	row := cleaned{Kind: "note in CLAUDE.md"}
	cfg, facts, err := a.offlineFacts(ctx)
	if err != nil {
		return row, err
	}
	plan, err := setup.MakePlan(cfg, facts, setup.Choices{RemoveNote: true})
	if err != nil {
		return row, err
	}
	for _, e := range plan.Edits {
		row.Paths = append(row.Paths, e.Path)
	}
	row.Removed = len(plan.Edits)
	if !dry {
		_, err = setup.Apply(ctx, a.options(), plan)
	}
	return row, err
}

// cleanSessions removes the whole texts that were put into the sessions of Claude Code, for its model to read. They go
// with the session otherwise.
func (a *app) cleanSessions(dry bool) (cleaned, error) {
	row := cleaned{Kind: "texts in Claude Code's sessions"}
	found, err := filepath.Glob(filepath.Join(claudecode.ConfigDir(a.env), "projects", "*", "*", "tool-results", published+"*.txt"))
	for _, path := range found {
		st, serr := os.Lstat(path)
		if serr != nil || !st.Mode().IsRegular() {
			continue
		}
		row.Removed, row.Bytes = row.Removed+1, row.Bytes+st.Size()
		if !dry {
			err = errors.Join(err, os.Remove(path))
			_ = os.Remove(filepath.Dir(path)) // the folder, if it holds nothing else
			_ = os.Remove(filepath.Dir(filepath.Dir(path)))
		}
	}
	return row, err
}

func (r cleanReport) text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 2, 2, 2, ' ', 0)
	verb := "removed"
	if r.DryRun {
		verb = "would go"
	}
	for _, row := range r.Rows {
		if row.Removed == 0 && row.Kept == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\t%s %d (%s)\tkept %d (%s)\t%s\n", row.Kind, verb, row.Removed, size(row.Bytes), row.Kept, size(row.Stays), row.Why)
		for _, p := range row.Paths {
			fmt.Fprintf(w, "\t%s\t\t\n", p)
		}
	}
	_ = w.Flush()
	if b.Len() == 0 {
		return "legwork keeps nothing in " + r.State + "\n"
	}
	fmt.Fprintf(&b, "%s: %s %s, kept %s\n", r.State, verb, size(r.Removed), size(r.Kept))
	var lines []string // tabwriter leaves blanks at the ends of lines
	for l := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(l, " \n"))
	}
	return strings.Join(lines, "\n") + "\n"
}

// size is a number of bytes for a person.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.0f kB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
