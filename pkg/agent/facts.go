package agent

import (
	"encoding/json"

	"legwork/pkg/jobs"
	"legwork/pkg/repo"
	"legwork/pkg/shim"
)

// Endings say how a session ended. Only Done is a session that said it was finished, and only a gate proves its work.
const (
	Done         = "done"
	GateFailed   = "verify_failed" // it said done, and the gate says no
	APIError     = "api_error"
	Overflow     = "overflow" // the conversation does not fit the window any more
	MaxTurns     = "max_turns"
	Denied       = "permission_refused"
	CallAsText   = "tool_call_as_text" // its last answer is a tool call that nobody executed
	EmptyAnswer  = "empty_answer"
	NoResult     = "no_result" // the client ended without saying anything, exit 0 or not
	Killed       = "killed"    // by a signal that was not ours
	Cut          = "cut_off"   // the connection to the model broke
	Stalled      = "stalled"
	TimedOut     = "timeout"
	Cancelled    = "cancelled"
	Interrupted  = "interrupted" // our own process was told to end
	NotStarted   = "not_started"
	InternalFail = "internal_error"
)

// Facts is what is known of a job, kept in its record.
type Facts struct {
	Session   string `json:"session,omitempty"` // of the client; empty before it began
	Client    string `json:"client,omitempty"`  // version
	Isolation string `json:"isolation,omitempty"`
	Window    int    `json:"window,omitempty"` // tokens in force
	Tree      *Tree  `json:"tree,omitempty"`

	Turns   int             `json:"turns"`
	Calls   map[string]int  `json:"calls,omitempty"`   // tool → times it was called
	Touched []string        `json:"touched,omitempty"` // files named in its edits; in place, also those that git says changed
	Files   []repo.FileStat `json:"files,omitempty"`   // what git says changed
	Unseen  []string        `json:"unseen,omitempty"`  // written in the worktree, and git says nothing of it
	Denied  []string        `json:"denied,omitempty"`  // tools that were refused
	Gate    *Gate           `json:"gate,omitempty"`
	Applied bool            `json:"applied"` // the changes are in the checkout
	Answer  string          `json:"answer,omitempty"`
	Notes   []string        `json:"notes,omitempty"`

	Usage        shim.Summary `json:"usage"`
	TokensPerSec float64      `json:"tokens_per_s,omitempty"` // written, while writing
	// Drafted and Accepted count the tokens of speculative decoding on the server during the job, all its clients
	// together; 0 when it does not tell.
	Drafted  int `json:"drafted,omitempty"`
	Accepted int `json:"accepted,omitempty"`
	// FirstRequestMS is the time from the start of the job's process to the first request to the model.
	FirstRequestMS int64 `json:"first_request_ms,omitempty"`
	Compactions    int   `json:"compactions,omitempty"`
	Retries        int   `json:"retries,omitempty"`
}

// Tree is the job's worktree.
type Tree struct {
	ID     string `json:"id"`
	Dir    string `json:"dir"`
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base"` // commit it was made from
	Gone   bool   `json:"gone,omitempty"`
}

// Gate is what the verify command said.
type Gate struct {
	Command  string   `json:"command"`
	Runs     int      `json:"runs"`
	Passed   bool     `json:"passed"`
	Ending   string   `json:"ending,omitempty"` // "exit 1" …, of the last run
	Failures []string `json:"failures,omitempty"`
}

// FactsOf reads the facts of a job; the zero Facts when it has none.
func FactsOf(job jobs.Job) Facts {
	var f Facts
	if len(job.Facts) > 0 {
		_ = json.Unmarshal(job.Facts, &f) // of another version of ours: what is known is known
	}
	return f
}
