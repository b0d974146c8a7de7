package shim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What came from the server's cache is a number only where the server tells one; elsewhere it is unknown, and never
// written down as none.
func TestUsageOfTheCache(t *testing.T) {
	t.Parallel()
	native := func(usage string) answer {
		s := strings.Join(textStream("end_turn", "hi"), "")
		return answer{chunks: []string{strings.Replace(s, `"usage":{"input_tokens":10,"output_tokens":1}`, `"usage":{`+usage+`}`, 1)}}
	}
	chat := func(usage string) answer {
		end := "data: {\"id\":\"c\",\"choices\":[],\"usage\":{" + usage + "}}\n\ndata: [DONE]\n\n"
		return answer{chunks: []string{chunk(`{"content":"hi"}`, "stop"), end}}
	}
	rows := []struct {
		name  string
		route Route
		answer
		want Usage
	}{
		{"some, native", RouteNative, native(`"input_tokens":1,"cache_read_input_tokens":9,"output_tokens":1`), Usage{Input: 1, Cached: 9, Output: 5}},
		{"none, native", RouteNative, native(`"input_tokens":10,"cache_read_input_tokens":0,"output_tokens":1`), Usage{Input: 10, Output: 5}},
		{"not told, native", RouteNative, native(`"input_tokens":10,"output_tokens":1`), Usage{Input: 10, Output: 5, CacheUnknown: true}},
		{"null is not told", RouteNative, native(`"input_tokens":10,"cache_read_input_tokens":null,"output_tokens":1`), Usage{Input: 10, Output: 5, CacheUnknown: true}},
		{"some, chat", RouteChat, chat(`"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":9}`), Usage{Input: 1, Cached: 9, Output: 5}},
		{"none, chat", RouteChat, chat(`"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":0}`), Usage{Input: 10, Output: 5}},
		{"not told, chat", RouteChat, chat(`"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":null`), Usage{Input: 10, Output: 5, CacheUnknown: true}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, newFake(t, row.answer), func(target *Target, _ *Options) { target.Route = row.route })
			r.post(t, ask("")).message(t)
			if diff := cmp.Diff(row.want, r.record(t, 0).Usage); diff != "" {
				t.Error(diff)
			}
			if sum := r.shim.Summary(); sum.Usage.CacheUnknown != row.want.CacheUnknown {
				t.Errorf("summary %+v", sum.Usage)
			}
		})
	}
}
