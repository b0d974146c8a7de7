// Package repo hides git's sharp edges: it finds the repository of a folder, makes detached worktrees
// that look like the user's working tree (uncommitted changes included), tells what changed in them,
// puts finished files back safely and removes what is left over.
//
// Rules: the user's index, configuration, hooks and branches are never written. A worktree with work in
// it is never removed. Nothing is followed through a link, neither when copying nor when deleting. Every
// call of git runs without hooks, without the location variables a hook or an editor may have set, and
// never asks anything.
//
// Pitfall: a path relative to the working folder is not a path relative to the repository; everything
// here is relative to the top level, with slashes, and goes through [Repo.Rel] first.
package repo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"legwork/pkg/fsx"
	"legwork/pkg/proc"
)

// Errors that say why a folder cannot be worked in; they are wrapped with the folder and what helps.
var (
	ErrNoRepo    = errors.New("not inside a git repository")
	ErrBare      = errors.New("a bare repository has no files to work on")
	ErrUnborn    = errors.New("the repository has no commit yet")
	ErrOwnership = errors.New("git does not trust the owner of the repository")
	ErrGitPath   = errors.New("inside git's own folder")
)

// Options are the surroundings of all calls.
type Options struct {
	StateDir string      // worktrees and locks live below it
	Env      []string    // environment of git; nil is the process's own
	Children *proc.Group // may be nil
	Logger   *slog.Logger
}

func (o Options) log() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

func (o Options) treesDir() string { return filepath.Join(o.StateDir, "worktrees") }

// Repo is one repository with a working tree.
type Repo struct {
	Top    string // top level of the working tree, links resolved
	Common string // the git folder shared by all worktrees
	GitDir string // the git folder of this worktree
	Head   string // id of the commit checked out

	opt Options
}

// Open finds the repository that dir lies in.
func Open(ctx context.Context, opt Options, dir string) (*Repo, error) {
	r := &Repo{opt: opt}
	// One process: git prints what it knows and stops at the first question it cannot answer.
	out, err := r.git(ctx, dir, nil, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--is-inside-work-tree",
		"--git-common-dir", "--git-dir", "--show-toplevel", "HEAD^{commit}")
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) < 4 {
		return nil, explain(dir, err)
	}
	switch {
	case lines[1] != "true" && lines[0] == "true":
		return nil, fmt.Errorf("%s: %w; call it from a clone with a working tree", dir, ErrBare)
	case lines[1] != "true":
		return nil, fmt.Errorf("%s: %w; call it from the working tree", dir, ErrGitPath)
	case len(lines) < 5:
		return nil, explain(dir, err)
	}
	r.Common, r.GitDir = filepath.FromSlash(lines[2]), filepath.FromSlash(lines[3])
	if r.Top, err = filepath.EvalSymlinks(filepath.FromSlash(lines[4])); err != nil {
		return nil, fmt.Errorf("top level of the repository: %w", err)
	}
	if len(lines) < 6 || strings.HasPrefix(lines[5], "HEAD") {
		return nil, fmt.Errorf("%s: %w; make a first commit (git commit --allow-empty -m start), then try again", r.Top, ErrUnborn)
	}
	head := lines[5]
	r.Head = head
	return r, nil
}

// explain turns git's refusals into ours, with its own words where they hold the fix.
func explain(dir string, err error) error {
	var ge *GitError
	if !errors.As(err, &ge) {
		return err
	}
	switch {
	case ge.Code == 127:
		return fmt.Errorf("git was not found; install it and try again: %w", err)
	case strings.Contains(ge.Stderr, "dubious ownership"):
		return fmt.Errorf("%w: %s", ErrOwnership, ge.Stderr)
	case strings.Contains(ge.Stderr, "not a git repository"):
		return fmt.Errorf("%s: %w; make one (git init, git add, git commit) or call it from a project that is one", dir, ErrNoRepo)
	}
	return err
}

// Rel turns a path (absolute, or relative to dir) into one relative to the top level, with slashes. It
// refuses what lies outside the repository or in git's own folders, links followed. The file need not exist.
func (r *Repo) Rel(dir, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	abs, err := fsx.Resolve([]string{r.Top}, path)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(r.Top, abs)
	if err != nil {
		return "", err
	}
	rel = filepath.ToSlash(rel)
	for part := range strings.SplitSeq(rel, "/") {
		// NTFS and HFS+ take more spellings for the folder .git; git itself refuses these too.
		clean := strings.TrimRight(strings.ToLower(strings.ReplaceAll(part, "\u200c", "")), " .")
		if clean == ".git" || clean == "git~1" || strings.HasPrefix(clean, ".git:") {
			return "", fmt.Errorf("%s: %w", path, ErrGitPath)
		}
	}
	return rel, nil
}

// key names the repository in our own folders.
func (r *Repo) key() string {
	sum := sha256.Sum256([]byte(r.Common))
	return hex.EncodeToString(sum[:8])
}

// lock takes one of the repository's locks over all processes of the machine.
func (r *Repo) lock(ctx context.Context, name string) (*fsx.FileLock, error) {
	dir := filepath.Join(r.opt.StateDir, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return fsx.Lock(ctx, filepath.Join(dir, name+"-"+r.key()))
}

// GitError is a git call that failed.
type GitError struct {
	Args   []string
	Code   int
	Ending string
	Stderr string // its last 4 KB
}

// Error names the call, how it ended and what git said.
func (e *GitError) Error() string {
	return fmt.Sprintf("git %s: %s: %s", strings.Join(e.Args, " "), e.Ending, strings.TrimSpace(e.Stderr))
}

// gitTimeout bounds one call; the largest is the checkout of a worktree.
const gitTimeout = 10 * time.Minute

// always are the settings of every call of ours: no hooks (a failing post-checkout makes a finished
// worktree look failed), no daemon, no signing, LFS files as pointers in both directions so that a missing
// git-lfs stops nothing.
func always() []string {
	return []string{
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false", "-c", "gc.auto=0",
		"-c", "maintenance.auto=false", "-c", "filter.lfs.smudge=", "-c", "filter.lfs.clean=", "-c", "filter.lfs.process=",
		"-c", "filter.lfs.required=false", "-c", "core.quotePath=false", "-c", "advice.detachedHead=false", "-c", "checkout.workers=0",
	}
}

// git runs one call in dir and returns what it printed.
func (r *Repo) git(ctx context.Context, dir string, stdin []byte, args ...string) ([]byte, error) {
	return r.run(ctx, dir, stdin, always(), args)
}

// plainGit is git with the user's settings in force, to read them.
func (r *Repo) plainGit(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return r.run(ctx, dir, nil, nil, args)
}

func (r *Repo) run(ctx context.Context, dir string, stdin []byte, settings, args []string) ([]byte, error) {
	env := r.opt.Env
	if env == nil {
		env = os.Environ()
	}
	env = proc.CleanEnv(env)
	env = proc.SetEnv(env, "LC_ALL", "C")
	env = proc.SetEnv(env, "GIT_LFS_SKIP_SMUDGE", "1")
	var out bytes.Buffer
	tail := &tailBuffer{max: 4 << 10}
	spec := proc.Spec{
		Argv: append(append([]string{"git"}, settings...), args...), Dir: dir, Env: env, Stdout: &out, Stderr: tail, Timeout: gitTimeout,
	}
	if stdin != nil {
		spec.Stdin = bytes.NewReader(stdin)
	}
	exit, err := r.opt.Children.Run(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !exit.OK() {
		return out.Bytes(), &GitError{Args: args, Code: exit.Code, Ending: exit.String(), Stderr: tail.String()}
	}
	return out.Bytes(), nil
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct {
	max int
	b   []byte
}

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > t.max {
		t.b = append(t.b[:0], t.b[len(t.b)-t.max:]...)
	}
	return len(p), nil
}

func (t *tailBuffer) String() string { return strings.TrimSpace(string(t.b)) }
