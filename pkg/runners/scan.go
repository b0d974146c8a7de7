package runners

import (
	"bytes"
	"strings"
)

// Sizes of what a Scanner keeps, in bytes.
const (
	scanWhole  = 8 << 20 // up to here nothing is left out
	scanHead   = 2 << 20
	scanTail   = 3 << 20
	scanMiddle = 2 << 20 // telling lines between head and tail
	scanBefore = 8       // lines kept before a telling line
	scanAfter  = 40      // lines kept after one
)

// Scanner reads output of any size in bounded memory (about 12 MiB): it keeps the
// beginning, the end, and between them the lines that tell of failures with some
// lines around, and it counts passed results of runners that print no totals. For
// up to 8 MiB its Result equals that of Parse over the same bytes. Feed it cleaned
// text; escape codes and CR are removed again at the end if there are any.
type Scanner struct {
	hint    Hint
	buf     []byte // everything (small), or the tail
	big     bool
	head    []byte
	lines   int // lines before buf
	middle  []byte
	nums    []int // line numbers of middle
	dropped map[string]int
	left    int // lines left out
	after   int // lines still to keep after a telling one
	recent  []heldLine
}

// heldLine is a line that was left out but may still be kept as context.
type heldLine struct {
	text []byte
	num  int
	kind string // what it was counted as
}

// NewScanner starts a scan; what is not known yet of the run (its exit code) may
// be given to Result.
func NewScanner(h Hint) *Scanner { return &Scanner{hint: h} }

// Write takes the next piece of output. It never fails.
func (s *Scanner) Write(p []byte) (int, error) {
	s.buf = append(s.buf, p...)
	switch {
	case !s.big && len(s.buf) > scanWhole:
		s.big = true
		cut := bytes.LastIndexByte(s.buf[:scanHead], '\n') + 1
		if cut == 0 {
			cut = scanHead
		}
		s.head = bytes.Clone(s.buf[:cut])
		s.lines = bytes.Count(s.head, []byte{'\n'})
		s.dropped = map[string]int{}
		s.evict(cut)
	case s.big && len(s.buf) > 2*scanTail:
		s.evict(0)
	}
	return len(p), nil
}

// evict sorts all lines before the tail into kept and left out; from says where
// the unread part of buf begins.
func (s *Scanner) evict(from int) {
	end := len(s.buf) - scanTail
	at := from
	for at < end {
		n := bytes.IndexByte(s.buf[at:], '\n')
		if n < 0 {
			break
		}
		s.lines++
		s.line(s.buf[at : at+n])
		at += n + 1
	}
	if at == from && end > from { // one endless line
		at = end
	}
	for i := range s.recent {
		s.recent[i].text = bytes.Clone(s.recent[i].text)
	}
	s.buf = append(s.buf[:0], s.buf[at:]...)
}

// line decides about one line of the middle.
func (s *Scanner) line(l []byte) {
	if kind := countable(l); kind != "" {
		s.dropped[kind]++
		s.leave(l, kind)
		return
	}
	if packageEnd(l) {
		s.keep(l, s.lines) // the lines around it tell nothing
		return
	}
	if telling(l) {
		s.after = scanAfter
		for _, r := range s.recent {
			if s.keep(r.text, r.num) && r.kind != "" {
				s.dropped[r.kind]--
			}
			s.left--
		}
		s.recent = s.recent[:0]
	}
	if s.after > 0 {
		s.after--
		s.keep(l, s.lines)
		return
	}
	s.leave(l, "")
}

// keep adds a line to the middle; it reports false when that is full.
func (s *Scanner) keep(l []byte, num int) bool {
	if len(s.middle)+len(l) > scanMiddle {
		s.left++
		return false
	}
	s.middle = append(append(s.middle, l...), '\n')
	s.nums = append(s.nums, num)
	return true
}

func (s *Scanner) leave(l []byte, kind string) {
	s.left++
	if len(s.recent) == scanBefore {
		copy(s.recent, s.recent[1:])
		s.recent = s.recent[:scanBefore-1]
	}
	s.recent = append(s.recent, heldLine{l, s.lines, kind})
}

// countable names the passed results that no total repeats: go -v and TAP.
func countable(l []byte) string {
	t := bytes.TrimLeft(l, " ")
	switch {
	case len(t) < 6:
	case t[0] == '-' && bytes.HasPrefix(t, []byte("--- PASS: ")):
		return "--- PASS: "
	case t[0] == '-' && bytes.HasPrefix(t, []byte("--- SKIP: ")):
		return "--- SKIP: "
	case t[0] == 'o' && bytes.HasPrefix(t, []byte("ok ")) && t[3] >= '0' && t[3] <= '9' && len(t) == len(l) && !bytes.Contains(t, []byte(" # ")):
		return "ok"
	case t[0] == '{' && bytes.Contains(t, []byte(`"Action":"pass"`)) && bytes.Contains(t, []byte(`"Test":"`)):
		return "json pass"
	case t[0] == '{' && bytes.Contains(t, []byte(`"Action":"skip"`)) && bytes.Contains(t, []byte(`"Test":"`)):
		return "json skip"
	}
	return ""
}

// packageEnd recognises the last event of a package that passed, of which go test
// -json writes one: without it the package seems to be cut off.
func packageEnd(l []byte) bool {
	return bytes.HasPrefix(l, []byte("{")) && (bytes.Contains(l, []byte(`"Action":"pass"`)) || bytes.Contains(l, []byte(`"Action":"skip"`))) &&
		bytes.Contains(l, []byte(`"Package":"`)) && !bytes.Contains(l, []byte(`"Test":"`))
}

// tellingStarts are how lines begin that tell of failures, by first byte after
// blanks; tellingWords may stand anywhere.
var tellingStarts = [...]string{
	"not ok", "--- FAIL", "FAIL", "ERROR", "Error", "E  ", "error", "panic:", "fatal", "FATAL", "thread '", "failures:", "test result: FAILED",
	"✖", "✗", "✘", "×", "●", "(fail)", "[  FAILED", "=== FAIL", "Traceback", "AssertionError", "#   Failed", "ok  \t", "FAIL\t", "?   \t",
	"Test Suites:", "Tests:", "Ran ", "DONE ", "<failure", "<error", "Bail out!", "Caused by:", "Segmentation", "signal:", "WARNING: ",
	"======", "Failures:", "Failed", "failed", "# Subtest", "ModuleNotFoundError", "ImportError", "SyntaxError", "TypeError", "Uncaught", "Unhandled", "UnhandledPromise",
	`{"ImportPath"`,
}

var tellingWords = [][]byte{
	[]byte(" FAILED"), []byte("panicked at"), []byte(": error"), []byte(": fatal error"), []byte(`"Action":"fail"`), []byte("Exception"), []byte(" failed"), []byte("npm error"),
}

// tellingByte holds the first bytes of tellingStarts.
var tellingByte = func() (set [256]bool) {
	for _, w := range tellingStarts {
		set[w[0]] = true
	}
	return set
}()

func telling(l []byte) bool {
	t := bytes.TrimLeft(l, " \t")
	if len(t) == 0 {
		return false
	}
	if tellingByte[t[0]] {
		for _, w := range tellingStarts {
			if w[0] == t[0] && len(t) >= len(w) && string(t[:len(w)]) == w {
				return true
			}
		}
	}
	for _, w := range tellingWords {
		if bytes.Contains(l, w) {
			return true
		}
	}
	return false
}

// Lines is how many lines were read, and how many of them Result does not look at.
func (s *Scanner) Lines() (read, left int) {
	return s.lines + bytes.Count(s.buf, []byte{'\n'}), s.left
}

// Result reads what was kept. h replaces the hint of NewScanner, since exit code
// and signal are known only now. The Scanner may go on after it.
func (s *Scanner) Result(h Hint) Result {
	if !s.big {
		return parseText(newText(normalise(s.buf), h))
	}
	t := &Text{Hint: h, dropped: s.dropped, nums: []int{}}
	num := 0
	add := func(part []byte, number func(i int) int) {
		text := strings.TrimSuffix(normalise(part), "\n")
		for i, l := range strings.Split(text, "\n") {
			t.lines = append(t.lines, l)
			t.nums = append(t.nums, number(i))
		}
	}
	add(s.head, func(int) int { num++; return num })
	if len(s.middle) > 0 {
		add(s.middle, func(i int) int { return s.nums[min(i, len(s.nums)-1)] })
	}
	add(s.buf, func(i int) int { return s.lines + i + 1 })
	t.whole = strings.Join(t.lines, "\n")
	r := parseText(t)
	if s.left > 0 {
		r.Notes = append(r.Notes, "long output: "+plural(s.left, "line")+" between beginning and end were only searched for failures")
	}
	return r
}
