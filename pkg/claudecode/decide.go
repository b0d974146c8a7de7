package claudecode

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Verdict is what the user's rules say. There is no "allow": None leaves it to the rule for our own tool.
type Verdict string

// The three verdicts.
const (
	Deny Verdict = "deny"
	Ask  Verdict = "ask"
	None Verdict = "none"
)

// Decision is a verdict with its ground.
type Decision struct {
	Verdict Verdict
	Rule    string // the rule that decided, as written; "" when none did
	File    string // where it stands
	Reason  string // one sentence
	Needed  string // for Ask: a rule that would do, if there is one
}

// Modes of a session, as Claude Code names them in permission_mode.
const (
	ModePlan   = "plan"
	ModeBypass = "bypassPermissions"
	ModeNoAsk  = "dontAsk"
	ModeAuto   = "auto"
	ModeEdits  = "acceptEdits"
)

// Command says what Claude Code would do with a Bash command in a working directory and mode ("" is default).
func (r *Rules) Command(command, mode, cwd string) Decision {
	if cwd == "" {
		cwd = r.root
	}
	cwd = realPath(cwd)
	if mode == ModeBypass && r.noBypass {
		mode = ""
	}
	if mode == ModePlan {
		return Decision{Verdict: Deny, Reason: "plan mode: nothing is run"}
	}
	d := r.judge(command, mode, cwd)
	if d.Verdict == Ask && mode == ModeNoAsk {
		d.Verdict = Deny
		d.Reason += "; the session does not ask (dontAsk)"
	}
	return d
}

// Denied is the part of [Rules.Command] that holds in every mode: what a deny rule forbids.
func (r *Rules) Denied(command, cwd string) Decision {
	d := r.Command(command, ModeBypass, cwd)
	if d.Verdict != Deny {
		return Decision{Verdict: None}
	}
	return d
}

func (r *Rules) judge(command, mode, cwd string) Decision {
	for _, list := range []struct {
		rules   []Rule
		verdict Verdict
	}{{r.Deny, Deny}, {r.Ask, Ask}} {
		if rule := wholeTool(list.rules); rule != nil {
			return decided(list.verdict, *rule, "the rule covers every command")
		}
	}
	sc, err := readScript(command, r.variables(cwd))
	if err != nil {
		return r.unreadable(command, mode, err)
	}
	if d := r.denied(sc, command, cwd); d.Verdict != None {
		return d
	}
	if d := matchCalls(r.Ask, Ask, sc, command); d.Verdict != None {
		return d
	}
	if mode == ModeBypass {
		return Decision{Verdict: None}
	}
	if len(r.Problems) > 0 {
		return ask("the permission rules cannot be read: " + r.Problems[0])
	}
	if sc.blind && (restricts(r.Deny) || restricts(r.Ask)) {
		return ask("a command in it cannot be seen, so the rules that deny cannot be checked")
	}
	if d := r.mentions(sc, cwd); d.Verdict != None {
		return d
	}
	if mode != ModeAuto && wholeTool(r.Allow) != nil { // in auto mode the client does not count a rule this wide
		return Decision{Verdict: None}
	}
	return r.plain(sc, mode, cwd)
}

func ask(reason string) Decision { return Decision{Verdict: Ask, Reason: reason} }

func decided(v Verdict, rule Rule, reason string) Decision {
	return Decision{Verdict: v, Rule: rule.Text, File: rule.File, Reason: reason}
}

// wholeTool returns a rule for all of Bash.
func wholeTool(rules []Rule) *Rule {
	for i, rule := range rules {
		if rule.tool == "Bash" && rule.pattern == "" {
			return &rules[i]
		}
	}
	return nil
}

func restricts(rules []Rule) bool {
	for _, rule := range rules {
		if rule.tool == "Bash" || rule.tool == "Read" || rule.bindsWriting() {
			return true
		}
	}
	return false
}

func (r *Rules) variables(cwd string) map[string]string {
	return map[string]string{"HOME": r.home, "PWD": cwd}
}

// unreadable is the verdict on text that is no shell command to our parser. Bash may see it otherwise, so a deny
// whose words stand in it counts.
func (r *Rules) unreadable(command, mode string, err error) Decision {
	text := " " + strings.Join(strings.FieldsFunc(command, func(c rune) bool { return strings.ContainsRune(" \t\n;|&(){}`\"'", c) }), " ") + " "
	for _, rule := range r.Deny {
		words := strings.TrimRight(rule.pattern, ":* ")
		if rule.tool == "Bash" && words != "" && strings.Contains(text, " "+words+" ") {
			return decided(Deny, rule, err.Error()+", and the words of the rule stand in it")
		}
	}
	if mode == ModeBypass {
		return Decision{Verdict: None}
	}
	return ask(err.Error())
}

// denied looks for what a rule forbids, anywhere in the script.
func (r *Rules) denied(sc *script, command, cwd string) Decision {
	if d := matchCalls(r.Deny, Deny, sc, command); d.Verdict != None {
		return d
	}
	if r.hasReadDeny() {
		if d := r.deniedReads(sc, cwd); d.Verdict != None {
			return d
		}
	}
	return r.deniedWrites(sc, cwd)
}

func (r *Rules) deniedReads(sc *script, cwd string) Decision {
	for _, c := range sc.calls {
		if len(c.words) == 0 {
			continue
		}
		for _, dir := range r.readDirs(sc, cwd) {
			if d := r.deniedFiles(c, dir); d.Verdict != None {
				return d
			}
		}
	}
	for _, rd := range sc.allRedirs() {
		if rd.op != syntax.RdrIn && rd.op != syntax.RdrInOut {
			continue
		}
		for _, dir := range r.readDirs(sc, cwd) {
			for _, l := range r.expandArg(dir, rd.target, false) {
				if rule := r.readRule(r.Deny, cwd, l); rule != nil {
					return decided(Deny, *rule, "it reads "+l.arg)
				}
			}
		}
	}
	return Decision{Verdict: None}
}

// readDirs are the directories a relative path may be meant from: the working directory, and where a cd goes.
func (r *Rules) readDirs(sc *script, cwd string) []string {
	dirs := []string{cwd}
	for _, c := range sc.calls {
		if words := stripWrappers(c.words); len(words) == 2 && words[0].val == "cd" {
			dirs = append(dirs, r.locate(dirs[len(dirs)-1], words[1].val).path)
		}
	}
	return dirs
}

// deniedFiles checks the files that a command prints. All arguments of a reading command count, also what looks
// like a pattern: grep .env .env.
func (r *Rules) deniedFiles(c call, cwd string) Decision {
	words := stripWrappers(c.words)
	p := programs()[filepath.Base(words[0].val)]
	isGit := words[0].val == "git" && len(words) > 1 && gitPrints[words[1].val]
	if !p.reads && !isGit && words[0].val != "ls" && words[0].val != "stat" && words[0].val != "find" {
		return Decision{Verdict: None}
	}
	named := words[1:]
	for _, a := range words[1:] {
		if strings.HasPrefix(a.val, "-") {
			named = append(named, flagPath(a)...)
		}
		if _, v, ok := strings.Cut(a.val, ":"); ok && isGit {
			named = append(named, word{val: v})
		}
		if _, v, ok := strings.Cut(a.val, "="); ok { // dd if=file
			named = append(named, word{val: v})
		}
	}
	for _, a := range named {
		for _, l := range r.expandArg(cwd, a, false) {
			if rule := r.readRule(r.Deny, cwd, l); rule != nil {
				return decided(Deny, *rule, "it reads "+l.arg)
			}
		}
	}
	return Decision{Verdict: None}
}

var gitPrints = map[string]bool{"diff": true, "show": true, "blame": true, "grep": true, "cat-file": true, "log": true}

// matchCalls looks for a rule that covers any command of the script, or its text as a whole.
func matchCalls(rules []Rule, v Verdict, sc *script, command string) Decision {
	for _, rule := range rules {
		if rule.tool != "Bash" || rule.pattern == "" {
			continue
		}
		if matchCommand(rule.pattern, command) {
			return decided(v, rule, "the rule covers the command")
		}
		for _, c := range sc.calls {
			for _, text := range forms(c) {
				if matchCommand(rule.pattern, text) {
					return decided(v, rule, "the rule covers "+readable(text))
				}
			}
		}
	}
	return Decision{Verdict: None}
}

// forms are the ways to write a command: as it stands, without quotes, without the path of the program.
func forms(c call) []string {
	if len(c.words) == 0 {
		return nil
	}
	plain := values(c.words)
	out := []string{source(c.words), strings.Join(plain, " ")}
	base := filepath.Base(filepath.ToSlash(plain[0]))
	if base != plain[0] {
		out = append(out, strings.Join(append([]string{base}, plain[1:]...), " "))
	}
	for _, a := range c.assigns { // a rule may be about the assignment itself
		out = append(out, a.src+"="+a.val+" "+out[1])
	}
	return out
}

func readable(text string) string {
	text = strings.ReplaceAll(text, unknown, "…")
	if r := []rune(text); len(r) > 80 {
		text = string(r[:80]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

// mentions asks where a command we do not know names a file that may not be read: python3 -c 'open(".env")'. The
// client does not look inside; stricter.
func (r *Rules) mentions(sc *script, cwd string) Decision {
	if !r.hasReadDeny() {
		return Decision{Verdict: None}
	}
	for _, c := range sc.calls {
		if len(c.words) == 0 || harmless[c.words[0].val] || (c.words[0].val == "git" && len(c.words) > 1 && !gitPrints[c.words[1].val]) {
			continue
		}
		if recursive(c.words) {
			for _, dir := range recursiveRoots(c.words) {
				if file, rule := r.below(cwd, r.locate(cwd, dir).path); rule != nil {
					return decided(Ask, *rule, "it reads everything below "+dir+", "+file+" too")
				}
			}
		}
		for _, w := range c.words[1:] {
			for _, name := range nameInText().FindAllString(w.val, -1) {
				l := r.locate(cwd, strings.TrimPrefix(name, "@"))
				if rule := r.readRule(r.Deny, cwd, l); rule != nil {
					return decided(Ask, *rule, "it names "+name)
				}
			}
		}
	}
	return Decision{Verdict: None}
}

// harmless are commands that may name a file without printing it.
var harmless = map[string]bool{
	"echo": true, "printf": true, "rm": true, "touch": true, "test": true, "[": true, "mkdir": true, "rmdir": true, "chmod": true, "chown": true, "cd": true,
}

func nameInText() *regexp.Regexp { return regexp.MustCompile(`[^\s"'()<>|;,=]+`) }

// recursive tells whether a command reads whole directories.
func recursive(words []word) bool {
	switch words[0].val {
	case "rg", "ag", "ack":
		return true
	case "grep", "egrep", "fgrep":
		for _, w := range words[1:] {
			if isFlag(w.val, "-r") || isFlag(w.val, "-R") || isFlag(w.val, "--recursive") || isFlag(w.val, "--dereference-recursive") {
				return true
			}
		}
	}
	return false
}

func recursiveRoots(words []word) []string {
	var roots []string
	for _, w := range pathArgs(words) {
		roots = append(roots, w.val)
	}
	if len(roots) == 0 {
		return []string{"."}
	}
	return roots
}

// Read says what Claude Code would do with reading a file.
func (r *Rules) Read(path, cwd string) Decision {
	if cwd == "" {
		cwd = r.root
	}
	cwd = realPath(cwd)
	l := r.locate(cwd, path)
	if rule := r.readRule(r.Deny, cwd, l); rule != nil {
		return decided(Deny, *rule, "the rule covers "+path)
	}
	if rule := r.readRule(r.Ask, cwd, l); rule != nil {
		return decided(Ask, *rule, "the rule covers "+path)
	}
	if r.inside(cwd, l) || r.mayRead(cwd, l) {
		return Decision{Verdict: None}
	}
	d := ask(fmt.Sprintf("%s is outside the working directories", path))
	d.Needed = "Read(/" + filepath.ToSlash(l.path) + ")"
	return d
}
