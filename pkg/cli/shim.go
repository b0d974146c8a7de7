package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"legwork/pkg/agent"
	"legwork/pkg/llm"
	"legwork/pkg/shim"
)

func shimCommand() *command {
	return &command{
		name: "shim", short: "Run the proxy that lets a whole Claude Code session work on a local model.",
		example: `legwork shim --endpoint gpu                  # prints the environment; paste it into another terminal, start claude there
legwork shim --endpoint gpu --model qwen3 --port 8900 --records ./records`,
		bind: func(fs *pflag.FlagSet) runFunc {
			var o shimOptions
			fs.StringVar(&o.endpoint, "endpoint", "", "`ENDPOINT` to use (default: the one that serves the model)")
			fs.StringVar(&o.model, "model", "", "`MODEL` to use (default: the only one served)")
			fs.IntVar(&o.port, "port", 0, "`PORT` on 127.0.0.1 (default: a free one)")
			fs.IntVar(&o.window, "window", 64<<10, "`TOKENS` to ask an Ollama server for")
			fs.StringVar(&o.records, "records", "", "write requests.jsonl into `DIR`")
			fs.BoolVar(&o.full, "full", false, "also write whole requests and answers, secrets masked")
			return func(ctx context.Context, a *app, _ []string) error { return a.runShim(ctx, o) }
		},
	}
}

type shimOptions struct {
	endpoint, model, records string
	port, window             int
	full                     bool
}

// runShim serves until it is interrupted.
func (a *app) runShim(ctx context.Context, o shimOptions) error {
	a.openLog()
	cfg, reg, state, err := a.ground()
	if err != nil {
		return err
	}
	choice, err := reg.Choose(ctx, llm.Want{Model: o.model, Endpoint: o.endpoint, Tools: true, Wait: true})
	if err != nil {
		return err
	}
	target, err := agent.ShimTarget(reg, choice, state)
	if err != nil {
		return err
	}
	if o.records != "" {
		if err := os.MkdirAll(o.records, 0o700); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	opt := shim.Options{RecordDir: o.records, Full: o.full, Log: a.log, FirstByte: cfg.LLM.FirstByteTimeout, Idle: cfg.LLM.IdleTimeout, Mask: cfg.Masker(a.env)}
	if target, err = shim.EnsureWindow(ctx, target, o.window, opt); err != nil {
		return &exitError{exitBackend, err}
	}
	s, err := shim.New(target, opt)
	if err != nil {
		return &exitError{exitBackend, err}
	}
	defer s.Close()
	ln, err := shim.Listen(ctx, o.port)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if err := a.printShim(s, target, ln.Addr().String()); err != nil {
		return err
	}
	if err := s.Serve(ctx, ln); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// printShim prints the environment for another terminal; the rest goes to stderr.
func (a *app) printShim(s *shim.Shim, t shim.Target, addr string) error {
	env := s.Env(addr)
	if a.global.json {
		b, err := json.Marshal(map[string]any{"address": addr, "model": t.Model, "endpoint": t.Name, "window": t.Window, "env": env})
		if err != nil {
			return err
		}
		a.printf("%s\n", b)
		return nil
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		a.printf("export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	fmt.Fprintf(a.stderr, "%s on %s, window %d, listening on %s; stop it with Ctrl-C\n", t.Model, t.Name, t.Window, addr)
	return nil
}
