// Package release makes a release of the plugin and checks one.
//
// A release is two commits. The first sets the version everywhere; it is the source commit. The second adds the
// binaries built from it, and beside them their checksums and the name of the source commit: a binary cannot know the
// commit that contains it. The binaries hold no time, no path and no setting of the machine that built them, so
// anybody gets the same bytes from the source commit.
//
// Pitfall: go takes settings from the environment, from a file of the user (`go env -w`), and from go.mod, and an
// empty variable does not hide the file's. So the build turns the file off (GOENV=off) and sets what changes code.
package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Project is a checkout of the project.
type Project struct {
	Root string    // the folder with go.mod
	Out  io.Writer // progress, for a person
	Go   string    // the go command; "" is the one on the PATH
}

func (p *Project) path(name string) string { return filepath.Join(p.Root, filepath.FromSlash(name)) }

func (p *Project) say(format string, args ...any) { fmt.Fprintf(p.Out, format+"\n", args...) }

// git runs git in the project and returns what it printed, without the last line end.
func (p *Project) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = p.Root
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(errs.Bytes()))
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// Release makes version v: it bumps, commits, builds all targets from that commit and commits the binaries. A run that
// ended in between can be repeated. It never tags and never pushes.
func (p *Project) Release(ctx context.Context, v Version) error {
	if dirty, err := p.git(ctx, "status", "--porcelain"); err != nil {
		return err
	} else if dirty != "" {
		return fmt.Errorf("there are changes that are not committed; a release is made from a commit:\n%s", dirty)
	}
	if err := p.Bump(ctx, v); err != nil {
		return err
	}
	if changed, err := p.git(ctx, "status", "--porcelain"); err != nil {
		return err
	} else if changed != "" {
		if _, err := p.git(ctx, "commit", "-q", "-a", "-m", "Version "+v.String()); err != nil {
			return err
		}
	}
	source, err := p.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	if err := p.writePrebuilt(ctx, v, source); err != nil {
		return err
	}
	if _, err := p.git(ctx, "add", "-f", "--", prebuilt); err != nil {
		return err
	}
	if _, err := p.git(ctx, "commit", "-q", "-m", "Binaries of "+v.String(), "--", prebuilt); err != nil {
		return err
	}
	p.say("%s is committed, built from %.12s. To publish it: git tag v%s && git push --follow-tags", v, source, v)
	return nil
}

// Bump writes v into every file of versionFiles and dates the changelog's heading. It refuses a version that is not
// above all tags, the committed binaries and the files' own; only the version that the files already name may stay.
func (p *Project) Bump(ctx context.Context, v Version) error {
	if err := p.mayBecome(ctx, v); err != nil {
		return err
	}
	for _, f := range versionFiles {
		if err := p.setVersion(f, v); err != nil {
			return err
		}
	}
	return p.dateChangelog(v, time.Now().UTC())
}

// mayBecome tells why the project cannot get version v.
func (p *Project) mayBecome(ctx context.Context, v Version) error {
	now, err := p.Version()
	if err != nil {
		return err
	}
	if v.Less(now) {
		return fmt.Errorf("version %s is below %s, which the files name", v, now)
	}
	if r, err := p.Record(); err == nil && !r.Version.Less(v) {
		return fmt.Errorf("version %s is not above %s, the version of the binaries in %s", v, r.Version, prebuilt)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	tags, err := p.git(ctx, "tag", "--list", "v*")
	if err != nil {
		return err
	}
	for tag := range strings.FieldsSeq(tags) {
		if t, err := ParseVersion(strings.TrimPrefix(tag, "v")); err == nil && !t.Less(v) {
			return fmt.Errorf("version %s is not above the tag %s", v, tag)
		}
	}
	return nil
}

// writePrebuilt builds every target from the source commit and replaces bin/prebuilt with the result.
func (p *Project) writePrebuilt(ctx context.Context, v Version, source string) error {
	tree, err := p.extract(ctx, source)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tree) }()
	b := builder{dir: tree, tool: p.Go, commit: source}
	env, err := b.goEnv(ctx, "GOVERSION")
	if err != nil {
		return err
	}
	b.goVersion = env["GOVERSION"]
	sources, err := HashSources(tree)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(p.path("bin"), ".prebuilt-") // beside it: the old binaries stay until all new ones are there
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	sums, err := p.buildAll(ctx, b, dir, AllTargets)
	if err != nil {
		return err
	}
	r := Record{Version: v, Commit: source, Go: b.goVersion, Sources: sources}
	if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums), 0o644); err != nil { //nolint:gosec // for everybody
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "SOURCE"), []byte(r.String()), 0o644); err != nil { //nolint:gosec // for everybody
		return err
	}
	return errors.Join(os.Chmod(dir, 0o755), os.RemoveAll(p.path(prebuilt)), os.Rename(dir, p.path(prebuilt))) //nolint:gosec // for everybody
}

// Build builds the targets of the tree as it stands into dir, the way a release does.
func (p *Project) Build(ctx context.Context, dir string, targets []Target) error {
	_, err := p.buildAll(ctx, builder{dir: p.Root, tool: p.Go}, dir, targets)
	return err
}

// MaxSize is what one binary may have, in bytes. All five, compressed, are about 30 MB of every clone, which is to stay
// below 60 MB.
const MaxSize = 15 << 20

// buildAll builds targets into dir and returns the lines of a SHA256SUMS.
func (p *Project) buildAll(ctx context.Context, b builder, dir string, targets []Target) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for everybody
		return "", err
	}
	var sums strings.Builder
	for _, t := range targets {
		file := filepath.Join(dir, t.File())
		if err := b.build(ctx, t, file); err != nil {
			return "", err
		}
		sum, size, err := hashFile(file)
		if err != nil {
			return "", err
		}
		p.say("%s  %5.1f MiB  %s", sum[:12], float64(size)/(1<<20), t.File())
		if size > MaxSize {
			return "", fmt.Errorf("%s has %d bytes, more than %d: everybody who installs the plugin loads all of them", t.File(), size, MaxSize)
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, t.File())
	}
	return sums.String(), nil
}
