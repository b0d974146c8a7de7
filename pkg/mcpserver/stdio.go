package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
)

// cancelBook knows the running calls by request id and cancels them. The protocol library loses the
// cancellation of a call that its workers have not begun yet, so the input is watched here, before it
// gets there: a cancellation that comes first is remembered until its call begins.
type cancelBook struct {
	mu      sync.Mutex
	running map[string]context.CancelCauseFunc
	early   map[string]bool
}

// maxEarly bounds what a client can make us remember.
const maxEarly = 1000

func newCancelBook() *cancelBook {
	return &cancelBook{running: map[string]context.CancelCauseFunc{}, early: map[string]bool{}}
}

// begin returns the context of the call id, and the func that ends its entry.
func (b *cancelBook) begin(ctx context.Context, id string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if id == "" {
		return ctx, func() { cancel(nil) }
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.early[id] {
		delete(b.early, id)
		cancel(context.Canceled)
	}
	b.running[id] = cancel
	return ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.running, id)
		cancel(nil)
	}
}

func (b *cancelBook) cancel(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.running[id]; c != nil {
		c(context.Canceled)
		return
	}
	if len(b.early) < maxEarly {
		b.early[id] = true
	}
}

// watchedInput passes lines on to the protocol library, having seen each cancellation and the end.
type watchedInput struct {
	in    *bufio.Reader
	book  *cancelBook
	onEnd func() // called once, before the library sees the end of the input
	rest  []byte
	err   error
}

func (w *watchedInput) Read(p []byte) (int, error) {
	if len(w.rest) == 0 && w.err == nil {
		w.rest, w.err = w.in.ReadBytes('\n')
		if bytes.Contains(w.rest, []byte("notifications/cancelled")) {
			w.note(w.rest)
		}
		if w.err != nil {
			w.onEnd()
		}
	}
	if len(w.rest) == 0 {
		return 0, w.err
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

func (w *watchedInput) note(line []byte) {
	var msg struct {
		Method string `json:"method"`
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &msg) == nil && msg.Method == "notifications/cancelled" {
		w.book.cancel(string(msg.Params.RequestID))
	}
}

// output writes whole messages one at a time, those of the library and our own.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// notify sends a notification. It is written before notify returns, so that what a handler sends
// stands before its reply.
func (o *output) notify(method string, params any) {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		return
	}
	_, _ = o.Write(append(line, '\n')) // a client that is gone ends the session by itself
}
