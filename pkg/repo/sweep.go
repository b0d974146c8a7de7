package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"legwork/pkg/fsx"
)

// ErrTreeLocked says that somebody locked the worktree with `git worktree lock`; nothing was changed.
var ErrTreeLocked = errors.New("the worktree is locked")

const trashPrefix = ".trash-"

// Keep lets the tree stay after the call, because somebody is told its path. It is swept when it is old
// and nothing in it changed since.
func (t *Tree) Keep(ctx context.Context) error {
	now, _, err := t.look(ctx)
	if err != nil {
		return err
	}
	t.meta.Told, t.meta.Left = true, now
	return errors.Join(t.save(), t.lock.Unlock())
}

// Remove takes the tree away: our links first (their targets stay), then out of the way by one rename,
// then git's record, then the files. A tree locked by the user is refused with [ErrTreeLocked].
func (t *Tree) Remove(ctx context.Context) error {
	return errors.Join(t.repo.remove(ctx, t.Home, t.meta), dropLock(t.lock, t.Home))
}

func dropLock(lock *fsx.FileLock, home string) error {
	// Ids are never used again, so nobody waits for the file.
	err := lock.Unlock()
	_ = os.Remove(home + ".lock")
	return err
}

func (r *Repo) remove(ctx context.Context, home string, m meta) error {
	dir := filepath.Join(home, treeName)
	admin := adminOf(m, dir)
	if admin != "" && m.Ready {
		if why, err := os.ReadFile(filepath.Join(admin, "locked")); err == nil {
			return fmt.Errorf("%s: %w (%s); git worktree unlock frees it", dir, ErrTreeLocked, strings.TrimSpace(string(why)))
		}
	}
	for _, rel := range m.Links {
		if err := unlink(filepath.Join(dir, filepath.FromSlash(rel))); err != nil {
			return err
		}
	}
	trash := filepath.Join(filepath.Dir(home), trashPrefix+filepath.Base(home))
	if filepath.Base(home) != filepath.Base(trash) && !strings.HasPrefix(filepath.Base(home), trashPrefix) {
		if err := fsx.Rename(home, trash); err != nil {
			return err
		}
	} else {
		trash = home
	}
	if admin != "" {
		if err := fsx.RemoveAll(admin); err != nil {
			return err
		}
		r.tidy(ctx, filepath.Dir(admin))
	}
	r.dropBranch(ctx, m)
	return fsx.RemoveAll(trash)
}

// tidy removes git's folder of worktrees when it is empty, as git does; not while one is being added.
func (r *Repo) tidy(ctx context.Context, worktrees string) {
	quick, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if lock, err := r.lock(quick, "add"); err == nil {
		_ = os.Remove(worktrees)
		_ = lock.Unlock()
	}
}

// unlink removes a link of ours, and only a link.
func unlink(path string) error {
	path = filepath.Clean(path)
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
		return nil // the user's own folder by now; it goes, or stays, with the tree
	}
	return os.Remove(path)
}

// adminOf finds git's folder for the worktree dir; "" when there is none. It is ours only if it points back.
func adminOf(m meta, dir string) string {
	pointsBack := func(admin string) bool {
		b, err := os.ReadFile(filepath.Join(admin, "gitdir"))
		if err != nil {
			return false
		}
		back := filepath.Dir(filepath.FromSlash(strings.TrimSpace(string(b))))
		return filepath.Base(back) == treeName && filepath.Base(filepath.Dir(back)) == strings.TrimPrefix(filepath.Base(filepath.Dir(dir)), trashPrefix)
	}
	if m.Admin != "" && filepath.Base(filepath.Dir(m.Admin)) == "worktrees" && pointsBack(m.Admin) {
		return m.Admin
	}
	parent := filepath.Join(m.Common, "worktrees")
	list, err := os.ReadDir(parent)
	if err != nil {
		return ""
	}
	for _, e := range list {
		if admin := filepath.Join(parent, e.Name()); pointsBack(admin) {
			return admin
		}
	}
	return ""
}

// Swept says what a sweep found.
type Swept struct {
	Removed int
	Kept    []string // worktrees with work in them, whose owner is gone
}

// Sweep removes what calls that were killed, and kept trees older than age, left behind. A tree whose
// owner lives, or that holds work (commits, changes of somebody), stays. It costs one look at a folder
// when there is nothing to do.
func Sweep(ctx context.Context, opt Options, age time.Duration) (Swept, error) {
	var s Swept
	list, err := os.ReadDir(opt.treesDir())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	var errs []error
	for _, e := range list {
		if !e.IsDir() {
			dropOrphan(opt.treesDir(), e)
		}
		if !e.IsDir() || ctx.Err() != nil {
			continue
		}
		home := filepath.Join(opt.treesDir(), e.Name())
		id := strings.TrimPrefix(e.Name(), trashPrefix)
		lock, err := fsx.TryLock(filepath.Join(opt.treesDir(), id+".lock"))
		if err != nil {
			continue // in use
		}
		gone, err := sweepOne(ctx, opt, home, age)
		switch {
		case err != nil:
			errs = append(errs, err)
			s.Kept = append(s.Kept, home)
		case gone:
			s.Removed++
			_ = os.Remove(filepath.Join(opt.treesDir(), id+".lock"))
		case !gone:
			s.Kept = append(s.Kept, home)
		}
		_ = lock.Unlock()
	}
	return s, errors.Join(errs...)
}

// orphanAge is when a lock file without a tree is left over for certain: its owner makes the tree within
// microseconds.
const orphanAge = time.Minute

// dropOrphan removes the lock file of a tree that is gone.
func dropOrphan(dir string, e fs.DirEntry) {
	id, ok := strings.CutSuffix(e.Name(), ".lock")
	st, err := e.Info()
	if !ok || err != nil || time.Since(st.ModTime()) < orphanAge {
		return
	}
	for _, home := range []string{id, trashPrefix + id} {
		if _, err := os.Lstat(filepath.Join(dir, home)); err == nil {
			return
		}
	}
	path := filepath.Join(dir, e.Name())
	if lock, err := fsx.TryLock(path); err == nil {
		_ = os.Remove(path)
		_ = lock.Unlock()
	}
}

func sweepOne(ctx context.Context, opt Options, home string, age time.Duration) (gone bool, err error) {
	var m meta
	b, err := os.ReadFile(filepath.Join(home, metaName))
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		// Killed before its record was written, or after it was deleted; a tree cannot be there in the first case.
		if _, err := os.Lstat(filepath.Join(home, treeName)); err == nil && !strings.HasPrefix(filepath.Base(home), trashPrefix) {
			return false, nil
		}
		return true, fsx.RemoveAll(home)
	}
	r := &Repo{Top: m.Top, Common: m.Common, Head: m.Head, opt: opt}
	if err := r.recoverApply(ctx, home); err != nil {
		return false, fmt.Errorf("%s: a half-done apply could not be taken back: %w", home, err)
	}
	if strings.HasPrefix(filepath.Base(home), trashPrefix) || !m.Ready {
		return true, r.remove(ctx, home, m)
	}
	if m.Told && time.Since(m.Made) < age {
		return false, nil
	}
	t := &Tree{Home: home, Dir: filepath.Join(home, treeName), repo: r, meta: m}
	work, err := t.hasWork(ctx)
	if err != nil || work {
		return false, err
	}
	return true, r.remove(ctx, home, m)
}

// hasWork tells whether removing the tree would lose something that is not ours: commits, or changes that
// are neither what we left nor, in a scratch tree nobody was told of, by-products of a test.
func (t *Tree) hasWork(ctx context.Context) (bool, error) {
	if _, err := os.Stat(t.Dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	out, err := t.repo.git(ctx, t.Dir, nil, "rev-parse", "HEAD")
	if err != nil {
		return true, err
	}
	if strings.TrimSpace(string(out)) != t.meta.Head {
		return true, nil
	}
	if len(t.meta.Unseen) > 0 {
		return true, nil
	}
	if unseen, err := t.Unseen(ctx, nil); err != nil || len(unseen) > 0 {
		return true, err
	}
	now, untracked, err := t.look(ctx)
	if err != nil {
		return true, err
	}
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return true, err
	}
	defer func() { _ = root.Close() }()
	known, scratch := t.meta.Start, t.meta.Scratch
	if t.meta.Told {
		known, scratch = t.meta.Left, false
	} else if known == nil {
		return true, nil
	}
	ours := func(path string) bool { return !t.meta.Told && slices.Contains(t.meta.Own, path) }
	for path, is := range now {
		// A path where nothing stands is a deletion unless it was missing from the first.
		if was, ok := known[path]; ok && was == is || ours(path) || scratch && untracked[path] {
			continue
		}
		return true, nil
	}
	for path, was := range known {
		// Not in the status any more: put back to HEAD, deleted, or an ignored file that was copied.
		if _, ok := now[path]; !ok && !scratch && !ours(path) && fingerprint(root, path) != was {
			return true, nil
		}
	}
	return false, nil
}
