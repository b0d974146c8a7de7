package repo

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Git's changes say nothing of ignored files, yet a later run reads what an earlier one left in them.

// ignored lists the ignored files of the tree with slashes; with whole, a folder of nothing else as one entry that
// ends in a slash.
func (t *Tree) ignored(ctx context.Context, whole bool) ([]string, error) {
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard"}
	if whole {
		args = append(args, "--directory")
	}
	out, err := t.repo.git(ctx, t.Dir, nil, args...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Split(string(out), "\x00"), func(p string) bool { return p == "" }), nil
}

// DropIgnored deletes the ignored files that were not there when the tree was made, for which keep does not say true.
// Links to dependency folders, what lies behind them and [Tree.Own] files stay.
func (t *Tree) DropIgnored(ctx context.Context, keep func(rel string) bool) error {
	list, err := t.ignored(ctx, true)
	if err != nil || len(list) == 0 {
		return err
	}
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	stays := func(rel string) bool {
		return t.atStart[rel] || slices.Contains(t.meta.Links, rel) || slices.Contains(t.meta.Own, rel) || keep(rel)
	}
	for _, entry := range list {
		top := strings.TrimSuffix(entry, "/")
		if !strings.HasSuffix(entry, "/") { // walking would follow a link
			if !stays(top) {
				if err := root.Remove(filepath.FromSlash(top)); err != nil && !os.IsNotExist(err) {
					return fmt.Errorf("remove what a run left: %w", err)
				}
			}
			continue
		}
		err := fs.WalkDir(root.FS(), top, func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case stays(p) && d.IsDir():
				return fs.SkipDir
			case d.IsDir() && !t.holds(p, keep):
				if err := root.RemoveAll(filepath.FromSlash(p)); err != nil {
					return err
				}
				return fs.SkipDir
			case d.IsDir() || stays(p):
				return nil
			}
			return root.Remove(filepath.FromSlash(p))
		})
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("remove what a run left in %s: %w", entry, err)
		}
	}
	return nil
}

// holds says that something that stays may lie below a folder.
func (t *Tree) holds(dir string, keep func(string) bool) bool {
	below := func(p string) bool { return strings.HasPrefix(p, dir+"/") }
	for p := range t.atStart {
		if below(p) {
			return true
		}
	}
	if slices.ContainsFunc(t.meta.Links, below) || slices.ContainsFunc(t.meta.Own, below) {
		return true
	}
	found := false
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return true
	}
	defer func() { _ = root.Close() }()
	_ = fs.WalkDir(root.FS(), dir, func(p string, _ fs.DirEntry, err error) error {
		if found = err == nil && keep(p); found {
			return fs.SkipAll
		}
		return nil
	})
	return found
}
