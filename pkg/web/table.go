package web

import (
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// layoutTable reports whether a table arranges a page instead of holding data:
// its cells contain what does not fit into one line.
func layoutTable(table *html.Node) bool {
	if table == nil {
		return true
	}
	switch strings.ToLower(attr(table, "role")) {
	case "presentation", "none":
		return true
	}
	nested := false
	cells := 0
	for c := table.FirstChild; c != nil; c = c.NextSibling {
		walk(c, func(n *html.Node) bool {
			switch {
			case isElement(n, atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6):
				nested = true
			case isElement(n, atom.Pre) && strings.Contains(strings.TrimSpace(codeText(n)), "\n"):
				nested = true
			case isElement(n, atom.Td, atom.Th):
				cells++
			}
			return !nested
		})
	}
	return nested || cells < 2
}

// normaliseTables takes layout tables apart, so that their cells are read as
// blocks, and keeps data tables for renderTable.
func normaliseTables(root *html.Node) {
	var tables []*html.Node
	walk(root, func(n *html.Node) bool {
		if isElement(n, atom.Table) {
			tables = append(tables, n)
		}
		return true
	})
	layout := make([]bool, len(tables))
	for i, table := range tables {
		layout[i] = layoutTable(table)
	}
	for i, table := range tables {
		if layout[i] {
			flattenTable(table)
		}
	}
	if isElement(root, atom.Tr, atom.Td, atom.Tbody, atom.Th) {
		root.Data, root.DataAtom = "div", atom.Div
	}
}

// flattenTable turns the structure of one table (not of those inside) into divs.
func flattenTable(table *html.Node) {
	var rename func(*html.Node)
	rename = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if isElement(c, atom.Table) {
				continue
			}
			if isElement(c, atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption) {
				c.Data, c.DataAtom = "div", atom.Div
			}
			rename(c)
		}
	}
	rename(table)
	table.Data, table.DataAtom = "div", atom.Div
}

// renderTable writes a data table with one line for each row. The first row is
// its head when it consists of th cells; otherwise the head is left empty, as
// Markdown wants one. The head is as wide as the widest row, or Markdown would
// drop cells; shorter rows stay short, which Markdown allows: filled up, a table
// of a few kilobytes would become hundreds of megabytes.
func renderTable(_ converter.Context, w converter.Writer, table *html.Node) converter.RenderStatus {
	var rows []*html.Node
	var caption string
	walk(table, func(n *html.Node) bool {
		switch {
		case isElement(n, atom.Caption):
			caption = textOf(n)
			return false
		case isElement(n, atom.Tr):
			rows = append(rows, n)
			return false
		}
		return true
	})
	grid, head := tableGrid(rows)
	if len(grid) == 0 {
		return converter.RenderSuccess
	}
	write := func(s string) { _, _ = w.WriteString(s) } // a buffer
	write("\n\n")
	if caption != "" {
		write(caption + "\n\n")
	}
	width := 0
	for _, row := range grid {
		width = max(width, len(row))
	}
	writeRow := func(row []string, width int) {
		write("|")
		for _, cell := range row {
			write(" " + cell + " |")
		}
		write(strings.Repeat(" |", max(0, width-len(row))) + "\n")
	}
	var first []string
	if head {
		first, grid = grid[0], grid[1:]
	}
	writeRow(first, width)
	write("|" + strings.Repeat("---|", width) + "\n")
	for _, row := range grid {
		writeRow(row, 0)
	}
	write("\n")
	return converter.RenderSuccess
}

// tableGrid reads the cells; head tells that the first row heads the columns.
func tableGrid(rows []*html.Node) (grid [][]string, head bool) {
	for _, tr := range rows {
		var row []string
		heads, filled := 0, 0
		for c := tr.FirstChild; c != nil; c = c.NextSibling {
			if !isElement(c, atom.Td, atom.Th) {
				continue
			}
			if isElement(c, atom.Th) {
				heads++
			}
			text := cellText(c)
			if text != "" {
				filled++
			}
			row = append(row, text)
		}
		if filled == 0 {
			continue
		}
		if len(grid) == 0 {
			head = heads == len(row)
		}
		grid = append(grid, row)
	}
	return grid, head
}

// cellText is the text of a cell on one line. A list or several paragraphs are
// joined by a space; a bar is escaped because it would end the cell.
func cellText(cell *html.Node) string {
	var b strings.Builder
	var visit func(*html.Node)
	visit = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			return
		}
		code := isElement(n, atom.Code) && !inside(n, atom.Code, atom.Pre)
		block := n.Type == html.ElementNode && blockElements[n.DataAtom]
		if block {
			b.WriteByte(' ')
		}
		if code {
			b.WriteByte('`')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			visit(c)
		}
		if code {
			b.WriteByte('`')
		}
		if block {
			b.WriteByte(' ')
		}
	}
	visit(cell)
	text := strings.Join(strings.Fields(b.String()), " ")
	return strings.ReplaceAll(text, "|", `\|`)
}
