package ledger

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Row is one line of a statistic.
type Row struct {
	Key       string         `json:"key"`
	Runs      int            `json:"runs"`
	OK        int            `json:"ok"`
	Outcomes  map[string]int `json:"outcomes"`
	MS        int64          `json:"ms"`         // time spent
	LocalTok  int64          `json:"local_tok"`  // read by local models
	CachedTok int64          `json:"cached_tok"` // of these from their cache
	OutTok    int64          `json:"out_tok"`    // written by local models
	ClaudeTok int64          `json:"claude_tok"` // received by Claude
	Net       float64        `json:"net"`        // saved, in uncached input tokens, a whole number; an estimate
}

// add sums another row up into this one.
func (row *Row) add(r *Row) {
	row.Runs += r.Runs
	row.OK += r.OK
	for k, n := range r.Outcomes {
		row.Outcomes[k] += n
	}
	row.MS += r.MS
	row.LocalTok += r.LocalTok
	row.CachedTok += r.CachedTok
	row.OutTok += r.OutTok
	row.ClaudeTok += r.ClaudeTok
	row.Net += r.Net
}

// Recall says how often the full text was fetched after a rule had shortened it: a high rate means the rule cuts
// too much.
type Recall struct {
	Rule    string  `json:"rule"`
	Shrunk  int     `json:"shrunk"`
	Rereads int     `json:"rereads"`
	Rate    float64 `json:"rate"`
}

// Report is the statistic of a time span. In each of the four tables the nets add up to Total.Net: what a session
// pays for our presence is a row of its own, KeyFixed.
type Report struct {
	Since    time.Time `json:"since"`
	First    time.Time `json:"first"` // time of the first run counted
	Last     time.Time `json:"last"`
	Weights  Weights   `json:"weights"`
	Counts   Counts    `json:"counts"`
	Sessions int       `json:"sessions"`
	Total    Row       `json:"total"`
	Calls    float64   `json:"calls_net"`  // part of Total.Net from calls, their fixed cost included
	Shrunk   float64   `json:"shrunk_net"` // part of Total.Net from results that shrank by themselves
	Tools    []Row     `json:"tools"`
	Models   []Row     `json:"models"`
	Projects []Row     `json:"projects"`
	Days     []Row     `json:"days"`
	Recalls  []Recall  `json:"recalls"`
}

// KeyFixed is the key of the row that holds the fixed cost of all sessions.
const KeyFixed = "(being there)"

// table collects rows by key.
type table map[string]*Row

func (t table) row(key string) *Row {
	row := t[key]
	if row == nil {
		row = &Row{Key: key, Outcomes: map[string]int{}}
		t[key] = row
	}
	return row
}

// sorted gives the rows with most runs first, the fixed cost last.
func (t table) sorted() []Row {
	rows := make([]Row, 0, len(t))
	for _, r := range t {
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		if fixed := cmp.Compare(b2i(a.Key == KeyFixed), b2i(b.Key == KeyFixed)); fixed != 0 {
			return fixed
		}
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Key, b.Key))
	})
	return rows
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Stats reads the ledger once and sums it up. Days are those of loc. Memory grows with the number of distinct
// projects, days, models and sessions, not with that of runs.
func (l *Ledger) Stats(since time.Time, w Weights, loc *time.Location) (Report, error) {
	rep := Report{Since: since, Weights: w, Total: Row{Key: "total", Outcomes: map[string]int{}}}
	c := collector{
		rep: &rep, loc: loc, cells: map[cell]*sums{}, recalls: map[string]*Recall{},
		tools: table{}, models: table{}, projects: table{}, days: table{},
	}
	counts, err := l.Read(since, c.add)
	rep.Counts = counts
	c.finish()
	return rep, err
}

// cell is everything a run is counted under. One look-up per line, instead of one per table, is what keeps a
// million lines within the time.
type cell struct{ tool, model, project, day, session, outcome, rule string }

type sums struct {
	runs, ok                         int
	ms, local, cached, out, received int64
	net                              float64
}

type collector struct {
	rep                           *Report
	loc                           *time.Location
	cells                         map[cell]*sums
	last                          cell
	lastSums                      *sums
	recalls                       map[string]*Recall
	tools, models, projects, days table
	dayOf                         dayCache
}

// dayCache keeps the last day's name: formatting a date for every one of a million lines would take half the time.
type dayCache struct {
	start, end time.Time
	name       string
}

func (d *dayCache) of(t time.Time, loc *time.Location) string {
	if d.name == "" || t.Before(d.start) || !t.Before(d.end) {
		local := t.In(loc)
		y, m, day := local.Date()
		d.start = time.Date(y, m, day, 0, 0, 0, 0, loc)
		d.end = time.Date(y, m, day+1, 0, 0, 0, 0, loc)
		d.name = local.Format(time.DateOnly)
	}
	return d.name
}

func (c *collector) add(r *Run) bool {
	if c.rep.First.IsZero() {
		c.rep.First = r.TS
	}
	c.rep.Last = r.TS
	key := cell{tool: r.Tool, model: r.Model, project: r.Project, day: c.dayOf.of(r.TS, c.loc), session: r.Session, outcome: r.Outcome, rule: r.Rule}
	if c.lastSums == nil || key != c.last {
		c.last, c.lastSums = key, c.cells[key]
		if c.lastSums == nil {
			c.lastSums = &sums{}
			c.cells[key] = c.lastSums
		}
	}
	s := c.lastSums
	s.runs++
	s.ok += b2i(r.OK)
	s.ms += r.MS
	s.local += r.InTok
	s.cached += r.CachedTok
	s.out += r.OutTok
	s.received += r.ClaudeTokIn
	s.net += c.rep.Weights.Net(r)
	return true
}

// session identifies one for the fixed cost. Where its id is not known, a project's day counts as one.
type session struct{ id, project, day string }

// spread adds the cells up into the tables and returns the number of sessions.
func (c *collector) spread() int {
	sessions := map[session]bool{}
	for key, s := range c.cells {
		s.net = math.Round(s.net) // whole numbers add up to the same total in every table and order
		row := Row{
			Runs: s.runs, OK: s.ok, Outcomes: map[string]int{key.outcome: s.runs}, MS: s.ms,
			LocalTok: s.local, CachedTok: s.cached, OutTok: s.out, ClaudeTok: s.received, Net: s.net,
		}
		c.rep.Total.add(&row)
		c.tools.row(key.tool).add(&row)
		c.models.row(cmp.Or(key.model, "(none)")).add(&row)
		c.projects.row(cmp.Or(key.project, "(none)")).add(&row)
		c.days.row(key.day).add(&row)
		switch key.tool {
		case ToolShrink, ToolReread:
			c.rep.Shrunk += s.net
			c.recall(key, s.runs)
		default:
			c.rep.Calls += s.net
		}
		id := session{id: key.session}
		if id.id == "" {
			id = session{project: key.project, day: key.day}
		}
		sessions[id] = true
	}
	return len(sessions)
}

func (c *collector) recall(key cell, runs int) {
	if key.rule == "" {
		return
	}
	rc := c.recalls[key.rule]
	if rc == nil {
		rc = &Recall{Rule: key.rule}
		c.recalls[key.rule] = rc
	}
	if key.tool == ToolReread {
		rc.Rereads += runs
	} else {
		rc.Shrunk += runs
	}
}

func (c *collector) finish() {
	rep := c.rep
	rep.Sessions = c.spread()
	if rep.Sessions > 0 {
		fixed := -math.Round(rep.Weights.Fixed() * float64(rep.Sessions))
		for _, t := range []table{c.tools, c.models, c.projects, c.days} {
			t.row(KeyFixed).Net = fixed
		}
		rep.Total.Net += fixed
		rep.Calls += fixed
	}
	rep.Tools, rep.Models, rep.Projects = c.tools.sorted(), c.models.sorted(), c.projects.sorted()
	rep.Days = c.days.sorted()
	slices.SortFunc(rep.Days, func(a, b Row) int { return cmp.Compare(dayKey(a), dayKey(b)) })
	for _, rc := range c.recalls {
		if rc.Shrunk > 0 {
			rc.Rate = float64(rc.Rereads) / float64(rc.Shrunk)
		}
		rep.Recalls = append(rep.Recalls, *rc)
	}
	slices.SortFunc(rep.Recalls, func(a, b Recall) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(a.Rule, b.Rule))
	})
}

// dayKey sorts days by date, the fixed cost last.
func dayKey(r Row) string {
	if r.Key == KeyFixed {
		return "~"
	}
	return r.Key
}
