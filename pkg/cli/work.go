package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"legwork/pkg/mcpserver"
	"legwork/pkg/offload"
)

type offloadCmd struct {
	Question string        `arg:"" help:"What you want to know."`
	Command  string        `help:"Shell command to run; its output is read." placeholder:"CMD"`
	File     []string      `help:"File, range (PATH:10-90) or glob to read." placeholder:"PATH[:A-B]" sep:"none"`
	Raw      string        `help:"Id of earlier output, to ask again without running." placeholder:"ID"`
	Model    string        `help:"Model to use." placeholder:"M"`
	Endpoint string        `help:"Endpoint to use." placeholder:"E"`
	Coverage string        `help:"auto, full or focused." placeholder:"MODE"`
	Timeout  time.Duration `help:"Time limit of the command." placeholder:"10m"`
}

// Run asks one question.
func (c *offloadCmd) Run(ctx context.Context, a *app) error {
	say, end := a.progress()
	wd, err := os.Getwd()
	if err != nil {
		end()
		return err
	}
	res, err := a.offload(ctx, offload.Request{
		Question: c.Question, Command: c.Command, Files: c.File, Raw: c.Raw, Model: c.Model, Endpoint: c.Endpoint,
		Coverage: c.Coverage, Timeout: c.Timeout, Dir: wd,
	}, say)
	end()
	if err != nil {
		return err
	}
	if a.global.JSON {
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
	a.printf("%s\n", a.redact(string(b)))
	return nil
}

type completeCmd struct {
	Prompt      string   `arg:"" help:"The prompt; - reads it from stdin."`
	System      string   `help:"System prompt." placeholder:"S"`
	Model       string   `help:"Model to use." placeholder:"M"`
	Endpoint    string   `help:"Endpoint to use." placeholder:"E"`
	MaxTokens   int      `help:"Limit of the answer in tokens." placeholder:"N"`
	Temperature *float64 `help:"Sampling temperature." placeholder:"T"`
	Schema      string   `help:"JSON schema the answer must satisfy, or @FILE." placeholder:"JSON"`
}

// Run asks the model.
func (c *completeCmd) Run(ctx context.Context, a *app) error {
	if c.Prompt == "-" {
		b, err := io.ReadAll(a.stdin)
		if err != nil {
			return err
		}
		c.Prompt = string(b)
	}
	schema, err := textOrFile(c.Schema)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	say, end := a.progress()
	ans, err := a.complete(ctx, mcpserver.Completion{
		Prompt: c.Prompt, System: c.System, Model: c.Model, Endpoint: c.Endpoint, MaxTokens: c.MaxTokens,
		Temperature: c.Temperature, Schema: schema,
	}, say)
	end()
	if err != nil {
		return err
	}
	if a.global.JSON {
		return a.printJSON(ans)
	}
	facts, text, _ := strings.Cut(mcpserver.CompletionText(ans), "\n")
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
