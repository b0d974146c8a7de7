package shim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// liveJob is one small edit. The file must be byte for byte as wanted afterwards.
type liveJob struct{ file, before, task, after string }

var liveJobs = []liveJob{
	{"server.ini", "[server]\nhost = localhost\nport = 8080\n", "In server.ini change the port from 8080 to 9090.", "[server]\nhost = localhost\nport = 9090\n"},
	{"greet.py", "def hello(name):\n    return \"Hello, \" + name\n", "In greet.py rename the function hello to greet.", "def greet(name):\n    return \"Hello, \" + name\n"},
	{"list.txt", "alpha\nbeta\ndelta\n", "In list.txt replace the line beta by gamma.", "alpha\ngamma\ndelta\n"},
	{"main.go", "package main\n\nfunc main() {\n\tprintln(\"helo\")\n}\n", "In main.go fix the spelling mistake: helo must be hello.", "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n"},
	{"version.json", "{\n  \"name\": \"demo\",\n  \"version\": \"1.2.3\"\n}\n", "In version.json set the version to 1.3.0.", "{\n  \"name\": \"demo\",\n  \"version\": \"1.3.0\"\n}\n"},
	{"README.md", "# Old title\n\nSome text.\n", "In README.md change the title from Old title to New title.", "# New title\n\nSome text.\n"},
	{"Makefile", "CC = gcc\n\nall:\n\t$(CC) -o demo demo.c\n", "In Makefile use clang instead of gcc.", "CC = clang\n\nall:\n\t$(CC) -o demo demo.c\n"},
	{"style.css", "h1 {\n  color: red;\n}\n", "In style.css make the color blue instead of red.", "h1 {\n  color: blue;\n}\n"},
	{"app.js", "var limit = 10;\nconsole.log(limit);\n", "In app.js replace var by const.", "const limit = 10;\nconsole.log(limit);\n"},
	{"todo.md", "- [ ] write tests\n- [ ] ship\n", "In todo.md tick off the item write tests: it must read - [x] write tests.", "- [x] write tests\n- [ ] ship\n"},
}

// liveResult is one line of the raw log.
type liveResult struct {
	Job        string   `json:"job"`
	Right      bool     `json:"file_right"`
	Changed    bool     `json:"file_changed"`
	ClientSays string   `json:"client_says"` // terminal_reason, is_error
	Intended   int      `json:"calls_intended"`
	Executed   int      `json:"calls_executed"`
	Converted  int      `json:"converted"`
	Forced     int      `json:"forced"`
	Unexecuted []string `json:"unexecuted,omitempty"`
	Requests   int      `json:"requests"`
	FirstMS    float64  `json:"first_answer_ms"`
	FirstReuse float64  `json:"first_prompt_reused"` // share of the first prompt that came from the cache
	LaterReuse float64  `json:"later_prompts_reused"`
	Seconds    float64  `json:"seconds"`
	Answer     string   `json:"answer"`
}

// liveTarget finds out what serves at base.
func liveTarget(t *testing.T, base string) Target {
	t.Helper()
	target := Target{Name: "live", BaseURL: base, Route: RouteNative, CountTokens: true, Kind: VLLM}
	u := newUpstream(target, Options{})
	if status, body, err := u.small(t.Context(), http.MethodGet, "/props", ""); err == nil && status == http.StatusOK {
		target.Kind, target.Window = LlamaCPP, int(gjson.Get(body, "default_generation_settings.n_ctx").Int())
	} else if status, body, err := u.small(t.Context(), http.MethodGet, "/v1/models", ""); err == nil && status == http.StatusOK {
		target.Model, target.Window = gjson.Get(body, "data.0.id").Str, int(gjson.Get(body, "data.0.max_model_len").Int())
	}
	u.client.CloseIdleConnections()
	return target
}

// TestLiveEdits runs ten one-file jobs of the real client on a real server: LEGWORK_LIVE_SERVER is its base URL,
// LEGWORK_CLAUDE the client, LEGWORK_LIVE_LOG where the raw results are appended.
func TestLiveEdits(t *testing.T) {
	base := os.Getenv("LEGWORK_LIVE_SERVER")
	if base == "" || os.Getenv("LEGWORK_CLAUDE") == "" {
		t.Skip("LEGWORK_LIVE_SERVER names no model server, or LEGWORK_CLAUDE no client")
	}
	target := liveTarget(t, base)
	executed, intended, right := 0, 0, 0
	for _, job := range liveJobs {
		r := runLive(t, target, job)
		executed, intended = executed+r.Executed, intended+r.Intended
		if r.Right {
			right++
		}
		line, _ := json.Marshal(r)
		t.Logf("%s", line)
		if path := os.Getenv("LEGWORK_LIVE_LOG"); path != "" {
			f, err := appendTo(filepath.Dir(path), filepath.Base(path))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = fmt.Fprintf(f, "%s\n", line)
			_ = f.Close()
		}
	}
	t.Logf("calls executed %d of %d intended, files right %d of %d", executed, intended, right, len(liveJobs))
	if intended > 0 && executed*100 < intended*95 {
		t.Errorf("only %d of %d intended calls were executed", executed, intended)
	}
}

func runLive(t *testing.T, target Target, job liveJob) liveResult {
	t.Helper()
	dir, rec := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, job.file)
	if err := os.WriteFile(path, []byte(job.before), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := New(target, Options{RecordDir: rec, Full: true, FirstByte: 30 * time.Minute, Idle: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ln, err := Listen(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	t0 := time.Now()
	run := runClient(t, s.Env(ln.Addr().String()), dir, job.task, "--max-turns", "6")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	_ = s.Close()
	sum := s.Summary()
	after, _ := os.ReadFile(path)
	r := liveResult{
		Job: job.file, Right: string(after) == job.after, Changed: string(after) != job.before,
		ClientSays: gjson.Get(run.result, "terminal_reason").Str + " " + fmt.Sprint(gjson.Get(run.result, "is_error").Bool()),
		Intended:   sum.Calls + len(sum.Unexecuted), Executed: sum.Calls, Converted: sum.Converted, Forced: sum.Forced, Unexecuted: sum.Unexecuted,
		Requests: sum.Requests, Seconds: time.Since(t0).Seconds(), Answer: clip(gjson.Get(run.result, "result").Str, 300),
	}
	total, cached := 0, 0
	for i, rec := range records(t, rec) {
		if i == 0 {
			r.FirstMS = rec.FirstMS
			if n := rec.Usage.Total(); n > 0 {
				r.FirstReuse = float64(rec.Usage.Cached) / float64(n)
			}
			continue
		}
		total, cached = total+rec.Usage.Total(), cached+rec.Usage.Cached
	}
	if total > 0 {
		r.LaterReuse = float64(cached) / float64(total)
	}
	if d := os.Getenv("LEGWORK_LIVE_LOG"); d != "" {
		data, _ := os.ReadFile(filepath.Join(rec, "requests_full.jsonl"))
		_ = os.WriteFile(d+"."+strings.ReplaceAll(job.file, ".", "-")+".full", data, 0o600)
	}
	return r
}
