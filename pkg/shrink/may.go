package shrink

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// RawVariable in front of a command keeps its output as it is.
const RawVariable = "LEGWORK_RAW"

// lineTools are programs whose output somebody asked to see line by line.
var lineTools = set("cat", "bat", "head", "tail", "less", "more", "sed", "awk", "gawk", "grep", "egrep", "fgrep", "rg", "ag", "ack",
	"cut", "sort", "uniq", "nl", "tr", "column", "diff", "cmp", "comm", "ls", "ll", "tree", "find", "fd", "du", "df", "stat", "file",
	"wc", "jq", "yq", "xmllint", "base64", "xxd", "od", "hexdump", "strings", "echo", "printf", "env", "printenv", "set", "man", "history",
	"psql", "mysql", "sqlite3", "curl", "wget", "http", "xargs", "tee", "dig", "ps", "top", "tac", "rev", "paste", "join", "zcat", "gunzip")

// gitQuiet are git's sub-commands whose output is a report rather than content.
var gitQuiet = set("clone", "fetch", "pull", "push", "gc", "fsck", "submodule", "checkout", "switch", "merge", "rebase", "commit", "lfs", "add")

// readers are sub-commands of other tools that print content: `gh pr diff`, `docker logs`, `kubectl get`.
var readers = set("diff", "show", "view", "cat", "log", "logs", "get", "describe", "list", "ls", "inspect", "config", "blame", "grep", "search", "info", "help", "--help", "-h")

// containerTools are programs whose second word decides.
var containerTools = set("gh", "docker", "podman", "kubectl", "helm", "aws", "gcloud", "az", "terraform", "npm", "yarn", "pnpm", "cargo", "pip", "go", "brew", "apt", "systemctl", "journalctl", "legwork")

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// excepted matches a command against the user's patterns: a glob over the whole command, or the
// beginning of it.
func excepted(patterns []string, command string) bool {
	command = strings.Join(strings.Fields(command), " ")
	for _, p := range patterns {
		p = strings.Join(strings.Fields(p), " ")
		if ok, err := path.Match(p, command); err == nil && ok {
			return true
		}
		if p != "" && (command == p || strings.HasPrefix(command, strings.TrimSuffix(p, "*")) && strings.HasSuffix(p, "*") || strings.HasPrefix(command, p+" ")) {
			return true
		}
	}
	return false
}

// byLine tells whether the command's output was asked for line by line, or with RawVariable. Text that
// is no plain shell counts as such, because then nobody knows what was asked for.
func byLine(command string) bool {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return true
	}
	found := false
	syntax.Walk(f, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || found {
			return !found
		}
		found = callByLine(call)
		return !found
	})
	return found
}

func callByLine(call *syntax.CallExpr) bool {
	for _, a := range call.Assigns {
		if a.Name != nil && a.Name.Value == RawVariable {
			return true
		}
	}
	words := literals(call.Args)
	for len(words) > 0 && wrappers[words[0]] {
		words = skipOptions(words[1:])
	}
	if len(words) == 0 {
		return false
	}
	name := path.Base(words[0])
	switch {
	case name == "git":
		sub := firstWord(words[1:])
		return !gitQuiet[sub]
	case lineTools[name]:
		return !harmless(name)
	case containerTools[name]:
		for _, w := range words[1:min(len(words), 4)] {
			if readers[w] {
				return true
			}
		}
	}
	return false
}

// harmless are line tools that print a word or two around the real work: `echo done` after a build.
func harmless(name string) bool { return name == "echo" || name == "printf" || name == "set" || name == "tee" }

// wrappers run the command that follows them.
var wrappers = set("time", "timeout", "nice", "nohup", "command", "sudo", "env", "stdbuf", "exec")

// skipOptions drops options, assignments and the number or duration that a wrapper takes.
func skipOptions(words []string) []string {
	for len(words) > 0 {
		w := words[0]
		if strings.HasPrefix(w, "-") || strings.Contains(w, "=") || w != "" && w[0] >= '0' && w[0] <= '9' {
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

// literals are the words that stand there as they are; others become "".
func literals(args []*syntax.Word) []string {
	out := make([]string, len(args))
	for i, w := range args {
		out[i] = w.Lit()
		if out[i] != "" {
			continue
		}
		if len(w.Parts) == 1 {
			switch p := w.Parts[0].(type) {
			case *syntax.SglQuoted:
				out[i] = p.Value
			case *syntax.DblQuoted:
				if len(p.Parts) == 1 {
					if l, ok := p.Parts[0].(*syntax.Lit); ok {
						out[i] = l.Value
					}
				}
			}
		}
	}
	return out
}

// verbatim recognises content that loses its meaning when lines are left out: JSON, diffs, source code.
func verbatim(head []byte) bool {
	t := bytes.TrimSpace(head)
	if len(t) == 0 {
		return false
	}
	if t[0] == '{' || t[0] == '[' {
		dec := json.NewDecoder(bytes.NewReader(t))
		if tok, err := dec.Token(); err == nil && tok != nil {
			if _, err := dec.Token(); err == nil && bytes.Contains(t[:min(len(t), 200)], []byte{'"'}) {
				return !jsonLines(t)
			}
		}
	}
	for _, p := range []string{"diff --git ", "--- a/", "Index: ", "<?xml", "<!DOCTYPE", "<html", "#!/", "package ", "import ", "#include ", "<?php"} {
		if bytes.HasPrefix(t, []byte(p)) {
			return true
		}
	}
	return false
}

// jsonLines tells a stream of JSON events (go test -json) from a document.
func jsonLines(t []byte) bool {
	first, _, more := bytes.Cut(t, []byte{'\n'})
	return more && json.Valid(first)
}
