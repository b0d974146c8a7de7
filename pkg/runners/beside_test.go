package runners_test

import (
	"strings"
	"testing"

	"legwork/pkg/runners"
)

const (
	jestOK    = "PASS test/math.test.js\nPASS test/str.test.js\n\nTest Suites: 2 passed, 2 total\nTests:       4 passed, 4 total\nSnapshots:   0 total\nTime:        0.7 s\nRan all test suites.\n"
	jestBad   = "FAIL test/math.test.js\n  ● adds\n\n    no\n\n      at Object.toBe (test/math.test.js:8:25)\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\nTime:        0.7 s\nRan all test suites.\n"
	pytestOK  = "============================= test session starts ==============================\ncollected 4 items\n\ntests/test_a.py ....                                                     [100%]\n\n============================== 4 passed in 0.10s ===============================\n"
	rspecOK   = "....\n\nFinished in 0.02148 seconds (files took 0.09751 seconds to load)\n4 examples, 0 failures\n\n"
	rspecBad  = ".F..\n\nFailures:\n\n  1) calc adds\n     Failure/Error: expect(add(-2, -3)).to eq(-5)\n\n       expected: -5\n            got: 7\n     # ./spec/calc_spec.rb:9:in `block (2 levels) in <top (required)>'\n\nFinished in 0.02148 seconds (files took 0.09751 seconds to load)\n4 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/calc_spec.rb:8 # calc adds\n\n"
	gtestOK   = "[==========] Running 1 test from 1 test suite.\n[----------] 1 test from A\n[ RUN      ] A.b\n[       OK ] A.b (0 ms)\n[----------] 1 test from A (0 ms total)\n\n[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 1 test.\n"
	minitest  = "Run options: --seed 1\n\n# Running:\n\n..\n\nFinished in 0.001s, 2000 runs/s, 2000 assertions/s.\n\n2 runs, 2 assertions, 0 failures, 0 errors, 0 skips\n"
	testunit  = "Loaded suite a\nStarted\nFinished in 0.001 seconds.\n-----\n2 tests, 2 assertions, 0 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications\n100% passed\n-----\n2000.00 tests/s, 2000.00 assertions/s\n"
	phpunitOK = "PHPUnit 10.5.1 by Sebastian Bergmann and contributors.\n\n..                                   2 / 2 (100%)\n\nTime: 00:00.003, Memory: 8.00 MB\n\nOK (2 tests, 2 assertions)\n"
	cargoOK   = "    Finished `test` profile [unoptimized] target(s) in 0.8s\n     Running unittests src/lib.rs (target/debug/deps/p-2f5c)\n\nrunning 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n"
	tscBad    = "src/a.ts(3,14): error TS2322: Type 'string' is not assignable to type 'number'.\n"
	eslintBad = "\n/p/a.js\n  2:5  error  'foo' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)\n\n"
	mypyBad   = "app.py:6: error: Incompatible return value type (got \"int\", expected \"str\")  [return-value]\nFound 1 error in 1 file (checked 1 source file)\n"
	ccBad     = "a.c:3:4: error: 'x' undeclared (first use in this function)\n"
	traceback = "Traceback (most recent call last):\n  File \"/w/migrate.py\", line 3, in <module>\n    main()\nRuntimeError: no database\n"
)

// D11: what another tool says before or after a test run, or beside a linter that
// found nothing, is not lost.
func TestBesideTests(t *testing.T) {
	t.Parallel()
	failed, build, cut, passed := runners.StateFailed, runners.StateBuildFailed, runners.StateDidNotFinish, runners.StatePassed
	tests := []struct {
		name, text string
		want       runners.State
		runner     string
		count      string // passed tests
		says       string // in a failure or error
	}{
		{"tsc; jest", tscBad + jestOK, build, "jest+tsc", "4", "TS2322"},
		{"jest; tsc", jestOK + tscBad, build, "jest+tsc", "4", "TS2322"},
		{"tsc; failing jest", tscBad + jestBad, build, "jest+tsc", "0", "TS2322"},
		{"pytest; mypy", pytestOK + mypyBad, build, "pytest+mypy", "4", "Incompatible"},
		{"cargo test; eslint", cargoOK + eslintBad, build, "cargo-test+eslint", "1", "'foo'"},
		{"rspec; jest", rspecBad + jestOK, failed, "jest+rspec", "7", "got: 7"},
		{"tsc; rspec", tscBad + rspecOK, build, "rspec+tsc", "4", "TS2322"},
		{"rspec; tsc", rspecOK + tscBad, build, "rspec+tsc", "4", "TS2322"},
		{"cc; gtest", ccBad + gtestOK, build, "googletest+cc", "1", "'x' undeclared"},
		{"minitest; eslint", minitest + eslintBad, build, "minitest+eslint", "2", "'foo'"},
		{"eslint; test-unit", eslintBad + testunit, build, "test-unit+eslint", "2", "'foo'"},
		{"phpunit; eslint", phpunitOK + eslintBad, build, "phpunit+eslint", "2", "'foo'"},
		{"tsc; pytest; mypy", tscBad + pytestOK + mypyBad, build, "tsc+pytest+mypy", "4", "TS2322"},
		{"a closing line; jest", "✖ 5 problems (4 errors, 1 warning)\n\n" + jestOK, build, "jest+eslint", "4", "4 errors"},
		{"crash; pytest", traceback + pytestOK, cut, "pytest+python", "4", "no database"},
		{"go vet; go test", "# example.com/p\n./a.go:9:2: unreachable code\nok  \texample.com/p\t0.002s\n", build, "go-test", "-", "unreachable"},
		{"go test; go vet", "ok  \texample.com/p\t0.002s\n# example.com/q\n./a.go:9:2: unreachable code\n", build, "go-test", "-", "unreachable"},
		{"clean mypy; ruff", "Success: no issues found in 3 source files\napp.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n", build, "mypy+ruff", "-", "F401"},
		{"eslint without errors; prettier", "✖ 1 problem (0 errors, 1 warning)\n\n[warn] a.js\n[warn] Code style issues found in the above file. Run Prettier with --write to fix.\n", build, "eslint+prettier", "-", "not formatted"},

		{"a clean linter; jest", "✖ 1 problem (0 errors, 1 warning)\n\n" + jestOK, passed, "jest", "4", ""},
		{"a compiler's warning; gtest", "a.c:3:4: warning: unused variable 'x'\n" + gtestOK, passed, "googletest", "1", ""},
		{"a C warning in go test", "# example.com/p\n./a.c:3:4: warning: unused variable\nok  \texample.com/p\t0.002s\n", passed, "go-test", "-", ""},
		{"a log with positions; go test", "main.go:12: listening on :8080\nok  \texample.com/p\t0.002s\n", passed, "go-test", "-", ""},
		{"a trace in a log; pytest", traceback + "INFO retry\nINFO connected\nINFO ready\n" + pytestOK, passed, "pytest", "4", ""},
		{"a cleanup that failed; pytest", pytestOK + "Exception ignored in: <function f at 0x1>\n" + traceback, passed, "pytest", "4", ""},
		{"printed by a test", strings.Replace(jestOK, "\n\n", "\n  console.log\n"+tscBad+rspecBad+"\n", 1), passed, "jest", "4", ""},
		{"make around failing jest", jestBad + "make: *** [Makefile:3: ci] Error 1\n", failed, "jest", "0", ""},
	}
	zero := 0
	for _, tt := range tests {
		for _, code := range []*int{&zero, nil} {
			r := runners.Parse([]byte(tt.text), runners.Hint{Exit: code})
			if r.State != tt.want || r.Runner != tt.runner || count(r.Tests.Passed) != tt.count {
				t.Errorf("%s (exit known %v): %s by %q, %s passed; want %s by %q, %s passed", tt.name, code != nil, r.State, r.Runner, count(r.Tests.Passed), tt.want, tt.runner, tt.count)
			}
			if !strings.Contains(render(r), tt.says) {
				t.Errorf("%s: %q is not in\n%s", tt.name, tt.says, render(r))
			}
		}
	}
}

// D11: so it is beside each runner's passed run of the corpus, and a tool that
// complains of nothing changes nothing.
func TestBesideEveryRunner(t *testing.T) {
	t.Parallel()
	zero := 0
	const rust = "error: could not compile `p` (bin \"p\") due to 1 previous error\n"
	for _, r := range records(t) {
		want := runners.Parse(r.out, runners.Hint{Exit: &zero})
		// Those named have no last line of their own.
		if want.State != runners.StatePassed || strings.HasPrefix(r.name, "node-test__skip-todo__") || r.name == "pytest__all-pass__qq" {
			continue
		}
		text := string(r.out) + "\n"
		for _, s := range []string{tscBad + text, mypyBad + text, text + tscBad, text + eslintBad, text + rust} {
			if got := runners.Parse([]byte(s), runners.Hint{Exit: &zero}); got.State != runners.StateBuildFailed {
				t.Errorf("%s: %s by %q beside %.40q…", r.name, got.State, got.Runner, s)
			}
		}
		const warned = "\n/p/a.js\n  2:5  warning  'foo' is not defined  no-undef\n\n✖ 1 problem (0 errors, 1 warning)\n\n"
		for _, s := range []string{warned + text, text + warned} {
			if got := runners.Parse([]byte(s), runners.Hint{Exit: &zero}); got.State != want.State || count(got.Tests.Passed) != count(want.Tests.Passed) {
				t.Errorf("%s beside a clean linter: %s by %q, %s passed, %.40q…", r.name, got.State, got.Runner, count(got.Tests.Passed), s)
			}
		}
	}
}
