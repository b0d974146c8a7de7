package repo

import (
	"bytes"
	"strings"
)

const bom = "\xef\xbb\xbf"

// Shape gives new content the outer form of the file it replaces: byte order mark, line endings (the usual
// one for new lines, the own one for lines that stay) and whether the last line ends. A new file keeps what
// it has, with LF and a final newline.
func Shape(o Original, data []byte) []byte {
	text := strings.TrimPrefix(string(data), bom)
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !o.Exists || len(o.Data) == 0 {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return []byte(text)
	}
	old := o.Data
	mark := ""
	if bytes.HasPrefix(old, []byte(bom)) {
		mark, old = bom, old[len(bom):]
	}
	text = strings.TrimRight(text, "\n")
	if bytes.HasSuffix(old, []byte("\n")) {
		text += "\n"
	}
	crlf := bytes.Count(old, []byte("\r\n"))
	all := bytes.Count(old, []byte("\n"))
	switch crlf {
	case 0:
	case all:
		text = strings.ReplaceAll(text, "\n", "\r\n")
	default:
		text = mixed(string(old), text, crlf*2 > all)
	}
	return []byte(mark + text)
}

// mixed keeps the ending of every line that stays and gives the usual one to the others.
func mixed(old, text string, usualCRLF bool) string {
	was, now := strings.SplitAfter(old, "\n"), strings.SplitAfter(text, "\n")
	bare := func(l string) string { return strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r") }
	front := 0
	for front < len(was) && front < len(now) && bare(was[front]) == bare(now[front]) {
		front++
	}
	back := 0
	for back < len(was)-front && back < len(now)-front && bare(was[len(was)-1-back]) == bare(now[len(now)-1-back]) {
		back++
	}
	ending := map[string]string{}
	for _, l := range was[front : len(was)-back] {
		ending[bare(l)] = l[len(bare(l)):]
	}
	usual := "\n"
	if usualCRLF {
		usual = "\r\n"
	}
	var b strings.Builder
	for i, l := range now {
		b.WriteString(bare(l))
		if !strings.HasSuffix(l, "\n") {
			continue
		}
		end := usual
		switch {
		case i < front:
			end = was[i][len(bare(was[i])):]
		case i >= len(now)-back:
			j := len(was) - (len(now) - i)
			end = was[j][len(bare(was[j])):]
		default:
			if e, ok := ending[bare(l)]; ok && e != "" {
				end = e
			}
		}
		if end == "" {
			end = usual
		}
		b.WriteString(end)
	}
	return b.String()
}
