package research

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadQueries(t *testing.T) {
	t.Parallel()
	want := []string{"lagavulin founding year", "islay distilleries history"}
	for _, reply := range []string{
		"lagavulin founding year\nislay distilleries history\n",
		"Here are the queries:\n1. \"lagavulin founding year\"\n2. **islay distilleries history**",
		"[\"lagavulin founding year\", \"islay distilleries history\"]",
		"```json\n{\"queries\": [\"lagavulin founding year\", {\"query\": \"islay distilleries history\"}]}\n```",
		"- lagavulin founding year\n- islay distilleries history\n- \n",
	} {
		if d := cmp.Diff(want, readQueries(reply)); d != "" {
			t.Errorf("%q (-want +got):\n%s", reply, d)
		}
	}
}
