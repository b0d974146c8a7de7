package llm

import (
	"fmt"
	"sync"
	"time"
)

// reportEvery spaces the reports while tokens arrive; beatEvery while none do.
const (
	reportEvery = 500 * time.Millisecond
	beatEvery   = 10 * time.Second
)

// reporter turns what happens in a call into Progress, one at a time.
type reporter struct {
	f        func(Progress)
	endpoint string

	mu     sync.Mutex
	last   time.Time
	tokens int
}

func (p *reporter) say(phase Phase, format string, args ...any) {
	if p.f == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	p.f(Progress{Phase: phase, Endpoint: p.endpoint, Tokens: p.tokens, Text: fmt.Sprintf(format, args...)})
}

func (p *reporter) waiting(ahead int) {
	if p.f == nil {
		return
	}
	text := fmt.Sprintf("waiting for a slot on %s, %d ahead", p.endpoint, ahead)
	if ahead == 0 {
		text = "waiting for a slot on " + p.endpoint + ", next in line"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.f(Progress{Phase: PhaseWaiting, Endpoint: p.endpoint, Ahead: ahead, Text: text})
}

// piece counts an arrived piece and reports now and then.
func (p *reporter) piece() {
	p.mu.Lock()
	p.tokens++
	n, due := p.tokens, time.Since(p.last) >= reportEvery
	p.mu.Unlock()
	if due {
		p.say(PhaseWriting, "%s is answering, %d tokens so far", p.endpoint, n)
	}
}

// reading reports until stop is called, so that a long wait for the first token
// does not look dead.
func (p *reporter) reading(about int) (stop func()) {
	if p.f == nil {
		return func() {}
	}
	p.mu.Lock()
	p.tokens = 0
	p.mu.Unlock()
	start := time.Now()
	p.say(PhaseReading, "%s is reading about %d tokens", p.endpoint, about)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(beatEvery)
		defer t.Stop()
		for {
			select {
			case <-quit:
				return
			case <-t.C:
				p.mu.Lock()
				n := p.tokens
				p.mu.Unlock()
				if n > 0 {
					p.say(PhaseWriting, "%s is answering, %d tokens so far", p.endpoint, n)
					continue
				}
				p.say(PhaseReading, "%s is reading about %d tokens, %s so far", p.endpoint, about, time.Since(start).Round(time.Second))
			}
		}
	}()
	return sync.OnceFunc(func() { close(quit); <-done })
}
