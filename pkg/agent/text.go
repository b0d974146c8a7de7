package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"legwork/pkg/jobs"
	"legwork/pkg/ledger"
	"legwork/pkg/llm"
	"legwork/pkg/repo"
)

// Limits of a reply.
const (
	maxAnswer = 1500 // characters of the session's own report
	maxFiles  = 20
)

// reply is what the caller is told: the facts first, the model's opinion last.
func (r *run) reply(v verdict) string {
	var b strings.Builder
	f := r.facts
	head := []string{headline(v)}
	if g := f.Gate; g != nil {
		head = append(head, gateWords(g))
	}
	head = append(head, r.place(v)...)
	head = append(head, fmt.Sprintf("%s on %s", r.req.Model, r.req.Endpoint), fmt.Sprintf("%s, %s", plural(f.Turns, "turn"), time.Since(r.began).Round(time.Second)))
	fmt.Fprintln(&b, strings.Join(head, " · "))
	writeFiles(&b, f)
	if f.Gate != nil && !f.Gate.Passed && len(f.Gate.Failures) > 0 {
		fmt.Fprintf(&b, "verify says:\n%s\n", oneBlock(strings.Join(f.Gate.Failures, "\n"), maxAnswer))
	}
	if a := strings.TrimSpace(f.Answer); a != "" {
		fmt.Fprintf(&b, "the session says: %s\n", oneBlock(a, maxAnswer))
	}
	if len(f.Denied) > 0 {
		fmt.Fprintf(&b, "refused tools: %s\n", strings.Join(f.Denied, ", "))
	}
	for _, n := range f.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	fmt.Fprintf(&b, "%s\njob %s (job_log shows what happened, resume_job goes on)", r.usageLine(), r.h.ID())
	return b.String()
}

func headline(v verdict) string {
	if v.state == jobs.Succeeded {
		return "done"
	}
	return fmt.Sprintf("%s: %s", strings.ToUpper(string(v.state)), v.why)
}

func gateWords(g *Gate) string {
	switch {
	case g.Runs == 0:
		return "verify did not run"
	case g.Passed && g.Runs == 1:
		return "verify passed"
	case g.Passed:
		return fmt.Sprintf("verify passed at run %d", g.Runs)
	}
	return fmt.Sprintf("verify FAILED %s", plural(g.Runs, "time"))
}

// place says where the changes are.
func (r *run) place(v verdict) []string {
	f := r.facts
	switch {
	case r.tree == nil && r.dir == "": // it did not come that far
		if f.Tree != nil && !f.Tree.Gone {
			return []string{"what it did before is in " + f.Tree.Dir}
		}
		return nil
	case r.tree == nil:
		return []string{"worked in place"}
	case r.unsure:
		return []string{"what changed is NOT KNOWN: look in " + f.Tree.Dir}
	case len(f.Unseen) > 0 && len(r.changes) == 0:
		return []string{unseenWords(f)}
	case len(r.changes) == 0:
		return []string{"nothing changed"}
	case f.Applied:
		return []string{"applied to your checkout", diffTotal(f.Files)}
	}
	words := "NOT applied"
	if f.Gate == nil && v.state == jobs.Succeeded {
		words = "not applied, since nothing verified it"
	}
	does := "does it"
	if len(f.Unseen) > 0 {
		does = "does the rest; " + unseenWords(f)
	}
	return []string{fmt.Sprintf("%s: in %s; `legwork jobs apply %s` %s", words, f.Tree.Dir, r.h.ID(), does), diffTotal(f.Files)}
}

// unseenWords names what only a person can bring over.
func unseenWords(f Facts) string {
	names := f.Unseen[:min(len(f.Unseen), maxFiles)]
	more := ""
	if n := len(f.Unseen) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("NOT applied, since git ignores them or they are in a submodule: only in %s: %s%s", f.Tree.Dir, strings.Join(names, ", "), more)
}

func diffTotal(files []repo.FileStat) string {
	added, removed := 0, 0
	for _, f := range files {
		added, removed = added+f.Added, removed+f.Removed
	}
	return fmt.Sprintf("%s +%d -%d", plural(len(files), "file"), added, removed)
}

func writeFiles(b *strings.Builder, f Facts) {
	for i, s := range f.Files {
		if i == maxFiles {
			fmt.Fprintf(b, "  … and %d more\n", len(f.Files)-i)
			break
		}
		what := fmt.Sprintf("+%d -%d", s.Added, s.Removed)
		if s.Binary {
			what = "binary"
		}
		if s.Kind != "modified" {
			what += " " + s.Kind
		}
		fmt.Fprintf(b, "  %s %s\n", s.Path, what)
	}
	if f.Isolation == None && len(f.Touched) > 0 {
		fmt.Fprintf(b, "  edited: %s\n", strings.Join(f.Touched[:min(len(f.Touched), maxFiles)], ", "))
	}
}

func (r *run) usageLine() string {
	u := r.facts.Usage.Usage
	s := fmt.Sprintf("%d tokens read", u.Total())
	if u.Cached > 0 {
		s += fmt.Sprintf(" (%d %% cached)", 100*u.Cached/max(1, u.Total()))
	}
	s += fmt.Sprintf(", %d written", u.Output)
	if r.facts.TokensPerSec > 0 {
		s += fmt.Sprintf(" at %.0f tok/s", r.facts.TokensPerSec)
	}
	if r.facts.Drafted > 0 {
		s += fmt.Sprintf(", %d %% of drafts accepted", 100*r.facts.Accepted/r.facts.Drafted)
	}
	return s
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// oneBlock shortens a text in its middle and keeps its lines.
func oneBlock(s string, n int) string {
	r := []rune(strings.TrimSpace(s))
	if len(r) <= n {
		return string(r)
	}
	return fmt.Sprintf("%s\n… (%d characters left out) …\n%s", string(r[:n/2]), len(r)-n, string(r[len(r)-n/2:]))
}

// Status is a job in a few lines, for one that runs and one that is over.
func Status(job jobs.Job) string {
	switch {
	case job.State.Final() && job.Reply != "":
		return job.Reply
	case job.State.Final():
		return fmt.Sprintf("%s: %s\njob %s: %s", strings.ToUpper(string(job.State)), orElse(job.Error, job.Ending), job.ID, job.Title)
	}
	by := ""
	if job.Model != "" {
		by = fmt.Sprintf(", %s on %s", job.Model, job.Endpoint)
	}
	return fmt.Sprintf("job %s %s: %s (%s%s); wait_job collects it, cancel_job ends it", job.ID, job.State, job.Progress,
		job.Took().Round(time.Second), by)
}

// ledger adds the run to the run log.
func (r *run) ledger(ctx context.Context, v verdict) {
	if !r.d.Config.Store.Ledger {
		return
	}
	outcome := map[jobs.State]string{
		jobs.Succeeded: ledger.Done, jobs.Timeout: ledger.Timeout, jobs.Cancelled: ledger.Cancelled,
		jobs.Stalled: ledger.Transport, jobs.Interrupted: ledger.Transport,
	}[v.state]
	switch {
	case v.ending == APIError:
		outcome = ledger.Transport
	case v.ending == EmptyAnswer || v.ending == CallAsText:
		outcome = ledger.CutOff
	case outcome == "":
		outcome = ledger.Failed
	}
	u := r.facts.Usage.Usage
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := ledger.New(r.d.StateDir).Append(ctx, ledger.Run{
		Tool: Kind, Model: r.req.Model, Endpoint: r.req.Endpoint, OK: v.state == jobs.Succeeded, Outcome: outcome, Attempts: max(1, r.gateRuns()),
		InTok: int64(u.Total()), OutTok: int64(u.Output), CachedTok: int64(u.Cached), MS: time.Since(r.began).Milliseconds(),
		ClaudeTokIn: int64(llm.Estimate(r.reply(v))), ClaudeTokOut: int64(llm.Estimate(r.req.Task + r.req.Message)),
		Job: r.h.ID(), Project: r.d.Config.Project.Root,
	})
	if err != nil {
		r.d.Logger.Warn("run log", "err", err)
	}
}

func (r *run) gateRuns() int {
	if r.facts.Gate == nil {
		return 0
	}
	return r.facts.Gate.Runs
}
