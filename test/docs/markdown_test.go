// Package docs_test holds the documentation to its word: every command in it is run, every snippet is read by the
// program it is for, and every setting, command, file and number it names exists.
//
// The convention for authors. A fenced block has one of these languages, and each is checked in its own way:
//
//	sh       commands, run one after the other in a project of their own (sandbox_test.go)
//	console  the same behind "$ ", with what they print; a line "…" stands for any lines
//	yaml     settings of legwork, loaded without a warning; those of other programs name them in their first line
//	json     entries of MCP clients, whose server is started; other JSON is parsed
//	text     anything that is no command; mermaid: a diagram
//
// Pitfall: a command that cannot run here (it starts somebody else's server, say) fails the test unless it stands
// in the list of exceptions with a reason.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the top of the project.
const root = "../.."

// document is one Markdown file.
type document struct {
	name   string // relative to the top
	text   string
	blocks []block
	prose  []line // what stands outside the blocks
}

type block struct {
	line int // of the opening fence
	lang string
	text string
}

type line struct {
	n    int
	text string
}

// documents are the files whose every command is run.
func documents(t *testing.T) []document {
	t.Helper()
	var docs []document
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			docs = append(docs, parse(t, filepath.ToSlash(name), string(b)))
		}
	}
	if len(docs) < 5 {
		t.Fatalf("%d documents are too few", len(docs))
	}
	return docs
}

var fence = regexp.MustCompile("^(\\s*)```(\\S*)\\s*$")

func parse(t *testing.T, name, text string) document {
	t.Helper()
	d := document{name: name, text: text}
	var open *block
	for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		m := fence.FindStringSubmatch(l)
		switch {
		case m != nil && open == nil:
			open = &block{line: i + 1, lang: m[2]}
		case m != nil:
			d.blocks = append(d.blocks, *open)
			open = nil
		case open != nil:
			open.text += l + "\n"
		default:
			d.prose = append(d.prose, line{i + 1, l})
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block has no end", name, open.line)
	}
	return d
}

// A block in a language that nobody checks would be a hole in all of this.
func TestBlocksAreOfAKnownKind(t *testing.T) {
	t.Parallel()
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			switch b.lang {
			case "sh", "console", "yaml", "json":
			case "text", "mermaid":
				for l := range strings.SplitSeq(b.text, "\n") {
					if strings.HasPrefix(l, "$ ") || strings.HasPrefix(strings.TrimSpace(l), "legwork ") {
						t.Errorf("%s:%d: a command in a block of %s: %s", d.name, b.line, b.lang, l)
					}
				}
			default:
				t.Errorf("%s:%d: a block of %q; known are sh, console, yaml, json, text, mermaid", d.name, b.line, b.lang)
			}
		}
	}
}

// generated is the part of a document between the marks "<!-- NAME: generated … -->" and "<!-- NAME: end -->".
func generated(text, name string) (before, part, after string, ok bool) {
	before, rest, ok := strings.Cut(text, "<!-- "+name+": generated")
	if !ok {
		return "", "", "", false
	}
	mark, rest, ok := strings.Cut(rest, "-->\n")
	if !ok {
		return "", "", "", false
	}
	before += "<!-- " + name + ": generated" + mark + "-->\n"
	part, after, ok = strings.Cut(rest, "<!-- "+name+": end -->")
	return before, part, "<!-- " + name + ": end -->" + after, ok
}
