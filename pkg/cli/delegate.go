package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"legwork/pkg/claudecode"
	"legwork/pkg/config"
	"legwork/pkg/delegate"
	"legwork/pkg/jobs"
	"legwork/pkg/mcpserver"
	"legwork/pkg/repo"
)

// isInput says that delegate's caller can change what is wrong.
func isInput(err error) bool {
	var input *delegate.InputError
	return errors.As(err, &input)
}

// isRefused says that a rule of delegate or of package repo forbids the call.
func isRefused(err error) bool {
	var refused *delegate.RefusedError
	return errors.As(err, &refused) || errors.Is(err, repo.ErrNoRepo) || errors.Is(err, repo.ErrBare) || errors.Is(err, repo.ErrUnborn) ||
		errors.Is(err, repo.ErrOwnership) || errors.Is(err, repo.ErrGitPath)
}

func delegateCommand() *command {
	return &command{
		name: "delegate", tool: "delegate", args: "", min: 0, max: 0,
		short: "Let the local model write a file until a test passes.",
		example: `legwork delegate --target src/slug.js --test 'node --test test/slug.test.js' --spec 'slug(s) lowers the text and joins its words with one dash.'
legwork delegate --target slug.py --test 'pytest -q test_slug.py' --spec @spec.md --property 'slug(slug(s)) == slug(s)'`,
		bind: func(fs *pflag.FlagSet) runFunc {
			var req delegate.Request
			fs.StringArrayVar(&req.Targets, "target", nil, "`FILE` to write; may be repeated")
			fs.StringVar(&req.Test, "test", "", "`CMD` that decides; it must fail now")
			fs.StringVar(&req.Spec, "spec", "", "what the code must do, as `TEXT|@FILE`")
			fs.StringArrayVar(&req.Properties, "property", nil, "a rule that must hold, as `TEXT`; may be repeated")
			fs.StringVar(&req.Context, "context", "", "the exact API, as `TEXT|@FILE`")
			fs.StringArrayVar(&req.TestFiles, "test-file", nil, "`FILE` of the test, hidden from the model; may be repeated")
			fs.IntVar(&req.Attempts, "attempts", 0, "attempts at most, `N` (default: delegate.attempts)")
			fs.IntVar(&req.Candidates, "candidates", 0, "first attempts drawn at once, `N` (default: delegate.candidates)")
			fs.StringArrayVar(&req.Models, "model", nil, "`MODEL` to use; repeated: from small to big")
			fs.StringVar(&req.Apply, "apply", "", "pass (default), best or never: what is put in place")
			fs.BoolVar(&req.ShowCode, "show-code", false, "print the code too")
			fs.BoolVar(&req.AllowGreen, "allow-green-baseline", false, "the test may pass already (refactoring)")
			return func(ctx context.Context, a *app, _ []string) error { return a.runDelegate(ctx, req) }
		},
	}
}

// runDelegate hands one file over and prints the verdict.
func (a *app) runDelegate(ctx context.Context, req delegate.Request) error {
	var err error
	if req.Dir, err = os.Getwd(); err != nil {
		return err
	}
	for _, text := range []*string{&req.Spec, &req.Context} {
		if *text, err = textOrFile(*text); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	say, end := a.progress()
	res, err := a.delegate(ctx, req, say)
	end()
	if err != nil {
		return err
	}
	if a.global.json {
		err = a.printJSON(res)
	} else {
		a.printReply(a.redact(res.Text()))
	}
	if err != nil {
		return err
	}
	return delegateEnding(res)
}

// delegateEnding is the exit code of a verdict.
func delegateEnding(res *delegate.Result) error {
	switch {
	case res.Verdict == delegate.Pass && len(res.Conflict) == 0 && res.Error == "":
		return nil
	case res.Outcome == "transport":
		return &exitError{code: exitBackend}
	case res.Outcome == "timeout":
		return &exitError{code: exitTimeout}
	}
	return &exitError{code: exitFailed}
}

// delegate is the verb behind `legwork delegate` and the tool of that name.
func (a *app) delegate(ctx context.Context, req delegate.Request, progress func(string)) (*delegate.Result, error) {
	cfg, models, state, err := a.ground()
	if err != nil {
		return nil, err
	}
	if req.Dir == "" {
		req.Dir = a.dir()
	}
	rules := claudecode.LoadRules(claudecode.Place{Dir: a.dir(), Env: a.env})
	return delegate.Run(ctx, delegate.Deps{
		Config: cfg, Models: models, StateDir: state, Env: a.env, Children: a.children, Logger: a.log, Progress: progress,
		AllowCommand: func(command string) error { return refusal(rules.Denied(command, req.Dir)) },
		AllowRead:    fileCheck(ctx, rules.Read, req.Dir, "Read"),
		AllowWrite:   fileCheck(ctx, rules.Edit, req.Dir, "Edit"),
	}, req)
}

// delegateTool decodes what Claude sends: one target or several, one property or a list.
func (a *app) delegateTool(ctx context.Context, in mcpserver.DelegateInput, progress func(string)) (string, error) {
	req := delegate.Request{
		Spec: in.Spec, Targets: in.TargetFiles, Test: in.TestCommand, Properties: in.Properties, Context: in.Context, TestFiles: in.TestFiles,
		Attempts: in.MaxAttempts, Candidates: in.Candidates, Apply: in.Apply, ShowCode: in.ShowCode, AllowGreen: in.AllowGreenBaseline,
	}
	if in.TargetFile != "" {
		req.Targets = append([]string{in.TargetFile}, req.Targets...)
	}
	for m := range strings.SplitSeq(in.Model, ",") {
		if m = strings.TrimSpace(m); m != "" {
			req.Models = append(req.Models, m)
		}
	}
	if in.WaitS != nil {
		return a.delegateJob(ctx, req, time.Duration(*in.WaitS*float64(time.Second)), progress)
	}
	res, err := a.delegate(ctx, req, progress)
	if err != nil {
		return "", err
	}
	return a.redact(res.Text()), nil
}

// delegateJob works in the background of this process: what is not done after wait is answered with the
// job's id. A caller that leaves before it knows the id ends the job.
func (a *app) delegateJob(ctx context.Context, req delegate.Request, wait time.Duration, progress func(string)) (string, error) {
	if wait < 0 {
		return "", &delegate.InputError{Msg: "wait_s: it is negative"}
	}
	state, err := config.StateHome(a.env)
	if err != nil {
		return "", err
	}
	if req.Dir == "" {
		req.Dir = a.dir()
	}
	store := jobs.New(state)
	var failed error // read after Done
	spec := jobs.Spec{Kind: "delegate", Task: strings.Join(req.Targets, ", ") + ": " + req.Spec, Dir: req.Dir, Project: config.ProjectRoot(req.Dir)}
	h, err := store.Go(context.WithoutCancel(ctx), spec, func(ctx context.Context, h *jobs.Handle) jobs.End {
		res, err := a.delegate(ctx, req, func(text string) { h.Progress(text) })
		if failed = err; err != nil {
			return jobs.End{State: delegateState(ctx, nil), Ending: "refused", Error: a.mask(err.Error()), Reply: a.mask(err.Error())}
		}
		text := a.redact(res.Text())
		if err := h.Say(text); err != nil {
			a.log.Warn("job", "id", h.ID(), "err", err)
		}
		return jobs.End{State: delegateState(ctx, res), Ending: res.Verdict, Reply: text, Facts: res}
	})
	if err != nil {
		return "", err
	}
	job, err := store.Await(ctx, h.ID(), max(wait, time.Millisecond), func(j jobs.Job) { progress(j.Progress) })
	if ctx.Err() != nil {
		_, cerr := store.Cancel(context.WithoutCancel(ctx), h.ID())
		return "", errors.Join(ctx.Err(), cerr)
	}
	if err != nil {
		return "", err
	}
	if !job.State.Final() {
		return "job " + h.ID() + " works on " + strings.Join(req.Targets, ", ") + ": " + job.Progress + "\nwait_job with this id collects the verdict", nil
	}
	<-h.Done()
	return job.Reply, failed
}

// delegateState is a verdict as the state of a job.
func delegateState(ctx context.Context, res *delegate.Result) jobs.State {
	switch {
	case context.Cause(ctx) != nil:
		return jobs.Cancelled
	case res == nil:
		return jobs.Failed
	case res.Verdict == delegate.Pass:
		return jobs.Succeeded
	case res.Outcome == "timeout":
		return jobs.Timeout
	}
	return jobs.Failed
}
