package claudecode

import (
	"path/filepath"
	"slices"
	"strings"
)

// Restrictions are the rules of a session we start that say what it must not do, in the form of Claude Code's
// settings. The client reads the settings of the sources it is told to only; these go with it whatever those are.
type Restrictions struct {
	Deny []string `json:"deny,omitempty"`
	Ask  []string `json:"ask,omitempty"` // nobody can be asked in a headless session: refused
}

// Handover words the denies and asks of r for a session that works in dir instead. copyOf is the folder that tree is
// a copy of, and tree that copy; both "" where the session works in place.
//
// A pattern counts from where its rule is read: handed on as it stands, ./.env would mean the file of the session's
// folder alone. So each path rule is given for every folder it counts from, written from the root of the file
// system, and for the same place in the copy.
func (r *Rules) Handover(copyOf, tree string) Restrictions {
	return Restrictions{Deny: r.reworded(r.Deny, copyOf, tree), Ask: r.reworded(r.Ask, copyOf, tree)}
}

// Join adds the rules of other that are not there yet.
func (s Restrictions) Join(other Restrictions) Restrictions {
	return Restrictions{Deny: union(s.Deny, other.Deny), Ask: union(s.Ask, other.Ask)}
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, text := range b {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

func (r *Rules) reworded(rules []Rule, copyOf, tree string) []string {
	var out []string
	for _, rule := range rules {
		out = union(out, r.words(rule, copyOf, tree))
	}
	return out
}

func (r *Rules) words(rule Rule, copyOf, tree string) []string {
	if !takesPath(rule.tool) || rule.pattern == "" {
		return []string{rule.Text}
	}
	pattern := filepath.ToSlash(rule.pattern)
	var out, bases []string
	switch {
	case strings.HasPrefix(pattern, "//"), strings.HasPrefix(pattern, "~/"):
		abs := strings.TrimPrefix(pattern, "/")
		if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
			abs = filepath.ToSlash(filepath.Join(r.home, rest))
		}
		out = []string{rule.Text}
		if rest, ok := strings.CutPrefix(abs, filepath.ToSlash(copyOf)+"/"); ok && tree != "" {
			out = append(out, rule.tool+"("+fromRoot(tree, rest)+")")
		}
		return out
	case strings.HasPrefix(pattern, "/"):
		pattern, bases = pattern[1:], []string{rule.base, r.root}
	default:
		out, bases = []string{rule.Text}, []string{r.root} // as it stands, for the folder of the session
		if !strings.HasPrefix(pattern, "./") && !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
			pattern = "**/" + pattern
		}
		pattern = strings.TrimPrefix(pattern, "./")
	}
	for _, base := range bases {
		for _, dir := range []string{base, moved(base, copyOf, tree)} {
			if dir != "" {
				out = union(out, []string{rule.tool + "(" + fromRoot(dir, pattern) + ")"})
			}
		}
	}
	return out
}

// moved is the place of dir in the copy of a folder; "" when it has none.
func moved(dir, copyOf, tree string) string {
	if tree == "" {
		return ""
	}
	rel, err := filepath.Rel(realPath(copyOf), realPath(dir))
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.Join(realPath(tree), rel)
}

// fromRoot writes a pattern below a folder as one from the root of the file system. What would be a pattern in the
// folder's own name is taken as it is.
func fromRoot(dir, pattern string) string {
	name := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(filepath.ToSlash(dir))
	return "//" + strings.Trim(name, "/") + "/" + pattern
}

// takesPath tells whether a tool's rules hold file patterns.
func takesPath(tool string) bool {
	return slices.Contains([]string{"Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "NotebookRead", "Glob", "Grep", "LS"}, tool)
}
