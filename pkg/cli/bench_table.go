package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"legwork/pkg/bench"
	"legwork/pkg/fsx"
)

func benchTable() *command {
	return &command{
		name: "table", args: "RAW...", min: 1, max: -1,
		short:   "Rebuild the tables from the raw files of bench run.",
		example: `legwork bench table bench/results/*.jsonl --md bench/results/RESULTS.md --html bench/results/results.html`,
		bind: func(fs *pflag.FlagSet) runFunc {
			md := fs.String("md", "", "write the Markdown to `FILE` (default: stdout)")
			html := fs.String("html", "", "write a self-contained page with a chart to `FILE`")
			return func(_ context.Context, a *app, args []string) error {
				rows, damaged, err := bench.ReadRows(args...)
				if err != nil {
					return &exitError{exitUsage, err}
				}
				if len(rows) == 0 {
					return &exitError{exitUsage, fmt.Errorf("no rows in %v", args)}
				}
				page := bench.NewPage(rows, damaged)
				for _, out := range []struct {
					path string
					text func() string
				}{{*md, page.Markdown}, {*html, page.HTML}} {
					if out.path == "" {
						continue
					}
					if err := fsx.WriteFile(out.path, []byte(out.text()), 0); err != nil {
						return err
					}
				}
				switch {
				case a.global.json:
					return a.printJSON(page)
				case *md == "" && *html == "":
					a.printf("%s", page.Markdown())
				}
				return nil
			}
		},
	}
}
