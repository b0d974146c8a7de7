package offload

import (
	"context"
	"time"

	"legwork/pkg/ledger"
	"legwork/pkg/llm"
)

// recordWait bounds the wait for another process that writes to the run log.
const recordWait = 2 * time.Second

// record adds the call to the run log. A log that cannot be written is no error of the call.
func (c *call) record(ctx context.Context) {
	if !c.Config.Store.Ledger {
		return
	}
	r := c.res
	run := ledger.Run{
		Tool: "offload", Model: r.Model, Endpoint: r.Endpoint, Outcome: outcomes[r.Outcome], Attempts: r.Coverage.Chunks,
		InTok: int64(r.InTok), OutTok: int64(r.OutTok), CachedTok: int64(r.CachedTok), RawBytes: r.Coverage.Bytes, MS: r.MS,
		ClaudeTokIn:  int64(llm.Estimate(r.Text())),
		ClaudeTokOut: int64(llm.Estimate(c.req.Question + c.req.Command + r.Model)),
		BaseTok:      c.baseline(), Project: c.Config.Project.Root, Rule: r.By,
	}
	if run.Outcome == "" {
		run.Outcome = ledger.Done
	}
	run.OK = run.Outcome == ledger.Done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
	defer cancel()
	if err := ledger.New(c.StateDir).Append(ctx, run); err != nil && c.Logger != nil {
		c.Logger.Warn("run log", "err", err)
	}
}

// outcomes maps how the model ended to the words of the run log; what is missing is done.
var outcomes = map[string]string{
	"cut_off": ledger.CutOff, "empty": ledger.CutOff, "looped": ledger.CutOff,
	"transport_error": ledger.Transport, "timeout": ledger.Timeout, "overflow": ledger.Failed,
}

// What Claude Code shows its model of a command or file without us, in characters (measured on client
// 2.1.328): successes up to 30,000 whole, above only a preview; failures 10,040 of the first 30,000;
// files by pages of 25,000 tokens with about 5 characters a line added, above 256 KB nothing.
const (
	capSuccess    = 30_000
	previewTokens = 550
	capFailure    = 10_500
	capPageTokens = 25_000
	capRead       = 256 << 10
	refusedTokens = 95
)

// baseline estimates the tokens Claude would have received without us.
func (c *call) baseline() int64 {
	size := c.res.Coverage.Bytes
	switch {
	case c.res.Ran == nil && size > capRead:
		return refusedTokens
	case c.res.Ran == nil:
		return min((size+5*int64(c.res.Coverage.Lines))/4, capPageTokens)
	case c.req.Raw != "":
		return 0 // it has the text already, or would search the saved file
	case c.res.Ran.Exit != 0:
		return min(size, capFailure) / 4
	case size > capSuccess:
		return previewTokens
	}
	return size / 4
}
