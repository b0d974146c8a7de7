package runners

import "strings"

// A Node program whose module graph does not load (a syntax error, a missing
// module) dies before its own code runs. That is a build failure, not a crash: it
// says nothing about the tests, and it names the file to mend.

func sniffNodeLoad(t *Text) match {
	for i := range t.Len() {
		l := t.Line(i)
		if !strings.HasPrefix(l, "SyntaxError") && !strings.HasPrefix(l, "Error: Cannot find ") && !strings.HasPrefix(l, "Error [ERR_MODULE_NOT_FOUND]") && !strings.HasPrefix(l, "ReferenceError: require is not defined in ES module") {
			continue
		}
		if nodeLoader(t, i) {
			return span(scoreLikely, max(0, i-8), min(t.Len(), i+40))
		}
	}
	return match{}
}

// nodeLoader: the first frame below line i is Node's module loader, so the error
// came from loading and not from the program (JSON.parse throws SyntaxError too).
func nodeLoader(t *Text, i int) bool {
	for j := i + 1; j < min(t.Len(), i+12); j++ {
		if l := t.Line(j); strings.HasPrefix(strings.TrimSpace(l), "at ") {
			return strings.Contains(l, "node:internal/modules/") || strings.Contains(l, "node:internal/vm") || strings.Contains(l, "node:vm:") || strings.Contains(l, "(internal/modules/")
		}
	}
	return false
}

func parseNodeLoad(t *Text, f *finding) {
	b, ok := jsLoadError(t.lines)
	if !ok {
		return
	}
	b.File = cleanPath(b.File, t.Hint.Dir)
	f.build(b)
	f.suite(SuiteFailure{Kind: SuiteLoad, File: b.File, Line: b.Line, Message: b.Message})
	f.State = StateBuildFailed
}
