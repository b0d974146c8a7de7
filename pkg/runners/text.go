package runners

import (
	"slices"
	"strings"
)

// Text is the output as parsers see it: cleaned (no escape codes, LF line ends),
// common line prefixes removed, split in lines. Line indexes run from 0; Num
// gives the line number in the original, from 1.
type Text struct {
	Hint Hint

	lines []string
	nums  []int  // nil: line i is number i+1
	whole string // all lines joined with "\n"

	// unended: the last line has no line end, so the program stopped inside it.
	unended bool

	// dropped counts lines a Scanner left out of the middle of a huge text, by
	// the literal that made them countable ("--- PASS: "); parsers that count
	// lines add it. nil for texts that are whole.
	dropped map[string]int
}

// Len is the number of lines.
func (t *Text) Len() int { return len(t.lines) }

// Line returns line i, or "" when i is out of range, so parsers may look ahead freely.
func (t *Text) Line(i int) string {
	if i < 0 || i >= len(t.lines) {
		return ""
	}
	return t.lines[i]
}

// Num is the original line number (from 1) of line i.
func (t *Text) Num(i int) int {
	if t.nums == nil {
		return i + 1
	}
	if i < 0 || i >= len(t.nums) {
		return 0
	}
	return t.nums[i]
}

// Has reports whether lit occurs anywhere.
func (t *Text) Has(lit string) bool { return strings.Contains(t.whole, lit) }

// HasAny reports whether any of lits occurs.
func (t *Text) HasAny(lits ...string) bool {
	return slices.ContainsFunc(lits, t.Has)
}

// Find returns the index of the first line at or after from that contains lit, or -1.
func (t *Text) Find(lit string, from int) int {
	for i := max(from, 0); i < len(t.lines); i++ {
		if strings.Contains(t.lines[i], lit) {
			return i
		}
	}
	return -1
}

// FindPrefix returns the index of the first line at or after from that starts with p, or -1.
func (t *Text) FindPrefix(p string, from int) int {
	for i := max(from, 0); i < len(t.lines); i++ {
		if strings.HasPrefix(t.lines[i], p) {
			return i
		}
	}
	return -1
}

// LastPrefix returns the index of the last line that starts with p, or -1.
func (t *Text) LastPrefix(p string) int {
	for i, v := range slices.Backward(t.lines) {
		if strings.HasPrefix(v, p) {
			return i
		}
	}
	return -1
}

// Slice is the text of lines from (inclusive) to to (exclusive), keeping numbers.
func (t *Text) Slice(from, to int) *Text {
	from, to = max(from, 0), min(to, len(t.lines))
	if from > to {
		from = to
	}
	s := &Text{Hint: t.Hint, lines: t.lines[from:to], nums: make([]int, to-from), dropped: t.dropped, unended: to == len(t.lines) && t.unended}
	for i := range s.nums {
		s.nums[i] = t.Num(from + i)
	}
	s.whole = strings.Join(s.lines, "\n")
	return s
}

// Exit returns the exit code and whether it is known.
func (t *Text) Exit() (int, bool) {
	if t.Hint.Exit == nil {
		return 0, false
	}
	return *t.Hint.Exit, true
}

// ExitOK reports that the exit code is known and 0.
func (t *Text) ExitOK() bool { c, ok := t.Exit(); return ok && c == 0 }

// SilentOK reports that a tool without a word for success had it: the exit code is
// 0 and, as far as the command is known, the tool's.
func (t *Text) SilentOK() bool { return t.ExitOK() && !strings.ContainsAny(t.Hint.Command, "|;") }

// ExitBad reports that the exit code is known and not 0, or that the run was ended by force.
func (t *Text) ExitBad() bool {
	c, ok := t.Exit()
	return ok && c != 0 || t.Hint.Signal != "" || t.Hint.TimedOut
}

// newText splits text (cleaned already) into lines.
func newText(text string, h Hint) *Text {
	t := &Text{Hint: h, unended: text != "" && !strings.HasSuffix(text, "\n")}
	text = strings.TrimSuffix(text, "\n")
	t.whole = text
	if text != "" {
		t.lines = strings.Split(text, "\n")
	}
	return t
}
