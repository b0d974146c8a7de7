package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"legwork/pkg/fsx"
	"legwork/pkg/offload"
)

// OffloadOptions choose what of a set is asked, and how.
type OffloadOptions struct {
	N      int    // questions; kinds in turn, unanswerable ones twice as often as their share
	Second int    // texts of which a second question measures the prompt cache
	Log    string // JSONL, one record a question, written as it grows; questions in it are not asked again
	// Ask is the real verb.
	Ask func(ctx context.Context, req offload.Request) (*offload.Result, error)
	// Say is told what goes on; may be nil.
	Say func(format string, a ...any)
}

// OffloadRecord is one question with its reply and the judgement.
type OffloadRecord struct {
	ID       string  `json:"id"`
	Kind     string  `json:"kind"`
	Question string  `json:"question"`
	Truth    string  `json:"truth"`
	Answer   string  `json:"answer"`
	By       string  `json:"by"`
	Outcome  string  `json:"outcome"`
	Model    string  `json:"model,omitempty"`
	Says     string  `json:"says,omitempty"` // the line that says so, as shown
	NotIn    bool    `json:"not_in_text"`
	Right    bool    `json:"right"` // the answer, by the rule of judge
	Shown    bool    `json:"shown"` // all lines that answer are in the reply
	Tokens   int     `json:"reply_tokens"`
	InTok    int     `json:"in_tok"`
	OutTok   int     `json:"out_tok"`
	MS       int64   `json:"ms"`
	Cached   float64 `json:"cached,omitempty"` // kind "second": share of the prompt that the server had cached
	Reply    string  `json:"reply"`
}

// kindSecond marks records of the prompt cache.
const kindSecond = "second question"

// OffloadSet asks questions of dir/questions.jsonl (see EvidenceSet; answer holds the true answer) through
// the real verb and judges the replies.
func OffloadSet(ctx context.Context, dir string, o OffloadOptions) (*OffloadReport, error) {
	lines, err := readEvidence(filepath.Join(dir, "questions.jsonl"))
	if err != nil {
		return nil, err
	}
	log, err := openOffloadLog(o.Log)
	if err != nil {
		return nil, err
	}
	for i := range log.records { // by today's rule
		rec := &log.records[i]
		k := slices.IndexFunc(lines, func(l evidenceLine) bool { return l.ID == rec.ID })
		if k >= 0 && rec.Reply != "" { // published records may lack the text
			if err := rec.judge(lines[k]); err != nil {
				return nil, err
			}
		}
	}
	tmp, err := os.MkdirTemp("", "legwork-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	r := &offloadRun{dir: dir, tmp: tmp, o: o, log: log}
	picked := pickQuestions(lines, o.N)
	for i, l := range picked {
		if log.has(l.ID) {
			continue
		}
		if o.Say != nil {
			o.Say("question %d of %d: %s", i+1, len(picked), l.ID)
		}
		if err := r.ask(ctx, l); err != nil {
			return nil, fmt.Errorf("%s: %w", l.ID, err)
		}
	}
	for _, l := range differentFiles(lines, o.Second) {
		if id := "second " + l.File; !log.has(id) {
			if err := r.askTwice(ctx, id, l); err != nil {
				return nil, fmt.Errorf("%s: %w", id, err)
			}
		}
	}
	return sumOffload(filepath.Base(filepath.Clean(dir)), log.records), nil
}

// pickQuestions takes n questions: the kinds in turn, each spread evenly over the set.
func pickQuestions(lines []evidenceLine, n int) []evidenceLine {
	n = min(n, len(lines))
	by := map[string][]evidenceLine{}
	for _, l := range lines {
		by[l.Kind] = append(by[l.Kind], l)
	}
	total := 0
	share := map[string]int{}
	for kind, ls := range by {
		share[kind] = (len(ls)*n + len(lines) - 1) / len(lines)
		if kind == Unanswerable {
			share[kind] = min(2*share[kind], len(ls))
		}
		total += share[kind]
	}
	var out []evidenceLine
	for i := 0; len(out) < min(n, total); i++ {
		grown := false
		for _, kind := range evidenceKinds {
			if i < share[kind] && len(out) < n {
				out = append(out, by[kind][i*len(by[kind])/share[kind]])
				grown = true
			}
		}
		if !grown {
			break
		}
	}
	return out
}

// differentFiles is one question for each of n texts.
func differentFiles(lines []evidenceLine, n int) []evidenceLine {
	var out []evidenceLine
	seen := map[string]bool{}
	for _, l := range lines {
		if len(out) < n && !seen[l.File] {
			seen[l.File] = true
			out = append(out, l)
		}
	}
	return out
}

type offloadRun struct {
	dir, tmp string
	o        OffloadOptions
	log      *offloadLog
}

// text unpacks a text of the set into the temporary folder.
func (r *offloadRun) text(name string) (string, error) {
	to := strings.TrimSuffix(filepath.Base(name), ".gz")
	path := filepath.Join(r.tmp, to)
	if _, err := os.Stat(path); err == nil {
		return to, nil
	}
	in, err := openText(filepath.Join(r.dir, filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, in)
	return to, errors.Join(err, f.Close())
}

func (r *offloadRun) ask(ctx context.Context, l evidenceLine) error {
	name, err := r.text(l.File)
	if err != nil {
		return err
	}
	res, err := r.o.Ask(ctx, offload.Request{Question: l.Question, Files: []string{name}, Dir: r.tmp, Roots: []string{r.tmp}})
	if err != nil {
		return err
	}
	rec := newRecord(l.ID, l.Kind, res)
	if err := rec.judge(l); err != nil {
		return err
	}
	return r.log.add(rec)
}

func newRecord(id, kind string, res *offload.Result) OffloadRecord {
	text := res.Text()
	rec := OffloadRecord{
		ID: id, Kind: kind, Question: res.Question, Answer: res.Answer, By: res.By, Outcome: res.Outcome, Model: res.Model,
		NotIn: res.NotInText, Tokens: (len(text) + 3) / 4, InTok: res.InTok, OutTok: res.OutTok, MS: res.MS, Reply: text,
	}
	if res.Says != nil {
		rec.Says = fmt.Sprintf("%d: %s", res.Says.Line, res.Says.Text)
	}
	return rec
}

// askTwice lets the model read the beginning of a text whole, twice, with different questions.
func (r *offloadRun) askTwice(ctx context.Context, id string, l evidenceLine) error {
	const most = 4 << 10 // bytes of the text
	name, err := r.text(l.File)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(r.tmp, name))
	if err != nil {
		return err
	}
	n := max(bytes.Count(b[:min(len(b), most)], []byte("\n")), 1)
	req := offload.Request{Files: []string{fmt.Sprintf("%s:1-%d", name, n)}, Dir: r.tmp, Roots: []string{r.tmp}, Coverage: "full"}
	var res *offload.Result
	for _, q := range []string{"What is this text about?", "Which component speaks here, and what does it do?"} {
		req.Question = q
		if res, err = r.o.Ask(ctx, req); err != nil {
			return err
		}
	}
	rec := newRecord(id, kindSecond, res)
	if res.InTok > 0 {
		rec.Cached = float64(res.CachedTok) / float64(res.InTok)
	}
	return r.log.add(rec)
}

// judge says by rule whether the lines that answer are in the reply, and whether the answer is right.
//
// Shown: every piece of evidence matches a printed line. Right: the answer holds at least half of the
// true answer's figures and names (what it says in parentheses aside), or all of its own figures and names
// stand on lines that answer and one of them is in the true answer. A true answer without figures and
// names is compared by its words. What was parsed of a run counts as answer with all of its lines. On a
// question that the text does not answer no answer is right, but one that was parsed.
func (r *OffloadRecord) judge(l evidenceLine) error {
	r.Truth = l.Answer
	printed := strings.Split(r.Reply, "\n")
	for i, p := range printed {
		printed[i] = address().ReplaceAllString(p, "")
	}
	var on []string // printed lines that answer
	r.Shown = len(l.Evidence) > 0
	for _, e := range l.Evidence {
		re, err := regexp.Compile(e.Regex)
		if err != nil {
			return fmt.Errorf("evidence: %w", err)
		}
		i := slices.IndexFunc(printed, re.MatchString)
		if r.Shown = r.Shown && i >= 0; i >= 0 {
			on = append(on, strings.ToLower(printed[i]))
		}
	}
	said := r.Answer
	if r.By == offload.ByParser {
		said = r.Reply
	}
	r.Right = l.Kind == Unanswerable && r.By == offload.ByParser ||
		l.Kind != Unanswerable && rightAnswer(l, said, strings.Join(on, "\n"))
	return nil
}

// address is the file and line before a printed line.
var address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(line \d+ says so: )?[^: ]+:\d+: `) })

func rightAnswer(l evidenceLine, answer, on string) bool {
	said := strings.ToLower(answer)
	truth := strings.ToLower(parens().ReplaceAllString(l.Answer, " "))
	want, asked := hardWords(truth), strings.ToLower(l.Question)
	for least := 4; len(want) == 0 && least > 1; least-- {
		want = softWords(truth, least) // short words only where there are no others: "bob"
	}
	want = slices.DeleteFunc(want, func(w string) bool { return strings.Contains(asked, w) })
	held := 0
	for _, w := range want {
		if strings.Contains(said, w) {
			held++
		}
	}
	if len(want) > 0 && 2*held >= len(want) {
		return true
	}
	own := slices.DeleteFunc(hardWords(said), func(w string) bool { return strings.Contains(asked, w) })
	for _, w := range own {
		if !strings.Contains(on, w) {
			return false
		}
	}
	return held > 0 && len(own) > 0
}

var (
	parens = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\([^)]*\)`) })
	word   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL\pN][\pL\pN._:/@+-]*`) })
)

// hardWords are figures and names: what holds a digit, or punctuation inside.
func hardWords(s string) (out []string) {
	for _, w := range word().FindAllString(s, -1) {
		if w = strings.TrimRight(w, ".:-/"); strings.ContainsAny(w, "0123456789_./:@") {
			out = append(out, w)
		}
	}
	return out
}

func softWords(s string, least int) (out []string) {
	for _, w := range word().FindAllString(s, -1) {
		if len(w) >= least {
			out = append(out, w)
		}
	}
	return out
}

// offloadLog is the growing file of records.
type offloadLog struct {
	path    string // empty: kept in memory only
	records []OffloadRecord
}

func openOffloadLog(path string) (*offloadLog, error) {
	l := &offloadLog{path: path}
	if path == "" {
		return l, nil
	}
	var err error
	l.records, err = readRecords[OffloadRecord](path)
	return l, err
}

func (l *offloadLog) has(id string) bool {
	return slices.ContainsFunc(l.records, func(r OffloadRecord) bool { return r.ID == id })
}

func (l *offloadLog) add(r OffloadRecord) error {
	l.records = append(l.records, r)
	if l.path == "" {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return fsx.AppendLine(l.path, line, 0o644)
}
