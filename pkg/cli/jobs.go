package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"legwork/pkg/agent"
	"legwork/pkg/jobs"
)

func jobsCommand() *command {
	one := func(name, short string, run func(ctx context.Context, a *app, id string) error) *command {
		return &command{name: name, args: "JOB", min: 1, max: 1, short: short, example: "legwork jobs " + name + " j7k2m3p", bind: func(*pflag.FlagSet) runFunc {
			return func(ctx context.Context, a *app, args []string) error { return run(ctx, a, args[0]) }
		}}
	}
	return &command{
		name: "jobs", short: "Follow, collect and clean up jobs.",
		subs: []*command{
			jobsListCommand(),
			one("show", "How a job stands.", func(_ context.Context, a *app, id string) error { return a.showJob(id) }),
			one("wait", "Wait for a job; the exit code is the job's.", func(ctx context.Context, a *app, id string) error { return a.waitJob(ctx, id) }),
			jobsLogCommand(),
			one("cancel", "End a job with all it started.", func(ctx context.Context, a *app, id string) error { return a.cancelJob(ctx, id) }),
			one("apply", "Put what a job left in its worktree into the checkout.", func(ctx context.Context, a *app, id string) error { return a.applyJob(ctx, id) }),
			jobsCleanCommand(),
		},
	}
}

func jobsListCommand() *command {
	return &command{name: "list", short: "All jobs, newest first.", example: "legwork jobs list --watch", bind: func(fs *pflag.FlagSet) runFunc {
		watch := fs.Bool("watch", false, "show it until Ctrl-C, or until no job is running")
		limit := fs.Int("limit", listedJobs, "jobs shown, `N`; 0: all")
		return func(ctx context.Context, a *app, _ []string) error {
			if *watch {
				return a.watchJobs(ctx, *limit)
			}
			return a.listJobs(*limit)
		}
	}}
}

func jobsLogCommand() *command {
	return &command{name: "log", args: "JOB", min: 1, max: 1, short: "The transcript of a job.", example: "legwork jobs log --follow j7k2m3p", bind: func(fs *pflag.FlagSet) runFunc {
		lines := fs.IntP("lines", "n", jobs.DefaultLines, "lines shown, `N`")
		follow := fs.BoolP("follow", "f", false, "show what comes until the job is over")
		return func(ctx context.Context, a *app, args []string) error { return a.logJob(ctx, args[0], *lines, *follow) }
	}}
}

func jobsCleanCommand() *command {
	return &command{
		name: "clean", args: "[JOB]...", min: 0, max: -1, short: "Remove jobs that are over; work that is not applied is kept.",
		example: "legwork jobs clean\nlegwork jobs clean --force j7k2m3p   # its worktree too, whatever is in it",
		bind: func(fs *pflag.FlagSet) runFunc {
			age := fs.Duration("older", 0, "only those that ended more than `D` ago")
			force := fs.Bool("force", false, "also work that is not applied; the jobs must be named")
			return func(ctx context.Context, a *app, args []string) error { return a.cleanJobs(ctx, args, *age, *force) }
		},
	}
}

// listedJobs is how many jobs a list shows.
const listedJobs = 20

// jobTable is a list of jobs, a line each.
func jobTable(all []jobs.Job, limit int) string {
	if len(all) == 0 {
		return "no jobs"
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 2, 2, 2, ' ', 0)
	for i, j := range all {
		if limit > 0 && i == limit {
			fmt.Fprintf(w, "… and %d older\n", len(all)-i)
			break
		}
		what := j.Title
		if !j.State.Final() {
			what = j.Progress + " | " + what
		} else if j.Ending != "" && j.Ending != string(j.State) && j.Ending != agent.Done {
			what = j.Ending + " | " + what
		}
		if f := agent.FactsOf(j); j.Kind == agent.Kind && j.State.Final() && len(f.Files)+len(f.Unseen) > 0 && !f.Applied {
			what = "not applied | " + what
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", j.ID, j.State, j.Took().Round(time.Second), j.Model, what)
	}
	_ = w.Flush()
	return strings.TrimRight(b.String(), "\n")
}

func (a *app) listJobs(limit int) error {
	store, err := a.jobStore()
	if err != nil {
		return err
	}
	all, err := store.List()
	if err != nil {
		return err
	}
	if a.global.json {
		return a.printJSON(all)
	}
	a.printf("%s\n", a.mask(jobTable(all, limit)))
	return nil
}

// watchEvery is how often a live view is drawn.
const watchEvery = 500 * time.Millisecond

// watchJobs shows the list until no job runs any more; on a terminal it is drawn over and over, else when it changes.
func (a *app) watchJobs(ctx context.Context, limit int) error {
	store, err := a.jobStore()
	if err != nil {
		return err
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	last := ""
	for {
		all, err := store.List()
		if err != nil {
			return err
		}
		text := a.mask(jobTable(all, limit))
		switch {
		case isTerminal(a.stdout):
			a.printf("\x1b[H\x1b[2J%s\n", text)
		case text != last:
			a.printf("%s\n\n", text)
		}
		last = text
		active := false
		for _, j := range all {
			active = active || !j.State.Final()
		}
		if !active {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (a *app) showJob(id string) error {
	store, err := a.jobStore()
	if err != nil {
		return err
	}
	job, err := store.Get(id)
	if err != nil {
		return err
	}
	if a.global.json {
		return a.printJSON(job)
	}
	a.printReply(a.mask(agent.Status(job)))
	return nil
}

func (a *app) waitJob(ctx context.Context, id string) error {
	store, err := a.jobStore()
	if err != nil {
		return err
	}
	say, end := a.progress()
	job, err := store.Wait(ctx, id, func(j jobs.Job) { say(fmt.Sprintf("%s: %s", j.State, j.Progress)) })
	end()
	if err != nil {
		return err
	}
	return a.printJob(job)
}

// logJob prints the end of a transcript and, with follow, what is added until the job is over.
func (a *app) logJob(ctx context.Context, id string, lines int, follow bool) error {
	store, err := a.jobStore()
	if err != nil {
		return err
	}
	page, err := store.Log(id, lines, 0)
	if err != nil {
		return err
	}
	if page.From > 0 {
		a.printf("%s\n", a.mask(page.Text))
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for shown := page.Total; follow; {
		job, err := store.Get(id)
		if err != nil {
			return err
		}
		for { // what came since, in pages
			page, err := store.Log(id, jobs.DefaultLines, shown+1+jobs.DefaultLines)
			if err != nil {
				return err
			}
			fresh := page.To - shown
			if fresh <= 0 {
				break
			}
			all := strings.Split(page.Text, "\n")
			a.printf("%s\n", a.mask(strings.Join(all[max(0, len(all)-fresh):], "\n")))
			shown = page.To
		}
		if job.State.Final() {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
	return nil
}

func (a *app) cancelJob(ctx context.Context, id string) error {
	store, err := a.jobStore()
	if err != nil {
		return err
	}
	job, err := store.Cancel(ctx, id)
	if err != nil {
		return err
	}
	if a.global.json {
		return a.printJSON(job)
	}
	a.printReply(a.mask(agent.Status(job)))
	return nil
}

func (a *app) applyJob(ctx context.Context, id string) error {
	d, err := a.agentDeps(nil)
	if err != nil {
		return err
	}
	words, err := agent.Apply(ctx, d, id)
	if words != "" {
		a.printf("%s\n", words)
	}
	return err
}

// cleanJobs removes the named jobs, or all that are over.
func (a *app) cleanJobs(ctx context.Context, ids []string, age time.Duration, force bool) error {
	if force && len(ids) == 0 {
		return &exitError{exitUsage, errors.New("jobs clean --force needs the names of the jobs; it deletes work that is not applied")}
	}
	d, err := a.agentDeps(nil)
	if err != nil {
		return err
	}
	var list []jobs.Job
	for _, id := range ids {
		job, err := d.Jobs.Get(id)
		if err != nil {
			return err
		}
		list = append(list, job)
	}
	if len(ids) == 0 {
		if list, err = d.Jobs.List(); err != nil {
			return err
		}
	}
	removed, kept, errs := 0, []string{}, []error(nil)
	for _, job := range list {
		if job.State.Final() && time.Since(job.Ended) < age {
			continue
		}
		gone, err := agent.Clean(ctx, d, job, force)
		switch {
		case err != nil: // its project has moved, say; the others are no worse for it
			errs = append(errs, fmt.Errorf("job %s: %w", job.ID, err))
		case gone:
			removed++
		default:
			kept = append(kept, job.ID)
		}
	}
	a.printf("removed %d jobs\n", removed)
	if len(kept) > 0 {
		a.printf("kept, running or with work that is not applied: %s\n", strings.Join(kept, ", "))
	}
	return errors.Join(errs...)
}
