package claudecode_test

import (
	"os"
	"path/filepath"
	"testing"

	"legwork/pkg/claudecode"
)

func TestToolResults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for transcript, want := range map[string]string{
		filepath.Join(dir, "s1.jsonl"): filepath.Join(dir, "s1", "tool-results"),
		filepath.Join(dir, "s1.json"):  "",
		filepath.Join(dir, ".jsonl"):   "",
		"s1.jsonl":                     "",
		"":                             "",
	} {
		if got := claudecode.ToolResults(transcript); got != want {
			t.Errorf("%q: %q, want %q", transcript, got, want)
		}
	}
}

// A published file is the same file where that is possible, outlives its original, and is private.
func TestPublish(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	transcript := filepath.Join(dir, "projects", "p", "s1.jsonl")
	from := filepath.Join(dir, "raw.txt")
	if err := os.WriteFile(from, []byte("the whole text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is there already
		to, err := claudecode.Publish(transcript, from, "legwork-r1.txt")
		if err != nil || to != filepath.Join(claudecode.ToolResults(transcript), "legwork-r1.txt") {
			t.Fatalf("%q %v", to, err)
		}
	}
	if err := os.Remove(from); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(claudecode.ToolResults(transcript), "legwork-r1.txt"))
	if err != nil || string(text) != "the whole text" {
		t.Errorf("%q %v", text, err)
	}
	if to, err := claudecode.Publish(transcript, from, "legwork-r2.txt"); err == nil {
		t.Errorf("a file that is gone was published as %s", to)
	}
	to, err := claudecode.PublishText(transcript, "words", "legwork-t1.txt")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "words" {
		t.Errorf("%q %v", text, err)
	}
	for _, none := range []string{"", "relative.jsonl"} {
		if to, err := claudecode.PublishText(none, "words", "x.txt"); to != "" || err != nil {
			t.Errorf("%q: %q %v", none, to, err)
		}
	}
}
