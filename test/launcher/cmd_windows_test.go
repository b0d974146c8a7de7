package launcher_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// speaks marks the copies of this test program that play legwork.exe: they say its value and their arguments.
const speaks = "LEGWORK_TEST_SPEAKS"

func TestMain(m *testing.M) {
	if name := os.Getenv(speaks); name != "" {
		fmt.Println(name, filepath.Base(os.Args[0]))
		for _, a := range os.Args[1:] {
			fmt.Printf("<%s>\n", a)
		}
		os.Exit(7)
	}
	os.Exit(m.Run())
}

// batch is a project with legwork.cmd, in a folder with blanks and brackets in its name.
type batch struct {
	t    *testing.T
	root string
	env  []string
}

func newBatch(t *testing.T) *batch {
	t.Helper()
	b := &batch{t: t, root: filepath.Join(t.TempDir(), "my plug in (1)")}
	script, err := os.ReadFile(`..\..\bin\legwork.cmd`)
	if err != nil {
		t.Fatal(err)
	}
	b.write(`bin\legwork.cmd`, script)
	cache := filepath.Join(t.TempDir(), "cache")
	b.env = append(os.Environ(), speaks+"=it is", "LOCALAPPDATA="+cache, "LEGWORK_BIN=") // set to nothing is not set
	return b
}

func (b *batch) write(name string, data []byte) string {
	b.t.Helper()
	path := filepath.Join(b.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o755); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// program puts a copy of this test program at name.
func (b *batch) program(name string) string {
	b.t.Helper()
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.write(name, data)
}

func (b *batch) run(args ...string) (stdout, stderr string, code int) {
	b.t.Helper()
	cmd := exec.Command(filepath.Join(b.root, `bin\legwork.cmd`), args...)
	cmd.Env, cmd.Dir = b.env, `C:\`
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), errs.String(), cmd.ProcessState.ExitCode()
}

func TestBatchRunsPrebuilt(t *testing.T) {
	b := newBatch(t)
	b.program(`bin\prebuilt\legwork-windows-amd64.exe`)
	out, errs, code := b.run("offload", "a  b", "(c)", "", "--x=1")
	want := "it is legwork-windows-amd64.exe\n<offload>\n<a  b>\n<(c)>\n<>\n<--x=1>\n"
	if out != want || code != 7 {
		t.Errorf("got %q, status %d, want %q; stderr %q", out, code, want, errs)
	}
}

func TestBatchWithoutABinary(t *testing.T) {
	b := newBatch(t)
	out, errs, code := b.run("version")
	if out != "" || code != 1 || !strings.Contains(errs, "no binary for windows-") || !strings.Contains(errs, "LEGWORK_BIN") {
		t.Errorf("%q, status %d, %q", out, code, errs)
	}
	if out, errs, code := b.run("hook", "session-start"); out != "" || errs != "" || code != 0 {
		t.Errorf("a session start: %q, status %d, %q", out, code, errs)
	}
}

func TestBatchOverride(t *testing.T) {
	b := newBatch(t)
	b.program(`bin\prebuilt\legwork-windows-amd64.exe`)
	own := b.program(`my own.exe`)
	b.env = append(b.env, "LEGWORK_BIN="+own)
	if out, errs, code := b.run("mcp"); out != "it is my own.exe\n<mcp>\n" || code != 7 {
		t.Errorf("%q, status %d, %q", out, code, errs)
	}
	b.env = append(b.env, `LEGWORK_BIN=C:\no such\file.exe`)
	if out, errs, code := b.run("mcp"); out != "" || code != 1 || !strings.Contains(errs, "LEGWORK_BIN is") {
		t.Errorf("%q, status %d, %q", out, code, errs)
	}
}
