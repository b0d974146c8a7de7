package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"legwork/pkg/config"
	"legwork/pkg/delegate"
)

// Trial is one known answer that was given in the model's place, and what the gate made of it.
type Trial struct {
	What    string `json:"what"` // gold, nothing, empty file, unchanged file, wrong/NAME
	Verdict string `json:"verdict,omitempty"`
	Class   string `json:"class,omitempty"` // delegate's word for why it did not pass
	Green   int    `json:"green"`
	Total   int    `json:"total"`
	Problem string `json:"problem,omitempty"` // empty: as it must be
}

// TaskCheck is what was proved of one task.
type TaskCheck struct {
	Task     string   `json:"task"`
	Kind     string   `json:"kind"`
	Tier     int      `json:"tier"`
	Gate     string   `json:"gate,omitempty"`
	Trials   []Trial  `json:"trials"`
	Leaks    []string `json:"leaks,omitempty"`    // test text that reached the model
	Problems []string `json:"problems,omitempty"` // what keeps it from being checked at all
}

// OK says that the gate is proved.
func (c *TaskCheck) OK() bool {
	return len(c.Trials) > 0 && len(c.Leaks) == 0 && len(c.Problems) == 0 &&
		!slices.ContainsFunc(c.Trials, func(t Trial) bool { return t.Problem != "" })
}

// Answers that are wrong without looking at the task.
const (
	trialGold      = "gold"
	trialNothing   = "nothing"
	trialEmpty     = "empty file"
	trialUnchanged = "unchanged file"
)

// CheckTasks proves each task's gate through the real delegate with scripted answers: the right one passes
// at once, none and every wrong one fails, and no request held text of the tests. parallel is how many
// calls run at once. done is told each task that is through; may be nil.
func CheckTasks(ctx context.Context, g Ground, tasks []*Task, parallel int, done func(*TaskCheck)) ([]*TaskCheck, error) {
	out := make([]*TaskCheck, len(tasks))
	limit := make(chan struct{}, max(1, parallel))
	var told sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for i, t := range tasks {
		group.Go(func() error {
			c, err := g.checkTask(ctx, t, limit)
			out[i] = c
			if err == nil && done != nil {
				told.Lock()
				defer told.Unlock()
				done(c)
			}
			return err
		})
	}
	return out, group.Wait()
}

// checkTask carries out all trials of a task.
func (g Ground) checkTask(ctx context.Context, t *Task, limit chan struct{}) (*TaskCheck, error) {
	c := &TaskCheck{Task: t.Name, Kind: t.Kind, Tier: t.Tier}
	if missing := Missing([]*Task{t}, g.Env); len(missing) > 0 {
		c.Problems = append(c.Problems, "not checked: not on PATH: "+strings.Join(missing, ", "))
		return c, nil
	}
	names := t.trials()
	c.Trials = make([]Trial, len(names))
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for i, what := range names {
		group.Go(func() error {
			select {
			case limit <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			defer func() { <-limit }()
			trial, gate, leaks, err := g.try(ctx, t, what)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", t.Name, what, err)
			}
			mu.Lock()
			defer mu.Unlock()
			c.Trials[i] = trial
			if what == trialGold {
				c.Gate = gate
			}
			for _, l := range leaks {
				if !slices.Contains(c.Leaks, l) {
					c.Leaks = append(c.Leaks, l)
				}
			}
			return nil
		})
	}
	err := group.Wait()
	slices.Sort(c.Leaks)
	return c, err
}

// trials names what is tried on a task.
func (t *Task) trials() []string {
	out := []string{trialGold, trialNothing, trialEmpty}
	if t.existing() {
		out = append(out, trialUnchanged)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Wrong)) {
		out = append(out, "wrong/"+name)
	}
	return out
}

// existing says that all targets are in the repository already.
func (t *Task) existing() bool {
	return !slices.ContainsFunc(t.Targets, func(f string) bool { _, ok := t.Repo[f]; return !ok })
}

// scriptedAnswer is the text of a trial's answer.
func (t *Task) scriptedAnswer(what string) string {
	files := map[string]string{}
	switch what {
	case trialGold:
		files = t.Gold
	case trialNothing:
		return ""
	case trialUnchanged:
		files = t.Repo
	case trialEmpty:
		for _, f := range t.Targets {
			files[f] = blank(f)
		}
	default:
		files = t.wrong(strings.TrimPrefix(what, "wrong/"))
	}
	return asAnswer(t.Targets, files)
}

// blank is a file that does nothing: the least its language takes.
func blank(name string) string {
	switch filepath.Ext(name) {
	case ".py", ".rb", ".sh":
		return "# nothing\n"
	}
	return "// nothing\n"
}

// try gives one answer, twice if need be, so that the turn after a failure is seen as well.
func (g Ground) try(ctx context.Context, t *Task, what string) (Trial, string, []string, error) {
	trial := Trial{What: what}
	s, err := g.newSite(ctx, t, g.StateDir)
	if err != nil {
		return trial, "", nil, err
	}
	var res *delegate.Result
	defer func() { _, _ = s.close(res) }()
	answer := t.scriptedAnswer(what)
	model := &scripted{answer: func(int) string { return answer }}
	res, err = s.run(ctx, g.Config, model.registry(g.StateDir), delegate.Request{Attempts: 2})
	var refused *delegate.RefusedError
	var input *delegate.InputError
	switch {
	case errors.As(err, &refused), errors.As(err, &input):
		trial.Problem = err.Error()
		return trial, "", nil, nil
	case err != nil:
		return trial, "", nil, err
	}
	trial.Verdict, trial.Green, trial.Total = res.Verdict, res.Green, res.Total
	if len(res.Attempts) > 0 {
		trial.Class = res.Attempts[0].Class
	}
	trial.Problem = s.problem(what, res)
	return trial, res.Gate, t.leaks(model.requests(), answer, res), nil
}

// reached are delegate's classes of candidates that the test has judged.
func reached() []string { return []string{"tests", "load", "timeout", "unfinished", "scope"} }

// problem says what is not as it must be; "" when it is.
func (s *site) problem(what string, res *delegate.Result) string {
	first := ""
	if len(res.Attempts) > 0 {
		first = res.Attempts[0].Class + ": " + res.Attempts[0].Why
	}
	switch {
	case what == trialGold && res.Verdict != delegate.Pass:
		return "the right answer fails: " + strings.Join(strings.Fields(res.Text()), " ")
	case what == trialGold && res.Gate == delegate.GateExitOnly:
		return "nothing but the exit code speaks for the right answer"
	case what == trialGold && (!res.Applied || res.Green == 0 || res.Green != res.Total):
		return fmt.Sprintf("the right answer: applied %t, %d of %d tests green", res.Applied, res.Green, res.Total)
	case what == trialGold:
		return ""
	case res.Verdict == delegate.Pass:
		return "it passes"
	case strings.HasPrefix(what, "wrong/") && !slices.Contains(reached(), res.Attempts[0].Class):
		return "it never reached the test (" + first + ")"
	}
	return ""
}

// onPath looks a program up in the PATH of env.
func onPath(program string, env []string) bool {
	path := ""
	for _, kv := range env {
		if name, v, _ := strings.Cut(kv, "="); strings.EqualFold(name, "PATH") { // Windows says Path
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err == nil && dir != "" {
			return true
		}
	}
	return false
}

// What counts as text of a test: lines and literals of at least so many characters.
const (
	leakLine    = 12
	leakLiteral = 6
)

// leaks are lines and literals that stand in the tests only and yet in a request. What a run printed is no
// leak: delegate tells the model what its code gave and what was expected.
func (t *Task) leaks(requests []string, answer string, res *delegate.Result) []string {
	known := []string{t.Spec, strings.Join(t.Properties, "\n"), t.Context, answer}
	for name, text := range t.Repo {
		if slices.Contains(t.Targets, name) {
			known = append(known, text)
		}
	}
	open := strings.Join(known, "\n")
	for _, a := range res.Attempts {
		for _, f := range a.Facts {
			known = append(known, f.String())
		}
	}
	said := strings.Join(known, "\n")
	var out []string
	find := func(text, known string) {
		if strings.Contains(known, text) {
			return
		}
		for n, r := range requests {
			if strings.Contains(r, text) {
				out = append(out, fmt.Sprintf("request %d: %s", n+1, text))
				return
			}
		}
	}
	for _, name := range t.TestFiles {
		for line := range strings.SplitSeq(t.Repo[name], "\n") {
			if line = strings.TrimSpace(line); len(line) >= leakLine {
				find(line, open)
			}
		}
		for _, lit := range testLiterals(t.Repo[name]) {
			find(lit, said)
		}
	}
	return out
}

// testLiterals are the quoted texts of a source file.
func testLiterals(text string) []string {
	var out []string
	for _, m := range regexp.MustCompile("'([^'\\n]+)'|\"([^\"\\n]+)\"|`([^`\\n]+)`").FindAllStringSubmatch(text, -1) {
		if lit := m[1] + m[2] + m[3]; len(lit) >= leakLiteral && !slices.Contains(out, lit) {
			out = append(out, lit)
		}
	}
	return out
}

// CheckConfig is the configuration of CheckTasks: the built-in one, whatever the user has set, but for the
// sandbox and the time limit of a test.
func CheckConfig(dir string, user *config.Config) (*config.Config, error) {
	cfg, err := config.Load(config.Options{Dir: dir, Env: []string{"LEGWORK_CONFIG_HOME=" + dir, "LEGWORK_STATE_HOME=" + dir, "HOME=" + dir}})
	if err != nil {
		return nil, err
	}
	cfg.Delegate.Sandbox, cfg.Delegate.TestTimeout = user.Delegate.Sandbox, user.Delegate.TestTimeout
	cfg.Store.Ledger = false
	return cfg, nil
}
