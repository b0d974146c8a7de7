package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"legwork/pkg/config"
	"legwork/pkg/ledger"
	"legwork/pkg/llm"
	"legwork/pkg/mcpserver"
	"legwork/pkg/offload"
	"legwork/pkg/research"
	"legwork/pkg/web"
)

func researchCommand() *command {
	return &command{
		name: "research", tool: "research", args: "QUESTION", min: 1, max: 1,
		short: "Answer a question from web pages, with checked citations.",
		example: `legwork research 'does SQLite lock the whole file in WAL mode?'
legwork research --url https://sqlite.org/wal.html 'when is the WAL file checkpointed?'`,
		bind: func(fs *pflag.FlagSet) runFunc {
			var in mcpserver.ResearchInput
			fs.StringArrayVar(&in.URLs, "url", nil, "read this `URL`; may be repeated")
			fs.StringArrayVar(&in.Queries, "query", nil, "search for `Q`; may be repeated")
			fs.IntVar(&in.Sources, "sources", 0, "pages to read (default: research.sources)")
			fs.IntVar(&in.Rounds, "rounds", 0, "searches at most (default: research.rounds)")
			fs.StringVar(&in.Model, "model", "", "`MODEL` to use")
			return func(ctx context.Context, a *app, args []string) error {
				in.Question = args[0]
				return a.runResearch(ctx, in)
			}
		},
	}
}

func (a *app) runResearch(ctx context.Context, in mcpserver.ResearchInput) error {
	say, end := a.progress()
	res, err := a.research(ctx, in, say)
	end()
	if err != nil {
		return err
	}
	if a.global.json {
		if err := a.printJSON(res); err != nil {
			return err
		}
		return researchExit(res)
	}
	a.printf("%s\n", strings.TrimRight(a.redact(res.Text()), "\n"))
	return researchExit(res)
}

// researchExit tells a script that no page was found: that is no answer.
func researchExit(res *research.Result) error {
	if res.Outcome == research.NoSources {
		return &exitError{code: exitFailed}
	}
	return nil
}

// research is the verb behind `legwork research` and the tool of that name.
func (a *app) research(ctx context.Context, in mcpserver.ResearchInput, progress func(string)) (*research.Result, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	reg, err := a.registry(cfg)
	if err != nil {
		return nil, err
	}
	searchers, err := research.Providers(cfg.Research)
	if err != nil {
		return nil, &offload.InputError{Msg: "research: " + err.Error()}
	}
	fetcher, err := a.fetcher(cfg)
	if err != nil {
		return nil, err
	}
	deps := research.Deps{
		Searchers: searchers, Fetcher: fetcher, Progress: progress, Logger: a.log, PageTimeout: cfg.Research.PageTimeout,
	}
	model, err := research.FromRegistry(ctx, reg, in.Model, progress)
	var none *llm.NoModelError
	switch {
	case err == nil:
		deps.Model = model
	case in.Model != "" || !errors.As(err, &none):
		return nil, err
	default:
		deps.NoModel = err.Error()
		if errors.Is(err, llm.ErrNoServer) && len(cfg.Endpoints) == 0 {
			deps.NoModel = "none is served at the usual local ports, and no endpoint is set up"
		}
	}
	req := research.Request{
		Question: in.Question, URLs: in.URLs, Queries: in.Queries, Sources: in.Sources, Rounds: in.Rounds, Language: in.Language,
	}
	if req.Sources == 0 {
		req.Sources = cfg.Research.Sources
	}
	if req.Rounds == 0 {
		req.Rounds = cfg.Research.Rounds
	}
	res, err := research.Run(ctx, deps, req)
	if err != nil {
		return nil, err
	}
	a.recordResearch(ctx, cfg, in, &res)
	return &res, nil
}

// fetcher returns the process's page fetcher; it keeps what it knows of hosts between calls.
func (a *app) fetcher(cfg *config.Config) (*web.Fetcher, error) {
	state, err := config.StateHome(a.env)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := fmt.Sprint(cfg.Research)
	if a.pages != nil && a.pagesFor == key {
		return a.pages, nil
	}
	f, err := research.NewFetcher(cfg.Research, filepath.Join(state, "cache", "pages"), a.log)
	if err != nil {
		return nil, &offload.InputError{Msg: "research: " + err.Error()}
	}
	a.pages, a.pagesFor = f, key
	return f, nil
}

func (a *app) recordResearch(ctx context.Context, cfg *config.Config, in mcpserver.ResearchInput, r *research.Result) {
	state, err := config.StateHome(a.env)
	if err != nil || !cfg.Store.Ledger {
		return
	}
	outcome := map[string]string{
		research.CutOff: ledger.CutOff, research.Empty: ledger.CutOff, research.Looped: ledger.CutOff,
		research.Timeout: ledger.Timeout, research.Transport: ledger.Transport, research.NoSources: ledger.Failed,
	}[r.Outcome]
	if outcome == "" {
		outcome = ledger.Done
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	err = ledger.New(state).Append(ctx, ledger.Run{
		Tool: "research", Model: r.Model, Endpoint: r.Endpoint, Outcome: outcome, OK: outcome == ledger.Done,
		InTok: int64(r.InTok), OutTok: int64(r.OutTok), CachedTok: int64(r.CachedTok), MS: r.MS, Project: cfg.Project.Root,
		ClaudeTokIn: int64(llm.Estimate(r.Text())), ClaudeTokOut: int64(llm.Estimate(in.Question)),
	})
	if err != nil {
		a.log.Warn("run log", "err", err)
	}
}

func extractCommand() *command {
	return &command{
		name: "extract", args: "FILE|-", min: 1, max: 1, short: "Print the Markdown a page is read as.",
		example: `legwork extract page.html
curl -s https://example.com | legwork extract --url https://example.com -`,
		bind: func(fs *pflag.FlagSet) runFunc {
			from := fs.String("url", "", "the `URL` the page came from")
			kind := fs.String("type", "", "content `TYPE`, such as text/html (default: by the text)")
			return func(_ context.Context, a *app, args []string) error { return a.runExtract(args[0], *from, *kind) }
		},
	}
}

func (a *app) runExtract(file, from, kind string) error {
	page, err := url.Parse(from)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	in := a.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, 64<<20))
	if err != nil {
		return &exitError{exitUsage, err}
	}
	p, err := web.ReadBytes(body, kind, page)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if a.global.json {
		return a.printJSON(p)
	}
	a.printf("%s\n", p.Text)
	return nil
}
