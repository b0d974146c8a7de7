package claudecode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"legwork/pkg/proc"
)

// ErrNoClient is wrapped when there is no Claude Code to start.
var ErrNoClient = errors.New("the claude program was not found")

// Client is an installed Claude Code.
type Client struct {
	Path    string
	Version string // "2.1.332"
	Note    string // a doubt about it, for the user; usually empty
}

// The oldest version whose flags we need, and the one our knowledge of it comes from.
const (
	minVersion   = "2.0.0"
	knownVersion = "2.1.328"
)

// versionWait bounds `claude --version`, which takes 25 ms.
const versionWait = 20 * time.Second

// FindClient finds the program: setting (a path, "" for none), else PATH, else where its installers put it. It asks
// it for its version.
func FindClient(ctx context.Context, setting string, env []string) (Client, error) {
	path, err := clientPath(setting, env)
	if err != nil {
		return Client{}, err
	}
	c := Client{Path: nativeClient(path)}
	var out bytes.Buffer
	exit, err := proc.Run(ctx, proc.Spec{Argv: []string{c.Path, "--version"}, Env: scrub(env), Stdout: &out, Stderr: &out, Timeout: versionWait})
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrNoClient, err)
	}
	c.Version, _, _ = strings.Cut(strings.TrimSpace(out.String()), " ")
	switch {
	case ctx.Err() != nil:
		return c, ctx.Err()
	case !exit.OK() || versionNumbers(c.Version) == nil:
		return c, fmt.Errorf("%w: %s --version: %s: %.200s; set agent.claude to the path of a working one", ErrNoClient, c.Path, exit, strings.TrimSpace(out.String()))
	case olderVersion(c.Version, minVersion):
		return c, fmt.Errorf("%w: %s is version %s, at least %s is needed; run `claude update`", ErrNoClient, c.Path, c.Version, minVersion)
	case olderVersion(c.Version, knownVersion):
		c.Note = fmt.Sprintf("Claude Code %s is older than %s, which legwork knows; `claude update` helps if something is odd", c.Version, knownVersion)
	}
	return c, nil
}

func clientPath(setting string, env []string) (string, error) {
	if setting != "" {
		path, err := exec.LookPath(expandHome(setting, env))
		if err != nil {
			return "", fmt.Errorf("%w: agent.claude is %q: %w", ErrNoClient, setting, err)
		}
		return path, nil
	}
	home := homeOf(env)
	places := append(filepath.SplitList(variable(env, "PATH")),
		filepath.Join(home, ".local", "bin"), filepath.Join(home, ".claude", "local"))
	for _, dir := range places {
		if !filepath.IsAbs(dir) {
			continue // an entry like "." would run a file of the project
		}
		if path, err := exec.LookPath(filepath.Join(dir, "claude")); err == nil { // knows .exe and .cmd on Windows
			return path, nil
		}
	}
	return "", fmt.Errorf("%w on PATH; install Claude Code, or set agent.claude to its path", ErrNoClient)
}

// nativeClient replaces npm's batch file by the program beside it: arguments pass through a batch file damaged.
func nativeClient(path string) string {
	if ext := strings.ToLower(filepath.Ext(path)); ext != ".cmd" && ext != ".bat" {
		return path
	}
	exe := filepath.Join(filepath.Dir(path), "node_modules", "@anthropic-ai", "claude-code", "bin", "claude.exe")
	if _, err := os.Stat(exe); err == nil {
		return exe
	}
	return path
}

func expandHome(path string, env []string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(homeOf(env), rest)
	}
	return path
}

func homeOf(env []string) string {
	if runtime.GOOS == "windows" {
		return variable(env, "USERPROFILE")
	}
	return variable(env, "HOME")
}

func variable(env []string, name string) string {
	value := ""
	for _, kv := range env {
		k, v, ok := strings.Cut(kv, "=")
		if ok && (k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name)) {
			value = v
		}
	}
	return value
}

func versionNumbers(s string) []int {
	var out []int
	for part := range strings.SplitSeq(s, ".") {
		digits, _, _ := strings.Cut(part, "-")
		n, err := strconv.Atoi(digits)
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

func olderVersion(a, b string) bool {
	x, y := versionNumbers(a), versionNumbers(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return len(x) < len(y)
}

// scrub drops what a session above us, or the user's own login, would hand to a client of ours: with it the client
// would talk to another server, believe to be part of that session, or send the user's key.
func scrub(env []string) []string {
	var out []string
	for _, kv := range proc.CleanEnv(env) {
		name, _, _ := strings.Cut(kv, "=")
		if name = strings.ToUpper(name); !strings.HasPrefix(name, "CLAUDE") && !strings.HasPrefix(name, "ANTHROPIC") {
			out = append(out, kv)
		}
	}
	return out
}
