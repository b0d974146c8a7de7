package runners

import "strings"

var (
	sanHead   = lazy(`(?:==\d+==)?(ERROR|WARNING): (\w+Sanitizer): (.*)$`)
	sanFrame  = lazy(`^\s+#\d+ (?:0x[0-9a-f]+ )?(?:in )?(.+?) (\S+?):(\d+)(?::\d+)?(?: \(.*\))?$`)
	sanSum    = lazy(`^SUMMARY: (\w+Sanitizer): (.*)$`)
	sanPlace  = lazy(`(\S+?\.\w+):(\d+)(?::\d+)?(?: in (\S+))?$`)
	ubsanLine = lazy(`^(.+?):(\d+):(\d+): runtime error: (.*)$`)
	vgLine    = lazy(`^==\d+== ?(.*)$`)
	vgFrame   = lazy(`^ +(?:at|by) 0x[0-9A-F]+: (.+?) \((\S+?):(\d+)\)$`)
	vgSummary = lazy(`^ERROR SUMMARY: ([\d,]+) errors? from`)
	vgSignal  = lazy(`Process terminating with default action of signal (\d+) \((\w+)\)`)
)

func sanitizerParser() parser {
	return parser{
		name: "sanitizer", kind: kindCrash, marks: []string{"Sanitizer: ", ": runtime error: "},
		sniff: func(t *Text) match {
			if lastMatch(t, sanHead()) >= 0 || lastMatch(t, ubsanLine()) >= 0 {
				return t.all(scoreCertain)
			}
			return match{}
		}, parse: sanitizerParse,
	}
}

func sanitizerParse(t *Text, f *finding) {
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		if strings.Contains(l, ": runtime error: ") {
			if m := ubsanLine().FindStringSubmatch(l); m != nil {
				f.fail(Failure{File: t.path(m[1]), Line: atoi(m[2]), Message: m[4]})
				f.worse(StateFailed)
				continue
			}
		}
		m := sanHead().FindStringSubmatch(l)
		if m == nil || !strings.Contains(l, "Sanitizer: ") {
			continue
		}
		body, next := t.block(i+1, func(l string) bool {
			return strings.HasPrefix(l, "SUMMARY: ") || strings.HasPrefix(l, "Shadow bytes around")
		})
		i = next - 1
		x := Failure{Message: m[2] + ": " + m[3]}
		if len(body) > 0 && !strings.HasPrefix(strings.TrimSpace(body[0]), "#") && !blank(body[0]) {
			x.Message += "\n" + strings.TrimSpace(body[0])
		}
		fr := t.firstOwn(sanFrames(body))
		if s := sanSum().FindStringSubmatch(t.Line(next)); s != nil && fr.file == "" {
			if p := sanPlace().FindStringSubmatch(s[2]); p != nil && !foreign(p[1]) {
				fr = frame{t.path(p[1]), atoi(p[2])}
			}
		}
		x.File, x.Line = fr.file, fr.line
		f.fail(x)
		if m[2] == "ThreadSanitizer" || m[2] == "LeakSanitizer" {
			f.worse(StateFailed) // the program ran to its end
		} else {
			f.worse(StateDidNotFinish)
		}
	}
}

func sanFrames(lines []string) (out []frame) {
	for _, l := range lines {
		if m := sanFrame().FindStringSubmatch(l); m != nil && !strings.Contains(m[2], "../sysdeps/") && !strings.Contains(m[2], "libsanitizer/") && !strings.HasPrefix(m[2], "../csu/") && !strings.Contains(m[2], "compiler-rt/") {
			out = append(out, frame{m[2], atoi(m[3])})
		}
	}
	return out
}

func valgrindParser() parser {
	return parser{
		name: "valgrind", kind: kindCrash, marks: []string{"== ERROR SUMMARY: ", "== Memcheck, ", "== Helgrind, ", "using Valgrind", "==    at 0x"},
		sniff: func(t *Text) match {
			if t.HasAny("== ERROR SUMMARY: ", "== Memcheck, a memory", "== Using Valgrind-") {
				return t.all(scoreCertain - 1)
			}
			if i := t.Find("==    at 0x", 0); i > 0 && strings.HasPrefix(t.Line(i), "==") {
				return t.all(scoreLikely) // valgrind -q
			}
			return match{}
		}, parse: valgrindParse,
	}
}

// valgrindParse reads memcheck and its siblings: an error is an unindented line
// that frames follow; a block freed or allocated elsewhere explains it.
func valgrindParse(t *Text, f *finding) {
	errors, summary, killed := 0, false, ""
	for i := 0; i < t.Len(); i++ {
		l, ok := vgText(t.lines[i])
		if !ok {
			continue
		}
		if m := vgSummary().FindStringSubmatch(l); m != nil {
			errors, summary = errors+atoi(m[1]), true
			continue
		}
		if m := vgSignal().FindStringSubmatch(l); m != nil {
			killed = m[2]
		}
		next, ok := vgText(t.Line(i + 1))
		if !ok || blank(l) || strings.HasPrefix(l, "  ") || !strings.HasPrefix(strings.TrimSpace(next), "at 0x") {
			continue
		}
		var frames []frame
		j := i + 1
		for ; j < t.Len(); j++ {
			b, ok := vgText(t.lines[j])
			if !ok || blank(b) || strings.HasPrefix(b, "  If you believe ") || !strings.HasPrefix(b, " ") {
				break
			}
			if m := vgFrame().FindStringSubmatch(b); m != nil {
				frames = append(frames, frame{m[2], atoi(m[3])})
			} else if !strings.HasPrefix(strings.TrimSpace(b), "at 0x") && !strings.HasPrefix(strings.TrimSpace(b), "by 0x") {
				l += "\n" + strings.TrimSpace(b)
			}
		}
		fr := t.firstOwn(frames)
		f.fail(Failure{File: fr.file, Line: fr.line, Message: strings.TrimSpace(l)})
		i = j - 1
	}
	switch {
	case killed != "":
		f.note("valgrind: the process was ended by " + killed)
		f.worse(StateDidNotFinish)
	case errors > 0 || !summary && len(f.Failures) > 0:
		f.worse(StateFailed)
	case !summary:
		f.worse(StateDidNotFinish)
	case t.ExitBad():
		f.worse(StateFailed)
	default:
		f.Failures = nil
		f.worse(StatePassed)
	}
}

func vgText(l string) (string, bool) {
	if !strings.HasPrefix(l, "==") {
		return "", false
	}
	m := vgLine().FindStringSubmatch(l)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// memoryBeside adds what a sanitizer or valgrind says around a native test
// program that by its own count may have passed.
func memoryBeside(t *Text, f *finding) {
	for _, p := range []parser{sanitizerParser(), valgrindParser()} {
		if !t.HasAny(p.marks...) || p.sniff(t).score == 0 {
			continue
		}
		var g finding
		p.parse(t, &g)
		if g.State == StatePassed || g.State == StateDidNotFinish && len(g.Failures) == 0 {
			continue
		}
		for _, x := range g.Failures {
			f.suite(SuiteFailure{Kind: SuiteUncaught, Name: p.name, File: x.File, Line: x.Line, Message: x.Message})
		}
		f.worse(g.State)
	}
}
