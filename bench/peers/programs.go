package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// peer is rtk, with stand-ins for the programs it runs.
type peer struct {
	rtk, dir, bin, work string
}

// standIns are the programs whose recorded output is replayed.
var standIns = strings.Fields(`go cargo npx npm pnpm yarn node bun deno jest vitest mocha ava tap tape jasmine playwright pytest python python3
	py.test rspec bundle ruby rake phpunit php prove bats ctest cmake make gcc cc g++ clang tsc eslint vite webpack mypy pylint flake8 ruff
	shellcheck javac java ant mvn gradle mix elixir dotnet gotestsum nextest uv poetry`)

const standIn = "#!/bin/sh\necho \"$0 $*\" >>\"$REPLAY_LOG\"\ncat \"$REPLAY_OUT\"\nexit \"$REPLAY_EXIT\"\n"

func newPeer(rtk, dir string) (*peer, error) {
	p := &peer{rtk: rtk, dir: dir, bin: filepath.Join(dir, "bin"), work: filepath.Join(dir, "work")}
	for _, d := range []string{p.bin, p.work} {
		if err := os.MkdirAll(d, 0o755); err != nil { //nolint:gosec // a scratch folder
			return nil, err
		}
	}
	for _, n := range standIns {
		if err := os.WriteFile(filepath.Join(p.bin, n), []byte(standIn), 0o755); err != nil { //nolint:gosec // a program
			return nil, err
		}
	}
	return p, nil
}

func (p *peer) version(ctx context.Context) string {
	out, err := p.command(ctx, "--version").Output()
	if err != nil {
		return "a peer that does not start"
	}
	return strings.TrimSpace(string(out))
}

func (p *peer) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.rtk, args...)
	cmd.Dir = p.work
	cmd.Env = p.env("")
	return cmd
}

func (p *peer) env(out string, more ...string) []string {
	return append([]string{
		"HOME=" + p.dir, "PATH=" + p.bin + ":" + filepath.Dir(p.rtk) + ":/usr/bin:/bin", "REPLAY_OUT=" + out,
		"REPLAY_LOG=" + filepath.Join(p.dir, "calls"),
	}, more...)
}

type verdict int

const (
	replayed    verdict = iota
	unknown             // its hook leaves the command alone
	otherFormat         // it asks the program for another format, or does not run it
)

// reply is what rtk prints for a command, as its hook would run it.
func (p *peer) reply(ctx context.Context, command string, out []byte, exit int) (string, verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	b, err := p.command(ctx, "rewrite", command).Output()
	rewritten := strings.TrimSpace(string(b))
	if failed := (&exec.ExitError{}); err != nil && !errors.As(err, &failed) {
		return "", unknown, err
	}
	if rewritten == "" || rewritten == command {
		return "", unknown, nil
	}
	file := filepath.Join(p.dir, "replay")
	calls := filepath.Join(p.dir, "calls")
	if err := errors.Join(os.WriteFile(file, out, 0o600), os.RemoveAll(calls)); err != nil {
		return "", unknown, err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", rewritten)
	cmd.Dir, cmd.Env = p.work, p.env(file, fmt.Sprintf("REPLAY_EXIT=%d", exit))
	text, err := cmd.CombinedOutput()
	if failed := (&exec.ExitError{}); err != nil && !errors.As(err, &failed) {
		return "", unknown, err
	}
	ran, err := os.ReadFile(calls)
	if err != nil || asksOther(command, string(ran)) {
		return "", otherFormat, nil
	}
	return string(text), replayed, nil
}

// asksOther: the program was started with a reporter that the recorded command did not name.
func asksOther(command, calls string) bool {
	for w := range strings.FieldsSeq(calls) {
		if (strings.Contains(w, "json") || strings.Contains(w, "report")) && !strings.Contains(command, w) && strings.HasPrefix(w, "-") {
			return true
		}
	}
	return slices.Contains(strings.Fields(calls), "--version") && strings.Count(calls, "\n") == 1
}
