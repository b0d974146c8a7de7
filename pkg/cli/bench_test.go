package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const benchTask = `kind: function
tier: 1
targets: [add.js]
test_command: node --test add.test.js
test_files: [add.test.js]
needs: [node]
spec: module.exports = { add }; add(a, b) returns the sum.
-- repo/add.test.js --
const test = require('node:test');
const assert = require('node:assert');
const { add } = require('./add.js');
test('adds numbers', () => assert.strictEqual(add(19, 23), 42));
test('adds nothing', () => assert.strictEqual(add(0, 0), 0));
-- gold/add.js --
module.exports = { add: (a, b) => a + b };
-- wrong/minus/add.js --
module.exports = { add: (a, b) => a - b };
`

// bench runs `legwork bench …` with a home of its own.
func runBench(t *testing.T, home string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LEGWORK_CONFIG_HOME=" + filepath.Join(home, "config"), "LEGWORK_STATE_HOME=" + filepath.Join(home, "state"),
		"LEGWORK_DELEGATE_SANDBOX=off",
	}
	var out, errs bytes.Buffer
	code = Main(append([]string{"bench"}, args...), env, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// A stranger's first hour: check, run, run again, table, compare; the user's own state stays as it was.
func TestBenchFromTheShell(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"git", "node"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(p + " is not installed")
		}
	}
	home := t.TempDir()
	set, raw := filepath.Join(home, "tasks"), filepath.Join(home, "raw.jsonl")
	if err := os.Mkdir(set, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(set, "add.txtar"), []byte(benchTask), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runBench(t, home, "check", "--set", set)
	if code != exitDone || !strings.Contains(out, "ok    add (function, tier 1): 2 tests, 3 wrong answers, gate: names") {
		t.Fatalf("check: %d\n%s%s", code, out, errs)
	}
	run := []string{"run", "--set", set, "--models", "scripted:gold,scripted:never", "--policy", "classic", "--runs", "1", "--commit", "c0ffee", "--out", raw}
	code, out, errs = runBench(t, home, run...)
	if code != exitDone || !strings.Contains(out, "0 runs were there, 2 made: 1 passed, 1 failed") || !strings.Contains(errs, "2/2 add run 1, classic, scripted:never: wrong (1 of 2 tests") {
		t.Fatalf("run: %d\n%s%s", code, out, errs)
	}
	if code, out, _ = runBench(t, home, append(run, "--json")...); code != exitDone || !json.Valid([]byte(out)) || !strings.Contains(out, `"had": 2`) {
		t.Errorf("again: %d %s", code, out)
	}
	md, html := filepath.Join(home, "t.md"), filepath.Join(home, "t.html")
	if code, out, errs = runBench(t, home, "table", raw, "--md", md, "--html", html); code != exitDone || out != "" {
		t.Errorf("table: %d %s%s", code, out, errs)
	}
	if b, err := os.ReadFile(md); err != nil || !strings.Contains(string(b), "| scripted:gold | classic | 1 | 100 % (21–100) |") {
		t.Errorf("%v\n%s", err, b)
	}
	if code, out, errs = runBench(t, home, "compare", "--by", "model", raw); code != exitDone || !strings.Contains(out, "cannot separate scripted:gold and scripted:never in what is solved") {
		t.Errorf("compare: %d %s%s", code, out, errs)
	}
	for _, name := range []string{"runs.jsonl", "worktrees", "delegates"} {
		if _, err := os.Stat(filepath.Join(home, "state", name)); err == nil {
			t.Errorf("%s is in the user's state", name)
		}
	}
	left, err := filepath.Glob(filepath.Join(home, "state", "bench", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range left {
		if name := filepath.Base(p); name != "lock" && name != "cache" && name != "policies" {
			t.Errorf("left behind: %s", p)
		}
	}
}

// What cannot work is said before anything runs.
func TestBenchBadInput(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "add.txtar"), []byte(benchTask), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--out: missing":                {"run", "--set", home},
		`--policy: "fast" is unknown`:   {"run", "--set", home, "--out", "x", "--policy", "fast"},
		"none of 1 fits kind=go":        {"check", "--set", home, "--tasks", "kind=go"},
		"holds no tasks":                {"check", "--set", t.TempDir()},
		"scripted answerers are":        {"run", "--set", home, "--out", filepath.Join(home, "x"), "--models", "scripted:luck"},
		"neither a URL nor an endpoint": {"run", "--set", home, "--out", filepath.Join(home, "x"), "--endpoint", "nowhere"},
		"name two raw files":            {"compare", filepath.Join(home, "x")},
		"no such file":                  {"table", filepath.Join(home, "x")},
		"at least 1":                    {"run", "--set", home, "--out", "x", "--runs", "0"},
		"holds no pages":                {"research", "--set", home},
	} {
		code, _, errs := runBench(t, home, args...)
		if code == exitDone || code == exitFailed || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, %q lacks %q", args, code, errs, want)
		}
	}
}
