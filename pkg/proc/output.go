package proc

import (
	"errors"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	pumpBuffer = 64 << 10 // one read; a Linux pipe holds as much
	pipeMax    = 1 << 20  // the most a pipe can hold without privileges
	cutWait    = 20 * time.Millisecond
)

// output is the parent's side of a child's stdio: what it reads from and writes to, and the goroutines that do it.
type output struct {
	pumps  []*pump
	feed   *os.File  // write end of the child's stdin while a reader feeds it
	source io.Reader // what is fed
	fed    chan struct{}
	theirs []*os.File // the child's ends, closed here once it has started
}

// newOutput opens the pipes and puts the child's ends into cmd.
func newOutput(p *Process) (o *output, err error) {
	o = &output{}
	defer func() {
		if err != nil {
			o.abort()
		}
	}()
	if err := o.input(p); err != nil {
		return o, err
	}
	null, err := openNull()
	if err != nil {
		return o, err
	}
	o.theirs = append(o.theirs, null)
	p.cmd.Stdout, p.cmd.Stderr = null, null
	if w := p.spec.Stdout; w != nil {
		end, err := o.pipe(w)
		if err != nil {
			return o, err
		}
		p.cmd.Stdout = end
	}
	switch w := p.spec.Stderr; {
	case w == nil:
	case same(w, p.spec.Stdout):
		p.cmd.Stderr = p.cmd.Stdout
	default:
		end, err := o.pipe(w)
		if err != nil {
			return o, err
		}
		p.cmd.Stderr = end
	}
	return o, nil
}

// input sets the child's stdin: null, a file as it is, the caller's pipe, or a pipe fed from a reader.
func (o *output) input(p *Process) error {
	if f, ok := p.spec.Stdin.(*os.File); ok {
		p.cmd.Stdin = f
		return nil
	}
	if p.spec.Stdin == nil && !p.spec.StdinPipe {
		null, err := openNull()
		if err != nil {
			return err
		}
		o.theirs = append(o.theirs, null)
		p.cmd.Stdin = null
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	o.theirs = append(o.theirs, r)
	o.feed, p.cmd.Stdin = w, r
	if p.spec.StdinPipe {
		p.Stdin = w
	} else {
		o.source = p.spec.Stdin
	}
	return nil
}

func (o *output) pipe(w io.Writer) (*os.File, error) {
	r, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o.theirs = append(o.theirs, end)
	o.pumps = append(o.pumps, &pump{r: r, w: w, done: make(chan struct{})})
	return end, nil
}

// same tells whether two writers are one; writers that cannot be compared are two.
func same(a, b io.Writer) (yes bool) {
	defer func() { _ = recover() }()
	return a == b
}

// run starts the goroutines, once the child has its ends.
func (o *output) run() {
	o.closeTheirs()
	for _, p := range o.pumps {
		p.last.Store(time.Now().UnixNano())
		go p.run()
	}
	if o.source != nil {
		o.fed = make(chan struct{})
		go func() {
			defer close(o.fed)
			_, _ = io.Copy(o.feed, o.source) // a child that does not read its input is not an error
			_ = o.feed.Close()
		}()
	}
}

func (o *output) closeTheirs() {
	for _, f := range o.theirs {
		_ = f.Close()
	}
	o.theirs = nil
}

// abort gives everything back when the child never started.
func (o *output) abort() {
	o.closeTheirs()
	for _, p := range o.pumps {
		_ = p.r.Close()
	}
	if o.feed != nil {
		_ = o.feed.Close()
	}
}

// wait returns true when all output has been read to its end, false when it is still open and nothing has come for
// quiet, or something keeps coming for ten times as long.
func (o *output) wait(quiet time.Duration) bool {
	began := time.Now()
	for _, p := range o.pumps {
		for !p.ended(quiet / 10) {
			silent := min(time.Since(began), time.Since(time.Unix(0, p.last.Load())))
			if p.reading.Load() && (silent > quiet || time.Since(began) > 10*quiet) {
				return false
			}
		}
	}
	return true
}

// cut ends the pumps although somebody holds the write ends; what the pipes hold is read first.
func (o *output) cut() {
	for _, p := range o.pumps {
		_ = p.r.SetReadDeadline(time.Now())
	}
	for _, p := range o.pumps {
		<-p.done
	}
}

// err closes what is left and returns the first error of a writer.
func (o *output) err() error {
	if o.feed != nil {
		_ = o.feed.Close()
	}
	for _, p := range o.pumps {
		<-p.done
		_ = p.r.Close()
	}
	for _, p := range o.pumps {
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

// pump moves one pipe to one writer and never stops reading before the end.
type pump struct {
	r       *os.File
	w       io.Writer
	err     error
	done    chan struct{}
	last    atomic.Int64 // when it last began to wait for bytes, Unix nanoseconds
	reading atomic.Bool  // it waits for the child, not for the writer
}

// buffers are shared: a busy server starts many short children.
var buffers = sync.Pool{New: func() any { b := make([]byte, pumpBuffer); return &b }}

func (p *pump) run() {
	defer close(p.done)
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	err := p.move(*buf, math.MaxInt64)
	if errors.Is(err, os.ErrDeadlineExceeded) { // cut: what is in the pipe already still counts
		_ = p.r.SetReadDeadline(time.Now().Add(cutWait))
		err = p.move(*buf, pipeMax)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) && p.err == nil {
		p.err = err
	}
}

// move reads to the end or about limit bytes and hands on what it can.
func (p *pump) move(buf []byte, limit int64) error {
	for limit > 0 {
		p.last.Store(time.Now().UnixNano())
		p.reading.Store(true)
		n, err := p.r.Read(buf)
		p.reading.Store(false)
		limit -= int64(n)
		if n > 0 && p.err == nil {
			if _, werr := p.w.Write(buf[:n]); werr != nil {
				p.err = werr
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ended waits up to d for the pump's end.
func (p *pump) ended(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
