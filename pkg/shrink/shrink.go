// Package shrink turns a long result of Claude Code's Bash tool into fewer lines, or leaves it alone.
//
// One call: may it be touched (mode, size, the command's own words) → read (clean, parsers, folding) →
// is the reader sure → is it worth it → the shorter text, with one line that says what was folded and
// where all of it is.
//
// Rules: the outcome is never altered: every failing test stays named, and a text that is not clearly
// shorter is not used. What somebody asked to see line by line (cat, grep, git diff, …) passes through.
// No model is asked. Whatever goes wrong, the original text stands.
//
// Pitfall: the hook that calls this holds up the client; the limit is in Limit.
package shrink

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"legwork/pkg/clean"
	"legwork/pkg/config"
	"legwork/pkg/digest"
	"legwork/pkg/runners"
)

// Limit is how long one result may hold up the client.
const Limit = 1500 * time.Millisecond

// Sizes, in characters and tokens. Claude Code shows successes up to previewAbove whole; above it shows
// the first 2 KB only, which a digest of the whole always beats.
const (
	previewAbove = 30_000
	savingNeeded = 0.60 // of the text Claude would have got
	smallBudget  = 260  // tokens of lines for what Claude would have got whole
	largeBudget  = 900  // and for what it would have got as a preview
	maxMessage   = 400
)

// Output is a finished Bash call as the hook gets it.
type Output struct {
	Command   string
	Stdout    string // at most the first 30,000 characters
	Stderr    string
	Persisted string // file with the whole text, when the client saved one
	Special   bool   // interrupted, or an image: never touched
	Dir       string
}

// Shrunk is what to show instead.
type Shrunk struct {
	Text string // replaces stdout, and stderr is then empty
	Rule string // what was recognised: a runner's name, or "repeats"
	Raw  int64  // bytes of the whole text
}

// Bash shortens the result of a successful call. It returns nil when the result is to stay as it is.
// full says where the whole text can be read; it is called only when the text will be replaced, and may
// return "" when there is no such place, in which case nothing is replaced.
func Bash(ctx context.Context, c config.Shrink, o Output, full func() string) (*Shrunk, error) {
	if c.Mode == "off" || o.Special || excepted(c.Except, o.Command) {
		return nil, nil
	}
	shown := len(o.Stdout) + len(o.Stderr)
	if shown <= c.Above && o.Persisted == "" {
		return nil, nil
	}
	if byLine(o.Command) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	r, err := read(ctx, o)
	if err != nil {
		return nil, err
	}
	large := o.Persisted != "" || shown > previewAbove
	if !r.sure() && !large && c.Mode != "on" || verbatim(r.head) {
		return nil, nil
	}
	budget := smallBudget
	if large {
		budget = largeBudget
	}
	body, err := r.body(ctx, budget)
	if err != nil {
		return nil, err
	}
	if !large && float64(len(body)) > float64(shown)*(1-savingNeeded) {
		return nil, nil
	}
	path := full()
	if path == "" {
		return nil, nil
	}
	head := fmt.Sprintf("[legwork folded %d lines, %d characters, of this successful command to what follows; all of it: %s; run it with LEGWORK_RAW=1 in front to see it unfolded]",
		r.doc.Lines(), r.doc.Bytes(), path)
	return &Shrunk{Text: head + "\n" + body, Rule: r.rule(), Raw: r.doc.Bytes()}, nil
}

// reading is what the reader made of a text.
type reading struct {
	doc  *digest.Doc
	run  runners.Result
	head []byte // the first bytes of the cleaned text
}

func read(ctx context.Context, o Output) (*reading, error) {
	open := func() (io.ReadCloser, error) {
		if o.Persisted != "" {
			f, err := os.Open(o.Persisted)
			if err != nil {
				return nil, err
			}
			return cleaned{clean.NewReader(f), f}, nil
		}
		text := o.Stdout
		if o.Stderr != "" {
			text = strings.TrimRight(text, "\n") + "\n" + o.Stderr
		}
		return io.NopCloser(clean.NewReader(strings.NewReader(text))), nil
	}
	in, err := open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	zero := 0
	hint := runners.Hint{Command: o.Command, Exit: &zero, Dir: o.Dir}
	scan := runners.NewScanner(hint)
	r := &reading{}
	head := &headWriter{limit: 4 << 10}
	r.doc, err = digest.Scan(ctx, io.TeeReader(in, io.MultiWriter(scan, head)), digest.Options{Reopen: open})
	if err != nil {
		return nil, err
	}
	r.run, r.head = scan.Result(hint), head.buf
	return r, nil
}

type cleaned struct {
	io.Reader
	io.Closer
}

// headWriter keeps the first bytes.
type headWriter struct {
	buf   []byte
	limit int
}

func (h *headWriter) Write(p []byte) (int, error) {
	h.buf = append(h.buf, p[:min(len(p), h.limit-len(h.buf))]...)
	return len(p), nil
}

// recognised: a parser knows the text and says how the run went.
func (r *reading) recognised() bool { return r.run.Runner != "" && r.run.State != runners.StateUnknown }

// sure: a known runner or build, or a long log whose lines mostly read like others.
func (r *reading) sure() bool {
	if r.recognised() {
		return true
	}
	lines := r.doc.Lines()
	return lines >= longLog && float64(r.doc.Kinds()) <= float64(lines)*(1-sureRepeats) && prose(r.head)
}

// Folding alone is trusted from longLog lines on, when this share of them reads like another one.
const (
	longLog     = 60
	sureRepeats = 0.8
)

// prose tells messages from data: in a list of paths or a table of figures, lines that differ only in
// a name or a number are the content.
func prose(head []byte) bool {
	lines, worded := 0, 0
	for line := range bytes.Lines(head) {
		words := 0
		for w := range bytes.FieldsSeq(line) {
			if len(w) >= 3 && !bytes.ContainsAny(w, "/\\0123456789,;|{}") {
				words++
			}
		}
		lines++
		if words >= 2 {
			worded++
		}
	}
	return worded*2 > lines
}

func (r *reading) rule() string {
	if r.recognised() {
		return r.run.Runner
	}
	return "repeats"
}

// body is the shorter text: what the run says, then the lines that matter.
func (r *reading) body(ctx context.Context, budget int) (string, error) {
	var parts []string
	if r.recognised() {
		parts = append(parts, r.run.Lines(runners.Render{Messages: 8, Limit: maxMessage})...)
		for _, n := range r.run.Notes {
			parts = append(parts, "note: "+n)
		}
	}
	sel, err := r.doc.Select(ctx, "", digest.Budget{Tokens: budget})
	if err != nil {
		return "", err
	}
	return strings.Join(append(parts, strings.TrimRight(sel.Text(), "\n")), "\n"), nil
}
