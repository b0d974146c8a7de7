package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"legwork/pkg/bench"
)

// record is NAME.json of a recorded run.
type record struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exit_code"`
	Truth    struct {
		State        string   `json:"state"`
		AcceptStates []string `json:"accept_states"`
		Evidence     string   `json:"evidence"`
		Failures     []struct {
			ID     *string  `json:"id"`
			AltIDs []string `json:"alt_ids"`
			Shown  struct {
				ID bool `json:"id"`
			} `json:"shown"`
		} `json:"failures"`
	} `json:"truth"`
}

// tally is what one program made of the runs.
type tally struct {
	runs, known   int
	falsePass     int // reads as passed, and did not
	falseFail     int // reads as failed, and passed
	ids, idsFound int
	tokens, raw   int
	failing       []int // tokens of replies to runs that failed
}

type runScore struct {
	all           tally // ours, all records
	ours, theirs  tally // the records that the peer recognises and that can be replayed
	notReplayable int
}

func scoreRuns(ctx context.Context, set fs.FS, p *peer, o *bench.Replier) (*runScore, error) {
	names, err := fs.Glob(set, "*.json")
	if err != nil {
		return nil, err
	}
	s := &runScore{}
	for _, n := range names {
		rec, out, err := load(set, strings.TrimSuffix(n, ".json"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		reply, known, err := o.Reply(ctx, rec.Command, out, rec.ExitCode)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		s.all.add(rec, out, reply, known)
		theirs, how, err := p.reply(ctx, rec.Command, out, rec.ExitCode)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		s.theirs.runs++
		switch how {
		case unknown:
		case otherFormat:
			s.notReplayable++
		default:
			s.theirs.runs--
			s.theirs.add(rec, out, theirs, true)
			s.ours.add(rec, out, reply, known)
		}
		if how == otherFormat {
			s.theirs.known++
		}
	}
	if s.all.runs == 0 {
		return nil, errors.New("no recorded runs")
	}
	return s, nil
}

func load(set fs.FS, name string) (*record, []byte, error) {
	b, err := fs.ReadFile(set, name+".json")
	if err != nil {
		return nil, nil, err
	}
	var rec record
	if err := json.Unmarshal(b, &rec); err != nil {
		return nil, nil, err
	}
	if b, err = fs.ReadFile(set, name+".out"); err == nil {
		return &rec, b, nil
	}
	if b, err = fs.ReadFile(set, name+".out.gz"); err != nil {
		return nil, nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, nil, err
	}
	b, err = io.ReadAll(z)
	return &rec, b, err
}

var (
	zero  = regexp.MustCompile(`(?i)\b(0|no) (failures?|failed|errors?|tests? failed|problems?)\b|(FAIL|failed|failures?|errors?)\W{1,3}0\b|fail-?fast`)
	red   = regexp.MustCompile(`(?i)fail|error|panic|abort|signal|not ok|✗|✘|✕|did not|no tests?\b|nothing|killed|timed? ?out|crash|exit (code |status )?[1-9]|segmentation|exception|\b0 (tests|passed|passing|examples)|ran 0`)
	green = regexp.MustCompile(`(?i)\bpass|\bok\b|✓|✔|success|\bgreen\b|all tests|no test failed|0 failures|no issues`)
)

// reads says how a reply reads to somebody who sees nothing else.
func reads(reply string) (passed, failed bool) {
	rest := zero.ReplaceAllString(reply, " ")
	failed = red.MatchString(rest)
	return !failed && green.MatchString(reply), failed
}

func (t *tally) add(rec *record, raw []byte, reply string, known bool) {
	t.runs++
	if !known {
		return
	}
	t.known++
	t.raw += tokens(len(raw))
	t.tokens += tokens(len(reply))
	passed, failed := reads(reply)
	truth := rec.Truth
	// Where no text shows that a run is not what it seems, no reader of texts can be blamed.
	if mayPass := truth.State == "passed" || slices.Contains(truth.AcceptStates, "passed") || truth.Evidence == "names"; passed && !mayPass {
		t.falsePass++
		if os.Getenv("PEERS_VERBOSE") != "" {
			fmt.Fprintf(os.Stderr, "reads as passed, is %s: %s\n%.400s\n---\n", truth.State, rec.Command, reply)
		}
	}
	if truth.State == "passed" && failed {
		t.falseFail++
		if os.Getenv("PEERS_VERBOSE") != "" {
			fmt.Fprintf(os.Stderr, "reads as failed, is passed: %s\n%.400s\n---\n", rec.Command, reply)
		}
	}
	if truth.State == "failed" {
		t.failing = append(t.failing, tokens(len(reply)))
	}
	asked, found := 0, 0
	for _, f := range truth.Failures {
		if f.ID == nil || !f.Shown.ID {
			continue
		}
		asked++
		if slices.ContainsFunc(append(f.AltIDs, *f.ID), func(id string) bool { return strings.Contains(reply, id) }) {
			found++
		}
	}
	t.ids += asked
	t.idsFound += found
}

func tokens(bytes int) int { return (bytes + 3) / 4 }

func (t *tally) spread() string {
	s := slices.Sorted(slices.Values(t.failing))
	if len(s) == 0 {
		return "–"
	}
	return fmt.Sprintf("%d, %d", s[len(s)/2], s[len(s)*9/10])
}

func (s *runScore) table() string {
	var b strings.Builder
	row := func(what string, cells ...any) {
		fmt.Fprintf(&b, "| %s |", what)
		for _, c := range cells {
			fmt.Fprintf(&b, " %v |", c)
		}
		b.WriteString("\n")
	}
	of := func(a, b int) string { return fmt.Sprintf("%d of %d", a, b) }
	fmt.Fprintf(&b, "\n## %d recorded runs of test runners, compilers and crashes\n\n", s.all.runs)
	b.WriteString("| | rtk | legwork, same runs | legwork, all runs |\n|---|---|---|---|\n")
	row("runs recognised", of(s.theirs.known, s.all.runs), of(s.ours.known, s.ours.runs), of(s.all.known, s.all.runs))
	row("compared", s.theirs.known-s.notReplayable, s.ours.runs, s.all.runs)
	row("read as passed, but did not", s.theirs.falsePass, s.ours.falsePass, s.all.falsePass)
	row("read as failed, but passed", s.theirs.falseFail, s.ours.falseFail, s.all.falseFail)
	row("failing tests named in full", of(s.theirs.idsFound, s.theirs.ids), of(s.ours.idsFound, s.ours.ids), of(s.all.idsFound, s.all.ids))
	row("tokens of all replies (raw text)", of(s.theirs.tokens, s.theirs.raw), of(s.ours.tokens, s.ours.raw), of(s.all.tokens, s.all.raw))
	row("tokens of a reply to a failing run: median, 9 of 10 below", s.theirs.spread(), s.ours.spread(), s.all.spread())
	fmt.Fprintf(&b, "\nA token is 4 bytes. A reply reads as passed when it holds a word of success and none of failure. Runs that look green in every\n"+
		"letter are left out of that row. rtk recognises a run when its hook rewrites the command; %d of those start another reporter, whose\n"+
		"output was not recorded, and are not compared. legwork's replies include its first line and the id of the raw text.\n", s.notReplayable)
	return b.String()
}
