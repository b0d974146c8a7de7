package offload

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"legwork/pkg/llm"
)

// Ranges give the same lines however the text arrives, and lines keep the numbers of their file.
func TestLineRange(t *testing.T) {
	t.Parallel()
	text := "one\ntwo\n\nfour\nfive without an end"
	lines := strings.SplitAfter(text, "\n")
	for from := 1; from <= 6; from++ {
		for to := 0; to <= 7; to++ {
			if to != 0 && to < from {
				continue
			}
			want := ""
			if from <= len(lines) {
				end := len(lines)
				if to > 0 {
					end = min(to, end)
				}
				want = strings.Join(lines[from-1:end], "")
			}
			for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text))} {
				got, err := io.ReadAll(&lineRange{r: r, from: from, to: to})
				if err != nil || string(got) != want {
					t.Errorf("%d-%d, %s: %q, %v; want %q", from, to, name, got, err, want)
				}
			}
		}
	}
}

func TestSeveralFiles(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write("a.log", "alpha\nbeta without an end")
	b.write("b.log", "x\ny\ngamma ray burst\nz\n")
	res := b.run(Request{Question: "what burst?", Files: []string{"a.log", "b.log:2-3"}})
	if res.Coverage.Lines != 4 {
		t.Errorf("%d lines", res.Coverage.Lines)
	}
	has(t, res.Text(), "b.log:3: gamma ray burst")
	hasNot(t, res.Text(), "b.log:1:")
}

// A test log among the files says nothing about the command that ran.
func TestFilesBesideACommand(t *testing.T) {
	t.Parallel()
	unix(t)
	b := newBed(t)
	b.write("old.tap", "TAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n")
	res := b.run(Request{Question: "which test failed?", Command: `printf 'TAP version 13\nok 1 - c\n1..1\n'`, Files: []string{"old.tap"}})
	if res.Run == nil || len(res.Run.Failures) != 0 || res.Answer != "no test failed" {
		t.Errorf("answer %q, run %+v", res.Answer, res.Run)
	}
}

// A text that is shorter than what would be printed of it is printed itself, with the state of the run.
func TestNeverLongerThanTheText(t *testing.T) {
	t.Parallel()
	unix(t)
	b := newBed(t)
	res := b.run(Request{Question: "which test fails, and why?", Command: `printf 'TAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n'; exit 1`})
	has(t, res.Text(), "exit 1 · ", "FAILED", "the whole text:\nTAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n")
	hasNot(t, res.Text(), "output:")
}

// What auto coverage reads follows from the speed that was seen.
func TestBudgetsFollowTheSpeed(t *testing.T) {
	t.Parallel()
	s := newSpeeds(t.TempDir())
	ch := llm.Choice{Endpoint: "gpu", Model: "m", Slots: 1}
	if b := s.budget(ch); b.whole != unknownWhole || b.focus != unknownFocus || b.parts != 0 {
		t.Errorf("unknown: %+v", b)
	}
	seen := func(prompt, cached int, took time.Duration) {
		s.learn(ch, &llm.Answer{Endpoint: "gpu", Attempts: 1, FirstByte: took, Usage: llm.Usage{Prompt: prompt, Cached: cached}})
	}
	seen(150, 0, time.Second) // too short to tell
	seen(3000, 2900, time.Second)
	if b := s.budget(ch); b.parts != 0 {
		t.Errorf("learned from too little: %+v", b)
	}
	seen(1000, 500, 10*time.Second) // 50 tokens a second
	if b := s.budget(ch); b.whole != slowWhole || b.focus != slowFocus || b.parts != 1500 {
		t.Errorf("slow: %+v", b)
	}
	for range 12 {
		seen(20_000, 0, 5*time.Second)
	}
	if b := s.budget(ch); b.whole != mostWhole || b.focus != mostFocus || b.parts < 100_000 {
		t.Errorf("fast: %+v", b)
	}
	if b := s.budget(llm.Choice{Endpoint: "desk", Model: "m"}); b.whole != unknownWhole {
		t.Errorf("another endpoint: %+v", b)
	}
}

func TestSaysNothing(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"Not in this part.": true, "The material does not say.": true, "the log does not mention it": true, "N/A": true, "None": true,
		"This part doesn't contain that.": true, "Unknown": true, "It is not mentioned in the material": true,
		"None of the tests failed": false, "Unknown host db1": false, "Port 7443": false, "No such file": false, "not ok 2": false,
	} {
		if got := saysNothing(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	if got := fmt.Sprint(plural(1, "line"), plural(2000, "line")); got != "1 line2,000 lines" {
		t.Error(got)
	}
}

func TestHowManyLines(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write("a.log", journal(1200, 41))
	for q, want := range map[string]string{
		"How many lines are there?": "1,200", "how many lines does a.log have?": "1,200", "how many lines": "1,200",
		"how many lines say that the gateway could not bind?": "",
	} {
		if res := b.run(Request{Question: q, Files: []string{"a.log"}}); (res.Answer == "1,200") != (want != "") {
			t.Errorf("%s: %q by %s", q, res.Answer, res.By)
		}
	}
}
