package offload

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"legwork/pkg/runners"
)

// The words that make a question one about the outcome of a run. Compiled on first use.
var asked = sync.OnceValue(func() (re struct{ tests, builds, fails, why, counts, detail, filler, general *regexp.Regexp }) {
	re.tests = regexp.MustCompile(`(?i)\b(tests?|specs?|suites?|test ?cases?|assert\w*)\b`)
	re.builds = regexp.MustCompile(`(?i)\b(builds?|built|compil\w+|lint\w*|type ?check\w*|vet)\b`)
	re.fails = regexp.MustCompile(`(?i)\b(fail\w*|broken?|breaks?|red|errors?|crash\w*|pass(es|ed|ing)?|succe\w+|green|ok|wrong)\b`)
	re.why = regexp.MustCompile(`(?i)\b(why|how (do|does|did|can|could|come|to|should|is|was|were)|cause[sd]?|reasons?|because|explain|fix|root|suggest|should)\b`)
	re.counts = regexp.MustCompile(`(?i)\b(how many|number of|count of|counts?|total)\b`)
	re.detail = regexp.MustCompile(`(?i)\b(names?|ids?|files?|lines?|numbers?|messages?|assertions?|expected|actual|got|want|values?|details?|traces?|stack|locations?|full|exact(ly)?|each|every|where|reported|skipped|todo|compare\w*|exit|code|codes|state|status|essential|relevant|key|their|its|any|please|be|been|being|by|for|from|to)\b`)
	re.filler = regexp.MustCompile(`(?i)\b(what|which|did|does|do|is|are|was|were|has|have|had|it|that|this|there|any|all|the|a|an|of|in|on|with|go|goes|went|run|ran|command|output|happened|list|show|me|name|many|and|or|ones?|if|so|not|everything|anything|something)\b`)
	re.general = regexp.MustCompile(`(?i)\b(summar\w+|describe\w*|overview|about|tell\w*|gist|says?|printed|prints?|contents?|contains?|text|file|log|material|important|interesting|give|short|brief\w*|results?|please|main|points?|key|lines?|see|look|short|at)\b`)
	return re
})

// asksInGeneral: the question names no subject ("summarise this"), so no text fails to answer it.
func (c *call) asksInGeneral() bool {
	re := asked()
	return nothingLeft(c.req.Question, re.general, re.why, re.fails, re.filler)
}

// nothingLeft: question has no words but those of the patterns.
func nothingLeft(question string, patterns ...*regexp.Regexp) bool {
	for _, p := range patterns {
		question = p.ReplaceAllString(question, "")
	}
	return strings.Trim(question, " ?.,!:;'\"-/()") == ""
}

// asksAboutRun: the question is about the outcome of a run that a parser understood. A question with
// further words of its own ("which broker failed to start?") is about the text, not about the run.
func (c *call) asksAboutRun() bool {
	run := c.res.Run
	if run == nil || run.State == runners.StateUnknown {
		return false
	}
	re, q := asked(), c.req.Question
	counts := re.counts.MatchString(q)
	if !re.fails.MatchString(q) && !counts {
		return false
	}
	switch {
	case re.tests.MatchString(q):
		return ranTests(run) || (c.res.Ran != nil && run.State == runners.StateDidNotFinish)
	case counts && !re.fails.MatchString(q):
		return false
	case re.builds.MatchString(q):
		return ranTests(run) || len(run.BuildErrors) > 0 || run.State == runners.StatePassed
	case !ranTests(run) && len(run.BuildErrors) == 0:
		return false
	}
	return nothingLeft(q, re.fails, re.why, re.filler)
}

// ranTests: the text is that of a test run, not of a program that crashed somewhere in a log.
func ranTests(r *runners.Result) bool {
	n := r.Tests
	return n.Passed != nil || n.Failed != nil || n.Errors != nil || n.Skipped != nil || len(r.Suites) > 0 ||
		r.State == runners.StateNoTests || r.State == runners.StatePassed || (len(r.Failures) > 0 && r.Failures[0].ID != "")
}

// answerFromRun answers "which test fails?" from the parsed result, so that a green run never yields a
// name. Done is false when a reason is asked for that the result does not hold, or more than the result
// has; a model may then add its opinion to the facts, which stand in the reply in any case.
func (c *call) answerFromRun() (done bool) {
	if !c.asksAboutRun() {
		return false
	}
	run, re := c.res.Run, asked()
	bad := len(run.Failures)+len(run.Suites) > 0 || run.State == runners.StateDidNotFinish
	if re.why.MatchString(c.req.Question) && bad && !explained(run) {
		return false
	}
	if bad && !nothingLeft(c.req.Question, re.tests, re.builds, re.fails, re.why, re.counts, re.detail, re.filler) {
		return false // "which host did the failing test try to reach?" asks for more than the facts
	}
	c.res.By, c.res.Answer = ByParser, verdict(run)
	if n := counts(run); n != "" && asked().counts.MatchString(c.req.Question) {
		c.res.Answer = n
	}
	return true
}

// explained: the result carries the reason of what failed.
func explained(r *runners.Result) bool {
	for _, f := range r.Failures {
		if f.Message != "" {
			return true
		}
	}
	for _, s := range r.Suites {
		if s.Message != "" {
			return true
		}
	}
	return len(r.BuildErrors) > 0
}

// counts are the numbers of tests that the runner states.
func counts(r *runners.Result) string {
	var out []string
	for _, c := range []struct {
		n    *int
		word string
	}{
		{r.Tests.Passed, "passed"}, {r.Tests.Failed, "failed"}, {r.Tests.Errors, "with errors"}, {r.Tests.Skipped, "skipped"}, {r.Tests.Todo, "todo"},
	} {
		if c.n != nil {
			out = append(out, fmt.Sprintf("%d %s", *c.n, c.word))
		}
	}
	return strings.Join(out, ", ")
}

// verdict puts a parsed result into one sentence.
func verdict(r *runners.Result) string {
	n := len(r.Failures)
	switch r.State {
	case runners.StatePassed:
		if r.Tests.Passed == nil && r.Tests.Failed == nil {
			return "nothing failed"
		}
		return "no test failed"
	case runners.StateNoTests:
		return "no test ran"
	case runners.StateBuildFailed:
		out := "it does not build or load: " + plural(len(r.BuildErrors)+len(r.Suites), "error")
		if len(r.BuildErrors) == 1 && len(r.Suites) == 0 {
			out = "it does not build or load: " + short(r.BuildErrors[0].Message, maxShown)
		}
		if n > 0 {
			out += fmt.Sprintf("; besides, %s failed%s", plural(n, "test"), named(r.Failures))
		}
		return out
	case runners.StateDidNotFinish:
		if n == 0 {
			return "the run did not finish"
		}
		return fmt.Sprintf("the run did not finish; until then %s failed", plural(n, "test"))
	}
	switch {
	case n == 0 && len(r.Suites) > 0:
		return fmt.Sprintf("no single test failed, but %s did", plural(len(r.Suites), "suite"))
	case n == 0:
		return "it failed, and the output names no test"
	case r.Tests.Failed != nil && *r.Tests.Failed > n:
		return fmt.Sprintf("%s failed; the output names %d of them", plural(*r.Tests.Failed, "test"), n)
	}
	return plural(n, "test") + " failed" + named(r.Failures)
}

// named gives the ids of a few failures; the list in the reply has them all.
func named(fs []runners.Failure) string {
	var ids []string
	for _, f := range fs {
		if f.ID != "" {
			ids = append(ids, f.ID)
		}
	}
	if len(ids) == 0 || len(ids) > 3 {
		return ""
	}
	return ": " + strings.Join(ids, "; ")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%s %ss", grouped(n), word)
}

// grouped writes large numbers with separators: 12,345.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
