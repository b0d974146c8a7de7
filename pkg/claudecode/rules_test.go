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

func perms(t *testing.T, allow, ask, deny []string) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(map[string]any{"permissions": map[string]any{"allow": allow, "ask": ask, "deny": deny}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, d claudecode.Decision, v claudecode.Verdict, rule, words string) {
	t.Helper()
	if d.Verdict != v || d.Rule != rule || !strings.Contains(d.Reason, words) {
		t.Errorf("got %+v, want %s by %q with %q", d, v, rule, words)
	}
}

// Deny beats ask beats allow, whatever file they stand in.
func TestPrecedenceOverSources(t *testing.T) {
	t.Parallel()
	s := newSession(t, setup{
		User:  perms(t, []string{"Bash(make:*)"}, []string{"Bash(make deploy:*)"}, nil),
		Local: perms(t, []string{"Bash(make deploy:*)", "Bash(rm:*)"}, nil, nil),
	})
	write(t, filepath.Join(s.place.Managed, "managed-settings.json"), string(perms(t, nil, nil, []string{"Bash(rm:*)"})))
	r := claudecode.LoadRules(s.place)
	want(t, r.Command("make test", "", s.project), claudecode.None, "", "")
	want(t, r.Command("make deploy now", "", s.project), claudecode.Ask, "Bash(make deploy:*)", "the rule covers")
	d := r.Command("make test && rm -rf x", "", s.project)
	want(t, d, claudecode.Deny, "Bash(rm:*)", `"rm -rf x"`)
	if !strings.HasSuffix(d.File, "managed-settings.json") {
		t.Errorf("file %s", d.File)
	}
}

func TestManagedRulesOnly(t *testing.T) {
	t.Parallel()
	s := newSession(t, setup{User: perms(t, []string{"Bash"}, nil, []string{"Bash(rm:*)"})})
	write(t, filepath.Join(s.place.Managed, "managed-settings.json"),
		`{"allowManagedPermissionRulesOnly": true, "permissions": {"allow": ["Bash(make:*)"], "disableBypassPermissionsMode": "disable"}}`)
	r := claudecode.LoadRules(s.place)
	want(t, r.Command("make x", "", s.project), claudecode.None, "", "")
	want(t, r.Command("npm x", "", s.project), claudecode.Ask, "", "no rule")
	want(t, r.Command("rm x", "", s.project), claudecode.Deny, "Bash(rm:*)", "")
	want(t, r.Command("npm x", claudecode.ModeBypass, s.project), claudecode.Ask, "", "no rule")
}

func TestModes(t *testing.T) {
	t.Parallel()
	s := newSession(t, setup{User: perms(t, []string{"Bash(make test)"}, nil, []string{"Bash(git push:*)"})})
	r := claudecode.LoadRules(s.place)
	for _, tt := range []struct {
		command, mode string
		want          claudecode.Verdict
	}{
		{"npm test", "", claudecode.Ask},
		{"npm test", "default", claudecode.Ask},
		{"npm test", claudecode.ModeEdits, claudecode.Ask},
		{"npm test", claudecode.ModeAuto, claudecode.Ask},
		{"npm test", claudecode.ModeNoAsk, claudecode.Deny},
		{"npm test", claudecode.ModeBypass, claudecode.None},
		{"npm $(x)", claudecode.ModeBypass, claudecode.None},
		{"git push", claudecode.ModeBypass, claudecode.Deny},
		{"git push", "", claudecode.Deny},
		{"x; (git push)", claudecode.ModeBypass, claudecode.Deny},
		{"make test", claudecode.ModeNoAsk, claudecode.None},
		{"make test", claudecode.ModeAuto, claudecode.None},
		{"ls", claudecode.ModePlan, claudecode.Deny},
		{"ls", claudecode.ModeNoAsk, claudecode.None},
		{"if (", claudecode.ModeBypass, claudecode.None},
		{"if (", "", claudecode.Ask},
		{"if ( git push", claudecode.ModeBypass, claudecode.Deny},
	} {
		if got := r.Command(tt.command, tt.mode, s.project); got.Verdict != tt.want {
			t.Errorf("%q in %q: %+v, want %s", tt.command, tt.mode, got, tt.want)
		}
	}
	if d := r.Command("npm run build -- --fast", "", s.project); d.Needed != "Bash(npm run build:*)" {
		t.Errorf("needed rule %q", d.Needed)
	}
	if d := r.Denied("npm test", s.project); d.Verdict != claudecode.None {
		t.Errorf("denied: %+v", d)
	}
}

// Settings that cannot be read allow nothing; what they deny is unknown, so everything is asked.
func TestBrokenSettings(t *testing.T) {
	t.Parallel()
	s := newSession(t, setup{User: perms(t, []string{"Bash"}, nil, nil)})
	write(t, filepath.Join(s.project, ".claude", "settings.local.json"), `{"permissions": {"deny": ["Bash(rm:*)"`)
	r := claudecode.LoadRules(s.place)
	want(t, r.Command("ls", "", s.project), claudecode.Ask, "", "settings.local.json")
	if len(r.Problems) != 1 {
		t.Errorf("%v", r.Problems)
	}
	write(t, filepath.Join(s.project, ".claude", "settings.local.json"), "")
	want(t, claudecode.LoadRules(s.place).Command("ls", "", s.project), claudecode.None, "", "")
}

func TestProjectTrustIsForTheDirectoryItself(t *testing.T) {
	t.Parallel()
	s := newSession(t, setup{Project: perms(t, []string{"Bash(make:*)"}, nil, []string{"Bash(rm:*)"}), Trusted: true})
	want(t, claudecode.LoadRules(s.place).Command("make x", "", s.project), claudecode.None, "", "")
	sub := s.place
	sub.Dir = filepath.Join(s.project, "sub")
	r := claudecode.LoadRules(sub)
	want(t, r.Command("make x", "", sub.Dir), claudecode.Ask, "", "no rule")
	want(t, r.Command("rm x", "", sub.Dir), claudecode.Deny, "Bash(rm:*)", "")
}

// K11: a Read deny holds for our files argument as for the client's own tools.
func TestRead(t *testing.T) {
	t.Parallel()
	s := newSession(t, setup{User: json.RawMessage(`{"permissions": {
		"deny": ["Read(./.env)", "Read(secrets/**)", "Read(*.pem)", "Read(~/.ssh/**)", "Read(//abs/x)", "Read(/top.txt)"],
		"ask": ["Read(./ask.txt)"], "allow": ["Read(//elsewhere/**)"], "additionalDirectories": ["~/more"]}}`)})
	r := claudecode.LoadRules(s.place)
	for _, tt := range []struct {
		path string
		want claudecode.Verdict
	}{
		{"a.txt", claudecode.None},
		{"sub/deep/new.txt", claudecode.None},
		{filepath.Join(s.project, "a.txt"), claudecode.None},
		{".env", claudecode.Deny},
		{"./.env", claudecode.Deny},
		{"sub/../.env", claudecode.Deny},
		{filepath.Join(s.project, ".env"), claudecode.Deny},
		{"sub/.env", claudecode.None},
		{".ENV", claudecode.Deny},
		{"secrets/a/b", claudecode.Deny},
		{"secrets", claudecode.Deny},
		{"sub/deep/key.pem", claudecode.Deny},
		{"~/.ssh/id", claudecode.Deny},
		{filepath.Join(s.home, ".ssh", "id"), claudecode.Deny},
		{"/abs/x", claudecode.Deny},
		{"/abs/x/y", claudecode.Deny},
		{"ask.txt", claudecode.Ask},
		{"/nosuch", claudecode.Ask},
		{"../x", claudecode.Ask},
		{"/elsewhere/a", claudecode.None},
		{filepath.Join(s.home, "more", "x"), claudecode.None},
		{filepath.Join(s.home, "x"), claudecode.Ask},
		{filepath.Join(s.home, "top.txt"), claudecode.Deny},
	} {
		if got := r.Read(tt.path, s.project); got.Verdict != tt.want {
			t.Errorf("%s: %+v, want %s", tt.path, got, tt.want)
		}
	}
}

// A link to a denied file, and a denied link, are both denied.
func TestReadThroughLinks(t *testing.T) {
	t.Parallel()
	s := newSession(t, setup{User: perms(t, nil, nil, []string{"Read(./.env)"})})
	if err := os.Symlink(filepath.Join(s.project, ".env"), filepath.Join(s.project, "innocent")); err != nil {
		t.Skip("no links here: ", err)
	}
	r := claudecode.LoadRules(s.place)
	want(t, r.Read("innocent", s.project), claudecode.Deny, "Read(./.env)", "innocent")
	want(t, r.Command("cat innocent", "", s.project), claudecode.Deny, "Read(./.env)", "innocent")
	if err := os.Symlink(s.home, filepath.Join(s.project, "out")); err != nil {
		t.Fatal(err)
	}
	want(t, r.Read("out/x", s.project), claudecode.Ask, "", "outside")
	lent := newSession(t, setup{User: perms(t, []string{"Read(//etc/**)"}, nil, nil)})
	lr := claudecode.LoadRules(lent.place)
	if runtime.GOOS == "linux" { // the session's link points at /etc/hostname
		want(t, lr.Read("/etc/hosts", lent.project), claudecode.None, "", "")
		want(t, lr.Read("link", lent.project), claudecode.Ask, "", "outside")
	}
	want(t, r.Command("cat out/x", "", s.project), claudecode.Ask, "", "outside")
}

func BenchmarkCommand(b *testing.B) {
	home := b.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o700); err != nil {
		b.Fatal(err)
	}
	rules := `{"permissions":{"allow":["Bash(npm run test:*)","Bash(git *)"],"deny":["Bash(rm:*)","Read(./.env)"]}}`
	if err := os.WriteFile(filepath.Join(home, ".claude", "settings.json"), []byte(rules), 0o600); err != nil {
		b.Fatal(err)
	}
	place := claudecode.Place{Dir: home, Managed: home, Env: []string{"HOME=" + home, "USERPROFILE=" + home}}
	for b.Loop() {
		r := claudecode.LoadRules(place)
		if d := r.Command("CI=1 npm run test -- --x 2>&1 | tail -5", "", home); d.Verdict != claudecode.None {
			b.Fatal(d)
		}
	}
}
