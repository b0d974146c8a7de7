package runners

import (
	"regexp"
	"strings"
	"sync"
)

// tapFlavour names who wrote a TAP stream; they differ in what a point is
// called, in their totals and in how a file that does not load looks.
func tapFlavour(d tapDoc, t *Text) string {
	tape := false
	for _, c := range d.comments {
		switch {
		case strings.HasPrefix(c, "suites ") || strings.HasPrefix(c, "duration_ms "):
			return "node-test"
		case strings.HasPrefix(c, "{ total:") || strings.HasPrefix(c, "No coverage generated"):
			return "tap"
		case strings.HasPrefix(c, "pass  "), c == "ok" && d.version:
			tape = true
		}
	}
	if d.braces && !t.Has("# time=") {
		return "tap-stream"
	}
	for _, p := range d.points {
		switch {
		case d.braces && looksLikeFile(p.name):
			return "vitest"
		case p.get("failureType") != nil || p.get("duration_ms") != nil:
			return "node-test"
		case strings.Contains(p.name, " > ") && looksLikeFile(firstPart(p.name)):
			return "vitest"
		case strings.Contains(p.name, " › "):
			return "ava"
		case p.get("operator") != nil && p.get("stack") != nil:
			tape = true
		}
	}
	switch {
	case tape:
		return "tape"
	case t.Has("# time=") && t.Has("# Subtest: "):
		return "tap"
	case !d.version && d.plans > 0 && hasComment(d, "tests ") && hasComment(d, "pass "):
		return "mocha"
	}
	return "tap-stream"
}

func hasComment(d tapDoc, prefix string) bool {
	for _, c := range d.comments {
		if strings.HasPrefix(c, prefix) {
			return true
		}
	}
	return false
}

func firstPart(s string) string { p, _, _ := strings.Cut(s, " > "); return p }

func sniffTAP(t *Text) match {
	points, plan, version := 0, false, false
	first, last := -1, -1
	for i := range t.Len() {
		l := t.Line(i)
		s := strings.TrimLeft(l, " ")
		if s == "" {
			continue
		}
		hit := false
		switch s[0] {
		case 'T':
			hit = strings.HasPrefix(s, "TAP version 1") && len(s) == len(l)
			version = version || hit
		case 'o', 'n':
			p, ok := tapLine(l)
			hit = ok && (p.num > 0 || strings.Contains(l, "ok - "))
			if hit {
				points++
			}
		case '1':
			_, ok := tapPlan(s)
			hit = ok && len(s) == len(l)
			plan = plan || hit
		case '#', '.':
			if last >= 0 {
				last = i
			}
		case '}':
			if last >= 0 && s == "}" {
				last = i
			}
		}
		if hit {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	switch {
	case version:
		return span(scoreCertain-2, first, last+1)
	case points > 0 && plan:
		return span(scoreSure, first, last+1)
	case points > 1:
		return span(scoreLikely, first, last+1)
	case plan && t.Has("1..0"):
		return span(scoreLikely, first, last+1)
	}
	return match{}
}

func parseTAP(t *Text, f *finding) {
	d := readTAP(t)
	flavour := tapFlavour(d, t)
	f.Runner = flavour
	if flavour == "tape" {
		tapeGroups(t, &d)
	}
	files := tapPoints(t, d, flavour, f)
	if flavour == "node-test" {
		sum := lastTotals(t)
		if sum >= 0 {
			f.Tests = Counts{}
			readNodeTotals(t, sum, "# ", f)
		}
		nodeVerdict(t, f, sum >= 0, files, 0)
		return
	}
	tapVerdict(t, d, f)
}

// lastTotals is the last "# tests N" line.
func lastTotals(t *Text) int { return t.LastPrefix("# tests ") }

// tapPoints counts leaves and lists failures; it returns passed points that are
// files as such.
func tapPoints(t *Text, d tapDoc, flavour string, f *finding) (files []string) {
	var c struct{ pass, fail, skip, todo int }
	failedBelow := map[string]bool{}
	for _, p := range d.points {
		if !p.ok && !p.todo && !p.skip && p.leaf {
			for i := range p.path {
				failedBelow[strings.Join(p.path[:i+1], "\x00")] = true
			}
		}
	}
	for _, p := range d.points {
		if !p.leaf {
			key := strings.Join(append(append([]string{}, p.path...), p.name), "\x00")
			if !p.ok && p.text("failureType") == "hookFailed" && failedBelow[key] {
				file, line := tapPlace(t, p)
				f.suite(SuiteFailure{Kind: SuiteHook, Name: p.id(), File: cleanPath(file, t.Hint.Dir), Line: line, Message: tapMessage(p)})
			} else if !p.ok && !p.todo && !failedBelow[key] && !unfinishedBelow(p) {
				tapFail(t, p, flavour, f)
			}
			continue
		}
		switch {
		case p.skip:
			c.skip++
		case p.todo:
			c.todo++
		case p.ok:
			c.pass++
			if len(p.path) == 0 && looksLikeFile(p.name) {
				files = append(files, p.name)
			}
		default:
			if flavour != "vitest" || !looksLikeFile(p.name) {
				c.fail++
			}
			tapFail(t, p, flavour, f)
		}
	}
	c.pass += t.dropped["ok"]
	f.Tests = Counts{Passed: new(c.pass), Failed: new(c.fail), Skipped: new(c.skip), Todo: new(c.todo)}
	return files
}

// unfinishedBelow: a parent that only failed because its count was off says so
// in comments; its own line is still the only trace of it.
func unfinishedBelow(p tapPoint) bool { return p.text("failureType") == "subtestsFailed" }

// tapFail turns a failed point into a failure.
func tapFail(t *Text, p tapPoint, flavour string, f *finding) {
	x := Failure{ID: p.id(), Message: tapMessage(p)}
	x.File, x.Line = tapPlace(t, p)
	x.File = cleanPath(x.File, t.Hint.Dir)
	switch flavour {
	case "node-test":
		if p.text("failureType") == "subtestsFailed" {
			return
		}
		if sig := p.text("signal"); sig != "" && sig != "~" && sig != "null" && looksLikeFile(p.name) {
			f.suite(SuiteFailure{Kind: SuiteCrash, Name: p.name, File: p.name, Message: "killed by " + sig})
			f.worse(StateDidNotFinish)
			return
		}
		nodeFail(t, f, x, p.blockLines("stack"), p.text("failureType") == "hookFailed" && !p.leaf)
		return
	case "vitest":
		if file, rest, ok := strings.Cut(x.ID, " > "); ok && looksLikeFile(file) {
			x.ID = rest
			if x.File == "" {
				x.File = file
			}
		}
	case "tape":
		if strings.HasPrefix(p.name, "test exited without ending") {
			f.worse(StateDidNotFinish)
			x.Message = "the test did not come to its end"
		}
	case "tap":
		if strings.HasPrefix(p.name, "test unfinished") || p.name == "child test left in queue" {
			f.worse(StateDidNotFinish)
			x.Message = "the test did not come to its end"
		}
	}
	if flavour == "vitest" && looksLikeFile(p.name) {
		f.build(BuildError{File: p.name, Message: x.Message})
		f.suite(SuiteFailure{Kind: SuiteLoad, Name: p.name, File: p.name, Message: x.Message})
		f.worse(StateBuildFailed)
		return
	}
	if looksLikeFile(p.name) && len(p.path) == 0 {
		tapFileFail(t, p, x, f)
		return
	}
	f.fail(x)
}

// tapFileFail: a file failed without a failing test inside.
func tapFileFail(t *Text, p tapPoint, x Failure, f *finding) {
	s := SuiteFailure{Kind: SuiteUncaught, Name: p.name, File: p.name, Line: x.Line, Message: x.Message}
	lines := t.Slice(max(0, p.line-120), min(t.Len(), p.line+60)).lines
	if b, ok := jsLoadError(lines); ok {
		b.File = cleanPath(b.File, t.Hint.Dir)
		f.build(b)
		s.Kind, s.Message = SuiteLoad, b.Message
		f.worse(StateBuildFailed)
	} else if sig := p.text("signal"); sig != "" && sig != "null" && sig != "~" {
		s.Kind, s.Message = SuiteCrash, "killed by "+sig
		f.worse(StateDidNotFinish)
	} else {
		f.worse(StateFailed)
		f.fail(x)
	}
	f.suite(s)
}

func (p tapPoint) blockLines(key string) []string {
	if k := p.get(key); k != nil {
		if len(k.block) > 0 {
			return k.block
		}
		return []string{k.value}
	}
	return nil
}

// tapPlace finds file and line in the diagnostics.
func tapPlace(t *Text, p tapPoint) (string, int) {
	if file, line, _, ok := splitPos(p.text("location")); ok {
		return file, line
	}
	if file := p.sub("at", "fileName"); file != "" {
		return file, atoi(p.sub("at", "lineNumber"))
	}
	if file := p.sub("at", "file"); file != "" {
		return file, atoi(p.sub("at", "line"))
	}
	at := p.text("at")
	if f, ok := jsFrame("at " + at); ok && !foreign(f.path) {
		return f.path, f.line
	}
	if f, ok := ownFrame(p.blockLines("stack")); ok {
		return f.path, f.line
	}
	if f, ok := ownFrame(p.extra); ok {
		return f.path, f.line
	}
	for _, l := range p.extra {
		if m := tapAtLine().FindStringSubmatch(l); m != nil {
			return m[1], atoi(m[2])
		}
	}
	if file := p.text("file"); file != "" {
		return file, atoi(p.text("line"))
	}
	return "", 0
}

var tapAtLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\bat|in test file|in file) (\S+?),? line (\d+)`)
})

// tapMessage puts the essential lines of the diagnostics together.
func tapMessage(p tapPoint) string {
	var out []string
	add := func(label, s string) {
		if s = strings.TrimSpace(s); s != "" && s != "~" {
			if label != "" {
				s = label + ": " + s
			}
			out = append(out, s)
		}
	}
	add("", p.text("error"))
	add("", p.text("message"))
	if e := p.get("error"); e != nil && len(e.block) > 0 {
		if m := p.sub("error", "message"); m != "" {
			m = strings.TrimPrefix(m, `"`)
			out = out[:0]
			add("", m)
		}
	}
	if len(out) == 0 || !strings.Contains(out[0], "==") {
		if len(out) == 0 || p.get("duration_ms") == nil {
			add("operator", p.text("operator"))
			add("compare", p.text("compare"))
			add("expected", p.text("expected"))
			add("actual", p.text("actual"))
			add("found", p.text("found"))
			add("wanted", p.text("wanted"))
			add("got", p.text("got"))
		}
	}
	add("", p.text("diff"))
	add("", p.text("details"))
	if len(out) == 0 && len(p.extra) > 0 {
		var lines []string
		for _, l := range p.extra {
			if isFrame(l) {
				continue
			}
			lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(l, "#"), " "))
		}
		return message(lines...)
	}
	return message(strings.Split(strings.Join(out, "\n"), "\n")...)
}

// tapeGroups gives tape's points the title of their test, which stands in the
// comment before them.
func tapeGroups(t *Text, d *tapDoc) {
	group, next := "", 0
	for i := range d.points {
		p := &d.points[i]
		for ; next < p.line; next++ {
			if s, ok := strings.CutPrefix(t.Line(next), "# "); ok && !isTotals(s) {
				group = s
			}
		}
		if group != "" && len(p.path) == 0 {
			p.path = []string{group}
		}
		next = p.line
	}
}

// isTotals recognises the closing comments of a stream.
func isTotals(s string) bool {
	for _, w := range []string{"tests ", "pass ", "fail ", "skip ", "todo "} {
		if rest, ok := strings.CutPrefix(s, w); ok {
			if _, r, ok := leadingInt(strings.TrimSpace(rest)); ok && r == "" {
				return true
			}
		}
	}
	return s == "ok"
}

// tapVerdict decides the state of a stream without totals to go by.
func tapVerdict(t *Text, d tapDoc, f *finding) {
	ran := val(f.Tests.Passed) + val(f.Tests.Failed) + val(f.Tests.Todo)
	total := ran + val(f.Tests.Skipped)
	switch {
	case d.bail:
		f.suite(SuiteFailure{Kind: SuiteUncaught, Message: message("Bail out! " + d.bailed)})
		f.worse(StateDidNotFinish)
	case total == 0 && d.plans > 0 && d.planned == 0:
		f.worse(StateNoTests)
	case d.plans == 0:
		f.worse(StateDidNotFinish)
		f.note("the TAP stream has no plan: it breaks off")
	case d.top < d.planned && t.dropped["ok"] == 0:
		f.worse(StateDidNotFinish)
		f.note("fewer results than the plan says")
	case val(f.Tests.Failed) > 0 || len(f.Failures) > 0 || len(f.Suites) > 0:
		f.worse(StateFailed)
	case total == 0 || val(f.Tests.Passed) == 0 && ran == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
	if f.State == StateDidNotFinish {
		f.Tests = Counts{}
	}
}
