// Package launcher_test runs bin/legwork in copies of the project: with and without a toolchain, prebuilt binaries,
// run bits, a home. The toolchain is a shell script that "builds" a program which says what it is.
package launcher_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"legwork/packaging/release"
)

// project is a copy of what the launcher looks at, in a folder with blanks in its name.
type project struct {
	t    *testing.T
	root string
	home string
	env  []string
	sh   []string // the shell that runs the launcher
}

func newProject(t *testing.T, sh ...string) *project {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("bin/legwork is for sh; Windows has legwork.cmd")
	}
	dir := t.TempDir()
	p := &project{t: t, root: filepath.Join(dir, "my plug in"), home: filepath.Join(dir, "my home"), sh: sh}
	if len(sh) == 0 {
		p.sh = []string{"sh"}
	}
	script, err := os.ReadFile("../../bin/legwork")
	if err != nil {
		t.Fatal(err)
	}
	p.write("bin/legwork", string(script), 0o644) // H03: no run bit anywhere
	if err := os.MkdirAll(p.home, 0o700); err != nil {
		t.Fatal(err)
	}
	tools := filepath.Join(dir, "no go here")
	if err := os.Mkdir(tools, 0o700); err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq("sh uname find sort sha256sum shasum cksum readlink mkdir mv rm rmdir cp chmod touch ls tail cat sleep") {
		if path, err := exec.LookPath(name); err == nil {
			_ = os.Symlink(path, filepath.Join(tools, name))
		}
	}
	p.env = []string{"PATH=" + tools, "HOME=" + p.home}
	return p
}

func (p *project) write(name, text string, mode os.FileMode) {
	p.t.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(p.root, name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		p.t.Fatal(err)
	}
}

// says is a program that tells its name, its arguments and its working folder.
func says(name string) string {
	return "#!/bin/sh\necho " + name + "\nfor a; do echo \"<$a>\"; done\n"
}

func (p *project) prebuilt(mode os.FileMode) string {
	name := "bin/prebuilt/legwork-" + runtime.GOOS + "-" + runtime.GOARCH
	p.write(name, says("prebuilt"), mode)
	return name
}

// sources makes the copy a clone; its Go file holds what the built program will say.
func (p *project) sources(text string) {
	p.write("go.mod", "module legwork\n", 0o644)
	p.write("go.sum", "", 0o644)
	p.write("buildflags", "-tags=x\n", 0o644)
	p.write("cmd/legwork/main.go", text, 0o644)
	p.write("pkg/cli/cli.go", "package cli\n", 0o644)
	p.write("pkg/cli/cli_test.go", "package cli\n", 0o644)
}

func (p *project) clone(text string) {
	p.sources(text)
	p.write(".git/HEAD", "ref: refs/heads/main\n", 0o644)
}

// toolchain puts a go into PATH whose build takes the program from main.go, and counts builds.
func (p *project) toolchain() {
	p.write(filepath.Join(p.home, "tools/go"), `#!/bin/sh
echo "compiling to stdout is wrong"
echo built >>"$HOME/builds"
while [ "$1" != -o ]; do shift; done
grep -q broken cmd/legwork/main.go && exit 1
{ echo '#!/bin/sh'; cat cmd/legwork/main.go; } >"$2" && chmod 755 "$2"
`, 0o755)
	p.env[0] += ":" + filepath.Join(p.home, "tools") + ":/usr/bin:/bin"
}

func (p *project) builds() int {
	b, _ := os.ReadFile(filepath.Join(p.home, "builds"))
	return bytes.Count(b, []byte("\n"))
}

func (p *project) run(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	return p.runAs(filepath.Join(p.root, "bin/legwork"), "/", args...)
}

func (p *project) runAs(script, dir string, args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	argv := append(append([]string{}, p.sh...), script)
	cmd := exec.CommandContext(p.t.Context(), argv[0], append(argv[1:], args...)...)
	cmd.Env, cmd.Dir = p.env, dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (p *project) want(stdout string, args ...string) {
	p.t.Helper()
	out, errs, code := p.run(args...)
	if out != stdout || code != 0 {
		p.t.Errorf("%q: got %q, status %d, want %q; stderr %q", args, out, code, stdout, errs)
	}
}

// shells are those at hand: the launcher must not depend on which one /bin/sh is.
func shells(t *testing.T) [][]string {
	t.Helper()
	var out [][]string
	for _, sh := range [][]string{{"sh"}, {"dash"}, {"bash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"ksh"}, {"zsh", "--emulate", "sh"}} {
		if path, err := exec.LookPath(sh[0]); err == nil {
			out = append(out, append([]string{path}, sh[1:]...))
		}
	}
	return out
}

func TestOrder(t *testing.T) {
	t.Parallel()
	for _, sh := range shells(t) {
		t.Run(filepath.Base(strings.Join(sh, " ")), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, sh...)
			out, errs, code := p.run("version")
			if out != "" || code != 1 || !strings.Contains(errs, "no binary for "+runtime.GOOS+"-"+runtime.GOARCH) ||
				!strings.Contains(errs, "LEGWORK_BIN") {
				t.Errorf("nothing to run: %q, status %d, %q", out, code, errs)
			}
			p.prebuilt(0o755)
			p.want("prebuilt\n<offload>\n<a  b>\n<*>\n<>\n", "offload", "a  b", "*", "")
			p.toolchain()
			p.sources("echo built")
			p.want("prebuilt\n", []string{}...)
			p.clone("echo built; exit 0")
			p.want("built\n")
			own := filepath.Join(p.home, "my own")
			p.write(own, says("own"), 0o755)
			p.env = append(p.env, "LEGWORK_BIN="+own)
			p.want("own\n<mcp>\n", "mcp")
		})
	}
}

func TestBuildIsCachedBySource(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.toolchain()
	p.clone("echo one")
	p.want("one\n")
	p.want("one\n")
	if n := p.builds(); n != 1 {
		t.Fatalf("%d builds of the same sources", n)
	}
	later := func(name, text string) { // editors are faster than some file systems' clocks
		p.write(name, text, 0o644)
		soon := time.Now().Add(2 * time.Second)
		if err := os.Chtimes(filepath.Join(p.root, name), soon, soon); err != nil {
			t.Fatal(err)
		}
	}
	later("pkg/cli/cli_test.go", "package cli // more")
	p.want("one\n")
	if n := p.builds(); n != 1 {
		t.Errorf("a test file caused a build (%d)", n)
	}
	later("cmd/legwork/main.go", "echo two")
	p.want("two\n")
	later("cmd/legwork/main.go", "echo one")
	p.want("one\n")
	if n := p.builds(); n != 2 {
		t.Errorf("%d builds for two versions of the sources", n)
	}
	for _, text := range []string{"echo 3", "echo 4", "echo 5", "echo 6"} {
		later("cmd/legwork/main.go", text)
		p.run()
	}
	kept, err := filepath.Glob(filepath.Join(p.home, ".cache/legwork/build/*/*/legwork"))
	if err != nil || len(kept) > 3 {
		t.Errorf("%d builds kept: %v", len(kept), err)
	}
	if out, _, _ := p.run(); out != "6\n" {
		t.Errorf("last build says %q", out)
	}
}

func TestDeletedSourceCausesABuild(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.toolchain()
	p.clone("ls pkg/cli 2>/dev/null; echo built")
	p.run()
	if err := os.Remove(filepath.Join(p.root, "pkg/cli/cli.go")); err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(2 * time.Second)
	if err := os.Chtimes(filepath.Join(p.root, "pkg/cli"), soon, soon); err != nil {
		t.Fatal(err)
	}
	if p.run(); p.builds() != 2 {
		t.Errorf("%d builds", p.builds())
	}
}

func TestClientsNeverWaitForACompiler(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.toolchain()
	p.clone("echo built")
	p.want("", "hook", "session-start")
	if p.builds() != 0 {
		t.Error("the session start waited for a compiler")
	}
	p.prebuilt(0o644)
	p.want("prebuilt\n<mcp>\n", "mcp")
	p.want("prebuilt\n<hook>\n<session-start>\n", "hook", "session-start")
	if p.builds() != 0 {
		t.Error("an MCP client waited for a compiler")
	}
	p.want("built\n", "version")
	p.clone("echo newer")
	soon := time.Now().Add(2 * time.Second)
	if err := os.Chtimes(filepath.Join(p.root, "go.mod"), soon, soon); err != nil {
		t.Fatal(err)
	}
	out, errs, _ := p.run("mcp")
	if out != "built\n" || p.builds() != 1 || !strings.Contains(errs, "has changed since the last build") {
		t.Errorf("stale build: %q, %d builds, stderr %q", out, p.builds(), errs)
	}
	p.want("built\n", "hook", "session-start")
	p.want("newer\n", "version")
}

func TestInstalledWithoutPrebuiltIsBuilt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.toolchain()
	p.sources("echo built")
	p.want("", "hook", "session-start")
	p.want("built\n", "mcp")
	p.want("built\n", "hook", "session-start")
	if n := p.builds(); n != 1 {
		t.Errorf("%d builds", n)
	}
}

// A clone whose sources are those of the prebuilt binary compiles nothing; the first change does.
func TestCloneOfARelease(t *testing.T) {
	t.Parallel()
	for _, sh := range shells(t) {
		t.Run(filepath.Base(strings.Join(sh, " ")), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, sh...)
			p.toolchain()
			p.clone("echo built")
			p.prebuilt(0o644)
			hash, err := release.HashSources(p.root)
			if err != nil {
				t.Fatal(err)
			}
			p.write("bin/prebuilt/SOURCE", "version 1.2.3\ncommit 0\ngo go1.26.8\nsources "+hash+"\n", 0o644)
			p.want("prebuilt\n<version>\n", "version")
			p.want("prebuilt\n<mcp>\n", "mcp")
			if n := p.builds(); n != 0 {
				t.Errorf("%d builds", n)
			}
			p.clone("echo newer; exit 0")
			soon := time.Now().Add(2 * time.Second)
			if err := os.Chtimes(filepath.Join(p.root, "cmd/legwork/main.go"), soon, soon); err != nil {
				t.Fatal(err)
			}
			p.want("newer\n", "version")
		})
	}
}

// Which binary is taken where. uname and sysctl say what they say on those machines.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ uname, translated, want string }{
		{"Linux x86_64", "", "linux-amd64"},
		{"Linux aarch64", "", "linux-arm64"}, // musl or glibc: the binary needs neither
		{"Darwin arm64", "", "darwin-arm64"},
		{"Darwin x86_64", "0", "darwin-amd64"},
		{"Darwin x86_64", "1", "darwin-arm64"}, // a shell under Rosetta
		{"MINGW64_NT-10.0-22631 x86_64", "", "windows-amd64.exe"},
		{"MSYS_NT-10.0-26100-ARM64 aarch64", "", "windows-amd64.exe"},
		{"FreeBSD amd64", "", ""},
		{"Linux riscv64", "", ""},
	} {
		p := newProject(t)
		for _, target := range release.AllTargets {
			p.write("bin/prebuilt/"+target.File(), says(target.File()), 0o755)
		}
		stubs := filepath.Join(p.home, "stubs")
		p.write(filepath.Join(stubs, "uname"), "#!/bin/sh\necho '"+c.uname+"'\n", 0o755)
		p.write(filepath.Join(stubs, "sysctl"), "#!/bin/sh\necho '"+c.translated+"'\n", 0o755)
		p.env[0] = "PATH=" + stubs + ":" + strings.TrimPrefix(p.env[0], "PATH=")
		out, errs, code := p.run("mcp")
		if c.want == "" {
			if out != "" || code != 1 || !strings.Contains(errs, "there is no binary for ") {
				t.Errorf("%s: %q, status %d, %q", c.uname, out, code, errs)
			}
			continue
		}
		if out != "legwork-"+c.want+"\n<mcp>\n" || code != 0 {
			t.Errorf("%s: %q, status %d, %q", c.uname, out, code, errs)
		}
	}
}

func TestFailedBuild(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.toolchain()
	p.clone("broken")
	out, errs, code := p.run("version")
	if out != "" || code != 1 || !strings.Contains(errs, "the build failed") {
		t.Errorf("%q, status %d, %q", out, code, errs)
	}
	p.prebuilt(0o644)
	p.want("prebuilt\n<version>\n", "version")
	left, _ := filepath.Glob(filepath.Join(p.home, ".cache/legwork/build/*/*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestPrebuiltWithoutRunBitH03(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	name := p.prebuilt(0o644)
	p.want("prebuilt\n<mcp>\n", "mcp")
	p.write(name, strings.Replace(says("prebuilt"), "prebuilt", "updated", 1), 0o644)
	p.want("updated\n<mcp>\n", "mcp")
}

func TestPrebuiltInReadOnlyFolder(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.prebuilt(0o644)
	p.write(filepath.Join(p.home, "stub/chmod"), "#!/bin/sh\ncase $1 in +x) exit 1;; esac\nexec /bin/chmod \"$@\"\n", 0o755)
	p.env[0] = "PATH=" + filepath.Join(p.home, "stub") + ":" + strings.TrimPrefix(p.env[0], "PATH=")
	p.want("prebuilt\n<mcp>\n", "mcp")
	p.want("prebuilt\n", []string{}...)
	p.env[1] = "HOME="
	if out, errs, code := p.run("mcp"); out != "" || code != 1 || !strings.Contains(errs, "chmod +x") {
		t.Errorf("no home: %q, status %d, %q", out, code, errs)
	}
}

func TestFromAnywhere(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.prebuilt(0o755)
	link := filepath.Join(p.home, "legwork")
	relative := filepath.Join(p.home, "link to link")
	if err := os.Symlink(filepath.Join(p.root, "bin/legwork"), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("legwork", relative); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ script, dir string }{
		{link, "/"},
		{relative, p.root},
		{"legwork", p.home},
		{"./link to link", p.home},
		{"bin/legwork", p.root},
		{"./legwork", filepath.Join(p.root, "bin")},
		{"legwork", filepath.Join(p.root, "bin")},
		{"../bin/legwork", filepath.Join(p.root, "bin")},
	} {
		if out, errs, code := p.runAs(c.script, c.dir, "x"); out != "prebuilt\n<x>\n" || code != 0 {
			t.Errorf("%s in %s: %q, status %d, %q", c.script, c.dir, out, code, errs)
		}
	}
}

func TestBadOverride(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.prebuilt(0o755)
	for _, bin := range []string{"/no/such/file", filepath.Join(p.root, "bin/legwork")} {
		p.env = append(p.env[:2:2], "LEGWORK_BIN="+bin)
		if out, errs, code := p.run("mcp"); out != "" || code != 1 || !strings.Contains(errs, "LEGWORK_BIN") {
			t.Errorf("%s: %q, status %d, %q", bin, out, code, errs)
		}
	}
}

func TestStatusAndLongPaths(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.root = filepath.Join(p.root, strings.Repeat("long folder name/", 14))
	script, err := os.ReadFile("../../bin/legwork")
	if err != nil {
		t.Fatal(err)
	}
	p.write("bin/legwork", string(script), 0o644)
	p.toolchain()
	p.clone("exit 7")
	if out, errs, code := p.run("version"); code != 7 || out != "" {
		t.Errorf("%q, status %d, %q", out, code, errs)
	}
}

func BenchmarkPrebuilt(b *testing.B) {
	script, err := filepath.Abs("../../bin/legwork")
	if err != nil {
		b.Fatal(err)
	}
	bin, err := exec.LookPath("true")
	if err != nil {
		b.Skip("there is no `true`")
	}
	root := b.TempDir()
	text, err := os.ReadFile(script)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "bin/prebuilt"), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin/legwork"), text, 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.Symlink(bin, filepath.Join(root, "bin/prebuilt/legwork-"+runtime.GOOS+"-"+runtime.GOARCH)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := exec.CommandContext(b.Context(), "sh", filepath.Join(root, "bin/legwork"), "mcp").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTrue is what starting any program costs here; the launcher's own share is the difference.
func BenchmarkTrue(b *testing.B) {
	for b.Loop() {
		if err := exec.CommandContext(b.Context(), "true").Run(); err != nil {
			b.Skip("there is no `true`")
		}
	}
}
