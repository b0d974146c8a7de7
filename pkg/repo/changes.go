package repo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Change is a path that is not as it was when the tree was made.
type Change struct {
	Path string `json:"path"`
	// Kind is "new", "modified" or "deleted".
	Kind string `json:"kind"`
	// Tracked says that the file is in the repository, or was copied from the user's tree.
	Tracked bool `json:"tracked"`

	// Seen is a digest of what stood there when Since looked; empty in a Change of another origin.
	Seen string `json:"-"`
}

func (c Change) String() string { return c.Path + " (" + c.Kind + ")" }

// look lists what differs from HEAD now, with fingerprints. Our links are left out.
func (t *Tree) look(ctx context.Context) (now map[string]string, untracked map[string]bool, err error) {
	list, err := t.repo.status(ctx, t.Dir, true)
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = root.Close() }()
	now, untracked = map[string]string{}, map[string]bool{}
	for _, e := range list {
		if slices.Contains(t.meta.Links, e.path) {
			continue
		}
		now[e.path] = fingerprint(root, e.path)
		untracked[e.path] = e.untracked
	}
	for _, rel := range t.watch {
		if _, ok := now[rel]; !ok {
			now[rel] = fingerprint(root, rel)
		}
	}
	return now, untracked, nil
}

// baseline notes the state that Changes compares with.
func (t *Tree) baseline(ctx context.Context) (err error) {
	if t.start, _, err = t.look(ctx); err != nil || !t.meta.Scratch {
		return err
	}
	list, err := t.ignored(ctx, false)
	t.atStart = map[string]bool{}
	for _, p := range list {
		t.atStart[strings.TrimSuffix(p, "/")] = true
	}
	return err
}

// Changes lists what changed since the tree was made, ignored files and [Tree.Own] ones left out.
func (t *Tree) Changes(ctx context.Context) ([]Change, error) {
	now, untracked, err := t.look(ctx)
	if err != nil {
		return nil, err
	}
	var out []Change
	for path, is := range now {
		was, known := t.start[path]
		if is == was && (known || is != "") || slices.Contains(t.meta.Own, path) {
			continue
		}
		c := Change{Path: path, Kind: "modified", Tracked: known || !untracked[path]}
		switch {
		case is == "" && was == "" && known:
			continue
		case is == "":
			c.Kind = "deleted"
		case was == "" && (known || untracked[path]):
			c.Kind, c.Tracked = "new", false
		}
		out = append(out, c)
	}
	// What differed at the start and does not any more was put back to HEAD or, when untracked, deleted.
	for path, was := range t.start {
		if _, ok := now[path]; ok || slices.Contains(t.meta.Own, path) {
			continue
		}
		kind := "modified"
		if root, err := os.OpenRoot(t.Dir); err == nil {
			if fingerprint(root, path) == "" && was != "" {
				kind = "deleted"
			}
			_ = root.Close()
		}
		out = append(out, Change{Path: path, Kind: kind, Tracked: true})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out, nil
}

// Undo puts changed paths back to how they were when the tree was made.
func (t *Tree) Undo(ctx context.Context, changes []Change) error {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	// What is new goes first: it may stand where a folder was.
	for _, c := range changes {
		if c.Kind == "new" {
			if err := root.RemoveAll(filepath.FromSlash(c.Path)); err != nil {
				return fmt.Errorf("undo %s: %w", c.Path, err)
			}
		}
	}
	var tracked bytes.Buffer
	for _, c := range changes {
		switch {
		case c.Kind == "new":
		case t.mirror[c.Path]:
			if err := t.restore(root, c.Path); err != nil {
				return fmt.Errorf("undo %s: %w", c.Path, err)
			}
		default:
			if err := root.RemoveAll(filepath.FromSlash(c.Path)); err != nil {
				return fmt.Errorf("undo %s: %w", c.Path, err)
			}
			tracked.WriteString(c.Path)
			tracked.WriteByte(0)
		}
	}
	if tracked.Len() > 0 {
		_, err = t.repo.git(ctx, t.Dir, tracked.Bytes(), "checkout-index", "--force", "--index", "-z", "--stdin")
	}
	return err
}

// restore brings back a path that was copied from the user's tree.
func (t *Tree) restore(root *os.Root, rel string) error {
	name := filepath.FromSlash(rel)
	base, err := os.OpenRoot(filepath.Join(t.Home, baseName))
	if err != nil {
		return err
	}
	defer func() { _ = base.Close() }()
	st, err := base.Lstat(name)
	if err != nil {
		return root.RemoveAll(name) // it was missing in the user's tree
	}
	return copyPath(base, root, name, st)
}
