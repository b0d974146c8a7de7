package delegate

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"legwork/pkg/proc"
	"legwork/pkg/repo"
)

// testInfo is what is known of the test before it runs.
type testInfo struct {
	files    []string // relative to the top level
	texts    map[string]string
	lines    map[string]bool // of all of them, blanks cut; made when first needed
	declared []string        // literal names of tests in them
	filtered bool            // the command picks some of the tests by itself
	named    bool            // the files declare tests by name
	skips    bool            // the files speak of skipping
}

// check refuses what cannot work, before anything is made.
func (c *call) check(ctx context.Context) error {
	r := &c.req
	r.Spec, r.Test = strings.TrimSpace(r.Spec), strings.TrimSpace(r.Test)
	switch {
	case r.Spec == "":
		return badInput("spec: missing; say what the code must do, one rule a sentence")
	case len(r.Targets) == 0:
		return badInput("target_file: missing; name the file the model shall write")
	case len(r.Targets) > 5:
		return badInput("target_files: %d files; a model of this size keeps at most 5 in mind, split the work", len(r.Targets))
	case r.Test == "":
		return badInput("test_command: missing; write the test first, then give the command that runs it, such as \"node --test test/slug.test.js\"")
	case strings.ContainsRune(r.Test, 0):
		return badInput("test_command: it holds a NUL byte")
	case r.Attempts < 0 || r.Attempts > MaxAttempts:
		return badInput("max_attempts: %d; it is 1 to %d", r.Attempts, MaxAttempts)
	case r.Candidates < 0 || r.Candidates > 16:
		return badInput("candidates: %d; it is 1 to 16", r.Candidates)
	}
	if last, ok := proc.LastOfPipe(r.Test); ok {
		return refuse("test_command: its exit code is that of %q, whatever the tests do; leave the pipe out", last)
	}
	if r.Apply == "" {
		r.Apply = ApplyPass
	}
	if !slices.Contains([]string{ApplyPass, ApplyBest, ApplyNever}, r.Apply) {
		return badInput("apply: %q is unknown; it is pass, best or never", r.Apply)
	}
	c.asked = r.Attempts != 0
	if r.Attempts == 0 {
		r.Attempts = c.Config.Delegate.Attempts
	}
	if r.Candidates == 0 {
		r.Candidates = max(1, c.Config.Delegate.Candidates)
	}
	if c.AllowCommand != nil {
		if err := c.AllowCommand(r.Test); err != nil {
			return err
		}
	}
	return c.scope(ctx)
}

// scope finds the repository and holds the targets against the rules.
func (c *call) scope(ctx context.Context) error {
	var err error
	if c.repo, err = repo.Open(ctx, c.repoOptions(), c.req.Dir); err != nil {
		return err
	}
	if c.dir, err = c.repo.Rel(c.req.Dir, "."); err != nil {
		return err
	}
	if err := c.ownTreePaths(); err != nil {
		return err
	}
	for _, t := range c.req.Targets {
		rel, err := c.repo.Rel(c.req.Dir, t)
		if err != nil {
			return refuse("target_file: %v", err)
		}
		if rel == "." || strings.HasSuffix(t, "/") {
			return badInput("target_file: %s is a folder; name a file", t)
		}
		for _, allow := range []func(string) error{c.AllowRead, c.AllowWrite} {
			if err := c.allowed(allow, t, rel); err != nil {
				return refuse("target_file: %s: %v", t, err)
			}
		}
		if !slices.Contains(c.res.Targets, rel) {
			c.res.Targets = append(c.res.Targets, rel)
			c.langs = append(c.langs, languageOf(rel))
		}
	}
	if err := c.findTests(); err != nil {
		return err
	}
	for _, rel := range c.res.Targets {
		switch {
		case slices.Contains(c.test.files, rel) || isTestName(rel) && !c.plainSupport(rel):
			return refuse("target_file: %s is a test file; the model may not write what judges it", rel)
		case used(rel, c.req.Test):
			return refuse("target_file: %s decides what the test runs; the model may not write it", rel)
		}
		o, err := c.repo.Original(rel)
		if err != nil {
			return refuse("target_file: %v", err)
		}
		if !utf8.Valid(o.Data) || slices.Contains(o.Data, 0) {
			// An answer is UTF-8: bytes that are none would come back as others, in lines that nobody touched.
			return refuse("target_file: %s is not UTF-8 text; a model's answer would change bytes all over it, convert it first or edit it without a model", rel)
		}
		if strange(rel, string(o.Data)) {
			return refuse("target_file: %s holds tests of its own, and the model would write those too; move them into a file of their own", rel)
		}
		c.before = append(c.before, o)
	}
	return nil
}

// allowed holds a file against the user's rules, by the name it was given and by what that leads to.
func (c *call) allowed(allow func(string) error, name, rel string) error {
	if allow == nil {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.req.Dir, name)
	}
	if err := allow(name); err != nil {
		return err
	}
	return allow(filepath.Join(c.repo.Top, filepath.FromSlash(rel)))
}

// linked says that a path, relative to the top level, leads into a dependency folder, which the worktree shares.
func (c *call) linked(rel string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if slices.Contains(c.Config.Delegate.LinkDirs, part) {
			return true
		}
	}
	return false
}

// plainSupport lets a new helper in a test folder be written when nothing about its name is a test's.
func (c *call) plainSupport(rel string) bool {
	return !isTestName(path.Base(rel)) && path.Dir(rel) != "."
}

// findTests collects the test's files: those named, those in the command, and those that are called after
// a target. One that may not be read is an error: without it, nobody could tell what the model must not write.
func (c *call) findTests() error {
	names := map[string]string{} // by the name of the file
	add := func(p string) {
		rel, err := c.repo.Rel(c.req.Dir, p)
		if err != nil || slices.Contains(c.test.files, rel) || slices.Contains(c.res.Targets, rel) {
			return
		}
		abs := filepath.Join(c.repo.Top, filepath.FromSlash(rel))
		st, err := os.Stat(abs)
		switch {
		case err != nil:
		case st.Mode().IsRegular():
			c.test.files, names[rel] = append(c.test.files, rel), p
		case st.IsDir() && rel != ".":
			c.testsBelow(abs)
		}
	}
	for _, f := range c.req.TestFiles {
		add(f)
	}
	for w := range strings.FieldsSeq(c.req.Test) {
		w, _, _ = strings.Cut(strings.Trim(w, `"'`), "::")
		if strings.ContainsAny(w, "/.") && !strings.HasPrefix(w, "-") && !strings.HasSuffix(w, "...") {
			add(w)
		}
	}
	for _, rel := range c.res.Targets {
		for _, name := range siblings(rel) {
			add(filepath.Join(c.repo.Top, filepath.FromSlash(name)))
		}
	}
	for _, rel := range c.test.files {
		name := names[rel]
		if name == "" {
			name = filepath.Join(c.repo.Top, filepath.FromSlash(rel))
		}
		if err := c.allowed(c.AllowRead, name, rel); err != nil {
			return refuse("test file %s: %v", rel, err)
		}
	}
	c.readTests()
	return nil
}

// maxTestFiles bounds how many files of a test folder are looked at.
const maxTestFiles = 200

func (c *call) testsBelow(dir string) {
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || len(c.test.files) >= maxTestFiles {
			return filepath.SkipAll
		}
		if d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && p != dir) {
			return filepath.SkipDir
		}
		if rel, err := c.repo.Rel(c.repo.Top, p); err == nil && d.Type().IsRegular() && isTestName(rel) && !slices.Contains(c.test.files, rel) && !slices.Contains(c.res.Targets, rel) {
			c.test.files = append(c.test.files, rel)
		}
		return nil
	})
}

// siblings are the usual places of the test of a file.
func siblings(rel string) []string {
	dir, base := path.Split(rel)
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	var names []string
	switch languageOf(rel).family() {
	case "javascript":
		names = []string{stem + ".test" + ext, stem + ".spec" + ext}
	case "python":
		names = []string{"test_" + base, stem + "_test.py"}
	case "go":
		names = []string{stem + "_test.go"}
	case "rust":
		names = []string{stem + ".rs", "test_" + base}
	case "ruby":
		names = []string{stem + "_spec.rb", stem + "_test.rb"}
	}
	var out []string
	for _, n := range names {
		for _, d := range []string{dir, dir + "test/", dir + "tests/", dir + "__tests__/", "test/", "tests/", "spec/"} {
			out = append(out, d+n)
		}
	}
	return out
}

// filters are options with which a command picks some of the tests.
func filters() []string {
	return []string{
		"-k", "-m", "-t", "-g", "--grep", "-run", "--run", "--testNamePattern", "--test-name-pattern", "--filter", "-e", "--example", "-skip",
		"--deselect", "--lf", "--shard", "--test-only",
	}
}

func (c *call) readTests() {
	c.test.texts = map[string]string{}
	for _, rel := range c.test.files {
		b, err := os.ReadFile(filepath.Join(c.repo.Top, filepath.FromSlash(rel)))
		if err != nil || len(b) > 1<<20 {
			continue
		}
		text := string(b)
		c.test.texts[rel] = text
		c.test.named = c.test.named || len(declaredTests(languageOf(rel), text)) > 0
		low := strings.ToLower(text)
		c.test.skips = c.test.skips || strings.Contains(low, "skip") || strings.Contains(low, "xfail") || strings.Contains(low, "todo") || strings.Contains(low, "ignore")
	}
	c.test.filtered = strings.Contains(c.req.Test, "::")
	before := ""
	for w := range strings.FieldsSeq(c.req.Test) {
		name, _, _ := strings.Cut(w, "=")
		module := name == "-m" && strings.HasPrefix(path.Base(before), "python")
		c.test.filtered = c.test.filtered || slices.Contains(filters(), name) && !module
		before = w
	}
	// Only files that the command names for certain are sure to be run whole.
	for _, rel := range c.test.files {
		if !c.test.filtered && c.named(rel) {
			c.test.declared = append(c.test.declared, declaredTests(languageOf(rel), stripComments(languageOf(rel), c.test.texts[rel]))...)
		}
	}
}

// named says that the command runs the file for certain: it names it, or a folder above it.
func (c *call) named(rel string) bool {
	for w := range strings.FieldsSeq(c.req.Test) {
		got, err := c.repo.Rel(c.req.Dir, strings.Trim(w, `"'`))
		if err == nil && (got == rel || got != "." && strings.ContainsAny(w, "/") && strings.HasPrefix(rel, got+"/")) {
			return true
		}
	}
	return false
}
