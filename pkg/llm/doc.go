// Package llm hides model servers: where they are, what they serve, which of
// them answers a question, and the three wire formats they speak.
//
// The story of one call:
//
//	reg := llm.New(llm.FromConfig(cfg), llm.Options{StateDir: dir, Logger: log}) // no I/O
//	choice, err := reg.Choose(ctx, llm.Want{Tool: "offload"})                    // probes, then names one model
//	ans, err := reg.Chat(ctx, llm.Request{Choice: choice, Messages: msgs})        // plans, queues, streams, judges
//
// Rules that hold everywhere here. A model is never guessed: exact id, glob,
// unique fuzzy match, else the list of what exists. A probe never costs a
// generation and never wakes a sleeping model. Four endings never turn into
// each other: a transport error, a timeout, a cut-off or empty answer, and an
// answer that is wrong; the first two are errors, the rest is in
// [Answer.Outcome]. Secrets never reach an error, a log or a reply.
//
// Pitfall: no byte for minutes is normal, not even response headers: servers
// queue requests silently. Limits count from the first event (first byte) and
// between events (idle), never in total; the total is the caller's deadline.
package llm
