package runners

import "strings"

var (
	mavenCounts = lazy(`^Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?:, Flakes: (\d+))?(.*)$`)
	// "CalcTest.negative -- Time elapsed: 0.005 s <<< FAILURE!" and, before
	// surefire 3, "negative(CalcTest)  Time elapsed: 0.005 s  <<< FAILURE!".
	mavenCase  = lazy(`^(.+?)(?: +-- |  )Time elapsed: [\d.,]+ s(?:ec)?\s+<<< (FAILURE|ERROR)!`)
	mavenOld   = lazy(`^(.+?)\(([\w.$]+)\)$`)
	mavenShort = lazy(`^\s+([\w$.]+)[.>]([^\s:]+):(\d+)(?:->\S+)? (.*)$`)
	mavenJavac = lazy(`^(\S.*?\.(?:java|kt|groovy|scala)):\[(\d+),(\d+)\] (?:error: )?(.*)$`)
)

func mavenParser() parser {
	return parser{
		name: "maven", kind: kindTests, marks: []string{"[INFO] ", "[ERROR] ", "Tests run: ", " T E S T S"},
		sniff: func(t *Text) match {
			switch {
			case t.FindPrefix("[INFO] BUILD SUCCESS", 0) >= 0, t.FindPrefix("[INFO] BUILD FAILURE", 0) >= 0,
				t.FindPrefix("[INFO] Scanning for projects", 0) >= 0:
				return t.all(scoreCertain)
			case t.Has(" T E S T S"), t.FindPrefix("[ERROR] COMPILATION ERROR", 0) >= 0, t.FindPrefix("[ERROR] Tests run: ", 0) >= 0,
				t.Has("org.apache.maven.plugins:"):
				return t.all(scoreSure)
			}
			return match{}
		}, parse: mavenParse,
	}
}

// mavenTag takes "[ERROR] " off a line.
func mavenTag(l string) (tag, rest string) {
	for _, tag := range []string{"INFO", "ERROR", "WARNING"} {
		if s, ok := strings.CutPrefix(l, "["+tag+"] "); ok {
			return tag, s
		}
		if l == "["+tag+"]" {
			return tag, ""
		}
	}
	return "", l
}

func mavenParse(t *Text, f *finding) {
	r := mavenRun{t: t, f: f, seen: map[string]bool{}, methods: map[string][]int{}}
	for i := 0; i < t.Len(); i++ {
		i = r.line(i)
	}
	if r.total != nil {
		f.Tests = *r.total
	}
	bad := val(f.Tests.Failed) + val(f.Tests.Errors)
	failure := t.FindPrefix("[INFO] BUILD FAILURE", 0) >= 0
	success := t.FindPrefix("[INFO] BUILD SUCCESS", 0) >= 0
	switch {
	case r.crashed != "":
		f.worse(StateDidNotFinish)
		f.suite(SuiteFailure{Kind: SuiteCrash, Message: r.crashed})
	case len(f.BuildErrors) > 0 && r.total == nil:
		f.worse(StateBuildFailed)
	case bad > 0:
		f.worse(StateFailed)
	case t.HasAny("No tests were executed!", "No tests matching pattern"):
		f.worse(StateNoTests)
	case failure || t.ExitBad():
		f.worse(StateBuildFailed)
		r.goal()
	case r.total == nil && (t.Has("No tests to run.") || t.Has("Tests are skipped.")):
		f.worse(StateNoTests)
		f.Tests = Counts{Passed: new(0), Failed: new(0)}
	case r.total != nil && val(f.Tests.Passed) == 0:
		f.worse(StateNoTests)
	case success || r.total != nil && t.ExitOK():
		f.worse(StatePassed)
	default:
		f.worse(StateDidNotFinish)
	}
}

// mavenRun reads a reactor build: totals of several modules add up.
type mavenRun struct {
	t       *Text
	f       *finding
	total   *Counts
	results bool // inside a "Results:" section
	seen    map[string]bool
	crashed string
	methods map[string][]int // indexes of failures by method name
}

func (r *mavenRun) line(i int) int {
	tag, l := mavenTag(r.t.lines[i])
	switch {
	case l == "Results:" || l == "Results :" || tag == "ERROR" && (strings.TrimSpace(l) == "Failures:" || strings.TrimSpace(l) == "Errors:"):
		r.results = true
		return i
	case strings.HasPrefix(l, "Building ") || strings.HasPrefix(l, "Reactor Summary") || strings.HasPrefix(l, "BUILD "):
		r.results = false
	case strings.Contains(l, "The forked VM terminated without"), strings.Contains(l, "There was a timeout"), strings.HasPrefix(l, "Crashed tests:"):
		if r.crashed == "" {
			r.crashed = l
		}
	}
	if m := mavenCounts().FindStringSubmatch(l); m != nil {
		if strings.TrimSpace(m[6]) == "" { // a class has its time behind it, the total has not
			r.add(m)
			r.results = false
		}
		return i
	}
	if m := mavenJavac().FindStringSubmatch(l); m != nil && tag == "ERROR" {
		if at := m[1] + m[2] + ":" + m[3] + m[4]; !r.seen[at] { // the failed goal says it all again
			r.seen[at] = true
			r.f.build(BuildError{File: r.t.path(m[1]), Line: atoi(m[2]), Col: atoi(m[3]), Message: r.more(i, m[4])})
		}
		return i
	}
	if m := mavenCase().FindStringSubmatch(l); m != nil && (tag == "ERROR" || tag == "") {
		return r.testcase(i, m)
	}
	if m := mavenShort().FindStringSubmatch(l); m != nil && tag == "ERROR" && r.results {
		r.fromList(m)
	}
	return i
}

func (r *mavenRun) add(m []string) {
	if r.total == nil {
		r.total = &Counts{}
	}
	total, failed, errs, skip := atoi(m[1]), atoi(m[2]), atoi(m[3]), atoi(m[4])
	bump(&r.total.Passed, max(total-failed-errs-skip, 0))
	bump(&r.total.Failed, failed)
	bump(&r.total.Errors, errs)
	bump(&r.total.Skipped, skip)
	if n := atoi(m[5]); n > 0 {
		r.f.extra("flaky", n)
	}
}

// more joins the lines that continue a compiler message ("  symbol: …").
func (r *mavenRun) more(i int, msg string) string {
	lines := []string{msg}
	for j := i + 1; strings.HasPrefix(r.t.Line(j), "  "); j++ {
		lines = append(lines, r.t.Line(j))
	}
	return message(lines...)
}

func (r *mavenRun) testcase(i int, m []string) int {
	id := m[1]
	if o := mavenOld().FindStringSubmatch(id); o != nil {
		id = o[2] + "." + o[1]
	}
	body, next := r.t.block(i+1, func(l string) bool {
		tag, _ := mavenTag(l)
		return tag != "" || blank(l) || mavenCase().MatchString(l) || mavenCounts().MatchString(l)
	})
	if r.seen[id] {
		return next - 1
	}
	r.seen[id] = true
	fr, msg := javaTrace(body)
	name := mavenMethod(id)
	r.methods[name] = append(r.methods[name], len(r.f.Failures))
	r.f.fail(Failure{ID: id, File: fr.file, Line: fr.line, Message: msg})
	return next - 1
}

// fromList adds what the closing list names and the details did not, and the
// class where the details lack it (surefire before 3).
func (r *mavenRun) fromList(m []string) {
	line := atoi(m[3])
	for _, k := range r.methods[mavenMethod(m[2])] {
		x := &r.f.Failures[k]
		if x.Line != line && x.Line != 0 {
			continue
		}
		if !strings.Contains(x.ID, ".") {
			x.ID = m[1] + "." + x.ID
		}
		return
	}
	r.f.fail(Failure{ID: m[1] + "." + m[2], File: strings.SplitN(m[1][strings.LastIndexByte(m[1], '.')+1:], "$", 2)[0] + ".java", Line: line, Message: m[4]})
}

// mavenMethod is the bare method name of an id: no class, parameters or index.
func mavenMethod(id string) string {
	if i := strings.IndexAny(id, "({[ "); i > 0 {
		id = id[:i]
	}
	return id[strings.LastIndexByte(id, '.')+1:]
}

// goal adds the failed goal when nothing else explains the failure.
func (r *mavenRun) goal() {
	if len(r.f.BuildErrors) > 0 {
		return
	}
	for _, l := range r.t.lines {
		if tag, s := mavenTag(l); tag == "ERROR" && s != "" && !strings.HasPrefix(s, "To see the full") {
			r.f.build(BuildError{Message: cutLine(s, maxMessageLine)})
			return
		}
	}
}
