package runners

import "strings"

var (
	minitestSummary = lazy(`^(\d+) (?:runs|tests), (\d+) assertions, (\d+) failures, (\d+) errors, (\d+) skips`)
	minitestHead    = lazy(`^(?:\s+\d+\) )?(Failure|Error|Skipped):$`)
	minitestID      = lazy(`^(.+?)(?: \[([^\]]*):(\d+)\])?:$`)
)

func minitestParser() parser {
	return parser{
		name: "minitest", kind: kindTests, marks: []string{" assertions, ", "# Running:"},
		own: lazy(`^(?:Run options: |# Running|Finished (?:tests )?in |\d+ (?:runs|tests), )`),
		sniff: func(t *Text) match {
			if lastMatch(t, minitestSummary()) >= 0 {
				return t.all(scoreCertain)
			}
			if t.FindPrefix("# Running:", 0) >= 0 {
				return t.all(scoreSure)
			}
			return match{}
		}, parse: minitestParse,
	}
}

func minitestParse(t *Text, f *finding) {
	minitestFailures(t, f)
	sum := lastMatch(t, minitestSummary())
	if sum < 0 {
		f.State = StateDidNotFinish
		f.note("no summary line: the run ended before minitest did")
		return
	}
	m := minitestSummary().FindStringSubmatch(t.Line(sum))
	total, failed, errs, skips := atoi(m[1]), atoi(m[3]), atoi(m[4]), atoi(m[5])
	f.Tests = Counts{Passed: new(max(total-failed-errs-skips, 0)), Failed: new(failed), Skipped: new(skips), Todo: new(0), Errors: new(errs)}
	switch {
	case failed+errs > 0:
		f.worse(StateFailed)
	case total == 0 || skips == total:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
	if t.ExitBad() && f.State == StatePassed {
		rubyUncaught(t, 0, f)
	}
	if total == 0 && t.ExitBad() {
		rubyParse(t, f)
	}
}

func minitestFailures(t *Text, f *finding) {
	end := func(l string) bool {
		return minitestHead().MatchString(l) || minitestSummary().MatchString(l) || strings.HasPrefix(l, "Finished in ") ||
			strings.HasPrefix(l, "bin/rails test ") || strings.HasPrefix(l, "rails test ") || strings.HasPrefix(l, "rake aborted!")
	}
	from := max(t.LastPrefix("Finished in "), 0) // the list follows; tests may print the like before
	if t.Has("rails test ") {
		from = 0
	}
	for i := from; i < t.Len(); i++ {
		m := minitestHead().FindStringSubmatch(t.lines[i])
		if m == nil {
			continue
		}
		id := minitestID().FindStringSubmatch(t.Line(i + 1))
		if id == nil {
			continue
		}
		body, next := t.block(i+2, end)
		i = next - 1
		if m[1] == "Skipped" {
			continue
		}
		x := Failure{ID: id[1]}
		if id[2] != "" {
			x.File, x.Line = t.path(id[2]), atoi(id[3])
		}
		var keep []string
		var frames []frame
		for _, l := range body {
			if fr, _, ok := cutPos(strings.TrimSpace(l)); ok && strings.HasPrefix(l, "    ") && strings.Contains(l, ":in ") {
				frames = append(frames, fr)
				continue
			}
			keep = append(keep, l)
		}
		if fr := t.firstOwn(frames); x.File == "" && fr.file != "" {
			x.File, x.Line = fr.file, fr.line
		}
		x.Message = message(keep...)
		f.fail(x)
	}
}
