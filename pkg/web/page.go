package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"path"
	"strings"
	"time"
)

// Page is a page that was read.
type Page struct {
	URL       string    `json:"url"`   // as asked for
	Final     string    `json:"final"` // after redirects: what to cite
	Kind      Kind      `json:"kind"`
	Title     string    `json:"title"`
	Byline    string    `json:"byline,omitempty"`
	Site      string    `json:"site,omitempty"`
	Language  string    `json:"language,omitempty"`
	Published time.Time `json:"published,omitzero"` // zero: the page does not say
	Modified  time.Time `json:"modified,omitzero"`
	// Text is Markdown for HTML and feeds, the text itself for everything else.
	Text   string `json:"text"`
	Words  int    `json:"words"`
	Method Method `json:"method,omitempty"` // HTML only
	// Cut says why the text ends early, "" when it is complete.
	Cut    string        `json:"cut,omitempty"`
	Cached bool          `json:"cached,omitempty"`
	Took   time.Duration `json:"took_ns"`
}

// read turns a response into a page.
func (f *Fetcher) read(ctx context.Context, got *response) (Page, error) {
	page := Page{Final: got.url.String(), Cut: got.cut, Cached: got.cached}
	if got.pdf != nil {
		return f.readPDF(ctx, got, page)
	}
	page, err := readText(page, got.text, got.contentType, got.url)
	if err != nil {
		return Page{}, err
	}
	return page, nil
}

// ReadBytes reads a page that is already here, as [Fetcher.Fetch] would have.
// contentType may be ""; page may be nil. PDF is not read.
func ReadBytes(body []byte, contentType string, page *url.URL) (Page, error) {
	if page == nil {
		page = &url.URL{}
	}
	if isPDF(body[:min(len(body), 1024)]) {
		return Page{}, fail(FailUnreadable, nil, "it is a PDF; give its address instead")
	}
	media, _, _ := mime.ParseMediaType(contentType)
	if looksBinary(media, body[:min(len(body), 1024)]) {
		return Page{}, fail(FailUnreadable, nil, "it is binary data, not text")
	}
	p := Page{URL: page.String(), Final: page.String()}
	if len(body) > maxTextBytes {
		body, p.Cut = body[:maxTextBytes], fmt.Sprintf("only the first %d MiB were read", maxTextBytes>>20)
	}
	return readText(p, body, contentType, page)
}

// readText dispatches by kind.
func readText(page Page, body []byte, contentType string, u *url.URL) (Page, error) {
	media, _, _ := mime.ParseMediaType(contentType)
	text := DecodeText(body, contentType)
	page.Kind = kindOf(media, text)
	switch page.Kind {
	case KindHTML:
		return readHTML(page, text, u)
	case KindFeed:
		if title, markdown := readFeed(text); markdown != "" {
			page.Title, page.Text = title, markdown
			break
		}
		page.Kind, page.Text = KindText, tokensOnly(text).Markdown
	case KindJSON:
		page.Text = prettyJSON(text)
	default:
		page.Text = string(text)
		if strings.HasSuffix(media, "xml") {
			page.Text = tokensOnly(text).Markdown
		}
	}
	page.Text = strings.TrimSpace(visibleText(strings.ReplaceAll(page.Text, "\r\n", "\n")))
	if page.Title == "" {
		page.Title = textTitle(page.Text, u)
	}
	page.Words = countWords(page.Text)
	if page.Words == 0 {
		return Page{}, fail(FailUnreadable, nil, "there is no text in it")
	}
	return page, nil
}

func readHTML(page Page, text []byte, u *url.URL) (Page, error) {
	limit := maxTags
	if page.Cut != "" {
		limit = maxTagsCut
	}
	doc := extract(text, u, limit)
	if wall := wallReason(doc.Title, doc.Markdown, doc.Words); wall != "" {
		return Page{}, fail(FailWall, nil, "%s", wall)
	}
	if doc.Words < minWords && scriptShell(text) {
		return Page{}, fail(FailUnreadable, nil, "the page shows its text only to a browser that runs its scripts")
	}
	if doc.Words == 0 {
		return Page{}, fail(FailUnreadable, nil, "no readable text was found on the page")
	}
	page.Title, page.Byline, page.Site, page.Language = doc.Title, doc.Byline, doc.SiteName, doc.Language
	page.Published, page.Modified = doc.Published, doc.Modified
	page.Text, page.Words, page.Method = doc.Markdown, doc.Words, doc.Method
	if page.Title == "" {
		page.Title = textTitle(page.Text, u)
	}
	return page, nil
}

// scriptShell reports whether a page with next to no text loads scripts that
// would put it there.
func scriptShell(text []byte) bool {
	return bytes.Contains(bytes.ToLower(text), []byte("<script"))
}

// prettyJSON indents JSON so that passages can be cut at lines; text that is no
// JSON stays as it is, and so does JSON that indentation would blow up: the
// spaces grow with the square of the depth, so their number is found first.
func prettyJSON(text []byte) string {
	size := indentedSize(text)
	if size > maxIndented {
		return string(text)
	}
	var out bytes.Buffer
	out.Grow(size)
	if json.Indent(&out, text, "", jsonIndent) != nil {
		return string(text)
	}
	return out.String()
}

const (
	jsonIndent  = "  "
	maxIndented = 2 * maxTextBytes
)

// indentedSize is how many bytes json.Indent makes of text, at most (white space
// between the tokens is counted, and dropped there); the count ends where it is
// above maxIndented. For text that is no JSON the number means nothing.
func indentedSize(text []byte) int {
	size, depth, quoted := len(text), 0, false
	for i := 0; i < len(text) && size <= maxIndented; i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
			size += 1 + depth*len(jsonIndent)
		case c == ',':
			size += 1 + depth*len(jsonIndent)
		case c == ':':
			size++
		case c == '}', c == ']':
			depth = max(0, depth-1)
			size += 1 + depth*len(jsonIndent)
		}
	}
	return size
}

// textTitle names a text without a title: its first heading, else its file name.
func textTitle(text string, u *url.URL) string {
	for line := range strings.SplitSeq(text[:min(len(text), 2000)], "\n") {
		if heading, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(heading)
		}
	}
	if base := path.Base(u.Path); base != "." && base != "/" {
		return base
	}
	return u.Host
}
