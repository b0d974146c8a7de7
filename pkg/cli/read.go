package cli

import (
	"context"
	"io"
	"os"

	"legwork/pkg/offload"
)

type digestCmd struct {
	File     string `arg:"" help:"File to read, - for stdin."`
	Exit     *int   `help:"Exit code of the command that printed it." placeholder:"N"`
	Command  string `help:"The command that printed it." placeholder:"CMD"`
	Question string `help:"What you want to know." placeholder:"Q"`
	Budget   int    `help:"Tokens of text to keep." default:"1000" placeholder:"TOKENS"`
}

// Run shows what the extractive reader makes of a text.
func (c *digestCmd) Run(ctx context.Context, a *app) error {
	open := func() (io.ReadCloser, error) { return os.Open(c.File) }
	if c.File == "-" {
		path, drop, err := spool(a.stdin)
		if err != nil {
			return err
		}
		defer drop()
		open = func() (io.ReadCloser, error) { return os.Open(path) }
	} else if st, err := os.Stat(c.File); err != nil || st.IsDir() {
		if err == nil {
			err = &os.PathError{Op: "read", Path: c.File, Err: os.ErrInvalid}
		}
		return &exitError{exitUsage, err}
	}
	d, err := offload.Digest(ctx, open, offload.DigestRequest{Exit: c.Exit, Command: c.Command, Question: c.Question, Budget: c.Budget})
	if err != nil {
		return err
	}
	if a.global.JSON {
		return a.printJSON(d)
	}
	a.printf("%s\n", d.Text)
	return nil
}

// spool keeps stdin in a temporary file, because the reader may need to go over the text twice.
func spool(r io.Reader) (path string, drop func(), err error) {
	f, err := os.CreateTemp("", "legwork-digest-*")
	if err != nil {
		return "", nil, err
	}
	drop = func() { _ = os.Remove(f.Name()) }
	if _, err = io.Copy(f, r); err == nil {
		err = f.Close()
	}
	if err != nil {
		drop()
		return "", nil, err
	}
	return f.Name(), drop, nil
}
