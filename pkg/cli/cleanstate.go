package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"legwork/pkg/agent"
	"legwork/pkg/config"
	"legwork/pkg/fsx"
	"legwork/pkg/jobs"
	"legwork/pkg/offload"
	"legwork/pkg/proc"
	"legwork/pkg/repo"
)

// jobAge is how long finished jobs and transcripts stay when nobody says another age.
const jobAge = 30 * 24 * time.Hour

// cleaner removes state. It follows no link out of the state directory, and what is in use stays.
type cleaner struct {
	cleanOptions
	app   *app
	deps  agent.Deps
	state string
	home  string // of the settings
	busy  bool   // another process of ours works
	now   time.Time
}

func (a *app) newCleaner(o cleanOptions) (*cleaner, error) {
	deps, err := a.agentDeps(nil)
	if err != nil {
		return nil, err
	}
	home, err := config.ConfigHome(a.env)
	if err != nil {
		return nil, err
	}
	return &cleaner{cleanOptions: o, app: a, deps: deps, state: deps.StateDir, home: home, now: time.Now()}, nil
}

// run goes through all kinds of state. Jobs come before worktrees, which they may hold, and both before the caches that
// a running one needs.
func (c *cleaner) run(ctx context.Context) ([]cleaned, error) {
	var rows []cleaned
	var errs []error
	for _, step := range []func(context.Context) (cleaned, error){
		c.processes, c.jobs, c.worktrees, c.raw, c.transcripts, c.pages, c.caches, c.builds, c.ledgerFiles, c.logs, c.settingsFiles, c.unknown,
	} {
		row, err := step(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", row.Kind, err))
		}
		rows = append(rows, row)
		if ctx.Err() != nil {
			break
		}
	}
	if c.all && !c.dry {
		for _, dir := range []string{"worktrees", "jobs", "raw", "delegates", "cache", "locks", "children"} {
			c.dropEmpty(filepath.Join(c.state, dir))
		}
		c.dropEmpty(c.state)
		c.dropEmpty(c.home)
	}
	return rows, errors.Join(errs...)
}

// dropEmpty removes a folder that holds nothing.
func (*cleaner) dropEmpty(dir string) {
	if plainDir(dir) {
		_ = os.Remove(dir)
	}
}

// age is the age from which things go.
func (c *cleaner) age(usual time.Duration) time.Duration {
	switch {
	case c.all:
		return 0
	case c.older > 0:
		return c.older
	}
	return usual
}

func (c *cleaner) processes(context.Context) (cleaned, error) {
	row := cleaned{Kind: "processes left running"}
	dir := filepath.Join(c.state, "children")
	row.Removed = len(proc.LeftBehind(dir))
	c.busy = proc.Busy(dir)
	if c.dry {
		return row, nil
	}
	_, err := proc.Sweep(dir)
	return row, err
}

// jobs removes those that are over, unless their work is not applied.
func (c *cleaner) jobs(ctx context.Context) (cleaned, error) {
	row := cleaned{Kind: "jobs"}
	if !plainDir(filepath.Join(c.state, "jobs")) {
		return row, nil
	}
	list, err := c.deps.Jobs.List()
	if err != nil {
		return row, err
	}
	work, unfinished := 0, 0
	var errs []error
	for _, job := range list {
		bytes := sizeOf(c.deps.Jobs.Path(job.ID, ""))
		gone := false
		switch {
		case !job.State.Final():
			unfinished++
			c.busy = c.busy || job.State == jobs.Running
		case c.now.Sub(job.Ended) < c.age(jobAge):
		case c.dry:
			gone = c.work || !holdsWork(job)
		default:
			if gone, err = agent.Clean(ctx, c.deps, job, c.work); err != nil { // its project has moved, say
				errs = append(errs, fmt.Errorf("job %s: %w", job.ID, err))
			}
		}
		if gone {
			row.Removed, row.Bytes = row.Removed+1, row.Bytes+bytes
			continue
		}
		row.Kept, row.Stays = row.Kept+1, row.Stays+bytes
		if job.State.Final() && holdsWork(job) {
			work++
		}
	}
	row.Why = because(map[string]int{"unfinished": unfinished, "with work that is not applied (legwork jobs apply ID, or --work)": work})
	return row, errors.Join(errs...)
}

// holdsWork tells what the record says; Clean looks at the worktree itself.
func holdsWork(job jobs.Job) bool {
	f := agent.FactsOf(job)
	return f.Tree != nil && !f.Tree.Gone && !f.Applied && len(f.Files)+len(f.Unseen) > 0
}

func because(reasons map[string]int) string {
	var out []string
	for why, n := range reasons {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, why))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// worktrees removes those that nobody works in and that hold no work; with --work the others too.
func (c *cleaner) worktrees(ctx context.Context) (cleaned, error) {
	row := cleaned{Kind: "worktrees"}
	if !plainDir(filepath.Join(c.state, "worktrees")) {
		return row, nil
	}
	opt := repo.Options{StateDir: c.state, Env: c.app.env, Children: c.app.children, Logger: c.app.log}
	left, err := repo.Leftovers(ctx, opt)
	if err != nil {
		return row, err
	}
	var errs []error
	for _, l := range left {
		bytes := sizeOf(l.Home)
		young := l.Told && c.now.Sub(l.Made) < c.age(c.deps.Config.Store.WorktreeAge)
		if l.Work && !c.work || young {
			row.Kept, row.Stays = row.Kept+1, row.Stays+bytes
			if l.Work {
				row.Why = "with work in them; look there, then --work removes them"
				row.Paths = append(row.Paths, filepath.Join(l.Home, "tree"))
			}
			continue
		}
		row.Removed, row.Bytes = row.Removed+1, row.Bytes+bytes
		if l.Work && !c.dry {
			errs = append(errs, repo.Discard(ctx, opt, l.ID))
		}
	}
	if !c.dry {
		_, err := repo.Sweep(ctx, opt, c.age(c.deps.Config.Store.WorktreeAge))
		errs = append(errs, err)
	}
	return row, errors.Join(errs...)
}

// raw removes kept output. An entry without a record may be written to right now.
func (c *cleaner) raw(context.Context) (cleaned, error) {
	row := cleaned{Kind: "kept output"}
	dir := filepath.Join(c.state, "raw")
	if !plainDir(dir) {
		return row, nil
	}
	store := offload.Store{Dir: dir}
	age := c.age(c.deps.Config.Store.RawAge)
	names, err := filepath.Glob(filepath.Join(dir, "r*.out"))
	if err != nil {
		return row, err
	}
	for _, name := range names {
		st, err := os.Lstat(name)
		if err != nil || !st.Mode().IsRegular() {
			continue
		}
		id := strings.TrimSuffix(filepath.Base(name), ".out")
		if _, err := store.Get(id); err != nil && c.now.Sub(st.ModTime()) < time.Hour || c.now.Sub(st.ModTime()) < age {
			row.Kept, row.Stays = row.Kept+1, row.Stays+st.Size()
			continue
		}
		row.Removed, row.Bytes = row.Removed+1, row.Bytes+st.Size()
		if !c.dry {
			store.Remove(id)
		}
	}
	return row, nil
}

// transcripts are what delegate's models were shown and said.
func (c *cleaner) transcripts(context.Context) (cleaned, error) {
	return c.byAge("transcripts of delegate", filepath.Join(c.state, "delegates"), c.deps.Config.Store.RawAge)
}

// pages are web pages that research read.
func (c *cleaner) pages(context.Context) (cleaned, error) {
	return c.byAge("cached pages", filepath.Join(c.state, "cache", "pages"), 24*time.Hour)
}

// byAge removes the files of a folder that are older than an age.
func (c *cleaner) byAge(kind, dir string, usual time.Duration) (cleaned, error) {
	row := cleaned{Kind: kind}
	if !plainDir(dir) || c.busy && c.all {
		return row, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return row, err
	}
	defer root.Close()
	var errs []error
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // what cannot be read stays
		}
		st, err := d.Info()
		switch {
		case err != nil:
		case c.now.Sub(st.ModTime()) < c.age(usual):
			row.Kept, row.Stays = row.Kept+1, row.Stays+st.Size()
		default:
			row.Removed, row.Bytes = row.Removed+1, row.Bytes+st.Size()
			if !c.dry {
				errs = append(errs, root.Remove(path))
			}
		}
		return nil
	})
	return row, errors.Join(append(errs, err)...)
}

// cacheNames are what can be made again, in the state directory.
var cacheNames = []string{"cache", "tokens", "slots", "locks", "bench", "children", "claude", "config.lock"}

// anyLocked tells whether a process holds one of the lock files below a folder. Afterwards they may be removed: a waiter
// that opened one in between loses nothing but the order of waiting.
func anyLocked(dir string) bool {
	locked := false
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || locked {
			return nil //nolint:nilerr // nobody can hold what is not there
		}
		lock, err := fsx.TryLock(path)
		if err != nil {
			locked = true
			return nil //nolint:nilerr // the answer is yes
		}
		return lock.Unlock()
	})
	return locked
}

// caches are what is made again when it is needed: what was learned of servers, build caches of tests, locks. Sessions of
// jobs stay as long as a job does, which may be resumed.
func (c *cleaner) caches(context.Context) (cleaned, error) {
	row := cleaned{Kind: "caches"}
	c.busy = c.busy || anyLocked(filepath.Join(c.state, "slots")) || anyLocked(filepath.Join(c.state, "locks"))
	_, err := os.Lstat(filepath.Join(c.state, "jobs"))
	left, _ := filepath.Glob(filepath.Join(c.state, "jobs", "*"))
	hasJobs := err == nil && len(left) > 0
	var errs []error
	for _, name := range cacheNames {
		path := filepath.Join(c.state, name)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		bytes := sizeOf(path)
		switch {
		case !c.all:
			row.Kept, row.Stays, row.Why = row.Kept+1, row.Stays+bytes, "--all removes them"
		case c.busy:
			row.Kept, row.Stays, row.Why = row.Kept+1, row.Stays+bytes, "another legwork is at work"
		case name == "claude" && hasJobs && !c.dry:
			row.Kept, row.Stays, row.Why = row.Kept+1, row.Stays+bytes, "sessions of the jobs that stay"
		default:
			row.Removed, row.Bytes = row.Removed+1, row.Bytes+bytes
			if !c.dry {
				errs = append(errs, fsx.RemoveAll(path))
			}
		}
	}
	return row, errors.Join(errs...)
}

// builds are the binaries that the launcher built from a clone, and copies of shipped ones.
func (c *cleaner) builds(context.Context) (cleaned, error) {
	cache := lookup(c.app.env, "XDG_CACHE_HOME")
	if home := lookup(c.app.env, "HOME"); cache == "" && home != "" {
		cache = filepath.Join(home, ".cache")
	}
	if !filepath.IsAbs(cache) {
		return cleaned{Kind: "builds"}, nil
	}
	dir := filepath.Join(cache, "legwork")
	row, err := c.named("builds", c.all, "--all removes them", filepath.Join(dir, "build"))
	if c.all && !c.dry {
		c.dropEmpty(dir)
	}
	return row, err
}

func (c *cleaner) ledgerFiles(context.Context) (cleaned, error) {
	return c.named("run log", c.ledger, "--ledger removes it, and with it the statistics", c.inState("runs.jsonl", "runs.jsonl.lock", "runs.lock")...)
}

func (c *cleaner) logs(context.Context) (cleaned, error) {
	return c.named("server log", c.all, "--all removes it", c.inState("legwork.log", "legwork.log.1")...)
}

func (c *cleaner) settingsFiles(context.Context) (cleaned, error) {
	return c.named("settings that commands wrote", c.settings, "--settings removes them; what you wrote yourself stays",
		filepath.Join(c.home, "config.local.yaml"), filepath.Join(c.home, "trust.yaml"))
}

// unknown names what lies in our folder and is of no kind above: of a later version, or the user's.
func (c *cleaner) unknown(context.Context) (cleaned, error) {
	row := cleaned{Kind: "other files", Why: "not known to this version"}
	list, err := os.ReadDir(c.state)
	if errors.Is(err, fs.ErrNotExist) {
		return row, nil
	}
	known := append([]string{"jobs", "worktrees", "raw", "delegates", "runs.jsonl", "runs.jsonl.lock", "runs.lock", "legwork.log", "legwork.log.1"}, cacheNames...)
	for _, e := range list {
		path := filepath.Join(c.state, e.Name())
		st, serr := e.Info()
		switch {
		case slices.Contains(known, e.Name()) || serr != nil:
		case strings.HasPrefix(e.Name(), "doctor-") && c.now.Sub(st.ModTime()) > time.Hour: // of a check-up that was killed
			row.Removed, row.Bytes = row.Removed+1, row.Bytes+sizeOf(path)
			if !c.dry {
				err = errors.Join(err, fsx.RemoveAll(path))
			}
		default:
			row.Kept, row.Stays, row.Paths = row.Kept+1, row.Stays+sizeOf(path), append(row.Paths, path)
		}
	}
	return row, err
}

func (c *cleaner) inState(names ...string) []string {
	for i := range names {
		names[i] = filepath.Join(c.state, names[i])
	}
	return names
}

// named removes the files and folders of these names, when they are wanted gone.
func (c *cleaner) named(kind string, gone bool, why string, paths ...string) (cleaned, error) {
	row := cleaned{Kind: kind}
	var errs []error
	for _, path := range paths {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		bytes := sizeOf(path)
		if !gone {
			row.Kept, row.Stays, row.Why = row.Kept+1, row.Stays+bytes, why
			continue
		}
		row.Removed, row.Bytes = row.Removed+1, row.Bytes+bytes
		if !c.dry {
			errs = append(errs, fsx.RemoveAll(path))
		}
	}
	return row, errors.Join(errs...)
}

// plainDir tells whether a folder is there, and is one: a link in its place leads to where nothing is ours.
func plainDir(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.IsDir()
}

// sizeOf adds up the files below a path; links count as themselves.
func sizeOf(path string) int64 {
	var sum int64
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if st, err := d.Info(); err == nil {
				sum += st.Size()
			}
		}
		return nil
	})
	return sum
}
