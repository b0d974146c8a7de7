package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Shared is the state of the files in the git folder that every worktree shares and that run code or
// change what git does: whoever writes them from inside a worktree reaches the user's own repository.
type Shared map[string]string

// Shared takes the state now.
func (r *Repo) Shared() Shared {
	s := Shared{}
	add := func(name string) {
		if b, err := os.ReadFile(filepath.Join(r.Common, name)); err == nil {
			s[name] = hashOf(b)
		}
	}
	for _, name := range []string{"config", "config.worktree", filepath.Join("info", "attributes"), filepath.Join("info", "exclude")} {
		add(name)
	}
	hooks, err := os.ReadDir(filepath.Join(r.Common, "hooks"))
	if err == nil {
		for _, h := range hooks {
			if !strings.HasSuffix(h.Name(), ".sample") {
				add(filepath.Join("hooks", h.Name()))
			}
		}
	}
	return s
}

// Diff names what changed from s to now.
func (s Shared) Diff(now Shared) []string {
	var out []string
	for name, h := range now {
		if s[name] != h {
			out = append(out, filepath.ToSlash(name))
		}
	}
	for name := range s {
		if _, ok := now[name]; !ok {
			out = append(out, filepath.ToSlash(name))
		}
	}
	slices.Sort(out)
	return out
}
