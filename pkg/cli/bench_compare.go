package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"legwork/pkg/bench"
)

func benchCompare() *command {
	return &command{
		name: "compare", args: "RAW [RAW]", min: 1, max: 2,
		short: "Compare two raw files of bench run, or the policies or models of one, pair by pair; says when they cannot be told apart.",
		example: `legwork bench compare before.jsonl after.jsonl
legwork bench compare --by policy bench/results/qwen2.5-coder-1.5b.jsonl`,
		bind: func(fs *pflag.FlagSet) runFunc {
			by := fs.String("by", "", "what to compare within the files: `policy|model`")
			choices := fs.StringArray("tasks", nil, "only these tasks: a `GLOB` of names, kind=KIND or tier=TIER, several with commas between")
			return func(_ context.Context, a *app, args []string) error {
				list, err := compareFiles(args, *by, *choices)
				if err != nil {
					return &exitError{exitUsage, err}
				}
				if a.global.json {
					return a.printJSON(list)
				}
				for i, c := range list {
					if i > 0 {
						a.printf("\n")
					}
					if err := c.Write(a.stdout); err != nil {
						return err
					}
				}
				return nil
			}
		},
	}
}

// compareFiles compares two files, or the parts of what all files hold.
func compareFiles(paths []string, by string, choices []string) ([]*bench.Comparison, error) {
	if by == "" && len(paths) < 2 {
		return nil, errors.New("name two raw files, or say --by policy or --by model")
	}
	var sides [][]*bench.Row
	for _, p := range paths {
		rows, _, err := bench.ReadRows(p)
		if err != nil {
			return nil, err
		}
		if rows, err = bench.PickRows(rows, choices); err != nil {
			return nil, err
		}
		sides = append(sides, rows)
	}
	if by != "" {
		var all []*bench.Row
		for _, s := range sides {
			all = append(all, s...)
		}
		return bench.CompareBy(all, by)
	}
	name := func(i int) string { return strings.TrimSuffix(filepath.Base(paths[i]), ".jsonl") }
	c, err := bench.Compare(sides[0], sides[1], "", name(0), name(1))
	return []*bench.Comparison{c}, err
}
