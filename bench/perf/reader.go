package main

import (
	"archive/zip"
	"context"
	"path/filepath"

	"legwork/pkg/bench"
)

// readerQuality scores the reader against the sets that are shipped: recorded test runs, and questions
// about noisy texts.
func readerQuality(l *lab) ([]row, error) {
	ctx := context.Background()
	corpus, err := zip.OpenReader(filepath.Join(l.repo, "pkg", "runners", "testdata", "corpus.zip"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = corpus.Close() }()
	runs, err := bench.ScoreRunnersWith(corpus, bench.Options{WithCommand: true})
	if err != nil {
		return nil, err
	}
	share := func(a, b int) float64 { return 100 * float64(a) / float64(max(b, 1)) }
	const how = "`legwork bench digest` on the recorded runs of pkg/runners"
	rows := []row{
		{what: "state of a run right", how: how, limit: 100, got: share(runs.StateRight, runs.Records), unit: "%", atLeast: true},
		{what: "counts right", how: how, limit: 98, got: share(runs.CountsRight, runs.CountsAsked), unit: "%", atLeast: true},
		{what: "failing ids found", how: how, limit: 98, got: share(runs.IDsFound, runs.IDsAsked), unit: "%", atLeast: true},
		{what: "runs wrongly read as passed", how: how, limit: 0, got: float64(runs.FalsePasses)},
	}
	replier, err := bench.NewReplier(l.dir)
	if err != nil {
		return nil, err
	}
	sizes, err := replier.FailingReplies(ctx, corpus)
	if err != nil {
		return nil, err
	}
	if len(sizes) > 0 {
		rows = append(rows, row{what: "reply to a failing run, median", how: "`which test fails, and why?` without a model, a token is 4 bytes", limit: 300, got: float64(sizes[len(sizes)/2]), unit: "tokens"},
			row{what: "… nine of ten are smaller", how: "the same", limit: 300, got: float64(sizes[len(sizes)*9/10]), unit: "tokens"})
	}
	texts, err := bench.EvidenceSet(ctx, filepath.Join(l.repo, "bench", "evidence"), bench.EvidenceOptions{Budget: 2000})
	if err != nil {
		return nil, err
	}
	const asked = "`legwork bench evidence --set bench/evidence --budget 2000`"
	rows = append(rows, row{what: "questions with all their lines kept", how: asked, limit: 87, got: share(texts.All.Full, texts.All.N), unit: "%", atLeast: true})
	for _, k := range texts.Kinds {
		switch k.Kind {
		case "paraphrase":
			rows = append(rows, row{what: "… paraphrases", how: asked, limit: 70, got: share(k.Full, k.N), unit: "%", atLeast: true})
		case bench.Unanswerable:
			rows = append(rows, row{what: "said rightly: not in the text", how: asked, limit: 80, got: share(k.SaidNot, k.N), unit: "%", atLeast: true})
		}
	}
	return rows, nil
}
