package runners

import "strings"

var (
	exunitSummary = lazy(`^(?:\d+ (?:doctests?|properties|property|features?), )*(\d+) (tests?|doctests?|property|properties), (\d+) failures?(.*)$`)
	exunitParts   = lazy(`(\d+) (doctests?|properties|property|features?|tests?|skipped|excluded|invalid)`)
	exunitItem    = lazy(`^  +\d+\) (.+?)(?: \(([\w.]+)\)|: failure on setup_all callback.*)$`)
	exunitPlace   = lazy(`^     (\S+\.exs?):(\d+)$`)
	exunitFrame   = lazy(`^\s+(?:\([\w-]+ [\w.-]+\) )?(\S+\.exs?):(\d+): `)
	elixirError   = lazy(`^\*\* \((\w+(?:\.\w+)*)\) (.*)$`)
	elixirAt      = lazy(`^(?:invalid syntax found on )?(\S+\.exs?):(\d+)(?::(\d+))?:? ?(.*)$`)
	elixirNew     = lazy(`^\s+└─ (\S+\.exs?):(\d+)(?::(\d+))?`)
	elixirOld     = lazy(`^  (\S+\.exs?):(\d+)(?::(\d+))?(?:: .*)?$`)
)

func exunitParser() parser {
	return parser{
		name: "exunit", kind: kindTests,
		marks: []string{"Randomized with seed ", "Running ExUnit with seed", "There are no tests to run", "Paths given to ", "Generated ", "== Compilation error in file", "** ("},
		sniff: func(t *Text) match {
			switch {
			case lastMatch(t, exunitSummary()) >= 0 && t.HasAny("Finished in ", "Running ExUnit", "Randomized with seed"):
				return t.all(scoreCertain)
			case t.FindPrefix("There are no tests to run", 0) >= 0, t.FindPrefix("Paths given to \"mix test\" did not match", 0) >= 0, t.FindPrefix("Running ExUnit with seed", 0) >= 0:
				return t.all(scoreSure)
			case t.FindPrefix("== Compilation error in file", 0) >= 0, t.Has(" (.ex)\n"), t.Has(" (.ex)") && t.FindPrefix("Generated ", 0) >= 0:
				return t.all(scoreLikely)
			}
			return match{}
		}, parse: exunitParse,
	}
}

func exunitParse(t *Text, f *finding) {
	elixirBuild(t, f)
	exunitFailures(t, f)
	sum := lastMatch(t, exunitSummary())
	switch {
	case sum >= 0:
		exunitCounts(t, sum, f)
	case t.FindPrefix("There are no tests to run", 0) >= 0, t.FindPrefix("Paths given to \"mix test\"", 0) >= 0:
		f.worse(StateNoTests)
		f.Tests = Counts{Passed: new(0), Failed: new(0)}
	case len(f.BuildErrors) > 0:
		f.worse(StateBuildFailed)
	case strings.Contains(t.Hint.Command, "compile") && t.ExitOK():
		f.worse(StatePassed)
	default:
		f.worse(StateDidNotFinish)
		f.note("no summary line: the run ended before ExUnit did")
	}
}

func exunitCounts(t *Text, sum int, f *finding) {
	m := exunitSummary().FindStringSubmatch(t.Line(sum))
	total, failed := 0, atoi(m[3])
	n := map[string]int{}
	for _, p := range exunitParts().FindAllStringSubmatch(t.Line(sum), -1) {
		switch p[2] {
		case "skipped", "excluded", "invalid":
			n[p[2]] = atoi(p[1])
		default:
			total += atoi(p[1])
		}
	}
	passed := max(total-failed-n["skipped"]-n["excluded"]-n["invalid"], 0)
	f.Tests = Counts{Passed: new(passed), Failed: new(failed), Skipped: new(n["skipped"]), Todo: new(0)}
	for _, k := range []string{"excluded", "invalid"} {
		if n[k] > 0 {
			f.extra(k, n[k])
		}
	}
	switch {
	case failed > 0 || n["invalid"] > 0:
		f.worse(StateFailed)
	case passed == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

func exunitFailures(t *Text, f *finding) {
	for i := 0; i < t.Len(); i++ {
		m := exunitItem().FindStringSubmatch(t.lines[i])
		if m == nil {
			continue
		}
		body, next := t.block(i+1, func(l string) bool { return l != "" && !strings.HasPrefix(l, "     ") })
		i = next - 1
		x := Failure{ID: m[1]}
		var keep []string
		var frames []frame
		trace := false
		for _, l := range body {
			s := strings.TrimSpace(l)
			p := exunitPlace().FindStringSubmatch(l)
			switch {
			case p != nil && x.File == "":
				x.File, x.Line = t.path(p[1]), atoi(p[2])
			case s == "stacktrace:":
				trace = true
			case trace:
				if fr := exunitFrame().FindStringSubmatch(l); fr != nil && !strings.Contains(l, "(ex_unit ") && !strings.Contains(l, "(elixir ") {
					frames = append(frames, frame{fr[1], atoi(fr[2])})
				}
			case strings.HasPrefix(s, "code: "):
			default:
				keep = append(keep, l)
			}
		}
		if fr := t.firstOwn(frames); fr.file != "" {
			x.File, x.Line = fr.file, fr.line
		}
		x.Message = message(keep...)
		if m[2] == "" {
			f.suite(SuiteFailure{Kind: SuiteHook, Name: m[1], File: x.File, Line: x.Line, Message: x.Message})
			continue
		}
		f.fail(x)
	}
}

// elixirBuild reads compile errors in the forms of Elixir before and since 1.15.
func elixirBuild(t *Text, f *finding) {
	for i, l := range t.lines {
		if file, ok := strings.CutPrefix(l, "== Compilation error in file "); ok && strings.HasPrefix(t.Line(i+1), "** (") {
			defer elixirLoad(t, i, strings.TrimSuffix(file, " =="), len(f.BuildErrors), f)
		}
		if m := elixirError().FindStringSubmatch(l); m != nil {
			elixirRaised(t, i, m, f)
			continue
		}
		s := strings.TrimSpace(l)
		msg, isErr := strings.CutPrefix(s, "error: ")
		if !isErr {
			continue
		}
		for j := i + 1; j < min(i+12, t.Len()); j++ {
			m := elixirNew().FindStringSubmatch(t.lines[j])
			if m == nil {
				m = elixirOld().FindStringSubmatch(t.lines[j])
			}
			if m != nil {
				f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: msg})
				break
			}
			if strings.HasPrefix(strings.TrimSpace(t.lines[j]), "error: ") {
				break
			}
		}
	}
}

func elixirRaised(t *Text, i int, m []string, f *finding) {
	switch m[1] {
	case "SyntaxError", "TokenMissingError", "MismatchedDelimiterError", "CompileError", "Code.LoadError":
	default:
		return
	}
	if p := elixirAt().FindStringSubmatch(m[2]); p != nil {
		msg := p[4]
		for j := i + 1; msg == "" && j < i+4; j++ {
			msg = strings.TrimPrefix(strings.TrimSpace(t.Line(j)), "error: ")
		}
		if strings.Contains(msg, "cannot compile module") && len(f.BuildErrors) > 0 {
			return // the errors themselves stand above
		}
		f.buildOnce(BuildError{File: t.path(p[1]), Line: atoi(p[2]), Col: atoi(p[3]), Message: m[1] + ": " + msg})
		return
	}
	f.buildOnce(BuildError{Message: m[1] + ": " + m[2]})
}

func elixirCrashParser() parser {
	return parser{
		name: "elixir", kind: kindCrash, marks: []string{"** ("},
		sniff: func(t *Text) match {
			if lastMatch(t, elixirError()) >= 0 {
				return t.all(scoreLikely)
			}
			return match{}
		},
		parse: func(t *Text, f *finding) {
			elixirBuild(t, f)
			if len(f.BuildErrors) > 0 {
				f.State = StateBuildFailed
				return
			}
			i := lastMatch(t, elixirError())
			body, next := t.block(i+1, func(l string) bool { return l != "" && !strings.HasPrefix(l, "  ") })
			m := elixirError().FindStringSubmatch(t.Line(i))
			x := Failure{Message: m[1] + ": " + m[2]}
			for _, b := range body {
				if fr := exunitFrame().FindStringSubmatch(b); fr != nil && !strings.Contains(b, "(elixir ") && !strings.Contains(b, "(stdlib ") {
					x.File, x.Line = t.path(fr[1]), atoi(fr[2])
					break
				}
			}
			f.fail(x)
			f.crashed(t, next-1)
		},
	}
}

// elixirLoad adds the exception that stopped a file from loading, when no
// compiler message explains it.
func elixirLoad(t *Text, i int, file string, before int, f *finding) {
	if len(f.BuildErrors) > before {
		return
	}
	e := BuildError{File: t.path(file), Message: strings.TrimPrefix(t.Line(i+1), "** ")}
	if m := exunitFrame().FindStringSubmatch(t.Line(i + 2)); m != nil && m[1] == file {
		e.Line = atoi(m[2])
	}
	f.build(e)
}
