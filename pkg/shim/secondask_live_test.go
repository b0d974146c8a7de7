package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// secondAskTasks are wishes for which a small model likes to invent a tool, or to write its call down in a form of its own.
var secondAskTasks = []string{
	"Find all files that contain the word limit.", "List the files of this directory.", "Rename app.js to main.js.",
	"Delete the file notes.txt.", "Search notes.txt for the word milk.", "Replace every var in app.js by const.",
	"Add a comment line at the top of app.js.", "Append the line eggs to notes.txt.", "Create a file hello.txt that says hello.",
	"Count the lines of notes.txt.", "Sort the lines of notes.txt.", "Run the tests.", "Show the first line of app.js.",
	"Copy notes.txt to backup.txt.", "Fix the typo recieve in notes.txt.", "Insert a blank line after the first line of notes.txt.", //nolint:misspell // to be put right
	"Change the limit in app.js to 20 and write down in notes.txt that you did.", "Make the directory src and move app.js into it.",
	"Read notes.txt and app.js and tell me which is longer.", "Undo the last change to app.js.",
	"Format app.js.", "Check the syntax of app.js.", "Show what git says about this directory.", "Open notes.txt in an editor.",
	"Write a test for app.js.", "Find out which version of node is installed.", "Translate notes.txt into French.",
	"Look up in the documentation what console.log does.", "Download the page example.test/a.txt into a.txt.", "Commit your changes.",
}

// secondAskResult is one line of the raw log.
type secondAskResult struct {
	Tools      string   `json:"tools"`
	Task       string   `json:"task"`
	Asks       int      `json:"asks"`
	Calls      int      `json:"calls"`
	Converted  int      `json:"converted"`
	Forced     int      `json:"forced"`
	Unexecuted []string `json:"unexecuted,omitempty"`
	Changed    []string `json:"changed,omitempty"`
	Output     int      `json:"output_tokens"`
	Got        string   `json:"client_got"`
}

// secondAskTools are the sets of tools offered. With a part of the usual ones a model calls what it knows from elsewhere.
var secondAskTools = []string{"Bash", "Read,Write", "Bash,Edit,Read,Write"}

// TestLiveSecondAsk asks a small model on a real server each wish once, through the real client, and counts what the
// forced second ask brings where the first answer was clearly a call that could not run. Only the first answer of each
// job is looked at: LEGWORK_LIVE_SERVER, LEGWORK_CLAUDE and LEGWORK_LIVE_LOG as for TestLiveEdits. What the log has
// already is not asked again.
func TestLiveSecondAsk(t *testing.T) {
	base := os.Getenv("LEGWORK_LIVE_SERVER")
	if base == "" || os.Getenv("LEGWORK_CLAUDE") == "" {
		t.Skip("LEGWORK_LIVE_SERVER names no model server, or LEGWORK_CLAUDE no client")
	}
	target := liveTarget(t, base)
	have, _ := os.ReadFile(os.Getenv("LEGWORK_LIVE_LOG"))
	seconds, brought := 0, 0
	for _, tools := range secondAskTools {
		for _, task := range secondAskTasks {
			if strings.Contains(string(have), `{"tools":`+quote(tools)+`,"task":`+quote(task)+`,`) {
				continue
			}
			r, got := firstAnswer(t, target, tools, task)
			line, err := marshal(secondAskResult{tools, task, r.Asks, r.Calls, r.Converted, r.Forced, r.Unexecuted, r.Changed, r.Usage.Output, got})
			if err != nil {
				t.Fatal(err)
			}
			t.Log(strings.TrimSpace(line))
			appendLive(t, line)
			if r.Asks > 1 {
				seconds++
				brought += min(1, r.Forced)
			}
		}
	}
	t.Logf("second asks %d, a valid call from %d", seconds, brought)
}

func appendLive(t *testing.T, line string) {
	t.Helper()
	path := os.Getenv("LEGWORK_LIVE_LOG")
	if path == "" {
		return
	}
	f, err := appendTo(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprint(f, line)
	_ = f.Close()
}

// firstAnswer runs a job of one turn and returns its record, and the blocks the client got.
func firstAnswer(t *testing.T, target Target, tools, task string) (Record, string) {
	t.Helper()
	dir, rec := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"app.js": "var limit = 10;\nconsole.log(limit);\n", "notes.txt": "milk\nbread\nto recieve\n"} { //nolint:misspell // to be put right
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, addr := serveShim(t, target, Options{RecordDir: rec, Full: true, FirstByte: 30 * time.Minute, Idle: 10 * time.Minute})
	// A short answer is enough for a call, and keeps a model that babbles from holding the test up.
	env := append(s.Env(addr), "CLAUDE_CODE_MAX_OUTPUT_TOKENS=400")
	runClient(t, env, dir, task, "--tools", tools, "--max-turns", "1")
	recs := records(t, rec)
	full, err := os.ReadFile(filepath.Join(rec, "requests_full.jsonl"))
	if err != nil || len(recs) == 0 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	first, _, _ := strings.Cut(string(full), "\n")
	c := &collector{}
	if err := readStream(strings.NewReader(gjson.Get(first, "answer").String()), func(typ, data string) *failure { _ = c.emit(typ, data); return nil }); err != nil {
		t.Error(err)
	}
	return recs[0], clip(strings.ReplaceAll(blocks(c.message()), dir, "DIR"), 600)
}
