package runners

import "strings"

var (
	ldUndefined = lazy("^(?:(?:\\S*ld(?:\\.\\w+)?|\\S*/ld\\S*): )?(?:(.+?):)?(?:(\\d+):|\\(\\.[\\w.]+\\+0x[0-9a-f]+\\):|function .*?:) ?(?:error: )?((?:more )?undefined reference to .*|multiple definition of .*)$")
	ldOther     = lazy(`^(?:\S*/)?(?:x86_64\S*-|aarch64\S*-)?(?:ld(?:\.\w+)?|mold|collect2|lld-link|LINK)(?: ?): (?:fatal error:? |error: )?(.+)$`)
	lldRef      = lazy(`^>>> referenced by (\S+?):(\d+)`)
	msvcError   = lazy(`^\s*(.+?)\((\d+)(?:,(\d+))?\) ?: (?:fatal )?error ([A-Z]+\d+): (.*)$`)
	makeError   = lazy(`^(?:g?make|mingw32-make|remake)(?:\[\d+\])?: \*\*\* (.+)$`)
	makeIgnored = lazy(`^(?:g?make)(?:\[\d+\])?: \[(.+)\] (Error \d+|.*) \(ignored\)$`)
	makeFile    = lazy(`^(\S*[Mm]akefile\S*|\S+\.mk):(\d+): \*\*\* (.+)$`)
	makeRecipe  = lazy(`^\[(?:(.+?):(\d+): )?(.+)\] (.+)$`)
	makeStatus  = lazy(`^([^\s\d()]+) (\d+)(?: \(.*\))?$`) // "Error 1" in any language; a signal has no number
	makeMissing = lazy(`^(?:g?make)(?:\[\d+\])?: (.+): (?:Command not found|No such file or directory|Permission denied)$`)
	cmakeError  = lazy(`^CMake Error(?: (?:at|in) (.+?)(?::(\d+))?(?: \((\w+)\))?)?: ?(.*)$`)
	cmakeFailed = lazy(`^-- Configuring incomplete, errors occurred!`)
	ccCount     = lazy(`^(?:\d+ warnings? and )?\d+ errors? generated\.$`)
	ninjaFailed = lazy(`^(?:ninja: (?:error: |fatal: |build stopped: )(.+)|FAILED: (.+))$`)
)

// The C and C++ tools share one reader, because one output usually holds
// several: a make over a compiler over a linker. The names tell which is outermost.
func ccParsers() []parser {
	entry := func(name string, bonus int, marks []string, sniff func(t *Text) bool) parser {
		return parser{name: name, kind: kindBuild, marks: marks, parse: ccParse, sniff: func(t *Text) match {
			if sniff(t) {
				return t.all(scoreSure + bonus)
			}
			return match{}
		}}
	}
	return []parser{
		entry("cmake", 8, []string{"CMake Error", "-- Configuring done", "-- Configuring incomplete", "-- Build files have been written to"}, func(t *Text) bool {
			return lastMatch(t, cmakeError()) >= 0 || lastMatch(t, cmakeFailed()) >= 0 || (t.ExitBad() || t.ExitOK()) && t.FindPrefix("-- Build files have been", 0) >= 0
		}),
		entry("make", 6, []string{": *** ", "(ignored)", "make: ", "make["}, func(t *Text) bool {
			return lastMatch(t, makeError()) >= 0 || lastMatch(t, makeFile()) >= 0 || lastMatch(t, makeIgnored()) >= 0
		}),
		entry("ninja", 5, []string{"ninja: ", "FAILED: "}, func(t *Text) bool { return t.FindPrefix("ninja: ", 0) >= 0 }),
		entry("cc", 2, []string{": error: ", ": fatal error: ", ": warning: ", ": error C", "error generated.", "errors generated."}, ccSniff),
		entry("ld", 0, []string{"undefined reference", "undefined symbol", "multiple definition", "ld: ", "ld returned", "symbol(s) not found"}, func(t *Text) bool {
			return t.HasAny("undefined reference to ", "ld: cannot find ", "multiple definition of ", "ld: error: ", "undefined symbol: ", "Undefined symbols for architecture", "ld returned ")
		}),
	}
}

var ccSuffixes = []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx", ".m", ".mm", ".cu", ".S", ".s", ".inc", ".ipp", ".f90", ".swift", ".proto", ".y", ".l"}

func ccSniff(t *Text) bool {
	for _, l := range t.lines {
		if !strings.Contains(l, "error") && !strings.Contains(l, "warning: ") {
			continue
		}
		if d, ok := parseDiag(l); ok && d.severity != "" && ccFile(d.file) {
			return true
		}
		if strings.Contains(l, "error C") && msvcError().MatchString(l) ||
			strings.HasPrefix(l, "cc1: ") || strings.HasPrefix(l, "clang: error: ") || strings.HasPrefix(l, "gcc: ") || strings.HasPrefix(l, "g++: ") || strings.HasPrefix(l, "cc: ") ||
			strings.HasSuffix(l, " generated.") && ccCount().MatchString(l) {
			return true
		}
	}
	return false
}

func ccFile(f string) bool {
	for _, s := range ccSuffixes {
		if strings.HasSuffix(f, s) {
			return true
		}
	}
	return false
}

func ccParse(t *Text, f *finding) {
	var rest ccRest
	for i := 0; i < t.Len(); i++ {
		if l := t.lines[i]; l != "" && !ccDiag(t, f, l) && !ccLink(t, f, i, &rest) {
			ccMake(t, f, i, &rest)
		}
	}
	ccVerdict(t, f, rest)
}

// ccRest is what the wrappers say; it counts when no compiler says more.
type ccRest struct {
	errors  []BuildError
	ignored []string
	crashed bool
	tests   bool // the failed make target is a test run
	driver  string
}

func ccVerdict(t *Text, f *finding, rest ccRest) {
	if len(f.BuildErrors) == 0 {
		for _, e := range rest.errors {
			if len(f.BuildErrors) > 0 && strings.HasPrefix(e.Message, "target ") && strings.HasSuffix(e.Message, ": Error 2") {
				continue // a make around the one that has said it
			}
			f.buildOnce(e)
		}
		if rest.crashed {
			f.worse(StateDidNotFinish)
		}
		if rest.tests && len(f.BuildErrors) > 0 {
			f.worse(StateFailed)
			f.suite(SuiteFailure{Kind: SuiteUncaught, Message: f.BuildErrors[0].Message})
			f.BuildErrors = nil
			return
		}
	}
	if len(rest.ignored) > 0 && len(f.BuildErrors) == 0 {
		f.worse(StateFailed)
		f.suite(SuiteFailure{Kind: SuiteUncaught, Message: "make ignored an error: " + strings.Join(rest.ignored, "; ")})
		return
	}
	bad := rest.driver
	for _, p := range []*pattern{ccCount(), cmakeFailed()} {
		if l := saying(t, p, nil); l != "" {
			bad = l
		}
	}
	f.verdict(t, t.SilentOK(), bad)
}

// ccDiag reads a compiler's message.
func ccDiag(t *Text, f *finding, l string) bool {
	if strings.Contains(l, "error") {
		if d, ok := parseDiag(l); ok && isError(d.severity) {
			f.buildOnce(d.buildError(t))
			return true
		}
		if m := msvcError().FindStringSubmatch(l); m != nil {
			f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: m[4] + ": " + m[5]})
			return true
		}
	}
	return false
}

// ccLink reads linkers and compiler drivers.
func ccLink(t *Text, f *finding, i int, rest *ccRest) bool {
	l := t.lines[i]
	if strings.Contains(l, "undefined reference to ") || strings.Contains(l, "multiple definition of ") {
		if m := ldUndefined().FindStringSubmatch(l); m != nil {
			file := m[1]
			if j := strings.LastIndex(file, ".o:"); j >= 0 {
				file = file[j+3:]
			}
			if strings.HasSuffix(file, ".o") || strings.HasSuffix(file, "collect2") {
				file = ""
			}
			f.buildOnce(BuildError{File: t.path(file), Line: atoi(m[2]), Message: m[3]})
			return true
		}
	}
	if strings.HasPrefix(l, "Undefined symbols for architecture") {
		f.buildOnce(BuildError{Message: message(l, t.Line(i+1), t.Line(i+2))})
		return true
	}
	if m := ldOther().FindStringSubmatch(l); m != nil {
		msg := m[1]
		switch {
		case strings.HasPrefix(msg, "ld returned"), strings.Contains(msg, ": in function "), strings.HasPrefix(msg, "warning: "), strings.Contains(msg, ": warning: "),
			strings.HasPrefix(msg, "symbol(s) not found"):
			if rest.driver == "" && (strings.HasPrefix(msg, "ld returned") || strings.HasPrefix(msg, "symbol(s)")) {
				rest.driver = l
			}
			return true
		}
		e := BuildError{Message: msg}
		for j := i + 1; j < i+4; j++ {
			if r := lldRef().FindStringSubmatch(t.Line(j)); r != nil {
				e.File, e.Line = t.path(r[1]), atoi(r[2])
				break
			}
		}
		f.buildOnce(e)
		return true
	}
	for _, p := range []string{"clang: error: ", "gcc: fatal error: ", "gcc: error: ", "g++: error: ", "g++: fatal error: ", "cc: error: ", "cc: fatal error: ", "cc1: error: ", "cc1: fatal error: ", "cc1plus: fatal error: ", "cc1plus: error: ", "clang++: error: "} {
		if s, ok := strings.CutPrefix(l, p); ok {
			if !strings.HasPrefix(s, "linker command failed") {
				f.buildOnce(BuildError{Message: s})
			} else if rest.driver == "" {
				rest.driver = s
			}
			return true
		}
	}
	return false
}

// ccMake reads make, ninja and cmake.
func ccMake(t *Text, f *finding, i int, rest *ccRest) {
	l := t.lines[i]
	switch {
	case strings.HasPrefix(l, "CMake Error"):
		m := cmakeError().FindStringSubmatch(l)
		if m == nil {
			return
		}
		lines := []string{m[4]}
		for j := i + 1; strings.HasPrefix(t.Line(j), "  ") || t.Line(j) == "" && strings.HasPrefix(t.Line(j+1), "  "); j++ {
			lines = append(lines, t.Line(j))
		}
		f.buildOnce(BuildError{File: t.path(m[1]), Line: atoi(m[2]), Message: message(lines...)})
	case strings.Contains(l, "*** "):
		makeLine(t, l, rest)
	case strings.HasSuffix(l, "(ignored)"):
		if m := makeIgnored().FindStringSubmatch(l); m != nil {
			rest.ignored = append(rest.ignored, m[1]+": "+m[2])
		}
	case strings.HasPrefix(l, "ninja: ") || strings.HasPrefix(l, "FAILED: "):
		if m := ninjaFailed().FindStringSubmatch(l); m != nil {
			rest.errors = append(rest.errors, BuildError{Message: l})
		}
	default:
		if m := makeMissing().FindStringSubmatch(l); m != nil {
			rest.errors = append(rest.errors, BuildError{Message: strings.TrimSpace(l[strings.Index(l, ":")+1:])})
		}
	}
}

func makeLine(t *Text, l string, rest *ccRest) {
	if m := makeFile().FindStringSubmatch(l); m != nil {
		rest.errors = append(rest.errors, BuildError{File: t.path(m[1]), Line: atoi(m[2]), Message: m[3]})
		return
	}
	m := makeError().FindStringSubmatch(l)
	if m == nil {
		return
	}
	r := makeRecipe().FindStringSubmatch(m[1])
	if r == nil {
		rest.errors = append(rest.errors, BuildError{Message: strings.TrimSuffix(m[1], "  Stop.")})
		return
	}
	status := makeStatus().FindStringSubmatch(r[4])
	if status != nil && status[2] == "2" && strings.Contains(l, "make[") {
		return // a make within make: the inner one has said it
	}
	target := strings.ToLower(r[3])
	rest.tests = rest.tests || strings.Contains(target, "test") || strings.Contains(target, "check")
	rest.crashed = rest.crashed || status == nil
	rest.errors = append(rest.errors, BuildError{File: t.path(r[1]), Line: atoi(r[2]), Message: "target " + r[3] + ": " + r[4]})
}
