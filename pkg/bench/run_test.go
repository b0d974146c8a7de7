package bench

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"legwork/pkg/config"
	"legwork/pkg/delegate"
	"legwork/pkg/llm"
	"legwork/pkg/llm/llmtest"
	"legwork/pkg/proc"
)

var noResult = &delegate.Result{}

// testGround is a ground with the built-in settings and no sandbox.
func testGround(t testing.TB) Ground {
	t.Helper()
	for _, p := range []string{"git", "node"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(p + " is not installed")
		}
	}
	dir := t.TempDir()
	cfg, err := CheckConfig(dir, &config.Config{Delegate: config.Delegate{Sandbox: "off", TestTimeout: 5 * 60e9}})
	if err != nil {
		t.Fatal(err)
	}
	children := &proc.Group{}
	t.Cleanup(children.Kill)
	return Ground{Config: cfg, StateDir: dir, Env: os.Environ(), Children: children}
}

// empty fails when a bench left a repository or a worktree behind.
func (g Ground) empty(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"repos/*", "worktrees/*", "*/*/worktrees/*"} {
		if left, _ := filepath.Glob(filepath.Join(g.StateDir, pattern)); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// A sound gate is proved; one that lets a wrong answer pass, or fails the right one, is found.
func TestCheckTasks(t *testing.T) {
	t.Parallel()
	g := testGround(t)
	weak := strings.Replace(plainTask, "test('takes texts', () => assert.strictEqual(add('1901', 1), 1902));\n", "", 1)
	strict := strings.Replace(plainTask, "42", "43", 1)
	green := plainTask + "-- repo/add.js --\nmodule.exports = { add: (a, b) => Number(a) + Number(b) };\n"
	prose := strings.Replace(plainTask, "module.exports = { add: (a, b) => a - b };", "const pad = require('left-pad');\nmodule.exports = { add: (a, b) => pad(a) - b };", 1)
	tasks := []*Task{
		mustTask(t, "sound", plainTask), mustTask(t, "weak", weak), mustTask(t, "strict", strict), mustTask(t, "green", green), mustTask(t, "prose", prose),
		mustTask(t, "lacking", strings.Replace(plainTask, "needs: [node]", "needs: [no-such-program]", 1)),
	}
	told := 0
	checks, err := CheckTasks(t.Context(), g, tasks, 4, func(*TaskCheck) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"weak": "wrong/plus: it passes", "strict": "gold: the right answer fails", "green": "gold: the test is no gate yet",
		"prose": "wrong/minus: it never reached the test", "lacking": "not on PATH: no-such-program",
	}
	for _, c := range checks {
		var problems []string
		for _, k := range c.Trials {
			if k.Problem != "" {
				problems = append(problems, k.What+": "+k.Problem)
			}
		}
		all := strings.Join(append(problems, c.Problems...), "\n")
		if c.OK() != (want[c.Task] == "") || !strings.Contains(all, want[c.Task]) || len(c.Leaks) > 0 {
			t.Errorf("%s: ok %t, leaks %v, problems:\n%s", c.Task, c.OK(), c.Leaks, all)
		}
	}
	if sound := checks[0]; len(sound.Trials) != 5 || sound.Trials[0].Green != 2 || sound.Gate != delegate.GateNames {
		t.Errorf("%+v", sound)
	}
	if told != len(tasks) {
		t.Errorf("%d tasks told", told)
	}
	g.empty(t)
}

func scriptedModels(t *testing.T) []Contestant {
	t.Helper()
	var out []Contestant
	for _, name := range ScriptedModels() {
		c, ok, err := Scripted(name)
		if !ok || err != nil {
			t.Fatal(name, err)
		}
		out = append(out, c)
	}
	return out
}

// The bench's own check: gold passes at once, third at the third try, never fails with its best candidate, and
// the rows say so; a second start makes nothing again.
func TestRunScripted(t *testing.T) {
	t.Parallel()
	g := testGround(t)
	out := filepath.Join(t.TempDir(), "raw.jsonl")
	o := RunOptions{
		Tasks: []*Task{mustTask(t, "add", plainTask)}, Models: scriptedModels(t), Policies: []string{"classic"}, Runs: 2, Parallel: 3, Out: out, Tool: "t", System: "s",
	}
	var last Progress
	o.Done = func(p Progress) { last = p }
	tally, err := Run(t.Context(), g, o)
	if err != nil || tally.Passed != 4 || tally.Failed != 2 || tally.Leaked != 0 || last.Done != 6 || last.Total != 6 {
		t.Fatalf("%+v %+v %v", tally, last, err)
	}
	rows, damaged, err := ReadRows(out)
	if err != nil || damaged != 0 || len(rows) != 6 {
		t.Fatal(len(rows), damaged, err)
	}
	for _, r := range rows {
		at := map[string]int{"scripted:gold": 1, "scripted:third": 3}[r.Model]
		if !r.Scripted || r.PassAt != at || (at > 0) != (r.Class == ClassPassed) || r.PromptHash == "" || r.TaskHash != o.Tasks[0].Hash || r.Gate != delegate.GateNames {
			t.Errorf("%+v", r)
		}
		if r.Model == "scripted:third" && r.Attempts[0].Class != ClassFormat {
			t.Errorf("the apology is %q", r.Attempts[0].Class)
		}
		if r.Model == "scripted:never" && (r.Class != ClassWrong || r.Green != 1 || r.Total != 2 || r.Calls != 3) {
			t.Errorf("never: %+v", r)
		}
	}
	if tally, err = Run(t.Context(), g, o); err != nil || tally.Had != 6 || tally.Passed+tally.Failed != 0 {
		t.Errorf("again: %+v %v", tally, err)
	}
	g.empty(t)
}

// A bench that is ended loses the runs in flight only, goes on where it stopped, and takes a torn last line.
func TestRunResumes(t *testing.T) {
	t.Parallel()
	g := testGround(t)
	out := filepath.Join(t.TempDir(), "raw.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := RunOptions{Tasks: []*Task{mustTask(t, "add", plainTask)}, Models: scriptedModels(t)[:1], Policies: []string{"default"}, Runs: 5, Parallel: 1, Out: out}
	o.Done = func(p Progress) {
		if p.Done == 2 {
			cancel()
		}
	}
	tally, err := Run(ctx, g, o)
	if !errors.Is(err, context.Canceled) || tally.Passed != 2 {
		t.Fatalf("%+v %v", tally, err)
	}
	g.empty(t)
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out, b[:len(b)-40], 0o600); err != nil { // killed while writing the second row
		t.Fatal(err)
	}
	o.Done = nil
	if tally, err = Run(t.Context(), g, o); err != nil || tally.Had != 1 || tally.Passed != 4 {
		t.Fatalf("%+v %v", tally, err)
	}
	rows, damaged, err := ReadRows(out)
	if err != nil || damaged != 1 || len(rows) != 5 {
		t.Fatal(len(rows), damaged, err)
	}
	var runs []int
	for _, r := range rows {
		runs = append(runs, r.Run)
	}
	slices.Sort(runs)
	if !slices.Equal(runs, []int{1, 2, 3, 4, 5}) {
		t.Error(runs)
	}
}

// A server: its identity is in the rows; a failing transport is outside the rate, ends the bench when it goes
// on, and is tried again.
func TestRunServer(t *testing.T) {
	t.Parallel()
	g := testGround(t)
	task := mustTask(t, "add", plainTask)
	drop := make([]llmtest.Reply, 20)
	for i := range drop {
		drop[i] = llmtest.Reply{Drop: true}
	}
	server := llmtest.NewLlamaServer(t, llmtest.Config{
		Models: []llmtest.Model{{ID: "/home/someone/models/tiny-coder-Q4_K_M.gguf"}}, Window: 4096, Slots: 2,
		Answer: func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: asAnswer(task.Targets, task.Gold)} },
	})
	server.Script(drop...)
	g.Models = llm.New(llm.Settings{Endpoints: []llm.Endpoint{{Name: "s", BaseURL: server.URL}}}, llm.Options{StateDir: g.StateDir})
	model, err := Identify(t.Context(), g.Models, "", "")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "raw.jsonl")
	o := RunOptions{Tasks: []*Task{task}, Models: []Contestant{model}, Policies: []string{"default"}, Runs: 5, Parallel: 1, Out: out}
	tally, err := Run(t.Context(), g, o)
	if !errors.Is(err, ErrServerGone) || tally.Transport != goneAfter {
		t.Fatalf("%+v %v", tally, err)
	}
	for len(server.Calls()) < len(drop) { // what is left of the script
		if _, err := g.Models.Complete(t.Context(), llm.CompleteRequest{Prompt: "x"}); err == nil {
			break
		}
	}
	tally, err = Run(t.Context(), g, o)
	if err != nil || tally.Had != 0 || tally.Passed != 5 {
		t.Fatalf("%+v %v", tally, err)
	}
	rows, _, err := ReadRows(out)
	if err != nil || len(rows) != goneAfter+5 {
		t.Fatal(len(rows), err)
	}
	last := rows[len(rows)-1]
	if last.Model != "tiny-coder-Q4_K_M.gguf" || last.Quant != "Q4_K_M" || last.Window != 4096 || last.Slots != 2 || last.Backend != "llama.cpp" || last.Endpoint != server.URL {
		t.Errorf("%+v", last.Identity)
	}
	if a := last.Attempts[0]; a.InTok == 0 || a.OutTok == 0 {
		t.Errorf("%+v", a)
	}
	b, err := json.Marshal(rows)
	if err != nil || strings.Contains(string(b), "/home/someone") {
		t.Errorf("a folder of the machine is in the rows: %v", err)
	}
	page := NewPage(rows, 0)
	if s := page.Standings[0]; s.Runs != 5 || s.Passed != 5 || s.Transport != goneAfter {
		t.Errorf("%+v", s)
	}
}

// BenchmarkBenchOverhead is a run less model and test.
func BenchmarkBenchOverhead(b *testing.B) {
	g := testGround(b)
	task := mustTask(b, "add", plainTask)
	gold, _, err := Scripted("scripted:gold")
	if err != nil {
		b.Fatal(err)
	}
	out := filepath.Join(b.TempDir(), "raw.jsonl")
	runs := 0
	for b.Loop() {
		runs++
		if _, err := Run(b.Context(), g, RunOptions{Tasks: []*Task{task}, Models: []Contestant{gold}, Policies: []string{"default"}, Runs: runs, Out: out}); err != nil {
			b.Fatal(err)
		}
	}
	rows, _, err := ReadRows(out)
	if err != nil || len(rows) != runs {
		b.Fatal(len(rows), err)
	}
	var sum int64
	for _, r := range rows {
		sum += r.OverheadMS
	}
	b.ReportMetric(float64(sum)/float64(runs), "overhead-ms")
}
