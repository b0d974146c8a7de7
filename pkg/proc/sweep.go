package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// recordName is the file that stands for a living child of an owner.
func recordName(owner, child Identity) string { return owner.String() + "-" + child.String() }

// record notes a child. Without the note only a sweep after a crash loses something, so a full disk is no reason not
// to run a command.
func (g *Group) record(child Identity) {
	if g.Dir == "" {
		return
	}
	if os.MkdirAll(g.Dir, 0o700) == nil {
		_ = os.WriteFile(filepath.Join(g.Dir, recordName(Self(), child)), nil, 0o600)
	}
}

func (g *Group) forget(child Identity) {
	if g.Dir != "" {
		_ = os.Remove(filepath.Join(g.Dir, recordName(Self(), child)))
	}
}

// Sweep ends what servers that were killed left running: it reads the records in dir (Group.Dir), skips those whose
// owner lives, kills the trees of the others (KillTree) and removes their records. It returns how many processes were
// signalled. A missing folder is no error. Cost: one file name each, and one look through the process table for each
// record of a dead owner.
func Sweep(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("sweep children of earlier servers: %w", err)
	}
	killed := 0
	for _, e := range entries {
		first, second, _ := strings.Cut(e.Name(), "-")
		owner, err1 := ParseIdentity(first)
		child, err2 := ParseIdentity(second)
		if err1 != nil || err2 != nil || Alive(owner) {
			continue
		}
		// A child that was over before it could be looked at has no start time, and nothing to end.
		if child.Start != 0 {
			n, err := KillTree(child)
			if err != nil {
				return killed, err
			}
			killed += n
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return killed, fmt.Errorf("sweep children of earlier servers: %w", err)
		}
	}
	return killed, nil
}

// LeftBehind lists the children of owners that are gone and that still run, as recorded in dir (Group.Dir). It only
// looks; Sweep ends them.
func LeftBehind(dir string) []Identity {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var left []Identity
	for _, e := range entries {
		first, second, _ := strings.Cut(e.Name(), "-")
		owner, err1 := ParseIdentity(first)
		child, err2 := ParseIdentity(second)
		if err1 == nil && err2 == nil && !Alive(owner) && Alive(child) {
			left = append(left, child)
		}
	}
	return left
}

// Busy tells whether another process of ours that lives has children recorded in dir (Group.Dir).
func Busy(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		first, _, _ := strings.Cut(e.Name(), "-")
		if owner, err := ParseIdentity(first); err == nil && owner != Self() && Alive(owner) {
			return true
		}
	}
	return false
}
