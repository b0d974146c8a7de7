//go:build !windows

package repo

import "os"

func makeLink(from, to string) error { return os.Symlink(from, to) }
