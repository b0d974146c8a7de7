package llm

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"
)

// Choose names the model for a call, see [Want]. The same question gets the same
// model every time; of several endpoints that serve it the one with most free
// slots is taken, the first in order when equal. Errors: [*NoModelError], ctx's.
func (r *Registry) Choose(ctx context.Context, w Want) (Choice, error) {
	pause := 250 * time.Millisecond
	start := time.Now()
	var last error
	for {
		cfg, _ := r.snapshot()
		w := cfg.resolve(w)
		sts, err := r.probeSome(ctx, w.endpoint)
		if errors.Is(err, context.DeadlineExceeded) && last != nil {
			return Choice{}, last // what was wrong until then says more than the deadline
		}
		if err != nil {
			return Choice{}, err
		}
		choice, err := pick(cfg, sts, w)
		last = err
		var none *NoModelError
		if err == nil || !w.Wait || time.Since(start) > cfg.FirstByteTimeout || !errors.As(err, &none) || len(none.Ambiguous) > 0 {
			return choice, err
		}
		i := slices.IndexFunc(sts, func(s EndpointStatus) bool { return s.State == Loading })
		if i < 0 {
			return choice, err
		}
		if w.OnProgress != nil {
			w.OnProgress(Progress{Phase: PhaseLoading, Endpoint: sts[i].Name, Text: sts[i].Name + " is loading its model"})
		}
		if waitErr := sleep(ctx, pause); errors.Is(waitErr, context.DeadlineExceeded) {
			return choice, err
		} else if waitErr != nil {
			return choice, waitErr
		}
		pause = min(2*pause, 2*time.Second)
		r.forget(sts[i].Name)
	}
}

// resolved is a Want with settings and notes applied.
type resolved struct {
	Want
	name     string // what to match; empty: the only model there is
	endpoint string
	from     string // the setting that named it, empty: the caller did
	note     ModelNote
	noted    bool
}

// resolve applies the tool's setting, the default and the user's notes.
func (s *Settings) resolve(w Want) resolved {
	out := resolved{Want: w, name: w.Model, endpoint: w.Endpoint}
	if out.name == "" && w.Tool != "" && s.ToolModel[w.Tool] != "" {
		out.name, out.from = s.ToolModel[w.Tool], w.Tool+".model"
	}
	if out.name == "" && s.DefaultModel != "" {
		out.name, out.from = s.DefaultModel, "defaults.model"
	}
	if n, ok := noteNamed(s, out.name); ok {
		out.note, out.noted = n, true
		if out.endpoint == "" {
			out.endpoint = n.Endpoint
		}
	}
	return out
}

// candidate is one model on one endpoint.
type candidate struct {
	st *EndpointStatus
	m  *Model
}

// pick is Choose after the probe: no I/O, the same result for the same input.
func pick(cfg *Settings, sts []EndpointStatus, w resolved) (Choice, error) {
	fail := &NoModelError{Wanted: w.name, Endpoints: sts}
	if w.endpoint != "" && len(sts) == 0 {
		return Choice{}, unknownEndpoint(cfg, w.endpoint)
	}
	all, usable := candidates(sts, w)
	var found []candidate
	how := "only model"
	if w.name == "" {
		if found = usable; len(distinct(found)) > 1 {
			fail.Ambiguous, found = distinct(usable), nil
		}
	} else {
		found, how = lookup(w, usable)
		if ids := distinct(found); len(ids) > 1 {
			fail.Ambiguous, found = ids, nil
		}
	}
	if len(found) == 0 {
		fail.Advice = advice(cfg, sts, w, all)
		return Choice{}, fail
	}
	if w.from != "" {
		how = "setting " + w.from + ", " + how
	}
	return choiceOf(cfg, found, how), nil
}

// lookup finds the models that match the wanted name best: by the note's
// pattern where the user wrote one, else by the name itself. The nickname of a
// note with a pattern says nothing about letters in an id: "coder" is not any
// coder that happens to run, so it counts only where a server uses it itself.
func lookup(w resolved, usable []candidate) ([]candidate, string) {
	models := make([]Model, len(usable))
	for i, c := range usable {
		models[i] = *c.m
	}
	names := []string{w.name}
	if w.noted && w.note.served() != w.name {
		names = []string{w.note.served(), w.name}
	}
	for i, name := range names {
		t, idx := matchAll(name, models)
		if t == tierNone || i > 0 && t != tierExact {
			continue
		}
		found := make([]candidate, len(idx))
		for i, j := range idx {
			found[i] = usable[j]
		}
		return found, t.String()
	}
	return nil, ""
}

// candidates lists all models of endpoints that can answer, and those of them
// that can do what is wanted.
func candidates(sts []EndpointStatus, w resolved) (all, usable []candidate) {
	for i := range sts {
		st := &sts[i]
		if st.State != Up && st.State != Sleeping {
			continue
		}
		for j := range st.Models {
			c := candidate{st, &st.Models[j]}
			all = append(all, c)
			caps := c.m.Caps
			if !caps.Chat || (caps.Known && (w.Tools && !caps.Tools || w.Vision && !caps.Vision)) {
				continue
			}
			if c.m.Remote != "" && matchOne(w.name, *c.m) != tierExact {
				continue // the user's own hardware, unless they ask for this very model
			}
			usable = append(usable, c)
		}
	}
	return all, usable
}

func distinct(cs []candidate) []string {
	var ids []string
	for _, c := range cs {
		if !slices.Contains(ids, c.m.ID) {
			ids = append(ids, c.m.ID)
		}
	}
	return ids
}

// choiceOf puts the endpoint with most free slots first.
func choiceOf(cfg *Settings, found []candidate, how string) Choice {
	sort.SliceStable(found, func(i, j int) bool { return found[i].st.Slots.Free() > found[j].st.Slots.Free() })
	c := found[0]
	out := Choice{
		Model: c.m.ID, Endpoint: c.st.Name, Backend: c.st.Backend, Window: c.m.Window, MaxWindow: c.m.MaxWindow,
		Slots: c.st.Slots.Total, Caps: c.m.Caps, How: how,
	}
	if c.st.Backend == Ollama && c.m.WindowWhy != "models:" {
		out.Window = max(out.Window, ollamaPlan(cfg.NumCtx, out.MaxWindow))
		if cfg.NumCtx > 0 { // a limit the user set, whatever is loaded now
			out.MaxWindow = min(out.MaxWindow, cfg.NumCtx)
			out.Window = min(out.Window, out.MaxWindow)
		}
	}
	for _, o := range found[1:] {
		// A smaller window elsewhere would break what is planned for this one.
		if o.m.Window >= c.m.Window && o.st.Name != c.st.Name && !slices.Contains(out.Also, o.st.Name) {
			out.Also = append(out.Also, o.st.Name)
			out.Slots += o.st.Slots.Total
		}
	}
	return out
}

// Free counts free slots, negative when calls queue: our own bookkeeping first,
// then what other clients keep busy as far as the server tells.
func (s Slots) Free() int { return s.Total - s.Held - max(0, s.Busy+s.Waiting-s.Held) }

func (s *Settings) endpointNames() []string {
	var names []string
	for _, e := range s.Endpoints {
		names = append(names, e.Name)
	}
	if names == nil {
		return []string{"none"}
	}
	return names
}

// PlanWindow is the window to plan with when the server tells none.
func (c Choice) PlanWindow() int {
	if c.Window > 0 {
		return c.Window
	}
	return unknownWindow
}

// unknownWindow is small enough for the defaults of every server but old ones.
const unknownWindow = 8192

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
