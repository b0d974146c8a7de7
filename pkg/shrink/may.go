package shrink

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// RawVariable keeps the output of a command as it is when it stands anywhere in it: as LEGWORK_RAW=1 in
// front, or as a comment at the end (`npm test # LEGWORK_RAW`), which matches the same permission rules
// as the command without it. LEGWORK_RAW=0 does nothing.
const RawVariable = "LEGWORK_RAW"

// asked says how somebody asked for output.
type asked int

const (
	forNothing asked = iota // prints next to nothing: cd, export, echo, anything into a file
	forWork                 // the command does something, its output is a report: npm test, make
	forContent              // prints a text whole: cat, docker logs
	forLines                // prints lines that were chosen: grep, head, git diff, ls
)

// plan is what a command's text says about its output.
type plan struct {
	asked asked
	// exit is true when the status of the whole command is that of the work in it: no pipe, no list.
	exit  bool
	parts []string // the simple commands, as written
}

// planOf reads a command. Text that is no shell to the parser counts as asked for line by line, because
// then nobody knows what was asked for; so does a command without any work in it.
func planOf(command string) plan {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return plan{asked: forLines}
	}
	p := plan{exit: true}
	work := false
	p.statements(f.Stmts, &work)
	if !work && p.asked < forContent {
		p.asked = forLines
	}
	return p
}

func raw(command string) bool {
	return strings.Contains(command, RawVariable) && !strings.Contains(command, RawVariable+"=0")
}

func (p *plan) statements(list []*syntax.Stmt, work *bool) {
	p.exit = p.exit && len(list) <= 1
	for _, s := range list {
		p.statement(s, work)
	}
}

func (p *plan) note(a asked, work *bool) {
	p.asked = max(p.asked, a)
	*work = *work || a == forWork
}

// statement looks at everything whose output is shown. What is substituted into a command line is not.
func (p *plan) statement(s *syntax.Stmt, work *bool) {
	if s == nil {
		return
	}
	if intoFile(s) {
		return
	}
	p.exit = p.exit && !s.Background && !s.Negated
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		p.call(c, s, work)
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			p.pipe(c, work)
			return
		}
		p.exit = p.exit && c.Op == syntax.AndStmt
		p.statement(c.X, work)
		p.statement(c.Y, work)
	case *syntax.TimeClause:
		p.statement(c.Stmt, work)
	case *syntax.Subshell:
		p.statements(c.Stmts, work)
	case *syntax.Block:
		p.statements(c.Stmts, work)
	case *syntax.IfClause:
		p.branch(c, work)
	case *syntax.WhileClause:
		p.compound(work, c.Cond, c.Do)
	case *syntax.ForClause:
		p.compound(work, c.Do)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			p.compound(work, item.Stmts)
		}
	case *syntax.FuncDecl:
		p.compound(work, []*syntax.Stmt{c.Body})
	case nil, *syntax.DeclClause, *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
	default:
		p.note(forLines, work)
	}
}

func (p *plan) branch(c *syntax.IfClause, work *bool) {
	for ; c != nil; c = c.Else {
		p.compound(work, c.Cond, c.Then)
	}
}

func (p *plan) compound(work *bool, lists ...[]*syntax.Stmt) {
	p.exit = false
	for _, l := range lists {
		p.statements(l, work)
	}
}

// pipe looks at the last stage that shapes what is shown: `x | cat` and `x | tee f` show what x prints.
func (p *plan) pipe(c *syntax.BinaryCmd, work *bool) {
	p.exit = false
	if last, ok := c.Y.Cmd.(*syntax.CallExpr); ok && passes(words(last.Args)) && !intoFile(c.Y) {
		p.statement(c.X, work)
		return
	}
	p.statement(c.Y, work)
}

// passes is true for a stage that hands its input on as it is.
func passes(words []string) bool {
	if len(words) == 0 {
		return false
	}
	return words[0] == "tee" || words[0] == "cat" && len(skipOptions(words[1:])) == 0
}

// intoFile is true when nothing of a statement's standard output is shown.
func intoFile(s *syntax.Stmt) bool {
	return slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob:
			return r.N == nil || r.N.Value == "1"
		case syntax.RdrAll, syntax.AppAll:
			return true
		}
		return false
	})
}

func (p *plan) call(c *syntax.CallExpr, s *syntax.Stmt, work *bool) {
	if len(c.Args) == 0 {
		return
	}
	w := words(c.Args)
	p.parts = append(p.parts, strings.Join(w, " "))
	if inner, ok := shellText(w); ok {
		q := planOf(inner)
		p.parts = append(p.parts, q.parts...)
		p.exit = p.exit && q.exit
		p.note(q.asked, work)
		return
	}
	a := kindOfCall(w)
	if a == forNothing && slices.ContainsFunc(c.Args, substitutes) { // echo "$(cat file)"
		a = forLines
	}
	if a == forWork && slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.Hdoc != nil }) {
		a = forLines // a program written for this one output: python3 - <<EOF
	}
	p.note(a, work)
}

func substitutes(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		if _, ok := n.(*syntax.CmdSubst); ok {
			found = true
		}
		return !found
	})
	return found
}

// shellText is the command in `bash -c '…'`.
func shellText(w []string) (string, bool) {
	w = unwrap(w)
	if len(w) < 3 || !shells[path.Base(w[0])] {
		return "", false
	}
	for i, a := range w[1:] {
		if strings.HasPrefix(a, "-") && strings.Contains(a, "c") && i+2 < len(w) {
			return w[i+2], true
		}
	}
	return "", false
}

// excepted matches a command, and each simple command in it, against the user's patterns: a * stands for
// anything, and a pattern covers what begins with it at a word's end.
func excepted(patterns []string, command string, parts []string) bool {
	for _, text := range append([]string{command}, parts...) {
		text = strings.Join(strings.Fields(text), " ")
		for _, p := range patterns {
			p = strings.Join(strings.Fields(p), " ")
			if p != "" && (glob(p, text) || glob(p+" *", text)) {
				return true
			}
		}
	}
	return false
}

// glob matches with * for any text.
func glob(pattern, text string) bool {
	pieces := strings.Split(pattern, "*")
	if len(pieces) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, pieces[0])
	if !ok {
		return false
	}
	last := pieces[len(pieces)-1]
	for _, piece := range pieces[1 : len(pieces)-1] {
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text = text[i+len(piece):]
	}
	return strings.HasSuffix(text, last)
}

// words are a command's words without their quotes. What the shell fills in stands as "$".
func words(args []*syntax.Word) []string {
	out := make([]string, len(args))
	for i, w := range args {
		var b strings.Builder
		literal(&b, w.Parts)
		out[i] = b.String()
	}
	return out
}

func literal(b *strings.Builder, parts []syntax.WordPart) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			literal(b, p.Parts)
		default:
			b.WriteByte('$')
		}
	}
}
