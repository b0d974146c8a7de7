package ledger

import (
	"cmp"
	_ "embed" // page.css
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

//go:embed page/page.css
var pageCSS string

// PageOptions is what a page says beside the report.
type PageOptions struct {
	Assumptions []string
	Made        time.Time
	Version     string
}

// Page renders a report as one HTML document that needs nothing else: no script, no network. Whatever the run log
// holds appears as text.
func Page(rep Report, opt PageOptions) ([]byte, error) {
	var m markup
	fmt.Fprintf(&m, pageHead, pageCSS)
	m.header(&rep)
	if rep.Counts.Lines == 0 {
		when := "Nothing was run in this time."
		if rep.Since.IsZero() {
			when = "Nothing has been run yet."
		}
		m.put("<section><h2>Nothing to count</h2><p>%s</p></section>", when)
	} else {
		m.body(&rep)
	}
	m.foot(&rep, &opt)
	return []byte(m.String()), nil
}

func (m *markup) body(rep *Report) {
	m.cards(cards(rep))
	days, tools, ends := dayChart(rep.Days), toolChart(rep.Tools), endChart(rep.Tools)
	m.days(&days)
	m.put(`<div class="two">`)
	m.tools(&tools)
	m.ends(&ends)
	m.put("</div>")
	m.parts(rep)
	m.rows("By tool", "tool", rep.Tools, rep.Total)
	m.rows("By model", "model", rep.Models, rep.Total)
	m.rows("By project", "project", rep.Projects, rep.Total)
	m.rows("By day", "day", rep.Days, rep.Total)
	m.recalls(rep.Recalls)
}

func sign(v float64) string {
	switch {
	case v < 0:
		return "loss"
	case v > 0:
		return "gain"
	}
	return ""
}

func span(rep *Report) string {
	if rep.First.IsZero() {
		return ""
	}
	return rep.First.Local().Format(time.DateOnly) + " to " + rep.Last.Local().Format(time.DateOnly)
}

type card struct{ Name, Value string }

func cards(rep *Report) []card {
	t := rep.Total
	done := "–"
	if t.Runs > 0 {
		done = fmt.Sprintf("%s of %s", Grouped(float64(t.OK)), Grouped(float64(t.Runs)))
	}
	return []card{
		{"runs that did their work", done},
		{"sessions", Grouped(float64(rep.Sessions))},
		{"time spent", Took(t.MS)},
		{"tokens read locally", Grouped(float64(t.LocalTok))},
		{"tokens Claude received", Grouped(float64(t.ClaudeTok))},
		{"made longer, a loss", Grouped(float64(t.Longer))},
	}
}

// The columns of the chart of days, in pixels from its top.
const (
	chartTop    = 18
	chartHeight = 180
	chartFoot   = 26
	mostBars    = 62
)

type columns struct {
	Unit, Desc           string
	Height, Zero, LabelY int
	Bars                 []column
	Grid                 []gridLine
	Labels               []label
}

type column struct {
	Class, Title, X, W string
	Y, H               int
}

type gridLine struct {
	Y, TextY int
	Text     string
}

type label struct{ X, Anchor, Text string }

// dayChart draws the net of each day from the first to the last; long spans by week or month.
func dayChart(days []Row) columns {
	unit, buckets := byDate(days)
	c := columns{Unit: unit, Height: chartTop + chartHeight + chartFoot, LabelY: chartTop + chartHeight + 19}
	if len(buckets) == 0 {
		return c
	}
	lo, hi := 0.0, 0.0
	best, worst := buckets[0], buckets[0]
	for _, b := range buckets {
		lo, hi = min(lo, b.net), max(hi, b.net)
		if b.net > best.net {
			best = b
		}
		if b.net < worst.net {
			worst = b
		}
	}
	if lo == hi {
		hi = 1
	}
	if lo < 0 { // its figure stands below the columns
		c.Height += chartFoot - 8
		c.LabelY += chartFoot - 8
	}
	y := func(v float64) int { return chartTop + int(math.Round((hi-v)/(hi-lo)*chartHeight)) }
	c.Zero = y(0)
	for _, v := range []float64{hi, lo} {
		if v != 0 && hi-lo > 1 {
			c.Grid = append(c.Grid, gridLine{Y: y(v), TextY: textAt(y(v), v), Text: Signed(v)})
		}
	}
	slot := 100 / float64(len(buckets))
	width := min(slot*0.8, 12)
	for i, b := range buckets {
		if b.net == 0 {
			continue
		}
		top, foot := y(max(b.net, 0)), y(min(b.net, 0))
		c.Bars = append(c.Bars, column{
			Class: sign(b.net), Title: b.name + ": " + Signed(b.net), X: percent(slot*float64(i) + (slot-width)/2), W: percent(width),
			Y: top, H: max(1, foot-top),
		})
	}
	c.Labels = dateLabels(buckets, slot)
	c.Desc = fmt.Sprintf("%d columns, %s to %s. The best is %s with %s, the worst %s with %s.", len(buckets), buckets[0].name,
		buckets[len(buckets)-1].name, best.name, Signed(best.net), worst.name, Signed(worst.net))
	return c
}

// textAt keeps the figure of a grid line beside its line: above the highest, below the lowest.
func textAt(y int, v float64) int {
	if v > 0 {
		return y - 5
	}
	return y + 14
}

func dateLabels(buckets []bucket, slot float64) []label {
	last := len(buckets) - 1
	mid := func(i int) string { return percent(slot * (float64(i) + 0.5)) }
	switch {
	case last == 0:
		return []label{{mid(0), "middle", buckets[0].name}}
	case last < 4:
		return []label{{"0", "start", buckets[0].name}, {"100", "end", buckets[last].name}}
	}
	return []label{{"0", "start", buckets[0].name}, {mid(last / 2), "middle", buckets[last/2].name}, {"100", "end", buckets[last].name}}
}

type bucket struct {
	name string
	net  float64
}

// byDate fills the days without runs, and joins days to weeks or months where there are too many.
func byDate(days []Row) (unit string, out []bucket) {
	var dates []time.Time
	for _, d := range days {
		if t, err := time.Parse(time.DateOnly, d.Key); err == nil {
			dates = append(dates, t)
		}
	}
	if len(dates) == 0 {
		return "day", nil
	}
	first, last := slices.MinFunc(dates, time.Time.Compare), slices.MaxFunc(dates, time.Time.Compare)
	n := int(last.Sub(first).Hours()/24) + 1
	unit, start, next := "day", func(t time.Time) time.Time { return t }, func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }
	layout := time.DateOnly
	switch {
	case n > mostBars*7:
		unit, layout = "month", "2006-01"
		start = func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) }
		next = func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }
	case n > mostBars:
		unit = "week"
		start = func(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }
		next = func(t time.Time) time.Time { return t.AddDate(0, 0, 7) }
	}
	sums := map[time.Time]float64{}
	for i := range days {
		if t, err := time.Parse(time.DateOnly, days[i].Key); err == nil {
			sums[start(t)] += days[i].Net
		}
	}
	for t := start(first); !t.After(last); t = next(t) {
		out = append(out, bucket{t.Format(layout), sums[t]})
	}
	return unit, out
}

// rowHeight is that of a bar with its name above it, in pixels.
const rowHeight = 44

type bars struct {
	Desc, Zero string
	Height     int
	Rows       []barRow
}

type barRow struct {
	Name, Value, Class, X, W string
	TextY, Y                 int
	Parts                    []column
}

// toolChart draws the net of each tool to both sides of a line.
func toolChart(rows []Row) bars {
	lo, hi := 0.0, 0.0
	for _, r := range rows {
		lo, hi = min(lo, r.Net), max(hi, r.Net)
	}
	if lo == hi {
		hi = 1
	}
	at := func(v float64) float64 { return (v - lo) / (hi - lo) * 100 }
	c := bars{Zero: percent(at(0)), Height: rowHeight * len(rows)}
	var words []string
	for i, r := range rows {
		left, right := at(min(r.Net, 0)), at(max(r.Net, 0))
		c.Rows = append(c.Rows, barRow{
			Name: plain(r.Key), Value: Signed(r.Net), Class: sign(r.Net), X: percent(left), W: percent(right - left), TextY: i*rowHeight + 16, Y: i*rowHeight + 22,
		})
		words = append(words, plain(r.Key)+" "+Signed(r.Net))
	}
	c.Desc = strings.Join(words, ", ") + "."
	return c
}

type ends struct {
	bars
	Legend []column
}

// endChart draws how the runs of each tool ended, as parts of the whole.
func endChart(rows []Row) ends {
	var c ends
	all := map[string]int{}
	var words []string
	for i := range rows {
		r := &rows[i]
		if r.Runs == 0 {
			continue
		}
		n := len(c.Rows)
		row := barRow{Name: plain(r.Key), Value: Grouped(float64(r.Runs)), TextY: n*rowHeight + 16, Y: n*rowHeight + 22}
		x := 0.0
		for _, o := range outcomesOf(r.Outcomes) {
			share := float64(r.Outcomes[o]) / float64(r.Runs) * 100
			all[o] += r.Outcomes[o]
			row.Parts = append(row.Parts, column{
				Class: outcomeClass(o), Title: fmt.Sprintf("%s: %d %s", plain(r.Key), r.Outcomes[o], word(o)), X: percent(x), W: percent(max(share-0.4, 0.3)),
			})
			x += share
		}
		c.Rows = append(c.Rows, row)
		words = append(words, plain(r.Key)+": "+Ended(r.Outcomes, true))
	}
	c.Height = rowHeight * len(c.Rows)
	c.Desc = strings.Join(words, "; ") + "."
	for _, o := range outcomesOf(all) {
		c.Legend = append(c.Legend, column{Class: outcomeClass(o), Title: fmt.Sprintf("%d %s", all[o], word(o))})
	}
	return c
}

// outcomesOf are the outcomes that occur, in their order.
func outcomesOf(n map[string]int) []string {
	var out []string
	for o, times := range n {
		if times > 0 {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
	return out
}

func outcomeClass(o string) string {
	if slices.Contains(Outcomes(), o) {
		return o
	}
	return "other"
}

func percent(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.2f", v), ".00") }
