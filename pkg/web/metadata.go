package web

import (
	"encoding/json"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// readMetadata reads what the head of a page says about it. isArticle tells that
// the page declares itself a dated article, which manuals do not.
func readMetadata(root *html.Node) (doc Document, isArticle bool) {
	meta := map[string]string{}
	var title, h1, timeStamp string
	h1s := 0
	walk(root, func(n *html.Node) bool {
		if n.Type != html.ElementNode {
			return true
		}
		if kind := attr(n, "itemtype"); kind != "" && (strings.HasSuffix(kind, "Article") || strings.HasSuffix(kind, "Posting")) {
			meta["itemtype"] = kind
		}
		switch n.DataAtom {
		case atom.Html:
			doc.Language = firstOf(attr(n, "lang"), attr(n, "xml:lang"))
		case atom.Title:
			if title == "" && enclosing(n, atom.Svg) == nil {
				title = textOf(n)
			}
		case atom.Meta:
			key := strings.ToLower(firstOf(attr(n, "property"), attr(n, "name"), attr(n, "itemprop"), attr(n, "http-equiv")))
			if value := strings.TrimSpace(attr(n, "content")); key != "" && value != "" && meta[key] == "" {
				meta[key] = value
			}
		case atom.Script:
			if strings.Contains(strings.ToLower(attr(n, "type")), "ld+json") && n.FirstChild != nil {
				readLinkedData(n.FirstChild.Data, meta)
			}
			return false
		case atom.H1:
			if h1s++; h1s == 1 {
				h1 = headingText(n)
			}
		case atom.Time:
			if timeStamp == "" {
				timeStamp = attr(n, "datetime")
			}
		}
		return true
	})
	doc.Title = pickTitle(title, firstOf(meta["og:title"], meta["ld:headline"], meta["twitter:title"]), h1, h1s)
	doc.Byline = firstOf(meta["ld:author"], meta["author"], meta["dc.creator"], notURL(meta["article:author"]), meta["parsely-author"])
	doc.SiteName = firstOf(meta["og:site_name"], meta["application-name"])
	doc.Description = firstOf(meta["og:description"], meta["description"], meta["twitter:description"])
	doc.Language = firstOf(doc.Language, meta["content-language"], meta["og:locale"])
	doc.Published = firstDate(meta["article:published_time"], meta["ld:datepublished"], meta["datepublished"], meta["dc.date.issued"],
		meta["dc.date"], meta["date"], meta["pubdate"], meta["parsely-pub-date"], meta["sailthru.date"], timeStamp)
	doc.Modified = firstDate(meta["article:modified_time"], meta["og:updated_time"], meta["ld:datemodified"], meta["datemodified"], meta["last-modified"])
	isArticle = strings.EqualFold(meta["og:type"], "article") || meta["ld:article"] != "" ||
		meta["article:published_time"] != "" || meta["itemtype"] != ""
	return doc, isArticle
}

func headingText(n *html.Node) string {
	return strings.TrimRight(textOf(n), " ¶#§")
}

// pickTitle prefers the page's own heading over the window title, which carries
// the site's name as well.
func pickTitle(window, shared, h1 string, h1s int) string {
	if shared != "" && len(shared) >= 8 {
		return shared
	}
	if h1s == 1 && h1 != "" && strings.Contains(strings.ToLower(window), strings.ToLower(h1)) {
		return h1
	}
	return firstOf(window, h1, shared)
}

func notURL(s string) string {
	if strings.HasPrefix(s, "http") {
		return ""
	}
	return s
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" {
			return v
		}
	}
	return ""
}

// dateLayouts are the spellings of dates in metadata. A bare year is no date.
var dateLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04:05-0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
	"2006-01-02 15:04:05-07:00", "2006-01-02 15:04:05-0700", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", "2006/01/02", "20060102",
	time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
}

// ParseDate reads a date as pages, feeds and search engines write it. ok is
// false for anything else, such as "3 hours ago".
func ParseDate(s string) (t time.Time, ok bool) {
	s = strings.TrimSpace(s)
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 1980 {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

func firstDate(values ...string) time.Time {
	for _, v := range values {
		if t, ok := ParseDate(v); ok {
			return t
		}
	}
	return time.Time{}
}

// readLinkedData adds what a JSON-LD block says about an article to meta.
func readLinkedData(data string, meta map[string]string) {
	var v any
	if len(data) > 1<<20 || json.Unmarshal([]byte(strings.TrimSpace(data)), &v) != nil {
		return
	}
	eachObject(v, 0, func(o map[string]any) {
		kind := jsonText(o["@type"])
		if !strings.Contains(kind, "Article") && !strings.Contains(kind, "Posting") && !strings.Contains(kind, "Report") && kind != "WebPage" {
			return
		}
		if kind != "WebPage" && kind != "TechArticle" && kind != "APIReference" {
			meta["ld:article"] = kind
		}
		for key, value := range map[string]string{
			"ld:headline": jsonText(o["headline"]), "ld:author": jsonName(o["author"]), "ld:body": jsonText(o["articleBody"]),
			"ld:datepublished": jsonText(o["datePublished"]), "ld:datemodified": jsonText(o["dateModified"]),
		} {
			if value != "" && meta[key] == "" {
				meta[key] = value
			}
		}
	})
}

// eachObject visits the objects of a decoded JSON value, outermost first.
func eachObject(v any, depth int, visit func(map[string]any)) {
	if depth > 8 {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			eachObject(e, depth+1, visit)
		}
	case map[string]any:
		visit(v)
		for _, e := range v {
			switch e.(type) {
			case []any, map[string]any:
				eachObject(e, depth+1, visit)
			}
		}
	}
}

func jsonText(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case []any:
		if len(v) > 0 {
			return jsonText(v[0])
		}
	}
	return ""
}

func jsonName(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return jsonText(v["name"])
	case []any:
		var names []string
		for _, e := range v {
			if name := jsonName(e); name != "" {
				names = append(names, name)
			}
		}
		return strings.Join(names, ", ")
	}
	return jsonText(v)
}
