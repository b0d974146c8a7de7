package delegate

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// examples are the lines of a file's documentation that a runner may execute: behind >>> in Python with what is
// expected, and code in the doc comments of Rust.
func examples(l language, text string) []string {
	var out []string
	on := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		switch l.name {
		case "python":
			on = strings.HasPrefix(line, ">>>") || on && line != "" && !strings.HasPrefix(line, `"""`) && !strings.HasPrefix(line, "'''")
		case "rust":
			doc := regexp.MustCompile(`^//[/!] ?(.*)`).FindStringSubmatch(line)
			switch {
			case doc == nil:
				on = false
				continue
			case strings.HasPrefix(strings.TrimSpace(doc[1]), "```"):
				on = !on
				line = strings.TrimSpace(doc[1]) // which may say that it is not run
			case !on:
				continue
			}
			out = append(out, line)
			continue
		}
		if on {
			out = append(out, line)
		}
	}
	return out
}

// judgedByExamples says that the test command may run the examples of a file.
func (c *call) judgedByExamples(l language, text string) bool {
	speaks := func(text string) bool { return strings.Contains(text, "doctest") }
	switch l.name {
	case "rust":
		// What picks other targets leaves them out.
		return !regexp.MustCompile(`\s--(?:lib|bins?|tests?|examples?|benches|all-targets)\b|\bnextest\b`).MatchString(c.req.Test)
	case "python":
		if speaks(c.req.Test) || speaks(text) {
			return true
		}
		for _, text := range c.test.texts {
			if speaks(text) {
				return true
			}
		}
		for _, name := range []string{"pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "noxfile.py", "conftest.py", "Makefile"} {
			for _, dir := range []string{c.req.Dir, c.repo.Top} {
				if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil && speaks(string(b)) {
					return true
				}
			}
		}
	}
	return false
}

// otherExamples says that an answer changes the examples that judge it; "" when it does not.
func (c *call) otherExamples(i int, text string) string {
	l := c.langs[i]
	if !c.before[i].Exists || l.name != "python" && l.name != "rust" {
		return ""
	}
	was := c.original(i)
	if list := examples(l, was); len(list) == 0 || slices.Equal(list, examples(l, text)) || !c.judgedByExamples(l, was) {
		return ""
	}
	return "the examples in the documentation of " + c.res.Targets[i] + " are run as tests; they must stay exactly as they are, each in its place"
}
