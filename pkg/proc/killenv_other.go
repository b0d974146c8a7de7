//go:build !linux

package proc

import (
	"os"
	"slices"
)

// KillEnv kills every process, but this one, whose environment holds the entry kv ("NAME=value"). It is for what
// changed its session and lost its parents; the caller makes sure that nobody else carries the entry. This system
// does not show environments, so nothing is found here; a job object ends the tree on Windows.
func KillEnv(string) (int, error) { return 0, nil }

// InheritsEnv tells whether this process was started with the entry kv in its environment. This system does not show
// the environments of its ancestors.
func InheritsEnv(kv string) bool { return slices.Contains(os.Environ(), kv) }
