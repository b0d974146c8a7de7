package runners

import "strings"

// nodeFail files one failure: a test, a hook of a suite, or a file as such.
func nodeFail(t *Text, f *finding, x Failure, body []string, suite bool) {
	x.File = cleanPath(x.File, t.Hint.Dir)
	if fr, ok := ownFrame(body); ok && x.Line == 0 {
		x.File, x.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
	}
	if looksLikeFile(x.ID) && (x.Message == "test failed" || x.Message == "" || x.Line <= 1) {
		nodeFile(t, f, x)
		return
	}
	if suite && strings.Contains(x.Message, "did not finish before its parent") {
		return
	}
	if suite {
		f.suite(SuiteFailure{Kind: SuiteHook, Name: x.ID, File: x.File, Line: x.Line, Message: x.Message})
	}
	f.fail(x)
}

// nodeFile says why a whole file failed: it did not load, an error came outside
// the tests, or its process died.
func nodeFile(t *Text, f *finding, x Failure) {
	s := SuiteFailure{Kind: SuiteUncaught, Name: x.ID, File: cleanPath(x.ID, t.Hint.Dir), Message: x.Message}
	around := nodeStderr(t, x.ID)
	if b, ok := jsLoadError(around); ok {
		b.File = cleanPath(b.File, t.Hint.Dir)
		f.build(b)
		s.Kind, s.Message, s.Line = SuiteLoad, b.Message, b.Line
		f.worse(StateBuildFailed)
		f.suite(s)
		return
	}
	for _, l := range around {
		msg := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(l, "ℹ "), "# "))
		if strings.Contains(msg, "generated asynchronous activity after the test ended") || strings.HasPrefix(msg, "Error: A resource generated asynchronous activity") {
			s.Message = msg
			if _, rest, ok := strings.Cut(msg, " at "); ok {
				if p, n, _, ok := splitPos(firstField(rest)); ok {
					s.File, s.Line = cleanPath(p, t.Hint.Dir), n
				}
			}
			f.suite(s)
			f.worse(StateFailed)
			return
		}
	}
	if e := uncaught(around); len(e) > 0 {
		s.Message = jsMessage(e)
		if fr, ok := ownFrame(e); ok {
			s.File, s.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
		}
		f.suite(s)
		f.worse(StateFailed)
		return
	}
	if f.Runner == "node-test dot" || f.Runner == "node-test junit" {
		f.suite(s) // these reporters do not show what the file itself printed
		f.worse(StateFailed)
		return
	}
	// No word of an error: the process of this file died or left with a code.
	s.Kind = SuiteCrash
	f.suite(s)
	f.worse(StateDidNotFinish)
	f.note("the process of " + x.ID + " ended without a word: its tests did not finish")
}

func firstField(s string) string {
	if before, _, ok := strings.Cut(s, " "); ok {
		return before
	}
	return s
}

// nodeStderr collects what the file's process wrote outside the report: lines
// that are no results, comments of TAP unwrapped.
func nodeStderr(t *Text, file string) []string {
	end := t.Len()
	for i := range t.Len() {
		l := t.Line(i)
		if strings.HasPrefix(l, "✖ "+file) || strings.HasPrefix(l, "not ok ") && strings.HasSuffix(l, " - "+file) {
			end = i
			break
		}
	}
	start := max(0, end-400)
	for i := end - 1; i >= start; i-- {
		l := t.Line(i)
		s, ok := strings.CutPrefix(l, "✖ ")
		if !ok && strings.HasPrefix(l, "not ok ") {
			_, s, ok = strings.Cut(l, " - ")
		}
		if name, _, found := cutDuration(s); found {
			s = name
		}
		if ok && looksLikeFile(s) {
			start = i
			break
		}
	}
	out := make([]string, 0, end-start)
	for i := start; i < end; i++ {
		out = append(out, strings.TrimPrefix(strings.TrimPrefix(t.Line(i), "# "), "ℹ "))
	}
	return out
}

// uncaught finds the error that node prints before it dies:
// "path:1 / source / ^ / / Error: text / at …/ / Node.js v20".
func uncaught(lines []string) []string {
	for i, l := range lines {
		if strings.HasPrefix(l, "Node.js v") {
			for j := i - 1; j >= 0 && j > i-80; j-- {
				if strings.HasPrefix(strings.TrimSpace(lines[j]), "^") || strings.HasPrefix(lines[j], "Uncaught") {
					return lines[j+1 : i]
				}
			}
		}
	}
	return nil
}
