package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"legwork/pkg/claudecode"
	"legwork/pkg/clean"
	"legwork/pkg/fsx"
	"legwork/pkg/jobs"
	"legwork/pkg/llm"
	"legwork/pkg/proc"
	"legwork/pkg/repo"
	"legwork/pkg/shim"
)

// run is one run of a job in its own process.
type run struct {
	d     Deps
	h     *jobs.Handle
	req   Request
	facts Facts
	began time.Time
	mask  func(string) string // of all that is kept or said of what the session and its programs wrote

	choice  llm.Choice
	dir     string // where the session works
	resumed bool   // the client goes on with a session it knows
	repo    *repo.Repo
	tree    *repo.Tree   // nil without isolation
	before  *repo.Moment // without isolation: what git said at the start
	shared  repo.Shared
	changes []repo.Change
	unsure  bool // looking at what changed failed
}

// Supervise does the work of a queued job, from its first moment to its end, in the calling process. ctx ends the
// job as interrupted. The error is for a job that could not be taken; how a taken one ended stands in its record, a
// panic too: without an end, the job would count as lost.
func Supervise(ctx context.Context, d Deps, id string) (err error) {
	h, err := d.Jobs.Take(ctx, id)
	if err != nil {
		return err
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	r := &run{d: d, h: h, began: time.Now(), mask: d.Config.Masker(d.Env)}
	job := h.Job()
	r.facts = FactsOf(job)
	defer func() {
		if p := recover(); p != nil {
			err = r.panicked(p)
		}
	}()
	ctx, stop := h.Context(ctx)
	defer stop()
	v := verdict{jobs.Failed, NotStarted, ""}
	if r.req, err = requestOf(job); err == nil {
		v, err = r.work(ctx)
	}
	if err != nil {
		v = r.failure(ctx, err)
	}
	end := context.WithoutCancel(ctx)
	_, _ = proc.KillEnv(jobs.Mark(h.ID())) // what left its group and its parents, and may still write
	v = r.recheck(ctx, v)
	r.finishTree(end, v)
	_, _ = proc.KillEnv(jobs.Mark(h.ID())) // of the gate, when it ran again
	r.ledger(end, v)
	why := r.mask(v.why)
	if v.state == jobs.Succeeded {
		why = ""
	}
	return h.Finish(jobs.End{State: v.state, Ending: v.ending, Error: why, Reply: r.mask(r.reply(v)), Facts: r.facts})
}

// panicked ends a job whose supervisor is broken. The worktree stays as it is.
func (r *run) panicked(p any) error {
	r.say(fmt.Sprintf("!! internal error: %v\n%s", p, debug.Stack()))
	_, _ = proc.KillEnv(jobs.Mark(r.h.ID()))
	if r.tree != nil {
		_ = r.tree.Release() // it may be what broke
	}
	why := r.mask(fmt.Sprintf("internal error: %v", p))
	reply := fmt.Sprintf("FAILED: %s", why)
	if t := r.facts.Tree; t != nil && !t.Gone {
		reply += " · what was done is in " + t.Dir
	}
	reply += fmt.Sprintf("\njob %s (job_log shows where it broke)", r.h.ID())
	return r.h.Finish(jobs.End{State: jobs.Failed, Ending: InternalFail, Error: why, Reply: r.mask(reply), Facts: r.facts})
}

// failure is the verdict on a job whose surroundings failed.
func (r *run) failure(ctx context.Context, err error) verdict {
	if v, ok := stopped(ctx); ok {
		return v
	}
	v := verdict{jobs.Failed, InternalFail, err.Error()}
	if r.h.Job().State == jobs.Queued {
		v.ending = NotStarted
	}
	return v
}

// finishTree looks at what there is and applies, keeps or drops it, however the job ended.
func (r *run) finishTree(ctx context.Context, v verdict) {
	if r.repo == nil {
		return
	}
	err := r.lookOnce(ctx)
	if err == nil {
		err = r.deliver(ctx, v)
	} else {
		r.unsure = true
		if r.tree != nil {
			err = errors.Join(err, r.tree.Release())
		}
	}
	if err != nil {
		r.note("worktree: %s", err)
	}
}

// recheck runs the gate again when it passed on files that are not as they were before it ran: the session went on
// meanwhile, or the gate writes them. Nobody else is at work now.
func (r *run) recheck(ctx context.Context, v verdict) verdict {
	if r.tree == nil || v.ending != Done || r.facts.Gate == nil || !r.facts.Gate.Passed {
		return v
	}
	moved, err := r.tree.Moved(r.changes)
	if err == nil && len(moved) > 0 {
		r.say("!! changed while the verify command ran, which runs again: " + strings.Join(moved, ", "))
		r.facts.Gate.Passed = false
		if err = r.look(ctx); err == nil {
			_, err = r.runGate(ctx)
		}
		if err == nil && r.facts.Gate.Passed {
			moved, err = r.tree.Moved(r.changes)
		}
	}
	g := r.facts.Gate
	switch {
	case err != nil:
		g.Passed = false
		return r.failure(ctx, err)
	case !g.Passed:
		return verdict{jobs.Failed, GateFailed, fmt.Sprintf("files changed while `%s` ran, and now it fails (%s)", g.Command, g.Ending)}
	case len(moved) > 0:
		g.Passed, g.Ending = false, "files changed while it ran"
		return verdict{jobs.Failed, GateFailed, fmt.Sprintf("`%s` passed, but not on what is there now: it, or something else, changes %s while it runs", g.Command, strings.Join(moved, ", "))}
	}
	return v
}

// lookOnce keeps what was seen before the gate ran: what the gate leaves behind is no work of the session.
func (r *run) lookOnce(ctx context.Context) error {
	if r.facts.Gate != nil && r.facts.Gate.Passed {
		return nil
	}
	return r.look(ctx)
}

func (r *run) work(ctx context.Context) (verdict, error) {
	release, err := r.slot(ctx)
	if err != nil {
		return verdict{}, err
	}
	defer release()
	if err := r.h.Begin(); err != nil {
		return verdict{}, err
	}
	limit := r.d.Config.Defaults.Timeout
	if r.req.Timeout > 0 {
		limit = r.req.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r.resetFacts()
	v := verdict{}
	if err = r.settle(ctx); err == nil {
		v, err = r.converse(ctx)
	}
	if err != nil {
		err = r.orStopped(ctx, err)
	}
	if s, ok := errors.AsType[*stopError](err); ok {
		return s.v, nil
	}
	return v, err
}

// stopError carries the verdict on a job that was stopped while ctx was at hand.
type stopError struct{ v verdict }

func (e *stopError) Error() string { return e.v.why }

func (r *run) orStopped(ctx context.Context, err error) error {
	if v, ok := stopped(ctx); ok {
		return &stopError{v}
	}
	return err
}

// resetFacts keeps what a resumed job needs, and forgets what the last run said.
func (r *run) resetFacts() {
	old := r.facts
	r.facts = Facts{Session: old.Session, Tree: old.Tree, Unseen: old.Unseen, Calls: map[string]int{}}
	if r.req.Verify != "" {
		r.facts.Gate = &Gate{Command: r.req.Verify}
	}
}

// slot chooses the endpoint again, as it is now, and waits for a free slot there.
func (r *run) slot(ctx context.Context) (func(), error) {
	var err error
	show := func(p llm.Progress) { r.show(p.Text) }
	r.choice, err = r.d.Models.Choose(ctx, llm.Want{Model: r.req.Model, Endpoint: r.req.Endpoint, Tools: true, Wait: true, OnProgress: show})
	if err != nil {
		return nil, err
	}
	return r.d.Models.Acquire(ctx, r.choice, show)
}

// converse opens the shim and the client, and takes turns until the gate passes or there is no point in going on.
func (r *run) converse(ctx context.Context) (verdict, error) {
	ctx, stall := context.WithCancelCause(ctx)
	defer stall(nil)
	t := &tally{dir: r.dir, say: r.say, show: r.show, mask: r.mask, stall: func() { stall(errStalled) }, began: r.began, f: &r.facts, calls: map[string]string{}}
	s := &session{}
	proxy, addr, closeShim, err := r.openShim(ctx, s, t)
	if err != nil {
		return verdict{}, err
	}
	defer closeShim()
	before := r.speculation(ctx)
	if err := r.openClient(ctx, s, t, proxy.Env(addr)); err != nil {
		return verdict{}, err
	}
	v := r.turns(ctx, s, t, proxy)
	exit := s.end()
	if sv, ok := stopped(ctx); ok {
		v = sv
	} else if v.ending == NoResult {
		v = silentEnd(exit, r.mask(s.stderr.String()))
	}
	r.facts.Usage = proxy.Summary()
	after := r.speculation(context.WithoutCancel(ctx))
	r.facts.Drafted, r.facts.Accepted = after.drafted-before.drafted, after.accepted-before.accepted
	return v, nil
}

// turns is the conversation: task, gate, what failed, gate …
func (r *run) turns(ctx context.Context, s *session, t *tally, proxy *shim.Shim) verdict {
	text := r.prompt()
	for {
		r.say("=== task: " + oneLine(r.mask(text), 2000))
		s.forget()
		if err := s.send(text, r.facts.Gate == nil); err != nil {
			return verdict{jobs.Failed, InternalFail, err.Error()}
		}
		res, ok := s.await(r.stallLimit(), t.stall)
		if !ok || ctx.Err() != nil {
			return verdict{ending: NoResult}
		}
		res.Text = r.mask(res.Text)
		r.facts.Answer = res.Text
		v := judge(res, proxy.Summary(), t.last)
		if r.facts.Gate == nil || v.ending != Done && !gaveUp(v.ending) {
			return v
		}
		if err := r.look(ctx); err != nil {
			return verdict{jobs.Failed, InternalFail, err.Error()}
		}
		feedback, err := r.runGate(ctx)
		switch {
		case err != nil:
			return verdict{jobs.Failed, InternalFail, err.Error()}
		case feedback == "" || v.ending != Done:
			return v
		case r.facts.Gate.Runs >= r.d.Config.Agent.VerifyAttempts:
			return verdict{jobs.Failed, GateFailed, fmt.Sprintf("it said done, and `%s` still fails (%s)", r.facts.Gate.Command, r.facts.Gate.Ending)}
		}
		text = feedback
	}
}

// gaveUp tells whether a session came to an end of its own without saying that it is done: what the gate says of its
// work is worth knowing, but there is no next turn.
func gaveUp(ending string) bool {
	return slices.Contains([]string{MaxTurns, Overflow, Denied, CallAsText, EmptyAnswer}, ending)
}

// prompt is the first turn. What differs between jobs stands here and not in the system prompt, so that jobs share
// the front of their prompts.
func (r *run) prompt() string {
	var b strings.Builder
	if r.req.Message != "" && r.resumed {
		b.WriteString(r.req.Message)
	} else {
		b.WriteString(r.req.Task)
		if r.req.Message != "" {
			b.WriteString("\n\n" + r.req.Message)
		}
	}
	if r.tree != nil {
		fmt.Fprintf(&b, "\n\n(Your working folder is %s, a copy of %s. Work in the copy, with relative paths.)", r.dir, r.req.Dir)
	}
	if r.facts.Gate != nil {
		fmt.Fprintf(&b, "\n\nWhen you say that you are done, this command is run in your working folder and must pass: %s", r.facts.Gate.Command)
	}
	return b.String()
}

// delegateNote is added to the system prompt of every session.
const delegateNote = `You are a delegate: another agent gave you this task and reads nothing but your final message. Nobody answers questions in between: when something is unclear, take the most sensible reading and say so at the end. Use the tools; a file you only print is not written.`

// openClient writes the files the client is started with, and starts it.
func (r *run) openClient(ctx context.Context, s *session, t *tally, shimEnv []string) error {
	client, err := clientOf(ctx, &r.d)
	if err != nil {
		return err
	}
	if client.Note != "" {
		r.note("%s", client.Note)
	}
	configDir, own, err := r.clientEnv(ctx, shimEnv)
	if err != nil {
		return err
	}
	cfg := r.d.Config
	r.resumed = r.facts.Session != "" && claudecode.HasSession(configDir, r.facts.Session)
	if !r.resumed {
		r.facts.Session = newUUID()
	}
	cs := claudecode.Session{
		Client: client, Model: r.choice.Model, ID: r.facts.Session, Resume: r.resumed, Mode: cfg.Defaults.PermissionMode, Allow: cfg.Defaults.AllowedTools,
		Disallow: cfg.Defaults.DisallowedTools, Sources: cfg.Defaults.SettingSources, MaxTurns: cfg.Defaults.MaxTurns,
		Settings: r.h.Path("settings.json"), NoServers: r.h.Path("servers.json"), PromptFile: r.h.Path("system.txt"),
	}
	if r.tree != nil && r.dir != r.tree.Dir {
		cs.Dirs = []string{r.tree.Dir}
	}
	if r.tree != nil {
		// The stash is one list for all worktrees: a pop here would take the user's.
		cs.Disallow = append(slices.Clone(cs.Disallow), "Bash(git stash:*)")
	}
	if cfg.Agent.Tools == "lean" {
		cs.Tools = leanTools()
	}
	if r.req.MaxTurns > 0 {
		cs.MaxTurns = r.req.MaxTurns
	}
	without := ""
	if users := claudecode.ConfigDir(r.d.Env); users != configDir {
		without = users
	}
	rules, err := r.restrictions()
	if err != nil {
		return err
	}
	settings, err := claudecode.SettingsJSON(own, without, rules)
	if err != nil {
		return err
	}
	err = errors.Join(
		fsx.WriteFile(cs.Settings, settings, 0o600), // holds the job's token
		fsx.WriteFile(cs.NoServers, []byte(claudecode.NoServersJSON), 0o600),
		fsx.WriteFile(cs.PromptFile, []byte(strings.TrimSpace(delegateNote+"\n"+cfg.Defaults.SystemPromptAppend)), 0o600),
		r.h.SetFacts(r.facts))
	if err != nil {
		return err
	}
	bad := func(fragment []byte, reason string) {
		r.say(fmt.Sprintf("!! %s: %s", reason, oneLine(r.mask(string(fragment)), maxShownResult)))
	}
	if err := s.open(ctx, r.d.Children, cs.Argv(), claudecode.Env(r.d.Env, own), r.dir, r.onLine(t), bad); err != nil {
		return fmt.Errorf("start %s: %w", client.Path, err)
	}
	return r.h.Update(func(j *jobs.Job) { j.Child = s.p.Identity() })
}

// onLine keeps what the client says, and follows it.
func (r *run) onLine(t *tally) func([]byte, []claudecode.Event) {
	return func(line []byte, events []claudecode.Event) {
		if err := r.h.Event(clean.MaskJSON(line, r.mask)); err != nil {
			r.d.Logger.Warn("event not kept", "err", err)
		}
		t.events(events)
	}
}

// restrictions are what the user denies and wants to be asked about, where the job was started and where it works.
// Settings that cannot be read may hold a deny, so nothing is started under them.
func (r *run) restrictions() (claudecode.Restrictions, error) {
	var out claudecode.Restrictions
	original, tree := "", ""
	if r.tree != nil {
		original, tree = r.repo.Top, r.tree.Dir
	}
	for _, dir := range []string{r.d.RulesDir, r.req.Dir} {
		if dir == "" {
			continue
		}
		rules := claudecode.LoadRules(claudecode.Place{Dir: dir, Env: r.d.Env})
		if len(rules.Problems) > 0 {
			return out, &RefusedError{"refused: your permission rules cannot be read, so what they deny is not known: " + rules.Problems[0]}
		}
		out = out.Join(rules.Handover(original, tree))
	}
	return out, nil
}

// leanTools keep the client's prompt at a sixth of its usual size.
func leanTools() []string { return []string{"Bash", "Edit", "Read", "Write"} }

// clientEnv is the environment of the client beside the user's, and its configuration folder: one of ours, so that
// no login and no history of the user's is touched, unless their own settings are wanted.
func (r *run) clientEnv(ctx context.Context, shimEnv []string) (configDir string, own []string, err error) {
	for _, e := range r.d.Config.Servers() {
		if e.Name == r.choice.Endpoint {
			for _, name := range sortedKeys(e.Env) {
				own = append(own, name+"="+e.Env[name].Reveal())
			}
		}
	}
	own = append(own, shimEnv...)
	// A command in the background would go on, and start turns of its own, while the gate runs.
	own = append(own, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", depthMark, jobs.Mark(r.h.ID()))
	git, err := r.gitEnv(ctx)
	if err != nil {
		return "", nil, err
	}
	own = append(own, git...)
	if slices.Contains(r.d.Config.Defaults.SettingSources, "user") {
		return claudecode.ConfigDir(r.d.Env), own, nil
	}
	configDir = filepath.Join(r.d.StateDir, "claude")
	return configDir, append(own, "CLAUDE_CONFIG_DIR="+configDir), os.MkdirAll(configDir, 0o700)
}

// gitEnv keeps our links to dependency folders out of what is committed in the worktree.
func (r *run) gitEnv(ctx context.Context) ([]string, error) {
	if r.tree == nil {
		return nil, nil
	}
	return r.tree.Env(ctx)
}

// gateEnv is the environment of the verify command: the user's, marked as the job's.
func (r *run) gateEnv(ctx context.Context) ([]string, error) {
	git, err := r.gitEnv(ctx)
	env := proc.CleanEnv(r.d.Env)
	for _, kv := range append(git, depthMark, jobs.Mark(r.h.ID())) {
		name, value, _ := strings.Cut(kv, "=")
		env = proc.SetEnv(env, name, value)
	}
	return env, err
}

// stallLimit is how long neither the client nor the model may be heard of. The shim gives up on a silent server
// earlier, and a running tool is heard of every 30 seconds.
func (r *run) stallLimit() time.Duration {
	return max(r.d.Config.LLM.FirstByteTimeout, r.d.Config.LLM.IdleTimeout, 5*time.Minute) + time.Minute
}

func (r *run) say(text string) {
	if err := r.h.Say(r.mask(text)); err != nil {
		r.d.Logger.Warn("transcript", "err", err)
	}
}

// show sets the line of progress.
func (r *run) show(text string) { r.h.Progress(r.mask(text)) }

func (r *run) note(format string, a ...any) {
	n := r.mask(fmt.Sprintf(format, a...))
	if !slices.Contains(r.facts.Notes, n) {
		r.facts.Notes = append(r.facts.Notes, n)
	}
}

// warn is a note that stands before all others.
func (r *run) warn(format string, a ...any) {
	r.facts.Notes = append([]string{"WARNING: " + r.mask(fmt.Sprintf(format, a...))}, r.facts.Notes...)
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
