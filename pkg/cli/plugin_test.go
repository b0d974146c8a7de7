package cli

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"legwork/pkg/llm/llmtest"
)

func repoFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The client reads one copy, the layout wants the other.
func TestMarketplaceCopies(t *testing.T) {
	t.Parallel()
	if !bytes.Equal(repoFile(t, ".claude-plugin/marketplace.json"), repoFile(t, "marketplace.json")) {
		t.Error("marketplace.json and .claude-plugin/marketplace.json differ")
	}
}

// H04: the plugin and its server name the same version, so an update is seen as one.
func TestVersionsAgreeH04(t *testing.T) {
	t.Parallel()
	if v := gjson.GetBytes(repoFile(t, ".claude-plugin/plugin.json"), "version").Str; v != version {
		t.Errorf("plugin.json says %q, the binary %q", v, version)
	}
	if v := gjson.GetBytes(repoFile(t, "marketplace.json"), "plugins.0.version"); v.Exists() {
		t.Errorf("marketplace.json names version %s too; the client then ignores plugin.json", v)
	}
}

// H02: no hook depends on bash, on a backslash, or on a path without blanks.
func TestHooksAreQuotedH02(t *testing.T) {
	t.Parallel()
	commands := 0
	gjson.GetBytes(repoFile(t, "hooks/hooks.json"), "hooks").ForEach(func(event, groups gjson.Result) bool {
		for _, h := range groups.Get("#.hooks|@flatten").Array() {
			if h.Get("type").Str == "mcp_tool" {
				continue
			}
			commands++
			if cmd := h.Get("command").Str; !strings.HasPrefix(cmd, `sh "${CLAUDE_PLUGIN_ROOT}/bin/legwork" hook `) || strings.Contains(cmd, `\`) {
				t.Errorf("%s runs %s", event, cmd)
			}
		}
		return true
	})
	if commands == 0 {
		t.Error("no hook runs a command")
	}
}

// H05: the start of a session asks no server and writes nothing but, in a client's session, its line in the ledger.
func TestSessionStartIsIdleH05(t *testing.T) {
	t.Parallel()
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	u := newUser(t, endpoint("gpu", s.URL)+"research: {searxng_url: \""+s.URL+"\"}\n")
	u.want(0, "legwork: use ", "hook", "session-start")
	if paths := s.Paths(); len(paths) != 0 {
		t.Errorf("it asked %v", paths)
	}
	if _, err := os.Stat(u.dir + "/state"); err == nil {
		t.Error("it made a state directory")
	}
	u.env = append(u.env, "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=5e55")
	u.want(0, "legwork: use ", "hook", "session-start")
	var files []string
	err := fs.WalkDir(os.DirFS(u.dir), "state", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if want := []string{"state/runs.jsonl", "state/runs.jsonl.lock", "state/runs.lock"}; err != nil || !slices.Equal(files, want) {
		t.Errorf("%v: it wrote %q, want %q", err, files, want)
	}
	if paths := s.Paths(); len(paths) != 0 {
		t.Errorf("it asked %v", paths)
	}
}

// The transcript in the README is what the command prints.
func TestREADMETranscript(t *testing.T) {
	posix(t)
	text := string(repoFile(t, "README.md"))
	_, block, found := strings.Cut(text, "```console\n$ ./bin/legwork offload ")
	block, _, closed := strings.Cut(block, "\n```")
	line, want, ok := strings.Cut(block, "\n")
	m := regexp.MustCompile(`^--command '([^']*)' '([^']*)'$`).FindStringSubmatch(line)
	if !found || !closed || !ok || m == nil {
		t.Fatalf("no transcript of an offload: %q", line)
	}
	if !strings.Contains(text, "\n./bin/legwork offload "+line+"\n") {
		t.Error("the command for a fresh machine is another one than in the transcript")
	}
	t.Chdir("../..")
	u := newUser(t, "")
	u.env = append(u.env, "CLAUDE_PROJECT_DIR=")
	got, errText, code := u.run("offload", "--command", m[1], m[2])
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	if d := cmp.Diff(steady(want), steady(got)); d != "" {
		t.Errorf("README (-) and command (+) differ:\n%s", d)
	}
}

// steady replaces what differs from run to run: times, ids, the home.
func steady(s string) string {
	s = regexp.MustCompile(`\d+(\.\d+)? (ms|s) · `).ReplaceAllString(s, "TIME · ")
	return regexp.MustCompile(`raw r\w+ · \S+`).ReplaceAllString(strings.TrimSpace(s), "raw ID")
}
