package claudecode

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Session says how to start one headless session.
type Session struct {
	Client     Client
	Model      string
	ID         string   // UUID of the session
	Resume     bool     // ID exists already; go on with it
	Mode       string   // permission mode, as in our configuration
	Allow      []string // permission rules
	Disallow   []string
	Dirs       []string // folders beside the working folder that edits may reach
	Tools      []string // built-in tools offered; nil: all of them
	Sources    []string // settings loaded: user, project, local
	MaxTurns   int
	Settings   string // path of the file with SettingsJSON
	NoServers  string // path of the file with NoServersJSON
	PromptFile string // path of a text added to the system prompt; "" for none
}

// NoServersJSON is a configuration without MCP servers: a session started with it cannot reach us, so an agent
// cannot start agents.
const NoServersJSON = `{"mcpServers":{}}`

// Argv is the command line. The prompt goes to stdin (UserTurn), so it may have any length; nothing secret and
// nothing that a Windows batch file would damage stands in it.
func (s Session) Argv() []string {
	mode := s.Mode
	if mode == "default" {
		mode = "manual"
	}
	argv := []string{
		s.Client.Path, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--model", s.Model,
		"--permission-mode", mode, "--setting-sources", strings.Join(s.Sources, ","), "--strict-mcp-config", "--mcp-config", s.NoServers,
		"--settings", s.Settings, "--max-turns", strconv.Itoa(s.MaxTurns),
	}
	if s.Tools != nil {
		argv = append(argv, "--tools", strings.Join(s.Tools, ","), "--disable-slash-commands")
	}
	if allow := s.rules(); len(allow) > 0 {
		argv = append(argv, "--allowedTools", strings.Join(allow, ","))
	}
	if len(s.Dirs) > 0 {
		argv = append(append(argv, "--add-dir"), s.Dirs...)
	}
	if len(s.Disallow) > 0 {
		argv = append(argv, "--disallowedTools", strings.Join(s.Disallow, ","))
	}
	if s.PromptFile != "" {
		argv = append(argv, "--append-system-prompt-file", s.PromptFile)
	}
	if s.Resume {
		return append(argv, "--resume", s.ID)
	}
	return append(argv, "--session-id", s.ID)
}

// rules are the permission rules without those that would let the session edit files anywhere: in the mode that
// accepts edits, the working folder needs no rule, and a bare rule would open everything else.
func (s Session) rules() []string {
	if s.Mode != ModeEdits {
		return s.Allow
	}
	return slices.DeleteFunc(slices.Clone(s.Allow), func(rule string) bool {
		return slices.Contains([]string{"Edit", "Write", "MultiEdit", "NotebookEdit"}, rule)
	})
}

// Env is the client's environment: base without what would lead it elsewhere, then own.
func Env(base, own []string) []string {
	out := scrub(base)
	for _, kv := range slices.Concat(direct(), own) {
		name, _, _ := strings.Cut(kv, "=")
		out = slices.DeleteFunc(out, func(have string) bool { return strings.HasPrefix(have, name+"=") })
		out = append(out, kv)
	}
	return out
}

// direct keeps the way to 127.0.0.1 free of proxies.
func direct() []string {
	return []string{"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost"}
}

// elsewhere are variables that lead the client to another server or identity. A project's settings can set variables
// over the environment, so they are emptied in settings that beat the project's.
func elsewhere() []string {
	return []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_UNIX_SOCKET", "CLAUDE_CODE_OAUTH_TOKEN",
		"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_USE_GATEWAY",
		"CLAUDE_CODE_USE_MANTLE", "CLAUDE_CODE_USE_ANTHROPIC_AWS", "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD",
		"ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_FOUNDRY_BASE_URL",
	}
}

// SettingsJSON is the file that forces own over every other setting; Claude Code lets a project's settings beat the
// process environment, but not this. Instructions below the folder without ("" for none) are not loaded: with a
// configuration folder of ours, the user's own one above a worktree would pass for a part of the project. Commits are
// not attributed to Claude, which did not write them. The restrictions are the user's word wherever the session runs.
func SettingsJSON(own []string, without string, rules Restrictions) ([]byte, error) {
	env := map[string]string{}
	for _, name := range elsewhere() {
		env[name] = ""
	}
	for _, kv := range slices.Concat(direct(), own) {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	settings := map[string]any{"env": env, "attribution": map[string]string{"commit": "", "pr": ""}, "permissions": rules}
	if without != "" {
		settings["claudeMdExcludes"] = []string{filepath.ToSlash(without) + "/**"}
	}
	return json.Marshal(settings)
}

// UserTurn is one line for the client's stdin.
func UserTurn(text string) ([]byte, error) {
	line, err := json.Marshal(map[string]any{
		"type": "user", "message": map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": text}}},
	})
	return append(line, '\n'), err
}

// ConfigDir is the client's own configuration folder under an environment.
func ConfigDir(env []string) string {
	if dir := variable(env, "CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(homeOf(env), ".claude")
}

// HasSession tells whether a session is kept in a configuration folder, so that it can be resumed.
func HasSession(configDir, id string) bool {
	found, err := filepath.Glob(filepath.Join(configDir, "projects", "*", id+".jsonl"))
	return err == nil && len(found) > 0
}
