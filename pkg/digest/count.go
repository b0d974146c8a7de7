package digest

import "context"

type counter struct{}

func newCounter(q *query) *counter     { return &counter{} }
func (c *counter) visit(u *unit)       {}
func (c *counter) show(r *reading) []Line { return nil }

// Count answers questions that count (how many, first, last, longest, slowest, largest, most frequent, which ones).
// ok is false when the question does not count or the rules do not reach it.
func (d *Doc) Count(ctx context.Context, question string) (c Counted, ok bool, err error) {
	r, err := d.read(ctx, question)
	if err != nil {
		return Counted{}, false, err
	}
	c, ok = r.count.result(r)
	return c, ok, nil
}

func (c *counter) result(r *reading) (Counted, bool) { return Counted{}, false }
