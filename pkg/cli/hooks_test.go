package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/pkg/mcpserver"
)

// The reminder stays short whatever the user lists, and names every tool so that it can be called.
func TestReminderIsShort(t *testing.T) {
	t.Parallel()
	all := []string{"offload", "offload_files", "research", "delegate", "run_agent", "local_complete"}
	for set := range 1 << len(all) {
		var use []string
		for i, tool := range all {
			if set&(1<<i) != 0 {
				use = append(use, tool)
			}
		}
		text := reminder(use, all)
		if n := utf8.RuneCountInString(text); n > 300 {
			t.Errorf("%v: %d characters: %s", use, n, text)
		}
		named := 0
		for _, r := range reminders {
			if strings.Contains(text, "…"+r.tool+" ") || strings.Contains(text, mcpserver.ToolPrefix+r.tool+" ") {
				named++
			}
		}
		want := 0
		for _, r := range reminders {
			for _, u := range use {
				if u == r.tool {
					want++
				}
			}
		}
		if named != want {
			t.Errorf("%v: %d tools named in %q", use, named, text)
		}
	}
	if text := reminder(all, []string{"offload"}); strings.Contains(text, "research") {
		t.Errorf("a tool that does not exist is named: %s", text)
	}
}
