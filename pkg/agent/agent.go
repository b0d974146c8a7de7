// Package agent gives a task to a headless Claude Code session that works on a local model, as a durable job.
//
// The story of one job: Start names the model, checks that it can do such work, writes the job's record and starts a
// process of ours for it, which outlives the caller. There Supervise waits for a free slot, makes a worktree that
// looks like the user's tree, opens a shim to the model server, starts the client and follows its events; when the
// client says that it is done, the gate is run and what failed goes back as the next turn. What passed the gate is
// applied to the checkout, everything else stays in the worktree until somebody says so (Apply) or goes on (Resume).
//
// Rules: a session that ended is not a task that is done: endings are told apart, and only the gate proves work. The
// client sees no server of ours and a mark of depth, so an agent never starts agents. Nothing it did is lost.
//
// Pitfall: Supervise runs in another process than Start, hours later perhaps: what it needs stands in the job's
// request, not in memory.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"legwork/pkg/claudecode"
	"legwork/pkg/config"
	"legwork/pkg/jobs"
	"legwork/pkg/llm"
	"legwork/pkg/proc"
	"legwork/pkg/repo"
)

// Kind is the kind of our jobs.
const Kind = "run_agent"

// Isolations.
const (
	Auto     = "auto"     // a worktree in a git repository, else none
	None     = "none"     // in place, as asked
	Worktree = "worktree" //
)

// Request is a task for a session. It is kept in the job's record.
type Request struct {
	Task      string        `json:"task"`
	Dir       string        `json:"dir"` // where to work; absolute
	Model     string        `json:"model,omitempty"`
	Endpoint  string        `json:"endpoint,omitempty"`
	Isolation string        `json:"isolation,omitempty"` // "": auto
	Verify    string        `json:"verify,omitempty"`    // shell command that must pass when the session says it is done
	MaxTurns  int           `json:"max_turns,omitempty"` // 0: the setting
	Timeout   time.Duration `json:"timeout,omitempty"`   // of the whole job once it has a slot; 0: the setting
	Attached  bool          `json:"attached,omitempty"`  // the job ends with the process that started it
	// Message goes to the session in place of Task when the job is resumed.
	Message string `json:"message,omitempty"`
	// Window is what the model had when it was chosen, in tokens; 0: unknown.
	Window int `json:"window,omitempty"`
	// Config is the file given with --config, for the job's own process.
	Config string `json:"config,omitempty"`
}

// Deps is what a call works with.
type Deps struct {
	Config   *config.Config
	Models   *llm.Registry
	Jobs     *jobs.Store
	StateDir string
	Env      []string
	Children *proc.Group // of Start, for attached jobs; of Supervise, for the client
	Logger   *slog.Logger
	Roots    []string // Dir must lie in one of them; none: anywhere
	// AllowCommand refuses a gate that the user's rules deny. Nil: all are allowed.
	AllowCommand func(command string) error
	// RulesDir is the folder the caller's session was started in: its permission rules restrict the job's session
	// beside those of Dir. "": none.
	RulesDir string
	// Program is how this program is called ("/path/legwork"); default: os.Executable.
	Program string
	// Progress is told what happens, in one line.
	Progress func(string)
}

func (d *Deps) say(text string) {
	if d.Progress != nil {
		d.Progress(text)
	}
}

func (d *Deps) repo() repo.Options {
	return repo.Options{StateDir: d.StateDir, Env: d.Env, Children: d.Children, Logger: d.Logger}
}

// InputError is a request that cannot be carried out as it is; the text says what would work.
type InputError struct{ Msg string }

func (e *InputError) Error() string { return e.Msg }

// RefusedError says that a rule forbids the call.
type RefusedError struct{ Msg string }

func (e *RefusedError) Error() string { return e.Msg }

func input(format string, a ...any) error { return &InputError{fmt.Sprintf(format, a...)} }

// depthMark is the variable by which a session of ours, and all it starts, is known.
const depthMark = "_LEGWORK_DEPTH=1"

// Start checks the request, writes the job and starts its process. It returns while the job is queued or running.
// Errors: *InputError, *RefusedError, those of
// llm's Choose, claudecode.ErrNoClient.
func Start(ctx context.Context, d Deps, req Request) (jobs.Job, error) {
	if err := checkRequest(&d, &req); err != nil {
		return jobs.Job{}, err
	}
	if err := prepare(ctx, &d, &req); err != nil {
		return jobs.Job{}, err
	}
	h, err := d.Jobs.Create(jobs.Spec{
		Kind: Kind, Task: req.Task, Dir: req.Dir, Project: d.Config.Project.Root, Model: req.Model, Endpoint: req.Endpoint,
		Detached: !req.Attached, Request: req,
	})
	if err != nil {
		return jobs.Job{}, err
	}
	return launch(ctx, &d, h, req)
}

// Resume sends a message to the session of a job that is over, in the same tree. The fields of more that are set
// (Model, Endpoint, Verify, MaxTurns, Timeout, Attached) replace the job's.
func Resume(ctx context.Context, d Deps, id, message string, more Request) (jobs.Job, error) {
	if err := checkDepth(d.Env); err != nil {
		return jobs.Job{}, err
	}
	job, err := d.Jobs.Get(id)
	if err != nil {
		return jobs.Job{}, err
	}
	req, err := requestOf(job)
	if err != nil {
		return job, err
	}
	if strings.TrimSpace(message) == "" {
		return job, input("message: missing; say what the session should do next")
	}
	req.Message, req.Attached = message, more.Attached
	if more.Model != "" {
		req.Model, req.Endpoint = more.Model, more.Endpoint
	}
	if more.Verify != "" {
		req.Verify = more.Verify
	}
	if more.MaxTurns > 0 {
		req.MaxTurns = more.MaxTurns
	}
	if more.Timeout > 0 {
		req.Timeout = more.Timeout
	}
	if err := allowGate(&d, req.Verify); err != nil {
		return job, err
	}
	if err := prepare(ctx, &d, &req); err != nil {
		return job, err
	}
	b, err := json.Marshal(req)
	if err != nil {
		return job, err
	}
	h, err := d.Jobs.Requeue(ctx, job.ID, func(j *jobs.Job) {
		j.Request, j.Model, j.Endpoint, j.Detached = b, req.Model, req.Endpoint, !req.Attached
	})
	if err != nil {
		return job, err
	}
	return launch(ctx, &d, h, req)
}

func requestOf(job jobs.Job) (Request, error) {
	var req Request
	if job.Kind != Kind {
		return req, input("job %s is a %s job; only those of %s can do that", job.ID, job.Kind, Kind)
	}
	if err := json.Unmarshal(job.Request, &req); err != nil {
		return req, fmt.Errorf("request of job %s: %w", job.ID, err)
	}
	return req, nil
}

// launch starts the job's own process.
func launch(ctx context.Context, d *Deps, h *jobs.Handle, req Request) (jobs.Job, error) {
	program := d.Program
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return h.Job(), errors.Join(err, h.Finish(jobs.End{State: jobs.Failed, Ending: "not_started", Error: err.Error()}))
		}
	}
	argv := []string{program}
	if req.Config != "" {
		argv = append(argv, "--config", req.Config)
	}
	argv = append(argv, "supervise", h.ID())
	env := proc.OwnEnv(d.Env)
	if req.Attached {
		p, err := d.Children.Start(context.WithoutCancel(ctx), proc.Spec{Argv: argv, Env: env, Dir: req.Dir})
		if err != nil {
			return h.Job(), errors.Join(err, h.Finish(jobs.End{State: jobs.Failed, Ending: "not_started", Error: err.Error()}))
		}
		return h.Job(), h.Give(ctx, p.Identity())
	}
	return h.Job(), h.Detach(ctx, argv, env, req.Dir)
}

// clientOf finds the client; it is asked for its version each time, because it updates itself.
func clientOf(ctx context.Context, d *Deps) (claudecode.Client, error) {
	return claudecode.FindClient(ctx, d.Config.Agent.Claude, d.Env)
}
