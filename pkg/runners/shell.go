package runners

import "strings"

var (
	shellAt      = lazy(`^(\S+?): (?:line )?(\d+): (.*)$`)
	shellSyntax  = lazy(`(?i)(syntax error|unexpected EOF|unterminated quoted|unexpected end of file|bad substitution|parse error near)`)
	shellMissing = lazy(`^(?:(\S+?): (?:line )?(\d+): |(?:-?\w*sh|env|timeout|nice|nohup|xargs|sudo|exec): )?(?:\d+: )?(.*?): (?:command not found|not found|No such file or directory|Permission denied|cannot execute.*|Exec format error|Is a directory|is a directory)$`)
	zshMissing   = lazy(`^zsh: (command not found|no such file or directory|permission denied): (.+)$`)
	usageHint    = lazy(`^(?:Try '.* --help' for more information\.|Usage: |usage: )`)
	toolSays     = lazy(`^([\w.+-]+): (.+)$`)
)

// toolErrors are beginnings of what a tool says about itself rather than about
// its input; with a non-zero exit code they are the result.
var toolErrors = map[string][]string{
	"grep": {"Unmatched ", "Invalid ", "Trailing backslash", "unmatched ", "missing ", "lookbehind", "warning: stray", "unrecognized option", "invalid option", "internal error", "unknown "},
	"rg":   {"regex parse error", "error: ", "unrecognized flag", "unclosed "},
	"sed":  {"-e expression", "can't read", "couldn't ", "no input files", "invalid option", "file "},
	"awk":  {"cmd. line:", "syntax error", "fatal: ", "can't open", "line ", "cannot open"}, "gawk": {"cmd. line:", "fatal: "}, "mawk": {"line ", "cannot open"},
	"jq":  {"error", "parse error"},
	"git": {"'"}, "fatal": {"not a git repository", "ambiguous argument", "pathspec", "bad revision", "unable to "},
	"curl": {"("}, "tar": {"Error ", "Cannot ", "This does not look"}, "find": {"unknown predicate", "missing argument", "paths must precede", "‘", "'"},
	"node":  {"bad option", "invalid value", "--"},
	"error": {"unknown ", "unexpected argument", "unrecognized ", "invalid ", "unclosed ", "unopened ", "repetition "},
}

func shellParsers() []parser {
	return []parser{
		// With these codes the shell itself ended the command.
		{name: "shell", kind: kindCrash, parse: shellParse, sniff: func(t *Text) match {
			if code, ok := t.Exit(); !ok || code != 126 && code != 127 {
				return match{}
			}
			if i, kind := shellFind(t); i >= 0 && kind == "missing" {
				return t.all(scoreCertain)
			}
			return match{}
		}},
		{name: "shell", kind: kindWrapper, parse: shellParse, sniff: func(t *Text) match {
			if !t.ExitBad() && t.Hint.Exit != nil {
				return match{}
			}
			if i, _ := shellFind(t); i >= 0 {
				return t.all(scoreLikely)
			}
			return match{}
		}},
	}
}

// shellFind looks for the shell's or a tool's own complaint; kind is "syntax",
// "missing" or "tool".
func shellFind(t *Text) (int, string) {
	code, _ := t.Exit()
	for i := t.Len() - 1; i >= 0 && i >= t.Len()-60; i-- {
		l := t.lines[i]
		if usageHint().MatchString(l) && t.ExitBad() && i > 0 && toolSays().MatchString(t.Line(i-1)) {
			for i--; i > 0 && usageHint().MatchString(t.Line(i)) && toolSays().MatchString(t.Line(i-1)); i-- {
			}
			return i, "tool"
		}
		name, rest, ok := strings.Cut(l, ": ")
		if !ok {
			continue
		}
		switch {
		case shellSyntax().MatchString(rest) && (shellAt().MatchString(l) || strings.HasSuffix(name, "sh") || strings.HasPrefix(name, "/bin/")):
			return i, "syntax"
		case code == 127 || code == 126 || strings.HasSuffix(l, ": command not found"):
			if shellMissing().MatchString(l) || zshMissing().MatchString(l) {
				return i, "missing"
			}
		case zshMissing().MatchString(l):
			return i, "missing"
		case shellAt().MatchString(l) && shellMissing().MatchString(l):
			return i, "missing"
		case t.ExitBad() && toolSays().MatchString(l) && (hasAnyPrefix(rest, toolErrors[name]) || hasErrno(l)):
			return i, "tool"
		}
	}
	return -1, ""
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// hasErrno says that the line ends with a system error's text.
func hasErrno(l string) bool {
	for _, s := range []string{": No such file or directory", ": Permission denied", ": Is a directory", ": Not a directory", ": File exists", ": No space left on device", ": Connection refused", ": Read-only file system", "(No such file or directory)"} {
		if strings.HasSuffix(l, s) {
			return true
		}
	}
	return false
}

func shellParse(t *Text, f *finding) {
	i, kind := shellFind(t)
	l := t.Line(i)
	var file string
	var line int
	msg := l
	if m := shellAt().FindStringSubmatch(l); m != nil {
		msg = m[3]
		if strings.ContainsAny(m[1], "./") && !strings.HasSuffix(m[1], "sh") || strings.HasSuffix(m[1], ".sh") { // "bash: line 1" names no file
			file, line = t.path(m[1]), atoi(m[2])
		}
	}
	if kind == "syntax" {
		f.build(BuildError{File: file, Line: line, Message: message(append([]string{msg}, shellMore(t, i)...)...)})
		f.worse(StateBuildFailed)
		return
	}
	f.fail(Failure{File: file, Line: line, Message: msg})
	f.worse(StateDidNotFinish)
}

// shellMore is the line that quotes the culprit.
func shellMore(t *Text, i int) []string {
	if n := t.Line(i + 1); strings.Contains(n, ": `") {
		return []string{n[strings.Index(n, ": `")+2:]}
	}
	return nil
}

// progressParser reads an output of nothing but the marks of a dot reporter, the
// last line not ended: whatever runner it was, it did not come to its summary.
func progressParser() parser {
	return parser{
		name: "dots", kind: kindTests,
		sniff: func(t *Text) match {
			if !t.unended || t.Len() == 0 || t.Len() > 400 {
				return match{}
			}
			for _, l := range t.lines {
				if strings.Trim(l, ".FES*sxX,") != "" {
					return match{}
				}
			}
			return t.all(scoreWeak + 10)
		},
		parse: func(t *Text, f *finding) {
			f.State = StateDidNotFinish
			f.note("only progress marks and no summary: the run ended inside the tests")
		},
	}
}

// silentTools print nothing when all is well, so that an empty output with exit
// code 0 is their success; the arguments that make it so are listed.
var silentTools = map[string][]string{
	"tsc": nil, "eslint": nil, "flake8": nil, "shellcheck": nil, "gcc": nil, "cc": nil, "g++": nil, "clang": nil, "clang++": nil,
	"javac": nil, "rustc": nil, "gofmt": nil, "staticcheck": nil, "go": {"build", "vet"}, "valgrind": {"-q"}, "ruff": {"check"}, "pyflakes": nil,
}

// silentParser reads an output without any text.
func silentParser() parser {
	return parser{
		name: "", kind: kindWrapper,
		sniff: func(t *Text) match {
			if _, known := t.Exit(); known && blank(t.whole) {
				return match{score: scoreLikely, from: 0, to: t.Len()}
			}
			return match{}
		},
		parse: func(t *Text, f *finding) {
			switch name := answersByCode(t.Hint.Command); {
			case !t.ExitOK() && name != "" && *t.Hint.Exit == 1 && t.Hint.Signal == "" && !t.Hint.TimedOut:
				f.Runner = name
				f.note("no output; exit code 1 is how " + name + " says no (nothing found, not equal, not true)")
			case !t.ExitOK():
				f.note("no output")
			case silentClean(t.Hint.Command):
				f.State = StatePassed
			default:
				f.State = StateNoTests
				f.note("exit code 0 and no output: nothing shows that anything ran")
			}
		},
	}
}

// answersByCode names the tool when command is one call of one that answers "no"
// by exit code 1 and prints nothing then; "" otherwise.
func answersByCode(command string) string {
	if strings.ContainsAny(command, ";|&$`()\n") {
		return ""
	}
	words := strings.Fields(command)
	if len(words) == 0 {
		return ""
	}
	switch name := words[0][strings.LastIndexByte(words[0], '/')+1:]; name {
	case "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "test", "[", "diff", "cmp", "pgrep", "which", "false":
		return name
	case "git":
		if len(words) > 1 && (words[1] == "grep" || words[1] == "diff" || words[1] == "merge-base" || words[1] == "show-ref") {
			return "git " + words[1]
		}
	}
	return ""
}

// silentClean says that command calls only tools whose success is silent.
func silentClean(command string) bool {
	for part := range strings.SplitSeq(command, "&&") {
		if !silentTool(part) {
			return false
		}
	}
	return true
}

func silentTool(command string) bool {
	if strings.ContainsAny(command, ";|&<>$`()\n") {
		return false
	}
	words := strings.Fields(command)
	for len(words) > 1 && (words[0] == "npx" || words[0] == "env" || words[0] == "nice" || strings.Contains(words[0], "=")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	sub, ok := silentTools[words[0][strings.LastIndexByte(words[0], '/')+1:]]
	if !ok || sub == nil {
		return ok
	}
	return len(words) > 1 && hasAnyPrefix(words[1], sub)
}
