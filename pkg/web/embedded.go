package web

import (
	"encoding/json"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// embeddedText collects the text that a script would have put on the page:
// articles in JSON-LD and in the data of page frameworks, and noscript text.
// It is used only when the page shows next to nothing without its script.
func embeddedText(root *html.Node) []string {
	var texts []string
	walk(root, func(n *html.Node) bool {
		switch {
		case isElement(n, atom.Noscript):
			if t := noscriptText(n); t != "" {
				texts = append(texts, t)
			}
			return false
		case isElement(n, atom.Script):
			kind := strings.ToLower(attr(n, "type"))
			if n.FirstChild != nil && strings.Contains(kind, "json") {
				if t := jsonProse(n.FirstChild.Data); t != "" {
					texts = append(texts, t)
				}
			}
			return false
		}
		return true
	})
	return texts
}

// noscriptText is the text of a noscript element, which the parser leaves
// unparsed in the head and in documents that run scripts.
func noscriptText(n *html.Node) string {
	text := textOf(n)
	if strings.Contains(text, "<") {
		text = tokensOnly([]byte(text)).Markdown
	}
	return text
}

// proseKeys are the fields that hold the text of an article in page data.
var proseKeys = map[string]bool{
	"articlebody": true, "body": true, "content": true, "text": true, "html": true, "markdown": true, "description": true,
	"bodyhtml": true, "contenthtml": true, "rendered": true, "value": true, "paragraph": true,
}

// jsonProse collects long strings under the usual keys of page data.
func jsonProse(data string) string {
	var v any
	if len(data) > 2<<20 || json.Unmarshal([]byte(strings.TrimSpace(data)), &v) != nil {
		return ""
	}
	var b strings.Builder
	seen := map[string]bool{}
	var visit func(key string, v any, depth int)
	visit = func(key string, v any, depth int) {
		if depth > 24 || b.Len() > 200_000 {
			return
		}
		switch v := v.(type) {
		case map[string]any:
			for _, k := range sortedKeys(v) {
				visit(strings.ToLower(k), v[k], depth+1)
			}
		case []any:
			for _, e := range v {
				visit(key, e, depth+1)
			}
		case string:
			if !proseKeys[key] || countWords(v) < 8 || seen[v] {
				return
			}
			seen[v] = true
			if strings.Contains(v, "</") {
				v = tokensOnly([]byte(v)).Markdown
			}
			b.WriteString(v + "\n\n")
		}
	}
	visit("", v, 0)
	return strings.TrimSpace(b.String())
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	// Object order is lost by decoding; sorted is at least the same every time.
	slices.Sort(keys)
	return keys
}

// useEmbedded fills an unreadable document from embedded text when there is any.
func useEmbedded(doc *Document, texts []string) {
	best := ""
	for _, t := range texts {
		if countWords(t) > countWords(best) {
			best = t
		}
	}
	if words := countWords(best); words >= minWords && words > doc.Words && !asksForScript(best) {
		doc.Markdown, doc.Words, doc.Method = visibleText(best), words, MethodEmbedded
	}
}
