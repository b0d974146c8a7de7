// Command packaging makes what strangers install: the binaries that the plugin ships, the archives and bundles of a
// release, and the proof that they were built from the sources they name. `make release` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"legwork/packaging/release"
)

const usage = `usage: go run ./packaging COMMAND

  release VERSION             bump, commit, build all binaries into bin/prebuilt, commit them
  bump VERSION                only the version strings and the changelog's heading; commits nothing
  build [-o DIR] [TARGET...]  the binaries of this tree as they are (linux/amd64 …; all without a name)
  verify [-rebuild TARGETS]   the committed binaries: checksums, history, a rebuild of TARGETS (all, none, linux/amd64)
  dist [-o DIR] [-repo URL]   archives, .mcpb bundles, checksums, and with -repo the registry's server.json
                              (-only .mcpb: the bundles alone)
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("no command\n%s", usage)
	}
	command, args := args[0], args[1:]
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	dir := flags.String("o", "dist", "where the results go")
	rebuild := flags.String("rebuild", "linux/amd64", "targets to build again and compare: all, none, or names with commas")
	only := flags.String("only", "", "write only the files whose names end so, as .mcpb")
	repo := flags.String("repo", "", "the address of the project on GitHub or GitLab, for server.json")
	tool := flags.String("go", "go", "the go command")
	if err := flags.Parse(args); err != nil {
		return err
	}
	p := &release.Project{Root: ".", Out: out, Go: *tool}
	switch command {
	case "release", "bump":
		v, err := release.ParseVersion(flags.Arg(0))
		if err != nil {
			return err
		}
		if command == "bump" {
			return p.Bump(ctx, v)
		}
		return p.Release(ctx, v)
	case "build":
		targets, err := release.Targets(strings.Join(flags.Args(), ","))
		if err != nil {
			return err
		}
		return p.Build(ctx, *dir, targets)
	case "verify":
		targets, err := release.Targets(*rebuild)
		if err != nil {
			return err
		}
		return p.Verify(ctx, targets)
	case "dist":
		return p.Dist(ctx, release.Page{Dir: *dir, Repo: *repo, Only: *only})
	}
	return fmt.Errorf("unknown command %q\n%s", command, usage)
}
