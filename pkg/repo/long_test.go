package repo

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// C14: a job's tree lives on, is opened by another process, and everything in it counts: committed, untracked, on
// top of what the user had not committed.
func TestLongTree(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "1\n2\n", "gone.txt": "x\n", "same.txt": "s\n", "run.sh": "echo\n", "crlf.txt": "a\r\nb\r\n"})
	writeFile(t, p.dir, "a.txt", "1\n2\ndirty\n")
	writeFile(t, p.dir, "mine.txt", "untracked\n")
	made := p.add(Wish{Purpose: "run_agent"})
	branch, err := made.Branch(t.Context(), "local-agent/j1")
	if err != nil || branch != "local-agent/j1" {
		t.Fatal(branch, err)
	}
	if err := errors.Join(made.Persist(), made.Release()); err != nil {
		t.Fatal(err)
	}
	r, tree, err := Reopen(t.Context(), p.opt, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := tree.Since(t.Context()); err != nil || len(c) != 0 {
		t.Fatalf("changed although nothing was done: %v %v", c, err)
	}
	writeFile(t, tree.Dir, "a.txt", "1\ntwo\ndirty\n")
	writeFile(t, tree.Dir, "new/b.bin", "\x00\r\n")
	p.gitIn(tree.Dir, "rm", "-q", "gone.txt")
	p.gitIn(tree.Dir, "add", "a.txt")
	p.gitIn(tree.Dir, "commit", "-q", "-m", "work")
	writeFile(t, tree.Dir, "crlf.txt", "a\nb\nc\n")
	if runtime.GOOS != "windows" {
		if err := os.Chmod(filepath.Join(tree.Dir, "run.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := tree.Since(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stat, err := tree.Stat(t.Context(), changes)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range stat {
		got = append(got, s.String()+strings.Repeat("+", s.Added)+strings.Repeat("-", s.Removed))
	}
	want := []string{"a.txt (modified)+-", "crlf.txt (modified)+++--", "gone.txt (deleted)-", "new/b.bin (new)", "run.sh (modified)"}
	if runtime.GOOS == "windows" {
		want = want[:4]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	edits, left, err := tree.Edits(t.Context(), changes)
	if err != nil || len(left) != 0 {
		t.Fatal(left, err)
	}
	if err := r.Apply(t.Context(), tree, edits); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"a.txt": "1\ntwo\ndirty\n", "crlf.txt": "a\r\nb\r\nc\r\n", "new/b.bin": "\x00\r\n", "gone.txt": "<no such file or directory>", "mine.txt": "untracked\n"}
	for name, text := range files {
		if got := readFile(t, p.dir, name); got != text && !strings.HasPrefix(text, "<") || strings.HasPrefix(text, "<") && !strings.HasPrefix(got, "<") {
			t.Errorf("%s: %q, want %q", name, got, text)
		}
	}
	if st, err := os.Stat(filepath.Join(p.dir, "run.sh")); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o755 {
		t.Errorf("run.sh: %v %v", st.Mode(), err)
	}
	if _, err := Sweep(t.Context(), p.opt, 0); err != nil {
		t.Error(err)
	}
	remove(t, tree)
	if out := p.git("branch", "--list", "local-agent/*"); !strings.Contains(out, "local-agent/j1") {
		t.Errorf("a branch with a commit on it was deleted: %q", out)
	}
	p.clean()
}

// A job without a change leaves no branch, and one whose file the user changed meanwhile is a conflict.
func TestLongTreeConflict(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "1\n", "b.txt": "1\n"})
	p.git("branch", "local-agent/j1")
	tree := p.add(Wish{Purpose: "run_agent"})
	if branch, err := tree.Branch(t.Context(), "local-agent/j1"); err != nil || branch != "local-agent/j1-2" {
		t.Fatal(branch, err)
	}
	writeFile(t, tree.Dir, "a.txt", "2\n")
	writeFile(t, tree.Dir, "b.txt", "2\n")
	writeFile(t, p.dir, "a.txt", "mine\n")
	writeFile(t, p.dir, "b.txt", "2\n")
	changes, err := tree.Since(t.Context())
	if err != nil || len(changes) != 2 {
		t.Fatal(changes, err)
	}
	_, _, err = tree.Edits(t.Context(), changes)
	if c, ok := errors.AsType[*ConflictError](err); !ok || cmp.Diff([]string{"a.txt"}, c.Paths) != "" {
		t.Fatal(err)
	}
	id := tree.ID
	remove(t, tree)
	if out := p.git("branch", "--list", "local-agent/*"); strings.Contains(out, "-2") {
		t.Errorf("branches: %q", out)
	}
	if _, _, err := Reopen(t.Context(), p.opt, id); !errors.Is(err, ErrNoTree) {
		t.Error(err)
	}
	again := p.add(Wish{Purpose: "run_agent", ID: id})
	if again.Dir != tree.Dir {
		t.Errorf("%s, want %s", again.Dir, tree.Dir)
	}
	remove(t, again)
	p.clean()
}

// A branch stands where the folder of the wanted one would be.
func TestBranchBelowBranch(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n"})
	p.git("branch", "jobs")
	p.git("branch", "jobs-one")
	tree := p.add(Wish{Purpose: "run_agent"})
	if branch, err := tree.Branch(t.Context(), "jobs/one"); err != nil || branch != "jobs-one-2" {
		t.Errorf("%q %v", branch, err)
	}
	remove(t, tree)
	p.clean()
}

// C11: a relative hooks folder that is not part of the repository does not exist in the tree.
func TestHooksMissing(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "1\n", "hooks/x": "x"})
	tree := p.add(Wish{})
	for path, want := range map[string]string{".husky/_": ".husky/_", "hooks": "", "/abs": ""} {
		p.git("config", "core.hooksPath", path)
		if got := tree.HooksMissing(t.Context()); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	remove(t, tree)
}
