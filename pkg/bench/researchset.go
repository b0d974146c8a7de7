package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"legwork/pkg/fsx"
	"legwork/pkg/llm"
	"legwork/pkg/research"
)

// What is true of a planted citation.
const (
	truthRight     = "right"     // the cited page says it
	truthElsewhere = "elsewhere" // another page says it
	truthFalse     = "false"     // no page says it
)

// plantedClaim is one line of claims.jsonl: a statement with a citation of which is known whether it is true.
type plantedClaim struct {
	ID    string `json:"id"`
	Claim string `json:"claim"`
	Cites string `json:"cites"` // page, without .html
	Truth string `json:"truth"`
	Says  string `json:"says,omitempty"` // the page that says it
	How   string `json:"how,omitempty"`  // false: what is wrong with it
}

// researchQuestion is one line of questions.jsonl.
type researchQuestion struct {
	ID           string `json:"id"`
	Question     string `json:"question"`
	Page         string `json:"page,omitempty"`   // that answers
	Answer       string `json:"answer,omitempty"` // regular expression of the right one
	Unanswerable bool   `json:"unanswerable,omitempty"`
}

// ResearchRecord is one question with what the real verb replied, and the judgement.
type ResearchRecord struct {
	ID       string           `json:"id"`
	Question string           `json:"question"`
	Answer   string           `json:"answer"`
	Outcome  string           `json:"outcome"`
	Model    string           `json:"model,omitempty"`
	Right    bool             `json:"right"`   // the answer holds the true one
	NotIn    bool             `json:"not_in"`  // it says that the pages do not tell
	Facts    int              `json:"facts"`   // claims that hold the true answer
	Cited    int              `json:"cited"`   // of those, rightly cited by the model itself
	Stands   int              `json:"stands"`  // of those, with a citation after the check
	True     int              `json:"true"`    // of those, of the right page only
	Claimed  int              `json:"claimed"` // unanswerable: claims whose citation stands
	None     bool             `json:"unanswerable,omitempty"`
	Claims   []research.Claim `json:"claims"`
	InTok    int              `json:"in_tok"`
	OutTok   int              `json:"out_tok"`
	MS       int64            `json:"ms"`
}

// ResearchOptions are one bench of research.
type ResearchOptions struct {
	Ask   bool   // also ask the questions
	Model string // as in a request; empty: the setting
	Log   string // JSONL of ResearchRecord, appended; questions in it are not asked again
	Say   func(format string, v ...any)
}

// ResearchSet scores research over the saved pages of dir/pages, served from this machine: what the check makes
// of planted citations (claims.jsonl), and with Ask how a model, or the reader without one, answers
// questions.jsonl.
func ResearchSet(ctx context.Context, g Ground, dir string, o ResearchOptions) (*ResearchReport, error) {
	site, err := servePages(filepath.Join(dir, "pages"))
	if err != nil {
		return nil, err
	}
	defer site.close()
	settings := g.Config.Research
	settings.AllowHosts = append(slices.Clone(settings.AllowHosts), site.host)
	fetcher, err := research.NewFetcher(settings, "", g.Logger)
	if err != nil {
		return nil, err
	}
	defer fetcher.Close()
	deps := research.Deps{Fetcher: fetcher, Logger: g.Logger, PageTimeout: settings.PageTimeout}
	rep := &ResearchReport{Set: filepath.Base(filepath.Clean(dir))}
	claims, err := readJSONL[plantedClaim](filepath.Join(dir, "claims.jsonl"))
	if err != nil {
		return nil, err
	}
	if rep.Checked, err = site.checkClaims(ctx, deps, claims); err != nil {
		return nil, err
	}
	if o.Ask {
		if rep.Asked, err = site.askAll(ctx, g, deps, dir, o); err != nil {
			return nil, err
		}
	}
	return rep, nil
}

// pageSite serves saved pages on a port of this machine.
type pageSite struct {
	server *http.Server
	host   string
	names  []string
}

func servePages(dir string) (*pageSite, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w: %s holds no pages (NAME.html)", research.ErrRequest, dir)
	}
	pages := map[string][]byte{}
	s := &pageSite{}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		pages["/"+filepath.Base(p)] = b
		s.names = append(s.names, strings.TrimSuffix(filepath.Base(p), ".html"))
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.host = l.Addr().String()
	s.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(b)
	})}
	go func() { _ = s.server.Serve(l) }() // ends with close
	return s, nil
}

func (s *pageSite) close() { _ = s.server.Close() }

func (s *pageSite) urls() []string {
	var out []string
	for _, n := range s.names {
		out = append(out, "http://"+s.host+"/"+n+".html")
	}
	return out
}

// pageOf is the name of the page with a number.
func pageOf(res *research.Result, n int) string {
	for _, s := range res.Sources {
		if s.N == n {
			return strings.TrimSuffix(s.URL[strings.LastIndex(s.URL, "/")+1:], ".html")
		}
	}
	return ""
}

// pageNumbers are the numbers that a prompt gives to the pages, by name.
func pageNumbers(prompt string) map[string]string {
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)<<<source (\d+) [^>]*>>>.*?/([\w-]+)\.html`).FindAllStringSubmatch(prompt, -1) {
		out[m[2]] = m[1]
	}
	return out
}

// reciter is a model that answers with planted claims.
type reciter struct{ claims []plantedClaim }

func (*reciter) Name() string { return scriptedModel }
func (*reciter) Window() int  { return 0 }

// Ask recites every claim with the number that the prompt gives to the page it cites.
func (r *reciter) Ask(_ context.Context, _, user string, _ int) (research.Reply, error) {
	numbers := pageNumbers(user)
	var b strings.Builder
	for _, c := range r.claims {
		n, ok := numbers[c.Cites]
		if !ok {
			return research.Reply{}, fmt.Errorf("%s: the prompt does not show the page %s", c.ID, c.Cites)
		}
		b.WriteString(strings.TrimSuffix(c.Claim, ".") + " [" + n + "].\n")
	}
	return research.Reply{Text: b.String(), Outcome: research.Answered, Model: scriptedModel}, nil
}

// CheckedClaim is a planted citation and what became of it.
type CheckedClaim struct {
	ID      string   `json:"id"`
	Truth   string   `json:"truth"`
	How     string   `json:"how,omitempty"`
	Verdict string   `json:"verdict"`
	Pages   []string `json:"pages"` // that are cited after the check
	True    bool     `json:"true"`  // a citation stands, and only of pages that say it
	Stands  bool     `json:"stands"`
}

// checkClaims has all claims recited as one answer and looks at what the check makes of each.
func (s *pageSite) checkClaims(ctx context.Context, deps research.Deps, claims []plantedClaim) ([]CheckedClaim, error) {
	deps.Model = &reciter{claims}
	res, err := research.Run(ctx, deps, research.Request{Question: "What do the pages say?", URLs: s.urls(), Sources: len(s.names)})
	if err != nil {
		return nil, err
	}
	if len(res.Claims) != len(claims) {
		return nil, fmt.Errorf("%d claims were recited, but %d were checked (outcome %s)", len(claims), len(res.Claims), res.Outcome)
	}
	var out []CheckedClaim
	for i, c := range claims {
		got := res.Claims[i]
		k := CheckedClaim{ID: c.ID, Truth: c.Truth, How: c.How, Verdict: got.Verdict, Pages: []string{}}
		for _, n := range got.Sources {
			k.Pages = append(k.Pages, pageOf(&res, n))
		}
		k.Stands = got.Verdict != research.Unsupported && len(k.Pages) > 0
		k.True = k.Stands && c.Says != "" && !slices.ContainsFunc(k.Pages, func(p string) bool { return p != c.Says })
		out = append(out, k)
	}
	return out, nil
}

// askAll asks the questions that the log lacks.
func (s *pageSite) askAll(ctx context.Context, g Ground, deps research.Deps, dir string, o ResearchOptions) ([]ResearchRecord, error) {
	questions, err := readJSONL[researchQuestion](filepath.Join(dir, "questions.jsonl"))
	if err != nil {
		return nil, err
	}
	model, err := research.FromRegistry(ctx, g.Models, o.Model, nil)
	var none *llm.NoModelError
	switch {
	case err == nil:
		deps.Model = model
	case o.Model != "" || !errors.As(err, &none):
		return nil, err
	default:
		deps.NoModel = err.Error()
	}
	records, err := recordsOf(o.Log, deps.Model)
	if err != nil {
		return nil, err
	}
	for i, q := range questions {
		if slices.ContainsFunc(records, func(r ResearchRecord) bool { return r.ID == q.ID }) {
			continue
		}
		if o.Say != nil {
			o.Say("question %d of %d: %s", i+1, len(questions), q.Question)
		}
		res, err := research.Run(ctx, deps, research.Request{Question: q.Question, URLs: s.urls(), Sources: len(s.names)})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.ID, err)
		}
		if res.Outcome == research.Transport || res.Outcome == research.Timeout {
			return nil, fmt.Errorf("%s: the model server failed (%s); the same command goes on", q.ID, res.Outcome)
		}
		rec, err := q.judge(&res)
		if err != nil {
			return nil, err
		}
		records = append(records, rec)
		if o.Log != "" {
			line, err := json.Marshal(rec)
			if err != nil {
				return nil, err
			}
			if err := fsx.AppendLine(o.Log, line, 0o644); err != nil {
				return nil, err
			}
		}
	}
	return records, nil
}

// recordsOf reads what a log holds of a model; a missing log holds nothing.
func recordsOf(path string, model research.Model) ([]ResearchRecord, error) {
	if path == "" {
		return nil, nil
	}
	all, err := readRecords[ResearchRecord](path)
	name := ""
	if model != nil {
		name = publicID(model.Name())
	}
	return slices.DeleteFunc(all, func(r ResearchRecord) bool { return r.Model != name }), err
}

// readRecords reads a log of records; a line that was torn when its writer was killed is no record.
func readRecords[T any](path string) ([]T, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []T
	for line := range bytes.SplitSeq(b, []byte("\n")) {
		var v T
		if len(bytes.TrimSpace(line)) > 0 && json.Unmarshal(line, &v) == nil {
			out = append(out, v)
		}
	}
	return out, err
}

// readJSONL reads one object a line, strictly.
func readJSONL[T any](path string) ([]T, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []T
	for i, line := range bytes.Split(b, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		var v T
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("%s:%s: %w", path, strconv.Itoa(i+1), err)
		}
		out = append(out, v)
	}
	return out, nil
}
