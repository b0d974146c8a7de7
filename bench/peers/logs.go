package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"legwork/pkg/bench"
)

// logScore is how much of the lines that answer questions is kept.
type logScore struct {
	set     string
	asked   int
	budgets []int
	theirs  map[int]int // by budget: questions of which every line is kept
	ours    map[int]int
}

// logBudgets: what rtk's summary of a log takes, and a large file as far as a client takes it.
var logBudgets = []int{275, 2_000, 30_000}

type question struct {
	File     string `json:"file"`
	Kind     string `json:"kind"`
	Evidence []struct {
		Regex string `json:"regex"`
	} `json:"evidence"`
}

func scoreLogs(ctx context.Context, dir string, p *peer) (*logScore, error) {
	s := &logScore{set: filepath.Base(filepath.Clean(dir)), budgets: logBudgets, theirs: map[int]int{}, ours: map[int]int{}}
	f, err := os.Open(filepath.Join(dir, "questions.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	replies := map[string][2]string{}
	for dec := json.NewDecoder(bufio.NewReader(f)); ; {
		var q question
		if err := dec.Decode(&q); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if len(q.Evidence) == 0 {
			continue
		}
		s.asked++
		r, ok := replies[q.File]
		if !ok {
			if r, err = p.reads(ctx, filepath.Join(dir, filepath.FromSlash(q.File))); err != nil {
				return nil, fmt.Errorf("%s: %w", q.File, err)
			}
			replies[q.File] = r
		}
		for _, b := range s.budgets {
			if kept(q, head(r[0], 4*b)) || kept(q, head(r[1], 4*b)) {
				s.theirs[b]++
			}
		}
	}
	for _, b := range s.budgets {
		r, err := bench.EvidenceSet(ctx, dir, bench.EvidenceOptions{Budget: b})
		if err != nil {
			return nil, err
		}
		s.ours[b] = r.All.Full
	}
	return s, nil
}

// reads is what `rtk log` and `rtk read` print of a text.
func (p *peer) reads(ctx context.Context, path string) ([2]string, error) {
	var out [2]string
	in, err := os.Open(path)
	if err != nil {
		return out, err
	}
	defer in.Close()
	var r io.Reader = in
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(in); err != nil {
			return out, err
		}
	}
	text := filepath.Join(p.dir, "text.log")
	b, err := io.ReadAll(r)
	if err == nil {
		err = os.WriteFile(text, b, 0o600)
	}
	if err != nil {
		return out, err
	}
	for i, verb := range []string{"log", "read"} {
		b, err := p.command(ctx, verb, text).Output()
		if err != nil {
			return out, fmt.Errorf("rtk %s: %w", verb, err)
		}
		out[i] = string(b)
	}
	return out, nil
}

func head(s string, n int) string { return s[:min(n, len(s))] }

// kept: every line that is needed is there, at least as far as its telling part goes.
func kept(q question, text string) bool {
	for _, e := range q.Evidence {
		if ok, err := regexp.MatchString("(?m)"+e.Regex, text); err != nil || !ok {
			return false
		}
	}
	return true
}

func (s *logScore) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Questions about %s: every line that answers is kept, %d questions\n\n| tokens | rtk | legwork |\n|---|---|---|\n", s.set, s.asked)
	for _, n := range s.budgets {
		fmt.Fprintf(&b, "| %d | %.0f %% | %.0f %% |\n", n, 100*float64(s.theirs[n])/float64(s.asked), 100*float64(s.ours[n])/float64(s.asked))
	}
	b.WriteString("\nrtk is given the better of `rtk log` and `rtk read`, cut at the budget; it knows no question. A token is 4 bytes.\n")
	return b.String()
}
