package repo

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// IncludeFile, at the top of a repository, lists by gitignore patterns which ignored files a worktree gets a
// copy of, such as .env.local. Without it none are copied.
const IncludeFile = ".worktreeinclude"

// maxIncluded bounds how many ignored files are copied.
const maxIncluded = 200

// include copies the ignored files that the user wants in worktrees. The list comes with the repository and
// may be hostile: git names only what lies inside, links are left out, sizes are capped, all is reported.
func (t *Tree) include(ctx context.Context, m *mirrorer) error {
	if st, err := m.from.Lstat(IncludeFile); err != nil || !st.Mode().IsRegular() {
		return nil //nolint:nilerr // nothing is asked for
	}
	out, err := t.repo.git(ctx, t.repo.Top, nil, "ls-files", "-z", "--others", "--ignored", "--exclude-from="+IncludeFile)
	if err != nil {
		t.note("%s could not be read; no ignored file was copied", IncludeFile)
		return nil //nolint:nilerr // best effort, and said
	}
	var copied []string
	skipped := 0
	for rel := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		name := filepath.FromSlash(rel)
		st, err := m.from.Lstat(name)
		switch {
		case rel == "" || t.mirror[rel]:
			continue
		case err != nil || !st.Mode().IsRegular() || st.Size() > MaxUntracked || len(copied) == maxIncluded:
			skipped++
			continue
		}
		if err := copyPath(m.from, m.to, name, st); err != nil {
			return fmt.Errorf("%s: %w", rel, err)
		}
		copied = append(copied, rel)
	}
	if len(copied)+skipped > 0 {
		t.note("%d ignored files copied by %s (%s), %d left out (links, over %d MB, or too many)", len(copied), IncludeFile, few(copied), skipped, MaxUntracked>>20)
	}
	return nil
}

// few names the first of a list.
func few(list []string) string {
	if len(list) > 3 {
		return strings.Join(list[:3], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}
