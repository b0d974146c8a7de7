package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/test/e2e/backend"
)

// jobOf is the job that a reply names.
func jobOf(t *testing.T, reply string) string {
	t.Helper()
	_, rest, ok := strings.Cut(reply, "\njob ")
	if !ok {
		t.Fatalf("no job is named:\n%s", reply)
	}
	return strings.Fields(rest)[0]
}

// A deletion is work like any other: it is neither swept nor cleaned away. A project that moved does not stop the
// cleaning of the others.
func TestAgentDeletionStays(t *testing.T) {
	t.Parallel()
	b := backend.New(t, tools(bash("rm old.txt")), backend.Turn{Text: "old.txt is gone"}, backend.Turn{Text: "nothing to do"})
	u := newAgentUser(t, b, map[string]string{"a.txt": "x\n", "old.txt": "old\n"}, "")
	id := jobOf(t, u.must(0, "agent", "delete old.txt"))
	u.must(0, "agent", "nothing")
	u.run("clean")
	if _, err := os.Stat(u.job(id).Facts.Tree.Dir); err != nil {
		t.Fatalf("the work was swept: %v", err)
	}
	home := u.Dir
	if err := os.Rename(home, home+"-moved"); err != nil {
		t.Fatal(err)
	}
	u.Dir = filepath.Join(u.Home, "elsewhere")
	if err := os.Mkdir(u.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if r := u.run("jobs", "clean"); r.Code == 0 || !strings.Contains(r.Stdout, "removed 1 job") || !strings.Contains(r.Stderr, id) {
		t.Errorf("%+v", r)
	}
	if r := u.run("clean", "--all"); r.Code == 0 || !strings.Contains(r.Stderr, id) {
		t.Errorf("%+v", r)
	}
	u.Dir = home
	if err := os.Rename(home+"-moved", home); err != nil {
		t.Fatal(err)
	}
	u.must(0, "jobs", "apply", id)
	if _, err := os.Stat(filepath.Join(u.Dir, "old.txt")); err == nil {
		t.Error("the deletion was not applied")
	}
}

// What git does not see is not lost behind a gate that passed because of it: a tracked file with the name of a local
// one is work like any other, ignored files and edits in a submodule keep the worktree and are named.
func TestAgentUnseenStays(t *testing.T) {
	t.Parallel()
	b := backend.New(t,
		tools(bash("echo 2 > app/settings.local.json")), backend.Turn{Text: "done"},
		tools(backend.Tool{Name: "Write", Input: map[string]any{"file_path": "config.local.yaml", "content": "port: 2\n"}}, bash("echo y > a.txt")), backend.Turn{Text: "done"},
		tools(bash("echo two > lib/l.txt")), backend.Turn{Text: "done"},
		backend.Turn{Text: "nothing to do"})
	u := newAgentUser(t, b, map[string]string{"a.txt": "x\n", ".gitignore": "*.local.yaml\n", "app/settings.local.json": "1\n"}, "")
	lib := filepath.Join(u.Home, "sub")
	write(t, filepath.Join(lib, "l.txt"), "one\n")
	u.git("-C", lib, "init", "-q", "-b", "main")
	u.git("-C", lib, "add", "-A")
	u.git("-C", lib, "-c", "user.email=t@example.com", "-c", "user.name=T", "commit", "-q", "-m", "s")
	u.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", lib, "lib")
	u.git("commit", "-q", "-m", "submodule")

	if out := u.must(0, "agent", "--verify", "grep 2 app/settings.local.json", "set 2"); u.file("app/settings.local.json") != "2\n" {
		t.Errorf("%s", out)
	}
	ignored := u.must(0, "agent", "--verify", "grep 2 config.local.yaml", "write the local configuration")
	inside := u.must(0, "agent", "--verify", "grep two lib/l.txt", "make it two")
	u.must(0, "agent", "nothing")
	u.run("clean")
	u.run("jobs", "clean")
	for name, out := range map[string]string{"config.local.yaml": ignored, "lib/l.txt": inside} {
		dir := u.job(jobOf(t, out)).Facts.Tree.Dir
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil || !strings.Contains(out, "only in "+dir+": "+name) || strings.Contains(out, "applied to your checkout") {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if out := u.must(0, "jobs", "apply", jobOf(t, ignored)); u.file("a.txt") != "y\n" || !strings.Contains(out, ": config.local.yaml") {
		t.Errorf("%s", out)
	}
}

// A job ends with a reply, not as lost, when a branch has the name of our folder of branches, and when git can no
// longer say what changed.
func TestAgentOddGit(t *testing.T) {
	t.Parallel()
	b := backend.New(t, tools(bash("echo y > a.txt")), backend.Turn{Text: "done"},
		tools(bash("sh break.sh")), backend.Turn{Text: "done"},
		tools(bash("git checkout -q --orphan fresh; echo z > a.txt")), backend.Turn{Text: "done"})
	u := newAgentUser(t, b, map[string]string{"a.txt": "x\n", "break.sh": "mv .git dotgit; git init -q; echo y > a.txt\n"}, "")
	u.git("branch", "local-agent")
	out := u.must(0, "agent", "--verify", "grep y a.txt", "make it y")
	if branch := u.job(jobOf(t, out)).Facts.Tree.Branch; u.file("a.txt") != "y\n" || !strings.HasPrefix(branch, "local-agent-j") {
		t.Errorf("%s\n%s", branch, out)
	}
	u.git("commit", "-q", "-a", "-m", "y")
	out = u.run("agent", "make it y").Stdout
	if strings.Contains(out, "nothing changed") || !strings.Contains(out, "what changed is NOT KNOWN") {
		t.Errorf("%s", out)
	}
	out = u.run("agent", "--isolation", "none", "make an orphan branch").Stdout
	if j := u.job(jobOf(t, out)); j.State == "lost" || !strings.Contains(out, "worked in place") || u.git("symbolic-ref", "HEAD") != "refs/heads/fresh\n" {
		t.Errorf("%+v\n%s", j, out)
	}
}

// What is applied is what the gate saw. The client offers no background tasks; a process that the session left
// behind, and a gate that writes, make it run again.
func TestAgentGateSeesWhatIsApplied(t *testing.T) {
	t.Parallel()
	b := backend.New(t,
		tools(bash("echo good > a.txt; sh later.sh")), backend.Turn{Text: "done"},
		tools(bash("echo raw > b.txt")), backend.Turn{Text: "done"},
		tools(bash("echo raw > c.txt")), backend.Turn{Text: "done"})
	u := newAgentUser(t, b, map[string]string{
		"a.txt": "x\n", "b.txt": "x\n", "c.txt": "x\n",
		"later.sh": "(sleep 2; echo BROKEN > a.txt) >/dev/null 2>&1 &\n",
	}, "")
	r := u.run("agent", "--verify", "grep good a.txt && sleep 4", "make a.txt good")
	if u.file("a.txt") != "x\n" || strings.Contains(r.Stdout, "applied to your checkout") || strings.Contains(r.Stdout, "verify passed") {
		t.Errorf("%q\n%s", u.file("a.txt"), r.Stdout)
	}
	for _, req := range b.Main() {
		if strings.Contains(string(req.Body), "run_in_background") {
			t.Error("the client offers background tasks")
			break
		}
	}
	out := u.must(0, "agent", "--verify", "echo formatted > b.txt", "write b.txt")
	if u.file("b.txt") != "formatted\n" || !strings.Contains(out, "verify passed at run 2") {
		t.Errorf("%q\n%s", u.file("b.txt"), out)
	}
	r = u.run("agent", "--verify", "echo x >> c.txt", "write c.txt")
	if u.file("c.txt") != "x\n" || r.Code == 0 || !strings.Contains(r.Stdout, "passed, but not on what is there now") {
		t.Errorf("%q\n%s", u.file("c.txt"), r.Stdout)
	}
}
