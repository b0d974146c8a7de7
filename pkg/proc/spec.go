package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// stopSignal is one step of the stop sequence before SIGKILL.
type stopSignal int

const (
	stopInterrupt stopSignal = iota
	stopTerminate
)

func (s Spec) stopSequence() []stopSignal {
	if s.Interrupt {
		return []stopSignal{stopInterrupt, stopTerminate}
	}
	return []stopSignal{stopTerminate}
}

// name is how errors call the child.
func (s Spec) name() string {
	switch {
	case s.Shell != "":
		return fmt.Sprintf("%.80q", s.Shell)
	case len(s.Argv) > 0:
		return s.Argv[0]
	}
	return "nothing"
}

// command checks the spec and builds what os/exec needs, all but stdio.
func (s Spec) command() (*exec.Cmd, error) {
	env := s.Env
	if env == nil {
		env = CleanEnv(os.Environ())
	}
	dir := s.Dir
	if dir != "" {
		var err error
		if dir, err = filepath.Abs(dir); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSpec, err)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%w: there is no folder %s", ErrSpec, dir)
		}
		env = SetEnv(env, "PWD", dir)
	}
	var cmd *exec.Cmd
	switch shell := strings.TrimSpace(s.Shell); {
	case s.Shell != "" && len(s.Argv) > 0:
		return nil, fmt.Errorf("%w: both a shell line and a program are given", ErrSpec)
	case shell != "":
		cmd = shellCommand(s.Shell)
	case len(s.Argv) > 0 && s.Argv[0] != "":
		path, err := lookPath(s.Argv[0], dir, env)
		if err != nil {
			return nil, err
		}
		cmd = &exec.Cmd{Path: path, Args: s.Argv}
	default:
		return nil, fmt.Errorf("%w: the command is empty", ErrSpec)
	}
	if s.Stdin != nil && s.StdinPipe {
		return nil, fmt.Errorf("%w: both Stdin and StdinPipe are set", ErrSpec)
	}
	cmd.Dir, cmd.Env = dir, env
	setAttributes(cmd)
	return cmd, nil
}

// lookPath finds a program as a shell in dir with env would; exec.LookPath uses our own PATH and folder.
func lookPath(name, dir string, env []string) (string, error) {
	if filepath.IsAbs(name) {
		return exec.LookPath(name)
	}
	if strings.ContainsRune(name, filepath.Separator) || strings.Contains(name, "/") {
		return exec.LookPath(filepath.Join(dirOrHere(dir), name))
	}
	for _, d := range filepath.SplitList(getEnv(env, "PATH")) {
		if !filepath.IsAbs(d) {
			continue // an entry like "." would run a file of the project instead of the program meant
		}
		if path, err := exec.LookPath(filepath.Join(d, name)); err == nil {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

func dirOrHere(dir string) string {
	if dir != "" {
		return dir
	}
	here, err := os.Getwd()
	if err != nil {
		return "."
	}
	return here
}
