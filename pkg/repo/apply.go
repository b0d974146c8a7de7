package repo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"legwork/pkg/fsx"
)

// Original is a file of the user's as it was when the work began.
type Original struct {
	Rel    string
	Exists bool
	Data   []byte
	Mode   fs.FileMode
}

// Original reads one file of the user's working tree.
func (r *Repo) Original(rel string) (Original, error) {
	o := Original{Rel: rel}
	path := filepath.Join(r.Top, filepath.FromSlash(rel))
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	if !st.Mode().IsRegular() {
		return o, fmt.Errorf("%s is not a regular file", rel)
	}
	o.Exists, o.Mode = true, st.Mode().Perm()
	o.Data, err = os.ReadFile(path)
	return o, err
}

// Edit is a new content for a file.
type Edit struct {
	Original Original
	Data     []byte
	Delete   bool        // the file goes
	Exact    bool        // Data is written as it is, not in the form of the original: binary files, new files of an editor
	Mode     fs.FileMode // 0: the original's
}

// bytes is what the file will hold.
func (e Edit) bytes() []byte {
	if e.Exact {
		return e.Data
	}
	return Shape(e.Original, e.Data)
}

// ConflictError says which files changed since the work began; nothing was written.
type ConflictError struct{ Paths []string }

func (e *ConflictError) Error() string {
	return strings.Join(e.Paths, ", ") + " changed meanwhile; not applied"
}

const journalName = "apply.json"

// journalFile is what a half-done Apply must know to be taken back.
type journalFile struct {
	Path    string      `json:"path"`
	Existed bool        `json:"existed"`
	Mode    fs.FileMode `json:"mode"`
	New     string      `json:"new"` // hash of what was written; "" when the file was deleted
}

// Apply writes the edits to the user's working tree: all of them or none. A file that is not byte for byte
// as its Original says stops everything with a [*ConflictError]. Mode, byte order mark, line endings and
// final newline stay as they were. t is the tree the edits come from; it keeps the way back if we die.
func (r *Repo) Apply(ctx context.Context, t *Tree, edits []Edit) error {
	lock, err := r.lock(ctx, "apply")
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	var conflict ConflictError
	for _, e := range edits {
		now, err := r.Original(e.Original.Rel)
		if err != nil {
			return err
		}
		if now.Exists != e.Original.Exists || !bytes.Equal(now.Data, e.Original.Data) {
			conflict.Paths = append(conflict.Paths, e.Original.Rel)
		}
	}
	if len(conflict.Paths) > 0 {
		return &conflict
	}
	journal := filepath.Join(t.Home, journalName)
	if len(edits) > 1 {
		if err := r.writeJournal(t.Home, edits); err != nil {
			return err
		}
	}
	for i, e := range edits {
		if err := r.carryOut(e); err != nil {
			for _, back := range edits[:i] {
				err = errors.Join(err, r.takeBack(back.Original))
			}
			return fmt.Errorf("apply: %w", err)
		}
	}
	if len(edits) > 1 {
		return os.Remove(journal)
	}
	return nil
}

func (r *Repo) carryOut(e Edit) error {
	if e.Delete {
		return os.Remove(filepath.Join(r.Top, filepath.FromSlash(e.Original.Rel)))
	}
	o := e.Original
	if e.Mode != 0 {
		o.Mode = e.Mode
	}
	return r.put(o, e.bytes())
}

func (r *Repo) put(o Original, data []byte) error {
	path := filepath.Join(r.Top, filepath.FromSlash(o.Rel))
	// The folder may have become a link since the start.
	if _, err := fsx.Resolve([]string{r.Top}, path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a source folder, like its siblings
		return err
	}
	return fsx.WriteFile(path, data, o.Mode)
}

func (r *Repo) takeBack(o Original) error {
	if o.Exists {
		return r.put(o, o.Data)
	}
	return os.Remove(filepath.Join(r.Top, filepath.FromSlash(o.Rel)))
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (r *Repo) writeJournal(home string, edits []Edit) error {
	var list []journalFile
	for i, e := range edits {
		path := filepath.Join(r.Top, filepath.FromSlash(e.Original.Rel))
		f := journalFile{Path: path, Existed: e.Original.Exists, Mode: e.Original.Mode}
		if !e.Delete {
			f.New = hashOf(e.bytes())
		}
		list = append(list, f)
		if err := fsx.WriteFile(savedName(home, i), e.Original.Data, 0o600); err != nil {
			return err
		}
	}
	b, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return fsx.WriteFile(filepath.Join(home, journalName), b, 0o600)
}

func savedName(home string, i int) string { return filepath.Join(home, "original-"+strconv.Itoa(i)) }

// recoverApply takes back what an Apply that died half-way wrote. A file that somebody changed since stays.
func (r *Repo) recoverApply(ctx context.Context, home string) error {
	b, err := os.ReadFile(filepath.Join(home, journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list []journalFile
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		return err
	}
	lock, err := r.lock(ctx, "apply")
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	for i, f := range list {
		now, err := os.ReadFile(f.Path)
		deleted := f.New == "" && errors.Is(err, fs.ErrNotExist)
		if !deleted && (err != nil || hashOf(now) != f.New) {
			continue
		}
		if !f.Existed {
			err = os.Remove(f.Path)
		} else if b, rerr := os.ReadFile(savedName(home, i)); rerr != nil {
			err = rerr
		} else {
			err = fsx.WriteFile(f.Path, b, f.Mode)
		}
		if err != nil {
			return err
		}
	}
	return os.Remove(filepath.Join(home, journalName))
}
