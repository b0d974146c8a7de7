// Package fsx is how legwork touches files that matter: it replaces them atomically, appends whole lines,
// locks across processes and decides whether a path lies inside the folders a call may use.
//
// Rules: a reader never sees half a file; a lock dies with its process; "inside" is judged after every symbolic
// link has been followed. One pitfall: lock files are never removed, because a waiter may already hold an open
// handle on the old one and would then share the lock with whoever creates the new one.
package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// DefaultMode is the mode WriteFile gives a new file when the caller passes 0.
const DefaultMode fs.FileMode = 0o644

// WriteFile replaces path by data atomically: a temporary file in the same folder is written, synced, given its
// mode and renamed over path. The mode is set exactly, whatever the umask; 0 means "the mode the file already has,
// else DefaultMode". A symbolic link is followed, so the link stays a link and its target changes. The folder must
// exist. On any error the old file is untouched and no temporary file is left.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	target, err := writeTarget(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if mode == 0 {
		mode = existingMode(target)
	}
	tmp, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".tmp-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := fill(tmp, data, mode); err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := Rename(tmp.Name(), target); err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	syncDir(filepath.Dir(target))
	return nil
}

// fill writes, syncs and closes the temporary file. Close is checked too: on a full disk or a network file system
// it may be the call that fails.
func fill(f *os.File, data []byte, mode fs.FileMode) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(mode.Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// writeTarget follows the links of path as far as they go, so that the rename replaces the file and not the link.
func writeTarget(path string) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", errors.New("it is a directory")
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return path, nil
	}
	return resolveLinks(path, 0)
}

func existingMode(path string) fs.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return DefaultMode
}

// syncDir makes the rename itself durable where the system allows a directory to be synced; elsewhere it does nothing.
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}
