package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"legwork/pkg/fsx"
)

// This file is for trees that outlive the process that made them: a job is resumed, or its result is applied, by
// another process on another day.

const startName = "start.json"

// startFile keeps what a Tree knows of the user's state when it was made.
type startFile struct {
	Mirror []string          `json:"mirror"` // paths copied from the user's tree; their bytes are in Home/base
	Start  map[string]string `json:"start"`  // path → fingerprint of what differed from HEAD
	Watch  []string          `json:"watch,omitempty"`
	Notes  []string          `json:"notes,omitempty"`
}

// Persist lets Reopen find the tree as it is known now.
func (t *Tree) Persist() error {
	f := startFile{Start: t.start, Watch: t.watch, Notes: t.Notes}
	for path := range t.mirror {
		f.Mirror = append(f.Mirror, path)
	}
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return fsx.WriteFile(filepath.Join(t.Home, startName), b, 0o600)
}

// ErrNoTree says that a worktree is gone, or was never persisted.
var ErrNoTree = errors.New("the worktree is gone")

// Reopen takes a persisted tree over from the process that made it. Errors: ErrNoTree; fsx.ErrLocked while somebody
// works in it.
func Reopen(ctx context.Context, opt Options, id string) (*Repo, *Tree, error) {
	home := filepath.Join(opt.treesDir(), filepath.Base(id))
	if _, err := os.Stat(filepath.Join(home, treeName)); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", home, ErrNoTree)
	}
	lock, err := fsx.TryLock(home + ".lock")
	if err != nil {
		return nil, nil, fmt.Errorf("worktree %s: %w", id, err)
	}
	r, t, err := reopen(ctx, opt, home)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Unlock())
	}
	t.lock = lock
	return r, t, nil
}

func reopen(ctx context.Context, opt Options, home string) (*Repo, *Tree, error) {
	var m meta
	var f startFile
	for name, into := range map[string]any{metaName: &m, startName: &f} {
		b, err := os.ReadFile(filepath.Join(home, name))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w: %w", home, ErrNoTree, err)
		}
		if err := json.Unmarshal(b, into); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", filepath.Join(home, name), err)
		}
	}
	r, err := Open(ctx, opt, m.Top)
	if err != nil {
		return nil, nil, err
	}
	if err := r.recoverApply(ctx, home); err != nil {
		return nil, nil, fmt.Errorf("a half-done apply could not be taken back: %w", err)
	}
	t := &Tree{
		ID: filepath.Base(home), Home: home, Dir: filepath.Join(home, treeName), Notes: f.Notes, repo: r, meta: m,
		mirror: map[string]bool{}, start: f.Start, watch: f.Watch,
	}
	for _, path := range f.Mirror {
		t.mirror[path] = true
	}
	return r, t, nil
}

// Release gives the tree up and leaves it where it is. Sweep takes it only when there is no work in it.
func (t *Tree) Release() error { return t.lock.Unlock() }

// Base is the commit the tree was made from.
func (t *Tree) Base() string { return t.meta.Head }

// Branch puts the tree on a new branch at its commit: name, or name-2, name-3 … when that exists; with dashes for its
// slashes when a branch stands where a folder would have to be. Remove deletes the branch unless something was
// committed on it.
func (t *Tree) Branch(ctx context.Context, name string) (string, error) {
	for n := 1; n < 100; n++ {
		branch := name
		if n > 1 {
			branch = fmt.Sprintf("%s-%d", name, n)
		}
		// Recorded first: a branch nobody knows of would stay for ever.
		old := t.meta.Branch
		t.meta.Branch = branch
		if err := t.save(); err != nil {
			return "", err
		}
		_, err := t.repo.git(ctx, t.Dir, nil, "checkout", "--quiet", "--no-track", "-b", branch)
		if err == nil {
			return branch, nil
		}
		t.meta.Branch = old
		var ge *GitError
		if flat := strings.ReplaceAll(name, "/", "-"); errors.As(err, &ge) && strings.Contains(ge.Stderr, "cannot lock ref") && flat != name {
			name, n = flat, 0
			continue
		}
		if !errors.As(err, &ge) || !strings.Contains(ge.Stderr, "already exists") {
			return "", errors.Join(err, t.save())
		}
	}
	return "", fmt.Errorf("branch %s and 98 more of its name exist", name)
}

// dropBranch deletes a tree's branch if nothing was committed on it.
func (r *Repo) dropBranch(ctx context.Context, m meta) {
	if m.Branch == "" {
		return
	}
	if _, err := r.git(ctx, r.Top, nil, "update-ref", "-d", "refs/heads/"+m.Branch, m.Head); err != nil {
		r.opt.log().Info("branch kept", "branch", m.Branch, "err", err) // it moved: somebody's commits
	}
}

// HooksMissing names the configured hooks folder when it does not exist in the tree (C11): commits made there run no
// hooks, although the user's own do. Empty when hooks are as usual.
func (t *Tree) HooksMissing(ctx context.Context) string {
	// Not through Repo.git, which sets another folder.
	out, err := t.repo.plainGit(ctx, t.Dir, "config", "--get", "core.hooksPath")
	path := strings.TrimSpace(string(out))
	if err != nil || path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "~") {
		return ""
	}
	if _, err := os.Stat(filepath.Join(t.Dir, filepath.FromSlash(path))); err == nil {
		return ""
	}
	return path
}
