package mcpserver

import (
	"strings"
	"sync"
	"time"
)

// Progress goes out at most every progressEvery, and at least every progressAlive while a call works:
// clients take longer silence for a dead server.
const (
	progressEvery = 500 * time.Millisecond
	progressAlive = 15 * time.Second
)

// reporter sends the progress of one call. Without a token, or without an output, it is silent.
type reporter struct {
	out   *output
	token any
	name  string

	mu      sync.Mutex
	message string
	changed bool

	stop, stopped chan struct{}
}

// startReporter begins; end must be called before the reply is sent, and returns when nothing more is.
func startReporter(out *output, token any, name string) *reporter {
	r := &reporter{out: out, token: token, name: name, message: name + ": working", stop: make(chan struct{}), stopped: make(chan struct{})}
	if out == nil || token == nil {
		close(r.stopped)
		return r
	}
	go r.run()
	return r
}

// say sets what the next message tells.
func (r *reporter) say(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.message, r.changed = progressLine(r.name, message), true
}

// maxProgress bounds a message in bytes; the client shows two lines at most.
const maxProgress = 150

// progressLine is one line that names the tool, because the client does not show which one is running.
func progressLine(tool, message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if head, rest, ok := strings.Cut(message, ": "); ok && strings.HasPrefix(tool, head) {
		message = rest // the verb has named itself
	}
	line := tool + ": " + message
	if len(line) > maxProgress {
		line = strings.ToValidUTF8(line[:maxProgress], "") + "…"
	}
	return line
}

func (r *reporter) end() {
	close(r.stop)
	<-r.stopped
}

func (r *reporter) run() {
	defer close(r.stopped)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	last, start := time.Now(), time.Now()
	for {
		select {
		case <-r.stop:
			return
		case now := <-tick.C:
			r.mu.Lock()
			due := r.changed || now.Sub(last) >= progressAlive-progressEvery
			message := r.message
			r.changed = false
			r.mu.Unlock()
			if due {
				last = now
				r.out.notify("notifications/progress", map[string]any{
					"progressToken": r.token, "progress": time.Since(start).Seconds(), "message": message,
				})
			}
		}
	}
}
