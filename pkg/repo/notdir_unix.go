//go:build !windows

package repo

import (
	"errors"
	"syscall"
)

// isNotDir says that a parent of the path is a file.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
