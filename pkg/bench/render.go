package bench

import (
	"fmt"
	"html"
	"strings"
)

// Markdown is the page as Markdown.
func (p Page) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", p.r.title)
	for _, line := range p.r.lead {
		fmt.Fprintf(&b, "\n%s\n", line)
	}
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	for _, g := range p.r.grids {
		if len(g.rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", g.title)
		if g.note != "" {
			fmt.Fprintf(&b, "%s\n\n", g.note)
		}
		for i, h := range g.head {
			fmt.Fprintf(&b, "| %s ", cell.Replace(h))
			if i == len(g.head)-1 {
				b.WriteString("|\n")
			}
		}
		for i := range g.head {
			if i < g.words {
				b.WriteString("|---")
			} else {
				b.WriteString("|--:")
			}
		}
		b.WriteString("|\n")
		for _, row := range g.rows {
			for _, c := range row {
				fmt.Fprintf(&b, "| %s ", cell.Replace(c))
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

// style works in light and dark, and on narrow screens.
const style = `:root{color-scheme:light dark;--ink:#1b1f24;--dim:#57606a;--line:#d0d7de;--bg:#fff;--a:#8fb4e3;--b:#1f5fae}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9aa4af;--line:#3a424c;--bg:#0d1117;--a:#2f5f99;--b:#79b0f2}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--bg);margin:2rem auto;max-width:72rem;padding:0 1rem}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}p{color:var(--dim)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .7rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}
.w{text-align:left}th{font-weight:600}svg{max-width:100%;height:auto}svg text{fill:var(--ink);font:13px system-ui,sans-serif}
svg .dim{fill:var(--dim)}.grid{stroke:var(--line)}.one{fill:var(--a)}.fin{fill:var(--b)}.ci{stroke:var(--ink);stroke-width:1.5}.halo{stroke:var(--bg);stroke-width:4.5}figure{margin:1.5rem 0}
`

// HTML is the page as one self-contained file without scripts.
func (p Page) HTML() string {
	var b strings.Builder
	title := html.EscapeString(p.r.title)
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>%s</h1>\n", title, style, title)
	for _, line := range p.r.lead {
		fmt.Fprintf(&b, "<p>%s</p>\n", code(line))
	}
	if len(p.r.chart) > 0 {
		b.WriteString(chartSVG(p.r.chart))
	}
	for _, g := range p.r.grids {
		if len(g.rows) > 0 {
			g.html(&b)
		}
	}
	b.WriteString("</main>\n</body>\n</html>\n")
	return b.String()
}

// code escapes a line and sets what stands between back-ticks as code.
func code(line string) string {
	parts := strings.Split(html.EscapeString(line), "`")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "<code>" + parts[i] + "</code>"
	}
	return strings.Join(parts, "")
}

func (g grid) html(b *strings.Builder) {
	fmt.Fprintf(b, "<section>\n<h2>%s</h2>\n", html.EscapeString(g.title))
	if g.note != "" {
		fmt.Fprintf(b, "<p>%s</p>\n", html.EscapeString(g.note))
	}
	fmt.Fprintf(b, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n<table>\n<thead><tr>", html.EscapeString(g.title))
	class := func(i int) string {
		if i < g.words {
			return ` class="w"`
		}
		return ""
	}
	for i, h := range g.head {
		fmt.Fprintf(b, "<th scope=\"col\"%s>%s</th>", class(i), html.EscapeString(h))
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range g.rows {
		b.WriteString("<tr>")
		for i, c := range row {
			if i == 0 {
				fmt.Fprintf(b, "<th scope=\"row\" class=\"w\">%s</th>", html.EscapeString(c))
				continue
			}
			fmt.Fprintf(b, "<td%s>%s</td>", class(i), html.EscapeString(c))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>\n</div>\n</section>\n")
}

// Sizes of the chart in its own units.
const (
	chartLeft  = 300 // where the bars begin, labels are left of it
	chartWide  = 480 // 100 %
	chartRight = 120 // room for figures
	chartRow   = 54
	chartTop   = 34
	chartBar   = 16
)

// chartSVG draws pass@1 and pass@final of each line with their intervals.
func chartSVG(list []bars) string {
	var b strings.Builder
	height := chartTop + chartRow*len(list) + 28
	width := chartLeft + chartWide + chartRight
	fmt.Fprintf(&b, "<figure>\n<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-labelledby=\"ct cd\">\n<title id=\"ct\">Solved at the first try and in the end</title>\n<desc id=\"cd\">", width, height, width, height)
	for _, l := range list {
		fmt.Fprintf(&b, "%s: pass@1 %s, pass@final %s. ", html.EscapeString(l.label), words(l.first), words(l.final))
	}
	b.WriteString("</desc>\n")
	bottom := chartTop + chartRow*len(list)
	for x := 0; x <= 100; x += 25 {
		at := chartLeft + chartWide*x/100
		fmt.Fprintf(&b, "<line class=\"grid\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/><text class=\"dim\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d %%</text>\n", at, chartTop-6, at, bottom, at, bottom+18, x)
	}
	fmt.Fprintf(&b, "<rect class=\"one\" x=\"%d\" y=\"6\" width=\"12\" height=\"12\"/><text x=\"%d\" y=\"17\">pass@1</text><rect class=\"fin\" x=\"%d\" y=\"6\" width=\"12\" height=\"12\"/><text x=\"%d\" y=\"17\">pass@final</text>\n",
		chartLeft, chartLeft+18, chartLeft+90, chartLeft+108)
	for i, l := range list {
		y := chartTop + chartRow*i + 4
		for n, line := range wrapLabel(l.label, 42) {
			fmt.Fprintf(&b, "<text x=\"0\" y=\"%d\">%s</text>\n", y+13+17*n, html.EscapeString(line))
		}
		bar(&b, "one", y, l.first)
		bar(&b, "fin", y+chartBar+4, l.final)
	}
	b.WriteString("</svg>\n</figure>\n")
	return b.String()
}

func words(i interval) string {
	i = i.scale(100)
	return fmt.Sprintf("%.0f %% (%.0f to %.0f)", i.Mean, i.Low, i.High)
}

// bar is a share with its interval as a whisker.
func bar(b *strings.Builder, class string, y int, i interval) {
	x := func(v float64) float64 { return chartLeft + chartWide*v }
	mid := y + chartBar/2
	fmt.Fprintf(b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", class, chartLeft, y, chartWide*i.Mean, chartBar)
	for _, line := range []string{"halo", "ci"} {
		fmt.Fprintf(b, "<path class=\"%s\" fill=\"none\" d=\"M%.1f %dv8m0 -4H%.1fm0 -4v8\"/>", line, x(i.Low), mid-4, x(i.High))
	}
	fmt.Fprintf(b, "<text class=\"dim\" x=\"%d\" y=\"%d\">%.0f %% (%.0f–%.0f)</text>\n", chartLeft+chartWide+10, y+13, 100*i.Mean, 100*i.Low, 100*i.High)
}

// wrapLabel breaks a label into at most three lines of about max characters.
func wrapLabel(s string, most int) []string {
	lines := []string{""}
	for w := range strings.FieldsSeq(s) {
		last := &lines[len(lines)-1]
		if *last != "" && len(*last)+1+len(w) > most && len(lines) < 3 {
			lines = append(lines, w)
			continue
		}
		*last = strings.TrimSpace(*last + " " + w)
	}
	return lines
}
