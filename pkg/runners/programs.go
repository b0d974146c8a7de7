package runners

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Program is one program that a shell command starts, with wrappers (npx, timeout, "bundle exec") taken off and npm
// scripts followed; those that npm runs before and after them are in it too. A word that is not plain text is "\x00".
type Program struct {
	Name string // base name; "pip" for "python -m pip", "python" with a file as first argument for a script
	Args []string
	Dir  string
}

// Programs lists what command starts in dir, as far as its text and package.json say; nil when it cannot be parsed.
func Programs(command, dir string) []Program {
	var out []Program
	for _, p := range programs(command, dir, 0) {
		out = append(out, Program{Name: p.name, Args: p.args, Dir: p.dir})
	}
	return out
}

// Words lists the words of a shell command without their quotes: arguments, values of assignments and files of
// redirections, with $HOME and ~ replaced by home. What other expansions hold is not known and left out of the words.
func Words(command, home string) []string {
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return strings.Fields(command)
	}
	var out []string
	syntax.Walk(file, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			out = append(out, wordText(w, home))
		}
		return true
	})
	return slices.DeleteFunc(out, func(w string) bool { return w == "" })
}

// wordText is the text of a word with the home folder filled in.
func wordText(w *syntax.Word, home string) string {
	var b strings.Builder
	param := func(p syntax.WordPart) {
		if e, ok := p.(*syntax.ParamExp); ok && e.Param != nil && e.Param.Value == "HOME" {
			b.WriteString(home)
		}
	}
	for i, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text := p.Value
			if rest, ok := strings.CutPrefix(text, "~"); ok && i == 0 && (rest == "" || rest[0] == '/') {
				text = home + rest
			}
			b.WriteString(strings.ReplaceAll(text, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if lit, ok := q.(*syntax.Lit); ok {
					b.WriteString(lit.Value)
				}
				param(q)
			}
		default:
			param(p)
		}
	}
	return b.String()
}

// node turns "node --flag node_modules/jest/bin/jest.js a" into jest with its arguments.
func node(p program) program {
	for i, a := range p.args {
		parts := strings.Split(filepath.ToSlash(a), "/")
		at := slices.Index(parts, "node_modules")
		if strings.HasPrefix(a, "-") || at < 0 || at+1 >= len(parts) {
			continue
		}
		name := parts[at+1]
		if name == ".bin" && at+2 < len(parts) {
			name = parts[at+2]
		}
		if name == "@playwright" {
			name = "playwright"
		}
		if slices.Contains(nodePrograms, name) {
			return program{name: name, path: a, args: p.args[i+1:], sets: p.sets}
		}
	}
	return p
}
