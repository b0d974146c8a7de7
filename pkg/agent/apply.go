package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"legwork/pkg/jobs"
	"legwork/pkg/repo"
)

// Apply writes what a job left in its worktree to the checkout: all of it, or nothing when a file changed there
// meanwhile. The worktree goes then. It returns what was done, in words.
func Apply(ctx context.Context, d Deps, id string) (string, error) {
	job, err := d.Jobs.Get(id)
	if err != nil {
		return "", err
	}
	req, err := requestOf(job)
	if err != nil {
		return "", err
	}
	f := FactsOf(job)
	switch {
	case !job.State.Final():
		return "", input("job %s is %s; wait for it or cancel it first", job.ID, job.State)
	case f.Tree == nil:
		return "", input("job %s worked in place, there is nothing to apply", job.ID)
	case f.Applied:
		return "", input("job %s is applied already", job.ID)
	case f.Tree.Gone:
		return "", input("job %s changed nothing", job.ID)
	}
	home, tree, err := repo.Reopen(ctx, d.repo(), f.Tree.ID)
	if err != nil {
		return "", err
	}
	r := reopened(d, f, req, home, tree)
	if err := errors.Join(r.look(ctx), r.lookUnseen(ctx)); err != nil {
		return "", errors.Join(err, tree.Release())
	}
	left, err := applyChanges(ctx, home, tree, r.changes, true)
	if conflict, ok := errors.AsType[*repo.ConflictError](err); ok {
		return "", errors.Join(&RefusedError{fmt.Sprintf("%s; the job's versions are in %s", conflict, tree.Dir)}, tree.Release())
	}
	if err != nil {
		return "", errors.Join(err, tree.Release())
	}
	words := "applied to " + home.Top + ": " + diffTotal(r.facts.Files)
	if left = append(left, r.facts.Unseen...); len(left) > 0 {
		words += "; not applied (links, files over 64 MB, files that git ignores or that are in a submodule), still in " + tree.Dir + ": " + strings.Join(left, ", ")
		err = tree.Release()
	} else {
		r.facts.Applied = true
		err = r.drop(ctx)
	}
	b, jerr := json.Marshal(r.facts)
	if jerr == nil {
		_, jerr = d.Jobs.Amend(ctx, job.ID, func(j *jobs.Job) { j.Facts = b })
	}
	return words, errors.Join(err, jerr)
}

// reopened is the run of a job that is over, to look at what it left.
func reopened(d Deps, f Facts, req Request, home *repo.Repo, tree *repo.Tree) *run {
	r := &run{d: d, facts: f, req: req, repo: home, tree: tree, dir: tree.Dir, mask: d.Config.Masker(d.Env)}
	if rel, err := filepath.Rel(home.Top, realPath(req.Dir)); err == nil && filepath.IsLocal(rel) {
		r.dir = filepath.Join(tree.Dir, rel)
	}
	return r
}

// Clean removes a job that is over. One whose worktree holds work that is not applied is kept, unless force is set.
func Clean(ctx context.Context, d Deps, job jobs.Job, force bool) (removed bool, err error) {
	if !job.State.Final() {
		return false, nil
	}
	f := FactsOf(job)
	if job.Kind == Kind && f.Tree != nil && !f.Tree.Gone {
		home, tree, err := repo.Reopen(ctx, d.repo(), f.Tree.ID)
		switch {
		case errors.Is(err, repo.ErrNoTree), errors.Is(err, repo.ErrNoRepo):
		case err != nil:
			return false, err
		default:
			req, _ := requestOf(job) // of another version of ours: its folder is the top level, then
			r := reopened(d, f, req, home, tree)
			if err := errors.Join(r.look(ctx), r.lookUnseen(ctx)); err != nil && !force {
				return false, errors.Join(err, tree.Release())
			}
			if len(r.changes)+len(r.facts.Unseen) > 0 && !force {
				return false, tree.Release()
			}
			if err := tree.Remove(ctx); err != nil {
				return false, err
			}
		}
	}
	return true, d.Jobs.Remove(job.ID)
}
