package delegate

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"legwork/pkg/fsx"
	"legwork/pkg/proc"
)

// pythonEnv makes a package that is installed in "editable" form, which means as a pointer into the user's
// tree, be found in the worktree instead: the test would judge the old file otherwise. Its folders go to the
// front of PYTHONPATH, which beats what installations add. Without such an installation nothing changes.
func (c *call) pythonEnv(env []string) []string {
	if !slices.ContainsFunc(c.langs, func(l language) bool { return l.name == "python" }) {
		return env
	}
	var dirs []string
	for _, site := range c.sitePackages(env) {
		for _, dir := range c.editable(site) {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	if len(dirs) == 0 {
		return env
	}
	if old := valueOf(env, "PYTHONPATH"); old != "" {
		dirs = append(dirs, old)
	}
	return proc.SetEnv(env, "PYTHONPATH", strings.Join(dirs, string(os.PathListSeparator)))
}

func valueOf(env []string, name string) string {
	v := ""
	for _, kv := range env {
		if k, x, _ := strings.Cut(kv, "="); k == name {
			v = x
		}
	}
	return v
}

// sitePackages are the folders of the project's and the active virtual environment, and of the interpreter
// that is first in PATH.
func (c *call) sitePackages(env []string) []string {
	roots := []string{filepath.Join(c.repo.Top, ".venv"), filepath.Join(c.repo.Top, "venv"), valueOf(env, "VIRTUAL_ENV")}
	for _, dir := range filepath.SplitList(valueOf(env, "PATH")) {
		if exists(filepath.Join(dir, "python3")) {
			roots = append(roots, filepath.Dir(dir))
			break
		}
	}
	var out []string
	for _, root := range roots {
		if root == "" {
			continue
		}
		pattern := filepath.Join(root, "lib", "python3*", "*-packages")
		if runtime.GOOS == "windows" {
			pattern = filepath.Join(root, "Lib", "site-packages")
		}
		found, _ := filepath.Glob(pattern) // the pattern is well formed
		out = append(out, found...)
	}
	return out
}

// editable lists the worktree's counterparts of folders in the user's tree that an installation points to.
func (c *call) editable(site string) []string {
	var out []string
	add := func(path string) {
		path = filepath.Clean(path)
		real, err := filepath.EvalSymlinks(path)
		if err != nil || !fsx.Inside(c.repo.Top, real) {
			return
		}
		rel, err := filepath.Rel(c.repo.Top, real)
		if err != nil || c.linked(rel) {
			return
		}
		if st, err := os.Stat(filepath.Join(c.tree.Dir, rel)); err == nil && st.IsDir() {
			out = append(out, filepath.Join(c.tree.Dir, rel))
		}
	}
	for _, pattern := range []string{"*.pth", "*.egg-link"} {
		files, _ := filepath.Glob(filepath.Join(site, pattern)) // the pattern is well formed
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				continue
			}
			for line := range strings.SplitSeq(string(b), "\n") {
				if line = strings.TrimSpace(line); filepath.IsAbs(line) {
					add(line)
				}
			}
		}
	}
	// Newer tools write a finder with a table of packages: {'name': '/path/of/name'}.
	finders, _ := filepath.Glob(filepath.Join(site, "__editable__*.py")) // the pattern is well formed
	for _, f := range finders {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for _, lit := range literals(languageOf("x.py"), string(b), 2) {
			if filepath.IsAbs(lit) {
				add(filepath.Dir(lit))
			}
		}
	}
	return out
}
