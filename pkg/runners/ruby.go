package runners

import "strings"

var (
	// rubyError is the head of an uncaught exception; Ruby before 3.4 opens the
	// method with a backquote.
	rubyError = lazy("^(?:\\S+: )?(\\S+?):(\\d+):in [`'](.*?)': (.*?)(?: \\(([A-Z][\\w:]*)\\))?$")
	// rubySyntaxAt is one message of the parser.
	rubySyntaxAt = lazy(`^(?:\S+:\d+:in [^ ]+ )?(?:\S+: )??(\S+?\.\w+):(\d+): (syntax error.*|.*\(SyntaxError\))$`)
)

// rubyFrames reads backtrace lines "path:12:in `m'".
func rubyFrames(lines []string) []frame {
	var out []frame
	for _, l := range lines {
		l = strings.TrimSpace(l)
		l = strings.TrimPrefix(strings.TrimPrefix(l, "from "), "# ")
		if fr, _, ok := cutPos(l); ok {
			out = append(out, fr)
		}
	}
	return out
}

// rubySyntax adds the syntax errors among lines; false when there is none.
func rubySyntax(t *Text, lines []string, f *finding) bool {
	found := false
	for _, l := range lines {
		s := strings.TrimSpace(l)
		if !strings.Contains(s, "syntax error") && !strings.Contains(s, "(SyntaxError)") {
			continue
		}
		if i := strings.Index(s, ": /"); i > 0 && strings.Contains(s[:i], ":in ") {
			s = s[i+2:]
		}
		m := rubySyntaxAt().FindStringSubmatch(s)
		if m == nil {
			continue
		}
		found = true
		f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Message: strings.TrimSuffix(m[3], " (SyntaxError)")})
	}
	return found
}

// rubyCrash is one uncaught exception.
type rubyCrash struct {
	at    int // line index
	class string
	Failure
}

// rubyExceptions finds uncaught exceptions from line from on.
func rubyExceptions(t *Text, from int) []rubyCrash {
	var out []rubyCrash
	for i := max(from, 0); i < t.Len(); i++ {
		l := t.lines[i]
		if !strings.Contains(l, ":in ") || strings.HasPrefix(l, "\t") {
			continue
		}
		m := rubyError().FindStringSubmatch(l)
		if m == nil {
			continue
		}
		body, end := t.block(i+1, func(l string) bool {
			return l != "" && l[0] != '\t' && l[0] != ' ' && strings.Contains(l, ":in ") && rubyError().MatchString(l)
		})
		c := rubyCrash{at: i, class: m[5]}
		msg := []string{m[4]}
		frames := []frame{{m[1], atoi(m[2])}}
		for _, b := range body {
			if s, ok := strings.CutPrefix(b, "\tfrom "); ok {
				frames = append(frames, rubyFrames([]string{s})...)
				continue
			}
			if len(frames) == 1 && c.class == "" {
				if k := strings.LastIndex(b, " ("); k > 0 && strings.HasSuffix(b, ")") && camel(b[k+2:len(b)-1]) {
					c.class, b = b[k+2:len(b)-1], b[:k]
				}
				msg = append(msg, b)
			}
		}
		if c.class == "" && len(frames) == 1 {
			continue
		}
		fr := t.firstOwn(frames)
		text := message(msg...)
		if c.class != "" {
			text = c.class + ": " + text
		}
		c.Failure = Failure{File: fr.file, Line: fr.line, Message: text}
		out = append(out, c)
		i = end - 1
	}
	return out
}

// rubyUncaught adds an exception that came after the summary of a test run.
func rubyUncaught(t *Text, from int, f *finding) {
	if found := rubyExceptions(t, from); len(found) > 0 {
		c := found[0]
		if strings.HasPrefix(c.File, ".") && !strings.HasPrefix(c.File, "./") && !strings.HasPrefix(c.File, "../") {
			c.File = strings.TrimLeft(c.File, ".") // glued to the progress dots
		}
		f.worse(StateFailed)
		f.suite(SuiteFailure{Kind: SuiteUncaught, File: c.File, Line: c.Line, Message: c.Message})
	}
}

func rubyCrashParser() parser {
	return parser{
		name: "ruby", kind: kindCrash, marks: []string{":in `", ":in '", "syntax error", "(SyntaxError)", "(LoadError)", ": [BUG] "},
		sniff: func(t *Text) match {
			if t.Has(": [BUG] ") {
				return t.all(scoreSure)
			}
			if t.Has("(SyntaxError)") || t.Has(": syntax error, ") && t.Has(".rb:") || len(rubyExceptions(t, 0)) > 0 {
				return t.all(scoreLikely)
			}
			return match{}
		}, parse: rubyParse,
	}
}

// rubyParse reads a Ruby program that did not load or died.
func rubyParse(t *Text, f *finding) {
	if rubySyntax(t, t.lines, f) {
		f.State = StateBuildFailed
		return
	}
	if i := t.Find(": [BUG] ", 0); i >= 0 {
		place, what, _ := strings.Cut(t.Line(i), ": [BUG] ")
		x := Failure{Message: "[BUG] " + what}
		if p, l, _, ok := splitPos(place); ok {
			x.File, x.Line = t.path(p), l
		}
		f.fail(x)
		f.worse(StateDidNotFinish)
		return
	}
	ex := rubyExceptions(t, 0)
	if len(ex) == 0 {
		return
	}
	c := ex[0]
	if c.class == "LoadError" {
		f.State = StateBuildFailed
		f.build(BuildError{File: c.File, Line: c.Line, Message: c.Message})
		return
	}
	f.fail(c.Failure)
	f.crashed(t, c.at)
}
