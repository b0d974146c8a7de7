package claudecode_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/pkg/claudecode"
)

// What the user denies in their own settings goes with a session that does not read those, and means the same files:
// those of the project, and their copies in a worktree.
func TestHandover(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the paths are unix paths")
	}
	s := newSession(t, setup{
		User:  perms(t, []string{"Bash"}, []string{"Bash(git commit:*)"}, []string{"Bash(git push:*)", "Bash(/usr/bin/x:*)", "Read(./.env)", "Edit(/top.txt)", "Read(~/.ssh/**)", "WebFetch"}),
		Local: perms(t, nil, nil, []string{"Read(*.pem)", "Read(//abs)", "Edit(/conf/**)"}),
	})
	root := "/" + s.project
	write(t, filepath.Join(s.place.Managed, "managed-settings.json"), string(perms(t, nil, nil, []string{"Read(" + root + "/key)"})))
	r := claudecode.LoadRules(s.place)
	want := claudecode.Restrictions{
		Ask: []string{"Bash(git commit:*)"},
		Deny: []string{
			"Read(" + root + "/key)",
			"Bash(git push:*)", "Bash(/usr/bin/x:*)", "Read(./.env)", "Read(" + root + "/.env)", "Edit(/" + s.home + "/top.txt)", "Edit(" + root + "/top.txt)",
			"Read(~/.ssh/**)", "WebFetch", "Read(*.pem)", "Read(" + root + "/**/*.pem)", "Read(//abs)", "Edit(" + root + "/conf/**)",
		},
	}
	if d := cmp.Diff(want, r.Handover("", "")); d != "" {
		t.Error(d)
	}
	tree := filepath.Join(s.home, "tree")
	moved := r.Handover(s.project, tree)
	for _, rule := range []string{"Read(./.env)", "Read(" + root + "/.env)", "Read(/" + tree + "/.env)", "Edit(/" + tree + "/conf/**)", "Read(/" + tree + "/key)", "Read(/" + tree + "/**/*.pem)"} {
		if union := moved.Join(claudecode.Restrictions{Deny: []string{rule}}); len(union.Deny) != len(moved.Deny) {
			t.Errorf("%s is not in %v", rule, moved.Deny)
		}
	}
}
