package bench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/pkg/offload"
)

// The log goes on where it stopped, and every record is judged by the rule.
func TestOffloadSetGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.log", "start\ncannot bind to port 7443\nend\n")
	write("questions.jsonl", `{"id":"a1","file":"a.log","kind":"lexical","question":"Which port?","answer":"7443","evidence":[{"line":2,"regex":"port 7443"}]}
{"id":"a2","file":"a.log","kind":"unanswerable","question":"Which GPU?","answer":"none","evidence":[]}
{"id":"a3","file":"a.log","kind":"common","question":"What ended?","answer":"the end of all","evidence":[{"line":3,"regex":"^end"}]}
`)
	asked := 0
	opt := OffloadOptions{N: 30, Second: 1, Log: filepath.Join(dir, "replies.jsonl"), Ask: func(_ context.Context, r offload.Request) (*offload.Result, error) {
		asked++
		if r.Question == "What ended?" && asked < 10 {
			return nil, context.Canceled // the run is interrupted here
		}
		l := offload.Line{File: "a.log", Line: 2, Text: "cannot bind to port 7443"}
		return &offload.Result{Question: r.Question, By: offload.ByModel, Answer: "port 7443", Says: &l, Lines: []offload.Line{l}, InTok: 100, CachedTok: 97}, nil
	}}
	if _, err := OffloadSet(t.Context(), dir, opt); err == nil {
		t.Fatal("the interruption is no error")
	}
	first := asked
	asked = 10
	rep, err := OffloadSet(t.Context(), dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Records) != 4 || first != 2 {
		t.Errorf("%d records, %d questions before the interruption", len(rep.Records), first)
	}
	var b bytes.Buffer
	if err := rep.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| the right answer can be read in the reply (answer or lines) | 2 | 50 % (9–91) |",
		"where a line says so | 2 | 50 % (9–91) | ≥ 85 % (missed) |",
		"marked as said by a line | 1 | 100 % (21–100) | ≤ 10 % (missed) |",
		"mean share of the prompt from the cache | 1 | 97 % | ≥ 95 % (ok) |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	if rep.Ok() {
		t.Error("missed bars are ok")
	}
}

func TestRightAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		truth, question, answer, on string
		want                        bool
	}{
		{"node-5 (command 1903)", "Which node?", "It was node-5.", "", true},
		{"1904 MB", "How much?", "About 900 MB", "", false},
		{"1904 MB at 10:20:30", "How much?", "1904", "", true},
		{"1904 MB", "How much?", "1904 of 8192", "free 1904 total 8192", true},
		{"the disk was full", "Why?", "Because the disk was full", "", true},
		{"the disk was full", "Why?", "The network was slow", "", false},
		{"7443 on alpha", "Which port of 7443 and 80?", "80", "", false},
		{"bob", "Which user is not in sudoers?", "bob", "", true},
		{"bob", "Which user is not in sudoers?", "alice", "", false},
	} {
		if got := rightAnswer(evidenceLine{Answer: tt.truth, Question: tt.question}, tt.answer, tt.on); got != tt.want {
			t.Errorf("%q for %q: %v", tt.answer, tt.truth, got)
		}
	}
}
