// Package dom is what go-readability needs of github.com/go-shiori/dom, and nothing else: go.mod replaces that module
// by this one.
//
// The original also guesses character sets, normalises text and compiles any CSS selector. No page of ours takes that
// way - a page is UTF-8 and parsed before it comes here - but a Go program carries what its packages' variables refer
// to: 0.7 MB, most of it tables for writing Chinese, Japanese and Korean.
//
// The pitfall: an update of go-readability may want more of it. The compiler says so, except for selectors: see
// QuerySelectorAll.
package dom

import (
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Parse reads a document of UTF-8.
func Parse(r io.Reader) (*html.Node, error) { return html.Parse(r) }

// elements calls do for each element below n, in the order of the text.
func elements(n *html.Node, do func(*html.Node)) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.Type == html.ElementNode {
			do(child)
		}
		elements(child, do)
	}
}

// GetElementsByTagName is all elements below n of a name; "*" are all.
func GetElementsByTagName(n *html.Node, name string) []*html.Node {
	var out []*html.Node
	elements(n, func(e *html.Node) {
		if name == "*" || e.Data == name {
			out = append(out, e)
		}
	})
	return out
}

// QuerySelectorAll knows the selectors that go-readability has: names, with a `>` between parent and child, with one
// attribute in `[name="value"]`, and lists of these. It finds nothing for any other.
func QuerySelectorAll(n *html.Node, selectors string) []*html.Node {
	list := strings.Split(selectors, ",")
	var out []*html.Node
	elements(n, func(e *html.Node) {
		if slices.ContainsFunc(list, func(s string) bool { return matches(e, strings.TrimSpace(s)) }) {
			out = append(out, e)
		}
	})
	return out
}

func matches(e *html.Node, selector string) bool {
	if i := strings.LastIndexByte(selector, '>'); i >= 0 {
		parent := strings.TrimSpace(selector[:i])
		return e.Parent != nil && matches(e.Parent, parent) && matches(e, strings.TrimSpace(selector[i+1:]))
	}
	name, attr, bracket := strings.Cut(selector, "[")
	if e.Type != html.ElementNode || name != e.Data {
		return false
	}
	if !bracket {
		return true
	}
	key, value, ok := strings.Cut(strings.TrimSuffix(attr, "]"), "=")
	return ok && HasAttribute(e, key) && GetAttribute(e, key) == strings.Trim(value, `"`)
}

// DocumentElement is the html element of a document.
func DocumentElement(doc *html.Node) *html.Node {
	if all := GetElementsByTagName(doc, "html"); len(all) > 0 {
		return all[0]
	}
	return nil
}

// CreateElement makes an element that stands nowhere yet.
func CreateElement(name string) *html.Node { return &html.Node{Type: html.ElementNode, Data: name} }

// CreateTextNode makes a text that stands nowhere yet.
func CreateTextNode(text string) *html.Node { return &html.Node{Type: html.TextNode, Data: text} }

// TagName is the name of an element, "" of anything else.
func TagName(n *html.Node) string {
	if n == nil || n.Type != html.ElementNode {
		return ""
	}
	return n.Data
}

func attribute(n *html.Node, name string) int {
	return slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// HasAttribute says that an attribute is there, be it empty.
func HasAttribute(n *html.Node, name string) bool { return attribute(n, name) >= 0 }

// GetAttribute is the value of an attribute, "" if there is none.
func GetAttribute(n *html.Node, name string) string {
	if i := attribute(n, name); i >= 0 {
		return n.Attr[i].Val
	}
	return ""
}

// SetAttribute gives an attribute a value.
func SetAttribute(n *html.Node, name, value string) {
	if i := attribute(n, name); i >= 0 {
		n.Attr[i].Val = value
		return
	}
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}

// RemoveAttribute takes an attribute away, if it is there.
func RemoveAttribute(n *html.Node, name string) {
	if i := attribute(n, name); i >= 0 {
		n.Attr = slices.Delete(n.Attr, i, i+1)
	}
}

// ID is an element's id, without space around it.
func ID(n *html.Node) string { return strings.TrimSpace(GetAttribute(n, "id")) }

// ClassName is an element's classes with one space between them.
func ClassName(n *html.Node) string {
	return strings.Join(strings.Fields(GetAttribute(n, "class")), " ")
}

// TextContent is all text in a node, scripts and styles too.
func TextContent(n *html.Node) string {
	var b strings.Builder
	appendText(&b, n)
	return b.String()
}

func appendText(b *strings.Builder, n *html.Node) {
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		appendText(b, child)
	}
}

// OuterHTML is the node as HTML, "" if it cannot be written.
func OuterHTML(n *html.Node) string {
	var b strings.Builder
	if n == nil || html.Render(&b, n) != nil {
		return ""
	}
	return b.String()
}

// InnerHTML is what stands in a node as HTML, "" if it cannot be written.
func InnerHTML(n *html.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if html.Render(&b, child) != nil {
			return ""
		}
	}
	return strings.TrimSpace(b.String())
}

// ChildNodes are the nodes directly below n.
func ChildNodes(n *html.Node) []*html.Node { return slices.Collect(n.ChildNodes()) }

// Children are the elements directly below n, which may be nil.
func Children(n *html.Node) []*html.Node {
	if n == nil {
		return nil
	}
	var out []*html.Node
	for child := range n.ChildNodes() {
		if child.Type == html.ElementNode {
			out = append(out, child)
		}
	}
	return out
}

// element is the first element from n on, in the direction of next.
func element(n *html.Node, next func(*html.Node) *html.Node) *html.Node {
	for n != nil && n.Type != html.ElementNode {
		n = next(n)
	}
	return n
}

func following(n *html.Node) *html.Node { return n.NextSibling }
func preceding(n *html.Node) *html.Node { return n.PrevSibling }

// FirstElementChild is the first element directly below n, or nil.
func FirstElementChild(n *html.Node) *html.Node { return element(n.FirstChild, following) }

// NextElementSibling is the next element beside n, or nil.
func NextElementSibling(n *html.Node) *html.Node { return element(n.NextSibling, following) }

// PreviousElementSibling is the element before n beside it, or nil.
func PreviousElementSibling(n *html.Node) *html.Node { return element(n.PrevSibling, preceding) }

// AppendChild puts a node at the end of another, away from where it was; in an element that cannot hold any it does
// nothing.
func AppendChild(n, child *html.Node) {
	if holds(n) {
		detach(child)
		n.AppendChild(child)
	}
}

// ReplaceChild puts a node in the place of another below parent, and returns both. It does nothing when the old one
// is not there.
func ReplaceChild(parent, fresh, old *html.Node) (*html.Node, *html.Node) {
	if parent != nil && old.Parent == parent {
		detach(fresh)
		parent.InsertBefore(fresh, old)
		parent.RemoveChild(old)
	}
	return fresh, old
}

func detach(n *html.Node) {
	if n.Parent != nil {
		n.Parent.RemoveChild(n)
	}
}

// holds says that nodes may stand in n: it is an element, none of those that are always empty.
func holds(n *html.Node) bool {
	const empty = " area base br col embed hr img input keygen link meta param source track wbr "
	return n.Type == html.ElementNode && !strings.Contains(empty, " "+n.Data+" ")
}

// IncludeNode says that a node is in a list.
func IncludeNode(list []*html.Node, n *html.Node) bool { return slices.Contains(list, n) }

// Clone is a copy that stands nowhere, with all below it if it is to be deep.
func Clone(n *html.Node, deep bool) *html.Node {
	out := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Attr: slices.Clone(n.Attr)}
	if deep {
		for child := range n.ChildNodes() {
			out.AppendChild(Clone(child, true))
		}
	}
	return out
}
