package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"legwork/pkg/llm/llmtest"
	"legwork/test/e2e/backend"
)

// agentScript makes a tiny model call Bash after every newline, and say that all is done after "@". One byte of a
// prompt is one token.
var agentScript = []string{
	"\n", "<tool_call>", "\n\n", `{"`, "name", `":"`, "Bash", `","`, "arguments", `":{"`, "command", `": "`, "echo one >> log.txt",
	`", "`, "description", `" : "`, "append", `"}}`, "</tool_call>", "<|im_end|>", "@", "All", " done", "<|endoftext|>",
}

// A whole job on a real llama-server: three calls of a tool, the gate, the checkout.
func TestLiveAgent(t *testing.T) {
	model := llmtest.WriteGGUF(t, t.TempDir(), llmtest.GGUF{Name: "job", Script: agentScript})
	template := filepath.Join(t.TempDir(), "template.jinja")
	head, ok := strings.CutSuffix(llmtest.GGUFTemplate, "<|im_start|>assistant\n{% endif -%}\n")
	if !ok {
		t.Fatal("the template ends otherwise")
	}
	write(t, template, head+"<|im_start|>assistant{{ '@' if (messages | selectattr('role', 'equalto', 'tool') | list | length) >= 3 else '\\n' }}{% endif -%}\n")
	server := llmtest.StartLlamaServer(t, model, "-c", "40000", "-np", "1", "--temp", "0", "--chat-template-file", template, "--metrics")
	u := newAgentUser(t, backend.New(t), map[string]string{"log.txt": "zero\n"}, "")
	writeConfig(t, u.Client, fmt.Sprintf("endpoints:\n  real: {base_url: %s, backend: llama.cpp}\nagent: {claude: %q}\n", server.URL, u.Bin))
	out := u.must(0, "agent", "--verify", "test $(wc -l < log.txt) = 4", "append to the log three times")
	t.Log(out)
	if !strings.Contains(out, "verify passed · applied to your checkout") || u.file("log.txt") != "zero\none\none\none\n" {
		t.Errorf("log.txt: %q", u.file("log.txt"))
	}
	id := strings.Fields(out[strings.Index(out, "\njob ")+1:])[1]
	if job := u.job(id); job.Facts.Usage.Usage.Cached == 0 {
		t.Errorf("nothing came from the server's cache: %+v", job.Facts.Usage)
	}
}
