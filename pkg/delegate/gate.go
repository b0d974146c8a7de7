package delegate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"legwork/pkg/proc"
	"legwork/pkg/repo"
	"legwork/pkg/runners"
)

// gate runs the test command in the worktree.
type gate struct {
	c       *call
	dir     string // where the command runs
	temp    string // reports and TMPDIR
	box     *sandbox
	env     []string
	timeout time.Duration
	runs    int
	spent   time.Duration
	// tolerated are paths that the red run changed too: the test does that, not the model's code.
	tolerated map[string]bool
	folders   map[string]string // the linked dependency folders, as they were
	warned    []string          // those a run changed
	left      bool              // something an attempt left could not be removed
}

// gateRun is one run of the test command, judged by nobody yet.
type gateRun struct {
	exit     proc.Exit
	result   runners.Result
	attached bool   // a side channel of a runner that the command starts for certain was set up
	tail     string // the end of the output
	changed  []repo.Change
	// passed, failed and skipped are the names the runner itself noted; nil when it names none.
	passed, failed, skipped []string
}

func newGate(ctx context.Context, c *call) (*gate, error) {
	if err := c.installs(); err != nil {
		return nil, err
	}
	g := &gate{
		folders: c.topLevels(), c: c, dir: filepath.Join(c.tree.Dir, filepath.FromSlash(c.dir)), temp: filepath.Join(c.tree.Home, "tmp"),
		timeout: c.Config.Delegate.TestTimeout, tolerated: map[string]bool{},
	}
	if err := os.MkdirAll(g.temp, 0o700); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(g.dir, 0o755); err != nil { //nolint:gosec // the user's folder, new in the commit
		return nil, err
	}
	git, err := c.tree.Env(ctx)
	if err != nil {
		return nil, err
	}
	g.env = wholeValues(append(c.pythonEnv(c.ownTreeEnv(c.env())), git...))
	g.box, err = newSandbox(ctx, c, g.temp)
	return g, err
}

// wholeValues lets pytest print what came and what was expected whole, not their beginnings; versions before 8
// do not know the option and pass it over.
func wholeValues(env []string) []string {
	const name = "PYTEST_ADDOPTS"
	opts := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			opts = v + " "
		}
	}
	return proc.SetEnv(env, name, opts+"-o verbosity_assertions=2")
}

// tailBytes is how much of the output is kept as text.
const tailBytes = 16 << 10

// run runs the command once, puts back what it changed outside the targets and reads what it says.
func (g *gate) run(ctx context.Context) (gateRun, error) {
	r, err := g.once(ctx)
	if err != nil || g.box == nil || !g.box.auto || !g.box.hinders(r) {
		return r, err
	}
	if g.c.behind(g.box.deniedLines(r)) {
		// Outside it would write into the user's own dependencies.
		g.c.note("the test writes into a dependency folder of yours, which the worktree links to (%s); it stays in the sandbox", g.box.why(r))
		return r, nil
	}
	// In "auto" a test that needs what the sandbox takes away runs without it, and the verdict says so.
	g.c.note("the test needs more than the sandbox allows (%s); it ran without", g.box.why(r))
	g.box = nil
	return g.once(ctx)
}

func (g *gate) once(ctx context.Context) (gateRun, error) {
	var r gateRun
	env := slices.Clone(g.env)
	if g.box != nil {
		env = g.box.env(env)
	}
	spare := ""
	if g.box == nil { // inside, nothing else can be written
		spare = os.TempDir()
	}
	ch, err := runners.Attach(runners.Setup{Command: g.c.req.Test, Dir: g.dir, Env: env, Temp: g.temp, Spare: spare, Gate: true})
	if err != nil {
		return r, fmt.Errorf("prepare the test's report: %w", err)
	}
	defer func() { _ = ch.Close() }()
	for _, kv := range ch.Env() {
		name, value, _ := strings.Cut(kv, "=")
		env = proc.SetEnv(env, name, value)
	}
	hint := runners.Hint{Command: g.c.req.Test, Dir: g.dir}
	scan := runners.NewScanner(hint)
	tail := &tailWriter{to: scan, max: tailBytes}
	spec := proc.Spec{Shell: g.c.req.Test, Dir: g.dir, Env: env, Stdout: tail, Stderr: tail, Timeout: g.timeout}
	if g.box != nil {
		spec = g.box.wrap(spec)
	}
	start := time.Now()
	r.exit, err = g.c.Children.Run(ctx, spec)
	g.runs++
	g.spent += time.Since(start)
	g.watchLinks()
	if err != nil {
		return r, fmt.Errorf("run the test: %w", err)
	}
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	hint.Exit, hint.Signal, hint.TimedOut = &r.exit.Code, r.exit.Signal, r.exit.TimedOut
	r.result = scan.Result(hint)
	r.tail = tail.String()
	ev := ch.Read()
	r.result.Apply(ev)
	g.hide(&r)
	r.attached = ch.Sure()
	if ev.Started && (ev.Passed != nil || ev.Failed != nil || ev.Skipped != nil) {
		r.passed, r.failed, r.skipped = g.tests(ev.Passed), g.tests(ev.Failed), g.tests(ev.Skipped)
	}
	if r.result.Evidence == nil && (ev.Started || len(ev.Exits) > 0) {
		r.result.Evidence = &ev
	}
	return r, g.restore(ctx, &r)
}

// tests leaves out names that are no tests: node counts a file that does not load, or does nothing, as one,
// unittest makes a test up for a module that does not load.
func (g *gate) tests(names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		p := n
		if !filepath.IsAbs(p) {
			p = filepath.Join(g.dir, n)
		}
		if st, err := os.Stat(p); err == nil && !st.IsDir() {
			continue
		}
		if strings.Contains(n, "unittest.loader.") {
			continue
		}
		out = append(out, strings.ReplaceAll(n, g.c.tree.Dir+"/", ""))
	}
	return out
}

// restore undoes what the run changed outside the targets; by-products of runners stay.
func (g *gate) restore(ctx context.Context, r *gateRun) error {
	// What one attempt leaves in an ignored file, the next one's code could read. By-products stay: builds stand on them.
	if err := g.c.tree.DropIgnored(ctx, func(rel string) bool { return (byproduct(rel) || byproduct(rel+"/x")) && !decides(rel) }); err != nil && !g.left {
		g.left = true
		g.c.note("WARNING: an attempt may see what another one left: %v", err)
	}
	changes, err := g.c.tree.Changes(ctx)
	if err != nil {
		return fmt.Errorf("look for changes of the test run: %w", err)
	}
	var undo []repo.Change
	for _, ch := range changes {
		if ch.Kind == "new" && byproduct(ch.Path) && !decides(ch.Path) {
			continue
		}
		undo = append(undo, ch)
		if !g.tolerated[ch.Path] {
			r.changed = append(r.changed, ch)
		}
	}
	if len(undo) == 0 {
		return nil
	}
	return g.c.tree.Undo(ctx, undo)
}

// hide takes the secrets that are known out of what a run said, before any of it is cut, told or kept. The names of
// tests stay, because runs are compared by them.
func (g *gate) hide(r *gateRun) {
	r.tail = g.c.known(r.tail)
	res := &r.result
	for i := range res.Failures {
		res.Failures[i].Message = g.c.known(res.Failures[i].Message)
	}
	for i := range res.Suites {
		res.Suites[i].Message = g.c.known(res.Suites[i].Message)
	}
	for i := range res.BuildErrors {
		res.BuildErrors[i].Message = g.c.known(res.BuildErrors[i].Message)
	}
}

// tailWriter hands everything on and keeps the end.
type tailWriter struct {
	to  *runners.Scanner
	max int
	b   []byte
}

func (t *tailWriter) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > 2*t.max {
		t.b = append(t.b[:0], t.b[len(t.b)-t.max:]...)
	}
	return t.to.Write(p)
}

func (t *tailWriter) String() string {
	b := t.b
	if len(b) > t.max {
		b = b[len(b)-t.max:]
	}
	return string(b)
}

// baseline runs the gate before any work and refuses what is no gate.
func (c *call) baseline(ctx context.Context) error {
	c.say("running the test once; it must be red")
	red, err := c.gate.run(ctx)
	if err != nil {
		return err
	}
	for _, ch := range red.changed {
		c.gate.tolerated[ch.Path] = true
	}
	if c.gate.box != nil {
		// From here on code of the model runs: what it prints must not open the sandbox.
		c.gate.box.auto = false
	}
	red.changed = nil
	c.red = red
	c.notes.add("baseline", red.summary())
	if why := c.notRed(red); why != "" {
		for _, rel := range c.gate.warned {
			why += ". WARNING: " + folderChanged(rel)
		}
		return refuse("the test is no gate yet: %s. No attempt was made", c.mask(why))
	}
	c.res.Gate = c.level(red)
	c.res.Total = max(red.total(), len(c.test.declared))
	return nil
}

// summary is the run in one line.
func (r gateRun) summary() string {
	s := fmt.Sprintf("%s, %s", r.exit, r.result.State)
	if p, n := r.green(), r.total(); n > 0 {
		s += fmt.Sprintf(", %d of %d tests green", p, n)
	}
	return s
}

// green is how many tests passed for certain; 0 when the output does not say.
func (r gateRun) green() int {
	switch {
	case r.passed != nil || r.failed != nil:
		return len(r.passed)
	case r.result.Tests.Passed != nil:
		return *r.result.Tests.Passed
	case r.result.Evidence != nil && r.result.Evidence.Finished && r.result.Evidence.Planned != nil:
		return max(0, *r.result.Evidence.Planned-len(r.result.Failures))
	}
	return 0
}

// total is how many tests there were, as far as the run tells.
func (r gateRun) total() int {
	n := len(r.passed) + len(r.failed) + len(r.skipped)
	if t := r.result.Tests; t.Passed != nil {
		sum := *t.Passed
		if t.Failed != nil {
			sum += *t.Failed
		}
		n = max(n, sum)
	}
	if ev := r.result.Evidence; ev != nil && ev.Planned != nil {
		n = max(n, *ev.Planned)
	}
	return n
}
