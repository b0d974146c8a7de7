package repo

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"legwork/pkg/fsx"
)

// planned is one link to be made: where, relative to the top level, and what it points to.
type planned struct{ rel, to string }

// plan lists the links that stand for a dependency folder of the user's: one for the whole folder, or, when
// packages of the repository itself are linked in it (workspaces), one for each entry, so that those lead to
// the worktree's own packages. Through the whole folder a test would load the user's files.
func (t *Tree) plan(rel string) ([]planned, error) {
	from := filepath.Join(t.repo.Top, filepath.FromSlash(rel))
	own, err := t.workspaces(from)
	if err != nil {
		return nil, err
	}
	if len(own) == 0 {
		return []planned{{rel, from}}, nil
	}
	return t.entries(rel, from, own)
}

// entries plans a link for each entry of a folder; a scope ("@org") with own packages in it is a folder again.
func (t *Tree) entries(rel, from string, own map[string]string) ([]planned, error) {
	list, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	var out []planned
	for _, e := range list {
		full, at := filepath.Join(from, e.Name()), path.Join(rel, e.Name())
		switch to, ok := own[full]; {
		case ok:
			out = append(out, planned{at, to})
		case e.IsDir() && strings.HasPrefix(e.Name(), "@") && hasBelow(own, full):
			inner, err := t.entries(at, full, own)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
		default:
			out = append(out, planned{at, full})
		}
	}
	return out, nil
}

func hasBelow(own map[string]string, dir string) bool {
	for p := range own {
		if filepath.Dir(p) == dir {
			return true
		}
	}
	return false
}

// workspaces finds the links of a dependency folder that lead to packages of the repository, with the
// worktree's counterpart of each.
func (t *Tree) workspaces(from string) (map[string]string, error) {
	own := map[string]string{}
	look := func(dir string) error {
		list, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range list {
			if e.Type()&os.ModeSymlink == 0 {
				continue
			}
			full := filepath.Join(dir, e.Name())
			real, err := filepath.EvalSymlinks(full)
			if err != nil || !fsx.Inside(t.repo.Top, real) {
				continue
			}
			rel, err := filepath.Rel(t.repo.Top, real)
			if err != nil || rel == "." || strings.Contains(filepath.ToSlash(rel)+"/", "/"+filepath.Base(from)+"/") || strings.HasPrefix(filepath.ToSlash(rel)+"/", filepath.Base(from)+"/") {
				continue // a package manager's own store
			}
			if _, err := os.Lstat(filepath.Join(t.Dir, rel)); err == nil {
				own[full] = filepath.Join(t.Dir, rel)
			}
		}
		return nil
	}
	if err := look(from); err != nil {
		return nil, err
	}
	scopes, err := filepath.Glob(filepath.Join(escapeGlob(from), "@*"))
	if err != nil {
		return nil, err
	}
	for _, s := range scopes {
		if st, err := os.Lstat(s); err == nil && st.IsDir() {
			if err := look(s); err != nil {
				return nil, err
			}
		}
	}
	return own, nil
}

// escapeGlob takes the meaning out of a path's special characters; Windows has no escape, and few of them.
func escapeGlob(p string) string {
	if filepath.Separator == '\\' {
		return p
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(p)
}
