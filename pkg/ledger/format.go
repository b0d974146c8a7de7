package ledger

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Outcomes lists the outcomes of runs in the order in which they are named.
func Outcomes() []string {
	return []string{Done, Failed, CutOff, Timeout, Transport, Refused, Cancelled}
}

// Ended names how runs ended; without all, only what did not end well.
func Ended(n map[string]int, all bool) string {
	var parts []string
	for _, w := range outcomesOf(n) {
		if all || w != Done {
			parts = append(parts, fmt.Sprintf("%d %s", n[w], word(w)))
		}
	}
	return strings.Join(parts, ", ")
}

// word is an outcome as it is read.
func word(outcome string) string { return strings.ReplaceAll(plain(outcome), "_", " ") }

func place(outcome string) int {
	switch outcome { // as Outcomes, which a test compares; once for every line of a million
	case Done:
		return 0
	case Failed:
		return 1
	case CutOff:
		return 2
	case Timeout:
		return 3
	case Transport:
		return 4
	case Refused:
		return 5
	case Cancelled:
		return 6
	}
	return 7
}

// Grouped writes a whole number with commas.
func Grouped(v float64) string {
	s := strconv.FormatFloat(math.Abs(math.Round(v)), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if v < 0 && s != "0" {
		s = "-" + s
	}
	return s
}

// Signed writes a gain with a plus.
func Signed(v float64) string {
	if v > 0 {
		return "+" + Grouped(v)
	}
	return Grouped(v)
}

// Took writes a duration in milliseconds in at most seven places.
func Took(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return Grouped(d.Hours()) + "h"
}

// plain replaces what is no printable sign: the run log may hold anything.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
