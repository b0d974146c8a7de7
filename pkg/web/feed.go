package web

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// maxFeedItems bounds what is shown of a feed.
const maxFeedItems = 100

// feedXML holds what RSS 2.0, RSS 1.0 and Atom have in common.
type feedXML struct {
	Title   string      `xml:"title"`
	Channel *feedXML    `xml:"channel"`
	Items   []feedEntry `xml:"item"`
	Entries []feedEntry `xml:"entry"`
}

type feedEntry struct {
	Title       string `xml:"title"`
	Published   string `xml:"published"`
	Updated     string `xml:"updated"`
	PubDate     string `xml:"pubDate"`
	Date        string `xml:"date"`
	Description string `xml:"description"`
	Summary     string `xml:"summary"`
	Content     string `xml:"content"`
	Encoded     string `xml:"encoded"`
}

// readFeed turns RSS and Atom into a section for each entry. An XML that is
// neither gives "".
func readFeed(text []byte) (title, markdown string) {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.Strict = false
	decoder.Entity = xml.HTMLEntity
	decoder.CharsetReader = utf8Already
	var feed feedXML
	if err := decoder.Decode(&feed); err != nil {
		return "", ""
	}
	entries := append(feed.Entries, feed.Items...)
	title = feed.Title
	if feed.Channel != nil {
		title = firstOf(feed.Channel.Title, title)
		entries = append(entries, feed.Channel.Items...)
	}
	var b strings.Builder
	for _, e := range entries[:min(len(entries), maxFeedItems)] {
		fmt.Fprintf(&b, "## %s\n\n", plain(e.Title))
		if date := firstDate(e.Published, e.PubDate, e.Date, e.Updated); !date.IsZero() {
			b.WriteString(date.Format("2006-01-02") + "\n\n")
		}
		if body := firstOf(e.Encoded, e.Content, e.Description, e.Summary); body != "" {
			b.WriteString(tokensOnly([]byte(body)).Markdown + "\n\n")
		}
	}
	return plain(title), strings.TrimSpace(b.String())
}
