package ledger

import (
	"math"
	"slices"
)

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
	CacheWrite float64 `json:"cache_write"` // price of a token that enters the cache
	CacheRead  float64 `json:"cache_read"`  // price of a token read from it, on every later turn
	Output     float64 `json:"output"`      // price of a token Claude writes
	LaterTurns float64 `json:"later_turns"` // turns of a session after a call, each of which reads the answer again
	Turns      float64 `json:"turns"`       // turns of a whole session
	PrefixTok  float64 `json:"prefix_tok"`  // our share of every request: schemas, names, reminder
	SearchCost float64 `json:"search_cost"` // once per session that uses a tool which has to be searched for first
}

// DefaultWeights are the assumptions used when nothing else is said. PrefixTok is that of a usual installation.
func DefaultWeights() Weights {
	return Weights{CacheWrite: 1.25, CacheRead: 0.1, Output: 5, LaterTurns: 10, Turns: 50, PrefixTok: 600, SearchCost: 1800}
}

// kept is the price of one token that stays in the conversation.
func (w Weights) kept() float64 { return w.CacheWrite + w.CacheRead*w.LaterTurns }

// Parts are what a net saving is made of, in uncached input tokens, as whole numbers: two gains and, below zero,
// what was paid for them. They add up to it.
type Parts struct {
	Spared    float64 `json:"spared"`    // what Claude would have received without us
	Written   float64 `json:"written"`   // what Claude would have written without us
	Replies   float64 `json:"replies"`   // what it received from us instead
	Arguments float64 `json:"arguments"` // what it wrote to ask us
	Rereads   float64 `json:"rereads"`   // what it fetched later of a text that had been kept from it
	Prefix    float64 `json:"prefix"`    // our schemas and reminders in every request
	Searches  float64 `json:"searches"`  // tools that had to be searched for
}

// Net is the sum.
func (p *Parts) Net() float64 {
	return p.Spared + p.Written + p.Replies + p.Arguments + p.Rereads + p.Prefix + p.Searches
}

// Named lists the parts that are not zero, with words for them.
func (p *Parts) Named() []NamedPart {
	all := []NamedPart{
		{"what Claude would have read without us", p.Spared},
		{"what Claude would have written without us", p.Written},
		{"our replies", p.Replies},
		{"arguments of calls", p.Arguments},
		{"fetched again, in full or part", p.Rereads},
		{"our schemas and reminder", p.Prefix},
		{"searches for tools", p.Searches},
	}
	return slices.DeleteFunc(all, func(n NamedPart) bool { return n.V == 0 })
}

// NamedPart is one part with its name.
type NamedPart struct {
	Name string
	V    float64
}

func (p *Parts) add(q *Parts) {
	p.Spared += q.Spared
	p.Written += q.Written
	p.Replies += q.Replies
	p.Arguments += q.Arguments
	p.Rereads += q.Rereads
	p.Prefix += q.Prefix
	p.Searches += q.Searches
}

// Parts weighs what a run spared and cost. Each part is rounded to a whole number, so that sums are exact in any
// order.
func (w Weights) Parts(r *Run) Parts {
	if r.Tool == ToolReread {
		return Parts{Rereads: -math.Round(float64(r.ClaudeTokIn) * w.kept())}
	}
	return Parts{
		Spared: math.Round(float64(r.BaseTok) * w.kept()), Written: math.Round(float64(r.BaseOut) * w.Output),
		Replies: -math.Round(float64(r.ClaudeTokIn) * w.kept()), Arguments: -math.Round(float64(r.ClaudeTokOut) * w.Output),
	}
}

// Net is what a run saved, in uncached input tokens; negative when it cost more than it spared. The fixed cost of
// being there at all is not in it: see [Weights.Fixed].
func (w Weights) Net(r *Run) float64 {
	p := w.Parts(r)
	return p.Net()
}

// Fixed is what one session pays for our presence.
func (w Weights) Fixed() float64 {
	return w.PrefixTok * (w.CacheWrite + w.CacheRead*w.Turns)
}

// Tools of the ledger that are no calls of Claude's.
const (
	ToolShrink  = "shrink"  // a result made smaller by the hook
	ToolNote    = "note"    // words that the hook added to a cut failure; ClaudeTokIn is what they cost
	ToolReread  = "reread"  // the full text was fetched after all; ClaudeTokIn is what that cost, Attempts counts fetches of one text
	ToolSession = "session" // a session began with us in it
)

// OffloadRule is how a rule is named in the rows of rereads when offload shortened the text.
func OffloadRule(by string) string { return "offload: " + by }
