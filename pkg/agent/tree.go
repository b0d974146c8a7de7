package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"legwork/pkg/repo"
)

// branchPrefix is where the branches of jobs are.
const branchPrefix = "local-agent/"

// settle decides where the session works and makes or reopens its worktree. A worktree that was promised and cannot be
// had is an error: only where there is no repository at all, and never was one for the job, auto means in place.
func (r *run) settle(ctx context.Context) error {
	opt := r.d.repo()
	old := r.facts.Tree
	home, err := repo.Open(ctx, opt, r.req.Dir)
	if r.req.Isolation == None {
		r.workInPlace()
		if err == nil {
			r.repo, r.shared = home, home.Shared()
			if m, err := home.Moment(ctx); err == nil {
				r.before = &m
			} else {
				r.note("what changes in place is known from the tool calls alone: %s", err)
			}
		}
		return nil
	}
	if err != nil {
		if r.req.Isolation == Worktree || old != nil || !errors.Is(err, repo.ErrNoRepo) {
			return noTree(err)
		}
		r.workInPlace()
		r.note("worked in place: %s", err)
		return nil
	}
	rel, err := filepath.Rel(home.Top, realPath(r.req.Dir))
	if err != nil {
		return err
	}
	if old != nil {
		r.repo, r.tree, err = repo.Reopen(ctx, opt, old.ID)
		if err != nil && !errors.Is(err, repo.ErrNoTree) {
			return err
		}
	}
	if r.tree == nil {
		if err := r.makeTree(ctx, home, rel, old); err != nil {
			return err
		}
	}
	r.facts.Isolation = Worktree
	r.shared = r.repo.Shared()
	r.dir = filepath.Join(r.tree.Dir, rel)
	if hooks := r.tree.HooksMissing(ctx); hooks != "" {
		r.note("core.hooksPath %s does not exist in the worktree: no hook runs on commits made there", hooks)
	}
	return os.MkdirAll(r.dir, 0o755) //nolint:gosec // the user's folder, new in the commit
}

func (r *run) workInPlace() { r.dir, r.facts.Isolation = r.req.Dir, None }

// noTree says what to do when there can be no worktree.
func noTree(err error) error {
	return fmt.Errorf("no worktree: %w; with isolation none the session works in place", err)
}

func realPath(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return p
}

// makeTree makes the worktree, at its old path when the job had one: the client keeps sessions by folder.
func (r *run) makeTree(ctx context.Context, home *repo.Repo, rel string, old *Tree) error {
	wish := repo.Wish{Purpose: Kind, Links: r.d.Config.Delegate.LinkDirs, Near: []string{filepath.ToSlash(rel)}, Files: localFiles(home.Top, filepath.ToSlash(rel))}
	if old != nil {
		wish.ID = old.ID
	}
	r.h.Progress("making a worktree")
	tree, err := home.Add(ctx, wish)
	if err != nil {
		return err
	}
	r.repo, r.tree = home, tree
	r.facts.Tree = &Tree{ID: tree.ID, Dir: tree.Dir, Base: tree.Base()}
	if r.facts.Tree.Branch, err = tree.Branch(ctx, branchPrefix+r.h.ID()); err != nil {
		return err
	}
	for _, n := range tree.Notes {
		r.note("%s", n)
	}
	return errors.Join(tree.Persist(), r.h.SetFacts(r.facts))
}

// look notes what changed in the tree, by-products of test runs left out.
func (r *run) look(ctx context.Context) error {
	if r.tree == nil {
		return r.lookInPlace(ctx)
	}
	all, err := r.tree.Since(ctx)
	if err != nil {
		return fmt.Errorf("what the session changed: %w", err)
	}
	users := r.tree.Exact() // the user's rules for Claude Code, which a session must not change
	changes := slices.DeleteFunc(all, func(c repo.Change) bool {
		if slices.Contains(users, c.Path) {
			r.note("%s was changed in the worktree; it holds your own rules, and yours stays as it is", c.Path)
			return true
		}
		return c.Kind == "new" && byproduct(c.Path)
	})
	r.changes = changes
	r.facts.Files, err = r.tree.Stat(ctx, changes)
	return err
}

// lookUnseen notes what the session wrote and git says nothing of, in the tree's record too. With the tree it would be
// gone, and the gate may have passed because of it.
func (r *run) lookUnseen(ctx context.Context) error {
	named := slices.Clone(r.facts.Unseen) // of the run that this one resumes
	for _, p := range r.facts.Touched {
		if !filepath.IsAbs(p) {
			p = filepath.Join(r.dir, filepath.FromSlash(p))
		}
		for _, top := range []string{r.tree.Dir, realPath(r.tree.Dir)} {
			if rel, err := filepath.Rel(top, p); err == nil && filepath.IsLocal(rel) {
				named = append(named, filepath.ToSlash(rel))
				break
			}
		}
	}
	named = slices.DeleteFunc(named, func(p string) bool {
		return slices.ContainsFunc(r.changes, func(c repo.Change) bool { return c.Path == p })
	})
	unseen, err := r.tree.Unseen(ctx, named)
	if err != nil {
		return fmt.Errorf("what the session wrote: %w", err)
	}
	r.facts.Unseen = unseen
	return r.tree.Hold(unseen)
}

// lookInPlace adds what git says to the files that the tool calls named.
func (r *run) lookInPlace(ctx context.Context) error {
	if r.before == nil {
		return nil
	}
	changed, err := r.repo.ChangedSince(ctx, *r.before)
	if err != nil {
		return fmt.Errorf("what the session changed: %w", err)
	}
	for _, p := range changed {
		rel, err := filepath.Rel(realPath(r.dir), filepath.Join(r.repo.Top, filepath.FromSlash(p)))
		if err != nil || byproduct(p) || slices.Contains(r.facts.Touched, rel) {
			continue
		}
		r.facts.Touched = append(r.facts.Touched, rel)
	}
	return nil
}

// localFiles are the files that exist of those by which the user alone tells Claude Code what is allowed here. They
// are in no commit, and hold in the worktree too.
func localFiles(top, rel string) []string {
	var out []string
	for _, dir := range []string{".", rel} {
		for _, name := range []string{".claude/settings.local.json", "CLAUDE.local.md"} {
			file := path.Join(dir, name)
			if _, err := os.Stat(filepath.Join(top, filepath.FromSlash(file))); err == nil && !slices.Contains(out, file) {
				out = append(out, file)
			}
		}
	}
	return out
}

// startsThings tells whether a file decides what programs of the user's run by themselves: a session that may edit it
// reaches beyond its worktree (C30).
func startsThings(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if slices.Contains([]string{".claude", ".mcp.json", ".husky", ".githooks", ".envrc", ".vscode", ".legwork.yaml", ".legwork.local.yaml"}, part) {
			return true
		}
	}
	return false
}

// byproduct tells whether a new file is one that running tests leaves behind.
func byproduct(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if slices.Contains([]string{"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".nyc_output", ".coverage"}, part) {
			return true
		}
	}
	return slices.Contains([]string{".pyc", ".pyo"}, path.Ext(p))
}

// deliver applies what passed the gate, and gives the tree up: without changes it goes, else it stays.
func (r *run) deliver(ctx context.Context, v verdict) error {
	changed := r.shared.Diff(r.repo.Shared())
	if len(changed) > 0 {
		r.warn("hooks or settings of the repository itself were changed during the job: %s; look at them before anything else", strings.Join(changed, ", "))
	}
	if r.tree == nil {
		return nil
	}
	var odd []string
	for _, c := range r.changes {
		if startsThings(c.Path) {
			odd = append(odd, c.Path)
		}
	}
	if len(odd) > 0 {
		r.warn("files that decide what your tools run by themselves were changed: %s; look at them before you apply the job", strings.Join(odd, ", "))
	}
	if err := r.lookUnseen(ctx); err != nil {
		r.unsure = true
		return errors.Join(err, r.tree.Release())
	}
	passed := v.ending == Done && r.facts.Gate != nil && r.facts.Gate.Passed
	if passed && len(r.changes) > 0 && len(changed)+len(odd)+len(r.facts.Unseen) == 0 {
		left, err := applyChanges(ctx, r.repo, r.tree, r.changes, false)
		switch {
		case err != nil:
			r.note("not applied: %s", err)
		case len(left) > 0:
			r.note("not applied, because links or files over 64 MB are among the changes: %s", strings.Join(left, ", "))
		}
		r.facts.Applied = err == nil && len(left) == 0
	}
	if len(r.changes) > 0 && !r.facts.Applied || len(r.facts.Unseen) > 0 {
		return r.tree.Release()
	}
	return r.drop(ctx)
}

// drop removes the tree unless somebody locked it.
func (r *run) drop(ctx context.Context) error {
	err := r.tree.Remove(ctx)
	if errors.Is(err, repo.ErrTreeLocked) {
		r.note("%s", err)
		return nil
	}
	r.facts.Tree.Gone = err == nil || errors.Is(err, fs.ErrNotExist)
	return err
}

// applyChanges writes the changes of a tree to the checkout, all or none. What cannot be applied is in left; unless
// partly is set, nothing is written then.
func applyChanges(ctx context.Context, home *repo.Repo, tree *repo.Tree, changes []repo.Change, partly bool) (left []string, err error) {
	edits, left, err := tree.Edits(ctx, changes)
	if err != nil || len(left) > 0 && !partly {
		return left, err
	}
	return left, home.Apply(ctx, tree, edits)
}
