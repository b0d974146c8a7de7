package research

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"legwork/pkg/config"
	"legwork/pkg/web"
)

// The password of the first SearXNG is not sent to the one that is fallen back on.
func TestSearchHeadersOfTheFirstHostOnly(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	serve := func(name, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got[name] = "asked, " + r.Header.Get("Authorization")
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	own := serve("own", "not json")
	public := strings.Replace(serve("public", `{"query":"x","results":[{"url":"https://example.org/a","title":"t","content":"c"}]}`), "127.0.0.1", "localhost", 1)
	found, err := Providers(config.Research{SearxngURL: own + ", " + public, SearxngHeaders: map[string]config.Secret{"Authorization": "Basic c2VjcmV0"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := found[0].Search(t.Context(), web.Query{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if got["own"] != "asked, Basic c2VjcmV0" || got["public"] != "asked, " {
		t.Errorf("%q", got)
	}
}
