package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"legwork/pkg/bench"
	"legwork/pkg/offload"
)

func benchCommand() *command {
	return &command{
		name: "bench", short: "Measure models, and legwork itself, against sets with known answers.",
		subs: []*command{benchRun(), benchTable(), benchCompare(), benchCheck(), benchDigest(), benchEvidence(), benchExtract(), benchOffload(), benchResearch()},
	}
}

func benchDigest() *command {
	return &command{
		name: "digest", short: "Score the reading of test output against a folder of NAME.out and NAME.json.",
		example: `legwork bench digest --set runner-output --misses`,
		bind: func(fs *pflag.FlagSet) runFunc {
			set := fs.String("set", "", "`DIR` of the set")
			misses := fs.Bool("misses", false, "list every difference")
			var o bench.Options
			fs.StringVar(&o.Only, "only", "", "only records whose name begins with `PREFIX`")
			textOnly := fs.Bool("text-only", false, "give the reader text and exit code alone, as for a saved log; else the command too")
			return func(_ context.Context, a *app, _ []string) error {
				o.WithCommand = !*textOnly
				r, err := bench.ScoreRunnersWith(os.DirFS(*set), o)
				if err != nil {
					return &exitError{exitUsage, err}
				}
				if a.global.json {
					return a.printJSON(r)
				}
				if err := r.Table(a.stdout, *misses); err != nil {
					return err
				}
				if !r.Ok() {
					return &exitError{code: exitFailed}
				}
				return nil
			}
		},
	}
}

func benchEvidence() *command {
	return &command{
		name: "evidence", short: "Score which of the lines that answer a question the reader keeps within a budget.",
		example: `legwork bench evidence --set bench/evidence --budget 2000`,
		bind: func(fs *pflag.FlagSet) runFunc {
			set := fs.String("set", "", "`DIR` of the set, with questions.jsonl")
			missed := fs.Bool("missed", false, "list the questions that lost evidence")
			var o bench.EvidenceOptions
			fs.IntVar(&o.Budget, "budget", 2000, "`TOKENS` a selection may cost")
			return func(ctx context.Context, a *app, _ []string) error {
				r, err := bench.EvidenceSet(ctx, *set, o)
				if err != nil {
					return &exitError{exitUsage, err}
				}
				if a.global.json {
					return a.printJSON(r)
				}
				if err := r.Write(a.stdout, *missed); err != nil {
					return err
				}
				if !r.Ok() {
					return &exitError{code: exitFailed}
				}
				return nil
			}
		},
	}
}

func benchExtract() *command {
	return &command{
		name: "extract", short: "Score the reading of pages against a folder of source.html and expected.html.",
		example: `legwork bench extract --set pages`,
		bind: func(fs *pflag.FlagSet) runFunc {
			set := fs.String("set", "", "`DIR` of the set")
			return func(ctx context.Context, a *app, _ []string) error {
				r, err := bench.ExtractSet(ctx, *set)
				if err != nil {
					return &exitError{exitUsage, err}
				}
				if a.global.json {
					return a.printJSON(r)
				}
				a.printf("%s\n", r.Text())
				return nil
			}
		},
	}
}

func benchOffload() *command {
	return &command{
		name: "offload", short: "Ask questions with known answers through the real verb and the real model, and judge the replies.",
		example: `legwork bench offload --set bench/evidence -n 10`,
		bind: func(fs *pflag.FlagSet) runFunc {
			set := fs.String("set", "", "`DIR` of the set, with questions.jsonl")
			model := fs.String("model", "", "`MODEL` to use")
			var o bench.OffloadOptions
			fs.IntVar(&o.N, "n", 30, "`N` questions, the kinds in turn")
			fs.IntVar(&o.Second, "second", 5, "`N` texts that are asked about twice, for the prompt cache")
			fs.StringVar(&o.Log, "log", "", "`FILE` for the replies, one JSON object a line; what it holds is not asked again")
			return func(ctx context.Context, a *app, _ []string) error {
				o.Ask = func(ctx context.Context, req offload.Request) (*offload.Result, error) {
					req.Model = *model
					return a.offload(ctx, req, nil)
				}
				if !a.global.quiet {
					o.Say = func(format string, v ...any) { fmt.Fprintf(a.stderr, format+"\n", v...) }
				}
				r, err := bench.OffloadSet(ctx, *set, o)
				if err != nil {
					return err
				}
				if a.global.json {
					return a.printJSON(r)
				}
				if err := r.Write(a.stdout); err != nil {
					return err
				}
				if !r.Ok() {
					return &exitError{code: exitFailed}
				}
				return nil
			}
		},
	}
}
