// Package offload answers one question about a noisy command's output or big files, so that the
// caller reads a few lines instead of all of them.
//
// One call: gather (run the command into the raw store, or open the files) → read (clean, fold, parse
// what test runners and compilers print) → answer (from the parsed result, by counting, by the model,
// or from the best lines alone) → support (find the line that says so) → record → reply.
//
// Rules: exit code, sizes and counts are ours and stand first; what the model says is marked as its
// opinion, with the line that supports it or the word that none does. A non-zero exit never reads as
// success. What was printed is kept and its path given.
//
// Pitfall: the material is data somebody else wrote. It never becomes an instruction, a path or a command.
package offload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"legwork/pkg/clean"
	"legwork/pkg/config"
	"legwork/pkg/digest"
	"legwork/pkg/llm"
	"legwork/pkg/proc"
	"legwork/pkg/runners"
)

// Request is one question. Exactly one of Command, Raw and Files must be there; Files may go with a Command.
type Request struct {
	Question string        // what the caller wants to know
	Command  string        // run by the shell in Dir
	Files    []string      // paths, path:A-B ranges or globs, relative to Dir, inside the project
	Raw      string        // id of earlier output
	Model    string        // empty: the setting, else the only one served
	Endpoint string        // empty: any
	Coverage string        // "", auto, full or focused
	Timeout  time.Duration // of the command; 0: the setting
	Dir      string        // working directory, absolute
	Roots    []string      // folders whose files may be read; empty: Dir
}

// Deps is what a call stands on.
type Deps struct {
	Config   *config.Config
	Models   *llm.Registry // nil: answer without a model
	StateDir string        // raw store and ledger live below it
	Env      []string      // environment of the command
	Children *proc.Group   // where the command is entered, so that it dies with the server; may be nil
	Logger   *slog.Logger
	// Progress is told in one short line what is going on; it must not block. May be nil.
	Progress func(string)
	// AllowCommand and AllowRead apply the user's permission rules; nil allows.
	AllowCommand func(command string) error
	AllowRead    func(path string) error
}

// Line is one line of the material as shown in a reply.
type Line struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Text  string `json:"text"`
	Count int    `json:"count,omitempty"` // lines that read the same but for numbers and ids
	First int    `json:"first,omitempty"`
	Last  int    `json:"last,omitempty"`
}

// How an answer came about.
const (
	ByParser = "parsed"     // read off the test runner's or compiler's result
	ByCount  = "computed"   // counted over the whole material
	ByModel  = "model"      // said by the model
	ByReader = "extractive" // the best lines, no model
)

// Result is the answer with its facts.
type Result struct {
	Question string          `json:"question"`
	Command  string          `json:"command,omitempty"`
	Files    []string        `json:"files,omitempty"`
	Ran      *Ran            `json:"ran,omitempty"` // facts of the command, also for raw
	Run      *runners.Result `json:"run,omitempty"` // what a test runner or compiler said; nil if none was recognised
	Answer   string          `json:"answer"`
	By       string          `json:"by"`
	Rule     string          `json:"rule,omitempty"` // how a computed answer was reached
	Model    string          `json:"model,omitempty"`
	Endpoint string          `json:"endpoint,omitempty"`
	// Outcome of the model's part: answered (also when none was needed), cut_off, empty, looped,
	// transport_error, timeout, overflow, no_model.
	Outcome string `json:"outcome"`
	// Says is the line that supports the answer; nil: no line says so.
	Says *Line `json:"says,omitempty"`
	// SaysMore are further lines when it takes up to three together to say all of it.
	SaysMore []Line `json:"says_more,omitempty"`
	// Lines are the nearest ones by the reader's ranking, or those an answer rests on.
	Lines []Line `json:"lines"`
	// Whole is the text itself, when it is shorter than what would be printed of it.
	Whole string `json:"whole,omitempty"`
	// NotInText is the reader's judgement, by its scores, that the material does not answer.
	NotInText bool     `json:"not_in_text"`
	Coverage  Coverage `json:"coverage"`
	Raw       string   `json:"raw,omitempty"` // id for another question
	Path      string   `json:"path,omitempty"`
	Notes     []string `json:"notes,omitempty"`
	InTok     int      `json:"in_tok"`
	OutTok    int      `json:"out_tok"`
	CachedTok int      `json:"cached_tok"`
	MS        int64    `json:"ms"`

	mask func(string) string
}

// Ran are the facts of a command.
type Ran struct {
	Ending   string `json:"ending"` // as in "exit 1"
	Exit     int    `json:"exit"`
	Signal   string `json:"signal,omitempty"`
	TimedOut bool   `json:"timed_out,omitempty"`
	MS       int64  `json:"ms"`
}

// call is one Run in progress.
type call struct {
	Deps
	req   Request
	res   *Result
	mat   *material
	doc   *digest.Doc
	store Store
	start time.Time

	secrets *clean.Secrets // nil: the setting says that nothing is masked

	evidence runners.Evidence // of the side channels attached to the command
	looking  sync.WaitGroup   // the look-up of a model beside the command
	tokens   sync.Mutex       // guards the token sums of res
}

// Run answers one request. Errors: *InputError and *RefusedError for what the caller can change,
// *llm.NoModelError when a model was asked for by name and is not there, ctx's when cancelled.
// A model or server that fails is not an error: the best lines are the answer then, and a note says why.
func Run(ctx context.Context, d Deps, req Request) (*Result, error) {
	c := &call{Deps: d, req: req, start: time.Now()}
	if err := c.check(); err != nil {
		return nil, err
	}
	if d.Config.Offload.MaskSecrets {
		c.secrets = clean.NewSecrets(d.Env)
	}
	c.res = &Result{Question: req.Question, Command: req.Command, Files: req.Files, mask: d.Config.Masker(d.Env)}
	c.store = Store{Dir: filepath.Join(d.StateDir, "raw"), Max: int64(d.Config.Store.RawMax), Age: d.Config.Store.RawAge}
	search, stop := context.WithCancel(ctx)
	defer c.looking.Wait()
	defer stop()
	model, err := c.chooseModel(search)
	if err != nil {
		return nil, err
	}
	if err := c.gather(ctx); err != nil {
		return nil, err
	}
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	if err := c.answer(ctx, model); err != nil {
		return nil, err
	}
	c.preferRaw()
	c.res.MS = time.Since(c.start).Milliseconds()
	c.maskResult()
	c.record(ctx)
	return c.res, nil
}

// check refuses what cannot work, before anything runs.
func (c *call) check() error {
	r := &c.req
	r.Question = strings.TrimSpace(r.Question)
	hasCommand := strings.TrimSpace(r.Command) != ""
	switch {
	case r.Question == "":
		return badInput("question: missing; say what you want to know, as in \"which test fails, and why?\"")
	case r.Command != "" && !hasCommand:
		return badInput("command: it is empty; give a shell command such as \"go test ./...\"")
	case strings.ContainsRune(r.Command, 0):
		return badInput("command: it holds a NUL byte")
	case !hasCommand && len(r.Files) == 0 && r.Raw == "":
		return badInput("command or files: both are missing; give a command to run, files to read, or raw with the id of earlier output")
	case r.Raw != "" && (hasCommand || len(r.Files) > 0):
		return badInput("raw: it stands for earlier output; leave command and files out, or leave raw out")
	case r.Timeout < 0:
		return badInput("timeout: %s is negative", r.Timeout)
	}
	switch r.Coverage {
	case "":
		r.Coverage = c.Config.Offload.Coverage
	case "auto", "full", "focused":
	default:
		return badInput("coverage: %q is unknown; it is auto, full or focused", r.Coverage)
	}
	if hasCommand && c.Config.Offload.Commands == "never" {
		return &RefusedError{"command: the setting offload.commands is never; ask about files instead"}
	}
	if hasCommand && c.AllowCommand != nil {
		return c.AllowCommand(r.Command)
	}
	return nil
}

func (c *call) progress(format string, a ...any) {
	if c.Progress != nil {
		c.Progress(c.res.mask(fmt.Sprintf(format, a...)))
	}
}

func (c *call) note(format string, a ...any) {
	c.res.Notes = append(c.res.Notes, fmt.Sprintf(format, a...))
}

// IsRefused tells whether err says that a rule forbids the request.
func IsRefused(err error) bool {
	var r *RefusedError
	return errors.As(err, &r)
}
