// Package doctor looks whether everything legwork stands on works on this machine, and says for everything that does
// not what helps.
//
// The story of a run: Run starts all checks at once, each with its own time limit, and collects their findings in the
// order of the list, so a server that is dead costs its limit and no more. A server is not only asked what it serves: it
// gets a real call, and the tiny task at the end goes the whole way that offload goes.
//
// Rules: a finding that is not ok names its fix. Nothing stays behind: what a check makes (a scratch repository, a
// worktree) it removes. Findings hold no secrets; the caller redacts all the same.
//
// Pitfall: "warn" is for what works less well or only some tools need; "fail" is for what the user asked for (by a
// setting) and does not get. The exit code follows from it.
package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"legwork/pkg/config"
	"legwork/pkg/llm"
	"legwork/pkg/proc"
)

// Status is what a check found.
type Status string

// The statuses, from good to bad. Skip is a check that was not made.
const (
	OK   Status = "ok"
	Skip Status = "skip"
	Warn Status = "warn"
	Fail Status = "fail"
)

var rank = map[Status]int{OK: 0, Skip: 0, Warn: 1, Fail: 2}

// Finding is one row of the report.
type Finding struct {
	Check  string `json:"check"` // what was looked at: "git", "endpoint gpu"
	Status Status `json:"status"`
	Text   string `json:"text"`          // what was found, one line
	Fix    string `json:"fix,omitempty"` // what helps; set unless ok
	MS     int64  `json:"ms"`
	// Speed of an endpoint, measured by the call that was made.
	Speed *Speed `json:"speed,omitempty"`
}

// Speed is what one short call showed.
type Speed struct {
	Model        string  `json:"model"`
	FirstTokenMS int64   `json:"first_token_ms"`
	TokensPerSec float64 `json:"tokens_per_s"` // while writing; 0: too few tokens to tell
}

// Report is the result of a run.
type Report struct {
	Version  string    `json:"version"`
	Status   Status    `json:"status"` // the worst finding: ok, warn or fail
	Findings []Finding `json:"findings"`
	MS       int64     `json:"ms"`
}

// Deps are what the checks look at.
type Deps struct {
	Options  config.Options
	Env      []string
	Version  string // of this binary
	Program  string // its path
	StateDir string
	Children *proc.Group
	Logger   *slog.Logger
	// Offline asks no server: neither models nor searches.
	Offline bool
	// Registry makes the model registry for a configuration.
	Registry func(*config.Config) (*llm.Registry, error)
	// AgentWindow judges the window of a model for an agent session: an error when it cannot work, a note when it is tight.
	AgentWindow func(cfg *config.Config, model string, window, most int) (note string, err error)
	// Task does one tiny piece of real work, by offload, and says what came of it. Nil leaves it out.
	Task func(ctx context.Context, file, question string) (TaskResult, error)
}

// TaskResult is what the tiny task gave.
type TaskResult struct {
	Answer string
	Model  string // empty when none was used
	Took   time.Duration
}

// limit is how long the whole run may take; a check that is not done then is told as too slow.
const limit = 9 * time.Second

// check is one entry of the list. It may give several findings; those without a name take the entry's.
type check struct {
	name string
	run  func(ctx context.Context, c *checkup) []Finding
}

// checks is the whole list, in the order of the report.
func checks() []check {
	return []check{
		{"version", version},
		{"plugin", plugin},
		{"settings", settings},
		{"endpoint", endpoints},
		{"models", models},
		{"agent window", agentWindow},
		{"task", task},
		{"search", search},
		{"claude", client},
		{"git", git},
		{"worktree", worktree},
		{"sandbox", sandbox},
		{"state", state},
		{"disk", disk},
		{"leftovers", leftovers},
	}
}

// checkup is one run.
type checkup struct {
	Deps
	cfg    *config.Config // nil when it cannot be read
	cfgErr error
	models *llm.Registry
	// measured is closed when the endpoints have been measured.
	measured chan struct{}
}

// Run makes all checks. It returns within about ten seconds, whatever servers do; an error is ctx's.
func Run(ctx context.Context, d Deps) (*Report, error) {
	start := time.Now()
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	c := &checkup{Deps: d, measured: make(chan struct{})}
	if c.cfg, c.cfgErr = config.Load(d.Options); c.cfgErr == nil {
		c.models, c.cfgErr = d.Registry(c.cfg)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	list := checks()
	found := make([][]Finding, len(list))
	var wg sync.WaitGroup
	for i, ch := range list {
		wg.Go(func() { found[i] = c.make(limited, ch) })
	}
	wg.Wait()
	r := &Report{Version: d.Version, Status: OK, MS: time.Since(start).Milliseconds()}
	for _, f := range found {
		r.Findings = append(r.Findings, f...)
	}
	for _, f := range r.Findings {
		if rank[f.Status] > rank[r.Status] {
			r.Status = f.Status
		}
	}
	return r, ctx.Err()
}

// make runs one check and fills in what it left out.
func (c *checkup) make(ctx context.Context, ch check) []Finding {
	start := time.Now()
	out := ch.run(ctx, c)
	for i := range out {
		if out[i].Check == "" {
			out[i].Check = ch.name
		}
		if out[i].MS == 0 {
			out[i].MS = time.Since(start).Milliseconds()
		}
	}
	return out
}

func one(s Status, fix, format string, args ...any) []Finding {
	return []Finding{{Status: s, Text: fmt.Sprintf(format, args...), Fix: fix}}
}

// Text is the report for a terminal: a line a finding, its fix below it, and the sum.
func (r *Report) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 2, 2, 2, ' ', 0)
	count := map[Status]int{}
	for _, f := range r.Findings {
		count[f.Status]++
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Status, f.Check, f.Text)
		if f.Fix != "" {
			fmt.Fprintf(w, "\t\t→ %s\n", f.Fix)
		}
	}
	_ = w.Flush()
	fmt.Fprintf(&b, "legwork %s: %d ok, %d warn, %d fail, %d skip, in %.1f s\n",
		r.Version, count[OK], count[Warn], count[Fail], count[Skip], float64(r.MS)/1000)
	return b.String()
}
