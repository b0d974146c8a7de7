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
	Asked     int            `json:"asked"`      // what is no run: calls that started one, waited or looked something up, and fetches of kept texts
	Longer    int            `json:"longer"`     // runs that gave Claude more than it would have received without us
	MS        int64          `json:"ms"`         // time spent
	LocalTok  int64          `json:"local_tok"`  // read by local models
	CachedTok int64          `json:"cached_tok"` // of these from their cache
	OutTok    int64          `json:"out_tok"`    // written by local models
	ClaudeTok int64          `json:"claude_tok"` // received by Claude
	Net       float64        `json:"net"`        // saved, in uncached input tokens, a whole number; an estimate
}

// Add sums another row up into this one.
func (row *Row) Add(r *Row) {
	row.Runs += r.Runs
	row.OK += r.OK
	for k, n := range r.Outcomes {
		row.Outcomes[k] += n
	}
	row.Asked += r.Asked
	row.Longer += r.Longer
	row.MS += r.MS
	row.LocalTok += r.LocalTok
	row.CachedTok += r.CachedTok
	row.OutTok += r.OutTok
	row.ClaudeTok += r.ClaudeTok
	row.Net += r.Net
}

// Recall says how often a text was fetched that a rule had shortened: a high rate means the rule cuts too much.
type Recall struct {
	Rule    string  `json:"rule"`
	Shrunk  int     `json:"shrunk"`  // texts shortened
	Fetched int     `json:"fetched"` // of these, asked for again
	Rate    float64 `json:"rate"`
}

// Query is what a statistic covers.
type Query struct {
	Since   time.Time // zero: all there is
	Weights Weights
	Loc     *time.Location // whose days are counted; nil: local time
	// Searched tells the tools that Claude has to search for before their first use in a session; nil: none.
	Searched func(tool string) bool
}

// Report is the statistic of a time span. In each of the four tables the nets add up to Total.Net, and so do the
// Parts. What a session pays for our presence belongs to its day and project; among tools and models it is a row of
// its own, KeyFixed.
type Report struct {
	Since    time.Time `json:"since"`
	First    time.Time `json:"first"` // time of the first run counted
	Last     time.Time `json:"last"`
	Weights  Weights   `json:"weights"`
	Counts   Counts    `json:"counts"`
	Sessions int       `json:"sessions"`
	Total    Row       `json:"total"`
	Parts    Parts     `json:"parts"`
	Calls    float64   `json:"calls_net"`  // part of Total.Net from calls, with our presence
	Shrunk   float64   `json:"shrunk_net"` // part of Total.Net from results that shrank by themselves
	Tools    []Row     `json:"tools"`
	Models   []Row     `json:"models"`
	Projects []Row     `json:"projects"`
	Days     []Row     `json:"days"`
	Recalls  []Recall  `json:"recalls"`
}

// Keys of rows that stand for no name.
const (
	KeyFixed = "(being there)" // the fixed cost of all sessions
	KeyNone  = "(none)"        // no model was needed, no project was known
)

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

// Stats reads the ledger once and sums it up. Memory grows with the number of distinct projects, days, models and
// sessions (about 150 bytes each), not with that of runs.
func (l *Ledger) Stats(q Query) (Report, error) {
	if q.Loc == nil {
		q.Loc = time.Local
	}
	rep := Report{Since: q.Since, Weights: q.Weights, Total: Row{Key: "total", Outcomes: map[string]int{}}}
	c := collector{
		rep: &rep, query: q, cells: map[cell]*sums{}, recalls: map[string]*Recall{}, sessions: map[session]*presence{},
		tools: table{}, models: table{}, projects: table{}, days: table{},
	}
	counts, err := l.Read(q.Since, c.add)
	rep.Counts = counts
	c.finish()
	return rep, err
}

// cell is everything a run is counted under. One look-up per line, instead of one per table, is what keeps a
// million lines within the time.
type cell struct {
	tool, model, project, day, outcome, rule string
	kept                                     bool // the whole text was kept for Claude to fetch
}

type sums struct {
	runs, ok, longer, again          int
	ms, local, cached, out           int64
	base, baseOut, received, written int64
}

// session identifies one for the fixed cost. Where its id is not known, a project's day counts as one.
type session struct{ id, project, day string }

// presence is where the cost of a session belongs, and whether it searched for a tool.
type presence struct {
	day, project string
	searched     bool
}

type collector struct {
	rep                           *Report
	query                         Query
	cells                         map[cell]*sums
	last                          cell
	lastSums                      *sums
	lastSession                   session
	lastPresence                  *presence
	recalls                       map[string]*Recall
	sessions                      map[session]*presence
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
	key := cell{
		tool: r.Tool, model: r.Model, project: r.Project, day: c.dayOf.of(r.TS, c.query.Loc), outcome: r.Outcome,
		rule: r.Rule, kept: r.Raw != "",
	}
	c.present(r, key.day)
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
	s.longer += b2i(r.Tool == ToolNote || r.BaseTok > 0 && r.ClaudeTokIn > r.BaseTok)
	s.again += b2i(r.Attempts > 1)
	s.ms += r.MS
	s.local += r.InTok
	s.cached += r.CachedTok
	s.out += r.OutTok
	s.base += r.BaseTok
	s.baseOut += r.BaseOut
	s.received += r.ClaudeTokIn
	s.written += r.ClaudeTokOut
	return true
}

// spread adds the cells up into the tables.
func (c *collector) spread() {
	for key, s := range c.cells {
		if key.tool == ToolSession {
			continue
		}
		parts := c.query.Weights.parts(key.tool, s.base, s.baseOut, s.received, s.written)
		row := Row{
			Longer: s.longer, MS: s.ms, LocalTok: s.local, CachedTok: s.cached, OutTok: s.out, ClaudeTok: s.received, Net: parts.Net(),
		}
		if key.outcome == Asked || key.tool == ToolReread || key.tool == ToolNote {
			row.Asked = s.runs
		} else {
			row.Runs, row.OK, row.Outcomes = s.runs, s.ok, map[string]int{key.outcome: s.runs}
		}
		c.rep.Parts.add(&parts)
		c.rep.Total.Add(&row)
		c.tools.row(key.tool).Add(&row)
		c.models.row(cmp.Or(key.model, KeyNone)).Add(&row)
		c.projects.row(cmp.Or(key.project, KeyNone)).Add(&row)
		c.days.row(key.day).Add(&row)
		switch key.tool {
		case ToolShrink, ToolReread, ToolNote:
			c.rep.Shrunk += row.Net
		default:
			c.rep.Calls += row.Net
		}
		c.recall(key, s)
	}
}

// present notes the session of a run. Runs that Claude had no part in belong to none.
func (c *collector) present(r *Run, day string) {
	id := session{id: r.Session}
	if id.id == "" {
		if r.ClaudeTokIn == 0 && r.ClaudeTokOut == 0 {
			return
		}
		id = session{project: r.Project, day: day}
	}
	if c.lastPresence == nil || id != c.lastSession {
		c.lastSession, c.lastPresence = id, c.sessions[id]
	}
	p := c.lastPresence
	if p == nil {
		p = &presence{day: day, project: r.Project} // lines come in the order of time
		c.sessions[id], c.lastPresence = p, p
	}
	if !p.searched && r.ClaudeTokOut > 0 && c.query.Searched != nil {
		p.searched = c.query.Searched(r.Tool)
	}
}

// recall counts the texts that rules shortened, and those fetched after all.
func (c *collector) recall(key cell, s *sums) {
	rule, shrunk, fetched := key.rule, 0, 0
	switch {
	case rule == "":
		return
	case key.tool == ToolReread:
		fetched = s.runs - s.again
	case key.tool == ToolShrink:
		shrunk = s.runs
	case key.kept:
		rule, shrunk = OffloadRule(rule), s.runs
	default:
		return
	}
	rc := c.recalls[rule]
	if rc == nil {
		rc = &Recall{Rule: rule}
		c.recalls[rule] = rc
	}
	rc.Shrunk += shrunk
	rc.Fetched += fetched
}

func (c *collector) finish() {
	rep := c.rep
	c.spread()
	c.charge()
	rep.Tools, rep.Models, rep.Projects = c.tools.sorted(), c.models.sorted(), c.projects.sorted()
	rep.Days = c.days.sorted()
	slices.SortFunc(rep.Days, func(a, b Row) int { return cmp.Compare(a.Key, b.Key) })
	for _, rc := range c.recalls {
		if rc.Shrunk > 0 {
			rc.Rate = float64(rc.Fetched) / float64(rc.Shrunk)
		}
		rep.Recalls = append(rep.Recalls, *rc)
	}
	slices.SortFunc(rep.Recalls, func(a, b Recall) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(b.Shrunk, a.Shrunk), cmp.Compare(a.Rule, b.Rule))
	})
}

// charge adds what the sessions pay for our presence.
func (c *collector) charge() {
	rep, w := c.rep, c.query.Weights
	rep.Sessions = len(c.sessions)
	for _, p := range c.sessions {
		parts := Parts{Prefix: -math.Round(w.Fixed())}
		if p.searched {
			parts.Searches = -math.Round(w.SearchCost)
		}
		net := parts.Net()
		rep.Parts.add(&parts)
		rep.Total.Net += net
		rep.Calls += net
		c.tools.row(KeyFixed).Net += net
		c.models.row(KeyFixed).Net += net
		c.projects.row(cmp.Or(p.project, KeyNone)).Net += net
		c.days.row(p.day).Net += net
	}
}
