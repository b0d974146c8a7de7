package runners_test

import (
	"flag"
	"os"
	"testing"

	"legwork/pkg/bench"
)

var (
	corpusDir  = flag.String("corpus", "", "folder of recorded runs to score instead of the packed ones")
	corpusCmd  = flag.Bool("command", false, "give the command too")
	corpusOnly = flag.String("only", "", "score records with this prefix")
)

func TestCorpus(t *testing.T) {
	t.Parallel()
	if *corpusDir == "" {
		t.Skip("no corpus given")
	}
	rep, err := bench.ScoreRunnersWith(os.DirFS(*corpusDir), bench.Options{Only: *corpusOnly, WithCommand: *corpusCmd})
	if err != nil {
		t.Fatal(err)
	}
	if err := rep.Table(os.Stdout, true); err != nil {
		t.Fatal(err)
	}
}
