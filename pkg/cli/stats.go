package cli

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"legwork/pkg/config"
	"legwork/pkg/fsx"
	"legwork/pkg/ledger"
	"legwork/pkg/llm"
	"legwork/pkg/mcpserver"
)

func statsCommand() *command {
	return &command{
		name: "stats", min: 0, max: 0,
		short: "Show what was run, how it ended, and what it saved Claude (an estimate).",
		example: `legwork stats --since 7d
legwork stats --html report.html
legwork stats --weight cache_read=0.25 --json`,
		bind: func(fs *pflag.FlagSet) runFunc {
			var o statsOptions
			fs.StringVar(&o.since, "since", "", "runs from then on: a span (`7d`, 24h), a date (2026-01-31) or a time")
			fs.StringVar(&o.html, "html", "", "write a page with charts to `FILE`")
			fs.StringArrayVar(&o.weights, "weight", nil, "another assumption, as `KEY=N`; may be repeated (keys: those of stats.*)")
			return func(_ context.Context, a *app, _ []string) error { return a.runStats(o) }
		},
	}
}

type statsOptions struct {
	since, html string
	weights     []string
}

// statsReport is the report with what was assumed for it.
type statsReport struct {
	ledger.Report
	Estimate    string   `json:"estimate"` // what kind of numbers the savings are
	Assumptions []string `json:"assumptions"`
	Ledger      string   `json:"ledger"` // folder of the run log
	Off         bool     `json:"off,omitempty"`
}

func (a *app) runStats(o statsOptions) error {
	rep, err := a.stats(o, time.Now())
	if err != nil {
		return err
	}
	if o.html != "" {
		return a.writeStatsPage(o.html, rep)
	}
	if a.global.json {
		return a.printJSON(rep)
	}
	a.printf("%s\n", a.redact(statsText(rep, a.screen())))
	return nil
}

// stats reads the run log under the assumptions of the settings and the flags.
func (a *app) stats(o statsOptions, now time.Time) (*statsReport, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	state, err := config.StateHome(a.env)
	if err != nil {
		return nil, err
	}
	since, err := sinceTime(o.since, now)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	q := ledger.Query{
		Since: since, Loc: now.Location(),
		Searched: func(tool string) bool {
			return !slices.Contains(cfg.AutoUse, tool) && slices.Contains(mcpserver.ToolNames(), tool)
		},
	}
	prefix, err := ourPrefix(cfg.AutoUse)
	if err != nil {
		return nil, err
	}
	counted := cfg.Stats.PrefixTokens == 0
	q.Weights = weightsOf(cfg.Stats, prefix)
	for _, kv := range o.weights {
		key, err := setWeight(&q.Weights, kv)
		if err != nil {
			return nil, &exitError{exitUsage, err}
		}
		counted = counted && key != "prefix_tokens"
	}
	rep, err := ledger.New(state).Stats(q)
	if err != nil {
		return nil, err
	}
	return &statsReport{
		Report: rep, Estimate: statsEstimate, Assumptions: assumptions(q.Weights, counted, cfg.AutoUse), Ledger: state, Off: !cfg.Store.Ledger,
	}, nil
}

const statsEstimate = "net saving in tokens of Claude's, weighed as uncached input; an estimate"

// sinceTime reads a span back from now, a date or a time of the local zone.
func sinceTime(s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "" || s == "all" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", "2006-01-02T15:04", time.DateTime} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if d, err := config.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("--since: %q is no span such as 7d, 24h or 90m, no date such as 2026-01-31 and no time such as 2026-01-31T09:30", s)
}

// weightsOf is the assumptions of the settings.
func weightsOf(s config.Stats, prefix int) ledger.Weights {
	if s.PrefixTokens > 0 {
		prefix = s.PrefixTokens
	}
	return ledger.Weights{
		CacheWrite: s.CacheWrite, CacheRead: s.CacheRead, Output: s.Output, LaterTurns: s.LaterTurns, Turns: s.Turns,
		PrefixTok: float64(prefix), SearchCost: s.SearchCost,
	}
}

// setWeight carries out one --weight and returns its key.
func setWeight(w *ledger.Weights, kv string) (key string, err error) {
	key, text, ok := strings.Cut(kv, "=")
	key = strings.TrimPrefix(strings.TrimSpace(key), "stats.")
	targets := map[string]*float64{
		"cache_write": &w.CacheWrite, "cache_read": &w.CacheRead, "output": &w.Output, "later_turns": &w.LaterTurns, "turns": &w.Turns,
		"prefix_tokens": &w.PrefixTok, "search_cost": &w.SearchCost,
	}
	to := targets[key]
	if !ok || to == nil {
		return "", fmt.Errorf("--weight: %q must be KEY=N with one of cache_write, cache_read, output, later_turns, turns, prefix_tokens, search_cost", kv)
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > maxWeight {
		return "", fmt.Errorf("--weight: %s: %q is no number from 0 to %d", key, text, maxWeight)
	}
	*to = n
	return key, nil
}

const maxWeight = 1_000_000

// Our texts in a session's first message beside the tools, in bytes: what the client puts around the reminder, and
// the lines that list our commands and skills (a test compares them with the files).
const (
	aroundReminder = 40
	listedBytes    = 352
)

// ourPrefix counts what every request of a session holds of ours, in tokens: tools, reminder, list of commands.
func ourPrefix(autoUse []string) (int, error) {
	tools, err := mcpserver.Prefix(autoUse)
	if err != nil {
		return 0, err
	}
	return llm.Estimate(tools+reminder(autoUse, mcpserver.ToolNames())) + (aroundReminder+listedBytes)/4, nil
}

// assumptions words what the estimate rests on, one line each.
func assumptions(w ledger.Weights, counted bool, autoUse []string) []string {
	f := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	how := "as set"
	if counted {
		how = "counted from the tools, names and reminder of now, with auto_use " + strings.Join(autoUse, ", ")
		if len(autoUse) == 0 {
			how += "(none)"
		}
	}
	return []string{
		"prices, in uncached input tokens: a token that enters the cache " + f(w.CacheWrite) + ", one read from it " + f(w.CacheRead) + ", one that Claude writes " + f(w.Output),
		"a reply is read again in " + f(w.LaterTurns) + " later turns; a session has " + f(w.Turns) + " turns",
		"our share of every request: " + f(w.PrefixTok) + " tokens (" + how + ")",
		"a session that uses a tool which is not in auto_use pays " + f(w.SearchCost) + " once, for the search",
		"without us Claude would have received what its client shows: all of a successful command up to 30,000 characters, above that a preview of 550 tokens; 10,040 characters of a failed one; files by pages of 25,000 tokens",
		"research, run_agent and local_complete are counted as if Claude had received nothing without them",
		"tokens of Claude's are estimated from the text; those of local models are what the servers report",
	}
}

// writeStatsPage writes the report as one page.
func (a *app) writeStatsPage(file string, rep *statsReport) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return &exitError{exitUsage, fmt.Errorf("--html: %s is there already and is no file (%s); name another", path, st.Mode().Type())}
	}
	page, err := ledger.Page(rep.Report, ledger.PageOptions{Assumptions: rep.Assumptions, Made: time.Now(), Version: version})
	if err != nil {
		return err
	}
	if err := fsx.WriteFile(path, []byte(a.redact(string(page))), 0o644); err != nil {
		return &exitError{exitUsage, fmt.Errorf("--html: %w", err)}
	}
	if a.global.json {
		return a.printJSON(rep)
	}
	a.printf("%s\n%s\n", a.redact(statsHeadline(rep)), path)
	return nil
}
