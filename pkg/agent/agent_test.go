package agent

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/pkg/claudecode"
	"legwork/pkg/config"
	"legwork/pkg/jobs"
	"legwork/pkg/proc"
	"legwork/pkg/repo"
	"legwork/pkg/shim"
)

func deps(t *testing.T) Deps {
	t.Helper()
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LEGWORK_CONFIG_HOME=" + filepath.Join(home, "config")}
	cfg, err := config.Load(config.Options{Dir: home, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(home, "state")
	return Deps{Config: cfg, Jobs: jobs.New(state), StateDir: state, Env: env, Children: &proc.Group{}, Logger: slog.New(slog.DiscardHandler)}
}

// A15, A16, A36 and the other endings: what the client calls a success may be none.
func TestJudge(t *testing.T) {
	t.Parallel()
	ok := claudecode.Result{Subtype: "success", Terminal: "completed", Text: "fine"}
	with := func(change func(*claudecode.Result)) claudecode.Result {
		r := ok
		change(&r)
		return r
	}
	for name, tc := range map[string]struct {
		result claudecode.Result
		sum    shim.Summary
		last   lastThing
		state  jobs.State
		ending string
	}{
		"done":          {ok, shim.Summary{Last: shim.Answered}, worked, jobs.Succeeded, Done},
		"max turns":     {with(func(r *claudecode.Result) { r.Subtype, r.Terminal = "error_max_turns", "max_turns" }), shim.Summary{}, worked, jobs.Failed, MaxTurns},
		"overflow":      {with(func(r *claudecode.Result) { r.IsError, r.Terminal = true, "prompt_too_long" }), shim.Summary{}, worked, jobs.Failed, Overflow},
		"blocked":       {with(func(r *claudecode.Result) { r.IsError, r.Terminal = true, "blocking_limit" }), shim.Summary{}, worked, jobs.Failed, Overflow},
		"api error":     {with(func(r *claudecode.Result) { r.IsError, r.Terminal = true, "api_error" }), shim.Summary{Last: shim.Refused}, worked, jobs.Failed, APIError},
		"cut":           {with(func(r *claudecode.Result) { r.IsError = true }), shim.Summary{Last: shim.Cut}, worked, jobs.Interrupted, Cut},
		"cut, no error": {ok, shim.Summary{Last: shim.Cut}, worked, jobs.Interrupted, Cut},
		"stalled":       {with(func(r *claudecode.Result) { r.IsError = true }), shim.Summary{Last: shim.Stalled}, worked, jobs.Stalled, Stalled},
		"call as text":  {ok, shim.Summary{LastUnexecuted: true}, worked, jobs.Failed, CallAsText},
		"empty":         {with(func(r *claudecode.Result) { r.Text = " \n" }), shim.Summary{}, worked, jobs.Failed, EmptyAnswer},
		"empty twice":   {ok, shim.Summary{Last: shim.EmptyAnswer}, worked, jobs.Failed, EmptyAnswer},
		"refused":       {ok, shim.Summary{}, refused, jobs.Failed, Denied},
	} {
		if v := judge(tc.result, tc.sum, tc.last); v.state != tc.state || v.ending != tc.ending || v.why == "" {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// B02: a client that ends without a word is never a success.
func TestSilentEnd(t *testing.T) {
	t.Parallel()
	if v := silentEnd(proc.Exit{Code: 0}, "no login\n"); v.state != jobs.Failed || v.ending != NoResult || !strings.Contains(v.why, "no login") {
		t.Errorf("%+v", v)
	}
	if v := silentEnd(proc.Exit{Code: 137, Signal: "SIGKILL"}, ""); v.state != jobs.Interrupted || v.ending != Killed {
		t.Errorf("%+v", v)
	}
}

func TestStopped(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		cause error
		state jobs.State
	}{{jobs.ErrCancelled, jobs.Cancelled}, {errStalled, jobs.Stalled}, {context.DeadlineExceeded, jobs.Timeout}, {errors.New("SIGTERM"), jobs.Interrupted}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(tc.cause)
		if v, ok := stopped(ctx); !ok || v.state != tc.state {
			t.Errorf("%v: %+v", tc.cause, v)
		}
	}
	if v, ok := stopped(t.Context()); ok {
		t.Errorf("%+v", v)
	}
}

// A32: a window that is too small is refused, with the arithmetic.
func TestWindow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		window, most int
		tools        string
		ok           bool
	}{
		{0, 0, "lean", true},
		{11591, 0, "lean", false},
		{11592, 0, "lean", true},
		{4096, 40960, "lean", true},
		{16384, 0, "full", false},
		{32768, 0, "full", true},
	} {
		err := checkWindow("m", tc.window, tc.most, tc.tools)
		if (err == nil) != tc.ok || err != nil && !strings.Contains(err.Error(), "8192 to work in") {
			t.Errorf("%+v: %v", tc, err)
		}
	}
	if windowNote(32768) == "" || windowNote(0) == "" || windowNote(200000) != "" {
		t.Error("notes on windows")
	}
}

// B10 and bad input: refused before any server is asked.
func TestCheckRequest(t *testing.T) {
	t.Parallel()
	d := deps(t)
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		change  func(*Deps, *Request)
		says    string
		refused bool
	}{
		"fine":      {func(*Deps, *Request) {}, "", false},
		"no task":   {func(_ *Deps, r *Request) { r.Task = " " }, "task:", false},
		"isolation": {func(_ *Deps, r *Request) { r.Isolation = "vm" }, "isolation:", false},
		"no folder": {func(_ *Deps, r *Request) { r.Dir = filepath.Join(dir, "none") }, "cwd:", false},
		"outside":   {func(d *Deps, _ *Request) { d.Roots = []string{d.StateDir + "-other", filepath.Dir(d.StateDir)} }, "outside", true},
		"depth":     {func(d *Deps, _ *Request) { d.Env = append(d.Env, "_LEGWORK_DEPTH=1") }, "must not start agents", true},
		"gate": {func(d *Deps, r *Request) {
			r.Verify, d.AllowCommand = "rm -rf x", func(string) error { return errors.New("denied by a rule") }
		}, "denied by a rule", true},
	} {
		d, req := d, Request{Task: "t", Dir: dir}
		tc.change(&d, &req)
		err := checkRequest(&d, &req)
		_, isRefused := errors.AsType[*RefusedError](err)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) || isRefused != tc.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTally(t *testing.T) {
	t.Parallel()
	var said []string
	stalls := 0
	f := Facts{Calls: map[string]int{}}
	ta := &tally{dir: "/w", say: func(s string) { said = append(said, s) }, show: func(string) {}, mask: func(s string) string { return s }, stall: func() { stalls++ }, began: time.Now(), f: &f, calls: map[string]string{}}
	for _, line := range []string{
		`{"type":"system","subtype":"init","session_id":"s","claude_code_version":"2"}`,
		`{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"I edit"}]}}`,
		`{"type":"assistant","message":{"id":"1","content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/w/sub/a.go"}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`,
		`{"type":"assistant","message":{"id":"2","content":[{"type":"tool_use","id":"t2","name":"Write","input":{"file_path":"/etc/x"}}]}}`,
		`{"type":"system","subtype":"permission_denied","tool_name":"Write","message":"no"}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no"}]}}`,
		`{"type":"system","subtype":"compact_boundary"}`,
	} {
		events, ok := claudecode.ParseEvent([]byte(line))
		if !ok {
			t.Fatal(line)
		}
		ta.events(events)
	}
	want := Facts{Session: "s", Client: "2", Turns: 2, Calls: map[string]int{"Edit": 1, "Write": 1}, Touched: []string{"sub/a.go", "/etc/x"}, Denied: []string{"Write"}, Compactions: 1}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
	if ta.last != refused {
		t.Error("the last call was refused")
	}
	for _, o := range []shim.Outcome{shim.Stalled, shim.Answered, shim.Stalled, shim.Stalled} {
		ta.record(shim.Record{Outcome: o, Usage: shim.Usage{Output: 100}, FirstMS: 0, TotalMS: 1000})
	}
	if stalls != 1 || f.TokensPerSec != 100 {
		t.Errorf("%d stalls, %v tokens/s", stalls, f.TokensPerSec)
	}
	if log := strings.Join(said, "\n"); !strings.Contains(log, "> Edit sub/a.go") || !strings.Contains(log, "!! refused: Write") {
		t.Error(log)
	}
}

// A key that the session prints is in nothing that is kept, and what is kept can be read as before.
func TestKeysAreNotKept(t *testing.T) {
	t.Parallel()
	d := deps(t)
	d.Env = append(d.Env, "DEPLOY_TOKEN=blue-horse-9134-xyz")
	h, err := d.Jobs.Create(jobs.Spec{Kind: Kind, Task: "x"})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{d: d, h: h, mask: d.Config.Masker(d.Env), facts: Facts{Calls: map[string]int{}}}
	ta := &tally{dir: "/w", say: r.say, show: r.show, mask: r.mask, began: time.Now(), f: &r.facts, calls: map[string]string{}}
	on := r.onLine(ta)
	result := func(text string) string {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return `{"type":"user","session_id":"123e4567-e89b-12d3-a456-426614174000","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_01","content":` + string(b) + `}]}}`
	}
	lines := []string{
		`{"type":"system","subtype":"init","session_id":"123e4567-e89b-12d3-a456-426614174000","claude_code_version":"2.1.332"}`,
		`{"type":"assistant","message":{"id":"1","content":[{"type":"tool_use","id":"toolu_01","name":"Bash","input":{"command":"env | grep DEPLOY # blue-horse-9134-xyz"}}]}}`,
		result("DEPLOY_TOKEN=blue-horse-9134-xyz\nMYSQL_PWD=\"horse blue 12345\"\n"),
		result(strings.Repeat("x ", maxShownResult/2-5) + "blue-horse-9134-xyz"), // cut in the middle of it
		result("a\nghp_" + strings.Repeat("a1", 18)),
		`{"type":"assistant","message":{"id":"2","content":[{"type":"text","text":"It is blue-horse-9134-xyz."}]}}`,
	}
	for _, line := range lines {
		events, ok := claudecode.ParseEvent([]byte(line))
		if !ok {
			t.Fatal(line)
		}
		on([]byte(line), events)
	}
	for name, path := range map[string]string{"events": d.Jobs.EventsPath(h.ID()), "transcript": d.Jobs.TranscriptPath(h.ID())} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"blue-", "ghp_"} {
			if strings.Contains(string(b), secret) {
				t.Errorf("the %s hold %s:\n%s", name, secret, b)
			}
		}
		if !strings.Contains(string(b), "DEPLOY_TOKEN=[masked]") {
			t.Errorf("the %s lack what was said:\n%s", name, b)
		}
		if name == "transcript" {
			continue
		}
		kept := strings.Split(strings.TrimSpace(string(b)), "\n")
		if len(kept) != len(lines) || kept[0] != lines[0] {
			t.Errorf("%d events of %d:\n%s", len(kept), len(lines), b)
		}
		for _, line := range kept {
			if events, ok := claudecode.ParseEvent([]byte(line)); !ok || len(events) == 0 {
				t.Errorf("it is no event any more: %s", line)
			}
		}
	}
}

// The gate says what failed, not everything that was printed; a status that a pipe hides is seen.
func TestGate(t *testing.T) {
	t.Parallel()
	d := deps(t)
	d.Env = append(d.Env, "DEPLOY_TOKEN=blue-horse-9134-xyz")
	h, err := d.Jobs.Create(jobs.Spec{Kind: Kind, Task: "x"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tap := "TAP version 13\nok 1 - fine\nnot ok 2 - breaks\n  ---\n  message: expected 2\n  ...\n1..2\n"
	if err := os.WriteFile(filepath.Join(dir, "out.tap"), []byte(strings.Repeat("# noise\n", 500)+tap), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		command string
		passed  bool
		says    string
	}{
		{"true", true, ""},
		{"echo all is well", true, ""},
		{"echo broken; exit 3", false, "broken"},
		{"cat out.tap; exit 1", false, "breaks"},
		{"cat out.tap | cat", false, "breaks"},
		{"echo no login with blue-horse-9134-xyz; exit 1", false, "no login with [masked]"},
	} {
		r := &run{d: d, h: h, dir: dir, mask: d.Config.Masker(d.Env), facts: Facts{Gate: &Gate{Command: tc.command}}}
		feedback, err := r.runGate(t.Context())
		if err != nil || (feedback == "") != tc.passed || r.facts.Gate.Passed != tc.passed || !strings.Contains(feedback, tc.says) || strings.Count(feedback, "noise") > 3 {
			t.Errorf("%s: %v %+v\n%s", tc.command, err, r.facts.Gate, feedback)
		}
	}
}

// A rule such as "node_modules/" does not match our link, so what commits in the worktree is told of it.
func TestLinksAreNotCommitted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("making the links needs a right")
	}
	d := deps(t)
	dir := t.TempDir()
	git := func(dir string, env []string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.email=t@example.com", "-c", "user.name=T"}, args...)...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
		return string(out)
	}
	if err := errors.Join(
		os.MkdirAll(filepath.Join(dir, "node_modules", "dep"), 0o700), os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("node_modules/\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	git(dir, d.Env, "init", "-q")
	git(dir, d.Env, "add", "-A")
	git(dir, d.Env, "commit", "-qm", "start")
	h, err := d.Jobs.Create(jobs.Spec{Kind: Kind, Task: "x"})
	if err != nil {
		t.Fatal(err)
	}
	home, err := repo.Open(t.Context(), d.repo(), dir)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := home.Add(t.Context(), repo.Wish{Purpose: Kind, Links: []string{"node_modules"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tree.Remove(context.WithoutCancel(t.Context())) }()
	r := &run{d: d, h: h, tree: tree, dir: tree.Dir}
	gate, err := r.gateEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, own, err := r.clientEnv(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string][]string{"gate": gate, "client": claudecode.Env(d.Env, own)} {
		if out := git(tree.Dir, env, "add", "-A", "--dry-run"); out != "" {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// A worktree that was promised is never silently left out: in place is only for a folder without a repository, and
// never for a job that had a worktree. Nothing is said of a place before one is chosen.
func TestPlace(t *testing.T) {
	t.Parallel()
	d := deps(t)
	plain, unborn := t.TempDir(), t.TempDir()
	cmd := exec.CommandContext(t.Context(), "git", "init", "-q")
	cmd.Dir, cmd.Env = unborn, d.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	tree := &Tree{ID: "x", Dir: "/old"}
	noGit := slices.Concat(d.Env, []string{"PATH=" + t.TempDir()})
	for _, tc := range []struct {
		name, isolation, dir string
		env                  []string
		tree                 *Tree
		fails                string // "": works in place
		place                []string
	}{
		{"no repository", Auto, plain, d.Env, nil, "", []string{"worked in place"}},
		{"no repository, not said", "", plain, d.Env, nil, "", []string{"worked in place"}},
		{"no commit, in place as asked", None, unborn, d.Env, nil, "", []string{"worked in place"}},
		{"no commit", Auto, unborn, d.Env, nil, "no commit yet", nil},
		{"no git", Auto, plain, noGit, nil, "git", nil},
		{"no repository, a worktree asked for", Worktree, plain, d.Env, nil, "not inside a git repository", nil},
		{"no repository any more", Auto, plain, d.Env, tree, "not inside a git repository", []string{"what it did before is in /old"}},
		{"no repository any more, tree gone", Auto, plain, d.Env, &Tree{ID: "x", Dir: "/old", Gone: true}, "not inside", nil},
	} {
		d := d
		d.Env = tc.env
		r := &run{d: d, req: Request{Dir: tc.dir, Isolation: tc.isolation}, mask: func(s string) string { return s }, facts: Facts{Tree: tc.tree}}
		err := r.settle(t.Context())
		if tc.fails == "" && err != nil || tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails) || !strings.Contains(err.Error(), "isolation none")) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff(tc.place, r.place(verdict{jobs.Cancelled, Cancelled, ""})); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

func TestReadDrafts(t *testing.T) {
	t.Parallel()
	text := "# HELP x\nllamacpp:spec_decode_num_draft_tokens_total 100\nllamacpp:spec_decode_num_accepted_tokens_total 60\nvllm:spec_decode_num_draft_tokens_total{engine=\"0\"} 5.0\nother 1\nbad\n"
	if d := readDrafts(strings.NewReader(text)); d != (drafts{105, 60}) {
		t.Errorf("%+v", d)
	}
}

func TestReply(t *testing.T) {
	t.Parallel()
	d := deps(t)
	h, err := d.Jobs.Create(jobs.Spec{Kind: Kind, Task: "x"})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{
		d: d, h: h, began: time.Now(), req: Request{Model: "m", Endpoint: "e"}, tree: &repo.Tree{}, changes: []repo.Change{{Path: "a"}},
		facts: Facts{
			Tree: &Tree{Dir: "/t"}, Isolation: Worktree, Turns: 1, Gate: &Gate{Runs: 3, Failures: []string{"FAIL x"}}, Answer: strings.Repeat("long ", 2000),
			Files: []repo.FileStat{{Change: repo.Change{Path: "a", Kind: "new"}, Added: 3}}, Notes: []string{"n"},
		},
	}
	text := r.reply(verdict{jobs.Failed, GateFailed, "it said done"})
	for _, want := range []string{"FAILED: it said done · verify FAILED 3 times · NOT applied: in /t", "1 file +3 -0 · m on e · 1 turn", "\n  a +3 -0 new\n", "FAIL x", "characters left out", "note: n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if len(text) > 4000 {
		t.Errorf("%d bytes", len(text))
	}
}

// What the user's own settings deny holds in the session, which does not read those; settings that cannot be read
// let nothing start.
func TestRestrictions(t *testing.T) {
	t.Parallel()
	d := deps(t)
	home := filepath.Dir(d.StateDir)
	file := filepath.Join(home, ".claude", "settings.json")
	write := func(text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"permissions": {"deny": ["Bash(git push:*)"], "ask": ["Bash(git commit:*)"]}}`)
	r := run{d: d, req: Request{Dir: t.TempDir()}}
	got, err := r.restrictions()
	if d := cmp.Diff(claudecode.Restrictions{Deny: []string{"Bash(git push:*)"}, Ask: []string{"Bash(git commit:*)"}}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	write(`{"permissions": {"deny": [`)
	if _, err := r.restrictions(); err == nil || !strings.Contains(err.Error(), file) {
		t.Error(err)
	}
}

// A supervisor that breaks still ends its job.
func TestPanicEndsJob(t *testing.T) {
	t.Parallel()
	d := deps(t) // without models
	h, err := d.Jobs.Create(jobs.Spec{Kind: Kind, Task: "x", Request: Request{Task: "x", Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Supervise(t.Context(), d, h.ID()); err != nil {
		t.Error(err)
	}
	job, err := d.Jobs.Get(h.ID())
	if err != nil || job.State != jobs.Failed || job.Ending != InternalFail || !strings.Contains(job.Reply, "internal error") {
		t.Errorf("%+v %v", job, err)
	}
}

// What could not be looked at is not called unchanged.
func TestPlaceUnsure(t *testing.T) {
	t.Parallel()
	r := &run{tree: &repo.Tree{}, unsure: true, facts: Facts{Tree: &Tree{Dir: "/t"}}}
	if got := strings.Join(r.place(verdict{ending: Done}), " "); !strings.Contains(got, "NOT KNOWN: look in /t") {
		t.Error(got)
	}
}
