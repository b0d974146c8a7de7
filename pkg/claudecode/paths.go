package claudecode

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// located is a path argument of a command, resolved.
type located struct {
	arg  string
	path string // absolute, lexically clean
	real string // links resolved as far as it exists
}

func (r *Rules) locate(cwd, arg string) located {
	p := filepath.FromSlash(arg)
	switch {
	case arg == "~":
		p = r.home
	case strings.HasPrefix(arg, "~/"):
		p = filepath.Join(r.home, p[2:])
	case !filepath.IsAbs(p):
		p = filepath.Join(cwd, p)
	}
	p = filepath.Clean(p)
	return located{arg: arg, path: p, real: realPath(p)}
}

// inside tells whether a path may be read without asking: in the working directory or an additional one, links
// resolved.
func (r *Rules) inside(cwd string, l located) bool {
	for _, dir := range append([]string{cwd, r.root}, r.Dirs...) {
		if dir == "" {
			continue
		}
		rel, err := filepath.Rel(realPath(dir), l.real)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// readRule returns the first rule of a list that covers reading a path, by its own name or by what it links to.
func (r *Rules) readRule(list []Rule, cwd string, l located) *Rule {
	return r.fileRule(list, cwd, l, func(rule Rule) bool { return rule.tool == "Read" })
}

// fileRule is the first rule of a kind that covers a path.
func (r *Rules) fileRule(list []Rule, cwd string, l located, kind func(Rule) bool) *Rule {
	for i, rule := range list {
		if kind(rule) && (r.matchPath(rule, cwd, l.path) || r.matchPath(rule, realPath(cwd), l.real)) {
			return &list[i]
		}
	}
	return nil
}

// mayRead tells whether a rule allows a path outside: by the name it was asked for and by what it links to, since
// a link in the project must not borrow the permission of its target.
func (r *Rules) mayRead(cwd string, l located) bool {
	for _, rule := range r.Allow {
		if rule.tool == "Read" && r.matchPath(rule, cwd, l.path) && r.matchPath(rule, realPath(cwd), l.real) {
			return true
		}
	}
	return false
}

// expandArg returns what an argument names: itself, or the files a pattern matches. Patterns are expanded because a
// rule about .env must hold for .e* too; the client does not do that. Without dirs, directories are left out.
func (r *Rules) expandArg(cwd string, w word, dirs bool) []located {
	one := r.locate(cwd, w.val)
	if !w.glob {
		return []located{one}
	}
	matches, err := filepath.Glob(one.path)
	if err != nil || len(matches) == 0 {
		return []located{one}
	}
	out := make([]located, 0, len(matches))
	for _, m := range matches {
		// A directory among them is not read: cat says so, and grep -r is looked at elsewhere.
		if st, err := os.Stat(m); !dirs && err == nil && st.IsDir() {
			continue
		}
		out = append(out, located{arg: w.val, path: m, real: realPath(m)})
	}
	return out
}

// maxWalk bounds the search below a directory.
const maxWalk = 5000

// below finds a file under a directory that a Read rule denies, for commands that read everything there. The
// client does not look (grep -r prints the file); we do.
func (r *Rules) below(cwd, dir string) (string, *Rule) {
	var found string
	var by *Rule
	n := 0
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if n++; n > maxWalk || by != nil {
			return filepath.SkipAll
		}
		if err != nil {
			return nil // what cannot be listed cannot be read either
		}
		if d.IsDir() && p != dir && (d.Name() == ".git" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if rule := r.readRule(r.Deny, cwd, located{path: p, real: p}); rule != nil && !d.IsDir() {
			found, by = p, rule
		}
		return nil
	})
	return found, by
}

// hasReadDeny tells whether any Read rule denies anything.
func (r *Rules) hasReadDeny() bool {
	for _, rule := range r.Deny {
		if rule.tool == "Read" {
			return true
		}
	}
	return false
}
