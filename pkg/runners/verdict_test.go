package runners_test

import (
	"testing"

	"legwork/pkg/runners"
)

// D11: the end of a tool's output, seen through "| tail", holds its word of failure
// and not the errors; exit code 0 is that of tail.
func TestClosingLine(t *testing.T) {
	t.Parallel()
	failed, passed, unknown := runners.StateBuildFailed, runners.StatePassed, runners.StateUnknown
	tests := []struct {
		text      string
		exit0     runners.State
		noExit    runners.State
		wantError string
	}{
		{"For more information about this error, try `rustc --explain E0308`.\nerror: could not compile `p` (bin \"p\") due to 1 previous error\n", failed, failed, "error: could not compile `p` (bin \"p\") due to 1 previous error"},
		{"  --> src/main.rs:10:18\nerror: aborting due to 3 previous errors\n", failed, failed, "error: aborting due to 3 previous errors"},
		{"✖ 5 problems (4 errors, 1 warning)\n\n", failed, failed, "✖ 5 problems (4 errors, 1 warning)"},
		{"✖ 5 problems (4 errors, 1 warning)\n\n\n✖ 1 problem (0 errors, 1 warning)\n\n", failed, failed, "✖ 5 problems (4 errors, 1 warning)"},
		{"✖ 1 problem (0 errors, 1 warning)\n", passed, passed, ""},
		{"a.js: line 3, col 4, Warning - x (y)\n\n5 problems\n", unknown, unknown, ""},
		{`[{"filePath":"/a.js","messages":[],"errorCount":0,"fatalErrorCount":0}]` + "\n", passed, passed, ""},
		{`"messages":[],"errorCount":0,"fatalErrorCount":0,"filePath":"/a.js"}]` + "\n", runners.StateDidNotFinish, runners.StateDidNotFinish, ""},
		{"12 errors, 0 warnings, 0 informations \n", failed, failed, "12 errors, 0 warnings, 0 informations"},
		{"0 errors, 3 warnings, 0 informations \n", passed, passed, ""},
		{`{"generalDiagnostics": [], "summary": {"errorCount": 0}}` + "\n", passed, passed, ""},
		{"12 files inspected, 5 offenses detected, 3 offenses autocorrectable\n", failed, failed, "12 files inspected, 5 offenses detected, 3 offenses autocorrectable"},
		{"12 files inspected, 5 offenses detected, 5 offenses corrected\n", passed, passed, ""},
		{"12 files inspected, no offenses detected\n", passed, passed, ""},
		{"12 issues:\n* errcheck: 10\n* unused: 2\n", failed, failed, "12 issues:"},
		{"0 issues.\n", passed, passed, ""},
		{"[warn] Code style issues found in 12 files. Run Prettier with --write to fix.\n", failed, failed, "[warn] Code style issues found in 12 files. Run Prettier with --write to fix."},
		{"ninja: build stopped: subcommand failed.\n", failed, failed, "ninja: build stopped: subcommand failed."},
		{"collect2: error: ld returned 1 exit status\n", failed, failed, "collect2: error: ld returned 1 exit status"},
		{"clang: error: linker command failed with exit code 1 (use -v to see invocation)\n", failed, failed, "linker command failed with exit code 1 (use -v to see invocation)"},
		{"1 warning and 2 errors generated.\n", failed, failed, "1 warning and 2 errors generated."},
		{"a.c:3:4: warning: unused variable 'x'\n", passed, unknown, ""},
		{"-- Configuring incomplete, errors occurred!\n", failed, failed, "-- Configuring incomplete, errors occurred!"},
		{"webpack 5.90.1 compiled with 3 errors in 512 ms\n", failed, failed, "webpack 5.90.1 compiled with 3 errors in 512 ms"},
		{"webpack 5.90.1 compiled with 1 warning in 512 ms\n", passed, passed, ""},
		{"vite v8.4.0 building client environment for production...\ntransforming...\n", unknown, unknown, ""},
		{"------\nYour code has been rated at 3.20/10 (previous run: 3.20/10, +0.00)\n", failed, failed, "Your code has been rated at 3.20/10 (previous run: 3.20/10, +0.00)"},
		{"Your code has been rated at 10.00/10\n", passed, passed, ""},
		{"Found 4 errors in 1 file (checked 1 source file)\n", failed, failed, "Found 4 errors in 1 file (checked 1 source file)"},
		{"Oh no!\n1 file would fail to reformat, 2 files would be left unchanged.\n", failed, failed, "1 file would fail to reformat, 2 files would be left unchanged."},
		{"2 files would be left unchanged.\n", passed, passed, ""},
	}
	zero := 0
	for _, tt := range tests {
		for code, want := range map[*int]runners.State{&zero: tt.exit0, nil: tt.noExit} {
			r := runners.Parse([]byte(tt.text), runners.Hint{Exit: code})
			if r.State != want {
				t.Errorf("%q, exit known %v: %s by %q, want %s", tt.text, code != nil, r.State, r.Runner, want)
			}
			if tt.wantError != "" && (len(r.BuildErrors) != 1 || r.BuildErrors[0].Message != tt.wantError) {
				t.Errorf("%q: errors %+v, want the closing line", tt.text, r.BuildErrors)
			}
		}
	}
}

// D10: the exit code behind a pipe is not the compiler's.
func TestSilentBehindPipe(t *testing.T) {
	t.Parallel()
	zero := 0
	for command, want := range map[string]runners.State{
		"cc -c a.c":                runners.StatePassed,
		"cc -c a.c && cc -c b.c":   runners.StatePassed,
		"cc -c a.c 2>&1 | head -3": runners.StateUnknown,
		"cc -c a.c; echo done":     runners.StateUnknown,
	} {
		r := runners.Parse([]byte("a.c:3:4: warning: unused variable 'x'\n"), runners.Hint{Command: command, Exit: &zero})
		if r.State != want {
			t.Errorf("%s: %s, want %s", command, r.State, want)
		}
	}
}
