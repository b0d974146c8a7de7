package runners

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// filters are programs that pass on a part of what they read.
var filters = map[string]bool{
	"grep": true, "egrep": true, "fgrep": true, "rg": true, "ag": true, "tail": true, "head": true, "sed": true, "awk": true, "cut": true,
}

// throughFilter takes back what follows only from lines that are missing when
// command ends in a filter: no test and no end in the text do not mean that none
// ran or that the run broke off. What the lines that are there name stays.
func throughFilter(t *Text, f finding) finding {
	name := lastFilter(t.Hint.Command)
	bare := len(f.Failures)+len(f.Suites)+len(f.BuildErrors) == 0
	code, _ := t.Exit()
	switch {
	case name == "":
		return f
	case code == 1 && f.Runner == "" && blank(t.whole) && answersByCode(name) != "":
		f.Runner = name // as for a grep of its own
	case f.State == StateNoTests:
	case f.State == StateDidNotFinish && bare && name != "head": // head closes the pipe, which ends the run
	default:
		return f
	}
	f.State = StateUnknown
	f.Tests = Counts{}
	f.note("the output went through " + name + ": what it left out is not known")
	return f
}

// lastFilter names the filter at the end of the pipe that command ends with, "" if
// what is printed is the program's own.
func lastFilter(command string) string {
	if !strings.Contains(command, "|") {
		return ""
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) == 0 {
		return ""
	}
	end, piped := file.Stmts[len(file.Stmts)-1], false
	for {
		pair, ok := end.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		end, piped = pair.Y, pair.Op == syntax.Pipe || pair.Op == syntax.PipeAll
	}
	call, ok := end.Cmd.(*syntax.CallExpr)
	if !piped || !ok || len(call.Args) == 0 {
		return ""
	}
	name, _ := plainWord(call.Args[0])
	if name = path.Base(name); !filters[name] {
		return ""
	}
	return name
}
