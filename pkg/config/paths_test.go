package config

import (
	"path/filepath"
	"testing"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	in := func(elem ...string) string { return filepath.Join(append([]string{root}, elem...)...) }
	for _, tt := range []struct {
		name          string
		goos          string
		vars          map[string]string
		config, state string
	}{
		{"home", "linux", map[string]string{"HOME": in("h")}, in("h", ".config", "legwork"), in("h", ".local", "state", "legwork")},
		{"mac is like linux", "darwin", map[string]string{"HOME": in("h")}, in("h", ".config", "legwork"), in("h", ".local", "state", "legwork")},
		{"xdg", "linux", map[string]string{"HOME": in("h"), "XDG_CONFIG_HOME": in("c"), "XDG_STATE_HOME": in("s")}, in("c", "legwork"), in("s", "legwork")},
		{"a relative xdg directory is ignored", "linux", map[string]string{"HOME": in("h"), "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "s"}, in("h", ".config", "legwork"), in("h", ".local", "state", "legwork")},
		{"own", "linux", map[string]string{"HOME": in("h"), "XDG_CONFIG_HOME": in("c"), "LEGWORK_CONFIG_HOME": in("o"), "LEGWORK_STATE_HOME": in("p")}, in("o"), in("p")},
		{"windows", "windows", map[string]string{"USERPROFILE": in("u"), "APPDATA": in("a"), "LOCALAPPDATA": in("l"), "HOME": in("h")}, in("a", "legwork"), in("l", "legwork")},
		{"windows, bare", "windows", map[string]string{"USERPROFILE": in("u")}, in("u", "AppData", "Roaming", "legwork"), in("u", "AppData", "Local", "legwork")},
		{"nothing", "linux", nil, "", ""},
		{"own, relative", "linux", map[string]string{"HOME": in("h"), "LEGWORK_CONFIG_HOME": "x", "LEGWORK_STATE_HOME": "x"}, "", ""},
	} {
		e := environment{vars: tt.vars, goos: tt.goos}
		config, errC := e.configHome()
		state, errS := e.stateHome()
		if config != tt.config || state != tt.state || (errC == nil) != (tt.config != "") || (errS == nil) != (tt.state != "") {
			t.Errorf("%s: %q (%v), %q (%v)", tt.name, config, errC, state, errS)
		}
	}
}

func BenchmarkSchema(b *testing.B) {
	for b.Loop() {
		buildSchema()
	}
}
