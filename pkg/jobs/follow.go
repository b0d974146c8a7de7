package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"legwork/pkg/fsx"
	"legwork/pkg/proc"
)

// waitPoll is how often a waited-for record is looked at.
const waitPoll = 60 * time.Millisecond

// Wait returns when the job is over, or with ctx's error and the job as it is then. onChange, if not nil, is told
// every record that differs from the last.
func (s *Store) Wait(ctx context.Context, id string, onChange func(Job)) (Job, error) {
	tick := time.NewTicker(waitPoll)
	defer tick.Stop()
	last := ""
	for {
		job, err := s.Get(id)
		if err != nil || job.State.Final() {
			return job, err
		}
		if now := string(job.State) + job.Progress; onChange != nil && now != last {
			last = now
			onChange(job)
		}
		select {
		case <-ctx.Done():
			return job, ctx.Err()
		case <-tick.C:
		}
	}
}

// Await is Wait for at most d (0: no limit): a job that goes on is no error, see State.Final.
func (s *Store) Await(ctx context.Context, id string, d time.Duration, onChange func(Job)) (Job, error) {
	wctx := ctx
	if d > 0 {
		var cancel context.CancelFunc
		wctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	job, err := s.Wait(wctx, id, onChange)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return job, err
}

// cancelWait is how long the owner has to end a cancelled job before it is ended by force.
const cancelWait = 4 * time.Second

// Cancel asks the job's owner to end it and waits for that. When the owner does not, it is killed with all it
// started; one that does other work too lives, and only what the job started is killed. A job that is over already is
// returned as it is.
func (s *Store) Cancel(ctx context.Context, id string) (Job, error) {
	job, err := s.Get(id)
	if err != nil || job.State.Final() {
		return job, err
	}
	if err := fsx.WriteFile(s.Path(job.ID, cancelName), nil, 0o600); err != nil {
		return job, err
	}
	job, err = s.Await(ctx, job.ID, cancelWait, nil)
	if err != nil || job.State.Final() {
		return s.afterLoss(job, err)
	}
	if !job.here() {
		return job, fmt.Errorf("job %s runs on %s, which did not react yet; ask again, or end it there", job.ID, job.Host)
	}
	if job.Shared && job.Owner != proc.Self() {
		endLeftovers(job)
		return job, fmt.Errorf("job %s is part of a server (process %d) that did not react yet; it ends the job once it does, so ask again later, or end the server", job.ID, job.Owner.PID)
	}
	if job.Owner != proc.Self() {
		if _, err := proc.KillTree(job.Owner); err != nil {
			return job, err
		}
	}
	endLeftovers(job)
	return s.end(job.ID, Cancelled, "cancelled by force: its process did not react")
}

// afterLoss words a job that died while being cancelled as a cancelled one.
func (s *Store) afterLoss(job Job, err error) (Job, error) {
	if err != nil || job.State != Lost {
		return job, err
	}
	return s.end(job.ID, Cancelled, job.Error)
}

func (s *Store) end(id string, state State, why string) (Job, error) {
	var out Job
	err := s.locked(context.Background(), id, func(job *Job) error {
		if !job.State.Final() || job.State == Lost {
			job.State, job.Ending, job.Error, job.Ended, job.Progress = state, string(state), why, time.Now(), ""
		}
		out = *job
		return nil
	})
	return out, err
}

// lose marks a job whose owner is gone, and ends what it left running.
func (s *Store) lose(id string) (Job, error) {
	var out Job
	err := s.locked(context.Background(), id, func(job *Job) error {
		if !job.State.Final() && !proc.Alive(job.Owner) {
			endLeftovers(*job)
			why := "its process is gone"
			if job.State == Queued {
				why = "its process ended before it began"
			}
			job.State, job.Ending, job.Error, job.Ended, job.Progress = Lost, string(Lost), why+s.lastWords(id), time.Now(), ""
		}
		out = *job
		return nil
	})
	return out, err
}

// lastWords is the end of what the job's process said on its way out.
func (s *Store) lastWords(id string) string {
	const most = 500
	b, err := os.ReadFile(s.Path(id, logName))
	if err != nil || len(b) == 0 {
		return ""
	}
	if len(b) > most {
		b = b[len(b)-most:]
	}
	return fmt.Sprintf("; it said: %s", b)
}

// endLeftovers ends what a job's process started and did not end itself.
func endLeftovers(job Job) {
	if job.Child.PID != 0 {
		_, _ = proc.KillTree(job.Child)
	}
	_, _ = proc.KillEnv(Mark(job.ID))
}

// markName stands in the environment of all a job starts.
const markName = "_LEGWORK_JOB"

// Mark is the variable that everything a job starts has to carry in its environment ("NAME=value"), so that it is
// found when its parents are gone (on Linux).
func Mark(id string) string { return markName + "=" + id }
