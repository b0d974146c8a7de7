package delegate

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"legwork/pkg/runners"
)

// The worktree has links to the user's dependency folders: a test command that installs would write through them.

// installer is a program that fills dependency folders.
type installer struct {
	names   []string
	verbs   []string // its subcommands that change a folder
	bare    bool     // it installs without a subcommand too
	folders []string // by the names they have in delegate.link_dirs
}

// installers is the table.
func installers() []installer {
	python := []string{".venv", "venv"}
	return []installer{
		{[]string{"npm"}, []string{
			"ci", "clean-install", "ic", "install-clean", "isntall-clean", "install", "i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal", "isntall", "add",
			"uninstall", "un", "unlink", "remove", "rm", "r", "update", "up", "upgrade", "udpate", "prune", "dedupe", "ddp", "link", "ln", "install-test", "it", "cit",
			"install-ci-test", "clean-install-test", "rebuild", "rb", "audit",
		}, false, []string{"node_modules"}},
		{[]string{"yarn", "pnpm", "bun"}, []string{
			"install", "i", "add", "a", "ci", "remove", "rm", "un", "uninstall", "upgrade", "update", "up", "link", "unlink", "dedupe", "prune", "import", "rebuild", "rb",
		}, false, []string{"node_modules"}},
		{[]string{"yarn"}, nil, true, []string{"node_modules"}},
		{[]string{"pip", "pip3"}, []string{"install", "uninstall"}, false, python},
		{[]string{"uv"}, []string{"sync", "add", "remove", "venv", "pip install", "pip sync", "pip uninstall"}, false, python},
		{[]string{"poetry", "pdm", "pipenv", "rye", "flit"}, []string{"install", "add", "remove", "update", "sync", "uninstall"}, false, python},
		{[]string{"venv", "virtualenv"}, nil, true, python},
		{[]string{"bundle", "bundler"}, []string{"install", "update", "add", "remove", "clean"}, true, []string{"vendor"}},
		{[]string{"composer"}, []string{"install", "i", "update", "u", "upgrade", "require", "r", "remove", "rm", "dump-autoload"}, false, []string{"vendor"}},
		{[]string{"go"}, []string{"mod vendor", "work vendor"}, false, []string{"vendor"}},
		{[]string{"cargo"}, []string{"vendor"}, false, []string{"vendor"}},
	}
}

// changes are the dependency folders that a program would change; nil for programs that change none.
func (i installer) changes(p runners.Program) []string {
	if !slices.Contains(i.names, versionless(p.Name)) {
		return nil
	}
	first, second := verbs(p.Args)
	switch {
	case first == "" && (!i.bare || slices.ContainsFunc(p.Args, func(a string) bool { return a == "--version" || a == "-v" || a == "--help" || a == "-h" })):
	case first == "" || slices.Contains(i.verbs, first) || slices.Contains(i.verbs, first+" "+second) || i.verbs == nil && i.folders[0] == ".venv":
		return i.folders
	}
	return nil
}

// versionless is "pip" for "pip3.11".
func versionless(name string) string {
	return strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.")
}

// verbs are the first two words of arguments that are neither options nor values of the options that such programs
// take in front of a subcommand.
func verbs(args []string) (first, second string) {
	takes := []string{"--prefix", "-C", "--dir", "--cwd", "--directory", "--filter", "-F", "-w", "--workspace", "--project", "--cache-dir", "--python", "-p", "--registry", "--gemfile", "-d", "--working-dir", "--cache"}
	var words []string
	for i := 0; i < len(args) && len(words) < 2 && args[i] != "--"; i++ {
		switch a := args[i]; {
		case slices.Contains(takes, a):
			i++
		case !strings.HasPrefix(a, "-"):
			words = append(words, a)
		}
	}
	words = append(words, "", "")
	return words[0], words[1]
}

// installs refuses a command that would install into a folder of the user's which the worktree links to.
func (c *call) installs() error {
	folders := c.linkedFolders()
	for _, p := range runners.Programs(c.req.Test, c.req.Dir) {
		var hit []string
		for _, i := range installers() {
			hit = append(hit, i.changes(p)...)
		}
		if p.Name == "python" && len(p.Args) > 0 && filepath.Base(p.Args[0]) == "setup.py" && (slices.Contains(p.Args, "develop") || slices.Contains(p.Args, "install")) {
			hit = []string{".venv", "venv"}
		}
		for _, f := range folders {
			if slices.Contains(hit, filepath.Base(f)) {
				return refuse("test_command: %q would install into your %s, which the worktree only links to; leave it out, or set delegate.link_dirs without %s",
					clip(strings.Join(append([]string{p.Name}, p.Args...), " "), 80), f, filepath.Base(f))
			}
		}
	}
	return nil
}

// linkedFolders are the dependency folders that are linked, whole or entry by entry, relative to the top level.
func (c *call) linkedFolders() []string {
	var out []string
	for _, rel := range c.tree.Links() {
		parts := strings.Split(rel, "/")
		at := slices.IndexFunc(parts, func(p string) bool { return slices.Contains(c.Config.Delegate.LinkDirs, p) })
		if at >= 0 {
			rel = strings.Join(parts[:at+1], "/")
		}
		if !slices.Contains(out, rel) {
			out = append(out, rel)
		}
	}
	return out
}

// behind says that a text names a path below a linked folder that is no cache: what it tells of would be a write into
// the user's own dependencies.
func (c *call) behind(text string) bool {
	for _, rel := range c.linkedFolders() {
		name := regexp.QuoteMeta(rel)
		if real, err := filepath.EvalSymlinks(filepath.Join(c.repo.Top, filepath.FromSlash(rel))); err == nil {
			name += "|" + regexp.QuoteMeta(real)
		}
		cache := regexp.MustCompile(`/(?:\.cache|\.vite[\w-]*|__pycache__|\.pytest_cache)(?:/|$)`)
		for _, m := range regexp.MustCompile(`(?:`+name+`)(?:/[^\s'":]*)?`).FindAllString(text, -1) {
			if !cache.MatchString(m) {
				return true
			}
		}
	}
	return false
}

// topLevels notes, for every linked folder, what lies in it, and for a virtual environment what is installed in it.
func (c *call) topLevels() map[string]string {
	out := map[string]string{}
	for _, rel := range c.linkedFolders() {
		dir := filepath.Join(c.repo.Top, filepath.FromSlash(rel))
		dirs := []string{dir}
		for _, pattern := range []string{"lib/python3*/site-packages", "Lib/site-packages"} {
			more, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern))) // the pattern is well formed
			dirs = append(dirs, more...)
		}
		var b strings.Builder
		for _, d := range dirs {
			list, err := os.ReadDir(d)
			if err != nil {
				b.WriteString("gone ")
			}
			for _, e := range list {
				if st, err := e.Info(); err == nil && !strings.HasPrefix(e.Name(), ".cache") && !strings.HasPrefix(e.Name(), ".vite") && e.Name() != "__pycache__" {
					fmt.Fprintf(&b, "%s %v %s\n", e.Name(), st.Mode(), changed(st))
				}
			}
		}
		out[rel] = b.String()
	}
	return out
}

// changed is when a file was written. For a folder it says nothing that counts: caches come and go in it.
func changed(st os.FileInfo) string {
	if st.IsDir() {
		return ""
	}
	return st.ModTime().Format(time.RFC3339Nano)
}

// watchLinks says which of the user's dependency folders a run changed, each once.
func (g *gate) watchLinks() {
	now := g.c.topLevels()
	for _, rel := range g.c.linkedFolders() {
		if now[rel] != g.folders[rel] && !slices.Contains(g.warned, rel) {
			g.warned = append(g.warned, rel)
			g.c.note("WARNING: %s; look at it", folderChanged(rel))
		}
	}
	g.folders = now
}

func folderChanged(rel string) string {
	return "your " + rel + " changed while the test ran: the worktree links to it"
}
