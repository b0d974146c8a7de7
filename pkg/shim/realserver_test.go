package shim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"legwork/pkg/llm/llmtest"
)

// The tests of this file run the real client on a real server with a tiny scripted model: it calls Bash until it has
// seen three results, then says that it is done. One byte of a prompt is one token.

// toolJobScript is two answers in one chain: the first begins after a newline, the second after "@".
var toolJobScript = []string{
	"\n", "<tool_call>", "\n\n", `{"`, "name", `":"`, "Bash", `","`, "arguments", `":{"`, "command", `": "`, "echo one >> log.txt",
	`", "`, "description", `" : "`, "append", `"}}`, "</tool_call>", "<|im_end|>", "@", "All", " done", "<|endoftext|>",
}

// afterThree makes a template end so that the second answer follows the third result.
func afterThree(template, count string) string {
	head, found := strings.CutSuffix(template, "<|im_start|>assistant\n{% endif -%}\n")
	if found {
		return head + "<|im_start|>assistant{{ '@' if " + count + " else '\\n' }}{% endif -%}\n"
	}
	head, _ = strings.CutSuffix(template, "<|im_start|>assistant\n")
	return head + "<|im_start|>assistant{{ if " + count + " }}@{{ else }}\n{{ end }}"
}

// toolJob runs the job and checks what it did and how much of each prompt came from the server's cache.
func toolJob(t *testing.T, target Target, cached bool) {
	t.Helper()
	dir, rec := t.TempDir(), t.TempDir()
	s, addr := serveShim(t, target, Options{RecordDir: rec, Full: true})
	run := runClient(t, s.Env(addr), dir, "Append to the log three times.")
	if run.exit != 0 || gjson.Get(run.result, "is_error").Bool() || !strings.Contains(gjson.Get(run.result, "result").Str, "All done") {
		t.Errorf("exit %d, result %s", run.exit, clip(run.result, 1500))
	}
	if got, err := os.ReadFile(filepath.Join(dir, "log.txt")); err != nil || string(got) != "one\none\none\n" {
		t.Errorf("log.txt %q %v", got, err)
	}
	for i, r := range records(t, rec) {
		share := float64(r.Usage.Cached) / float64(max(r.Usage.Total(), 1))
		t.Logf("turn %d: %d tokens, %.1f %% cached, first byte %.0f ms, changed %v", i+1, r.Usage.Total(), 100*share, r.FirstMS, r.Changed)
		if cached && i > 0 && share < 0.9 {
			t.Errorf("turn %d: only %.0f %% of the prompt came from the cache", i+1, 100*share)
		}
	}
}

func TestRealLlamaServer(t *testing.T) {
	model := llmtest.WriteGGUF(t, t.TempDir(), llmtest.GGUF{Name: "job", Script: toolJobScript})
	template := filepath.Join(t.TempDir(), "template.jinja")
	text := afterThree(llmtest.GGUFTemplate, "(messages | selectattr('role', 'equalto', 'tool') | list | length) >= 3")
	if err := os.WriteFile(template, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server := llmtest.StartLlamaServer(t, model, "-c", "40000", "-np", "1", "--temp", "0", "--chat-template-file", template)
	for _, route := range []Route{RouteNative, RouteChat} {
		t.Run(string(route), func(t *testing.T) {
			toolJob(t, Target{BaseURL: server.URL, Kind: LlamaCPP, Route: route, Window: 40000, CountTokens: true}, true)
		})
	}
}

func TestRealOllama(t *testing.T) {
	model := llmtest.WriteGGUF(t, t.TempDir(), llmtest.GGUF{Name: "job", Script: toolJobScript})
	server := llmtest.StartOllama(t, model)
	target, err := EnsureWindow(t.Context(), Target{BaseURL: server.URL, Kind: Ollama, Route: RouteNative, Model: "job"}, 30000, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("model %s, window %d", target.Model, target.Window)
	if target.Window < 30000 {
		t.Errorf("window %d", target.Window)
	}
	// The model has one thing to say, so the job ends with its turns; every call must have run.
	dir := t.TempDir()
	s, addr := serveShim(t, target, Options{})
	run := runClient(t, s.Env(addr), dir, "Append to the log.", "--max-turns", "3")
	got, _ := os.ReadFile(filepath.Join(dir, "log.txt"))
	sum := s.Summary()
	t.Logf("log.txt %q, summary %+v", got, sum)
	if gjson.Get(run.result, "terminal_reason").Str != "max_turns" || !strings.HasPrefix(string(got), "one\none\n") || sum.Usage.Input < 10000 {
		t.Errorf("result %s", clip(run.result, 800))
	}
}
