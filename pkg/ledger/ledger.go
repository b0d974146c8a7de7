// Package ledger keeps one line per run in runs.jsonl: what was asked of which model, how it ended, what it cost
// and what Claude was spared.
//
// Rules: lines are appended whole, by any number of processes; a damaged line is skipped and counted, never
// guessed at; the file is rotated by size and the oldest part goes first. Numbers are facts at the time of the
// run. What they are worth is computed later, by whoever reads them.
//
// Pitfall: a run that is not written down is no error of the run. Callers log what Append returns and go on.
package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"legwork/pkg/fsx"
)

// Outcomes of a run. They are kept apart in every statistic.
const (
	Done      = "done"      // the tool did what it was asked
	Failed    = "failed"    // the model answered, but did not solve the task
	CutOff    = "cut_off"   // the answer hit its limit, was empty, or ran in circles
	Timeout   = "timeout"   // a time limit of ours passed
	Transport = "transport" // the server could not be reached or broke off
	Refused   = "refused"   // we did not start: trust, permission, bad input
	Cancelled = "cancelled" // the caller gave up
)

// Run is one line of the ledger. Token counts are the server's where it tells them, else estimates; zero means
// unknown or none.
type Run struct {
	TS       time.Time `json:"ts"`
	Tool     string    `json:"tool"` // a tool's name, or one of the Tool words of this package
	Model    string    `json:"model,omitempty"`
	Endpoint string    `json:"endpoint,omitempty"`
	OK       bool      `json:"ok"`
	Outcome  string    `json:"outcome"`
	Attempts int       `json:"attempts,omitempty"`

	InTok     int64 `json:"in_tok,omitempty"`     // read by the local model
	OutTok    int64 `json:"out_tok,omitempty"`    // written by it
	CachedTok int64 `json:"cached_tok,omitempty"` // of InTok, from the server's prefix cache

	ClaudeTokIn  int64 `json:"claude_tok_in,omitempty"`  // our reply, as Claude receives it
	ClaudeTokOut int64 `json:"claude_tok_out,omitempty"` // the arguments Claude wrote for the call
	BaseTok      int64 `json:"base_tok,omitempty"`       // what Claude would have received without us
	BaseOut      int64 `json:"base_out,omitempty"`       // what Claude would have written itself without us

	RawBytes int64  `json:"raw_bytes,omitempty"` // size of the material
	MS       int64  `json:"ms,omitempty"`        // duration
	Job      string `json:"job,omitempty"`
	Project  string `json:"project,omitempty"` // root of the project
	Session  string `json:"session,omitempty"` // Claude Code's session, where it is known
	Rule     string `json:"rule,omitempty"`    // which reader or rule shortened the text
	Raw      string `json:"raw,omitempty"`     // name of the kept text that a reread may ask for
}

// MaxSize is the size at which a file is rotated, and Keep the number of older files kept beside it: together
// about a million lines.
const (
	MaxSize = 32 << 20
	Keep    = 8
)

// fileName is the current file; older ones are runs.1.jsonl (the youngest) to runs.<Keep>.jsonl.
const fileName = "runs.jsonl"

func older(dir string, n int) string { return filepath.Join(dir, fmt.Sprintf("runs.%d.jsonl", n)) }

// Ledger writes to the directory of one state home.
type Ledger struct {
	dir     string
	maxSize int64
}

// New returns the ledger in a state directory (see config.StateHome). Nothing is made before the first Append.
func New(dir string) *Ledger { return &Ledger{dir: dir, maxSize: MaxSize} }

// Append writes one line. A zero TS becomes now. It is safe beside other processes; ctx bounds the wait for them.
// Within a call (see [Begin]) the line is written by whoever ends the call.
func (l *Ledger) Append(ctx context.Context, run Run) error {
	if run.TS.IsZero() {
		run.TS = time.Now()
	}
	if c, ok := ctx.Value(callKey{}).(*Call); ok && c.take(&run) {
		return nil
	}
	run.TS = run.TS.UTC().Truncate(time.Millisecond)
	line, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	lock, err := fsx.Lock(ctx, filepath.Join(l.dir, "runs.lock"))
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	path := filepath.Join(l.dir, fileName)
	if st, err := os.Stat(path); err == nil && st.Size()+int64(len(line)) >= l.maxSize {
		l.rotate(path)
	}
	if err := fsx.AppendLine(path, line, 0o600); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// rotate moves every file one place on; the last one falls out. A rename that fails (a reader holds the file on
// Windows) stops it: then the current file grows on, which loses nothing.
func (l *Ledger) rotate(path string) {
	for n := Keep - 1; n >= 1; n-- {
		if err := os.Rename(older(l.dir, n), older(l.dir, n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
	_ = os.Rename(path, older(l.dir, 1))
}
