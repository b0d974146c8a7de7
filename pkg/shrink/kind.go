package shrink

import (
	"bytes"
	"encoding/json"
	"regexp"
	"sync"
)

// A text's kind, by its looks. Content loses its meaning when lines are left out, or when lines that
// differ in a name or a figure only are taken for the same.
type kind string

const (
	kindNone    kind = ""        // neither
	kindLog     kind = "log"     // messages, mostly
	kindJSON    kind = "json"    // a document
	kindMarkup  kind = "markup"  // XML, HTML
	kindDiff    kind = "diff"    // with hunks
	kindSource  kind = "source"  // code
	kindListing kind = "listing" // names, one a line
	kindTable   kind = "table"   // columns, figures
)

// document recognises content by its first characters, which hold for any text whoever printed it.
func document(t []byte) kind {
	t = bytes.TrimSpace(t)
	if len(t) == 0 {
		return kindNone
	}
	if (t[0] == '{' || t[0] == '[') && jsonDocument(t) {
		return kindJSON
	}
	for _, p := range []struct {
		prefix string
		kind   kind
	}{
		{"diff --git ", kindDiff},
		{"--- a/", kindDiff},
		{"Index: ", kindDiff},
		{"<?xml", kindMarkup},
		{"<!DOCTYPE", kindMarkup},
		{"<html", kindMarkup},
		{"#!/", kindSource},
		{"#include ", kindSource},
		{"<?php", kindSource},
	} {
		if bytes.HasPrefix(t, []byte(p.prefix)) {
			return p.kind
		}
	}
	return kindNone
}

// jsonDocument is true for one value over many lines, or on one; not for a stream of events, a line each.
func jsonDocument(t []byte) bool {
	first, _, more := bytes.Cut(t, []byte{'\n'})
	if more && json.Valid(first) {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(t))
	if _, err := dec.Token(); err != nil {
		return false
	}
	tok, err := dec.Token()
	if err != nil {
		return false
	}
	_, quoted := tok.(string)
	_, opens := tok.(json.Delim)
	_, number := tok.(float64)
	return quoted || opens || number && dec.More()
}

// shapes are the lines of a text counted by what they look like.
type shapes struct {
	lines, names, figures, code, worded, hunks, events int
	rows                                               int // of figures; those without lists that commas make
}

func shapesOf(text []byte) shapes {
	var n shapes
	for line := range bytes.Lines(text) {
		if line = bytes.TrimRight(line, " \t\r\n"); len(line) > 0 {
			n.count(line)
		}
	}
	return n
}

// tabled is true for a report with a table in it, such as the coverage of each file, that somebody asked for.
func tabled(text []byte) bool {
	n := shapesOf(text)
	return n.rows >= 25 && n.rows*4 >= n.lines
}

// kindOf looks at a text's lines. Most of them must agree.
func kindOf(text []byte) kind {
	if k := document(text); k != kindNone {
		return k
	}
	n := shapesOf(text)
	switch {
	case n.lines == 0:
		return kindNone
	case n.hunks > 0:
		return kindDiff
	case n.events*5 > n.lines*4:
		return kindJSON
	case n.names*5 > n.lines*3:
		return kindListing
	case n.figures*2 > n.lines:
		return kindTable
	case n.code*5 > n.lines*2:
		return kindSource
	case n.worded*2 > n.lines:
		return kindLog
	}
	return kindNone
}

var hunk = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@`) })

var longListing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[-dlbcps][-rwxsStT]{9}|\d+[KMGT]?)[.+@]?\s+\S`)
})

func (n *shapes) count(line []byte) {
	n.lines++
	fields := bytes.Fields(line)
	switch {
	case bytes.HasPrefix(line, []byte("@@ -")) && hunk().Match(line):
		n.hunks++
	case line[0] == '{' && json.Valid(line):
		n.events++
	case len(fields) == 1 && !bytes.ContainsAny(line, ",;|"), longListing().Match(line) && len(fields) <= 12 && (line[0] < '0' || line[0] > '9' || len(fields) == 2):
		n.names++
	case columns(line, "|\t") || figures(fields):
		n.figures++
		n.rows++
	case columns(line, ",;"):
		n.figures++
	case looksLikeCode(line):
		n.code++
	}
	if worded(fields) {
		n.worded++
	}
}

// columns is true for a row of a table that is written with separators.
func columns(line []byte, separators string) bool {
	for _, sep := range []byte(separators) {
		if n := bytes.Count(line, []byte{sep}); n >= 3 && len(line)/n < 40 {
			return true
		}
	}
	return false
}

// figures is true when at least half of a line, and two of its words, are numbers.
func figures(fields [][]byte) bool {
	n := 0
	for _, f := range fields {
		f = bytes.TrimLeft(f, "+-$(")
		if len(f) > 0 && f[0] >= '0' && f[0] <= '9' && bytes.IndexByte(f, ':') < 0 {
			n++
		}
	}
	return n >= 2 && n*2 >= len(fields)
}

var codeStart = []string{
	"//", "/*", "* ", "# ", "def ", "func ", "class ", "import ", "from ", "return", "if (", "for (", "while (", "const ", "let ", "var ",
	"pub ", "fn ", "use ", "@", "package ", "#include", "#define", "export ", "type ", "struct ", "private ", "public ", "static ", "else", "try", "end",
}

func looksLikeCode(line []byte) bool {
	switch line[len(line)-1] {
	case '{', '}', ';':
		return true
	}
	t := bytes.TrimLeft(line, " \t")
	for _, s := range codeStart {
		if bytes.HasPrefix(t, []byte(s)) {
			return true
		}
	}
	for _, s := range []string{":=", " == ", " != ", " && ", ") {", "();", "; }"} {
		if bytes.Contains(line, []byte(s)) {
			return true
		}
	}
	return bytes.HasSuffix(line, []byte("):")) || bytes.HasSuffix(line, []byte("(")) || bytes.HasSuffix(line, []byte("=>"))
}

// worded is true for a line of at least two words that are neither names nor figures.
func worded(fields [][]byte) bool {
	n := 0
	for _, w := range fields {
		if len(w) >= 3 && !bytes.ContainsAny(w, "/\\0123456789,;|{}") {
			n++
		}
	}
	return n >= 2
}
