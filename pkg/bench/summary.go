package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"legwork/pkg/delegate"
)

// selection are the rows that a table counts, and what was left out.
type selection struct {
	rows     []*Row // one a run, in the order of sortRows
	outside  []*Row // transport and set-up
	older    int    // rows of another version of their task
	twice    int    // the same run again
	scripted int    // left out, because there are models too
	damaged  int
	check    bool // all rows are scripted: no measurement of anything but the bench
}

// choose makes the same selection of the same rows in any order: the newest version of each task, the newest
// row of each run, no scripted rows beside models'.
func choose(all []*Row, damaged int) selection {
	s := selection{damaged: damaged}
	s.check = len(all) > 0 && !slices.ContainsFunc(all, func(r *Row) bool { return !r.Scripted })
	all = slices.Clone(all)
	sortRows(all)
	newest := map[string]*Row{} // by task
	for _, r := range all {
		if r.Scripted && !s.check {
			continue
		}
		if n := newest[r.Task]; n == nil || r.Time.After(n.Time) || r.Time.Equal(n.Time) && r.TaskHash > n.TaskHash {
			newest[r.Task] = r
		}
	}
	last := map[key]*Row{}
	for _, r := range all {
		switch old := last[r.key()]; {
		case r.Scripted && !s.check:
			s.scripted++
		case r.TaskHash != newest[r.Task].TaskHash:
			s.older++
		case !r.counts():
			s.outside = append(s.outside, r)
		case old == nil:
			last[r.key()] = r
		default:
			s.twice++
			if !r.Time.Before(old.Time) {
				last[r.key()] = r
			}
		}
	}
	s.rows = slices.Collect(maps.Values(last))
	sortRows(s.rows)
	return s
}

// sortRows brings rows into an order that does not depend on the one they come in.
func sortRows(rows []*Row) {
	slices.SortFunc(rows, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Task, b.Task), cmp.Compare(a.TaskHash, b.TaskHash),
			cmp.Compare(a.Run, b.Run), a.Time.Compare(b.Time), cmp.Compare(a.MS, b.MS), cmp.Compare(len(a.Attempts), len(b.Attempts)))
	})
}

// totals are the sums of some rows.
type totals struct {
	Runs      int            `json:"runs"`
	First     int            `json:"passed_at_once"`
	Passed    int            `json:"passed"`
	TriesSum  int            `json:"-"` // attempts of the passes
	Calls     int            `json:"calls"`
	Answers   int            `json:"answers"`
	WellForm  int            `json:"well_formed"`
	Failed    map[string]int `json:"failed_runs"` // by class
	AnswersBy map[string]int `json:"answers_by_class"`
	InTok     int            `json:"in_tok"`
	OutTok    int            `json:"out_tok"`
	CachedTok int            `json:"cached_tok"`
	Leaked    int            `json:"leaked_worktrees"`
	Transport int            `json:"transport_errors"`
	Setup     int            `json:"setup_errors"`
	greens    []float64      // share of green tests in failed runs that have a candidate
	callMS    []int64
	runMS     []int64
	overhead  []int64
}

func newTotals() *totals {
	return &totals{Failed: map[string]int{}, AnswersBy: map[string]int{}}
}

func (t *totals) add(r *Row) {
	t.Leaked += r.Leaked
	switch r.Class {
	case ClassTransport:
		t.Transport++
		return
	case ClassSetup:
		t.Setup++
		return
	}
	t.Runs++
	t.Calls += r.Calls
	if r.Verdict == delegate.Pass {
		t.Passed++
		t.TriesSum += r.PassAt
		if r.PassAt == 1 {
			t.First++
		}
	} else {
		t.Failed[r.Class]++
		if r.Total > 0 {
			t.greens = append(t.greens, float64(r.Green)/float64(r.Total))
		}
	}
	for _, a := range r.Attempts {
		t.Answers++
		t.AnswersBy[a.Class]++
		if a.wellFormed() {
			t.WellForm++
		}
		t.InTok, t.OutTok, t.CachedTok = t.InTok+a.InTok, t.OutTok+a.OutTok, t.CachedTok+a.CachedTok
		t.callMS = append(t.callMS, a.MS)
	}
	t.runMS, t.overhead = append(t.runMS, r.MS), append(t.overhead, r.OverheadMS)
}

// finish sorts what percentiles are taken of.
func (t *totals) finish() {
	slices.Sort(t.callMS)
	slices.Sort(t.runMS)
	slices.Sort(t.overhead)
}

// contender is one model under one policy.
type contender struct {
	model, policy string
	id            Identity // of the newest row
	all           *totals
	tiers         map[int]*totals
	kinds         map[string]*totals
	tasks         map[string]*totals
	// What the rows say of how they came about, each value once.
	servers, tools, systems, windows, temps map[string]bool
	first, last                             time.Time
}

// name is the model as a table shows it: by its metadata where they are known.
func (c *contender) name() string {
	s := cmp.Or(c.id.ModelName, c.model)
	if c.id.Quant != "" && !strings.Contains(strings.ToLower(s), strings.ToLower(c.id.Quant)) {
		s += " " + c.id.Quant
	}
	return s
}

// contenders sums the selection up.
func (s *selection) contenders() []*contender {
	byKey := map[[2]string]*contender{}
	for _, list := range [][]*Row{s.rows, s.outside} {
		for _, r := range list {
			k := [2]string{r.Model, r.Policy}
			c := byKey[k]
			if c == nil {
				c = newContender(r)
				byKey[k] = c
			}
			c.add(r)
		}
	}
	out := slices.Collect(maps.Values(byKey))
	slices.SortFunc(out, func(a, b *contender) int {
		return cmp.Or(cmp.Compare(a.model, b.model), cmp.Compare(a.policy, b.policy))
	})
	for _, c := range out {
		c.all.finish()
	}
	return out
}

func newContender(r *Row) *contender {
	return &contender{
		model: r.Model, policy: r.Policy, first: r.Time, all: newTotals(), tiers: map[int]*totals{}, kinds: map[string]*totals{}, tasks: map[string]*totals{},
		servers: map[string]bool{}, tools: map[string]bool{}, systems: map[string]bool{}, windows: map[string]bool{}, temps: map[string]bool{},
	}
}

func (c *contender) add(r *Row) {
	if !r.Time.Before(c.last) {
		c.last, c.id = r.Time, r.Identity
	}
	if r.Time.Before(c.first) {
		c.first = r.Time
	}
	c.all.add(r)
	addTo(c.tiers, r.Tier, r)
	addTo(c.kinds, r.Kind, r)
	addTo(c.tasks, r.Task, r)
	c.servers[strings.TrimSpace(r.Backend+" "+r.Server)] = true
	c.tools[strings.TrimSpace(r.Tool+" "+r.Commit)] = true
	c.systems[r.System] = true
	c.windows[fmt.Sprintf("%d tokens, %d slots, %d runs at once", r.Window, r.Slots, r.Parallel)] = true
	for _, a := range r.Attempts {
		c.temps[fmt.Sprintf("%s %.1f", a.Kind, a.Temperature)] = true
	}
}

func addTo[K comparable](m map[K]*totals, k K, r *Row) {
	if m[k] == nil {
		m[k] = newTotals()
	}
	m[k].add(r)
}

// each joins the keys of a set.
func each(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), "; ") }
