package repo

import (
	"context"
	"crypto/rand"
	"encoding/base32"
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
	"legwork/pkg/proc"
)

// MaxUntracked is the size up to which untracked files are copied into a worktree, in bytes.
const MaxUntracked = 10 << 20

// Wish says what a worktree is for.
type Wish struct {
	Purpose string   // "delegate", "run_agent"
	Links   []string // names of dependency folders to link (node_modules …), looked for in Near and above
	Near    []string // folders that matter, relative to the top level
	Files   []string // files that must be there byte for byte as the user has them, relative to the top level
	ID      string   // of a tree that was removed, to have one at the same path again; "" is a new one
	Scratch bool     // nobody but the caller's own tests works in it: what they leave behind is no work
}

// Tree is a detached worktree that looked like the user's working tree when it was made.
type Tree struct {
	ID   string
	Home string // our folder for it, with room for logs
	Dir  string // the working tree
	// Notes are facts a reader of results must know: what was not copied, what is not the same.
	Notes []string

	repo   *Repo
	meta   meta
	lock   *fsx.FileLock
	mirror map[string]bool   // paths copied from the user's tree; their bytes are in Home/base
	start  map[string]string // path → fingerprint of what differs from HEAD, as the tree was made
	watch  []string          // looked at even when git says nothing of them
	// atStart are the ignored files that were copied in; nil until a scratch tree is made.
	atStart map[string]bool
}

// meta is what a later process must know of a tree, kept in Home/tree.json.
type meta struct {
	Purpose string    `json:"purpose"`
	Scratch bool      `json:"scratch,omitempty"`
	Top     string    `json:"top"`
	Common  string    `json:"common"`
	Admin   string    `json:"admin,omitempty"` // git's folder for the worktree
	Head    string    `json:"head"`
	Owner   string    `json:"owner"` // proc.Identity
	Made    time.Time `json:"made"`
	Ready   bool      `json:"ready"`            // until then nothing but copies of ours is in it
	Links   []string  `json:"links,omitempty"`  // our links, relative
	Branch  string    `json:"branch,omitempty"` // that Tree.Branch made
	Own     []string  `json:"own,omitempty"`    // files that we write, relative
	// Start is path → fingerprint of all that differed from HEAD when the tree was made; nil in a record of an older version.
	Start map[string]string `json:"start"`
	// Plain are the submodules whose files were copied; Unseen is work that git says nothing of (see [Tree.Hold]).
	Plain  []string `json:"plain,omitempty"`
	Unseen []string `json:"unseen,omitempty"`
	// Told is set once somebody was given the path: from then on changes may be theirs.
	Told bool `json:"told,omitempty"`
	// Left is, once told, path → fingerprint of all that differed from HEAD then.
	Left map[string]string `json:"left,omitempty"`
}

const (
	metaName = "tree.json"
	treeName = "tree"
	baseName = "base"
)

// Add makes a worktree of HEAD, copies the uncommitted state of the user's working tree into it and links
// dependency folders. Everything it makes is found again by [Sweep] if this process dies.
func (r *Repo) Add(ctx context.Context, w Wish) (_ *Tree, err error) {
	t, err := r.newTree(w)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			if rerr := t.Remove(context.WithoutCancel(ctx)); rerr != nil {
				r.opt.log().Warn("half-made worktree", "path", t.Home, "err", rerr)
			}
		}
	}()
	// The user's state is read while git checks out.
	type dirty struct {
		list []entry
		err  error
	}
	found := make(chan dirty, 1)
	go func() {
		list, err := r.status(ctx, r.Top, false)
		found <- dirty{list, err}
	}()
	err = r.checkout(ctx, t)
	d := <-found
	// git may trip over the records of a worktree that is just being made, by us or by another process.
	for try := 0; try < 5 && err == nil && d.err != nil && ctx.Err() == nil; try++ {
		time.Sleep(time.Duration(try) * 50 * time.Millisecond)
		d.list, d.err = r.status(ctx, r.Top, false)
	}
	if err = errors.Join(err, d.err); err != nil {
		return nil, fmt.Errorf("make a worktree: %w", err)
	}
	if err = t.copyState(ctx, d.list, w); err != nil {
		return nil, fmt.Errorf("copy the uncommitted state: %w", err)
	}
	if err = t.link(w); err != nil {
		return nil, fmt.Errorf("link dependencies: %w", err)
	}
	if err = t.baseline(ctx); err != nil {
		return nil, err
	}
	t.meta.Start, t.meta.Ready = t.start, true
	return t, t.save()
}

// newTree takes an id and its lock, and writes the record before anything else exists.
func (r *Repo) newTree(w Wish) (*Tree, error) {
	var raw [5]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return nil, err
	}
	id := "w" + strings.ToLower(base32.StdEncoding.EncodeToString(raw[:]))
	if w.ID != "" {
		id = filepath.Base(w.ID)
	}
	home := filepath.Join(r.opt.treesDir(), id)
	if err := os.MkdirAll(r.opt.treesDir(), 0o700); err != nil {
		return nil, err
	}
	lock, err := fsx.TryLock(home + ".lock")
	if err != nil {
		return nil, err
	}
	t := &Tree{
		ID: id, Home: home, Dir: filepath.Join(home, treeName), repo: r, lock: lock, mirror: map[string]bool{}, watch: w.Files,
		meta: meta{Purpose: w.Purpose, Scratch: w.Scratch, Top: r.Top, Common: r.Common, Head: r.Head, Owner: proc.Self().String(), Made: time.Now()},
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		_ = lock.Unlock()
		return nil, err
	}
	return t, t.save()
}

func (t *Tree) save() error {
	b, err := json.Marshal(t.meta)
	if err != nil {
		return err
	}
	return fsx.WriteFile(filepath.Join(t.Home, metaName), b, 0o600)
}

// addTries is how often adding is tried when another git holds a lock of the repository.
const addTries = 5

// checkout makes the worktree. Registering races on files of the shared git folder, so it is done by one
// process at a time; filling it, which takes long, is not.
func (r *Repo) checkout(ctx context.Context, t *Tree) error {
	lock, err := r.lock(ctx, "add")
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		_, err = r.git(ctx, r.Top, nil, "worktree", "add", "--detach", "--no-checkout", t.Dir, r.Head)
		var ge *GitError
		if err == nil || try == addTries || !errors.As(err, &ge) || !strings.Contains(ge.Stderr, ".lock") {
			break
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), lock.Unlock())
		case <-time.After(time.Duration(try) * 50 * time.Millisecond):
		}
	}
	if err = errors.Join(err, lock.Unlock()); err != nil {
		return err
	}
	out, err := r.git(ctx, t.Dir, nil, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir")
	if err != nil {
		return err
	}
	// With worktree configuration in play (submodules), git can take another folder for the working tree.
	// Nothing may be written then.
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	top, terr := filepath.EvalSymlinks(filepath.FromSlash(lines[0]))
	dir, derr := filepath.EvalSymlinks(t.Dir)
	if len(lines) != 3 || terr != nil || derr != nil || top != dir {
		return fmt.Errorf("git takes %s for the working tree of %s (core.worktree or worktree configuration); not used", lines[0], t.Dir)
	}
	t.meta.Admin = filepath.FromSlash(lines[1])
	if err := t.save(); err != nil {
		return err
	}
	_, err = r.git(ctx, t.Dir, nil, "reset", "--hard", "--quiet", "--no-recurse-submodules")
	return err
}

// link puts links to the user's dependency folders where the worktree has none.
func (t *Tree) link(w Wish) error {
	seen := map[string]bool{}
	for _, near := range append([]string{"."}, w.Near...) {
		for dir := filepath.ToSlash(filepath.Clean(near)); ; dir = filepath.ToSlash(filepath.Dir(dir)) {
			for _, name := range w.Links {
				rel := filepath.ToSlash(filepath.Join(dir, name))
				if seen[rel] || !filepath.IsLocal(rel) {
					continue
				}
				seen[rel] = true
				if err := t.linkOne(rel); err != nil {
					return err
				}
			}
			if dir == "." || dir == "/" {
				break
			}
		}
	}
	return t.save()
}

func (t *Tree) linkOne(rel string) error {
	from, to := filepath.Join(t.repo.Top, filepath.FromSlash(rel)), filepath.Join(t.Dir, filepath.FromSlash(rel))
	st, err := os.Stat(from)
	if err != nil || !st.IsDir() {
		return nil //nolint:nilerr // nothing to link
	}
	if _, err := os.Lstat(to); err == nil {
		return nil // tracked, so it is there already
	}
	if st, err := os.Stat(filepath.Dir(to)); err != nil || !st.IsDir() {
		return nil //nolint:nilerr // a folder the commit does not have
	}
	links, err := t.plan(rel)
	if err != nil {
		return err
	}
	// Recorded first: a link nobody knows of would count as work.
	for _, l := range links {
		t.meta.Links = append(t.meta.Links, l.rel)
	}
	if err := t.save(); err != nil {
		return err
	}
	for _, l := range links {
		at := filepath.Join(t.Dir, filepath.FromSlash(l.rel))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // like the folders beside it
			return err
		}
		if err := makeLink(l.to, at); err != nil {
			return err
		}
	}
	return nil
}

// Links are the dependency folders that are links to the user's, relative to the top level.
func (t *Tree) Links() []string { return slices.Clone(t.meta.Links) }

// Exact are the files of [Wish.Files].
func (t *Tree) Exact() []string { return slices.Clone(t.watch) }

// Path is the absolute path of a file of the tree.
func (t *Tree) Path(rel string) string { return filepath.Join(t.Dir, filepath.FromSlash(rel)) }

// Own names files that the caller writes: they are no changes of somebody else.
func (t *Tree) Own(rels ...string) error {
	t.meta.Own = append(t.meta.Own, rels...)
	return t.save()
}

// Read reads a file of the tree, not through a link that leads out of it.
func (t *Tree) Read(rel string) ([]byte, error) {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return root.ReadFile(filepath.FromSlash(rel))
}

// Write replaces a file of the tree, making its folders; it never leaves the tree through a link. A mode of
// 0 keeps the file's, else 0644.
func (t *Tree) Write(rel string, data []byte, mode fs.FileMode) error {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return writeIn(root, rel, data, mode)
}

// Delete removes a file of the tree; a missing one is no error.
func (t *Tree) Delete(rel string) error {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return root.RemoveAll(filepath.FromSlash(rel))
}

func writeIn(root *os.Root, rel string, data []byte, mode fs.FileMode) error {
	name := filepath.FromSlash(rel)
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if mode == 0 {
		mode = fsx.DefaultMode
		if st, err := root.Lstat(name); err == nil && st.Mode().IsRegular() {
			mode = st.Mode().Perm()
		}
	}
	// A new file, so that nobody who holds the old one, or a link to it, sees half of this.
	tmp := name + ".legwork-tmp"
	if err := root.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	err := root.Chmod(tmp, mode.Perm())
	if err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		_ = root.Remove(tmp)
	}
	return err
}
