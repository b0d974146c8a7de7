package shim

import (
	"fmt"
	"sync"
)

// notes is what was changed in one exchange and why, for the record. Equal notes are counted, not repeated.
type notes struct {
	mu    sync.Mutex
	order []string
	count map[string]int
}

func (n *notes) add(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.count == nil {
		n.count = map[string]int{}
	}
	if n.count[what]++; n.count[what] == 1 {
		n.order = append(n.order, what)
	}
}

func (n *notes) addf(format string, args ...any) { n.add(fmt.Sprintf(format, args...)) }

// len is the number of different notes.
func (n *notes) len() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.order)
}

func (n *notes) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, what := range n.order {
		if c := n.count[what]; c > 1 {
			what = fmt.Sprintf("%s (×%d)", what, c)
		}
		out = append(out, what)
	}
	return out
}
