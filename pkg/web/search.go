package web

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Query is one search.
type Query struct {
	Text string
	// Limit is the number of hits wanted, 0 for 10. Engines may return fewer or more.
	Limit int
	// Language is a tag such as "en" or "de-DE"; empty leaves it to the engine.
	Language string
}

func (q Query) limit() int {
	if q.Limit <= 0 {
		return 10
	}
	return q.Limit
}

// Hit is one result of a search, as the engine describes it. Title and Snippet
// are plain text. A snippet is never the page.
type Hit struct {
	URL       string    `json:"url"`
	Title     string    `json:"title"`
	Snippet   string    `json:"snippet,omitempty"`
	Published time.Time `json:"published,omitzero"`
	Engines   []string  `json:"engines,omitempty"`
}

// EngineFailure is an engine that did not answer a search.
type EngineFailure struct {
	Engine string `json:"engine"`
	Reason string `json:"reason"`
}

func (f EngineFailure) String() string { return f.Engine + " (" + f.Reason + ")" }

// SearchAnswer is what a provider returned. Failures may be set beside hits:
// then only some of the engines answered.
type SearchAnswer struct {
	Hits     []Hit
	Failures []EngineFailure
}

// Searcher is a search provider. Search returns an error when nothing can be
// said about what exists (unreachable, refused, every engine failed), and an
// answer without hits only when the engines answered and had none. It is safe
// for concurrent use.
type Searcher interface {
	Name() string
	Search(ctx context.Context, q Query) (SearchAnswer, error)
}

// SearchError says why a search failed and what to do about it.
type SearchError struct {
	Provider string
	Status   int // HTTP status, 0 when there was no answer
	Reason   string
	Advice   string // the setting to change; empty when there is none
	Err      error  // the cause, when it is an error of its own
}

func (e *SearchError) Error() string {
	var b strings.Builder
	b.WriteString(e.Provider + ": " + e.Reason)
	if e.Status != 0 && e.Status != 200 {
		fmt.Fprintf(&b, " (status %d)", e.Status)
	}
	if e.Advice != "" {
		b.WriteString("; " + e.Advice)
	}
	return b.String()
}

func (e *SearchError) Unwrap() error { return e.Err }

// allEnginesFailed turns an empty answer with failures into an error: blocked
// engines prove nothing about what exists.
func allEnginesFailed(provider string, failures []EngineFailure) error {
	names := make([]string, len(failures))
	for i, f := range failures {
		names[i] = f.String()
	}
	return &SearchError{
		Provider: provider, Reason: "no results, and engines failed: " + strings.Join(names, ", "),
		Advice: "this does not mean that nothing exists: wait for the suspension to end, or enable other engines in its settings.yml",
		Err:    ErrEngines,
	}
}

// ErrEngines marks a search whose engines all failed.
var ErrEngines = errors.New("search engines failed")
