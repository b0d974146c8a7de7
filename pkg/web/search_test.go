package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// answers serves one canned reply and keeps the last request.
func answers(t *testing.T, status int, contentType, body string) (base string, last func() *http.Request) {
	t.Helper()
	requests := make(chan *http.Request, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body2, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body2)))
		requests <- r
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() *http.Request {
		var r *http.Request
		for {
			select {
			case r = <-requests:
			default:
				return r
			}
		}
	}
}

func searxng(t *testing.T, bases ...string) *SearXNG {
	t.Helper()
	s, err := NewSearXNG(SearchOptions{Timeout: 20 * time.Second}, bases...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What searx 1.1 and the SearXNG of 2026 answer, as far as they differ.
const (
	searx1 = `{"query":"x","number_of_results":0,"results":[{"url":"https://example.org/a","title":"A title","content":"text","engine":"one","engines":["one","two"],
		"positions":[1,2],"score":3.0,"category":"general","parsed_url":["https","example.org","/a","","",""],"pretty_url":"example.org/a","pubdate":"2024-03-05 10:00:00+0000","publishedDate":"3 hour(s) ago"}],
		"answers":["42"],"corrections":[],"infoboxes":[],"suggestions":["y"],"unresponsive_engines":[["broken","HTTP error"]]}`
	searxng26 = `{"query":"x","results":[{"url":"https://example.org/a","title":"A &amp; <b>title</b>","content":"x <b>result</b>","engine":"one","engines":["one"],"positions":"",
		"template":"default.html","priority":"high","publishedDate":"2024-03-05T10:00:00"},{"url":"javascript:alert(1)","title":"no","content":""}],
		"answers":[{"answer":"42","url":null,"engine":"calc","template":"answer/legacy.html"}],"corrections":[],"infoboxes":[],"suggestions":[],"unresponsive_engines":[["broken","Suspended: too many requests"]]}`
)

func TestSearXNGFormats(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"searx 1.1": searx1, "SearXNG 2026": searxng26} {
		base, last := answers(t, 200, "application/json", body)
		got, err := searxng(t, base+"/sub/search").Search(t.Context(), Query{Text: "!!g  some !words"})
		if err != nil || len(got.Hits) != 1 || len(got.Failures) != 1 || got.Failures[0].Engine != "broken" {
			t.Errorf("%s: %v %+v", name, err, got)
			continue
		}
		if hit := got.Hits[0]; !strings.HasSuffix(hit.Title, "title") || strings.Contains(hit.Title+hit.Snippet, "<") || hit.Published.Format(time.DateOnly) != "2024-03-05" {
			t.Errorf("%s: %+v", name, hit)
		}
		r := last()
		if r.URL.Path != "/sub/search" || r.FormValue("q") != "g some words" || r.FormValue("format") != "json" {
			t.Errorf("%s: asked %s", name, r.URL)
		}
		if h := r.Header; !strings.Contains(h.Get("Accept"), "text/html") || h.Get("Accept-Language") == "" || !strings.Contains(h.Get("Accept-Encoding"), "gzip") ||
			strings.HasPrefix(h.Get("User-Agent"), "Go-http-client") || h.Get("X-Forwarded-For") != "" {
			t.Errorf("%s: headers %v", name, h)
		}
	}
}

// R01, R02 and their like: every failure says what to change.
func TestSearXNGFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, contentType, body string
		status                  int
		want                    []string
	}{
		{"R02 JSON is off", "text/html", "<html><h1>Forbidden</h1>", 403, []string{"search.formats: [html, json]", "Forbidden"}},
		{"limiter", "text/html", "Too Many Requests", 429, []string{"server.limiter: false", "pass_ip"}},
		{"R01 all engines blocked", "application/json", `{"results":[],"unresponsive_engines":[["google","CAPTCHA"],["bing","access denied"]]}`, 200, []string{"google (CAPTCHA)", "bing (access denied)", "not mean that nothing exists"}},
		{"no JSON", "text/html", "<html><title>x</title><body>Welcome to nginx", 200, []string{"text/html instead of JSON", "Welcome to nginx"}},
		{"query refused", "application/json", `{"error":"No query"}`, 200, []string{"No query"}},
		{"bad request", "application/json", `{"error":"search error"}`, 400, []string{"refused", "search error"}},
		{"server error", "text/html", "<h1>Internal Server Error</h1>", 500, []string{"failed twice", "500"}},
		{"broken JSON", "application/json", `{"results":[`, 200, []string{"could not be read"}},
		{"password", "text/html", "no", 401, []string{"password"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			base, _ := answers(t, test.status, test.contentType, test.body)
			_, err := searxng(t, base).Search(t.Context(), Query{Text: "x"})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
	if got, err := searxng(t, first(answers(t, 200, "application/json", `{"results":[],"unresponsive_engines":[]}`))).Search(t.Context(), Query{Text: "x"}); err != nil || len(got.Hits) != 0 {
		t.Errorf("an honest empty answer is no error: %v", err)
	}
	for _, bad := range []string{"", "not a url", "ftp://x"} {
		if _, err := NewSearXNG(SearchOptions{}, bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func first[A, B any](a A, _ B) A { return a }

func TestSearXNGInstances(t *testing.T) {
	t.Parallel()
	down, lastDown := answers(t, 429, "text/html", "no")
	up, _ := answers(t, 200, "application/json", searx1)
	s := searxng(t, down+", "+up)
	for range 2 {
		if got, err := s.Search(t.Context(), Query{Text: "x"}); err != nil || len(got.Hits) != 1 {
			t.Fatalf("the second instance was not used: %v", err)
		}
	}
	if lastDown() == nil || lastDown() != nil {
		t.Error("the failing instance was not asked exactly once")
	}
	if _, err := searxng(t, down, "http://127.0.0.1:1").Search(t.Context(), Query{Text: "x"}); err == nil || !strings.Contains(err.Error(), "limiter") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("both failures must be named: %v", err)
	}
}

// A redirect of the search to another host is not followed: "!!x" does that.
func TestSearXNGRedirect(t *testing.T) {
	t.Parallel()
	elsewhere, last := answers(t, 200, "application/json", searx1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+"/search", http.StatusFound)
	}))
	t.Cleanup(server.Close)
	if _, err := searxng(t, server.URL).Search(t.Context(), Query{Text: "x"}); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("got %v", err)
	}
	if last() != nil {
		t.Error("the redirect was followed")
	}
}

func TestBrave(t *testing.T) {
	t.Parallel()
	base, last := answers(t, 200, "application/json", `{"type":"search","web":{"results":[{"title":"A &quot;title&quot;","url":"https://example.org/","description":"some <strong>text</strong>","page_age":"2024-03-05T10:00:00","extra_snippets":["more"]}]}}`)
	got, err := NewBrave("key-1", base, SearchOptions{}).Search(t.Context(), Query{Text: "x", Limit: 50})
	if err != nil || len(got.Hits) != 1 || got.Hits[0].Title != `A "title"` || got.Hits[0].Snippet != "some text more" {
		t.Errorf("%v %+v", err, got)
	}
	if r := last(); r.Header.Get("X-Subscription-Token") != "key-1" || r.FormValue("count") != "20" || r.FormValue("q") != "x" {
		t.Errorf("asked %s %v", r.URL, r.Header)
	}
	base, _ = answers(t, 401, "application/json", `{"error":"key-1 is wrong"}`)
	if _, err := NewBrave("key-1", base, SearchOptions{}).Search(t.Context(), Query{Text: "x"}); err == nil || !strings.Contains(err.Error(), "research.brave_api_key") || strings.Contains(err.Error(), "key-1") {
		t.Errorf("got %v", err)
	}
}

func TestTavily(t *testing.T) {
	t.Parallel()
	base, last := answers(t, 200, "application/json", `{"query":"x","answer":null,"results":[{"title":"T","url":"https://example.org/","content":"text","score":0.9,"raw_content":null}],"response_time":1.2}`)
	got, err := NewTavily("key-2", base, SearchOptions{}).Search(t.Context(), Query{Text: "x"})
	if err != nil || len(got.Hits) != 1 || got.Hits[0].Snippet != "text" {
		t.Errorf("%v %+v", err, got)
	}
	r := last()
	var sent map[string]any
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer key-2" || sent["query"] != "x" || sent["max_results"] != 10.0 {
		t.Errorf("asked %v %v", sent, r.Header)
	}
	base, _ = answers(t, 432, "application/json", `{"detail":{"error":"limit"}}`)
	if _, err := NewTavily("key-2", base, SearchOptions{}).Search(t.Context(), Query{Text: "x"}); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("got %v", err)
	}
}

func TestSearchCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := searxng(t, "http://127.0.0.1:1").Search(ctx, Query{Text: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	same := []string{"https://www.Example.org/a/", "http://example.org/a", "https://example.org:443/a#part", "https://example.org/a?utm_source=x&fbclid=1", "https://example.org/./b/../a/index.html"}
	for _, u := range same {
		if got := Canonical(u); got != "example.org/a" {
			t.Errorf("%s: %s", u, got)
		}
	}
	for _, pair := range [][2]string{
		{"https://example.org/a?x=1&y=2", "https://example.org/a?y=2&x=1"},
		{"https://example.org", "https://example.org/"},
	} {
		if Canonical(pair[0]) != Canonical(pair[1]) {
			t.Errorf("%v differ", pair)
		}
	}
	for _, pair := range [][2]string{
		{"https://example.org/a?x=1", "https://example.org/a?x=2"}, {"https://example.org:8080/a", "https://example.org/a"}, {"https://example.org/A", "https://example.org/a"},
	} {
		if Canonical(pair[0]) == Canonical(pair[1]) {
			t.Errorf("%v are taken for one", pair)
		}
	}
}

func TestFuse(t *testing.T) {
	t.Parallel()
	hit := func(u, engine, snippet string) Hit {
		return Hit{URL: u, Title: u, Snippet: snippet, Engines: []string{engine}}
	}
	got := Fuse(
		[]Hit{hit("https://a.org/1", "one", ""), hit("http://b.org/", "one", "short"), hit("http://b.org/#x", "one", "")},
		[]Hit{hit("https://c.org/", "two", ""), hit("https://www.b.org", "two", "a longer snippet")},
	)
	var order []string
	for _, h := range got {
		order = append(order, fmt.Sprint(h.URL, h.Engines))
	}
	want := []string{"https://www.b.org[one two]", "https://a.org/1[one]", "https://c.org/[two]"}
	if !slices.Equal(order, want) || got[0].Snippet != "a longer snippet" {
		t.Errorf("got %v, want %v", order, want)
	}
}
