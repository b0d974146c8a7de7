// Package shrink turns a long result of Claude Code's Bash tool into fewer lines, or leaves it alone.
//
// One call: may it be touched (mode, size, how the command asked for it) → read (clean, parsers, folding)
// → is it content rather than a report → is the reader sure → is it worth it → the shorter text under one
// line that says what was folded and where all of it is.
//
// Results of Read are not touched: a file is read to see its lines, an edit may follow, and the client
// pages long files itself and tells its model where the next page begins.
//
// Rules: the outcome is never altered: every failing test stays named, and a text that is not clearly
// shorter is not used. What somebody asked to see line by line (grep, head, git diff, …) and what loses
// its meaning in parts (source, diffs, JSON, listings, tables) passes through. No model is asked.
// Whatever goes wrong, the original text stands.
//
// Pitfall: the hook that calls this holds up the client; see Limit.
package shrink

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"legwork/pkg/config"
	"legwork/pkg/runners"
)

// Limit is how long one result may hold up the client; what is read when it ends still takes a moment, and
// 1.5 s must be kept.
const Limit = 1400 * time.Millisecond

// Sizes, in characters. Claude Code shows successes up to previewAbove whole. Of longer ones it shows the
// first 2 KB and the path of a file, about 2,200 characters, which a digest of the whole always beats; it
// is made no longer than that.
const (
	previewAbove = 30_000
	savingNeeded = 0.60 // of what Claude would have got whole
	smallTarget  = 1_400
	largeTarget  = 2_100
	leastLines   = 400 // for lines of the text, whatever the rest takes
	maxMessage   = 400
	maxMessages  = 8
)

// Output is a finished Bash call as the hook gets it.
type Output struct {
	Command   string
	Stdout    string // at most the first 30,000 characters
	Stderr    string
	Persisted string // file with the whole text, when the client saved one
	Special   bool   // interrupted, still running, or an image: never touched
	Dir       string
}

// Text is all that the hook was given, as the client shows it.
func (o Output) Text() string {
	if o.Stderr == "" {
		return o.Stdout
	}
	if o.Stdout == "" {
		return o.Stderr
	}
	return strings.TrimRight(o.Stdout, "\n") + "\n" + o.Stderr
}

// Shrunk is what to show instead.
type Shrunk struct {
	Text  string // replaces stdout, and stderr is then empty
	Rule  string // what was recognised: a runner's name, "repeats", or "digest" for a long text of no known kind
	Raw   int64  // bytes of the whole text
	Lines int    // lines of the whole text
	Path  string // where it is
}

// Bash shortens the result of a successful call. It returns nil when the result is to stay as it is.
// full says where the whole text can be read; it is called only when the text will be replaced, and may
// return "" when there is no such place, in which case nothing is replaced.
func Bash(ctx context.Context, c config.Shrink, o Output, full func() string) (*Shrunk, error) {
	if c.Mode == "off" || o.Special || raw(o.Command) {
		return nil, nil
	}
	shown := utf8.RuneCountInString(o.Stdout) + utf8.RuneCountInString(o.Stderr)
	large := o.Persisted != "" || shown > previewAbove
	if shown <= c.Above && !large {
		return nil, nil
	}
	p := planOf(o.Command)
	if p.asked == forLines || p.asked == forContent && !large || excepted(c.Except, o.Command, p.parts) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	r, err := read(ctx, o, p)
	if err != nil || !r.use(p, c.Mode, large) {
		return nil, err
	}
	return r.shrunk(ctx, shown, large, full)
}

// use tells whether a digest may stand for the text.
func (r *reading) use(p plan, mode string, large bool) bool {
	k := kindOf(r.head)
	switch {
	case p.asked == forContent: // only a log, and only where the client would show no more than its first 2 KB
		return large && (r.recognised() || k == kindLog && r.repeats())
	case document(r.head) != kindNone:
		return false
	case r.recognised():
		return !tabled(r.head)
	case k != kindLog && k != kindNone:
		return false
	}
	return large || mode == "on" || k == kindLog && r.repeats()
}

func (r *reading) shrunk(ctx context.Context, shown int, large bool, full func() string) (*Shrunk, error) {
	target := smallTarget
	if large {
		target = largeTarget
	}
	body, err := r.body(ctx, target)
	if err != nil {
		return nil, err
	}
	worth := func(more int) bool {
		n := utf8.RuneCountInString(body) + more
		return large && int64(n) < r.doc.Bytes() || float64(n) <= float64(shown)*(1-savingNeeded)
	}
	if !worth(headLine) {
		return nil, nil
	}
	path := full()
	if path == "" {
		return nil, nil
	}
	head := fmt.Sprintf("[legwork folded this output, %d lines of %d bytes, to the lines that matter; figures in front are its line numbers. "+
		"All of it, unchanged: %s (Read or grep that; no need to run it again)]", r.doc.Lines(), r.doc.Bytes(), path)
	return &Shrunk{Text: head + "\n" + body, Rule: r.rule(), Raw: r.doc.Bytes(), Lines: r.doc.Lines(), Path: path}, nil
}

// headLine is about how long the line over a digest is.
const headLine = 320

// body is the shorter text: what the run says, then the lines that matter.
func (r *reading) body(ctx context.Context, target int) (string, error) {
	var parts []string
	if r.recognised() {
		parts = append(parts, r.run.Lines(runners.Render{Messages: maxMessages, Limit: maxMessage})...)
		for _, n := range r.run.Notes {
			parts = append(parts, "note: "+n)
		}
	}
	used := headLine
	for _, p := range parts {
		used += len(p) + 1
	}
	lines, err := r.lines(ctx, max(target-used, leastLines))
	if err != nil {
		return "", err
	}
	return strings.Join(append(parts, lines), "\n"), nil
}
