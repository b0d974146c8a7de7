package delegate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	slugPy      = "def slug(s):\n    return '-'.join(s.lower().split())\n"
	slugPyTests = "from slug import slug\n\n\ndef test_lowers_text():\n    assert slug(\"Hello\") == \"hello\"\n\n\ndef test_joins_words():\n    assert slug(\"Secret Words\") == \"secret-words\"\n"
	slugJS      = "exports.slug = (s) => s.toLowerCase().split(' ').join('-');\n"
	slugJSTests = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { slug } = require('../src/slug.js');\ntest('lowers the text', () => assert.strictEqual(slug('Hello'), 'hello'));\ntest('joins words with a dash', () => assert.strictEqual(slug('Secret Words'), 'secret-words'));\n"
)

// A command that installs would write through the links into the user's own dependencies.
func TestInstallingCommandIsRefused(t *testing.T) {
	t.Parallel()
	for _, k := range []struct{ command, folder, refused string }{
		{"npm ci --offline && node --test test/slug.test.js", "node_modules", "npm ci"},
		{"npm --prefix . install && node --test test/", "node_modules", "npm --prefix"},
		{"npm run all", "node_modules", "npm ci"},
		{"npm run hooked", "node_modules", "npm i"},
		{"sh -c 'yarn && node --test test/'", "node_modules", "yarn"},
		{"pnpm add x; node --test test/", "node_modules", "pnpm add"},
		{"python3 -m pip install -e . && python3 -m pytest", ".venv", "pip install"},
		{"uv pip install -e . && uv run pytest", ".venv", "uv pip install"},
		{"uv sync && uv run pytest", ".venv", "uv sync"},
		{".venv/bin/python setup.py -q develop && .venv/bin/python -m unittest", ".venv", "python setup.py"},
		{"poetry install && poetry run pytest", ".venv", "poetry install"},
		{"bundle install && bundle exec rspec", "vendor", "bundle install"},
		{"composer update && php check.php", "vendor", "composer update"},
		{"npm ci && node --test test/", ".venv", ""}, // it is not linked, so it is the worktree's own
		{"npm run lint add", "node_modules", ""},
		{"yarn jest -t add", "node_modules", ""},
		{"npm test", "node_modules", ""},
		{"uv run pytest -k install", ".venv", ""},
		{"bundle exec rspec -e install", "vendor", ""},
	} {
		s := newSite(t, map[string]string{
			"package.json": `{"scripts":{"test":"node --test test/","all":"npm ci && npm test","prehooked":"npm i","hooked":"node --test test/","lint":"true"}}`,
			".gitignore":   "node_modules/\n.venv/\nvendor/\n", "test/slug.test.js": slugJSTests, "src/slug.js": slugJS, "check.php": "",
		})
		put(t, s.dir, k.folder+"/dep/index.js", "mine\n")
		_, err := s.run(Request{Targets: []string{"src/new.js"}, Test: k.command})
		var refused *RefusedError
		got := errors.As(err, &refused) && strings.Contains(err.Error(), "would install into your "+k.folder)
		if got != (k.refused != "") || got && !strings.Contains(err.Error(), k.refused) {
			t.Errorf("%s with %s: %v", k.command, k.folder, err)
		}
		if s.read(k.folder+"/dep/index.js") != "mine\n" {
			t.Errorf("%s: the user's %s was changed", k.command, k.folder)
		}
		s.clean()
	}
}

// What a script does to a linked folder cannot be seen before; it is said after.
func TestChangedDependenciesAreSaid(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"check.sh": "touch node_modules/.cache-x node_modules/new\ngrep -q right out.txt\n", ".gitignore": "node_modules/\n"})
	put(t, s.dir, "node_modules/dep/index.js", "mine\n")
	s.answers("text", "right")
	res, err := s.run(Request{Targets: []string{"out.txt"}, Test: "sh check.sh", Spec: "Write the word."})
	if err != nil || res.Verdict != Pass || strings.Count(res.Text(), "WARNING: your node_modules changed") != 1 {
		t.Errorf("%v %s", err, res.Text())
	}
}

// The sandbox's wall in front of the user's dependencies is no reason to leave the sandbox.
func TestSandboxKeepsDependencies(t *testing.T) {
	t.Parallel()
	needs(t, "bwrap")
	s := newSite(t, map[string]string{"check.sh": "touch node_modules/dep/mark || exit 1\ngrep -q right out.txt\n", ".gitignore": "node_modules/\n"})
	s.settings = "delegate: {sandbox: auto}\n"
	put(t, s.dir, "node_modules/dep/index.js", "mine\n")
	s.answers("text", "right", "right")
	res, err := s.run(Request{Targets: []string{"out.txt"}, Test: "sh check.sh", Spec: "Write the word."})
	if err != nil {
		t.Fatal(err)
	}
	if res.Sandbox == "" {
		t.Skip("bubblewrap does not start here")
	}
	if s.read("node_modules/dep/mark") != "<missing>" || !strings.Contains(res.Text(), "it stays in the sandbox") {
		t.Errorf("mark %q\n%s", s.read("node_modules/dep/mark"), res.Text())
	}
}

// Variables that lead into the user's tree would let the test judge the old file.
func TestVariablesLeadToTheWorktree(t *testing.T) {
	t.Parallel()
	needs(t, "python3", "node")
	for _, k := range []struct {
		name, set string
		files     map[string]string
		req       Request
		tag, code string
	}{
		{
			"PYTHONPATH", "PYTHONPATH=/nowhere:@DIR@/src",
			map[string]string{"src/slug.py": "def slug(s):\n    return s\n", "tests/test_slug.py": slugPyTests},
			Request{Targets: []string{"src/slug.py"}, Test: "python3 -m pytest -q tests/test_slug.py"},
			"python", slugPy,
		},
		{
			"a new folder", "PYTHONPATH=@DIR@/lib:/nowhere",
			map[string]string{"tests/test_slug.py": slugPyTests},
			Request{Targets: []string{"lib/slug.py"}, Test: "python3 -m pytest -q tests/test_slug.py"},
			"python", slugPy,
		},
		{
			"NODE_PATH", "NODE_PATH=@DIR@/src",
			map[string]string{"src/slug.js": "exports.slug = (s) => s;\n", "test/slug.test.js": strings.ReplaceAll(slugJSTests, "../src/slug.js", "slug.js")},
			Request{Targets: []string{"src/slug.js"}, Test: "node --test test/slug.test.js"},
			"javascript", slugJS,
		},
		{
			"a folder to go to", "PROJECT=@DIR@",
			map[string]string{"src/slug.js": "exports.slug = (s) => s;\n", "test/slug.test.js": slugJSTests},
			Request{Targets: []string{"src/slug.js"}, Test: "cd \"$PROJECT\" && node --test test/slug.test.js"},
			"javascript", slugJS,
		},
	} {
		s := newSite(t, k.files)
		s.env = append(s.env, strings.ReplaceAll(k.set, "@DIR@", s.dir))
		s.answers(k.tag, k.code)
		res, err := s.run(k.req)
		if err != nil || res.Verdict != Pass {
			t.Errorf("%s: %v", k.name, err)
			if res != nil {
				t.Log(res.Text())
			}
		}
	}
	// A refactoring that breaks the code is not called a pass because the old file is still there.
	s := newSite(t, map[string]string{"src/slug.py": slugPy, "tests/test_slug.py": slugPyTests})
	s.env = append(s.env, "PYTHONPATH="+filepath.Join(s.dir, "src"))
	broken := "def slug(s):\n    raise RuntimeError('broken')\n"
	s.answers("python", broken, broken, broken)
	res, err := s.run(Request{Targets: []string{"src/slug.py"}, Test: "python3 -m pytest -q tests/test_slug.py", AllowGreen: true})
	if err != nil || res.Verdict != Fail || s.read("src/slug.py") != slugPy {
		t.Errorf("%v %s", err, res.Text())
	}
}

// A command that goes to the user's own tree is refused, however the path is written.
func TestCommandInTheUsersTree(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"test_slug.py": slugPyTests})
	old := s.dir
	s.dir = filepath.Join(s.home, "my project")
	if err := os.Rename(old, s.dir); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "HOME="+s.home)
	for _, command := range []string{
		`cd "@DIR@" && touch MARK; pytest -q`, `cd ~/'my project' && touch MARK; pytest`, `cd "$HOME/my project" && touch MARK`, `cd "${HOME}"/my\ project && touch MARK`,
		`PYTHONPATH="@DIR@" pytest`, `PYTHONPATH="/nowhere:@DIR@/src" pytest`, `pytest --rootdir="@DIR@"`, `echo x > "@DIR@/MARK"; false`,
		`sh -c 'cd "@DIR@" && touch MARK'`, `ruby -I"@DIR@/lib" test_slug.py`,
	} {
		_, err := s.run(Request{Targets: []string{"slug.py"}, Test: strings.ReplaceAll(command, "@DIR@", s.dir)})
		var bad *InputError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "absolute path into the project") {
			t.Errorf("%s: %v", command, err)
		}
	}
	if s.read("MARK") != "<missing>" {
		t.Error("the command ran in the user's tree")
	}
}
