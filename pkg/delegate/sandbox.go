package delegate

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"legwork/pkg/fsx"
	"legwork/pkg/proc"
)

// sandbox runs the test with bubblewrap: no network but its own loopback, writes only in the worktree, its
// temporary folder and build caches of ours.
type sandbox struct {
	bwrap string
	auto  bool
	args  []string
	vars  [][2]string
}

// newSandbox follows delegate.sandbox; nil means none. With "on" a sandbox that does not work is refused.
func newSandbox(ctx context.Context, c *call, temp string) (*sandbox, error) {
	mode := c.Config.Delegate.Sandbox
	if mode == "off" {
		return nil, nil //nolint:nilnil // none is a valid answer
	}
	bwrap, err := exec.LookPath("bwrap")
	if runtime.GOOS != "linux" || err != nil {
		if mode == "on" {
			return nil, refuse("delegate.sandbox is on, but bubblewrap is not there; install it (Linux: bubblewrap), or set delegate.sandbox to auto")
		}
		return nil, nil //nolint:nilnil // none is a valid answer
	}
	s := &sandbox{bwrap: bwrap, auto: mode != "on"}
	s.args = []string{
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session",
	}
	if s.freeTmp(c) {
		s.args = append(s.args, "--bind", temp, "/tmp")
	}
	for _, dir := range []string{c.tree.Dir, temp} {
		s.args = append(s.args, "--bind", dir, dir)
	}
	caches := filepath.Join(c.StateDir, "cache", "gate")
	for _, v := range [][2]string{{"GOCACHE", "go-build"}, {"npm_config_cache", "npm"}, {"XDG_CACHE_HOME", "xdg"}} {
		dir := filepath.Join(caches, v[1])
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		s.vars = append(s.vars, [2]string{v[0], dir})
	}
	s.vars = append(s.vars, [2]string{"TMPDIR", temp})
	s.args = append(s.args, "--bind", caches, caches)
	if s.works(ctx, c) {
		c.res.Sandbox = "bubblewrap"
		return s, nil
	}
	if mode == "on" {
		return nil, refuse("delegate.sandbox is on, but bubblewrap cannot start here (no user namespaces?); set delegate.sandbox to auto or off")
	}
	return nil, nil //nolint:nilnil // none is a valid answer
}

// freeTmp says that /tmp can be replaced: nothing that the test needs lies in it.
func (s *sandbox) freeTmp(c *call) bool {
	for _, dir := range []string{c.repo.Top, c.StateDir, os.Getenv("HOME")} {
		if fsx.Inside("/tmp", dir) {
			return false
		}
	}
	return true
}

// works tries it once.
func (s *sandbox) works(ctx context.Context, c *call) bool {
	exit, err := c.Children.Run(ctx, proc.Spec{Argv: append(append([]string{s.bwrap}, s.args...), "--", "true"), Dir: c.tree.Dir, Timeout: 10 * time.Second})
	return err == nil && exit.OK()
}

func (s *sandbox) env(env []string) []string {
	for _, v := range s.vars {
		env = proc.SetEnv(env, v[0], v[1])
	}
	return env
}

func (s *sandbox) wrap(spec proc.Spec) proc.Spec {
	spec.Argv = append(append([]string{s.bwrap}, s.args...), "--chdir", spec.Dir, "--", "sh", "-c", spec.Shell)
	spec.Shell = ""
	return spec
}

// denied are the words of programs that met the sandbox's walls.
func (s *sandbox) denied() *regexp.Regexp {
	return regexp.MustCompile(`(?i)read-only file system|EROFS|network is unreachable|ENETUNREACH|EAI_AGAIN|temporary failure in name resolution|could not resolve host|operation not permitted`)
}

// hinders tells whether a red run is red because of the sandbox.
func (s *sandbox) hinders(r gateRun) bool { return !r.exit.OK() && s.why(r) != "" }

func (s *sandbox) why(r gateRun) string { return strings.ToLower(s.denied().FindString(r.tail)) }

// deniedLines are the lines of the output that tell of the sandbox's walls.
func (s *sandbox) deniedLines(r gateRun) string {
	re := s.denied()
	var out []string
	for line := range strings.SplitSeq(r.tail, "\n") {
		if re.MatchString(line) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
