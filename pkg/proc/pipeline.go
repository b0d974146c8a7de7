package proc

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// LastOfPipe tells whether the exit status of a shell line is that of the last command of a pipe, so that a failure
// before it does not show: `go test ./... | tail -5` is 0 whatever the tests do. It returns that last command, as
// written, for the note that says so. A line that sets pipefail, or that cannot be parsed, gets false.
func LastOfPipe(shell string) (last string, ok bool) {
	if !strings.Contains(shell, "|") {
		return "", false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(shell), "")
	if err != nil || len(file.Stmts) == 0 || setsPipefail(file) {
		return "", false
	}
	return lastOfPipe(shell, file.Stmts[len(file.Stmts)-1])
}

// lastOfPipe follows the statement that decides the status.
func lastOfPipe(shell string, stmt *syntax.Stmt) (string, bool) {
	if stmt == nil || stmt.Background {
		return "", false
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
			return shell[cmd.Y.Pos().Offset():cmd.Y.End().Offset()], true
		}
		// a && b, a || b: either side may be the one that ran last.
		if last, ok := lastOfPipe(shell, cmd.Y); ok {
			return last, true
		}
		return lastOfPipe(shell, cmd.X)
	case *syntax.Subshell:
		return lastOfList(shell, cmd.Stmts)
	case *syntax.Block:
		return lastOfList(shell, cmd.Stmts)
	case *syntax.TimeClause:
		return lastOfPipe(shell, cmd.Stmt)
	}
	return "", false
}

func lastOfList(shell string, list []*syntax.Stmt) (string, bool) {
	if len(list) == 0 {
		return "", false
	}
	return lastOfPipe(shell, list[len(list)-1])
}

func setsPipefail(file *syntax.File) (found bool) {
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if ok && len(call.Args) >= 2 && call.Args[0].Lit() == "set" {
			for _, arg := range call.Args[1:] {
				found = found || arg.Lit() == "pipefail"
			}
		}
		return !found
	})
	return found
}
