package mcpserver

import (
	"fmt"
	"strings"

	"legwork/pkg/llm"
)

// CompletionText is the reply of local_complete: the facts in one line, then the answer as it came.
func CompletionText(a *llm.Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s · model %s on %s · %d tokens in, %d out · %.1f s\n", a.Outcome, a.Model, a.Endpoint,
		a.Usage.Prompt, a.Usage.Completion, a.Duration.Seconds())
	for _, n := range []string{a.Note, a.Unreliable} {
		if n != "" {
			fmt.Fprintf(&b, "note: %s\n", n)
		}
	}
	switch {
	case len(a.JSON) > 0:
		b.Write(a.JSON)
	case a.Text == "" && a.Reasoning != "":
		b.WriteString("(reasoning only, no answer)")
	default:
		b.WriteString(a.Text)
	}
	return b.String()
}
