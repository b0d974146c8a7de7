package runners

import (
	"strings"
)

// vitest prints " FAIL  file > suite > test" blocks between rules of "⎯" and a
// summary " Test Files … / Tests … / Start at". On a terminal and in watch mode
// earlier summaries are drawn first: the last one counts.

func sniffVitest(t *Text) match {
	s, e := vitestSummary(t)
	start := vitestStart(t)
	switch {
	case s >= 0:
		return span(scoreCertain, max(0, min(start, s)), e)
	case start >= 0:
		return t.all(scoreSure)
	case t.Has("⎯⎯ Failed Tests ") || t.Has("⎯⎯ Failed Suites "):
		return t.all(scoreSure)
	case vitestActions(t, nil):
		return t.all(scoreLikely)
	}
	return match{}
}

// vitestStart is the line of the first " RUN  v4.1" header.
func vitestStart(t *Text) int {
	for i := range t.Len() {
		s := strings.TrimSpace(t.Line(i))
		if (strings.HasPrefix(s, "RUN ") || strings.HasPrefix(s, "DEV ")) && strings.HasPrefix(strings.TrimSpace(s[4:]), "v") {
			return i
		}
	}
	return -1
}

// vitestSummary is the last "Test Files" line and the end of its block.
func vitestSummary(t *Text) (start, end int) {
	for i := t.Len() - 1; i >= 0; i-- {
		if _, ok := strings.CutPrefix(strings.TrimLeft(t.Line(i), " "), "Test Files  "); !ok {
			continue
		}
		if !strings.HasPrefix(strings.TrimSpace(t.Line(i+1)), "Tests  ") {
			continue
		}
		end = i + 1
		for end < t.Len() && strings.TrimSpace(t.Line(end)) != "" {
			end++
		}
		return i, end
	}
	return -1, -1
}

func parseVitest(t *Text, f *finding) {
	from := 0
	for i := range t.Len() {
		if strings.HasPrefix(strings.TrimSpace(t.Line(i)), "RERUN ") {
			from = i // watch mode: only the last run counts
		}
	}
	if from > 0 {
		t = t.Slice(from, t.Len())
	}
	vitestBlocks(t, f)
	for i := range t.Len() {
		if s := strings.TrimSpace(t.Line(i)); strings.HasPrefix(s, "ERROR: Coverage for ") {
			f.suite(SuiteFailure{Kind: SuiteThreshold, Message: strings.TrimPrefix(s, "ERROR: ")})
		}
	}
	sum, _ := vitestSummary(t)
	switch {
	case sum >= 0:
		vitestCounts(t, sum, f)
	case t.Has("No test files found, exiting with code"):
		f.State = StateNoTests
		return
	case vitestActions(t, f):
		f.worse(StateFailed)
		return
	default:
		f.State = StateDidNotFinish
		f.note("vitest's summary is missing: the run did not come to its end")
		return
	}
	switch {
	case val(f.Tests.Failed) > 0 || len(f.Suites) > 0 || val(f.Tests.Errors) > 0 || strings.Contains(t.Line(sum), " failed"):
		f.worse(StateFailed)
	case val(f.Tests.Passed) == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

// vitestCounts reads "Tests  1 failed | 2 passed | 1 skipped | 1 todo (5)" and
// "Errors  1 error"; a suite that failed as such counts as an error.
func vitestCounts(t *Text, i int, f *finding) {
	f.Tests = Counts{Passed: new(0), Failed: new(0), Skipped: new(0), Todo: new(0)}
	for ; strings.TrimSpace(t.Line(i)) != ""; i++ {
		label, v, _ := strings.Cut(strings.TrimSpace(t.Line(i)), "  ")
		if label != "Tests" {
			continue
		}
		for part := range strings.SplitSeq(v, "|") {
			n, word, ok := leadingInt(strings.TrimSpace(part))
			if !ok {
				continue
			}
			switch w, _, _ := strings.Cut(strings.TrimSpace(word), " "); w {
			case "passed":
				f.Tests.Passed = new(n)
			case "failed":
				f.Tests.Failed = new(n)
			case "skipped":
				f.Tests.Skipped = new(n)
			case "todo":
				bump(&f.Tests.Todo, n)
			case "expected":
				bump(&f.Tests.Todo, n)
				f.extra("expected fail", n)
			}
		}
	}
	broken := 0
	for _, s := range f.Suites {
		if s.Kind != SuiteThreshold && s.Kind != SuiteHook {
			broken++
		}
	}
	if broken > 0 {
		f.Tests.Errors = new(broken)
	}
}

// vitestTitle reads " FAIL  file > name" or " FAIL  |project| file > name".
func vitestTitle(l string) (string, bool) {
	s, ok := strings.CutPrefix(strings.TrimLeft(l, " "), "FAIL  ")
	if !ok {
		return "", false
	}
	if rest, found := strings.CutPrefix(strings.TrimLeft(s, " "), "|"); found {
		if _, after, ok := strings.Cut(rest, "|"); ok {
			s = after
		}
	}
	return strings.TrimSpace(s), true
}

// vitestRule recognises "⎯⎯⎯ Failed Tests 2 ⎯⎯⎯" and "⎯⎯⎯[1/2]⎯" and returns its text.
func vitestRule(l string) (string, bool) {
	s := strings.TrimSpace(l)
	if !strings.HasPrefix(s, "⎯⎯⎯") {
		return "", false
	}
	return strings.TrimSpace(strings.Trim(s, "⎯ ")), true
}

func vitestBlocks(t *Text, f *finding) {
	section := ""
	seen := map[string]bool{}
	for i := 0; i < t.Len(); i++ {
		if name, ok := vitestRule(t.Line(i)); ok {
			if name != "" && name[0] != '[' {
				section = name
			}
			if vitestUnhandled(section) && name == section {
				i = vitestError(t, i+1, f)
			}
			continue
		}
		title, ok := vitestTitle(t.Line(i))
		if !ok {
			continue
		}
		titles := []string{title}
		for i++; i < t.Len(); i++ {
			if next, ok := vitestTitle(t.Line(i)); ok {
				titles = append(titles, next)
				continue
			}
			if !looksLikeErrorLine(t.Line(i)) && titleGoesOn(t, i) {
				titles[len(titles)-1] += "\n" + t.Line(i)
				continue
			}
			break
		}
		end := vitestBlockEnd(t, i)
		body := t.Slice(i, end).lines
		i = end - 1
		for _, title := range titles {
			if !seen[title] {
				seen[title] = true
				vitestBlock(t, f, section, title, body)
			}
		}
	}
}

// titleGoesOn: one of the next lines is the error that ends a title with newlines.
func titleGoesOn(t *Text, i int) bool {
	for j := i + 1; j < i+5; j++ {
		if looksLikeErrorLine(t.Line(j)) {
			return true
		}
		if strings.TrimSpace(t.Line(j)) == "" || strings.Contains(t.Line(j), "❯") {
			return false
		}
	}
	return false
}

// looksLikeErrorLine: "AssertionError: text" or "Error".
func looksLikeErrorLine(l string) bool {
	name, _, _ := strings.Cut(l, ":")
	return name != "" && !strings.Contains(name, " ") && (strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception")) || strings.HasPrefix(l, "Unknown Error") || strings.HasPrefix(l, "Snapshot")
}

func vitestBlockEnd(t *Text, i int) int {
	for ; i < t.Len(); i++ {
		l := t.Line(i)
		if _, ok := vitestRule(l); ok {
			return i
		}
		if _, ok := vitestTitle(l); ok {
			return i
		}
		if s := strings.TrimLeft(l, " "); strings.HasPrefix(s, "Test Files  ") {
			return i
		}
	}
	return i
}

func vitestUnhandled(section string) bool {
	return strings.HasPrefix(section, "Uncaught Exception") || strings.HasPrefix(section, "Unhandled Rejection") || strings.HasPrefix(section, "Unhandled Error") && section != "Unhandled Errors" ||
		strings.HasPrefix(section, "Startup Error") || strings.HasPrefix(section, "Typecheck Error")
}

// vitestError reads an error outside tests and returns its last line.
func vitestError(t *Text, i int, f *finding) int {
	end := vitestBlockEnd(t, i)
	body := t.Slice(i, end).lines
	s := SuiteFailure{Kind: SuiteUncaught, Message: vitestMessage(body)}
	if fr, ok := ownFrame(body); ok {
		s.File, s.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
	}
	for _, l := range body {
		if rest, ok := strings.CutPrefix(l, `This error originated in "`); ok {
			s.Name, _, _ = strings.Cut(rest, `"`)
		}
		if strings.Contains(l, "Worker") && (strings.Contains(l, "exited unexpectedly") || strings.Contains(l, "emitted error")) || strings.Contains(l, "Channel closed") {
			s.Kind = SuiteCrash
		}
	}
	if s.File == "" {
		s.File = s.Name
	}
	f.suite(s)
	if s.Kind == SuiteCrash {
		f.worse(StateDidNotFinish)
	} else {
		f.worse(StateFailed)
	}
	return end - 1
}

func vitestBlock(t *Text, f *finding, section, title string, body []string) {
	file, name, isTest := strings.Cut(title, " > ")
	msg := vitestMessage(body)
	x := Failure{File: file, Message: msg}
	fr, placed := ownFrame(body)
	if placed {
		x.File, x.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
	}
	if isTest && !strings.HasPrefix(section, "Failed Suites") {
		x.ID = name
		f.fail(x)
		return
	}
	if isTest {
		f.suite(SuiteFailure{Kind: SuiteHook, Name: name, File: x.File, Line: x.Line, Message: msg})
		return
	}
	file, _, _ = strings.Cut(title, " [ ")
	if i := t.Find("❯ "+file+" (", 0); i >= 0 && !strings.Contains(t.Line(i), " (0 test") {
		f.suite(SuiteFailure{Kind: SuiteHook, Name: file, File: x.File, Line: x.Line, Message: msg}) // its tests ran
		return
	}
	if x.Line == 0 {
		x.File = file
	}
	b := BuildError{File: x.File, Line: x.Line, Col: fr.col, Message: msg}
	for _, l := range body {
		s := strings.TrimSpace(l)
		if p, ok := strings.CutPrefix(s, "File: "); ok {
			if q, n, c, ok := splitPos(p); ok {
				b.File, b.Line, b.Col = cleanPath(q, t.Hint.Dir), n, c
			}
		} else if i := strings.Index(s, ": ERROR: "); i > 0 {
			if q, n, c, ok := splitPos(s[:i]); ok {
				b.File, b.Line, b.Col = cleanPath(q, t.Hint.Dir), n, c
			}
		}
	}
	if b.File == "/"+file {
		b.File = file // vite prints it from its root
	}
	f.suite(SuiteFailure{Kind: SuiteLoad, Name: file, File: b.File, Line: b.Line, Message: msg})
	f.build(b)
	f.worse(StateBuildFailed)
}

// vitestMessage drops frames and the source frame below the first of them.
func vitestMessage(body []string) string {
	var keep []string
	for _, l := range body {
		s := strings.TrimSpace(l)
		if strings.HasPrefix(s, "❯ ") {
			break
		}
		if codeFrameLine(l) {
			continue
		}
		keep = append(keep, l)
	}
	return message(keep...)
}

// vitestActions reads "::error file=F,title=T > name,line=2,column=3::message" of
// the github-actions reporter; with a nil finding it only tells whether one is there.
func vitestActions(t *Text, f *finding) bool {
	found := false
	for i := t.FindPrefix("::error ", 0); i >= 0; i = t.FindPrefix("::error ", i+1) {
		props, msg, ok := strings.Cut(strings.TrimPrefix(t.Line(i), "::error "), "::")
		title := actionProp(props, "title")
		_, name, isTest := strings.Cut(title, " > ")
		if !ok || !isTest {
			continue
		}
		found = true
		if f == nil {
			return true
		}
		msg = strings.ReplaceAll(msg, "%0A", "\n")
		f.fail(Failure{ID: name, File: cleanPath(actionProp(props, "file"), t.Hint.Dir), Line: atoi(actionProp(props, "line")), Message: vitestMessage(strings.Split(msg, "\n"))})
	}
	return found
}

// actionProp reads one property of a workflow command.
func actionProp(props, key string) string {
	for _, sep := range []string{",", ""} {
		i := strings.Index(props, sep+key+"=")
		if i < 0 || sep == "" && i != 0 {
			continue
		}
		v := props[i+len(sep)+len(key)+1:]
		for _, next := range []string{",title=", ",line=", ",column=", ",endLine=", ",endColumn=", ",col=", ",file="} {
			if j := strings.Index(v, next); j >= 0 {
				v = v[:j]
			}
		}
		return strings.NewReplacer("%0A", "\n", "%2C", ",", "%3A", ":", "%25", "%").Replace(v)
	}
	return ""
}
