package delegate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"legwork/pkg/proc"
	"legwork/pkg/runners"
)

// The test runs in a worktree. A path into the user's own tree, in the command or in a variable, would let it judge
// the file that is there, and write there.

// ownTreePaths refuses a command that names such a path.
func (c *call) ownTreePaths() error {
	home := valueOf(c.env(), "HOME")
	for _, w := range runners.Words(c.req.Test, home) {
		found := ""
		c.eachOwn(w, func(path, rel string) string {
			if found == "" && !c.linked(rel) {
				found = path
			}
			return path
		})
		if found != "" {
			return badInput("test_command: %s is an absolute path into the project, but the test runs in a copy of it; give it relative to %s", found, c.req.Dir)
		}
	}
	return nil
}

// ownTreeEnv makes every path into the user's tree that a variable holds, alone, in a list (PYTHONPATH, NODE_PATH) or
// in an option (GOFLAGS, RUBYOPT), lead to its counterpart in the worktree. Dependency folders that are linked, and
// what is in the user's tree alone because git ignores it (tools, caches), stay.
func (c *call) ownTreeEnv(env []string) []string {
	links := c.linkedFolders()
	for _, kv := range slices.Clone(env) {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains([]string{"HOME", "USERPROFILE", "PWD", "OLDPWD", "TMPDIR"}, name) || strings.HasPrefix(name, "LEGWORK_") {
			continue
		}
		moved := c.eachOwn(value, func(path, rel string) string {
			if slices.ContainsFunc(links, func(l string) bool { return rel == l || strings.HasPrefix(rel, l+"/") }) {
				return path
			}
			there := filepath.Join(c.tree.Dir, filepath.FromSlash(rel))
			if exists(path) && !exists(there) {
				return path
			}
			return there
		})
		if moved != value {
			env = proc.SetEnv(env, name, moved)
		}
	}
	if slices.ContainsFunc(links, func(l string) bool { return filepath.Base(l) == ".venv" }) {
		// "uv run" would install the project, at the worktree's place, into the user's environment first.
		env = proc.SetEnv(env, "UV_NO_SYNC", "1")
	}
	return env
}

// eachOwn finds the paths into the repository in a text, which may be a path, a list or hold other words, and puts
// for each what replace returns. rel is the path relative to the top level.
func (c *call) eachOwn(text string, replace func(path, rel string) string) string {
	if filepath.IsAbs(text) && (exists(text) || !strings.Contains(text, string(os.PathListSeparator))) { // one path, with any letters in it
		if rel, ok := c.own(text); ok {
			return replace(text, rel)
		}
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		path := ""
		if opens(text, i) {
			path = c.ownAt(text[i:])
		}
		if rel, ok := c.own(path); ok && path != "" {
			b.WriteString(replace(path, rel))
			i += len(path)
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// separators end a path inside a longer text, and stand in front of one.
const separators = " \t\n=,;:\"'()&|<>@"

// opens says that an absolute path may begin at i: at the start, behind a separator, or behind an option's letter as
// in -I/usr/include.
func opens(text string, i int) bool {
	if !strings.HasPrefix(text[i:], string(filepath.Separator)) && !filepath.IsAbs(text[i:]) {
		return false
	}
	switch {
	case i == 0 || strings.IndexByte(separators, text[i-1]) >= 0:
		return true
	case i >= 2 && text[i-2] == '-':
		return i == 2 || strings.IndexByte(separators, text[i-3]) >= 0
	}
	return false
}

// ownAt is the path that a text begins with: up to the next separator, those in the repository's own name left out.
func (c *call) ownAt(text string) string {
	from := 0
	for _, top := range []string{c.repo.Top, strings.TrimSuffix(filepath.Clean(c.req.Dir), string(filepath.Separator)+filepath.FromSlash(c.dir))} {
		if strings.HasPrefix(text, top) {
			from = len(top)
		}
	}
	if end := strings.IndexAny(text[from:], separators); end >= 0 {
		return text[:from+end]
	}
	return text
}

// own is an absolute path relative to the top level; false for one that lies elsewhere. Links are followed.
func (c *call) own(path string) (string, bool) {
	if !filepath.IsAbs(path) {
		return "", false
	}
	rel, err := c.repo.Rel(c.repo.Top, filepath.Clean(path))
	if err == nil {
		return rel, true
	}
	// Rel refuses what it cannot follow; a path that says it lies in the tree is one in the tree.
	if rel, err := filepath.Rel(c.repo.Top, path); err == nil && filepath.IsLocal(rel) {
		if _, err := os.Lstat(path); err == nil {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}
