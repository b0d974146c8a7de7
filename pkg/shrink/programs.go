package shrink

import (
	"path"
	"slices"
	"strings"
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// lineTools are programs whose output somebody asked to see line by line.
var lineTools = set("head", "tail", "less", "more", "sed", "awk", "gawk", "mawk", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack",
	"cut", "sort", "uniq", "nl", "tr", "column", "fold", "diff", "sdiff", "cmp", "comm", "ls", "ll", "exa", "eza", "tree", "find", "fd", "du", "df",
	"stat", "file", "wc", "jq", "yq", "xmllint", "base64", "xxd", "od", "hexdump", "strings", "env", "printenv", "man", "history",
	"psql", "mysql", "sqlite3", "duckdb", "redis-cli", "mongosh", "curl", "wget", "http", "dig", "ps", "top", "tac", "rev", "paste", "join", "date", "seq",
	"git-diff", "delta", "objdump", "nm", "readelf", "ldd", "lsof", "netstat", "ss", "ip", "gofmt", "pr", "fmt", "unzip", "zipinfo")

// contentTools print a text whole.
var contentTools = set("cat", "bat", "batcat", "zcat", "gzcat", "xzcat", "bzcat", "zstdcat", "gunzip", "journalctl", "dmesg")

// quietTools print a word or two around the real work. Their own output is nobody's report.
var quietTools = set("echo", "printf", "set", "tee", "cd", "pushd", "popd", "export", "unset", "source", ".", "true", "false", ":", "test", "[", "mkdir", "rm", "rmdir",
	"touch", "cp", "mv", "ln", "chmod", "chown", "sleep", "wait", "kill", "exit", "return", "trap", "shopt", "ulimit", "umask", "read", "shift", "eval",
	"which", "type", "hash", "alias", "pwd", "whoami", "uname", "basename", "dirname", "realpath", "nvm", "conda", "break", "continue", "local")

// gitWork are git's sub-commands whose output is a report rather than content; commit and push run hooks.
var gitWork = set("clone", "fetch", "pull", "push", "gc", "fsck", "submodule", "checkout", "switch", "merge", "rebase", "commit", "lfs", "add")

// readers are words that make other tools print content: `gh pr diff`, `kubectl get`, `cargo tree`.
var readers = set("diff", "show", "view", "cat", "get", "describe", "list", "ls", "inspect", "config", "blame", "grep", "search", "info",
	"help", "doc", "env", "tree", "freeze", "outdated", "metadata", "status", "history", "top", "ps", "images", "explain", "version", "query", "dump", "export", "tool")

// readerTools are programs whose first words decide.
var readerTools = set("gh", "glab", "docker", "podman", "docker-compose", "kubectl", "helm", "aws", "gcloud", "az", "terraform", "npm", "yarn", "pnpm", "cargo", "pip", "pip3", "uv",
	"poetry", "go", "brew", "apt", "apt-get", "dpkg", "rpm", "systemctl", "legwork", "composer", "gem", "bundle", "conda", "flyctl", "heroku", "bazel", "hg", "svn", "rustc", "rustup")

// carriers run a command given as arguments somewhere else, or later.
var carriers = set("ssh", "docker", "podman", "kubectl", "docker-compose", "xargs", "parallel", "watch", "find", "npx", "bunx", "uv", "poetry", "pipenv", "bundle", "nix", "chroot", "vagrant")

// wrappers run the command that follows them, in place.
var wrappers = set("time", "timeout", "gtimeout", "nice", "ionice", "nohup", "command", "builtin", "sudo", "doas", "env", "stdbuf", "unbuffer", "exec", "setsid", "xvfb-run", "caffeinate")

var shells = set("sh", "bash", "zsh", "dash", "ksh")

// interpreters and the options after which the program itself stands on the command line.
var interpreters = map[string]string{
	"python": "-c", "python3": "-c", "node": "-e -p --eval --print -pe", "ruby": "-e -ne -pe", "perl": "-e -ne -pe -E -nE -lne -lane -pie", "php": "-r",
	"deno": "eval", "bun": "-e --eval", "Rscript": "-e", "lua": "-e", "osascript": "-e", "pwsh": "-c -Command",
}

// kindOfCall says what a simple command's output is.
func kindOfCall(words []string) asked {
	words = unwrap(words)
	if len(words) == 0 {
		return forNothing
	}
	name, args := strings.TrimSuffix(path.Base(words[0]), ".exe"), words[1:]
	switch {
	case slices.ContainsFunc(args, lists), len(args) == 1 && (args[0] == "-h" || args[0] == "-V" || args[0] == "help"):
		return forLines
	case name == "git":
		if gitWork[firstWord(args)] {
			return forWork
		}
		return forLines
	case name == "grep" && (slices.Contains(args, "-q") || slices.Contains(args, "--quiet")), name == "sed" && slices.ContainsFunc(args, inPlace):
		return forNothing
	case quietTools[name]:
		return forNothing
	case lineTools[name]:
		return forLines
	case contentTools[name]:
		return forContent
	case inlineCode(name, args):
		return forLines
	case (name == "make" || name == "gmake") && slices.ContainsFunc(args, func(a string) bool {
		return a == "-n" || a == "--dry-run" || a == "--just-print" || a == "-p" || a == "help"
	}):
		return forLines
	}
	return carried(name, args)
}

// lists is true for an argument that asks any program for a list, a help text or figures instead of its work.
func lists(a string) bool {
	switch a {
	case "--help", "--version", "--collect-only", "--co", "--dry-run", "--tree", "--show-only", "-list", "--gtest_list_tests", "bench", "benchmark":
		return true
	}
	return strings.HasPrefix(a, "--list") || strings.HasPrefix(a, "-bench")
}

func inPlace(a string) bool { return strings.HasPrefix(a, "-i") || strings.HasPrefix(a, "--in-place") }

// logWords make the tools with sub-commands print a log whole.
var logWords = set("logs", "log", "--log", "--log-failed")

// runWords are followed by a command, or by the name of something to run.
var runWords = set("exec", "run", "test", "--")

// carried looks at the first words of tools with sub-commands, and at the command that a carrier takes.
func carried(name string, args []string) asked {
	if readerTools[name] {
		first := args[:min(len(args), 4)]
		if i := slices.IndexFunc(first, func(w string) bool { return runWords[w] }); i >= 0 && name != "gh" {
			first = first[:i]
		}
		switch {
		case slices.ContainsFunc(first, func(w string) bool { return logWords[w] }):
			return forContent
		case slices.ContainsFunc(first, func(w string) bool { return readers[w] }):
			return forLines
		}
	}
	return carriedWords(name, args)
}

func carriedWords(name string, args []string) asked {
	if !carriers[name] {
		return forWork
	}
	for _, a := range args {
		for w := range strings.FieldsSeq(a) {
			switch w = path.Base(strings.TrimLeft(w, "(")); {
			case lineTools[w] || w == "git":
				return forLines
			case contentTools[w]:
				return forContent
			}
		}
	}
	return forWork
}

// inlineCode is true for a program written on the command line: what it prints was asked for.
func inlineCode(name string, args []string) bool {
	options, ok := interpreters[name]
	if !ok {
		options, ok = interpreters[strings.TrimRight(name, "0123456789.")]
	}
	if !ok {
		return false
	}
	return slices.ContainsFunc(args, func(a string) bool {
		return a == "-" || a != "" && slices.Contains(strings.Fields(options), a)
	})
}

// unwrap drops assignments and wrappers in front of a command.
func unwrap(words []string) []string {
	for len(words) > 0 && wrappers[path.Base(words[0])] {
		if rest := skipOptions(words[1:]); len(rest) > 0 || path.Base(words[0]) != "env" {
			words = rest
			continue
		}
		break // env alone prints the environment
	}
	return words
}

// skipOptions drops options, assignments and the number or duration that a wrapper takes.
func skipOptions(words []string) []string {
	for len(words) > 0 {
		w := words[0]
		if w == "" || w[0] == '-' || strings.Contains(w, "=") || w[0] >= '0' && w[0] <= '9' {
			words = words[1:]
			continue
		}
		break
	}
	return words
}

func firstWord(words []string) string {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-C" || w == "-c":
			i++
		case !strings.HasPrefix(w, "-"):
			return w
		}
	}
	return ""
}
