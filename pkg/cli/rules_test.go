package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/pkg/llm/llmtest"
	"legwork/pkg/mcpserver"
	"legwork/pkg/offload"
)

// ruled is a repository with an app beside it, under rules of the user's.
func ruled(t *testing.T, server *llmtest.Server, settings string) (*app, string) {
	t.Helper()
	a, dir, _ := delegateSite(t, server)
	home := filepath.Dir(dir)
	a.env = append(a.env, "HOME="+home, "CLAUDE_CONFIG_DIR="+filepath.Join(home, ".claude"))
	placed(t, filepath.Join(home, ".claude", "settings.json"), settings)
	return a, dir
}

func placed(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A file that may not be read is shown to no model, one that may not be edited is written by none.
func TestDelegateKeepsFileRules(t *testing.T) {
	for _, tc := range []struct{ rule, words string }{
		{"Read(./out.txt)", "target_file: out.txt: refused: your permission rule Read(./out.txt)"},
		{"Edit(./out.txt)", "target_file: out.txt: refused: your permission rule Edit(./out.txt)"},
		{"Edit", "target_file: out.txt: refused: your permission rule Edit in"},
		{"Edit(./real.txt)", "target_file: out.txt: refused: your permission rule Edit(./real.txt)"},
		{"Read(./check.sh)", "test file check.sh: refused: your permission rule Read(./check.sh)"},
	} {
		asked := false
		server := llmtest.NewLlamaServer(t, llmtest.Config{Answer: func(llmtest.Call) llmtest.Reply {
			asked = true
			return llmtest.Reply{Text: "```text\nright\n```"}
		}})
		a, dir := ruled(t, server, `{"permissions": {"deny": ["`+tc.rule+`"]}}`)
		placed(t, filepath.Join(dir, "real.txt"), "secret\n")
		if err := os.Symlink("real.txt", filepath.Join(dir, "out.txt")); err != nil {
			t.Fatal(err)
		}
		_, err := a.delegateTool(t.Context(), mcpserver.DelegateInput{Spec: "Write the word.", TargetFile: "out.txt", TestCommand: "sh check.sh"}, func(string) {})
		if err == nil || !strings.Contains(err.Error(), tc.words) || asked {
			t.Errorf("%s: %v, a model was asked: %v", tc.rule, err, asked)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "real.txt")); err != nil || string(b) != "secret\n" {
			t.Errorf("%s: %q %v", tc.rule, b, err)
		}
	}
}

// A link whose own name may not be read is not read, whatever it leads to.
func TestOffloadJudgesTheNameToo(t *testing.T) {
	a, dir := ruled(t, llmtest.NewLlamaServer(t, llmtest.Config{}), `{"permissions": {"deny": ["Read(./.env)"]}}`)
	placed(t, filepath.Join(dir, "config", "dev-settings"), "SECRET=4711\n")
	if err := os.Symlink("config/dev-settings", filepath.Join(dir, ".env")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".env", filepath.Join(dir, ".env"), "config/../.env", ".e*"} {
		res, err := a.offload(t.Context(), offload.Request{Question: "what is SECRET?", Files: []string{name}}, func(string) {})
		if err == nil || !strings.Contains(err.Error(), "Read(./.env)") {
			t.Errorf("%s: %+v %v", name, res, err)
		}
	}
}

// A command is judged in the folder it runs in, which is not where the session's shell is.
func TestPermissionJudgesWhereItRuns(t *testing.T) {
	a, dir := ruled(t, llmtest.NewLlamaServer(t, llmtest.Config{}), `{"permissions": {"deny": ["Read(//nowhere)"]}}`)
	placed(t, filepath.Join(filepath.Dir(dir), "notes.txt"), "outside\n")
	placed(t, filepath.Join(dir, "notes.txt"), "inside\n")
	placed(t, filepath.Join(dir, "sub", "x"), "x\n")
	h := &hooks{app: a, session: &mcpserver.Session{}}
	for _, shell := range []string{dir, filepath.Join(dir, "sub"), ""} {
		if v, why := h.permission(t.Context(), mcpserver.PermissionInput{Command: "cat ../notes.txt", Dir: shell}); v != "ask" {
			t.Errorf("from %q: %q %s", shell, v, why)
		}
	}
}
