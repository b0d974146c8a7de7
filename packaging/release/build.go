package release

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Target is a system and a processor, as Go names them.
type Target struct{ OS, Arch string }

// AllTargets are what the plugin ships. Windows on ARM runs programs for x86-64.
var AllTargets = []Target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}, {"darwin", "amd64"}, {"windows", "amd64"},
}

func (t Target) String() string { return t.OS + "/" + t.Arch }

// File is the name of the target's binary; the launchers know it.
func (t Target) File() string { return "legwork-" + t.OS + "-" + t.Arch + t.exe() }

func (t Target) exe() string {
	if t.OS == "windows" {
		return ".exe"
	}
	return ""
}

// Targets reads names with commas between them; "" and "all" are all of them, "none" is none.
func Targets(names string) ([]Target, error) {
	switch names {
	case "", "all":
		return AllTargets, nil
	case "none":
		return nil, nil
	}
	var out []Target
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(AllTargets, func(t Target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("no target is called %q; there are %v", name, AllTargets)
		}
		out = append(out, AllTargets[i])
	}
	return out, nil
}

// LinkFlags are the linker's part of the flags; the file buildflags holds the rest. The launchers use the same.
const LinkFlags = "-s -w -funcalign=4"

// builder builds the sources in dir with the go command tool. goVersion names the toolchain ("" is tool's own), commit
// is what `legwork version` tells.
type builder struct{ dir, tool, goVersion, commit string }

func (b builder) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, cmp.Or(b.tool, "go"), args...)
	cmd.Dir = b.dir
	return cmd
}

func (b builder) build(ctx context.Context, t Target, file string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	flags, err := os.ReadFile(filepath.Join(b.dir, "buildflags"))
	if err != nil {
		return err
	}
	link := LinkFlags
	if b.commit != "" {
		link += " -X legwork/pkg/cli.source=" + b.commit
	}
	argv := append([]string{"build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", link}, strings.Fields(string(flags))...)
	cmd := b.command(ctx, append(argv, "-o", file, "./cmd/legwork")...)
	if cmd.Env, err = b.environment(ctx, t); err != nil {
		return err
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", t, err, text)
	}
	return nil
}

// carried are the variables that a build may see: where things are, never what is built.
var carried = []string{
	"PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "LOCALAPPDATA", "APPDATA", "TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NETRC",
}

// places are go's own settings of that kind. They are asked for, because the user's file of settings is turned off.
var places = []string{"GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOINSECURE", "GOMODCACHE", "GOCACHE", "GOPATH"}

// environment is the whole environment of a build.
func (b builder) environment(ctx context.Context, t Target) ([]string, error) {
	set := map[string]string{}
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); slices.Contains(carried, strings.ToUpper(name)) {
			set[name] = value
		}
	}
	asked, err := b.goEnv(ctx, places...)
	if err != nil {
		return nil, err
	}
	maps.Copy(set, asked)
	maps.Copy(set, map[string]string{
		"GOOS": t.OS, "GOARCH": t.Arch, "GOAMD64": "v1", "GOARM64": "v8.0",
		"CGO_ENABLED": "0", "GOENV": "off", "GOFLAGS": "", "GOWORK": "off", "GO111MODULE": "on", "GOTOOLCHAIN": "local",
	})
	if b.goVersion != "" {
		set["GOTOOLCHAIN"] = b.goVersion
	}
	var env []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env, nil
}

// goEnv asks go for settings, as they are for the sources.
func (b builder) goEnv(ctx context.Context, names ...string) (map[string]string, error) {
	out, err := b.command(ctx, append([]string{"env", "-json"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	env := map[string]string{}
	return env, json.Unmarshal(out, &env)
}

// sources are what a binary is made of, below the root; without tests. bin/legwork has the same list.
var sources = []string{"go.mod", "go.sum", "buildflags", "cmd", "pkg"}

// extract writes the sources of a commit to a new folder, which the caller removes. Line ends stay as they were
// committed, whatever the user set.
func (p *Project) extract(ctx context.Context, commit string) (dir string, err error) {
	dir, err = os.MkdirTemp("", "legwork-source-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	argv := append([]string{"-c", "core.autocrlf=false", "-c", "core.eol=lf", "archive", "--format=tar", commit, "--"}, sources...)
	cmd := exec.CommandContext(ctx, "git", argv...)
	cmd.Dir, cmd.Stderr = p.Root, os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	err = untar(pipe, dir)
	_, _ = io.Copy(io.Discard, pipe)
	return dir, errors.Join(err, cmd.Wait())
}

func untar(r io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(strings.TrimSuffix(h.Name, "/"))
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeReg:
			var b []byte
			if b, err = io.ReadAll(archive); err == nil {
				err = root.WriteFile(name, b, fs.FileMode(h.Mode)&0o777)
			}
		}
		if err != nil {
			return err
		}
	}
}

// HashSources is one number for all files that a binary of the tree in dir is made of: what bin/legwork computes, so
// that it finds a clone's sources in the shipped binary.
func HashSources(dir string) (string, error) {
	var lines []string
	for _, top := range sources {
		err := filepath.WalkDir(filepath.Join(dir, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Name() == "testdata" && d.IsDir() {
				return filepath.SkipDir
			}
			if !d.Type().IsRegular() || strings.HasSuffix(d.Name(), "_test.go") {
				return nil
			}
			sum, _, err := hashFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			lines = append(lines, sum+"  "+filepath.ToSlash(rel)+"\n")
			return err
		})
		if err != nil {
			return "", err
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:]), nil
}

// hashFile returns the SHA-256 of a file in hex, and its size in bytes.
func hashFile(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}
