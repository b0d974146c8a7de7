// Package delegate lets a local model write one file, or a named few, until a test that somebody else
// wrote first passes.
//
// One call: check (arguments, scope) → open a worktree that looks like the user's tree → run the gate once:
// it must run and be red for the right reason → attempts: the model writes the targets, nothing else; the
// gate runs; evidence decides → apply what passed → a verdict in a few lines.
//
// Rules: exit 0 is never enough, the named tests must have finished. The model never sees the test. What
// the gate or the code changed outside the targets is undone and said. A transport error, a timeout, a
// cut-off answer and a model that failed are four different endings. The best candidate is never lost.
//
// Pitfall: the model's code runs during the gate, so everything it prints or leaves behind is its word,
// not ours. Only what the test runner itself noted, compared with the red run, counts.
package delegate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"legwork/pkg/config"
	"legwork/pkg/llm"
	"legwork/pkg/proc"
	"legwork/pkg/repo"
)

// What is done with a result.
const (
	ApplyPass  = "pass"  // put a passing candidate in place
	ApplyBest  = "best"  // also the best one that does not pass
	ApplyNever = "never" // leave it in the worktree
)

// MaxAttempts is the most attempts a request may ask for.
const MaxAttempts = 10

// Request is one file, or a few, to be written.
type Request struct {
	Spec       string   // what the code must do
	Targets    []string // files to write, new or existing, relative to Dir
	Test       string   // shell command that decides, run in Dir
	Properties []string // rules that must hold, one each
	Context    string   // the exact API the code may use or must offer
	TestFiles  []string // files of the test, relative to Dir; those the command names are found
	Attempts   int      // at most, for each model; 0: the setting
	Models     []string // from small to big; empty: the setting
	Candidates int      // first attempts drawn at once; 0: the setting
	ShowCode   bool     // put the code into the reply
	Apply      string   // ApplyPass, ApplyBest or ApplyNever; empty: ApplyPass
	AllowGreen bool     // the test may pass before any work (refactoring); its evidence must not shrink then
	Dir        string   // working directory, absolute
}

// Deps is what a call stands on.
type Deps struct {
	Config   *config.Config
	Models   *llm.Registry
	StateDir string      // worktrees, transcripts and ledger live below it
	Env      []string    // environment of git and the test command
	Children *proc.Group // may be nil
	Logger   *slog.Logger
	// Progress is told in one short line what is going on; it must not block. May be nil.
	Progress func(string)
	// AllowCommand applies the user's permission rules to the test command; nil allows.
	AllowCommand func(command string) error
	// AllowRead and AllowWrite apply them to the targets, which are shown to a model and written; AllowRead also to
	// the test's files. Paths are absolute. Nil allows.
	AllowRead, AllowWrite func(path string) error
}

// InputError is a request that cannot be carried out as it stands; the text says what would work.
type InputError struct{ Msg string }

func (e *InputError) Error() string { return e.Msg }

// RefusedError is a request that a rule forbids, or whose test is no gate: green already, broken, empty.
type RefusedError struct{ Msg string }

func (e *RefusedError) Error() string { return e.Msg }

func badInput(format string, a ...any) error { return &InputError{fmt.Sprintf(format, a...)} }

func refuse(format string, a ...any) error { return &RefusedError{fmt.Sprintf(format, a...)} }

// call is one Run in progress.
type call struct {
	Deps
	req    Request
	res    *Result
	start  time.Time
	repo   *repo.Repo
	dir    string // Dir relative to the top level
	langs  []language
	test   testInfo
	tree   *repo.Tree
	before []repo.Original // the targets as they were
	gate   *gate
	red    gateRun // the baseline
	best   *candidate
	last   *candidate // the one judged last
	asked  bool       // the caller asked for a number of attempts
	prompt string     // the part that stays the same over all turns
	mends  bool       // rules may put right what needs no model
	// surfaces are what the tests take from each target.
	surfaces []surface
	notes    *transcript
	mask     func(string) string // of what is kept or replied
	known    func(string) string // of what the model is told: there an example may be what the task is about
	kept     bool                // the worktree stays
}

// Run carries out one request. Errors: *InputError and *RefusedError for what the caller can change, those
// of package repo for a folder that is no usable repository, *llm.NoModelError when no model can be named,
// ctx's when cancelled. What the model and its server do is in the Result.
func Run(ctx context.Context, d Deps, req Request) (*Result, error) {
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	c := &call{Deps: d, req: req, start: time.Now(), res: &Result{}, mask: d.Config.Masker(d.Env), known: d.Config.KnownMasker(d.Env)}
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	models := c.chooseModels(ctx)
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	defer c.close(context.WithoutCancel(ctx))
	shared := c.repo.Shared()
	if err := c.baseline(ctx); err != nil {
		return nil, err
	}
	list, err := models()
	if err != nil {
		return nil, err
	}
	if err := c.attempts(ctx, list); err != nil {
		return nil, err
	}
	if err := c.finish(ctx); err != nil {
		return nil, err
	}
	for _, name := range shared.Diff(c.repo.Shared()) {
		c.note("WARNING: .git/%s of your repository changed during the run; look at it before the next commit", name)
	}
	c.record(ctx)
	return c.res, nil
}

// open finds leftovers of earlier calls, makes the worktree and the gate in it.
func (c *call) open(ctx context.Context) error {
	opt := c.repoOptions()
	swept, err := repo.Sweep(ctx, opt, c.Config.Store.WorktreeAge)
	if err != nil {
		c.Logger.Warn("sweep", "err", err)
	}
	if swept.Removed > 0 {
		c.Logger.Info("swept worktrees", "removed", swept.Removed, "kept", len(swept.Kept))
	}
	sweepTranscripts(c.transcripts(), c.Config.Store.RawAge)
	c.say("making a worktree")
	near := []string{c.dir}
	for _, t := range c.res.Targets {
		near = append(near, filepath.ToSlash(filepath.Dir(t)))
	}
	files := append(append([]string{}, c.res.Targets...), c.test.files...)
	c.tree, err = c.repo.Add(ctx, repo.Wish{
		Purpose: "delegate", Scratch: true, Links: c.Config.Delegate.LinkDirs, Near: near, Files: files,
	})
	if err != nil {
		return err
	}
	for _, n := range c.tree.Notes {
		c.note("%s", n)
	}
	if err := c.prepare(ctx); err != nil {
		c.close(context.WithoutCancel(ctx))
		return err
	}
	return nil
}

// prepare makes what the attempts need in the new worktree.
func (c *call) prepare(ctx context.Context) error {
	if err := c.tree.Own(c.res.Targets...); err != nil {
		return err
	}
	c.notes = newTranscript(c.transcripts(), c.tree.ID, c.mask)
	c.res.Transcript = c.notes.path
	for i := range c.res.Targets {
		c.surfaces = append(c.surfaces, c.surfaceOf(i))
	}
	var err error
	c.gate, err = newGate(ctx, c)
	return err
}

// close removes the worktree, unless somebody was told of it.
func (c *call) close(ctx context.Context) {
	if c.tree == nil || c.kept {
		return
	}
	c.kept = true
	if err := c.tree.Remove(ctx); err != nil {
		c.Logger.Warn("worktree not removed", "path", c.tree.Dir, "err", err)
		c.note("the worktree could not be removed: %v", err)
	}
}

func (c *call) repoOptions() repo.Options {
	return repo.Options{StateDir: c.StateDir, Env: c.Env, Children: c.Children, Logger: c.Logger}
}

func (c *call) transcripts() string { return filepath.Join(c.StateDir, "delegates") }

// chooseModels looks for the models while the baseline runs; the returned function waits for it.
func (c *call) chooseModels(ctx context.Context) func() ([]llm.Choice, error) {
	type found struct {
		list []llm.Choice
		err  error
	}
	ch := make(chan found, 1)
	go func() {
		var f found
		defer func() { ch <- f }()
		if c.Models == nil {
			f.err = llm.ErrNoServer
			return
		}
		for _, name := range c.modelNames() {
			choice, err := c.Models.Choose(ctx, llm.Want{Tool: "delegate", Model: name})
			if err != nil {
				// A bigger model that is not up now does not stop the small one.
				if len(f.list) == 0 || ctx.Err() != nil {
					f.err = err
					return
				}
				c.note("%s is not there to escalate to", name)
				continue
			}
			f.list = append(f.list, choice)
		}
	}()
	return func() ([]llm.Choice, error) { f := <-ch; return f.list, f.err }
}

func (c *call) modelNames() []string {
	switch {
	case len(c.req.Models) > 0:
		return c.req.Models
	case len(c.Config.Delegate.Model) > 0:
		return c.Config.Delegate.Model
	}
	return []string{""}
}

// finish applies what there is to apply and decides whether the worktree stays.
func (c *call) finish(ctx context.Context) error {
	r := c.res
	// What the user has may be better than the best candidate: an answer can turn green tests red.
	r.better = c.best != nil && c.best.green > c.red.green()
	apply := c.req.Apply == ApplyPass && r.Verdict == Pass || c.req.Apply == ApplyBest && (r.Verdict == Pass || r.better)
	if c.best != nil {
		r.Lines = c.best.lines()
		if c.req.ShowCode {
			r.Code = c.best.files
		}
	}
	if r.Verdict == Pass {
		c.remark()
	}
	if apply {
		if err := c.apply(ctx); err != nil {
			return err
		}
	}
	if c.best == nil || r.Applied && r.Verdict == Pass {
		return nil
	}
	return c.keep(ctx)
}

// apply puts the best candidate in place. When it cannot be put there it stays in the worktree, whatever the
// reason: it is what the call was made for.
func (c *call) apply(ctx context.Context) error {
	var edits []repo.Edit
	for i, rel := range c.res.Targets {
		edits = append(edits, repo.Edit{Original: c.before[i], Data: []byte(c.best.files[rel]), Mode: c.mode(i, c.best.files[rel])})
	}
	err := c.repo.Apply(ctx, c.tree, edits)
	var conflict *repo.ConflictError
	switch {
	case errors.As(err, &conflict):
		c.res.Conflict = conflict.Paths
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err() // nobody waits for the reply any more
	case err != nil:
		c.res.Error = c.Config.Redact("not applied: " + err.Error())
	default:
		c.res.Applied = true
	}
	return nil
}

// keep leaves the worktree with the best candidate in it and tells where.
func (c *call) keep(ctx context.Context) error {
	if err := c.write(c.best.files); err != nil {
		return err
	}
	if err := c.tree.Keep(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	c.kept = true
	c.res.Worktree = c.tree.Dir
	for _, rel := range c.res.Targets {
		c.res.Candidate = append(c.res.Candidate, c.tree.Path(rel))
	}
	return nil
}

// write puts files into the worktree in the form the user's files have.
func (c *call) write(files map[string]string) error {
	for i, rel := range c.res.Targets {
		if err := c.tree.Write(rel, repo.Shape(c.before[i], []byte(files[rel])), c.mode(i, files[rel])); err != nil {
			return fmt.Errorf("write %s in the worktree: %w", rel, err)
		}
	}
	return nil
}

// mode is the permission of a target: the one it has, and for a new script one with which it can be run.
func (c *call) mode(i int, text string) os.FileMode {
	if !c.before[i].Exists && strings.HasPrefix(text, "#!") {
		return 0o755
	}
	return c.before[i].Mode
}

func (c *call) say(format string, a ...any) {
	if c.Progress != nil {
		c.res.mu.Lock()
		defer c.res.mu.Unlock()
		c.Progress(c.mask(fmt.Sprintf(format, a...)))
	}
}

func (c *call) note(format string, a ...any) {
	c.res.mu.Lock()
	defer c.res.mu.Unlock()
	c.res.Notes = append(c.res.Notes, fmt.Sprintf(format, a...))
}

func (c *call) noteOnce(text string) {
	if !slices.Contains(c.res.Notes, text) {
		c.note("%s", text)
	}
}

// env is the environment of the test command.
func (c *call) env() []string {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	env = proc.CleanEnv(env)
	// Two attempts in the same second with the same length would run the first one's byte code.
	env = proc.SetEnv(env, "PYTHONDONTWRITEBYTECODE", "1")
	// A runner that watches or asks would never end.
	return proc.SetEnv(env, "CI", "true")
}
