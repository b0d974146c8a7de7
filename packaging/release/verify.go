package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Verify checks the committed binaries: their checksums, that the source commit is in the history and named the same
// version, that nothing else was changed under that version (Unbumped), and that the targets to rebuild come out the
// same, byte for byte.
func (p *Project) Verify(ctx context.Context, rebuild []Target) error {
	r, err := p.Record()
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there are no binaries in %s; `make release VERSION=…` makes them", prebuilt)
	}
	if err != nil {
		return err
	}
	if err := p.Sums(); err != nil {
		return err
	}
	p.say("checksums are right")
	if err := p.hasCommit(ctx, r.Commit); err != nil {
		return err
	}
	changed, err := p.Changed(ctx, r)
	if err != nil {
		return err
	}
	if err := changed.Err(); err != nil {
		return err
	}
	if n := len(changed.Code); n > 0 {
		p.say("warning: %d source files changed since %s was built; users get them with the next `make release`", n, r.Version)
	}
	if len(rebuild) == 0 {
		return nil
	}
	return p.rebuild(ctx, r, rebuild)
}

// rebuild builds targets of the source commit again and compares.
func (p *Project) rebuild(ctx context.Context, r Record, targets []Target) error {
	tree, err := p.extract(ctx, r.Commit)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tree) }()
	sources, err := HashSources(tree)
	if err != nil {
		return err
	}
	if sources != r.Sources {
		return fmt.Errorf("the sources of %.12s have the hash %s, %s/SOURCE says %s", r.Commit, sources, prebuilt, r.Sources)
	}
	dir, err := os.MkdirTemp("", "legwork-rebuilt-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, t := range targets {
		file := filepath.Join(dir, t.File())
		if err := (builder{dir: tree, tool: p.Go, goVersion: r.Go, commit: r.Commit}).build(ctx, t, file); err != nil {
			return err
		}
		got, _, err := hashFile(file)
		if err != nil {
			return err
		}
		want, _, err := hashFile(p.path(prebuilt + "/" + t.File()))
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s built from %.12s with %s is %s, the committed one is %s", t, r.Commit, r.Go, got, want)
		}
		p.say("%s built again from %.12s with %s: the same bytes", t, r.Commit, r.Go)
	}
	return nil
}

// hasCommit tells whether the source commit is one of this branch's.
func (p *Project) hasCommit(ctx context.Context, commit string) error {
	if _, err := p.git(ctx, "cat-file", "-e", commit+"^{commit}"); err != nil {
		if shallow, _ := p.git(ctx, "rev-parse", "--is-shallow-repository"); shallow == "true" {
			return fmt.Errorf("this clone is shallow and lacks the source commit %.12s: run git fetch --unshallow (in CI: fetch-depth: 0)", commit)
		}
		return fmt.Errorf("the source commit %.12s, which %s/SOURCE names, is not in this repository", commit, prebuilt)
	}
	if _, err := p.git(ctx, "merge-base", "--is-ancestor", commit, "HEAD"); err != nil {
		return fmt.Errorf("the source commit %.12s is not in the history of this branch", commit)
	}
	return nil
}

// Changed is what differs between a release's source commit and the commit that is checked out.
type Changed struct {
	Then, Now Version
	Plugin    []string // files that the client loads as they are
	Code      []string // files that reach users as binaries
}

// pluginFiles are what a client loads as it is. Other files of a plugin (README, docs) change nothing it does.
var pluginFiles = []string{".claude-plugin", "hooks", "commands", "skills", "agents", "bin", ":(exclude)" + prebuilt}

// Changed compares the commit that is checked out with the source commit of r.
func (p *Project) Changed(ctx context.Context, r Record) (Changed, error) {
	c := Changed{Then: r.Version}
	if err := p.hasCommit(ctx, r.Commit); err != nil {
		return c, err
	}
	for _, at := range []struct {
		commit  string
		version *Version
	}{{r.Commit, &c.Then}, {"HEAD", &c.Now}} {
		text, err := p.git(ctx, "show", at.commit+":"+manifest)
		if err != nil {
			return c, err
		}
		if *at.version, err = manifestVersion([]byte(text)); err != nil {
			return c, err
		}
	}
	if c.Then != r.Version {
		return c, fmt.Errorf("%s/SOURCE says %s, but its commit %.12s is version %s", prebuilt, r.Version, r.Commit, c.Then)
	}
	code := append(append([]string{}, sources...), ":(exclude,glob)**/*_test.go", ":(exclude,glob)**/testdata/**")
	for _, part := range []struct {
		files []string
		into  *[]string
	}{{pluginFiles, &c.Plugin}, {code, &c.Code}} {
		text, err := p.git(ctx, append([]string{"diff", "--name-only", r.Commit, "HEAD", "--"}, part.files...)...)
		if err != nil {
			return c, err
		}
		*part.into = strings.Fields(text)
	}
	return c, nil
}

// Err is what is wrong with a change (H04): a client keeps the files it has as long as the version stays, so one that
// installed before a change and one that installed after it would run different plugins under one version. Code alone
// may change: the binaries that users run are the same until the next release.
func (c Changed) Err() error {
	if len(c.Plugin) == 0 || c.Now != c.Then {
		return nil
	}
	return fmt.Errorf("these files changed since %s was released, so the version must change: run `make release VERSION=…`, or `make bump VERSION=…` to go on with the same binaries:\n  %s",
		c.Then, strings.Join(c.Plugin, "\n  "))
}
