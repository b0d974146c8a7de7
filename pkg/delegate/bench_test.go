package delegate

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"legwork/pkg/llm/llmtest"
)

// BenchmarkOverhead is a whole call less model and test, in milliseconds and as a multiple of what git's own
// worktree add and remove take in the same repository, each measured in turn.
func BenchmarkOverhead(b *testing.B) {
	for _, n := range []int{50, 20_000} {
		files := map[string]string{"check.sh": "grep -q right out.txt\n"}
		for i := range n {
			files[fmt.Sprintf("d%03d/f%d.txt", i/100, i)] = strings.Repeat(fmt.Sprintln("line of file", i), 20)
		}
		s := newSite(b, files)
		s.server = llmtest.NewLlamaServer(b, llmtest.Config{Answer: func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "```text\nright\n```"} }})
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			d := s.deps()
			var ours, git time.Duration
			for b.Loop() {
				start := time.Now()
				dir := filepath.Join(b.TempDir(), "w")
				s.git("worktree", "add", "--quiet", "--detach", dir)
				s.git("worktree", "remove", dir)
				git += time.Since(start)
				if err := os.RemoveAll(filepath.Join(s.dir, "out.txt")); err != nil {
					b.Fatal(err)
				}
				req := shellTask
				req.Dir = s.dir
				start = time.Now()
				res, err := Run(b.Context(), d, req)
				if err != nil || !res.Applied {
					b.Fatal(err, res)
				}
				ours += time.Since(start) - time.Duration(res.ModelMS+res.GateMS)*time.Millisecond
			}
			b.ReportMetric(float64(ours.Microseconds())/1000/float64(b.N), "overhead-ms/op")
			b.ReportMetric(float64(ours)/float64(git), "x-git")
		})
	}
}
