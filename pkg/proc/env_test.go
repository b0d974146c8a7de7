package proc

import (
	"slices"
	"testing"
)

// A child is given none of our keys: what it prints is kept on disk. Our own processes are.
func TestKeysStayWithUs(t *testing.T) {
	t.Parallel()
	keys := []string{"LEGWORK_API_KEY=a", "LEGWORK_API_KEY_GPU=b", "LEGWORK_ENDPOINTS_GPU_API_KEY=c", "LEGWORK_RESEARCH_BRAVE_API_KEY=d", "CLAUDE_PLUGIN_OPTION_API_KEY=e"}
	kept := []string{"OPENAI_API_KEY=f", "LEGWORK_STATE_HOME=/s", "LEGWORK_OFFLOAD_MODEL=m"}
	env := append(slices.Clone(keys), kept...)
	clean, own := CleanEnv(env), OwnEnv(env)
	for _, kv := range keys {
		if slices.Contains(clean, kv) || !slices.Contains(own, kv) {
			t.Errorf("%s: handed to a child %v, to our own process %v", kv, slices.Contains(clean, kv), slices.Contains(own, kv))
		}
	}
	for _, kv := range kept {
		if !slices.Contains(clean, kv) {
			t.Errorf("%s is gone", kv)
		}
	}
	if !slices.Equal(env[:len(keys)], keys) {
		t.Error("the caller's slice was changed")
	}
}
