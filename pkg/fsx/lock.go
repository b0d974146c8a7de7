package fsx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked is returned by TryLock when another process, or another caller in this one, holds the lock.
var ErrLocked = errors.New("locked by another process")

// lockPoll is how often a waiter asks again; the kernel's blocking lock cannot be cancelled.
const lockPoll = 15 * time.Millisecond

// FileLock is a held lock. The kernel drops it when the process ends, however it ends.
type FileLock struct{ f *flock.Flock }

// Lock waits for the exclusive lock on path, creating the file (0600) if needed, until ctx is done. Use a file that
// is nothing but a lock: on Windows nobody can read a locked file.
func Lock(ctx context.Context, path string) (*FileLock, error) {
	f := flock.New(path, flock.SetPermissions(0o600))
	ok, err := f.TryLockContext(ctx, lockPoll)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, ErrLocked)
	}
	return &FileLock{f}, nil
}

// TryLock is Lock without waiting; it returns ErrLocked (wrapped) when the lock is taken.
func TryLock(path string) (*FileLock, error) {
	f := flock.New(path, flock.SetPermissions(0o600))
	ok, err := f.TryLock()
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, ErrLocked)
	}
	return &FileLock{f}, nil
}

// Unlock releases the lock. The file stays.
func (l *FileLock) Unlock() error {
	return l.f.Close()
}

// AppendLine adds line and a newline to path, creating it with mode. Lines of several processes never mix: a lock on
// path+".lock" is held for the write. When an earlier writer died half-way the torn line is ended first, so it spoils
// nothing but itself. The line itself must not hold a newline.
func AppendLine(path string, line []byte, mode fs.FileMode) (err error) {
	if bytes.IndexByte(line, '\n') >= 0 {
		return fmt.Errorf("append to %s: the line holds a newline", path)
	}
	lock, err := Lock(context.Background(), path+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, mode)
	if err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buf := make([]byte, 0, len(line)+2)
	if torn(f) {
		buf = append(buf, '\n')
	}
	buf = append(append(buf, line...), '\n')
	if _, err := f.Write(buf); err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	return nil
}

// torn tells whether the file's last line has no end.
func torn(f *os.File) bool {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, end-1)
	return err == nil && last[0] != '\n'
}
