package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/test/e2e/backend"
)

// jobOf is the job that a reply names.
func jobOf(t *testing.T, reply string) string {
	t.Helper()
	_, rest, ok := strings.Cut(reply, "\njob ")
	if !ok {
		t.Fatalf("no job is named:\n%s", reply)
	}
	return strings.Fields(rest)[0]
}

// A deletion is work like any other: it is neither swept nor cleaned away. A project that moved does not stop the
// cleaning of the others.
func TestAgentDeletionStays(t *testing.T) {
	t.Parallel()
	b := backend.New(t, tools(bash("rm old.txt")), backend.Turn{Text: "old.txt is gone"}, backend.Turn{Text: "nothing to do"})
	u := newAgentUser(t, b, map[string]string{"a.txt": "x\n", "old.txt": "old\n"}, "")
	id := jobOf(t, u.must(0, "agent", "delete old.txt"))
	u.must(0, "agent", "nothing")
	u.run("clean")
	if _, err := os.Stat(u.job(id).Facts.Tree.Dir); err != nil {
		t.Fatalf("the work was swept: %v", err)
	}
	home := u.Dir
	if err := os.Rename(home, home+"-moved"); err != nil {
		t.Fatal(err)
	}
	u.Dir = filepath.Join(u.Home, "elsewhere")
	if err := os.Mkdir(u.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if r := u.run("jobs", "clean"); r.Code == 0 || !strings.Contains(r.Stdout, "removed 1 job") || !strings.Contains(r.Stderr, id) {
		t.Errorf("%+v", r)
	}
	u.Dir = home
	if err := os.Rename(home+"-moved", home); err != nil {
		t.Fatal(err)
	}
	u.must(0, "jobs", "apply", id)
	if _, err := os.Stat(filepath.Join(u.Dir, "old.txt")); err == nil {
		t.Error("the deletion was not applied")
	}
}
