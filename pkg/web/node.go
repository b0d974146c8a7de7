package web

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// attr returns the value of an attribute, "" when it is absent.
func attr(n *html.Node, key string) string {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return n.Attr[i].Val
		}
	}
	return ""
}

// hasAttr reports whether an attribute is present, whatever its value.
func hasAttr(n *html.Node, key string) bool {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return true
		}
	}
	return false
}

// walk visits n and its descendants in document order. When visit returns false
// the descendants of that node are left out.
func walk(n *html.Node, visit func(*html.Node) bool) {
	if !visit(n) {
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, visit)
	}
}

// prune removes every descendant of root that drop names.
func prune(root *html.Node, drop func(*html.Node) bool) {
	for c := root.FirstChild; c != nil; {
		next := c.NextSibling
		if drop(c) {
			root.RemoveChild(c)
		} else {
			prune(c, drop)
		}
		c = next
	}
}

// find returns the first descendant (or n itself) that matches, or nil.
func find(n *html.Node, match func(*html.Node) bool) *html.Node {
	if match(n) {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if hit := find(c, match); hit != nil {
			return hit
		}
	}
	return nil
}

func isElement(n *html.Node, tags ...atom.Atom) bool {
	if n.Type != html.ElementNode {
		return false
	}
	return slices.Contains(tags, n.DataAtom)
}

// unwrap puts the children of n in its place.
func unwrap(n *html.Node) {
	parent := n.Parent
	for c := n.FirstChild; c != nil; c = n.FirstChild {
		n.RemoveChild(c)
		parent.InsertBefore(c, n)
	}
	parent.RemoveChild(n)
}

// blockElements start and end a line of text.
var blockElements = map[atom.Atom]bool{
	atom.Address: true, atom.Article: true, atom.Aside: true, atom.Blockquote: true, atom.Body: true, atom.Br: true,
	atom.Caption: true, atom.Center: true, atom.Dd: true, atom.Details: true, atom.Dialog: true, atom.Div: true,
	atom.Dl: true, atom.Dt: true, atom.Fieldset: true, atom.Figcaption: true, atom.Figure: true, atom.Footer: true,
	atom.Form: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true,
	atom.Header: true, atom.Hgroup: true, atom.Hr: true, atom.Html: true, atom.Legend: true, atom.Li: true,
	atom.Main: true, atom.Menu: true, atom.Nav: true, atom.Ol: true, atom.Option: true, atom.P: true, atom.Pre: true,
	atom.Section: true, atom.Summary: true, atom.Table: true, atom.Tbody: true, atom.Td: true, atom.Tfoot: true,
	atom.Th: true, atom.Thead: true, atom.Tr: true, atom.Ul: true,
}

// textOf returns the text below n: block elements separated by a space, runs of
// space reduced to one.
func textOf(n *html.Node) string {
	var b strings.Builder
	appendText(&b, n)
	return strings.Join(strings.Fields(b.String()), " ")
}

func appendText(b *strings.Builder, n *html.Node) {
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
		return
	}
	block := n.Type == html.ElementNode && blockElements[n.DataAtom]
	if block {
		b.WriteByte(' ')
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		appendText(b, c)
	}
	if block {
		b.WriteByte(' ')
	}
}

// size is how much text an element holds, in bytes without outer space.
type size struct{ text, link int }

// sizesOf measures root and all elements below it in one pass. Asking each
// element for itself would cost the square of a deeply nested page.
func sizesOf(root *html.Node) map[*html.Node]size {
	sizes := map[*html.Node]size{}
	var visit func(n *html.Node, link bool) size
	visit = func(n *html.Node, link bool) size {
		if n.Type == html.TextNode {
			s := size{text: len(strings.TrimSpace(n.Data))}
			if link {
				s.link = s.text
			}
			return s
		}
		link = link || n.DataAtom == atom.A
		var sum size
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			s := visit(c, link)
			sum.text += s.text
			sum.link += s.link
		}
		sizes[n] = sum
		return sum
	}
	visit(root, false)
	return sizes
}

// depthOf is the number of elements around the deepest one.
func depthOf(n *html.Node) int {
	deepest := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		deepest = max(deepest, 1+depthOf(c))
	}
	return deepest
}

// countWords counts words: runs of letters and digits, and every character of the
// scripts that are written without spaces.
func countWords(s string) int {
	count, inside := 0, false
	for _, r := range s {
		switch {
		case r < 0x80:
			word := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
			if word && !inside {
				count++
			}
			inside = word
		case unspaced(r):
			count++
			inside = false
		default:
			word := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
			if word && !inside {
				count++
			}
			inside = word
		}
	}
	return count
}

// unspaced reports whether r belongs to a script without spaces between words.
func unspaced(r rune) bool {
	return r >= 0x2E80 && (unicode.Is(unicode.Han, r) || unicode.Is(unicode.Hiragana, r) || unicode.Is(unicode.Katakana, r)) ||
		r >= 0x0E00 && r <= 0x0EFF // Thai and Lao
}
