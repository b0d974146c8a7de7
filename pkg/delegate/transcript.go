package delegate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"legwork/pkg/llm"
)

// transcript keeps all that a model was shown and said, secrets masked, for whoever wants to know what it saw.
type transcript struct {
	path string
	mask func(string) string
	mu   sync.Mutex
}

func newTranscript(dir, id string, mask func(string) string) *transcript {
	if os.MkdirAll(dir, 0o700) != nil {
		return &transcript{}
	}
	return &transcript{path: filepath.Join(dir, id+".txt"), mask: mask}
}

// add appends one part; a full disk loses the transcript, not the call.
func (t *transcript) add(head, text string) {
	if t == nil || t.path == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "=== %s\n%s\n", head, strings.TrimRight(t.mask(text), "\n"))
}

func (t *transcript) prompt(attempt int, u turn, model string, messages []llm.Message) {
	for _, m := range messages {
		t.add(fmt.Sprintf("attempt %d, %s turn, temperature %.1f, seed %d, to %s: %s", attempt, u.kind, u.temperature, u.seed, model, m.Role), m.Content)
	}
}

func (t *transcript) answer(attempt int, a *llm.Answer) {
	t.add(fmt.Sprintf("attempt %d, answer, %s", attempt, a.Outcome), a.Text)
}

// sweepTranscripts removes old ones.
func sweepTranscripts(dir string, age time.Duration) {
	list, err := os.ReadDir(dir)
	if err != nil || age <= 0 {
		return
	}
	for _, e := range list {
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > age {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
