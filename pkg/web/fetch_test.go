package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// serve answers every path with its handler, robots.txt with 404 unless given.
func serve(t *testing.T, handlers map[string]http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := handlers[r.URL.Path]; h != nil {
			h(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

func content(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	rss := `<?xml version="1.0" encoding="ISO-8859-1"?><rss version="2.0"><channel><title>News &amp; more</title>
		<item><title>First &lt;b&gt;ferry&lt;/b&gt;</title><pubDate>Tue, 05 Mar 2024 10:00:00 GMT</pubDate><description>&lt;p&gt;The ferry is late.&lt;/p&gt;</description></item></channel></rss>`
	atom := `<feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title><entry><title>Entry one</title><updated>2024-03-05T10:00:00Z</updated><summary>Something changed.</summary></entry></feed>`
	server := serve(t, map[string]http.HandlerFunc{
		"/notes.txt":  content("text/plain", "line one\r\nline two\n"),
		"/readme.md":  content("text/markdown", "# The heading\n\nSome *text*.\n"),
		"/data.json":  content("application/json", `{"name":"ferry","ports":[1,2]}`),
		"/main.go":    content("text/plain; charset=utf-8", "package main\n\nfunc main() { if 1 < 2 {} }\n"),
		"/rss":        content("application/rss+xml", rss),
		"/atom":       content("text/xml", atom),
		"/unnamed":    content("application/octet-stream", "<!DOCTYPE html><html><body>"+prose),
		"/lying":      content("text/plain", "<!doctype html><html><body>"+prose),
		"/plain-html": content("text/html", "no tags at all\nin this text"),
		"/bare.xml":   content("application/xml", "<list><item>First thing</item><item>Second thing</item></list>"),
	})
	tests := []struct {
		path  string
		kind  Kind
		title string
		text  string
	}{
		{"/notes.txt", KindText, "notes.txt", "line one\nline two"},
		{"/readme.md", KindText, "The heading", "Some *text*."},
		{"/data.json", KindJSON, "data.json", "\"name\": \"ferry\""},
		{"/main.go", KindText, "main.go", "if 1 < 2"},
		{"/rss", KindFeed, "News & more", "## First ferry\n\n2024-03-05\n\nThe ferry is late."},
		{"/atom", KindFeed, "Log", "Something changed."},
		{"/unnamed", KindHTML, "", "harbour bell"},
		{"/lying", KindHTML, "", "harbour bell"},
		{"/plain-html", KindText, "", "in this text"},
		{"/bare.xml", KindText, "", "First thing"},
	}
	f := reader(t, server, nil)
	for _, test := range tests {
		page, err := f.Fetch(t.Context(), server.URL+test.path)
		if err != nil || page.Kind != test.kind || !strings.Contains(page.Text, test.text) || test.title != "" && page.Title != test.title {
			t.Errorf("%s: %v, %s %q %.120q", test.path, err, page.Kind, page.Title, page.Text)
		}
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	var asked, conditional atomic.Int32
	page := func(cacheControl string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("ETag", `"v1"`)
			w.Header().Set("Cache-Control", cacheControl)
			if r.Header.Get("If-None-Match") == `"v1"` {
				conditional.Add(1)
				w.WriteHeader(http.StatusNotModified)
				return
			}
			content("text/html", "<html><body>"+prose)(w, r)
		}
	}
	server := serve(t, map[string]http.HandlerFunc{"/fresh": page("max-age=60"), "/check": page("no-cache"), "/secret": page("no-store")})
	dir := t.TempDir()
	for _, test := range []struct {
		path               string
		asked, conditional int32
	}{{"/fresh", 1, 0}, {"/check", 2, 1}, {"/secret", 2, 0}} {
		asked.Store(0)
		conditional.Store(0)
		for i := range 2 {
			// A new Fetcher each time: the cache is on disk.
			f := reader(t, server, func(o *FetchOptions) { o.CacheDir = dir })
			got, err := f.Fetch(t.Context(), server.URL+test.path)
			if err != nil || !strings.Contains(got.Text, "harbour bell") {
				t.Fatalf("%s: %v", test.path, err)
			}
			if want := i == 1 && test.path != "/secret"; got.Cached != want {
				t.Errorf("%s: cached %t at request %d", test.path, got.Cached, i)
			}
		}
		if asked.Load() != test.asked || conditional.Load() != test.conditional {
			t.Errorf("%s: asked %d times, %d with validators", test.path, asked.Load(), conditional.Load())
		}
	}
	// A damaged file is no page and no failure.
	files, err := filepath.Glob(filepath.Join(dir, "*.page"))
	if err != nil || len(files) != 2 {
		t.Fatalf("cache files: %v %v", files, err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s can be read by others", file)
		}
		if err := os.Truncate(file, info.Size()-9); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := reader(t, server, func(o *FetchOptions) { o.CacheDir = dir }).Fetch(t.Context(), server.URL+"/fresh"); err != nil || got.Cached {
		t.Errorf("a torn cache file: %v, cached %t", err, got.Cached)
	}
}

func TestRobots(t *testing.T) {
	t.Parallel()
	server := serve(t, map[string]http.HandlerFunc{
		"/robots.txt": content("text/plain", "User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /private\nAllow: /private/open$\n"),
		"/private/a":  content("text/html", prose), "/private/open": content("text/html", prose), "/public": content("text/html", prose),
		"/in": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/private/a", http.StatusFound) },
	})
	f := reader(t, server, nil)
	for path, allowed := range map[string]bool{"/public": true, "/private/a": false, "/private/open": true, "/in": false} {
		_, err := f.Fetch(t.Context(), server.URL+path)
		var failed *FetchError
		if allowed != (err == nil) || !allowed && (!errors.As(err, &failed) || failed.Kind != FailRobots) {
			t.Errorf("%s: %v", path, err)
		}
	}
	ignoring := reader(t, server, func(o *FetchOptions) { o.IgnoreRobots = true })
	if _, err := ignoring.Fetch(t.Context(), server.URL+"/private/a"); err != nil {
		t.Errorf("robots off: %v", err)
	}
	broken := serve(t, map[string]http.HandlerFunc{
		"/robots.txt": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "/a": content("text/html", prose),
	})
	if _, err := reader(t, broken, nil).Fetch(t.Context(), broken.URL+"/a"); err == nil {
		t.Error("a broken robots.txt forbids, RFC 9309 says")
	}
}

func TestRobotsRules(t *testing.T) {
	t.Parallel()
	tests := []struct{ rules, path, want string }{
		{"", "/x", "yes"},
		{"User-agent: *\nDisallow:", "/x", "yes"},
		{"User-agent: *\nDisallow: /", "/x", "no"},
		{"user-agent: LEGWORK/2\nallow: /\n\nuser-agent: *\ndisallow: /", "/x", "yes"},
		{"User-agent: a\nUser-agent: legwork\nDisallow: /x", "/x", "no"},
		{"User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf", "no"},
		{"User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf?x", "yes"},
		{"User-agent: *\nDisallow: /a*b*c", "/aXbYc", "no"},
		{"User-agent: *\nDisallow: /a\nAllow: /a", "/a", "yes"},
		{"User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/b/c", "yes"},
		{"User-agent: *\nDisallow: /s?q=", "/s?q=1", "no"},
		{"\ufeffUser-agent: * # all\nDisallow: /x # none\nSitemap: y", "/x", "no"},
	}
	for _, test := range tests {
		u, err := parseTarget("https://example.org" + test.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := parseRobots([]byte(test.rules)).allow(u); got != (test.want == "yes") {
			t.Errorf("%q, %s: %t", test.rules, test.path, got)
		}
	}
}

// pdf is a document of one page that says what it is told.
func pdf(text string) string {
	stream := "BT /F1 12 Tf 14 TL 50 700 Td"
	for words := strings.Fields(text); len(words) > 0; {
		n := min(8, len(words))
		stream += " (" + strings.Join(words[:n], " ") + ") Tj T*"
		words = words[n:]
	}
	stream += " ET"
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(stream), stream),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	}
	out := "%PDF-1.4\n"
	var offsets []int
	for i, o := range objects {
		offsets = append(offsets, len(out))
		out += fmt.Sprintf("%d 0 obj%s\nendobj\n", i+1, o)
	}
	start := len(out)
	out += fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		out += fmt.Sprintf("%010d 00000 n \n", o)
	}
	return out + fmt.Sprintf("trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
}

func TestPDF(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	words := "The harbour bell rings at six and the ferries leave one after another across the grey water of the sound while nobody on the quay hurries at all today"
	server := serve(t, map[string]http.HandlerFunc{
		"/a.pdf": content("application/octet-stream", pdf(words)), "/scan.pdf": content("application/pdf", pdf("")), "/torn.pdf": content("application/pdf", "%PDF-1.4\ngarbage"),
	})
	without := reader(t, server, func(o *FetchOptions) { o.pdfToText = "-" })
	if _, err := without.Fetch(t.Context(), server.URL+"/a.pdf"); err == nil || !strings.Contains(err.Error(), "poppler-utils") {
		t.Errorf("without pdftotext: %v", err)
	}
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Skip("pdftotext is not installed (apt-get install poppler-utils)")
	}
	f := reader(t, server, nil)
	page, err := f.Fetch(t.Context(), server.URL+"/a.pdf")
	if err != nil || page.Kind != KindPDF || !strings.Contains(page.Text, "harbour bell rings at six and") {
		t.Errorf("%v %q", err, page.Text)
	}
	for _, path := range []string{"/scan.pdf", "/torn.pdf"} {
		if _, err := f.Fetch(t.Context(), server.URL+path); err == nil {
			t.Errorf("%s was read", path)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "legwork-*.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
