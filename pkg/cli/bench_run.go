package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"legwork/pkg/bench"
	"legwork/pkg/config"
	"legwork/pkg/delegate"
	"legwork/pkg/llm"
)

// benchRunArgs are the arguments of `legwork bench run`.
type benchRunArgs struct {
	set      *string
	choices  *[]string
	models   []string
	files    []string
	policies []string
	endpoint string
	runs     int
	parallel int
	out      string
	commit   string
}

func benchRun() *command {
	return &command{
		name: "run", short: "Let models do the tasks, each in a fresh repository through the real delegate; raw results are appended to a file.",
		example: `legwork bench run --models qwen2.5-coder-1.5b --runs 5 --out bench/results/mine.jsonl
legwork bench run --endpoint http://127.0.0.1:8080 --policy default,classic --tasks tier=1,tier=2 --runs 3 --out FILE.jsonl`,
		bind: func(fs *pflag.FlagSet) runFunc {
			var in benchRunArgs
			in.set, in.choices = bindTasks(fs)
			fs.StringSliceVar(&in.models, "models", nil, "`MODELS`, with commas between (default: the one delegate would use); scripted:gold, scripted:third and scripted:never check the bench itself")
			fs.StringArrayVar(&in.files, "model-file", nil, "the model's `FILE` (MODEL=FILE for one of several): its name, quantisation and hash go into the rows")
			fs.StringSliceVar(&in.policies, "policy", nil, "`POLICIES` of attempts, with commas between (default: delegate.policy)")
			fs.StringVar(&in.endpoint, "endpoint", "", "use only this endpoint, a name of the settings or a `URL`")
			fs.IntVar(&in.runs, "runs", 5, "`N` runs of every task")
			fs.IntVar(&in.parallel, "parallel", 1, "`N` runs at once; not more than the server has slots")
			fs.StringVar(&in.out, "out", "", "`FILE` for the raw rows, JSONL; what it holds is not done again")
			fs.StringVar(&in.commit, "commit", commit(), "`HASH` of what this program was built from")
			return func(ctx context.Context, a *app, _ []string) error { return a.runBench(ctx, in) }
		},
	}
}

// runBench checks the arguments, finds the models and makes the runs.
func (a *app) runBench(ctx context.Context, in benchRunArgs) error {
	switch {
	case in.out == "":
		return &exitError{exitUsage, errors.New("--out: missing; name the file for the raw rows")}
	case in.runs < 1, in.parallel < 1:
		return &exitError{exitUsage, errors.New("--runs and --parallel are at least 1")}
	}
	for _, p := range in.policies {
		if !slices.Contains(delegate.Policies(), p) {
			return &exitError{exitUsage, fmt.Errorf("--policy: %q is unknown; known: %s", p, strings.Join(delegate.Policies(), ", "))}
		}
	}
	tasks, err := bench.LoadTasks(*in.set, *in.choices)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if missing := bench.Missing(tasks, a.env); len(missing) > 0 {
		return &exitError{exitUsage, fmt.Errorf("not on PATH, but the tasks need it: %s; install it, or choose others with --tasks", strings.Join(missing, ", "))}
	}
	out, err := filepath.Abs(in.out)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(out))
	g, end, err := a.benchGround(hex.EncodeToString(sum[:])[:12])
	if err != nil {
		return err
	}
	defer end()
	if in.endpoint != "" {
		if err := useEndpoint(g, in.endpoint); err != nil {
			return err
		}
	}
	o := bench.RunOptions{Tasks: tasks, Policies: in.policies, Runs: in.runs, Parallel: in.parallel, Out: out, Tool: "legwork " + version, Commit: in.commit, System: bench.System()}
	if len(o.Policies) == 0 {
		o.Policies = []string{g.Config.Delegate.Policy}
	}
	if o.Models, err = identify(ctx, g, in); err != nil {
		return err
	}
	return a.makeRuns(ctx, g, o)
}

// useEndpoint leaves one endpoint in the settings: the one of that name, else one at that address.
func useEndpoint(g bench.Ground, endpoint string) error {
	i := slices.IndexFunc(g.Config.Endpoints, func(e config.Endpoint) bool { return e.Name == endpoint })
	switch {
	case i >= 0:
		g.Config.Endpoints = g.Config.Endpoints[i : i+1]
	case strings.Contains(endpoint, "://"):
		g.Config.Endpoints = []config.Endpoint{{Name: "bench", BaseURL: endpoint, Backend: "auto"}}
	default:
		return &exitError{exitUsage, fmt.Errorf("--endpoint: %q is neither a URL nor an endpoint of the settings", endpoint)}
	}
	g.Models.Use(llm.FromConfig(g.Config))
	return nil
}

// identify finds out which models take part.
func identify(ctx context.Context, g bench.Ground, in benchRunArgs) ([]bench.Contestant, error) {
	names := in.models
	if len(names) == 0 {
		names = []string{strings.Join(g.Config.Delegate.Model[:min(1, len(g.Config.Delegate.Model))], "")}
	}
	files := map[string]string{}
	for _, f := range in.files {
		name, path, ok := strings.Cut(f, "=")
		if !ok {
			name, path = names[0], f
		}
		if !ok && len(names) > 1 || !slices.Contains(names, name) {
			return nil, &exitError{exitUsage, fmt.Errorf("--model-file: %q; write MODEL=FILE with a MODEL of --models", f)}
		}
		files[name] = path
	}
	var out []bench.Contestant
	for _, name := range names {
		c, err := bench.Identify(ctx, g.Models, name, files[name])
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// makeRuns makes the runs and says how they ended.
func (a *app) makeRuns(ctx context.Context, g bench.Ground, o bench.RunOptions) error {
	bar := a.newBar()
	o.Done = bar.show
	tally, err := bench.Run(ctx, g, o)
	bar.end()
	if a.global.json {
		if jerr := a.printJSON(tally); jerr != nil {
			return jerr
		}
	} else {
		a.printf("%s: %d runs were there, %d made: %d passed, %d failed", o.Out, tally.Had, tally.Passed+tally.Failed+tally.Transport+tally.Setup, tally.Passed, tally.Failed)
		if n := tally.Transport + tally.Setup; n > 0 {
			a.printf("; %d say nothing about the model (%d transport, %d set-up) and are done again by the same command", n, tally.Transport, tally.Setup)
		}
		if tally.Leaked > 0 {
			a.printf("; %d worktrees left behind", tally.Leaked)
		}
		a.printf("\n")
	}
	switch {
	case errors.Is(err, bench.ErrServerGone), err == nil && tally.Transport > 0:
		return &exitError{code: exitBackend, err: cmp.Or(err, fmt.Errorf("%d runs ended in transport errors", tally.Transport))}
	case err != nil:
		return err
	case tally.Setup > 0 || tally.Leaked > 0:
		return &exitError{exitFailed, fmt.Errorf("%d runs could not be made, %d worktrees were left behind; the rows of %s tell why", tally.Setup, tally.Leaked, o.Out)}
	}
	return nil
}
