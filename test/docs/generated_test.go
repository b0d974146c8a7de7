package docs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/pkg/config"
)

//go:generate go test -run TestGenerated -update .

var update = flag.Bool("update", false, "write the generated parts of the README")

// Parts of the README are made from the code and from the measurements; after a change of those,
// `go generate ./test/docs` brings them up to date.
func TestGenerated(t *testing.T) {
	t.Parallel()
	name := filepath.Join(root, "README.md")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for part, make := range map[string]func(*testing.T) string{"settings": settingsTable, "proof": proofTable} {
		before, have, after, ok := generated(text, part)
		if !ok {
			t.Fatalf("the README has no generated part %q", part)
		}
		want := make(t)
		if have != want && !*update {
			t.Errorf("the README's part %q is out of date; run: go generate ./test/docs", part)
		}
		text = before + want + after
	}
	if *update && text != string(b) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// settingsTable is every setting with its default, who may set it, and what it means.
func settingsTable(*testing.T) string {
	var b strings.Builder
	b.WriteString("| setting | default | a project may set it | |\n|---|---|---|---|\n")
	for _, s := range config.Reference() {
		who := "yes"
		if s.Trust {
			who = "when trusted"
		}
		def := s.Default
		if r := []rune(def); len(r) > 60 {
			def = string(r[:57]) + "…"
		}
		if def != "" {
			def = "`" + def + "`"
		}
		doc := s.Doc
		if len(s.Values) > 0 && !strings.Contains(doc, s.Values[0]) {
			doc += " (" + strings.Join(s.Values, ", ") + ")"
		}
		cells := []string{"`" + s.Key + "`", def, who, doc}
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", "\\|")
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// proofs are the rows of bench/PERFORMANCE.md that the README shows, by their first cells and how they were measured.
var proofs = []struct{ row, says string }{
	{"state of a run right", "recorded runs of test runners, compilers and crashes whose outcome is read right"},
	{"runs wrongly read as passed", "… that are wrongly read as passed"},
	{"failing ids found", "failing tests that are named"},
	{"reply to a failing run, median", "the reply to a failing run, median"},
	{"questions with all their lines kept", "log questions of which every line that answers is shown (2,000 tokens)"},
	{"process start → initialize reply (launcher)", "the plugin's server answers after"},
	{"SessionStart hook", "added to the start of a session"},
	{"a passing run of 100 kB, folded", "added to a Bash call whose 100 kB are folded"},
	{"clean + parse + rank", "a log is read at"},
	{"added to a 100 kB request, median", "the shim adds to a 100 kB request"},
}

// proofTable copies the measured values; a row that is gone, or is not within its limit, fails.
func proofTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| | measured | promised |\n|---|---|---|\n")
	for _, p := range proofs {
		name, how, _ := strings.Cut(p.row, " (")
		how = strings.TrimSuffix(how, ")")
		found := false
		for l := range strings.SplitSeq(read(t, "bench/PERFORMANCE.md"), "\n") {
			cells := strings.Split(strings.Trim(l, "| "), " | ")
			if len(cells) < 4 || strings.TrimSpace(cells[0]) != name || !strings.HasPrefix(cells[1], how) {
				continue
			}
			found = true
			if len(cells) < 5 || !strings.HasPrefix(cells[4], "ok") {
				t.Errorf("%s is not within its limit: %s", p.row, l)
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", p.says, strings.TrimSpace(cells[3]), strings.TrimSpace(cells[2]))
		}
		if !found {
			t.Errorf("bench/PERFORMANCE.md has no row %q", p.row)
		}
	}
	return b.String()
}
