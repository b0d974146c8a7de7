package cli

import (
	"context"
	"io"
	"os"

	"github.com/spf13/pflag"

	"legwork/pkg/offload"
)

func digestCommand() *command {
	return &command{
		name: "digest", args: "FILE|-", min: 1, max: 1,
		short: "Show what the extractive reader makes of a text, without a model.",
		example: `legwork digest --exit 1 test.log
go test ./... 2>&1 | legwork digest --json -`,
		bind: func(fs *pflag.FlagSet) runFunc {
			var req offload.DigestRequest
			exit := fs.Int("exit", 0, "exit code `N` of the command that printed it (default: unknown)")
			fs.StringVar(&req.Command, "command", "", "the `CMD` that printed it")
			fs.StringVar(&req.Question, "question", "", "what you want to know")
			fs.IntVar(&req.Budget, "budget", 1000, "`TOKENS` of text to keep")
			return func(ctx context.Context, a *app, args []string) error {
				if fs.Changed("exit") {
					req.Exit = exit
				}
				return a.runDigest(ctx, args[0], req)
			}
		},
	}
}

func (a *app) runDigest(ctx context.Context, file string, req offload.DigestRequest) error {
	open := func() (io.ReadCloser, error) { return os.Open(file) }
	if file == "-" {
		path, drop, err := spool(a.stdin)
		if err != nil {
			return err
		}
		defer drop()
		open = func() (io.ReadCloser, error) { return os.Open(path) }
	} else if st, err := os.Stat(file); err != nil || st.IsDir() {
		if err == nil {
			err = &os.PathError{Op: "read", Path: file, Err: os.ErrInvalid}
		}
		return &exitError{exitUsage, err}
	}
	d, err := offload.Digest(ctx, open, req)
	if err != nil {
		return err
	}
	if a.global.json {
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
