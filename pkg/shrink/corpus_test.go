package shrink_test

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"legwork/pkg/clean"
	"legwork/pkg/config"
	"legwork/pkg/runners"
	"legwork/pkg/shrink"
)

// record is a recorded run of a real tool with the truth about it, written by hand.
type record struct {
	name, out string
	Command   string `json:"command"`
	Exit      int    `json:"exit_code"`
	Truth     struct {
		State      string   `json:"state"`
		Accept     []string `json:"accept_states"`
		Evidence   string   `json:"evidence"`
		FalseGreen bool     `json:"false_green"`
		Failures   []struct {
			ID    *string  `json:"id"`
			Alt   []string `json:"alt_ids"`
			Shown struct {
				ID bool `json:"id"`
			} `json:"shown"`
		} `json:"failures"`
	} `json:"truth"`
}

func corpus(t *testing.T) []record {
	t.Helper()
	z, err := zip.OpenReader("../runners/testdata/corpus.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	names, err := fs.Glob(z, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []record
	for _, n := range names {
		raw, err := fs.ReadFile(z, n)
		if err != nil {
			t.Fatal(err)
		}
		r := record{name: strings.TrimSuffix(n, ".json")}
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		out, err := fs.ReadFile(z, r.name+".out")
		if err != nil {
			t.Fatal(err)
		}
		r.out = string(out)
		all = append(all, r)
	}
	if len(all) < 100 {
		t.Fatalf("%d records", len(all))
	}
	return all
}

// result is what the hook gets for a successful command that printed text.
func result(t *testing.T, command, text string) shrink.Output {
	t.Helper()
	o := shrink.Output{Command: command, Stdout: text}
	if r := []rune(text); len(r) > 30_000 {
		o.Stdout = string(r[:30_000])
		o.Persisted = filepath.Join(t.TempDir(), "saved.txt")
		if err := os.WriteFile(o.Persisted, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func kept() string { return "/session/tool-results/whole.txt" }

// Every recorded success, as it is and behind a noisy build: never a changed verdict, every failing test
// still named, never longer than before.
func TestCorpusThroughTheHook(t *testing.T) {
	t.Parallel()
	settings := config.Shrink{Mode: "on", Above: 300}
	folded := 0
	for _, r := range corpus(t) {
		if r.Exit != 0 {
			continue
		}
		for name, noise := range map[string]int{"alone": 0, "noisy": 200, "very noisy": 700} {
			text := buildNoise(noise) + r.out
			command, _, _ := strings.Cut(r.Command, " | ") // tail and the like would be left alone
			o := result(t, command, text)
			got, err := shrink.Bash(t.Context(), settings, o, kept)
			if err != nil {
				t.Errorf("%s %s: %v", r.name, name, err)
			}
			if got == nil {
				continue
			}
			folded++
			checkFolded(t, r, name, text, got)
		}
	}
	if folded < 200 {
		t.Errorf("only %d results were folded", folded)
	}
}

func checkFolded(t *testing.T, r record, name, text string, got *shrink.Shrunk) {
	t.Helper()
	if len(got.Text) >= len(text) {
		t.Errorf("%s %s: %d bytes became %d", r.name, name, len(text), len(got.Text))
	}
	zero := 0
	want := runners.Parse(clean.Bytes([]byte(text)), runners.Hint{Command: r.Command, Exit: &zero})
	if lines := want.Lines(runners.Render{}); len(lines) > 0 && want.State != runners.StatePassed && !strings.Contains(got.Text, lines[0]) {
		t.Errorf("%s %s: verdict %q is not in\n%s", r.name, name, lines[0], got.Text)
	}
	green := strings.Contains(got.Text, ": passed")
	if green && r.Truth.State != "passed" && !slices.Contains(r.Truth.Accept, "passed") && r.Truth.Evidence != "names" {
		t.Errorf("%s %s: %s became passed:\n%s", r.name, name, r.Truth.State, got.Text)
	}
	for _, f := range r.Truth.Failures {
		if f.ID == nil || !f.Shown.ID {
			continue
		}
		if !slices.ContainsFunc(append(f.Alt, *f.ID), func(id string) bool { return strings.Contains(got.Text, id) }) {
			t.Errorf("%s %s: %q is not named in\n%s", r.name, name, *f.ID, got.Text)
		}
	}
}

func buildNoise(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "compiling module number %d of the service (cache hit)\n", i)
	}
	return b.String()
}

// Every recorded failure, cut as Claude Code cuts it: nothing is said of a text that is whole, and of a
// lost end only what is true.
func TestCorpusOfFailures(t *testing.T) {
	t.Parallel()
	for _, r := range corpus(t) {
		if r.Exit == 0 {
			continue
		}
		for _, noise := range []int{0, 300, 700} {
			text := buildNoise(noise) + r.out
			shown, whole := cutAsClient(r.Exit, text, 30_000)
			got := shrink.Failure(r.Command, shown, 0)
			switch lost := len([]rune(text)) > 30_000; {
			case whole && got != "":
				t.Errorf("%s: a whole text got %q", r.name, got)
			case lost != strings.Contains(got, "real end is gone"):
				t.Errorf("%s, %d characters: %q", r.name, len([]rune(text)), got)
			case !whole && strings.Contains(got, ": passed"):
				t.Errorf("%s: a failing run reads as passed: %s", r.name, got)
			}
			if len(got) > 6000 {
				t.Errorf("%s: %d bytes", r.name, len(got))
			}
		}
	}
}

// cutAsClient does to a failing output what Claude Code 2.1.332 does (measured).
func cutAsClient(exit int, text string, kept int) (shown string, whole bool) {
	r := []rune(text)
	whole = len(r) <= min(kept, 11_000)
	r = []rune(fmt.Sprintf("Exit code %d\n", exit) + strings.TrimRight(string(r[:min(len(r), kept)]), "\n"))
	if len(r) <= 11_000 {
		return string(r), whole
	}
	return fmt.Sprintf("%s\n\n... [%d characters truncated] ...\n\n%s", string(r[:5000]), len(r)-10_000, string(r[len(r)-5000:])), false
}
