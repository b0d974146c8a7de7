package web

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// filler is enough prose for an element to be taken for the text of a page.
var filler = strings.Repeat(prose, 3)

func page(head, body string) []byte {
	return []byte("<!DOCTYPE html><html lang=en><head>" + head + "</head><body>" + body + "</body></html>")
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, html, want string }{
		{"heading without its anchor", `<h2>Options<a class="headerlink" href="#options">¶</a></h2>`, "## Options"},
		{"link target dropped", `<p>See <a href="https://example.org/x">the manual</a> first.</p>`, "See the manual first."},
		{"image dropped", `<p>Before <img src="a.png" alt="a chart"> after.</p>`, "Before after."},
		{"language from class", `<pre><code class="language-go">func main() {}</code></pre>`, "```go\nfunc main() {}\n```"},
		{"language from the wrapper", `<div class="highlight-python3 notranslate"><div class="highlight"><pre><span class="k">import</span> os</pre></div></div>`, "```python3\nimport os\n```"},
		{"language of a bare class", `<pre class="programlisting sql">SELECT 1;</pre>`, "```sql\nSELECT 1;\n```"},
		{"blank lines in code stay", "<pre>a\n\n\n\nb</pre>", "```\na\n\n\n\nb\n```"},
		{"brackets are not entities", `<p>Vec&lt;T&gt; and a &amp;&amp; b, &amp;lt; too</p><pre>if a &lt; b {}</pre>`, "Vec<T> and a && b, &lt; too\n\n```\nif a < b {}\n```"},
		{"underscores are not escaped", `<p>max_retries and *args*</p>`, "max_retries and *args*"},
		{"listing with a gutter", `<table class="highlighttable"><tr><td class="linenos"><pre>1` + "\n" + `2</pre></td><td class="code"><pre>one` + "\n" + `two</pre></td></tr></table>`, "```\none\ntwo\n```"},
		{"numbered lines", `<pre><span class="lineno">1</span>one` + "\n" + `<span class="lineno">2</span>two</pre>`, "```\none\ntwo\n```"},
		{"lines as blocks", `<pre><div>one</div><div>two</div></pre>`, "```\none\ntwo\n```"},
		{
			"table", `<table><tr><th>Key</th><th>Default</th></tr><tr><td><code>a|b</code></td><td><p>one</p><p>two</p></td></tr></table>`,
			"| Key | Default |\n|---|---|\n| `a\\|b` | one two |",
		},
		{"table without a head", `<table><tr><td>a</td><td>b</td></tr></table>`, "| | |\n|---|---|\n| a | b |"},
		{"layout table", `<table role="presentation"><tr><td><p>left</p></td><td><p>right</p></td></tr></table>`, "left\n\nright"},
		{"code in a quote", `<blockquote><pre>x = 1</pre></blockquote>`, "```\nx = 1\n```"},
		{"quote", `<blockquote><p>said so</p></blockquote>`, "> said so"},
		{"list", `<ul><li>one</li><li>two<ul><li>three</li></ul></li></ul>`, "- one\n- two\n\n  - three"},
	}
	for _, test := range tests {
		doc := ExtractHTML(page("", "<main>"+filler+test.html+"</main>"), nil)
		got := doc.Markdown[strings.LastIndex(doc.Markdown, "by name.")+len("by name."):]
		if diff := cmp.Diff(test.want, strings.TrimSpace(got)); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
	}
}

func TestHiddenText(t *testing.T) {
	t.Parallel()
	for _, hide := range []string{
		`<p hidden>SECRET orders</p>`, `<p style="display:none">SECRET</p>`, `<p style="color:red;DISPLAY : none">SECRET</p>`, `<p style="visibility:hidden">SECRET</p>`,
		`<p style="font-size:0">SECRET</p>`, `<p style="font-size:0px !important">SECRET</p>`, `<p style="opacity:0">SECRET</p>`, `<p style="position:absolute;left:-9999px">SECRET</p>`,
		`<p style="text-indent:-10000px">SECRET</p>`, `<p style="height:0;overflow:hidden">SECRET</p>`, `<p style="clip: rect(0 0 0 0)">SECRET</p>`, `<p style="color:transparent">SECRET</p>`,
		`<p aria-hidden="true">SECRET</p>`, `<p class="sr-only">SECRET</p>`, `<!-- SECRET -->`, `<script>"SECRET"</script>`, `<template>SECRET</template>`, `<img alt="SECRET">`,
		`<p>` + strings.Map(func(r rune) rune { return r - 'A' + 0xE0041 }, "SECRET") + `</p>`, `<dialog>SECRET</dialog>`, `<textarea>SECRET</textarea>`,
	} {
		doc := ExtractHTML(page("", "<main>"+filler+hide+"</main>"), nil)
		if strings.Contains(doc.Markdown, "SECRET") || strings.ContainsRune(doc.Markdown, 0xE0053) {
			t.Errorf("shown: %s", hide)
		}
		if !strings.Contains(doc.Markdown, "harbour bell") {
			t.Errorf("the text went with it: %s", hide)
		}
	}
	for _, show := range []string{
		`<p style="font-size:0.9em">VISIBLE</p>`, `<p style="opacity:0.5">VISIBLE</p>`, `<p style="left:-5px">VISIBLE</p>`, `<p aria-hidden="false">VISIBLE</p>`, `<p>VISI` + "\u200b" + `BLE</p>`,
		`<details><summary>more</summary><p>VISIBLE</p></details>`, `<p hidden="until-found">VISIBLE</p>`, `<p style="background:none;display:block">VISIBLE</p>`,
	} {
		if doc := ExtractHTML(page("", "<main>"+filler+show+"</main>"), nil); !strings.Contains(doc.Markdown, "VISIBLE") {
			t.Errorf("dropped: %s", show)
		}
	}
	// A page that its script unveils is not hidden text.
	if doc := ExtractHTML(page("", `<div style="opacity:0"><main>`+filler+`</main></div>`), nil); !strings.Contains(doc.Markdown, "harbour bell") {
		t.Errorf("a veiled page was lost: %q", doc.Markdown)
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	manual := `<nav><a href=a>Home</a><a href=b>Index</a></nav><div id="content"><h1>Keys</h1><p>Short.</p>
		<table><tr><th>Key</th><th>Meaning</th></tr>` + strings.Repeat(`<tr><td>port</td><td>where it listens</td></tr>`, 20) + `</table><pre>x = 1</pre><p>Also short.</p><pre>y = 2</pre></div><footer>licence</footer>`
	doc := ExtractHTML(page("<title>Keys</title>", manual), nil)
	if doc.Method != MethodContainer || strings.Count(doc.Markdown, "| port |") != 20 || !strings.Contains(doc.Markdown, "y = 2") || strings.Contains(doc.Markdown, "licence") {
		t.Errorf("manual: %s\n%s", doc.Method, doc.Markdown)
	}
	// Ids made from headings are no names of chrome.
	for _, section := range []string{`<section id="cookie-objects">`, `<div class="section" id="related-work">`, `<div id="menu-commands">`} {
		name := strings.NewReplacer("cookie-objects", "Cookie objects", "related-work", "Related work", "menu-commands", "Menu commands").Replace(section[strings.LastIndex(section[:len(section)-2], `"`)+1 : len(section)-2])
		doc := ExtractHTML(page("", "<main>"+filler+section+"<h2>"+name+"</h2><p>What stands here must stay.</p></section></main>"), nil)
		if !strings.Contains(doc.Markdown, "must stay") {
			t.Errorf("%s was taken for chrome", section)
		}
	}
	article := `<header><a href=/>Paper</a><ul><li><a href=1>Politics</a><li><a href=2>Sport</a></ul></header><div class="story">` + filler +
		`<figure><img src=x><figcaption>A caption of a photo</figcaption></figure><p><a href=z>READ MORE: another story about ferries</a></p>` + filler +
		`<div class="related-stories"><h3>Related</h3><ul><li><a href=1>One story</a><li><a href=2>Two stories</a></ul></div></div><div class="comments"><p>First!</p></div>`
	doc = ExtractHTML(page(`<meta property="og:type" content="article"><title>Ferries - Paper</title>`, article), nil)
	for _, junk := range []string{"Politics", "caption", "READ MORE", "Related", "First!"} {
		if strings.Contains(doc.Markdown, junk) {
			t.Errorf("article keeps %q:\n%s", junk, doc.Markdown)
		}
	}
	if !strings.Contains(doc.Markdown, "harbour bell") {
		t.Errorf("article: %s", doc.Markdown)
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	doc := ExtractHTML(page(`<title>Ferries are late | The Quay</title><meta property="og:site_name" content="The Quay">
		<script type="application/ld+json">{"@graph":[{"@type":"WebSite","name":"x"},{"@type":["NewsArticle"],"headline":"Ferries are late","author":[{"name":"A. Pier"},{"name":"B. Rail"}],"datePublished":"2024-03-05T10:00:00+01:00"}]}</script>`,
		"<article><h1>Ferries are late</h1>"+filler+"</article>"), nil)
	if doc.Title != "Ferries are late" || doc.Byline != "A. Pier, B. Rail" || doc.SiteName != "The Quay" || doc.Language != "en" || !doc.Published.Equal(time.Date(2024, 3, 5, 9, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", doc)
	}
	if _, ok := ParseDate("3 hours ago"); ok {
		t.Error("a relative date was taken for a date")
	}
}

func TestWalls(t *testing.T) {
	t.Parallel()
	for _, wall := range []struct{ title, text string }{
		{"Just a moment...", "Checking your browser"},
		{"Attention Required! | Cloudflare", "Please complete the captcha"},
		{"Sign in", "Email Password"},
		{"Members", "Please log in to continue."},
		{"News", "Subscribe to continue reading this story"},
		{"Access Denied", "You don't have permission to access this"},
		{"x", "We value your privacy. We and our partners store information."},
	} {
		if wallReason(wall.title, wall.text, countWords(wall.text)) == "" {
			t.Errorf("not seen: %v", wall)
		}
	}
	for _, fine := range []struct {
		title, text string
		words       int
	}{
		{"How to log in with SSH", "Use a key.", 40},
		{"Login - Django documentation", strings.Repeat("word ", 400), 400},
		{"Captcha", strings.Repeat("word ", 500), 500},
		{"Ferries", "The captain must log in to the port's system before leaving.", 60},
	} {
		if reason := wallReason(fine.title, fine.text, fine.words); reason != "" {
			t.Errorf("%v: %s", fine.title, reason)
		}
	}
}

// Structures whose cost once grew with the square of their size: minutes, then.
func TestHostileStructures(t *testing.T) {
	t.Parallel()
	paragraphs := strings.Repeat("<p>"+strings.Repeat("word and more ", 8)+"</p>", 3000)
	for name, body := range map[string]string{
		"long table":    "<main>" + filler + "<table>" + strings.Repeat("<tr><td>alpha</td><td>beta gamma</td></tr>", 8000) + "</table></main>",
		"nested chrome": strings.Repeat("<div class=nav>", 400) + paragraphs,
		"nested blocks": strings.Repeat("<div>", 450) + paragraphs,
		"nested tables": strings.Repeat("<table><tr><td>", 120) + paragraphs,
		"nested lists":  strings.Repeat("<ul><li>", 200) + paragraphs,
		"nested quotes": strings.Repeat("<blockquote>", 400) + paragraphs + "<pre>x</pre>",
		"misnested":     strings.Repeat("<b><p>word", 5000),
		"line breaks":   "<div>" + strings.Repeat("word<br><br>", 20000),
	} {
		for _, head := range []string{"", `<meta property="og:type" content="article">`} {
			if doc := ExtractHTML(page(head, body), nil); doc.Words < 20 {
				t.Errorf("%s: %d words as %s", name, doc.Words, doc.Method)
			}
		}
	}
}

func FuzzExtractHTML(f *testing.F) {
	f.Add([]byte("<main>" + prose + "<table><tr><td>a<td>b</table><pre>x</pre>"))
	f.Add([]byte("<table><pre><tr></pre><blockquote><table>"))
	f.Add([]byte("<body><form><form><a>¶</a></form>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		doc := ExtractHTML(DecodeText(body, ""), nil)
		if strings.ContainsRune(doc.Markdown, 0) {
			t.Error("NUL in the text")
		}
	})
}

func BenchmarkExtractHTML(b *testing.B) {
	body := page("<title>x</title>", "<main>"+strings.Repeat(filler+"<table><tr><td>a<td>b</table><pre>x = 1</pre>", 20)+"</main>")
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		ExtractHTML(body, nil)
	}
}
