package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"legwork/pkg/bench"
)

// bar shows how far a bench is: one line that changes on a terminal, a line a run otherwise.
type bar struct {
	w     io.Writer
	tty   bool
	quiet bool
}

func (a *app) newBar() *bar {
	return &bar{w: a.stderr, tty: isTerminal(a.stderr), quiet: a.global.quiet}
}

// barWidth is in characters.
const barWidth = 24

// show draws the state after a run.
func (b *bar) show(p bench.Progress) {
	if b.quiet {
		return
	}
	left := ""
	if p.Left > 0 {
		left = " · " + spell(p.Left) + " left"
	}
	if b.tty {
		full := barWidth * p.Done / max(1, p.Total)
		fmt.Fprintf(b.w, "\r\x1b[K%s%s %d/%d · %d passed, %d failed%s", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), p.Done, p.Total, p.Tally.Passed, p.Tally.Failed, left)
		if n := p.Tally.Transport + p.Tally.Setup; n > 0 {
			fmt.Fprintf(b.w, ", %d to do again", n)
		}
		return
	}
	if p.Row == nil {
		fmt.Fprintf(b.w, "%d of %d runs are there\n", p.Done, p.Total)
		return
	}
	r := p.Row
	fmt.Fprintf(b.w, "%d/%d %s run %d, %s, %s: %s (%d of %d tests, answers: %d, %.1f s)%s\n", p.Done, p.Total, r.Task, r.Run, r.Policy, r.Model, r.Class, r.Green, r.Total,
		len(r.Attempts), float64(r.MS)/1000, left)
}

// end leaves the last line of a terminal standing.
func (b *bar) end() {
	if b.tty && !b.quiet {
		fmt.Fprintln(b.w)
	}
}

// spell is a duration for people: 2 h 05 min, 3 min 20 s, 40 s.
func spell(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	switch {
	case s >= 3600:
		return fmt.Sprintf("%d h %02d min", s/3600, s/60%60)
	case s >= 60:
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	}
	return fmt.Sprintf("%d s", s)
}
