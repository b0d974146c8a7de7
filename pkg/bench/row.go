package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"legwork/pkg/delegate"
)

// RowSchema is the version of Row.
const RowSchema = 1

// Classes of an answer, and of a run that did not pass.
const (
	ClassPassed    = "passed"
	ClassFormat    = "format"    // no usable file in it
	ClassCutOff    = "cut-off"   // it did not end, was empty, or went in circles
	ClassImport    = "import"    // it needs what is not there
	ClassRepeat    = "repeat"    // the same code again
	ClassTimeout   = "timeout"   // the test, or the model, did not end
	ClassWrong     = "wrong"     // the test is red
	ClassTransport = "transport" // the server failed; says nothing about the model
	ClassSetup     = "setup"     // the run could not be made; says nothing either
)

// Classes are all classes of failures in the order of the tables.
func Classes() []string {
	return []string{ClassFormat, ClassCutOff, ClassTimeout, ClassImport, ClassRepeat, ClassWrong}
}

// classOf is delegate's word for an attempt in the bench's words.
func classOf(word string) string {
	switch word {
	case "":
		return ClassPassed
	case "cut_off", "empty", "looped", "overflow":
		return ClassCutOff
	case ClassFormat, ClassImport, ClassRepeat, ClassTimeout:
		return word
	}
	return ClassWrong // load, tests, unfinished, scope
}

// Row is one run of one task: everything that a table needs, and that a reader needs to judge it.
type Row struct {
	Schema   int       `json:"schema"`
	Time     time.Time `json:"time"` // of the end, UTC
	Tool     string    `json:"tool"` // version of legwork
	Commit   string    `json:"commit,omitempty"`
	System   string    `json:"system"`             // where the bench and the tests ran
	Scripted bool      `json:"scripted,omitempty"` // no model: a self-check of the bench

	Task     string `json:"task"`
	Kind     string `json:"kind"`
	Tier     int    `json:"tier"`
	TaskHash string `json:"task_hash"`
	Run      int    `json:"run"` // from 1

	Identity
	Policy      string `json:"policy"`
	MaxAttempts int    `json:"max_attempts"`
	Parallel    int    `json:"parallel"` // runs at once
	PromptHash  string `json:"prompt_hash,omitempty"`
	Sandbox     string `json:"sandbox,omitempty"`
	Gate        string `json:"gate,omitempty"`

	Verdict  string       `json:"verdict"` // pass, fail, error
	Outcome  string       `json:"outcome"` // delegate's
	Class    string       `json:"class"`   // why it did not pass; see Classes
	PassAt   int          `json:"pass_at"` // the attempt that passed, 0: none
	Stopped  string       `json:"stopped,omitempty"`
	Attempts []RowAttempt `json:"attempts"`
	Calls    int          `json:"calls"`
	Green    int          `json:"green"` // tests of the kept candidate
	Total    int          `json:"total"`
	Leaked   int          `json:"leaked_worktrees"`
	MS       int64        `json:"ms"`
	// OverheadMS is what the run took outside the model and the test: repository, worktree, bookkeeping.
	OverheadMS int64  `json:"overhead_ms"`
	Error      string `json:"error,omitempty"`
}

// Identity says which model on which server.
type Identity struct {
	Model     string `json:"model"`                // id as served, without folders
	ModelName string `json:"model_name,omitempty"` // in the metadata of its file
	Quant     string `json:"quant,omitempty"`
	ModelSHA  string `json:"model_sha256,omitempty"`
	Endpoint  string `json:"endpoint"`
	Backend   string `json:"backend"`
	Server    string `json:"server,omitempty"` // version
	Window    int    `json:"window"`           // tokens of one request
	Slots     int    `json:"slots"`
}

// RowAttempt is one answer of the model.
type RowAttempt struct {
	N           int     `json:"n"`
	Kind        string  `json:"kind"`
	Temperature float64 `json:"temperature"`
	Class       string  `json:"class"`
	Detail      string  `json:"detail,omitempty"` // delegate's own word, where it is another
	Green       int     `json:"green"`
	Total       int     `json:"total"`
	InTok       int     `json:"in_tok"`
	OutTok      int     `json:"out_tok"`
	CachedTok   int     `json:"cached_tok"`
	MS          int64   `json:"ms"`      // of the call
	WaitMS      int64   `json:"wait_ms"` // for a free slot
	TestMS      int64   `json:"test_ms"`
	// Mended is what rules put right in the answer; rows made before this was noted lack it.
	Mended []string `json:"mended,omitempty"`
}

// wellFormed says that the answer held the files it should.
func (a RowAttempt) wellFormed() bool { return a.Class != ClassFormat && a.Class != ClassCutOff }

// counts says that the run tells something about the model; others are outside every rate and are done again.
func (r *Row) counts() bool { return r.Class != ClassTransport && r.Class != ClassSetup }

// take fills in what became of a call.
func (r *Row) take(res *delegate.Result) {
	r.Verdict, r.Outcome, r.Stopped, r.Gate, r.Sandbox = res.Verdict, res.Outcome, res.Stopped, res.Gate, res.Sandbox
	r.PromptHash = res.PromptHash[:min(16, len(res.PromptHash))]
	r.Calls, r.Error, r.MaxAttempts = res.Calls, res.Error, res.Max
	r.Green, r.Total = res.Green, res.Total
	for _, a := range res.Attempts {
		x := RowAttempt{
			N: a.N, Kind: a.Kind, Temperature: a.Temperature, Class: classOf(a.Class), Green: a.Green, Total: a.Total,
			InTok: a.InTok, OutTok: a.OutTok, CachedTok: a.CachedTok, MS: a.CallMS, WaitMS: a.WaitMS, TestMS: a.MS, Mended: a.Mended,
		}
		if a.Class != "" && a.Class != x.Class {
			x.Detail = a.Class
		}
		if x.Class == ClassPassed {
			r.PassAt = a.N
		}
		r.Attempts = append(r.Attempts, x)
	}
	r.Class = r.class()
}

// class is the reason of the whole run: the answer that got furthest decides.
func (r *Row) class() string {
	switch r.Outcome {
	case "passed":
		return ClassPassed
	case "transport":
		return ClassTransport
	case "timeout":
		return ClassTimeout
	case "overflow":
		return ClassCutOff
	}
	order := []string{ClassFormat, ClassCutOff, ClassRepeat, ClassImport, ClassTimeout, ClassWrong}
	best := ""
	for _, a := range r.Attempts {
		if slices.Index(order, a.Class) > slices.Index(order, best) {
			best = a.Class
		}
	}
	return best
}

// key names a run; two rows of one key are the same run done twice.
type key struct {
	task, hash, model, policy string
	run                       int
}

func (r *Row) key() key { return key{r.Task, r.TaskHash, r.Model, r.Policy, r.Run} }

// ReadRows reads raw files. A damaged line, such as the last one of a killed run, is skipped and counted.
func ReadRows(paths ...string) (rows []*Row, damaged int, err error) {
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			return nil, 0, err
		}
		some, bad, err := decodeRows(f)
		f.Close()
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", p, err)
		}
		rows, damaged = append(rows, some...), damaged+bad
	}
	return rows, damaged, nil
}

func decodeRows(r io.Reader) (rows []*Row, damaged int, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		if line := bytes.TrimSpace(line); len(line) > 0 {
			row := &Row{}
			switch jerr := json.Unmarshal(line, row); {
			case jerr == nil && row.Schema > RowSchema:
				return nil, 0, fmt.Errorf("a row of schema %d; this legwork knows %d", row.Schema, RowSchema)
			case jerr != nil || row.Schema == 0 || row.Task == "" || row.Class == "":
				damaged++
			default:
				rows = append(rows, row)
			}
		}
		if err != nil {
			return rows, damaged, nil
		}
	}
}

// doneRuns are the runs of a raw file that need not be done again; a missing file has none.
func doneRuns(path string) (map[key]bool, error) {
	rows, _, err := ReadRows(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[key]bool{}, nil
	}
	done := map[key]bool{}
	for _, r := range rows {
		if r.counts() {
			done[r.key()] = true
		}
	}
	return done, err
}
