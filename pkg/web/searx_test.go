package web_test

import (
	"errors"
	"strings"
	"testing"

	"legwork/pkg/web"
	"legwork/pkg/web/webtest"
)

// Debian's searx in front of our own engine: one instance with a good and a
// broken engine, one where all are broken.
func TestRealSearx(t *testing.T) {
	t.Parallel()
	server := webtest.NewServer(t)
	base := webtest.StartSearx(t, server, webtest.Corpus, webtest.Engine{Name: "broken", Path: "/status/500?q={query}"})
	searx, err := web.NewSearXNG(web.SearchOptions{}, base+"/search")
	if err != nil {
		t.Fatal(err)
	}
	got, err := searx.Search(t.Context(), web.Query{Text: "lighthouse keeper"})
	if err != nil || len(got.Hits) == 0 || !strings.Contains(got.Hits[0].URL, "lighthouse") || got.Hits[0].Snippet == "" {
		t.Errorf("%v %+v", err, got)
	}
	if len(got.Failures) != 1 || got.Failures[0].Engine != "broken" {
		t.Errorf("failures %v", got.Failures)
	}
	if got, err = searx.Search(t.Context(), web.Query{Text: "!!g lighthouse"}); err != nil || len(got.Hits) == 0 {
		t.Errorf("a query with a bang: %v %v", err, got)
	}
}

// R01 as the real program does it.
func TestRealSearxAllEnginesFail(t *testing.T) {
	t.Parallel()
	server := webtest.NewServer(t)
	base := webtest.StartSearx(t, server,
		webtest.Engine{Name: "broken", Path: "/status/500?q={query}"},
		webtest.Engine{Name: "ratelimited", Path: "/status/429?q={query}"},
		webtest.Engine{Name: "slow", Path: "/slow?q={query}", Timeout: "1.0"})
	searx, err := web.NewSearXNG(web.SearchOptions{}, base)
	if err != nil {
		t.Fatal(err)
	}
	_, err = searx.Search(t.Context(), web.Query{Text: "lighthouse"})
	if !errors.Is(err, web.ErrEngines) {
		t.Fatalf("got %v", err)
	}
	for _, name := range []string{"broken", "ratelimited", "slow"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
}
