package delegate

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/pkg/config"
	"legwork/pkg/llm/llmtest"
)

// shellSite has a gate without any runner: it needs nothing but a shell.
func shellSite(t testing.TB) *site {
	if runtime.GOOS == "windows" {
		t.Skip("the test command is a POSIX shell line")
	}
	return newSite(t, map[string]string{"check.sh": "grep -q right out.txt\n", "README": "x\n"})
}

var shellTask = Request{Targets: []string{"out.txt"}, Test: "sh check.sh", Spec: "Write the word."}

// A gate without evidence says so in the verdict.
func TestExitCodeOnly(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	s.answers("text", "wrong", "right")
	res, err := s.run(shellTask)
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Pass || res.Gate != GateExitOnly || !strings.Contains(res.Text(), "gate: exit-code-only") || s.read("out.txt") != "right\n" {
		t.Errorf("%s", res.Text())
	}
	s.clean()
}

// Eight calls for one file: one is applied, seven see a conflict and keep their file, nothing is left of the rest.
func TestParallelConflict(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	var mu sync.Mutex
	// All must have seen the red test before the first is done.
	asked, all := 0, make(chan struct{})
	s.server = llmtest.NewLlamaServer(t, llmtest.Config{Slots: 8, Answer: func(llmtest.Call) llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked == 8 {
			close(all)
		}
		return llmtest.Reply{Text: "```text\nright\n```", Hold: all}
	}})
	d := s.deps()
	applied, conflicts := 0, 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			req := shellTask
			req.Dir = s.dir
			res, err := Run(t.Context(), d, req)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Error(err)
			case res.Applied:
				applied++
			case len(res.Conflict) == 1 && res.Verdict == Pass && len(res.Candidate) == 1:
				conflicts++
				if b, err := os.ReadFile(res.Candidate[0]); err != nil || string(b) != "right\n" {
					t.Errorf("candidate: %q %v", b, err)
				}
				if !strings.Contains(res.Text(), "NOT applied") {
					t.Error(res.Text())
				}
			default:
				t.Error(res.Text())
			}
		})
	}
	wg.Wait()
	if applied != 1 || conflicts != 7 {
		t.Errorf("%d applied, %d conflicts", applied, conflicts)
	}
	if list, _ := filepath.Glob(filepath.Join(s.state, "worktrees", "*", "tree")); len(list) != conflicts {
		t.Errorf("worktrees: %v", list)
	}
}

// The user edits the target while the model works: nothing is overwritten.
func TestConflictWithUser(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	s.server = llmtest.NewLlamaServer(t, llmtest.Config{Answer: func(llmtest.Call) llmtest.Reply {
		put(t, s.dir, "out.txt", "the user's\n")
		return llmtest.Reply{Text: "```text\nright\n```"}
	}})
	res, err := s.run(shellTask)
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Pass || res.Applied || s.read("out.txt") != "the user's\n" || !strings.Contains(res.Text(), res.Candidate[0]) {
		t.Errorf("%s", res.Text())
	}
}

// The four endings never turn into each other.
func TestEndingsOfACall(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		replies []llmtest.Reply
		outcome string
		verdict string
	}{
		{"server error", []llmtest.Reply{{Status: 500, Body: "boom"}, {Status: 500, Body: "boom"}, {Status: 500, Body: "boom"}}, "transport", Error},
		{"always cut off", []llmtest.Reply{{Text: "```text\nri", Finish: "length"}, {Text: "```text\nri", Finish: "length"}, {Text: "```text\nri", Finish: "length"}}, "cut_off", Error},
		{"always empty", []llmtest.Reply{{Text: ""}, {Text: ""}, {Text: ""}}, "empty", Error},
		{"wrong", []llmtest.Reply{{Text: "```text\nwrong\n```"}, {Text: "```text\nbad\n```"}}, "failed", Fail},
		{"wrong, then an error", []llmtest.Reply{{Text: "```text\nwrong\n```"}, {Status: 500, Body: "boom"}, {Status: 500, Body: "boom"}}, "transport", Error},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := shellSite(t)
			s.answers("")
			s.server.Script(c.replies...)
			res, err := s.run(shellTask)
			if err != nil {
				t.Fatal(err)
			}
			if res.Outcome != c.outcome || res.Verdict != c.verdict || res.Applied || s.read("out.txt") != "<missing>" {
				t.Errorf("%s %s", res.Outcome, res.Text())
			}
			if want := c.name == "wrong" || c.name == "wrong, then an error"; want != (len(res.Candidate) == 1) {
				t.Errorf("candidate: %v", res.Candidate)
			}
		})
	}
}

// When the deadline comes the best candidate is what there is.
func TestDeadlineKeepsTheBest(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	s.answers("text", "wrong")
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	s.server.Script(llmtest.Reply{Text: "x", Hold: hold})
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	req := shellTask
	req.Dir = s.dir
	res, err := Run(ctx, s.deps(), req)
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Error || res.Outcome != "timeout" || len(res.Candidate) != 1 {
		t.Errorf("%s", res.Text())
	}
}

// A cancelled call leaves nothing behind.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.server = llmtest.NewLlamaServer(t, llmtest.Config{Answer: func(llmtest.Call) llmtest.Reply {
		cancel()
		return llmtest.Reply{Text: "right", Hold: t.Context().Done()}
	}})
	req := shellTask
	req.Dir = s.dir
	if _, err := Run(ctx, s.deps(), req); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.clean()
}

// Escalation: the small model stops early, the big one gets its best candidate with the facts.
func TestEscalation(t *testing.T) {
	t.Parallel()
	k := stacks()[0]
	needs(t, k.tools...)
	s := newSite(t, k.files)
	s.server = llmtest.NewVLLM(t, llmtest.Config{Models: []llmtest.Model{{ID: "small"}, {ID: "big"}}})
	s.answers(k.tag, k.wrong, k.wrong, k.right)
	s.settings = "delegate: {model: [small, big], sandbox: \"off\"}\n"
	res, err := s.run(Request{Targets: []string{k.target}, Test: k.test})
	if err != nil {
		t.Fatal(err)
	}
	calls := s.server.Calls()
	if res.Verdict != Pass || res.Model != "big" || len(calls) != 3 || calls[2].Model != "big" || !strings.Contains(calls[2].Last(), "1 of 2 checks pass") {
		t.Errorf("%s", res.Text())
	}
	s.clean()
}

// A server that holds another model now: the result names it, and does not learn from it.
func TestAnotherModelAnswers(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	s.server = llmtest.NewVLLM(t, llmtest.Config{Models: []llmtest.Model{{ID: "small"}, {ID: "big"}}})
	for _, text := range []string{"wrong", "right"} {
		s.server.Script(llmtest.Reply{Text: "```text\n" + text + "\n```", Model: "small"})
	}
	task := shellTask
	task.Models = []string{"big"}
	res, err := s.run(task)
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Pass || res.Model != "small" || res.Attempts[0].Model != "small" || strings.Count(res.Text(), "asked for big, small answered") != 1 {
		t.Errorf("%s", res.Text())
	}
	s.clean()
}

// Candidates: first attempts are drawn at once, the one that passes wins.
func TestCandidates(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	var mu sync.Mutex
	n := 0
	s.server = llmtest.NewLlamaServer(t, llmtest.Config{Slots: 3, Answer: func(llmtest.Call) llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		if n++; n == 2 {
			return llmtest.Reply{Text: "```text\nright\n```"}
		}
		return llmtest.Reply{Text: "```text\nwrong " + string(rune('a'+n)) + "\n```"}
	}})
	req := shellTask
	req.Candidates = 3
	res, err := s.run(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Pass || !strings.HasPrefix(res.Text(), "PASS · attempt 1/3") || s.read("out.txt") != "right\n" {
		t.Errorf("%s", res.Text())
	}
	s.clean()
}

// Two targets are applied together.
func TestTwoTargets(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the test command is a POSIX shell line")
	}
	s := newSite(t, map[string]string{"check.sh": "grep -q one lib/a.txt && grep -q two b.txt\n"})
	s.answers("", "RAW:lib/a.txt\n```\none\n```\nb.txt\n```\ntwo\n```")
	res, err := s.run(Request{Targets: []string{"lib/a.txt", "b.txt"}, Test: "sh check.sh", Spec: "Write the words."})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Pass || s.read("lib/a.txt") != "one\n" || s.read("b.txt") != "two\n" {
		t.Errorf("%s", res.Text())
	}
	s.clean()
}

// E17: what the model is told of a failure holds values, never the test's own text.
func TestHiddenTest(t *testing.T) {
	t.Parallel()
	needs(t, "python3", "pytest")
	test := "from calc import total\n\nPRICES = [3, 4]\n\n\ndef test_sums_all_prices():\n    assert total(PRICES) == 7, \"zebra-hint: add the numbers of PRICES\"\n\n\ndef test_refuses_text():\n    try:\n        total([\"x\"])\n    except ValueError:\n        return\n    raise RuntimeError(\"walrus-hint: text must raise ValueError\")\n"
	s := newSite(t, map[string]string{"test_calc.py": test})
	s.settings = "delegate: {policy: strong, sandbox: \"off\"}\n"
	s.answers("python", "def total(prices):\n    return 0\n", "def total(prices):\n    return 1\n")
	res, err := s.run(Request{
		Targets: []string{"calc.py"}, Test: "pytest -q test_calc.py", Spec: "total(prices) sums all prices. Text raises ValueError.\nassert total(PRICES) == 7, \"zebra-hint: add the numbers of PRICES\"",
		Apply: ApplyNever,
	})
	if err != nil {
		t.Fatal(err)
	}
	calls := s.server.Calls()
	if len(calls) < 2 {
		t.Fatalf("%d calls: %s", len(calls), res.Text())
	}
	said := calls[1].Last()
	for _, secret := range []string{"zebra", "walrus", "PRICES"} {
		for _, call := range calls {
			if strings.Contains(string(call.Body), secret) {
				t.Errorf("the model saw %q:\n%s", secret, call.Body)
			}
		}
	}
	for _, want := range []string{"test_sums_all_prices", "got 0, expected 7"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in:\n%s", want, said)
		}
	}
	if !strings.Contains(res.Text(), "note: 1 lines of the test stood in the spec") {
		t.Errorf("%s", res.Text())
	}
	b, err := os.ReadFile(res.Transcript)
	if err != nil || !strings.Contains(string(b), said) {
		t.Errorf("the transcript lacks what was shown: %v", err)
	}
}

// A dependency that is not there is refused before anything runs.
func TestUnknownImport(t *testing.T) {
	t.Parallel()
	for _, k := range stacks() {
		bad := map[string]string{
			"node": "const _ = require('left-pad-not-there');\nexports.slug = (s) => _(s);", "pytest": "import not_there_at_all\n\ndef slug(s):\n    return not_there_at_all.slug(s)",
			"unittest": "import not_there_at_all\n\ndef slug(s):\n    return not_there_at_all.slug(s)",
			"go":       "package slug\n\nimport \"example.org/not/there\"\n\nfunc Slug(s string) string { return there.X(s) }", "cargo": "use not_there::x;\n\npub fn slug(s: &str) -> String { x(s) }",
			"rspec": "require 'json'\nrequire 'rspec/core'\nrequire 'not_there_at_all'\n\ndef slug(s)\n  s\nend",
		}[k.name]
		if bad == "" {
			t.Fatal("no case for", k.name)
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := k.site(t)
			s.answers(k.tag, bad, k.right)
			res, err := s.run(Request{Targets: []string{k.target}, Test: k.test})
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict != Pass || res.Attempts[0].Class != classImport || !strings.Contains(s.server.Calls()[1].Last(), "could not be used") {
				t.Errorf("%v %s", res.Attempts, res.Text())
			}
		})
	}
}

// A refactoring starts green; a candidate that loses a test fails.
func TestGreenBaseline(t *testing.T) {
	t.Parallel()
	k := stacks()[0]
	needs(t, k.tools...)
	files := map[string]string{k.target: k.right + "\n"}
	maps.Copy(files, k.files)
	s := newSite(t, files)
	s.answers(k.tag, "exports.slug = (s) => s.toLowerCase().replace(/ /g, '-');")
	res, err := s.run(Request{Targets: []string{k.target}, Test: k.test, AllowGreen: true})
	if err != nil || res.Verdict != Pass {
		t.Fatalf("%v %v", err, res)
	}
	s.answers(k.tag, k.wrong, k.wrong)
	if res, err = s.run(Request{Targets: []string{k.target}, Test: k.test, AllowGreen: true}); err != nil || res.Verdict != Fail {
		t.Fatalf("%v %v", err, res)
	}
}

// Mode, line ends, BOM and final newline of an existing target stay.
func TestShapeIsKept(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	put(t, s.dir, "out.txt", "\xef\xbb\xbfone\r\ntwo")
	if err := os.Chmod(filepath.Join(s.dir, "out.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.answers("text", "one\nright")
	res, err := s.run(shellTask)
	if err != nil || res.Verdict != Pass {
		t.Fatalf("%v %v", err, res)
	}
	st, err := os.Stat(filepath.Join(s.dir, "out.txt"))
	if got := s.read("out.txt"); got != "\xef\xbb\xbfone\r\nright" || err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%q %v %v", got, st.Mode(), err)
	}
}

// The sandbox: no write outside the worktree, no network, said in the verdict.
func TestSandbox(t *testing.T) {
	t.Parallel()
	needs(t, "bwrap")
	out := t.TempDir()
	s := newSite(t, map[string]string{"check.sh": "sh ./job.sh; grep -q right job.sh\n"})
	s.settings = "delegate: {sandbox: \"on\"}\n"
	s.answers("sh", "# right\necho x > "+out+"/escaped\necho y > \"$HOME/legwork-escaped\"\necho z > inside.log\n")
	res, err := s.run(Request{Targets: []string{"job.sh"}, Test: "sh check.sh", Spec: "Write it."})
	if _, ok := errors.AsType[*RefusedError](err); ok {
		t.Skip("bubblewrap cannot start here: " + err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Pass || !strings.Contains(res.Text(), "sandbox: bubblewrap") {
		t.Errorf("%s", res.Text())
	}
	home, _ := os.UserHomeDir()
	for _, p := range []string{filepath.Join(out, "escaped"), filepath.Join(home, "legwork-escaped")} {
		if _, err := os.Stat(p); err == nil {
			t.Errorf("%s was written", p)
		}
	}
	s.clean()
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	for want, req := range map[string]Request{
		"test_command: " + s.dir: {Spec: "x", Targets: []string{"out.txt"}, Test: "cd " + s.dir + " && sh check.sh"},
		"spec":                   {Targets: []string{"a.js"}, Test: "x", Spec: " "}, "target_file": {Spec: "x", Test: "x"}, "test_command": {Spec: "x", Targets: []string{"a.js"}},
		"max_attempts": {Spec: "x", Targets: []string{"a.js"}, Test: "x", Attempts: 11}, "apply": {Spec: "x", Targets: []string{"a.js"}, Test: "x", Apply: "maybe"},
	} {
		req.Dir = s.dir
		_, err := Run(t.Context(), s.deps(), req)
		var input *InputError
		if !errors.As(err, &input) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Further turns are paced over calls, and given when asked for.
func TestLearned(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	s.server = llmtest.NewLlamaServer(t, llmtest.Config{Answer: func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "```text\nwrong\n```"} }})
	calls := func(attempts int) int {
		req := shellTask
		req.Attempts = attempts
		res, err := s.run(req)
		if err != nil {
			t.Fatal(err)
		}
		return res.Calls
	}
	sum := 0
	for range 12 {
		sum += calls(0)
	}
	if plain := 12 * (1 + plainMore); float64(sum) < 0.6*plain || float64(sum) > 0.7*plain {
		t.Errorf("%d calls beside %.0f of a plain loop", sum, plain)
	}
	if n := calls(3); n != 3 {
		t.Errorf("asked for: %d calls", n)
	}
}

// Whatever share of the first answers passes, and however many of the others are near misses, all calls stay
// below seven tenths of a plain loop's, once a few calls were made.
func TestPace(t *testing.T) {
	t.Parallel()
	pol := policies()[0]
	for _, passes := range []int{0, 15, 45, 60, 70} {
		for _, near := range []int{0, 50, 100} {
			rng := rand.New(rand.NewPCG(1, uint64(passes*1000+near)))
			var r record
			for range 100 {
				one := record{Calls: 1}
				if rng.IntN(100) >= passes {
					one.Failed = 1
					p := &plan{policy: pol, record: r}
					k := &candidate{class: classTests, green: 1, total: 4}
					if rng.IntN(100) < near {
						k.green = 3
					}
					p.learn(kindFirst, finding{class: classTests}, true)
					if p.over(k) == "" {
						one.Turns = 1
					}
				}
				r = record{Calls: r.Calls + 1, Failed: r.Failed + one.Failed, Turns: r.Turns + one.Turns}
			}
			plain := float64(r.Calls) + plainMore*float64(r.Failed)
			if got := float64(r.Calls+r.Turns) / plain; got > 0.7 {
				t.Errorf("%d %% pass, %d %% near: %.2f of a plain loop's calls", passes, near, got)
			}
		}
	}
}

// A long file and a model that is trusted with it: blocks are asked for, applied exactly, and given up for
// the whole file when they do not match.
func TestBlocksForLongFiles(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	long := strings.Repeat("a line that stays as it is\n", 600)
	put(t, s.dir, "out.txt", "first\n"+long+"last\n")
	s.settings = "delegate: {policy: strong, sandbox: \"off\"}\n"
	s.answers("", "RAW:<<<<<<< SEARCH\nnot there\n=======\nright\n>>>>>>> REPLACE", "RAW:<<<<<<< SEARCH\nlast\n=======\nright\n>>>>>>> REPLACE")
	res, err := s.run(shellTask)
	if err != nil {
		t.Fatal(err)
	}
	calls := s.server.Calls()
	if res.Verdict != Pass || s.read("out.txt") != "first\n"+long+"right\n" || !strings.Contains(calls[0].Last(), "SEARCH") ||
		!strings.Contains(calls[1].Last(), "send the whole file instead") || res.Attempts[0].Class != classFormat {
		t.Errorf("%s", res.Text())
	}
}

// A package installed as a pointer into the user's tree is tested in the worktree all the same.
func TestEditableInstall(t *testing.T) {
	t.Parallel()
	needs(t, "python3", "pytest")
	s := newSite(t, map[string]string{
		"src/thing/__init__.py": "", "src/thing/slug.py": "def slug(s):\n    return s\n", ".gitignore": ".venv\n",
		"tests/test_slug.py": "from thing.slug import slug\n\n\ndef test_lowers():\n    assert slug(\"A\") == \"a\"\n",
	})
	venv := filepath.Join(s.dir, ".venv", "lib", "python3.11", "site-packages")
	put(t, venv, "thing.pth", filepath.Join(s.dir, "src")+"\n")
	// Stands for the environment's interpreter: it finds the user's tree through the installation.
	put(t, s.dir, ".venv/run.sh", "PYTHONPATH=\"$PYTHONPATH:"+filepath.Join(s.dir, "src")+"\" exec python3 -m pytest -q tests/test_slug.py\n")
	s.answers("python", "def slug(s):\n    return s.lower()\n")
	res, err := s.run(Request{Targets: []string{"src/thing/slug.py"}, Test: "sh .venv/run.sh", Apply: ApplyNever})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Pass || s.read("src/thing/slug.py") != "def slug(s):\n    return s\n" {
		t.Errorf("%s", res.Text())
	}
}

// Once the file's size is known, an answer that never ends is cut off early.
func TestBudget(t *testing.T) {
	t.Parallel()
	s := shellSite(t)
	s.answers("text", "wrong", "right")
	if _, err := s.run(shellTask); err != nil {
		t.Fatal(err)
	}
	var limits []float64
	for _, call := range s.server.Calls() {
		n, _ := call.Field("max_tokens").(float64)
		limits = append(limits, n)
	}
	if len(limits) != 2 || limits[0] != 8192 || limits[1] < budgetFloor || limits[1] > budgetFloor+100 {
		t.Errorf("limits: %v", limits)
	}
}

// A model's own policy beats the general one; its name may be a glob of what is served.
func TestPolicyFor(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{Models: []config.Model{{Name: "big", ServedName: "*Qwen3.8*", Policy: "strong"}, {Name: "tiny", Policy: "sample"}}}
	for model, want := range map[string]string{"org/qwen3.8-27b:q4": "strong", "tiny": "sample", "other": "default", "big": "strong"} {
		cfg.Delegate.Policy = "default"
		if got := (&call{Deps: Deps{Config: cfg}, res: &Result{}}).policyFor(model).name; got != want {
			t.Errorf("%s: %s, want %s", model, got, want)
		}
	}
	cfg.Delegate.Policy = "nonsense"
	c := &call{Deps: Deps{Config: cfg}, res: &Result{}}
	if got := c.policyFor("other").name; got != "default" || len(c.res.Notes) != 1 || !strings.Contains(c.res.Notes[0], "strong") {
		t.Errorf("%s %v", got, c.res.Notes)
	}
}

// The policy as a table: what turn follows what.
func TestPlan(t *testing.T) {
	t.Parallel()
	red := func(green, total int) *candidate { return &candidate{green: green, total: total, class: classTests} }
	type step struct {
		class    string
		progress bool
		best     *candidate
	}
	cases := []struct {
		name, policy string
		steps        []step
		turns        []string
		over         string
	}{
		{"near miss, no gain", "default", []step{{classTests, true, red(8, 10)}, {classTests, false, red(8, 10)}}, []string{kindFirst, kindRepair}, "no new green test"},
		{"near miss, gain, then another sample", "sample", []step{{classTests, true, red(5, 10)}, {classTests, true, red(8, 10)}}, []string{kindFirst, kindFresh, kindFresh}, ""},
		{"few green: far", "default", []step{{classTests, true, red(2, 10)}}, []string{kindFirst}, "further turns of this model are not worth more (max_attempts asks for them)"},
		{"few green, each turn brings more", "strong", []step{{classTests, true, red(2, 10)}, {classTests, true, red(3, 10)}}, []string{kindFirst, kindRepair, kindRepair}, ""},
		{"does not load", "default", []step{{classLoad, false, &candidate{class: classLoad}}}, []string{kindFirst, kindRepair}, ""},
		{"format first", "default", []step{{classFormat, false, nil}, {classTests, true, red(9, 10)}}, []string{kindFirst, kindFormat, kindRepair}, ""},
		{"strong repairs on", "strong", []step{{classTests, true, red(1, 10)}, {classTests, false, red(1, 10)}}, []string{kindFirst, kindRepair, kindRepair}, ""},
		{"classic goes on", "classic", []step{{classTests, true, red(1, 10)}, {classTests, false, red(1, 10)}}, []string{kindFirst, kindConverse, kindConverse}, ""},
	}
	for _, c := range cases {
		var pol policy
		for _, p := range policies() {
			if p.name == c.policy {
				pol = p
			}
		}
		p := &plan{policy: pol}
		var best *candidate
		var turns []string
		over := ""
		for i := 0; i <= len(c.steps); i++ {
			kind, _ := p.next(best)
			turns = append(turns, kind)
			if i == len(c.steps) {
				break
			}
			best = c.steps[i].best
			p.learn(kind, finding{class: c.steps[i].class}, c.steps[i].progress)
			if over = p.over(best); over != "" {
				break
			}
		}
		if over != c.over || !cmp.Equal(turns, c.turns) {
			t.Errorf("%s: %v %q, want %v %q", c.name, turns, over, c.turns, c.over)
		}
	}
}
