package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// appName is the directory of ours within the places a system has for such things.
const appName = "legwork"

// environment looks variables up in a KEY=value list; later entries win, as in a process.
type environment struct {
	vars map[string]string
	goos string
}

func newEnvironment(env []string) environment {
	if env == nil {
		env = os.Environ()
	}
	e := environment{vars: make(map[string]string, len(env)), goos: runtime.GOOS}
	for _, kv := range env {
		// Windows keeps per-drive directories in variables that begin with "=".
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			e.vars[e.fold(k)] = v
		}
	}
	e.takeOptions()
	return e
}

// pluginOptions are the variables in which the plugin's manifest hands over what Claude Code keeps of the plugin's
// options, and those they stand for. Names of their own, because an option nobody filled in is handed over empty and
// would hide what the user exported.
var pluginOptions = map[string]string{
	"LEGWORK_OPTION_API_KEY":        KeyVariable,
	"LEGWORK_OPTION_BRAVE_API_KEY":  "LEGWORK_RESEARCH_BRAVE_API_KEY",
	"LEGWORK_OPTION_TAVILY_API_KEY": "LEGWORK_RESEARCH_TAVILY_API_KEY",
}

func (e environment) takeOptions() {
	for option, name := range pluginOptions {
		if v := e.vars[option]; v != "" && !isReference(v) && e.vars[name] == "" { // a client that does not know options hands over ${…}
			e.vars[name] = v
		}
		delete(e.vars, option)
	}
}

// fold makes names comparable: Windows ignores the case of variable names.
func (e environment) fold(k string) string {
	if e.goos == "windows" {
		return strings.ToUpper(k)
	}
	return k
}

func (e environment) get(k string) string { return e.vars[e.fold(k)] }

// absolute is get for directories; the XDG rules say that a relative one is ignored.
func (e environment) absolute(k string) string {
	if v := e.get(k); filepath.IsAbs(v) {
		return v
	}
	return ""
}

func (e environment) home() string {
	if e.goos == "windows" {
		return e.absolute("USERPROFILE")
	}
	return e.absolute("HOME")
}

// place finds one of our directories: our own variable is the directory itself, the others hold ours.
func (e environment) place(own, xdg, windows string, fallback ...string) (string, error) {
	if v := e.get(own); v != "" {
		if !filepath.IsAbs(v) {
			return "", fmt.Errorf("%s=%s is not an absolute path", own, v)
		}
		return filepath.Clean(v), nil
	}
	names := []string{xdg}
	if e.goos == "windows" {
		names = append(names, windows)
	}
	for _, name := range names {
		if v := e.absolute(name); v != "" {
			return filepath.Join(v, appName), nil
		}
	}
	if h := e.home(); h != "" {
		return filepath.Join(append(append([]string{h}, fallback...), appName)...), nil
	}
	return "", fmt.Errorf("no home directory: set %s to an absolute path", own)
}

func (e environment) configHome() (string, error) {
	if e.goos == "windows" {
		return e.place("LEGWORK_CONFIG_HOME", "XDG_CONFIG_HOME", "APPDATA", "AppData", "Roaming")
	}
	return e.place("LEGWORK_CONFIG_HOME", "XDG_CONFIG_HOME", "", ".config")
}

func (e environment) stateHome() (string, error) {
	if e.goos == "windows" {
		return e.place("LEGWORK_STATE_HOME", "XDG_STATE_HOME", "LOCALAPPDATA", "AppData", "Local")
	}
	return e.place("LEGWORK_STATE_HOME", "XDG_STATE_HOME", "", ".local", "state")
}

// ConfigHome is the directory of the user's files: $LEGWORK_CONFIG_HOME, else legwork in $XDG_CONFIG_HOME
// (~/.config, %AppData% on Windows). Nil env means the process's own. It need not exist.
func ConfigHome(env []string) (string, error) { return newEnvironment(env).configHome() }

// StateHome is the directory of ledger, raw output, jobs and caches: $LEGWORK_STATE_HOME, else legwork in
// $XDG_STATE_HOME (~/.local/state, %LocalAppData% on Windows). Nil env means the process's own. It need not
// exist.
func StateHome(env []string) (string, error) { return newEnvironment(env).stateHome() }

// ProjectRoot is the nearest directory at or above dir that has a .git (a directory, or the file of a worktree
// or submodule), else dir itself. Git is not run: this is on the way of every call.
func ProjectRoot(dir string) string {
	dir = filepath.Clean(dir)
	for d := dir; ; d = filepath.Dir(d) {
		if isGit(filepath.Join(d, ".git")) {
			return d
		}
		if filepath.Dir(d) == d {
			return dir
		}
	}
}

// isGit tells a repository's .git from an empty directory of that name.
func isGit(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	if !st.IsDir() {
		return st.Mode().IsRegular()
	}
	_, err = os.Stat(filepath.Join(path, "HEAD"))
	return err == nil
}

// layout holds the paths of all layers for one call.
type layout struct {
	env     environment
	dir     string
	userErr error  // why there is no user layer
	home    string // our configuration directory, "" when userErr
	root    string
	named   string // --config
}

const (
	userName       = "config.yaml"
	userSideName   = "config.local.yaml"
	projectName    = ".legwork.yaml"
	projectSide    = ".legwork.local.yaml"
	modelsName     = "models.yaml"
	trustStoreName = "trust.yaml"
)

func newLayout(opts Options) (layout, error) {
	l := layout{env: newEnvironment(opts.Env), dir: opts.Dir}
	if !filepath.IsAbs(l.dir) {
		abs, err := filepath.Abs(l.dir)
		if err != nil {
			return l, fmt.Errorf("finding the working directory: %w", err)
		}
		l.dir = abs
	}
	l.home, l.userErr = l.env.configHome()
	l.root = ProjectRoot(l.dir)
	if l.named = opts.File; l.named != "" && !filepath.IsAbs(l.named) {
		l.named = filepath.Join(l.dir, l.named)
	}
	return l, nil
}

func (l layout) userFile() string    { return l.inHome(userName) }
func (l layout) userSidecar() string { return l.inHome(userSideName) }
func (l layout) trustStore() string  { return l.inHome(trustStoreName) }
func (l layout) sidecar() string     { return filepath.Join(l.root, projectSide) }

func (l layout) inHome(name string) string {
	if l.home == "" {
		return ""
	}
	return filepath.Join(l.home, name)
}
