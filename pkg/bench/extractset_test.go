package bench

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExtractSet(t *testing.T) {
	t.Parallel()
	got, err := ExtractSet(t.Context(), "testdata/extract")
	if err != nil {
		t.Fatal(err)
	}
	text := got.Text()
	if len(got.Pages) != 2 || got.F1 < 0.98 || got.Rows != 4 || got.RowsFound != 4 || got.Code != 2 || got.CodeFound != 2 || got.Panics != 0 || got.Median <= 0 {
		t.Errorf("below the bar:\n%s", text)
	}
	for _, part := range []string{"2 pages", "rows 4/4", "code blocks 2/2", "article", "manual"} {
		if !strings.Contains(text, part) {
			t.Errorf("text lacks %q:\n%s", part, text)
		}
	}
}

func TestExtractSetErrors(t *testing.T) {
	t.Parallel()
	if _, err := ExtractSet(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "source.html") {
		t.Errorf("an empty folder: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ExtractSet(ctx, "testdata/extract"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The scorer must be able to say no.
func TestScorer(t *testing.T) {
	t.Parallel()
	if p, r, f1 := bagF1(bagOf("one two two"), bagOf("two three")); cmp.Diff([]float64{1.0 / 3, 0.5, 0.4}, []float64{p, r, float64(int(f1*1000+0.5)) / 1000}) != "" {
		t.Errorf("precision %v recall %v F1 %v", p, r, f1)
	}
	if _, _, f1 := bagF1(bagOf("東京の"), bagOf("東京は")); f1 < 0.66 || f1 > 0.67 {
		t.Errorf("characters of unspaced scripts count one by one: %v", f1)
	}
	lines := wordLines([]string{"| a key | 30s |", "| b | 10s |"})
	for _, test := range []struct {
		row  []string
		want bool
	}{{[]string{"a key", "30s"}, true}, {[]string{"a key", "10s"}, false}, {[]string{"30s", "a key"}, false}, {[]string{"key", "30"}, false}} {
		if got := hasRow(lines, test.row); got != test.want {
			t.Errorf("row %v: %t", test.row, got)
		}
	}
	text := strings.Split("- item\n\n  ```go\n  if x {\n      y()\n  }\n  ```", "\n")
	for _, test := range []struct {
		block string
		want  bool
	}{{"if x {\n    y()\n}", true}, {"\n\tif x {\n\t}\n", false}, {"if x {\n  y()\n}", false}, {"y()\n}", false}} {
		if got := hasBlock(text, test.block); got != test.want {
			t.Errorf("block %q: %t", test.block, got)
		}
	}
}
