package runners

import (
	"strconv"
	"strings"
)

var (
	webpackError  = lazy(`^ERROR in (?:(\S+)(?: (\d+):(\d+)(?:-\d+(?::\d+)?)?)?)?\s*$`)
	webpackTsAt   = lazy(`^(?:\[tsl\] ERROR in )?(\S+?)[:(](\d+)[:,](\d+)\)?`)
	webpackDone   = lazy(`^webpack [\d.]+ compiled (.*)$`)
	esbuildError  = lazy(`^✘ \[ERROR\] (.*)$`)
	esbuildPlace  = lazy(`^\s+(\S.*?):(\d+):(\d+):$`)
	rolldownPlace = lazy(`[╭┌]─\[ ?(.+?):(\d+):(\d+) ?\]`)
	rollupPlace   = lazy(`^(?:file: )?(\S+?):(\d+):(\d+)(?: .*)?$`)
	rollupAt      = lazy(`^(?:\w*Error: )?(\S+\.\w+) \((\d+):(\d+)\)`)
	rollupFrom    = lazy(`Could not resolve ".*?" from "(.+?)"`)
	viteBracket   = lazy(`^\[([A-Z_]+)\] (?:Error: )?(.*)$`)
	rollupError   = lazy(`^\[!\] (.*)$`)
)

func itoa(n int) string { return strconv.Itoa(n) }

func bundlerParsers() []parser {
	return []parser{
		{name: "webpack", kind: kindBuild, marks: []string{"webpack ", "[webpack-cli]", "ERROR in "}, parse: webpackParse, sniff: func(t *Text) match {
			if t.FindPrefix("[webpack-cli] ", 0) >= 0 && t.ExitBad() {
				return t.all(scoreSure)
			}
			if lastMatch(t, webpackDone()) >= 0 || lastMatch(t, webpackError()) >= 0 && t.HasAny("Module not found", "Module parse failed", "Module build failed", "TS") {
				return t.all(scoreCertain + 1)
			}
			return match{}
		}},
		{name: "vite", kind: kindBuild, marks: []string{"vite v", "error during build:", "vite build"}, parse: viteParse, sniff: func(t *Text) match {
			if t.FindPrefix("vite v", 0) >= 0 || t.FindPrefix("error during build:", 0) >= 0 {
				return t.all(scoreCertain)
			}
			return match{}
		}},
		{name: "rollup", kind: kindBuild, marks: []string{"[!] ", "\ncreated ", " → "}, parse: viteParse, sniff: func(t *Text) match {
			if lastMatch(t, rollupError()) >= 0 || t.FindPrefix("created ", 0) >= 0 && t.Has(" → ") {
				return t.all(scoreSure)
			}
			return match{}
		}},
		{name: "esbuild", kind: kindBuild, marks: []string{"✘ [ERROR] ", "⚡ Done in "}, parse: esbuildParse, sniff: func(t *Text) match {
			if lastMatch(t, esbuildError()) >= 0 || t.FindPrefix("⚡ Done in ", 0) >= 0 {
				return t.all(scoreSure)
			}
			return match{}
		}},
	}
}

func webpackParse(t *Text, f *finding) {
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		if !strings.HasPrefix(l, "ERROR in ") {
			continue
		}
		e := BuildError{}
		var first []string
		if m := webpackError().FindStringSubmatch(l); m != nil {
			if strings.ContainsAny(m[1], "./") { // else the name of an entry
				e.File = t.path(m[1])
			}
			e.Line, e.Col = atoi(m[2]), atoi(m[3])
		} else {
			first = []string{strings.TrimPrefix(l, "ERROR in ")}
		}
		body, next := t.block(i+1, func(l string) bool {
			return blank(l) || strings.HasPrefix(l, "ERROR in ") || strings.HasPrefix(l, "WARNING in ") || webpackDone().MatchString(l)
		})
		i = next - 1
		if len(body) > 0 {
			if m := webpackTsAt().FindStringSubmatch(body[0]); m != nil && e.Line == 0 {
				e.File, e.Line, e.Col = t.path(m[1]), atoi(m[2]), atoi(m[3])
			}
		}
		for _, b := range body {
			if strings.HasPrefix(b, "resolve ") || strings.HasPrefix(b, " @ ") || strings.HasPrefix(b, "    at ") || strings.HasPrefix(b, "You may need ") {
				break
			}
			first = append(first, b)
		}
		e.Message = message(first...)
		f.buildOnce(e)
	}
	if i := t.FindPrefix("[webpack-cli] ", 0); i >= 0 && len(f.BuildErrors) == 0 && t.ExitBad() {
		f.build(BuildError{Message: strings.TrimPrefix(t.Line(i), "[webpack-cli] ")})
	}
	bad := saying(t, webpackDone(), func(m []string) bool { return strings.Contains(m[1], " error") })
	f.verdict(t, lastMatch(t, webpackDone()) >= 0, bad)
}

// viteParse reads vite and rollup: one error, its place in a code frame or a
// "file:" line; esbuild's form when that did the transform.
func viteParse(t *Text, f *finding) {
	start := t.FindPrefix("error during build:", 0)
	if start < 0 {
		start = lastMatch(t, rollupError()) - 1
	}
	if start < -1 {
		start = -1
	}
	if start >= 0 || lastMatch(t, rollupError()) == 0 {
		esbuildErrors(t, start+1, f)
		if len(f.BuildErrors) == 0 {
			viteError(t, start+1, f)
		}
	}
	f.verdict(t, start < 0 && (t.Has("✓ built in") || t.FindPrefix("created ", 0) >= 0), "")
}

func viteError(t *Text, from int, f *finding) {
	var e BuildError
	var head []string
	flush := func() {
		if len(head) > 0 {
			e.Message = message(head...)
			f.buildOnce(e)
		}
		e, head = BuildError{}, nil
	}
	for i := from; i < t.Len(); i++ {
		l := t.lines[i]
		if strings.HasPrefix(strings.TrimSpace(l), "at ") {
			break
		}
		if m := viteBracket().FindStringSubmatch(l); m != nil {
			flush()
			head = append(head, l)
			continue
		}
		if m := rolldownPlace().FindStringSubmatch(l); m != nil && e.File == "" {
			e.File, e.Line, e.Col = t.path(m[1]), atoi(m[2]), atoi(m[3])
			continue
		}
		if m := rollupPlace().FindStringSubmatch(l); m != nil && e.File == "" {
			e.File, e.Line, e.Col = t.path(m[1]), atoi(m[2]), atoi(m[3])
			continue
		}
		if p, ok := strings.CutPrefix(l, "file: "); ok && e.File == "" {
			e.File = t.path(p)
			continue
		}
		if s, ok := strings.CutPrefix(l, "[!] "); ok {
			l = s
		}
		if m := rollupAt().FindStringSubmatch(l); m != nil && e.File == "" {
			e.File, e.Line, e.Col = t.path(m[1]), atoi(m[2]), atoi(m[3])
		} else if m := rollupFrom().FindStringSubmatch(l); m != nil && e.File == "" {
			e.File = t.path(m[1])
		}
		if len(head) == 0 && !blank(l) && !strings.HasPrefix(l, "Build failed with ") {
			head = append(head, l)
		}
	}
	flush()
}

func esbuildParse(t *Text, f *finding) {
	esbuildErrors(t, 0, f)
	f.verdict(t, t.FindPrefix("⚡ Done in ", 0) >= 0, "")
}

func esbuildErrors(t *Text, from int, f *finding) {
	for i := from; i < t.Len(); i++ {
		m := esbuildError().FindStringSubmatch(t.lines[i])
		if m == nil {
			continue
		}
		e := BuildError{Message: m[1]}
		for j := i + 1; j < min(i+6, t.Len()) && !strings.HasPrefix(t.lines[j], "✘"); j++ {
			if p := esbuildPlace().FindStringSubmatch(t.lines[j]); p != nil {
				e.File, e.Line, e.Col = t.path(p[1]), atoi(p[2]), atoi(p[3])
				break
			}
		}
		f.buildOnce(e)
	}
}
