package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"legwork/pkg/bench"
)

func benchResearch() *command {
	return &command{
		name: "research", short: "Score the check of citations on saved pages, and with --model or --ask answers over them.",
		example: `legwork bench research --missed
legwork bench research --model qwen2.5-coder-1.5b --log bench/research/mine.jsonl`,
		bind: func(fs *pflag.FlagSet) runFunc {
			set := fs.String("set", "bench/research", "`DIR` of the set, with pages, claims.jsonl and questions.jsonl")
			missed := fs.Bool("missed", false, "list the planted citations that were judged wrongly")
			var o bench.ResearchOptions
			fs.StringVar(&o.Model, "model", "", "ask this `MODEL` the questions too")
			fs.BoolVar(&o.Ask, "ask", false, "ask the questions too: the model of the settings, else the reader without one")
			fs.StringVar(&o.Log, "log", "", "`FILE` for the replies, one JSON object a line; what it holds is not asked again")
			endpoint := fs.String("endpoint", "", "use only this endpoint, a name of the settings or a `URL`")
			return func(ctx context.Context, a *app, _ []string) error {
				o.Ask = o.Ask || o.Model != ""
				if !a.global.quiet {
					o.Say = func(format string, v ...any) { fmt.Fprintf(a.stderr, format+"\n", v...) }
				}
				g, end, err := a.benchGround("research")
				if err != nil {
					return err
				}
				defer end()
				if *endpoint != "" {
					if err := useEndpoint(g, *endpoint); err != nil {
						return err
					}
				}
				r, err := bench.ResearchSet(ctx, g, *set, o)
				if err != nil {
					return err
				}
				if a.global.json {
					return a.printJSON(r)
				}
				return r.Write(a.stdout, *missed)
			}
		},
	}
}
