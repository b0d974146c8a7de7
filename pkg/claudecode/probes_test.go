package claudecode_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"legwork/pkg/claudecode"
)

// session is a home and a project as the probes had them.
type session struct {
	home, project string
	place         claudecode.Place
}

type setup struct {
	User, Project, Local json.RawMessage
	Mode                 string
	Trusted              bool
}

func newSession(t *testing.T, s setup) session {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := session{home: filepath.Join(root, "home"), project: filepath.Join(root, "proj")}
	put := func(text string, elem ...string) {
		t.Helper()
		path := filepath.Join(elem...)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		".env": "SECRET=1\n", "a.txt": "hello\n", "b.txt": "hi\n", "sub/c.txt": "c\n", "sub/deep/x": "", "secrets.json": "{}\n",
		"package.json": "{}", "Makefile": "", ".git/HEAD": "ref: refs/heads/main\n",
	} {
		put(text, out.project, filepath.FromSlash(name))
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("/etc/hostname", filepath.Join(out.project, "link")); err != nil {
			t.Fatal(err)
		}
	}
	if s.User != nil {
		put(string(s.User), out.home, ".claude", "settings.json")
	}
	if s.Project != nil {
		put(string(s.Project), out.project, ".claude", "settings.json")
	}
	if s.Local != nil {
		put(string(s.Local), out.project, ".claude", "settings.local.json")
	}
	if s.Trusted {
		state, err := json.Marshal(map[string]any{"projects": map[string]any{out.project: map[string]any{"hasTrustDialogAccepted": true}}})
		if err != nil {
			t.Fatal(err)
		}
		put(string(state), out.home, ".claude.json")
	}
	out.place = claudecode.Place{
		Dir: out.project, Managed: filepath.Join(root, "managed"),
		Env: []string{"HOME=" + out.home, "USERPROFILE=" + out.home},
	}
	return out
}

var strictness = map[string]int{"run": 0, "none": 0, "ask": 1, "deny": 2}

// Every probe of the real client (2.1.332, recorded) against ours: never looser; stricter only where the table
// says so in its third column, with the reason at its head.
func TestProbes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the probes were recorded with unix paths")
	}
	data, err := os.ReadFile("testdata/probes.txt")
	if err != nil {
		t.Fatal(err)
	}
	var sess session
	var rules *claudecode.Rules
	var name, mode string
	probes, stricter := 0, 0
	for n, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if strings.HasPrefix(line, "# ") || line == "" {
			continue
		}
		cols := strings.Split(line, "\t")
		if title, ok := strings.CutPrefix(cols[0], "## "); ok {
			var s setup
			if err := json.Unmarshal([]byte(cols[1]), &s); err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
			sess, name, mode = newSession(t, s), title, s.Mode
			rules = claudecode.LoadRules(sess.place)
			continue
		}
		probes++
		client, command, ours := cols[0], cols[1], cols[0]
		if len(cols) > 2 {
			ours = cols[2]
			stricter++
		}
		command = strings.NewReplacer(`\n`, "\n", "{proj}", sess.project, "{home}", sess.home).Replace(command)
		got := rules.Command(command, mode, sess.project)
		if strictness[string(got.Verdict)] < strictness[client] {
			t.Errorf("line %d, %s: LOOSER than the client (%s): %q is %s", n+1, name, client, command, got.Verdict)
		} else if strictness[string(got.Verdict)] != strictness[ours] {
			t.Errorf("line %d, %s: %q: %s, want %s (%s)", n+1, name, command, got.Verdict, ours, got.Reason)
		}
		if got.Verdict != claudecode.None && got.Reason == "" {
			t.Errorf("line %d: no reason", n+1)
		}
	}
	t.Logf("%d probes, %d stricter than the client", probes, stricter)
}

// No text makes it fail, and what a rule denies stays denied whatever stands around it.
func FuzzCommand(f *testing.F) {
	for _, seed := range []string{"", `cat ""`, "a=(1 2); ${a[@]}", "[[ a -eq b[$(id)] ]]", "cat <<EOF\n$(x)\nEOF", "bash -c 'bash -c \"x\"'", "find . -exec", "time", "!", "timeout 5", "git -C", "for((;;)) do :; done"} {
		f.Add(seed)
	}
	home := f.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o700); err != nil {
		f.Fatal(err)
	}
	rules := `{"permissions":{"allow":["Bash(x *)"],"deny":["Bash(rm:*)","Read(./.env)"],"ask":["Bash(git *--force*)"]}}`
	if err := os.WriteFile(filepath.Join(home, ".claude", "settings.json"), []byte(rules), 0o600); err != nil {
		f.Fatal(err)
	}
	r := claudecode.LoadRules(claudecode.Place{Dir: home, Managed: home, Env: []string{"HOME=" + home, "USERPROFILE=" + home}})
	f.Fuzz(func(t *testing.T, command string) {
		_ = r.Command(command, "", home)
		if got := r.Command(command+"\nrm x", "", home); got.Verdict == claudecode.None {
			t.Errorf("%q and then rm: %+v", command, got)
		}
	})
}
