package delegate

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Fact is one red test as it is told: what was called, what came, what was expected.
type Fact struct {
	Test     string `json:"test,omitempty"`
	Call     string `json:"call,omitempty"`
	Got      string `json:"got,omitempty"`
	Expected string `json:"expected,omitempty"`
	// Message is what the runner says when it tells no values: an exception, a compiler's word.
	Message string `json:"message,omitempty"`
	At      string `json:"at,omitempty"`   // file:line in a target
	Also    int    `json:"also,omitempty"` // further tests with the same cause
}

// String is the fact on one line, or a few when the message has them.
func (f Fact) String() string {
	var b strings.Builder
	b.WriteString(f.Test)
	sep := ": "
	if f.Test == "" {
		sep = ""
	}
	if f.Call != "" {
		b.WriteString(sep + f.Call)
		if sep = ": "; f.Message == "" {
			sep = " "
		}
	}
	switch {
	case f.Got != "" || f.Expected != "":
		fmt.Fprintf(&b, "%sgot %s, expected %s", sep, orNothing(f.Got), orNothing(f.Expected))
	case f.Message != "":
		b.WriteString(sep + f.Message)
	case f.Test != "":
		b.WriteString(sep + "fails")
	}
	if f.At != "" {
		b.WriteString(" (at " + f.At + ")")
	}
	if f.Also > 0 {
		fmt.Fprintf(&b, " (and %d more alike)", f.Also)
	}
	return b.String()
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// valueForms are the ways runners say what came and what was expected.
func valueForms() []struct {
	re                  *regexp.Regexp
	call, got, expected int // groups; 0: none
} {
	type form = struct {
		re                  *regexp.Regexp
		call, got, expected int
	}
	return []form{
		{regexp.MustCompile(`(?m)^\s*(?:AssertionError: )?assert (.+) == (.+)$`), 0, 1, 2},
		{regexp.MustCompile(`(?m)^\s*(?:AssertionError: )?assert (.+) is (.+)$`), 0, 1, 2},
		{regexp.MustCompile(`(?ms)left: (.+?)\n\s*right: (.+?)$`), 0, 1, 2},
		{regexp.MustCompile(`(?m)Expected:? +(.+)\n+\s*Received:? +(.+)$`), 0, 2, 1},
		{regexp.MustCompile(`(?m)^\s*(?:AssertionError: )?expected (.+) to (?:be|equal|deeply equal|strictly equal|deep equal) (.+?)(?: //.*)?$`), 0, 1, 2},
		{regexp.MustCompile(`(?m)^\s*expected:? (.+)\n\s*got:? (.+?)(?: \(using .*)?$`), 0, 2, 1},
		{regexp.MustCompile(`(?m)([\w.]+\(.*\)) = (.+?)[,;] (?:want(?:ed)?|expected) (.+)$`), 1, 2, 3},
		{regexp.MustCompile(`(?m)\bgot:? (.+?)[,;]? (?:want(?:ed)?|expected):? (.+)$`), 0, 1, 2},
		{regexp.MustCompile(`(?m)^\s*(?:AssertionError: )?(.+) !==? (.+)$`), 0, 1, 2},
		{regexp.MustCompile(`(?m)Failed asserting that (.+) (?:matches expected|is identical to) (.+)\.$`), 0, 1, 2},
	}
}

// maxFacts bounds how many red tests are told to a model or to the caller.
const maxFacts = 6

// facts tells the red tests of a run, once per cause, without what stands in the test files only.
func (c *call) facts(r gateRun, f finding) []Fact {
	if f.pass {
		return nil
	}
	var out []Fact
	for _, x := range r.result.Failures {
		if p := path.Clean(strings.ReplaceAll(x.ID, c.tree.Dir+"/", "")); slices.Contains(c.test.files, p) && x.Message == "" {
			continue // a file that did not load; its error follows
		}
		out = merge(out, c.fact(x.ID, x.File, x.Line, x.Message))
	}
	for _, x := range r.result.Suites {
		out = merge(out, c.fact("", x.File, x.Line, x.Message))
	}
	for _, x := range r.result.BuildErrors {
		out = merge(out, c.fact("", x.File, x.Line, x.Message))
	}
	out = slices.DeleteFunc(out, func(f Fact) bool { return f.Test == "" && f.Message == "" && f.Got == "" && f.Expected == "" })
	if len(out) == 0 && (f.class == classTests || f.class == classLoad) {
		if text := strings.TrimSpace(c.scrub(lastLines(r.tail, 12))); text != "" {
			out = append(out, Fact{Message: text})
		}
	}
	return out
}

// merge adds a fact unless its cause is told already.
func merge(list []Fact, f Fact) []Fact {
	for i, g := range list {
		same := f.Message != "" && g.Message == f.Message && g.At == f.At && f.Got == "" && g.Got == ""
		if same || g.Test == f.Test && f.Got == g.Got && f.Expected == g.Expected && f.Message == g.Message {
			if g.Test != f.Test {
				list[i].Also++
			}
			return list
		}
	}
	return append(list, f)
}

// fact reads one failure.
func (c *call) fact(id, file string, line int, message string) Fact {
	f := Fact{Test: strings.ReplaceAll(id, c.tree.Dir+"/", "")}
	for _, rel := range c.res.Targets {
		if file != "" && (file == rel || path.Join(c.dir, file) == rel || strings.HasSuffix(file, "/"+rel)) && line > 0 {
			f.At = fmt.Sprintf("%s:%d", rel, line)
		}
	}
	message = strings.ReplaceAll(message, c.tree.Dir+"/", "")
	f.Call = clip(c.callOf(f.Test, file, line), 200)
	if !c.values(&f, message) {
		f.Message = clip(strings.TrimSpace(c.scrub(message)), 500)
	}
	return f
}

// values reads what came and what was expected; false when the message does not tell.
func (c *call) values(f *Fact, message string) bool {
	if m := noThrow().FindStringSubmatch(message); m != nil {
		f.Got, f.Expected = "no exception", strings.TrimSpace("an exception "+m[1]+m[2])
		return true
	}
	if m := truths().FindStringSubmatch(message); m != nil && f.Call != "" {
		// Which one it should be, only the test's own line tells.
		f.Message = "gives the wrong truth value"
		if m[1] != "" {
			f.Message = "gives " + m[1] + ", which is wrong"
		}
		return true
	}
	for _, v := range valueForms() {
		m := v.re.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		f.Got, f.Expected = clip(strings.TrimSpace(m[v.got]), 300), clip(strings.TrimSpace(m[v.expected]), 300)
		if v.call > 0 {
			f.Call = clip(m[v.call], 200)
		}
		if w := regexp.MustCompile(`where (.+) = (\w[\w.]*\(.*\))`).FindStringSubmatch(message); w != nil && f.Call == "" && w[1] == f.Got {
			f.Call = clip(w[2], 200)
		}
		return true
	}
	if got, expected, ok := signed(message); ok {
		f.Got, f.Expected = clip(got, 300), clip(expected, 300)
		return true
	}
	return false
}

// truths matches the words of runners for a value that should have been true, or false; group 1: what came.
func truths() *regexp.Regexp {
	return regexp.MustCompile(`(?m)evaluated to a falsy value|^\s*(?:AssertionError: )?assert (?:not )?(True|False|None|\[\]|\{\}|''|0)$`)
}

// noThrow matches the words of runners for an exception that did not come; a group names its kind.
func noThrow() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*(?:Failed: |AssertionError: )?(?:Missing expected exception(?: \((\w+)\))?[.:]?|DID NOT RAISE (?:any of )?(?:<class '(?:\w+\.)*)?(\w+).*)$`)
}

// signed reads a comparison printed as lines with + (what came) and - (what was expected).
func signed(message string) (got, expected string, ok bool) {
	_, body, found := strings.Cut(message, "+ actual - expected")
	if !found {
		return "", "", false
	}
	var plus, minus []string
	for line := range strings.SplitSeq(body, "\n") {
		switch {
		case strings.HasPrefix(line, "+"):
			plus = append(plus, strings.TrimSpace(line[1:]))
		case strings.HasPrefix(line, "-"):
			minus = append(minus, strings.TrimSpace(line[1:]))
		case strings.TrimSpace(line) == "" || strings.TrimSpace(line) == "^" || strings.TrimSpace(line) == "...":
		default: // lines both have
			plus, minus = append(plus, strings.TrimSpace(line)), append(minus, strings.TrimSpace(line))
		}
	}
	return strings.Join(plus, " "), strings.Join(minus, " "), len(plus)+len(minus) > 0
}

// scrub takes out of a message what only the test files hold: their frames, their lines, their literals.
func (c *call) scrub(message string) string {
	frame := regexp.MustCompile(`^\s*(?:at .*|File "[^"]*", line \d+.*|[\w./\\@-]+:\d+(?::\d+)?:?.*)$`)
	location := regexp.MustCompile(`^\s*[\w./\\@-]+:\d+(?::\d+)?: `)
	var out []string
	for line := range strings.SplitSeq(message, "\n") {
		t := strings.TrimSpace(line)
		bare := strings.TrimSpace(strings.TrimLeft(t, ">|E0123456789 "))
		if c.isTestLine(t) || c.isTestLine(bare) || c.inTestLine(bare) {
			continue
		}
		if c.namesTest(t) && frame.MatchString(t) {
			if rest := location.ReplaceAllString(t, ""); rest != t && rest != "" && !c.isTestLine(rest) {
				out = append(out, rest)
			}
			continue
		}
		out = append(out, line)
	}
	text := strings.Join(out, "\n")
	for rel, test := range c.test.texts {
		for _, lit := range literals(languageOf(rel), test, 6) {
			if strings.Contains(text, lit) && !strings.Contains(c.task(), lit) && !slices.ContainsFunc(c.res.Targets, func(t string) bool { return strings.Contains(t, path.Base(lit)) || strings.Contains(lit, path.Base(t)) }) {
				text = strings.ReplaceAll(text, lit, "…")
			}
		}
	}
	return text
}

// inTestLine says that a statement is part of a line of a test file.
func (c *call) inTestLine(text string) bool {
	if len(text) < 12 || !strings.ContainsAny(text, "(=") {
		return false
	}
	for _, test := range c.test.texts {
		if strings.Contains(test, text) {
			return true
		}
	}
	return false
}

// namesTest says that a line names a test file.
func (c *call) namesTest(line string) bool {
	return slices.ContainsFunc(c.test.files, func(rel string) bool { return strings.Contains(line, path.Base(rel)) })
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// factsText is what a model is told of a candidate's run.
func (c *call) factsText(k *candidate, why string) string {
	var b strings.Builder
	switch {
	case k.class == classLoad:
		b.WriteString("The file does not load:\n")
	case k.class == classTests && k.total > 0:
		fmt.Fprintf(&b, "I ran it: %d of %d checks pass. These do not:\n", k.green, k.total)
	default:
		fmt.Fprintf(&b, "I ran it: %s.\n", why)
	}
	for i, f := range k.facts {
		if i == maxFacts {
			fmt.Fprintf(&b, "- and %d more\n", len(k.facts)-i)
			break
		}
		text := strings.ReplaceAll(f.String(), "\n", "\n  ")
		fmt.Fprintf(&b, "- %s\n", text)
		if line := c.ownLine(k, f.At); line != "" {
			fmt.Fprintf(&b, "  the line: %s\n", line)
		}
	}
	return b.String()
}

// ownLine is the line of the candidate at file:line.
func (c *call) ownLine(k *candidate, at string) string {
	rel, num, ok := strings.Cut(at, ":")
	var n int
	if _, err := fmt.Sscan(num, &n); !ok || err != nil {
		return ""
	}
	lines := strings.Split(k.files[rel], "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[n-1])
}

// rules are the sentences of the task that the best candidate's red tests stand for: those that share most
// words with a test's name and values.
func (c *call) rules() []string {
	if c.best == nil {
		return nil
	}
	var all []string
	for _, p := range c.req.Properties {
		all = append(all, strings.TrimSpace(p))
	}
	for s := range strings.SplitSeq(regexp.MustCompile(`(?:[.;!?]\s+|\n[-*\s]*)`).ReplaceAllString(c.visible(c.req.Spec), "\x00"), "\x00") {
		if s = strings.TrimSpace(s); len(s) > 10 {
			all = append(all, s)
		}
	}
	var out []string
	for _, f := range c.best.facts {
		best, most := "", 1
		for _, s := range all {
			if n := shared(words(f.Test+" "+f.Message), words(s)); n > most {
				best, most = s, n
			}
		}
		if best != "" && !slices.Contains(out, best) && len(out) < 5 {
			out = append(out, best)
		}
	}
	return out
}

// words are the lower-case words of a text, camel case and underscores cut.
func words(s string) map[string]bool {
	s = regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(s, "$1 $2")
	out := map[string]bool{}
	for _, w := range regexp.MustCompile(`[a-zA-Z]{3,}`).FindAllString(s, -1) {
		w = strings.ToLower(w)
		for _, end := range []string{"ing", "es", "ed", "s"} {
			if cut := strings.TrimSuffix(w, end); len(cut) > 3 && cut != w {
				w = cut
				break
			}
		}
		if !slices.Contains([]string{"test", "the", "and", "for", "with", "that", "are", "not", "must", "should"}, w) {
			out[w] = true
		}
	}
	return out
}

func shared(a, b map[string]bool) int {
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return n
}
