package proc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	killWait  = 5 * time.Second        // a process in uninterruptible sleep ignores SIGKILL: then we go on without it
	quietWait = 150 * time.Millisecond // how long the output may be held open, silent, after the main process ended
	markName  = "_LEGWORK_CALL"        // the underscore keeps it apart from the settings, LEGWORK_<KEY>
)

// Process is a started child. Its methods are safe for concurrent use.
type Process struct {
	// Stdin is the write end when Spec.StdinPipe was set: the child sees its end when it is closed.
	Stdin io.WriteCloser

	spec  Spec
	id    Identity
	mark  string // value in the child's environment by which strays are found
	cmd   *exec.Cmd
	os    osState
	out   *output
	group *Group

	exited chan struct{} // the main process has ended (it may not be reaped yet)
	stop   chan struct{} // Stop or Kill was called
	done   chan struct{} // all is over, exit is set
	once   sync.Once

	mu     sync.Mutex
	reaped bool // from here on the pid may be anybody's
	exit   Exit
}

// Start is the package's Start with the child in the group.
func (g *Group) Start(ctx context.Context, spec Spec) (*Process, error) {
	p, err := g.start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", spec.name(), err)
	}
	return p, nil
}

func (g *Group) start(ctx context.Context, spec Spec) (*Process, error) {
	if g.closed() {
		return nil, ErrShutdown
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cmd, err := spec.command()
	if err != nil {
		return nil, err
	}
	p := &Process{
		spec: spec, cmd: cmd, group: g, mark: newMark(),
		exited: make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
	}
	cmd.Env = SetEnv(cmd.Env, markName, chainMark(getEnv(cmd.Env, markName), p.mark))
	if p.out, err = newOutput(p); err != nil {
		return nil, err
	}
	p.notePipes()
	began := time.Now()
	if err := p.launch(); err != nil {
		p.out.abort()
		return nil, err
	}
	g.add(p)
	p.out.run()
	go p.supervise(ctx, began)
	return p, nil
}

// launch starts the child on a thread of its own and keeps that thread until the child ends: the parent-death signal
// is sent when the creating thread dies, which is not when the process does.
func (p *Process) launch() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.startOS()
		if err == nil {
			p.id, _ = Find(p.cmd.Process.Pid)
			if p.id.PID == 0 {
				p.id.PID = p.cmd.Process.Pid
			}
		}
		started <- err
		if err == nil {
			p.awaitOS()
			close(p.exited)
		}
	}()
	return <-started
}

// Identity is the main process, for a record on disk that a later sweep can use with KillTree.
func (p *Process) Identity() Identity { return p.id }

// Done is closed when the child is over and its output complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns how the child ended, when it and its output are over.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Stop begins the stop sequence (SIGINT if Spec.Interrupt, SIGTERM, SIGKILL, Grace apart) and returns at once.
func (p *Process) Stop() { p.once.Do(func() { close(p.stop) }) }

// Kill sends SIGKILL to the group at once.
func (p *Process) Kill() {
	p.killNow()
	p.Stop()
}

// supervise owns the child from start to end.
func (p *Process) supervise(ctx context.Context, began time.Time) {
	defer close(p.done)
	defer p.group.remove(p)
	exit := Exit{Code: -1, Timeout: p.spec.Timeout, shell: p.spec.Shell != ""}
	var alarm <-chan time.Time
	if p.spec.Timeout > 0 {
		timer := time.NewTimer(p.spec.Timeout - time.Since(began))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-p.exited:
	case <-alarm:
		exit.TimedOut = true
	case <-ctx.Done():
		exit.Cancelled = true
	case <-p.stop:
		exit.Cancelled = true
	}
	select {
	case <-p.exited: // it ended by itself just then
		exit.TimedOut, exit.Cancelled = false, false
	default:
	}
	if exit.Cancelled && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		exit.TimedOut, exit.Cancelled = true, false
		exit.Timeout = time.Since(began).Round(time.Millisecond)
	}
	stopped := exit.TimedOut || exit.Cancelled
	if stopped {
		p.endBy(ctx)
	}
	exit.Duration = time.Since(began)
	p.settle(&exit, stopped)
	exit.OutputErr = p.out.err()
	p.reap(&exit)
	p.mu.Lock()
	p.exit = exit
	p.mu.Unlock()
}

// endBy runs the stop sequence and returns when the main process is gone or cannot be killed.
func (p *Process) endBy(ctx context.Context) {
	grace := p.spec.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	strays := p.strays()
	if !errors.Is(context.Cause(ctx), ErrShutdown) && !p.group.closed() {
		for _, sig := range p.spec.stopSequence() {
			p.signal(sig, strays)
			if p.goneWithin(grace) {
				break
			}
		}
	}
	p.killAll(strays)
	select {
	case <-p.exited:
	case <-time.After(killWait):
	}
}

// goneWithin waits up to d for the main process and its group to end.
func (p *Process) goneWithin(d time.Duration) bool {
	end := time.NewTimer(d)
	defer end.Stop()
	select {
	case <-p.exited:
	case <-end.C:
		return false
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for p.groupLives() {
		select {
		case <-tick.C:
		case <-end.C:
			return false
		}
	}
	return true
}

// settle ends what the main process left behind and completes the output.
func (p *Process) settle(exit *Exit, stopped bool) {
	held := !p.out.wait(quietWait)
	killed, daemons := p.sweep(held, stopped)
	exit.Background = killed > 0 && !stopped
	exit.Daemons = daemons
	if !held {
		return
	}
	// Whoever still holds the pipe now is out of reach. What is already in it is read, then it is closed.
	if !p.out.wait(quietWait) {
		exit.Held = true
		p.out.cut()
	}
}

// reap collects the status. Until here the zombie kept the pid, and with it the group's number, from being reused.
func (p *Process) reap(exit *Exit) {
	select {
	case <-p.exited:
	default: // unkillable: leave it to the system
		return
	}
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	p.waitOS()
	p.closeOS()
	state := p.cmd.ProcessState
	if state == nil {
		return
	}
	exit.Code, exit.Signal = status(state)
}

func newMark() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails since Go 1.24
	return hex.EncodeToString(b)
}

// chainMark keeps the marks of outer calls, so that each of them still finds the child of a nested legwork.
func chainMark(outer, mark string) string {
	if outer == "" {
		return mark
	}
	return outer + ":" + mark
}

// notStarted turns the failures of a start that a shell would report as a status into one.
func notStarted(err error) (Exit, bool) {
	switch {
	case errors.Is(err, ErrSpec):
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist): // also a script's missing interpreter
		return Exit{Code: codeNotFound}, true
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		return Exit{Code: codeNotExecutable}, true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Exit{Code: -1, Cancelled: true}, true
	}
	return Exit{Code: -1}, false
}

func openNull() (*os.File, error) { return os.OpenFile(os.DevNull, os.O_RDWR, 0) }
