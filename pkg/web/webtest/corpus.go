// Package webtest is a small web for tests: pages of our own on 127.0.0.1, a
// search engine over them that a real searx can ask, and searx itself where it
// is installed.
//
// Nothing in it reaches beyond 127.0.0.1. Pitfall: the corpus is fiction; its
// products and places exist nowhere, so that no model knows the answers.
package webtest

import (
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:embed corpus/*.html
var corpus embed.FS

// Pages returns the pages of the corpus by name ("tidebox-config").
func Pages() map[string][]byte {
	pages := map[string][]byte{}
	names, err := fs.Glob(corpus, "corpus/*.html")
	if err != nil {
		panic(err) // the pattern is ours
	}
	for _, name := range names {
		body, err := corpus.ReadFile(name)
		if err != nil {
			panic(err) // embedded
		}
		pages[strings.TrimSuffix(path.Base(name), ".html")] = body
	}
	return pages
}

// Server serves the corpus:
//
//	/pages/NAME         a page
//	/engine?q=&p=       results for a query as searx's json_engine reads them
//	/status/CODE        that status
//	/slow               a byte every 300 ms for 4 s
//	/later/NAME?ms=N    a page after N milliseconds
type Server struct {
	*httptest.Server
	pages map[string][]byte
}

// NewServer starts a server that is closed with the test.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{pages: Pages()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pages/{name}", func(w http.ResponseWriter, r *http.Request) { s.page(w, r.PathValue("name")) })
	mux.HandleFunc("GET /later/{name}", func(w http.ResponseWriter, r *http.Request) {
		wait, err := time.ParseDuration(r.FormValue("ms") + "ms")
		if err == nil && sleep(r, wait) {
			s.page(w, r.PathValue("name"))
		}
	})
	mux.HandleFunc("GET /engine", s.engine)
	mux.HandleFunc("GET /status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusInternalServerError
		if _, err := fmt.Sscan(r.PathValue("code"), &code); err != nil {
			code = http.StatusBadRequest
		}
		w.WriteHeader(code)
	})
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		for range 13 {
			_, _ = w.Write([]byte(" "))
			_ = http.NewResponseController(w).Flush()
			if !sleep(r, 300*time.Millisecond) {
				return
			}
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Host is the server's host:port, for the exceptions of a fetcher.
func (s *Server) Host() string { return s.Listener.Addr().String() }

// Page is the address of a page.
func (s *Server) Page(name string) string { return s.URL + "/pages/" + name }

func sleep(r *http.Request, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}

func (s *Server) page(w http.ResponseWriter, name string) {
	body, ok := s.pages[name]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(body)
}

// Result is one result of the corpus' engine.
type Result struct {
	URL     string `json:"url"`
	Title   string `json:"title"`
	Content string `json:"content"`
}

var (
	tags  = regexp.MustCompile(`<[^>]*>`)
	title = regexp.MustCompile(`<title>([^<]*)</title>`)
	first = regexp.MustCompile(`(?s)<p>(.*?)</p>`)
	word  = regexp.MustCompile(`[\pL\pN]{3,}`)
)

// Search returns the pages that hold most words of the query, best first.
func (s *Server) Search(query string) []Result {
	type scored struct {
		name  string
		score int
	}
	var found []scored
	for name, body := range s.pages {
		text := strings.ToLower(tags.ReplaceAllString(string(body), " "))
		score := 0
		for _, w := range word.FindAllString(strings.ToLower(query), -1) {
			if strings.Contains(text, w) {
				score++
			}
		}
		if score > 0 {
			found = append(found, scored{name, score})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		if a.score != b.score {
			return b.score - a.score
		}
		return strings.Compare(a.name, b.name)
	})
	results := []Result{}
	for _, f := range found {
		body := string(s.pages[f.name])
		r := Result{URL: s.Page(f.name)}
		if m := title.FindStringSubmatch(body); m != nil {
			r.Title = html.UnescapeString(m[1])
		}
		if m := first.FindStringSubmatch(body); m != nil {
			r.Content = html.UnescapeString(tags.ReplaceAllString(m[1], ""))
		}
		results = append(results, r)
	}
	return results
}

func (s *Server) engine(w http.ResponseWriter, r *http.Request) {
	results := s.Search(r.FormValue("q"))
	if p := r.FormValue("p"); p != "" && p != "1" {
		results = []Result{}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"results": results, "suggestions": []any{}})
}
