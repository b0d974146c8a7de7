package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"legwork/pkg/agent"
	"legwork/pkg/config"
	"legwork/pkg/doctor"
	"legwork/pkg/llm"
	"legwork/pkg/offload"
)

func doctorCommand() *command {
	return &command{
		name: "doctor", short: "Check everything legwork stands on, each with its fix; exit 1 when something fails.",
		example: `legwork doctor
legwork doctor --offline      # asks no server
legwork doctor --json | jq '.findings[] | select(.status == "fail")'`,
		bind: func(fs *pflag.FlagSet) runFunc {
			offline := fs.Bool("offline", false, "ask no server, neither models nor search")
			return func(ctx context.Context, a *app, _ []string) error { return a.runDoctor(ctx, *offline) }
		},
	}
}

func (a *app) runDoctor(ctx context.Context, offline bool) error {
	say, end := a.progress()
	say("looking at everything, up to ten seconds")
	report, err := a.checkup(ctx, offline)
	end()
	if err != nil {
		return err
	}
	if a.global.json {
		err = a.printJSON(report)
	} else {
		a.printf("%s", a.redact(report.Text()))
	}
	if err == nil && report.Status == doctor.Fail {
		err = &exitError{code: exitFailed}
	}
	return err
}

// checkup makes all checks of the doctor.
func (a *app) checkup(ctx context.Context, offline bool) (*doctor.Report, error) {
	state, err := config.StateHome(a.env)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	return doctor.Run(ctx, doctor.Deps{
		Options: a.options(), Env: a.env, Version: version, Program: program, StateDir: state, Children: a.children,
		Logger: a.log, Offline: offline, AgentWindow: agent.Window,
		Registry: func(cfg *config.Config) (*llm.Registry, error) {
			a.mu.Lock()
			a.last = cfg // whose secrets are redacted
			a.mu.Unlock()
			return a.registry(cfg)
		},
		Task: a.tinyTask,
	})
}

// tinyTask is one question about one file, the whole way an offload goes, but without a line in the statistics.
func (a *app) tinyTask(ctx context.Context, file, question string) (doctor.TaskResult, error) {
	cfg, models, state, err := a.ground()
	if err != nil {
		return doctor.TaskResult{}, err
	}
	own := *cfg
	own.Store.Ledger = false
	start := time.Now()
	dir := filepath.Dir(file)
	res, err := offload.Run(ctx, offload.Deps{
		Config: &own, Models: models, StateDir: state, Env: a.env, Children: a.children, Logger: a.log, Progress: func(string) {},
	}, offload.Request{Question: question, Files: []string{file}, Dir: dir, Roots: []string{dir}})
	if err != nil {
		return doctor.TaskResult{}, err
	}
	return doctor.TaskResult{Answer: strings.TrimSpace(res.Answer), Model: res.Model, Took: time.Since(start)}, nil
}
