package offload

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"legwork/pkg/digest"
	"legwork/pkg/llm"
)

// parted is a reading of the material part by part, as many at once as there are slots.
type parted struct {
	c     *call
	a     asking
	total int

	mu     sync.Mutex
	said   []string // by part; empty: it does not say
	good   int
	failed int
	first  error // of the first part that failed
}

// maxReduce is how deep answers of parts are put together: 100 parts a level are plenty.
const maxReduce = 4

// askParts asks about each part by itself, then about the answers. Parts that fail are told; when the
// first few all fail, the rest is not tried.
func (c *call) askParts(ctx context.Context, a asking) error {
	size := min(a.room, partSize)
	p := &parted{c: c, a: a}
	for _, err := range c.doc.Chunks(ctx, size) {
		if err != nil {
			return err
		}
		p.total++
	}
	p.said = make([]string, p.total)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(max(a.Slots, 1))
	i := 0
	for ch, err := range c.doc.Chunks(ctx, size) {
		if err != nil {
			return errors.Join(g.Wait(), err)
		}
		if i >= p.total || p.hopeless() || gctx.Err() != nil {
			break
		}
		n := i
		i++
		g.Go(func() error { return p.read(gctx, n, ch) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return p.reduce(ctx)
}

// read asks about one part. Only the end of the whole call is an error of the group.
func (p *parted) read(ctx context.Context, i int, ch digest.Chunk) error {
	say := func(q llm.Progress) {
		if q.Phase == llm.PhaseReading {
			p.c.progress("offload: reading chunk %d of %d on %s", i+1, p.total, q.Endpoint)
		}
	}
	p.c.progress("offload: reading chunk %d of %d on %s", i+1, p.total, p.a.Endpoint)
	ans, err := p.c.chat(ctx, p.a, ch.Text, partQuestion(p.c.req.Question), say)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text := ""
	if err == nil {
		text = strings.TrimSpace(ans.Text)
		if (ans.Outcome != llm.Answered && ans.Outcome != llm.CutOff) || text == "" {
			err = fmt.Errorf("its answer was unusable (%s)", ans.Outcome)
		}
	}
	if err != nil {
		if p.failed++; p.first == nil {
			p.first = err
		}
		return nil
	}
	p.good++
	p.c.res.Model, p.c.res.Endpoint = ans.Model, ans.Endpoint
	p.c.res.Coverage.readChunk(ch)
	if !saysNothing(text) {
		p.said[i] = fmt.Sprintf("Lines %d to %d: %s", ch.From, ch.To, oneParagraph(text))
	}
	return nil
}

// hopeless: nothing but failures so far.
func (p *parted) hopeless() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.good == 0 && p.failed >= max(2, p.a.Slots)
}

// reduce turns the answers about the parts into one.
func (p *parted) reduce(ctx context.Context) error {
	c := p.c
	c.res.Coverage.Chunks, c.res.Coverage.ModelFailed = p.total, p.total-p.good
	switch {
	case p.good == 0:
		return p.first
	case p.good < p.total:
		c.note("%d of %d parts were not read by the model: %s", p.total-p.good, p.total, short(p.first.Error(), 300))
	}
	said := slices.DeleteFunc(p.said, func(s string) bool { return s == "" })
	for level := 0; len(said) > 1; level++ {
		groups := p.groups(said)
		if len(groups) == 1 || level == maxReduce {
			break
		}
		said = said[:0]
		for _, g := range groups {
			ans, err := c.chat(ctx, p.a, g, c.req.Question, nil)
			if err != nil {
				return err
			}
			said = append(said, oneParagraph(strings.TrimSpace(ans.Text)))
		}
	}
	if len(said) == 0 {
		c.note("by the model's reading none of the %d parts says it", p.good)
	}
	best, err := p.best(ctx)
	if err != nil {
		return err
	}
	groups := p.groups(said)
	if len(groups) > 1 {
		c.note("the answers of the parts are too long for one more question: only the first %d %% of them are in it", 100/len(groups))
	}
	return c.ask(ctx, p.a, groups[0]+best)
}

// best are the lines that the reader would give to the model, for the last question: lines like many
// others of their part were only counted in it, and one of them may be the answer.
func (p *parted) best(ctx context.Context) (string, error) {
	sel, err := p.c.doc.Select(ctx, p.c.req.Question, digest.Budget{Tokens: min(p.a.focus, p.a.room/2)})
	if err != nil {
		return "", err
	}
	for _, l := range sel.Lines {
		p.c.res.Coverage.read(l.No, l.No)
	}
	return "Lines of the text:\n" + sel.Text(), nil
}

// groups joins answers into texts that fit one call.
func (p *parted) groups(said []string) []string {
	var out []string
	var b strings.Builder
	for _, s := range said {
		if b.Len() > 0 && p.c.Models.Estimate(p.a.Choice, b.String()+s) > p.a.room/2 {
			out = append(out, b.String())
			b.Reset()
		}
		b.WriteString(s + "\n")
	}
	return append(out, b.String())
}

func partQuestion(q string) string {
	return q + "\nThis is one part of a longer text. If this part does not say, reply: not in this part."
}

var nothingForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\W*((it is |that is )?not (\w+ ){0,3}in (this|the) (part|material|text|log|output|file)s?|(this|the) (part|material|text|log|output|file) does(n't| not) (\w+ )?(say|mention|contain|show|specify|provide|include)|n/?a\b|none\W*$|unknown\W*$|no (answer|information)\b)`)
})

// saysNothing recognises the ways in which models say that a text does not answer.
func saysNothing(s string) bool { return nothingForm().MatchString(s) }
