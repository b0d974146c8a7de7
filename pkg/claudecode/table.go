package claudecode

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// argKind says which arguments of a command are paths.
type argKind int

const (
	noPaths      argKind = iota // arguments are text
	allPaths                    // every argument that is no flag
	patternFirst                // the first argument is a pattern or program, the others are paths
)

// program is what we know of a command.
type program struct {
	args argKind
	// free is true when the client runs it without a rule, as long as no argument is in refuse.
	free bool
	// refuse are flags that make it write, run something or show the environment. A flag matches when it is
	// equal, begins with it and a =, or, for one letter, holds the letter among others.
	refuse []string
	// reads is true when it prints what is in its files.
	reads   bool
	flags   string // what every flag must look like; "" for any
	words   string // what every other argument must look like; "" for any
	pattern string // what the first argument must look like, for patternFirst
	never   string // what no argument may hold
	noArgs  bool   // flags only
	globs   bool   // patterns may stand for its files although its flags are bound
	some    bool   // with at least one flag
}

// programs is what the client was seen to do with each command (version 2.1.332), less where a flag could do harm.
// Commands that are not here need a rule.
var programs = sync.OnceValue(func() map[string]program {
	t := map[string]program{}
	put := func(p program, names string) {
		for name := range strings.FieldsSeq(names) {
			t[name] = p
		}
	}
	put(program{free: true}, "true false id uname uptime free nproc groups arch locale sleep seq expr tr basename dirname type")
	put(program{free: true, flags: `^$`, noArgs: true}, "pwd whoami")
	put(program{free: true, flags: `^-a$`}, "which")
	put(program{free: true, flags: `^-f$`}, "pgrep")
	put(program{free: true}, "realpath readlink du echo")
	put(program{free: true, flags: `^--$`}, "printf")
	put(program{free: true, flags: `^-[fs]$`, noArgs: true}, "hostname")
	put(program{free: true, flags: `^(?:-u|-I|--date=.*)$`, words: `^\+`}, "date")
	put(program{free: true, flags: `^-(?:ef|e|A|a|f|p)$|^--forest$`, words: `^(?:aux|ax|u|x|\d+)$`}, "ps")
	put(program{free: true, flags: `^(?:--version|-v)$`, noArgs: true, some: true}, "node")
	put(program{free: true, flags: `^--version$`, noArgs: true, some: true}, "python python3")
	put(program{free: true, args: allPaths}, "ls stat df cd")
	put(program{free: true}, "test [")
	put(program{free: true, args: allPaths, flags: `^(?:-L|-[ad])$`}, "tree")
	put(program{free: true, args: allPaths, reads: true}, "cat head wc cut paste nl tac rev od hexdump strings cmp comm diff column")
	put(program{free: true, args: allPaths, reads: true, flags: `^-[bct]$|^--check$`, globs: true}, "md5sum sha1sum sha256sum")
	put(program{free: true, args: allPaths, reads: true, refuse: []string{"-f", "-F", "--follow", "--retry"}}, "tail")
	put(program{free: true, args: allPaths, reads: true, flags: `^-b$`}, "file")
	put(program{free: true, args: allPaths, reads: true, flags: `^-d$`}, "base64")
	put(program{free: true, args: allPaths, reads: true, flags: `^-[nrufhVRcmz]+$|^-[ktS]$|^--(?:reverse|unique|parallel=\d+)$`}, "sort")
	put(program{free: true, args: allPaths, reads: true, flags: `^-[cdui]+$`, noArgs: true}, "uniq")
	put(program{free: true, args: patternFirst, reads: true, globs: true, flags: `^-[abcEeFfGHhiLlnoPqRrsvwxz]+$|^-[ABCm]\d+$|^-[ABC]$|^--(?:include|exclude|exclude-dir|color|file|regexp|max-count)=|^--(?:count|line-number|ignore-case|recursive|files-with-matches|files-without-match|only-matching|invert-match|word-regexp|fixed-strings|extended-regexp|quiet|with-filename|no-filename|help|version)$`}, "grep egrep fgrep")
	put(program{free: true, args: patternFirst, reads: true, flags: `^-[icwFvunoleHL]+$|^-[ABCm]\d*$|^-[gt]$|^--(?:glob|type|hidden|no-ignore|count|json|max-count|follow|color|version|debug|line-number|ignore-case)$`}, "rg")
	put(program{free: true, args: patternFirst, reads: true, flags: `^-[rcnseS]$`, pattern: `^[\w\s.\[\]|,:'"()?/-]*$`, never: `(?i)env|include|import|input`}, "jq")
	put(program{free: true, args: patternFirst, reads: true, flags: `^-n$`, some: true, pattern: `^\d+(?:,\d+)?p(?:;\d+(?:,\d+)?p)*$`}, "sed")
	put(program{free: true, args: allPaths, flags: `.`, refuse: []string{"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"}}, "find")
	put(program{args: allPaths, reads: true}, "less more xxd awk gawk bat view vim vi nano zcat gzip zgrep bzcat xzcat fold expand fmt pr split csplit join tee source . cp mv dd tar zip install rsync scp")
	put(program{args: allPaths}, "rm rmdir mkdir touch ln chmod chown")
	return t
})

// mayRunFree tells whether the client runs a command without any rule, paths aside.
func mayRunFree(words []word) bool {
	args := words[1:]
	name := words[0].val
	// A $ that is no variable is a pattern or program text to the client, except in what only prints.
	if name != "echo" && name != "printf" && anyWord(args, func(w word) bool { return w.dollar }) {
		return false
	}
	switch name {
	case "git":
		return gitFree(args)
	case "cd":
		return len(args) == 1 && args[0].val != "" && !strings.HasPrefix(args[0].val, "-") && !args[0].glob
	case "test":
		return testFree(args)
	case "[":
		return len(args) > 0 && args[len(args)-1].val == "]" && testFree(args[:len(args)-1])
	}
	p, ok := programs()[name]
	return ok && p.free && p.accepts(args)
}

// accepts checks the arguments of a command against what is known to be harmless.
func (p program) accepts(args []word) bool {
	flags, pattern, ended := 0, p.pattern, false
	for _, a := range args {
		isRefused := func(flag string) bool { return isFlag(a.val, flag) }
		switch {
		case a.val == "--" && !ended:
			ended = true
		case a.glob && p.flags != "" && !p.globs && p.args != noPaths: // what a pattern expands to might look like a flag
			return false
		case p.never != "" && matches(p.never, a.val), slices.ContainsFunc(p.refuse, isRefused):
			return false
		case !ended && strings.HasPrefix(a.val, "-") && a.val != "-":
			flags++
			if p.flags != "" && !matches(p.flags, a.val) {
				return false
			}
		case p.noArgs, p.words != "" && !matches(p.words, a.val), pattern != "" && !matches(pattern, a.val):
			return false
		default:
			pattern = ""
		}
	}
	return !p.some || flags > 0
}

// testFree tells whether the arguments of test are a plain test of one file or two words. Anything that could be
// read as an index (a[…]) is evaluated by the shell, so it is out.
func testFree(args []word) bool {
	if len(args) > 0 && args[0].val == "!" {
		args = args[1:]
	}
	if anyWord(args, func(w word) bool { return strings.ContainsAny(w.val, "[$`") || w.glob }) {
		return false
	}
	v := values(args)
	switch len(v) {
	case 1:
		return true
	case 2:
		return matches(`^-[defnrswxzhL]$`, v[0])
	case 3:
		return v[1] == "==" || v[1] == "!=" || matches(`^-(?:eq|ne|lt|le|gt|ge)$`, v[1]) && matches(`^-?\d+$`, v[0]) && matches(`^-?\d+$`, v[2])
	}
	return false
}

// matches compiles as it goes: a call looks at a handful of words, and start-up must not pay for all patterns.
func matches(exp, s string) bool { return regexp.MustCompile(exp).MatchString(s) }

// isFlag tells whether an argument is a flag, in any of the forms programs accept: --output=x, an abbreviation
// of a long one, -o among other letters.
func isFlag(arg, flag string) bool {
	name, _, _ := strings.Cut(arg, "=")
	switch {
	case name == flag:
		return true
	case strings.HasPrefix(flag, "--"):
		return len(name) > 3 && strings.HasPrefix(name, "--") && strings.HasPrefix(flag, name)
	case len(flag) == 2:
		return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg[1:], flag[1:])
	}
	return false
}

// pathArgs returns the arguments of a command that may name files. In doubt an argument is one.
func pathArgs(words []word) []word {
	name := words[0].val
	p, known := programs()[name]
	if name == "git" {
		return gitPaths(words[1:])
	}
	if !known || p.args == noPaths {
		return nil
	}
	var out []word
	pattern := p.args == patternFirst
	flags := true
	for _, a := range words[1:] {
		switch {
		case flags && a.val == "--":
			flags = false
		case flags && strings.HasPrefix(a.val, "-") && a.val != "-":
			if pattern && (isFlag(a.val, "-e") || isFlag(a.val, "-f") || isFlag(a.val, "--regexp") || isFlag(a.val, "--file")) {
				pattern = false // the pattern is the flag's
			}
			out = append(out, flagPath(a)...)
		case pattern:
			pattern = false
		case name == "find" && strings.HasPrefix(a.val, "("), a.val == "-":
		default:
			out = append(out, a)
		}
	}
	return out
}

// flagPath is the value within a flag: --file=x, -fx.
func flagPath(a word) []word {
	if _, v, ok := strings.Cut(a.val, "="); ok {
		return []word{{src: v, val: v, glob: a.glob, hard: a.hard}}
	}
	if !strings.HasPrefix(a.val, "--") && len(a.val) > 2 {
		return []word{{src: a.val[2:], val: a.val[2:], glob: a.glob, hard: a.hard}}
	}
	return nil
}

// gitPaths takes every argument for a path; revisions and names are then paths that lie inside and do not exist.
func gitPaths(args []word) []word {
	var out []word
	for _, a := range args {
		if strings.HasPrefix(a.val, "-") {
			out = append(out, flagPath(a)...)
			continue
		}
		out = append(out, a)
		if _, file, ok := strings.Cut(a.val, ":"); ok { // HEAD:file
			out = append(out, word{src: file, val: file})
		}
	}
	return out
}

// safeVars may stand before a command that a rule allows: they change how it looks, not what it runs.
var safeVars = map[string]bool{
	"CI": true, "NODE_ENV": true, "FORCE_COLOR": true, "NO_COLOR": true, "RUST_BACKTRACE": true, "GOOS": true, "GOARCH": true,
	"PYTHONUNBUFFERED": true, "LANG": true, "LC_ALL": true, "TERM": true, "TZ": true,
}

// stripWrappers removes what the client looks through when it searches for an allowing rule.
func stripWrappers(words []word) []word {
	for len(words) > 1 {
		rest := words[1:]
		switch words[0].val {
		case "nohup", "time":
		case "command", "builtin":
		case "nice":
			if rest[0].val == "-n" && len(rest) > 2 && wrapperValue.MatchString(rest[1].val) {
				rest = rest[2:]
			}
		case "stdbuf":
			for len(rest) > 1 && strings.HasPrefix(rest[0].val, "-") && len(rest[0].val) > 2 {
				rest = rest[1:]
			}
		case "timeout":
			for len(rest) > 2 && (rest[0].val == "-s" || rest[0].val == "-k") {
				rest = rest[2:]
			}
			if len(rest) < 2 || !timeoutValue.MatchString(rest[0].val) {
				return words
			}
			rest = rest[1:]
		default:
			return words
		}
		if strings.HasPrefix(rest[0].val, "-") {
			return words
		}
		words = rest
	}
	return words
}

var timeoutValue = regexp.MustCompile(`^[0-9.]+[smhd]?$`)
