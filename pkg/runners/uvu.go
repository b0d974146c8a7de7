package runners

import (
	"strings"
)

// uvu: "   FAIL  suite  "test"" blocks and "  Total: / Passed: / Skipped:".

func uvuTotals(t *Text) int {
	for i := t.Len() - 1; i >= 0; i-- {
		if strings.HasPrefix(t.Line(i), "  Total:     ") && strings.HasPrefix(t.Line(i+1), "  Passed:    ") {
			return i
		}
	}
	return -1
}

func sniffUvu(t *Text) match {
	if i := uvuTotals(t); i >= 0 {
		start := 0
		for j := range i {
			if l := t.Line(j); strings.Contains(l, "•") || strings.Contains(l, "✘") || strings.HasPrefix(l, "   FAIL  ") {
				start = j
				break
			}
		}
		return span(scoreCertain, start, min(i+4, t.Len()))
	}
	if t.Has("node_modules/uvu/") {
		return t.all(scoreSure)
	}
	return match{}
}

func parseUvu(t *Text, f *finding) {
	for i := 0; i < t.Len(); i++ {
		title, ok := strings.CutPrefix(t.Line(i), "   FAIL  ")
		if !ok {
			continue
		}
		end := i + 1
		for end < t.Len() && !strings.HasPrefix(t.Line(end), "   FAIL  ") && !strings.HasPrefix(t.Line(end), "  Total:") {
			end++
		}
		body := t.Slice(i+1, end).lines
		i = end - 1
		x := Failure{ID: uvuID(title), Message: jsMessage(body)}
		if fr, ok := ownFrame(body); ok {
			x.File, x.Line = cleanPath(fr.path, t.Hint.Dir), fr.line
		}
		f.fail(x)
	}
	i := uvuTotals(t)
	if i < 0 {
		f.State = StateDidNotFinish
		return
	}
	read := func(label string) int {
		for j := i; j < i+4; j++ {
			if v, ok := strings.CutPrefix(strings.TrimSpace(t.Line(j)), label); ok {
				return atoi(strings.TrimSpace(v))
			}
		}
		return 0
	}
	total, pass := read("Total:"), read("Passed:")
	f.Tests = Counts{Passed: new(pass), Failed: new(max(0, total-pass)), Skipped: new(read("Skipped:"))}
	jsonVerdict(f)
}

// uvuID turns `suite  "test"` into "suite > test".
func uvuID(title string) string {
	i := strings.IndexByte(title, '"')
	if i < 0 || !strings.HasSuffix(title, `"`) || len(title) < i+2 {
		return title
	}
	name := title[i+1 : len(title)-1]
	if suite := strings.TrimSpace(title[:i]); suite != "" {
		return jsID(suite, name)
	}
	return name
}
