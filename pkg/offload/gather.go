package offload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"legwork/pkg/digest"
	"legwork/pkg/proc"
	"legwork/pkg/runners"
)

// commandName is how lines of a command's output are named in a reply.
const commandName = "output"

// gather makes the material: the command is run into the raw store, files are opened and checked.
func (c *call) gather(ctx context.Context) error {
	c.mat = &material{secrets: c.secrets}
	roots := c.req.Roots
	if len(roots) == 0 {
		roots = []string{c.req.Dir}
	}
	files, err := fileParts(c.req.Files, c.req.Dir, roots, c.AllowRead)
	if err != nil {
		return err
	}
	switch {
	case c.req.Raw != "":
		if err := c.reopen(); err != nil {
			return err
		}
	case c.req.Command != "":
		if err := c.run(ctx); err != nil {
			return err
		}
	}
	c.mat.parts = append(c.mat.parts, files...)
	return nil
}

func (c *call) reopen() error {
	e, err := c.store.Get(c.req.Raw)
	if err != nil {
		return badInput("%v", err)
	}
	c.res.Command, c.res.Raw, c.res.Path = e.Command, e.ID, e.Path
	c.res.Ran = &Ran{Ending: e.Ending, Exit: e.Exit, Signal: e.Signal, TimedOut: e.TimedOut, MS: e.MS}
	c.res.Coverage.BytesOmit = e.Omitted
	c.mat.parts = []*part{{name: commandName, open: func() (io.ReadCloser, error) { return os.Open(e.Path) }}}
	return nil
}

// run executes the command. Whatever ends it, what it printed until then is the material.
func (c *call) run(ctx context.Context) error {
	limit := c.req.Timeout
	if limit == 0 {
		limit = c.Config.Offload.CommandTimeout
	}
	id, sink := c.store.create()
	var printed atomic.Int64
	stop := c.watch(&printed)
	sink.seen = &printed
	env := proc.CleanEnv(c.Env)
	channel, done := c.attach(env)
	defer done()
	for _, kv := range channel.Env() {
		name, value, _ := strings.Cut(kv, "=")
		env = proc.SetEnv(env, name, value)
	}
	started := time.Now()
	exit, err := c.Children.Run(ctx, proc.Spec{
		Shell: c.req.Command, Dir: c.req.Dir, Env: env,
		Stdout: sink, Stderr: sink, Timeout: limit,
	})
	stop()
	out := sink.finish()
	c.evidence = channel.Read()
	if err != nil {
		c.store.Remove(id)
		return badInput("command: it could not be started: %v", err)
	}
	c.res.Ran = &Ran{Ending: exit.String(), Exit: exit.Code, Signal: exit.Signal, TimedOut: exit.TimedOut, MS: exit.Duration.Milliseconds()}
	c.res.Coverage.BytesOmit = out.omitted
	c.keep(id, out, started)
	c.res.Notes = append(c.res.Notes, exit.Notes()...)
	if last, ok := proc.LastOfPipe(c.req.Command); ok {
		c.note("the exit code is that of the last command of the pipe only (%s)", short(last, 40))
	}
	if exit.Cancelled && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.mat.parts = []*part{{name: commandName, open: out.open}}
	return nil
}

// attach prepares the side channels that tell whether a test run came to its end. Without a place for
// their reports the text has to do.
func (c *call) attach(env []string) (*runners.Channel, func()) {
	none := func() {}
	dir, err := os.MkdirTemp("", "legwork-run-")
	if err != nil {
		return &runners.Channel{}, none
	}
	channel, err := runners.Attach(runners.Setup{Command: c.req.Command, Dir: c.req.Dir, Env: env, Temp: dir})
	if err != nil {
		_ = os.RemoveAll(dir)
		return &runners.Channel{}, none
	}
	return channel, func() {
		_ = channel.Close()
		_ = os.RemoveAll(dir)
	}
}

// keep records the output so that it can be asked about again.
func (c *call) keep(id string, out *captured, started time.Time) {
	if out.problem != "" {
		c.note("%s", out.problem)
		return
	}
	r := c.res.Ran
	err := c.store.record(Entry{
		ID: id, Command: c.mask(c.req.Command), Dir: c.req.Dir, Started: started, MS: r.MS, Exit: r.Exit, Ending: r.Ending,
		Signal: r.Signal, TimedOut: r.TimedOut, Bytes: out.bytes, Omitted: out.omitted,
	})
	if err != nil {
		c.note("the output is kept in %s, but its record could not be written: %v", out.path, err)
		c.res.Path = out.path
		return
	}
	c.res.Raw, c.res.Path = id, out.path
}

// watch reports once a second what the running command has printed, until the returned func is called.
func (c *call) watch(printed *atomic.Int64) (stop func()) {
	if c.Progress == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		start := time.Now()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				c.progress("offload: running %s, %s, %s printed", short(c.req.Command, 40), time.Since(start).Round(time.Second), size(printed.Load()))
			}
		}
	}()
	return func() { close(done); <-ended }
}

// read goes over the whole material once: cleaned, folded, and through the parsers of what test
// runners and compilers print.
func (c *call) read(ctx context.Context) error {
	c.progress("offload: reading the material")
	text, err := c.mat.open()
	if err != nil {
		return badInput("files: %v", err)
	}
	defer text.Close()
	var in io.Reader = text
	scan := c.scanner()
	if scan != nil && len(c.mat.parts) == 1 {
		in = io.TeeReader(text, scan)
	}
	c.doc, err = digest.Scan(ctx, in, digest.Options{Reopen: c.mat.open})
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("reading the material: %w", err)
	}
	if scan != nil {
		if err := c.scanOutput(scan); err != nil {
			return err
		}
		r := scan.Result(c.hint())
		if c.evidence.Channel != "" {
			r.Apply(c.evidence)
		}
		if r.Runner != "" {
			c.res.Run = &r
			c.res.Notes = append(c.res.Notes, r.Notes...)
		}
	}
	c.res.Coverage.Lines, c.res.Coverage.Bytes = c.doc.Lines(), c.doc.Bytes()
	c.res.Coverage.BytesBad = c.mat.bad
	return c.checkRanges()
}

// scanner is nil for material that no program printed as one text: several files.
func (c *call) scanner() *runners.Scanner {
	if c.res.Ran == nil && len(c.mat.parts) > 1 {
		return nil
	}
	return runners.NewScanner(c.hint())
}

// scanOutput shows the scanner a command's output alone, when files were asked about besides it: an old
// test log among them says nothing about this run.
func (c *call) scanOutput(scan *runners.Scanner) error {
	if len(c.mat.parts) == 1 {
		return nil
	}
	out := *c.mat.parts[0]
	text, err := (&material{parts: []*part{&out}, secrets: c.secrets}).open()
	if err != nil {
		return fmt.Errorf("reading the output: %w", err)
	}
	defer text.Close()
	_, err = io.Copy(scan, text)
	return err
}

// checkRanges refuses a range that begins after the end of its file.
func (c *call) checkRanges() error {
	for _, p := range c.mat.parts {
		if p.from > 1 && p.lines == 0 {
			n, err := countLines(p)
			if err != nil {
				return badInput("files: %s: %v", p.name, err)
			}
			return badInput("files: %s has %d lines; the range begins at %d", p.name, n, p.from)
		}
		if want := p.to - p.from + 1; p.to > 0 && p.lines < want {
			c.note("%s ends at line %d, before the end of the range", p.name, p.from+p.lines-1)
		}
	}
	return nil
}

func countLines(p *part) (int, error) {
	whole := &material{parts: []*part{{name: p.name, open: p.open}}}
	r, err := whole.open()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return whole.parts[0].lines, nil
}

func (c *call) hint() runners.Hint {
	h := runners.Hint{Command: c.res.Command, Dir: c.req.Dir, Truncated: c.res.Coverage.BytesOmit > 0}
	if r := c.res.Ran; r != nil {
		h.Exit, h.Signal, h.TimedOut = &r.Exit, r.Signal, r.TimedOut
	}
	return h
}

func short(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.2f GB", float64(n)/1e9)
}
