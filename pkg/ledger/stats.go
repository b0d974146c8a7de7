package ledger

import (
	"cmp"
	"math"
	"sort"
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

// Stats reads the ledger once and sums it up. Memory grows with the number of distinct projects, days, models and
// sessions (about 200 bytes each), not with that of runs.
func (l *Ledger) Stats(q Query) (Report, error) {
	if q.Loc == nil {
		q.Loc = time.Local
	}
	rep := Report{Since: q.Since, Weights: q.Weights}
	c := collector{
		total: sums{Row: Row{Key: "total", Outcomes: map[string]int{}}, ends: make([]int, len(Outcomes()))}, rep: &rep, query: q, recalls: map[recallKey]*Recall{}, sessions: map[session]*presence{},
		tools: newTable(), models: newTable(), projects: newTable(), days: newTable(),
	}
	counts, err := l.Read(q.Since, c.add)
	rep.Counts = counts
	c.finish()
	return rep, err
}

// sums is a row while it grows. The usual outcomes are counted without a map.
type sums struct {
	Row
	ends []int // as Outcomes
}

// table collects rows by key.
type table struct {
	rows map[string]*sums
	key  string // of last
	last *sums
}

func newTable() *table { return &table{rows: map[string]*sums{}} }

func (t *table) row(key string) *sums {
	if t.last != nil && t.key == key {
		return t.last
	}
	s := t.rows[key]
	if s == nil {
		s = &sums{Row: Row{Key: key, Outcomes: map[string]int{}}, ends: make([]int, len(Outcomes()))}
		t.rows[key] = s
	}
	t.key, t.last = key, s
	return s
}

// sorted gives the rows with most runs first, the fixed cost last.
func (t *table) sorted() []Row {
	rows := make([]Row, 0, len(t.rows))
	for _, s := range t.rows {
		rows = append(rows, s.done())
	}
	sort.Slice(rows, func(i, j int) bool {
		a, b := &rows[i], &rows[j]
		return cmp.Or(cmp.Compare(b2i(a.Key == KeyFixed), b2i(b.Key == KeyFixed)), cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Key, b.Key)) < 0
	})
	return rows
}

func (s *sums) done() Row {
	for i, o := range Outcomes() {
		if s.ends[i] > 0 {
			s.Outcomes[o] = s.ends[i]
		}
	}
	return s.Row
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// session identifies one for the fixed cost. Where its id is not known, a project's day counts as one.
type session struct{ id, project, day string }

// presence is where the cost of a session belongs, and whether it searched for a tool.
type presence struct {
	day, project string
	searched     bool
}

type recallKey struct {
	rule string
	call bool
}

type collector struct {
	rep      *Report
	query    Query
	recalls  map[recallKey]*Recall
	sessions map[session]*presence

	lastSession  session
	lastPresence *presence

	total                         sums
	tools, models, projects, days *table
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

// entry is one run as the rows count it.
type entry struct {
	run           *Run
	end           int // place of its outcome, -1 for one that is not known
	asked, longer int
	net           float64
}

func (c *collector) add(r *Run) bool {
	rep := c.rep
	if rep.First.IsZero() || r.TS.Before(rep.First) {
		rep.First = r.TS
	}
	if r.TS.After(rep.Last) {
		rep.Last = r.TS
	}
	day := c.dayOf.of(r.TS, c.query.Loc)
	c.present(r, day)
	if r.Tool == ToolSession {
		return true
	}
	parts := c.query.Weights.Parts(r)
	e := entry{run: r, net: parts.Net(), end: -1, longer: b2i(r.Tool == ToolNote || r.BaseTok > 0 && r.ClaudeTokIn > r.BaseTok)}
	switch {
	case r.Outcome == Asked || r.Tool == ToolReread || r.Tool == ToolNote:
		e.asked = 1
	default:
		e.end = place(r.Outcome)
	}
	rep.Parts.add(&parts)
	c.total.count(&e)
	c.tools.row(r.Tool).count(&e)
	c.models.row(cmp.Or(r.Model, KeyNone)).count(&e)
	c.projects.row(cmp.Or(r.Project, KeyNone)).count(&e)
	c.days.row(day).count(&e)
	switch r.Tool {
	case ToolShrink, ToolReread, ToolNote:
		rep.Shrunk += e.net
	default:
		rep.Calls += e.net
	}
	c.recall(r)
	return true
}

// count adds one run to a row.
func (s *sums) count(e *entry) {
	r := e.run
	switch {
	case e.asked > 0:
		s.Asked++
	case e.end < len(s.ends):
		s.ends[e.end]++
		s.Runs++
		s.OK += b2i(r.OK)
	default:
		s.Outcomes[r.Outcome]++
		s.Runs++
		s.OK += b2i(r.OK)
	}
	s.Longer += e.longer
	s.MS += r.MS
	s.LocalTok += r.InTok
	s.CachedTok += r.CachedTok
	s.OutTok += r.OutTok
	s.ClaudeTok += r.ClaudeTokIn
	s.Net += e.net
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
func (c *collector) recall(r *Run) {
	if r.Rule == "" || r.Tool != ToolReread && r.Tool != ToolShrink && r.Raw == "" || r.Outcome == Asked {
		return
	}
	key := recallKey{rule: r.Rule, call: r.Tool != ToolReread && r.Tool != ToolShrink}
	rc := c.recalls[key]
	if rc == nil {
		rc = &Recall{Rule: r.Rule}
		c.recalls[key] = rc
	}
	switch {
	case r.Tool != ToolReread:
		rc.Shrunk++
	case r.Attempts <= 1: // the first time this text was fetched
		rc.Fetched++
	}
}

func (c *collector) finish() {
	c.charge()
	rep := c.rep
	rep.Tools, rep.Models, rep.Projects, rep.Days = c.tools.sorted(), c.models.sorted(), c.projects.sorted(), c.days.sorted()
	sort.Slice(rep.Days, func(i, j int) bool { return rep.Days[i].Key < rep.Days[j].Key })
	rep.Recalls = c.rates()
}

// rates joins what calls and rereads say of the same rule.
func (c *collector) rates() []Recall {
	byRule := map[string]*Recall{}
	for key, rc := range c.recalls {
		name := key.rule
		if key.call {
			name = OffloadRule(name)
		}
		sum := byRule[name]
		if sum == nil {
			sum = &Recall{Rule: name}
			byRule[name] = sum
		}
		sum.Shrunk += rc.Shrunk
		sum.Fetched += rc.Fetched
	}
	var all []Recall
	for _, rc := range byRule {
		if rc.Shrunk > 0 {
			rc.Rate = float64(rc.Fetched) / float64(rc.Shrunk)
		}
		all = append(all, *rc)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := &all[i], &all[j]
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(b.Shrunk, a.Shrunk), cmp.Compare(a.Rule, b.Rule)) < 0
	})
	return all
}

// charge adds what the sessions pay for our presence, and closes the total.
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
		rep.Calls += net
		c.total.Net += net
		c.tools.row(KeyFixed).Net += net
		c.models.row(KeyFixed).Net += net
		c.projects.row(cmp.Or(p.project, KeyNone)).Net += net
		c.days.row(p.day).Net += net
	}
	rep.Total = c.total.done()
}
