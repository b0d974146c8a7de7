package runners

import (
	"regexp"
	"strings"
	"sync"
)

// pytest prints progress, sections under "=== FAILURES ===" with a heading per
// test, one "FAILED id - message" line per failure and totals. Parts of it are
// switched off by -q, --tb and -r, so every part is used for what it holds:
// ids from the summary lines, places and messages from the sections.

// pySummary matches the totals, with or without the rule around them.
var pySummary = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:=+ )?((?:\d+(?:/\d+)? [a-z]+(?: [a-z]+)?(?: \(\d+ [a-z]+\))?,? ?)+|no tests (?:ran|collected)(?: \(\d+ deselected\))?) ?in \d+(?:\.\d+)?s(?: \([\d:]+\))?(?: =+)?$`)
})

// pyProgress matches "..F.   [ 50%]", with or without the file before it.
var pyProgress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\S+\.py )?[.FEsxXRu,]+ +\[ *\d+%\]$`)
})

// pyVerbose matches "id FAILED  [ 50%]" and xdist's "[gw1] [ 50%] FAILED id".
var pyVerbose = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(\S+\.py::.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|SUBFAIL|SUBPASS|RERUN)(?: \(.*\))? *(?:\[ *\d+%\])?|\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|SUBFAIL|SUBPASS|RERUN) (\S+\.py::.*?)) *$`)
})

func sniffPytest(t *Text) match {
	header := t.Find("== test session starts ==", 0)
	sum := pyLastSummary(t)
	start, end := header, t.Len()
	if start < 0 {
		start = pyStart(t)
	}
	if sum >= 0 {
		end = sum + 1
		if start < 0 || start > sum {
			start = sum
		}
	}
	switch {
	case header >= 0 && sum >= 0, sum >= 0 && start < sum:
		return span(scoreCertain, start, end)
	case header >= 0:
		return span(scoreSure, start, end)
	case t.Has("== short test summary info =="), t.FindPrefix("ImportError while loading conftest", 0) >= 0, t.Has("INTERNALERROR> "):
		return t.all(scoreSure)
	case sum >= 0:
		return span(scoreLikely, start, end)
	case pyUsage(t) >= 0:
		return t.all(scoreLikely)
	case start >= 0 && pyProgress().MatchString(t.Line(start)):
		return span(scoreLikely, start, end)
	}
	return match{}
}

// pyLastSummary is the last line of totals.
func pyLastSummary(t *Text) int {
	for i := t.Len() - 1; i >= 0; i-- {
		if l := t.Line(i); strings.Contains(l, "s") && strings.Contains(l, " in ") && pySummary().MatchString(l) && pyWords(l) {
			return i
		}
	}
	return -1
}

// pyWords: at least one count must be pytest's own word.
func pyWords(l string) bool {
	for _, w := range []string{" passed", " failed", " error", " skipped", " deselected", " xfailed", " xpassed", "no tests ", " warning", " collected"} {
		if strings.Contains(" "+l, w) {
			return true
		}
	}
	return false
}

// pyStart is the first line that only pytest prints.
func pyStart(t *Text) int {
	for i := range t.Len() {
		l := t.Line(i)
		if strings.HasSuffix(l, "%]") && pyProgress().MatchString(l) || pyRule(l) == "FAILURES" || pyRule(l) == "ERRORS" || pyRule(l) == "short test summary info" ||
			strings.Contains(l, ".py::") && (strings.HasPrefix(l, "FAILED ") || pyVerbose().MatchString(l)) {
			return i
		}
	}
	return -1
}

// pyUsage finds a command line that pytest refuses.
func pyUsage(t *Text) int {
	for i := range t.Len() {
		l := t.Line(i)
		if strings.HasPrefix(l, "ERROR: file or directory not found: ") || strings.HasPrefix(l, "ERROR: not found: ") || strings.HasPrefix(l, "ERROR: usage: ") ||
			strings.HasPrefix(l, "ERROR: Wrong expression passed") || strings.HasPrefix(l, "pytest: error: ") || strings.HasPrefix(l, "__main__.py: error: ") {
			return i
		}
	}
	return -1
}

// pyRule returns the text of "==== text ====", "" for other lines.
func pyRule(l string) string { return ruleText(l, '=') }

// ruleText returns what stands between runs of c.
func ruleText(l string, c byte) string {
	l = strings.TrimRight(l, " ")
	if len(l) < 5 || l[0] != c || l[len(l)-1] != c {
		return ""
	}
	s := strings.Trim(l, string(c))
	if len(s) < 3 || s[0] != ' ' || s[len(s)-1] != ' ' {
		return ""
	}
	return s[1 : len(s)-1]
}

// pySection is one test's part of FAILURES or ERRORS.
type pySection struct {
	heading string
	prefix  string // "ERROR at setup of", "ERROR collecting" …
	body    []string
	used    bool
}

// pyEntry is one line of the short test summary.
type pyEntry struct {
	word, rest string // rest: id, perhaps " - message"
}

// pyDoc is the output taken apart.
type pyDoc struct {
	sections []pySection
	entries  []pyEntry
	verbose  map[string]string // id → outcome, of -v
	order    []string
	lines    []string // --tb=line
	heads    int      // sections before this part
	sum      int
}

func readPytest(t *Text) pyDoc {
	d := pyDoc{verbose: map[string]string{}, sum: pyLastSummary(t)}
	part := ""
	end := t.Len()
	if d.sum >= 0 {
		end = d.sum
	}
	start := max(t.Find("== test session starts ==", 0), 0)
	// The sections start after the last real rule; text printed by tests with -s
	// cannot come later.
	for i := start; i < end; i++ {
		l := t.Line(i)
		if r := pyRule(l); r != "" {
			switch {
			case r == "FAILURES", r == "ERRORS", r == "short test summary info", r == "PASSES", r == "warnings summary", strings.HasPrefix(r, "rerun test summary"):
				part, d.heads = r, len(d.sections)
			case part == "short test summary info":
				part = ""
			}
			continue
		}
		d.take(part, l)
	}
	return d
}

func (d *pyDoc) take(part, l string) {
	switch part {
	case "":
		if m := pyVerbose().FindStringSubmatch(l); m != nil && strings.Contains(l, ".py::") {
			id, word := m[1], m[2]
			if id == "" {
				word, id = m[3], m[4]
			}
			if d.verbose[id] == "" {
				d.order = append(d.order, id)
			}
			d.verbose[id] = word
		}
	case "FAILURES", "ERRORS":
		if h := ruleText(l, '_'); h != "" && strings.Trim(h, " _") != "" && !strings.HasPrefix(h, "_ ") {
			s := pySection{heading: h}
			for _, p := range []string{"ERROR collecting ", "ERROR at setup of ", "ERROR at teardown of "} {
				if rest, ok := strings.CutPrefix(h, p); ok {
					s.prefix, s.heading = strings.TrimSpace(p), rest
				}
			}
			d.sections = append(d.sections, s)
			return
		}
		if n := len(d.sections); n > d.heads {
			d.sections[n-1].body = append(d.sections[n-1].body, l)
			return
		}
		if p, _, _, ok := splitLead(l); ok && p != "" {
			d.lines = append(d.lines, l)
		}
	case "short test summary info":
		word, rest, ok := strings.Cut(l, " ")
		if !ok {
			return
		}
		if i := strings.IndexByte(word, '['); i > 0 { // pytest 9: SUBFAILED[msg] id
			word = word[:i]
			if _, after, ok := strings.Cut(l, "] "); ok {
				rest = after
			}
		}
		switch word {
		case "FAILED", "ERROR", "SUBFAIL", "SUBFAILED":
			d.entries = append(d.entries, pyEntry{word, rest})
		}
	}
}

// splitLead reads "path:12: text".
func splitLead(l string) (path string, line int, rest string, ok bool) {
	for i := 0; i < len(l); {
		j := strings.IndexByte(l[i:], ':')
		if j < 0 {
			return "", 0, "", false
		}
		j += i
		n, after, found := leadingInt(l[j+1:])
		if found && n > 0 && strings.HasPrefix(after, ":") {
			return l[:j], n, strings.TrimSpace(after[1:]), j > 0
		}
		if found && n > 0 && after == "" {
			return l[:j], n, "", j > 0
		}
		i = j + 1
	}
	return "", 0, "", false
}

func parsePytest(t *Text, f *finding) {
	d := readPytest(t)
	if d.sum >= 0 {
		pyCounts(t.Line(d.sum), f)
	}
	pyFailures(t, &d, f)
	for i := range t.Len() {
		l := t.Line(i)
		if strings.HasPrefix(l, "FAIL Required test coverage") || strings.HasPrefix(l, "ERROR: Coverage failure:") || strings.HasPrefix(l, "Coverage failure:") {
			f.suite(SuiteFailure{Kind: SuiteThreshold, Message: l})
		}
	}
	if t.Has("DocTestFailure") && f.Tests.Passed == nil && d.sum < 0 {
		f.note("no totals")
	}
	pyVerdict(t, d, f)
}

// pyCounts reads "1 failed, 3 passed, 2 warnings in 0.03s".
func pyCounts(l string, f *finding) {
	l = strings.Trim(l, "= ")
	if i := strings.LastIndex(l, " in "); i >= 0 {
		l = l[:i]
	}
	f.Tests = Counts{Passed: new(0), Failed: new(0), Skipped: new(0), Todo: new(0), Errors: new(0)}
	for part := range strings.SplitSeq(l, ", ") {
		n, word, ok := leadingInt(strings.TrimSpace(part))
		if !ok {
			continue
		}
		switch w := strings.TrimSpace(word); w {
		case "passed":
			f.Tests.Passed = new(n)
		case "failed":
			f.Tests.Failed = new(n)
		case "skipped":
			f.Tests.Skipped = new(n)
		case "error", "errors":
			f.Tests.Errors = new(n)
		case "xfailed":
			f.Tests.Todo = new(n)
			f.extra("xfailed", n)
		case "warning", "warnings":
			f.extra("warnings", n)
		default:
			f.extra(strings.TrimSuffix(w, "s"), n)
		}
	}
}

// pyFailures lists what failed: summary lines first, sections without one after.
func pyFailures(t *Text, d *pyDoc, f *finding) {
	for _, e := range d.entries {
		sec := d.sectionOf(e)
		if e.word == "ERROR" && !strings.Contains(e.rest, "::") {
			file, msg, _ := strings.Cut(e.rest, " - ")
			if sec == nil {
				f.build(BuildError{File: file, Message: msg})
				f.suite(SuiteFailure{Kind: SuiteLoad, Name: file, File: file, Message: msg})
			}
			f.worse(StateBuildFailed)
			continue
		}
		x := d.failure(t, e, sec)
		if sec == nil && e.word == "FAILED" {
			d.lineOf(t, &x)
		}
		f.fail(x)
	}
	for i := range d.sections {
		s := &d.sections[i]
		if s.prefix == "ERROR collecting" {
			pyCollect(t, f, s)
		} else if !s.used {
			f.fail(d.sectionOnly(t, s))
		}
	}
	if len(f.Failures) == 0 && len(d.entries) == 0 && (f.Tests.Failed == nil || val(f.Tests.Failed)+val(f.Tests.Errors) > 0) {
		for _, id := range d.order {
			if w := d.verbose[id]; w == "FAILED" || w == "ERROR" {
				f.fail(Failure{ID: id})
			}
		}
	}
}

// lineOf takes the place from the line that --tb=line prints instead of a section.
func (d *pyDoc) lineOf(t *Text, x *Failure) {
	said := strings.TrimSuffix(strings.TrimSuffix(x.Message, "..."), " ")
	for i, l := range d.lines {
		p, n, msg, ok := splitLead(l)
		if ok && (strings.HasPrefix(msg, said) || said == "") {
			x.File, x.Line, x.Message = cleanPath(p, t.Hint.Dir), n, msg
			d.lines = append(d.lines[:i:i], d.lines[i+1:]...)
			return
		}
	}
}

// sectionOf finds the unused section that belongs to a summary line: its heading
// is the id's part after the file, with dots between classes.
func (d *pyDoc) sectionOf(e pyEntry) *pySection {
	_, tail, isTest := strings.Cut(e.rest, "::")
	for i := range d.sections {
		s := &d.sections[i]
		if s.used {
			continue
		}
		if !isTest {
			file, _, _ := strings.Cut(e.rest, " - ")
			if s.prefix == "ERROR collecting" && s.heading == file {
				return s // stays unused: listed as a build error
			}
			continue
		}
		if (e.word == "ERROR") != (s.prefix != "") {
			continue
		}
		h := pyHeadingID(s.heading)
		if e.word == "FAILED" && pyCrashed(s, e.rest) {
			s.used = true
			s.heading, _, _ = strings.Cut(tail, " - ") // xdist names only the file
			return s
		}
		if e.word == "FAILED" || e.word == "ERROR" {
			if tail == h || strings.HasPrefix(tail, h+" - ") {
				s.used = true
				return s
			}
			continue
		}
		name, _, _ := strings.Cut(tail, " - ")
		if strings.HasPrefix(h, name) {
			s.used = true
			return s
		}
	}
	return nil
}

// pyCrashed: the section tells of an xdist worker that died in this test.
func pyCrashed(s *pySection, rest string) bool {
	for _, l := range s.body {
		if _, id, ok := strings.Cut(l, "crashed while running '"); ok {
			return strings.HasPrefix(rest, strings.TrimSuffix(id, "'"))
		}
	}
	return false
}

// pyHeadingID turns "TestA.test_b[1.5]" into "TestA::test_b[1.5]".
func pyHeadingID(h string) string {
	if rest, ok := strings.CutPrefix(h, "[doctest] "); ok {
		return rest
	}
	name, param := h, ""
	if i := strings.IndexAny(h, "[ "); i >= 0 {
		name, param = h[:i], h[i:]
	}
	return strings.ReplaceAll(name, ".", "::") + param
}

// failure builds a Failure from a summary line and its section.
func (d *pyDoc) failure(t *Text, e pyEntry, s *pySection) Failure {
	file, tail, _ := strings.Cut(e.rest, "::")
	if s == nil {
		id, msg := d.splitID(e.rest)
		return Failure{ID: id, File: file, Message: msg}
	}
	h := pyHeadingID(s.heading)
	x := Failure{ID: file + "::" + h}
	if e.word != "FAILED" && e.word != "ERROR" {
		// a subtest: its heading carries the parameters
		name, _, _ := strings.Cut(tail, " - ")
		if rest, ok := strings.CutPrefix(h, name); ok {
			x.ID = file + "::" + name + rest
		}
	}
	x.Message = pyMessage(s.body)
	if x.Message == "" {
		x.Message = strings.TrimPrefix(strings.TrimPrefix(tail, h), " - ")
	}
	if p, n, ok := pyPlace(s.body); ok {
		x.File, x.Line = cleanPath(p, t.Hint.Dir), n
	} else {
		x.File = file
	}
	return x
}

// sectionOnly names a failure that has no summary line (-r N, --no-summary, cut
// text): the file is that of the first frame.
func (d *pyDoc) sectionOnly(t *Text, s *pySection) Failure {
	h := pyHeadingID(s.heading)
	x := Failure{ID: h, Message: pyMessage(s.body)}
	if p, n, ok := pyPlace(s.body); ok {
		x.File, x.Line = cleanPath(p, t.Hint.Dir), n
	}
	for _, id := range d.order {
		if w := d.verbose[id]; (w == "FAILED" || w == "ERROR") && strings.HasSuffix(id, "::"+h) {
			x.ID = id
			return x
		}
	}
	if first := pyFirstFile(s.body); first != "" {
		x.ID = cleanPath(first, t.Hint.Dir) + "::" + h
	}
	return x
}

// splitID separates an id from " - message" where no section helps: names of -v,
// else brackets and the look of the message decide.
func (d *pyDoc) splitID(rest string) (id, msg string) {
	for i := len(rest); i > 0; i = strings.LastIndex(rest[:i], " - ") {
		if w := d.verbose[rest[:i]]; w != "" {
			return rest[:i], strings.TrimPrefix(rest[i:], " - ")
		}
	}
	open := strings.IndexByte(rest, '[')
	first := strings.Index(rest, " - ")
	if first < 0 {
		return rest, ""
	}
	if open < 0 || first < open {
		return rest[:first], rest[first+3:]
	}
	best := -1
	for i := open; ; {
		j := strings.Index(rest[i:], "] - ")
		if j < 0 {
			break
		}
		i += j + 1
		if best < 0 {
			best = i
		}
		if pyMessageStart().MatchString(rest[i+3:]) {
			return rest[:i], rest[i+3:]
		}
	}
	if best < 0 {
		if strings.HasSuffix(rest, "]") {
			return rest, ""
		}
		return rest[:first], rest[first+3:]
	}
	return rest[:best], rest[best+3:]
}

var pyMessageStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:assert |Failed|[\w.]*(?:Error|Exception|Warning|Exit|Interrupt|Timeout|Failure|Failed)\b|[A-Z]\w+(?:\.\w+)*: )`)
})
