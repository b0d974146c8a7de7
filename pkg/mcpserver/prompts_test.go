package mcpserver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The prompts as a client gets them, kept as a snapshot.
func testPrompts(t *testing.T) {
	p := serve(t, &Verbs{})
	var got strings.Builder
	ask := func(method, params string) {
		t.Helper()
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var reply struct{ Result, Error any }
		if err := json.Unmarshal(line, &reply); err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(reply, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s %s\n%s\n", method, params, text)
	}
	ask("prompts/list", `{}`)
	ask("prompts/get", `{"name":"triage"}`)
	ask("prompts/get", `{"name":"triage","arguments":{"command":"npm test"}}`)
	ask("prompts/get", `{"name":"research","arguments":{"question":"which versions are supported?"}}`)
	ask("prompts/get", `{"name":"research"}`)
	file := filepath.Join("testdata", "prompts.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the prompts changed; look at it and run with -update (-want +got):\n%s", diff)
	}
	// Every tool that a prompt names exists.
	for _, m := range regexp.MustCompile(ToolPrefix+`(\w+)`).FindAllStringSubmatch(got.String(), -1) {
		if !slices.Contains(ToolNames(), m[1]) {
			t.Errorf("a prompt names %s, which is not there", m[1])
		}
	}
}

func TestProgressLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, message, want string }{
		{"offload", "offload: reading the material", "offload: reading the material"},
		{"offload_files", "offload: reading", "offload_files: reading"},
		{"research", "planning queries", "research: planning queries"},
		{"research", "not read: http://a (no\nsuch host)", "research: not read: http://a (no such host)"},
		{"research", strings.Repeat("a b ", 100), "research: " + strings.Repeat("a b ", 35) + "…"},
	} {
		if got := progressLine(c.tool, c.message); got != c.want {
			t.Errorf("%q: %q, want %q", c.message, got, c.want)
		}
	}
}
