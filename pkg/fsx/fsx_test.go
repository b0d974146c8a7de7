package fsx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	switch os.Getenv("FSX_TEST_ROLE") {
	case "append":
		for i := range 200 {
			line := fmt.Sprintf("%d %d %s", os.Getpid(), i, strings.Repeat("x", i*20))
			if err := AppendLine(os.Getenv("FSX_TEST_FILE"), []byte(line), 0o600); err != nil {
				panic(err)
			}
		}
		os.Exit(0)
	case "hold":
		if _, err := Lock(context.Background(), os.Getenv("FSX_TEST_FILE")); err != nil {
			panic(err)
		}
		fmt.Println("held")
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

func helper(t *testing.T, role, file string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "FSX_TEST_ROLE="+role, "FSX_TEST_FILE="+file)
	return cmd
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("this system does not let us make symbolic links: %v", err)
	}
}

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a b.txt")
	for _, c := range []struct {
		text       string
		mode, want fs.FileMode
	}{
		{"new", 0, DefaultMode},
		{"private", 0o600, 0o600},
		{"keeps", 0, 0o600},
		{"C23 run bit", 0o755, 0o755},
		{"C23 kept", 0, 0o755},
		{"", 0o666, 0o666},
	} {
		if err := WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != c.text {
			t.Errorf("%q: read %q", c.text, got)
		}
		if got := modeOf(t, path); runtime.GOOS != "windows" && got != c.want {
			t.Errorf("%q: mode %v, want %v", c.text, got, c.want)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWriteFileErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := WriteFile(filepath.Join(dir, "no", "f"), nil, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(sub, nil, 0); err == nil {
		t.Error("a directory was replaced")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriteFileThroughLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real := filepath.Join(dir, "dotfiles.yaml")
	write(t, real, "old", 0o640)
	link(t, "dotfiles.yaml", filepath.Join(dir, "config.yaml"))
	link(t, filepath.Join(dir, "later.yaml"), filepath.Join(dir, "dangling.yaml"))
	for _, name := range []string{"config.yaml", "dangling.yaml"} {
		if err := WriteFile(filepath.Join(dir, name), []byte("new"), 0); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
	if read(t, real) != "new" || read(t, filepath.Join(dir, "later.yaml")) != "new" || runtime.GOOS != "windows" && modeOf(t, real) != 0o640 {
		t.Error("the targets were not written, or the mode changed")
	}
}

func TestAppendLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	for _, line := range []string{"one", "two"} {
		if err := AppendLine(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(t, path, read(t, path)+`{"torn":`, 0o600)
	if err := AppendLine(path, []byte("three"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, path), "one\ntwo\n{\"torn\":\nthree\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := AppendLine(path, []byte("a\nb"), 0o600); err == nil {
		t.Error("two lines were taken for one")
	}
	if runtime.GOOS != "windows" && modeOf(t, path) != 0o600 {
		t.Errorf("mode %v", modeOf(t, path))
	}
}

func TestAppendLineFromManyProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	var cmds []*exec.Cmd
	for range 4 {
		cmd := helper(t, "append", path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSuffix(read(t, path), "\n"), "\n")
	if len(lines) != 4*200 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		f := strings.Split(line, " ")
		if i, err := strconv.Atoi(f[1]); err != nil || len(f) != 3 || len(f[2]) != i*20 {
			t.Fatalf("mixed line %q", line)
		}
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	held, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting did not end with its context: %v", err)
	}
	got := make(chan error)
	go func() {
		l, err := Lock(t.Context(), path)
		if err == nil {
			err = l.Unlock()
		}
		got <- err
	}()
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestLockDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	cmd := helper(t, "hold", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("the other process holds nothing: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	l, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Unlock()
}

func TestResolve(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	join := func(p string) string { return filepath.Join(base, filepath.FromSlash(p)) }
	for _, d := range []string{"root/sub", "root2", "outside"} {
		if err := os.MkdirAll(join(d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, join("root/sub/f"), "x", 0o600)
	write(t, join("outside/secret"), "x", 0o600)
	link(t, join("root"), join("rootlink"))
	link(t, join("outside"), join("root/out"))
	link(t, "../outside/secret", join("root/leak"))
	link(t, "../outside/new", join("root/dangling"))
	link(t, "sub/new", join("root/dangling-in"))
	link(t, "sub", join("root/in"))
	link(t, "loop", join("root/loop"))
	cases := []struct {
		path, want string // want "" is ErrOutside
	}{
		{"sub/f", "root/sub/f"},
		{"./sub/../sub/f", "root/sub/f"},
		{".", "root"},
		{"sub/", "root/sub"},
		{"in/f", "root/sub/f"},
		{"in/new/deep", "root/sub/new/deep"},
		{"new", "root/new"},
		{"..file", "root/..file"},
		{"dangling-in", "root/sub/new"},
		{join("root/sub/f"), "root/sub/f"},
		{join("rootlink/sub/f"), "root/sub/f"},
		{join("root2/x"), "root2/x"},
		{"../root2", "root2"},
		{"..", ""},
		{"../outside/secret", ""},
		{"sub/../../outside/secret", ""},
		{"out/secret", ""},
		{"out/new/deep", ""},
		{"leak", ""},
		{"dangling", ""},
		{join("outside/secret"), ""},
		{join("root-not"), ""},
		{join("root2/../outside/new"), ""},
	}
	for _, c := range cases {
		got, err := Resolve([]string{join("rootlink"), join("root2"), join("missing")}, c.path)
		switch {
		case c.want == "" && !errors.Is(err, ErrOutside):
			t.Errorf("%s: got %q, %v; want outside", c.path, got, err)
		case c.want != "" && (err != nil || got != join(c.want)):
			t.Errorf("%s: got %q, %v; want %s", c.path, got, err, join(c.want))
		}
	}
	for _, bad := range []string{"", "a\x00b", "loop"} {
		if got, err := Resolve([]string{join("root")}, bad); err == nil || errors.Is(err, ErrOutside) {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
	if _, err := Resolve(nil, "x"); !errors.Is(err, ErrOutside) {
		t.Errorf("no roots: %v", err)
	}
}

func TestRemoveAllC02(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.MkdirAll(target, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(target, "kept"), "x", 0o600)
	link(t, target, filepath.Join(dir, "link"))
	if err := RemoveAll(filepath.Join(dir, "link") + string(filepath.Separator)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "link")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link is still there: %v", err)
	}
	if read(t, filepath.Join(target, "kept")) != "x" {
		t.Error("the target lost its file")
	}
	if err := RemoveAll(filepath.Join(dir, "missing")); err != nil {
		t.Error(err)
	}
}

func TestRemoveAllReadOnly(t *testing.T) {
	t.Parallel()
	top := filepath.Join(t.TempDir(), "mod")
	deep := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(deep, "f"), "x", 0o400)
	for _, d := range []string{deep, filepath.Dir(deep), top} {
		if err := os.Chmod(d, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveAll(top); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(top); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

func BenchmarkAppendLine(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f")
	line := bytes.Repeat([]byte("x"), 500)
	for b.Loop() {
		if err := AppendLine(path, line, 0o600); err != nil {
			b.Fatal(err)
		}
	}
}
