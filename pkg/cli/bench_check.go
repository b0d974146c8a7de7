package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"legwork/pkg/bench"
	"legwork/pkg/config"
	"legwork/pkg/fsx"
)

// taskSet is where the tasks of the delegate bench lie in the project's own repository.
const taskSet = "bench/tasks"

// bindTasks declares the flags that choose tasks.
func bindTasks(fs *pflag.FlagSet) (set *string, choices *[]string) {
	return fs.String("set", taskSet, "`DIR` of the tasks, NAME.txtar"),
		fs.StringArray("tasks", nil, "only these tasks: a `GLOB` of names, kind=KIND or tier=TIER, several with commas between")
}

func benchCheck() *command {
	return &command{
		name: "check", short: "Prove each task's gate: the right answer passes, none and every wrong one fails, no test text reaches the model.",
		example: `legwork bench check
legwork bench check --tasks kind=go,tier=3`,
		bind: func(fs *pflag.FlagSet) runFunc {
			set, choices := bindTasks(fs)
			parallel := fs.Int("parallel", runtime.NumCPU(), "`N` tests at once")
			return func(ctx context.Context, a *app, _ []string) error {
				tasks, err := bench.LoadTasks(*set, *choices)
				if err != nil {
					return &exitError{exitUsage, err}
				}
				g, end, err := a.benchGround("check")
				if err != nil {
					return err
				}
				defer end()
				if g.Config, err = bench.CheckConfig(g.StateDir, g.Config); err != nil {
					return err
				}
				return a.runBenchCheck(ctx, g, tasks, *parallel)
			}
		},
	}
}

func (a *app) runBenchCheck(ctx context.Context, g bench.Ground, tasks []*bench.Task, parallel int) error {
	say, end := a.progress()
	done, bad := 0, 0
	say(fmt.Sprintf("0 of %d tasks", len(tasks)))
	checks, err := bench.CheckTasks(ctx, g, tasks, parallel, func(c *bench.TaskCheck) {
		done++
		if !c.OK() {
			bad++
		}
		say(fmt.Sprintf("%d of %d tasks, %d with faults; last: %s", done, len(tasks), bad, c.Task))
	})
	end()
	if err != nil {
		return err
	}
	if a.global.json {
		err = a.printJSON(map[string]any{"tasks": checks, "faults": bad})
	} else {
		err = printChecks(a.stdout, checks)
	}
	if err == nil && bad > 0 {
		return &exitError{code: exitFailed}
	}
	return err
}

// printChecks prints a line a task, and what is wrong with it.
func printChecks(w io.Writer, checks []*bench.TaskCheck) error {
	trials, bad := 0, 0
	for _, c := range checks {
		trials += len(c.Trials)
		verdict := "ok"
		if !c.OK() {
			verdict = "FAULT"
			bad++
		}
		total := 0
		if len(c.Trials) > 0 {
			total = c.Trials[0].Total
		}
		fmt.Fprintf(w, "%-5s %s (%s, tier %d): %d tests, %d wrong answers, gate: %s\n", verdict, c.Task, c.Kind, c.Tier, total, max(0, len(c.Trials)-1), c.Gate)
		for _, p := range c.Problems {
			fmt.Fprintf(w, "      %s\n", p)
		}
		for _, t := range c.Trials {
			if t.Problem != "" {
				fmt.Fprintf(w, "      %s: %s\n", t.What, t.Problem)
			}
		}
		for _, l := range c.Leaks {
			fmt.Fprintf(w, "      test text reached the model: %s\n", l)
		}
	}
	_, err := fmt.Fprintf(w, "%d tasks, %d answers tried, %d tasks with faults\n", len(checks), trials, bad)
	return err
}

// benchGround is a ground whose state lies apart from the user's: <state>/bench/NAME. Only one bench uses it
// at a time; end removes all but what was learned and the caches of tests.
func (a *app) benchGround(name string) (bench.Ground, func(), error) {
	cfg, models, state, err := a.ground()
	if err != nil {
		return bench.Ground{}, nil, err
	}
	dir := filepath.Join(state, "bench", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return bench.Ground{}, nil, err
	}
	lock, err := fsx.TryLock(filepath.Join(dir, "lock"))
	if err != nil {
		return bench.Ground{}, nil, &exitError{exitRefused, fmt.Errorf("another bench of this name runs: %w", err)}
	}
	// A bench that was killed left what only its end would have removed.
	if err := tidyBench(dir); err != nil {
		_ = lock.Unlock()
		return bench.Ground{}, nil, err
	}
	own := *cfg
	own.Endpoints, own.Models = append([]config.Endpoint{}, cfg.Endpoints...), append([]config.Model{}, cfg.Models...)
	g := bench.Ground{Config: &own, Models: models, StateDir: dir, Env: a.env, Children: a.children, Logger: a.log}
	end := func() {
		if err := tidyBench(dir); err != nil {
			fmt.Fprintf(a.stderr, "legwork: %v\n", err)
		}
		_ = lock.Unlock()
	}
	return g, end, nil
}

// tidyBench removes what the runs left in the bench's state.
func tidyBench(dir string) error {
	for _, pattern := range []string{"repos", "worktrees", "delegates", "locks", "slots", "tokens", "*/*/worktrees", "*/*/delegates", "*/*/locks", "scripted"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			if strings.HasSuffix(path, "lock") {
				continue
			}
			if err := fsx.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}
