package delegate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"legwork/pkg/config"
	"legwork/pkg/llm"
	"legwork/pkg/llm/llmtest"
	"legwork/pkg/proc"
	"legwork/pkg/repo"
)

// killedEnv makes the test binary carry out one call in the project it names, and nothing else.
const killedEnv = "LEGWORK_TEST_DELEGATE_IN"

// TestMain lets the binary stand in for a server process that can be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(killedEnv); dir != "" {
		os.Exit(oneCall(dir))
	}
	os.Exit(m.Run())
}

// oneCall delegates two files, so that the half-done apply is among what can be interrupted.
func oneCall(dir string) int {
	cfg, err := config.Load(config.Options{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	state, err := config.StateHome(nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	res, err := Run(context.Background(), Deps{
		Config: cfg, Models: llm.New(llm.FromConfig(cfg), llm.Options{StateDir: state}), StateDir: state, Children: &proc.Group{Dir: filepath.Join(state, "children")},
	}, Request{Spec: "Write the words.", Targets: []string{"a.txt", "sub/b.txt"}, Test: "sh check.sh", Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(res.Text())
	return 0
}

// Killed at any moment: nothing of the user's is lost or half-written, and the next run sweeps what is left.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the test command is a POSIX shell line")
	}
	s := newSite(t, map[string]string{
		"a.txt": "old a\n", "kept.txt": "kept\n", ".gitignore": "node_modules/\n",
		"check.sh": "echo junk >junk.txt\nsleep 0.02\ngrep -q new a.txt && grep -q new sub/b.txt\n",
	})
	put(t, s.dir, "node_modules/dep/index.js", "dep\n")
	put(t, s.dir, "kept.txt", "kept, edited\n")
	put(t, s.dir, "untracked.txt", "mine\n")
	s.server = llmtest.NewLlamaServer(t, llmtest.Config{Answer: func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Text: "a.txt\n```\nnew a\n```\nsub/b.txt\n```\nnew b\n```\n"}
	}})
	s.settings = "delegate: {sandbox: \"off\"}\n"
	s.deps() // writes the settings
	whole := s.child(t, 0)
	if s.read("a.txt") != "new a\n" || s.read("sub/b.txt") != "new b\n" {
		t.Fatalf("an undisturbed call does not work: %q %q", s.read("a.txt"), s.read("sub/b.txt"))
	}
	done, killed := 0, 0
	for i := range 30 {
		put(t, s.dir, "a.txt", "old a\n")
		if err := os.RemoveAll(filepath.Join(s.dir, "sub")); err != nil {
			t.Fatal(err)
		}
		// Every part of a call gets its share of the kills, however fast the machine is just now.
		after := time.Duration(float64(whole) * (float64(i) + rand.Float64()) / 30)
		s.child(t, max(after, time.Millisecond))
		opt := repo.Options{StateDir: s.state, Env: s.env}
		if _, err := proc.Sweep(filepath.Join(s.state, "children")); err != nil {
			t.Fatal(err)
		}
		// A child that was just being forked holds the locks of its dead parent for a moment longer.
		llmtest.Await(t, "the sweep", func() bool {
			swept, err := repo.Sweep(t.Context(), opt, 24*time.Hour)
			if err != nil || len(swept.Kept) > 0 {
				t.Fatalf("kill %d after %s: sweep: %+v %v", i, after, swept, err)
			}
			killed += swept.Removed
			left, err := os.ReadDir(filepath.Join(s.state, "worktrees"))
			return err != nil || len(left) == 0
		})
		a, b := s.read("a.txt"), s.read("sub/b.txt")
		switch {
		case a == "old a\n" && b == "<missing>":
		case a == "new a\n" && b == "new b\n":
			done++
		default:
			t.Fatalf("kill %d after %s: half applied: %q %q", i, after, a, b)
		}
		if s.read("kept.txt") != "kept, edited\n" || s.read("untracked.txt") != "mine\n" || s.read("node_modules/dep/index.js") != "dep\n" {
			t.Fatalf("kill %d after %s: the user's files changed", i, after)
		}
		s.clean()
		s.git("fsck", "--no-dangling")
	}
	t.Logf("a whole call takes %s; %d calls were done before the kill, %d worktrees swept", whole, done, killed)
	if killed == 0 {
		t.Error("no kill hit a worktree: the test proves nothing")
	}
	if _, err := s.run(Request{Spec: "Write the words.", Targets: []string{"kept.txt"}, Test: "grep -q new kept.txt"}); err != nil {
		t.Errorf("the repository is not usable any more: %v", err)
	}
}

// child carries out one call in a process of its own and kills it after a time (0: lets it end). It returns
// how long it lived.
func (s *site) child(t *testing.T, after time.Duration) time.Duration {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Dir, cmd.Env = s.dir, append(s.env, killedEnv+"="+s.dir)
	cmd.Stderr = os.Stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	_ = cmd.Wait()
	return time.Since(start)
}
