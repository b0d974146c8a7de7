package delegate

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"legwork/pkg/llm"
)

// files turns an answer into the content of every target. What cannot be used is a finding of class format
// import or meddling, or the model's own ending (cut_off, empty, looped), never a failure of the test.
func (c *call) files(ctx context.Context, ans *llm.Answer) (map[string]string, finding) {
	if ans.Outcome != llm.Answered {
		return nil, finding{class: string(ans.Outcome), why: "the answer is not whole (" + string(ans.Outcome) + ")" + ifAny(": ", ans.Note)}
	}
	files, why := c.pick(ans.Text)
	if why != "" {
		return nil, finding{class: classFormat, why: why}
	}
	unchanged := true
	for i, rel := range c.res.Targets {
		l := c.langs[i]
		text := strings.TrimLeft(strings.ReplaceAll(strings.TrimPrefix(files[rel], "\ufeff"), "\r\n", "\n"), "\n")
		if own := c.ownTests(i); len(own) > 0 {
			put := c.putTests(i, text)
			if put != text && len(c.theirTests(i, text, own)) > 0 {
				c.noteOnce("the tests in " + rel + " are those it had; what the model made of them is left out")
			}
			text = put
		} else {
			var n int
			if text, n = stripTests(l, text, c.stays(i)); n > 0 {
				c.notes.add("stripped", fmt.Sprintf("%d test functions nobody asked for from %s", n, rel))
			}
		}
		text = strings.TrimRight(text, "\n") + "\n"
		if why := wrong(l, text, c.prompt); why != "" {
			return nil, finding{class: classFormat, why: why}
		}
		if why := c.meddles(i, text); why != "" {
			return nil, finding{class: classMeddle, why: why}
		}
		if why := c.touchesTests(i, text); why != "" {
			return nil, finding{class: classMeddle, why: why}
		}
		if why := c.otherExamples(i, text); why != "" {
			return nil, finding{class: classScope, why: why}
		}
		files[rel] = text
		unchanged = unchanged && c.before[i].Exists && normal(l, c.original(i)) == normal(l, text)
	}
	if unchanged {
		return nil, finding{class: classFormat, why: "the file came back as it was; change it so that it does what the task says"}
	}
	for i := range c.res.Targets {
		if why := c.leavesOut(i, files); why != "" {
			return nil, finding{class: classFormat, why: why}
		}
	}
	dropped, why := c.imports(ctx, files)
	if why != "" {
		return nil, finding{class: classImport, why: why}
	}
	for _, what := range dropped {
		c.notes.add("mended", what)
	}
	return files, finding{}
}

func ifAny(lead, s string) string {
	if s == "" {
		return ""
	}
	return lead + s
}

// block is one fenced part of an answer.
type block struct {
	tag, info string // first word of the info string, and all of it
	before    string // the last line of text above
	text      string
	closed    bool
}

// fence matches the line that opens or closes a block: at most three blanks, at least three marks.
func fence(line string) (mark byte, n int, info string, ok bool) {
	t := strings.TrimLeft(line, " ")
	if len(line)-len(t) > 3 || t == "" || t[0] != '`' && t[0] != '~' {
		return 0, 0, "", false
	}
	for n < len(t) && t[n] == t[0] {
		n++
	}
	info = strings.TrimSpace(t[n:])
	if n < 3 || t[0] == '`' && strings.Contains(info, "`") {
		return 0, 0, "", false
	}
	return t[0], n, info, true
}

// blocks cuts an answer at its fences. A shorter fence, one of the other mark, and a fence with a language
// inside a block belong to the block; each of the last kind wants a bare one to close it.
func blocks(text string) []block {
	var out []block
	var cur *block
	var body []string
	var mark byte
	size, depth, above := 0, 0, ""
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		m, n, info, ok := fence(line)
		switch {
		case cur == nil && ok:
			mark, size, depth, body = m, n, 0, nil
			tag, _, _ := strings.Cut(info, " ")
			cur = &block{tag: tag, info: info, before: above}
		case cur == nil:
			if strings.TrimSpace(line) != "" {
				above = strings.TrimSpace(line)
			}
		case ok && m == mark && n >= size && info == "" && depth == 0:
			cur.text, cur.closed = strings.Join(body, "\n"), true
			out = append(out, *cur)
			cur, above = nil, ""
		default:
			if ok && m == mark && n >= size {
				if info != "" {
					depth++
				} else {
					depth--
				}
			}
			body = append(body, line)
		}
	}
	if cur != nil {
		cur.text = strings.Join(body, "\n")
		out = append(out, *cur)
	}
	return out
}

// pick finds each target's content in an answer; why says what is wrong with the form.
func (c *call) pick(text string) (files map[string]string, why string) {
	if edits, ok := searchBlocks(text); ok {
		return c.applyBlocks(edits)
	}
	list := blocks(text)
	if len(c.res.Targets) == 1 {
		one, why := c.pickOne(text, list)
		return map[string]string{c.res.Targets[0]: one}, why
	}
	return c.pickSeveral(list)
}

// dropPathComment removes a first line that only names the file.
func dropPathComment(l language, text, rel string) string {
	line, rest, _ := strings.Cut(text, "\n")
	bare := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), l.line))
	if l.line != "" && (bare == rel || bare == path.Base(rel)) {
		return rest
	}
	return text
}

// pickOne finds the one file of an answer by rule; several that fit are no choice of ours.
func (c *call) pickOne(text string, list []block) (file, why string) {
	l := c.langs[0]
	const again = "send exactly one block with the whole file, and nothing else"
	if len(list) == 0 {
		if !looksLikeCode(l, text) {
			return "", "there is no code block; " + again
		}
		return text, ""
	}
	var fit []block
	for _, b := range list {
		other, known := tagged(b.tag)
		switch {
		case b.tag == "diff" || b.tag == "patch" || strings.HasPrefix(b.text, "--- ") && strings.Contains(b.text, "\n+++ "):
			return "", "it is a diff; " + again
		case strings.TrimSpace(b.text) == "":
		case known && other.family() != l.family() && (l.name != "text" || len(list) > 1) && !sameText(other, l):
			// A shell line that shows how to run it, or the wrong language.
		default:
			fit = append(fit, b)
		}
	}
	if len(fit) == 0 {
		return "", fmt.Sprintf("there is no %s block; %s", l.name, again)
	}
	if whole := c.wholes(0, fit); len(fit) > 1 && len(whole) > 0 {
		return dropPathComment(l, c.wholest(whole).text, c.res.Targets[0]), ""
	}
	best := fit[0]
	for _, b := range fit[1:] {
		if len(b.text) > len(best.text) {
			best = b
		}
	}
	for _, b := range fit {
		named := strings.Contains(b.info+" "+b.before, path.Base(c.res.Targets[0]))
		only := strings.Count(joined(fit), path.Base(c.res.Targets[0])) == 1
		if named && only {
			best = b
			return dropPathComment(l, best.text, c.res.Targets[0]), ""
		}
	}
	for _, b := range fit {
		// A snippet repeated from the file, an example of use and tests are much shorter; two files are not.
		if b.text != best.text && 3*len(b.text) > len(best.text) && !c.onlyTests(l, b.text) {
			return "", fmt.Sprintf("there are %d code blocks; %s", len(fit), again)
		}
	}
	return dropPathComment(l, best.text, c.res.Targets[0]), ""
}

// wholes are the blocks that declare all that the tests take from the i-th target.
func (c *call) wholes(i int, list []block) []block {
	if i >= len(c.surfaces) || len(c.surfaces[i].names) == 0 {
		return nil
	}
	var out []block
	for _, b := range list {
		code := stripComments(c.langs[i], b.text)
		all := !slices.ContainsFunc(c.surfaces[i].names, func(name string) bool {
			return !regexp.MustCompile(`\b(?:def|class|func|function\*?|const|let|var|fn|struct|enum|type|module)\s+(?:\([^)]*\)\s*)?` + regexp.QuoteMeta(name) + `\b`).MatchString(code)
		})
		if all && !c.onlyTests(c.langs[i], b.text) {
			out = append(out, b)
		}
	}
	return out
}

// wholest picks one of several blocks that have all that the tests take: of a file shown as it was and as it
// shall be the later word counts, but a part of it shown once more is not the file.
func (c *call) wholest(list []block) block {
	for _, b := range slices.Backward(list) {
		if len(c.lost(0, map[string]string{c.res.Targets[0]: b.text})) == 0 {
			return b
		}
	}
	return slices.MaxFunc(list, func(a, b block) int { return len(a.text) - len(b.text) })
}

func joined(list []block) string {
	var b strings.Builder
	for _, x := range list {
		b.WriteString(x.info + " " + x.before + "\n")
	}
	return b.String()
}

func sameText(a, b language) bool { return b.name == "text" || a.name == "text" }

func (c *call) onlyTests(l language, text string) bool {
	rest, n := stripTests(l, text, nil)
	return n > 0 && len(rest)*3 < len(text)
}

// looksLikeCode judges an answer without a fence.
func looksLikeCode(l language, text string) bool {
	if l.mark == "" {
		return false
	}
	mark := regexp.MustCompile(l.mark)
	lines, hits := 0, 0
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		lines++
		if mark.MatchString(line) {
			hits++
		}
	}
	prose := regexp.MustCompile(`(?m)^(?:Sure|Here|Certainly|The |This |I |To |You |Below|Okay|Of course)[^;{}()=]*[.:!]?$`)
	return hits > 0 && lines > 1 && !prose.MatchString(text)
}

// wrong says why a file's content cannot be what was asked for: another language, or the question back.
func wrong(l language, text, prompt string) string {
	if strings.TrimSpace(text) == "" {
		return "the block is empty; send the whole file"
	}
	if l.mark != "" {
		own := matches(l.mark, text)
		for _, o := range languages() {
			if o.mark != "" && o.family() != l.family() && own == 0 && matches(o.mark, text) > 2 {
				return fmt.Sprintf("it is %s; the file is %s", o.name, l.name)
			}
		}
	}
	var long, echoed int
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); len(line) > 40 {
			long++
			if strings.Contains(prompt, line) {
				echoed++
			}
		}
	}
	if long >= 3 && echoed*5 >= long*4 && l.mark != "" && matches(l.mark, text) == 0 {
		return "it repeats the task; send the file"
	}
	if strings.Contains(text, "<<<<<<< SEARCH") || strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n+++ ") {
		return "it is a patch; send the whole file"
	}
	return ""
}

func matches(pattern, text string) int {
	return len(regexp.MustCompile(`(?m)`+pattern).FindAllStringIndex(text, -1))
}

// edit is one search and replace block.
type edit struct{ search, replace string }

// searchBlocks reads an answer made of search and replace blocks.
func searchBlocks(text string) ([]edit, bool) {
	re := regexp.MustCompile(`(?ms)^<{5,9} ?SEARCH[^\n]*\n(.*?)^={5,9}[^\n]*\n(.*?)^>{5,9} ?REPLACE`)
	var out []edit
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		out = append(out, edit{m[1], m[2]})
	}
	return out, len(out) > 0
}

// applyBlocks changes the best candidate, or the user's file: each search text must stand there exactly once.
func (c *call) applyBlocks(edits []edit) (map[string]string, string) {
	if len(c.res.Targets) != 1 {
		return nil, "search and replace blocks are for one file only; send every file whole"
	}
	text := string(c.before[0].Data)
	if c.best != nil {
		text = c.best.files[c.res.Targets[0]]
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for i, e := range edits {
		if n := strings.Count(text, e.search); e.search == "" || n != 1 {
			return nil, fmt.Sprintf("the text of search block %d stands %d times in the file, it must be once; send the whole file instead", i+1, n)
		}
		text = strings.Replace(text, e.search, e.replace, 1)
	}
	return map[string]string{c.res.Targets[0]: text}, ""
}
