package shim

import "strconv"

// safeWindow is the smallest window the client handles without stumbling over its own arithmetic: told less, it tries
// to compact before every request, or sends none at all. A smaller real window is guarded by the shim alone.
const safeWindow = 20000

// Env is the environment that points a Claude Code at this shim listening on addr ("127.0.0.1:1234"). The caller drops
// every other CLAUDE* and ANTHROPIC_* variable first. Reasons stand beside the values.
func (s *Shim) Env(addr string) []string {
	told, answer := s.client()
	env := []string{
		"ANTHROPIC_BASE_URL=http://" + addr,
		"ANTHROPIC_AUTH_TOKEN=" + s.token,          // a login in the user's home would be sent otherwise
		"CLAUDE_CODE_ATTRIBUTION_HEADER=0",         // a line that differs between runs, in front of the prompt
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",        // the only path in the system text: jobs in two directories share it without
		"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS=1", // fields no local server reads
		"ENABLE_TOOL_SEARCH=false",                 // tools that appear in mid-job would void the prefix cache
		"DISABLE_PROMPT_CACHING=1",                 // marks that move each turn
		"CLAUDE_CODE_DISABLE_THINKING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1",
		"DISABLE_AUTOUPDATER=1",
		"API_TIMEOUT_MS=3600000",                                // limits the wait for headers; a loading server or a whole answer takes long
		"CLAUDE_CODE_MAX_OUTPUT_TOKENS=" + strconv.Itoa(answer), // without it a cut answer makes the client ask for 128000
	}
	if told > 0 { // without it the client assumes a million
		env = append(env, "CLAUDE_CODE_MAX_CONTEXT_TOKENS="+strconv.Itoa(told))
	}
	if s.target.Model != "" {
		env = append(env, "ANTHROPIC_MODEL="+s.target.Model, "CLAUDE_CODE_SUBAGENT_MODEL="+s.target.Model,
			"ANTHROPIC_SMALL_FAST_MODEL="+s.target.Model, "ANTHROPIC_DEFAULT_HAIKU_MODEL="+s.target.Model)
	}
	return env
}

// client is the window and the answer size the client is told.
func (s *Shim) client() (window, answer int) {
	w := s.target.Window
	switch {
	case w <= 0:
		return 0, 8192
	case w < safeWindow:
		return safeWindow, max(1024, min(2048, w/6))
	default:
		return w, min(8192, w/5)
	}
}
