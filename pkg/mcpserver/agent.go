package mcpserver

import (
	"context"
	"strings"
)

// AgentInput is a task for a whole session on a local model.
type AgentInput struct {
	Task      string   `json:"task" jsonschema:"what to do and how to tell it is done"`
	Verify    string   `json:"verify,omitempty" jsonschema:"command that must pass at the end"`
	Cwd       string   `json:"cwd,omitempty"`
	Isolation string   `json:"isolation,omitempty" enum:"auto,none,worktree"`
	Model     string   `json:"model,omitempty"`
	Endpoint  string   `json:"endpoint,omitempty"`
	MaxTurns  int      `json:"max_turns,omitempty"`
	TimeoutS  float64  `json:"timeout_s,omitempty"`
	WaitS     *float64 `json:"wait_s,omitempty" jsonschema:"answer with a job id after so many seconds"`
	Detach    *bool    `json:"detach,omitempty" jsonschema:"false: ends with this session"`
}

// ResumeInput is the next message for a job that is over.
type ResumeInput struct {
	Job      string   `json:"job"`
	Message  string   `json:"message"`
	Verify   string   `json:"verify,omitempty"`
	Model    string   `json:"model,omitempty"`
	MaxTurns int      `json:"max_turns,omitempty"`
	TimeoutS float64  `json:"timeout_s,omitempty"`
	WaitS    *float64 `json:"wait_s,omitempty"`
}

// JobInput names a job.
type JobInput struct {
	Job string `json:"job"`
}

// WaitInput is how long to wait for a job.
type WaitInput struct {
	Job   string   `json:"job"`
	WaitS *float64 `json:"wait_s,omitempty" jsonschema:"at most; default: until it ends"`
}

// JobLogInput is a page of a transcript.
type JobLogInput struct {
	Job    string `json:"job"`
	Lines  int    `json:"lines,omitempty" jsonschema:"default 40"`
	Before int    `json:"before,omitempty" jsonschema:"the page in front of this line"`
}

func runAgent(ctx context.Context, v *Verbs, in AgentInput, progress func(string)) (string, error) {
	return v.Agent(ctx, in, progress)
}

func runResume(ctx context.Context, v *Verbs, in ResumeInput, progress func(string)) (string, error) {
	return v.ResumeJob(ctx, in, progress)
}

func runWait(ctx context.Context, v *Verbs, in WaitInput, progress func(string)) (string, error) {
	if err := named(in.Job); err != nil {
		return "", err
	}
	return v.WaitJob(ctx, in.Job, in.WaitS, progress)
}

// named refuses a call that names no job.
func named(job string) error {
	if strings.TrimSpace(job) == "" {
		return &argumentError{"job: missing; give the id of a job (list_jobs shows them)"}
	}
	return nil
}

func runStatus(ctx context.Context, v *Verbs, in JobInput, _ func(string)) (string, error) {
	if err := named(in.Job); err != nil {
		return "", err
	}
	return v.JobStatus(ctx, in.Job)
}

func runLog(ctx context.Context, v *Verbs, in JobLogInput, _ func(string)) (string, error) {
	if err := named(in.Job); err != nil {
		return "", err
	}
	return v.JobLog(ctx, in)
}

func runList(ctx context.Context, v *Verbs, _ noInput, _ func(string)) (string, error) {
	return v.ListJobs(ctx)
}

func runCancel(ctx context.Context, v *Verbs, in JobInput, _ func(string)) (string, error) {
	if err := named(in.Job); err != nil {
		return "", err
	}
	return v.CancelJob(ctx, in.Job)
}
