package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// numbers are constants of the code that the documentation states; both places change together.
var numbers = []struct{ doc, says, file, code string }{
	{"README.md", "a window of 11,592 tokens or more, and 131,072 is comfortable", "pkg/agent/prepare.go", "fixedLean = 3400\n"},
	{"docs/agents.md", "(3,400 for the client's own prompt with lean tools, 8,192 to work in)", "pkg/agent/prepare.go", "workRoom  = 8192\n"},
	{"docs/agents.md", "131,072 is comfortable", "pkg/agent/prepare.go", "goodWindow = 128 << 10\n"},
	{"docs/backends.md", "in a few steps (8,192, 16,384, …)", "pkg/llm/plan.go", "ctxSteps = [...]int{8192, 16384,"},
	{"docs/backends.md", "`legwork/MODEL:ctx65536`", "pkg/agent/prepare.go", "askWindow = 64 << 10\n"},
	{"docs/architecture.md", "one line per run, eight older files beside it", "pkg/ledger/ledger.go", "Keep    = 8\n"},
	{"docs/delegate.md", "`exit-code-only`", "pkg/delegate/evidence.go", `GateExitOnly = "exit-code-only"`},
}

func TestNumbersOfTheCode(t *testing.T) {
	t.Parallel()
	for _, n := range numbers {
		if !strings.Contains(read(t, n.doc), n.says) {
			t.Errorf("%s does not say %q any more", n.doc, n.says)
		}
		if !strings.Contains(read(t, n.file), n.code) {
			t.Errorf("%s says %q, but %s has no %q any more", n.doc, n.says, n.file, n.code)
		}
	}
}

// The table of attempt policies in docs/delegate.md is that of the code.
func TestPolicies(t *testing.T) {
	t.Parallel()
	rows := regexp.MustCompile(`\{name: "(\w+)", first: ([\d.]+), repair: ([\d.]+), fresh: ([\d.]+), repairs: (\d+)`).FindAllStringSubmatch(read(t, "pkg/delegate/policy.go"), -1)
	if len(rows) < 4 {
		t.Fatalf("%d policies found", len(rows))
	}
	doc := read(t, "docs/delegate.md")
	for _, r := range rows {
		row := regexp.MustCompile("(?m)^\\| `" + r[1] + "` \\|.*$").FindString(doc)
		temperatures := []string{r[2], r[4]}
		if r[5] != "0" {
			temperatures = append(temperatures, r[3])
		}
		for _, temperature := range temperatures {
			if !strings.Contains(row, "("+temperature+")") {
				t.Errorf("docs/delegate.md: the row of %s does not name the temperature %s: %s", r[1], temperature, row)
			}
		}
	}
}

// The list of packages in docs/architecture.md has all of them.
func TestPackagesAreDescribed(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(filepath.Join(root, "pkg"))
	if err != nil {
		t.Fatal(err)
	}
	doc := read(t, "docs/architecture.md")
	for _, e := range entries {
		if sources, _ := filepath.Glob(filepath.Join(root, "pkg", e.Name(), "*.go")); len(sources) > 0 && !regexp.MustCompile(`\bpkg/`+e.Name()+`\b`).MatchString(doc) {
			t.Errorf("docs/architecture.md does not name pkg/%s", e.Name())
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
