package claudecode

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call is one simple command of a script, wherever it stands.
type call struct {
	assigns []word  // NAME=value before it
	words   []word  // without them
	redirs  []redir // of its statement
	nested  bool    // inside something that is not a plain list: it runs, but only denies are looked for
	timed   bool    // behind the keyword time
}

type redir struct {
	op     syntax.RedirOperator
	fd     string
	target word
}

// script is what the text of a command says: every simple command in it, and what cannot be checked.
type script struct {
	calls  []call
	redirs []redir // of statements that are no simple command
	// unsure says why the text as a whole cannot be checked, "" when it can.
	unsure string
	// blind is true when a command may hide: a name from a variable, code from a pipe or a variable. Then not
	// even the denies can be relied on.
	blind bool
}

// allRedirs are the redirections of all statements.
func (s *script) allRedirs() []redir {
	out := slices.Clone(s.redirs)
	for _, c := range s.calls {
		out = append(out, c.redirs...)
	}
	return out
}

func (s *script) doubt(why string) {
	if s.unsure == "" {
		s.unsure = why
	}
}

const maxDepth = 6 // of scripts within scripts

// readScript parses the text of a command. vars are the variables with a known value.
func readScript(text string, vars map[string]string) (*script, error) {
	s := &script{}
	return s, s.parse(text, vars, 0, false)
}

func (s *script) parse(text string, vars map[string]string, depth int, nested bool) error {
	if depth > maxDepth {
		s.blind = true
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return fmt.Errorf("not understood as a shell command: %w", err)
	}
	if brokenPipe().MatchString(text) {
		s.doubt("a continued line before an operator")
	}
	known := maps.Clone(vars)
	if known == nil {
		known = map[string]string{}
	}
	w := walker{s: s, rd: reader{src: text, vars: known, set: map[string]bool{}}, depth: depth}
	w.list(file.Stmts, nested)
	return nil
}

// brokenPipe finds a backslash at the end of a line whose next line begins with an operator.
func brokenPipe() *regexp.Regexp { return regexp.MustCompile(`\\\r?\n\s*[|&;)]`) }

// walker goes through one parsed text.
type walker struct {
	s     *script
	rd    reader
	depth int
}

func (w *walker) list(stmts []*syntax.Stmt, nested bool) {
	for _, st := range stmts {
		w.stmt(st, nested)
	}
}

func (w *walker) stmt(st *syntax.Stmt, nested bool) {
	if st == nil {
		return
	}
	if st.Background || st.Coprocess {
		w.s.doubt("a command in the background")
	}
	redirs := w.redirs(st.Redirs)
	if c, ok := st.Cmd.(*syntax.CallExpr); ok {
		w.call(c, redirs, nested, false)
		return
	}
	w.s.redirs = append(w.s.redirs, redirs...)
	w.compound(st.Cmd, nested)
}

// compound follows the structures whose parts the client checks one by one; everything else is in doubt, and its
// inside is searched for what is denied only.
func (w *walker) compound(cmd syntax.Command, nested bool) {
	switch c := cmd.(type) {
	case nil:
	case *syntax.BinaryCmd:
		w.stmt(c.X, nested)
		w.stmt(c.Y, nested)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			w.list(c.Cond, nested)
			w.list(c.Then, nested)
		}
	case *syntax.WhileClause:
		w.list(c.Cond, nested)
		w.list(c.Do, nested)
	case *syntax.ForClause:
		iter, ok := c.Loop.(*syntax.WordIter)
		if !ok || c.Select {
			w.s.doubt("a loop that is not over words")
		}
		if ok {
			w.rd.set[iter.Name.Value] = true
			for _, it := range iter.Items {
				w.scan(it)
			}
		}
		w.list(c.Do, nested)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return
		}
		if inner, ok := c.Stmt.Cmd.(*syntax.CallExpr); ok {
			w.call(inner, w.redirs(c.Stmt.Redirs), nested, true)
			return
		}
		w.s.doubt("a timed group of commands")
		w.stmt(c.Stmt, true)
	case *syntax.TestClause:
		w.test(c)
	default:
		w.s.doubt("shell syntax")
		w.inside(cmd)
	}
}

// test takes [[ … ]] for harmless as long as it compares plain words: what looks like an index or an arithmetic
// name is evaluated by the shell.
func (w *walker) test(c *syntax.TestClause) {
	syntax.Walk(c, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.UnaryTest:
			if x.Op == syntax.TsVarSet || x.Op == syntax.TsOptSet || x.Op == syntax.TsRefVar {
				w.s.doubt("a test of a variable")
			}
		case *syntax.BinaryTest:
			if x.Op >= syntax.TsEql && x.Op <= syntax.TsGtr {
				w.numbers(x.X)
				w.numbers(x.Y)
			}
		case *syntax.Word:
			w.scan(x)
			if rd := w.rd.word(x); rd.vars || rd.glob || rd.dollar || strings.ContainsAny(rd.val, "[`") {
				w.s.doubt("a test of more than plain words")
			}
			return false
		}
		return true
	})
}

func (w *walker) numbers(x syntax.TestExpr) {
	word, ok := x.(*syntax.Word)
	if !ok || !matches(`^-?\d+$`, w.rd.word(word).val) {
		w.s.doubt("arithmetic in a test")
	}
}

// inside collects every command below a node, for the denies.
func (w *walker) inside(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch c := n.(type) {
		case *syntax.Stmt:
			w.s.redirs = append(w.s.redirs, w.redirs(c.Redirs)...)
		case *syntax.CallExpr:
			w.call(c, nil, true, false)
			return false
		}
		return true
	})
}

// scan notes what hides in a word: commands are collected, the word itself is in doubt.
func (w *walker) scan(n *syntax.Word) {
	if n == nil {
		return
	}
	w.scanParts(n.Parts)
	if w.rd.word(n).hard {
		w.s.doubt("an expansion")
	}
}

func (w *walker) scanParts(parts []syntax.WordPart) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.CmdSubst:
			w.s.doubt("a nested command")
			for _, st := range p.Stmts {
				w.inside(st)
			}
		case *syntax.ProcSubst:
			w.s.doubt("a nested command")
			for _, st := range p.Stmts {
				w.inside(st)
			}
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.ParamExp:
			if paramName(p) == "" {
				w.s.doubt("a variable in braces")
				w.inside(p)
			}
		case *syntax.DblQuoted:
			w.scanParts(p.Parts)
		default:
			w.s.doubt("an expansion")
			w.inside(p)
		}
	}
}

func (w *walker) redirs(list []*syntax.Redirect) []redir {
	var out []redir
	for _, r := range list {
		w.scan(r.Word)
		rd := redir{op: r.Op}
		if r.N != nil {
			rd.fd = r.N.Value
		}
		if r.Word != nil {
			rd.target = w.rd.word(r.Word)
		}
		// A here-document is plain text only when its end mark is quoted.
		if r.Hdoc != nil && rd.target.src == rd.target.val {
			w.s.doubt("a here-document that the shell expands")
			w.scan(r.Hdoc)
		}
		out = append(out, rd)
	}
	return out
}

func (w *walker) call(c *syntax.CallExpr, redirs []redir, nested, timed bool) {
	out := call{redirs: redirs, nested: nested, timed: timed}
	for _, a := range c.Assigns {
		w.scan(a.Value)
		if a.Array != nil || a.Index != nil || a.Append || a.Name == nil {
			w.s.doubt("an assignment that is not plain")
			w.inside(a)
			continue
		}
		as := word{src: a.Name.Value}
		if a.Value != nil {
			as = w.rd.word(a.Value)
			as.src = a.Name.Value
		}
		out.assigns = append(out.assigns, as)
		if len(c.Args) == 0 { // X=rm; $X file
			w.rd.vars[as.src], w.rd.set[as.src] = as.val, true
		}
	}
	for _, arg := range c.Args {
		w.scan(arg)
		out.words = append(out.words, w.rd.word(arg))
	}
	w.s.calls = append(w.s.calls, out)
	w.unwrap(out.words, w.depth)
}

// wrappers run the command that follows them, after flags and values of their own.
var wrappers = map[string]bool{
	"env": true, "command": true, "builtin": true, "exec": true, "nohup": true, "nice": true, "ionice": true, "chrt": true,
	"timeout": true, "time": true, "stdbuf": true, "unbuffer": true, "sudo": true, "doas": true, "setsid": true, "xargs": true,
	"parallel": true, "watch": true, "busybox": true, "toybox": true, "strace": true, "ltrace": true, "chroot": true, "taskset": true,
	"flock": true, "caffeinate": true, "script": true, "su": true, "runuser": true, "unshare": true, "nsenter": true, "npx": true,
	"noglob": true, "nocorrect": true, "prlimit": true, "systemd-run": true,
}

var shells = map[string]bool{"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true, "ash": true, "fish": true}

var wrapperValue = regexp.MustCompile(`^(?:[0-9.]+[smhd]?|[A-Za-z_][A-Za-z0-9_]*=.*|[A-Z]+[0-9]?|\+.*)$`)

// unwrap looks for commands inside a command: behind a wrapper, in the string of a shell, after find -exec. They
// are added as nested, so that a deny finds them. More is taken for a command than really is one: a rule that
// denies should not be passed by a flag we do not know.
func (w *walker) unwrap(words []word, depth int) {
	if len(words) == 0 || depth > maxDepth {
		w.s.blind = w.s.blind || depth > maxDepth
		return
	}
	if words[0].hard || strings.Contains(words[0].val, unknown) {
		w.s.blind = true
		return
	}
	name := path.Base(strings.ReplaceAll(words[0].val, `\`, "/"))
	name = strings.TrimSuffix(name, ".exe")
	add := func(inner []word) {
		if len(inner) > 0 {
			w.s.calls = append(w.s.calls, call{words: inner, nested: true})
			w.unwrap(inner, depth+1)
		}
	}
	switch {
	case shells[name]:
		w.shell(words[1:], depth)
	case name == "eval":
		w.code(strings.Join(values(words[1:]), " "), depth)
	case name == "find" || name == "fd":
		for i, x := range words {
			switch x.val {
			case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
				add(words[i+1:])
			}
		}
	case name == "git":
		add(gitCommand(words))
	case wrappers[name]:
		w.behind(name, words[1:], add, depth)
	}
}

// behind tries the words after a wrapper: the first that is neither a flag nor a value of the wrapper, and, as a
// flag may take a value, the next one too.
func (w *walker) behind(name string, words []word, add func([]word), depth int) {
	afterFlag := false
	for i, x := range words {
		switch {
		case strings.HasPrefix(x.val, "-"):
			if name == "script" || name == "su" || name == "flock" || name == "runuser" {
				if (x.val == "-c" || x.val == "--command") && i+1 < len(words) {
					w.code(words[i+1].val, depth)
				}
			}
			afterFlag = true
			continue
		case wrapperValue.MatchString(x.val):
			continue
		}
		add(words[i:])
		if !afterFlag {
			return
		}
		afterFlag = false
	}
}

// shell reads sh -c 'text'. A shell without a file and without -c takes its commands from its input.
func (w *walker) shell(args []word, depth int) {
	for i, a := range args {
		if !strings.HasPrefix(a.val, "-") {
			return // a file
		}
		if !strings.HasPrefix(a.val, "--") && strings.Contains(a.val, "c") {
			if i+1 < len(args) {
				w.code(args[i+1].val, depth)
			}
			return
		}
	}
	w.s.blind = true
}

func (w *walker) code(text string, depth int) {
	if strings.Contains(text, unknown) {
		w.s.blind = true
		return
	}
	inner := &script{}
	if err := inner.parse(text, w.rd.vars, depth+1, true); err != nil {
		w.s.blind = true
		return
	}
	for _, c := range inner.calls {
		c.nested = true
		w.s.calls = append(w.s.calls, c)
	}
	w.s.redirs = append(w.s.redirs, inner.redirs...)
	w.s.blind = w.s.blind || inner.blind
}

// gitCommand is a git command without its global options, so that git -C x push is git push; nil when there are
// none. Stricter than the client, which matches the text as it is.
func gitCommand(words []word) []word {
	i := 1
	for ; i < len(words); i++ {
		v := words[i].val
		if !strings.HasPrefix(v, "-") {
			break
		}
		switch v {
		case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env":
			i++
		}
	}
	if i == 1 || i >= len(words) {
		return nil
	}
	return append([]word{words[0]}, words[i:]...)
}
