package digest

import (
	"bytes"
	"strings"
	"sync"
)

// Severity levels of a line.
const (
	sevNone    = iota
	sevSummary // totals and verdicts: "12 passed", "real 1m2s"
	sevWarn
	sevError
	sevFatal
)

// severityWords maps words to levels. Stems are used, so one form is enough.
var severityWords = sync.OnceValue(func() map[uint64]uint8 {
	m := map[uint64]uint8{}
	for level, list := range map[uint8]string{
		sevWarn: `warn warning retry retrying deprecated skipped slow degraded unhealthy ignoring unknown
			unrecognized unexpected stale expired conflict conflicting mismatch obsolete wrn`,
		sevError: `error err errors failed failure exception cannot unable refused denied rejected invalid timeout
			unreachable undefined unresolved unsupported broken corrupt corrupted aborted abort lost traceback
			conflict violates violation forbidden unauthorized undeclared severe fehler crit incorrect
			stopped disconnected unavailable overflow exceeded exhausted dropped`,
		sevFatal: `fatal panic panicked segfault segmentation sigsegv sigabrt sigkill killed oom deadlock critical emerg emergency alert
			crash crashed assertion unhandled uncaught backoff crashloopbackoff evicted race stackoverflow outofmemory`,
		sevSummary: `passed summary total finished completed succeeded success`,
	} {
		for w := range strings.FieldsSeq(list) {
			h := stemHash(w)
			m[h] = max(m[h], level)
		}
	}
	return m
})

// severityMarks are what test runners and compilers print in front of a failure.
var severityMarks = []struct {
	mark  string
	level uint8
}{
	{"--- FAIL", sevFatal},
	{"not ok ", sevFatal},
	{"FAIL", sevFatal},
	{"✕", sevFatal},
	{"✗", sevFatal},
	{"✖", sevFatal},
	{"●", sevError},
	{"E   ", sevError},
	{"Caused by", sevError},
	{"×", sevError},
	{"npm ERR!", sevError},
}

// passMarks stand in front of the names of tests that ran or passed: "--- PASS: TestFailedLogin" is no
// failure.
var passMarks = []string{"--- PASS", "=== RUN", "=== PAUSE", "=== CONT", "=== NAME", "ok ", "✓", "✔", "√", "PASS ", "PASSED"}

// severity judges a line by its words and marks. "0 errors" and "no error" are not errors, nor is what succeeded.
func (t *tokenizer) severity(line []byte) uint8 {
	trim := bytes.TrimLeft(line, " \t")
	for _, m := range passMarks {
		if bytes.HasPrefix(trim, []byte(m)) {
			return sevNone
		}
	}
	if bytes.Contains(line[:min(len(line), 200)], []byte(`"Action":"pass"`)) || bytes.Contains(line[:min(len(line), 200)], []byte(`"Action":"run"`)) {
		return sevNone
	}
	level := uint8(sevNone)
	for _, m := range severityMarks {
		if bytes.HasPrefix(trim, []byte(m.mark)) {
			level = max(level, m.level)
		}
	}
	t.run(withoutNames(line[:min(len(line), 600)]))
	sev := severityWords()
	zero, no, well, notPrev := stemHash("0"), stemHash("no"), stemHash("succeeded"), false
	for _, h := range t.hashes {
		if l := sev[h]; l > level && !notPrev {
			level = l
		}
		if notPrev = h == zero || h == no; h == well {
			return sevSummary
		}
	}
	if level < sevError && phraseSeverity(line) {
		level = sevError
	}
	return level
}

// withoutNames drops paths, options and snake_case names: src/errors/wrap.go is no error.
func withoutNames(line []byte) []byte {
	out := make([]byte, 0, len(line))
	for w := range bytes.FieldsSeq(line) {
		option := len(w) > 2 && w[0] == '-' && w[1] != '-' && classes[w[1]] != clsDigit || len(w) > 3 && w[0] == '-' && w[1] == '-' && w[2] != '-'
		if option || len(w) > 4 && bytes.IndexByte(w, '/') >= 0 || bytes.IndexByte(w, '_') > 0 {
			continue
		}
		out = append(append(out, w...), ' ')
	}
	return out
}

// phraseSeverity knows the complaints that no single word gives away.
func phraseSeverity(line []byte) bool {
	for _, p := range [...]string{"not found", "No such", "no such", "could not", "Could not", "can't", "Can't", "does not exist", "missing", "Missing", "not responding", "timed out", "too many", "not allowed"} {
		if bytes.Contains(line, []byte(p)) {
			return true
		}
	}
	return false
}
