package cli

import (
	"context"
	"os"

	"legwork/pkg/bench"
)

type benchCmd struct {
	Digest  benchDigestCmd  `cmd:"" help:"Score the reading of test output against a folder of recorded runs."`
	Extract benchExtractCmd `cmd:"" help:"Score the reading of pages against a folder of pages."`
}

type benchDigestCmd struct {
	Set         string `required:"" help:"Folder of NAME.out and NAME.json." placeholder:"DIR" type:"existingdir"`
	Only        string `help:"Only records whose name begins so." placeholder:"PREFIX"`
	Misses      bool   `help:"List every difference."`
	WithCommand bool   `help:"Tell the reader the command too, as when legwork ran it."`
}

// Run scores the parsers; the bar is no false pass and every state right.
func (c *benchDigestCmd) Run(a *app) error {
	r, err := bench.ScoreRunnersWith(os.DirFS(c.Set), bench.Options{Only: c.Only, WithCommand: c.WithCommand})
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if a.global.JSON {
		return a.printJSON(r)
	}
	if err := r.Table(a.stdout, c.Misses); err != nil {
		return err
	}
	if !r.Ok() {
		return &exitError{code: exitFailed}
	}
	return nil
}

type benchExtractCmd struct {
	Set string `required:"" help:"Folder of pages, each with source.html and expected.html." placeholder:"DIR" type:"existingdir"`
}

// Run scores the extraction of pages.
func (c *benchExtractCmd) Run(ctx context.Context, a *app) error {
	r, err := bench.ExtractSet(ctx, c.Set)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if a.global.JSON {
		return a.printJSON(r)
	}
	a.printf("%s\n", r.Text())
	return nil
}
