package bench

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// pageTruth is what an expected page holds.
type pageTruth struct {
	text string
	rows [][]string // cells as words joined by a space
	code []string
}

// readTruth reads an expected page without any help of package web: a scorer
// that shares code with what it judges would share its mistakes.
func readTruth(page []byte) pageTruth {
	var t pageTruth
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return t
	}
	var b strings.Builder
	var visit func(*html.Node)
	visit = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			return
		}
		switch n.DataAtom {
		case atom.Script, atom.Style, atom.Head:
			return
		case atom.Pre:
			if code := nodeText(n); strings.TrimSpace(code) != "" {
				t.code = append(t.code, code)
			}
		case atom.Tr:
			if row := rowOf(n); len(row) > 0 {
				t.rows = append(t.rows, row)
			}
		}
		inline := isInline(n)
		if !inline {
			b.WriteByte(' ')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			visit(c)
		}
		if !inline {
			b.WriteByte(' ')
		}
	}
	visit(root)
	t.text = b.String()
	return t
}

func isInline(n *html.Node) bool {
	switch n.DataAtom {
	case atom.A, atom.Abbr, atom.B, atom.Cite, atom.Code, atom.Dfn, atom.Em, atom.I, atom.Kbd, atom.Mark, atom.Q, atom.S,
		atom.Samp, atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Tt, atom.U, atom.Var, atom.Font, atom.Big:
		return true
	}
	return false
}

func nodeText(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	if n.DataAtom == atom.Br {
		return "\n"
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(nodeText(c))
	}
	return b.String()
}

// rowOf reads a row with text; a row that only lays out a block (one cell) is none.
func rowOf(tr *html.Node) []string {
	var cells []string
	for c := tr.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom != atom.Td && c.DataAtom != atom.Th {
			continue
		}
		if text := strings.Join(wordsOf(spacedText(c)), " "); text != "" {
			cells = append(cells, text)
		}
	}
	return cells
}

func spacedText(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(spacedText(c))
	}
	if !isInline(n) {
		return " " + b.String() + " "
	}
	return b.String()
}

// wordsOf splits text into lower-case words; Han, kana and Hangul by character.
func wordsOf(s string) []string {
	var words []string
	start := -1
	flush := func(end int) {
		if start >= 0 {
			words = append(words, strings.ToLower(s[start:end]))
			start = -1
		}
	}
	for i, r := range s {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			flush(i)
			words = append(words, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_':
			if start < 0 {
				start = i
			}
		default:
			flush(i)
		}
	}
	flush(len(s))
	return words
}

func bagOf(s string) map[string]int {
	bag := map[string]int{}
	for _, w := range wordsOf(s) {
		bag[w]++
	}
	return bag
}

// bagF1 compares two bags of words. Two empty bags agree.
func bagF1(got, want map[string]int) (precision, recall, f1 float64) {
	both, gotAll, wantAll := 0, 0, 0
	for w, n := range got {
		gotAll += n
		both += min(n, want[w])
	}
	for _, n := range want {
		wantAll += n
	}
	if gotAll == 0 && wantAll == 0 {
		return 1, 1, 1
	}
	if both == 0 {
		return 0, 0, 0
	}
	precision, recall = float64(both)/float64(gotAll), float64(both)/float64(wantAll)
	return precision, recall, 2 * precision * recall / (precision + recall)
}

func wordLines(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = " " + strings.Join(wordsOf(line), " ") + " "
	}
	return out
}

// hasRow looks for a line that holds all cells of a row, in order.
func hasRow(lines []string, row []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		for _, cell := range row {
			_, rest, found := strings.Cut(line, " "+cell+" ")
			if !found {
				return false
			}
			line = " " + rest
		}
		return true
	})
}

// hasBlock looks for the lines of a code block one after another; white space at
// the ends of lines and a common indent (of a list) do not count.
func hasBlock(lines []string, block string) bool {
	want := trimmedLines(strings.Split(block, "\n"))
	if len(want) == 0 {
		return true
	}
	for i := 0; i+len(want) <= len(lines); i++ {
		if strings.TrimSpace(lines[i]) == strings.TrimSpace(want[0]) && slices.Equal(trimmedLines(lines[i:i+len(want)]), want) {
			return true
		}
	}
	return false
}

// trimmedLines drops empty lines at both ends, trailing space and common indent.
func trimmedLines(lines []string) []string {
	blank := func(s string) bool { return strings.TrimSpace(s) == "" }
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	indent := -1
	for _, line := range lines {
		if !blank(line) {
			n := len(line) - len(strings.TrimLeft(line, " \t"))
			if indent < 0 || n < indent {
				indent = n
			}
		}
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		if !blank(line) {
			out[i] = strings.TrimRight(line[indent:], " \t\r")
		}
	}
	return out
}
