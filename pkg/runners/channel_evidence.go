package runners

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// event is one line of a report in JSON.
type event struct {
	Kind    string `json:"e"` // start, plan, open, test, empty, finish, exit
	PID     int    `json:"p"`
	N       int    `json:"n"`
	ID      string `json:"id"`
	Outcome string `json:"o"` // passed, failed, skipped
	File    string `json:"f"`
	Code    int    `json:"code"`
	At      string `json:"at"`
}

// maxReport bounds what is read of one report, in bytes.
const maxReport = 64 << 20

// events reads a report; a broken last line (the writer died) is ignored.
func events(path string) []event {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	var out []event
	sc := bufio.NewScanner(io.LimitReader(f, maxReport))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var e event
		if json.Unmarshal(sc.Bytes(), &e) == nil {
			out = append(out, e)
		}
	}
	return out
}

// readEvents is the reader of every JSON report.
func readEvents(c *Channel, p part) Evidence {
	e := Evidence{Channel: p.name}
	open, begun := map[int]int{}, false
	last, pending := map[string]string{}, map[string]bool{}
	var order []string
	for _, v := range events(p.file) {
		switch v.Kind {
		case "start":
			open[v.PID]++
			begun = true
		case "finish":
			open[v.PID]--
		case "plan":
			e.Planned = new(val(e.Planned) + v.N)
		case "open":
			pending[v.ID] = true
		case "test":
			delete(pending, v.ID)
			if _, ok := last[v.ID]; !ok {
				order = append(order, v.ID)
			}
			last[v.ID] = v.Outcome
		case "empty":
			e.Empty = append(e.Empty, c.rel(v.ID))
		case "exit":
			e.Exits = append(e.Exits, fmt.Sprintf("exit(%d) from %s", v.Code, c.rel(v.At)))
		}
	}
	for _, id := range order {
		switch last[id] {
		case "passed":
			e.Passed = append(e.Passed, id)
		case "failed":
			e.Failed = append(e.Failed, id)
		default:
			e.Skipped = append(e.Skipped, id)
		}
	}
	for id := range pending {
		e.Lost = append(e.Lost, id)
	}
	slices.Sort(e.Lost)
	e.Started, e.Finished = begun, begun && len(pending) == 0
	for _, n := range open {
		e.Finished = e.Finished && n <= 0
	}
	return e
}

// rel shows a path as the project names it.
func (c *Channel) rel(p string) string { return cleanPath(p, c.setup.Dir) }

// unit is one test binary as the go and cargo wrappers saw it.
type unit struct {
	name       string
	names      int // tests it lists
	logged     int // results it wrote
	lost, done bool
	code       int
	outcomes   []string // of its tests, beside ids
	ids        []string
}

// readUnits reads the tab-separated notes of a wrapper, in order of start.
func readUnits(text string) []*unit {
	byPID := map[string]*unit{}
	var order []*unit
	for l := range strings.SplitSeq(text, "\n") {
		w := strings.SplitN(l, "\t", 4)
		if len(w) < 3 {
			continue
		}
		u := byPID[w[1]]
		if u == nil || w[0] == "start" && u.done {
			u = &unit{}
			byPID[w[1]] = u
			order = append(order, u)
		}
		switch w[0] {
		case "start":
			u.lost = w[2] == "lost"
			u.names, _ = strconv.Atoi(w[2]) // "lost" is 0
			if len(w) == 4 {
				u.name = w[3]
			}
		case "test":
			word, name, _ := strings.Cut(w[2], " ")
			u.logged++
			u.outcomes, u.ids = append(u.outcomes, word), append(u.ids, name)
		case "finish":
			u.done = true
			u.code, _ = strconv.Atoi(w[2]) // written by $?
		}
	}
	return order
}

// readWrapper says which test binaries started, how many tests they list, how
// they ended and what they logged.
func readWrapper(c *Channel, p part) Evidence {
	e := Evidence{Channel: p.name}
	b, err := os.ReadFile(p.file)
	if err != nil {
		return e
	}
	units := readUnits(string(b))
	e.Started, e.Finished = len(units) > 0, len(units) > 0
	for _, u := range units {
		for i, id := range u.ids {
			switch u.outcomes[i] {
			case "ok":
				e.Passed = append(e.Passed, id)
			case "failed":
				e.Failed = append(e.Failed, id)
			default:
				e.Skipped = append(e.Skipped, id)
			}
		}
		e.Planned = new(val(e.Planned) + u.names)
		switch {
		case u.lost, !u.done, p.name == "cargo test" && u.code == 0 && u.logged < u.names:
			e.Lost = append(e.Lost, c.rel(u.name))
			e.Finished = false
		case u.names == 0:
			e.Empty = append(e.Empty, c.rel(u.name))
		}
	}
	return e
}

// Read collects what the channels noted. The zero Evidence (Channel "") means
// that none was attached.
func (c *Channel) Read() Evidence {
	var sum Evidence
	for _, p := range c.parts {
		e := p.read(c, p)
		if p.guard {
			if p.sure { // behind a script, programs may well end themselves
				sum.Exits = append(sum.Exits, e.Exits...)
			}
			continue
		}
		if !e.Started {
			continue
		}
		if sum.Channel == "" {
			e.Exits = append(sum.Exits, e.Exits...)
			sum = e
			continue
		}
		sum.Channel += "+" + e.Channel
		sum.Finished = sum.Finished && e.Finished
		if sum.Planned != nil && e.Planned != nil {
			sum.Planned = new(*sum.Planned + *e.Planned)
		} else {
			sum.Planned = nil
		}
		sum.Passed = append(sum.Passed, e.Passed...)
		sum.Failed = append(sum.Failed, e.Failed...)
		sum.Skipped = append(sum.Skipped, e.Skipped...)
		sum.Empty = append(sum.Empty, e.Empty...)
		sum.Lost = append(sum.Lost, e.Lost...)
		sum.Exits = append(sum.Exits, e.Exits...)
	}
	sum.Exits = slices.Compact(sum.Exits)
	return sum
}

// Apply lets the side channel's evidence beat the text: a run whose end marker
// is missing did not finish, one that ran nothing has no tests, and a failure
// noted there is a failure whatever the text says. Evidence of a channel that
// never started changes nothing. It never makes a bad state better.
func (r *Result) Apply(e Evidence) {
	if len(e.Exits) > 0 && (len(e.Empty) > 0 || !e.Started) && (r.State == StateNoTests || e.Started && r.State == StatePassed) {
		// A file that ran nothing, or a run that never got to its tests.
		r.Evidence, r.State = &e, StateDidNotFinish
		r.Notes = append(r.Notes, "the process was ended by "+strings.Join(e.Exits, ", "))
		return
	}
	if !e.Started {
		if len(e.Exits) > 0 && r.State != StatePassed {
			r.Notes = append(r.Notes, "the process was ended by "+strings.Join(e.Exits, ", "))
		}
		return
	}
	r.Evidence = &e
	ran := len(e.Passed) + len(e.Failed)
	named := e.Passed != nil || e.Failed != nil || e.Skipped != nil
	if !e.Finished {
		why := "the tests did not run to their end"
		if len(e.Lost) > 0 {
			why += ": " + strings.Join(e.Lost, ", ")
		}
		if len(e.Exits) > 0 {
			why += " (" + strings.Join(e.Exits, ", ") + ")"
		}
		r.Notes = append(r.Notes, why)
		r.State = StateDidNotFinish
		return
	}
	switch {
	case r.State == StatePassed && len(e.Failed) > 0:
		r.State = StateFailed
		r.Notes = append(r.Notes, "the text reads as passed, the runner's own report names failures")
	case r.State == StatePassed && ran == 0 && (named || e.Planned == nil && len(e.Empty) > 0 || e.Planned != nil && *e.Planned == 0):
		r.State = StateNoTests
		r.Notes = append(r.Notes, "the runner's own report names no test that ran")
	case r.State == StatePassed && e.Planned != nil && named && ran+len(e.Skipped) < *e.Planned:
		r.State = StateDidNotFinish
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d planned tests reported a result", ran+len(e.Skipped), *e.Planned))
	}
	if named && r.Tests.Passed == nil {
		r.Tests.Passed, r.Tests.Failed, r.Tests.Skipped = new(len(e.Passed)), new(len(e.Failed)), new(len(e.Skipped))
	}
	if len(r.Failures) == 0 {
		for _, id := range e.Failed {
			r.Failures = append(r.Failures, Failure{ID: id})
		}
	}
}
