package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const prose = `<p>The harbour bell rings at six, and the ferries leave one after another across the grey water of the sound.
Nobody on the quay hurries: the timetable has been the same since 1962, and the captains know every passenger by name.</p>`

// hostile serves what servers should not.
func hostile(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	html := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, body)
		})
	}
	html("/page", "<html><head><title>Ferries</title></head><body>"+prose+"</body></html>")
	html("/empty", "")
	html("/spa", `<html><head><title>App</title></head><body><div id="root"></div><script src="/app.js"></script></body></html>`)
	html("/spa-data", `<html><head><title>App</title><script type="application/ld+json">{"@type":"NewsArticle","headline":"Ferries","articleBody":"`+
		strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(prose, "<p>"), "</p>"), "\n", " ")+`"}</script></head><body><div id="root"></div></body></html>`)
	html("/captcha", `<html><head><title>Just a moment...</title></head><body><p>Checking your browser before accessing the site.</p></body></html>`)
	html("/login", `<html><head><title>Members</title></head><body><p>Please log in to continue reading this page.</p></body></html>`)
	html("/deep", strings.Repeat("<div>", 3000)+prose)
	html("/brackets", strings.Repeat("<", 2_000_000)+prose)
	html("/paragraphs", strings.Repeat("<p>", 1_300_000))
	html("/nul", "<html><body>"+strings.ReplaceAll(prose, "bell", "be\x00ll")+"</body></html>")
	mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) { drip(w, r, "") })
	mux.HandleFunc("/drip-late", func(w http.ResponseWriter, r *http.Request) { drip(w, r, "<html><body>"+strings.Repeat(prose, 4)) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		line := []byte(strings.Repeat(prose, 20))
		for r.Context().Err() == nil {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, "<html><body>"+strings.Repeat(prose, 4))
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, r *http.Request) { bomb(w, "text/html") })
	mux.HandleFunc("/bomb-pdf", func(w http.ResponseWriter, r *http.Request) { bomb(w, "application/pdf") })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("u"))
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/no-location", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMovedPermanently) })
	mux.HandleFunc("/image", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write([]byte("\x89PNG\r\n\x1a\n"))
	})
	mux.HandleFunc("/binary", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte("\x7fELF\x02\x01\x01\x00\x00"))
	})
	mux.HandleFunc("/brotli", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = w.Write([]byte("\x8b\x02\x80"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// drip sends a byte now and then until the client has enough.
func drip(w http.ResponseWriter, r *http.Request, first string) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, first)
	for {
		_, _ = io.WriteString(w, ".")
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// bomb sends 500 MiB in half a megabyte.
func bomb(w http.ResponseWriter, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Encoding", "gzip")
	zip := gzip.NewWriter(w)
	if contentType == "application/pdf" {
		_, _ = io.WriteString(zip, "%PDF-1.7\n")
	}
	block := bytes.Repeat([]byte("A"), 1<<20)
	for range 500 {
		if _, err := zip.Write(block); err != nil {
			return
		}
	}
	_ = zip.Close()
}

// reader makes a Fetcher that may talk to the server.
func reader(t *testing.T, server *httptest.Server, change func(*FetchOptions)) *Fetcher {
	t.Helper()
	o := FetchOptions{AllowHosts: []string{server.Listener.Addr().String()}, PageTimeout: 20 * time.Second}
	if change != nil {
		change(&o)
	}
	f, err := NewFetcher(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func TestHostileServer(t *testing.T) {
	t.Parallel()
	server := hostile(t)
	tests := []struct {
		path string
		kind Failure // "" means that the page is read
		text string  // in the text, or in the reason
		cut  string
	}{
		{path: "/page", text: "harbour bell"},
		{path: "/empty", kind: FailUnreadable, text: "empty"},
		{path: "/spa", kind: FailUnreadable, text: "scripts"},
		{path: "/spa-data", text: "harbour bell"},
		{path: "/captcha", kind: FailWall, text: "captcha"},
		{path: "/login", kind: FailWall, text: "login"},
		{path: "/deep", text: "harbour bell"},
		{path: "/brackets"},
		{path: "/paragraphs", kind: FailUnreadable},
		{path: "/nul", text: "harbour bell"},
		{path: "/endless", text: "harbour bell", cut: "MiB"},
		{path: "/cut", text: "harbour bell", cut: "broke off"},
		{path: "/bomb", kind: FailBomb, text: "400 times"},
		{path: "/bomb-pdf", kind: FailBomb},
		{path: "/loop", kind: FailRedirects, text: "5 redirects"},
		{path: "/no-location", kind: FailRedirects},
		{path: "/to?u=file:///etc/passwd", kind: FailRefused, text: "only http"},
		{path: "/to?u=gopher://127.0.0.1/", kind: FailRefused},
		{path: "/to?u=http://169.254.169.254/latest/", kind: FailRefused, text: "not a public address"},
		{path: "/to?u=http://localhost:1/", kind: FailRefused},
		{path: "/to?u=/page", text: "harbour bell"},
		{path: "/image", kind: FailUnreadable, text: "image"},
		{path: "/binary", kind: FailUnreadable, text: "binary"},
		{path: "/brotli", kind: FailUnreadable, text: "br"},
		{path: "/missing", kind: FailStatus, text: "404"},
	}
	for _, test := range tests {
		t.Run(strings.Trim(test.path, "/"), func(t *testing.T) {
			t.Parallel()
			page, err := reader(t, server, nil).Fetch(t.Context(), server.URL+test.path)
			if failed, ok := errors.AsType[*FetchError](err); ok {
				if failed.Kind != test.kind || !strings.Contains(failed.Reason, test.text) {
					t.Fatalf("got %s: %s; want %q with %q", failed.Kind, failed.Reason, test.kind, test.text)
				}
				return
			}
			if err != nil || test.kind != "" {
				t.Fatalf("error %v, page %.100q; want failure %q", err, page.Text, test.kind)
			}
			if !strings.Contains(page.Text, test.text) || !strings.Contains(page.Cut, test.cut) || (test.cut == "") != (page.Cut == "") {
				t.Errorf("text %.200q cut %q; want %q, cut %q", page.Text, page.Cut, test.text, test.cut)
			}
		})
	}
}

func TestSlowDrip(t *testing.T) {
	t.Parallel()
	server := hostile(t)
	quick := func(o *FetchOptions) { o.PageTimeout = 700 * time.Millisecond }
	_, err := reader(t, server, quick).Fetch(t.Context(), server.URL+"/drip")
	var failed *FetchError
	if !errors.As(err, &failed) || failed.Kind != FailTimeout {
		t.Errorf("drip: %v, want a timeout", err)
	}
	page, err := reader(t, server, quick).Fetch(t.Context(), server.URL+"/drip-late")
	if err != nil || !strings.Contains(page.Cut, "time was up") || !strings.Contains(page.Text, "harbour bell") {
		t.Errorf("what had arrived was not kept: %v %q", err, page.Cut)
	}
}

// The bar is 32 MiB of extra memory for 500 MiB of bomb.
func TestBombMemory(t *testing.T) {
	server := hostile(t)
	f := reader(t, server, nil)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, err := f.Fetch(t.Context(), server.URL+"/bomb")
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Fatal("the bomb was read")
	}
	if grown := (after.HeapSys - before.HeapSys) >> 20; after.HeapSys > before.HeapSys && grown > 32 {
		t.Errorf("heap grew by %d MiB", grown)
	}
	if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 64 {
		t.Errorf("%d MiB were allocated, server included", allocated)
	}
}

// A small page must not become a large text: the bar is that of TestBombMemory.
// What is allocated and freed again counts too, as others run at the same time.
func TestBombMemoryOfText(t *testing.T) {
	for name, c := range map[string]struct{ media, body string }{
		"json, deep":          {"application/json", strings.Repeat("[", 9999) + "7" + strings.Repeat("]", 9999)},
		"json, long and deep": {"application/json", strings.Repeat("[", 2000) + strings.Repeat("1,", 20_000) + "1" + strings.Repeat("]", 2000)},
		"table, one wide row": {"text/html", "<table><tr>" + strings.Repeat("<td>x", 10_000) + strings.Repeat("<tr><td>x", 10_000)},
		"tables, many":        {"text/html", strings.Repeat("<table><tr>"+strings.Repeat("<th>x", 300)+strings.Repeat("<tr><td>x", 300)+"</table>", 40)},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		page, err := ReadBytes([]byte(c.body), c.media, nil)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if grown := (after.HeapSys - before.HeapSys) >> 20; after.HeapSys > before.HeapSys && grown > 32 {
			t.Errorf("%s: the heap grew by %d MiB", name, grown)
		}
		allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: %d bytes, text of %d, %d MiB allocated", name, len(c.body), len(page.Text), allocated)
		if allocated > 64 || len(page.Text) > 4*len(c.body) {
			t.Errorf("%s: a text of %d bytes from %d, %d MiB allocated", name, len(page.Text), len(c.body), allocated)
		}
	}
}

// The size that is foreseen is that of the text without white space of its own.
func TestIndentedSize(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"a":[1,2,{"b":"},\"[\\"}],"c":[[[]]],"d":"x"}`, `[]`, `[[1],[2,3]]`, `"text: [1,2]"`} {
		var out bytes.Buffer
		if err := json.Indent(&out, []byte(text), "", jsonIndent); err != nil {
			t.Fatal(err)
		}
		if got := indentedSize([]byte(text)); got < out.Len() || got > out.Len()+20 {
			t.Errorf("%s: %d foreseen, %d made", text, got, out.Len())
		}
	}
	if got := prettyJSON([]byte(`{"a":[1]}`)); got != "{\n  \"a\": [\n    1\n  ]\n}" {
		t.Errorf("small JSON is indented: %q", got)
	}
}

func TestCharsets(t *testing.T) {
	t.Parallel()
	encode := func(s string, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return []byte(s)
	}
	cyrillic := encode(charmap.Windows1251.NewEncoder().String("<p>Паромы уходят в шесть часов утра"))
	kana := encode(japanese.ShiftJIS.NewEncoder().String(`<meta charset="Shift_JIS"><p>フェリーは六時に出ます`))
	late := []byte("<p>" + strings.Repeat("plain words ", 200) + "naïve café")
	tests := []struct {
		name, contentType string
		body              []byte
		want              string
	}{
		{"header", "text/html; charset=windows-1251", cyrillic, "Паромы уходят"},
		{"meta", "text/html", kana, "フェリーは"},
		{"utf-8 after the first kilobyte", "text/html", late, "naïve café"},
		{"utf-8 text after the first kilobyte", "text/plain", late, "naïve café"},
		{"unknown name", "text/html; charset=x-nonsense", []byte("<p>naïve café"), "naïve café"},
		{"wrong name", "text/html; charset=utf-8", []byte("<p>caf\xe9 au lait"), "caf\uFFFD au lait"},
		{"utf-16 with mark", "text/html", []byte("\xff\xfe<\x00p\x00>\x00b\x00e\x00l\x00l\x00"), "bell"},
		{"byte order mark", "text/html", []byte("\xef\xbb\xbf<p>bell"), "<p>bell"},
	}
	for _, test := range tests {
		if got := string(DecodeText(test.body, test.contentType)); !strings.Contains(got, test.want) {
			t.Errorf("%s: %.80q does not hold %q", test.name, got, test.want)
		}
	}
}

func TestLimitsPerHost(t *testing.T) {
	t.Parallel()
	type count struct{ now, most int }
	gate := make(chan count, 1)
	gate <- count{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		c := <-gate
		c.now++
		c.most = max(c.most, c.now)
		gate <- c
		time.Sleep(20 * time.Millisecond) // the work of a page
		c = <-gate
		c.now--
		gate <- c
		_, _ = io.WriteString(w, "<html><body>"+prose)
	}))
	t.Cleanup(server.Close)
	f := reader(t, server, nil)
	done := make(chan error)
	for i := range 10 {
		go func() {
			_, err := f.Fetch(t.Context(), fmt.Sprintf("%s/%d", server.URL, i))
			done <- err
		}()
	}
	for range 10 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if c := <-gate; c.most > 2 {
		t.Errorf("%d requests at once to one host, want at most 2", c.most)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.NotFound(w, r)
		case "/hour":
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			if calls++; calls == 1 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			_, _ = io.WriteString(w, "<html><body>"+prose)
		}
	}))
	t.Cleanup(server.Close)
	f := reader(t, server, nil)
	if _, err := f.Fetch(t.Context(), server.URL+"/second"); err != nil || calls != 2 {
		t.Errorf("after Retry-After: %v, %d calls", err, calls)
	}
	_, err := f.Fetch(t.Context(), server.URL+"/hour")
	var failed *FetchError
	if !errors.As(err, &failed) || failed.RetryAfter != time.Hour {
		t.Errorf("an hour: %v", err)
	}
	// The host is left alone from now on, without a request.
	if _, err = f.Fetch(t.Context(), server.URL+"/second"); !errors.As(err, &failed) || !strings.Contains(failed.Reason, "left alone") {
		t.Errorf("asked again within the hour: %v", err)
	}
}

func TestCancelledFetch(t *testing.T) {
	t.Parallel()
	server := hostile(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := reader(t, server, nil).Fetch(ctx, server.URL+"/page"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRawFile(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"https://github.com/o/r/blob/main/a/b.go#L10":     "https://raw.githubusercontent.com/o/r/main/a/b.go",
		"https://gitlab.com/o/r/-/blob/main/b.py?plain=1": "https://gitlab.com/o/r/-/raw/main/b.py",
		"https://github.com/o/r/blob/main/n.ipynb":        "https://github.com/o/r/blob/main/n.ipynb",
		"https://github.com/o/r":                          "https://github.com/o/r",
		"user:pw@example.org/x":                           "https://example.org/x",
	} {
		u, err := parseTarget(from)
		if err != nil || u.String() != want {
			t.Errorf("%s: %v, %v; want %s", from, u, err, want)
		}
	}
	if _, err := url.Parse("https://example.org"); err != nil {
		t.Fatal(err)
	}
}
