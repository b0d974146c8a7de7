package docs_test

import (
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"
)

// exceptions are the commands that no sandbox can run, each with the reason.
var exceptions = []struct {
	command *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`^claude plugin (marketplace (add|update|remove)|install|update|uninstall) \S+$`), "test/e2e installs, uses and removes the plugin with the real client"},
	{regexp.MustCompile(`^make( [a-z-]+)?( [A-Z]+=\S+)*$`), "the target is looked for in the Makefile; most of them run for minutes, one of them runs this test"},
	{regexp.MustCompile(`^(\w+=\S+ )*(llama-server|ollama|vllm|litellm|lms) `), "starts a server of somebody else; `make test-live` starts the ones that are there"},
	{regexp.MustCompile(`^go (test|generate) \./test/docs$`), "this is that test"},
}

func exception(command string) (int, bool) {
	for i, e := range exceptions {
		if e.command.MatchString(command) {
			return i, true
		}
	}
	return 0, false
}

// Commands that go on until they are stopped.
var serving = regexp.MustCompile(`^legwork shim\b`)

// Every command of every block is run, in order, a document in a project of its own.
func TestCommands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs every command of the documentation")
	}
	for _, d := range documents(t) {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			var s *sandbox
			for _, b := range d.blocks {
				for _, c := range commands(t, d, b) {
					if _, ok := exception(c.text); ok {
						continue
					}
					if s == nil {
						s = newSandbox(t)
					}
					s.check(t, d, c)
				}
			}
		})
	}
}

// An exception that nothing needs is a hole.
func TestExceptionsAreNeeded(t *testing.T) {
	t.Parallel()
	used := make([]bool, len(exceptions))
	makefile := read(t, "Makefile")
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			for _, c := range commands(t, d, b) {
				i, ok := exception(c.text)
				if !ok {
					continue
				}
				used[i] = true
				if words := strings.Fields(c.text); words[0] == "make" && len(words) > 1 && !strings.Contains(makefile, "\n"+words[1]+":") {
					t.Errorf("%s:%d: the Makefile has no target %s", d.name, c.line, words[1])
				}
			}
		}
	}
	for i, u := range used {
		if !u {
			t.Errorf("nothing needs the exception %s", exceptions[i].command)
		}
	}
}

// command is one command of a document; prints is what a transcript shows.
type command struct {
	line       int
	text       string
	transcript bool
	prints     string
}

func commands(t *testing.T, d document, b block) []command {
	t.Helper()
	switch b.lang {
	case "sh":
		return statements(t, d, b)
	case "console":
		return transcript(t, d, b)
	}
	return nil
}

// statements takes a block apart as a shell reads it.
func statements(t *testing.T, d document, b block) []command {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(b.text), "")
	if err != nil {
		t.Fatalf("%s:%d: no shell reads this: %v", d.name, b.line, err)
	}
	if len(file.Stmts) == 0 {
		t.Errorf("%s:%d: no command in a block of sh", d.name, b.line)
	}
	var out []command
	for _, st := range file.Stmts {
		text := b.text[st.Pos().Offset():st.End().Offset()]
		out = append(out, command{line: b.line + int(st.Pos().Line()), text: strings.TrimSpace(text)})
	}
	return out
}

func transcript(t *testing.T, d document, b block) []command {
	t.Helper()
	var out []command
	for i, l := range strings.Split(strings.TrimSuffix(b.text, "\n"), "\n") {
		if text, ok := strings.CutPrefix(l, "$ "); ok {
			out = append(out, command{line: b.line + i + 1, text: text, transcript: true})
			continue
		}
		if len(out) == 0 {
			t.Fatalf("%s:%d: a transcript begins with \"$ \"", d.name, b.line)
		}
		out[len(out)-1].prints += l + "\n"
	}
	return out
}

func (s *sandbox) check(t *testing.T, d document, c command) {
	t.Helper()
	if why := s.lacks(c.text); why != "" {
		t.Logf("%s:%d: not run: %s: %s", d.name, c.line, why, c.text)
		return
	}
	stdout, stderr, err := s.run(c.text, serving.MatchString(c.text))
	var exit *exec.ExitError
	if c.transcript && errors.As(err, &exit) {
		err = nil // what it printed is compared
	}
	if err != nil {
		t.Errorf("%s:%d: %s\n%v\nstdout: %s\nstderr: %s", d.name, c.line, c.text, err, stdout, stderr)
	}
	if c.transcript && !shows(c.prints, stdout) {
		t.Errorf("%s:%d: %s prints (+) something else than the document (-):\n%s\nstderr: %s", d.name, c.line, c.text, cmp.Diff(steady(c.prints), steady(stdout)), stderr)
	}
}

// lacks says which program is missing on this machine, that a reader of the line would have.
func (s *sandbox) lacks(text string) string {
	if !s.client && (strings.HasPrefix(text, "claude ") || strings.HasPrefix(text, "legwork agent ") || strings.Contains(text, someJob)) {
		return "there is no Claude Code client (`make test` installs it)"
	}
	for _, tool := range []string{"node", "npm", "pytest", "curl"} {
		if !regexp.MustCompile(`(^|[ '|])` + tool + ` `).MatchString(text) {
			continue
		}
		if _, err := exec.LookPath(tool); err != nil {
			return "there is no " + tool
		}
	}
	return ""
}

// steady replaces what differs from run to run: times, ids, the home.
func steady(s string) string {
	for _, r := range []struct{ old, new string }{
		{`\d+(\.\d+)? (ms|s)\b`, "TIME"},
		{`\b[rj][a-z2-9]{6,7}\b`, "ID"},
		{`\S+/\.local/state/`, "~/.local/state/"},
		{`\S+/\.config/`, "~/.config/"},
		{`127\.0\.0\.1:\d+`, "127.0.0.1:8080"},
		{`\d+ tokens in, \d+ out`, "TOKENS"},
		{`\(model \d+\.\d, test \d+\.\d\)`, "(TIME)"},
		{` · sandbox: bubblewrap`, ""}, // where there is one
	} {
		s = regexp.MustCompile(r.old).ReplaceAllString(s, r.new)
	}
	return strings.TrimSpace(s)
}

// shows compares a printed text with what the document shows of it; a line "…" stands for any lines.
func shows(want, got string) bool {
	parts := strings.Split("\n"+steady(want)+"\n", "\n…\n")
	rest := "\n" + steady(got) + "\n"
	if len(parts) == 1 {
		return parts[0] == rest
	}
	for i, p := range parts {
		at := strings.Index(rest, p)
		if at < 0 || i == 0 && at != 0 || i == len(parts)-1 && !strings.HasSuffix(rest, p) {
			return false
		}
		rest = rest[at+max(0, len(p)-1):]
	}
	return true
}
