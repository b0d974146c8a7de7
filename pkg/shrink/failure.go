package shrink

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"legwork/pkg/clean"
	"legwork/pkg/runners"
)

// What Claude Code does with the output of a failing command (measured on 2.1.328 and 2.1.332): it keeps
// the first BASH_MAX_OUTPUT_LENGTH characters, by default 30,000 and at most 150,000; what came after
// those is gone and no hook sees it. In front it puts "Exit code N". Of a text that is longer than 11,000
// it shows 5,000 at each end with a mark between. A limit below that leaves the head and no mark.
const (
	defaultKept = 30_000
	mostKept    = 150_000
	shownEnds   = 10_000
	keptLess    = 24  // blank characters that are trimmed at the cut
	keptMore    = 200 // words of the client's own, such as "Command timed out after 10m"
)

var cutMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.\.\. \[(\d+) characters truncated\] \.\.\.`) })

var exitForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:Error: )?Exit code (\d+)\s`) })

// How much is said of failures that Claude can read in the text it has.
const (
	failuresNamed = 20
	failuresTold  = 4
	failureLength = 300
)

// Failure says what a model should know about a failing command's output that was cut: whether the end
// is missing and how to get it, and the failures that can still be read. kept is the user's
// BASH_MAX_OUTPUT_LENGTH, 0 when it is not set. It returns "" when nothing was cut.
func Failure(command, text string, kept int) string {
	exit, front := 1, 0
	if e := exitForm().FindStringSubmatch(text); e != nil {
		exit, _ = strconv.Atoi(e[1]) // digits only, by the expression
		front = len(e[0])
	}
	whole, left := utf8.RuneCountInString(text)-front, 0
	if m := cutMark().FindStringSubmatch(text); m != nil {
		left, _ = strconv.Atoi(m[1])
		whole = left + shownEnds - front
	}
	gone := endGone(whole, kept)
	if left == 0 && !gone {
		return ""
	}
	out := []string{fmt.Sprintf("legwork: %d characters in the middle of this output were cut; its beginning and its end are complete.", left)}
	if gone {
		out[0] = fmt.Sprintf("legwork: this output was cut and its real end is gone: only the first %d characters were kept. Do not take the last line above for the end. "+
			"To see it, run the command through the offload tool with your question; the user can set BASH_MAX_OUTPUT_LENGTH=150000 so that ends are kept.", whole)
	}
	run := runners.Parse(clean.Bytes([]byte(text[front:])), runners.Hint{Command: command, Exit: &exit, Truncated: true})
	if lines := run.Lines(runners.Render{IDs: failuresNamed, Messages: failuresTold, Limit: failureLength}); run.Runner != "" && len(lines) > 1 {
		out = append(out, run.Runner+", failures in what is left (there may be more):")
		out = append(out, lines[1:]...)
	}
	return strings.Join(out, "\n")
}

// endGone tells whether a text of this many characters is one that the client stopped keeping.
func endGone(whole, kept int) bool {
	for _, limit := range []int{kept, defaultKept, mostKept} {
		if limit > 0 && whole <= limit+keptMore && whole >= limit-keptLess {
			return kept <= 0 || limit >= min(kept, mostKept)
		}
	}
	return false
}
