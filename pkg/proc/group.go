package proc

import (
	"context"
	"sync"
)

// Group is the set of children that must die together, usually all of one server. The zero value is ready, a nil
// *Group is allowed and remembers nothing. Safe for concurrent use.
type Group struct {
	// Dir, if set before the first Start, is a folder with one empty file for each living child, named after owner
	// and child, so that Sweep can end what a killed server left. It is made when missing.
	Dir string

	mu     sync.Mutex
	live   map[*Process]struct{}
	killed bool
}

// Run is the package's Run with the child in the group.
func (g *Group) Run(ctx context.Context, spec Spec) (Exit, error) {
	p, err := g.Start(ctx, spec)
	if exit, ok := notStarted(err); ok {
		return exit, nil
	} else if err != nil {
		return exit, err
	}
	return p.Wait(), nil
}

// Kill sends SIGKILL to every living child with its group, then to what left a group but carries a call's mark, and
// refuses new children with ErrShutdown. It returns when the signals are sent, not when the children are gone:
// microseconds per child and one look through the process table, so it can be the first thing a signal handler does.
func (g *Group) Kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.killed = true
	marks := make([]string, 0, len(g.live))
	for p := range g.live {
		p.killNow()
		marks = append(marks, p.mark)
	}
	killMarked(marks)
}

// Len is how many children live now.
func (g *Group) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.live)
}

func (g *Group) closed() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.killed
}

// add remembers a started child; one that raced with Kill is killed too.
func (g *Group) add(p *Process) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live == nil {
		g.live = make(map[*Process]struct{})
	}
	g.live[p] = struct{}{}
	g.record(p.id)
	if g.killed {
		p.killNow()
	}
}

func (g *Group) remove(p *Process) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.live, p)
	g.forget(p.id)
}
