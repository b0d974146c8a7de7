package runners

import (
	"encoding/json"
	"strings"
)

var (
	rspecSummary  = lazy(`^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$`)
	rubyNumbered  = lazy(`^\s+\d+\) (.+)$`)
	rspecSubFail  = lazy(`^\s+\d+\.\d+\) `)
	rspecProgress = lazy(`^[.F*]+$`)
)

func rspecParser() parser {
	return parser{
		name: "rspec", kind: kindTests,
		marks: []string{" example", "RSpec", "rspec ", `"examples":[`, "Failure/Error:", "listing of valid options"},
		own:   lazy(`^(?:Randomized with seed \d|Run options: |Failures:$|Pending: |Finished in |Failed examples:|rspec \S+ #|\d+ examples?, |[.F*]+$)`),
		sniff: rspecSniff, parse: rspecParse,
	}
}

func rspecSniff(t *Text) match {
	switch {
	case rspecJSON(t) >= 0, lastMatch(t, rspecSummary()) >= 0:
		return t.all(scoreCertain)
	case t.Has("RSpec will now quit"), t.Has("An error occurred while loading ./"):
		return t.all(scoreSure)
	case t.Has("\nPlease use --help for a listing of valid options"):
		return t.all(scoreLikely)
	case t.HasAny("     Failure/Error: ") && t.HasAny("\nFailures:"):
		return t.all(scoreLikely)
	}
	return match{}
}

func rspecParse(t *Text, f *finding) {
	if i := rspecJSON(t); i >= 0 {
		rspecReadJSON(t, i, f)
		return
	}
	rspecLoadErrors(t, f)
	sum := lastMatch(t, rspecSummary())
	if t.Has("\nPlease use --help for a listing of valid options") && sum < 0 {
		f.State = StateNoTests
		f.note(t.Line(0))
		return
	}
	if sum < 0 {
		if f.State == "" {
			f.State = StateDidNotFinish
			f.note("no summary line: the run ended before rspec did")
		}
		rspecFailures(t, f)
		return
	}
	m := rspecSummary().FindStringSubmatch(t.Line(sum))
	total, failed, pending, outside := atoi(m[1]), atoi(m[2]), atoi(m[3]), atoi(m[4])
	f.Tests = Counts{Passed: new(max(total-failed-pending, 0)), Failed: new(failed), Skipped: new(pending), Todo: new(0)}
	rspecFailures(t, f)
	switch {
	case failed > 0 || outside > 0 && len(f.BuildErrors) == 0:
		f.worse(StateFailed)
	case total == 0 || pending == total:
		f.worse(StateNoTests)
	default:
		f.worse(StatePassed)
	}
	if n := rspecRan(t, sum); n >= 0 && n < total && failed+pending == 0 {
		f.worse(StateDidNotFinish)
		f.note("progress shows fewer examples than the summary counts: the run was ended inside an example")
	}
	if t.ExitBad() && f.State == StatePassed {
		rubyUncaught(t, sum, f)
	}
}

// rspecRan counts the examples the progress or documentation output shows, -1
// when other output makes the count worthless. It is asked only for runs without
// failures and pending examples, whose text before "Finished in" is nothing else.
func rspecRan(t *Text, sum int) int {
	marks, docs := 0, []string(nil)
	for i := range sum {
		l := t.lines[i]
		switch {
		case strings.HasPrefix(l, "Finished in "):
			if len(docs) == 0 {
				return marks
			}
			if marks > 0 {
				return -1
			}
			return docLeaves(docs)
		case strings.HasPrefix(l, "Randomized with seed"), strings.HasPrefix(l, "Run options:"), blank(l):
		case rspecProgress().MatchString(l):
			marks += len(l)
		case indent(l) == 0 && !blank(t.Line(i-1)):
			return -1 // the examples print: only groups begin at the margin, after a blank line
		default:
			docs = append(docs, l)
		}
	}
	return -1
}

// docLeaves counts indented lines that nothing deeper follows.
func docLeaves(docs []string) (n int) {
	for i, l := range docs {
		if indent(l) > 0 && (i+1 == len(docs) || indent(docs[i+1]) <= indent(l)) {
			n++
		}
	}
	return n
}

// rspecFailures reads the "Failures:" section.
func rspecFailures(t *Text, f *finding) {
	start := -1
	for i, l := range t.lines {
		if l == "Failures:" {
			start = i
		}
	}
	if start < 0 {
		return
	}
	end := func(l string) bool {
		return l != "" && l[0] != ' ' && l[0] != '\t' && (strings.HasPrefix(l, "Finished in ") ||
			strings.HasPrefix(l, "Failed examples:") || strings.HasPrefix(l, "Top ") || rspecSummary().MatchString(l))
	}
	for i := start + 1; i < t.Len() && !end(t.lines[i]); {
		m := rubyNumbered().FindStringSubmatch(t.lines[i])
		if m == nil || indent(t.lines[i]) > 6 {
			i++
			continue
		}
		body, next := t.block(i+1, func(l string) bool {
			return end(l) || indent(l) <= 4 && rubyNumbered().MatchString(l)
		})
		x := rspecBody(t, body)
		x.ID = strings.TrimSuffix(m[1], " FIXED")
		f.fail(x)
		i = next
	}
}

// rspecBody takes one failure's block apart: the source it quotes is dropped,
// the first own frame kept.
func rspecBody(t *Text, body []string) Failure {
	var keep []string
	var frames []frame
	source := false
	for _, l := range body {
		s := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(s, "Failure/Error:") || rspecSubFail().MatchString(l) && strings.Contains(l, "Failure/Error:"):
			source = true
		case strings.HasPrefix(s, "#"):
			source = false
			s += "  "
			if fr, _, ok := cutPos(s[2:]); ok {
				frames = append(frames, fr)
			}
		case s == "":
			source = false
			keep = append(keep, "")
		case source:
		default:
			keep = append(keep, l)
		}
	}
	fr := t.firstOwn(frames)
	return Failure{File: fr.file, Line: fr.line, Message: message(keep...)}
}

// rspecLoadErrors reads what went wrong before or beside the examples.
func rspecLoadErrors(t *Text, f *finding) {
	for i, l := range t.lines {
		loading := strings.HasPrefix(l, "An error occurred while loading ")
		switch {
		case loading, strings.HasPrefix(l, "An error occurred in a"), strings.HasPrefix(l, "An error occurred outside of examples"):
		case strings.HasPrefix(l, "While loading ") && strings.HasSuffix(l, "RSpec will now quit."):
			f.worse(StateDidNotFinish)
			f.note(l)
			continue
		default:
			continue
		}
		body, _ := t.block(i+1, func(l string) bool {
			return strings.HasPrefix(l, "An error occurred") || strings.HasPrefix(l, "Finished in ") || strings.HasPrefix(l, "Run options:") ||
				l == "Failures:" || strings.HasPrefix(l, "Pending:") || l == "No examples found."
		})
		x := rspecBody(t, body)
		if !loading {
			f.worse(StateFailed)
			f.suite(SuiteFailure{Kind: SuiteHook, Name: strings.TrimSuffix(l, "."), File: x.File, Line: x.Line, Message: x.Message})
			continue
		}
		f.worse(StateBuildFailed)
		name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(l, "An error occurred while loading "), "."), ":")
		f.suite(SuiteFailure{Kind: SuiteLoad, Name: t.path(name), File: x.File, Line: x.Line, Message: x.Message})
		if !rubySyntax(t, body, f) {
			f.build(BuildError{File: x.File, Line: x.Line, Message: x.Message})
		}
	}
}

type rspecReport struct {
	Examples []struct {
		FullDescription string `json:"full_description"`
		Status          string `json:"status"`
		FilePath        string `json:"file_path"`
		LineNumber      int    `json:"line_number"`
		Exception       *struct {
			Class     string   `json:"class"`
			Message   string   `json:"message"`
			Backtrace []string `json:"backtrace"`
		} `json:"exception"`
	} `json:"examples"`
	Summary *struct {
		Total   int `json:"example_count"`
		Failed  int `json:"failure_count"`
		Pending int `json:"pending_count"`
		Outside int `json:"errors_outside_of_examples_count"`
	} `json:"summary"`
	Messages []string `json:"messages"`
}

// rspecJSON finds the line of the JSON formatter.
func rspecJSON(t *Text) int {
	if !t.Has(`"examples":[`) {
		return -1
	}
	return t.Find(`"examples":[`, 0)
}

func rspecReadJSON(t *Text, i int, f *finding) {
	var rep rspecReport
	l := t.Line(i)
	l = l[max(strings.Index(l, `{"version"`), strings.Index(l, `{"examples"`), 0):]
	if err := json.NewDecoder(strings.NewReader(l)).Decode(&rep); err != nil || rep.Summary == nil {
		f.State = StateDidNotFinish
		f.note("the JSON report is incomplete")
		return
	}
	s := rep.Summary
	f.Tests = Counts{Passed: new(s.Total - s.Failed - s.Pending), Failed: new(s.Failed), Skipped: new(s.Pending), Todo: new(0)}
	open := 0
	for _, e := range rep.Examples {
		if e.Status == "" {
			open++
		}
		if e.Status != "failed" {
			continue
		}
		x := Failure{ID: e.FullDescription, File: t.path(e.FilePath), Line: e.LineNumber}
		if e.Exception != nil {
			x.Message = message(strings.Split(e.Exception.Message, "\n")...)
			if fr := t.firstOwn(rubyFrames(e.Exception.Backtrace)); fr.file != "" {
				x.File, x.Line = fr.file, fr.line
			}
		}
		f.fail(x)
	}
	switch {
	case open > 0:
		f.State = StateDidNotFinish
		f.note("an example has no status: the run was ended inside it")
	case s.Outside > 0 && s.Total == 0:
		f.State = StateBuildFailed
	case s.Failed > 0 || s.Outside > 0:
		f.State = StateFailed
	case s.Total == 0 || s.Pending == s.Total:
		f.State = StateNoTests
	default:
		f.State = StatePassed
	}
	for _, m := range rep.Messages {
		if strings.Contains(m, "An error occurred") {
			sub := newText(m, t.Hint)
			rspecLoadErrors(sub, f)
		}
	}
}
