package runners

import (
	"regexp"
	"strings"
	"sync"
)

// npm, yarn and pnpm speak when there is no runner to speak for itself: a missing
// script, an install that failed, a module that is not installed.

func sniffNPM(t *Text) match {
	for i := range t.Len() {
		l := t.Line(i)
		if _, ok := npmLine(l); ok || npmMissing(l) || pyNoModule().MatchString(l) || l == "Error: no test specified" {
			return span(scoreLikely, i, t.Len())
		}
	}
	return match{}
}

// npmLine cuts npm's prefix, of version 10 on or before.
func npmLine(l string) (string, bool) {
	for _, p := range []string{"npm error ", "npm ERR! ", " ERR_PNPM_", " ERROR  "} {
		if s, ok := strings.CutPrefix(l, p); ok {
			if p == " ERR_PNPM_" {
				s = "ERR_PNPM_" + s
			}
			return s, p != " ERROR  " || strings.Contains(s, "script")
		}
	}
	return "", false
}

func npmMissing(l string) bool {
	return strings.Contains(l, "ERR_PNPM_NO_SCRIPT") || strings.HasPrefix(l, `error Command "`) && strings.HasSuffix(l, `" not found.`)
}

// pyNoModule: "python3 -m pytest" without pytest.
var pyNoModule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\S*python[\d.]*(?:\.exe)?: No module named (\S+)`)
})

func parseNPM(t *Text, f *finding) {
	var code string
	var said []string
	for i := range t.Len() {
		l := t.Line(i)
		if m := pyNoModule().FindStringSubmatch(l); m != nil {
			f.State = StateDidNotFinish
			f.suite(SuiteFailure{Kind: SuiteLoad, Name: m[1], Message: l})
			f.note("the runner itself is missing: " + l)
			return
		}
		if l == "Error: no test specified" || npmMissing(l) || strings.Contains(l, "Missing script: ") {
			f.State = StateNoTests
			f.note(strings.TrimSpace(l))
			return
		}
		s, ok := npmLine(l)
		if !ok {
			continue
		}
		if c, ok := strings.CutPrefix(s, "code "); ok {
			code = c
			continue
		}
		if strings.HasPrefix(s, "A complete log of this run") || strings.HasPrefix(s, "Usage:") {
			break
		}
		said = append(said, s)
	}
	if code == "" || code == "ELIFECYCLE" || strings.Trim(code, "0123456789") == "" { // a script's own exit code
		if all := strings.Join(said, " "); strings.Contains(all, "ERR_PNPM_RECURSIVE_RUN_") && !strings.Contains(all, " build: ") {
			f.State = StateFailed // a package's script, which speaks for itself
			f.note(all)
		} else if strings.Contains(all, "ERR_PNPM_") {
			f.build(BuildError{Message: message(said...)})
			f.State = StateBuildFailed
		}
		return
	}
	f.State = StateBuildFailed
	f.build(BuildError{Message: message(append([]string{code}, said...)...)})
}
