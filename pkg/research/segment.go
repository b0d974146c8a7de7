package research

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// pieceKind is what a piece of a page is.
type pieceKind int

const (
	prosePiece pieceKind = iota
	rowPiece
	codePiece
)

// piece is the smallest part of a page that can support a claim: a sentence, a
// table row, a line of code.
type piece struct {
	text    string
	kind    pieceKind
	section int    // pieces of one section and block may be read together
	block   int    // paragraph, list item, table or listing
	heading string // path of headings above it
	header  string // of a row: the head of its table
}

// pieces cuts a page's Markdown. It is a line scanner, not a parser: what it does
// not know is prose.
func pieces(markdown string) []piece {
	c := &cutter{}
	for line := range strings.SplitSeq(markdown, "\n") {
		c.line(line)
	}
	c.flush()
	return c.out
}

type cutter struct {
	out     []piece
	path    []string // headings, by level
	para    []string // lines of the paragraph being read
	fence   string
	section int
	block   int
	header  string
	inTable bool
}

func (c *cutter) line(line string) {
	bare := strings.TrimSpace(line)
	if c.fence != "" {
		if strings.HasPrefix(bare, c.fence) {
			c.fence = ""
			return
		}
		if bare != "" {
			c.add(strings.TrimRight(line, " \t\r"), codePiece)
		}
		return
	}
	table := strings.HasPrefix(bare, "|") && strings.HasSuffix(bare, "|") && len(bare) > 1
	if c.inTable && !table {
		c.inTable, c.header = false, ""
	}
	switch {
	case strings.HasPrefix(bare, "```"):
		c.flush()
		c.block++
		c.fence = bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
	case bare == "":
		c.flush()
	case headingLevel(bare) > 0:
		c.flush()
		c.heading(bare)
	case table:
		c.flush()
		c.row(bare)
	case listMark(bare) > 0:
		c.flush()
		c.para = append(c.para, bare[listMark(bare):])
	default:
		c.para = append(c.para, strings.TrimLeft(bare, "> "))
	}
}

// headingLevel is the level of a Markdown heading, 0 for any other line.
func headingLevel(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n < 1 || n > 6 || n >= len(line) || line[n] != ' ' {
		return 0
	}
	return n
}

// listMark is the length of a list marker with its space, 0 when there is none.
func listMark(line string) int {
	if len(line) > 2 && strings.ContainsRune("-*+•", firstRune(line)) {
		n := utf8.RuneLen(firstRune(line))
		if line[n] == ' ' {
			return n + 1
		}
	}
	i := 0
	for i < len(line) && line[i] >= '0' && line[i] <= '9' {
		i++
	}
	if i > 0 && i < 4 && i+1 < len(line) && (line[i] == '.' || line[i] == ')') && line[i+1] == ' ' {
		return i + 2
	}
	return 0
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func (c *cutter) heading(line string) {
	level := headingLevel(line)
	c.section++
	c.path = append(c.path[:min(level-1, len(c.path))], strings.TrimSpace(strings.Trim(line[level:], "# ")))
}

func (c *cutter) row(line string) {
	if strings.Trim(line, "|-: ") == "" {
		return // the rule below the head
	}
	if !c.inTable {
		c.inTable = true
		c.block++
		if strings.Trim(line, "| ") == "" {
			return
		}
		c.header = line
	}
	c.add(line, rowPiece)
}

func (c *cutter) flush() {
	if len(c.para) == 0 {
		return
	}
	c.block++
	for _, s := range sentences(strings.Join(c.para, " ")) {
		c.add(s, prosePiece)
	}
	c.para = c.para[:0]
}

func (c *cutter) add(text string, kind pieceKind) {
	c.out = append(c.out, piece{
		text: text, kind: kind, section: c.section, block: c.block,
		heading: strings.Join(c.path, " > "), header: c.header,
	})
}

// abbreviations end with a dot that ends no sentence.
var abbreviations = map[string]bool{
	"e.g": true, "i.e": true, "mr": true, "mrs": true, "ms": true, "dr": true, "prof": true, "st": true, "vs": true, "cf": true,
	"fig": true, "no": true, "vol": true, "pp": true, "approx": true, "inc": true, "ltd": true, "co": true, "corp": true, "jr": true,
	"sr": true, "al": true, "u.s": true, "u.k": true, "jan": true, "feb": true, "mar": true, "apr": true, "jun": true, "jul": true,
	"aug": true, "sep": true, "sept": true, "oct": true, "nov": true, "dec": true, "z.b": true, "d.h": true, "bzw": true, "ca": true,
}

// sentences splits a paragraph. Citation marks after the final dot stay with the
// sentence they end.
func sentences(s string) []string {
	var out []string
	start := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		if !strings.ContainsRune(".!?。！？", r) {
			continue
		}
		end := closing(s, i)
		if r < 0x80 && !endsSentence(s, start, i-1, end) {
			continue
		}
		if text := strings.TrimSpace(s[start:end]); text != "" {
			out = append(out, text)
		}
		start, i = end, end
	}
	if text := strings.TrimSpace(s[start:]); text != "" {
		out = append(out, text)
	}
	return out
}

// closing skips quotes, brackets and citation marks after the end of a sentence.
func closing(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if strings.ContainsRune("\"'”’»)*_`.!?", r) {
			i += size
			continue
		}
		at := i
		for at < len(s) && s[at] == ' ' {
			at++
		}
		if n := citationLen(s[at:]); n > 0 {
			i = at + n
			continue
		}
		break
	}
	return i
}

// endsSentence judges the dot at position dot.
func endsSentence(s string, start, dot, end int) bool {
	if end < len(s) && s[end] != ' ' && s[end] != '\n' {
		return false
	}
	if s[dot] == '.' {
		word := s[start:dot]
		if at := strings.LastIndexAny(word, " (["); at >= 0 {
			word = word[at+1:]
		}
		if abbreviations[strings.ToLower(word)] || len(word) == 1 && word[0] >= 'A' && word[0] <= 'Z' {
			return false
		}
	}
	next := firstRune(strings.TrimLeft(s[end:], " \n\"'“‘«(*_`["))
	return next == utf8.RuneError || !unicode.IsLower(next)
}
