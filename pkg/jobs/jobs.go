// Package jobs keeps the records of long work on disk, so that it outlives the server that began it: any process of
// the machine can list, follow, cancel and collect a job.
//
// The story of a job: Create writes its record (queued) before anything else happens; whoever does the work takes it
// with Handle.Begin (a goroutine of this process, see Go, or a process of its own, see Detach); it reports through
// the Handle; Finish writes how it ended. Others use Get, List, Wait, Log and Cancel.
//
// Rules: job.json is replaced atomically and only under the job's lock. While its owner lives, the owner alone
// writes it; a wish to cancel is a file of its own. A job whose owner is gone is lost, judged by pid and start time,
// and what it left running is ended by whoever notices.
//
// Pitfall: a record says what was true when it was written. Never read job.json directly: Get looks whether the owner
// still lives.
package jobs

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"legwork/pkg/fsx"
	"legwork/pkg/proc"
)

// State is where a job is in its life.
type State string

// The states. The last seven are final.
const (
	Queued      State = "queued"      // nobody works on it yet; Progress says what it waits for
	Running     State = "running"     //
	Succeeded   State = "succeeded"   // the work is done, and its gate passed if it had one
	Failed      State = "failed"      // it ended and the work is not done; Ending says how
	Timeout     State = "timeout"     // its time limit passed
	Cancelled   State = "cancelled"   // somebody cancelled it
	Stalled     State = "stalled"     // nothing moved for too long
	Interrupted State = "interrupted" // stopped from outside in mid-work; can be resumed
	Lost        State = "lost"        // its process is gone without a word
)

// Final tells whether the job is over.
func (s State) Final() bool { return s != Queued && s != Running }

// Job is the record of one job. Plain data.
type Job struct {
	ID       string        `json:"id"`
	Kind     string        `json:"kind"` // "run_agent", "delegate" …
	State    State         `json:"state"`
	Ending   string        `json:"ending,omitempty"`   // how it ended, in one word of its kind
	Title    string        `json:"title"`              // first line of the task, shortened
	Dir      string        `json:"dir,omitempty"`      // where the caller was
	Project  string        `json:"project,omitempty"`  // root of the project
	Model    string        `json:"model,omitempty"`    //
	Endpoint string        `json:"endpoint,omitempty"` //
	Created  time.Time     `json:"created"`
	Started  time.Time     `json:"started,omitzero"`
	Ended    time.Time     `json:"ended,omitzero"`
	Owner    proc.Identity `json:"owner"`            // the process that does the work, or is about to
	Host     string        `json:"host,omitempty"`   // the machine they are on: a home folder can be shared
	Child    proc.Identity `json:"child,omitzero"`   // its main child, ended with the job
	Detached bool          `json:"detached"`         // outlives the server that began it
	Shared   bool          `json:"shared,omitempty"` // the owner does other work too, so it is not ended with the job
	Progress string        `json:"progress"`         // one line for a person
	Reply    string        `json:"reply,omitempty"`  // the result, as a caller is told it
	Error    string        `json:"error,omitempty"`
	Runs     int           `json:"runs"` // 1, and one more for each time it was resumed
	// Request is what was asked for and Facts what is known of the work, both as the job's kind keeps them.
	Request json.RawMessage `json:"request,omitempty"`
	Facts   json.RawMessage `json:"facts,omitempty"`
}

// Took is how long the job ran, until now while it runs.
func (j Job) Took() time.Duration {
	switch {
	case j.Started.IsZero():
		return 0
	case j.Ended.IsZero():
		return time.Since(j.Started)
	}
	return j.Ended.Sub(j.Started)
}

// Store holds all jobs of one state directory.
type Store struct{ dir string }

// New returns the store in a state directory (see config.StateHome). Nothing is made before the first Create.
func New(stateDir string) *Store { return &Store{dir: filepath.Join(stateDir, "jobs")} }

// Names of the files in a job's folder.
const (
	recordName     = "job.json"
	lockName       = "lock"
	cancelName     = "cancel"
	taskName       = "task.txt"
	transcriptName = "transcript.txt"
	eventsName     = "events.jsonl"
	logName        = "supervisor.log"
)

// ErrUnknown is wrapped by every call that names a job that does not exist.
var ErrUnknown = errors.New("no such job")

// Spec is what Create needs to know.
type Spec struct {
	Kind, Task      string
	Dir, Project    string
	Model, Endpoint string
	Detached        bool
	Request         any // kept as JSON in Job.Request

	shared bool
}

// Create writes a new record, queued and owned by this process, with the task beside it.
func (s *Store) Create(spec Spec) (*Handle, error) {
	request, err := json.Marshal(spec.Request)
	if err != nil {
		return nil, fmt.Errorf("keep the request: %w", err)
	}
	id, err := s.makeFolder()
	if err != nil {
		return nil, fmt.Errorf("make a job: %w", err)
	}
	h := &Handle{store: s, id: id}
	if err := fsx.WriteFile(h.Path(taskName), []byte(spec.Task), 0o600); err != nil {
		return nil, err
	}
	job := Job{
		ID: id, Kind: spec.Kind, State: Queued, Title: title(spec.Task), Dir: spec.Dir, Project: spec.Project, Model: spec.Model,
		Endpoint: spec.Endpoint, Created: time.Now(), Owner: proc.Self(), Host: host(), Detached: spec.Detached, Shared: spec.shared,
		Progress: "starting", Request: request,
	}
	h.job = job
	return h, s.write(job)
}

// makeFolder takes a new id.
func (s *Store) makeFolder() (string, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", err
	}
	for {
		id := "j" + strings.ToLower(rand.Text()[:7])
		err := os.Mkdir(filepath.Join(s.dir, id), 0o700)
		if !errors.Is(err, fs.ErrExist) {
			return id, err
		}
	}
}

// maxTitle is the length of a title in characters.
const maxTitle = 80

func title(task string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(task), "\n")
	if r := []rune(first); len(r) > maxTitle {
		return string(r[:maxTitle-1]) + "…"
	}
	return first
}

// Path is the path of a file in a job's folder. It does not look whether the job exists.
func (s *Store) Path(id, name string) string { return filepath.Join(s.dir, id, name) }

// Find resolves an id or the unique beginning of one.
func (s *Store) Find(id string) (string, error) {
	ids, err := s.ids()
	if err != nil {
		return "", err
	}
	if slices.Contains(ids, id) {
		return id, nil
	}
	var found []string
	for _, have := range ids {
		if id != "" && strings.HasPrefix(have, id) {
			found = append(found, have)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%w: %q; legwork jobs list shows all", ErrUnknown, id)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%w: %q is the beginning of %s", ErrUnknown, id, strings.Join(found, ", "))
}

func (s *Store) ids() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// Get reads one job. A job whose owner is gone is turned into a lost one first.
func (s *Store) Get(id string) (Job, error) {
	id, err := s.Find(id)
	if err != nil {
		return Job{}, err
	}
	job, err := s.read(id)
	if err != nil || job.State.Final() || !job.here() || proc.Alive(job.Owner) {
		return job, err
	}
	return s.lose(id)
}

// here tells whether the job's processes are on this machine, so that they can be judged and ended.
func (j Job) here() bool { return j.Host == "" || j.Host == host() }

func host() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// List reads all jobs, newest first. Records that cannot be read are left out.
func (s *Store) List() ([]Job, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	var out []Job
	for _, id := range ids {
		if job, err := s.Get(id); err == nil {
			out = append(out, job)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Created.After(out[j].Created) })
	return out, nil
}

func (s *Store) read(id string) (Job, error) {
	var job Job
	b, err := os.ReadFile(s.Path(id, recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return job, fmt.Errorf("%w: %q has no record", ErrUnknown, id)
	}
	if err == nil {
		err = json.Unmarshal(b, &job)
	}
	if err != nil {
		return job, fmt.Errorf("record of job %s: %w", id, err)
	}
	return job, nil
}

func (s *Store) write(job Job) error {
	b, err := json.MarshalIndent(job, "", " ")
	if err != nil {
		return err
	}
	return fsx.WriteFile(s.Path(job.ID, recordName), b, 0o600)
}

// Task is the text of the task.
func (s *Store) Task(id string) (string, error) {
	b, err := os.ReadFile(s.Path(id, taskName))
	return string(b), err
}
