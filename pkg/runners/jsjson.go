package runners

import (
	"encoding/json"
	"strings"
)

// JSON reports of jest and vitest (one shape), mocha and playwright. The report
// may stand among other lines; stray text before or after it is skipped.

// jestJSON is the report of jest --json and vitest --reporter=json.
type jestJSON struct {
	Failed      *int `json:"numFailedTests"`
	Passed      *int `json:"numPassedTests"`
	Pending     *int `json:"numPendingTests"`
	Todo        *int `json:"numTodoTests"`
	Total       *int `json:"numTotalTests"`
	Broken      int  `json:"numRuntimeErrorTestSuites"`
	Success     bool `json:"success"`
	Interrupted bool `json:"wasInterrupted"`
	Results     []struct {
		Name       string `json:"name"`
		Status     string `json:"status"`
		Message    string `json:"message"`
		Assertions []struct {
			Ancestors []string `json:"ancestorTitles"`
			Title     string   `json:"title"`
			Status    string   `json:"status"`
			Messages  []string `json:"failureMessages"`
			Location  *struct {
				Line int `json:"line"`
			} `json:"location"`
		} `json:"assertionResults"`
	} `json:"testResults"`
}

// mochaJSON is the report of mocha --reporter json.
type mochaJSON struct {
	Stats *struct {
		Tests, Passes, Pending, Failures int
	} `json:"stats"`
	Failures []struct {
		Title     string `json:"title"`
		FullTitle string `json:"fullTitle"`
		File      string `json:"file"`
		Err       struct {
			Message string `json:"message"`
			Stack   string `json:"stack"`
			Name    string `json:"name"`
			Actual  string `json:"actual"`
			Expect  string `json:"expected"`
		} `json:"err"`
	} `json:"failures"`
}

// playwrightJSON is the report of playwright --reporter=json.
type playwrightJSON struct {
	Suites []pwSuite `json:"suites"`
	Errors []struct {
		Message  string     `json:"message"`
		Location pwLocation `json:"location"`
	} `json:"errors"`
	Stats *struct {
		Expected, Unexpected, Flaky, Skipped int
	} `json:"stats"`
}

type pwLocation struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

type pwSuite struct {
	Title  string    `json:"title"`
	File   string    `json:"file"`
	Suites []pwSuite `json:"suites"`
	Specs  []struct {
		Title string `json:"title"`
		Ok    bool   `json:"ok"`
		File  string `json:"file"`
		Line  int    `json:"line"`
		Tests []struct {
			Results []struct {
				Status string `json:"status"`
				Error  *struct {
					Message  string      `json:"message"`
					Location *pwLocation `json:"location"`
				} `json:"error"`
			} `json:"results"`
		} `json:"tests"`
	} `json:"specs"`
}

// sniffJSONReport finds a report that starts a line with "{" and holds key.
func sniffJSONReport(key string) func(t *Text) match {
	return func(t *Text) match {
		for i := t.Find(key, 0); i >= 0; i = -1 {
			for j := i; j >= 0; j-- {
				if strings.HasPrefix(t.Line(j), "{") {
					return span(scoreCertain, j, t.Len())
				}
			}
		}
		return match{}
	}
}

// decodeReport decodes the JSON object that starts with the line of key.
func decodeReport(t *Text, key string, into any) bool {
	i := t.Find(key, 0)
	for ; i >= 0; i-- {
		if strings.HasPrefix(t.Line(i), "{") {
			break
		}
	}
	if i < 0 {
		return false
	}
	return json.NewDecoder(strings.NewReader(strings.Join(t.lines[i:], "\n"))).Decode(into) == nil
}

const cutReport = "the JSON report is cut or not valid: the run did not come to its end"

func parseJestJSON(t *Text, f *finding) {
	var r jestJSON
	if !decodeReport(t, `"numTotalTests"`, &r) {
		f.State = StateDidNotFinish
		f.note(cutReport)
		return
	}
	if !t.Has(`"numRuntimeErrorTestSuites"`) {
		f.Runner = "vitest"
	}
	f.Tests = Counts{Passed: r.Passed, Failed: r.Failed, Skipped: r.Pending, Todo: r.Todo}
	for _, s := range r.Results {
		failed := 0
		for _, a := range s.Assertions {
			if a.Status != "failed" {
				continue
			}
			failed++
			lines := strings.Split(strings.Join(a.Messages, "\n"), "\n")
			x := Failure{ID: jsID(append(a.Ancestors, a.Title)...), File: s.Name, Message: jsMessage(lines)}
			if fr, ok := ownFrame(lines); ok {
				x.File, x.Line = fr.path, fr.line
			} else if a.Location != nil {
				x.Line = a.Location.Line
			}
			x.File = cleanPath(x.File, t.Hint.Dir)
			f.fail(x)
		}
		if s.Status == "failed" && failed == 0 {
			lines := strings.Split(strings.TrimPrefix(strings.TrimSpace(s.Message), "● Test suite failed to run"), "\n")
			jestSuite(t, f, cleanPath(s.Name, t.Hint.Dir), jestMessage(lines), lines, len(s.Assertions) > 0)
		}
	}
	jsonVerdict(f)
	if r.Interrupted {
		f.worse(StateDidNotFinish)
	}
	if !r.Success && f.State == StatePassed {
		f.State = StateFailed
		f.suite(SuiteFailure{Kind: SuiteThreshold, Message: "the report says success: false although no test failed"})
	}
}

// jsonVerdict decides from counts and failures.
func jsonVerdict(f *finding) {
	switch {
	case val(f.Tests.Failed) > 0 || len(f.Failures) > 0 || len(f.Suites) > 0:
		f.worse(StateFailed)
	case val(f.Tests.Passed) == 0:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
}

func parseMochaJSON(t *Text, f *finding) {
	var r mochaJSON
	if !decodeReport(t, `"stats"`, &r) || r.Stats == nil {
		f.State = StateDidNotFinish
		f.note(cutReport)
		return
	}
	s := r.Stats
	f.Tests = Counts{Passed: new(s.Passes), Failed: new(s.Failures), Skipped: new(s.Pending), Todo: new(0)}
	for _, a := range r.Failures {
		id := a.Title
		if suite, ok := strings.CutSuffix(a.FullTitle, " "+a.Title); ok && suite != "" {
			id = jsID(suite, a.Title)
		}
		lines := strings.Split(a.Err.Stack, "\n")
		x := Failure{ID: id, File: a.File, Message: message(strings.Split(a.Err.Message, "\n")...)}
		if x.Message == "" {
			x.Message = jsMessage(lines)
		}
		if fr, ok := ownFrame(lines); ok {
			x.File, x.Line = fr.path, fr.line
		}
		x.File = cleanPath(x.File, t.Hint.Dir)
		f.fail(x)
	}
	f.exitExplained = mochaExit(t, s.Failures)
	jsonVerdict(f)
}

// mochaExit: mocha exits with the number of failures, 255 at most.
func mochaExit(t *Text, failures int) bool {
	code, ok := t.Exit()
	return ok && failures > 0 && code == min(failures, 255)
}

func parsePlaywrightJSON(t *Text, f *finding) {
	var r playwrightJSON
	if !decodeReport(t, `"suites": [`, &r) || r.Stats == nil {
		f.State = StateDidNotFinish
		f.note(cutReport)
		return
	}
	s := r.Stats
	f.Tests = Counts{Passed: new(s.Expected + s.Flaky), Failed: new(s.Unexpected), Skipped: new(s.Skipped)}
	if s.Flaky > 0 {
		f.extra("flaky", s.Flaky)
	}
	for _, e := range r.Errors {
		msg := string(normalise([]byte(e.Message)))
		f.suite(SuiteFailure{Kind: SuiteLoad, File: e.Location.File, Line: e.Location.Line, Message: jsMessage(strings.Split(msg, "\n"))})
		f.build(BuildError{File: e.Location.File, Line: e.Location.Line, Message: jsMessage(strings.Split(msg, "\n"))})
		f.worse(StateBuildFailed)
	}
	for _, suite := range r.Suites {
		pwWalk(t, suite, nil, f)
	}
	jsonVerdict(f)
}

func pwWalk(t *Text, s pwSuite, path []string, f *finding) {
	if s.Title != "" && !looksLikeFile(s.Title) {
		path = append(append([]string{}, path...), s.Title)
	}
	for _, spec := range s.Specs {
		if spec.Ok {
			continue
		}
		x := Failure{ID: jsID(append(append([]string{}, path...), spec.Title)...), File: spec.File, Line: spec.Line}
		for _, test := range spec.Tests {
			for _, res := range test.Results {
				if res.Error == nil || x.Message != "" {
					continue
				}
				x.Message = jestMessage(strings.Split(normalise([]byte(res.Error.Message)), "\n"))
				if res.Error.Location != nil {
					x.File, x.Line = res.Error.Location.File, res.Error.Location.Line
				}
			}
		}
		x.File = cleanPath(x.File, t.Hint.Dir)
		f.fail(x)
	}
	for _, c := range s.Suites {
		pwWalk(t, c, path, f)
	}
}
