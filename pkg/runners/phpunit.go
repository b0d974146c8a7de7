package runners

import "strings"

var (
	phpunitOK      = lazy(`^OK \((\d+) tests?, (\d+) assertions?\)$`)
	phpunitCounts  = lazy(`^Tests: (\d+), Assertions: \d+(.*)\.$`)
	phpunitSection = lazy(`^There (?:was|were) \d+ (.+?)s?:$`)
	phpunitItem    = lazy(`^\d+\) (.+)$`)
	phpunitPlace   = lazy(`^(/.+|[A-Za-z]:\\.+|[\w./-]+\.php):(\d+)$`)
	phpunitPretty  = lazy(`^ [✘✖x] (.+?)(?: \[[\d.]+ m?s\])?$`)
	phpTrace       = lazy(`^#\d+ (?:\{main\}|\[internal function\]|\S+\(\d+\)):?(?: |$)`)
	phpThrown      = lazy(`^([A-Z][\w\\]*: .*) in (/\S+):(\d+)$`)
	phpFatal       = lazy(`^(?:PHP )?(?:Fatal error|Parse error): +(.*?) in (\S+?)(?::(\d+)| on line (\d+))$`)
)

func phpunitParser() parser {
	return parser{
		name: "phpunit", kind: kindTests, marks: []string{"PHPUnit", "phpunit"},
		own: lazy(`^(?:PHPUnit \d|Runtime: |Time: |OK[ ,]|Tests: \d|FAILURES!|ERRORS!|WARNINGS!|No tests executed)`),
		sniff: func(t *Text) match {
			switch {
			case t.FindPrefix("PHPUnit ", 0) >= 0:
				return t.all(scoreCertain)
			case lastMatch(t, phpunitCounts()) >= 0, lastMatch(t, phpunitOK()) >= 0:
				return t.all(scoreSure)
			case lastMatch(t, phpFatal()) >= 0, t.Has("by Sebastian Bergmann"):
				return t.all(scoreSure)
			}
			return match{}
		}, parse: phpunitParse,
	}
}

func phpunitParse(t *Text, f *finding) {
	phpunitFailures(t, f)
	done := phpunitVerdict(t, f)
	phpunitBroken(t, f, done)
	if !done && f.State == "" {
		f.State = StateDidNotFinish
		f.note("no result line: the run ended before PHPUnit did")
	}
}

// phpunitVerdict reads the closing lines; false when there are none.
func phpunitVerdict(t *Text, f *finding) bool {
	if t.FindPrefix("No tests executed!", 0) >= 0 {
		f.State = StateNoTests
		f.Tests = Counts{Passed: new(0), Failed: new(0)}
		return true
	}
	ok, counts := lastMatch(t, phpunitOK()), lastMatch(t, phpunitCounts())
	if ok > counts {
		n := atoi(phpunitOK().FindStringSubmatch(t.Line(ok))[1])
		f.Tests = Counts{Passed: new(n), Failed: new(0), Skipped: new(0), Todo: new(0), Errors: new(0)}
		f.worse(StatePassed)
		if n == 0 {
			f.worse(StateNoTests)
		}
		return true
	}
	if counts < 0 {
		return false
	}
	m := phpunitCounts().FindStringSubmatch(t.Line(counts))
	total, by := atoi(m[1]), map[string]int{}
	for part := range strings.SplitSeq(m[2], ", ") {
		if k, v, cut := strings.Cut(part, ": "); cut {
			by[strings.TrimSpace(k)] = atoi(v)
		}
	}
	failed, errs, skip, todo := by["Failures"], by["Errors"], by["Skipped"], by["Incomplete"]
	passed := max(total-failed-errs-skip-todo, 0)
	f.Tests = Counts{Passed: new(passed), Failed: new(failed), Skipped: new(skip), Todo: new(todo), Errors: new(errs)}
	for _, k := range []string{"Warnings", "Risky", "Deprecations", "Notices"} {
		if by[k] > 0 {
			f.extra(strings.ToLower(k), by[k])
		}
	}
	bad := false
	for i := max(counts-2, 0); i < counts; i++ {
		l := t.lines[i]
		bad = bad || strings.HasPrefix(l, "FAILURES!") || strings.HasPrefix(l, "ERRORS!")
	}
	switch {
	case failed+errs > 0 || bad:
		f.worse(StateFailed)
	case total == 0 || passed == 0:
		f.worse(StateNoTests)
	case t.ExitBad():
		f.worse(StateFailed)
		f.suite(SuiteFailure{Kind: SuiteThreshold, Message: "PHPUnit ends with an error for issues that are no failures:" + m[2]})
	default:
		f.worse(StatePassed)
	}
	return true
}

// phpunitBroken looks for PHP's own fatal errors and files that do not load.
func phpunitBroken(t *Text, f *finding, done bool) {
	for i, l := range t.lines {
		if m := phpFatal().FindStringSubmatch(l); m != nil {
			line := atoi(m[3] + m[4])
			loader := strings.Contains(t.Line(i+2), "FileLoader.php") || strings.Contains(t.Line(i+2), "TestSuiteLoader.php") || strings.Contains(t.Line(i+2), "bootstrap")
			load := loader || strings.Contains(l, "ParseError") || strings.Contains(l, "Parse error") || strings.Contains(m[1], "syntax error")
			switch {
			case load:
				f.buildOnce(BuildError{File: t.path(m[2]), Line: line, Message: strings.TrimPrefix(m[1], "Uncaught ")})
			case !done:
				f.fail(Failure{File: t.path(m[2]), Line: line, Message: m[1]})
				f.worse(StateDidNotFinish)
			}
		}
		if strings.HasPrefix(l, "An error occurred inside PHPUnit.") {
			phpunitInside(t, i, f)
		}
		if !done && (strings.HasPrefix(l, "Cannot open ") || strings.HasPrefix(l, "Could not read ") ||
			strings.HasPrefix(l, "Test file ") || strings.HasPrefix(l, "Test directory ") || strings.HasPrefix(l, "Unknown option ") ||
			strings.HasPrefix(l, "Class ") && strings.Contains(l, "could not be found")) {
			f.worse(StateNoTests)
			f.note(l)
		}
	}
	if len(f.BuildErrors) > 0 {
		f.worse(StateBuildFailed)
	}
}

// phpunitInside reads PHPUnit 10's report of an error while loading tests.
func phpunitInside(t *Text, i int, f *finding) {
	var e BuildError
	for j := i + 1; j < min(i+8, t.Len()); j++ {
		k, v, _ := strings.Cut(t.lines[j], ":")
		switch v = strings.TrimSpace(v); k {
		case "Message":
			e.Message = v
		case "Location":
			if p, l, _, ok := splitPos(v); ok {
				e.File, e.Line = t.path(p), l
			}
		}
	}
	if e.Message != "" {
		f.buildOnce(e)
	}
}

// phpunitFailures reads the numbered lists, or the testdox tree where the lists are missing.
func phpunitFailures(t *Text, f *finding) {
	section, known := "", false
	for i := 0; i < t.Len(); i++ {
		l := t.lines[i]
		if m := phpunitSection().FindStringSubmatch(l); m != nil {
			section, known = m[1], true
			continue
		}
		m := phpunitItem().FindStringSubmatch(l)
		if m == nil || !known || section != "failure" && section != "error" {
			continue
		}
		body, next := t.block(i+1, func(l string) bool {
			return phpunitItem().MatchString(l) || l == "--" || phpunitSection().MatchString(l) || phpunitCounts().MatchString(l) ||
				strings.HasPrefix(l, "FAILURES!") || strings.HasPrefix(l, "ERRORS!")
		})
		x := phpBody(t, body)
		x.ID = m[1]
		f.fail(x)
		i = next - 1
	}
	if !known {
		phpunitTeamcity(t, f)
		phpunitTestdox(t, f)
	}
}

func phpBody(t *Text, body []string) Failure {
	var keep []string
	var frames []frame
	for _, l := range body {
		if l == "Stack trace:" || phpTrace().MatchString(l) {
			continue
		}
		if m := phpThrown().FindStringSubmatch(l); m != nil {
			frames = append(frames, frame{m[2], atoi(m[3])})
			l = m[1]
		}
		if m := phpunitPlace().FindStringSubmatch(strings.TrimSpace(l)); m != nil {
			frames = append(frames, frame{m[1], atoi(m[2])})
			continue
		}
		keep = append(keep, l)
	}
	fr := t.firstOwn(frames)
	return Failure{File: fr.file, Line: fr.line, Message: message(keep...)}
}

// phpunitTestdox reads " ✘ Name" under a class line; the tree is printed twice,
// the second time under "Summary of non-successful tests:".
func phpunitTestdox(t *Text, f *finding) {
	from := max(t.FindPrefix("Summary of ", 0), 0)
	class := ""
	for i := from; i < t.Len(); i++ {
		l := t.lines[i]
		if l != "" && l[0] != ' ' {
			class = strings.TrimSuffix(l, ":")
			if j := strings.Index(class, " ("); j > 0 && strings.HasSuffix(class, ")") {
				class = strings.TrimSuffix(class[j+2:], ")")
			}
			continue
		}
		m := phpunitPretty().FindStringSubmatch(l)
		if m == nil {
			continue
		}
		body, next := t.block(i+1, func(l string) bool { return !strings.HasPrefix(l, "   ") })
		for j, b := range body {
			body[j] = strings.TrimLeft(b, " │┐├┊┴╵╷")
		}
		x := phpBody(t, body)
		x.ID = testdoxID(class, m[1], x.File)
		f.fail(x)
		i = next - 1
	}
}

// testdoxID turns "Calc", "Adds negatives" back into "CalcTest::testAddsNegatives"
// where the file says that the class follows PHPUnit's naming; else the printed
// words are the id.
func testdoxID(class, name, file string) string {
	base := strings.TrimSuffix(file[strings.LastIndexByte(file, '/')+1:], ".php")
	short := class[strings.LastIndexByte(class, '\\')+1:]
	if base != strings.ReplaceAll(short, " ", "")+"Test" && base != short || strings.ContainsFunc(name, func(r rune) bool {
		return r != ' ' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return class + " > " + name
	}
	var b strings.Builder
	for w := range strings.FieldsSeq(name) {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return base + "::test" + b.String()
}

var teamcityAttr = lazy(`(\w+)='((?:[^'|]|\|.)*)'`)

// phpunitTeamcity reads service messages.
func phpunitTeamcity(t *Text, f *finding) {
	var suites []string
	started := map[string]string{} // name → full name, from the last start
	for _, l := range t.lines {
		if !strings.HasPrefix(l, "##teamcity[") {
			continue
		}
		attr := map[string]string{}
		for _, m := range teamcityAttr().FindAllStringSubmatch(l, -1) {
			attr[m[1]] = teamcityText(m[2])
		}
		switch kind, _, _ := strings.Cut(l[len("##teamcity["):], " "); kind {
		case "testStarted":
			if _, full, ok := strings.Cut(attr["locationHint"], `::\`); ok {
				started[attr["name"]] = full
			}
		case "testSuiteStarted":
			suites = append(suites, attr["name"])
		case "testSuiteFinished":
			suites = suites[:max(len(suites)-1, 0)]
		case "testFailed":
			x := phpBody(t, strings.Split(attr["message"]+"\n"+attr["details"], "\n"))
			if strings.HasPrefix(x.Message, "This test did not perform any assertions") || strings.HasPrefix(x.Message, "Test code or tested code ") {
				continue // risky, not failed
			}
			switch n := len(suites); {
			case started[attr["name"]] != "":
				x.ID = started[attr["name"]]
			case n > 0 && !strings.Contains(suites[n-1], "/"):
				x.ID = strings.TrimPrefix(suites[n-1], `\`) + "::" + attr["name"]
			default:
				x.ID = attr["name"]
			}
			f.fail(x)
		}
	}
}

// teamcityText undoes the escapes of service messages.
func teamcityText(s string) string {
	return strings.NewReplacer("|n", "\n", "|r", "", "|'", "'", "||", "|", "|[", "[", "|]", "]").Replace(s)
}

func phpCrashParser() parser {
	return parser{
		name: "php", kind: kindCrash, marks: []string{"Fatal error: ", "Parse error: "},
		sniff: func(t *Text) match {
			if lastMatch(t, phpFatal()) >= 0 {
				return t.all(scoreLikely)
			}
			return match{}
		},
		parse: func(t *Text, f *finding) {
			phpunitBroken(t, f, false)
			if f.State == StateDidNotFinish {
				f.Failures = f.Failures[:1]
			}
		},
	}
}
