package repo

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What git ignores, and what is in a submodule, is found when it is not as the user has it, and a sweep leaves it.
func TestUnseen(t *testing.T) {
	t.Parallel()
	lib := newProject(t, map[string]string{"lib.txt": "lib\n", "gone.txt": "g\n", "dirty.txt": "clean\n", ".gitignore": "*.o\n"})
	p := newProject(t, map[string]string{"a.txt": "a\n", ".gitignore": "*.local\nnode_modules/\n"})
	p.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", lib.dir, "lib")
	p.git("commit", "-q", "-m", "submodule")
	writeFile(t, p.dir, "lib/dirty.txt", "dirty\n")
	writeFile(t, p.dir, "lib/new.txt", "new\n")
	writeFile(t, p.dir, "node_modules/dep.js", "x\n")
	writeFile(t, p.dir, "same.local", "same\n")
	tree := p.add(Wish{Purpose: "run_agent", Links: []string{"node_modules"}})
	named := []string{"same.local", "new.local", "missing.local", "node_modules/dep.js"}
	check := func(want ...string) {
		t.Helper()
		got, err := tree.Unseen(t.Context(), named)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	check()
	writeFile(t, tree.Dir, "same.local", "same\n")
	writeFile(t, tree.Dir, "lib/lib.o", "built\n")
	check()
	writeFile(t, tree.Dir, "new.local", "new\n")
	check("new.local")
	if err := errors.Join(tree.Hold([]string{"new.local"}), tree.Release()); err != nil {
		t.Fatal(err)
	}
	if s, err := Sweep(t.Context(), p.opt, 0); err != nil || len(s.Kept) != 1 {
		t.Errorf("a file that git ignores was swept: %+v %v", s, err)
	}
	writeFile(t, tree.Dir, "lib/lib.txt", "edited\n")
	writeFile(t, tree.Dir, "lib/dirty.txt", "clean\n")
	writeFile(t, tree.Dir, "lib/sub/more.txt", "more\n")
	removeFile(t, tree.Dir, "lib/gone.txt")
	check("lib/dirty.txt", "lib/gone.txt", "lib/lib.txt", "lib/sub/more.txt", "new.local")
	if err := tree.Hold(nil); err != nil {
		t.Fatal(err)
	}
	if s, err := Sweep(t.Context(), p.opt, 0); err != nil || len(s.Kept) != 1 {
		t.Errorf("an edit in a submodule was swept: %+v %v", s, err)
	}
}

// What was tested is what is applied: a file that changed after it was looked at is refused.
func TestMoved(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n"})
	tree := p.add(Wish{Purpose: "run_agent"})
	defer remove(t, tree)
	writeFile(t, tree.Dir, "a.txt", "good\n")
	writeFile(t, tree.Dir, "b.txt", "good\n")
	removeFile(t, tree.Dir, "c.txt")
	changes, err := tree.Since(t.Context())
	if err != nil || len(changes) != 3 {
		t.Fatalf("%v %v", changes, err)
	}
	if moved, err := tree.Moved(changes); err != nil || len(moved) != 0 {
		t.Errorf("%v %v", moved, err)
	}
	if _, _, err := tree.Edits(t.Context(), changes); err != nil {
		t.Error(err)
	}
	writeFile(t, tree.Dir, "a.txt", "broken\n")
	writeFile(t, tree.Dir, "c.txt", "back\n")
	moved, err := tree.Moved(changes)
	if diff := cmp.Diff([]string{"a.txt", "c.txt"}, moved); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, _, err := tree.Edits(t.Context(), changes); !errors.Is(err, ErrMoved) {
		t.Errorf("not refused: %v", err)
	}
}
