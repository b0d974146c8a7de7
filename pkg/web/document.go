package web

import (
	"net/url"
	"time"
)

// Method says which reading of an HTML page was used.
type Method string

// The readings, from the surest to the last resort.
const (
	MethodContainer   Method = "container"   // the page's own main element, chrome removed
	MethodReadability Method = "readability" // the article as Readability finds it
	MethodBody        Method = "body"        // the whole body, chrome removed
	MethodEmbedded    Method = "embedded"    // text that a script would have shown (JSON-LD, __NEXT_DATA__, noscript)
	MethodTokens      Method = "tokens"      // bare text: the page is nested too deeply for a tree
	MethodNone        Method = "none"        // no readable text
)

// Document is the readable part of one HTML page.
type Document struct {
	Title, Byline, SiteName, Language, Description string
	// Published and Modified are zero when the page does not say.
	Published, Modified time.Time
	// Markdown holds headings, lists, tables and fenced code. It has no link
	// targets, images or text that the page hides.
	Markdown string
	// Words is the length of Markdown; characters count as words in scripts
	// without spaces.
	Words  int
	Method Method
}

// ExtractHTML reads the main text of a page. body must be UTF-8 ([DecodeText]
// makes it so); page may be nil. It never fails and never panics: a page without
// readable text has Method "none" and an empty Markdown.
func ExtractHTML(body []byte, page *url.URL) Document {
	return extract(body, page, maxTags)
}
