package agent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"legwork/pkg/claudecode"
	"legwork/pkg/proc"
)

// session is one running client: turns go in by stdin, events come out.
type session struct {
	p       *proc.Process
	lines   *claudecode.Lines
	results chan claudecode.Result
	stderr  *tail
	writes  sync.WaitGroup

	heard atomic.Int64 // when something was last heard, of the client or of the model; Unix nanoseconds
}

// stopGrace is how long the client has between one signal and the next: SIGINT, SIGTERM, SIGKILL. Two of them and a
// poll for the wish to cancel stay below a second.
const stopGrace = 300 * time.Millisecond

// errStalled is the cause of a session's end when nothing moved for too long.
var errStalled = errors.New("the model server, or the session, was silent for too long")

// open starts the client.
func (s *session) open(ctx context.Context, children *proc.Group, argv, env []string, dir string, on func([]byte, []claudecode.Event), bad func([]byte, string)) error {
	s.results = make(chan claudecode.Result, 16)
	s.stderr = &tail{max: 4 << 10}
	s.touch()
	s.lines = &claudecode.Lines{OnBad: bad, OnLine: func(line []byte, events []claudecode.Event) {
		s.touch()
		on(line, events)
		for _, e := range events {
			if e.Kind == claudecode.EventResult {
				select {
				case s.results <- e.Result:
				default: // nobody asked for so many
				}
			}
		}
	}}
	var err error
	s.p, err = children.Start(ctx, proc.Spec{
		Argv: argv, Env: env, Dir: dir, StdinPipe: true, Stdout: s.lines, Stderr: s.stderr, Grace: stopGrace, Interrupt: true,
	})
	return err
}

func (s *session) touch() { s.heard.Store(time.Now().UnixNano()) }

// silent is how long nothing was heard.
func (s *session) silent() time.Duration { return time.Since(time.Unix(0, s.heard.Load())) }

// send writes a turn. It does not wait: a turn may be longer than what a pipe holds, and the client reads it while
// it writes events. With last, the client is told that no more follows.
func (s *session) send(text string, last bool) error {
	line, err := claudecode.UserTurn(text)
	if err != nil {
		return err
	}
	s.writes.Go(func() {
		_, werr := s.p.Stdin.Write(line) // it ended: its exit tells
		if last || werr != nil {
			_ = s.p.Stdin.Close()
		}
	})
	return nil
}

// forget drops results that nobody waited for: they answer no turn of ours.
func (s *session) forget() {
	for {
		select {
		case <-s.results:
		default:
			return
		}
	}
}

// await returns the result of the turn; false when the client ended without one, or stalled for limit.
func (s *session) await(limit time.Duration, stall func()) (claudecode.Result, bool) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case r := <-s.results:
			return r, true
		case <-s.p.Done():
			select {
			case r := <-s.results:
				return r, true
			default:
				return claudecode.Result{}, false
			}
		case <-tick.C:
			if s.silent() > limit {
				stall()
			}
		}
	}
}

// end tells the client that no more turns follow, and waits for it. One that stays is stopped.
func (s *session) end() proc.Exit {
	s.writes.Go(func() { _ = s.p.Stdin.Close() })
	select {
	case <-s.p.Done():
	case <-time.After(endWait):
		s.p.Stop()
	}
	exit := s.p.Wait()
	s.writes.Wait()
	s.lines.Close()
	return exit
}

// endWait is how long a client may take to end after its last turn.
const endWait = 10 * time.Second

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	max int
	b   []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > t.max {
		t.b = append(t.b[:0], t.b[len(t.b)-t.max:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
