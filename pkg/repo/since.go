package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"legwork/pkg/fsx"
)

// maxCompare is the size up to which files are compared and applied, in bytes.
const maxCompare = 64 << 20

// pathState is what stood, or stands, at a path.
type pathState struct {
	exists, link, exec bool
	large              bool   // not read
	data               []byte // a link's target, or the file's bytes
}

func (s pathState) same(o pathState) bool {
	return s.exists == o.exists && s.link == o.link && s.exec == o.exec && s.large == o.large && bytes.Equal(s.data, o.data)
}

// digest is different for states that are not the same.
func (s pathState) digest() string {
	return hashOf(fmt.Appendf(nil, "%t %t %t %t %s", s.exists, s.link, s.exec, s.large, s.data))
}

// Since lists what is not as it was when the tree was made, whether it was committed since or not. Ignored files and
// our links are left out.
func (t *Tree) Since(ctx context.Context) ([]Change, error) {
	paths, untracked, err := t.suspects(ctx)
	if err != nil {
		return nil, err
	}
	var out []Change
	for _, path := range paths {
		was, err := t.before(ctx, path)
		if err != nil {
			return nil, err
		}
		is, err := t.after(path)
		if err != nil {
			return nil, err
		}
		c := Change{Path: path, Kind: "modified", Tracked: was.exists || !untracked[path], Seen: is.digest()}
		switch {
		case was.same(is):
			continue
		case !is.exists:
			c.Kind = "deleted"
		case !was.exists:
			c.Kind = "new"
		}
		out = append(out, c)
	}
	return out, nil
}

// suspects are all paths that may have changed.
func (t *Tree) suspects(ctx context.Context) ([]string, map[string]bool, error) {
	now, untracked, err := t.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	set := map[string]bool{}
	for path := range now {
		set[path] = true
	}
	for path := range t.start {
		set[path] = true
	}
	// What was committed does not show in a status.
	out, err := t.repo.git(ctx, t.Dir, nil, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", t.meta.Head, "HEAD")
	if err != nil {
		return nil, nil, err
	}
	for path := range strings.SplitSeq(string(out), "\x00") {
		if path != "" {
			set[path] = true
		}
	}
	for _, path := range t.meta.Links {
		delete(set, path)
	}
	return slices.Sorted(maps.Keys(set)), untracked, nil
}

// before is what stood at a path when the tree was made.
func (t *Tree) before(ctx context.Context, rel string) (pathState, error) {
	if t.mirror[rel] {
		return stateIn(filepath.Join(t.Home, baseName), rel)
	}
	out, err := t.repo.git(ctx, t.Dir, nil, "ls-tree", "-z", t.meta.Head, "--", ":(literal,top)"+rel)
	if err != nil {
		return pathState{}, err
	}
	mode, rest, _ := strings.Cut(strings.TrimRight(string(out), "\x00"), " ")
	kind, _, _ := strings.Cut(rest, " ")
	if kind != "blob" {
		return pathState{}, nil
	}
	s := pathState{exists: true, link: mode == "120000", exec: mode == "100755" && runtime.GOOS != "windows"}
	filters := "--filters" // as a checkout writes it
	if s.link {
		filters = "blob"
	}
	s.data, err = t.repo.git(ctx, t.Dir, nil, "cat-file", filters, t.meta.Head+":"+rel)
	if len(s.data) > maxCompare {
		s.large, s.data = true, nil
	}
	return s, err
}

func (t *Tree) after(rel string) (pathState, error) { return stateIn(t.Dir, rel) }

func stateIn(dir, rel string) (pathState, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return pathState{}, err
	}
	defer root.Close()
	name := filepath.FromSlash(rel)
	st, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) || err == nil && st.IsDir() {
		return pathState{}, nil
	}
	if err != nil {
		return pathState{}, err
	}
	s := pathState{exists: true, exec: st.Mode().IsRegular() && st.Mode()&0o100 != 0}
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		s.link = true
		target, err := root.Readlink(name)
		s.data = []byte(target)
		return s, err
	case !st.Mode().IsRegular() || st.Size() > maxCompare:
		s.large = true
		return s, nil
	}
	s.data, err = root.ReadFile(name)
	return s, err
}

// ErrMoved says that a file changed after [Tree.Since] looked at it: what was tested then is not what stands there.
var ErrMoved = errors.New("changed since it was looked at")

// Moved names those of the changes of Since whose files are not as they were then.
func (t *Tree) Moved(changes []Change) ([]string, error) {
	var out []string
	for _, c := range changes {
		is, err := t.after(c.Path)
		if err != nil {
			return nil, err
		}
		if c.Seen != "" && c.Seen != is.digest() {
			out = append(out, c.Path)
		}
	}
	return out, nil
}

// Edits makes of changes what Apply needs. A file of the user's that is not as it was when the tree was made is a
// conflict, all of them in one *ConflictError. Links, and files over 64 MB, are not applied: they are in left. It fails
// with ErrMoved when a change is not what Since saw.
func (t *Tree) Edits(ctx context.Context, changes []Change) (edits []Edit, left []string, err error) {
	var conflict ConflictError
	for _, c := range changes {
		was, err := t.before(ctx, c.Path)
		if err != nil {
			return nil, nil, err
		}
		is, err := t.after(c.Path)
		if err != nil {
			return nil, nil, err
		}
		if c.Seen != "" && c.Seen != is.digest() {
			return nil, nil, fmt.Errorf("%s: %w", c.Path, ErrMoved)
		}
		if is.link || is.large || was.link || was.large {
			left = append(left, c.Path)
			continue
		}
		o, err := t.repo.Original(c.Path)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case o.Exists == is.exists && bytes.Equal(o.Data, is.data) && (o.Mode&0o100 != 0 == is.exec || is.exec == was.exec):
			continue // the user did the same
		case o.Exists != was.exists || !bytes.Equal(o.Data, was.data):
			conflict.Paths = append(conflict.Paths, c.Path)
			continue
		}
		e := Edit{Original: o, Data: is.data, Delete: !is.exists, Exact: !o.Exists || binary(is.data) || binary(o.Data)}
		if is.exists && is.exec != was.exec {
			e.Mode = fsx.DefaultMode
			if is.exec {
				e.Mode = 0o755
			}
		}
		edits = append(edits, e)
	}
	if len(conflict.Paths) > 0 {
		return nil, nil, &conflict
	}
	return edits, left, nil
}

func binary(b []byte) bool { return bytes.IndexByte(b, 0) >= 0 }

// FileStat is one line of a diffstat.
type FileStat struct {
	Change
	Added   int  `json:"added"`
	Removed int  `json:"removed"`
	Binary  bool `json:"binary,omitempty"` // or too large: no lines are counted
}

// maxStat is the size up to which lines are counted, in bytes.
const maxStat = 4 << 20

// Stat counts the lines of changes.
func (t *Tree) Stat(ctx context.Context, changes []Change) ([]FileStat, error) {
	tmp, err := os.MkdirTemp(t.Home, "stat-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = fsx.RemoveAll(tmp) }()
	out := make([]FileStat, len(changes))
	for i, c := range changes {
		out[i] = FileStat{Change: c, Binary: true}
		was, err := t.before(ctx, c.Path)
		if err != nil {
			return nil, err
		}
		is, err := t.after(c.Path)
		if err != nil {
			return nil, err
		}
		if was.large || is.large || max(len(was.data), len(is.data)) > maxStat {
			continue
		}
		for dir, s := range map[string]pathState{"a": was, "b": is} {
			if err := os.MkdirAll(filepath.Join(tmp, dir), 0o700); err != nil {
				return nil, err
			}
			if s.exists {
				if err := os.WriteFile(filepath.Join(tmp, dir, strconv.Itoa(i)), s.data, 0o600); err != nil {
					return nil, err
				}
			}
		}
	}
	if len(changes) == 0 {
		return out, nil
	}
	numbers, err := t.repo.git(ctx, tmp, nil, "diff", "--no-index", "--numstat", "-z", "--no-renames", "--no-ext-diff", "a", "b")
	var ge *GitError
	if err != nil && (!errors.As(err, &ge) || ge.Code != 1) { // 1: they differ
		return nil, err
	}
	return out, countLines(out, string(numbers))
}

// countLines reads numstat -z: "3 TAB 1 TAB", NUL, "a/0" or "/dev/null", NUL, "b/0" or "/dev/null", NUL, and so on.
func countLines(out []FileStat, numbers string) error {
	f := strings.Split(numbers, "\x00")
	for ; len(f) >= 3; f = f[3:] {
		added, removed, _ := strings.Cut(strings.TrimSpace(f[0]), "\t")
		name := filepath.Base(f[1])
		if name == "null" {
			name = filepath.Base(f[2])
		}
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(out) {
			return fmt.Errorf("git diff: unexpected file %q", name)
		}
		if added == "-" {
			continue
		}
		a, aerr := strconv.Atoi(added)
		r, rerr := strconv.Atoi(removed)
		if err := errors.Join(aerr, rerr); err != nil {
			return fmt.Errorf("git diff: unexpected numbers: %w", err)
		}
		out[i].Added, out[i].Removed, out[i].Binary = a, r, false
	}
	return nil
}
