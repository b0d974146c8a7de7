package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEvidenceSetShipped(t *testing.T) {
	t.Parallel()
	r, err := EvidenceSet(t.Context(), filepath.Join("..", "..", "bench", "evidence"), EvidenceOptions{Budget: 2000})
	if err != nil {
		t.Fatal(err)
	}
	if r.All.N < 40 || !r.Ok() {
		var b strings.Builder
		_ = r.Write(&b, true)
		t.Errorf("below the bar:\n%s", b.String())
	}
	for _, q := range r.Questions {
		if q.Bytes > 2000*4 {
			t.Errorf("%s: %d bytes are over the budget", q.ID, q.Bytes)
		}
	}
}

func TestEvidenceSetScores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	for range 3000 {
		b.WriteString("10:00:00 INFO heartbeat ok\n")
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.log", b.String()+"10:00:01 ERROR spindle 7 jammed\n"+b.String())
	write("questions.jsonl", `{"id":"1","file":"a.log","kind":"lexical","question":"Which spindle jammed?","evidence":[{"line":3001,"regex":"spindle 7 jammed"}]}
{"id":"2","file":"a.log","kind":"lexical","question":"Which spindle jammed?","evidence":[{"line":1,"regex":"never there"}]}
{"id":"3","file":"a.log","kind":"unanswerable","question":"Which zeppelin landed?","evidence":[]}
`)
	r, err := EvidenceSet(t.Context(), dir, EvidenceOptions{Budget: 100})
	if err != nil {
		t.Fatal(err)
	}
	if r.All.N != 2 || r.All.Full != 1 || r.All.Partial != 0.5 {
		t.Errorf("all = %+v, want 1 of 2", r.All)
	}
	if r.Ok() {
		t.Error("half the evidence passes the bar")
	}
	if last := r.Kinds[len(r.Kinds)-1]; last.Kind != Unanswerable || last.SaidNot != 1 {
		t.Errorf("unanswerable = %+v, want 1 said so", last)
	}
}

func TestEvidenceSetBadInput(t *testing.T) {
	t.Parallel()
	if _, err := EvidenceSet(t.Context(), t.TempDir(), EvidenceOptions{Budget: 100}); err == nil {
		t.Error("a folder without questions is no error")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "questions.jsonl"), []byte(`{"id":"1","file":"gone.log","question":"?"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := EvidenceSet(t.Context(), dir, EvidenceOptions{Budget: 100}); err == nil {
		t.Error("a missing text is no error")
	}
}
