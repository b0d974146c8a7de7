package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// readingSpeed times the reader over a large log: cleaning, the parsers, folding, and the ranking for one
// question, in one process that starts and ends. Twice the size must not take more memory.
func readingSpeed(l *lab) ([]row, error) {
	const mb = 1 << 20
	small, half, whole := filepath.Join(l.dir, "small.log"), filepath.Join(l.dir, "half.log"), filepath.Join(l.dir, "whole.log")
	defer func() { _ = errors.Join(os.Remove(half), os.Remove(whole)) }()
	for path, size := range map[string]int{small: 1 << 10, half: 256 * mb, whole: 512 * mb} {
		if err := writeLog(path, size); err != nil {
			return nil, err
		}
	}
	_, base, err := l.digest(small)
	if err != nil {
		return nil, err
	}
	_, halfRSS, err := l.digest(half)
	if err != nil {
		return nil, err
	}
	var rows []row
	best, rss := time.Duration(0), 0.0
	for range 3 {
		took, peak, err := l.digest(whole)
		if err != nil {
			return nil, err
		}
		if best == 0 || took < best {
			best = took
		}
		rss = max(rss, peak)
	}
	rows = append(rows,
		row{what: "clean + parse + rank", how: "`legwork digest --question …` on a log of 512 MiB, best of 3", limit: 100, got: 512 * mb / 1e6 / best.Seconds(), unit: "MB/s", atLeast: true},
		row{what: "memory above start", how: "peak RSS on 512 MiB less that on 1 KiB", limit: 64, got: rss - base, unit: "MiB", note: fmt.Sprintf("%.0f MiB at half the size", halfRSS-base)},
	)
	return rows, nil
}

// digest runs the reader on a file and returns its time and peak memory in MiB.
func (l *lab) digest(path string) (time.Duration, float64, error) {
	cmd := exec.Command(l.bin, "digest", "--question", "which disk is full, and when was it seen?", path) //nolint:noctx // ends by itself
	cmd.Env = l.env()
	start := time.Now()
	out, peak, err := output(cmd)
	if err != nil {
		return 0, 0, fmt.Errorf("legwork digest: %w\n%s", err, out)
	}
	return time.Since(start), peak, nil
}

// writeLog writes about size bytes of a server's log: forty kinds of lines, colours, progress frames, and
// one line in the middle that answers the question.
func writeLog(path string, size int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	verbs := []string{"accepted", "closed", "retried", "queued", "flushed", "read", "wrote", "compacted", "skipped", "merged"}
	parts := []string{"gateway", "index", "store", "mailer"}
	written, told := 0, false
	for i := 0; written < size; i++ {
		at := fmt.Sprintf("2026-11-29T%02d:%02d:%02d.%03dZ", i/3_600_000%24, i/60_000%60, i/1000%60, i%1000)
		var n int
		switch {
		case !told && written > size/2:
			told = true
			n, err = fmt.Fprintf(w, "%s ERROR store: no space left on disk sdb1 while writing segment 0000%d\n", at, i)
		case i%97 == 0:
			n, err = fmt.Fprintf(w, "\x1b[32m%s INFO\x1b[0m %s: ready in %d ms\r\n", at, parts[i%4], i%900)
		case i%1009 == 0:
			n, err = fmt.Fprintf(w, "progress %d%%\rprogress %d%%\rdone\n", i%50, i%50+50)
		default:
			n, err = fmt.Fprintf(w, "%s INFO %s: %s request %08x from 198.51.100.%d in %d ms, %d bytes\n", at, parts[i%4], verbs[i/4%10], i*2654435761, i%256, i%977, i*31%65536)
		}
		if err != nil {
			return err
		}
		written += n
	}
	return w.Flush()
}
