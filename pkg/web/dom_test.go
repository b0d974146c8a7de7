package web

import (
	"strings"
	"testing"

	"github.com/go-shiori/dom"
)

// The module that go.mod replaces knows the selectors that go-readability has; every one of an update has to be here.
func TestSelectors(t *testing.T) {
	t.Parallel()
	doc, err := dom.Parse(strings.NewReader(`<p>a<br></p><div><br><article><pre></pre></article></div><script type="application/ld+json">{}</script><script type="x"></script><script></script>`))
	if err != nil {
		t.Fatal(err)
	}
	for selector, want := range map[string]int{
		"p, pre, article":                    3,
		"div > br":                           1,
		`script[type="application/ld+json"]`: 1,
		"script":                             3,
		"p.a":                                0,
		"div br":                             0,
	} {
		if got := len(dom.QuerySelectorAll(doc, selector)); got != want {
			t.Errorf("%s: %d nodes, want %d", selector, got, want)
		}
	}
}

// Which character set a text is in: what says it first counts, and valid UTF-8 is UTF-8.
func TestCharsetOf(t *testing.T) {
	t.Parallel()
	for _, k := range []struct{ name, header, body, want string }{
		{"a bad byte in UTF-8", "", "<p>café " + strings.Repeat("x", 1<<11) + " caf\xe9", "<p>café " + strings.Repeat("x", 1<<11) + " caf\uFFFD"},
		{"a character that the end of the start cuts", "", "x" + strings.Repeat("é", 512) + "\xe9", "x" + strings.Repeat("é", 512) + "\uFFFD"},
		{"UTF-8 that is called something else", "", `<meta charset="koi8-r"><p>café`, `<meta charset="koi8-r"><p>café`},
		{"a pragma", "", "<meta http-equiv=Content-Type content='text/html; charset = \"ISO-8859-2\"'>\xb1", "<meta http-equiv=Content-Type content='text/html; charset = \"ISO-8859-2\"'>ą"},
		{"no pragma", "", "<meta name=x content='text/html; charset=iso-8859-2'>\xb1", "<meta name=x content='text/html; charset=iso-8859-2'>±"},
		{"the second meta is known", "", "<meta charset=none><meta charset=iso-8859-2>\xb1", "<meta charset=none><meta charset=iso-8859-2>ą"},
		{"in a comment", "", "<!-- <meta charset=iso-8859-2> -->\xb1", "<!-- <meta charset=iso-8859-2> -->±"},
		{"a mark over the header", "text/html; charset=latin1", "\xff\xfea\x00\x3d\xd8\x00\xde", "a😀"},
		{"half a unit", "text/html; charset=utf-16be", "\x00a\x00", "a\uFFFD"},
		{"a header over meta", "text/html; charset=big5", "<meta charset=utf-8>\xa4\xa4", "<meta charset=utf-8>中"},
	} {
		if got := string(DecodeText([]byte(k.body), k.header)); got != k.want {
			t.Errorf("%s: %q, want %q", k.name, got, k.want)
		}
	}
}
