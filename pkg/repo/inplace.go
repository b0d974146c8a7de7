package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Moment is what git said of the user's working tree at one time, for work that is done in place.
type Moment struct {
	head  string
	files map[string]string // what differed from HEAD: path → digest of its content
}

// maxDigest bounds what is read of one file; beyond it size and time have to do.
const maxDigest = 32 << 20

// Moment notes the state of the working tree now. It costs a `git status` and reads the changed files.
func (r *Repo) Moment(ctx context.Context) (Moment, error) {
	head, err := r.git(ctx, r.Top, nil, "rev-parse", "HEAD")
	if err != nil {
		return Moment{}, err
	}
	list, err := r.status(ctx, r.Top, false)
	if err != nil {
		return Moment{}, err
	}
	m := Moment{head: strings.TrimSpace(string(head)), files: make(map[string]string, len(list))}
	for _, e := range list {
		m.files[e.path] = digest(filepath.Join(r.Top, filepath.FromSlash(e.path)))
	}
	return m, nil
}

// ChangedSince lists the paths that differ from what they were at m, committed ones included, sorted.
func (r *Repo) ChangedSince(ctx context.Context, m Moment) ([]string, error) {
	now, err := r.Moment(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for path, is := range now.files {
		if was, ok := m.files[path]; !ok || was != is {
			found[path] = true
		}
	}
	for path, was := range m.files { // clean again: taken back, or committed as it was
		if _, ok := now.files[path]; !ok && digest(filepath.Join(r.Top, filepath.FromSlash(path))) != was {
			found[path] = true
		}
	}
	if now.head != m.head {
		out, err := r.git(ctx, r.Top, nil, "diff", "--name-only", "-z", "--no-renames", m.head, now.head)
		if err != nil {
			return nil, err
		}
		for path := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
			if was, ok := m.files[path]; path != "" && (!ok || was != digest(filepath.Join(r.Top, filepath.FromSlash(path)))) {
				found[path] = true
			}
		}
	}
	out := make([]string, 0, len(found))
	for path := range found {
		out = append(out, path)
	}
	slices.Sort(out)
	return out, nil
}

// digest identifies a file's content; "" when there is no such file.
func digest(path string) string {
	st, err := os.Lstat(path)
	if err != nil || st.IsDir() {
		return ""
	}
	if st.Mode()&os.ModeSymlink != 0 {
		to, _ := os.Readlink(path) // a link that cannot be read is as good as an empty one
		return "link " + to
	}
	if st.Size() > maxDigest {
		return st.ModTime().String()
	}
	f, err := os.Open(path)
	if err != nil {
		return st.ModTime().String()
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return st.ModTime().String()
	}
	return st.Mode().String() + hex.EncodeToString(h.Sum(nil))
}
