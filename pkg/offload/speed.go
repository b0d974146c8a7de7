package offload

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"legwork/pkg/fsx"
	"legwork/pkg/llm"
)

// What auto coverage lets the model read follows from how fast it reads: a workstation's server takes in
// thousands of tokens a second, a laptop without a GPU fifty. The speed is learned from real calls and
// kept on disk, one number for each model and endpoint.
const (
	readWhole = 20 * time.Second // the whole material is read when that takes no longer
	readFocus = 10 * time.Second // else its best lines
	readParts = 30 * time.Second // or all of it in parts, on all slots

	minSample = 200 // tokens; a shorter prompt measures the network
)

// budgets, in tokens.
type budgets struct {
	whole, focus int
	parts        int // most material that is read in parts without being asked to
}

// fixed limits of budgets. Small models read long prompts badly, and the best 2,000 tokens of lines hold
// nine of ten answers (bench/evidence), so more is not better.
const (
	slowWhole, unknownWhole, mostWhole = 1_500, 3_000, 16_000
	slowFocus, unknownFocus, mostFocus = 700, 1_500, 2_500
)

// budget says how much the chosen model should read.
func (s speeds) budget(ch llm.Choice) budgets {
	perSecond := s.load()[s.key(ch)]
	if perSecond <= 0 {
		return budgets{whole: unknownWhole, focus: unknownFocus}
	}
	in := func(d time.Duration) int { return int(perSecond * d.Seconds()) }
	return budgets{
		whole: min(max(in(readWhole), slowWhole), mostWhole),
		focus: min(max(in(readFocus), slowFocus), mostFocus),
		parts: in(readParts) * (max(ch.Slots, 1) + 1) / 2, // slots share one machine
	}
}

// speeds is the file with what was learned.
type speeds struct{ path string }

func newSpeeds(stateDir string) speeds {
	return speeds{filepath.Join(stateDir, "cache", "reading-speed.json")}
}

func (speeds) key(ch llm.Choice) string { return ch.Endpoint + " " + ch.Model }

func (s speeds) load() map[string]float64 {
	m := map[string]float64{}
	if b, err := os.ReadFile(s.path); err == nil {
		_ = json.Unmarshal(b, &m) // a damaged file is one that is not there
	}
	return m
}

// learn takes the time to the first token of one call. A lost update of two processes does no harm.
func (s speeds) learn(ch llm.Choice, ans *llm.Answer) {
	n := ans.Usage.Prompt - ans.Usage.Cached
	if n < minSample || ans.FirstByte <= 0 || ans.Attempts > 1 || ans.Endpoint != ch.Endpoint {
		return
	}
	m := s.load()
	seen := float64(n) / ans.FirstByte.Seconds()
	if old := m[s.key(ch)]; old > 0 {
		seen = (old + seen) / 2
	}
	m[s.key(ch)] = seen
	if b, err := json.Marshal(m); err == nil && os.MkdirAll(filepath.Dir(s.path), 0o700) == nil {
		_ = fsx.WriteFile(s.path, b, 0o600)
	}
}
