package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/pkg/ledger"
	"legwork/test/e2e/backend"
	"legwork/test/e2e/claude"
)

func runLog(c *claude.Client) *ledger.Ledger {
	return ledger.New(filepath.Join(c.Home, ".state/legwork"))
}

// /local-stats shows the statistic without a question to anybody, with the words typed behind it.
func TestLocalStats(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	install(t, c, plugin(t))
	if err := runLog(c).Append(t.Context(), ledger.Run{
		Tool: "offload", Model: "some-model", OK: true, Outcome: ledger.Done, BaseTok: 7000, ClaudeTokIn: 100, InTok: 12_345, Session: "s",
	}); err != nil {
		t.Fatal(err)
	}
	b := backend.New(t, backend.Turn{Text: "Here it is."})
	ev := c.Print(b.URL, "/legwork:local-stats --since 7d")
	main := b.Main()
	if !ev.OK() || len(main) == 0 {
		t.Fatalf("%+v", ev.Run)
	}
	text := main[0].Text()
	for _, want := range []string{"Net saving, an estimate", "some-model", "legwork stats --since 7d", "Show it as it is"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not reach the model:\n%.3000s", want, text)
		}
	}
	if strings.Contains(text, "- legwork:local-stats") {
		t.Error("the command stands in every session's list, though only users call it")
	}
}

// K15: a session's calls, folded outputs and fetches are counted as the client shows them to the model: sizes as they
// were, fetches of kept texts by Read, Grep and Bash charged, look-ups and refusals too, the session's start once.
func TestSessionIsCounted(t *testing.T) {
	t.Parallel()
	c := claude.New(t)
	install(t, c, plugin(t))
	write(t, filepath.Join(c.Dir, "app.log"), strings.Repeat("one line of the log\n", 400))
	run := tapRun(t, c.Dir, "run.sh", 380, false)
	b := backend.New(t, backend.Turn{Tools: []backend.Tool{bash(run)}})
	tools := "--tools=Bash,Read,Grep"
	ev := c.Print(b.URL, "run it", "--allowedTools=Bash", tools)
	results := b.Results()
	if !ev.OK() || len(results) != 1 {
		t.Fatalf("%+v\n%+v", ev.Run, results)
	}
	_, path, _ := strings.Cut(results[0].Text, "All of it, unchanged: ")
	path, _, _ = strings.Cut(path, " (")
	read := func(path string) backend.Tool {
		return backend.Tool{Name: "Read", Input: map[string]any{"file_path": path, "offset": 3, "limit": 20}}
	}
	log := filepath.Join(c.Dir, "app.log")
	b = backend.New(t,
		backend.Turn{Tools: []backend.Tool{read(path)}},
		backend.Turn{Tools: []backend.Tool{{Name: "Grep", Input: map[string]any{"pattern": "case 000", "path": path, "output_mode": "content"}}}},
		backend.Turn{Tools: []backend.Tool{bash("tail -3 " + path)}},
		backend.Turn{Tools: []backend.Tool{call("offload_files", map[string]any{"files": []string{"app.log"}, "question": "what is in it?"})}},
		backend.Turn{Tools: []backend.Tool{call("offload_files", map[string]any{"files": []string{"gone.log"}, "question": "what is in it?"})}},
		backend.Turn{Tools: []backend.Tool{call("list_models", map[string]any{})}},
		backend.Turn{Tools: []backend.Tool{read(log)}},
		backend.Turn{Text: "done"})
	session := ev.Init().Get("session_id").Str
	if ev := c.Print(b.URL, "look", "--resume="+session, allow("offload_files", "list_models"), tools); !ev.OK() {
		t.Fatalf("%+v", ev.Run)
	}
	got := map[string]int{}
	if _, err := runLog(c).Read(time.Time{}, func(r *ledger.Run) bool {
		if r.Session != session {
			t.Errorf("of another session: %+v", r)
		}
		got[fmt.Sprintf("%s %s %s", r.Tool, r.Outcome, r.Rule)]++
		if r.ClaudeTokIn == 0 && r.Tool != ledger.ToolSession {
			t.Errorf("Claude got nothing: %+v", r)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"session asked ": 2, "shrink done tap-stream": 1, "reread done tap-stream": 3, "offload done extractive": 1, "offload refused ": 1,
		"list_models asked ": 1, "reread done offload: extractive": 1,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v\nwant    %v", got, want)
	}
	rep, err := runLog(c).Stats(ledger.Query{Weights: ledger.DefaultWeights()})
	if err != nil || rep.Sessions != 1 || rep.Parts.Rereads >= 0 || rep.Total.Net != rep.Parts.Net() {
		t.Errorf("%v: %+v", err, rep)
	}
}
