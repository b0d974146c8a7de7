package research

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/pkg/web"
)

// find plans, searches and reads pages for one round. The error says why nothing
// at all can be read.
func (r *run) find(ctx context.Context, round int) error {
	var candidates []candidate
	if round == 1 {
		for _, u := range r.req.URLs {
			candidates = append(candidates, candidate{hit: web.Hit{URL: u}, asked: true})
		}
	}
	if r.searching() {
		hits, err := r.search(ctx, round)
		if err != nil && len(candidates) == 0 {
			return err
		}
		if err != nil {
			r.note(err.Error())
		}
		for _, h := range hits {
			candidates = append(candidates, candidate{hit: h})
		}
	}
	return r.gather(ctx, candidates, round)
}

// search asks all providers all queries at once and fuses the answers. The
// question itself is searched while the model still plans.
func (r *run) search(ctx context.Context, round int) ([]web.Hit, error) {
	s := &searching{run: r}
	switch {
	case len(r.req.Queries) > 0 && round == 1:
		for _, q := range r.req.Queries {
			s.start(ctx, q)
		}
	case round == 1:
		s.start(ctx, r.req.Question)
		for _, q := range r.plan(ctx) {
			s.start(ctx, q)
		}
	default:
		queries := r.planAgain(ctx)
		if len(queries) == 0 {
			return nil, errors.New("the model had no other queries")
		}
		for _, q := range queries {
			s.start(ctx, q)
		}
	}
	s.wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, f := range s.failures {
		r.note("search engine failed: " + f.String())
	}
	if s.answered == 0 {
		return nil, fmt.Errorf("%w: %w", ErrSearch, errors.Join(dedupe(s.errs)...))
	}
	for _, err := range dedupe(s.errs) {
		r.note(err.Error())
	}
	hits := web.Fuse(s.lists...)
	r.result.Found += len(hits)
	r.stray = len(hits) == 0
	if r.stray {
		r.note("the search engines answered without results (SearXNG also answers so while its engines are suspended); this does not mean that nothing exists")
	}
	return hits, nil
}

// searching collects the answers of the searches under way.
type searching struct {
	run  *run
	wait sync.WaitGroup

	mu       sync.Mutex
	lists    [][]web.Hit
	failures []web.EngineFailure
	errs     []error
	answered int
}

// start searches a query at every provider, once for each distinct query.
func (s *searching) start(ctx context.Context, query string) {
	query = strings.Join(strings.Fields(query), " ")
	for _, known := range s.run.queries {
		if strings.EqualFold(known, query) {
			return
		}
	}
	s.run.queries = append(s.run.queries, query)
	s.run.progress("searching: %s", oneLine(query, 80))
	for _, provider := range s.run.deps.Searchers {
		s.wait.Go(func() {
			answer, err := provider.Search(ctx, web.Query{Text: query, Limit: 2*s.run.req.Sources + 4, Language: s.run.req.Language})
			s.mu.Lock()
			defer s.mu.Unlock()
			if err != nil {
				s.errs = append(s.errs, err)
				return
			}
			s.answered++
			s.lists = append(s.lists, answer.Hits)
			for _, f := range answer.Failures {
				s.addFailure(f)
			}
		})
	}
}

func (s *searching) addFailure(f web.EngineFailure) {
	if slices.Contains(s.failures, f) {
		return
	}
	s.failures = append(s.failures, f)
}

// dedupe keeps one error of each text: several queries fail alike.
func dedupe(errs []error) []error {
	seen := map[string]bool{}
	var out []error
	for _, err := range errs {
		if !seen[err.Error()] {
			seen[err.Error()] = true
			out = append(out, err)
		}
	}
	return out
}

// candidate is a page that may be read.
type candidate struct {
	hit   web.Hit
	asked bool // named by the caller
}

// source is a page (or snippet) with its number.
type source struct {
	n        int
	page     web.Page
	hit      web.Hit
	snippet  bool
	why      string // why only the snippet
	pieces   []piece
	evidence *evidence
	passages []*passage
	shown    int // words given to the model
}

// fetched is the outcome of one candidate.
type fetched struct {
	index  int
	source *source
	err    error
}

// gather reads the best candidates, as many at once as are wanted; a page that
// fails is replaced by the next one at once. What is not there when the time is
// up is reported and left out.
func (r *run) gather(parent context.Context, candidates []candidate, round int) error {
	ctx, cancel := context.WithTimeout(parent, 2*r.deps.PageTimeout)
	defer cancel()
	candidates = r.untried(candidates)
	want := r.req.Sources
	asked := 0
	for _, c := range candidates {
		if c.asked {
			asked++
		}
	}
	want = max(want, asked)
	if !r.searching() {
		want = asked
	}
	limit := min(len(candidates), 2*want+2)
	results := make(chan fetched)
	next, running := 0, 0
	launch := func() {
		if next < limit {
			r.tried[web.Canonical(candidates[next].hit.URL)] = true
			go r.read(ctx, next, candidates[next], results)
			next++
			running++
		}
	}
	for range min(want, limit) {
		launch()
	}
	outcomes := make([]fetched, limit)
	done := 0
	for running > 0 {
		f := <-results
		running--
		outcomes[f.index] = f
		r.tell(f, candidates[f.index], &done, want)
		if f.err != nil && ctx.Err() == nil {
			launch()
		}
	}
	if err := parent.Err(); errors.Is(err, context.Canceled) {
		return err
	}
	// The caller's deadline may have passed: what was read by then still answers.
	return r.number(candidates, outcomes[:next], round)
}

// tell reports one page as progress.
func (r *run) tell(f fetched, c candidate, done *int, want int) {
	if f.err != nil {
		r.progress("not read: %s (%s)", oneLine(c.hit.URL, 80), oneLine(f.err.Error(), 80))
		return
	}
	*done++
	r.progress("read %d of %d: %s", *done, want, oneLine(f.source.page.Title, 80))
}

// untried drops candidates that stand twice in the list or were asked for in an
// earlier round.
func (r *run) untried(candidates []candidate) []candidate {
	var out []candidate
	listed := map[string]bool{}
	for _, c := range candidates {
		key := web.Canonical(c.hit.URL)
		if !r.tried[key] && !listed[key] {
			listed[key] = true
			out = append(out, c)
		}
	}
	return out
}

// read fetches a page and prepares it for ranking and checking, so that this
// work runs beside the other fetches.
func (r *run) read(ctx context.Context, index int, c candidate, results chan<- fetched) {
	f := fetched{index: index}
	defer func() {
		if p := recover(); p != nil { // a page must never end the research
			f.source, f.err = nil, fmt.Errorf("reading it failed: %v", p)
		}
		results <- f
	}()
	page, err := r.deps.Fetcher.Fetch(ctx, c.hit.URL)
	if err != nil {
		f.err = err
		if ctx.Err() != nil {
			f.err = errors.New("the time for reading pages was up")
		}
		return
	}
	f.source = newSource(page, c.hit)
}

func newSource(page web.Page, hit web.Hit) *source {
	s := &source{page: page, hit: hit}
	if s.page.Title == "" {
		s.page.Title = hit.Title
	}
	if s.page.Published.IsZero() {
		s.page.Published = hit.Published
	}
	s.pieces = pieces(s.page.Text)
	s.evidence = newEvidence(s.head(), s.pieces)
	s.passages = passagesOf(s)
	return s
}

// head is what holds for the whole page when claims are looked up.
func (s *source) head() string {
	var head strings.Builder
	head.WriteString(s.page.Title + "\n" + s.page.Byline + "\n" + s.page.Site + "\n" + s.page.Final)
	for _, date := range []time.Time{s.page.Published, s.page.Modified} {
		if !date.IsZero() {
			head.WriteString("\n" + date.Format("2 January 2006"))
		}
	}
	return head.String()
}

// number gives the pages their numbers, in the order of their rank. A page under
// two addresses is one source. Failed pages with a snippet fill the places that
// are left; the rest is listed as not read.
func (r *run) number(candidates []candidate, outcomes []fetched, round int) error {
	seen := map[string]bool{}
	for _, s := range r.sources {
		seen[web.Canonical(s.page.Final)] = true
		seen[s.page.Text] = true
	}
	before := len(r.sources)
	var snippets []*source
	var reasons []error
	for i, f := range outcomes {
		hit := candidates[i].hit
		switch {
		case f.err != nil && len(strings.Fields(hit.Snippet)) >= 8:
			s := newSource(web.Page{URL: hit.URL, Final: hit.URL, Title: hit.Title, Text: hit.Snippet, Published: hit.Published}, hit)
			s.snippet, s.why = true, f.err.Error()
			snippets = append(snippets, s)
			reasons = append(reasons, fmt.Errorf("%s: %w", hit.URL, f.err))
		case f.err != nil:
			r.failed = append(r.failed, FailedPage{hit.URL, f.err.Error()})
			reasons = append(reasons, fmt.Errorf("%s: %w", hit.URL, f.err))
		case f.source != nil && !seen[web.Canonical(f.source.page.Final)] && !seen[f.source.page.Text]:
			seen[web.Canonical(f.source.page.Final)], seen[f.source.page.Text] = true, true
			r.add(f.source)
		}
	}
	room := r.req.Sources - (len(r.sources) - before)
	for i, s := range snippets {
		if i < room {
			r.add(s)
		} else {
			r.failed = append(r.failed, FailedPage{s.page.Final, s.why})
		}
	}
	if len(r.sources) == 0 && len(reasons) > 0 {
		what := "every page failed"
		if r.searching() {
			what = "the search worked, but every page failed"
		}
		return fmt.Errorf("%w: %s: %w", ErrPages, what, errors.Join(reasons...))
	}
	if len(r.sources) == before && len(outcomes) > 0 && round > 1 {
		r.stray = true
	}
	return nil
}

func (r *run) add(s *source) {
	s.n = len(r.sources) + 1
	r.sources = append(r.sources, s)
}
