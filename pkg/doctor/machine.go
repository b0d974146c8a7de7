package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"legwork/pkg/claudecode"
	"legwork/pkg/fsx"
	"legwork/pkg/jobs"
	"legwork/pkg/proc"
	"legwork/pkg/repo"
)

// client looks for Claude Code, which run_agent starts.
func client(ctx context.Context, c *checkup) []Finding {
	setting := ""
	if c.cfg != nil {
		setting = c.cfg.Agent.Claude
	}
	found, err := claudecode.FindClient(ctx, setting, c.Env)
	switch {
	case err != nil && setting != "":
		return one(Fail, "set agent.claude to the path of the program, or unset it", "%v", err)
	case err != nil:
		return one(Warn, "install Claude Code, or set agent.claude to its path; only run_agent needs it", "%v", err)
	case found.Note != "":
		return one(Warn, "claude update", "%s", found.Note)
	}
	return one(OK, "", "%s at %s", found.Version, found.Path)
}

// oldestGit is the first version whose rev-parse prints absolute paths when asked.
var oldestGit = [2]int{2, 31}

// git looks for the program and its version; delegate and run_agent's worktrees need it.
func git(ctx context.Context, c *checkup) []Finding {
	text, err := c.output(ctx, "", "git", "--version")
	if err != nil {
		return one(Warn, "install git; delegate and worktrees need it", "git does not run: %v", err)
	}
	m := regexp.MustCompile(`(\d+)\.(\d+)\S*`).FindStringSubmatch(text)
	if m == nil {
		return one(Warn, "install git 2.31 or newer", "its version cannot be read: %.60q", text)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < oldestGit[0] || major == oldestGit[0] && minor < oldestGit[1] {
		return one(Warn, "update git to 2.31 or newer", "git %s is too old for delegate and worktrees", m[0])
	}
	return one(OK, "", "%s", m[0])
}

// output runs a small program and returns what it printed.
func (c *checkup) output(ctx context.Context, dir string, argv ...string) (string, error) {
	var out bytes.Buffer
	exit, err := c.Children.Run(ctx, proc.Spec{Argv: argv, Dir: dir, Env: proc.CleanEnv(c.Env), Stdout: &out, Stderr: &out, Timeout: limit})
	if err == nil && !exit.OK() {
		err = fmt.Errorf("%s: %.200s", exit, strings.TrimSpace(out.String()))
	}
	return strings.TrimSpace(out.String()), err
}

// worktree makes one in a scratch repository, where the real ones are made, and removes it.
func worktree(ctx context.Context, c *checkup) []Finding {
	if _, err := exec.LookPath("git"); err != nil {
		return one(Skip, "", "git is missing")
	}
	if err := c.tryWorktree(ctx); err != nil {
		return one(Fail, "delegate and run_agent need it; the reason is git's own, or the folder "+c.StateDir, "a worktree cannot be made: %v", err)
	}
	return one(OK, "", "made and removed below %s", c.StateDir)
}

func (c *checkup) tryWorktree(ctx context.Context) (err error) {
	if _, err := os.Lstat(c.StateDir); errors.Is(err, fs.ErrNotExist) {
		defer func() { _ = os.Remove(c.StateDir) }() // a look leaves nothing; os.Remove takes only what is empty
	}
	if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
		return err
	}
	// On the file system, and under the permissions, of the real ones.
	dir, err := os.MkdirTemp(c.StateDir, "doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fsx.RemoveAll(dir)) }()
	at := filepath.Join(dir, "repository")
	for _, argv := range [][]string{
		{"git", "init", "-q", at},
		{
			"git", "-C", at, "-c", "user.name=legwork", "-c", "user.email=legwork@localhost", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=" + os.DevNull,
			"commit", "-q", "--allow-empty", "-m", "scratch",
		},
	} {
		if _, err := c.output(ctx, dir, argv...); err != nil {
			return err
		}
	}
	r, err := repo.Open(ctx, repo.Options{StateDir: filepath.Join(dir, "state"), Env: c.Env, Children: c.Children, Logger: c.Logger}, at)
	if err != nil {
		return err
	}
	tree, err := r.Add(ctx, repo.Wish{Purpose: "doctor", Scratch: true})
	if err != nil {
		return err
	}
	return tree.Remove(context.WithoutCancel(ctx))
}

// sandbox tells whether delegate's tests can be kept from the network and the rest of the disk.
func sandbox(ctx context.Context, c *checkup) []Finding {
	mode := "auto"
	if c.cfg != nil {
		mode = c.cfg.Delegate.Sandbox
	}
	bad := Warn
	if mode == "on" {
		bad = Fail // delegate refuses to work then
	}
	switch {
	case mode == "off":
		return one(Skip, "", "delegate.sandbox is off")
	case runtime.GOOS != "linux":
		return one(Skip, "", "delegate's tests run without one: bubblewrap is for Linux")
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		return one(bad, "install bubblewrap (apt install bubblewrap, dnf install bubblewrap)", "bubblewrap is not installed: delegate's tests run unprotected")
	}
	_, err := c.output(ctx, "", "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session", "--", "true")
	if err != nil {
		return one(bad, "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, or kernel.apparmor_restrict_unprivileged_userns=0), or set delegate.sandbox: off", "bubblewrap cannot start here: delegate's tests run unprotected (%v)", err)
	}
	return one(OK, "", "bubblewrap works: delegate's tests write only in their worktree and reach no network")
}

// state looks at our own folder: it holds what commands printed, so it is nobody else's business.
func state(_ context.Context, c *checkup) []Finding {
	st, err := os.Lstat(c.StateDir)
	if err == nil && st.Mode()&fs.ModeSymlink != 0 {
		st, err = os.Stat(c.StateDir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(OK, "", "%s is made when it is needed", c.StateDir)
	case err != nil:
		return one(Fail, "make it readable, or set LEGWORK_STATE_HOME to another folder", "%v", err)
	case !st.IsDir():
		return one(Fail, "move it away, or set LEGWORK_STATE_HOME to a folder", "%s is no folder", c.StateDir)
	case !ours(st):
		return one(Fail, "chown it, or set LEGWORK_STATE_HOME to a folder of your own", "%s belongs to another user", c.StateDir)
	case othersMayRead(st):
		return one(Warn, "chmod 700 "+c.StateDir, "%s has mode %04o: others may see what your commands printed", c.StateDir, st.Mode().Perm())
	}
	probe, err := os.CreateTemp(c.StateDir, ".doctor-")
	if err != nil {
		return one(Fail, "make it writable, or set LEGWORK_STATE_HOME to another folder", "%v", err)
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return one(OK, "", "%s is yours alone and writable", c.StateDir)
}

const (
	lowDisk  = 200 << 20
	goodDisk = 2 << 30
)

// disk looks at the room for raw output and worktrees.
func disk(_ context.Context, c *checkup) []Finding {
	at := c.StateDir
	for {
		if _, err := os.Stat(at); err == nil || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	free, err := freeBytes(at)
	if err != nil {
		return one(Skip, "", "the free space at %s is not told: %v", at, err)
	}
	text := fmt.Sprintf("%.1f GB free at %s", float64(free)/(1<<30), at)
	switch {
	case free < lowDisk:
		return one(Fail, "make room; `legwork clean --dry-run` shows what legwork keeps", "%s", text)
	case free < goodDisk:
		return one(Warn, "make room; `legwork clean --dry-run` shows what legwork keeps", "%s", text)
	}
	return one(OK, "", "%s", text)
}

// leftovers looks for what calls that were killed left behind. It only looks.
func leftovers(_ context.Context, c *checkup) []Finding {
	trees := leftTrees(filepath.Join(c.StateDir, "worktrees"))
	running := proc.LeftBehind(filepath.Join(c.StateDir, "children"))
	lost := 0
	if list, err := jobs.New(c.StateDir).List(); err == nil {
		for _, j := range list {
			if j.State == jobs.Lost && time.Since(j.Created) < 7*24*time.Hour {
				lost++
			}
		}
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{len(running), "processes of servers that are gone"}, {trees, "worktrees that nobody uses"}, {lost, "jobs whose process is gone"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return one(OK, "", "none")
	}
	return one(Warn, "`legwork clean` ends and removes what holds no work; with --dry-run it only shows them", "%s", strings.Join(parts, ", "))
}

// leftTrees counts worktrees whose owner is gone: their lock is free.
func leftTrees(dir string) int {
	list, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range list {
		if !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, strings.TrimPrefix(e.Name(), ".trash-")+".lock")
		if _, err := os.Lstat(path); err != nil {
			continue // being made or removed right now
		}
		if lock, err := fsx.TryLock(path); err == nil {
			n++
			_ = lock.Unlock()
		}
	}
	return n
}
