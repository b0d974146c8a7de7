package delegate

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"legwork/pkg/proc"
)

// imports says which module a candidate needs that is neither standard, nor in the repository, nor
// installed there; "" when all are found. An import that nothing depends on is taken out instead, where the
// policy lets rules mend; dropped tells which. Languages without a rule here are left to the gate.
func (c *call) imports(ctx context.Context, files map[string]string) (dropped []string, why string) {
	for i, rel := range c.res.Targets {
		for {
			missing := c.missingIn(ctx, i, files)
			if missing == "" {
				break
			}
			text := files[rel]
			if c.mends {
				text = dropIdleImport(c.langs[i], text, missing)
			}
			if text == files[rel] {
				return nil, fmt.Sprintf("%s imports %q, which is neither in the standard library, nor in the project, nor installed; do without it", path.Base(rel), missing)
			}
			files[rel] = text
			dropped = append(dropped, "the import of "+missing+" left out, which nothing used")
		}
	}
	return dropped, ""
}

// missingIn is the first module that the i-th target imports and nobody has.
func (c *call) missingIn(ctx context.Context, i int, files map[string]string) string {
	rel := c.res.Targets[i]
	code := stripComments(c.langs[i], files[rel])
	switch c.langs[i].family() {
	case "javascript":
		return c.missingNode(rel, code, files)
	case "python":
		return c.missingPython(ctx, rel, code, files)
	case "ruby":
		return c.missingRuby(ctx, rel, code, files)
	case "go":
		return c.missingGo(code)
	case "rust":
		return c.missingRust(code)
	}
	return ""
}

// nodeModules are node's own.
func nodeModules() []string {
	return strings.Fields(`assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events fs
		http http2 https inspector module net os path perf_hooks process punycode querystring readline repl sea sqlite stream string_decoder sys test
		timers tls trace_events tty url util v8 vm wasi worker_threads zlib`)
}

func (c *call) missingNode(rel, code string, files map[string]string) string {
	re := regexp.MustCompile(`(?m)(?:^\s*(?:import|export)\b[^'"\n;]*?(?:from\s*)?|\bimport\(\s*|\brequire\(\s*|^\s*\}\s*from\s*)['"]([^'"\n]+)['"]`)
	for _, m := range re.FindAllStringSubmatch(code, -1) {
		name := m[1]
		if strings.HasPrefix(name, "node:") {
			if slices.Contains(nodeModules(), strings.Split(name[5:], "/")[0]) {
				continue
			}
			return name
		}
		if strings.HasPrefix(name, ".") {
			if !c.nodeFile(path.Join(path.Dir(rel), name), files) {
				return name
			}
			continue
		}
		if strings.HasPrefix(name, "/") || strings.HasPrefix(name, "#") || strings.HasPrefix(name, "@/") || strings.HasPrefix(name, "~") {
			continue // aliases: only the project's tools know them
		}
		parts := strings.SplitN(name, "/", 3)
		pkg := parts[0]
		if strings.HasPrefix(pkg, "@") && len(parts) > 1 {
			pkg += "/" + parts[1]
		}
		if slices.Contains(nodeModules(), parts[0]) || c.above(rel, "node_modules/"+pkg) || c.above(rel, "node_modules/@types/"+pkg) || c.packageNames(rel, pkg) {
			continue
		}
		return name
	}
	return ""
}

// nodeFile says that a relative import leads to a file of the tree or to a target.
func (c *call) nodeFile(p string, files map[string]string) bool {
	stem := strings.TrimSuffix(p, path.Ext(p))
	for _, try := range []string{p, p + ".js", p + ".ts", p + ".mjs", p + ".cjs", p + ".tsx", p + ".jsx", p + ".json", p + ".node", stem + ".ts", stem + ".tsx", p + "/index.js", p + "/index.ts", p + "/index.mjs", p + "/package.json"} {
		if _, ok := files[try]; ok {
			return true
		}
		if st, err := os.Stat(c.tree.Path(try)); err == nil && !st.IsDir() {
			return true
		}
	}
	return false
}

// above looks for a path beside the target and in every folder above it.
func (c *call) above(rel, name string) bool {
	for dir := path.Dir(rel); ; dir = path.Dir(dir) {
		if _, err := os.Stat(c.tree.Path(path.Join(dir, name))); err == nil {
			return true
		}
		if dir == "." || dir == "/" {
			return false
		}
	}
}

// packageNames says that a workspace of the repository is called so: its package.json, or one the target's
// package knows how to find.
func (c *call) packageNames(rel, pkg string) bool {
	for dir := path.Dir(rel); ; dir = path.Dir(dir) {
		b, err := os.ReadFile(c.tree.Path(path.Join(dir, "package.json")))
		if err == nil && regexp.MustCompile(`"name"\s*:\s*"`+regexp.QuoteMeta(pkg)+`"`).Match(b) {
			return true
		}
		if err == nil && strings.Contains(string(b), `"workspaces"`) && strings.Contains(string(b), pkg) {
			return true
		}
		if dir == "." || dir == "/" {
			return false
		}
	}
}

// commonPython saves a start of the interpreter for what everybody imports.
func commonPython() []string {
	return strings.Fields(`__future__ abc argparse array ast asyncio base64 bisect calendar collections contextlib copy csv dataclasses datetime decimal
		difflib enum fractions functools glob hashlib heapq html io inspect itertools json logging math numbers operator os pathlib pickle queue random re
		secrets shutil socket sqlite3 statistics string struct subprocess sys tempfile textwrap threading time traceback types typing unicodedata urllib
		uuid warnings weakref xml zipfile zlib`)
}

func (c *call) missingPython(ctx context.Context, rel, code string, files map[string]string) string {
	re := regexp.MustCompile(`(?m)^(?:import ([\w., ]+?)|from (\w[\w.]*) import\b.*)(?:\s+as .*)?\s*$`)
	var ask []string
	for _, m := range re.FindAllStringSubmatch(code, -1) {
		for name := range strings.SplitSeq(m[1]+m[2], ",") {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			top, _, _ := strings.Cut(name, ".")
			if top == "" || slices.Contains(commonPython(), top) || slices.Contains(ask, top) || c.inProject(rel, top, files) {
				continue
			}
			ask = append(ask, top)
		}
	}
	if len(ask) == 0 {
		return ""
	}
	// The interpreter knows best what is installed.
	python := "python3"
	for _, v := range []string{".venv", "venv"} {
		if p := c.tree.Path(v + "/bin/python"); exists(p) {
			python = p
		}
	}
	const script = "import importlib.util as u, sys\nfor n in sys.argv[1:]:\n  try: found = u.find_spec(n) is not None\n  except Exception: found = True\n  if not found: print(n)\n"
	out := &tailText{}
	exit, err := c.Children.Run(ctx, proc.Spec{Argv: append([]string{python, "-c", script}, ask...), Dir: c.gate.dir, Env: c.env(), Stdout: out, Timeout: 20 * time.Second})
	if err != nil || !exit.OK() {
		return "" // no interpreter to ask; the gate will tell
	}
	return strings.TrimSpace(firstLine(out.String()))
}

type tailText struct{ strings.Builder }

func exists(p string) bool { _, err := os.Stat(p); return err == nil }

// inProject says that a top-level module may be the repository's own: by a file or folder of that name near
// the target, at the top or below src.
func (c *call) inProject(rel, top string, files map[string]string) bool {
	for f := range files {
		if strings.TrimSuffix(path.Base(f), ".py") == top {
			return true
		}
	}
	if c.above(rel, top) || c.above(rel, top+".py") {
		return true
	}
	for _, dir := range []string{"src", "lib", "python", c.dir, path.Join(c.dir, "src")} {
		if exists(c.tree.Path(path.Join(dir, top))) || exists(c.tree.Path(path.Join(dir, top+".py"))) {
			return true
		}
	}
	return false
}

func (c *call) missingGo(code string) string {
	block := regexp.MustCompile(`(?ms)^import\s*(\(.*?^\)|(?:\w+ |\. |_ )?"[^"]+")`)
	var text strings.Builder
	for _, name := range []string{"go.mod", "vendor/modules.txt", "go.work"} {
		for dir := c.dir; ; dir = path.Dir(dir) {
			b, err := os.ReadFile(c.tree.Path(path.Join(dir, name)))
			if err == nil {
				text.Write(b)
			}
			if dir == "." || dir == "/" {
				break
			}
		}
	}
	mods := text.String()
	if mods == "" {
		return ""
	}
	for _, b := range block.FindAllStringSubmatch(code, -1) {
		for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(b[1], -1) {
			first, _, _ := strings.Cut(m[1], "/")
			if !strings.Contains(first, ".") || knownModule(mods, m[1]) {
				continue
			}
			return m[1]
		}
	}
	return ""
}

// knownModule says that a module file names the module that holds the package.
func knownModule(mods, pkg string) bool {
	for p := pkg; p != "." && p != "/"; p = path.Dir(p) {
		if regexp.MustCompile(`(?m)(?:^|[\s"])` + regexp.QuoteMeta(p) + `(?:$|[\s"])`).MatchString(mods) {
			return true
		}
	}
	return false
}

func (c *call) missingRust(code string) string {
	var text strings.Builder
	for dir := c.dir; ; dir = path.Dir(dir) {
		if b, err := os.ReadFile(c.tree.Path(path.Join(dir, "Cargo.toml"))); err == nil {
			text.Write(b)
		}
		if dir == "." || dir == "/" {
			break
		}
	}
	manifest := text.String()
	if manifest == "" {
		return ""
	}
	known := []string{"std", "core", "alloc", "crate", "self", "super", "proc_macro", "test"}
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:pub )?(?:mod|enum|struct|use [\w:]+ as) (\w+)`).FindAllStringSubmatch(code, -1) {
		known = append(known, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:pub )?(?:use|extern crate) (?:::)?(\w+)\s*(?:::|;)`).FindAllStringSubmatch(code, -1) {
		dashed := strings.ReplaceAll(m[1], "_", "[-_]")
		if slices.Contains(known, m[1]) || m[1][0] >= 'A' && m[1][0] <= 'Z' || regexp.MustCompile(`(?m)(?:^|[\s".])`+dashed+`["\s.\]=]`).MatchString(manifest) {
			continue
		}
		if exists(filepath.Join(c.gate.dir, "src", m[1]+".rs")) || exists(filepath.Join(c.gate.dir, "src", m[1], "mod.rs")) {
			continue
		}
		return m[1]
	}
	return ""
}
