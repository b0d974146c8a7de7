package repo

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Shared is the state of what every worktree shares: the files in the git folder that run code or change what git
// does, and the stash, which is one list for all. Whoever writes them from inside a worktree reaches the user's own
// repository.
type Shared map[string]string

// stashRef is the name of the stash; its state is the list of its commits.
const stashRef = "refs/stash"

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
	// Asked of git, because a reference may be kept in several ways. It fails when there is no stash.
	if out, err := r.git(context.Background(), r.Top, nil, "rev-list", "--walk-reflogs", stashRef, "--"); err == nil {
		s[stashRef] = strings.Join(strings.Fields(string(out)), " ")
	}
	return s
}

// Diff names what changed from s to now. Of the stash it says how to get back what is gone from it: git keeps the
// commits for a while.
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
	if at := slices.Index(out, stashRef); at >= 0 {
		out[at] += stashWords(strings.Fields(s[stashRef]), strings.Fields(now[stashRef]))
	}
	return out
}

func stashWords(before, now []string) string {
	var words []string
	if gone := without(before, now); len(gone) > 0 {
		slices.Reverse(gone) // the newest is stored last, to be on top again
		for i, id := range gone {
			gone[i] = "git stash store " + id
		}
		words = append(words, "stashed work was taken away, this brings it back: `"+strings.Join(gone, "; ")+"`")
	}
	if more := without(now, before); len(more) > 0 {
		words = append(words, "new in it: "+strings.Join(more, ", "))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, "; ") + ")"
}

// without is list without what is in other.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return slices.Contains(other, id) })
}
