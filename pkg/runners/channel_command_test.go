package runners

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pkg := `{"scripts":{"test":"npm run unit && eslint .","unit":"cross-env A=1 jest --ci","loop":"npm run loop"}}`
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(pkg), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"go test ./...": "go test ./...",
		"timeout -k 1 30 nice -n 5 pytest -q 'a b.py'": "pytest -q a b.py",
		"FOO=1 env BAR=2 python3 -X dev -m pytest x":   "pytest x",
		"python -m unittest discover":                  "unittest discover",
		"coverage run -m pytest -x":                    "pytest -x",
		"bundle exec rspec spec":                       "rspec spec",
		"npx --yes vitest run":                         "vitest run",
		"uv run pytest":                                "pytest",
		"npm test":                                     "jest --ci; eslint .",
		"npm test -- --fix":                            "jest --ci; eslint . --fix",
		"yarn unit":                                    "jest --ci",
		"npm run loop":                                 "npm run loop",
		"npm run nosuch":                               "npm run nosuch",
		"bash -c 'cargo test'":                         "cargo test",
		"cd sub && mocha | tee log; true":              "mocha; tee log; true",
		"for f in *.js; do node $f; done":              "node \x00",
		"echo \"pytest\"":                              "echo pytest",
		"if":                                           "",
		"./node_modules/.bin/jest":                     "jest",
		"bun test":                                     "bun test",
		"node -r x --experimental-vm-modules node_modules/jest/bin/jest.js a.js": "jest a.js",
		"node ../../node_modules/.bin/mocha --parallel":                          "mocha --parallel",
		"node test/run.js": "node test/run.js",
		"pnpm exec playwright test --project 'x y' 2>1": "playwright test --project x y",
	}
	for command, want := range tests {
		var got []string
		for _, p := range programs(command, dir, 0) {
			got = append(got, strings.TrimSpace(p.name+" "+strings.Join(p.args, " ")))
		}
		if g := strings.Join(got, "; "); g != want {
			t.Errorf("%s: %q, want %q", command, g, want)
		}
	}
}

// Scripts that npm runs around the one that was asked for are told, but no channel is for them.
func TestProgramsAroundScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pkg := `{"scripts":{"pretest":"npm ci","test":"jest"}}`
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(pkg), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range Programs("npm test -- -t x", dir) {
		got = append(got, p.Name+" "+strings.Join(p.Args, " "))
	}
	if g := strings.Join(got, "; "); g != "jest -t x; npm ci" {
		t.Error(g)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		`cd "/a b/c" && A="/x y" pytest 'd e' > "$HOME/out"`: "cd|/a b/c|/x y|pytest|d e|/home/u/out",
		`cd ~/p\ q; ls ~ "~/r" ${HOME}/s $OTHER`:             "cd|/home/u/p q|ls|/home/u|~/r|/home/u/s",
		`if`:                                                 "if",
	} {
		if got := strings.Join(Words(command, "/home/u"), "|"); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

func TestParseDiag(t *testing.T) {
	t.Parallel()
	tests := map[string]diag{
		"main.c:6:18: error: 'x' undeclared":          {"main.c", 6, 18, "error", "'x' undeclared"},
		"src/main.rs:10:18: error[E0308]: mismatched": {"src/main.rs", 10, 18, "error", "mismatched"},
		`C:\p\a.c:3:1: warning: w`:                    {`C:\p\a.c`, 3, 1, "warning", "w"},
		"A.java:6: error: ';' expected":               {"A.java", 6, 0, "error", "';' expected"},
		"a.py:5:12:5:13: error: bad":                  {"a.py", 5, 12, "error", "bad"},
		"./x.go:4:20: assignment mismatch":            {"./x.go", 4, 20, "", "assignment mismatch"},
		"my dir/a.c:1:2: fatal error: x.h: No such":   {"my dir/a.c", 1, 2, "fatal error", "x.h: No such"},
	}
	for line, want := range tests {
		if got, ok := parseDiag(line); !ok || got != want {
			t.Errorf("%q: %+v %v, want %+v", line, got, ok, want)
		}
	}
	for _, line := range []string{"", "12:30:05: started", "2026-01-01 12:00:00: x", "http://x:80: y", "[info] a:1: b", "  a.c:1:2: error: x", "plain text"} {
		if got, ok := parseDiag(line); ok {
			t.Errorf("%q read as %+v", line, got)
		}
	}
}
