package claudecode

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// bindsWriting tells whether a deny holds for what a Bash command writes. Measured: Edit(path) does; the bare Edit,
// Write(path) and an ask about Edit(path) do not.
func (rule Rule) bindsWriting() bool { return rule.tool == "Edit" && rule.pattern != "" }

// edits tells whether a rule is about a tool that writes files.
func (rule Rule) edits() bool {
	return slices.Contains([]string{"Edit", "Write", "MultiEdit"}, rule.tool)
}

// Edit says what the rules forbid or ask about writing a file. Stricter than the client: a rule about Write holds for
// changing a file too, since what is written here may be new or not.
func (r *Rules) Edit(path, cwd string) Decision {
	if cwd == "" {
		cwd = r.root
	}
	cwd = realPath(cwd)
	l := r.locate(cwd, path)
	if rule := r.fileRule(r.Deny, cwd, l, Rule.edits); rule != nil {
		return decided(Deny, *rule, "the rule covers "+path)
	}
	if rule := r.fileRule(r.Ask, cwd, l, Rule.edits); rule != nil {
		return decided(Ask, *rule, "the rule covers "+path)
	}
	return Decision{Verdict: None}
}

// deniedWrites looks for files that may not be edited: where output goes, and the arguments of programs that write
// what they name.
func (r *Rules) deniedWrites(sc *script, cwd string) Decision {
	if !slices.ContainsFunc(r.Deny, Rule.bindsWriting) {
		return Decision{Verdict: None}
	}
	var targets []word
	for _, rd := range sc.allRedirs() {
		if rd.writes() {
			targets = append(targets, rd.target)
		}
	}
	for _, c := range sc.calls {
		if len(c.words) > 0 {
			targets = append(targets, written(stripWrappers(c.words))...)
		}
	}
	dirs := r.readDirs(sc, cwd)
	for _, w := range targets {
		for _, dir := range dirs {
			for _, l := range r.expandArg(dir, w, true) {
				if rule := r.fileRule(r.Deny, cwd, l, Rule.bindsWriting); rule != nil {
					return decided(Deny, *rule, "it writes "+l.arg)
				}
			}
		}
	}
	return Decision{Verdict: None}
}

// writes tells whether a redirection writes the file it names.
func (rd redir) writes() bool {
	switch rd.op {
	case syntax.RdrIn, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return false
	case syntax.DplOut: // >&2 joins streams, >&file writes
		return !matches(`^(?:\d*-?)$`, rd.target.val)
	}
	return true
}

// written are the arguments of a command that name what it changes, removes or makes. The client looks at rm, rmdir,
// mv, cp (its target only), touch, mkdir, tee and sed -i; the other programs are ours.
func written(words []word) []word {
	args := words[1:]
	switch filepath.Base(filepath.ToSlash(words[0].val)) {
	case "rm", "rmdir", "mv", "touch", "mkdir", "tee", "ln", "chmod", "chown", "truncate", "unlink", "shred":
		return named(args)
	case "cp", "install":
		return copyTargets(args)
	case "dd":
		var out []word
		for _, a := range args {
			if file, ok := strings.CutPrefix(a.val, "of="); ok {
				out = append(out, word{src: file, val: file, glob: a.glob})
			}
		}
		return out
	case "sed":
		inPlace := func(a word) bool { return isFlag(a.val, "-i") || isFlag(a.val, "--in-place") }
		if slices.ContainsFunc(args, inPlace) {
			return named(args)
		}
	}
	return nil
}

// named are all arguments, and the values within flags.
func named(args []word) []word {
	var out []word
	for _, a := range args {
		if out = append(out, a); strings.HasPrefix(a.val, "-") {
			out = append(out, flagPath(a)...)
		}
	}
	return out
}

// copyTargets leaves out what is only read: all but the last argument, unless a flag names the folder.
func copyTargets(args []word) []word {
	var out []word
	for i, a := range args {
		switch {
		case strings.HasPrefix(a.val, "-"):
			out = append(out, flagPath(a)...)
			if (isFlag(a.val, "-t") || isFlag(a.val, "--target-directory") || isFlag(a.val, "-d")) && i+1 < len(args) {
				return named(args) // which of them are read is not worth knowing exactly
			}
		case i == len(args)-1:
			out = append(out, a)
		}
	}
	return out
}
