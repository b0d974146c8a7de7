package mcpserver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// What stands in every session of the client is short, and names only tools that exist.
func TestTextsOfThePlugin(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"../../skills/*/SKILL.md", "../../commands/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	names := regexp.MustCompile(ToolPrefix + `(\w+)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "description: ")
		description, _, _ := strings.Cut(rest, "\n")
		if n := len(description); n == 0 || n >= 200 {
			t.Errorf("%s: a description of %d characters", file, n)
		}
		for _, m := range names.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(ToolNames(), m[1]) {
				t.Errorf("%s names %s, which is not there", file, m[1])
			}
		}
	}
}

// The hooks call tools that exist, at the name the client gives a plugin's server, with arguments they know.
func TestHooksFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../hooks/hooks.json")
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) {
		t.Fatal("hooks.json is not JSON")
	}
	calls := 0
	gjson.GetBytes(text, "hooks").ForEach(func(event, groups gjson.Result) bool {
		for _, h := range groups.Get("#.hooks|@flatten").Array() {
			if h.Get("timeout").Float() <= 0 || h.Get("timeout").Float() > 5 {
				t.Errorf("%s: a limit of %v s", event, h.Get("timeout"))
			}
			if h.Get("type").Str != "mcp_tool" {
				continue
			}
			calls++
			i := slices.IndexFunc(allTools(), func(t tool) bool { return t.hidden && t.name == h.Get("tool").Str })
			if i < 0 || h.Get("server").Str != "plugin:legwork:legwork" {
				t.Errorf("%s calls %s of %s", event, h.Get("tool"), h.Get("server"))
				continue
			}
			known := argumentNames(allTools()[i].input)
			h.Get("input").ForEach(func(arg, _ gjson.Result) bool {
				if !slices.Contains(known, arg.Str) {
					t.Errorf("%s: unknown argument %s", h.Get("tool"), arg)
				}
				return true
			})
		}
		return true
	})
	if calls != 5 {
		t.Errorf("%d hooks call the server", calls)
	}
}
