package ledger

import (
	"fmt"
	"html"
	"strings"
)

// markup writes HTML. A template engine would look methods up by name, and the linker then keeps every method of the
// whole program: 2.4 MB in each binary.
type markup struct{ strings.Builder }

// put writes a line of HTML: format as it is, with every argument as text, in an element or a quoted attribute.
func (m *markup) put(format string, args ...any) {
	for i, a := range args {
		args[i] = html.EscapeString(fmt.Sprint(a))
	}
	fmt.Fprintf(m, format+"\n", args...)
}

// num is a count as pages show it.
func num[N int | int64](n N) string { return Grouped(float64(n)) }

const pageHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>legwork: what was run and what it saved</title>
<link rel="icon" href="data:,">
<style>` + "%s" + `</style>
</head>
<body>
<main>
`

func (m *markup) header(rep *Report) {
	net, dates := "saving", ""
	if rep.Total.Net < 0 {
		net = "cost"
	}
	if s := span(rep); s != "" {
		dates = " " + s + "."
	}
	m.put("<header>")
	m.put("<h1>legwork · net %s (an estimate)</h1>", net)
	m.put(`<p class="net %s">%s <span class="note">tokens of Claude's</span></p>`, sign(rep.Total.Net), Signed(rep.Total.Net))
	m.put(`<p class="note">Weighed as uncached input tokens.%s %s from calls, %s from output that was folded by itself.</p>`,
		dates, Signed(rep.Calls), Signed(rep.Shrunk))
	m.put("</header>")
}

func (m *markup) cards(cards []card) {
	m.put(`<dl class="cards">`)
	for _, c := range cards {
		m.put("<div><dt>%s</dt><dd>%s</dd></div>", c.Name, c.Value)
	}
	m.put("</dl>")
}

// chart opens the picture called id, which says desc to who cannot see it.
func (m *markup) chart(id, title, desc string, height int) {
	m.put(`<svg id="chart-%s" role="img" aria-labelledby="%s-t %s-d" height="%s">`, id, chartNames[id], chartNames[id], height)
	m.put(`<title id="%s-t">%s</title>`, chartNames[id], title)
	m.put(`<desc id="%s-d">%s</desc>`, chartNames[id], desc)
}

// chartNames are what the parts of a chart are called after.
var chartNames = map[string]string{"days": "days", "tools": "tools", "outcomes": "ends"}

func (m *markup) days(c *columns) {
	m.put("<section>\n<h2>Net saving by %s</h2>", c.Unit)
	m.put(`<p class="note">Above the line was saved, below it was lost. An estimate.</p>`)
	m.chart("days", "Net saving by "+c.Unit, c.Desc, c.Height)
	for _, g := range c.Grid {
		m.put(`<line class="grid" x1="0" x2="100%%" y1="%s" y2="%s"/><text class="m" x="0" y="%s">%s</text>`, g.Y, g.Y, g.TextY, g.Text)
	}
	m.put(`<line class="axis" x1="0" x2="100%%" y1="%s" y2="%s"/>`, c.Zero, c.Zero)
	for _, b := range c.Bars {
		m.put(`<rect class="%s" x="%s%%" width="%s%%" y="%s" height="%s" rx="2"><title>%s</title></rect>`, b.Class, b.X, b.W, b.Y, b.H, b.Title)
	}
	for _, l := range c.Labels {
		m.put(`<text class="m" x="%s%%" y="%s" text-anchor="%s">%s</text>`, l.X, c.LabelY, l.Anchor, l.Text)
	}
	m.put("</svg>\n</section>")
}

// named writes the name and the figure above a bar.
func (m *markup) named(r *barRow) {
	m.put(`<text x="0" y="%s">%s</text><text x="100%%" y="%s" text-anchor="end">%s</text>`, r.TextY, r.Name, r.TextY, r.Value)
}

func (m *markup) tools(c *bars) {
	m.put("<section>\n<h2>Net saving by tool</h2>")
	m.chart("tools", "Net saving by tool", c.Desc, c.Height)
	m.put(`<line class="grid" x1="%s%%" x2="%s%%" y1="0" y2="%s"/>`, c.Zero, c.Zero, c.Height)
	for _, r := range c.Rows {
		m.named(&r)
		m.put(`<rect class="%s" x="%s%%" width="%s%%" y="%s" height="14" rx="2"/>`, r.Class, r.X, r.W, r.Y)
	}
	m.put("</svg>\n</section>")
}

func (m *markup) ends(c *ends) {
	m.put("<section>\n<h2>How runs ended</h2>")
	m.chart("outcomes", "How runs ended, by tool", c.Desc, c.Height)
	for _, r := range c.Rows {
		m.named(&r)
		for _, p := range r.Parts {
			m.put(`<rect class="%s" x="%s%%" width="%s%%" y="%s" height="14"><title>%s</title></rect>`, p.Class, p.X, p.W, r.Y, p.Title)
		}
	}
	m.put("</svg>")
	m.put(`<ul class="legend">`)
	for _, l := range c.Legend {
		m.put(`<li><i class="%s"></i>%s</li>`, l.Class, l.Title)
	}
	m.put("</ul>\n</section>")
}

// table opens a table that scrolls by itself where it is too wide; a column called "<w" may wrap.
func (m *markup) table(caption string, columns ...string) {
	m.put(`<section>`+"\n"+`<div class="scroll" role="region" aria-label="%s" tabindex="0">`, caption)
	m.put("<table>\n<caption>%s</caption>", caption)
	m.WriteString("<thead><tr>")
	for _, c := range columns {
		class := ""
		if name, wraps := strings.CutPrefix(c, "<w"); wraps {
			c, class = name, ` class="w"`
		}
		m.WriteString(`<th scope="col"` + class + ">" + html.EscapeString(c) + "</th>")
	}
	m.put("</tr></thead>\n<tbody>")
}

func (m *markup) endTable() { m.put("</table>\n</div>\n</section>") }

func (m *markup) parts(rep *Report) {
	m.table("How the estimate adds up", "part", "tokens")
	for _, p := range rep.Parts.Named() {
		m.put(`<tr><th scope="row">%s</th><td class="%s">%s</td></tr>`, p.Name, sign(p.V), Signed(p.V))
	}
	m.put("</tbody>")
	m.put(`<tfoot><tr><th scope="row">net</th><td class="%s">%s</td></tr></tfoot>`, sign(rep.Total.Net), Signed(rep.Total.Net))
	m.endTable()
}

func (m *markup) rows(caption, what string, rows []Row, total Row) {
	m.table(caption, what, "runs", "done", "time", "tokens read locally", "written locally", "received by Claude", "net (estimate)", "<wended otherwise")
	for i := range rows {
		m.row(plain(rows[i].Key), &rows[i])
	}
	m.put("</tbody>\n<tfoot>")
	m.row("all", &total)
	m.put("</tfoot>")
	m.endTable()
}

func (m *markup) row(name string, r *Row) {
	m.put(`<tr><th scope="row">%s</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td class="%s">%s</td><td class="w">%s</td></tr>`,
		name, num(r.Runs), num(r.OK), Took(r.MS), num(r.LocalTok), num(r.OutTok), num(r.ClaudeTok), sign(r.Net), Signed(r.Net), Ended(r.Outcomes, false))
}

func (m *markup) recalls(recalls []Recall) {
	if len(recalls) == 0 {
		return
	}
	m.table("How often the whole text was fetched after all", "what made it shorter", "texts", "fetched", "rate")
	for _, r := range recalls {
		rate := "–"
		if r.Shrunk > 0 {
			rate = fmt.Sprintf("%.0f %%", 100*r.Rate)
		}
		m.put(`<tr><th scope="row">%s</th><td>%s</td><td>%s</td><td>%s</td></tr>`, plain(r.Rule), num(r.Shrunk), num(r.Fetched), rate)
	}
	m.put("</tbody>")
	m.endTable()
}

func (m *markup) foot(rep *Report, opt *PageOptions) {
	m.put("<section>\n<h2>What the estimate assumes</h2>\n" + `<ul class="plain">`)
	for _, a := range opt.Assumptions {
		m.put("<li>%s</li>", a)
	}
	m.put("</ul>")
	damaged := ""
	if n := rep.Counts.Damaged; n > 0 {
		damaged = num(n) + " damaged lines of the run log were skipped. "
	}
	m.put(`<p class="note">%sMade %s by legwork %s. Prices and habits differ: <code>legwork stats --weight KEY=N</code> or <code>stats.*</code> in the settings change the assumptions.</p>`,
		damaged, opt.Made.Format("2006-01-02 15:04"), opt.Version)
	m.put("</section>\n</main>\n</body>\n</html>")
}
