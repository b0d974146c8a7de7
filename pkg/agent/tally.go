package agent

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/pkg/claudecode"
	"legwork/pkg/shim"
)

// tally follows a session: what it says becomes a transcript, a line of progress and facts.
type tally struct {
	dir   string // where the session works; files are told relative to it
	say   func(string)
	show  func(string)
	mask  func(string) string
	stall func() // called when waiting longer makes no sense
	began time.Time

	mu      sync.Mutex
	f       *Facts
	message string            // id of the model's message at hand
	calls   map[string]string // id of a call → tool
	doing   string
	last    lastThing
	stalls  int           // requests in a row on which the server fell silent
	written int           // tokens
	writing time.Duration // time the model spent on them
	started bool          // the client's first event came
}

// lastThing is how the last tool call ended.
type lastThing int

const (
	nothing lastThing = iota
	worked
	refused
)

// maxStalls is how often in a row a silent server is waited for.
const maxStalls = 2

// minWriting is how long the model must have written for its speed to mean something.
const minWriting = 200 * time.Millisecond

// Limits of what the transcript shows of one call.
const (
	maxShownInput  = 300
	maxShownResult = 400
)

func (t *tally) events(events []claudecode.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range events {
		t.event(e)
	}
	t.show(t.progress())
}

func (t *tally) event(e claudecode.Event) {
	switch e.Kind {
	case claudecode.EventInit:
		if !t.started { // repeated for every turn of ours
			t.started = true
			t.f.Session, t.f.Client = e.Init.SessionID, e.Init.Version
		}
	case claudecode.EventText, claudecode.EventToolCall:
		if e.Message != t.message {
			t.message = e.Message
			t.f.Turns++
			t.say(fmt.Sprintf("--- turn %d, %s", t.f.Turns, time.Since(t.began).Round(time.Second)))
		}
		if e.Kind == claudecode.EventText {
			t.doing = "writing"
			t.say(e.Text)
			return
		}
		t.call(e)
	case claudecode.EventToolResult:
		t.result(e)
	case claudecode.EventDenied:
		t.denied(e.Tool)
		t.say(fmt.Sprintf("!! refused: %s is not allowed (%s)", e.Tool, t.line(e.Text, maxShownResult)))
	case claudecode.EventRetry:
		t.f.Retries++
		t.doing = "trying again"
		t.say("!! the request failed and is tried again: " + t.line(e.Text, maxShownResult))
	case claudecode.EventCompacted:
		t.f.Compactions++
		t.say("-- the conversation was compacted")
	case claudecode.EventNotice:
		t.say("!! " + t.line(e.Text, 2*maxShownResult))
	case claudecode.EventResult:
		for _, tool := range e.Result.Denied {
			t.denied(tool)
		}
		t.say(fmt.Sprintf("=== %s", orElse(e.Result.Terminal, e.Result.Subtype)))
	}
}

func (t *tally) call(e claudecode.Event) {
	t.f.Calls[e.Tool]++
	t.calls[e.Call] = e.Tool
	file := orElse(e.Input.Get("file_path").Str, e.Input.Get("notebook_path").Str)
	what := orElse(e.Input.Get("command").Str, orElse(t.rel(file), orElse(e.Input.Get("pattern").Str, e.Input.Raw)))
	t.doing = e.Tool + " " + t.line(what, 60)
	t.say("> " + e.Tool + " " + t.line(what, maxShownInput))
	if edits(e.Tool) && file != "" && !slices.Contains(t.f.Touched, t.rel(file)) {
		t.f.Touched = append(t.f.Touched, t.rel(file))
	}
}

func edits(tool string) bool {
	return slices.Contains([]string{"Edit", "Write", "MultiEdit", "NotebookEdit"}, tool)
}

func (t *tally) result(e claudecode.Event) {
	t.last = worked
	mark := "<"
	if e.Error {
		mark = "< error:"
	}
	if t.isDenial(e) {
		t.last = refused
		t.denied(t.calls[e.Call])
	}
	t.doing = "reading"
	t.say(mark + " " + t.line(e.Text, maxShownResult))
}

// isDenial tells whether a failed call is one that was refused: the event that says so comes before or after.
func (t *tally) isDenial(e claudecode.Event) bool {
	return e.Error && (slices.Contains(t.f.Denied, t.calls[e.Call]) || strings.Contains(e.Text, "requested permissions"))
}

func (t *tally) denied(tool string) {
	if tool != "" && !slices.Contains(t.f.Denied, tool) {
		t.f.Denied = append(t.f.Denied, tool)
	}
}

func (t *tally) rel(path string) string {
	if rel, err := filepath.Rel(t.dir, path); err == nil && path != "" && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// record takes a request of the shim's into account.
func (t *tally) record(r shim.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r.Outcome {
	case shim.Stalled:
		// The client would ask ten times, and wait for minutes each time.
		if t.stalls++; t.stalls == maxStalls {
			t.stall()
		}
	case shim.Answered:
		t.stalls = 0
	}
	if r.Outcome == shim.Answered && r.Usage.Output > 0 {
		t.written += r.Usage.Output
		t.writing += time.Duration((r.TotalMS - r.FirstMS) * float64(time.Millisecond))
	}
	if t.writing > minWriting {
		t.f.TokensPerSec = float64(int(10*float64(t.written)/t.writing.Seconds())) / 10
	}
	t.show(t.progress())
}

func (t *tally) progress() string {
	if t.f.Turns == 0 {
		return "the session waits for the model's first answer"
	}
	parts := []string{fmt.Sprintf("turn %d", t.f.Turns)}
	if t.doing != "" {
		parts = append(parts, t.doing)
	}
	if t.f.TokensPerSec > 0 {
		parts = append(parts, fmt.Sprintf("%.0f tok/s", t.f.TokensPerSec))
	}
	return strings.Join(parts, " · ")
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// line is a text on one line; a secret is hidden before it could be cut in two.
func (t *tally) line(s string, n int) string { return oneLine(t.mask(s), n) }

// oneLine shortens a text to one line of at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return fmt.Sprintf("%s … (%d characters)", string(r[:n]), len(r))
	}
	return s
}
