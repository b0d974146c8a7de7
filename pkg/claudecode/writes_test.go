package claudecode_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"legwork/pkg/claudecode"
)

// A path that may not be edited is not written by a command either. The client's verdicts were measured; those it
// lets pass stand in the second list of commands denied here.
func TestEditDenies(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the commands name unix paths")
	}
	s := newSession(t, setup{User: perms(t, []string{"Bash"}, nil, []string{"Edit(./secrets/**)"})})
	write(t, filepath.Join(s.project, "secrets", "k.txt"), "k\n")
	if err := os.Symlink("secrets", filepath.Join(s.project, "way")); err != nil {
		t.Fatal(err)
	}
	r := claudecode.LoadRules(s.place)
	for _, command := range []string{
		"rm secrets/k.txt", "touch secrets/new", "cp a.txt secrets/b", "cp a.txt secrets", "mv a.txt secrets/m", "mv secrets/k.txt x", "sed -i s/k/z/ secrets/k.txt",
		"sed -i.bak s/k/z/ secrets/k.txt", "sed --in-place s/k/z/ secrets/k.txt", "echo x | tee secrets/t", "echo x > secrets/c", "echo x >> secrets/c", "echo x >| secrets/c",
		"echo x &> secrets/c", "echo x 2> secrets/c", "mkdir secrets/d", "rmdir secrets/d", "cp -t secrets a.txt", "cp --target-directory=secrets a.txt",
		"cd secrets && touch z", "env A=1 touch secrets/e", "timeout 5 touch secrets/t", "touch sub/../secrets/u", "touch SECRETS/u", "rm secrets/k.txt && echo x > secrets/c",

		"sh -c 'touch secrets/sh'", "ln -s ../a.txt secrets/l", "install a.txt secrets/i", "dd if=a.txt of=secrets/d", "chmod 600 secrets/k.txt",
		"truncate -s 0 secrets/k.txt", "rm -r secret*", "touch way/x", "x=$(echo 1 > secrets/c)", "{ echo 1; } > secrets/c", "/bin/rm secrets/k.txt",
		"echo x >& secrets/c", "exec 3<> secrets/c",
	} {
		want(t, r.Command(command, "", s.project), claudecode.Deny, "Edit(./secrets/**)", "it writes")
		want(t, r.Denied(command, s.project), claudecode.Deny, "Edit(./secrets/**)", "it writes")
	}
	for _, command := range []string{"cat secrets/k.txt", "cp secrets/k.txt x", "sed -n p secrets/k.txt", "dd if=secrets/k.txt of=x", "cat < secrets/k.txt", "echo x 2>&1 > x", "rm x"} {
		want(t, r.Denied(command, s.project), claudecode.None, "", "")
	}
	// Measured: these hold for the client's own tools only.
	for _, rule := range []string{"Edit", "Write(./secrets/**)"} {
		loose := newSession(t, setup{User: perms(t, []string{"Bash"}, []string{"Edit(./secrets/**)"}, []string{rule})})
		want(t, claudecode.LoadRules(loose.place).Command("touch secrets/new", "", loose.project), claudecode.None, "", "")
	}
}

// What is written by other means than a command is held against every rule about editing.
func TestEdit(t *testing.T) {
	t.Parallel()
	s := newSession(t, setup{User: perms(t, nil, []string{"Edit(./ask.txt)"}, []string{"Edit(./secrets/**)", "Write(*.lock)"})})
	r := claudecode.LoadRules(s.place)
	want(t, r.Edit("secrets/a", s.project), claudecode.Deny, "Edit(./secrets/**)", "covers")
	want(t, r.Edit("sub/a.lock", s.project), claudecode.Deny, "Write(*.lock)", "covers")
	want(t, r.Edit("ask.txt", s.project), claudecode.Ask, "Edit(./ask.txt)", "covers")
	want(t, r.Edit("a.txt", s.project), claudecode.None, "", "")
	bare := newSession(t, setup{User: perms(t, nil, nil, []string{"Edit"})})
	want(t, claudecode.LoadRules(bare.place).Edit("a.txt", bare.project), claudecode.Deny, "Edit", "covers")
}
