package webtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/pkg/proc"
)

// settings is a complete file for searx 1.1: Debian ships no defaults to start
// from. Failing engines answer with their error each time (no ban).
const settings = `general: {debug: false, instance_name: test, enable_stats: false, contact_url: false}
brand: {git_url: "", git_branch: "", issue_url: "", docs_url: "", public_instances: "", wiki_url: "", twitter_url: ""}
search: {safe_search: 0, autocomplete: "", default_lang: "", ban_time_on_fail: 0, max_ban_time_on_fail: 0, prefer_configured_language: false}
server: {port: %d, bind_address: 127.0.0.1, secret_key: only-for-tests, base_url: false, image_proxy: false, http_protocol_version: "1.1", method: GET, default_http_headers: {}}
ui: {static_path: /usr/share/python3-searx/static, templates_path: /usr/share/python3-searx/templates, default_theme: oscar, default_locale: en, theme_args: {oscar_style: logicodev}}
outgoing: {request_timeout: 5.0, useragent_suffix: "", pool_connections: 10, pool_maxsize: 10}
checker: {off_when_debug: true}
locales: {en: English}
doi_resolvers: {oadoi.org: "https://oadoi.org/"}
default_doi_resolver: oadoi.org
engines:
`

const engine = `  - {name: %s, engine: json_engine, shortcut: e%d, categories: general, enable_http: true, paging: true, first_page_num: 1, timeout: %s,
     search_url: "%s", results_query: results, url_query: url, title_query: title, content_query: content, suggestion_query: suggestions/text}
`

// Engine is an engine of a searx that a test starts.
type Engine struct {
	Name    string // lower case, no underscore
	Path    string // on the server, with {query}
	Timeout string // seconds, "" for 5.0
}

// Corpus is the engine over the server's pages.
var Corpus = Engine{Name: "corpus", Path: "/engine?q={query}&p={pageno}"}

// StartSearx starts Debian's searx on 127.0.0.1 with the given engines and
// returns its address. It is stopped with the test. The test is skipped where
// searx is not installed.
func StartSearx(t testing.TB, server *Server, engines ...Engine) string {
	t.Helper()
	program, err := exec.LookPath("searx-run")
	if err != nil {
		t.Skip("searx-run is not installed (apt-get install searx)")
	}
	port := freePort(t)
	var b strings.Builder
	fmt.Fprintf(&b, settings, port)
	for i, e := range engines {
		if e.Timeout == "" {
			e.Timeout = "5.0"
		}
		fmt.Fprintf(&b, engine, e.Name, i, e.Timeout, server.URL+e.Path)
	}
	file := filepath.Join(t.TempDir(), "settings.yml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	log := &strings.Builder{}
	process, err := proc.Start(ctx, proc.Spec{
		Argv: []string{program}, Env: proc.SetEnv(proc.CleanEnv(os.Environ()), "SEARX_SETTINGS_PATH", file), Stderr: log,
	})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		process.Wait()
		if t.Failed() {
			t.Logf("searx said:\n%s", log)
		}
	})
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	await(t, base+"/healthz")
	return base
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// await polls until the address answers 200.
func await(t testing.TB, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not answer within a minute", url)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
