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

func extract(body []byte, page *url.URL) (doc Document) {
	defer func() {
		if recover() != nil {
			doc = tokensOnly(body)
		}
	}()
	root, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		// More than 512 open elements. A page nested like that still has text.
		return tokensOnly(body)
	}
	doc = readMetadata(root, page)
	shell := embeddedText(root)
	stripInvisible(root)

	node, method := choose(root, page, &doc)
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

// reading is one candidate for the text of a page.
type reading struct {
	node *html.Node
	measure
}

// choose decides which reading of the page is its text.
//
// Readability knows articles among teasers; it does not know manuals, where it
// drops tables, short code blocks and all but one section. The page's own main
// element is the opposite. Code and table rows tell the two kinds apart: they are
// what is lost when the wrong one is chosen.
func choose(root *html.Node, page *url.URL, doc *Document) (*html.Node, Method) {
	body := find(root, func(n *html.Node) bool { return isElement(n, atom.Body) })
	if body == nil {
		body = root
	}
	found, byline := article(root, page)
	if doc.Byline == "" {
		doc.Byline = byline
	}
	readable := reading{node: found}
	if found != nil {
		readable.measure = take(found)
	}

	if box := container(body); box != nil {
		stripChrome(box)
		own := take(box)
		if containerWins(own, readable.measure) {
			return box, MethodContainer
		}
		if found != nil {
			cleanArticle(found)
			return found, MethodReadability
		}
		return box, MethodContainer
	}
	stripChrome(body)
	whole := take(body)
	if found == nil || bodyWins(whole, readable.measure) {
		return body, MethodBody
	}
	cleanArticle(found)
	return found, MethodReadability
}

func containerWins(own, readable measure) bool {
	if readable.words < minWords {
		return true
	}
	if own.points() == 0 {
		return false
	}
	return readable.words*10 < own.words*7 || readable.points()*10 < own.points()*9
}

func bodyWins(whole, readable measure) bool {
	if readable.words < minWords {
		return whole.words > readable.words
	}
	return whole.points() >= 9 && readable.points()*10 < whole.points()*6 && readable.words*10 < whole.words*7
}

// measure is what a reading holds.
type measure struct{ words, linkWords, code, rows int }

// points weighs what distinguishes a manual from an article.
func (m measure) points() int { return 3*m.code + m.rows }

func take(n *html.Node) measure {
	var m measure
	takeInto(n, false, &m)
	return m
}

func takeInto(n *html.Node, link bool, m *measure) {
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
	case atom.Tr:
		if !layoutTable(enclosing(n, atom.Table)) {
			m.rows++
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		takeInto(c, link, m)
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
	total := textLen(root)
	prune(root, func(n *html.Node) bool { return chrome(n) && textLen(n)*10 < total*3 })
}

// containers are the elements that pages use for their text, best first.
var containers = []func(*html.Node) bool{
	func(n *html.Node) bool { return isElement(n, atom.Main) || attr(n, "role") == "main" },
	func(n *html.Node) bool { return isElement(n, atom.Article) },
	func(n *html.Node) bool { return hasName(n, "content", "main-content", "apicontent", "maincontent") },
	func(n *html.Node) bool { return hasName(n, "markdown-body", "body", "document") },
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
		for _, word := range strings.Fields(n.Attr[i].Val) {
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
	for _, is := range containers {
		var hits []*html.Node
		walk(body, func(n *html.Node) bool {
			if n.Type == html.ElementNode && is(n) {
				hits = append(hits, n)
				return false
			}
			return true
		})
		if len(hits) != 1 {
			continue // none, or a list of teasers
		}
		words := take(hits[0]).words
		if words >= 60 && words*10 >= whole*3 {
			return hits[0]
		}
	}
	return nil
}
