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
		BaseTok:      c.baseline(), BaseOut: c.baseArguments(), Project: c.Config.Project.Root, Rule: RuleOf(r),
	}
	if run.Outcome == "" {
		run.Outcome = ledger.Done
	}
	run.OK = run.Outcome == ledger.Done
	switch {
	case c.req.Raw != "":
	case r.Path != "":
		run.Raw = r.Raw
	case len(c.mat.parts) > 0:
		run.Raw = c.mat.parts[0].name // which can be read as well
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
	defer cancel()
	if err := ledger.New(c.StateDir).Append(ctx, run); err != nil && c.Logger != nil {
		c.Logger.Warn("run log", "err", err)
	}
}

// RuleOf names what made the reply of its material: who read it, and the runner whose output was recognised.
func RuleOf(r *Result) string {
	if r.Run != nil && r.Run.Runner != "" {
		return r.By + " " + r.Run.Runner
	}
	return r.By
}

// outcomes maps how the model ended to the words of the run log; what is missing is done.
var outcomes = map[string]string{
	"cut_off": ledger.CutOff, "empty": ledger.CutOff, "looped": ledger.CutOff,
	"transport_error": ledger.Transport, "timeout": ledger.Timeout, "overflow": ledger.Failed,
}

// baseline estimates the tokens Claude would have received without us: from Bash, or from Read for each file.
func (c *call) baseline() int64 {
	size, lines := c.res.Coverage.Bytes, int64(c.res.Coverage.Lines)
	switch {
	case c.req.Raw != "":
		return 0 // it has the text already, or would search the saved file
	case c.res.Ran != nil:
		return ledger.BaseCommand(size, c.res.Ran.Exit != 0)
	}
	var sum int64
	for _, p := range c.mat.parts {
		part := int64(p.lines) * size / max(lines, 1) // a part's own size is not kept
		sum += ledger.BaseRead(part, int64(p.lines))
	}
	return sum
}

// baseArguments estimates the tokens Claude would have written for the calls of Bash or Read.
func (c *call) baseArguments() int64 {
	if c.req.Command != "" {
		return int64(llm.Estimate(`{"command":"` + c.req.Command + `"}`))
	}
	var sum int64
	if c.req.Raw == "" {
		for _, p := range c.mat.parts {
			sum += int64(llm.Estimate(`{"file_path":"` + p.name + `"}`))
		}
	}
	return sum
}
