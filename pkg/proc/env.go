package proc

import (
	"runtime"
	"slices"
	"strings"
)

// gitLocation are the variables by which git takes another repository than the one in the working folder
// (`git rev-parse --local-env-vars`, and the namespace). A hook or an editor may have set them for us; handed on, they
// would make a child's git write to the wrong repository, even with -C.
func gitLocation() []string {
	return []string{
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
		"GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE",
		"GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SUPER_PREFIX",
		"GIT_INTERNAL_SUPER_PREFIX", "GIT_SHALLOW_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_INDEX_VERSION",
		"GIT_QUARANTINE_PATH",
	}
}

// CleanEnv returns a copy of env for a child: git's location variables are gone, git never asks on a terminal
// (GIT_TERMINAL_PROMPT=0), and the keys that were handed to legwork are not handed on, because what a command prints is
// kept on disk. Later duplicates win, as the kernel's users expect.
func CleanEnv(env []string) []string {
	return slices.DeleteFunc(OwnEnv(env), isKey)
}

// OwnEnv is CleanEnv for another process of legwork: it keeps legwork's keys.
func OwnEnv(env []string) []string {
	drop := gitLocation()
	out := make([]string, 0, len(env)+2)
	for _, kv := range env {
		if !slices.ContainsFunc(drop, func(name string) bool { return isVar(kv, name) }) {
			out = append(out, kv)
		}
	}
	return SetEnv(out, "GIT_TERMINAL_PROMPT", "0")
}

// isKey recognises the variables that hold legwork's own keys: LEGWORK_API_KEY…, LEGWORK_…_API_KEY, and what the client
// hands to hooks of a plugin's options.
func isKey(kv string) bool {
	name, _, _ := strings.Cut(strings.ToUpper(kv), "=")
	return strings.HasPrefix(name, "LEGWORK_API_KEY") || strings.HasPrefix(name, "CLAUDE_PLUGIN_OPTION_") ||
		strings.HasPrefix(name, "LEGWORK_") && strings.HasSuffix(name, "_API_KEY")
}

// SetEnv sets name in env, replacing every earlier value, and returns the result.
func SetEnv(env []string, name, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return isVar(kv, name) })
	return append(env, name+"="+value)
}

func getEnv(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if isVar(kv, name) {
			value = kv[len(name)+1:]
		}
	}
	return value
}

// isVar tells whether kv is name=…; Windows ignores case.
func isVar(kv, name string) bool {
	if len(kv) <= len(name) || kv[len(name)] != '=' {
		return false
	}
	if runtime.GOOS == "windows" {
		return strings.EqualFold(kv[:len(name)], name)
	}
	return kv[:len(name)] == name
}
