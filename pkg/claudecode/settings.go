// Package claudecode holds what legwork knows of its client: here, the permission rules the user has given to
// Claude Code, and what they say about a command or file of ours.
//
// An MCP tool's arguments cannot be matched by permission rules, so a user who allows our tool would allow every
// command through it. Therefore we read the rules for Bash and Read ourselves and answer as Claude Code would:
// deny before ask before allow, each part of a command on its own, from every settings file.
//
// Rules: never looser than the client; where the text of a command cannot be checked, ask; the answer "allow" does
// not exist (None leaves the matter to the user's rule for our tool). What the client does was measured with the
// real one (testdata/probes.txt); where we are stricter, a comment says so.
//
// Pitfall: this is no sandbox. It keeps the user's word, it does not stop a program from doing what it likes.
package claudecode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Rule is one permission rule as written: Bash(git push:*), Read(./.env), Bash.
type Rule struct {
	Text    string // as written
	File    string // the settings file
	tool    string
	pattern string // inside the brackets, "" for the whole tool
	base    string // what a pattern that begins with / is relative to
	path    *pathPattern
}

// Rules are the permission rules in force for one session directory.
type Rules struct {
	Deny, Ask, Allow []Rule
	// Dirs are additionalDirectories: what may be read besides the working directory.
	Dirs []string
	// Problems lists settings files that could not be read. While there are any, nothing is taken as allowed.
	Problems []string

	root     string // session directory
	home     string
	noBypass bool
}

// Place says whose rules to read.
type Place struct {
	// Dir is the directory the session was started in (CLAUDE_PROJECT_DIR).
	Dir string
	// Env is the environment as KEY=value; nil means the process's own.
	Env []string
	// Managed replaces the system's directory of managed settings; for tests and unusual systems.
	Managed string
}

func (p Place) get(key string) string {
	if p.Env == nil {
		return os.Getenv(key)
	}
	value := ""
	for _, kv := range p.Env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			value = v
		}
	}
	return value
}

func (p Place) home() string {
	if runtime.GOOS == "windows" {
		return p.get("USERPROFILE")
	}
	return p.get("HOME")
}

// settings is the part of a settings file that matters here.
type settings struct {
	Permissions struct {
		Allow, Ask, Deny             []string
		AdditionalDirectories        []string
		DisableBypassPermissionsMode string
	}
	AllowManagedPermissionRulesOnly bool
}

// LoadRules reads the rules of all sources. It does not fail: a file that cannot be read becomes a Problem.
//
// Measured: rules of a project that is not trusted do not allow, but deny; the local file of the git root counts
// in its subdirectories, the project file only in its own directory; trust of a parent directory is none.
func LoadRules(p Place) *Rules {
	r := &Rules{home: p.home(), root: realPath(p.Dir)}
	config := p.get("CLAUDE_CONFIG_DIR")
	if config == "" && r.home != "" {
		config = filepath.Join(r.home, ".claude")
	}
	git := gitRoot(r.root)
	trusted := r.trusted(p, config)
	managedOnly := false
	for _, file := range managedFiles(p.Managed) {
		s := r.read(file, filepath.Dir(file), true)
		managedOnly = managedOnly || s.AllowManagedPermissionRulesOnly
	}
	own := !managedOnly
	if config != "" {
		r.read(filepath.Join(config, "settings.json"), r.home, own)
	}
	r.read(filepath.Join(r.root, ".claude", "settings.json"), r.root, own && trusted)
	r.read(filepath.Join(r.root, ".claude", "settings.local.json"), r.root, own)
	if git != "" && git != r.root {
		// The client does not read this one from here. Its denies are the team's word all the same.
		r.read(filepath.Join(git, ".claude", "settings.json"), git, false)
		r.read(filepath.Join(git, ".claude", "settings.local.json"), git, own)
	}
	return r
}

// read adds the rules of one file; without allow, only what restricts.
func (r *Rules) read(file, base string, allow bool) settings {
	var s settings
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s
	case err == nil && len(strings.TrimSpace(string(data))) > 0:
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		r.Problems = append(r.Problems, fmt.Sprintf("%s: %v", file, err))
		return settings{}
	}
	r.Deny = appendRules(r.Deny, s.Permissions.Deny, file, base)
	r.Ask = appendRules(r.Ask, s.Permissions.Ask, file, base)
	if allow {
		r.Allow = appendRules(r.Allow, s.Permissions.Allow, file, base)
		for _, d := range s.Permissions.AdditionalDirectories {
			r.Dirs = append(r.Dirs, realPath(r.expand(d, base)))
		}
	}
	for _, rule := range append(r.Deny, r.Ask...) {
		if rule.File == file && (rule.tool == "Read" || rule.edits()) && rule.pattern != "" && rule.path == nil {
			r.Problems = append(r.Problems, fmt.Sprintf("%s: the pattern of %s is not understood", file, rule.Text))
		}
	}
	r.noBypass = r.noBypass || s.Permissions.DisableBypassPermissionsMode == "disable"
	return s
}

func (r *Rules) expand(path, base string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(r.home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}

func appendRules(to []Rule, texts []string, file, base string) []Rule {
	for _, text := range texts {
		rule := Rule{Text: text, File: file, base: base}
		rule.tool = strings.TrimSpace(text)
		if open := strings.IndexByte(text, '('); open > 0 && strings.HasSuffix(strings.TrimSpace(text), ")") {
			rule.tool = strings.TrimSpace(text[:open])
			inner := strings.TrimSpace(text)
			rule.pattern = inner[open+1 : len(inner)-1]
		}
		if rule.pattern == "*" || rule.pattern == ":*" { // the same as the bare tool
			rule.pattern = ""
		}
		if takesPath(rule.tool) && rule.pattern != "" {
			rule.path = compilePath(rule.pattern)
		}
		to = append(to, rule)
	}
	return to
}

// trusted tells whether the user accepted the trust dialog for the session directory itself.
func (r *Rules) trusted(p Place, config string) bool {
	files := []string{filepath.Join(r.home, ".claude.json")}
	if p.get("CLAUDE_CONFIG_DIR") != "" {
		files = []string{filepath.Join(config, ".claude.json")}
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var s struct {
			Projects map[string]struct{ HasTrustDialogAccepted bool }
		}
		if json.Unmarshal(data, &s) != nil {
			continue
		}
		for dir, p := range s.Projects {
			if p.HasTrustDialogAccepted && filepath.IsAbs(dir) && realPath(dir) == r.root {
				return true
			}
		}
	}
	return false
}

// managedFiles are the settings an administrator gives.
func managedFiles(dir string) []string {
	if dir == "" {
		switch runtime.GOOS {
		case "darwin":
			dir = "/Library/Application Support/ClaudeCode"
		case "windows":
			dir = `C:\Program Files\ClaudeCode`
		default:
			dir = "/etc/claude-code"
		}
	}
	files := []string{filepath.Join(dir, "managed-settings.json")}
	more, err := filepath.Glob(filepath.Join(dir, "managed-settings.d", "*.json"))
	if err == nil {
		files = append(files, more...)
	}
	return files
}

// realPath resolves links as far as the path exists; the rest is kept as written.
func realPath(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(realPath(parent), filepath.Base(path))
}

func gitRoot(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if filepath.Dir(d) == d {
			return ""
		}
	}
}
