package runners

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// cargo test runs one binary after the other; each prints "running N tests" and
// ends with "test result: …". A binary that dies has no result line. Without
// --no-fail-fast the first failing binary hides the later ones.

var cargoResult = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:.*\S)?test result: (ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured; (\d+) filtered out`)
})

var cargoRunning = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^running (\d+) tests?$`)
})

// rustPanic matches both forms of the panic line: since 1.73 the message follows
// in the next lines, before that it stood in quotes.
var rustPanic = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^thread '(.*)'(?: \(\d+\))? panicked at (?:'(.*)', )?(.+?):(\d+):(\d+):?$`)
})

func sniffCargo(t *Text) match {
	first, last, tests := -1, -1, false
	for i := range t.Len() {
		l := t.Line(i)
		switch {
		case strings.HasPrefix(l, "running ") && cargoRunning().MatchString(l), strings.HasPrefix(l, "test result: "):
			tests = true
		case strings.HasPrefix(l, "     Running ") && strings.Contains(l, "target"), strings.HasPrefix(l, "   Doc-tests "), strings.HasPrefix(l, "error: test failed, to rerun"):
			tests = true
		case strings.HasPrefix(l, "   Compiling ") || strings.HasPrefix(l, "    Finished "):
		case strings.HasPrefix(l, "error: could not compile") && (strings.Contains(l, " test)") || strings.Contains(l, "(test ")):
			tests = true
		default:
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	if !tests {
		return match{}
	}
	for i := last; i < t.Len(); i++ { // what cargo says about the end belongs to it
		if strings.HasPrefix(t.Line(i), "  process didn't exit") || strings.HasPrefix(t.Line(i), "error: ") {
			last = i
		}
	}
	if t.Has("could not compile") {
		first = 0
	}
	return span(scoreCertain, first, last+1)
}

// cargoBlock is the run of one test binary.
type cargoBlock struct {
	want   int // "running N tests"
	result []string
	failed []string // names under "failures:"
	out    map[string][]string
	order  []string // names of output sections
	// printed: the result stands in a test's captured output, so the test wrote it.
	printed bool
}

func parseCargo(t *Text, f *finding) {
	rustErrors(t, f)
	blocks := cargoBlocks(t)
	panics := cargoPanics(t)
	c := Counts{Passed: new(0), Failed: new(0), Skipped: new(0), Todo: new(0)}
	open := false
	for _, b := range blocks {
		if b.result == nil {
			open = true
			continue
		}
		bump(&c.Passed, atoi(b.result[2]))
		bump(&c.Failed, atoi(b.result[3]))
		bump(&c.Skipped, atoi(b.result[4]))
		b.failures(t, panics, f)
	}
	f.Tests = c
	if h := cargoHeader(t); h >= 0 && cargoNoBlock(t, h) && len(f.BuildErrors) == 0 && len(blocks) > 0 {
		open = true // the next binary was announced and did not speak
	}
	crash := t.Find("process didn't exit successfully", 0)
	switch {
	case open || crash >= 0 && strings.Contains(t.Line(crash), "signal: "):
		f.worse(StateDidNotFinish)
		f.Tests = Counts{}
		s := SuiteFailure{Kind: SuiteCrash, Message: "a test binary ended without a result"}
		if crash >= 0 {
			s.Message = strings.TrimSpace(t.Line(crash))
		}
		f.suite(s)
	case len(f.BuildErrors) > 0 || t.Has("error: could not compile"):
		f.worse(StateBuildFailed)
		if len(blocks) == 0 {
			f.Tests = Counts{}
		}
	case val(c.Failed) > 0 || t.FindPrefix("error: test failed, to rerun", 0) >= 0 || t.Find(" failed:", 0) >= 0 && t.FindPrefix("error: ", 0) >= 0:
		f.worse(StateFailed)
	case len(blocks) == 0:
		f.worse(StateDidNotFinish)
		f.Tests = Counts{}
		f.note("no test binary reported a result")
	case val(c.Passed) == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
	if t.FindPrefix("error: test failed, to rerun", 0) >= 0 && t.Find("target failed:", 0) < 0 && t.Find("targets failed:", 0) < 0 {
		f.note("cargo stops at the first failing test binary: later ones did not run (--no-fail-fast runs them)")
	}
}

// cargoBlocks cuts the output at "running N tests". The last result line of a
// block that fits its number is the real one: tests may print such lines.
func cargoBlocks(t *Text) []*cargoBlock {
	var blocks []*cargoBlock
	var cur *cargoBlock
	section, list := "", false
	for i := range t.Len() {
		l := t.Line(i)
		if m := cargoRunning().FindStringSubmatch(l); m != nil {
			cur = &cargoBlock{want: atoi(m[1]), out: map[string][]string{}}
			blocks = append(blocks, cur)
			section, list = "", false
			continue
		}
		if cur == nil {
			continue
		}
		if strings.HasPrefix(l, "     Running ") || strings.HasPrefix(l, "   Doc-tests ") {
			section = ""
			continue
		}
		if strings.Contains(l, "test result: ") {
			if m := cargoResult().FindStringSubmatch(l); m != nil && (cur.result == nil || atoi(m[2])+atoi(m[3])+atoi(m[4])+atoi(m[5]) == cur.want) {
				cur.result, cur.printed, list = m, section != "", false
				continue
			}
		}
		switch {
		case cur.failed != nil && strings.HasPrefix(l, "---- ") && strings.HasSuffix(l, " stdout ----"):
			section, list = strings.TrimSuffix(strings.TrimPrefix(l, "---- "), " stdout ----"), false
			if cur.out[section] == nil {
				cur.order = append(cur.order, section)
			}
		case l == "failures:":
			section, list = "", true
			cur.failed = []string{}
		case list && strings.HasPrefix(l, "    "):
			cur.failed = append(cur.failed, strings.TrimPrefix(l, "    "))
		case section != "" && len(cur.out[section]) < 3000:
			cur.out[section] = append(cur.out[section], l)
		}
	}
	for _, b := range blocks {
		if b.printed {
			b.result = nil
		}
	}
	return blocks
}

// cargoHeader is the last line that announces a test binary.
func cargoHeader(t *Text) int {
	return max(t.LastPrefix("     Running "), t.LastPrefix("   Doc-tests "))
}

// cargoNoBlock: nothing of a test binary follows line i.
func cargoNoBlock(t *Text, i int) bool {
	for j := i + 1; j < t.Len(); j++ {
		if l := t.Line(j); strings.HasPrefix(l, "running ") || strings.HasPrefix(l, "test result: ") || strings.HasPrefix(l, "error: ") {
			return false
		}
	}
	return true
}

// cargoPanics maps a thread (a test) to its panic, for --nocapture.
func cargoPanics(t *Text) map[string][]string {
	panics := map[string][]string{}
	for i := range t.Len() {
		l := t.Line(i)
		if !strings.HasPrefix(l, "thread '") {
			continue
		}
		if m := rustPanic().FindStringSubmatch(l); m != nil && panics[m[1]] == nil {
			panics[m[1]] = t.Slice(i, i+40).lines
		}
	}
	return panics
}

func (b *cargoBlock) failures(t *Text, panics map[string][]string, f *finding) {
	names := b.failed
	if len(names) == 0 && atoi(b.result[3]) > 0 {
		names = b.order
	}
	for _, n := range names {
		n = strings.TrimSuffix(n, " - should panic")
		x := Failure{ID: n}
		out := b.out[n]
		if len(out) == 0 {
			out = panics[n]
		}
		x.File, x.Line, x.Message = rustFailure(t, out)
		if file, _, ok := strings.Cut(n, " - "); ok && strings.HasSuffix(file, ".rs") { // a doc test
			x.File, x.Line = file, 0
			if i := strings.LastIndex(n, "(line "); i >= 0 {
				x.Line = atoi(n[i+6:])
			}
		}
		f.fail(x)
	}
}

// rustFailure keeps the panic and what was compared; the backtrace gives the
// place when the panic itself happened in the library.
func rustFailure(t *Text, out []string) (file string, line int, msg string) {
	var keep []string
	for i, l := range out {
		if m := rustPanic().FindStringSubmatch(l); m != nil && file == "" {
			file, line = m[3], atoi(m[4])
			if m[2] != "" {
				keep = append(keep, m[2])
			}
			if foreign(file) || strings.Contains(file, "rustdoctest") {
				file, line = "", 0
			}
			continue
		}
		s := strings.TrimSpace(l)
		if strings.HasPrefix(s, "note: run with `RUST_BACKTRACE") || strings.HasPrefix(s, "note: Some details are omitted") || s == "FAILED" {
			continue
		}
		if s == "stack backtrace:" {
			for _, b := range out[i:] {
				p, ok := strings.CutPrefix(strings.TrimSpace(b), "at ")
				if !ok || file != "" {
					continue
				}
				if q, n, _, ok := splitPos(p); ok && !foreign(q) {
					file, line = q, n
				}
			}
			break
		}
		if i > 0 && (strings.HasPrefix(l, "test ") || l == "failures:" || strings.HasPrefix(l, "thread '")) && file != "" {
			break
		}
		if i := strings.LastIndex(s, " at "); i >= 0 && strings.HasPrefix(s, "note: test did not panic as expected") && file == "" {
			file, line, _, _ = splitPos(s[i+4:])
		}
		keep = append(keep, l)
	}
	return cleanPath(file, t.Hint.Dir), line, message(keep...)
}

// libtestEvent is one line of libtest's JSON (-Z unstable-options --format json).
type libtestEvent struct {
	Type, Event, Name, Stdout string
	TestCount                 int `json:"test_count"`
	Passed, Failed, Ignored   int
}

func sniffLibtestJSON(t *Text) match {
	i := t.FindPrefix(`{ "type": "suite", "event": "started"`, 0)
	if i < 0 {
		return match{}
	}
	return t.all(scoreCertain + 2)
}

func parseLibtestJSON(t *Text, f *finding) {
	open := 0
	f.Tests = Counts{Passed: new(0), Failed: new(0), Skipped: new(0)}
	for i := range t.Len() {
		var e libtestEvent
		if l := t.Line(i); !strings.HasPrefix(l, `{ "type"`) || json.Unmarshal([]byte(l), &e) != nil {
			continue
		}
		switch {
		case e.Type == "suite" && e.Event == "started":
			open++
		case e.Type == "suite":
			open--
			bump(&f.Tests.Passed, e.Passed)
			bump(&f.Tests.Failed, e.Failed)
			bump(&f.Tests.Skipped, e.Ignored)
		case e.Type == "test" && e.Event == "failed":
			x := Failure{ID: e.Name}
			x.File, x.Line, x.Message = rustFailure(t, strings.Split(e.Stdout, "\n"))
			f.fail(x)
		}
	}
	jsonVerdict(f)
	if open > 0 {
		f.State, f.Tests = StateDidNotFinish, Counts{}
	}
}

var nextestSummary = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ +Summary \[.*\] +(?:(\d+)/)?(\d+) tests? run: (\d+) passed(?: \([^)]*\))?(?:, (\d+) failed)?(?:, (\d+) exec failed)?(?:, (\d+) timed out)?(?:, (\d+) skipped)?`)
})

var nextestFail = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ +(?:TRY \d+ )?(FAIL|SIG[A-Z]+|ABORT|TIMEOUT|TMT|XFAIL|EXECFAIL)(?: \[[^\]]*\])?(?: \( *\d+/\d+\))? +(\S+) (\S.*)$`)
})

func sniffNextest(t *Text) match {
	for i := t.Len() - 1; i >= 0; i-- {
		if strings.Contains(t.Line(i), "Summary [") && nextestSummary().MatchString(t.Line(i)) {
			return span(scoreCertain+1, 0, t.Len())
		}
	}
	if t.Has(" Nextest run ID ") || t.Find("    Starting ", 0) >= 0 && t.Has(" PASS [") {
		return t.all(scoreSure)
	}
	return match{}
}

func parseNextest(t *Text, f *finding) {
	f.Runner = "cargo-nextest"
	rustErrors(t, f)
	var m []string
	seen := map[string]int{}
	for i := range t.Len() {
		l := t.Line(i)
		if s := nextestSummary().FindStringSubmatch(l); s != nil {
			m = s
			continue
		}
		n := nextestFail().FindStringSubmatch(l)
		if n == nil || strings.Contains(l, " TRY ") {
			continue
		}
		id := n[3]
		if _, dup := seen[n[2]+" "+id]; dup {
			continue
		}
		seen[n[2]+" "+id] = len(f.Failures)
		x := Failure{ID: id}
		x.File, x.Line, x.Message = rustFailure(t, nextestOutput(t, i))
		if n[1] != "FAIL" {
			x.Message = strings.TrimSpace(n[1] + "\n" + x.Message)
		}
		f.fail(x)
	}
	switch {
	case m == nil && len(f.BuildErrors) > 0:
		f.worse(StateBuildFailed)
	case m == nil:
		f.worse(StateDidNotFinish)
		f.Failures = nil
	default:
		f.Tests = Counts{Passed: new(atoi(m[3])), Failed: new(atoi(m[4]) + atoi(m[5]) + atoi(m[6])), Skipped: new(atoi(m[7]))}
		jsonVerdict(f)
		if m[1] != "" && m[1] != m[2] {
			f.note("not all tests ran: nextest stopped early")
		}
	}
}

// nextestOutput is the captured output below a FAIL line, without its frame.
func nextestOutput(t *Text, i int) []string {
	var out []string
	for j := i + 1; j < t.Len() && j < i+200; j++ {
		l := t.Line(j)
		if nextestFail().MatchString(l) || nextestSummary().MatchString(l) || strings.Contains(l, " PASS [") {
			break
		}
		out = append(out, strings.TrimPrefix(l, "    "))
	}
	for k, l := range out {
		if strings.HasPrefix(l, "thread '") {
			return out[k:]
		}
	}
	return nil
}
