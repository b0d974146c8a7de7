//go:build linux || darwin

package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("PROC_TEST_ROLE") != "" {
		playRole(os.Getenv("PROC_TEST_ROLE"))
	}
	goleak.VerifyTestMain(m)
}

// playRole lets the test binary be the server whose death is tested.
func playRole(role string) {
	spec := Spec{Shell: "echo $$; exec sleep 600", Stdout: os.Stdout}
	switch role {
	case "parent": // dies by SIGKILL while its child lives
		_, _ = Run(context.Background(), spec)
	case "server": // the same with a grandchild, and a record
		g := &Group{Dir: os.Getenv("PROC_TEST_DIR")}
		spec.Shell = "sleep 600 & echo $!; wait"
		_, _ = g.Run(context.Background(), spec)
	default:
		os.Exit(2)
	}
	os.Exit(0)
}

// run is Run for tests: it must not fail to start.
func run(t *testing.T, spec Spec) (Exit, string) {
	t.Helper()
	var out syncBuffer
	spec.Stdout, spec.Stderr = &out, &out
	exit, err := Run(t.Context(), spec)
	if err != nil {
		t.Fatalf("run %q: %v", spec.Shell, err)
	}
	return exit, out.String()
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

func pidIn(t *testing.T, path string) Identity {
	t.Helper()
	var id Identity
	eventually(t, path+" is written", func() bool {
		b, err := os.ReadFile(path)
		pid, err2 := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil || err2 != nil {
			return false
		}
		id, _ = Find(pid)
		return true
	})
	return id
}

func TestExitD11(t *testing.T) {
	t.Parallel()
	notExec := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notExec, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		spec Spec
		code int
		text string
		ok   bool
	}{
		{Spec{Shell: "exit 0"}, 0, "exit 0", true},
		{Spec{Shell: "exit 7"}, 7, "exit 7", false},
		{Spec{Shell: "kill -9 $$"}, 137, "killed by SIGKILL", false},
		{Spec{Shell: "kill -TERM $$"}, 143, "killed by SIGTERM", false},
		{Spec{Shell: "sh -c 'kill -9 $$'; exit $?"}, 137, "exit 137 (128+SIGKILL: a command in it was killed)", false},
		{Spec{Shell: "no-such-program-here"}, 127, "exit 127 (command not found)", false},
		{Spec{Argv: []string{"no-such-program-here"}}, 127, "exit 127 (command not found)", false},
		{Spec{Argv: []string{"/no/such/program"}}, 127, "exit 127 (command not found)", false},
		{Spec{Argv: []string{notExec}}, 126, "exit 126 (found, but cannot be executed)", false},
		{Spec{Shell: notExec}, 126, "exit 126 (found, but cannot be executed)", false},
		{Spec{Argv: []string{"sh", "-c", "exit 3"}}, 3, "exit 3", false},
		{Spec{Argv: []string{"sh", "-c", "exit 137"}}, 137, "exit 137", false},
	}
	for _, c := range cases {
		exit, out := run(t, c.spec)
		if exit.Code != c.code || exit.String() != c.text || exit.OK() != c.ok {
			t.Errorf("%q %q: got %d, %q, ok %v; want %d, %q, ok %v (output %q)", c.spec.Shell, c.spec.Argv, exit.Code,
				exit.String(), exit.OK(), c.code, c.text, c.ok, out)
		}
	}
}

func TestBadSpec(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]Spec{
		"empty": {}, "blank": {Shell: " \n"}, "both": {Shell: "true", Argv: []string{"true"}},
		"no folder": {Shell: "true", Dir: "/no/such/folder"}, "no program": {Argv: []string{""}},
		"two inputs": {Shell: "true", Stdin: strings.NewReader(""), StdinPipe: true},
	} {
		if exit, err := Run(t.Context(), spec); !errors.Is(err, ErrSpec) || exit.OK() {
			t.Errorf("%s: %v, %v", name, exit, err)
		}
	}
	if _, err := Run(t.Context(), Spec{Argv: []string{"echo", strings.Repeat("x", 5<<20)}}); err == nil {
		t.Error("an argument too long for the system gave no error")
	}
}

func TestBackgroundD01(t *testing.T) {
	t.Parallel()
	for name, shell := range map[string]string{
		"holds the pipe":   "sleep 300 & echo $! >pid; echo hi",
		"holds nothing":    "sleep 300 >/dev/null 2>&1 & echo $! >pid; echo hi",
		"own group":        "set -m; sleep 300 >/dev/null 2>&1 & echo $! >pid; echo hi",
		"ignores TERM":     "(trap '' TERM HUP; sleep 300) & echo $! >pid; echo hi",
		"prints for ever":  "(while :; do echo noise; sleep 0.01; done) & echo $! >pid; echo hi",
		"session, pipe":    "setsid sh -c 'echo $$ >pid; exec sleep 300' & until test -s pid; do :; done; echo hi",
		"killed from here": "(sleep 300 & echo $! >pid); echo hi",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(shell, "setsid") && !has("setsid") {
				t.Skip("there is no setsid program")
			}
			dir := t.TempDir()
			began := time.Now()
			exit, out := run(t, Spec{Shell: shell, Dir: dir})
			if exit.Code != 0 || !strings.Contains(out, "hi\n") || !exit.Background {
				t.Errorf("got %+v, output %q", exit, out)
			}
			if took := time.Since(began); took > 60*time.Second {
				t.Errorf("returned only after %v", took)
			}
			if id := pidIn(t, filepath.Join(dir, "pid")); id.PID != 0 {
				eventually(t, "the background process is gone", func() bool { return !Alive(id) })
			}
		})
	}
}

func TestLateOutputIsKept(t *testing.T) {
	t.Parallel()
	exit, out := run(t, Spec{Shell: "(sleep 0.05; echo late) & echo early"})
	if !strings.Contains(out, "early\n") || !strings.Contains(out, "late\n") {
		t.Errorf("%+v %q", exit, out)
	}
}

func TestDaemonStays(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || !has("setsid") {
		t.Skip("needs the setsid program of Linux")
	}
	dir := t.TempDir()
	exit, _ := run(t, Spec{Dir: dir, Shell: "setsid sh -c 'echo $$ >pid; exec sleep 300' >/dev/null 2>&1 </dev/null &\n" +
		"until test -s pid; do :; done"})
	id := pidIn(t, filepath.Join(dir, "pid"))
	if !Alive(id) || exit.Daemons != 1 || exit.Background || len(exit.Notes()) != 1 {
		t.Errorf("daemon alive %v, %+v", Alive(id), exit)
	}
	if n, err := KillTree(id); n != 1 || err != nil {
		t.Errorf("KillTree: %d, %v", n, err)
	}
	eventually(t, "the daemon is gone", func() bool { return !Alive(id) })
}

func TestTimeoutD02(t *testing.T) {
	t.Parallel()
	for name, shell := range map[string]string{
		"plain":        "echo ready; echo $$ >pid; sleep 999",
		"ignores TERM": "trap '' TERM; echo ready; echo $$ >pid; while :; do sleep 1; done",
		"grandchild":   "echo ready; sh -c 'trap \"\" TERM; echo $$ >pid; while :; do sleep 1; done'",
		"own session":  "echo ready; setsid sh -c 'trap \"\" TERM; echo $$ >pid; sleep 999; :' & wait",
		"no mark":      "echo ready; setsid env -i /bin/sh -c 'echo $$ >pid; sleep 999; :'",
		"prints":       "echo ready; echo $$ >pid; while :; do echo more; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(shell, "setsid") && !has("setsid") {
				t.Skip("there is no setsid program")
			}
			dir := t.TempDir()
			exit, out := run(t, Spec{Shell: shell, Dir: dir, Timeout: time.Second, Grace: 100 * time.Millisecond})
			if !exit.TimedOut || exit.OK() || exit.String() != "timed out after 1s" || exit.Cancelled {
				t.Errorf("got %+v", exit)
			}
			if !strings.HasPrefix(out, "ready\n") {
				t.Errorf("output lost: %q", out)
			}
			if id := pidIn(t, filepath.Join(dir, "pid")); id.PID != 0 {
				eventually(t, "everything is gone", func() bool { return !Alive(id) })
			}
		})
	}
}

func TestCancelB05(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Start(ctx, Spec{Shell: "sleep 600 & echo $! >pid; wait", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	worker := pidIn(t, filepath.Join(dir, "pid"))
	cancel()
	exit := p.Wait()
	if !exit.Cancelled || exit.String() != "cancelled" || Alive(worker) || Alive(p.Identity()) {
		t.Errorf("%+v, worker alive %v", exit, Alive(worker))
	}
	if exit, err := Run(ctx, Spec{Shell: "true"}); err != nil || !exit.Cancelled {
		t.Errorf("started on an ended context: %+v, %v", exit, err)
	}
}

func TestStopSequence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out syncBuffer
	p, err := Start(t.Context(), Spec{
		Dir: dir, Stdout: &out, Interrupt: true,
		Shell: "trap 'echo int' INT; trap 'echo term; exit 4' TERM; echo $$ >pid; while :; do sleep 0.05; done",
		Grace: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	pidIn(t, filepath.Join(dir, "pid"))
	p.Stop()
	if exit := p.Wait(); out.String() != "int\nterm\n" || exit.Code != 4 || !exit.Cancelled {
		t.Errorf("%+v %q", exit, out.String())
	}
}

func TestGroupKillG04(t *testing.T) {
	t.Parallel()
	var g Group
	dir := t.TempDir()
	var ids []Identity
	var ps []*Process
	for i := range 4 {
		sub := filepath.Join(dir, strconv.Itoa(i))
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		p, err := g.Start(t.Context(), Spec{
			Dir: sub, Grace: time.Hour,
			Shell: "trap '' TERM INT; sh -c 'trap \"\" TERM; echo $$ >pid; sleep 600; :'; :",
		})
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
		ids = append(ids, p.Identity(), pidIn(t, filepath.Join(sub, "pid")))
	}
	if g.Len() != 4 {
		t.Errorf("%d in the group", g.Len())
	}
	g.Kill()
	for _, p := range ps {
		if exit := p.Wait(); exit.Signal != "SIGKILL" {
			t.Errorf("%+v", exit)
		}
	}
	for _, id := range ids {
		eventually(t, "the group is gone", func() bool { return !Alive(id) })
	}
	if _, err := g.Start(t.Context(), Spec{Shell: "true"}); !errors.Is(err, ErrShutdown) {
		t.Errorf("a killed group started a child: %v", err)
	}
	if g.Len() != 0 {
		t.Errorf("%d left in the group", g.Len())
	}
}

func TestShutdownSkipsGrace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := Start(ctx, Spec{Dir: dir, Grace: time.Hour, Shell: "trap '' TERM; echo $$ >pid; while :; do sleep 1; done"})
	if err != nil {
		t.Fatal(err)
	}
	pidIn(t, filepath.Join(dir, "pid"))
	cancel(ErrShutdown)
	if exit := p.Wait(); exit.Signal != "SIGKILL" || !exit.Cancelled {
		t.Errorf("%+v", exit)
	}
}

func TestParentKilledB08(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a parent-death signal")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "PROC_TEST_ROLE=parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	id, ok := Find(pid)
	if !ok {
		t.Fatal("the child is not there")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, "the child died with its parent", func() bool { return !Alive(id) })
}

func TestSweepAfterCrashB08(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "children")
	if n, err := Sweep(dir); n != 0 || err != nil {
		t.Errorf("no folder: %d, %v", n, err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "PROC_TEST_ROLE=server", "PROC_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	worker, ok := Find(pid)
	if !ok {
		t.Fatal("the worker is not there")
	}
	eventually(t, "the child is recorded", func() bool { e, _ := os.ReadDir(dir); return len(e) == 1 })
	if n, err := Sweep(dir); n != 0 || err != nil || !Alive(worker) {
		t.Errorf("a living server's child was swept: %d, %v", n, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if n, err := Sweep(dir); n == 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	eventually(t, "the worker is gone", func() bool { return !Alive(worker) })
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("records left: %v", left)
	}
}

func TestGroupForgets(t *testing.T) {
	t.Parallel()
	g := &Group{Dir: filepath.Join(t.TempDir(), "children")}
	p, err := g.Start(t.Context(), Spec{Argv: []string{"cat"}, StdinPipe: true})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(g.Dir); len(left) != 1 || err != nil {
		t.Errorf("records: %v, %v", left, err)
	}
	_ = p.Stdin.Close()
	p.Wait()
	if left, err := os.ReadDir(g.Dir); len(left) != 0 || err != nil {
		t.Errorf("records left: %v, %v", left, err)
	}
}

func TestDeadlineOfTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	exit, err := Run(ctx, Spec{Shell: "sleep 600"})
	if err != nil || !exit.TimedOut || exit.Cancelled || !strings.HasPrefix(exit.String(), "timed out after ") {
		t.Errorf("%+v, %v", exit, err)
	}
}

// A writer that is slower than the child must still get everything, also after the child's end.
func TestSlowWriter(t *testing.T) {
	t.Parallel()
	slow := &slowWriter{}
	exit, err := Run(t.Context(), Spec{Shell: "head -c 400000 /dev/zero", Stdout: slow})
	if err != nil || exit.Held || exit.Background || slow.n != 400_000 {
		t.Errorf("%+v, %v, %d bytes", exit, err, slow.n)
	}
}

type slowWriter struct{ n int }

func (s *slowWriter) Write(p []byte) (int, error) {
	time.Sleep(400 * time.Millisecond)
	s.n += len(p)
	return len(p), nil
}

func TestKillTreeAfterCrashB08(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := Start(t.Context(), Spec{Shell: "sleep 600 & echo $! >pid; wait", Dir: dir, Grace: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	worker := pidIn(t, filepath.Join(dir, "pid"))
	// The main process alone dies, as when only its parent-death signal came: its worker stays, for a moment.
	stranger := Identity{PID: p.Identity().PID, Start: p.Identity().Start + 1}
	if n, err := KillTree(stranger); n != 0 || err != nil {
		t.Errorf("another process with the pid: killed %d, %v", n, err)
	}
	if !Alive(worker) || !Alive(p.Identity()) {
		t.Error("a stranger's sweep killed our processes")
	}
	if n, err := KillTree(p.Identity()); n != 2 || err != nil {
		t.Errorf("killed %d, %v; want 2", n, err)
	}
	p.Wait()
	eventually(t, "the worker is gone", func() bool { return !Alive(worker) })
	if n, err := KillTree(p.Identity()); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
	if _, err := KillTree(Identity{}); err == nil {
		t.Error("the zero identity was accepted")
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	self := Self()
	got, err := ParseIdentity(self.String())
	if err != nil || got != self || !Alive(self) || self.PID != os.Getpid() {
		t.Errorf("%v %v %v", self, got, err)
	}
	if Alive(Identity{PID: self.PID, Start: self.Start + 1}) || Alive(Identity{}) {
		t.Error("somebody else counts as alive")
	}
	for _, bad := range []string{"", "1", "x.y", "-1.2", "1.2.3"} {
		if id, err := ParseIdentity(bad); err == nil {
			t.Errorf("%q read as %v", bad, id)
		}
	}
}

func TestNoTerminalStdinNullG06(t *testing.T) {
	t.Parallel()
	exit, out := run(t, Spec{Shell: "cat; (: </dev/tty) 2>/dev/null || echo no terminal; ps -o pgid= -p $$ | tr -d ' '; echo $$"})
	lines := strings.Fields(out)
	if exit.Code != 0 || !strings.HasPrefix(out, "no terminal\n") || len(lines) != 4 || lines[2] != lines[3] {
		t.Errorf("%v %q", exit, out)
	}
}

func TestMergedOrderAndSeparate(t *testing.T) {
	t.Parallel()
	_, out := run(t, Spec{Shell: "for i in 1 2 3; do echo o$i; echo e$i >&2; done"})
	if out != "o1\ne1\no2\ne2\no3\ne3\n" {
		t.Errorf("order lost: %q", out)
	}
	var o, e syncBuffer
	if _, err := Run(t.Context(), Spec{Shell: "echo o; echo e >&2", Stdout: &o, Stderr: &e}); err != nil {
		t.Fatal(err)
	}
	if o.String() != "o\n" || e.String() != "e\n" {
		t.Errorf("%q %q", o.String(), e.String())
	}
}

type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestFailingWriterDoesNotStopTheChild(t *testing.T) {
	t.Parallel()
	exit, err := Run(t.Context(), Spec{Shell: "head -c 5000000 /dev/zero; exit 3", Stdout: &failing{left: 1}})
	if err != nil || exit.Code != 3 || exit.OutputErr == nil || len(exit.Notes()) != 1 {
		t.Errorf("%+v, %v", exit, err)
	}
}

type counter struct {
	n    int64
	last []byte
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	c.last = append(c.last, p[max(0, len(p)-16):]...)
	c.last = c.last[max(0, len(c.last)-16):]
	return len(p), nil
}

func TestBigOutputD04(t *testing.T) {
	t.Parallel()
	var c counter
	exit, err := Run(t.Context(), Spec{Shell: "yes | head -c 100000000; echo the-very-end; exit 5", Stdout: &c})
	if err != nil || exit.Code != 5 || c.n != 100_000_000+13 || !strings.HasSuffix(string(c.last), "the-very-end\n") {
		t.Errorf("%+v, %v, %d bytes, end %q", exit, err, c.n, c.last)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapSys > 100<<20 {
		t.Errorf("heap of %d MiB", m.HeapSys>>20)
	}
}

func TestStdin(t *testing.T) {
	t.Parallel()
	exit, out := run(t, Spec{Argv: []string{"cat"}, Stdin: strings.NewReader(strings.Repeat("x", 200_000))})
	if exit.Code != 0 || len(out) != 200_000 {
		t.Errorf("%v, %d bytes", exit, len(out))
	}
	if exit, _ := run(t, Spec{Shell: "exit 3", Stdin: strings.NewReader(strings.Repeat("x", 1<<20))}); exit.Code != 3 {
		t.Errorf("a child that reads nothing: %v", exit)
	}
	var got syncBuffer
	p, err := Start(t.Context(), Spec{Argv: []string{"cat"}, StdinPipe: true, Stdout: &got})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(p.Stdin, "one\n")
	eventually(t, "the first line is back", func() bool { return got.String() == "one\n" })
	_, _ = io.WriteString(p.Stdin, "two\n")
	_ = p.Stdin.Close()
	if exit := p.Wait(); !exit.OK() || got.String() != "one\ntwo\n" {
		t.Errorf("%+v %q", exit, got.String())
	}
}

func TestEnvironmentC18(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := CleanEnv(append(os.Environ(), "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere/i", "GIT_PREFIX=x/", "KEEP=me"))
	exit, out := run(t, Spec{
		Dir: dir, Env: env,
		Shell: `echo "$KEEP $GIT_DIR$GIT_INDEX_FILE$GIT_PREFIX $GIT_TERMINAL_PROMPT"; echo "$PWD"; test -n "$_LEGWORK_CALL"`,
	})
	if want := "me  0\n" + dir + "\n"; exit.Code != 0 || out != want {
		t.Errorf("%v %q, want %q", exit, out, want)
	}
	if !has("git") {
		return
	}
	var names syncBuffer
	if _, err := Run(t.Context(), Spec{Argv: []string{"git", "rev-parse", "--local-env-vars"}, Stdout: &names}); err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(names.String()) {
		if cleaned := CleanEnv([]string{name + "=x"}); len(cleaned) != 1 {
			t.Errorf("%s is handed on", name)
		}
	}
}

func TestLookPathUsesTheChildsPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prog := filepath.Join(dir, "only-here")
	if err := os.WriteFile(prog, []byte("#!/bin/sh\necho found\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if exit, out := run(t, Spec{Argv: []string{"only-here"}, Env: []string{"PATH=" + dir}}); out != "found\n" {
		t.Errorf("%v %q", exit, out)
	}
	if exit, out := run(t, Spec{Argv: []string{"./only-here"}, Dir: dir}); out != "found\n" {
		t.Errorf("%v %q", exit, out)
	}
	if exit, _ := run(t, Spec{Argv: []string{"only-here"}, Dir: dir, Env: []string{"PATH=.:"}}); exit.Code != 127 {
		t.Errorf("a program of the working folder was taken for one in PATH: %v", exit)
	}
}

func has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if _, err := Run(b.Context(), Spec{Shell: "exit 0"}); err != nil {
			b.Fatal(err)
		}
	}
}
