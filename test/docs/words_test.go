package docs_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"legwork/pkg/config"
)

var span = regexp.MustCompile("`([^`]+)`")

// What stands as code within a sentence exists: commands with their flags, settings, variables.
func TestNamesExist(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	vars := map[string]bool{ // of the program itself, its launcher and its tests
		"LEGWORK_CONFIG_HOME": true, "LEGWORK_STATE_HOME": true, "LEGWORK_LOCAL_SERVERS": true, "LEGWORK_BIN": true, "LEGWORK_RAW": true,
		"LEGWORK_API_KEY": true,
	}
	sections := map[string]bool{}
	for _, s := range config.Reference() {
		keys[s.Key] = true
		vars[s.Env] = true
		section, _, _ := strings.Cut(s.Key, ".")
		sections[section] = true
	}
	key := regexp.MustCompile(`^([a-z]+)\.[a-z_<>.]+$`)
	variable := regexp.MustCompile(`^LEGWORK_[A-Z_]+`)
	for _, d := range documents(t) {
		if d.name == "CHANGELOG.md" { // it also names what is gone
			continue
		}
		for _, l := range d.prose {
			for _, m := range span.FindAllStringSubmatch(l.text, -1) {
				word, _, _ := strings.Cut(m[1], "=")
				word = regexp.MustCompile(`^(endpoints|models)\.[^.]+\.`).ReplaceAllString(word, "$1.<name>.")
				if k := key.FindStringSubmatch(word); k != nil && sections[k[1]] && !keys[word] && !isFile(word) {
					t.Errorf("%s:%d: there is no setting %s", d.name, l.n, word)
				}
				if v := variable.FindString(word); v != "" && !vars[v] && !strings.HasPrefix(v, "LEGWORK_TEST_") && !strings.HasPrefix(v, "LEGWORK_LIVE_") {
					t.Errorf("%s:%d: there is no variable %s", d.name, l.n, v)
				}
				if args, ok := strings.CutPrefix(m[1], "legwork "); ok {
					if why := wrong(t, args); why != "" {
						t.Errorf("%s:%d: `legwork %s`: %s", d.name, l.n, args, why)
					}
				}
			}
		}
	}
}

// The commands that the pages under bench/ show are in the grammar. They are not run: they take hours, or a model.
func TestBenchPages(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, pattern := range []string{"bench/*.md", "bench/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			d := parse(t, filepath.ToSlash(name), read(t, filepath.ToSlash(name)))
			for _, b := range d.blocks {
				for _, c := range commands(t, d, b) {
					if args, ok := strings.CutPrefix(c.text, "legwork "); ok {
						seen++
						if why := wrong(t, args); why != "" {
							t.Errorf("%s:%d: %s: %s", d.name, c.line, c.text, why)
						}
					}
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no command found")
	}
}

func isFile(name string) bool {
	return slices.Contains([]string{".yaml", ".json", ".jsonl", ".md", ".go", ".log", ".txt"}, path.Ext(name))
}

// wrong says what the grammar does not know of a command line: a command, a subcommand or a flag.
func wrong(t *testing.T, args string) string {
	t.Helper()
	words := strings.Fields(args)
	var command []string
	text := help(t)
	if words[0] == "hook" { // not shown, since only Claude Code calls it
		return ""
	}
	for len(words) > 0 && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(words[0]) {
		if !regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(words[0]) + `  `).MatchString(text) {
			break
		}
		command = append(command, words[0])
		words = words[1:]
		text = help(t, command...)
	}
	if len(command) == 0 && !strings.HasPrefix(args, "COMMAND") {
		return "there is no such command"
	}
	if len(words) > 0 && strings.Contains(text, "\nCommands:") && !strings.Contains(text, "[COMMAND]") && regexp.MustCompile(`^[a-z]+$`).MatchString(words[0]) {
		return "there is no such subcommand"
	}
	for _, w := range words {
		flag, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(flag, "--") && len(flag) > 2 && flag != "--help" && !regexp.MustCompile(regexp.QuoteMeta(flag)+`[\s\[=]`).MatchString(text) {
			return "there is no flag " + flag
		}
	}
	return ""
}

func help(t *testing.T, command ...string) string {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(bin, append(command, "--help")...).Output()
	if err != nil {
		t.Fatalf("legwork %v --help: %v", command, err)
	}
	return string(out)
}

// Every command that help shows is explained somewhere.
func TestCommandsAreDocumented(t *testing.T) {
	t.Parallel()
	all := ""
	for _, d := range documents(t) {
		all += d.text
	}
	_, list, _ := strings.Cut(help(t), "\nCommands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for l := range strings.SplitSeq(list, "\n") {
		name := strings.Fields(l)[0]
		if !regexp.MustCompile(`legwork(\.cmd)? ` + name + `\b`).MatchString(all) {
			t.Errorf("nothing is said of legwork %s", name)
		}
	}
}

// The README's tables and lists of tools are those of the server.
func TestToolsAreDocumented(t *testing.T) {
	t.Parallel()
	var tools, waiting []string
	for _, tool := range gjson.Parse(read(t, "pkg/mcpserver/testdata/tools.json")).Array() {
		name := tool.Get("name").Str
		tools = append(tools, name)
		if tool.Get("inputSchema.properties.wait_s").Exists() {
			waiting = append(waiting, name)
		}
	}
	readme := read(t, "README.md")
	_, table, _ := strings.Cut(readme, "\n| tool | what it does |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var told []string
	for row := range strings.SplitSeq(table, "\n") {
		if cells := strings.Split(row, "|"); len(cells) > 2 {
			for _, m := range span.FindAllStringSubmatch(cells[1], -1) {
				told = append(told, m[1])
			}
		}
	}
	same(t, "the README's table of tools", told, tools)
	var takes []string
	for l := range strings.SplitSeq(readme, "\n") {
		if names, _, ok := strings.Cut(l, " take `wait_s`"); ok {
			for _, m := range span.FindAllStringSubmatch(names, -1) {
				takes = append(takes, m[1])
			}
		}
	}
	same(t, "the tools that take wait_s", takes, waiting)
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: the document says %v, the server %v", what, got, want)
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Links within the project lead to a file, and to a heading in it.
func TestLinksLead(t *testing.T) {
	t.Parallel()
	for _, d := range documents(t) {
		for _, l := range d.prose {
			for _, m := range link.FindAllStringSubmatch(l.text, -1) {
				if strings.Contains(m[1], "://") {
					continue
				}
				file, anchor, _ := strings.Cut(m[1], "#")
				name := d.name
				if file != "" {
					name = path.Join(path.Dir(d.name), file)
				}
				b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
				if st, serr := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil && (serr != nil || !st.IsDir()) {
					t.Errorf("%s:%d: no file %s", d.name, l.n, m[1])
				}
				if anchor != "" && !slices.Contains(anchors(string(b)), anchor) {
					t.Errorf("%s:%d: %s has no heading %s", d.name, l.n, name, anchor)
				}
			}
		}
	}
}

// anchors are the headings of a text as links name them.
func anchors(text string) []string {
	var out []string
	for l := range strings.SplitSeq(text, "\n") {
		if h := strings.TrimLeft(l, "#"); h != l && strings.HasPrefix(h, " ") {
			h = regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(h)), "")
			out = append(out, strings.ReplaceAll(h, " ", "-"))
		}
	}
	return out
}

// A sentence that names a measurement as its source says what stands there: every figure in it is found in that file.
func TestFiguresAreMeasured(t *testing.T) {
	t.Parallel()
	source := regexp.MustCompile(`\]\(((?:\.\./)?bench/[\w/.-]+\.md)\)`)
	figure := regexp.MustCompile(`\d+ of \d+|\d+(?:[.,]\d+)*`) // a share is one figure
	seen := 0
	for _, d := range documents(t) {
		for _, l := range d.prose {
			var text string
			for _, m := range source.FindAllStringSubmatch(l.text, -1) {
				text += " " + read(t, path.Join(path.Dir(d.name), m[1]))
			}
			if text == "" {
				continue
			}
			said := link.ReplaceAllString(span.ReplaceAllString(l.text, ""), "]")
			for _, f := range figure.FindAllString(said, -1) {
				seen++
				if !regexp.MustCompile(`(^|[^\d.,])` + regexp.QuoteMeta(f) + `($|[^\d.,]|[.,](\D|$))`).MatchString(text) {
					t.Errorf("%s:%d: %s does not stand in the file that is named", d.name, l.n, f)
				}
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d figures are too few", seen)
	}
}
