package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// retryFor bounds how long Rename and RemoveAll insist. On Windows a virus scanner or an editor that has just opened
// the file makes both fail for a moment.
const retryFor = 2 * time.Second

// Rename is os.Rename that insists for up to two seconds when the system says the file is in use (Windows only;
// elsewhere such an error is final and returned at once).
func Rename(from, to string) error {
	return insist(func() error { return os.Rename(from, to) })
}

// RemoveAll removes path and what is below it, like os.RemoveAll, but also what lies in read-only folders (Go's
// module cache makes those) and, on Windows, what is in use for a moment. A link is removed, never what it points to,
// with or without a trailing slash. A missing path is no error.
func RemoveAll(path string) error {
	path = filepath.Clean(path)
	err := insist(func() error { return os.RemoveAll(path) })
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	makeWritable(path)
	return insist(func() error { return os.RemoveAll(path) })
}

// makeWritable gives the owner write access to every folder below path. What cannot be changed is left for RemoveAll
// to report.
func makeWritable(path string) {
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700) //nolint:gosec // a folder needs its search bit
		}
		return nil
	})
}

func insist(do func() error) error {
	deadline := time.Now().Add(retryFor)
	for wait := 2 * time.Millisecond; ; wait *= 2 {
		err := do()
		if err == nil || !inUse(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(wait)
	}
}
