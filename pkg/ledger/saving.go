package ledger

// What Claude Code itself shows its model, measured with the real client: a saving is counted against this, never
// against the size of the material.
const (
	successCap  = 30_000 // characters of a successful command up to which all of it is shown
	successTok  = 550    // tokens of the preview above that
	failureCap  = 11_000 // characters of a failed command up to which all of it is shown
	failureKeep = 10_040 // characters shown above that
	pageTok     = 25_000 // tokens of one page of a file
	refusedSize = 256 << 10
	refusedTok  = 95 // the message for a file above that
)

// BaseCommand estimates the tokens Claude would have received from a command with that many characters of output.
func BaseCommand(chars int64, failed bool) int64 {
	switch {
	case failed && chars > failureCap:
		chars = failureKeep
	case !failed && chars > successCap:
		return successTok
	}
	return chars / 4
}

// BaseRead estimates the tokens Claude would have received from reading a file of that many characters and lines:
// one page, with line numbers, or the refusal of a file that is too big.
func BaseRead(chars, lines int64) int64 {
	if chars > refusedSize {
		return refusedTok
	}
	return min((chars+5*lines)/4, pageTok)
}

// Weights are the assumptions behind a net saving, in price of one uncached input token. They are printed with
// every statistic, since other prices and habits give other numbers.
type Weights struct {
	CacheWrite float64 // price of a token that enters the cache
	CacheRead  float64 // price of a token read from it, on every later turn
	Output     float64 // price of a token Claude writes
	LaterTurns float64 // turns of a session after a call, each of which reads the answer again
	Turns      float64 // turns of a whole session
	PrefixTok  float64 // our share of every request: schemas, instructions, reminder
	SearchTok  float64 // once per session, when a tool has to be searched for before its first use
}

// DefaultWeights are the assumptions used when nothing else is said.
func DefaultWeights() Weights {
	return Weights{CacheWrite: 1.25, CacheRead: 0.1, Output: 5, LaterTurns: 10, Turns: 50, PrefixTok: 600, SearchTok: 0}
}

// kept is the price of one token that stays in the conversation.
func (w Weights) kept() float64 { return w.CacheWrite + w.CacheRead*w.LaterTurns }

// Net is what a run saved, in uncached input tokens; negative when it cost more than it spared. The fixed cost of
// being there at all is not in it: see [Weights.Fixed].
func (w Weights) Net(r *Run) float64 {
	spared := float64(r.BaseTok-r.ClaudeTokIn) * w.kept()
	if r.Tool == ToolReread {
		spared = -float64(r.ClaudeTokIn) * w.kept()
	}
	return spared + float64(r.BaseOut-r.ClaudeTokOut)*w.Output
}

// Fixed is what one session pays for our presence.
func (w Weights) Fixed() float64 {
	return w.PrefixTok*(w.CacheWrite+w.CacheRead*w.Turns) + w.SearchTok
}

// Tools of the ledger that are no calls of Claude's.
const (
	ToolShrink = "shrink" // a result made smaller by the hook
	ToolReread = "reread" // the full text was fetched after all; ClaudeTokIn is what that cost
)
