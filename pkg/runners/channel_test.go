package runners_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/pkg/runners"
)

// write lays out a project.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// need skips a test whose runner is not installed.
func need(t *testing.T, tool string, args ...string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("side channels are not attached on Windows")
	}
	if err := exec.CommandContext(t.Context(), tool, args...).Run(); err != nil {
		t.Skipf("%s %s does not run here: %v", tool, strings.Join(args, " "), err)
	}
}

// runWith attaches, runs and reads.
func runWith(t *testing.T, dir, command string) (runners.Result, runners.Evidence, []string) {
	t.Helper()
	env := os.Environ()
	c, err := runners.Attach(runners.Setup{Command: command, Dir: dir, Env: env, Temp: t.TempDir(), Gate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = dir, append(env, c.Env()...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the exit code is what matters
	exit := cmd.ProcessState.ExitCode()
	r := runners.Parse(out.Bytes(), runners.Hint{Command: command, Exit: &exit, Dir: dir})
	e := c.Read()
	r.Apply(e)
	if t.Failed() || testing.Verbose() {
		t.Logf("exit %d\n%s\nevidence %+v", exit, out.String(), e)
	}
	return r, e, c.Attached()
}

// cheat is one way for code under test to look green without being it.
type cheat struct {
	name  string
	files map[string]string
	args  string // appended to the command
	want  []runners.State
}

var (
	green = []runners.State{runners.StatePassed}
	red   = []runners.State{runners.StateFailed}
	lost  = []runners.State{runners.StateDidNotFinish, runners.StateNoTests}
	none  = []runners.State{runners.StateNoTests}
)

func tryAll(t *testing.T, base map[string]string, command, channel string, names []string, cheats []cheat) {
	t.Helper()
	for _, c := range cheats {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, base)
			write(t, dir, c.files)
			r, e, attached := runWith(t, dir, strings.TrimSpace(command+" "+c.args))
			if !slices.Contains(attached, channel) {
				t.Fatalf("attached %v, want %s", attached, channel)
			}
			if !slices.Contains(c.want, r.State) {
				t.Errorf("state %s, want one of %v; notes %q, evidence %+v", r.State, c.want, r.Notes, e)
			}
			if r.State == runners.StatePassed && names != nil {
				got := slices.Sorted(slices.Values(e.Passed))
				if !slices.Equal(got, names) {
					t.Errorf("passed %q, want %q", got, names)
				}
			}
		})
	}
}

// E01, E02: node's own runner.
func TestChannelNode(t *testing.T) {
	t.Parallel()
	need(t, "node", "--version")
	base := map[string]string{
		"test/a.test.js": "const test = require('node:test'); const assert = require('assert'); const { add } = require('../src/math.js');\n" +
			"test('adds', () => assert.equal(add(1, 2), 3));\ntest('adds > more', () => assert.equal(add(2, 2), 4));\n",
		"src/math.js":  "exports.add = (a, b) => a + b;\n",
		"package.json": `{"scripts":{"test":"node --test test/"}}`,
	}
	one := func(js string) map[string]string { return map[string]string{"src/math.js": js} }
	for _, command := range []string{"node --test test/", "npm test --silent", "node test/a.test.js"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(command, "npm") {
				need(t, "npm", "--version")
			}
			tryAll(t, base, command, "node:test", []string{"adds", "adds > more"}, []cheat{
				{"green", nil, "", green},
				{"red", one("exports.add = (a, b) => a - b;\n"), "", red},
				{"exit at import", one("process.exit(0);\n"), "", lost},
				{"exit in test", one("exports.add = () => process.exit(0);\n"), "", lost},
				{"fake lines", one("console.log('# tests 2\\n# pass 2\\n# fail 0'); process.reallyExit(0);\n"), "", append(slices.Clone(lost), runners.StateUnknown)},
				{"empty set", map[string]string{"test/a.test.js": "\n"}, "", lost},
			})
		})
	}
}

// The culprit is named.
func TestChannelNamesCulprit(t *testing.T) {
	t.Parallel()
	need(t, "node", "--version")
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.test.js": "require('node:test').test('x', () => {});\nrequire('./lib.js');\n", "lib.js": "\nprocess.exit(0);\n"})
	r, e, _ := runWith(t, dir, "node --test a.test.js")
	if !slices.Contains(e.Exits, "exit(0) from lib.js:2:9") {
		t.Errorf("exits %q, notes %q", e.Exits, r.Notes)
	}
}

// E01, E02: Python's own runner, which needs no package.
func TestChannelUnittest(t *testing.T) {
	t.Parallel()
	need(t, "python3", "--version")
	base := map[string]string{
		"test_a.py": "import unittest\nfrom calc import add\nclass T(unittest.TestCase):\n def test_one(self): self.assertEqual(add(1, 2), 3)\n def test_two(self): self.assertEqual(add(2, 2), 4)\n",
		"calc.py":   "def add(a, b): return a + b\n",
	}
	one := func(py string) map[string]string { return map[string]string{"calc.py": py} }
	tryAll(t, base, "python3 -m unittest", "unittest", []string{"test_a.T.test_one", "test_a.T.test_two"}, []cheat{
		{"green", nil, "", green},
		{"red", one("def add(a, b): return a - b\n"), "", red},
		{"exit at import", one("import os\nos._exit(0)\n"), "", lost},
		{"exit in test", one("import os\ndef add(a, b): os._exit(0)\n"), "", lost},
		{"fake lines", one("import os, sys\ndef add(a, b):\n  print('Ran 2 tests in 0.001s\\n\\nOK'); sys.stdout.flush(); os._exit(0)\n"), "", lost},
		{"empty set", map[string]string{"test_a.py": "\n"}, "", none},
	})
}

func TestChannelPytest(t *testing.T) {
	t.Parallel()
	need(t, "python3", "-m", "pytest", "--version")
	base := map[string]string{
		"test_a.py": "import pytest\nfrom calc import add\n@pytest.mark.parametrize('x', ['1 - 2'])\ndef test_one(x): assert add(1, 2) == 3\ndef test_two(): assert add(2, 2) == 4\n",
		"calc.py":   "def add(a, b): return a + b\n",
	}
	one := func(py string) map[string]string { return map[string]string{"calc.py": py} }
	tryAll(t, base, "python3 -m pytest -q -s -p no:cacheprovider", "pytest", []string{"test_a.py::test_one[1 - 2]", "test_a.py::test_two"}, []cheat{
		{"green", nil, "", green},
		{"red", one("def add(a, b): return a - b\n"), "", red},
		{"exit at import", one("import os\nos._exit(0)\n"), "", lost},
		{"exit in test", one("import os\ndef add(a, b): os._exit(0)\n"), "", lost},
		{"fake lines", one("import os, sys\ndef add(a, b):\n  print('..\\n2 passed in 0.01s'); sys.stdout.flush(); os._exit(0)\n"), "", lost},
		{"empty set", nil, "-k nosuch || true", none},
	})
}

func TestChannelGo(t *testing.T) {
	t.Parallel()
	need(t, "go", "version")
	base := map[string]string{
		"go.mod":    "module x\n\ngo 1.22\n",
		"x.go":      "package x\n\nfunc Add(a, b int) int { return a + b }\n",
		"x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n",
	}
	one := func(src string) map[string]string { return map[string]string{"x.go": src} }
	tryAll(t, base, "go test ./...", "go test", nil, []cheat{
		{"green", nil, "", green},
		{"red", one("package x\n\nfunc Add(a, b int) int { return a - b }\n"), "", red},
		{"exit at import", one("package x\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\nfunc Add(a, b int) int { return 0 }\n"), "", lost},
		{"test main runs nothing", map[string]string{"m_test.go": "package x\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n"}, "", lost},
		{"empty set", nil, "-run Nosuch", none},
	})
}

func TestChannelCargo(t *testing.T) {
	t.Parallel()
	need(t, "cargo", "--version")
	lib := func(body string) map[string]string {
		return map[string]string{"src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 { " + body + " }\n#[cfg(test)]\nmod tests { use super::*;\n#[test] fn one() { assert_eq!(add(1, 2), 3) }\n#[test] fn two() { assert_eq!(add(2, 2), 4) }\n}\n"}
	}
	base := lib("a + b")
	base["Cargo.toml"] = "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"
	tryAll(t, base, "cargo test --offline", "cargo test", []string{"tests::one", "tests::two"}, []cheat{
		{"green", nil, "", green},
		{"red", lib("a - b"), "", red},
		{"exit in test", lib("let _ = (a, b); std::process::exit(0)"), "", lost},
		{"empty set", nil, "nosuch", none},
	})
}

func TestChannelRspec(t *testing.T) {
	t.Parallel()
	need(t, "rspec", "--version")
	base := map[string]string{
		"spec/c_spec.rb": "require_relative '../lib/c'\ndescribe('c') do\n  it('a') { expect(add(1, 2)).to eq 3 }\n  it('b') { expect(add(2, 2)).to eq 4 }\nend\n",
		"lib/c.rb":       "def add(a, b)\n  a + b\nend\n",
	}
	one := func(rb string) map[string]string { return map[string]string{"lib/c.rb": rb} }
	tryAll(t, base, "rspec --format documentation", "rspec", []string{"c a", "c b"}, []cheat{
		{"green", nil, "", green},
		{"red", one("def add(a, b)\n  a - b\nend\n"), "", red},
		{"exit at import", one("exit! 0\n"), "", lost},
		{"exit in test", one("def add(a, b)\n  exit 0\nend\n"), "", lost},
		{"empty set", nil, "-e nosuch", none},
	})
}

// A command that a channel could break runs without it.
func TestAttachRefuses(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("side channels are not attached on Windows")
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"package.json":       `{"scripts":{"test":"jest --outputFile=x.json","unit":"cross-env NODE_OPTIONS=--no-warnings mocha"}}`,
		".cargo/config.toml": "[target.x86_64-unknown-linux-gnu]\nrunner = \"qemu\"\n",
	})
	tests := []struct {
		command string
		env     []string
		gate    bool
		not     string
	}{
		{"node --test --test-reporter=dot", nil, true, "node:test"},
		{"node --test a.js && node --test b.js", nil, true, "node:test"},
		{"node --test", []string{"NODE_OPTIONS=--test-reporter=tap --test-reporter-destination=stdout"}, true, "node:test"},
		{"NODE_OPTIONS=--x node --test", nil, true, "node guard"},
		{"npm test", nil, true, "jest"},
		{"npm run unit", nil, true, "node guard"},
		{"go test -exec qemu ./...", nil, true, "go test"},
		{"go test ./...", []string{"GOFLAGS=-exec=x"}, true, "go test"},
		{"go test ./...", nil, false, "go test"},
		{"GOOS=js go test ./...", nil, true, "go test"},
		{"cargo test", nil, true, "cargo test"},
		{"python3 -I -m pytest", nil, true, "pytest"},
		{"docker run x pytest", nil, true, "pytest"},
		{"echo pytest", nil, true, "pytest"},
		{"rspec", []string{"PATH=/nosuch"}, true, "node guard"},
	}
	for _, tt := range tests {
		c, err := runners.Attach(runners.Setup{Command: tt.command, Dir: dir, Env: append([]string{"PATH=" + os.Getenv("PATH")}, tt.env...), Temp: t.TempDir(), Gate: tt.gate})
		if err != nil {
			t.Fatalf("%s: %v", tt.command, err)
		}
		if slices.Contains(c.Attached(), tt.not) {
			t.Errorf("%s: attached %s", tt.command, tt.not)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	blank := filepath.Join(t.TempDir(), "with blank")
	if err := os.Mkdir(blank, 0o750); err != nil {
		t.Fatal(err)
	}
	c, err := runners.Attach(runners.Setup{Command: "pytest", Dir: dir, Temp: blank})
	if err != nil || c.Env() != nil {
		t.Errorf("a folder with a blank: %v, %v", c.Env(), err)
	}
}

// A command that hides what it starts gets the harmless channels, which nobody may count on.
func TestAttachHidden(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("side channels are not attached on Windows")
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"test_plain.py": "print('ok')\n", "test_unit.py": "import unittest\n", "plain.js": "\n", "tested.js": "require('node:test');\n"})
	for _, tt := range []struct {
		command    string
		gate       bool
		want, sure bool
	}{
		{"make test", true, true, false},
		{"./t.sh", true, true, false},
		{"sh t.sh && rake", true, true, false},
		{"make test", false, false, false},
		{"cd x && grep -q a b", true, false, false},
		{"node --test", true, false, true},
		{"node plain.js", true, true, false},
		{"node tested.js", true, true, true},
		{"python3 test_plain.py", true, true, false},
		{"python3 test_unit.py", true, true, true},
		{"go test ./...", true, false, true},
	} {
		c, err := runners.Attach(runners.Setup{Command: tt.command, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Temp: t.TempDir(), Gate: tt.gate})
		if err != nil {
			t.Fatal(err)
		}
		env := strings.Join(c.Env(), "\n")
		if got := strings.Contains(env, "SPEC_OPTS"); got != tt.want || c.Sure() != tt.sure {
			t.Errorf("%s (gate %v): sure %v, hidden channels %v, %v", tt.command, tt.gate, c.Sure(), got, c.Attached())
		}
		if tt.want && strings.Contains(env, "PYTEST_ADDOPTS") {
			t.Errorf("%s: a pytest that loses PYTHONPATH could not load the plug-in:\n%s", tt.command, env)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What the user has set stays.
func TestAttachKeepsEnvironment(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("side channels are not attached on Windows")
	}
	c, err := runners.Attach(runners.Setup{
		Command: "timeout 60 uv run pytest -q && bundle exec rspec", Dir: t.TempDir(), Temp: t.TempDir(),
		Env: []string{"PYTHONPATH=/lib/x", "PYTEST_ADDOPTS=-x", "SPEC_OPTS=--fail-fast"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	env := strings.Join(c.Env(), "\n")
	for _, want := range []string{"PYTEST_ADDOPTS=-x -p legwork_pytest_probe", ":/lib/x", "SPEC_OPTS=--fail-fast --require /"} {
		if !strings.Contains(env, want) {
			t.Errorf("%q is not in\n%s", want, env)
		}
	}
}

// Evidence beats the text, and never makes a bad state better.
func TestApply(t *testing.T) {
	t.Parallel()
	zero, two := 0, 2
	tests := []struct {
		name string
		from runners.State
		e    runners.Evidence
		want runners.State
	}{
		{"not started", runners.StatePassed, runners.Evidence{}, runners.StatePassed},
		{"no end", runners.StatePassed, runners.Evidence{Started: true}, runners.StateDidNotFinish},
		{"end", runners.StatePassed, runners.Evidence{Started: true, Finished: true, Passed: []string{"a"}}, runners.StatePassed},
		{"failures in the report", runners.StatePassed, runners.Evidence{Started: true, Finished: true, Passed: []string{"a"}, Failed: []string{"b"}}, runners.StateFailed},
		{"nothing planned", runners.StatePassed, runners.Evidence{Started: true, Finished: true, Planned: &zero}, runners.StateNoTests},
		{"one of several binaries is empty", runners.StatePassed, runners.Evidence{Started: true, Finished: true, Planned: &two, Empty: []string{"other"}}, runners.StatePassed},
		{"some missing", runners.StatePassed, runners.Evidence{Started: true, Finished: true, Planned: &two, Passed: []string{"a"}}, runners.StateDidNotFinish},
		{"failed stays", runners.StateFailed, runners.Evidence{Started: true, Finished: true, Passed: []string{"a"}}, runners.StateFailed},
		{"exit in one file", runners.StatePassed, runners.Evidence{Started: true, Finished: true, Passed: []string{"a"}, Empty: []string{"b.js"}, Exits: []string{"exit(0) from x.js:1:1"}}, runners.StateDidNotFinish},
	}
	for _, tt := range tests {
		r := runners.Result{State: tt.from}
		r.Apply(tt.e)
		if r.State != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, r.State, tt.want)
		}
	}
}
