package web

import (
	"regexp"
	"strings"
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// neverText are elements whose content is not text of the page.
var neverText = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true,
	atom.Iframe: true, atom.Canvas: true, atom.Object: true, atom.Embed: true, atom.Video: true, atom.Audio: true,
	atom.Input: true, atom.Select: true, atom.Textarea: true, atom.Button: true, atom.Datalist: true, atom.Meter: true,
	atom.Progress: true, atom.Map: true, atom.Link: true, atom.Meta: true, atom.Frameset: true, atom.Noframes: true,
}

// hiddenStyle finds the declarations that take an element out of sight. Opacity
// and visibility are left to [veiled]: scripts lift those after loading.
var hiddenStyle = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[;\s{])(?:` +
		`display\s*:\s*none|` +
		`font-size\s*:\s*0*\.?0+(?:px|pt|em|rem|%|vw)?\s*(?:!important)?\s*(?:;|$)|` +
		`(?:left|top|right|text-indent|margin-left)\s*:\s*-\d{4,}|` +
		`clip\s*:\s*rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,]|` +
		`transform\s*:\s*scale\(\s*0\s*\)|` +
		`(?:max-)?(?:height|width)\s*:\s*[01](?:px)?\s*;.*overflow\s*:\s*hidden|` +
		`overflow\s*:\s*hidden\s*;.*(?:max-)?(?:height|width)\s*:\s*[01](?:px)?\s*(?:;|$))`)
})

var veilStyle = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[;\s])(?:visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0*\.?0+\s*(?:!important)?\s*(?:;|$)|` +
		`color\s*:\s*transparent)`)
})

// hiddenClasses are names that CSS frameworks give to text for screen readers
// only, or to nothing at all.
var hiddenClasses = map[string]bool{
	"sr-only": true, "visually-hidden": true, "visuallyhidden": true, "screen-reader-text": true, "screenreader-only": true,
	"d-none": true, "is-hidden": true, "u-hidden": true, "hide-text": true,
}

// hidden reports whether a browser would not show n.
func hidden(n *html.Node) bool {
	if n.Type != html.ElementNode || len(n.Attr) == 0 {
		return false
	}
	for i := range n.Attr {
		switch a := &n.Attr[i]; a.Key {
		case "hidden":
			// hidden="until-found" is text that the browser's search does show.
			if a.Val != "until-found" {
				return true
			}
		case "aria-hidden":
			if a.Val == "true" {
				return true
			}
		case "style":
			if a.Val != "" && hiddenStyle().MatchString(strings.ToLower(a.Val)) {
				return true
			}
		case "class":
			for class := range strings.FieldsSeq(a.Val) {
				if hiddenClasses[strings.ToLower(class)] {
					return true
				}
			}
		}
	}
	return false
}

// veiled reports whether n is transparent until a script shows it.
func veiled(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	style := attr(n, "style")
	return style != "" && veilStyle().MatchString(strings.ToLower(style))
}

// stripInvisible removes what no reader of the page sees. It is the common first
// step of all readings.
func stripInvisible(root *html.Node) {
	prune(root, func(n *html.Node) bool {
		switch n.Type {
		case html.CommentNode:
			return true
		case html.ElementNode:
			if n.DataAtom == atom.Body || n.DataAtom == atom.Html {
				return false
			}
			return neverText[n.DataAtom] || isElement(n, atom.Dialog) && !hasAttr(n, "open")
		}
		return false
	})
	// A page that hides most of itself is waiting for its script, not hiding text.
	for _, test := range []func(*html.Node) bool{hidden, veiled} {
		pruneUnlessMost(root, test)
	}
	flattenForms(root)
}

// pruneUnlessMost removes what matches, except an element that holds more than
// half of all the text.
func pruneUnlessMost(root *html.Node, match func(*html.Node) bool) {
	var sizes map[*html.Node]size // measured at the first match: most pages hide nothing
	prune(root, func(n *html.Node) bool {
		if n.Type != html.ElementNode || n.DataAtom == atom.Html || n.DataAtom == atom.Body || !match(n) {
			return false
		}
		if sizes == nil {
			sizes = sizesOf(root)
		}
		return sizes[n].text*2 <= sizes[root].text
	})
}

// flattenForms drops forms that ask for something and unwraps those that merely
// enclose the page (ASP.NET puts one around everything).
func flattenForms(root *html.Node) {
	var sizes map[*html.Node]size
	var wrapping []*html.Node
	prune(root, func(n *html.Node) bool {
		if !isElement(n, atom.Form) {
			return false
		}
		if sizes == nil {
			sizes = sizesOf(root)
		}
		if sizes[n].text*4 > sizes[root].text {
			wrapping = append(wrapping, n)
			return false
		}
		return true
	})
	for _, n := range wrapping {
		unwrap(n)
	}
}

// chromeRoles are ARIA roles of what surrounds the text.
var chromeRoles = map[string]bool{
	"navigation": true, "banner": true, "contentinfo": true, "search": true, "menu": true, "menubar": true,
	"toolbar": true, "dialog": true, "alertdialog": true, "tablist": true, "complementary": true,
}

// chromeWords are whole words of class and id names (split at - _ and capitals)
// that name what surrounds the text.
var chromeWords = map[string]bool{
	"nav": true, "navbar": true, "navigation": true, "breadcrumb": true, "breadcrumbs": true, "sidebar": true, "toc": true,
	"menu": true, "footer": true, "cookie": true, "cookies": true, "share": true, "sharing": true, "social": true,
	"related": true, "newsletter": true, "subscribe": true, "signup": true, "promo": true, "advert": true,
	"advertisement": true, "sponsored": true, "comments": true, "disqus": true, "pagination": true, "pager": true,
	"masthead": true, "skip": true, "headerlink": true, "permalink": true, "editsection": true, "sphinxsidebar": true,
	"navheader": true, "navfooter": true, "popup": true, "modal": true, "recommended": true,
}

// nameWords splits a class or id value into lower-case words.
func nameWords(value string, visit func(string) bool) bool {
	start := -1
	flush := func(end int) bool {
		if start < 0 {
			return false
		}
		word := strings.ToLower(value[start:end])
		start = -1
		return visit(word)
	}
	for i := 0; i < len(value); i++ {
		c := value[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter {
			if flush(i) {
				return true
			}
			continue
		}
		if start >= 0 && c >= 'A' && c <= 'Z' && value[i-1] >= 'a' && value[i-1] <= 'z' {
			if flush(i) {
				return true
			}
		}
		if start < 0 {
			start = i
		}
	}
	return flush(len(value))
}

// chrome reports whether n surrounds the text instead of being part of it.
func chrome(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Nav, atom.Footer:
		return true
	case atom.Html, atom.Body, atom.Main, atom.Article, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Code, atom.Pre,
		atom.Dl, atom.Dt, atom.Dd, atom.Tbody, atom.Tr, atom.Td, atom.Th, atom.Em, atom.Strong, atom.Kbd, atom.Samp, atom.Var:
		return false // parts of a text, whatever they are called
	case atom.Header:
		return !inside(n, atom.Article, atom.Main, atom.Section)
	}
	for i := range n.Attr {
		switch a := &n.Attr[i]; a.Key {
		case "role":
			if chromeRoles[strings.ToLower(strings.TrimSpace(a.Val))] {
				return true
			}
		case "class", "id":
			if a.Val != "" && nameWords(a.Val, func(w string) bool { return chromeWords[w] }) && (a.Key == "class" || !anchor(n, a.Val)) {
				return true
			}
		}
	}
	return false
}

// anchor reports whether an id was made from the heading of a section: "Cookie
// objects" is a chapter, not a cookie dialog.
func anchor(n *html.Node, id string) bool {
	if n.DataAtom == atom.Section || hasName(n, "section") {
		return true
	}
	heading := find(n, func(c *html.Node) bool { return headingLevel(c) > 0 })
	if heading == nil {
		return false
	}
	var words []string
	nameWords(headingText(heading), func(w string) bool {
		words = append(words, w)
		return false
	})
	return strings.Contains(strings.ToLower(id), strings.Join(words, "-"))
}

// inside reports whether an ancestor of n is one of tags.
func inside(n *html.Node, tags ...atom.Atom) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if isElement(p, tags...) {
			return true
		}
	}
	return false
}
