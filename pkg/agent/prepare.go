package agent

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"legwork/pkg/fsx"
	"legwork/pkg/llm"
	"legwork/pkg/proc"
	"legwork/pkg/repo"
	"legwork/pkg/shim"
)

// checkRequest looks at everything that needs no server.
func checkRequest(d *Deps, req *Request) error {
	if err := checkDepth(d.Env); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(req.Task) == "":
		return input("task: missing; say what to do, in which files, and how to tell that it is done")
	case !slices.Contains([]string{"", Auto, None, Worktree}, req.Isolation):
		return input("isolation: %q is not known; use auto, none or worktree", req.Isolation)
	case req.MaxTurns < 0:
		return input("max_turns: %d is negative", req.MaxTurns)
	case req.Timeout < 0:
		return input("timeout: %s is negative", req.Timeout)
	}
	dir, err := filepath.Abs(req.Dir)
	if err != nil {
		return err
	}
	if len(d.Roots) > 0 {
		if dir, err = fsx.Resolve(d.Roots, dir); errors.Is(err, fsx.ErrOutside) {
			return &RefusedError{fmt.Sprintf("cwd: %s is outside the project; start the session there, or use the command line", req.Dir)}
		} else if err != nil {
			return err
		}
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return input("cwd: there is no folder %s", dir)
	}
	req.Dir = dir
	return allowGate(d, req.Verify)
}

// checkDepth keeps an agent from starting agents (B10): every one would start more.
func checkDepth(env []string) error {
	if slices.Contains(env, depthMark) || proc.InheritsEnv(depthMark) {
		return &RefusedError{"refused: this is a session that legwork started itself, and an agent must not start agents; do the work here"}
	}
	return nil
}

func allowGate(d *Deps, command string) error {
	if command == "" || d.AllowCommand == nil {
		return nil
	}
	if err := d.AllowCommand(command); err != nil {
		return &RefusedError{"verify: " + err.Error()}
	}
	return nil
}

// prepare names the model, before anything is made, and looks whether all that is needed is there.
func prepare(ctx context.Context, d *Deps, req *Request) error {
	if _, err := clientOf(ctx, d); err != nil {
		return err
	}
	if req.Isolation != None {
		if _, err := repo.Open(ctx, d.repo(), req.Dir); err != nil && (req.Isolation == Worktree || !errors.Is(err, repo.ErrNoRepo)) {
			return input("isolation: %s; with isolation none the session works in place", err)
		}
	}
	choice, err := choose(ctx, d, req)
	if err != nil {
		return err
	}
	req.Model, req.Endpoint, req.Window = choice.Model, choice.Endpoint, choice.Window
	return checkWindow(choice.Model, choice.Window, choice.MaxWindow, d.Config.Agent.Tools)
}

func choose(ctx context.Context, d *Deps, req *Request) (llm.Choice, error) {
	return d.Models.Choose(ctx, llm.Want{
		Model: req.Model, Endpoint: req.Endpoint, Tool: Kind, Tools: true, Wait: true,
		OnProgress: func(p llm.Progress) { d.say(p.Text) },
	})
}

// What the client's own prompt takes, in tokens, by set of tools (measured with 2.1.332), and what work needs beside
// it: one file read, one answer.
const (
	fixedLean = 3400
	fixedFull = 19000
	workRoom  = 8192
	// goodWindow is what agent work is comfortable in; less is said in the notes.
	goodWindow = 128 << 10
	// askWindow is what an Ollama server, which loads a model with the window it is told, is asked for.
	askWindow = 64 << 10
)

// checkWindow refuses what cannot work, with the arithmetic (A32). An unknown window passes.
func checkWindow(model string, window, most int, tools string) error {
	fixed := fixedLean
	if tools == "full" {
		fixed = fixedFull
	}
	if have := max(window, most); window <= 0 || have >= fixed+workRoom {
		return nil
	}
	return &RefusedError{fmt.Sprintf(
		"%s has a window of %d tokens, a session with %s tools needs %d: %d for its own prompt and %d to work in; start the server with a larger window (llama-server -c 32768), or give the task to delegate",
		model, window, tools, fixed+workRoom, fixed, workRoom)}
}

// windowNote warns of a window that works but is small.
func windowNote(window int) string {
	switch {
	case window <= 0:
		return "the server does not tell its window; a prompt too long for it cannot be foreseen"
	case window < goodWindow:
		return fmt.Sprintf("window of %d tokens: long sessions are compacted often, or end; %d and more is comfortable", window, goodWindow)
	}
	return ""
}

// ShimTarget is what a shim needs to know of a chosen model.
func ShimTarget(reg *llm.Registry, c llm.Choice, stateDir string) (shim.Target, error) {
	to, ok := reg.Target(c.Endpoint)
	if !ok {
		return shim.Target{}, fmt.Errorf("endpoint %s is gone", c.Endpoint)
	}
	t := shim.Target{
		Name: c.Endpoint, BaseURL: to.Root, API: to.API, Host: to.Host, Header: to.Header, Kind: shim.Kind(c.Backend), Model: c.Model, Window: c.Window,
		CountTokens: c.Backend == llm.LlamaCpp || c.Backend == llm.VLLM, TextOnly: c.Caps.Known && !c.Caps.Vision,
		Learned: filepath.Join(stateDir, "cache", "refused-"+url.PathEscape(c.Endpoint)+".json"),
		Count: func(ctx context.Context, text string) (int, error) {
			n, exact := reg.Count(ctx, c, text)
			if !exact {
				return 0, errors.New("the server does not count")
			}
			return n, nil
		},
	}
	return t, os.MkdirAll(filepath.Dir(t.Learned), 0o700)
}
