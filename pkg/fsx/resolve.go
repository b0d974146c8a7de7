package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrOutside is wrapped by Resolve when a path leads out of every allowed root, directly or through a link.
var ErrOutside = errors.New("outside the allowed folders")

// maxLinks is where a chain of links counts as a loop; Linux uses the same number.
const maxLinks = 40

// Resolve turns path into an absolute path without symbolic links and checks that it lies in one of roots (the root
// itself counts as inside). A relative path is taken from the first root. Roots may themselves be links; roots that
// do not exist are skipped. The path need not exist: its existing part is resolved, a dangling link is followed to
// where it points, and the rest is appended.
//
// Errors: ErrOutside (wrapped, naming the path and where it really leads); anything else is the file system's.
// The answer is true for the moment of the call only.
func Resolve(roots []string, path string) (string, error) {
	if path == "" {
		return "", errors.New("empty path")
	}
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("path %q holds a NUL byte", path)
	}
	real := realRoots(roots)
	if len(real) == 0 {
		return "", fmt.Errorf("%s: %w: none of them exists (%s)", path, ErrOutside, strings.Join(roots, ", "))
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(real[0], path)
	}
	got, err := resolveLinks(filepath.Clean(path), 0)
	if err != nil {
		return "", err
	}
	for _, root := range real {
		if Inside(root, got) {
			return got, nil
		}
	}
	if got != filepath.Clean(path) {
		return "", fmt.Errorf("%s leads to %s: %w (%s)", path, got, ErrOutside, strings.Join(real, ", "))
	}
	return "", fmt.Errorf("%s: %w (%s)", path, ErrOutside, strings.Join(real, ", "))
}

func realRoots(roots []string) []string {
	var real []string
	for _, root := range roots {
		abs, err := filepath.Abs(root)
		if err != nil || root == "" {
			continue
		}
		if abs, err = filepath.EvalSymlinks(abs); err == nil {
			real = append(real, abs)
		}
	}
	return real
}

// resolveLinks is filepath.EvalSymlinks for paths whose end does not exist yet.
func resolveLinks(path string, links int) (string, error) {
	if links > maxLinks {
		return "", fmt.Errorf("%s: too many symbolic links", path)
	}
	got, err := filepath.EvalSymlinks(path)
	if err == nil {
		return filepath.Abs(got)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	parent, base := filepath.Split(path)
	if parent = filepath.Clean(parent); parent == path || base == "" {
		return filepath.Abs(path)
	}
	// The parent goes first: a relative link target counts from where the link really is.
	if parent, err = resolveLinks(parent, links+1); err != nil {
		return "", err
	}
	path = filepath.Join(parent, base)
	target, err := os.Readlink(path)
	if err != nil {
		return path, nil // not a link, or not there at all
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(parent, target)
	}
	return resolveLinks(filepath.Clean(target), links+1)
}

// Inside tells whether path is root or lies below it. Both must be absolute and free of links. On file systems that
// ignore case, names that differ only in case are told by comparing the folders themselves.
func Inside(root, path string) bool {
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		return true
	}
	want, err := os.Stat(root)
	if err != nil {
		return false
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, want) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
