package web

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxTokens bounds the last-resort reading of a hostile page.
const maxTokens = 2_000_000

// tokensOnly reads a page without building a tree: the text between the tags, a
// line break at every block element.
func tokensOnly(body []byte) Document {
	z := html.NewTokenizer(bytes.NewReader(body))
	var text strings.Builder
	text.Grow(len(body) / 2)
	doc := Document{Method: MethodTokens}
	var title strings.Builder
	skip, inTitle := 0, false
	for range maxTokens {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		switch kind {
		case html.TextToken:
			if inTitle {
				title.Write(z.Text())
			} else if skip == 0 {
				text.Write(z.Text())
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			switch {
			case tag == atom.Title:
				inTitle = kind == html.StartTagToken
			case tag == atom.Script || tag == atom.Style || tag == atom.Noscript || tag == atom.Template:
				if kind == html.StartTagToken {
					skip++
				} else if kind == html.EndTagToken && skip > 0 {
					skip--
				}
			case blockElements[tag]:
				text.WriteByte('\n')
			}
		}
	}
	doc.Title = strings.Join(strings.Fields(title.String()), " ")
	doc.Markdown = tidyLines(visibleText(text.String()))
	doc.Words = countWords(doc.Markdown)
	if doc.Words == 0 {
		doc.Method = MethodNone
	}
	return doc
}

// tidyLines trims every line and drops empty ones.
func tidyLines(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return strings.TrimSpace(b.String())
}

// visibleText removes characters that a reader does not see: control characters,
// zero-width and direction marks, the tag block that can carry hidden sentences.
// Joiners stay where a script needs them.
func visibleText(s string) string {
	if !strings.ContainsFunc(s, invisible) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	var before rune
	for i, r := range s {
		if r == 0x200C || r == 0x200D {
			after := nextRune(s[i+3:])
			if before < 0x80 || after < 0x80 {
				continue
			}
		} else if invisible(r) {
			continue
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

func nextRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}

func invisible(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t'
	case r < 0x7f:
		return false
	case r < 0xa0, r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x180e:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0x3164, r == 0xfeff, r == 0xffa0:
		return true
	}
	return r >= 0xfff9 && r <= 0xfffb || r >= 0xe0000 && r <= 0xe0fff
}
