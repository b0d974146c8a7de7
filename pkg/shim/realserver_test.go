package shim

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

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

// jobWindow is the window in tokens. The client compacts early: its prompt of 12,500 bytes is too much for 30,000.
const jobWindow = 40000

// afterThree makes a llama-server's template end so that the second answer follows the third result.
func afterThree(template string) string {
	head, _ := strings.CutSuffix(template, "<|im_start|>assistant\n{% endif -%}\n")
	return head + "<|im_start|>assistant{{ '@' if (messages | selectattr('role', 'equalto', 'tool') | list | length) >= 3 else '\\n' }}{% endif -%}\n"
}

// afterThreeOllama is the same for Ollama's templates, which cannot add: a text grows by one letter for each result.
func afterThreeOllama(template string) string {
	head, _ := strings.CutSuffix(template, "<|im_start|>assistant\n")
	return `{{ $seen := "" }}{{ range .Messages }}{{ if eq .Role "tool" }}{{ $seen = print $seen "x" }}{{ end }}{{ end }}` +
		head + "<|im_start|>assistant{{ if ge (len $seen) 3 }}@{{ else }}\n{{ end }}"
}

// toolJob runs the job and checks what it did. It returns the job's records.
func toolJob(t *testing.T, target Target) []Record {
	t.Helper()
	dir, rec := t.TempDir(), t.TempDir()
	s, addr := serveShim(t, target, Options{RecordDir: rec, Full: true, FirstByte: 30 * time.Minute})
	run := runClient(t, s.Env(addr), dir, "Append to the log three times.")
	if run.exit != 0 || gjson.Get(run.result, "is_error").Bool() || !strings.Contains(gjson.Get(run.result, "result").Str, "All done") {
		t.Errorf("exit %d, result %s", run.exit, clip(run.result, 1500))
	}
	if got, err := os.ReadFile(filepath.Join(dir, "log.txt")); err != nil || string(got) != "one\none\none\n" {
		t.Errorf("log.txt %q %v", got, err)
	}
	recs := records(t, rec)
	if len(recs) != 4 {
		t.Errorf("%d requests, not three calls and an end", len(recs))
	}
	return recs
}

// prompt is one turn's prompt in tokens, and how much of it the server had in its cache.
type prompt struct{ all, cached int }

// checkReuse wants nine tenths of every prompt but the first from the cache, and most of the first where a job in
// another directory went before.
func checkReuse(t *testing.T, prompts []prompt, later bool) {
	t.Helper()
	for i, p := range prompts {
		share, least := float64(p.cached)/float64(max(p.all, 1)), 0.9
		t.Logf("turn %d: %d tokens, %d of them cached, %.1f %%", i+1, p.all, p.cached, 100*share)
		switch {
		case i == 0 && later:
			least = 0.85
		case i == 0:
			least = 0
		}
		if share < least {
			t.Errorf("turn %d: only %.0f %% of the prompt came from the cache", i+1, 100*share)
		}
	}
}

// needClient ends a test before it starts a server that it could not use.
func needClient(t *testing.T) {
	t.Helper()
	if os.Getenv("LEGWORK_CLAUDE") == "" {
		t.Skip("LEGWORK_CLAUDE does not name a Claude Code program")
	}
}

func TestLiveToolJobLlamaServer(t *testing.T) {
	needClient(t)
	model := llmtest.WriteGGUF(t, t.TempDir(), llmtest.GGUF{Name: "job", Script: toolJobScript})
	template := filepath.Join(t.TempDir(), "template.jinja")
	if err := os.WriteFile(template, []byte(afterThree(llmtest.GGUFTemplate)), 0o600); err != nil {
		t.Fatal(err)
	}
	server := llmtest.StartLlamaServer(t, model, "-c", strconv.Itoa(jobWindow), "-np", "1", "--temp", "0", "--chat-template-file", template)
	later := false // whether the server has seen a job already
	for _, route := range []Route{RouteNative, RouteChat} {
		t.Run(string(route), func(t *testing.T) {
			var prompts []prompt
			for _, r := range toolJob(t, Target{BaseURL: server.URL, Kind: LlamaCPP, Route: route, Window: jobWindow, CountTokens: true}) {
				prompts = append(prompts, prompt{r.Usage.Total(), r.Usage.Cached})
			}
			checkReuse(t, prompts, later)
			later = true
		})
	}
}

// slotLine is what Ollama's runner logs of each prompt when OLLAMA_DEBUG is set: how long it is and how much of it was
// in the cache. Its API tells neither of the two apart.
var slotLine = regexp.MustCompile(`msg="loading cache slot".* prompt=(\d+) used=(\d+) remaining=\d+`)

func cachedPrompts(log string) []prompt {
	var out []prompt
	for _, m := range slotLine.FindAllStringSubmatch(log, -1) {
		all, _ := strconv.Atoi(m[1])
		used, _ := strconv.Atoi(m[2])
		out = append(out, prompt{all, used})
	}
	return out
}

// The shim makes a variant of the model with the window it needs. Where there is no Ollama, `go install` makes one of
// github.com/ollama/ollama@v0.17.4; its module leaves out the headers of nlohmann-json, stb and miniaudio (a stub will
// do for the last). With CGO_CFLAGS and CGO_CXXFLAGS "-O3 -march=native" this test takes 14 s on one core; the plain
// build has no vector instructions, and it takes 54.
func TestLiveToolJobOllama(t *testing.T) {
	needClient(t)
	t.Setenv("OLLAMA_DEBUG", "1")
	model := llmtest.WriteGGUF(t, t.TempDir(), llmtest.GGUF{Name: "plain", Script: toolJobScript, Context: 1 << 16})
	server := llmtest.StartOllama(t, model)
	o := ollama{newUpstream(Target{BaseURL: server.URL, Kind: Ollama}, Options{})}
	create := fmt.Sprintf(`{"model":"job","from":"plain","template":%s,"parameters":{"temperature":0},"stream":false}`, quote(afterThreeOllama(llmtest.OllamaTemplate)))
	if _, err := o.ask(t.Context(), http.MethodPost, "/api/create", create); err != nil {
		t.Fatal(err)
	}
	o.up.client.CloseIdleConnections()
	later := false // whether the server has seen a job already
	for _, route := range []Route{RouteNative, RouteChat} {
		t.Run(string(route), func(t *testing.T) {
			target, err := EnsureWindow(t.Context(), Target{BaseURL: server.URL, Kind: Ollama, Route: route, Model: "job"}, jobWindow, Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("model %s, window %d", target.Model, target.Window)
			if target.Window != jobWindow {
				t.Errorf("window %d", target.Window)
			}
			before := len(cachedPrompts(server.Log()))
			recs := toolJob(t, target)
			prompts := cachedPrompts(server.Log())[before:]
			checkReuse(t, prompts, later)
			later = true
			if len(prompts) != len(recs) {
				t.Fatalf("%d requests, but the server read %d prompts", len(recs), len(prompts))
			}
			for k, r := range recs {
				if r.Usage.Total() != prompts[k].all || !r.Usage.CacheUnknown {
					t.Errorf("turn %d: the server read %d tokens, the record says %+v", k+1, prompts[k].all, r.Usage)
				}
			}
		})
	}
}
