package offload

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/pkg/llm/llmtest"
)

// fullRead is a material that takes several calls with a window of 2,048 tokens.
func fullRead(t *testing.T, answer func(llmtest.Call) llmtest.Reply) (*bed, *llmtest.Server) {
	t.Helper()
	s := llmtest.NewLlamaServer(t, llmtest.Config{Window: 2048, Slots: 2, Answer: answer})
	b := newBed(t, s)
	b.write("a.log", journal(600, 411))
	return b, s
}

// partAnswer answers as a model would that finds the line in one part only.
func partAnswer(c llmtest.Call) llmtest.Reply {
	switch {
	case strings.Contains(c.Last(), "cannot bind to port 7443"), strings.Contains(c.Last(), "port 7443 was taken"):
		return llmtest.Reply{Text: "port 7443 was taken"}
	}
	return llmtest.Reply{Text: "Not in this part."}
}

func TestFullReadingInParts(t *testing.T) {
	t.Parallel()
	b, s := fullRead(t, partAnswer)
	res := b.run(Request{Question: portQuestion, Files: []string{"a.log"}, Coverage: "full"})
	n := res.Coverage.Chunks
	if n < 4 || res.Coverage.LinesRead+res.Coverage.LinesFolded != 600 || res.Coverage.ModelFailed != 0 {
		t.Errorf("%+v", res.Coverage)
	}
	if got := len(s.Calls()); got != n+1 {
		t.Errorf("%d calls for %d parts and one answer", got, n)
	}
	if s.Peak() > 2 {
		t.Errorf("%d calls at once on 2 slots", s.Peak())
	}
	has(t, res.Text(), fmt.Sprintf("in %d parts", n), "answer: port 7443 was taken", "line 411 says so: a.log:411: ")
	has(t, b.progress(), fmt.Sprintf("reading chunk 1 of %d on gpu", n), fmt.Sprintf("reading chunk %d of %d on gpu", n, n))
	if last := s.Calls()[n].Last(); !strings.Contains(last, "Lines ") || strings.Contains(last, "Not in this part") {
		t.Errorf("the last question is asked about %.300q", last)
	}
}

// The answers of the parts come in the order of the text, however the calls end.
func TestPartsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	b, s := fullRead(t, func(c llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "it says something"} })
	b.run(Request{Question: "Which parts say something?", Files: []string{"a.log"}, Coverage: "full"})
	calls := s.Calls()
	var from []int
	for line := range strings.SplitSeq(calls[len(calls)-1].Last(), "\n") {
		var a, z int
		if n, _ := fmt.Sscanf(line, "Lines %d to %d:", &a, &z); n == 2 {
			from = append(from, a)
		}
	}
	if len(from) != len(calls)-1 || !slices.IsSorted(from) || from[0] != 1 {
		t.Errorf("parts begin at %v", from)
	}
}

// One part that fails is told, and the others count.
func TestOnePartFails(t *testing.T) {
	t.Parallel()
	b, _ := fullRead(t, func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(c.Last(), "\n300: ") {
			return llmtest.Reply{Status: 500, Body: `{"error":{"message":"out of memory"}}`}
		}
		return partAnswer(c)
	})
	res := b.run(Request{Question: portQuestion, Files: []string{"a.log"}, Coverage: "full"})
	if res.Coverage.ModelFailed != 1 || res.Coverage.LinesRead >= 600 || res.Outcome != "answered" {
		t.Errorf("outcome %s, %+v", res.Outcome, res.Coverage)
	}
	has(t, res.Text(), "answer: port 7443 was taken", "note: 1 of ", "out of memory", "the rest only scanned")
}

// When nothing works the remaining parts are not tried.
func TestAllPartsFail(t *testing.T) {
	t.Parallel()
	b, s := fullRead(t, func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Status: 400, Body: `{"error":{"message":"no such adapter"}}`}
	})
	res := b.run(Request{Question: portQuestion, Files: []string{"a.log"}, Coverage: "full"})
	has(t, res.Text(), "gave no answer: extractive", "no such adapter", "a.log:411: ")
	if n := len(s.Calls()); n > 5 {
		t.Errorf("%d calls", n)
	}
}

// "Not in this part" everywhere is told as the model's reading, and the reader shows its lines.
func TestNoPartSaysIt(t *testing.T) {
	t.Parallel()
	b, _ := fullRead(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "Not in this part."} })
	res := b.run(Request{Question: portQuestion, Files: []string{"a.log"}, Coverage: "full"})
	if res.NotInText {
		t.Error("the reader finds the line")
	}
	has(t, res.Text(), "none of the", "a.log:411: ")
}

// Focused: the best lines only, and the reply says which.
func TestFocused(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	s.Script(llmtest.Reply{Text: "Port 7443."})
	b := newBed(t, s)
	b.write("a.log", journal(5000, 4411))
	res := b.run(Request{Question: portQuestion, Files: []string{"a.log"}})
	c := res.Coverage
	if c.LinesRead == 0 || c.LinesRead > 500 || c.Lines != 5000 || c.Chunks != 1 {
		t.Errorf("%+v", c)
	}
	if !slices.ContainsFunc(c.Read, func(s Stretch) bool { return s.File == "a.log" && s.From <= 4411 && 4411 <= s.To }) {
		t.Errorf("line 4411 is not among those read: %v", c.Read)
	}
	has(t, res.Text(), fmt.Sprintf("%d of 5,000 lines", c.LinesRead), "the rest only scanned", "line 4411 says so")
	if prompt := s.Calls()[0].Last(); !strings.Contains(prompt, "4411: ") || len(prompt) > 4*unknownFocus+2000 {
		t.Errorf("prompt of %d bytes", len(prompt))
	}
}

// A window that holds no question is told; nothing is sent.
func TestTinyWindow(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{Window: 256})
	b := newBed(t, s)
	b.write("a.log", journal(200, 41))
	res := b.run(Request{Question: portQuestion, Files: []string{"a.log"}})
	if res.Outcome != "overflow" || len(s.Calls()) != 0 {
		t.Errorf("outcome %s, %d calls", res.Outcome, len(s.Calls()))
	}
	has(t, res.Text(), "window is too small", "a.log:41: ")
}

// Lines of several files are named by their file, in the coverage too.
func TestSettle(t *testing.T) {
	t.Parallel()
	m := &material{parts: []*part{{name: "a", first: 1, lines: 10}, {name: "b", first: 11, lines: 5, from: 100}}}
	c := Coverage{Lines: 15, LinesFolded: 1}
	c.read(9, 12)
	c.read(3, 4)
	c.read(4, 5) // a line split between two parts
	c.settle(m)
	want := []Stretch{{"a", 3, 5}, {"a", 9, 10}, {"b", 100, 101}}
	if !slices.Equal(c.Read, want) || c.LinesRead != 6 {
		t.Errorf("%v, %d lines read", c.Read, c.LinesRead)
	}
	has(t, c.String(), "6 of 15 lines", "a L3–5", "b L100–101", "1 like others only counted")
}

// Lines like many others are only counted in a part; the reader's best ones are in the last question, so that
// one of them can be the answer.
func TestFoldedLinesAreNotLost(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{Window: 2048, Answer: func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(c.Last(), "wrote block 5003") {
			return llmtest.Reply{Text: "worker 17"}
		}
		return llmtest.Reply{Text: "Not in this part."}
	}})
	b := newBed(t, s)
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "worker %d wrote block %d of file %d\n", i%31, i+4000, i*7%97)
	}
	b.write("w.log", text.String())
	// Line 1004: worker 1003%31 = 11.
	res := b.run(Request{Question: "Which worker wrote block 5003?", Files: []string{"w.log"}, Coverage: "full", Model: "test-model"})
	calls := s.Calls()
	if last := calls[len(calls)-1].Last(); !strings.Contains(last, "1004: worker 11 wrote block 5003") {
		t.Errorf("the line is not in the last question: %.500s", last)
	}
	if res.Says != nil {
		t.Errorf("worker 17 is said by line %d", res.Says.Line)
	}
	has(t, res.Text(), "w.log:1004: ", "like them and only counted")
}

// A text that fits is given line by line, alike or not.
func TestWholeIsNotFolded(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	b := newBed(t, s)
	b.write("w.log", strings.Repeat("the same line again\n", 40))
	res := b.run(Request{Question: "What does the line say?", Files: []string{"w.log"}, Coverage: "full"})
	if n := strings.Count(s.Calls()[0].Last(), "the same line again"); n != 40 || res.Coverage.LinesRead != 40 || res.Coverage.LinesFolded != 0 {
		t.Errorf("%d lines sent, %+v", n, res.Coverage)
	}
}
