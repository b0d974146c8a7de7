package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bigProject has n small files in folders of a hundred.
func bigProject(tb testing.TB, n int) *project {
	tb.Helper()
	home := tb.TempDir()
	p := &project{dir: filepath.Join(home, "project"), opt: Options{StateDir: filepath.Join(home, "state"), Env: gitEnv(home)}}
	if err := os.WriteFile(filepath.Join(home, "gitconfig"), []byte("[user]\n\tname = Test\n\temail = test@example.com\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		dir := filepath.Join(p.dir, fmt.Sprintf("d%03d", i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				tb.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), []byte(strings.Repeat(fmt.Sprintln("line of file", i), 20)), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	r := &Repo{opt: p.opt}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}} {
		if _, err := r.git(tb.Context(), p.dir, nil, args...); err != nil {
			tb.Fatal(err)
		}
	}
	return p
}

// BenchmarkWorktree compares a whole call's use of a worktree (made with the uncommitted state, looked at
// after three test runs, removed) with git's own add and remove.
func BenchmarkWorktree(b *testing.B) {
	for _, n := range []int{50, 20_000} {
		p := bigProject(b, n)
		r := &Repo{opt: p.opt}
		b.Run(fmt.Sprintf("git/%d", n), func(b *testing.B) {
			for b.Loop() {
				dir := filepath.Join(b.TempDir(), "w")
				for _, args := range [][]string{{"worktree", "add", "--quiet", "--detach", dir}, {"worktree", "remove", dir}} {
					if _, err := r.git(b.Context(), p.dir, nil, args...); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(fmt.Sprintf("ours/%d", n), func(b *testing.B) {
			if err := os.WriteFile(filepath.Join(p.dir, "d000", "f1.txt"), []byte("dirty\n"), 0o600); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := Sweep(b.Context(), p.opt, 0); err != nil {
					b.Fatal(err)
				}
				r, err := Open(b.Context(), p.opt, p.dir)
				if err != nil {
					b.Fatal(err)
				}
				tree, err := r.Add(b.Context(), Wish{Purpose: "delegate", Scratch: true, Links: []string{"node_modules"}})
				if err != nil {
					b.Fatal(err)
				}
				for range 2 {
					if _, err := tree.Changes(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				if err := tree.Remove(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
