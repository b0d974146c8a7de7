package bench

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// grid is one table, in no format yet. The first columns are words, the rest figures.
type grid struct {
	title string
	note  string // under the title
	head  []string
	words int // columns that are words
	rows  [][]string
}

// report is a page of tables and one chart.
type report struct {
	title string
	lead  []string
	grids []grid
	chart []bars
}

// bars are one line of the chart: shares with their intervals.
type bars struct {
	label string
	first interval // pass@1
	final interval // pass@final
}

// Page is what `bench table` makes of raw rows: the same page for the same rows in any order.
type Page struct {
	r report
	// Standings are the sums behind the tables, by model and policy.
	Standings []Standing `json:"standings"`
}

// Standing is one model under one policy.
type Standing struct {
	Identity
	Policy string   `json:"policy"`
	First  interval `json:"pass_at_1"` // shares with 95 % intervals
	Final  interval `json:"pass_at_final"`
	*totals
}

// NewPage sums rows up; damaged is how many lines could not be read.
func NewPage(rows []*Row, damaged int) Page {
	s := choose(rows, damaged)
	list := s.contenders()
	r := report{title: "Local models at delegate's tasks", lead: s.lead(list)}
	if s.check {
		r.title = "Self-check of the bench (scripted answers, no model)"
	}
	r.grids = []grid{solvedGrid(list), failureGrid(list), answerGrid(list), costGrid(list), tierGrid(list), kindGrid(list), taskGrid(&s, list), originGrid(list)}
	for _, c := range list {
		if c.all.Runs > 0 {
			r.chart = append(r.chart, bars{c.name() + ", " + c.policy, passRate(c.all.First, c.all.Runs), passRate(c.all.Passed, c.all.Runs)})
		}
	}
	page := Page{r: r}
	for _, c := range list {
		page.Standings = append(page.Standings, Standing{c.id, c.policy, passRate(c.all.First, c.all.Runs), passRate(c.all.Passed, c.all.Runs), c.all})
	}
	return page
}

// lead says what the tables stand on.
func (s *selection) lead(list []*contender) []string {
	tasks, models := map[string]bool{}, map[string]bool{}
	for _, r := range s.rows {
		tasks[r.Task] = true
	}
	for _, c := range list {
		models[c.model] = true
	}
	out := []string{fmt.Sprintf("%s, %s, %s. Rebuilt by `legwork bench table` from the raw rows; README.md in bench/ tells what the columns mean.",
		count(len(s.rows), "run"), count(len(tasks), "task"), count(len(models), "model"))}
	if s.check {
		out[0] = fmt.Sprintf("%s, %s. The answers are scripted: this checks the bench and says nothing about any model.", count(len(s.rows), "run"), count(len(tasks), "task"))
	}
	var not []string
	for _, x := range []struct {
		n    int
		what string
	}{
		{len(s.outside), "that failed for reasons outside the model"},
		{s.older, "of earlier versions of their tasks"},
		{s.twice, "of runs that were done again"},
		{s.scripted, "of scripted answers"},
		{s.damaged, "that are damaged"},
	} {
		if x.n > 0 {
			not = append(not, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	if len(not) > 0 {
		out = append(out, "Rows that are in no rate: "+strings.Join(not, ", ")+".")
	}
	return out
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func passRate(k, n int) interval { return wilson(float64(k), float64(n)) }

// rate is a share with its interval: "43 % (36–50)".
func rate(k, n int) string {
	if n == 0 {
		return "–"
	}
	i := passRate(k, n).scale(100)
	return fmt.Sprintf("%.0f %% (%.0f–%.0f)", i.Mean, i.Low, i.High)
}

func part(k, n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(k)/float64(n))
}

func per(sum, n int, digits int) string {
	if n == 0 {
		return "–"
	}
	return strconv.FormatFloat(float64(sum)/float64(n), 'f', digits, 64)
}

func seconds(sorted []int64, q float64) string {
	if len(sorted) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(percentile(sorted, q))/1000)
}

// gridOf makes a row for each contender, model and policy first.
func gridOf(title, note string, list []*contender, head []string, cells func(*contender) []string) grid {
	g := grid{title: title, note: note, head: append([]string{"model", "policy"}, head...), words: 2}
	for _, c := range list {
		g.rows = append(g.rows, append([]string{c.name(), c.policy}, cells(c)...))
	}
	return g
}

func solvedGrid(list []*contender) grid {
	return gridOf("Solved", "Shares with Wilson's 95 % interval. Runs of one task are alike: for other tasks of these kinds the uncertainty is larger than the interval.", list,
		[]string{"runs", "pass@1", "pass@final", "tries to a pass", "calls per run"}, func(c *contender) []string {
			t := c.all
			return []string{strconv.Itoa(t.Runs), rate(t.First, t.Runs), rate(t.Passed, t.Runs), per(t.TriesSum, t.Passed, 2), per(t.Calls, t.Runs, 2)}
		})
}

func failureGrid(list []*contender) grid {
	head := append([]string{"failed"}, Classes()...)
	head = append(head, "green tests of a FAIL", "transport errors", "set-up errors", "worktrees left")
	return gridOf("Runs that failed", "By what kept the best answer from passing. Transport and set-up errors are outside every rate.", list, head, func(c *contender) []string {
		t := c.all
		out := []string{strconv.Itoa(t.Runs - t.Passed)}
		for _, class := range Classes() {
			out = append(out, strconv.Itoa(t.Failed[class]))
		}
		green := "–"
		if len(t.greens) > 0 {
			green = fmt.Sprintf("%.0f %%", 100*meanOf(t.greens))
		}
		return append(out, green, strconv.Itoa(t.Transport), strconv.Itoa(t.Setup), strconv.Itoa(t.Leaked))
	})
}

func answerGrid(list []*contender) grid {
	head := append([]string{"answers", "well-formed", ClassPassed}, Classes()...)
	return gridOf("Answers", "Every answer by what came of it.", list, head, func(c *contender) []string {
		t := c.all
		out := []string{strconv.Itoa(t.Answers), part(t.WellForm, t.Answers)}
		for _, class := range append([]string{ClassPassed}, Classes()...) {
			out = append(out, strconv.Itoa(t.AnswersBy[class]))
		}
		return out
	})
}

func costGrid(list []*contender) grid {
	return gridOf("Cost", "Seconds depend on the machine. Tokens are means of a run.", list,
		[]string{"s per call, median", "P95", "s per run, median", "tokens in", "of these cached", "tokens out", "overhead, median ms"}, func(c *contender) []string {
			t := c.all
			over := "–"
			if len(t.overhead) > 0 {
				over = strconv.FormatInt(percentile(t.overhead, 0.5), 10)
			}
			return []string{
				seconds(t.callMS, 0.5), seconds(t.callMS, 0.95), seconds(t.runMS, 0.5), per(t.InTok, t.Runs, 0), part(t.CachedTok, t.InTok), per(t.OutTok, t.Runs, 0), over,
			}
		})
}

// splitGrid is pass@1 and pass@final for each part of the tasks and each contender.
func splitGrid[K int | string](title, word string, list []*contender, parts func(*contender) map[K]*totals) grid {
	g := grid{title: title, head: []string{word, "model", "policy", "runs", "pass@1", "pass@final", "calls per run"}, words: 3}
	keys := map[K]bool{}
	for _, c := range list {
		for k := range parts(c) {
			keys[k] = true
		}
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		for _, c := range list {
			if t := parts(c)[k]; t != nil && t.Runs > 0 {
				g.rows = append(g.rows, []string{fmt.Sprint(k), c.name(), c.policy, strconv.Itoa(t.Runs), rate(t.First, t.Runs), rate(t.Passed, t.Runs), per(t.Calls, t.Runs, 2)})
			}
		}
	}
	return g
}

func tierGrid(list []*contender) grid {
	g := splitGrid("By tier", "tier", list, func(c *contender) map[int]*totals { return c.tiers })
	g.note = "1 is very easy, 2 middling, 3 hard."
	return g
}

func kindGrid(list []*contender) grid {
	return splitGrid("By kind", "kind", list, func(c *contender) map[string]*totals { return c.kinds })
}

// taskGrid has a column for each contender: passes of runs.
func taskGrid(s *selection, list []*contender) grid {
	g := grid{title: "By task", note: "Passes of runs, in brackets those at the first try.", head: []string{"task", "kind", "tier"}, words: 2}
	for _, c := range list {
		g.head = append(g.head, c.name()+", "+c.policy)
	}
	seen := map[string]*Row{}
	for _, r := range s.rows {
		seen[r.Task] = r
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		r := seen[name]
		row := []string{name, r.Kind, strconv.Itoa(r.Tier)}
		for _, c := range list {
			cell := "–"
			if t := c.tasks[name]; t != nil && t.Runs > 0 {
				cell = fmt.Sprintf("%d of %d (%d)", t.Passed, t.Runs, t.First)
			}
			row = append(row, cell)
		}
		g.rows = append(g.rows, row)
	}
	return g
}

func originGrid(list []*contender) grid {
	g := grid{title: "What was measured", head: []string{"model", "policy", "served as", "sha256 of the file", "server", "window", "temperatures", "legwork", "machine", "when"}, words: 10}
	for _, c := range list {
		when := c.first.Format("2006-01-02")
		if last := c.last.Format("2006-01-02"); last != when {
			when += " to " + last
		}
		sha := "–"
		if n := min(12, len(c.id.ModelSHA)); n > 0 {
			sha = c.id.ModelSHA[:n] + "…"
		}
		g.rows = append(g.rows, []string{c.name(), c.policy, c.model, sha, each(c.servers), each(c.windows), each(c.temps), each(c.tools), each(c.systems), when})
	}
	return g
}
