package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"legwork/pkg/clean"
	"legwork/pkg/mcpserver"
	"legwork/pkg/offload"
)

func offloadCommand() *command {
	return &command{
		name: "offload", tool: "offload", args: "QUESTION", min: 1, max: 1,
		short: "Answer a question about a command's output or about files.",
		example: `legwork offload --command 'npm test' 'which test fails, and why?'
legwork offload --file 'logs/**/*.log' 'when was the first refused connection?'
legwork offload --raw rk3x7abq 'and how often did it happen?'`,
		bind: func(fs *pflag.FlagSet) runFunc {
			var req offload.Request
			fs.StringVar(&req.Command, "command", "", "shell `CMD` to run; its output is read")
			fs.StringArrayVar(&req.Files, "file", nil, "file, range or glob to read, as `PATH[:A-B]`; may be repeated")
			fs.StringVar(&req.Raw, "raw", "", "`ID` of earlier output, to ask again without running")
			fs.StringVar(&req.Model, "model", "", "`MODEL` to use")
			fs.StringVar(&req.Endpoint, "endpoint", "", "`ENDPOINT` to use")
			fs.StringVar(&req.Coverage, "coverage", "", "auto, full (the model reads everything) or focused")
			fs.DurationVar(&req.Timeout, "timeout", 0, "time limit of the command (default: offload.command_timeout)")
			return func(ctx context.Context, a *app, args []string) error {
				req.Question = args[0]
				return a.runOffload(ctx, req)
			}
		},
	}
}

// runOffload asks one question and prints the reply.
func (a *app) runOffload(ctx context.Context, req offload.Request) error {
	say, end := a.progress()
	wd, err := os.Getwd()
	if err != nil {
		end()
		return err
	}
	req.Dir = wd
	res, err := a.offload(ctx, req, say)
	end()
	if err != nil {
		return err
	}
	if a.global.json {
		if err := a.printJSON(res); err != nil {
			return err
		}
	} else {
		a.printReply(res.Text())
	}
	if res.Ran != nil && res.Ran.TimedOut {
		return &exitError{code: exitTimeout}
	}
	return nil
}

// printReply prints a reply; on a terminal its first line is bold.
func (a *app) printReply(text string) {
	if isTerminal(a.stdout) && lookup(a.env, "NO_COLOR") == "" {
		first, rest, _ := strings.Cut(text, "\n")
		text = "\x1b[1m" + first + "\x1b[0m\n" + rest
	}
	a.printf("%s\n", strings.TrimRight(text, "\n"))
}

func (a *app) printJSON(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	a.printf("%s\n", clean.MaskJSON(b, a.redact))
	return nil
}

func completeCommand() *command {
	return &command{
		name: "complete", tool: "local_complete", args: "PROMPT", min: 1, max: 1,
		short: "One prompt, one answer; - reads the prompt from stdin.",
		example: `legwork complete 'three names for a queue of late jobs'
git diff | legwork complete --system 'Write a commit message.' -`,
		bind: func(fs *pflag.FlagSet) runFunc {
			var in mcpserver.Completion
			var schema string
			temperature := fs.Float64("temperature", 0, "sampling `T` (default: the server's)")
			fs.StringVar(&in.System, "system", "", "system prompt `TEXT`")
			fs.StringVar(&in.Model, "model", "", "`MODEL` to use")
			fs.StringVar(&in.Endpoint, "endpoint", "", "`ENDPOINT` to use")
			fs.IntVar(&in.MaxTokens, "max-tokens", 0, "limit of the answer in tokens")
			fs.StringVar(&schema, "schema", "", "`JSON` schema the answer must satisfy, or @FILE")
			return func(ctx context.Context, a *app, args []string) error {
				if fs.Changed("temperature") {
					in.Temperature = temperature
				}
				return a.runComplete(ctx, in, schema, args[0])
			}
		},
	}
}

// runComplete asks the model and prints the answer to stdout, the facts to stderr.
func (a *app) runComplete(ctx context.Context, in mcpserver.Completion, schema, prompt string) error {
	if prompt == "-" {
		b, err := io.ReadAll(a.stdin)
		if err != nil {
			return err
		}
		prompt = string(b)
	}
	var err error
	if in.Schema, err = textOrFile(schema); err != nil {
		return &exitError{exitUsage, err}
	}
	in.Prompt = prompt
	say, end := a.progress()
	ans, err := a.complete(ctx, in, say)
	end()
	if err != nil {
		return err
	}
	if a.global.json {
		return a.printJSON(ans)
	}
	facts, text, _ := strings.Cut(a.redact(mcpserver.CompletionText(ans)), "\n")
	fmt.Fprintln(a.stderr, facts)
	a.printf("%s\n", text)
	if ans.Outcome != "answered" {
		return &exitError{code: exitFailed}
	}
	return nil
}

// textOrFile reads @FILE arguments.
func textOrFile(s string) (string, error) {
	name, ok := strings.CutPrefix(s, "@")
	if !ok {
		return s, nil
	}
	b, err := os.ReadFile(name)
	return string(b), err
}
