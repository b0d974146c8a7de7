package web

import (
	"bytes"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// minWords is the length below which a reading is taken for no reading at all.
const minWords = 25

// maxTags bounds the tree that is built of a page; a tag costs some 150 bytes.
// What lies behind is read as bare text. Readability copies the tree and its cost
// grows with the square of size and depth; pages beyond its bounds are read by
// their own main element.
const (
	maxTags          = 600_000
	maxTagsCut       = 40_000 // of a page that was too long to be read to its end
	maxReadableTags  = 40_000
	maxReadableDepth = 70
)

func extract(body []byte, page *url.URL, limit int) (doc Document) {
	defer func() {
		if recover() != nil {
			doc = tokensOnly(body)
		}
	}()
	tags := bytes.Count(body, []byte("<"))
	if tags > limit {
		head, rest := splitAtTag(body, limit)
		doc = extract(head, page, limit)
		more := tokensOnly(rest)
		doc.Markdown += "\n\n" + more.Markdown
		doc.Words += more.Words
		return doc
	}
	root, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		// More than 512 open elements. A page nested like that still has text.
		return tokensOnly(body)
	}
	var isArticle bool
	doc, isArticle = readMetadata(root)
	shell := embeddedText(root)
	stripInvisible(root)

	node, method := choose(root, page, isArticle, tags > maxReadableTags || depthOf(root) > maxReadableDepth, &doc)
	if node != nil {
		doc.Markdown = toMarkdown(node)
		doc.Words = countWords(doc.Markdown)
		doc.Method = method
	}
	if doc.Words < minWords {
		useEmbedded(&doc, shell)
	}
	if doc.Words == 0 {
		doc.Method = MethodNone
	}
	return doc
}

// splitAtTag cuts a page in front of its n-th tag.
func splitAtTag(body []byte, n int) (head, rest []byte) {
	at := 0
	for range n {
		next := bytes.IndexByte(body[at:], '<')
		if next < 0 {
			break
		}
		at += next + 1
	}
	at = max(0, at-1)
	return body[:at], body[at:]
}

// choose decides which reading of the page is its text.
//
// Readability knows articles among teasers; it does not know manuals, where it
// drops tables, short code blocks and all but one section. The page's own main
// element is the opposite. So a page that does not call itself an article is read
// by its main element when it has one; otherwise code and table rows, which are
// what is lost when the wrong reading is chosen, and the share of words decide.
func choose(root *html.Node, page *url.URL, isArticle, large bool, doc *Document) (*html.Node, Method) {
	body := find(root, func(n *html.Node) bool { return isElement(n, atom.Body) })
	if body == nil {
		body = root
	}
	stripMenus(body)
	own, method := container(body), MethodContainer
	if own == nil {
		own, method = body, MethodBody
	}
	if large || method == MethodContainer && !isArticle {
		stripChrome(own)
		return own, method
	}
	found, byline := article(root, page)
	doc.Byline = firstOf(doc.Byline, byline)
	stripChrome(own)
	if ownWins(own, found, method, isArticle) {
		if isArticle {
			cleanArticle(own, doc.Title)
		}
		return own, method
	}
	cleanArticle(found, doc.Title)
	return found, MethodReadability
}

// elsewhere reports whether Readability found its text outside the container: the
// licence note of a page that is a list of links, for example.
func elsewhere(found, own *html.Node, method Method) bool {
	if method != MethodContainer {
		return false
	}
	known := map[string]bool{}
	for w := range strings.FieldsSeq(textOf(own)) {
		known[w] = true
	}
	total, strange := 0, 0
	for w := range strings.FieldsSeq(textOf(found)) {
		if total++; !known[w] {
			strange++
		}
	}
	return strange*2 > total
}

// ownWins decides for the page's own element against what Readability found.
func ownWins(node, found *html.Node, method Method, isArticle bool) bool {
	if found == nil || elsewhere(found, node, method) {
		return true
	}
	own, readable := take(node), take(found)
	lost := func(percent int) bool { return readable.words*100 < own.words*percent }
	lostPoints := func(percent int) bool { return readable.points()*100 < own.points()*percent }
	switch {
	case readable.words < minWords:
		return own.words > readable.words
	case method == MethodContainer:
		return own.points() > 0 && (lost(70) || lostPoints(90))
	}
	return own.points() >= 9 && lostPoints(60) && lost(70) || !isArticle && lost(90) && own.prose()
}

// measure is what a reading holds.
type measure struct{ words, linkWords, code, rows int }

// points weighs what distinguishes a manual from an article.
func (m measure) points() int { return 3*m.code + m.rows }

// prose reports whether the text is more than a list of links.
func (m measure) prose() bool { return m.linkWords*10 < m.words*8 }

func take(n *html.Node) measure {
	var m measure
	takeInto(n, false, false, &m)
	return m
}

func takeInto(n *html.Node, link, data bool, m *measure) {
	if n.Type == html.TextNode {
		words := countWords(n.Data)
		m.words += words
		if link {
			m.linkWords += words
		}
		return
	}
	switch n.DataAtom {
	case atom.A:
		link = true
	case atom.Pre:
		m.code++
	case atom.Table:
		data = !layoutTable(n)
	case atom.Tr:
		if data {
			m.rows++
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		takeInto(c, link, data, m)
	}
}

// enclosing returns the nearest ancestor of the given kind, or nil.
func enclosing(n *html.Node, tag atom.Atom) *html.Node {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.DataAtom == tag {
			return p
		}
	}
	return nil
}

// stripChrome removes what surrounds the text from the candidate itself.
func stripChrome(root *html.Node) {
	sizes := sizesOf(root)
	total := sizes[root].text
	prune(root, func(n *html.Node) bool { return chrome(n) && sizes[n].text*10 < total*3 })
}

// stripMenus removes lists of links that surround the text before Readability
// weighs the page: it takes them for content when the article is short.
func stripMenus(body *html.Node) {
	sizes := sizesOf(body)
	total := sizes[body].text
	prune(body, func(n *html.Node) bool {
		s := sizes[n]
		return s.link*2 >= s.text && s.text*10 < total*3 && chrome(n)
	})
}

// containers are the elements that pages use for their text, best first, with
// the least number of words for which that is believed.
var containers = []struct {
	words int
	is    func(*html.Node) bool
}{
	{20, func(n *html.Node) bool { return isElement(n, atom.Main) || attr(n, "role") == "main" }},
	{60, func(n *html.Node) bool { return isElement(n, atom.Article) }},
	{60, func(n *html.Node) bool { return hasName(n, "content", "main-content", "apicontent", "maincontent") }},
	{60, func(n *html.Node) bool { return hasName(n, "markdown-body", "body", "document") }},
}

// hasName reports whether the id or a class of n is one of names.
func hasName(n *html.Node, names ...string) bool {
	if n.Type != html.ElementNode || n.DataAtom == atom.Body {
		return false
	}
	for i := range n.Attr {
		if k := n.Attr[i].Key; k != "id" && k != "class" {
			continue
		}
		for word := range strings.FieldsSeq(n.Attr[i].Val) {
			for _, name := range names {
				if strings.EqualFold(word, name) {
					return true
				}
			}
		}
	}
	return false
}

// container returns the element that the page itself calls its text, or nil.
func container(body *html.Node) *html.Node {
	whole := take(body).words
	for _, kind := range containers {
		var hits []*html.Node
		walk(body, func(n *html.Node) bool {
			if n.Type == html.ElementNode && kind.is(n) {
				hits = append(hits, n)
				return false
			}
			return true
		})
		if len(hits) != 1 {
			continue // none, or a list of teasers
		}
		words := take(hits[0]).words
		if words >= kind.words && words*10 >= whole*3 {
			return hits[0]
		}
	}
	return nil
}
