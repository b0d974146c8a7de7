package proc

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// KillEnv kills every process, but this one, whose environment holds the entry kv ("NAME=value"). It is for what
// changed its session and lost its parents; the caller makes sure that nobody else carries the entry. Systems that do
// not show environments find nothing. It returns how many processes were signalled.
func KillEnv(kv string) (int, error) {
	seen := map[Identity]bool{} // a killed process stays in the table for a moment
	for end := time.Now().Add(killWait); ; {
		before := len(seen)
		for _, e := range table() {
			if !e.zombie && !seen[e.id] && hasEnv(e.id.PID, kv) && kill(e.id, syscall.SIGKILL) == nil {
				seen[e.id] = true
			}
		}
		if len(seen) == before || time.Now().After(end) { // nothing was forked meanwhile, or it never stops
			return len(seen), nil
		}
	}
}

func hasEnv(pid int, kv string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for have := range bytes.SplitSeq(env, []byte{0}) {
		if string(have) == kv {
			return true
		}
	}
	return false
}

// InheritsEnv tells whether this process, or one that it descends from, was started with the entry kv in its
// environment, so that cleaning one's own environment hides nothing. It sees no further than the first ancestor that
// was left by its parent, or that belongs to somebody else.
func InheritsEnv(kv string) bool {
	buf := make([]byte, 1024)
	for pid := os.Getpid(); pid > 1; {
		if hasEnv(pid, kv) {
			return true
		}
		e, ok := readStat(pid, buf)
		if !ok {
			return false
		}
		pid = e.ppid
	}
	return false
}
