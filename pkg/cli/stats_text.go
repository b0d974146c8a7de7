package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"legwork/pkg/ledger"
)

// screen is what a table is drawn on.
type screen struct {
	width int
	color bool
	home  string // shortened to ~ in paths
}

// The width of a table: of the terminal, within bounds; 80 where it is not known.
const (
	leastWidth = 48
	usualWidth = 80
	mostWidth  = 120
)

func (a *app) screen() screen {
	s := screen{width: usualWidth, home: lookup(a.env, "HOME")}
	if n, err := strconv.Atoi(lookup(a.env, "COLUMNS")); err == nil && n > 0 {
		s.width = n
	}
	if isTerminal(a.stdout) {
		s.color = lookup(a.env, "NO_COLOR") == ""
		if n := terminalWidth(a.stdout); n > 0 {
			s.width = n
		}
	}
	s.width = min(max(s.width, leastWidth), mostWidth)
	return s
}

func (s screen) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s screen) bold(text string) string { return s.paint("1", text) }

// bar draws a value beside the largest one; a loss is drawn in another way than a gain, not in colour alone.
func (s screen) bar(v, most float64, width int) string {
	if width <= 0 || most <= 0 || v == 0 {
		return ""
	}
	eighths := max(1, int(math.Round(math.Abs(v)/most*float64(width)*8)))
	if v < 0 {
		return s.paint("31", strings.Repeat("░", max(1, (eighths+4)/8)))
	}
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return s.paint("32", text)
}

// statsHeadline is the result in one line.
func statsHeadline(r *statsReport) string {
	word := "saving"
	if r.Total.Net < 0 {
		word = "cost"
	}
	return fmt.Sprintf("Net %s, an estimate: %s tokens of Claude's, weighed as uncached input", word, ledger.Signed(r.Total.Net))
}

// statsText is the report for a terminal.
func statsText(r *statsReport, s screen) string {
	var b strings.Builder
	if r.Counts.Lines == 0 {
		b.WriteString(emptyStats(r))
	} else {
		b.WriteString(s.bold(strings.TrimSpace(wrap(statsHeadline(r), "", "", s.width))) + "\n")
		for line := range strings.Lines(statsSpan(r)) {
			b.WriteString(wrap(line, "", "", s.width))
		}
		s.parts(&b, r)
		for _, t := range []struct {
			name string
			rows []ledger.Row
			most int
		}{{"By tool", r.Tools, 20}, {"By model", r.Models, 10}, {"By project", r.Projects, 10}} {
			s.table(&b, t.name, fold(t.rows, t.most, false))
		}
		s.table(&b, "By day", fold(r.Days, 14, true))
		s.recalls(&b, r.Recalls)
		s.assumed(&b, r)
	}
	if n := r.Counts.Damaged; n > 0 {
		fmt.Fprintf(&b, "\n%s of the run log %s skipped.\n", plural(n, "1 damaged line", ledger.Grouped(float64(n))+" damaged lines"), plural(n, "was", "were"))
	}
	if r.Off {
		b.WriteString("\nThe run log is switched off (store.ledger: false): new runs are not counted.\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func emptyStats(r *statsReport) string {
	if !r.Since.IsZero() {
		return fmt.Sprintf("Nothing was run since %s. Without --since all runs are shown.\n", r.Since.Local().Format("2006-01-02 15:04"))
	}
	return "Nothing has been run yet, so there is nothing to count.\n" +
		"Try: legwork offload --command 'git log --oneline -50' 'what was changed last?'\n" +
		"Runs are noted in " + r.Ledger + ".\n"
}

func statsSpan(r *statsReport) string {
	t := r.Total
	out := fmt.Sprintf("%s to %s: %s in %s", r.First.Local().Format(time.DateOnly), r.Last.Local().Format(time.DateOnly),
		count(t.Runs, "run"), count(r.Sessions, "session"))
	if t.Asked > 0 {
		out += fmt.Sprintf(", %s", count(t.Asked, "further call"))
	}
	if o := ledger.Ended(t.Outcomes, true); o != "" {
		out += "\n" + o
	}
	if t.Longer > 0 {
		out += fmt.Sprintf("\n%s gave Claude more than it would have had without us; that is counted as loss", count(t.Longer, "run"))
	}
	return out + "\n"
}

// parts shows what the net is made of, and how it divides between calls and folded output.
func (s screen) parts(b *strings.Builder, r *statsReport) {
	rows := r.Parts.Named()
	most := 1.0
	for _, row := range rows {
		most = max(most, math.Abs(row.V))
	}
	b.WriteString("\n" + s.bold("How it adds up (estimate)") + "\n")
	name := min(42, s.width-16)
	line := func(text string, v float64, bar string) {
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %s %13s  %s", pad(cut(text, name), name), ledger.Signed(v), bar), " ") + "\n")
	}
	for _, row := range rows {
		line(row.Name, row.V, s.bar(row.V, most, s.width-60))
	}
	line("net", r.Total.Net, "")
	line("of that from calls", r.Calls, "")
	line("from output folded by itself", r.Shrunk, "")
}

// The columns of a table, apart from the key and the bar.
const (
	tableHead  = "  runs  done     time  local tok  to Claude       net"
	leastKey   = 12
	mostKey    = 44
	leastBar   = 6
	mostBar    = 20
	narrowHead = "  runs  done       net"
)

// table draws rows; what did not end well stands below its row.
func (s screen) table(b *strings.Builder, name string, rows []ledger.Row) {
	if len(rows) == 0 {
		return
	}
	head := tableHead
	if s.width < len(tableHead)+leastKey {
		head = narrowHead
	}
	room := s.width - len(head)
	bar := 0
	if room >= leastKey+leastBar+2 {
		bar = min(mostBar, room-leastKey-2)
		for bar > leastBar && room-bar-2 < 20 {
			bar--
		}
	}
	key := room
	if bar > 0 {
		key -= bar + 2
	}
	key = min(key, mostKey)
	most := 1.0
	for _, r := range rows {
		most = max(most, math.Abs(r.Net))
	}
	b.WriteString("\n" + s.bold(pad(name, key)+head) + "\n")
	for _, r := range rows {
		line := fmt.Sprintf("  %4s  %4s", short(float64(r.Runs)), short(float64(r.OK)))
		if head == tableHead {
			line += fmt.Sprintf("  %7s  %9s  %9s", ledger.Took(r.MS), short(float64(r.LocalTok)), short(float64(r.ClaudeTok)))
		}
		line += fmt.Sprintf("  %8s", signedShort(r.Net))
		line = pad(s.key(r.Key, key), key) + line
		if bar > 0 {
			line += "  " + s.bar(r.Net, most, bar)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if o := ledger.Ended(r.Outcomes, false); o != "" {
			b.WriteString(cut("    "+o, s.width) + "\n")
		}
	}
}

func (s screen) recalls(b *strings.Builder, all []ledger.Recall) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n" + s.bold("Texts fetched in full after all, by rule") + "\n")
	for _, r := range all {
		rate := "-"
		if r.Shrunk > 0 {
			rate = fmt.Sprintf("%.0f %%", 100*r.Rate)
		}
		line := fmt.Sprintf("  %-28s %5d of %5d  %6s", cut(printable(r.Rule), 28), r.Fetched, r.Shrunk, rate)
		if r.Shrunk >= enoughRecalls && r.Rate > eagerRate {
			line += "  too eager?"
		}
		b.WriteString(cut(line, s.width) + "\n")
	}
}

// A rule is called too eager when a third of at least ten texts were fetched.
const (
	enoughRecalls = 10
	eagerRate     = 1.0 / 3
)

func (s screen) assumed(b *strings.Builder, r *statsReport) {
	b.WriteString("\n" + s.bold("What the estimate assumes") + "\n" + wrap("(--weight KEY=N or stats.* in the settings change it)", "", "", s.width))
	for _, line := range r.Assumptions {
		b.WriteString(wrap(line, "  - ", "    ", s.width))
	}
}

// key is a row's name on one line: a path below the home folder as ~, its end kept when it is too long.
func (s screen) key(key string, width int) string {
	key = printable(key)
	if rest, ok := strings.CutPrefix(key, s.home); ok && s.home != "" && strings.HasPrefix(rest, "/") {
		key = "~" + rest
	}
	if n := columns(key); n > width {
		if !strings.ContainsAny(key, `/\`) {
			return cut(key, width)
		}
		r := []rune(key)
		for len(r) > 0 && columns(string(r)) > width-1 {
			r = r[1:]
		}
		return "…" + string(r)
	}
	return key
}

// fold keeps the rows that matter and adds the others up into one: the last days, or the rows with most runs. The
// cost of being there always has its row.
func fold(rows []ledger.Row, most int, last bool) []ledger.Row {
	var fixed []ledger.Row
	if n := len(rows); n > 0 && rows[n-1].Key == ledger.KeyFixed {
		rows, fixed = rows[:n-1], rows[n-1:]
	}
	if len(rows) <= most {
		return append(slices.Clone(rows), fixed...)
	}
	cutAt := most - 1
	head, rest, word := rows[:cutAt], rows[cutAt:], "others"
	if last {
		rest, head, word = rows[:len(rows)-cutAt], rows[len(rows)-cutAt:], "earlier days"
	}
	sum := ledger.Row{Key: fmt.Sprintf("(%d %s)", len(rest), word), Outcomes: map[string]int{}}
	for i := range rest {
		sum.Add(&rest[i])
	}
	if last {
		return append([]ledger.Row{sum}, head...)
	}
	return append(append(slices.Clone(head), sum), fixed...)
}

// printable replaces what could move the cursor or hide text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// columns is how wide a text is on a terminal: East Asian signs take two places, marks none.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff ||
			r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd):
			n += 2
		default:
			n++
		}
	}
	return n
}

func pad(s string, width int) string { return s + strings.Repeat(" ", max(0, width-columns(s))) }

func cut(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && columns(string(r)) > width-1 {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}

// wrap breaks a text at blanks.
func wrap(text, first, next string, width int) string {
	var b strings.Builder
	line := first
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
		case columns(line)+1+columns(w) > width:
			b.WriteString(line + "\n")
			line = next
		default:
			line += " "
		}
		line += w
	}
	b.WriteString(line + "\n")
	return b.String()
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func count(n int, word string) string {
	return ledger.Grouped(float64(n)) + " " + plural(n, word, word+"s")
}

// short writes a number in at most six places.
func short(v float64) string {
	for _, u := range []struct {
		size float64
		word string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if math.Abs(v) < u.size*0.9995 {
			continue
		}
		size := u.size
		if u.word == "k" {
			size = 1e3
		}
		digits := 1
		if math.Abs(v)/size >= 100 {
			digits = 0
		}
		return strconv.FormatFloat(v/size, 'f', digits, 64) + u.word
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func signedShort(v float64) string {
	if v > 0 {
		return "+" + short(v)
	}
	return short(v)
}
