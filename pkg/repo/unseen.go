package repo

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Unseen lists what would be lost with the tree although [Tree.Since] does not list it, sorted: those of the named
// files that stand in the tree and not like this in the user's working tree (git ignores them, say), and what was
// changed in submodules, which are plain files here that git does not look into.
func (t *Tree) Unseen(ctx context.Context, named []string) ([]string, error) {
	var out []string
	for _, rel := range named {
		if t.linked(rel) {
			continue // written to the user's own folder
		}
		is, err := t.after(rel)
		if err == nil && !is.exists {
			continue
		}
		was, werr := stateIn(t.repo.Top, rel)
		if err != nil || werr != nil || is.large || !is.same(was) {
			out = append(out, rel) // one that cannot be read may be work
		}
	}
	for _, sub := range t.meta.Plain {
		changed, err := t.unseenIn(ctx, sub)
		if err != nil {
			return nil, err
		}
		out = append(out, changed...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (t *Tree) linked(rel string) bool {
	return slices.ContainsFunc(t.meta.Links, func(link string) bool { return rel == link || strings.HasPrefix(rel, link+"/") })
}

// unseenIn compares a submodule's files with the user's. The user's git folder says which matter: a status of either
// side lists what is not as committed there, and what it ignores is left out.
func (t *Tree) unseenIn(ctx context.Context, sub string) ([]string, error) {
	theirs, ours := filepath.Join(t.repo.Top, filepath.FromSlash(sub)), t.Path(sub)
	folder, err := t.repo.git(ctx, theirs, nil, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, err
	}
	gitDir := "--git-dir=" + strings.TrimRight(string(folder), "\r\n")
	var out []string
	for _, work := range []string{theirs, ours} {
		list, err := t.repo.statusOf(ctx, t.Home, false, gitDir, "--work-tree="+work)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			rel := path.Join(sub, e.path)
			was, err := stateIn(t.repo.Top, rel)
			if err != nil {
				return nil, err
			}
			is, err := t.after(rel)
			if err != nil {
				return nil, err
			}
			if !is.same(was) {
				out = append(out, rel)
			}
		}
	}
	return out, nil
}

// Hold notes what Unseen found, so that a sweep does not take the tree; nothing ends it.
func (t *Tree) Hold(unseen []string) error {
	if len(unseen) == 0 && len(t.meta.Unseen) == 0 {
		return nil
	}
	t.meta.Unseen = unseen
	return t.save()
}
