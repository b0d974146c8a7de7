package release

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A toolchain whose programs hold the system, the processor, the linker's flags and the sources they are made from.
const fakeGo = `#!/bin/sh
case $1 in
env) echo '{"GOVERSION":"go1.99.1","GOPROXY":"off"}'; exit ;;
esac
[ "$GOENV" = off ] && [ -z "$GOFLAGS" ] && [ -z "$GOEXPERIMENT" ] || { echo "the user's settings reach the build" >&2; exit 1; }
while [ "$1" != -o ]; do [ "$1" = -ldflags ] && link=$2; shift; done
grep -rq broken cmd && { echo "it does not compile" >&2; exit 1; }
{ echo "$GOOS $GOARCH $GOAMD64 $GOTOOLCHAIN $link"; cat cmd/legwork/main.go pkg/cli/serve.go; } >"$2"
`

// repo is a small project with what a release touches, in a git repository of its own.
func repo(t *testing.T) *Project {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for go is a shell script")
	}
	dir := t.TempDir()
	p := &Project{Root: filepath.Join(dir, "a project"), Out: io.Discard, Go: filepath.Join(dir, "go")}
	if err := os.WriteFile(p.Go, []byte(fakeGo), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		manifest:              "{\n  \"name\": \"legwork\",\n  \"version\": \"0.1.0\"\n}\n",
		"server.json":         "{\n  \"version\": \"0.1.0\",\n  \"identifier\": \"x/v0.1.0/legwork-0.1.0-linux.mcpb\"\n}\n",
		"pkg/cli/serve.go":    "package cli\n\nvar version = \"0.1.0\"\n",
		"pkg/cli/cli_test.go": "package cli\n",
		"cmd/legwork/main.go": "package main\n",
		"go.mod":              "module legwork\n", "go.sum": "", "buildflags": "-tags=x\n",
		changelog:          "# Changes\n\n## Unreleased\n\n- all of it\n",
		"hooks/hooks.json": "{}\n", "bin/legwork": "#!/bin/sh\n", "README.md": "read me\n",
	} {
		put(t, p, name, text)
	}
	mustGit(t, p, "init", "-q", "-b", "main")
	commit(t, p, "all")
	return p
}

func mustGit(t *testing.T, p *Project, args ...string) string {
	t.Helper()
	out, err := p.git(t.Context(), append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func commit(t *testing.T, p *Project, message string) {
	t.Helper()
	mustGit(t, p, "add", "-A")
	mustGit(t, p, "commit", "-q", "-m", message)
}

// author gives Release's own commits a name.
func author(t *testing.T, p *Project) {
	t.Helper()
	mustGit(t, p, "config", "user.name", "t")
	mustGit(t, p, "config", "user.email", "t@t")
}

func wantErr(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("got error %v, want one with %q", err, w)
		}
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	p := repo(t)
	author(t, p)
	if err := p.Release(t.Context(), Version{0, 2, 0}); err != nil {
		t.Fatal(err)
	}
	if left := mustGit(t, p, "status", "--porcelain"); left != "" {
		t.Errorf("not committed: %s", left)
	}
	source := mustGit(t, p, "rev-parse", "HEAD^")
	r, err := p.Record()
	if err != nil || r.Commit != source || r.Version != (Version{0, 2, 0}) || r.Go != "go1.99.1" {
		t.Errorf("%+v, %v; HEAD^ is %s", r, err, source)
	}
	for name, want := range map[string]string{
		manifest: `"version": "0.2.0"`, "pkg/cli/serve.go": `version = "0.2.0"`, changelog: "## 0.2.0 (2",
		"server.json": `"x/v0.2.0/legwork-0.2.0-linux.mcpb"`,
	} {
		if b, err := os.ReadFile(p.path(name)); err != nil || !strings.Contains(string(b), want) || strings.Contains(string(b), "0.1.0") {
			t.Errorf("%s lacks %q: %s", name, want, b)
		}
	}
	binary, err := os.ReadFile(p.path(prebuilt + "/legwork-linux-arm64"))
	if err != nil || !strings.HasPrefix(string(binary), "linux arm64 v1 go1.99.1 -s -w -funcalign=4 -X legwork/pkg/cli.source="+source+"\n") ||
		!strings.Contains(string(binary), `version = "0.2.0"`) {
		t.Errorf("%v: %s", err, binary)
	}
	if err := p.Verify(t.Context(), AllTargets); err != nil {
		t.Error(err)
	}
	// From another folder, by another clone.
	other := &Project{Root: filepath.Join(t.TempDir(), "b"), Out: io.Discard, Go: p.Go}
	mustGit(t, p, "clone", "-q", p.Root, other.Root)
	if err := other.Verify(t.Context(), AllTargets); err != nil {
		t.Error(err)
	}
}

func TestReleaseRefuses(t *testing.T) {
	t.Parallel()
	p := repo(t)
	author(t, p)
	put(t, p, "new.txt", "x")
	wantErr(t, p.Release(t.Context(), Version{0, 2, 0}), "not committed", "new.txt")
	commit(t, p, "new")
	wantErr(t, p.Release(t.Context(), Version{0, 0, 9}), "below 0.1.0")
	mustGit(t, p, "tag", "v0.3.0")
	wantErr(t, p.Release(t.Context(), Version{0, 3, 0}), "not above the tag v0.3.0")
	if err := p.Release(t.Context(), Version{0, 4, 0}); err != nil {
		t.Fatal(err)
	}
	wantErr(t, p.Release(t.Context(), Version{0, 4, 0}), "not above 0.4.0")
	put(t, p, changelog, "# Changes\n")
	commit(t, p, "no heading")
	wantErr(t, p.Release(t.Context(), Version{0, 5, 0}), "Unreleased")
}

// A release whose build failed can be made again, with the same version; the first may keep the version in the files.
func TestReleaseAgain(t *testing.T) {
	t.Parallel()
	p := repo(t)
	author(t, p)
	put(t, p, "cmd/legwork/main.go", "package broken\n")
	commit(t, p, "broken")
	wantErr(t, p.Release(t.Context(), Version{0, 1, 0}), "does not compile")
	put(t, p, "cmd/legwork/main.go", "package main\n")
	commit(t, p, "mended")
	if err := p.Release(t.Context(), Version{0, 1, 0}); err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(t.Context(), AllTargets); err != nil {
		t.Error(err)
	}
}

func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	p := repo(t)
	author(t, p)
	wantErr(t, p.Verify(t.Context(), nil), "no binaries")
	if err := p.Release(t.Context(), Version{0, 2, 0}); err != nil {
		t.Fatal(err)
	}
	// Tests, documentation and code may change: no user gets them under the same version.
	put(t, p, "README.md", "more")
	put(t, p, "pkg/cli/cli_test.go", "package cli // more\n")
	commit(t, p, "a test")
	r, err := p.Record()
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Changed(t.Context(), r)
	if err != nil || len(c.Plugin)+len(c.Code) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	put(t, p, "cmd/legwork/main.go", "package main // more\n")
	commit(t, p, "code")
	if c, err = p.Changed(t.Context(), r); err != nil || len(c.Code) != 1 || c.Err() != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if err := p.Verify(t.Context(), AllTargets); err != nil {
		t.Errorf("the source commit still makes the same binaries: %v", err)
	}
	// H04: what the client loads as it is may not.
	put(t, p, "hooks/hooks.json", "{ }\n")
	commit(t, p, "a hook")
	wantErr(t, p.Verify(t.Context(), nil), "hooks/hooks.json", "make bump")
	put(t, p, changelog, "## Unreleased\n")
	if err := p.Bump(t.Context(), Version{0, 2, 1}); err != nil {
		t.Fatal(err)
	}
	commit(t, p, "bump")
	if err := p.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	// A binary that the source commit does not make.
	put(t, p, prebuilt+"/legwork-linux-amd64", "something else")
	wantErr(t, p.Verify(t.Context(), nil), "SHA256SUMS")
	sum, _, _ := hashFile(p.path(prebuilt + "/legwork-linux-amd64"))
	sums, _ := os.ReadFile(p.path(prebuilt + "/SHA256SUMS"))
	put(t, p, prebuilt+"/SHA256SUMS", sum+string(sums)[64:])
	wantErr(t, p.Verify(t.Context(), AllTargets[:1]), "linux/amd64 built from")
	// A history without the source commit.
	shallow := &Project{Root: filepath.Join(t.TempDir(), "s"), Out: io.Discard, Go: p.Go}
	mustGit(t, p, "clone", "-q", "--depth=1", "file://"+p.Root, shallow.Root)
	wantErr(t, shallow.Verify(t.Context(), nil), "shallow", "fetch-depth: 0")
}

// What `bin/legwork` computes for a clone is what a release writes down: a clone that has not been changed runs the
// shipped binary.
func TestHashSourcesIsTheLaunchers(t *testing.T) {
	t.Parallel()
	p := repo(t)
	put(t, p, "pkg/cli/testdata/x.go", "package x\n")
	put(t, p, "pkg/B/b.go", "package b\n")
	want, err := HashSources(p.Root)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("../../bin/legwork")
	if err != nil {
		t.Fatal(err)
	}
	_, function, _ := strings.Cut(string(b), "\nhash_files() {")
	function, _, ok := strings.Cut(function, "\n}")
	if !ok {
		t.Fatal("bin/legwork has no hash_files")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "hash_files() {"+function+"\n}\nhash_files")
	cmd.Dir, cmd.Env = p.Root, append(os.Environ(), "sources="+strings.Join(sources, " "))
	out, err := cmd.Output()
	if got, _, _ := strings.Cut(string(out), " "); err != nil || got != want {
		t.Errorf("the launcher says %q (%v), the release %q", out, err, want)
	}
}

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for s, ok := range map[string]bool{"0.1.0": true, "10.20.30": true, "": false, "v1.2.3": false, "1.2": false, "1.2.3.4": false, "1.02.3": false, "1.2.-3": false, "1.2.3-rc1": false} {
		v, err := ParseVersion(s)
		if ok != (err == nil) || ok && v.String() != s {
			t.Errorf("%q: %v, %v", s, v, err)
		}
	}
	for _, c := range [][2]Version{{{0, 9, 9}, {1, 0, 0}}, {{1, 2, 3}, {1, 2, 4}}, {{1, 9, 0}, {1, 10, 0}}} {
		if !c[0].Less(c[1]) || c[1].Less(c[0]) || c[0].Less(c[0]) {
			t.Errorf("%v", c)
		}
	}
}

// The binaries of this checkout, once there are any (H04). What costs a build, `make verify-release` does.
func TestCommittedBinariesH04(t *testing.T) {
	t.Parallel()
	p := checkout()
	r, err := p.Record()
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("bin/prebuilt is empty: no release has been made")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Sums(); err != nil {
		t.Error(err)
	}
	if _, err := p.git(context.Background(), "cat-file", "-e", r.Commit+"^{commit}"); err != nil {
		t.Skip("the history is not at hand (shallow clone or archive); CI checks with all of it")
	}
	c, err := p.Changed(t.Context(), r)
	if err = errors.Join(err, c.Err()); err != nil {
		t.Error(err)
	}
}
