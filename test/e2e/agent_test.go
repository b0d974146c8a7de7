package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/test/e2e/backend"
	"legwork/test/e2e/claude"
)

// agentUser is somebody with a git repository, a model server and our program.
type agentUser struct {
	*claude.Client
	t   *testing.T
	bin string
}

// newAgentUser makes a project of files; settings are more lines of the configuration.
func newAgentUser(t *testing.T, b *backend.Server, files map[string]string, settings string) *agentUser {
	t.Helper()
	c := claude.New(t)
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	u := &agentUser{Client: c, t: t, bin: bin}
	writeConfig(t, c, fmt.Sprintf("endpoints:\n  fake: {base_url: %s, backend: llama.cpp}\nagent: {claude: %q}\n%s", b.URL, c.Bin, settings))
	for name, text := range files {
		write(t, filepath.Join(c.Dir, name), text)
	}
	u.git("init", "-q", "-b", "main")
	u.git("config", "user.email", "test@example.com")
	u.git("config", "user.name", "Test")
	u.git("add", "-A")
	u.git("commit", "-q", "-m", "start")
	t.Cleanup(u.nothingLeft)
	return u
}

func (u *agentUser) git(args ...string) string {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = u.Dir, u.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		u.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// run runs legwork in the project.
func (u *agentUser) run(args ...string) claude.Result {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, u.bin, args...)
	cmd.Dir, cmd.Env = u.Dir, u.Env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		u.t.Fatal(err)
	}
	return claude.Result{Stdout: out.String(), Stderr: errs.String(), Code: cmd.ProcessState.ExitCode()}
}

// must is run that fails the test on another exit code.
func (u *agentUser) must(code int, args ...string) string {
	u.t.Helper()
	r := u.run(args...)
	if r.Code != code {
		u.t.Fatalf("legwork %q: exit %d, want %d\n%s\n%s", args, r.Code, code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// jobRecord is what the tests look at of a job.
type jobRecord struct {
	ID, State, Ending, Progress, Reply, Error string
	Owner, Child                              struct{ PID int }
	Facts                                     struct {
		Session        string
		FirstRequestMS int64 `json:"first_request_ms"`
		Compactions    int
		Applied        bool
		Notes, Denied  []string
		Tree           *struct{ Dir, Branch string }
		Gate           *struct {
			Runs   int
			Passed bool
		}
	}
}

func (u *agentUser) job(id string) jobRecord {
	u.t.Helper()
	var j jobRecord
	if err := json.Unmarshal([]byte(u.must(0, "jobs", "show", id, "--json")), &j); err != nil {
		u.t.Fatal(err)
	}
	return j
}

// await waits until the job is as wanted.
func (u *agentUser) await(id string, ok func(jobRecord) bool) jobRecord {
	u.t.Helper()
	var j jobRecord
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if j = u.job(id); ok(j) {
			return j
		}
	}
	u.t.Fatalf("the job is not as expected: %+v", j)
	return j
}

func (u *agentUser) file(name string) string {
	b, err := os.ReadFile(filepath.Join(u.Dir, name))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (u *agentUser) nothingLeft() {
	if left := u.Left(); len(left) > 0 {
		u.t.Errorf("still running: %q", left)
	}
}

func tools(t ...backend.Tool) backend.Turn { return backend.Turn{Tools: t} }

// The main job: a file is edited, a test is run, the gate fails once, what failed goes back, the gate passes, and the
// work is in the checkout.
func TestAgentUntilVerified(t *testing.T) {
	t.Parallel()
	b := backend.New(t,
		tools(bash("echo two > a.txt && sh check.sh || true")),
		backend.Turn{Text: "I think it is done."},
		tools(bash("echo three > a.txt")),
		backend.Turn{Text: "Now a.txt says three."})
	u := newAgentUser(t, b, map[string]string{"a.txt": "one\n", "check.sh": "grep three a.txt || { echo 'expected three'; exit 1; }\n"}, "")
	out := u.must(0, "agent", "--verify", "sh check.sh", "make a.txt say three")
	t.Log(out)
	for _, want := range []string{"done · verify passed at run 2 · applied to your checkout · 1 file +1 -1 · scripted-model on fake", "a.txt +1 -1", "Now a.txt says three."} {
		if !strings.Contains(out, want) {
			t.Errorf("the reply lacks %q:\n%s", want, out)
		}
	}
	if got := u.file("a.txt"); got != "three\n" {
		t.Errorf("a.txt: %q", got)
	}
	main := b.Main()
	if !strings.Contains(main[len(main)-1].Text(), "expected three") {
		t.Error("what the gate said did not reach the session")
	}
	if got := main[0].Tools(); len(got) != 4 {
		t.Errorf("tools offered: %q", got)
	}
	if status := u.git("status", "--porcelain"); status != " M a.txt\n" {
		t.Errorf("status: %q", status)
	}
	if out := u.git("worktree", "list"); strings.Count(out, "\n") != 1 {
		t.Errorf("a worktree stayed: %s", out)
	}
	if out := u.git("branch", "--list", "local-agent/*"); out != "" {
		t.Errorf("a branch stayed: %s", out)
	}
}

// B05: cancel in the middle of a tool; a second later nothing of the job runs, and what it wrote is still there.
func TestAgentCancel(t *testing.T) {
	t.Parallel()
	b := backend.New(t, tools(bash("echo work > new.txt; touch \"$HOME/started\"; sleep 600 & setsid sleep 601 & sleep 602")))
	u := newAgentUser(t, b, map[string]string{"a.txt": "one\n"}, "")
	id := strings.TrimSpace(u.must(0, "agent", "--detach", "work for long"))
	u.await(id, func(jobRecord) bool { _, err := os.Stat(filepath.Join(u.Home, "started")); return err == nil })
	job := u.job(id)
	began := time.Now()
	u.must(0, "jobs", "cancel", id)
	took := time.Since(began)
	for _, pid := range []int{job.Child.PID, job.Owner.PID} {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
			t.Errorf("process %d lives", pid)
		}
	}
	t.Logf("cancelled in %v", took)
	if job = u.job(id); job.State != "cancelled" || job.Facts.Tree == nil {
		t.Fatalf("%+v", job)
	}
	if got, err := os.ReadFile(filepath.Join(job.Facts.Tree.Dir, "new.txt")); err != nil || string(got) != "work\n" {
		t.Errorf("the job's work is lost: %q %v", got, err)
	}
}

// B08: the job's own process is killed; the job is lost, not running, nothing of it runs on, and it can be resumed in
// its tree, where its session goes on.
func TestAgentLostAndResumed(t *testing.T) {
	t.Parallel()
	b := backend.New(t,
		tools(bash("echo one >> work.txt")),
		tools(bash("touch \"$HOME/started\"; setsid sleep 603 & sleep 604")),
		tools(bash("echo two >> work.txt")),
		backend.Turn{Text: "both lines are there"})
	u := newAgentUser(t, b, map[string]string{"a.txt": "one\n"}, "")
	id := strings.TrimSpace(u.must(0, "agent", "--detach", "first message"))
	job := u.await(id, func(jobRecord) bool { _, err := os.Stat(filepath.Join(u.Home, "started")); return err == nil })
	kill(t, job.Owner.PID)
	job = u.await(id, func(j jobRecord) bool { return j.State == "lost" })
	u.nothingLeft()
	out := u.must(0, "agent", "--resume", id, "--verify", "test $(wc -l < work.txt) = 2", "second message")
	if !strings.Contains(out, "verify passed · applied") || u.file("work.txt") != "one\ntwo\n" {
		t.Errorf("%s\n%q", out, u.file("work.txt"))
	}
	main := b.Main()
	if last := main[len(main)-1].Text(); !strings.Contains(last, "first message") || !strings.Contains(last, "second message") {
		t.Error("the session did not go on with its history")
	}
}

// Two jobs at a time do not see each other; a third waits for a slot and says so.
func TestAgentsInParallel(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	b := backend.New(t)
	b.Answer(func(r backend.Request) backend.Turn {
		name := "b"
		if strings.Contains(r.Text(), "task of job a") {
			name = "a"
		}
		if len(b.ResultsOf(r)) > 0 {
			return backend.Turn{Text: "done", Wait: hold}
		}
		return tools(bash("ls; echo " + name + " > " + name + ".txt; ls"))
	})
	u := newAgentUser(t, b, map[string]string{"x.txt": "x\n"}, "llm: {concurrency: 2}\n")
	one := strings.TrimSpace(u.must(0, "agent", "--detach", "--verify", "test ! -e b.txt", "task of job a"))
	two := strings.TrimSpace(u.must(0, "agent", "--detach", "--verify", "test ! -e a.txt", "task of job b"))
	for _, id := range []string{one, two} {
		u.await(id, func(j jobRecord) bool { return strings.Contains(j.Progress, "turn 1") })
	}
	three := strings.TrimSpace(u.must(0, "agent", "--detach", "the third"))
	waiting := u.await(three, func(j jobRecord) bool { return strings.Contains(j.Progress, "waiting for a slot") })
	if waiting.State != "queued" {
		t.Errorf("%+v", waiting)
	}
	u.must(0, "jobs", "cancel", three)
	close(hold)
	for _, id := range []string{one, two} {
		if out := u.must(0, "jobs", "wait", id); !strings.Contains(out, "applied to your checkout") {
			t.Errorf("%s", out)
		}
	}
	if u.file("a.txt") != "a\n" || u.file("b.txt") != "b\n" {
		t.Errorf("%q %q", u.file("a.txt"), u.file("b.txt"))
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}
