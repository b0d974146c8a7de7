package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"legwork/pkg/clean"
	"legwork/pkg/proc"
	"legwork/pkg/runners"
)

// What of a failing gate goes back to the session.
const (
	gateIDs      = 12       // failures named
	gateMessages = 5        // of them with their message
	gateMessage  = 1200     // bytes of a message
	gateTail     = 3000     // bytes of output nobody can read the failures from
	gateKeep     = 64 << 10 // bytes of the end kept while it runs
)

// runGate runs the verify command in the job's tree and notes what it said. It returns what the session is told, ""
// when it passed.
func (r *run) runGate(ctx context.Context) (feedback string, err error) {
	env, err := r.gateEnv(ctx)
	if err != nil {
		return "", err
	}
	g := r.facts.Gate
	g.Runs++
	r.show(fmt.Sprintf("verify, run %d: %s", g.Runs, oneLine(g.Command, 60)))
	began := time.Now()
	hint := runners.Hint{Command: g.Command, Dir: r.dir}
	scan := runners.NewScanner(hint)
	out := &scanned{scan: scan, tail: &tail{max: gateKeep}}
	exit, err := r.d.Children.Run(ctx, proc.Spec{
		Shell: g.Command, Dir: r.dir, Env: env, Stdout: out, Stderr: out, Timeout: r.d.Config.Delegate.TestTimeout, Grace: stopGrace,
	})
	if err != nil {
		return "", fmt.Errorf("run the verify command: %w", err)
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	g.Ending, g.Passed, g.Failures = exit.String(), exit.OK(), nil
	hint.Exit, hint.Signal, hint.TimedOut = &exit.Code, exit.Signal, exit.TimedOut
	result := scan.Result(hint)
	if g.Passed && result.Runner != "" && result.State != runners.StateUnknown && result.State != runners.StatePassed {
		// The command hides its status (`… | tail`), or ran no test at all.
		g.Passed, g.Ending = false, fmt.Sprintf("%s, but the output says: %s", exit, strings.ReplaceAll(string(result.State), "_", " "))
	}
	r.say(fmt.Sprintf("=== verify: %s: %s (%s)", g.Command, g.Ending, time.Since(began).Round(time.Millisecond)))
	if g.Passed {
		return "", nil
	}
	g.Failures = result.Lines(runners.Render{IDs: gateIDs, Messages: gateMessages, Limit: gateMessage})
	if result.State == runners.StateUnknown || len(g.Failures) == 0 {
		g.Failures = []string{lastLines(r.mask(string(clean.Bytes([]byte(out.tail.String())))), gateTail)}
	}
	for i, f := range g.Failures {
		g.Failures[i] = r.mask(f)
	}
	text := strings.Join(g.Failures, "\n")
	r.say(text)
	return fmt.Sprintf("You are not done: `%s` failed (%s).\n\n%s\n\nFind the cause and fix it, then finish with your report.", g.Command, g.Ending, text), nil
}

// lastLines is the end of a text, at most n bytes, beginning with a line.
func lastLines(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return "…\n" + s
}

// scanned gives output to a scanner, and keeps the end of it.
type scanned struct {
	scan *runners.Scanner
	tail *tail
}

func (s *scanned) Write(p []byte) (int, error) {
	_, _ = s.tail.Write(p)
	return s.scan.Write(p)
}
