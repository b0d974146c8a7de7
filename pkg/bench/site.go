package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"legwork/pkg/config"
	"legwork/pkg/delegate"
	"legwork/pkg/fsx"
	"legwork/pkg/llm"
	"legwork/pkg/proc"
)

// Ground is what the delegate benches stand on.
type Ground struct {
	Config *config.Config
	Models *llm.Registry // nil where only scripted answers are given
	// StateDir is a folder of the bench's own: fresh repositories, worktrees, caches of tests, what was learned.
	StateDir string
	Env      []string // environment of git and the tests
	Children *proc.Group
	Logger   *slog.Logger
}

// site is one fresh repository with the state folder that its call uses.
type site struct {
	g     Ground
	task  *Task
	state string // delegate's StateDir
	dir   string // the repository
}

// newSite makes a repository below the bench's state that holds the task's files in one commit.
func (g Ground) newSite(ctx context.Context, t *Task, state string) (*site, error) {
	repos := filepath.Join(g.StateDir, "repos")
	if err := os.MkdirAll(repos, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(repos, t.Name+"-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	s := &site{g: g, task: t, state: state, dir: dir}
	if err := s.fill(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	return s, nil
}

func (s *site) fill(ctx context.Context) error {
	for name, text := range s.task.Repo {
		path := filepath.Join(s.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a project's folder
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a project's file
			return err
		}
	}
	for _, args := range [][]string{{"init", "--quiet", "--template="}, {"add", "--all", "--force"}, {"commit", "--quiet", "--no-verify", "--message", "start"}} {
		if err := s.git(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// git runs git without the user's settings: a signing key or a hook has no business here.
func (s *site) git(ctx context.Context, args ...string) error {
	env := proc.CleanEnv(s.g.Env)
	for _, v := range [][2]string{
		{"GIT_CONFIG_GLOBAL", os.DevNull},
		{"GIT_CONFIG_NOSYSTEM", "1"},
		{"GIT_AUTHOR_NAME", "bench"},
		{"GIT_AUTHOR_EMAIL", "bench@localhost"},
		{"GIT_COMMITTER_NAME", "bench"},
		{"GIT_COMMITTER_EMAIL", "bench@localhost"},
	} {
		env = proc.SetEnv(env, v[0], v[1])
	}
	var out bytes.Buffer
	exit, err := s.g.Children.Run(ctx, proc.Spec{Argv: append([]string{"git", "-c", "core.autocrlf=false"}, args...), Dir: s.dir, Env: env, Stdout: &out, Stderr: &out})
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !exit.OK() {
		return fmt.Errorf("git %s: %s: %s", args[0], exit, strings.TrimSpace(out.String()))
	}
	return nil
}

// run hands the task to delegate as a caller would.
func (s *site) run(ctx context.Context, cfg *config.Config, models *llm.Registry, req delegate.Request) (*delegate.Result, error) {
	t := s.task
	req.Spec, req.Targets, req.Test, req.Properties = t.Spec, t.Targets, t.Test, t.Properties
	req.Context, req.TestFiles, req.Dir = t.Context, t.TestFiles, s.dir
	return delegate.Run(ctx, delegate.Deps{
		Config: cfg, Models: models, StateDir: s.state, Env: s.g.Env, Children: s.g.Children, Logger: s.g.Logger,
	}, req)
}

// close removes the repository and the worktree that a caller was told of. leaked is how many others the
// call left behind.
func (s *site) close(res *delegate.Result) (leaked int, err error) {
	trees, err := filepath.Glob(filepath.Join(s.state, "worktrees", "*"))
	if err != nil {
		return 0, err
	}
	for _, home := range trees {
		var meta struct {
			Top string `json:"top"`
		}
		b, err := os.ReadFile(filepath.Join(home, "tree.json"))
		if err != nil || json.Unmarshal(b, &meta) != nil || meta.Top != s.dir {
			continue
		}
		if res == nil || res.Worktree == "" || !fsx.Inside(home, res.Worktree) {
			leaked++
		}
		if err := fsx.RemoveAll(home); err != nil {
			return leaked, err
		}
		if err := os.RemoveAll(home + ".lock"); err != nil {
			return leaked, err
		}
	}
	if res != nil && res.Transcript != "" {
		if err := os.RemoveAll(res.Transcript); err != nil {
			return leaked, err
		}
	}
	return leaked, fsx.RemoveAll(s.dir)
}

// Missing are the programs that the tasks need and PATH lacks, and git.
func Missing(tasks []*Task, env []string) []string {
	found := map[string]bool{}
	var out []string
	for _, p := range append([]string{"git"}, needs(tasks)...) {
		if _, known := found[p]; !known {
			found[p] = onPath(p, env)
			if !found[p] {
				out = append(out, p)
			}
		}
	}
	return out
}

func needs(tasks []*Task) []string {
	var out []string
	for _, t := range tasks {
		out = append(out, t.Needs...)
	}
	return out
}
