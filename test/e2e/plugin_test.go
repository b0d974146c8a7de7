package e2e_test

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"legwork/packaging/release"
	"legwork/test/e2e/claude"
)

// binary is the legwork that the suite runs: the one that the plugin ships, if it was made from these sources, else one
// that is built here as a release is.
var binary = sync.OnceValues(func() (string, error) {
	if bin, current := shipped(); current {
		return bin, nil
	}
	dir := os.Getenv(buildDir)
	p := &release.Project{Root: "../..", Out: io.Discard}
	return filepath.Join(dir, host.File()), p.Build(context.Background(), dir, []release.Target{host})
})

// host is the machine that the tests run on.
var host = release.Target{OS: runtime.GOOS, Arch: runtime.GOARCH}

// shipped is the binary that the plugin ships for this machine, "" if it ships none, and whether it was made from
// these sources.
func shipped() (bin string, current bool) {
	bin, err := filepath.Abs(filepath.Join("../../bin/prebuilt", host.File())) // tests run it in other folders
	if err != nil {
		return "", false
	}
	if _, err := os.Stat(bin); err != nil {
		return "", false
	}
	r, err := (&release.Project{Root: "../.."}).Record()
	if err != nil {
		return bin, false
	}
	sources, err := release.HashSources("../..")
	return bin, err == nil && sources == r.Sources
}

const buildDir = "LEGWORK_E2E_BUILD" // where TestMain lets binary build

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "legwork-e2e-")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv(buildDir, dir)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// plugin is a copy of the project as a user gets it: no build products, the binary of this machine prebuilt and without
// a run bit, in a folder with a blank in its name.
func plugin(t *testing.T) string {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatalf("build legwork: %v", err)
	}
	return pluginWith(t, bin)
}

func pluginWith(t *testing.T, bin string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "the plugin")
	copyTree(t, "../..", dir)
	copyFile(t, bin, filepath.Join(dir, "bin/prebuilt", host.File()), 0o644)
	return dir
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	skip := []string{".git", "node_modules", "dist", "prebuilt", "testdata", "legwork.exe"}
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if slices.Contains(skip, d.Name()) || rel == "legwork" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		copyFile(t, path, filepath.Join(to, rel), info.Mode().Perm())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string, mode fs.FileMode) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, mode); err != nil {
		t.Fatal(err)
	}
}

// gitURL commits dir and serves it over git's smart HTTP on 127.0.0.1.
func gitURL(t *testing.T, dir string) string {
	t.Helper()
	bare := filepath.Join(t.TempDir(), "legwork.git")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t",
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("add", "-f", "-A")
	git("commit", "-q", "-m", "the plugin")
	git("clone", "-q", "--bare", ".", bare)
	backend := filepath.Join(git("--exec-path"), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skipf("this git has no http-backend to serve a clone with: %v", err)
	}
	srv := httptest.NewServer(http.Handler(&cgi.Handler{
		Path: backend, Dir: bare,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1"},
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/" + filepath.Base(bare)
}

// install adds the marketplace at source (a folder or an URL) and installs the plugin from it.
func install(t *testing.T, c *claude.Client, source string) {
	t.Helper()
	c.Must("plugin", "marketplace", "add", source)
	c.Must("plugin", "install", "legwork@legwork")
	t.Cleanup(func() {
		if left := c.Left(); len(left) != 0 {
			t.Errorf("left running: %q", left)
		}
		if built, _ := filepath.Glob(filepath.Join(c.Home, ".cache/legwork/build/*/*/legwork")); len(built) != 0 {
			t.Errorf("compiled on the user's machine: %q", built)
		}
	})
}
