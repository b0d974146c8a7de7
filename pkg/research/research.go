// Package research answers a question from pages that are read in full, with
// citations that were checked.
//
// One call: plan (queries) → search (all providers and queries at once, fused) →
// gather (guarded fetch, a failed page replaced by the next result) → passages
// (ranked against question and queries, the budget shared by relevance) → answer
// (the model, without tools; or the best sentences when there is none) → check
// (every sentence against every page) → a second round when the first found too
// little → reply.
//
// Rules: only pages that a search returned or the caller named are fetched; the
// model never chooses an address. A number of a citation that the answer keeps
// has been found to be right by us, or carries a mark. Page text is data: fenced,
// neutralised and labelled as untrusted in the reply.
//
// Pitfall: a small model cites the wrong page in a third of the cases. Its
// numbers are hints, see check.go.
package research

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"legwork/pkg/web"
)

// Limits of a request.
const (
	MaxSources = 20
	MaxQueries = 8
	MaxURLs    = 20

	defaultSources = 5
	defaultRounds  = 2
)

// Request is one question. Question is required. With URLs and no Queries only
// those pages are read; otherwise URLs are read in addition to what is found.
type Request struct {
	Question string
	URLs     []string
	Queries  []string // searched as they are; none: the model plans, else the question is searched
	Sources  int      // pages to read in full, 0 for 5, at most 20
	Rounds   int      // searches at most, 0 for 2
	Language string   // of the search, a tag such as "de"; "" leaves it to the engines
}

// Fetcher reads pages; *web.Fetcher is one. Its errors are fit for a reply.
type Fetcher interface {
	Fetch(ctx context.Context, url string) (web.Page, error)
}

// Model answers one prompt. Implementations must not offer tools to the model.
type Model interface {
	// Name is the model that will answer, as its server calls it.
	Name() string
	// Window is the size of prompt and answer together in tokens, 0 when unknown.
	Window() int
	// Ask runs one chat of a system and a user message.
	Ask(ctx context.Context, system, user string, answerTokens int) (Reply, error)
}

// Outcomes of a model call and of a research that are not an error.
const (
	Answered  = "answered"
	CutOff    = "cut_off" // the budget ended the answer
	Empty     = "empty"   // the model said nothing
	Looped    = "looped"  // the model repeated itself until stopped
	Timeout   = "timeout"
	Transport = "transport_error"
	NoModel   = "no_model"   // answered by the extractive reader
	NoSources = "no_sources" // nothing could be read, so nothing is answered
)

// Reply is what a model call brought. Err-less outcomes are Answered, CutOff,
// Empty and Looped.
type Reply struct {
	Text            string
	Outcome         string
	Note            string // why the answer is not whole
	Swapped         string // another model answered than was asked for, in words
	Model, Endpoint string
	InTok, OutTok   int
	CachedTok       int
}

// Deps are what a research works with.
type Deps struct {
	Searchers []web.Searcher
	Fetcher   Fetcher
	// Model is nil when there is none; NoModel then says why, for the reply.
	Model   Model
	NoModel string
	// Progress is called with one line at a time; nil for none.
	Progress func(string)
	Logger   *slog.Logger
	// PageTimeout bounds the reading step together with Sources: all pages of a
	// round get twice this time. 0 for 15 s.
	PageTimeout time.Duration
	// AnswerTokens is the budget of the answer, 0 for 1024.
	AnswerTokens int
}

// ErrRequest marks a request that cannot be carried out as it is.
var ErrRequest = errors.New("bad request")

// ErrSearch marks a research that ended because no provider could search.
var ErrSearch = errors.New("search failed")

// ErrPages marks a research that ended because no page could be read.
var ErrPages = errors.New("no page could be read")

// Run answers the question. The error is ErrRequest, ErrSearch or ErrPages
// (wrapped, with the reasons), or the context's. A research that found too
// little to answer is a Result that says so.
func Run(ctx context.Context, deps Deps, req Request) (Result, error) {
	start := time.Now()
	r, err := newRun(deps, req)
	if err != nil {
		return Result{}, err
	}
	for round := 1; ; round++ {
		r.result.Rounds = round
		if err := r.find(ctx, round); err != nil {
			if round == 1 {
				return Result{}, err
			}
			r.note("the second search failed: " + err.Error())
			break
		}
		if err := r.answer(ctx); err != nil {
			return Result{}, err
		}
		if !r.wantsMore(round) {
			break
		}
		r.progress("the pages do not answer it; searching once more")
	}
	r.result.MS = time.Since(start).Milliseconds()
	r.finish()
	return r.result, nil
}

// run is the state of one research.
type run struct {
	deps    Deps
	req     Request
	log     *slog.Logger
	sources []*source       // in order of their numbers
	failed  []FailedPage    // pages not read
	tried   map[string]bool // canonical URLs asked for
	queries []string
	stray   bool // searched without any result
	result  Result
	cut     string // what the model was not given, "" for nothing
	unmet   bool   // the last answer says that the pages do not answer
}

// maxRounds bounds Request.Rounds, as the setting is bounded.
const maxRounds = 10

// isPageURL says that an address may be one of a page; http:// may be left out.
func isPageURL(s string) bool {
	s = strings.TrimSpace(s)
	scheme, _, has := strings.Cut(s, "://")
	return s != "" && (!has || strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

func newRun(deps Deps, req Request) (*run, error) {
	req.Question = strings.TrimSpace(req.Question)
	switch {
	case req.Question == "":
		return nil, fmt.Errorf("%w: question is empty", ErrRequest)
	case len(req.Question) > 4000:
		return nil, fmt.Errorf("%w: question has %d bytes, at most 4000 are taken; give pages as urls", ErrRequest, len(req.Question))
	case req.Sources < 0 || req.Sources > MaxSources:
		return nil, fmt.Errorf("%w: sources is %d, it must be 1 to %d", ErrRequest, req.Sources, MaxSources)
	case req.Rounds < 0 || req.Rounds > maxRounds:
		return nil, fmt.Errorf("%w: rounds is %d, it must be 1 to %d", ErrRequest, req.Rounds, maxRounds)
	case len(req.URLs) > 0 && !slices.ContainsFunc(req.URLs, isPageURL):
		return nil, fmt.Errorf("%w: urls: %q is no http or https address", ErrRequest, req.URLs[0])
	case len(req.URLs) > MaxURLs:
		return nil, fmt.Errorf("%w: %d urls, at most %d are read", ErrRequest, len(req.URLs), MaxURLs)
	case len(req.Queries) > MaxQueries:
		return nil, fmt.Errorf("%w: %d queries, at most %d are searched", ErrRequest, len(req.Queries), MaxQueries)
	case deps.Fetcher == nil:
		return nil, errors.New("research without a fetcher")
	case len(deps.Searchers) == 0 && len(req.URLs) == 0:
		return nil, fmt.Errorf("%w: no search provider is set up: set research.searxng_url (or research.brave_api_key, research.tavily_api_key), or give urls", ErrSearch)
	case len(deps.Searchers) == 0 && len(req.Queries) > 0:
		return nil, fmt.Errorf("%w: queries need a search provider: set research.searxng_url (or research.brave_api_key, research.tavily_api_key)", ErrSearch)
	}
	if req.Sources == 0 {
		req.Sources = defaultSources
	}
	if req.Rounds <= 0 {
		req.Rounds = defaultRounds
	}
	if deps.PageTimeout <= 0 {
		deps.PageTimeout = 15 * time.Second
	}
	if deps.AnswerTokens <= 0 {
		deps.AnswerTokens = 1024
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	r := &run{deps: deps, req: req, log: deps.Logger, tried: map[string]bool{}}
	r.result.Question = req.Question
	return r, nil
}

func (r *run) progress(format string, args ...any) {
	if r.deps.Progress != nil {
		r.deps.Progress(fmt.Sprintf(format, args...))
	}
}

func (r *run) note(text string) {
	if !slices.Contains(r.result.Notes, text) {
		r.result.Notes = append(r.result.Notes, text)
	}
}

// searching reports whether this research may ask search providers at all.
func (r *run) searching() bool {
	return len(r.deps.Searchers) > 0 && (len(r.req.URLs) == 0 || len(r.req.Queries) > 0)
}

// wantsMore decides on a second round: the answer found too little, and there is
// a way to find other pages.
func (r *run) wantsMore(round int) bool {
	return r.unmet && round < r.req.Rounds && r.searching() && r.deps.Model != nil && !r.stray
}
