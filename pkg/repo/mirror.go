package repo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// copyState makes the tree look like the user's working tree: staged and unstaged changes, deletions,
// untracked files, links as links. What cannot be copied is noted.
func (t *Tree) copyState(ctx context.Context, list []entry, w Wish) error {
	if staged := stagedIndex(list); len(staged) > 0 {
		if _, err := t.repo.git(ctx, t.Dir, staged, "update-index", "-z", "--index-info"); err != nil {
			return err
		}
	}
	m, err := t.openMirror()
	if err != nil {
		return err
	}
	defer m.close()
	// Deletions first: a file may have become a folder.
	sort.SliceStable(list, func(i, j int) bool { return boolOrder(list[i].untracked, list[j].untracked) < 0 })
	nested := 0
	for _, e := range list {
		switch {
		case e.dir:
			nested++
		case e.submodule:
		default:
			if err := m.copy(e.path, e.untracked); err != nil {
				return fmt.Errorf("%s: %w", e.path, err)
			}
		}
	}
	for _, rel := range w.Files {
		if err := m.exact(rel); err != nil {
			return fmt.Errorf("%s: %w", rel, err)
		}
	}
	if nested > 0 {
		t.note("%d nested repositories not copied", nested)
	}
	if m.large > 0 {
		t.note("%d untracked files over %d MB not copied", m.large, MaxUntracked>>20)
	}
	if m.odd > 0 {
		t.note("%d sockets, pipes or devices not copied", m.odd)
	}
	if err := t.include(ctx, m); err != nil {
		return err
	}
	return t.submodules(ctx, m)
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (t *Tree) note(format string, a ...any) { t.Notes = append(t.Notes, fmt.Sprintf(format, a...)) }

// mirrorer copies paths from the user's tree into ours, and a second time to where Undo finds them. All
// three ends are rooted: no link leads out of them.
type mirrorer struct {
	t              *Tree
	from, to, base *os.Root
	large, odd     int
}

func (t *Tree) openMirror() (*mirrorer, error) {
	m := &mirrorer{t: t}
	base := filepath.Join(t.Home, baseName)
	err := os.MkdirAll(base, 0o700)
	for _, end := range []struct {
		root **os.Root
		dir  string
	}{{&m.from, t.repo.Top}, {&m.to, t.Dir}, {&m.base, base}} {
		if err == nil {
			*end.root, err = os.OpenRoot(end.dir)
		}
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *mirrorer) close() {
	for _, r := range []*os.Root{m.from, m.to, m.base} {
		if r != nil {
			_ = r.Close()
		}
	}
}

// copy brings one path over, in whatever state the user has it.
func (m *mirrorer) copy(rel string, untracked bool) error {
	name := filepath.FromSlash(rel)
	st, err := m.from.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || isNotDir(err) || err == nil && st.IsDir():
		m.t.mirror[rel] = true
		return m.to.RemoveAll(name)
	case err != nil:
		return err
	case !st.Mode().IsRegular() && st.Mode()&fs.ModeSymlink == 0:
		m.odd++
		return nil
	case untracked && st.Size() > MaxUntracked:
		m.large++
		return nil
	}
	m.t.mirror[rel] = true
	for _, to := range []*os.Root{m.to, m.base} {
		if err := copyPath(m.from, to, name, st); err != nil {
			return err
		}
	}
	return nil
}

// exact copies a file that the call is about unless its bytes are there already: line ending conversion,
// LFS and "assume unchanged" make a clean checkout differ from what the user has.
func (m *mirrorer) exact(rel string) error {
	name := filepath.FromSlash(rel)
	mine, err := m.from.ReadFile(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
			return nil
		}
		return err
	}
	if theirs, err := m.to.ReadFile(name); err == nil && bytes.Equal(mine, theirs) {
		return nil
	}
	if bytes.HasPrefix(mine, []byte("version https://git-lfs.github.com/spec/v1")) {
		m.t.note("%s is an LFS pointer; fetch it with git lfs pull", rel)
	}
	return m.copy(rel, false)
}

func copyPath(from, to *os.Root, name string, st fs.FileInfo) error {
	if dir := filepath.Dir(name); dir != "." {
		if err := to.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := to.RemoveAll(name); err != nil {
		return err
	}
	if st.Mode()&fs.ModeSymlink != 0 {
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		return to.Symlink(target, name)
	}
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return to.Chmod(name, st.Mode().Perm())
}

// submodules fills the folders of submodules with the user's local copy: no network, no registration, so
// they are plain files there, and git does not look into them.
func (t *Tree) submodules(ctx context.Context, m *mirrorer) error {
	if _, err := m.from.Lstat(".gitmodules"); err != nil {
		return nil //nolint:nilerr // there are none
	}
	out, err := t.repo.git(ctx, t.repo.Top, nil, "config", "-z", "--file", ".gitmodules", "--get-regexp", `^submodule\..*\.path$`)
	if err != nil {
		t.note("submodules: .gitmodules could not be read; their folders are empty")
		return nil //nolint:nilerr // best effort, and said
	}
	var filled, empty []string
	for rec := range strings.SplitSeq(string(out), "\x00") {
		_, rel, ok := strings.Cut(rec, "\n")
		if !ok || !filepath.IsLocal(filepath.FromSlash(rel)) {
			continue
		}
		sub := filepath.Join(t.repo.Top, filepath.FromSlash(rel))
		if _, err := os.Lstat(filepath.Join(sub, ".git")); err != nil {
			empty = append(empty, rel)
			continue
		}
		files, err := t.repo.git(ctx, sub, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
		if err != nil {
			empty = append(empty, rel)
			continue
		}
		for f := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
			name := filepath.Join(filepath.FromSlash(rel), filepath.FromSlash(f))
			st, err := m.from.Lstat(name)
			if err != nil || f == "" || !st.Mode().IsRegular() && st.Mode()&fs.ModeSymlink == 0 {
				continue
			}
			if err := copyPath(m.from, m.to, name, st); err != nil {
				return fmt.Errorf("submodule %s: %w", rel, err)
			}
		}
		filled = append(filled, rel)
	}
	t.meta.Plain = filled
	if len(filled) > 0 {
		t.note("submodules copied as plain files: %s", strings.Join(filled, ", "))
	}
	if len(empty) > 0 {
		t.note("submodules left empty, as they are in your tree: %s", strings.Join(empty, ", "))
	}
	return nil
}

// fingerprint says what stands at a path: "" nothing, else kind, mode and a hash.
func fingerprint(root *os.Root, rel string) string {
	name := filepath.FromSlash(rel)
	st, err := root.Lstat(name)
	if err != nil {
		return ""
	}
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		if err != nil {
			return "link ?"
		}
		return "link " + target
	case st.IsDir():
		return "dir"
	case !st.Mode().IsRegular():
		return "odd"
	}
	f, err := root.Open(name)
	if err != nil {
		return "file ?"
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "file ?"
	}
	return fmt.Sprintf("file %o %s", st.Mode().Perm(), hex.EncodeToString(h.Sum(nil)))
}
