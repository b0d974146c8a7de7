package web

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// besideWords are words of class and id names of what stands between the
// paragraphs of an article without belonging to it.
var besideWords = map[string]bool{
	"related": true, "share": true, "sharing": true, "social": true, "newsletter": true, "subscribe": true, "promo": true,
	"advert": true, "advertisement": true, "ad": true, "ads": true, "sponsored": true, "recommended": true, "recirc": true,
	"popular": true, "trending": true, "caption": true, "credit": true, "credits": true, "gallery": true, "slideshow": true, "byline": true,
	"breadcrumb": true, "breadcrumbs": true, "tags": true, "taglist": true, "timestamp": true, "dateline": true, "pubdate": true,
	"cookie": true, "comments": true, "comment": true, "disqus": true, "signup": true, "widget": true, "copyright": true,
	"readmore": true, "inpage": true, "bio": true,
}

// beside reports whether an element stands beside the text by its name or kind.
func beside(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Aside, atom.Nav, atom.Footer:
		return true
	case atom.Figure:
		return find(n, func(c *html.Node) bool { return isElement(c, atom.Pre, atom.Table, atom.Blockquote) }) == nil
	case atom.Figcaption:
		return true
	case atom.Code, atom.Pre, atom.Table, atom.Tbody, atom.Tr, atom.Td, atom.Body, atom.Article, atom.Main:
		return false
	}
	for i := range n.Attr {
		if k := n.Attr[i].Key; (k == "class" || k == "id") && nameWords(n.Attr[i].Val, func(w string) bool { return besideWords[w] }) {
			return true
		}
	}
	return false
}

// cleanArticle removes what Readability leaves around and between the paragraphs
// of an article: captions, link lists, teasers, repeated blocks, the title.
func cleanArticle(root *html.Node, title string) {
	sizes := sizesOf(root)
	total := sizes[root].text
	prune(root, func(n *html.Node) bool { return sizes[n].text*5 < total && beside(n) })
	sizes = sizesOf(root)
	prune(root, func(n *html.Node) bool { return sizes[n].text*5 < total && teaser(n, sizes[n]) })
	dropRepeats(root, title)
	dropBareHeadings(root)
}

// teaser reports whether a block consists of links, or is one of the phrases that
// lead to something else.
func teaser(n *html.Node, s size) bool {
	switch {
	case isElement(n, atom.Ul, atom.Ol, atom.P, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6):
		return s.text > 0 && s.link*10 >= s.text*9 && find(n, func(c *html.Node) bool { return isElement(c, atom.Pre, atom.Code) }) == nil ||
			isElement(n, atom.P) && s.text < 200 && leadsAway(textOf(n))
	case isElement(n, atom.Div, atom.Span) && s.text > 0:
		return s.text < 80 && leadsAway(textOf(n))
	}
	return false
}

// awayPhrases begin a block that leads to another page.
var awayPhrases = []string{
	"advertisement", "advert", "read more", "related:", "also read", "see also:", "don't miss", "don’t miss", "see more", "more:",
	"subscribe to", "sign up for", "follow us", "click here to", "you may also like", "image credit", "image copyright", "image caption",
	"photo:", "(image:", "story continues below", "continue reading", "share this", "copyright ©", "recommended:",
}

func leadsAway(text string) bool {
	if len(text) > 300 {
		return false
	}
	text = strings.ToLower(text)
	for _, phrase := range awayPhrases {
		if strings.HasPrefix(text, phrase) {
			return true
		}
	}
	return false
}

// maxRepeat is the length in bytes above which a block is not compared.
const maxRepeat = 2000

// dropRepeats removes blocks that were there before (a caption for each size of
// an image) and the title, which a Document carries apart.
func dropRepeats(root *html.Node, title string) {
	seen := map[string]bool{}
	sizes := sizesOf(root)
	prune(root, func(n *html.Node) bool {
		switch {
		case isElement(n, atom.H1, atom.H2):
			return title != "" && sizes[n].text < 500 && strings.EqualFold(textOf(n), title)
		case isElement(n, atom.P, atom.Li, atom.Div) && sizes[n].text < maxRepeat:
			if text := textOf(n); countWords(text) >= 15 {
				if seen[text] && (n.Parent == nil || sizes[n.Parent].text != sizes[n].text) {
					return true
				}
				seen[text] = true
			}
		}
		return false
	})
}

// dropBareHeadings removes headings that head nothing any more.
func dropBareHeadings(root *html.Node) {
	var order []*html.Node // headings, and one text node between them
	walk(root, func(n *html.Node) bool {
		switch {
		case headingLevel(n) > 0:
			order = append(order, n)
			return false
		case n.Type == html.TextNode && strings.TrimSpace(n.Data) != "":
			if len(order) == 0 || order[len(order)-1].Type != html.TextNode {
				order = append(order, n)
			}
		}
		return true
	})
	var after *html.Node // what stays behind the current one
	for _, o := range slices.Backward(order) {
		level := headingLevel(o)
		if level == 0 || after != nil && (after.Type == html.TextNode || headingLevel(after) > level) {
			after = o
			continue
		}
		o.Parent.RemoveChild(o)
	}
}

func headingLevel(n *html.Node) int {
	switch n.DataAtom {
	case atom.H1:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4:
		return 4
	case atom.H5:
		return 5
	case atom.H6:
		return 6
	}
	return 0
}

// asksForScript reports whether a text only says that JavaScript is needed.
func asksForScript(text string) bool {
	text = strings.ToLower(text)
	return len(text) < 600 && (strings.Contains(text, "javascript") || strings.Contains(text, "java script"))
}
