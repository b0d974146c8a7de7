package delegate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/pkg/llm/llmtest"
)

// BenchmarkOverhead is a whole call less model and test; git/op is what git's own worktree add and remove
// take in the same repository.
func BenchmarkOverhead(b *testing.B) {
	for _, n := range []int{50, 20_000} {
		files := map[string]string{"check.sh": "grep -q right out.txt\n"}
		for i := range n {
			files[fmt.Sprintf("d%03d/f%d.txt", i/100, i)] = strings.Repeat(fmt.Sprintln("line of file", i), 20)
		}
		s := newSite(b, files)
		s.server = llmtest.NewLlamaServer(b, llmtest.Config{Answer: func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "```text\nright\n```"} }})
		b.Run(fmt.Sprintf("git/%d", n), func(b *testing.B) {
			for b.Loop() {
				dir := filepath.Join(b.TempDir(), "w")
				s.git("worktree", "add", "--quiet", "--detach", dir)
				s.git("worktree", "remove", dir)
			}
		})
		b.Run(fmt.Sprintf("ours/%d", n), func(b *testing.B) {
			d := s.deps()
			var spent int64
			for b.Loop() {
				if err := os.RemoveAll(filepath.Join(s.dir, "out.txt")); err != nil {
					b.Fatal(err)
				}
				req := shellTask
				req.Dir = s.dir
				res, err := Run(b.Context(), d, req)
				if err != nil || !res.Applied {
					b.Fatal(err, res)
				}
				spent += res.MS - res.ModelMS - res.GateMS
			}
			b.ReportMetric(float64(spent)/float64(b.N), "overhead-ms/op")
		})
	}
}
