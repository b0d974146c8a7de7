package runners

import (
	"strings"
)

// jest prints "PASS file" or "FAIL file" with "  ● suite › test" blocks, and a
// summary whose first line is "Test Suites:". Tests write where they like, so a
// "Tests:" line counts only in a block that starts with "Test Suites:".

func sniffJest(t *Text) match {
	if s, e := jestSummary(t); s >= 0 {
		return span(scoreCertain, jestStart(t), e)
	}
	switch {
	case t.FindPrefix("No tests found, exiting with code", 0) >= 0:
		return t.all(scoreSure)
	case t.Has("process.exit called with"), t.Has("node_modules/jest-"), t.FindPrefix("● Validation Error", 0) >= 0, t.FindPrefix("● Unrecognized CLI Parameter", 0) >= 0:
		return t.all(scoreSure - 10)
	}
	for i := range t.Len() {
		if file, ok := jestHeader(t.Line(i)); ok && looksLikeFile(file) {
			return t.all(scoreLikely)
		}
	}
	return match{}
}

func jestStart(t *Text) int {
	for i := range t.Len() {
		l := t.Line(i)
		if _, ok := jestHeader(l); ok || strings.HasPrefix(l, "  ● ") || strings.HasPrefix(l, "> jest") || strings.HasPrefix(l, "Test Suites:") {
			return i
		}
	}
	return 0
}

// jestSummary is the last block "Test Suites: … / Tests: …", -1 if there is none.
func jestSummary(t *Text) (start, end int) {
	for i := t.Len() - 1; i >= 0; i-- {
		if !strings.HasPrefix(t.Line(i), "Test Suites: ") || !strings.HasSuffix(t.Line(i), " total") {
			continue
		}
		end = i + 1
		for end < t.Len() && end < i+6 && t.Line(end) != "" {
			end++
			if strings.HasPrefix(t.Line(end-1), "Ran all test suites") {
				break
			}
		}
		return i, end
	}
	return -1, -1
}

// jestHeader reads "PASS test/a.test.js (5.1 s)" and "FAIL project test/a.test.js".
func jestHeader(l string) (file string, ok bool) {
	l = strings.TrimPrefix(l, " ")
	rest, ok := strings.CutPrefix(l, "PASS ")
	if !ok {
		rest, ok = strings.CutPrefix(l, "FAIL ")
	}
	if !ok {
		return "", false
	}
	rest = strings.TrimSpace(rest)
	if i := strings.LastIndex(rest, " ("); i > 0 && strings.HasSuffix(rest, ")") {
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, ' '); i > 0 && looksLikeFile(rest[i+1:]) {
		rest = rest[i+1:]
	}
	return rest, looksLikeFile(rest)
}

func parseJest(t *Text, f *finding) {
	jestBlocks(t, f)
	sum, _ := jestSummary(t)
	if sum < 0 {
		jestWithoutSummary(t, f)
		return
	}
	jestCounts(t, sum, f)
	if val(f.Tests.Failed) == 0 {
		f.Failures = nil // printed by tests
	}
	for i := range t.Len() {
		l := t.Line(i)
		switch {
		case strings.HasPrefix(l, "Jest: ") && strings.Contains(l, "threshold"):
			f.suite(SuiteFailure{Kind: SuiteThreshold, Message: strings.TrimPrefix(l, "Jest: ")})
		case strings.HasPrefix(l, " › ") && strings.Contains(l, "snapshot") && strings.Contains(l, " obsolete from") && t.ExitBad():
			f.suite(SuiteFailure{Kind: SuiteThreshold, Message: strings.TrimPrefix(l, " › ")})
		}
	}
	ran := val(f.Tests.Passed) + val(f.Tests.Failed)
	switch {
	case val(f.Tests.Failed) > 0 || len(f.Suites) > 0 || strings.Contains(t.Line(sum), " failed"):
		f.worse(StateFailed)
	case ran == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

// jestWithoutSummary: nothing to run, a wrong configuration, or a run cut short.
func jestWithoutSummary(t *Text, f *finding) {
	if t.FindPrefix("No tests found, exiting with code", 0) >= 0 {
		f.State = StateNoTests
		return
	}
	f.Tests = Counts{}
	f.State = StateDidNotFinish
	if i := t.Find("process.exit called with", 0); i >= 0 {
		s := SuiteFailure{Kind: SuiteCrash, Message: strings.Trim(strings.TrimSpace(t.Line(i)), "● ")}
		if fr, ok := ownFrame(t.Slice(i, i+30).lines); ok {
			s.File, s.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
		}
		f.suite(s)
		return
	}
	if i := t.FindPrefix("● ", 0); i >= 0 && len(f.Failures) == 0 {
		f.note(message(t.Slice(i, i+4).lines...))
		return
	}
	if i := t.FindPrefix("Error: ", 0); i >= 0 && len(f.Failures) == 0 {
		f.suite(SuiteFailure{Kind: SuiteLoad, Message: jsMessage(t.Slice(i, i+20).lines)})
	}
	f.note("jest's summary is missing: the run did not come to its end")
}

// jestCounts reads the "Tests:" line of the summary block at line i, and how
// many suites failed to run.
func jestCounts(t *Text, i int, f *finding) {
	f.Tests = Counts{Passed: new(0), Failed: new(0), Skipped: new(0), Todo: new(0)}
	for j := i + 1; j < i+3; j++ {
		s, ok := strings.CutPrefix(t.Line(j), "Tests: ")
		if !ok {
			continue
		}
		for part := range strings.SplitSeq(s, ",") {
			n, word, ok := leadingInt(strings.TrimSpace(part))
			if !ok {
				continue
			}
			switch strings.TrimSpace(word) {
			case "passed":
				f.Tests.Passed = new(n)
			case "failed":
				f.Tests.Failed = new(n)
			case "skipped", "pending":
				f.Tests.Skipped = new(n)
			case "todo":
				f.Tests.Todo = new(n)
			}
		}
	}
	broken := 0
	for _, s := range f.Suites {
		if s.Kind == SuiteLoad || s.Kind == SuiteUncaught {
			broken++
		}
	}
	if broken > 0 {
		f.Tests.Errors = new(broken)
	}
}

// jestBlocks reads every "  ● …" block under its "FAIL file" line.
func jestBlocks(t *Text, f *finding) {
	file := ""
	seen := map[string]bool{}
	for i := 0; i < t.Len(); i++ {
		l := t.Line(i)
		if h, ok := jestHeader(l); ok {
			file = h
			continue
		}
		title, ok := strings.CutPrefix(l, "  ● ")
		if !ok {
			continue
		}
		// A file whose tests ran has blank lines before its own error.
		ran := t.Line(i-1) == ""
		for j := i + 1; j < t.Len() && j < i+10 && t.Line(j) != "" && indent(t.Line(j)) < 4 && !strings.HasPrefix(t.Line(j), "  ● "); j++ {
			title += "\n" + t.Line(j) // a newline in the name
			i = j
		}
		end := jestBlockEnd(t, i+1)
		body := t.Slice(i+1, end).lines
		i = end - 1
		key := file + "\x00" + title
		if seen[key] && title != "Test suite failed to run" {
			continue // the summary of all failing tests repeats them
		}
		seen[key] = true
		jestBlock(t, f, file, strings.TrimSpace(title), body, ran && i > 0)
	}
}

// jestBlockEnd is the line where the next block or file starts. Blank lines and
// indented text belong to the block.
func jestBlockEnd(t *Text, i int) int {
	for ; i < t.Len(); i++ {
		l := t.Line(i)
		if l == "" || indent(l) >= 4 {
			continue
		}
		if _, ok := jestHeader(l); ok || strings.HasPrefix(l, "  ● ") || strings.HasPrefix(l, "Test Suites:") || strings.HasPrefix(l, " › ") ||
			strings.HasPrefix(l, "Summary of all failing tests") || strings.HasPrefix(l, "----") || strings.HasPrefix(l, "Snapshot Summary") {
			return i
		}
	}
	return i
}

func jestBlock(t *Text, f *finding, file, title string, body []string, ran bool) {
	msg := jestMessage(body)
	fr, placed := ownFrame(body)
	switch {
	case title == "Console" || strings.HasPrefix(title, "Cannot log after tests are done") || strings.HasPrefix(title, "Deprecation Warning"):
		return
	case strings.HasPrefix(title, "process.exit called with"):
		f.suite(SuiteFailure{Kind: SuiteCrash, Name: file, File: cleanPath(fr.path, t.Hint.Dir), Line: fr.line, Message: title})
		f.worse(StateDidNotFinish)
		return
	case strings.HasPrefix(title, "Test suite failed to run"):
		jestSuite(t, f, file, msg, body, ran)
		return
	}
	x := Failure{ID: jsID(strings.Split(title, " › ")...), File: file, Message: msg}
	if placed {
		x.File, x.Line = fr.path, fr.line
	}
	x.File = cleanPath(x.File, t.Hint.Dir)
	f.fail(x)
}

// jestSuite files "Test suite failed to run": a file that does not load is a
// build error, an error from a timer or rejection an uncaught one.
func jestSuite(t *Text, f *finding, file, msg string, body []string, ran bool) {
	if i := strings.Index(msg, "\nDetails:\n"); i >= 0 && strings.Contains(msg, "Jest encountered an unexpected token") {
		msg = strings.TrimSpace(msg[i+len("\nDetails:\n"):]) // what stands before is advice
	}
	s := SuiteFailure{Kind: SuiteLoad, Name: file, File: file, Message: msg}
	fr, placed := ownFrame(body)
	if placed {
		s.File, s.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
	}
	if ran || late(body) {
		s.Kind = SuiteUncaught
		f.suite(s)
		f.worse(StateFailed)
		return
	}
	b := BuildError{File: s.File, Line: s.Line, Col: fr.col, Message: msg}
	if p, n, c, ok := jestCodePlace(body); ok {
		b.File, b.Line, b.Col = cleanPath(p, t.Hint.Dir), n, c
	}
	if i := strings.Index(msg, "' from '"); i >= 0 && strings.Contains(msg, "Cannot find module") {
		from, _, _ := strings.Cut(msg[i+len("' from '"):], "'")
		if b.File == "" || !sameBase(b.File, from) {
			b.File, b.Line, b.Col = from, 0, 0
		}
	}
	if b.File == "" {
		b.File = file
	}
	f.suite(s)
	f.build(b)
	f.worse(StateBuildFailed)
}

func sameBase(a, b string) bool {
	return strings.HasSuffix(a, b) || strings.HasSuffix(b, a)
}

// late: the error came from a timer or a rejected promise, not from loading.
func late(body []string) bool {
	for _, l := range body {
		if strings.Contains(l, "_onTimeout") || strings.Contains(l, "processTicksAndRejections") && !strings.Contains(l, "node_modules") || strings.Contains(l, "at Immediate.") {
			return true
		}
		if strings.Contains(l, "requireModule") || strings.Contains(l, "Object.<anonymous>") || strings.Contains(l, "Object.require") {
			return false
		}
	}
	return false
}

// jestCodePlace finds "/path/file.js: message (3:5)" of Babel or "path:3" above a
// syntax error.
func jestCodePlace(body []string) (string, int, int, bool) {
	for i, l := range body {
		s := strings.TrimSpace(l)
		if strings.HasPrefix(s, "SyntaxError: /") || strings.HasPrefix(s, "SyntaxError: ") && strings.Contains(s, ": ") {
			rest := strings.TrimPrefix(s, "SyntaxError: ")
			path, tail, ok := strings.Cut(rest, ": ")
			if j := strings.LastIndexByte(tail, '('); ok && j >= 0 && strings.HasSuffix(tail, ")") && looksLikeFile(path) {
				if a, b, ok := strings.Cut(tail[j+1:len(tail)-1], ":"); ok {
					return path, atoi(a), atoi(b), true
				}
			}
		}
		if strings.HasPrefix(s, "SyntaxError") {
			if p, n := syntaxPlace(body, i); p != "" {
				return p, n, 0, true
			}
		}
		if p, n, c, ok := splitPos(firstField(s)); ok && looksLikeFile(p) && strings.Contains(s, " - error TS") {
			return p, n, c, true // ts-jest
		}
	}
	return "", 0, 0, false
}

// jestMessage drops the code frame (test source) and the stack.
func jestMessage(body []string) string {
	var keep []string
	for _, l := range body {
		if isFrame(l) {
			break
		}
		if codeFrameLine(l) {
			continue
		}
		keep = append(keep, l)
	}
	return message(keep...)
}

// codeFrameLine recognises "  > 5 | expect(…)", "     | ^" of code frames.
func codeFrameLine(l string) bool {
	s := strings.TrimLeft(l, " >")
	if rest, ok := strings.CutPrefix(s, "|"); ok {
		return len(s) < len(l) && (strings.Trim(rest, " ^~") == "" || strings.Contains(rest, "^"))
	}
	_, rest, ok := leadingInt(s)
	rest = strings.TrimLeft(rest, " ")
	return ok && len(s) < len(l) && (strings.HasPrefix(rest, "|") || strings.HasPrefix(rest, "│"))
}
