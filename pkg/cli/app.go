package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"legwork/pkg/claudecode"
	"legwork/pkg/config"
	"legwork/pkg/llm"
	"legwork/pkg/mcpserver"
	"legwork/pkg/offload"
	"legwork/pkg/proc"
	"legwork/pkg/web"
)

// app is the object graph of one process. Configuration is read for every call; the model registry is
// kept, because it remembers probes, slots and token ratios.
type app struct {
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
	global         *global
	children       *proc.Group
	log            *slog.Logger
	logFile        *os.File

	mu     sync.Mutex
	models *llm.Registry
	last   *config.Config

	pages    *web.Fetcher
	pagesFor string // the settings pages was made for
}

func newApp(env []string, stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{
		env: env, stdin: stdin, stdout: stdout, stderr: stderr, global: &global{}, children: &proc.Group{},
		log: slog.New(slog.DiscardHandler),
	}
}

func (a *app) close() {
	a.children.Kill()
	if a.pages != nil {
		a.pages.Close()
	}
	if a.logFile != nil {
		a.logFile.Close()
	}
}

// dir is the project's directory: what Claude Code says, else the working directory.
func (a *app) dir() string {
	if d := lookup(a.env, "CLAUDE_PROJECT_DIR"); d != "" && filepath.IsAbs(d) {
		if st, err := os.Stat(d); err == nil && st.IsDir() {
			return filepath.Clean(d)
		}
	}
	d, err := os.Getwd()
	if err != nil {
		return "."
	}
	return d
}

func lookup(env []string, name string) string {
	v := ""
	for _, kv := range env {
		if len(kv) > len(name) && kv[:len(name)] == name && kv[len(name)] == '=' {
			v = kv[len(name)+1:]
		}
	}
	return v
}

func (a *app) options() config.Options {
	return config.Options{Dir: a.dir(), Env: a.env, File: a.global.config}
}

// load reads the configuration.
func (a *app) load() (*config.Config, error) {
	cfg, err := config.Load(a.options())
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	a.mu.Lock()
	a.last = cfg
	a.mu.Unlock()
	return cfg, nil
}

// registry returns the process's model registry under the settings of cfg.
func (a *app) registry(cfg *config.Config) (*llm.Registry, error) {
	state, err := config.StateHome(a.env)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.models == nil {
		a.models = llm.New(llm.FromConfig(cfg), llm.Options{StateDir: state, Logger: a.log})
	} else {
		a.models.Use(llm.FromConfig(cfg))
	}
	return a.models, nil
}

// ground is what every verb stands on: the configuration as it is now, the model registry under it, and
// the state directory.
func (a *app) ground() (cfg *config.Config, models *llm.Registry, state string, err error) {
	if cfg, err = a.load(); err != nil {
		return nil, nil, "", err
	}
	if models, err = a.registry(cfg); err != nil {
		return nil, nil, "", err
	}
	state, err = config.StateHome(a.env)
	return cfg, models, state, err
}

// redact removes the secrets of the configuration and of the environment from a message.
func (a *app) redact(s string) string { return a.settings().KnownMasker(a.env)(s) }

// mask removes them too, and what has the form of a key, from what programs and models wrote.
func (a *app) mask(s string) string { return a.settings().Masker(a.env)(s) }

// settings is the configuration as it was read last; nil before.
func (a *app) settings() *config.Config {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

// offload is the verb behind `legwork offload` and the tools offload and offload_files.
func (a *app) offload(ctx context.Context, req offload.Request, progress func(string)) (*offload.Result, error) {
	cfg, models, state, err := a.ground()
	if err != nil {
		return nil, err
	}
	if req.Dir == "" {
		req.Dir = a.dir()
	}
	req.Roots = append(req.Roots, req.Dir)
	if root := cfg.Project.Root; root != "" && root != req.Dir {
		req.Roots = append(req.Roots, root)
	}
	deps := offload.Deps{
		Config: cfg, Models: models, StateDir: state, Env: a.env, Children: a.children, Logger: a.log, Progress: progress,
	}
	rules := claudecode.LoadRules(claudecode.Place{Dir: a.dir(), Env: a.env})
	req.Roots = append(req.Roots, rules.Dirs...)
	deps.AllowCommand = func(command string) error { return refusal(rules.Denied(command, req.Dir)) }
	deps.AllowRead = fileCheck(ctx, rules.Read, req.Dir, "Read")
	return offload.Run(ctx, deps, req)
}

// fileCheck holds files against the user's rules for a tool of the client's. A rule that asks refuses what Claude
// calls, as we cannot ask; a person at a shell needs no question.
func fileCheck(ctx context.Context, judge func(path, cwd string) claudecode.Decision, dir, tool string) func(path string) error {
	asks := mcpserver.ToolUse(ctx) != ""
	return func(path string) error {
		d := judge(path, dir)
		if asks && d.Verdict == claudecode.Ask && d.Rule != "" {
			return &offload.RefusedError{Msg: fmt.Sprintf("refused: your permission rule %s in %s asks first, which only the %s tool can do", d.Rule, d.File, tool)}
		}
		return refusal(d)
	}
}

// refusal words a deny rule of the user's; nil for everything else.
func refusal(d claudecode.Decision) error {
	if d.Verdict != claudecode.Deny {
		return nil
	}
	return &offload.RefusedError{Msg: fmt.Sprintf("refused: your permission rule %s in %s denies it", d.Rule, d.File)}
}

// store is the raw store under the current settings.
func (a *app) store() (offload.Store, error) {
	cfg, err := a.load()
	if err != nil {
		return offload.Store{}, err
	}
	state, err := config.StateHome(a.env)
	if err != nil {
		return offload.Store{}, err
	}
	return offload.Store{Dir: filepath.Join(state, "raw"), Max: int64(cfg.Store.RawMax), Age: cfg.Store.RawAge}, nil
}

// maxLog is the size at which the log file is begun anew, its predecessor kept.
const maxLog = 4 << 20

// openLog sends the log of a server to stderr (warnings) and to a file (all).
func (a *app) openLog() {
	handlers := []slog.Handler{slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})}
	if state, err := config.StateHome(a.env); err == nil && os.MkdirAll(state, 0o700) == nil {
		path := filepath.Join(state, "legwork.log")
		if st, err := os.Stat(path); err == nil && st.Size() > maxLog {
			_ = os.Rename(path, path+".1")
		}
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			a.logFile = f
			handlers = append(handlers, slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelInfo}))
		}
	}
	a.log = slog.New(slog.NewMultiHandler(handlers...))
}

// printf writes to stdout.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.stdout, format, args...) }
