package web

import (
	"regexp"
	"strings"
	"sync"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// toMarkdown renders the chosen element. It changes the tree.
func toMarkdown(n *html.Node) string {
	dropDecoration(n)
	limitNesting(n, 0)
	unquoteBlocks(n)
	normaliseCode(n)
	normaliseTables(n)
	conv := converter.NewConverter(
		// Escapes would put backslashes into the identifiers that answers quote.
		converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(
			commonmark.WithListEndComment(false), commonmark.WithBulletListMarker("-"))),
	)
	conv.Register.RendererFor("a", converter.TagTypeInline, renderChildren, converter.PriorityEarly)
	conv.Register.TextTransformer(shieldBrackets, converter.PriorityEarly)
	conv.Register.TextTransformer(restoreBrackets, converter.PriorityLate+1)
	conv.Register.RendererFor("table", converter.TagTypeBlock, renderTable, converter.PriorityEarly)
	out, err := conv.ConvertNode(n)
	if err != nil {
		return tidyLines(visibleText(textOf(n)))
	}
	return tidyMarkdown(visibleText(string(out)))
}

// tidyMarkdown reduces runs of empty lines to one, except inside fenced code.
func tidyMarkdown(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	fence, empty := "", 0
	for line := range strings.SplitSeq(s, "\n") {
		bare := strings.TrimLeft(line, " \t>")
		switch {
		case fence != "":
			if strings.HasPrefix(bare, fence) {
				fence = ""
			}
		case strings.HasPrefix(bare, "```"):
			fence = bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
		case strings.TrimSpace(line) == "":
			empty++
			continue
		default:
			line = strings.TrimRight(line, " \t")
		}
		if empty > 0 {
			b.WriteByte('\n')
			empty = 0
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

// The converter writes < and > as entities, which would stand in quotes of code
// and generics. Two private characters carry them past it.
const lessMark, greaterMark = "\ue0f1", "\ue0f2"

func shieldBrackets(_ converter.Context, s string) string {
	if !strings.ContainsAny(s, "<>") {
		return s
	}
	return strings.NewReplacer("<", lessMark, ">", greaterMark).Replace(s)
}

func restoreBrackets(_ converter.Context, s string) string {
	if !strings.Contains(s, "\ue0f1") && !strings.Contains(s, "\ue0f2") {
		return s
	}
	return strings.NewReplacer(lessMark, "<", greaterMark, ">").Replace(s)
}

// maxNesting is how deep lists and quotes are shown. Each level indents all that
// is below it once more, so without a bound the output grows with the square.
const maxNesting = 12

func limitNesting(n *html.Node, level int) {
	if isElement(n, atom.Ul, atom.Ol, atom.Blockquote, atom.Dl) {
		if level++; level > maxNesting {
			n.Data, n.DataAtom = "div", atom.Div
		}
	}
	if level > maxNesting && isElement(n, atom.Li, atom.Dd, atom.Dt) {
		n.Data, n.DataAtom = "div", atom.Div
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		limitNesting(c, level)
	}
}

// unquoteBlocks unwraps block quotes that hold code or tables: old pages indent
// listings with them, and a quote mark before every line would break the code.
func unquoteBlocks(root *html.Node) {
	var quotes []*html.Node
	walk(root, func(n *html.Node) bool {
		if isElement(n, atom.Blockquote) && n != root &&
			find(n, func(c *html.Node) bool { return isElement(c, atom.Pre, atom.Table) }) != nil {
			quotes = append(quotes, n)
		}
		return true
	})
	for _, n := range quotes {
		n.Data, n.DataAtom = "div", atom.Div
	}
}

func renderChildren(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	ctx.RenderChildNodes(ctx, w, n)
	return converter.RenderSuccess
}

// dropDecoration removes images and the marks that link a heading to itself.
func dropDecoration(root *html.Node) {
	prune(root, func(n *html.Node) bool {
		if isElement(n, atom.Img, atom.Picture, atom.Source, atom.Track) {
			return true
		}
		if !isElement(n, atom.A) || n.FirstChild == nil {
			return false
		}
		switch strings.TrimSpace(textOf(n)) {
		case "¶", "#", "§", "🔗", "[link]", "[edit]", "⚓":
			return true
		}
		return false
	})
}

// normaliseCode gives every pre the one shape `pre > code.language-x > text`,
// whatever highlighter made it.
func normaliseCode(root *html.Node) {
	var blocks []*html.Node
	walk(root, func(n *html.Node) bool {
		if isElement(n, atom.Pre) {
			blocks = append(blocks, n)
			return false
		}
		return true
	})
	for _, pre := range blocks {
		language := codeLanguage(pre)
		text := codeText(pre)
		for c := pre.FirstChild; c != nil; c = pre.FirstChild {
			pre.RemoveChild(c)
		}
		pre.Attr = nil
		if gutter(pre, text) {
			pre.Parent.RemoveChild(pre)
			continue
		}
		code := &html.Node{Type: html.ElementNode, Data: "code", DataAtom: atom.Code}
		if language != "" {
			code.Attr = []html.Attribute{{Key: "class", Val: "language-" + language}}
		}
		code.AppendChild(&html.Node{Type: html.TextNode, Data: text})
		pre.AppendChild(code)
	}
}

// gutter reports whether a pre holds the line numbers beside a listing.
func gutter(pre *html.Node, text string) bool {
	if pre.Parent == nil || enclosing(pre, atom.Td) == nil {
		return false
	}
	return strings.Trim(text, "0123456789 \n\t\r") == "" && strings.Contains(strings.TrimSpace(text), "\n")
}

// codeText is the text of a pre as a browser lays it out.
func codeText(pre *html.Node) string {
	var b strings.Builder
	var visit func(*html.Node)
	visit = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
			return
		case isElement(n, atom.Br):
			b.WriteByte('\n')
			return
		case isElement(n, atom.Span, atom.A, atom.Td) && lineNumber(n):
			return
		}
		// Highlighters that wrap each line in a block element rely on the block.
		block := n != pre && isElement(n, atom.Div, atom.P, atom.Li, atom.Tr)
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			visit(c)
		}
		if block && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
	}
	visit(pre)
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

// lineNumber reports whether n numbers a line of a listing.
func lineNumber(n *html.Node) bool {
	if !hasName(n, "lineno", "linenos", "linenumber", "line-number", "hljs-ln-numbers", "ln", "lnt") {
		return false
	}
	return strings.Trim(textOf(n), "0123456789 ") == ""
}

var languageClass = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|brush:\s*|sourceCode\s+|src-)([A-Za-z0-9_+#.-]+)`)
})

// notLanguages are words that highlighters put where a language would stand.
var notLanguages = map[string]bool{
	"default": true, "none": true, "notranslate": true, "text": true, "plain": true,
	"plaintext": true, "highlight": true, "block": true, "source": true, "code": true, "console": false,
}

// codeLanguage looks for the language of a pre on itself, its code element and
// the wrappers that highlighters put around it.
func codeLanguage(pre *html.Node) string {
	candidates := []*html.Node{pre}
	if code := find(pre, func(n *html.Node) bool { return isElement(n, atom.Code) }); code != nil {
		candidates = append(candidates, code)
	}
	for p, depth := pre.Parent, 0; p != nil && depth < 3 && isElement(p, atom.Div, atom.Figure); p, depth = p.Parent, depth+1 {
		candidates = append(candidates, p)
	}
	for _, n := range candidates {
		for _, key := range []string{"data-lang", "data-language", "lang"} {
			if v := attr(n, key); v != "" && len(v) < 20 && !notLanguages[v] && !strings.ContainsAny(v, " `") && key != "lang" {
				return strings.ToLower(v)
			}
		}
		if m := languageClass().FindStringSubmatch(attr(n, "class")); m != nil {
			name := strings.ToLower(strings.TrimPrefix(m[1], "source-"))
			if !notLanguages[name] && len(name) < 20 {
				return name
			}
		}
	}
	return bareLanguage(candidates)
}

// plainLanguages are names that stand alone in the class of a code block
// (`<pre class="programlisting python">`, `<code class="js">`).
var plainLanguages = map[string]bool{
	"bash": true, "c": true, "console": true, "cpp": true, "cs": true, "csharp": true, "css": true, "diff": true, "go": true,
	"html": true, "ini": true, "java": true, "javascript": true, "js": true, "json": true, "kotlin": true, "lua": true,
	"mjs": true, "cjs": true, "perl": true, "php": true, "powershell": true, "python": true, "r": true, "ruby": true,
	"rust": true, "scala": true, "sh": true, "shell": true, "sql": true, "swift": true, "toml": true, "ts": true,
	"typescript": true, "xml": true, "yaml": true, "zig": true,
}

func bareLanguage(candidates []*html.Node) string {
	for _, n := range candidates {
		for class := range strings.FieldsSeq(attr(n, "class")) {
			if name := strings.ToLower(class); plainLanguages[name] {
				return name
			}
		}
	}
	return ""
}
