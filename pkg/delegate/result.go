package delegate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"legwork/pkg/ledger"
	"legwork/pkg/llm"
)

// Verdicts.
const (
	Pass  = "pass"
	Fail  = "fail"  // the model did not solve it
	Error = "error" // nothing is known about the model's skill: transport, timeout, cut-off
)

// Attempt is one answer of the model and what came of it.
type Attempt struct {
	N           int     `json:"n"`
	Model       string  `json:"model"`
	Kind        string  `json:"kind"`
	Temperature float64 `json:"temperature"`
	Class       string  `json:"class,omitempty"` // empty: passed
	Why         string  `json:"why,omitempty"`
	Green       int     `json:"green"`
	Total       int     `json:"total"`
	Facts       []Fact  `json:"facts,omitempty"`
	// Mended is what rules put right in the model's code before it was judged; the model was not asked for it.
	Mended []string `json:"mended,omitempty"`
	MS     int64    `json:"ms"` // of parsing and gate
	// What the answer cost: tokens, and milliseconds of the exchange and of waiting for a free slot before it.
	InTok     int   `json:"in_tok"`
	OutTok    int   `json:"out_tok"`
	CachedTok int   `json:"cached_tok"`
	CallMS    int64 `json:"call_ms"`
	WaitMS    int64 `json:"wait_ms"`
}

func (a *Attempt) cost(ans *llm.Answer) {
	a.InTok, a.OutTok, a.CachedTok = ans.Usage.Prompt, ans.Usage.Completion, ans.Usage.Cached
	a.CallMS, a.WaitMS = ans.Duration.Milliseconds(), ans.Waited.Milliseconds()
}

// String is the attempt in one line.
func (a Attempt) String() string {
	if a.Class == "" {
		return fmt.Sprintf("%s turn at %.1f: passed", a.Kind, a.Temperature)
	}
	return fmt.Sprintf("%s turn at %.1f: %s: %s (%d of %d green)", a.Kind, a.Temperature, a.Class, a.Why, a.Green, a.Total)
}

// Result is the verdict with its facts.
type Result struct {
	Verdict  string    `json:"verdict"`
	Outcome  string    `json:"outcome"` // passed, failed, transport, timeout, overflow, cut_off, empty, looped
	Error    string    `json:"error,omitempty"`
	Stopped  string    `json:"stopped,omitempty"` // why not all attempts were spent
	Targets  []string  `json:"targets"`           // relative to the top level
	Lines    int       `json:"lines"`             // of the best candidate
	Green    int       `json:"green"`             // tests green with the best candidate
	Total    int       `json:"total"`
	Gate     string    `json:"gate"` // one of the Gate… constants
	Sandbox  string    `json:"sandbox,omitempty"`
	Attempts []Attempt `json:"attempts"`
	Max      int       `json:"max_attempts"` // of one model
	Applied  bool      `json:"applied"`
	Conflict []string  `json:"conflict,omitempty"` // targets that changed meanwhile; nothing was applied
	// Candidate are the paths of the best candidate in the kept worktree.
	Candidate  []string          `json:"candidate,omitempty"`
	Worktree   string            `json:"worktree,omitempty"`
	Transcript string            `json:"transcript,omitempty"` // all the model was shown and said
	Code       map[string]string `json:"code,omitempty"`
	Model      string            `json:"model"`
	Endpoint   string            `json:"endpoint"`
	Policy     string            `json:"policy"`
	InTok      int               `json:"in_tok"`
	OutTok     int               `json:"out_tok"`
	CachedTok  int               `json:"cached_tok"`
	Calls      int               `json:"calls"`                 // of the model
	PromptHash string            `json:"prompt_hash,omitempty"` // of the first two messages, which all turns share
	MS         int64             `json:"ms"`
	ModelMS    int64             `json:"model_ms"` // summed over calls
	GateMS     int64             `json:"gate_ms"`
	Notes      []string          `json:"notes,omitempty"`

	facts  []Fact // of the best candidate
	why    string // what is wrong with it, when it is no matter of red tests
	better bool   // it has more green tests than the files as they were
	mu     sync.Mutex
}

// MarshalJSON leaves the lock out.
func (r *Result) MarshalJSON() ([]byte, error) {
	type plain Result
	return json.Marshal((*plain)(r))
}

func (r *Result) count(a *llm.Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Calls++
	r.InTok += a.Usage.Prompt
	r.OutTok += a.Usage.Completion
	r.CachedTok += a.Usage.Cached
	r.ModelMS += a.Duration.Milliseconds()
}

// Text is the reply: the verdict in one line, then what is needed to go on.
func (r *Result) Text() string {
	var b strings.Builder
	n := 0
	for _, a := range r.Attempts {
		n = max(n, a.N)
	}
	files := strings.Join(r.Targets, ", ")
	switch r.Verdict {
	case Pass:
		fmt.Fprintf(&b, "PASS · attempt %d/%d · %s (%d lines)%s · %s", n, max(r.Max, n), files, r.Lines, r.tests(), r.applied())
	case Error:
		fmt.Fprintf(&b, "ERROR · %s · %s%s · %s", strings.ReplaceAll(r.Outcome, "_", " "), files, r.score(), r.applied())
	default:
		fmt.Fprintf(&b, "FAIL · %d of %d attempts%s · %s · %s", n, max(r.Max, n), r.score(), files, r.applied())
	}
	fmt.Fprintf(&b, "\nmodel %s on %s · %.1f s (model %.1f, test %.1f) · %d tokens in, %d out", r.Model, r.Endpoint,
		float64(r.MS)/1000, float64(r.ModelMS)/1000, float64(r.GateMS)/1000, r.InTok, r.OutTok)
	fmt.Fprintf(&b, " · gate: %s", r.Gate)
	if r.Sandbox != "" {
		b.WriteString(" · sandbox: " + r.Sandbox)
	}
	if r.Error != "" {
		b.WriteString("\n" + r.Error)
	}
	if r.Stopped != "" {
		b.WriteString("\nstopped early: " + r.Stopped)
	}
	if r.Verdict != Pass {
		r.failure(&b)
	}
	r.places(&b)
	for _, note := range r.Notes {
		b.WriteString("\nnote: " + note)
	}
	for _, rel := range r.Targets {
		if code, ok := r.Code[rel]; ok {
			fmt.Fprintf(&b, "\n%s\n%s", rel, fenced(languageOf(rel), code))
		}
	}
	return b.String()
}

func (r *Result) tests() string {
	if r.Green == 0 {
		return ""
	}
	return fmt.Sprintf(" · %d tests", r.Green)
}

func (r *Result) score() string {
	if r.Total == 0 || !r.hasCandidate() {
		return ""
	}
	return fmt.Sprintf(" · %d of %d tests", r.Green, r.Total)
}

// hasCandidate says that some answer could be run.
func (r *Result) hasCandidate() bool { return len(r.Candidate) > 0 || r.Lines > 0 }

func (r *Result) applied() string {
	switch {
	case r.Applied && r.Verdict == Pass:
		return "applied"
	case r.Applied:
		return "best candidate applied"
	case len(r.Conflict) > 0:
		return "NOT applied: " + strings.Join(r.Conflict, ", ") + " changed meanwhile"
	}
	return "not applied"
}

// failure tells the red tests of the best candidate, or the last thing that went wrong.
func (r *Result) failure(b *strings.Builder) {
	for i, f := range r.facts {
		if i == maxFacts {
			fmt.Fprintf(b, "\n✗ and %d more", len(r.facts)-i)
			break
		}
		b.WriteString("\n✗ " + strings.ReplaceAll(clip(f.String(), 400), "\n", "\n  "))
	}
	if r.why != "" {
		b.WriteString("\n✗ " + clip(r.why, 400))
	}
	if n := len(r.Attempts); n > 0 {
		if last := r.Attempts[n-1]; last.Class != classRepeat && last.Class != classTests && last.Why != r.why {
			fmt.Fprintf(b, "\nlast attempt: %s: %s", last.Class, clip(last.Why, 300))
		}
	}
}

func (r *Result) places(b *strings.Builder) {
	switch {
	case len(r.Candidate) == 0:
	case r.Verdict == Pass:
		b.WriteString("\npassing file: " + strings.Join(r.Candidate, ", "))
	default:
		b.WriteString("\nbest candidate: " + strings.Join(r.Candidate, ", "))
		switch {
		case r.Applied:
		case r.better:
			b.WriteString(" (apply: best puts it in place)")
		default:
			b.WriteString(" (no more green tests than before it; apply: best leaves it here)")
		}
	}
	if r.Verdict != Pass && r.Transcript != "" {
		b.WriteString("\ntranscript: " + r.Transcript)
	}
}

// ledgerOutcome is the ending in the words of the run log.
func (r *Result) ledgerOutcome() string {
	switch {
	case r.Verdict == Pass:
		return ledger.Done
	case r.Outcome == "transport":
		return ledger.Transport
	case r.Outcome == "timeout":
		return ledger.Timeout
	case r.Outcome == "cut_off" || r.Outcome == "empty" || r.Outcome == "looped":
		return ledger.CutOff
	}
	return ledger.Failed
}

// hide takes secrets out of what programs and models said.
func (r *Result) hide(mask func(string) string) {
	texts := []*string{&r.Error, &r.Stopped, &r.why}
	each := func(list []string) {
		for i := range list {
			texts = append(texts, &list[i])
		}
	}
	facts := func(list []Fact) {
		for i := range list {
			f := &list[i]
			texts = append(texts, &f.Test, &f.Call, &f.Got, &f.Expected, &f.Message)
		}
	}
	each(r.Notes)
	facts(r.facts)
	for i := range r.Attempts {
		a := &r.Attempts[i]
		texts = append(texts, &a.Why)
		each(a.Mended)
		facts(a.Facts)
	}
	for _, text := range texts {
		*text = mask(*text)
	}
}

// record closes the result and adds a line to the run log.
func (c *call) record(ctx context.Context) {
	r := c.res
	r.Max = c.req.Attempts
	r.MS, r.GateMS = time.Since(c.start).Milliseconds(), c.gate.spent.Milliseconds()
	if c.best != nil {
		r.facts = c.best.facts
		if c.best.class != classTests {
			r.why = c.best.why
		}
		if len(c.best.mended) > 0 {
			c.note("put right by rule, without the model: %s", strings.Join(c.best.mended, "; "))
		}
	}
	r.hide(c.mask)
	for rel, code := range r.Code { // wanted to the letter
		r.Code[rel] = c.known(code)
	}
	c.notes.add("verdict", r.Text())
	if !c.Config.Store.Ledger {
		return
	}
	var code strings.Builder
	if c.best != nil && r.Applied {
		for _, text := range c.best.files {
			code.WriteString(text)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	err := ledger.New(c.StateDir).Append(ctx, ledger.Run{
		Tool: "delegate", Model: r.Model, Endpoint: r.Endpoint, OK: r.Verdict == Pass, Outcome: r.ledgerOutcome(), Attempts: len(r.Attempts),
		InTok: int64(r.InTok), OutTok: int64(r.OutTok), CachedTok: int64(r.CachedTok), ClaudeTokIn: int64(llm.Estimate(r.Text())),
		ClaudeTokOut: int64(llm.Estimate(c.req.Spec + strings.Join(c.req.Properties, "") + c.req.Context + c.req.Test)),
		BaseOut:      int64(llm.Estimate(code.String())), MS: r.MS, Project: c.repo.Top,
	})
	if err != nil {
		c.Logger.Warn("run log", "err", err)
	}
}
