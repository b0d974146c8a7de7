package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"legwork/pkg/cli"
	"legwork/pkg/llm/llmtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"legwork": func() {
			os.Exit(cli.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// modelAnswer is what the model of the scripts says, whatever it is asked.
const modelAnswer = "It could not bind to port 7443."

// TestScript runs the sessions under testdata/script. Each has a home of its own, and no model server:
// LEGWORK_LOCAL_SERVERS is none; a script that wants one sets it to $MODEL, a fake server with a window of 2,048 tokens.
func TestScript(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLlamaServer(t, llmtest.Config{Window: 2048, Answer: func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: modelAnswer} }})
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("LEGWORK_CONFIG_HOME", filepath.Join(e.WorkDir, "home", "config"))
			e.Setenv("LEGWORK_STATE_HOME", filepath.Join(e.WorkDir, "home", "state"))
			e.Setenv("LEGWORK_LOCAL_SERVERS", "none")
			e.Setenv("MODEL", model.URL)
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    cmdExits,
			"jsonhas":  cmdJSONHas,
			"jsonkeys": cmdJSONKeys,
			"gone":     cmdGone,
		},
	})
}

// exits CODE COMMAND ARGS... runs a command and compares its exit code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		if _, e := fmt.Sscanf(err.Error(), "exit status %d", &got); e != nil {
			ts.Fatalf("%v", err)
		}
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// jsonhas PATH VALUE looks at the last stdout: keys separated by dots, numbers for list places.
func cmdJSONHas(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: jsonhas PATH VALUE")
	}
	v := jsonAt(ts, args[0])
	if got := fmt.Sprint(v); (got == args[1]) == neg {
		ts.Fatalf("%s is %s, want %s (negated: %v)", args[0], got, args[1], neg)
	}
}

// gone FILE waits until the process whose pid stands in FILE is no more.
func cmdGone(ts *testscript.TestScript, _ bool, args []string) {
	pid := strings.TrimSpace(ts.ReadFile(args[0]))
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		if err != nil || bytes.Contains(b, []byte(") Z")) {
			return
		}
	}
	ts.Fatalf("process %s still lives", pid)
}

// jsonAt is what stands at a path of the last stdout; the empty path is all of it.
func jsonAt(ts *testscript.TestScript, path string) any {
	dec := json.NewDecoder(bytes.NewReader([]byte(ts.ReadFile("stdout"))))
	dec.UseNumber()
	var v any
	ts.Check(dec.Decode(&v))
	for key := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			if key != "" {
				v = x[key]
			}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				ts.Fatalf("%s: no element %q among %d", path, key, len(x))
			}
			v = x[i]
		default:
			v = nil
		}
	}
	return v
}

// jsonkeys [-in=PATH] KEY... wants all these keys in an object of the last stdout.
func cmdJSONKeys(ts *testscript.TestScript, neg bool, args []string) {
	path := ""
	if len(args) > 0 {
		if in, ok := strings.CutPrefix(args[0], "-in="); ok {
			path, args = in, args[1:]
		}
	}
	obj, ok := jsonAt(ts, path).(map[string]any)
	if !ok || neg {
		ts.Fatalf("%q is no object, or negated", path)
	}
	for _, k := range args {
		if _, ok := obj[k]; !ok {
			ts.Fatalf("%q has no key %q", path, k)
		}
	}
}
