package shrink

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"legwork/pkg/clean"
	"legwork/pkg/runners"
)

// cutMark is how Claude Code says that it left out the middle of a failing command's output. It cuts
// the first 30,000 characters to 5,000 at each end (measured on 2.1.328); what came after those is gone.
var cutMark = regexp.MustCompile(`\.\.\. \[(\d+) characters truncated\] \.\.\.`)

var exitForm = regexp.MustCompile(`^(?:Error: )?Exit code (\d+)`)

// goneFrom is the sum of shown and truncated characters from which the true end is not in the text.
const goneFrom = 29_900

// Failure says what a model should know about a failing command's output that was cut: the failures
// that can still be read, and whether the end is missing. It returns "" when nothing was cut.
func Failure(command, text string) string {
	m := cutMark.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	left, _ := strconv.Atoi(m[1]) // digits only, by the expression
	exit := 1
	if e := exitForm.FindStringSubmatch(text); e != nil {
		exit, _ = strconv.Atoi(e[1])
	}
	var out []string
	run := runners.Parse(clean.Bytes([]byte(text)), runners.Hint{Command: command, Exit: &exit, Truncated: true})
	if run.Runner != "" {
		for _, l := range run.Lines(runners.Render{Messages: 6, Limit: maxMessage})[1:] {
			out = append(out, l)
		}
		if len(out) > 0 {
			out = append([]string{"failures that can be read in what is left (counts are not known):"}, out...)
		}
	}
	if left+len(text) >= goneFrom {
		out = append([]string{fmt.Sprintf("legwork: this output was cut, and its end is gone: only the first 30,000 characters existed. "+
			"To see the real end, run it through the offload tool with your question (command: %q), or have the user set BASH_MAX_OUTPUT_LENGTH=150000.", short(command))}, out...)
	} else {
		out = append([]string{fmt.Sprintf("legwork: %d characters in the middle of this output were cut; its end is complete.", left)}, out...)
	}
	return strings.Join(out, "\n")
}

func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 120 {
		s = strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}
