package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"legwork/pkg/fsx"
	"legwork/pkg/proc"
)

// Handle is the side of a job that does the work. Safe for concurrent use.
type Handle struct {
	store *Store
	id    string

	mu   sync.Mutex
	job  Job
	said time.Time     // when progress was last written
	next string        // progress that is to be written when its time comes
	done chan struct{} // of Go: the work has returned
}

// ErrOver says that a job is over, or belongs to another process, and takes no more changes.
var ErrOver = errors.New("the job is not ours to change")

// ID is the job's name.
func (h *Handle) ID() string { return h.id }

// Path is the path of a file in the job's folder.
func (h *Handle) Path(name string) string { return h.store.Path(h.id, name) }

// Job is the record as this process knows it.
func (h *Handle) Job() Job {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.job
}

// Take makes this process the owner of a queued job that another process created.
func (s *Store) Take(ctx context.Context, id string) (*Handle, error) {
	h := &Handle{store: s, id: id}
	err := s.locked(ctx, id, func(job *Job) error {
		if job.State != Queued {
			return fmt.Errorf("job %s is %s: %w", id, job.State, ErrOver)
		}
		job.Owner, job.Host = proc.Self(), host()
		h.job = *job
		return nil
	})
	return h, err
}

// Give names the process that is about to Take the job, so that it is not lost in between.
func (h *Handle) Give(ctx context.Context, to proc.Identity) error {
	return h.store.locked(ctx, h.id, func(job *Job) error {
		if job.State == Queued && job.Owner == proc.Self() {
			job.Owner = to
		}
		return nil
	})
}

// Begin says that the work has begun.
func (h *Handle) Begin() error {
	return h.Update(func(job *Job) {
		job.State, job.Started, job.Progress = Running, time.Now(), "running"
		job.Runs++
	})
}

// Requeue opens an ended job again, for a resumption: queued and owned by this process. change may set the request.
func (s *Store) Requeue(ctx context.Context, id string, change func(*Job)) (*Handle, error) {
	h := &Handle{store: s, id: id}
	if _, err := s.Get(id); err != nil { // a job that was lost becomes so first
		return nil, err
	}
	err := s.locked(ctx, id, func(job *Job) error {
		if !job.State.Final() {
			return fmt.Errorf("job %s is %s; wait for it or cancel it first: %w", id, job.State, ErrOver)
		}
		if err := removeIfThere(s.Path(id, cancelName)); err != nil {
			return err
		}
		job.State, job.Owner, job.Host, job.Shared, job.Progress = Queued, proc.Self(), host(), false, "starting"
		job.Ending, job.Reply, job.Error, job.Ended, job.Child = "", "", "", time.Time{}, proc.Identity{}
		change(job)
		h.job = *job
		return nil
	})
	return h, err
}

// Update changes the record and writes it. It fails with ErrOver once the job is over or was taken away.
func (h *Handle) Update(change func(*Job)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.update(change)
}

func (h *Handle) update(change func(*Job)) error {
	return h.store.locked(context.Background(), h.id, func(job *Job) error {
		if job.State.Final() || job.Owner != proc.Self() {
			return fmt.Errorf("job %s is %s: %w", h.id, job.State, ErrOver)
		}
		change(job)
		h.job = *job
		return nil
	})
}

// progressEvery is how often a changed progress line is written.
const progressEvery = 300 * time.Millisecond

// Progress sets the line that says what the job does now. Of calls in quick succession the last is written, a little
// later.
func (h *Handle) Progress(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next != "" {
		h.next = text // a write is due already
		return
	}
	if text == h.job.Progress {
		return
	}
	wait := progressEvery - time.Since(h.said)
	if wait <= 0 {
		h.writeProgress(text)
		return
	}
	h.next = text
	time.AfterFunc(wait, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		text := h.next
		h.next = ""
		h.writeProgress(text)
	})
}

// writeProgress writes the line, as long as the job is ours: a line less to read is no error.
func (h *Handle) writeProgress(text string) {
	h.said = time.Now()
	if !h.job.State.Final() && text != "" {
		_ = h.update(func(job *Job) { job.Progress = text })
	}
}

// SetFacts keeps what is known of the work.
func (h *Handle) SetFacts(facts any) error {
	b, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	return h.Update(func(job *Job) { job.Facts = b })
}

// End is how a job ended.
type End struct {
	State  State
	Ending string // one word of the job's kind
	Reply  string // what a caller is told
	Error  string
	Facts  any // nil keeps those set before
}

// Finish writes the end. Only the first one counts.
func (h *Handle) Finish(end End) error {
	var facts json.RawMessage
	if end.Facts != nil {
		b, err := json.Marshal(end.Facts)
		if err != nil {
			return err
		}
		facts = b
	}
	return h.Update(func(job *Job) {
		job.State, job.Ending, job.Reply, job.Error, job.Ended = end.State, end.Ending, end.Reply, end.Error, time.Now()
		job.Progress = ""
		if facts != nil {
			job.Facts = facts
		}
	})
}

// cancelPoll is how often the wish to cancel is looked for.
const cancelPoll = 50 * time.Millisecond

// Context is ctx, ended with the cause ErrCancelled once somebody asks to cancel the job. stop ends the watching.
func (h *Handle) Context(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(cancelPoll)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if _, err := os.Stat(h.Path(cancelName)); err == nil {
					cancel(ErrCancelled)
					return
				}
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

// ErrCancelled is the cause of a context that ended because somebody cancelled the job.
var ErrCancelled = errors.New("the job was cancelled")

// locked changes a record under its lock.
func (s *Store) locked(ctx context.Context, id string, change func(*Job) error) (err error) {
	lock, err := fsx.Lock(ctx, s.Path(id, lockName))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %q", ErrUnknown, id)
		}
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	job, err := s.read(id)
	if err != nil {
		return err
	}
	if err := change(&job); err != nil {
		return err
	}
	return s.write(job)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Go creates a job and does its work in a goroutine of this process. The context given to work ends when ctx does or
// when the job is cancelled; work says how it ended. Handle.Done tells when it has returned and the record is final.
// A job begun this way ends with the process.
func (s *Store) Go(ctx context.Context, spec Spec, work func(ctx context.Context, h *Handle) End) (*Handle, error) {
	spec.shared = true
	h, err := s.Create(spec)
	if err != nil {
		return nil, err
	}
	if err := h.Begin(); err != nil {
		return nil, err
	}
	h.done = make(chan struct{})
	go func() {
		defer close(h.done)
		wctx, stop := h.Context(ctx)
		end := work(wctx, h)
		cause := context.Cause(wctx)
		stop()
		if errors.Is(cause, ErrCancelled) && end.State != Succeeded {
			end.State = Cancelled
		}
		_ = h.Finish(end) // cancelled by force meanwhile: then the record is final already
	}()
	return h, nil
}

// Done is closed when the work of a job begun with Go has returned; nil for others.
func (h *Handle) Done() <-chan struct{} { return h.done }

// Amend changes the record of a job that is over: what was done with its result.
func (s *Store) Amend(ctx context.Context, id string, change func(*Job)) (Job, error) {
	var out Job
	err := s.locked(ctx, id, func(job *Job) error {
		if !job.State.Final() {
			return fmt.Errorf("job %s is %s; wait for it or cancel it first: %w", id, job.State, ErrOver)
		}
		change(job)
		out = *job
		return nil
	})
	return out, err
}
