package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"legwork/pkg/ledger"
)

// The run log that is read, in lines, spread over days, projects and sessions as in years of use.
const (
	ledgerLines    = 1_000_000
	ledgerProjects = 40
	ledgerSession  = 50 // lines of one session
)

var ledgerRows = section{"Run log", func(l *lab) ([]row, error) {
	_, small, err := l.stats(ledgerLines / 1000)
	if err != nil {
		return nil, err
	}
	_, half, err := l.stats(ledgerLines / 2)
	if err != nil {
		return nil, err
	}
	took, whole, err := l.stats(ledgerLines)
	if err != nil {
		return nil, err
	}
	return []row{
		{what: "statistics over 1,000,000 lines", how: "`legwork stats`, best of 3", limit: 2000, got: float64(took.Milliseconds()), unit: "ms"},
		{
			what: "memory above start", how: "peak RSS on 1,000,000 lines in 20,000 sessions less that on 1,000", limit: 24, got: whole - small, unit: "MiB",
			note: fmt.Sprintf("%.0f MiB at half the lines", half-small),
		},
	}, nil
}}

// stats runs the statistic on a log of n lines and returns the best time of three and the peak memory in MiB.
func (l *lab) stats(n int) (best time.Duration, rss float64, err error) {
	state := filepath.Join(l.dir, fmt.Sprintf("log-%d", n))
	if err := writeRuns(state, n); err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.RemoveAll(state) }()
	for range 3 {
		cmd := exec.Command(l.bin, "stats") //nolint:noctx // ends by itself
		cmd.Env = append(l.env(), "LEGWORK_STATE_HOME="+state)
		start := time.Now()
		cmd.Stderr = os.Stderr
		_, peak, err := output(cmd)
		if err != nil {
			return 0, 0, fmt.Errorf("legwork stats: %w", err)
		}
		if took := time.Since(start); best == 0 || took < best {
			best = took
		}
		rss = max(rss, peak)
	}
	return best, rss, nil
}

func writeRuns(dir string, n int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "runs.jsonl"))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	enc := json.NewEncoder(w)
	start := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	tools := []string{"offload", "offload", ledger.ToolShrink, "delegate", ledger.ToolReread}
	for i := range n {
		session := i / ledgerSession
		err := enc.Encode(ledger.Run{
			TS: start.Add(time.Duration(i) * 30 * time.Second), Tool: tools[i%len(tools)], Model: fmt.Sprintf("qwen3-coder:%db", i%3), Endpoint: "workstation",
			OK: i%9 != 0, Outcome: ledger.Outcomes()[max(0, i%63-56)], Attempts: 1, InTok: 19132, OutTok: 195, CachedTok: 18000,
			ClaudeTokIn: 130, ClaudeTokOut: 40, BaseTok: 7400, RawBytes: 50000, MS: 57909, Job: fmt.Sprintf("j%07d", i), Rule: "go-test",
			Project: fmt.Sprintf("/home/me/src/project-%d", session%ledgerProjects), Session: fmt.Sprintf("5f0c31aa-0000-4000-8000-%012d", session),
		})
		if err != nil {
			_ = f.Close()
			return err
		}
	}
	if err := w.Flush(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
