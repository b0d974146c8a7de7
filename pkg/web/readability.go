package web

import (
	"net/url"

	readability "github.com/go-shiori/go-readability"
	"golang.org/x/net/html"
)

// article is what Readability makes of a page. It is nil when it finds nothing.
// The document is left untouched.
//
// The library is marked deprecated; this is the one file that knows it. Its
// CheckDocument is not used as a gate: it rejects pages of many short paragraphs.
func article(doc *html.Node, page *url.URL) (node *html.Node, byline string) {
	defer func() {
		if recover() != nil { // a page must never end the run
			node = nil
		}
	}()
	parser := readability.NewParser()
	parser.KeepClasses = true   // the language of a code block is a class
	parser.DisableJSONLD = true // read by us, once
	found, err := parser.ParseDocument(doc, page)
	if err != nil {
		return nil, ""
	}
	return found.Node, found.Byline
}
