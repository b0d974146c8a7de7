package cli

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/pkg/agent"
	"legwork/pkg/fsx"
	"legwork/pkg/jobs"
	"legwork/pkg/llm/llmtest"
	"legwork/pkg/repo"
)

// job makes a job that is over, with facts.
func (u *user) job(state jobs.State, facts agent.Facts) string {
	u.t.Helper()
	h, err := jobs.New(filepath.Join(u.dir, "state")).Create(jobs.Spec{Kind: agent.Kind, Task: "do it", Request: map[string]string{"task": "do it"}})
	if err == nil {
		err = h.Begin()
	}
	if err == nil && state.Final() {
		err = h.Finish(jobs.End{State: state, Facts: facts})
	}
	if err != nil {
		u.t.Fatal(err)
	}
	return h.ID()
}

// tree makes a worktree whose path somebody was told, and writes a file in it when text is not empty.
func (u *user) tree(text string) (id, dir string) {
	u.t.Helper()
	opt := repo.Options{StateDir: filepath.Join(u.dir, "state"), Env: u.env}
	r, err := repo.Open(u.t.Context(), opt, filepath.Join(u.dir, "project"))
	if err != nil {
		u.t.Fatal(err)
	}
	tree, err := r.Add(u.t.Context(), repo.Wish{Purpose: "delegate"})
	if err == nil {
		err = tree.Keep(u.t.Context())
	}
	if err == nil && text != "" {
		err = os.WriteFile(filepath.Join(tree.Dir, "mine.txt"), []byte(text), 0o600)
	}
	if err != nil {
		u.t.Fatal(err)
	}
	return tree.ID, tree.Dir
}

// lived is a user who has used legwork: settings by hand and by command, output, a log, caches, jobs, worktrees.
func lived(t *testing.T) *user {
	t.Helper()
	posix(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("the worktrees need git")
	}
	s := llmtest.NewLlamaServer(t, llmtest.Config{Models: []llmtest.Model{{ID: "tiny-coder"}}})
	u := newUser(t, endpoint("gpu", s.URL))
	u.write("project/a.txt", "a\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "a"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = filepath.Join(u.dir, "project")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	u.write(".claude/CLAUDE.md", "my rules\n")
	u.write(".cache/legwork/build/x/current", "abc\n")
	u.want(0, "", "offload", "--command", "echo hello; seq 500", "what does it say?")
	u.want(0, "", "complete", "hello")
	u.want(0, "", "configure", "--set", "offload.answer_tokens=1000")
	u.want(0, "", "setup", "--snippet", "user", "--yes", "--no-doctor")
	return u
}

// The uninstaller leaves what the user made, byte for byte, and nothing else.
func TestUninstall(t *testing.T) {
	t.Parallel()
	u := lived(t)
	before := map[string]string{}
	for name, text := range files(t, u.dir) {
		if strings.HasPrefix(name, "project/") || name == "config/config.yaml" {
			before[name] = text
		}
	}
	before[".claude/CLAUDE.md"] = "my rules\n"
	u.write(".claude/projects/p/session/tool-results/legwork-r1234567.txt", "the whole output\n")
	u.write(".claude/projects/p/other/tool-results/theirs.txt", "the client's own\n")
	u.write(".claude/projects/p/other/tool-results/legwork-rabcdefg.txt", "the whole output\n")
	before[".claude/projects/p/other/tool-results/theirs.txt"] = "the client's own\n"
	u.job(jobs.Succeeded, agent.Facts{})
	u.tree("")
	shown := u.want(0, "would go", "clean", "--uninstall", "--dry-run")
	for _, kind := range []string{"kept output", "jobs", "worktrees", "caches", "builds", "run log", "settings that commands wrote", "note in CLAUDE.md", "sessions"} {
		if !strings.Contains(shown, kind) {
			t.Errorf("it does not show %q:\n%s", kind, shown)
		}
	}
	if !strings.Contains(files(t, u.dir)[".claude/CLAUDE.md"], "legwork") {
		t.Error("the dry run took the note away")
	}
	out := u.want(0, "removed", "clean", "--uninstall")
	after := files(t, u.dir)
	for name, text := range before {
		if got, ok := after[name]; !ok || got != text {
			t.Errorf("%s of the user's is gone or changed: %q", name, got)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok && !strings.HasPrefix(name, "project/.git/") {
			t.Errorf("%s stays\n%s", name, out)
		}
	}
	for _, dir := range []string{"state", ".cache/legwork", "project/.git/worktrees", ".claude/projects/p/session"} {
		if _, err := os.Stat(filepath.Join(u.dir, dir)); !os.IsNotExist(err) {
			t.Errorf("the folder %s stays: %v", dir, err)
		}
	}
	u.want(0, "keeps nothing", "clean", "--uninstall")
}

// Work that is not applied, unfinished jobs, the run log and settings stay with --all; each has a flag of its own.
func TestCleanKeepsWork(t *testing.T) {
	t.Parallel()
	u := lived(t)
	_, dir := u.tree("two days of work\n")
	running := u.job(jobs.Running, agent.Facts{})
	id, unapplied := u.tree("the job's work\n")
	done := u.job(jobs.Succeeded, agent.Facts{Tree: &agent.Tree{ID: id, Dir: unapplied}, Files: []repo.FileStat{{Change: repo.Change{Path: "mine.txt"}}}})
	out := u.want(0, dir, "clean", "--all")
	for _, want := range []string{"unfinished", "--work", "--ledger", "--settings"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "mine.txt")); err != nil || string(b) != "two days of work\n" {
		t.Errorf("work is lost: %v %q", err, b)
	}
	list := u.want(0, running, "jobs", "list", "--json")
	if !strings.Contains(list, done) && !strings.Contains(out, unapplied) {
		t.Errorf("the job with work is gone without a word:\n%s\n%s", list, out)
	}
	after := files(t, u.dir)
	for _, name := range []string{"state/runs.jsonl", "config/config.local.yaml", ".claude/CLAUDE.md"} {
		if after[name] == "" {
			t.Errorf("%s is gone", name)
		}
	}
	if len(slices.Collect(globbed(after, "state/raw/"))) != 0 {
		t.Error("kept output stays")
	}
	u.want(0, "", "clean", "--all", "--work", "--ledger")
	after = files(t, u.dir)
	if after["state/runs.jsonl"] != "" || len(slices.Collect(globbed(after, "state/worktrees/"))) != 0 {
		t.Errorf("it stays: %v", slices.Sorted(globbed(after, "state/")))
	}
	u.want(0, running, "jobs", "list")
}

func globbed(m map[string]string, prefix string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if strings.HasPrefix(k, prefix) && !yield(k) {
				return
			}
		}
	}
}

// Without flags only what is past its age goes; --older says another age.
func TestCleanByAge(t *testing.T) {
	t.Parallel()
	u := lived(t)
	u.want(0, "", "offload", "--command", "echo old; seq 500", "what does it say?")
	raw := slices.Collect(globbed(files(t, u.dir), "state/raw/"))
	if len(raw) != 4 {
		t.Fatalf("raw: %q", raw)
	}
	old := strings.TrimSuffix(strings.TrimSuffix(raw[0], ".json"), ".out")
	long := time.Now().Add(-40 * 24 * time.Hour)
	for _, ext := range []string{".out", ".json"} {
		if err := os.Chtimes(filepath.Join(u.dir, old+ext), long, long); err != nil {
			t.Fatal(err)
		}
	}
	u.want(0, "would go 1", "clean", "--dry-run", "--older", "30d")
	u.want(0, "removed 1", "clean", "--older", "720h")
	if left := slices.Collect(globbed(files(t, u.dir), "state/raw/")); len(left) != 2 || slices.Contains(left, old+".out") {
		t.Errorf("left: %q", left)
	}
	u.want(0, "kept 1", "clean")
	var r cleanReport
	if err := json.Unmarshal([]byte(u.want(0, "", "clean", "--dry-run", "--json")), &r); err != nil || !r.DryRun || len(r.Rows) == 0 || r.Kept == 0 {
		t.Errorf("%v %+v", err, r)
	}
	for _, bad := range [][]string{{"--older", "soon"}, {"--older", "-3d"}, {"--older", "3d", "--all"}} {
		u.want(exitUsage, "clean: ", append([]string{"clean"}, bad...)...)
	}
}

// A link in the place of a folder of ours leads to what is not ours; a lock that is held means work.
func TestCleanFollowsNoLinks(t *testing.T) {
	t.Parallel()
	u := lived(t)
	u.write("precious/rabcdefg.out", "mine")
	u.write("precious/deep/file", "mine")
	state := filepath.Join(u.dir, "state")
	for _, name := range []string{"raw", "delegates", "cache"} {
		if err := os.RemoveAll(filepath.Join(state, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(u.dir, "precious"), filepath.Join(state, name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(state, "slots/a"), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := fsx.Lock(context.Background(), filepath.Join(state, "slots/a/1"))
	if err != nil {
		t.Fatal(err)
	}
	u.want(0, "another legwork is at work", "clean", "--all")
	if _, err := os.Stat(filepath.Join(state, "slots/a/1")); err != nil {
		t.Errorf("a lock in use is gone: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	u.write("state/from-tomorrow.db", "x")
	u.want(0, "from-tomorrow.db", "clean", "--all")
	after := files(t, u.dir)
	if after["precious/rabcdefg.out"] != "mine" || after["precious/deep/file"] != "mine" || after["state/from-tomorrow.db"] != "x" {
		t.Errorf("it followed a link, or removed what it does not know: %v", slices.Sorted(globbed(after, "")))
	}
}
