package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"legwork/pkg/config"
	"legwork/pkg/delegate"
	"legwork/pkg/fsx"
	"legwork/pkg/llm"
)

// ErrServerGone ends a bench whose server fails again and again; the same command goes on later.
var ErrServerGone = errors.New("the model server fails again and again")

// goneAfter failures of the transport in a row, the server counts as gone.
const goneAfter = 3

// RunOptions are one bench.
type RunOptions struct {
	Tasks    []*Task
	Models   []Contestant
	Policies []string
	Runs     int
	Parallel int
	Out      string // raw rows, appended; runs it holds are not done again
	// Tool, Commit and System go into every row.
	Tool, Commit, System string
	// Done is told each finished run; not more than one call at a time. May be nil.
	Done func(Progress)
}

// Progress is the state of a bench after a run.
type Progress struct {
	Row   *Row // nil at the start
	Done  int  // in the file already included
	Total int
	Tally Endings
	Left  time.Duration // estimate, 0 when unknown
}

// Endings counts endings of a bench.
type Endings struct {
	Had       int `json:"had"` // in the file before
	Passed    int `json:"passed"`
	Failed    int `json:"failed"`
	Transport int `json:"transport"`
	Setup     int `json:"setup"`
	Leaked    int `json:"leaked_worktrees"`
}

// Contestant is a model that takes part.
type Contestant struct {
	Identity
	served   string // id on the server
	scripted string // how the scripted answerer behaves; "" is a real model
}

// job is one run to be made.
type job struct {
	task   *Task
	policy string
	model  Contestant
	run    int
}

// Run makes every run that the raw file lacks, in the order run, task, policy, model, so that a file that is
// not complete compares like with like. A row is written the moment its run ends. Errors: ErrServerGone,
// ctx's, and what keeps any run from being made.
func Run(ctx context.Context, g Ground, o RunOptions) (Endings, error) {
	done, err := doneRuns(o.Out)
	if err != nil {
		return Endings{}, err
	}
	b := &benchRun{g: g, o: o, start: time.Now(), transports: map[string]int{}}
	var todo []job
	for run := 1; run <= o.Runs; run++ {
		for _, t := range o.Tasks {
			for _, policy := range o.Policies {
				for _, m := range o.Models {
					b.total++
					if done[key{t.Name, t.Hash, m.Model, policy, run}] {
						b.tally.Had++
						continue
					}
					todo = append(todo, job{t, policy, m, run})
				}
			}
		}
	}
	b.tell(nil)
	group, ctx := errgroup.WithContext(ctx)
	jobs := make(chan job)
	group.Go(func() error {
		defer close(jobs)
		for _, j := range todo {
			select {
			case jobs <- j:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	for range max(1, o.Parallel) {
		group.Go(func() error {
			for j := range jobs {
				if err := b.one(ctx, j); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return b.tally, err
}

// benchRun is a Run in progress.
type benchRun struct {
	g     Ground
	o     RunOptions
	start time.Time
	total int

	mu         sync.Mutex
	made       int // by this process
	tally      Endings
	transports map[string]int // failures in a row, by model
}

// one makes one run and writes its row.
func (b *benchRun) one(ctx context.Context, j job) error {
	row, err := b.make(ctx, j)
	if err != nil {
		return err
	}
	line, err := json.Marshal(row)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := fsx.AppendLine(b.o.Out, line, 0o644); err != nil {
		return fmt.Errorf("write the row: %w", err)
	}
	b.count(row)
	b.tell(row)
	if b.transports[row.Model] >= goneAfter {
		return fmt.Errorf("%w: %d runs of %s in a row, last: %s; start it again and give the same command, what is done stays done",
			ErrServerGone, goneAfter, row.Model, row.Error)
	}
	return nil
}

func (b *benchRun) count(r *Row) {
	b.made++
	b.tally.Leaked += r.Leaked
	switch {
	case r.Class == ClassTransport:
		b.tally.Transport++
		b.transports[r.Model]++
		return
	case r.Class == ClassSetup:
		b.tally.Setup++
	case r.Verdict == delegate.Pass:
		b.tally.Passed++
	default:
		b.tally.Failed++
	}
	b.transports[r.Model] = 0
}

// tell reports; the estimate takes the runs to come for as long as those made.
func (b *benchRun) tell(r *Row) {
	if b.o.Done == nil {
		return
	}
	p := Progress{Row: r, Done: b.tally.Had + b.made, Total: b.total, Tally: b.tally}
	if b.made > 0 {
		p.Left = time.Since(b.start) / time.Duration(b.made) * time.Duration(b.total-p.Done)
	}
	b.o.Done(p)
}

// make carries out one run in a fresh repository. Only what ends the whole bench is an error.
func (b *benchRun) make(ctx context.Context, j job) (*Row, error) {
	start := time.Now()
	row := &Row{
		Schema: RowSchema, Tool: b.o.Tool, Commit: b.o.Commit, System: b.o.System, Scripted: j.model.scripted != "",
		Task: j.task.Name, Kind: j.task.Kind, Tier: j.task.Tier, TaskHash: j.task.Hash, Run: j.run,
		Identity: j.model.Identity, Policy: j.policy, Parallel: max(1, b.o.Parallel), Attempts: []RowAttempt{},
	}
	s, err := b.g.newSite(ctx, j.task, b.stateOf(j))
	if err != nil {
		return nil, err
	}
	res, err := b.call(ctx, s, j)
	if err != nil && ctx.Err() != nil {
		_, _ = s.close(res)
		return nil, context.Cause(ctx)
	}
	switch {
	case err == nil:
		row.take(res)
	case errors.Is(err, llm.ErrNoServer), errors.As(err, new(*llm.NoModelError)):
		row.Verdict, row.Outcome, row.Class, row.Error = delegate.Error, ClassTransport, ClassTransport, b.redact(err)
	default:
		row.Verdict, row.Outcome, row.Class, row.Error = delegate.Error, ClassSetup, ClassSetup, b.redact(err)
	}
	leaked, err := s.close(res)
	if err != nil {
		return nil, err
	}
	row.Leaked = leaked
	row.Time = time.Now().UTC().Truncate(time.Second)
	row.MS = time.Since(start).Milliseconds()
	if res != nil && row.counts() {
		row.OverheadMS = row.MS - res.GateMS
		for _, a := range row.Attempts {
			row.OverheadMS -= a.MS + a.WaitMS
		}
		row.OverheadMS = max(0, row.OverheadMS)
	}
	return row, nil
}

func (b *benchRun) redact(err error) string { return b.g.Config.Redact(err.Error()) }

// stateOf is delegate's state for a policy: what it learns of a model under one must not help another.
func (b *benchRun) stateOf(j job) string {
	if j.model.scripted != "" {
		return filepath.Join(b.g.StateDir, scriptedModel, j.policy)
	}
	return filepath.Join(b.g.StateDir, "policies", j.policy)
}

// call hands the task over under the job's policy.
func (b *benchRun) call(ctx context.Context, s *site, j job) (*delegate.Result, error) {
	cfg := *b.g.Config
	cfg.Delegate.Policy = j.policy
	cfg.Models = slices.Clone(cfg.Models)
	for i := range cfg.Models {
		cfg.Models[i].Policy = "" // a model's own policy would win
	}
	if err := os.MkdirAll(s.state, 0o700); err != nil {
		return nil, err
	}
	models, req := b.g.Models, delegate.Request{Models: []string{j.model.served}}
	if j.model.scripted != "" {
		models, req.Models = j.task.answerer(j.model.scripted).registry(s.state), nil
		cfg.Delegate.Model = nil
	}
	return s.run(ctx, withoutLedger(&cfg), models, req)
}

func withoutLedger(cfg *config.Config) *config.Config {
	cfg.Store.Ledger = false
	return cfg
}
