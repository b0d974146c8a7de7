package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"legwork/pkg/claudecode"
)

// version compares this binary with the plugin it lies in. An update that replaced only one of them is a common reason
// for tools that are not there.
func version(_ context.Context, c *checkup) []Finding {
	manifest := manifestOf(c.Program, c.Env)
	if manifest == "" {
		return one(OK, "", "%s, not part of a plugin", c.Version)
	}
	var m struct{ Version string }
	b, err := os.ReadFile(manifest)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	switch {
	case err != nil:
		return one(Fail, "install the plugin again: claude plugin update legwork@legwork", "%s cannot be read: %v", manifest, err)
	case m.Version != c.Version:
		return one(Fail, "update or install the plugin again, then restart Claude Code: claude plugin update legwork@legwork",
			"the binary is %s, the plugin around it %s", c.Version, m.Version)
	}
	return one(OK, "", "%s, and so is the plugin in %s", c.Version, filepath.Dir(filepath.Dir(manifest)))
}

// manifestOf is the plugin.json of the plugin that a program belongs to: the client says it by variable, else it lies
// above the program (bin/legwork, bin/prebuilt/legwork-linux-amd64).
func manifestOf(program string, env []string) string {
	roots := []string{variable(env, "CLAUDE_PLUGIN_ROOT")}
	for dir, i := filepath.Dir(program), 0; i < 3; dir, i = filepath.Dir(dir), i+1 {
		roots = append(roots, dir)
	}
	for _, root := range roots {
		path := filepath.Join(root, ".claude-plugin", "plugin.json")
		if root == "" || !filepath.IsAbs(root) {
			continue
		}
		var m struct{ Name string }
		if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &m) == nil && m.Name == "legwork" {
			return path
		}
	}
	return ""
}

// plugin looks what the client has installed.
func plugin(_ context.Context, c *checkup) []Finding {
	dir := claudecode.ConfigDir(c.Env)
	var installed struct {
		Plugins map[string][]struct{ Version, InstallPath string }
	}
	b, err := os.ReadFile(filepath.Join(dir, "plugins", "installed_plugins.json"))
	if err == nil {
		err = json.Unmarshal(b, &installed)
	}
	for name, list := range installed.Plugins {
		if !strings.HasPrefix(name, "legwork@") || len(list) == 0 {
			continue
		}
		if !enabled(dir, name) {
			return one(Warn, "claude plugin enable "+name, "%s is installed in Claude Code, and switched off", name)
		}
		if v := list[0].Version; v != c.Version {
			return one(Warn, "claude plugin update "+name+", then restart Claude Code", "Claude Code has %s %s, this is %s", name, v, c.Version)
		}
		return one(OK, "", "%s %s is installed in Claude Code", name, list[0].Version)
	}
	if err != nil && !os.IsNotExist(err) {
		return one(Skip, "", "what Claude Code has installed cannot be read: %v", err)
	}
	return one(Skip, "claude plugin marketplace add FOLDER-OR-URL, then claude plugin install legwork@legwork",
		"the plugin is not installed in Claude Code (%s)", dir)
}

// enabled reads the user's settings; a plugin nobody switched off counts as on.
func enabled(dir, name string) bool {
	var s struct {
		EnabledPlugins map[string]bool `json:"enabledPlugins"`
	}
	b, err := os.ReadFile(filepath.Join(dir, "settings.json"))
	if err != nil || json.Unmarshal(b, &s) != nil {
		return true
	}
	on, said := s.EnabledPlugins[name]
	return on || !said
}

// settings reports what is wrong with the configuration, and what a project is not trusted to set.
func settings(_ context.Context, c *checkup) []Finding {
	if c.cfg == nil {
		return one(Fail, "mend the file at that line", "%v", c.cfgErr)
	}
	var out []Finding
	held := map[string]bool{}
	for _, f := range c.cfg.Project.Files {
		if len(f.Ignored) > 0 {
			out = append(out, one(Warn, "look at it, then run `legwork trust` in "+c.cfg.Project.Root, "%s is not trusted, so it may not set %s", f.Path, strings.Join(f.Ignored, ", "))...)
			for _, key := range f.Ignored {
				held[f.Path+"\x00"+key] = true
			}
		}
	}
	for _, w := range c.cfg.Warnings {
		if !held[w.Origin.File+"\x00"+w.Key] {
			out = append(out, one(Warn, "correct it there; `legwork configure` shows every setting", "%s", w)...)
		}
	}
	out = append(out, openFiles(c)...)
	if len(out) == 0 {
		set := 0
		for _, e := range c.cfg.View() {
			if !e.Default {
				set++
			}
		}
		return one(OK, "", "%d set, the rest built in", set)
	}
	return out
}

// openFiles names settings files with keys in them that others may read.
func openFiles(c *checkup) []Finding {
	var out []Finding
	for _, path := range []string{c.cfg.UserFile, c.cfg.UserSidecar} {
		st, err := os.Stat(path)
		if err != nil || !othersMayRead(st) || !holdsKey(c, path) {
			continue
		}
		out = append(out, Finding{Status: Warn, Text: fmt.Sprintf("%s holds a key, and other users of this machine may read it", path), Fix: "chmod 600 " + path})
	}
	return out
}

func holdsKey(c *checkup, path string) bool {
	for _, e := range c.cfg.View() {
		if strings.Contains(e.Value, "(set)") && strings.HasPrefix(e.Origin, path+":") {
			return true
		}
	}
	return false
}

func variable(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
