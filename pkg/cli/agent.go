package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"legwork/pkg/agent"
	"legwork/pkg/claudecode"
	"legwork/pkg/config"
	"legwork/pkg/jobs"
	"legwork/pkg/ledger"
	"legwork/pkg/mcpserver"
	"legwork/pkg/proc"
)

func agentCommand() *command {
	return &command{
		name: "agent", tool: "run_agent", args: "TASK", min: 1, max: 1,
		short: "Give a task to a whole Claude Code session on a local model; - reads the task from stdin.",
		example: `legwork agent --verify 'go test ./...' 'rename Store.Get to Store.Load everywhere, tests too'
legwork agent --detach --isolation none 'sort the entries of glossary.md'   # then: legwork jobs list --watch
legwork agent --resume j7k2m3p 'the changelog is missing'`,
		bind: func(fs *pflag.FlagSet) runFunc {
			var o agentOptions
			fs.StringVar(&o.req.Model, "model", "", "`MODEL` to use")
			fs.StringVar(&o.req.Endpoint, "endpoint", "", "`ENDPOINT` to use")
			fs.StringVar(&o.req.Dir, "cwd", "", "work in `DIR` (default: here)")
			fs.StringVar(&o.req.Isolation, "isolation", "", "auto (default: a worktree in a git repository), none or worktree")
			fs.StringVar(&o.req.Verify, "verify", "", "`CMD` that must pass when the session says it is done")
			fs.IntVar(&o.req.MaxTurns, "max-turns", 0, "turns at most, `N` (default: defaults.max_turns)")
			fs.DurationVar(&o.req.Timeout, "timeout", 0, "time limit (default: defaults.timeout)")
			fs.StringVar(&o.resume, "resume", "", "go on with the session of `JOB`; TASK is the next message")
			fs.BoolVar(&o.detach, "detach", false, "print the job's id and return")
			return func(ctx context.Context, a *app, args []string) error { return a.runAgent(ctx, o, args[0]) }
		},
	}
}

type agentOptions struct {
	req    agent.Request
	resume string
	detach bool
}

// superviseCommand is what agent starts a process of its own with, for every job.
func superviseCommand() *command {
	return &command{
		name: "supervise", args: "JOB", min: 1, max: 1, hidden: true, short: "Do the work of a queued job.",
		bind: func(*pflag.FlagSet) runFunc {
			return func(ctx context.Context, a *app, args []string) error {
				ctx = ledger.After(ctx, a.caller())
				a.openLog()
				a.adoptChildren()
				d, err := a.agentDeps(nil)
				if err != nil {
					return err
				}
				return agent.Supervise(ctx, d, args[0])
			}
		},
	}
}

// agentDeps is what the verbs of jobs work with, under the current configuration.
func (a *app) agentDeps(progress func(string)) (agent.Deps, error) {
	cfg, err := a.load()
	if err != nil {
		return agent.Deps{}, err
	}
	models, err := a.registry(cfg)
	if err != nil {
		return agent.Deps{}, err
	}
	state, err := config.StateHome(a.env)
	if err != nil {
		return agent.Deps{}, err
	}
	rules := claudecode.LoadRules(claudecode.Place{Dir: a.dir(), Env: a.env})
	return agent.Deps{
		Config: cfg, Models: models, Jobs: jobs.New(state), StateDir: state, Env: a.env, Children: a.children, Logger: a.log, Progress: progress,
		AllowCommand: func(command string) error { return refusal(rules.Denied(command, a.dir())) },
		RulesDir:     a.dir(),
	}, nil
}

// runAgent starts or resumes a job and, unless it is detached, waits for it.
func (a *app) runAgent(ctx context.Context, o agentOptions, task string) error {
	if task == "-" {
		b, err := io.ReadAll(a.stdin)
		if err != nil {
			return err
		}
		task = string(b)
	}
	say, end := a.progress()
	defer func() { end() }()
	d, err := a.agentDeps(say)
	if err != nil {
		return err
	}
	job, err := a.startAgent(ctx, d, o, task)
	if err != nil {
		return err
	}
	if o.detach {
		a.printf("%s\n", job.ID)
		return nil
	}
	job, err = d.Jobs.Wait(ctx, job.ID, func(j jobs.Job) { say(fmt.Sprintf("%s %s: %s", j.ID, j.State, j.Progress)) })
	if ctx.Err() != nil { // Ctrl-C: nobody waits for it any more
		job, err = d.Jobs.Cancel(context.WithoutCancel(ctx), job.ID)
	}
	end()
	end = func() {}
	if err != nil {
		return err
	}
	return a.printJob(job)
}

func (a *app) startAgent(ctx context.Context, d agent.Deps, o agentOptions, task string) (jobs.Job, error) {
	o.req.Config = a.global.config
	if o.req.Config != "" {
		abs, err := filepath.Abs(o.req.Config)
		if err != nil {
			return jobs.Job{}, err
		}
		o.req.Config = abs
	}
	if o.resume != "" {
		return agent.Resume(ctx, d, o.resume, task, o.req)
	}
	if o.req.Dir == "" {
		wd, err := os.Getwd()
		if err != nil {
			return jobs.Job{}, err
		}
		o.req.Dir = wd
	}
	o.req.Task = task
	return agent.Start(ctx, d, o.req)
}

// printJob prints how a job stands; the exit code says how it ended.
func (a *app) printJob(job jobs.Job) error {
	if a.global.json {
		if err := a.printJSON(job); err != nil {
			return err
		}
	} else {
		a.printReply(a.mask(agent.Status(job)))
	}
	return jobEnding(job)
}

// jobEnding is the exit code of a job that is over.
func jobEnding(job jobs.Job) error {
	switch {
	case job.State == jobs.Succeeded || !job.State.Final():
		return nil
	case job.State == jobs.Timeout:
		return &exitError{code: exitTimeout}
	case job.State == jobs.Stalled || job.Ending == agent.APIError || job.Ending == agent.Cut:
		return &exitError{code: exitBackend}
	case job.State == jobs.Cancelled:
		return &exitError{code: exitInterrupted}
	}
	return &exitError{code: exitFailed}
}

// isAgentInput and isAgentRefused sort the errors of package agent.
func isAgentInput(err error) bool {
	var input *agent.InputError
	return errors.As(err, &input) || errors.Is(err, jobs.ErrUnknown) || errors.Is(err, jobs.ErrOver) || errors.Is(err, claudecode.ErrNoClient)
}

func isAgentRefused(err error) bool {
	var refused *agent.RefusedError
	return errors.As(err, &refused)
}

// runAgentTool, resumeTool and the following are the tools of jobs.
func (a *app) runAgentTool(ctx context.Context, in mcpserver.AgentInput, progress func(string)) (string, error) {
	d, err := a.agentDeps(progress)
	if err != nil {
		return "", err
	}
	d.Roots = []string{a.dir()}
	if root := d.Config.Project.Root; root != "" {
		d.Roots = append(d.Roots, root)
	}
	dir := in.Cwd
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.dir(), dir)
	}
	job, err := agent.Start(ctx, d, agent.Request{
		Task: in.Task, Dir: dir, Model: in.Model, Endpoint: in.Endpoint, Isolation: in.Isolation, Verify: in.Verify, MaxTurns: in.MaxTurns,
		Timeout: seconds(in.TimeoutS), Attached: in.Detach != nil && !*in.Detach, Config: a.global.config,
	})
	if err != nil {
		return "", err
	}
	return a.awaitJob(ctx, d.Jobs, job.ID, in.WaitS, true, progress)
}

func (a *app) resumeTool(ctx context.Context, in mcpserver.ResumeInput, progress func(string)) (string, error) {
	d, err := a.agentDeps(progress)
	if err != nil {
		return "", err
	}
	job, err := agent.Resume(ctx, d, in.Job, in.Message, agent.Request{
		Model: in.Model, Verify: in.Verify, MaxTurns: in.MaxTurns, Timeout: seconds(in.TimeoutS),
	})
	if err != nil {
		return "", err
	}
	return a.awaitJob(ctx, d.Jobs, job.ID, in.WaitS, true, progress)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// awaitJob waits for a job, for at most wait seconds if given. When the caller gives up its call the job ends with
// it if mine is set (nobody knows its id then); when the session ends, it goes on.
func (a *app) awaitJob(ctx context.Context, store *jobs.Store, id string, wait *float64, mine bool, progress func(string)) (string, error) {
	limit := time.Duration(0)
	if wait != nil {
		limit = max(seconds(*wait), time.Millisecond)
	}
	job, err := store.Await(ctx, id, limit, func(j jobs.Job) { progress(j.Progress) })
	if ctx.Err() != nil {
		if mine && !errors.Is(context.Cause(ctx), proc.ErrShutdown) {
			_, cerr := store.Cancel(context.WithoutCancel(ctx), id)
			err = errors.Join(err, cerr)
		}
		return "", err
	}
	if err != nil {
		return "", err
	}
	return a.mask(agent.Status(job)), nil
}

func (a *app) waitTool(ctx context.Context, id string, wait *float64, progress func(string)) (string, error) {
	store, err := a.jobStore()
	if err != nil {
		return "", err
	}
	job, err := store.Get(id)
	if err != nil {
		return "", err
	}
	return a.awaitJob(ctx, store, job.ID, wait, false, progress)
}

func (a *app) statusTool(_ context.Context, id string) (string, error) {
	store, err := a.jobStore()
	if err != nil {
		return "", err
	}
	job, err := store.Get(id)
	if err != nil {
		return "", err
	}
	return a.mask(agent.Status(job)), nil
}

func (a *app) logTool(_ context.Context, in mcpserver.JobLogInput) (string, error) {
	store, err := a.jobStore()
	if err != nil {
		return "", err
	}
	page, err := store.Log(in.Job, in.Lines, in.Before)
	if err != nil {
		return "", err
	}
	if page.From == 0 {
		return fmt.Sprintf("no lines (%d in all)", page.Total), nil
	}
	return a.mask(fmt.Sprintf("lines %d-%d of %d\n%s", page.From, page.To, page.Total, page.Text)), nil
}

func (a *app) cancelTool(ctx context.Context, id string) (string, error) {
	store, err := a.jobStore()
	if err != nil {
		return "", err
	}
	job, err := store.Cancel(ctx, id)
	if err != nil {
		return "", err
	}
	return a.mask(agent.Status(job)), nil
}

func (a *app) listTool(context.Context) (string, error) {
	store, err := a.jobStore()
	if err != nil {
		return "", err
	}
	all, err := store.List()
	if err != nil {
		return "", err
	}
	return a.mask(jobTable(all, listedJobs)), nil
}

func (a *app) jobStore() (*jobs.Store, error) {
	state, err := config.StateHome(a.env)
	if err != nil {
		return nil, err
	}
	return jobs.New(state), nil
}
