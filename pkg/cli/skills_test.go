package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/tidwall/gjson"

	"legwork/pkg/config"
	"legwork/pkg/mcpserver"
)

// vocabulary is all that a text of the plugin may name.
type vocabulary struct {
	words    map[string]bool // tools, their arguments, keys of settings, options of the plugin, skills
	keys     map[string]bool // whole keys: defaults.model
	sections map[string]bool
	flags    map[string]bool // of any command, with --
	source   string          // of the program: what it says
}

func newVocabulary(t *testing.T) *vocabulary {
	t.Helper()
	v := &vocabulary{words: map[string]bool{}, keys: map[string]bool{}, sections: map[string]bool{}, flags: map[string]bool{}}
	for _, tool := range mcpserver.ToolNames() {
		v.words[tool] = true
	}
	for _, tool := range gjson.ParseBytes(repoFile(t, "pkg/mcpserver/testdata/tools.json")).Array() {
		tool.Get("inputSchema.properties").ForEach(func(name, _ gjson.Result) bool { v.words[name.Str] = true; return true })
	}
	for _, s := range config.Reference() {
		section, _, _ := strings.Cut(s.Key, ".")
		v.keys[s.Key], v.sections[section], v.words[section] = true, true, true
		v.words[s.Key[strings.LastIndexByte(s.Key, '.')+1:]] = true
	}
	gjson.GetBytes(repoFile(t, ".claude-plugin/plugin.json"), "userConfig").ForEach(func(name, _ gjson.Result) bool { v.words[name.Str] = true; return true })
	skills, err := filepath.Glob("../../skills/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range skills {
		v.words[filepath.Base(s)] = true
	}
	v.addFlags(root())
	v.readSource(t)
	return v
}

func (v *vocabulary) addFlags(cmd *command) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	if cmd.bind != nil {
		cmd.bind(fs)
	}
	new(global).bind(fs)
	fs.VisitAll(func(f *pflag.Flag) { v.flags["--"+f.Name] = true })
	for _, sub := range cmd.subs {
		v.addFlags(sub)
	}
}

// readSource takes the program's texts: replies and errors that a skill quotes must be there.
func (v *vocabulary) readSource(t *testing.T) {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	v.source = b.String()
}

var (
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	quoted     = regexp.MustCompile(`(?m)^- "([^"]+)":`)
	plainWord  = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	settingKey = regexp.MustCompile(`^([a-z_]+)\.[a-z_]+$`)
	slash      = regexp.MustCompile(`^/legwork:([a-z-]+)$`)
	ours       = regexp.MustCompile(`(?:^|\()(?:legwork|sh "\$\{CLAUDE_PLUGIN_ROOT\}/bin/legwork") ([^)|]*)`)
)

// wrong says what is not there of a piece of code in a text; "" when all is well, or nobody can tell.
func (v *vocabulary) wrong(code string) string {
	tool, isTool := strings.CutPrefix(code, mcpserver.ToolPrefix)
	m, key := slash.FindStringSubmatch(code), settingKey.FindStringSubmatch(code)
	switch {
	case isTool && !v.words[tool]:
		return "no such tool"
	case isTool:
	case m != nil:
		if _, err := os.Stat("../../commands/" + m[1] + ".md"); err != nil {
			return "no such command"
		}
	case key != nil && v.sections[key[1]] && !v.keys[code]:
		return "no such setting"
	case strings.HasPrefix(code, "--"):
		if flag := strings.Fields(code)[0]; !v.flags[strings.TrimSuffix(flag, ",")] {
			return "no such flag"
		}
	case ours.MatchString(code):
		return wrongCommand(ours.FindStringSubmatch(code)[1])
	case plainWord.MatchString(code) && !v.words[code] && !strings.Contains(v.source, `"`+code+`"`) && !strings.Contains(v.source, " "+code):
		return "neither a tool, an argument, a setting nor a word of the program"
	}
	return ""
}

// wrongCommand walks down the grammar.
func wrongCommand(line string) string {
	cmd := root()
	words := strings.Fields(strings.ReplaceAll(line, ":*", ""))
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		var next *command
		for _, sub := range cmd.subs {
			if sub.name == words[0] {
				next = sub
			}
		}
		if next == nil {
			break
		}
		cmd, words = next, words[1:]
	}
	if cmd.name == "legwork" || cmd.bind == nil && len(cmd.subs) > 0 {
		return "no such command"
	}
	known := (&vocabulary{flags: map[string]bool{}})
	known.addFlags(&command{bind: cmd.bind})
	for _, w := range words {
		if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "--") && !known.flags[flag] {
			return "no flag " + flag
		}
	}
	return ""
}

// Every tool, argument, flag, setting, command and quoted word in the skills and slash commands exists. What the README
// and docs name is checked in test/docs.
func TestSkillsAndCommandsNameWhatExists(t *testing.T) {
	t.Parallel()
	v := newVocabulary(t)
	var names []string
	for _, pattern := range []string{"../../skills/*/SKILL.md", "../../commands/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		names = append(names, found...)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		own := filepath.Base(filepath.Dir(name)) == "delegate-specs" // its examples are code of others
		seen := 0
		for _, m := range codeSpan.FindAllStringSubmatch(string(text), -1) {
			seen++
			if why := v.wrong(strings.TrimPrefix(m[1], "!")); why != "" && (!own || why != "neither a tool, an argument, a setting nor a word of the program") {
				t.Errorf("%s: `%s`: %s", name, m[1], why)
			}
		}
		for l := range strings.Lines(string(text)) { // permissions and code blocks
			for part := range strings.SplitSeq(l, ", Bash(") {
				if m := ours.FindStringSubmatch(strings.TrimSpace(strings.Trim(part, "`!\n"))); m != nil {
					if why := wrongCommand(m[1]); why != "" {
						t.Errorf("%s: %s: %s", name, strings.TrimSpace(l), why)
					}
				}
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(v.source, m[1]) {
				t.Errorf("%s: the program never says %q", name, m[1])
			}
		}
		if seen == 0 {
			t.Errorf("%s names nothing", name)
		}
	}
}

// The check is one: each kind of slip is found.
func TestSlipsAreFound(t *testing.T) {
	t.Parallel()
	v := newVocabulary(t)
	for _, bad := range []string{
		mcpserver.ToolPrefix + "ofload", "/legwork:local-setups", "defaults.modell", "--auto-uses LIST", "legwork setups", "legwork setup --jsonn", "legwork jobs lists x",
		`sh "${CLAUDE_PLUGIN_ROOT}/bin/legwork" setup --nonsense`, "wait_secs_for_it",
	} {
		if v.wrong(bad) == "" {
			t.Errorf("%q passes", bad)
		}
	}
	for _, good := range []string{
		mcpserver.ToolPrefix + "offload", "/legwork:local-setup", "defaults.model", "--auto-use LIST", "legwork setup --json", "legwork jobs apply ID",
		`sh "${CLAUDE_PLUGIN_ROOT}/bin/legwork" stats $ARGUMENTS`, "wait_s", "api_key", "[5, 5]",
	} {
		if why := v.wrong(good); why != "" {
			t.Errorf("%q: %s", good, why)
		}
	}
}
