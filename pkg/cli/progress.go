package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/pkg/mcpserver"
)

// spinner shows progress on stderr: one line that changes on a terminal, plain lines otherwise.
type spinner struct {
	w    io.Writer
	tty  bool
	mu   sync.Mutex
	text string
	last string
	stop chan struct{}
	done chan struct{}
}

const (
	spinEvery  = 120 * time.Millisecond
	plainEvery = 5 * time.Second
)

// progress starts a spinner and returns how to feed and to end it. With --quiet it does nothing.
func (a *app) progress() (say func(string), end func()) {
	if a.global.quiet {
		return func(string) {}, func() {}
	}
	s := &spinner{w: a.stderr, tty: isTerminal(a.stderr), stop: make(chan struct{}), done: make(chan struct{})}
	go s.run()
	return s.say, func() { close(s.stop); <-s.done }
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

func (s *spinner) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tool, rest, ok := strings.Cut(text, ": "); ok && slices.Contains(mcpserver.ToolNames(), tool) {
		text = rest // the user knows which command runs
	}
	s.text = text
}

func (s *spinner) run() {
	defer close(s.done)
	every := plainEvery
	if s.tty {
		every = spinEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	for i := 0; ; i++ {
		select {
		case <-s.stop:
			if s.tty {
				fmt.Fprint(s.w, "\r\x1b[K")
			}
			return
		case <-tick.C:
			s.mu.Lock()
			text := s.text
			s.mu.Unlock()
			switch {
			case text == "":
			case s.tty:
				fmt.Fprintf(s.w, "\r\x1b[K%c %s", frames[i%len(frames)], text)
			case text != s.last:
				fmt.Fprintln(s.w, text)
				s.last = text
			}
		}
	}
}
