package delegate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/pkg/llm"
	"legwork/pkg/repo"
)

// candidate is one content of the targets that the gate has judged.
type candidate struct {
	files        map[string]string
	model        string
	attempt      int
	green, total int
	class, why   string
	greens       []string // names of green tests, when known
	facts        []Fact
	mended       []string // what rules put right in the model's code
}

// lines counts the lines of all targets.
func (k *candidate) lines() int {
	n := 0
	for _, text := range k.files {
		n += strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	}
	return n
}

// better says that k has more green tests than other, or gets further with none.
func (k *candidate) better(other *candidate) bool {
	if other == nil {
		return true
	}
	if k.green != other.green {
		return k.green > other.green
	}
	return rank(k.class) > rank(other.class)
}

// rank orders what stands still at the same number of green tests.
func rank(class string) int {
	return slices.Index([]string{classScope, classUnfinished, classTimeout, classLoad, classTests, ""}, class)
}

// near says that a candidate may be one repair away from a pass: half of its tests are green, or what ails it
// is no wrong value but code that does not load or throws.
func (k *candidate) near() bool {
	return k.class == classLoad || 2*k.green >= k.total || slices.ContainsFunc(k.facts, func(f Fact) bool { return f.Got == "" && f.At != "" })
}

// work is the state of all attempts of a call.
type work struct {
	c       *call
	seen    map[string]bool // hashes of candidates
	greens  map[string]bool // names of tests that were green once
	most    int             // most green tests at once
	history []llm.Message   // the conversation, for policies that keep one
	attempt int             // over all models
	told    []string        // paths that test runs changed
	walled  bool            // told that the sandbox stands in the way
}

// attempts asks the models, from small to big, until one passes.
func (c *call) attempts(ctx context.Context, models []llm.Choice) error {
	w := &work{c: c, seen: map[string]bool{}, greens: map[string]bool{}, most: c.red.green()}
	for _, name := range c.red.passed {
		w.greens[name] = true
	}
	if c.existingAll() {
		files := map[string]string{}
		for _, o := range c.before {
			files[o.Rel] = string(o.Data)
		}
		w.seen[c.hash(files)] = true
	}
	for i, m := range models {
		if i > 0 {
			c.note("escalated to %s", m.Model)
		}
		done, err := w.with(ctx, m)
		if done || err != nil {
			return err
		}
	}
	return nil
}

// existingAll says that the targets make up code already.
func (c *call) existingAll() bool { return c.existing() && len(c.before) > 0 }

// with spends the attempts on one model. done means that the call is over: passed, or an error.
func (w *work) with(ctx context.Context, m llm.Choice) (done bool, err error) {
	c := w.c
	p := &plan{policy: c.policyFor(m.Model)}
	c.res.Model, c.res.Endpoint, c.res.Policy = m.Model, m.Endpoint, p.name
	p.record, p.freely = c.records()[m.Model], c.asked
	defer func() {
		if p.asked == 0 || err != nil || p.converse || c.res.Model != m.Model { // another model's record is not this one's
			return
		}
		one := record{Calls: 1, Turns: p.asked - 1}
		passed := c.res.Verdict == Pass
		if !passed || p.asked > 1 || len(c.best.mended) > 0 {
			one.Failed = 1
		}
		if passed && p.asked > 1 {
			one.Passes = 1
		}
		c.learn(ctx, m.Model, one)
	}()
	w.history, c.mends, c.res.Stopped = nil, p.mends, "" // what stopped a smaller model did not stop the call
	for p.asked < c.req.Attempts {
		kind, temp := p.next(c.best)
		turns := []turn{{kind: kind, temperature: temp, seed: seed()}}
		if p.asked == 0 && kind == kindFirst {
			for range min(c.req.Candidates, max(1, m.Slots)) - 1 {
				turns = append(turns, turn{kind: kindFirst, temperature: p.fresh, seed: seed()})
			}
		}
		f, progress, err := w.draw(ctx, m, p, turns)
		if err != nil {
			return true, c.failed(ctx, err)
		}
		p.learn(kind, f, progress)
		if f.pass {
			c.res.Verdict, c.res.Outcome = Pass, "passed"
			return true, nil
		}
		if why := p.over(c.best); why != "" && p.asked < c.req.Attempts {
			c.res.Stopped = why
			break
		}
	}
	c.res.Verdict, c.res.Outcome = Fail, "failed"
	if c.best == nil && (p.class == string(llm.CutOff) || p.class == string(llm.Empty) || p.class == string(llm.Looped)) {
		c.res.Verdict, c.res.Outcome, c.res.Error = Error, p.class, p.why
	}
	return false, nil
}

// seed is another one for every turn, so that the same call again is another draw; the transcript has it.
func seed() int { return int(rand.Int32()) } //nolint:gosec // no secret

// turn is one question to the model.
type turn struct {
	kind        string
	temperature float64
	seed        int
}

// reply is what came of it.
type reply struct {
	turn turn
	ans  *llm.Answer
	err  error
}

// draw asks all turns at once and judges the answers as they come; the first that passes wins and the
// others are cancelled.
func (w *work) draw(ctx context.Context, m llm.Choice, p *plan, turns []turn) (out finding, progress bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.attempt++
	messages := w.messages(p, turns[0].kind)
	replies := make(chan reply, len(turns))
	var wg sync.WaitGroup
	for _, t := range turns {
		wg.Go(func() {
			ans, err := w.c.ask(ctx, m, t, messages, w.attempt)
			replies <- reply{t, ans, err}
		})
	}
	defer wg.Wait()
	defer cancel()
	for i := range turns {
		r := <-replies
		if r.err != nil {
			// One dropped candidate of several is no end, unless nothing else came.
			if i == len(turns)-1 && out.class == "" {
				return out, progress, r.err
			}
			continue
		}
		f, better, err := w.consider(ctx, m, r)
		if err != nil {
			return f, progress, err
		}
		progress = progress || better
		if out.class == "" || f.pass || better {
			out = f
		}
		if f.pass {
			return f, true, nil
		}
	}
	return out, progress, nil
}

// ask sends one turn.
func (c *call) ask(ctx context.Context, m llm.Choice, t turn, messages []llm.Message, attempt int) (*llm.Answer, error) {
	c.notes.prompt(attempt, t, m.Model, messages)
	temp, draw := t.temperature, t.seed
	ans, err := c.Models.Chat(ctx, llm.Request{
		Choice: m, Messages: messages, Temperature: &temp, Seed: &draw, MaxTokens: c.budget(m),
		OnProgress: func(p llm.Progress) { c.say("attempt %d: %s", attempt, p.Text) },
	})
	if err != nil {
		return nil, err
	}
	c.notes.answer(attempt, ans)
	c.res.count(ans)
	return ans, nil
}

// What an answer may cost once the size of the file is known, so that one that never ends is not waited for:
// a multiple of the best candidate, and room for words around it.
const (
	budgetTimes = 3
	budgetFloor = 1024
)

// budget is the answer's limit in tokens; 0 is the setting's. Models that think need their room.
func (c *call) budget(m llm.Choice) int {
	if c.best == nil || m.Caps.Thinking {
		return 0
	}
	n := 0
	for _, text := range c.best.files {
		n += c.Models.Estimate(m, text)
	}
	n = budgetTimes*n + budgetFloor
	if most := c.Config.LLM.AnswerTokens; most > 0 {
		n = min(n, most)
	}
	return n
}

// consider turns an answer into files, runs the gate over them and keeps the best.
func (w *work) consider(ctx context.Context, m llm.Choice, r reply) (finding, bool, error) {
	c := w.c
	a := Attempt{N: w.attempt, Model: r.ans.Model, Kind: r.turn.kind, Temperature: r.turn.temperature}
	a.cost(r.ans)
	start := time.Now()
	defer func() {
		a.MS = time.Since(start).Milliseconds()
		c.res.Attempts = append(c.res.Attempts, a)
		c.notes.add(fmt.Sprintf("attempt %d", w.attempt), a.String())
	}()
	c.res.Model = a.Model
	if r.ans.Swapped != "" && !slices.Contains(c.res.Notes, r.ans.Swapped) {
		c.note("%s", r.ans.Swapped)
	}
	w.history = append(w.history, llm.Message{Role: "assistant", Content: r.ans.Text})
	files, f := c.files(ctx, r.ans)
	if f.class == "" {
		h := c.hash(files)
		if w.seen[h] {
			f = finding{class: classRepeat, why: "the same code as before"}
		}
		w.seen[h] = true
	}
	if f.class != "" {
		a.Class, a.Why = f.class, f.why
		return f, false, nil
	}
	c.say("attempt %d: running the test", w.attempt)
	k, f, err := w.try(ctx, m, files)
	if err != nil {
		return f, false, err
	}
	if c.mends && (f.class == classLoad || f.class == classTests) {
		if k, f, err = w.mended(ctx, m, k, f); err != nil {
			return f, false, err
		}
	}
	a.Mended = k.mended
	a.Class, a.Why, a.Green, a.Total, a.Facts = f.class, f.why, k.green, k.total, k.facts
	progress := w.progress(k)
	c.last = k
	if f.pass || k.better(c.best) {
		c.best = k
	}
	c.res.Green, c.res.Total = c.best.green, max(c.best.total, c.best.green)
	return f, progress, nil
}

// try runs the gate over a candidate.
func (w *work) try(ctx context.Context, m llm.Choice, files map[string]string) (*candidate, finding, error) {
	c := w.c
	if err := c.write(files); err != nil {
		return nil, finding{}, err
	}
	run, err := c.gate.run(ctx)
	if err != nil {
		return nil, finding{}, err
	}
	f := c.judge(run)
	w.tell(run.changed)
	if box := c.gate.box; box != nil && !f.pass && box.why(run) != "" && !w.walled {
		w.walled = true
		c.note("the test met the sandbox (%s); if it needs network or files outside the project, the setting delegate.sandbox: off gives them", box.why(run))
	}
	k := &candidate{
		files: files, model: c.res.Model, attempt: w.attempt, green: run.green(), total: max(run.total(), c.res.Total), class: f.class, why: f.why,
		greens: run.passed, facts: c.facts(run, f),
	}
	if f.pass && run.passed != nil {
		c.res.Gate = GateNames // the red run could not name them yet
	}
	if f.class == classUnfinished || f.class == classScope {
		k.green = 0 // what such a run says of its tests is the code's own word
	}
	return k, f, nil
}

// mended tries a failing candidate with what rules put right, and keeps what the gate says is better.
func (w *work) mended(ctx context.Context, m llm.Choice, k *candidate, f finding) (*candidate, finding, error) {
	files, told := w.c.mend(k.files)
	if len(told) == 0 {
		return k, f, nil
	}
	for i, rel := range w.c.res.Targets {
		files[rel] = w.c.putTests(i, files[rel])
	}
	better, g, err := w.try(ctx, m, files)
	if err != nil || !g.pass && !better.better(k) {
		return k, f, err
	}
	better.mended = told
	w.seen[w.c.hash(files)] = true
	return better, g, nil
}

// maxTold bounds how many changed paths are told.
const maxTold = 5

// tell notes, once each, what the test run changed outside the targets. It is undone already.
func (w *work) tell(changes []repo.Change) {
	for _, ch := range changes {
		if !slices.Contains(w.told, ch.Path) && len(w.told) < maxTold {
			w.told = append(w.told, ch.Path)
			w.c.note("the test run changed %s; undone", ch)
		}
	}
}

// progress says that the candidate turned a test green that never was.
func (w *work) progress(k *candidate) bool {
	if k.class == classUnfinished || k.class == classScope {
		return false
	}
	fresh := k.green > w.most
	w.most = max(w.most, k.green)
	for _, name := range k.greens {
		fresh = fresh || !w.greens[name]
		w.greens[name] = true
	}
	return fresh
}

// failed turns an error of a call to the model into the verdict; what is no such error is returned.
func (c *call) failed(ctx context.Context, err error) error {
	var transport *llm.TransportError
	var request *llm.RequestError
	var timeout *llm.TimeoutError
	var overflow *llm.OverflowError
	outcome := ""
	switch {
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		outcome = "timeout"
	case ctx.Err() != nil:
		return err
	case errors.As(err, &transport), errors.As(err, &request):
		outcome = "transport"
	case errors.As(err, &overflow):
		outcome = "overflow"
	default:
		return err
	}
	c.res.Verdict, c.res.Outcome, c.res.Error = Error, outcome, err.Error()
	return nil
}

// hash is the same for candidates that differ in blanks only.
func (c *call) hash(files map[string]string) string {
	var b strings.Builder
	for _, rel := range slices.Sorted(maps.Keys(files)) {
		b.WriteString(rel + "\x00" + normal(languageOf(rel), files[rel]) + "\x00")
	}
	return sum(b.String())
}
