package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Identity names one process for good: a pid alone is reused. It is written to disk by what must be found again after
// a restart. The zero value names nobody.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // when it started, in the system's own unit (ticks since boot, microseconds, 100 ns)
}

// String is "pid.start", which ParseIdentity reads.
func (id Identity) String() string { return fmt.Sprintf("%d.%d", id.PID, id.Start) }

// ParseIdentity reads what String wrote.
func ParseIdentity(s string) (Identity, error) {
	pid, start, ok := strings.Cut(s, ".")
	p, err1 := strconv.Atoi(pid)
	t, err2 := strconv.ParseUint(start, 10, 64)
	if !ok || err1 != nil || err2 != nil || p <= 0 {
		return Identity{}, fmt.Errorf("%q is not a process identity (pid.start)", s)
	}
	return Identity{PID: p, Start: t}, nil
}

// Self is the identity of this process.
func Self() Identity {
	id, _ := Find(os.Getpid())
	return id
}

// Find returns the identity of the process that has pid now; false when there is none.
func Find(pid int) (Identity, bool) {
	start, ok := startTime(pid)
	if !ok {
		return Identity{}, false
	}
	return Identity{PID: pid, Start: start}, true
}

// Alive tells whether exactly this process still runs; a zombie does not, another process with the same pid neither.
func Alive(id Identity) bool {
	now, ok := Find(id.PID)
	return ok && id.Start != 0 && now == id
}

// KillTree kills what the process id started and itself, for a sweep after a crash: its session and group, its
// descendants, and on Linux what still carries the mark of its call. When id itself is gone, only members of its
// session that are younger than it and (on Linux) carry a mark of ours are killed; a stranger that got the pid since
// is never touched. It returns how many processes were signalled; none is no error.
func KillTree(id Identity) (int, error) {
	if id.PID <= 1 || id.Start == 0 {
		return 0, fmt.Errorf("%w: %v is not a process to kill", ErrSpec, id)
	}
	return killTree(id)
}
