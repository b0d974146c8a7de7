package repo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// project is a repository in a temporary folder.
type project struct {
	t   *testing.T
	dir string
	opt Options
}

// gitEnv keeps the machine's own git settings out of the tests.
func gitEnv(dir string) []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL="+filepath.Join(dir, "gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
}

func newProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	home := t.TempDir()
	writeFile(t, home, "gitconfig", "[user]\n\tname = Test\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n")
	p := &project{t: t, dir: filepath.Join(home, "pro ject"), opt: Options{StateDir: filepath.Join(home, "state"), Env: gitEnv(home)}}
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.git("init", "-q")
	if files != nil {
		for name, text := range files {
			writeFile(t, p.dir, name, text)
		}
		p.git("add", "-A")
		p.git("commit", "-q", "-m", "start")
	}
	return p
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func removeFile(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return "<" + err.Error()[strings.LastIndex(err.Error(), ":")+2:] + ">"
	}
	return string(b)
}

func (p *project) git(args ...string) string { p.t.Helper(); return p.gitIn(p.dir, args...) }

func (p *project) gitIn(dir string, args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, p.opt.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (p *project) open() *Repo {
	p.t.Helper()
	r, err := Open(p.t.Context(), p.opt, p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *project) add(w Wish) *Tree {
	p.t.Helper()
	t, err := p.open().Add(p.t.Context(), w)
	if err != nil {
		p.t.Fatal(err)
	}
	return t
}

// clean fails unless nothing of ours is left.
func (p *project) clean() {
	p.t.Helper()
	left, _ := filepath.Glob(filepath.Join(p.opt.StateDir, "worktrees", "*"))
	hidden, _ := filepath.Glob(filepath.Join(p.opt.StateDir, "worktrees", ".*"))
	if left = append(left, hidden...); len(left) > 0 {
		p.t.Errorf("left behind: %v", left)
	}
	if list := p.git("worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 1 {
		p.t.Errorf("worktrees left:\n%s", list)
	}
}

func remove(t *testing.T, tree *Tree) {
	t.Helper()
	if err := tree.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The uncommitted state arrives whole: staged, unstaged, untracked, deleted, links, modes, odd names.
func TestMirror(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"a.txt": "one\n", "b.txt": "two\n", "gone.txt": "x\n", "dir/file": "was a file below\n", "staged.txt": "1\n",
		".gitignore": "ignored.txt\nnode_modules/\n", "run.sh": "#!/bin/sh\n", "became": "file\n", "stgone.txt": "z\n",
	})
	writeFile(t, p.dir, "a.txt", "one changed\n")
	writeFile(t, p.dir, "staged.txt", "2\n")
	p.git("add", "staged.txt")
	writeFile(t, p.dir, "staged.txt", "3\n")
	p.git("rm", "-q", "--cached", "stgone.txt")
	writeFile(t, p.dir, "newstaged.txt", "ns\n")
	p.git("add", "newstaged.txt")
	if err := errors.Join(os.Remove(filepath.Join(p.dir, "gone.txt")), os.Remove(filepath.Join(p.dir, "became"))); err != nil {
		t.Fatal(err)
	}
	writeFile(t, p.dir, "became/inner.txt", "now a folder\n")
	writeFile(t, p.dir, "ignored.txt", "no\n")
	writeFile(t, p.dir, "new dir/ünï \"quoted\".txt", "odd\n")
	big := strings.Repeat("x", MaxUntracked+1)
	writeFile(t, p.dir, "big.bin", big)
	nested := filepath.Join(p.dir, "nested")
	if err := os.Mkdir(nested, 0o755); err != nil {
		t.Fatal(err)
	}
	p.gitIn(nested, "init", "-q") // C27
	writeFile(t, p.dir, "nested/file.txt", "n\n")
	if runtime.GOOS != "windows" {
		if err := errors.Join(os.Chmod(filepath.Join(p.dir, "run.sh"), 0o755), os.Symlink("/etc/hosts", filepath.Join(p.dir, "hosts")), os.Symlink("no-such", filepath.Join(p.dir, "dangling"))); err != nil {
			t.Fatal(err)
		}
		writeFile(t, p.dir, "tab\tnew\nline.txt", "odd\n")
	}
	before := p.git("status", "--porcelain=v1")
	tree := p.add(Wish{Purpose: "delegate"})
	if got := p.gitIn(tree.Dir, "status", "--porcelain=v1"); got != strings.ReplaceAll(strings.ReplaceAll(before, "?? big.bin\n", ""), "?? nested/\n", "") {
		t.Errorf("status in the worktree:\n%s\nin the user's tree:\n%s", got, before)
	}
	for name, want := range map[string]string{"a.txt": "one changed\n", "staged.txt": "3\n", "became/inner.txt": "now a folder\n", "new dir/ünï \"quoted\".txt": "odd\n", "stgone.txt": "z\n"} {
		if got := readFile(t, tree.Dir, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"gone.txt", "ignored.txt", "big.bin", "nested"} {
		if _, err := os.Lstat(filepath.Join(tree.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	if runtime.GOOS != "windows" {
		if to, err := os.Readlink(filepath.Join(tree.Dir, "hosts")); err != nil || to != "/etc/hosts" {
			t.Errorf("link: %q %v", to, err)
		}
		if st, err := os.Stat(filepath.Join(tree.Dir, "run.sh")); err != nil || st.Mode().Perm() != 0o755 {
			t.Errorf("mode: %v %v", st, err)
		}
	}
	if len(tree.Notes) != 2 {
		t.Errorf("notes: %q", tree.Notes)
	}
	if after := p.git("status", "--porcelain=v1"); after != before {
		t.Errorf("the user's tree changed:\n%s", after)
	}
	if ch, err := tree.Changes(t.Context()); err != nil || len(ch) != 0 {
		t.Errorf("fresh tree has changes: %v %v", ch, err)
	}
	remove(t, tree)
	p.clean()
}

// Every change of a test run is seen and can be undone, and only that.
func TestChangesAndUndo(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n", "sub/c.txt": "c\n", ".gitignore": "*.log\n", "own.js": "1\n"})
	writeFile(t, p.dir, "dirty.txt", "mine\n")
	writeFile(t, p.dir, "b.txt", "b dirty\n")
	tree := p.add(Wish{Purpose: "delegate", Files: []string{"a.txt"}})
	if err := tree.Own("own.js"); err != nil {
		t.Fatal(err)
	}
	snapshot := func() string {
		return readFile(t, tree.Dir, "a.txt") + readFile(t, tree.Dir, "b.txt") + readFile(t, tree.Dir, "sub/c.txt") + readFile(t, tree.Dir, "dirty.txt")
	}
	want := snapshot()
	writeFile(t, tree.Dir, "a.txt", "hacked\n")
	writeFile(t, tree.Dir, "b.txt", "b\n") // back to HEAD, which is not what the user has
	writeFile(t, tree.Dir, "dirty.txt", "hacked\n")
	writeFile(t, tree.Dir, "new/x.txt", "new\n")
	writeFile(t, tree.Dir, "noise.log", "ignored\n")
	writeFile(t, tree.Dir, "own.js", "2\n")
	if err := os.RemoveAll(filepath.Join(tree.Dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink(t.TempDir(), filepath.Join(tree.Dir, "sub")); err != nil {
			t.Fatal(err)
		}
	}
	ch, err := tree.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantCh := []Change{
		{Path: "a.txt", Kind: "modified", Tracked: true},
		{Path: "b.txt", Kind: "modified", Tracked: true},
		{Path: "dirty.txt", Kind: "modified", Tracked: true},
		{Path: "new/x.txt", Kind: "new", Tracked: false},
		{Path: "sub", Kind: "new", Tracked: false},
		{Path: "sub/c.txt", Kind: "deleted", Tracked: true},
	}
	if diff := cmp.Diff(wantCh, ch); diff != "" {
		t.Error(diff)
	}
	if err := tree.Undo(t.Context(), ch); err != nil {
		t.Fatal(err)
	}
	if got := snapshot(); got != want {
		t.Errorf("after undo: %q, want %q", got, want)
	}
	if ch, err := tree.Changes(t.Context()); err != nil || len(ch) != 0 {
		t.Errorf("left after undo: %v %v", ch, err)
	}
	if got := readFile(t, tree.Dir, "own.js"); got != "2\n" {
		t.Errorf("undo touched our own file: %q", got)
	}
	remove(t, tree)
	p.clean()
}

// C01, C02, C05: linked folders keep their content, with and without a trailing slash, and are no change.
func TestLinks(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n", ".gitignore": "node_modules/\n", "pkg/x/y.txt": "y\n", "vendor/v.txt": "tracked\n"})
	writeFile(t, p.dir, "node_modules/dep/index.js", "x\n")
	writeFile(t, p.dir, "pkg/x/node_modules/dep/index.js", "y\n")
	tree := p.add(Wish{Purpose: "delegate", Links: []string{"node_modules", "vendor", ".venv", "../outside"}, Near: []string{"pkg/x"}})
	if diff := cmp.Diff([]string{"node_modules", "pkg/x/node_modules"}, tree.Links()); diff != "" {
		t.Error(diff)
	}
	if got := readFile(t, tree.Dir, "node_modules/dep/index.js"); got != "x\n" {
		t.Errorf("through the link: %q", got)
	}
	if ch, err := tree.Changes(t.Context()); err != nil || len(ch) != 0 {
		t.Errorf("links count as changes: %v %v", ch, err)
	}
	env, err := tree.Env(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", "add", "-A", "--dry-run")
	cmd.Dir, cmd.Env = tree.Dir, append(slices.Clone(p.opt.Env), env...)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("git add would take the links in: %v %s", err, out)
	}
	remove(t, tree)
	for _, name := range []string{"node_modules/dep/index.js", "pkg/x/node_modules/dep/index.js"} {
		if got := readFile(t, p.dir, name); got != "x\n" && got != "y\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	p.clean()
}

// Packages of the repository that are linked into node_modules lead to the worktree, the others to the user's.
func TestWorkspaces(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("making the links needs a right")
	}
	p := newProject(t, map[string]string{"packages/a/index.js": "a\n", "packages/b/index.js": "b\n", ".gitignore": "node_modules/\n"})
	writeFile(t, p.dir, "node_modules/dep/index.js", "dep\n")
	writeFile(t, p.dir, "node_modules/@org/other/index.js", "other\n")
	writeFile(t, p.dir, "node_modules/.store/x/index.js", "x\n")
	for at, to := range map[string]string{"node_modules/a": "../packages/a", "node_modules/@org/b": "../../packages/b", "node_modules/x": ".store/x"} {
		if err := os.Symlink(to, filepath.Join(p.dir, at)); err != nil {
			t.Fatal(err)
		}
	}
	tree := p.add(Wish{Purpose: "delegate", Links: []string{"node_modules"}})
	for name, want := range map[string]string{"a": "packages/a", "@org/b": "packages/b"} {
		real, err := filepath.EvalSymlinks(filepath.Join(tree.Dir, "node_modules", name))
		if dir, _ := filepath.EvalSymlinks(tree.Dir); err != nil || real != filepath.Join(dir, want) {
			t.Errorf("%s leads to %s %v", name, real, err)
		}
	}
	for name, want := range map[string]string{"dep": "dep\n", "@org/other": "other\n", "x": "x\n"} {
		if got := readFile(t, tree.Dir, "node_modules/"+name+"/index.js"); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if ch, err := tree.Changes(t.Context()); err != nil || len(ch) != 0 {
		t.Errorf("changes: %v %v", ch, err)
	}
	remove(t, tree)
	for _, name := range []string{"node_modules/dep/index.js", "packages/a/index.js", "node_modules/@org/b/index.js"} {
		if got := readFile(t, p.dir, name); strings.HasPrefix(got, "<") {
			t.Errorf("%s: %s", name, got)
		}
	}
	p.clean()
}

// C03: a tree that the user locked is refused as a whole.
func TestLockedTree(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n", ".gitignore": "node_modules/\n"})
	writeFile(t, p.dir, "node_modules/dep.js", "x\n")
	tree := p.add(Wish{Purpose: "delegate", Links: []string{"node_modules"}})
	p.git("worktree", "lock", tree.Dir)
	lock := tree.lock
	if err := p.open().remove(t.Context(), tree.Home, tree.meta); !errors.Is(err, ErrTreeLocked) {
		t.Fatalf("got %v", err)
	}
	if got := readFile(t, tree.Dir, "node_modules/dep.js"); got != "x\n" {
		t.Errorf("the link is gone: %q", got)
	}
	p.git("worktree", "unlock", tree.Dir)
	tree.lock = lock
	remove(t, tree)
	p.clean()
}

// C06, C29 and folders without a repository are refused in words that help.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	if _, err := Open(t.Context(), p.opt, p.dir); !errors.Is(err, ErrUnborn) {
		t.Errorf("no commit: %v", err)
	}
	none := t.TempDir()
	if _, err := Open(t.Context(), p.opt, none); !errors.Is(err, ErrNoRepo) {
		t.Errorf("no repository: %v", err)
	}
	q := newProject(t, map[string]string{"a.txt": "a\n", "pkg/x/b.txt": "b\n"})
	q.git("clone", "-q", "--bare", q.dir, filepath.Join(none, "bare.git"))
	if _, err := Open(t.Context(), q.opt, filepath.Join(none, "bare.git")); !errors.Is(err, ErrBare) {
		t.Errorf("bare: %v", err)
	}
	if _, err := Open(t.Context(), q.opt, filepath.Join(q.dir, ".git")); !errors.Is(err, ErrGitPath) {
		t.Errorf("inside .git: %v", err)
	}
	r, err := Open(t.Context(), q.opt, filepath.Join(q.dir, "pkg", "x"))
	if err != nil {
		t.Fatal(err)
	}
	if rel, err := r.Rel(filepath.Join(q.dir, "pkg", "x"), "b.txt"); err != nil || rel != "pkg/x/b.txt" {
		t.Errorf("from a subfolder: %q %v", rel, err)
	}
}

func TestRelRefuses(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n"})
	r := p.open()
	outside := t.TempDir()
	if runtime.GOOS != "windows" {
		if err := os.Symlink(outside, filepath.Join(p.dir, "way-out")); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"../x", ".git/config", "sub/.GIT/hooks/x", "way-out/x", filepath.Join(outside, "x"), ".git. /config", "GIT~1/config"} {
		if path == "way-out/x" && runtime.GOOS == "windows" {
			continue
		}
		if rel, err := r.Rel(p.dir, path); err == nil {
			t.Errorf("%s gave %q", path, rel)
		}
	}
	if rel, err := r.Rel(p.dir, "new/file.js"); err != nil || rel != "new/file.js" {
		t.Errorf("%q %v", rel, err)
	}
}

// C10, C18, C20, C21: hooks, inherited git variables, a missing LFS filter and signing stop nothing.
func TestHostileSettings(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n", "big.dat": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"})
	writeFile(t, p.dir, ".gitattributes", "*.dat filter=lfs\n")
	p.git("add", "-A")
	p.git("commit", "-q", "-m", "attributes")
	p.git("config", "commit.gpgsign", "true")
	p.git("config", "filter.lfs.process", "no-such-git-lfs")
	p.git("config", "filter.lfs.smudge", "no-such-git-lfs")
	p.git("config", "filter.lfs.required", "true")
	hook := filepath.Join(p.dir, ".git", "hooks", "post-checkout")
	writeFile(t, p.dir, ".git/hooks/post-checkout", "#!/bin/sh\necho ran >>\"$(git rev-parse --git-common-dir)/hook-ran\"\nexit 1\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	other := newProject(t, map[string]string{"other.txt": "o\n"})
	p.opt.Env = append(p.opt.Env, "GIT_DIR="+filepath.Join(other.dir, ".git"), "GIT_INDEX_FILE="+filepath.Join(other.dir, ".git", "index"), "GIT_WORK_TREE="+other.dir)
	r, err := Open(t.Context(), p.opt, p.dir)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := r.Add(t.Context(), Wish{Purpose: "delegate", Files: []string{"big.dat"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, tree.Dir, "a.txt"); got != "a\n" {
		t.Errorf("wrong repository? %q", got)
	}
	if _, err := os.Stat(filepath.Join(p.dir, ".git", "hook-ran")); err == nil {
		t.Error("the hook ran")
	}
	remove(t, tree)
}

// C07: a submodule's files are there, from the local copy.
func TestSubmodule(t *testing.T) {
	t.Parallel()
	lib := newProject(t, map[string]string{"lib.txt": "lib\n"})
	p := newProject(t, map[string]string{"a.txt": "a\n"})
	p.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", lib.dir, "deps/lib")
	p.git("commit", "-q", "-m", "submodule")
	tree := p.add(Wish{Purpose: "delegate"})
	if got := readFile(t, tree.Dir, "deps/lib/lib.txt"); got != "lib\n" {
		t.Errorf("submodule file: %q", got)
	}
	if ch, err := tree.Changes(t.Context()); err != nil || len(ch) != 0 {
		t.Errorf("changes: %v %v", ch, err)
	}
	remove(t, tree)
	// C09: called inside the submodule, git must see the new tree, or nothing is written.
	p.dir = filepath.Join(p.dir, "deps", "lib")
	p.git("config", "extensions.worktreeConfig", "true")
	r := p.open()
	sub, err := r.Add(t.Context(), Wish{Purpose: "delegate"})
	if err != nil {
		if !strings.Contains(err.Error(), "core.worktree") {
			t.Error(err)
		}
		return
	}
	if got := strings.TrimSpace(p.gitIn(sub.Dir, "rev-parse", "--show-toplevel")); filepath.Base(got) != "tree" {
		t.Errorf("git works in %s", got)
	}
	remove(t, sub)
}

// C12: eight at once all start; C25: a tree deleted by hand does not stand in the way.
func TestParallelAdd(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n"})
	broken := p.add(Wish{Purpose: "delegate"})
	if err := os.RemoveAll(broken.Dir); err != nil {
		t.Fatal(err)
	}
	r := p.open()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			tree, err := r.Add(t.Context(), Wish{Purpose: "delegate"})
			if err == nil {
				err = tree.Remove(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	remove(t, broken)
	p.clean()
}

// C14, C16, C25 and every half-way state: what is swept and what stays.
func TestSweep(t *testing.T) {
	t.Parallel()
	wish := Wish{Purpose: "delegate", Scratch: true, Links: []string{"node_modules"}}
	cases := []struct {
		name string
		wish Wish
		do   func(t *testing.T, p *project, tree *Tree)
		keep bool
	}{
		{"killed at once", wish, func(*testing.T, *project, *Tree) {}, false},
		{"killed before the record was complete", wish, func(t *testing.T, _ *project, tree *Tree) {
			tree.meta.Ready, tree.meta.Admin = false, ""
			if err := tree.save(); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"killed while removing", wish, func(t *testing.T, _ *project, tree *Tree) {
			if err := os.Rename(tree.Home, filepath.Join(filepath.Dir(tree.Home), trashPrefix+tree.ID)); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"killed with a candidate and by-products", wish, func(t *testing.T, _ *project, tree *Tree) {
			if err := errors.Join(tree.Own("out.js"), tree.Write("out.js", []byte("x"), 0)); err != nil {
				t.Fatal(err)
			}
			writeFile(t, tree.Dir, "coverage/report.txt", "x")
		}, false},
		{"tree deleted by hand", wish, func(t *testing.T, _ *project, tree *Tree) {
			if err := os.RemoveAll(tree.Dir); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"an agent's new file", Wish{Purpose: "run_agent"}, func(t *testing.T, _ *project, tree *Tree) {
			writeFile(t, tree.Dir, "work.txt", "work")
		}, true},
		{"a commit", wish, func(t *testing.T, p *project, tree *Tree) {
			writeFile(t, tree.Dir, "a.txt", "work")
			p.gitIn(tree.Dir, "commit", "-q", "-a", "-m", "work")
		}, true},
		{"a changed file", wish, func(t *testing.T, _ *project, tree *Tree) { writeFile(t, tree.Dir, "a.txt", "work") }, true},
		{"a job that only deletes", Wish{Purpose: "run_agent"}, func(t *testing.T, _ *project, tree *Tree) { removeFile(t, tree.Dir, "a.txt") }, true},
		{"a job that deletes the user's new file", Wish{Purpose: "run_agent"}, func(t *testing.T, _ *project, tree *Tree) { removeFile(t, tree.Dir, "u.txt") }, true},
		{"a job that reverts", Wish{Purpose: "run_agent"}, func(t *testing.T, _ *project, tree *Tree) { writeFile(t, tree.Dir, "b.txt", "b\n") }, true},
		{"a job that did nothing", Wish{Purpose: "run_agent", Files: []string{"a.txt", "node_modules/dep.js"}}, func(*testing.T, *project, *Tree) {}, false},
		{"kept, old, a file deleted by somebody", wish, func(t *testing.T, _ *project, tree *Tree) {
			if err := tree.Keep(t.Context()); err != nil {
				t.Fatal(err)
			}
			removeFile(t, tree.Dir, "a.txt")
		}, true},
		{"kept, old, untouched", wish, func(t *testing.T, _ *project, tree *Tree) {
			if err := errors.Join(tree.Own("out.js"), tree.Write("out.js", []byte("x"), 0), tree.Keep(t.Context())); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"kept, old, edited by somebody", wish, func(t *testing.T, _ *project, tree *Tree) {
			if err := errors.Join(tree.Own("out.js"), tree.Write("out.js", []byte("x"), 0), tree.Keep(t.Context())); err != nil {
				t.Fatal(err)
			}
			writeFile(t, tree.Dir, "out.js", "better")
		}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n", "gone.txt": "gone\n", ".gitignore": "node_modules/\n"})
			writeFile(t, p.dir, "node_modules/dep.js", "x\n")
			writeFile(t, p.dir, "b.txt", "dirty\n")
			removeFile(t, p.dir, "gone.txt")
			writeFile(t, p.dir, "u.txt", "untracked\n")
			tree := p.add(c.wish)
			c.do(t, p, tree)
			if s, err := Sweep(t.Context(), p.opt, 0); err != nil || s.Removed != 0 {
				if !tree.meta.Told {
					t.Errorf("swept under a living owner: %+v %v", s, err)
				}
			}
			_ = tree.lock.Unlock()
			s, err := Sweep(t.Context(), p.opt, 0)
			if err != nil {
				t.Fatal(err)
			}
			if c.keep != (len(s.Kept) == 1) {
				t.Errorf("%+v", s)
			}
			if !c.keep {
				p.clean()
			}
			if got := readFile(t, p.dir, "node_modules/dep.js"); got != "x\n" {
				t.Errorf("node_modules: %q", got)
			}
		})
	}
}

// A kept tree younger than the age stays.
func TestSweepAge(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n"})
	tree := p.add(Wish{Purpose: "delegate", Scratch: true})
	if err := tree.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := Sweep(t.Context(), p.opt, time.Hour); err != nil || len(s.Kept) != 1 {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := Sweep(t.Context(), p.opt, 0); err != nil || s.Removed != 1 {
		t.Errorf("%+v %v", s, err)
	}
	p.clean()
}

// C22, C23: what Apply keeps, and when it refuses.
func TestApply(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.sh": "one\r\ntwo\r\nthree", "b.txt": "b\n"})
	if err := os.Chmod(filepath.Join(p.dir, "a.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := p.open()
	tree := p.add(Wish{Purpose: "delegate"})
	a, err := r.Original("a.sh")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := r.Original("b.txt")
	n, _ := r.Original("deep/new.txt")
	edits := []Edit{{Original: a, Data: []byte("one\nTWO\nthree\n")}, {Original: b, Data: []byte("bb")}, {Original: n, Data: []byte("new")}}
	if err := r.Apply(t.Context(), tree, edits); err != nil {
		t.Fatal(err)
	}
	got := []string{readFile(t, p.dir, "a.sh"), readFile(t, p.dir, "b.txt"), readFile(t, p.dir, "deep/new.txt")}
	if diff := cmp.Diff([]string{"one\r\nTWO\r\nthree", "bb\n", "new\n"}, got); diff != "" {
		t.Error(diff)
	}
	if st, err := os.Stat(filepath.Join(p.dir, "a.sh")); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o755 {
		t.Errorf("mode: %v %v", st.Mode(), err)
	}
	var conflict *ConflictError
	if err := r.Apply(t.Context(), tree, edits); !errors.As(err, &conflict) || len(conflict.Paths) != 3 {
		t.Errorf("second apply: %v", err)
	}
	if slices.Contains(listNames(t, tree.Home), journalName) {
		t.Error("the journal is left")
	}
	remove(t, tree)
	p.clean()
}

func listNames(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// Killed between two files of one apply: the sweep takes the first back.
func TestApplyTakenBack(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	r := p.open()
	tree := p.add(Wish{Purpose: "delegate", Scratch: true})
	a, _ := r.Original("a.txt")
	n, _ := r.Original("new.txt")
	b, _ := r.Original("b.txt")
	edits := []Edit{{Original: a, Data: []byte("A\n")}, {Original: n, Data: []byte("N\n")}, {Original: b, Data: []byte("B\n")}}
	if err := errors.Join(r.writeJournal(tree.Home, edits), r.put(a, []byte("A\n")), r.put(n, []byte("N\n"))); err != nil {
		t.Fatal(err)
	}
	_ = tree.lock.Unlock()
	if _, err := Sweep(t.Context(), p.opt, 0); err != nil {
		t.Fatal(err)
	}
	got := []string{readFile(t, p.dir, "a.txt"), readFile(t, p.dir, "b.txt")}
	if diff := cmp.Diff([]string{"a\n", "b\n"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "new.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("new.txt is still there")
	}
	p.clean()
}

// C32: ignored files come along only when listed, from inside, as files.
func TestInclude(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n", ".gitignore": ".env*\nsecret-link\nbig.bin\n", IncludeFile: ".env.local\nsecret-link\nbig.bin\n../../outside\n/etc/hosts\n"})
	writeFile(t, p.dir, ".env.local", "A=1\n")
	writeFile(t, p.dir, ".env.other", "B=1\n")
	writeFile(t, p.dir, "big.bin", strings.Repeat("x", MaxUntracked+1))
	skipped := "1 left out"
	if runtime.GOOS != "windows" {
		if err := os.Symlink("/etc/hosts", filepath.Join(p.dir, "secret-link")); err != nil {
			t.Fatal(err)
		}
		skipped = "2 left out"
	}
	tree := p.add(Wish{Purpose: "delegate"})
	if got := readFile(t, tree.Dir, ".env.local"); got != "A=1\n" {
		t.Errorf("listed: %q", got)
	}
	for _, name := range []string{".env.other", "big.bin", "secret-link"} {
		if _, err := os.Lstat(filepath.Join(tree.Dir, name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
	if len(tree.Notes) != 1 || !strings.Contains(tree.Notes[0], "1 ignored files copied") || !strings.Contains(tree.Notes[0], skipped) {
		t.Errorf("notes: %q", tree.Notes)
	}
	remove(t, tree)
	p.clean()
}

func TestShape(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, old, text, want string }{
		{"crlf", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"},
		{"bom", bom + "a\n", "b\n", bom + "b\n"},
		{"bom given twice", bom + "a\n", bom + "b\n", bom + "b\n"},
		{"no final newline", "a\nb", "a\nc\n", "a\nc"},
		{"mixed, one line changes", "a\r\nb\nc\r\nd\n", "a\nX\nc\nd\n", "a\r\nX\nc\r\nd\n"},
		{"mixed, mostly crlf, a line more", "a\r\nb\r\nc\n", "a\nb\nnew\nc\n", "a\r\nb\r\nnew\r\nc\n"},
	}
	for _, c := range cases {
		if got := string(Shape(Original{Exists: true, Data: []byte(c.old)}, []byte(c.text))); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := string(Shape(Original{}, []byte("x"))); got != "x\n" {
		t.Errorf("new file: %q", got)
	}
}

// C19, C30: a write to the shared git folder is seen.
func TestShared(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n"})
	r := p.open()
	before := r.Shared()
	writeFile(t, p.dir, ".git/hooks/pre-commit", "#!/bin/sh\n")
	p.git("config", "core.bare", "true")
	if diff := cmp.Diff([]string{"config", "hooks/pre-commit"}, before.Diff(r.Shared())); diff != "" {
		t.Error(diff)
	}
}

// The stash is one list for all worktrees: what is popped in one is named, with the way to get it back.
func TestSharedStash(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n"})
	stash := func(text string) string {
		writeFile(t, p.dir, "a.txt", text)
		p.git("stash", "-q")
		return strings.TrimSpace(p.git("rev-parse", "refs/stash"))
	}
	r := p.open()
	none := r.Shared()
	first := stash("one\n")
	if diff := none.Diff(r.Shared()); len(diff) != 1 || !strings.Contains(diff[0], "new in it: "+first) {
		t.Error(diff)
	}
	second := stash("two\n")
	p.git("pack-refs", "--all")
	before := r.Shared()
	tree := p.add(Wish{Purpose: "run_agent"})
	p.git("-C", tree.Dir, "stash", "drop", "-q")
	p.git("-C", tree.Dir, "stash", "pop", "-q")
	want := []string{"refs/stash (stashed work was taken away, this brings it back: `git stash store " + first + "; git stash store " + second + "`)"}
	if diff := cmp.Diff(want, before.Diff(r.Shared())); diff != "" {
		t.Error(diff)
	}
	p.git("stash", "store", first)
	p.git("stash", "store", second)
	if diff := before.Diff(r.Shared()); len(diff) > 0 {
		t.Error(diff)
	}
	p.git("-C", tree.Dir, "checkout", "-q", ".")
	remove(t, tree)
}

func TestCancelledAddLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n"})
	r := p.open()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Add(ctx, Wish{Purpose: "delegate"}); err == nil {
		t.Fatal("no error")
	}
	p.clean()
}

// C31: a repository of another user is refused with git's own words, which name the fix.
func TestForeignOwnerC31(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n"})
	p.opt.Env = append(p.opt.Env, "GIT_TEST_ASSUME_DIFFERENT_OWNER=1") // git's own switch for its tests
	_, err := Open(t.Context(), p.opt, p.dir)
	if !errors.Is(err, ErrOwnership) || !strings.Contains(err.Error(), "safe.directory") {
		t.Errorf("%v", err)
	}
}

// What changed in place is told, whatever was dirty before, and whether it was committed or not.
func TestChangedSince(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"clean.txt": "a\n", "dirty.txt": "a\n", "gone.txt": "a\n", "back.txt": "a\n", "same.txt": "a\n", "committed.txt": "a\n"})
	writeFile(t, p.dir, "dirty.txt", "mine\n")
	writeFile(t, p.dir, "same.txt", "mine\n")
	writeFile(t, p.dir, "back.txt", "mine\n")
	writeFile(t, p.dir, "untracked.txt", "mine\n")
	r, err := Open(t.Context(), p.opt, p.dir)
	if err != nil {
		t.Fatal(err)
	}
	before, err := r.Moment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.ChangedSince(t.Context(), before); err != nil || len(got) != 0 {
		t.Errorf("nothing was done: %q, %v", got, err)
	}
	writeFile(t, p.dir, "clean.txt", "b\n")
	writeFile(t, p.dir, "dirty.txt", "b\n")
	writeFile(t, p.dir, "back.txt", "a\n")
	writeFile(t, p.dir, "sub/new.txt", "b\n")
	writeFile(t, p.dir, "committed.txt", "b\n")
	if err := os.Remove(filepath.Join(p.dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	p.git("commit", "-q", "-m", "work", "committed.txt", "same.txt")
	got, err := r.ChangedSince(t.Context(), before)
	want := []string{"back.txt", "clean.txt", "committed.txt", "dirty.txt", "gone.txt", "sub/new.txt"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Ignored files that a run leaves go; what was there, dependency links and what lies behind them stay.
func TestDropIgnored(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n", ".gitignore": "node_modules\n*.db\nout/\nkept/\n", ".worktreeinclude": "kept/\n", "pkg/x/y.txt": "y\n"})
	writeFile(t, p.dir, "node_modules/dep/s.db", "x\n")
	writeFile(t, p.dir, "kept/mine", "x\n")
	tree := p.add(Wish{Purpose: "delegate", Scratch: true, Links: []string{"node_modules"}})
	if err := tree.Own("own.db"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"s.db", "own.db", "out/a/b", "kept/new", "pkg/x/s.db", "pkg/x/out/cache/x", "pkg/x/out/new", "node_modules/dep/new.db"} {
		writeFile(t, tree.Dir, name, "left\n")
	}
	if err := tree.DropIgnored(t.Context(), func(rel string) bool { return filepath.Base(rel) == "cache" }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"s.db": false, "own.db": true, "out": false, "kept/new": false, "kept/mine": true, "pkg/x/s.db": false, "pkg/x/y.txt": true, "pkg/x/out/cache/x": true,
		"pkg/x/out/new": false, "node_modules/dep/s.db": true, "node_modules/dep/new.db": true, "a.txt": true,
	} {
		if _, err := os.Lstat(filepath.Join(tree.Dir, filepath.FromSlash(name))); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", name, err == nil, want)
		}
	}
	remove(t, tree)
}
