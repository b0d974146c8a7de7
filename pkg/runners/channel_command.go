package runners

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// program is one simple command of a shell command, after wrappers (npx,
// timeout, "bundle exec", npm scripts) are taken off.
type program struct {
	name string   // base name of what runs
	path string   // as written
	args []string // without the name
	sets []string // variables assigned in front of it
	dir  string   // where it runs
	hook bool     // npm runs it before or after the script that was asked for
}

// has reports whether an argument equals a or begins with "a=".
func (p program) has(a string) bool {
	for _, x := range p.args {
		if x == a || strings.HasPrefix(x, a+"=") {
			return true
		}
	}
	return false
}

// assigns reports whether the command itself sets the variable, so that a value
// of ours would be lost.
func (p program) assigns(key string) bool {
	return slices.Contains(p.sets, key)
}

// programs lists what command runs. Words that are not plain text (variables,
// substitutions) end a command's arguments: what they hold is not known.
func programs(command, dir string, depth int) []program {
	if depth > 4 {
		return nil
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return nil
	}
	var out []program
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		var sets, words []string
		for _, a := range call.Assigns {
			sets = append(sets, a.Name.Value)
		}
		for _, w := range call.Args {
			lit, ok := plainWord(w)
			if !ok {
				lit = "\x00" // present, but unknown
			}
			words = append(words, lit)
		}
		if len(words) == 2 && words[0] == "cd" && words[1] != "\x00" {
			if filepath.IsAbs(words[1]) {
				dir = words[1]
			} else {
				dir = filepath.Join(dir, words[1])
			}
			return true
		}
		for _, p := range unwrap(words, sets, dir, depth) {
			if p.dir == "" {
				p.dir = dir
			}
			out = append(out, p)
		}
		return true
	})
	return out
}

// plainWord is the text of a word without expansions.
func plainWord(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// wrappers run the command that follows their own options; the value lists
// options that take a separate argument.
var wrappers = map[string][]string{
	"npx": {"-p", "--package"}, "bunx": nil, "pnpx": nil, "env": {"-u", "-C"}, "cross-env": nil, "nice": {"-n"}, "time": nil, "command": nil, "exec": nil,
	"nohup": nil, "stdbuf": {"-o", "-e", "-i"}, "timeout": {"-k", "-s"}, "xvfb-run": nil, "dotenv": nil, "c8": nil, "nyc": nil, "coverage": nil,
}

// wrapperWords are two-word wrappers ("bundle exec rspec").
var wrapperWords = map[string][]string{
	"bundle": {"exec"}, "uv": {"run"}, "poetry": {"run"}, "pipenv": {"run"}, "hatch": {"run"}, "pdm": {"run"}, "rye": {"run"},
	"pnpm": {"exec", "dlx"}, "yarn": {"exec", "dlx"}, "npm": {"exec"}, "mise": {"exec"}, "direnv": {"exec"},
}

func unwrap(words, sets []string, dir string, depth int) []program {
	for len(words) > 0 {
		name := filepath.Base(words[0])
		if k, _, ok := strings.Cut(words[0], "="); ok && k != "" && !strings.ContainsAny(k, "/-. ") {
			sets, words = append(sets, k), words[1:]
			continue
		}
		if opts, ok := wrappers[name]; ok && len(words) > 1 {
			words = skipOptions(words[1:], opts, name == "timeout", name == "coverage")
			continue
		}
		if subs, ok := wrapperWords[name]; ok && len(words) > 2 && containsWord(subs, words[1]) {
			words = skipOptions(words[2:], nil, false, false)
			continue
		}
		break
	}
	if len(words) == 0 {
		return nil
	}
	name, args := filepath.Base(words[0]), words[1:]
	switch name {
	case "npm", "pnpm", "yarn", "bun":
		if progs := script(name, args, sets, dir, depth); progs != nil {
			return progs
		}
	case "sh", "bash", "zsh", "dash":
		for i, a := range args {
			if strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c") && i+1 < len(args) {
				return programs(args[i+1], dir, depth+1)
			}
		}
	case "python", "python3", "python2", "pypy3":
		return []program{python(args, sets)}
	case "node":
		return []program{node(program{name: name, path: words[0], args: args, sets: sets})}
	}
	return []program{{name: name, path: words[0], args: args, sets: sets}}
}

func containsWord(list []string, w string) bool {
	return slices.Contains(list, w)
}

// skipOptions drops leading options; number also drops one bare argument (the
// limit of timeout), sub one subcommand ("coverage run").
func skipOptions(words, takes []string, number, sub bool) []string {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		if words[0] == "--" {
			words = words[1:]
			break
		}
		if containsWord(takes, words[0]) && len(words) > 1 {
			words = words[1:]
		}
		if sub && words[0] == "-m" {
			return append([]string{"python"}, words...)
		}
		words = words[1:]
	}
	if number && len(words) > 0 {
		words = words[1:]
	}
	if sub && len(words) > 0 && words[0] == "run" {
		return append([]string{"python"}, words[1:]...)
	}
	return words
}

// python turns "python -X dev -m pytest a" into pytest with its arguments.
func python(args, sets []string) program {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-m" && i+1 < len(args):
			p := program{name: args[i+1], args: args[i+2:], sets: sets}
			if i > 0 && isolated(args[:i]) {
				p.sets = append(p.sets, "PYTHONPATH")
			}
			return p
		case a == "-W" || a == "-X":
			i++
		case !strings.HasPrefix(a, "-"):
			p := program{name: "python", args: args[i:], sets: sets}
			if isolated(args[:i]) {
				p.sets = append(p.sets, "PYTHONPATH")
			}
			return p
		}
	}
	return program{name: "python", args: args, sets: sets}
}

// isolated says that the interpreter ignores its environment variables.
func isolated(flags []string) bool {
	for _, f := range flags {
		if len(f) > 1 && f[0] == '-' && f[1] != '-' && strings.ContainsAny(f, "IE") {
			return true
		}
	}
	return false
}

// script resolves "npm test", "npm run x" and the like to what package.json says.
func script(tool string, args, sets []string, dir string, depth int) []program {
	var name string
	for i := 0; i < len(args) && name == ""; i++ {
		switch a := args[i]; {
		case a == "run" || a == "run-script":
			if i+1 < len(args) {
				name = args[i+1]
			}
		case a == "test" || a == "t" || a == "tst":
			if tool == "bun" {
				return nil // bun's own runner
			}
			name = "test"
		case a == "--prefix" || a == "-C" || a == "--dir" || a == "--cwd":
			if i+1 >= len(args) {
				return nil
			}
			dir = filepath.Join(dir, args[i+1])
			i++
		case strings.HasPrefix(a, "-"):
		default:
			if tool == "npm" || tool == "bun" {
				return nil
			}
			name = a // yarn and pnpm need no "run"
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil || name == "" {
		return nil
	}
	var pkg struct{ Scripts map[string]string }
	if json.Unmarshal(b, &pkg) != nil || pkg.Scripts[name] == "" {
		return nil
	}
	out := programs(pkg.Scripts[name], dir, depth+1)
	for i := range out {
		out[i].sets = append(out[i].sets, sets...)
	}
	if rest := after(args, "--"); len(rest) > 0 && len(out) > 0 {
		last := &out[len(out)-1]
		last.args = append(slices.Clip(last.args), rest...)
	}
	for _, when := range []string{"pre", "post"} {
		for _, p := range programs(pkg.Scripts[when+name], dir, depth+1) {
			p.hook = true
			out = append(out, p)
		}
	}
	return out
}

func after(args []string, mark string) []string {
	for i, a := range args {
		if a == mark {
			return args[i+1:]
		}
	}
	return nil
}
