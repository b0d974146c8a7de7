package jobs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"legwork/pkg/proc"
)

func create(t *testing.T, s *Store, task string) *Handle {
	t.Helper()
	h, err := s.Create(Spec{Kind: "run_agent", Task: task, Dir: "/p", Model: "m", Request: map[string]int{"n": 1}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestLife(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir())
	h := create(t, s, "do this\nand that")
	job, err := s.Get(h.ID()[:4])
	if err != nil || job.State != Queued || job.Title != "do this" || string(job.Request) == "" {
		t.Fatalf("%+v %v", job, err)
	}
	if err := h.Begin(); err != nil {
		t.Fatal(err)
	}
	h.Progress("turn 1")
	if err := h.SetFacts([]string{"a"}); err != nil {
		t.Fatal(err)
	}
	if err := h.Finish(End{State: Succeeded, Ending: "done", Reply: "fine"}); err != nil {
		t.Fatal(err)
	}
	if err := h.Finish(End{State: Failed}); !errors.Is(err, ErrOver) {
		t.Errorf("a second end: %v", err)
	}
	job, err = s.Wait(t.Context(), h.ID(), nil)
	if err != nil || job.State != Succeeded || job.Reply != "fine" || job.Runs != 1 || len(job.Facts) == 0 {
		t.Fatalf("%+v %v", job, err)
	}
	h, err = s.Requeue(t.Context(), h.ID(), func(j *Job) { j.Title = "more" })
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Begin(); err != nil || h.Job().Runs != 2 || h.Job().Reply != "" {
		t.Fatalf("%+v %v", h.Job(), err)
	}
	if _, err := s.Requeue(t.Context(), h.ID(), func(*Job) {}); !errors.Is(err, ErrOver) {
		t.Errorf("a running job was opened again: %v", err)
	}
	if err := s.Remove(h.ID()); !errors.Is(err, ErrOver) {
		t.Errorf("a running job was removed: %v", err)
	}
	if _, err := s.Get("nope"); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
}

// sleeper is a process that stands for the owner of a job.
func sleeper(t *testing.T, env ...string) (*exec.Cmd, proc.Identity) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestSleeper")
	cmd.Env = append(os.Environ(), append(env, "SLEEPER=1")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, ok := proc.Find(cmd.Process.Pid)
	if !ok {
		t.Fatal("the sleeper is gone")
	}
	return cmd, id
}

func TestSleeper(t *testing.T) {
	if os.Getenv("SLEEPER") == "" {
		t.Skip("only a helper of other tests")
	}
	time.Sleep(time.Minute)
}

// B08: the owner dies without a word; the job is lost, never running, and what it left is ended.
func TestLost(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir())
	h := create(t, s, "x")
	owner, ownerID := sleeper(t)
	child, childID := sleeper(t, Mark(h.ID()))
	if err := h.Update(func(j *Job) { j.State, j.Owner, j.Child = Running, ownerID, childID }); err != nil {
		t.Fatal(err)
	}
	if job, err := s.Get(h.ID()); err != nil || job.State != Running {
		t.Fatalf("%+v %v", job, err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	job, err := s.Wait(t.Context(), h.ID(), nil)
	if err != nil || job.State != Lost {
		t.Fatalf("%+v %v", job, err)
	}
	if err := child.Wait(); err == nil {
		t.Error("the child was not ended")
	}
	if err := h.Begin(); !errors.Is(err, ErrOver) {
		t.Errorf("a lost job began: %v", err)
	}
}

// A job of another machine that shares the home folder is not judged by the processes of this one.
func TestForeign(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir())
	h := create(t, s, "x")
	if err := h.Update(func(j *Job) { j.State, j.Host, j.Owner = Running, "elsewhere", proc.Identity{PID: 1 << 22, Start: 1} }); err != nil {
		t.Fatal(err)
	}
	if job, err := s.Get(h.ID()); err != nil || job.State != Running {
		t.Errorf("%+v %v", job, err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir())
	h, err := s.Go(t.Context(), Spec{Kind: "k", Task: "x"}, func(ctx context.Context, _ *Handle) End {
		<-ctx.Done()
		return End{State: Failed, Ending: "x"}
	})
	if err != nil {
		t.Fatal(err)
	}
	job, err := s.Await(t.Context(), h.ID(), 20*time.Millisecond, nil)
	if err != nil || job.State != Running {
		t.Fatalf("%+v %v", job, err)
	}
	job, err = s.Cancel(t.Context(), h.ID())
	if err != nil || job.State != Cancelled {
		t.Fatalf("%+v %v", job, err)
	}
	<-h.Done()
	// One whose owner does not listen.
	h = create(t, s, "deaf")
	cmd, id := sleeper(t)
	if err := h.Update(func(j *Job) { j.State, j.Owner = Running, id }); err != nil {
		t.Fatal(err)
	}
	if job, err = s.Cancel(t.Context(), h.ID()); err != nil || job.State != Cancelled || job.Error == "" {
		t.Fatalf("%+v %v", job, err)
	}
	if cmd.Wait() == nil {
		t.Error("the deaf owner lives")
	}
}

// A server that works on a job beside others is not ended with it, however deaf it is: what the job started is.
func TestCancelInServer(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir())
	over := make(chan struct{})
	h, err := s.Go(t.Context(), Spec{Kind: "k", Task: "x"}, func(context.Context, *Handle) End {
		<-over
		return End{State: Succeeded}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { close(over); <-h.Done() }()
	server, serverID := sleeper(t)
	child, childID := sleeper(t, Mark(h.ID()))
	if err := h.Update(func(j *Job) { j.Owner, j.Child = serverID, childID }); err != nil {
		t.Fatal(err)
	}
	job, err := s.Cancel(t.Context(), h.ID())
	if err == nil || !strings.Contains(err.Error(), "did not react yet") || job.State != Running {
		t.Errorf("%+v %v", job, err)
	}
	if child.Wait() == nil {
		t.Error("the job's child lives")
	}
	if !proc.Alive(serverID) {
		t.Error("the server was killed")
	}
	if _, err := os.Stat(s.Path(h.ID(), cancelName)); err != nil {
		t.Errorf("the wish is forgotten: %v", err)
	}
	_ = server.Process.Kill()
	_ = server.Wait()
	if job, err := s.Get(h.ID()); err != nil || job.State != Lost {
		t.Errorf("%+v %v", job, err)
	}
}

func TestDetach(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir())
	h := create(t, s, "x")
	if err := h.Detach(t.Context(), []string{"/nonexistent/program"}, nil, t.TempDir()); err == nil {
		t.Error("started what does not exist")
	}
	if job, err := s.Get(h.ID()); err != nil || job.State != Failed {
		t.Errorf("%+v %v", job, err)
	}
	h = create(t, s, "y")
	if err := h.Detach(t.Context(), []string{os.Args[0], "-test.run=NoSuchTest"}, os.Environ(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	job, err := s.Wait(t.Context(), h.ID(), nil)
	if err != nil || job.State != Lost || !strings.Contains(job.Error, "ended before it began") {
		t.Fatalf("%+v %v", job, err)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir())
	h := create(t, s, "x")
	if p, err := s.Log(h.ID(), 5, 0); err != nil || p.Total != 0 || p.From != 0 {
		t.Fatalf("%+v %v", p, err)
	}
	for _, line := range []string{"1", "2\n3", "4", strings.Repeat("x", 2000)} {
		if err := h.Say(line); err != nil {
			t.Fatal(err)
		}
	}
	p, err := s.Log(h.ID(), 2, 0)
	if err != nil || p.From != 4 || p.To != 5 || p.Total != 5 || !strings.HasSuffix(p.Text, "(2000 bytes)") {
		t.Fatalf("%+v %v", p, err)
	}
	if p, err = s.Log(h.ID(), 2, p.From); err != nil || p.Text != "2\n3" {
		t.Fatalf("%+v %v", p, err)
	}
}
