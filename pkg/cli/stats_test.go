package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"legwork/pkg/config"
	"legwork/pkg/ledger"
	"legwork/pkg/llm/llmtest"
)

// runs are the lines of a user's run log.
func (u *user) runs() []ledger.Run {
	u.t.Helper()
	var all []ledger.Run
	if _, err := ledger.New(u.dir+"/state").Read(time.Time{}, func(r *ledger.Run) bool { all = append(all, *r); return true }); err != nil {
		u.t.Fatal(err)
	}
	return all
}

func (u *user) note(runs ...ledger.Run) {
	u.t.Helper()
	for _, r := range runs {
		if err := ledger.New(u.dir+"/state").Append(u.t.Context(), r); err != nil {
			u.t.Fatal(err)
		}
	}
}

func TestStatsOfNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	u.want(0, "Nothing has been run yet", "stats")
	u.want(0, "Nothing was run since", "stats", "--since", "7d")
	if _, err := os.Stat(u.dir + "/state"); err == nil {
		t.Error("looking at statistics made a state directory")
	}
	u.write("state/runs.jsonl", "")
	u.want(0, "Nothing has been run yet", "stats")
	u.write("state/runs.jsonl", "damage\nmore\n")
	u.want(0, "2 damaged lines of the run log were skipped", "stats")
	var rep struct {
		Total struct{ Net float64 }
		Tools []any
	}
	if err := json.Unmarshal([]byte(u.want(0, "", "stats", "--json")), &rep); err != nil || rep.Total.Net != 0 {
		t.Errorf("%v %+v", err, rep)
	}
	u.write("config/config.yaml", "store: {ledger: false}\n")
	u.want(0, "switched off", "stats")
}

// some is a run log with names that are long, wide and hostile.
func some() []ledger.Run {
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var all []ledger.Run
	for i := range 60 {
		r := ledger.Run{
			TS: day.Add(time.Duration(i) * 11 * time.Hour), Tool: "offload", Model: "a-model-with-a-name-of-more-than-twenty-signs:30b-a3b-q4_K_M", OK: i%7 != 0, Outcome: ledger.Done,
			InTok: 123_456_789, OutTok: 900, ClaudeTokIn: 150, ClaudeTokOut: 60, BaseTok: 7400, BaseOut: 20, MS: 3_600_000, Session: fmt.Sprint("s", i/9), Rule: "parser go-test", Raw: "x",
			Project: []string{"/home/me/some/very/long/path/to/a/project/of/somebody", "/プロジェクト/データベース/設定/一覧表示", "/evil/\x1b[2J\u202e\nname", ""}[i%4],
		}
		if i%7 == 0 {
			r.Outcome = ledger.Outcomes()[1+i/7%6]
		}
		all = append(all, r)
	}
	return append(all, ledger.Run{TS: day, Tool: ledger.ToolReread, OK: true, Outcome: ledger.Done, ClaudeTokIn: 2000, Rule: "offload: parser go-test", Attempts: 1, Session: "s0"})
}

// The table fits the width, has no colour where it is not wanted, and no sign that moves the cursor.
func TestStatsTable(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	u.note(some()...)
	for _, width := range []int{48, 60, 80, 120} {
		u.env = append(u.env, fmt.Sprint("COLUMNS=", width))
		out := u.want(0, "Net saving, an estimate", "stats")
		for line := range strings.SplitSeq(out, "\n") {
			if n := columns(line); n > width {
				t.Errorf("%d of %d columns: %s", n, width, line)
			}
		}
		for _, want := range []string{"By tool", "By model", "By project", "By day", "earlier days", "How it adds up", "fetched again", "offload: parser go-test", "…"} {
			if !strings.Contains(out, want) {
				t.Errorf("%d columns: no %q:\n%s", width, want, out)
			}
		}
		if strings.ContainsAny(out, "\x1b\u202e") || !utf8.ValidString(out) {
			t.Errorf("%q", out)
		}
	}
	if bare := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(statsText(u.report(), screen{width: 80, color: true}), ""); bare != statsText(u.report(), screen{width: 80}) {
		t.Error("colours change more than colours")
	}
}

func (u *user) report() *statsReport {
	u.t.Helper()
	rep, err := newApp(u.env, nil, nil, nil).stats(statsOptions{}, time.Now().UTC())
	if err != nil {
		u.t.Fatal(err)
	}
	return rep
}

// Weights come from the settings and from flags, are shown, and count; what is wrong is refused.
func TestStatsWeights(t *testing.T) {
	t.Parallel()
	u := newUser(t, "stats: {cache_read: 0, cache_write: 1, output: 2, prefix_tokens: 100, turns: 10}\n")
	u.note(ledger.Run{Tool: "offload", OK: true, Outcome: ledger.Done, BaseTok: 1000, ClaudeTokIn: 100, ClaudeTokOut: 30, BaseOut: 10, Session: "s"})
	for _, tt := range []struct {
		flags []string
		want  float64
	}{
		{nil, 900 - 2*20 - 100},
		{[]string{"--weight", "output=0"}, 900 - 100},
		{[]string{"--weight", "stats.prefix_tokens=0", "--weight=cache_write=2"}, 1800 - 40},
		{[]string{"--weight", "cache_read=1", "--weight=later_turns=3"}, 4*900 - 40 - 100*11},
	} {
		var rep statsReport
		if err := json.Unmarshal([]byte(u.want(0, "", append([]string{"stats", "--json"}, tt.flags...)...)), &rep); err != nil || rep.Total.Net != tt.want || rep.Parts.Net() != tt.want {
			t.Errorf("%q: %v, want %v (%v)", tt.flags, rep.Total.Net, tt.want, err)
		}
		if rep.Estimate == "" || len(rep.Assumptions) < 5 {
			t.Errorf("%+v", rep)
		}
	}
	for _, bad := range []string{"output", "speed=1", "output=much", "output=-1", "output=NaN", "turns=1e300"} {
		u.want(exitUsage, "--weight", "stats", "--weight", bad)
	}
	// What is not in auto_use has to be searched for, once a session.
	u.write("config/config.yaml", "auto_use: [research]\nstats: {search_cost: 500, prefix_tokens: 1}\n")
	u.want(0, "searches for tools                                  -500", "stats")
}

func TestStatsSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 9, 0, 0, 0, time.FixedZone("east", 3600))
	for s, want := range map[string]time.Time{
		"": {}, "all": {}, "7d": now.AddDate(0, 0, -7), "24h": now.Add(-24 * time.Hour), "1w": now.AddDate(0, 0, -7), "90m": now.Add(-90 * time.Minute), "1d12h": now.Add(-36 * time.Hour),
		"2026-03-01": time.Date(2026, 3, 1, 0, 0, 0, 0, now.Location()), "2026-03-01T12:30": time.Date(2026, 3, 1, 12, 30, 0, 0, now.Location()),
		" 2026-03-01 12:30 ": time.Date(2026, 3, 1, 12, 30, 0, 0, now.Location()), "2026-03-01T12:30:00Z": time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC),
	} {
		if got, err := sinceTime(s, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"7", "yesterday", "-7d", "2026-02-30", "7 days", "1e300d"} {
		if got, err := sinceTime(s, now); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
	newUser(t, "").want(exitUsage, "--since", "stats", "--since", "soon")
}

// The page is written whole to a file, and never over what is no file.
func TestStatsPage(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	u.note(some()...)
	path := u.dir + "/out.html"
	u.want(0, path, "stats", "--html", path)
	first, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(first), "<!doctype html>") || !strings.Contains(string(first), "</html>") {
		t.Fatalf("%v: %.100s", err, first)
	}
	u.want(0, path, "stats", "--html", path) // again
	u.write("target.txt", "precious")
	if err := os.Symlink(u.dir+"/target.txt", u.dir+"/link.html"); err == nil {
		u.want(exitUsage, "is no file", "stats", "--html", u.dir+"/link.html")
	}
	u.want(exitUsage, "is no file", "stats", "--html", u.dir)
	u.want(exitUsage, "--html", "stats", "--html", u.dir+"/missing/out.html")
	if b, err := os.ReadFile(u.dir + "/target.txt"); err != nil || string(b) != "precious" {
		t.Errorf("the target of a link was written: %v", err)
	}
	if left, _ := filepath.Glob(u.dir + "/.*tmp*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// What a person runs is no saving of Claude's; what Claude runs through Bash is, with what it read of it.
func TestShellCallsAreCounted(t *testing.T) {
	posix(t)
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	u := newUser(t, endpoint("gpu", s.URL))
	ask := []string{"offload", "--command", "for i in $(seq 2000); do echo line $i of some output; done", "what is in line 7?"}
	t.Chdir(u.dir)
	u.want(0, "", ask...)
	u.want(0, "", "complete", "hello")
	u.want(exitUsage, "", "offload", "--file", "missing.txt", "what?")
	u.want(0, "", "models")
	u.env = append(u.env, "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=the-session")
	out := u.want(0, "", ask...)
	u.want(0, "legwork: use", "hook", "session-start")
	rows := u.runs()
	if len(rows) != 5 {
		t.Fatalf("%d lines: %+v", len(rows), rows)
	}
	for i, r := range rows[:3] {
		if r.ClaudeTokIn+r.ClaudeTokOut+r.BaseTok+r.BaseOut != 0 || r.Session != "" {
			t.Errorf("run %d of a person counts for Claude: %+v", i, r)
		}
	}
	if r := rows[1]; r.Tool != "local_complete" || r.Model == "" || r.InTok == 0 || r.Endpoint != "gpu" || !r.OK {
		t.Errorf("complete: %+v", r)
	}
	if r := rows[2]; r.Tool != "offload" || r.OK || r.Outcome != ledger.Refused {
		t.Errorf("bad input: %+v", r)
	}
	if r := rows[3]; r.Session != "the-session" || r.ClaudeTokIn != int64(len(out)/4) || r.ClaudeTokOut == 0 || r.BaseTok != 550 || r.BaseOut == 0 || r.InTok == 0 || r.Raw == "" {
		t.Errorf("Claude's: %+v (%d bytes)", r, len(out))
	}
	if r := rows[4]; r.Tool != ledger.ToolSession || r.Session != "the-session" {
		t.Errorf("the session's start: %+v", r)
	}
}

// Every call of a tool is counted with the arguments and the reply as they were, errors and look-ups too; what is
// fetched afterwards is charged.
func TestCallsAreCounted(t *testing.T) {
	posix(t)
	s := llmtest.NewLlamaServer(t, llmtest.Config{})
	u := newUser(t, endpoint("gpu", s.URL))
	u.write("big.log", strings.Repeat("a line of the log\n", 900))
	transcript := u.dir + "/projects/here/5f0c.jsonl"
	u.write("projects/here/5f0c.jsonl", "{}\n")
	c := newSession(t, u)
	c.call("hook_permission", args{"command": "true", "transcript": transcript, "tool_use": "t0"}, "")
	reply, failed := c.call("offload_files", args{"files": []string{"big.log"}, "question": "what is in it?"}, "t1")
	if failed {
		t.Fatal(reply)
	}
	c.call("list_models", args{}, "t2")
	c.call("offload", args{"question": "x", "files": []string{"nowhere.log"}}, "t3")
	c.call("offload", args{"quest": "x"}, "t4")
	use := fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"r1","name":"Read","input":{"file_path":%q}}]}}`, u.dir+"/big.log")
	other := `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"r2","name":"Read","input":{"file_path":"/other"}}]}}`
	result := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"r1","content":"` + strings.Repeat("a line ", 200) + `"},{"type":"tool_result","tool_use_id":"r2","content":"other"}]}}`
	u.write("projects/here/5f0c.jsonl", "{}\n"+use+"\n"+other+"\n"+result+"\n")
	c.call("list_jobs", args{}, "t5")
	c.call("hook_shrink", args{"command": "tail -3 " + u.dir + "/big.log", "stdout": "three\nlines\nhere\n", "transcript": transcript, "dir": u.dir}, "")
	rows := u.runs()
	want := []struct{ tool, outcome string }{
		{"offload", ledger.Done},
		{"list_models", ledger.Asked},
		{"offload", ledger.Refused},
		{"offload", ledger.Refused},
		{ledger.ToolReread, ledger.Done},
		{"list_jobs", ledger.Asked},
		{ledger.ToolReread, ledger.Done},
	}
	if len(rows) != len(want) {
		t.Fatalf("%d lines: %+v", len(rows), rows)
	}
	for i, r := range rows {
		if r.Tool != want[i].tool || r.Outcome != want[i].outcome || r.Session != "5f0c" || r.ClaudeTokIn == 0 || (r.ClaudeTokOut == 0) != (r.Tool == ledger.ToolReread) {
			t.Errorf("line %d: %+v, want %v", i, r, want[i])
		}
	}
	if r := rows[0]; r.BaseTok != ledger.BaseRead(16_200, 900) || r.InTok == 0 || r.Model == "" || r.RawBytes != 16_200 {
		t.Errorf("offload_files: %+v", r)
	}
	if a, b := rows[4], rows[6]; !strings.HasPrefix(a.Rule, "offload: ") || a.Rule != b.Rule || a.Attempts != 1 || b.Attempts != 2 {
		t.Errorf("fetched: %+v, then %+v", a, b)
	}
}

// The share of our commands and skills in the prefix is that of the files.
func TestListedBytes(t *testing.T) {
	t.Parallel()
	n := 0
	head := regexp.MustCompile(`(?m)^description: (.*)$`)
	for _, pattern := range []string{"commands/*.md", "skills/*/SKILL.md"} {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(err, files)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "disable-model-invocation: true") {
				continue // stands in no list
			}
			name := strings.TrimSuffix(filepath.Base(f), ".md")
			if name == "SKILL" {
				name = filepath.Base(filepath.Dir(f))
			}
			n += len("- legwork:" + name + ": " + head.FindStringSubmatch(string(text))[1] + "\n")
		}
	}
	if n < listedBytes-40 || n > listedBytes+40 {
		t.Errorf("commands and skills are listed in %d bytes, listedBytes is %d", n, listedBytes)
	}
	prefix, err := ourPrefix(builtinAutoUse())
	if err != nil || prefix < 500 || prefix > 1500 {
		t.Errorf("%d tokens of ours in every request: %v", prefix, err)
	}
	less, err := ourPrefix(nil)
	if err != nil || less >= prefix/2 {
		t.Errorf("%d tokens with all tools deferred: %v", less, err)
	}
	if w := weightsOf(config.Stats{PrefixTokens: 7}, prefix); w.PrefixTok != 7 {
		t.Errorf("%+v", w)
	}
}
