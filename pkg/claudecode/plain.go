package claudecode

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// plain checks a script part by part, as the client does: each part must be allowed by a rule or be one that only
// reads, and every file it names must lie where the session may read.
func (r *Rules) plain(sc *script, mode, cwd string) Decision {
	if sc.unsure != "" {
		return ask("it holds " + sc.unsure + ", which cannot be checked")
	}
	if sc.blind {
		return ask("a command in it cannot be seen before it runs")
	}
	dirs := r.readDirs(sc, cwd)
	if d := r.moves(sc, dirs); d.Verdict != None {
		return d
	}
	for _, rd := range sc.redirs {
		if d := r.redirect(rd, dirs); d.Verdict != None {
			return d
		}
	}
	for _, c := range sc.calls {
		if c.nested {
			continue // found for the denies only; its wrapper is judged
		}
		if d := r.part(c, mode, dirs, len(sc.calls) == 1); d.Verdict != None {
			return d
		}
	}
	return Decision{Verdict: None}
}

// moves looks at cd. After it relative paths mean two things, and git reads the configuration of where it is.
func (r *Rules) moves(sc *script, dirs []string) Decision {
	moved := false
	for _, c := range sc.calls {
		if len(c.words) == 0 {
			continue
		}
		name := stripWrappers(c.words)[0].val
		if name == "cd" {
			if moved {
				return ask("it changes the directory more than once")
			}
			moved = true
		}
		if moved && name == "git" {
			return ask("it changes the directory before a git command, whose configuration can run programs")
		}
	}
	return Decision{Verdict: None}
}

// redirect allows reading from inside, /dev/null and joining of streams. Writing a file is asked for.
func (r *Rules) redirect(rd redir, dirs []string) Decision {
	target := rd.target.val
	switch rd.op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return Decision{Verdict: None}
	case syntax.DplOut, syntax.DplIn:
		if rd.op == syntax.DplOut && (target == "1" || target == "2") {
			return Decision{Verdict: None}
		}
		return ask("it joins or closes streams in a way that is not checked")
	case syntax.RdrIn:
		if target == "/dev/null" {
			return Decision{Verdict: None}
		}
		return r.paths([]word{rd.target}, dirs, "it reads")
	case syntax.RdrInOut:
		return ask("it opens " + readable(target) + " for writing")
	}
	if target == "/dev/null" && !rd.target.glob {
		return Decision{Verdict: None}
	}
	return ask("it writes to " + readable(target))
}

// part judges one simple command.
func (r *Rules) part(c call, mode string, dirs []string, last bool) Decision {
	for _, rd := range c.redirs {
		if d := r.redirect(rd, dirs); d.Verdict != None {
			return d
		}
	}
	if len(c.words) == 0 { // NAME=value alone; before another command it may change which program that is
		if len(c.assigns) > 1 || !last || anyWord(c.assigns, func(a word) bool { return a.vars || a.hard }) {
			return ask("it sets a variable")
		}
		return Decision{Verdict: None}
	}
	if anyWord(c.words, func(w word) bool { return w.other }) || (c.words[0].val == "[" && anyWord(c.words, func(w word) bool { return w.vars })) {
		return r.needs(c, "it holds a variable, which cannot be checked")
	}
	for _, a := range c.assigns {
		if !safeVars[a.src] || a.hard || a.vars {
			return r.needs(c, "it sets "+a.src)
		}
	}
	words := stripWrappers(c.words)
	free := !c.timed && freeWrapper(c.words) && mayRunFree(words)
	edits := mode == ModeEdits && !c.timed && len(words) == len(c.words) && mayEdit(words)
	if !free && !edits && !r.allowed(c, words) {
		return r.needs(c, "no rule allows "+readable(source(c.words)))
	}
	return r.paths(pathArgs(words), dirs, words[0].val+" reads")
}

// freeWrapper tells whether what stands before a command is looked through without a rule: the client does so for
// these only.
func freeWrapper(words []word) bool {
	switch words[0].val {
	case "nice", "nohup", "time", "stdbuf":
		return len(words) == 1
	}
	return true
}

// mayEdit tells whether acceptEdits covers a command: it changes files of the working directory, named one by one,
// and none whose name begins with a dot. The client guards only some of those (.git, .claude, …); stricter.
func mayEdit(words []word) bool {
	switch words[0].val {
	case "mkdir", "touch", "rm", "rmdir", "mv", "cp":
	default:
		return false
	}
	for _, w := range words[1:] {
		if w.val == "-r" || w.val == "-p" || w.val == "-f" || w.val == "-rf" {
			continue
		}
		hidden := slices.ContainsFunc(strings.Split(w.val, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
		if hidden || w.glob || w.vars || w.tilde || w.val == "" || strings.HasPrefix(w.val, "-") {
			return false
		}
	}
	return len(words) > 1
}

// allowed tells whether a rule allows a command: as written, or without the wrappers the client looks through.
func (r *Rules) allowed(c call, stripped []word) bool {
	for _, rule := range r.Allow {
		if rule.tool != "Bash" || rule.pattern == "" {
			continue
		}
		for _, words := range [][]word{c.words, stripped} {
			if !matchCommand(rule.pattern, source(words)) {
				continue
			}
			// A rule for find is none for find -exec.
			if words[0].val == "find" && !mayRunFree(words) {
				continue
			}
			return true
		}
	}
	return false
}

// paths asks for what lies outside, or cannot be placed.
func (r *Rules) paths(words []word, dirs []string, verb string) Decision {
	for _, w := range words {
		switch {
		case w.val == "":
			continue
		case w.vars || strings.Contains(w.val, unknown):
			return ask(verb + " a file named by a variable")
		case strings.HasPrefix(w.val, "~") && w.val != "~" && !strings.HasPrefix(w.val, "~/"):
			return ask(verb + " " + readable(w.val) + ", the home of another user")
		case climbs(w.val):
			return ask(verb + " " + readable(w.val) + ", which may leave through a link")
		}
		for _, dir := range dirs {
			for _, l := range r.expandArg(dir, w, true) {
				if !r.inside(dirs[0], l) {
					d := ask(fmt.Sprintf("%s %s, outside the working directories", verb, readable(w.val)))
					d.Needed = "additionalDirectories with that directory"
					return d
				}
				if rule := r.readRule(r.Ask, dirs[0], l); rule != nil {
					return decided(Ask, *rule, verb+" "+readable(w.val))
				}
			}
		}
	}
	return Decision{Verdict: None}
}

// climbs tells whether a path goes up again after a directory.
func climbs(p string) bool {
	down := false
	for part := range strings.SplitSeq(strings.ReplaceAll(p, `\`, "/"), "/") {
		switch part {
		case "", ".":
		case "..":
			if down {
				return true
			}
		default:
			down = true
		}
	}
	return false
}

// needs is ask, with the rule that would do.
func (r *Rules) needs(c call, reason string) Decision {
	d := ask(reason)
	d.Needed = suggest(stripWrappers(c.words))
	return d
}

// runners take the name of what they run as their next word or words.
var runners = map[string]int{
	"npm": 2, "yarn": 2, "pnpm": 2, "bun": 2, "go": 2, "cargo": 2, "git": 2, "make": 2, "docker": 2, "kubectl": 2, "python": 1, "python3": 1,
	"node": 1, "npx": 2, "uv": 2, "poetry": 2, "mvn": 2, "gradle": 2, "dotnet": 2, "bundle": 2, "rake": 2, "php": 2, "composer": 2,
}

// suggest makes the narrowest useful rule of a command: its first words up to the first flag.
func suggest(words []word) string {
	n := max(runners[words[0].val], 1)
	if len(words) > 2 && words[1].val == "run" {
		n = 3
	}
	var out []string
	for _, w := range words[:min(n, len(words))] {
		if strings.HasPrefix(w.val, "-") || w.hard || w.vars || w.glob || strings.ContainsAny(w.val, " \n"+unknown) {
			break
		}
		out = append(out, w.val)
	}
	if len(out) == 0 {
		return ""
	}
	return "Bash(" + strings.Join(out, " ") + ":*)"
}
