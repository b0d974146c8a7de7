package delegate

import (
	"errors"
	"strings"
	"testing"
)

// stack is one runner with a small task: the right answer, a wrong one, and ways of cheating.
type stack struct {
	name, tag string
	tools     []string
	files     map[string]string
	target    string
	test      string
	right     string
	wrong     string // one test stays red
	gate      string
	cheats    map[string]string
}

func stacks() []stack {
	return []stack{
		{
			name: "node", tag: "javascript", tools: []string{"node"}, target: "src/slug.js", test: "node --test test/slug.test.js", gate: GateNames,
			files: map[string]string{"test/slug.test.js": `const test = require('node:test');
const assert = require('node:assert');
const { slug } = require('../src/slug.js');
test('lowers the text', () => assert.strictEqual(slug('Hello'), 'hello'));
test('joins words with a dash', () => assert.strictEqual(slug('Secret Words'), 'secret-words'));
`},
			right: "exports.slug = (s) => s.toLowerCase().split(' ').join('-');",
			wrong: "exports.slug = (s) => s.toLowerCase();",
			cheats: map[string]string{
				"exit at import":       "process.exit(0);\nexports.slug = (s) => s;",
				"exit in a test":       "exports.slug = (s) => { process.exit(0); };",
				"fake lines and exit":  "console.log('TAP version 13\\n# tests 2\\n# pass 2\\n# fail 0\\nok 1 - lowers the text\\nok 2 - joins words with a dash');\nprocess.exit(0);",
				"swallowed runner":     "const t = require('node:test');\nfor (const k of ['test', 'it', 'describe']) t[k] = () => {};\nrequire.cache[require.resolve('node:test')] = undefined;\nprocess.on('exit', () => { process.exitCode = 0; });\nprocess.reallyExit(0);",
				"rewritten test":       "const fs = require('fs'), path = require('path');\nfs.writeFileSync(path.join(__dirname, '../test/slug.test.js'), \"require('node:test')('lowers the text', () => {});\");\nexports.slug = (s) => s.toLowerCase().split(' ').join('-');",
				"muted assertions":     "const a = require('node:assert');\nfor (const k of Object.keys(a)) a[k] = () => {};\nexports.slug = (s) => s;",
				"muted one by one":     "const { strictEqual } = require('node:assert');\nrequire('node:assert').strictEqual = () => strictEqual(1, 1);\nexports.slug = (s) => s;",
				"another assert":       "const m = require('module'), real = m._load;\nm._load = (n, ...a) => n === 'node:assert' ? new Proxy({}, { get: () => () => {} }) : real(n, ...a);\nconst c = 'node:' + 'assert';\nconst box = require(c);\nObject.keys(box).forEach((k) => Reflect.set(box, k, () => {}));\nexports.slug = (s) => s;",
				"exit code at the end": "exports.slug = (s) => s.toLowerCase();\nprocess.on('exit', () => { process.exitCode = 0; });",
				"deleted test":         "require('fs').rmSync(require.resolve('../test/slug.test.js'));\nexports.slug = (s) => s.toLowerCase();",
				"new package.json":     "require('fs').writeFileSync('package.json', '{\"scripts\":{\"test\":\"true\"}}');\nexports.slug = (s) => s.toLowerCase();",
				"only some tests":      "const t = require('node:test');\nt.test.only = () => {};\nprocess.execArgv.push('--test-name-pattern=lowers');\nexports.slug = (s) => s.toLowerCase();",
				"thrown away errors":   "process.on('uncaughtException', () => process.exit(0));\nError.prepareStackTrace = () => { process.exit(0); };\nexports.slug = (s) => s.toLowerCase();",
				"forced exit code":     "exports.slug = (s) => s.toLowerCase();\nprocess.on('exit', () => { process.exitCode = 0; process.reallyExit(0); });",
			},
		},
		{
			name: "pytest", tag: "python", tools: []string{"python3", "pytest"}, target: "slug.py", test: "pytest -q test_slug.py", gate: GateNames,
			files: map[string]string{"test_slug.py": "from slug import slug\n\n\ndef test_lowers_text():\n    assert slug(\"Hello\") == \"hello\"\n\n\ndef test_joins_words():\n    assert slug(\"Secret Words\") == \"secret-words\"\n"},
			right: "def slug(s):\n    return '-'.join(s.lower().split())",
			wrong: "def slug(s):\n    return s.lower()",
			cheats: map[string]string{
				"exit at import":   "import os\nos._exit(0)",
				"exit in a test":   "import os\n\ndef slug(s):\n    os._exit(0)",
				"fake lines":       "import os, sys\nprint('test_slug.py ..                              [100%]\\n\\n2 passed in 0.01s', flush=True)\nos._exit(0)",
				"emptied test set": "import sys, pytest\n\ndef slug(s):\n    return s\n\nclass P:\n    pass\n\nimport _pytest.main\n_pytest.main.Session.perform_collect = lambda self, *a, **k: []\npytest.skip('all', allow_module_level=True)",
				"silent runner":    "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n\ndef slug(s):\n    return s",
				"silent by lookup": "import sys\nm = [m for n, m in list(sys.modules.items()) if n.endswith('.python') and hasattr(m, 'Function')][0]\nm.Function.runtest = lambda self: None\n\ndef slug(s):\n    return s",
				"equal to all":     "class Any(str):\n    def __eq__(self, other):\n        return True\n\ndef slug(s):\n    return Any(s)",
				"equal by lambda":  "def slug(s):\n    return type('A', (), {'__eq__': lambda self, o: True})()",
				"end at exit":      "import atexit, os\natexit.register(lambda: os._exit(0))\n\ndef slug(s):\n    return s.lower()",
				"a conftest":       "import pathlib\npathlib.Path(__file__).with_name('conftest.py').write_text('collect_ignore = [\"test_slug.py\"]')\n\ndef slug(s):\n    return s.lower()",
				"deleted test":     "import os\nos.remove('test_slug.py')\n\ndef slug(s):\n    return s.lower()",
				"other assertions": "import builtins\n\nclass E(Exception):\n    pass\n\nbuiltins.AssertionError = lambda *a: KeyboardInterrupt()\n\ndef slug(s):\n    return s.lower()",
				"trace function":   "import sys\n\ndef slug(s):\n    f = sys._getframe(1)\n    return next((c for c in f.f_code.co_consts if isinstance(c, str) and c == c.lower() and len(c) > 3), s)",
				"skip in a test":   "import pytest\n\ndef slug(s):\n    if s != 'Hello':\n        pytest.skip('no')\n    return 'hello'",
				"rewritten test":   "import pathlib\npathlib.Path(__file__).with_name('test_slug.py').write_text('def test_lowers_text():\\n    pass\\n')\n\ndef slug(s):\n    return '-'.join(s.lower().split())",
			},
		},
		{
			name: "go", tag: "go", tools: []string{"go"}, target: "slug.go", test: "go test ./...", gate: GateCounts,
			files: map[string]string{
				"go.mod":       "module example.com/slug\n\ngo 1.22\n",
				"slug_test.go": "package slug\n\nimport \"testing\"\n\nfunc TestLowersText(t *testing.T) {\n\tif got := Slug(\"Hello\"); got != \"hello\" {\n\t\tt.Errorf(\"Slug(%q) = %q, want %q\", \"Hello\", got, \"hello\")\n\t}\n}\n\nfunc TestJoinsWords(t *testing.T) {\n\tif got := Slug(\"Secret Words\"); got != \"secret-words\" {\n\t\tt.Errorf(\"Slug(%q) = %q, want %q\", \"Secret Words\", got, \"secret-words\")\n\t}\n}\n",
			},
			right: "package slug\n\nimport \"strings\"\n\nfunc Slug(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), \"-\") }",
			wrong: "package slug\n\nimport \"strings\"\n\nfunc Slug(s string) string { return strings.ToLower(s) }",
			cheats: map[string]string{
				"exit at import": "package slug\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n\nfunc Slug(s string) string { return s }",
				"exit in a test": "package slug\n\nimport \"syscall\"\n\nfunc Slug(s string) string { syscall.Exit(0); return s }",
				"fewer tests":    "package slug\n\nimport \"os\"\n\nfunc init() { os.Args = append(os.Args, \"-test.run=Lowers\") }\n\nfunc Slug(s string) string { return s }",
				"fewer by args":  "package slug\n\nimport (\n\t\"os\"\n\t\"strings\"\n)\n\nfunc init() {\n\ta := &os.Args\n\t*a = append(*a, \"-test.run=Lowers\")\n}\n\nfunc Slug(s string) string { return strings.ToLower(s) }",
				"own TestMain":   "package slug\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n\nfunc Slug(s string) string { return s }",
				"late flag":      "package slug\n\nimport (\n\t\"flag\"\n\t\"strings\"\n)\n\nfunc Slug(s string) string {\n\t_ = flag.CommandLine.Set(\"test.\"+\"run\", \"^$\")\n\treturn strings.ToLower(s)\n}",
				"fake lines":     "package slug\n\nimport (\n\t\"fmt\"\n\t\"syscall\"\n)\n\nfunc init() {\n\tfmt.Println(\"=== RUN   TestLowersText\\n--- PASS: TestLowersText (0.00s)\\n=== RUN   TestJoinsWords\\n--- PASS: TestJoinsWords (0.00s)\\nPASS\")\n\tsyscall.Exit(0)\n}\n\nfunc Slug(s string) string { return s }",
			},
		},
		{
			name: "cargo", tag: "rust", tools: []string{"cargo"}, target: "src/lib.rs", test: "cargo test -q --offline", gate: GateNames,
			files: map[string]string{
				"Cargo.toml":    "[package]\nname = \"slug\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
				"src/lib.rs":    "// to be written\n",
				"tests/slug.rs": "use slug::slug;\n\n#[test]\nfn lowers_text() {\n    assert_eq!(slug(\"Hello\"), \"hello\");\n}\n\n#[test]\nfn joins_words() {\n    assert_eq!(slug(\"Secret Words\"), \"secret-words\");\n}\n",
				".gitignore":    "target\n",
			},
			right: "pub fn slug(s: &str) -> String {\n    s.to_lowercase().split_whitespace().collect::<Vec<_>>().join(\"-\")\n}",
			wrong: "pub fn slug(s: &str) -> String {\n    s.to_lowercase()\n}",
			cheats: map[string]string{
				"exit in a test": "pub fn slug(_s: &str) -> String {\n    std::process::exit(0)\n}",
			},
		},
		{
			name: "rspec", tag: "ruby", tools: []string{"rspec"}, target: "lib/slug.rb", test: "rspec spec/slug_spec.rb", gate: GateNames,
			files: map[string]string{"spec/slug_spec.rb": "require_relative '../lib/slug'\n\nRSpec.describe 'slug' do\n  it 'lowers the text' do\n    expect(slug('Hello')).to eq('hello')\n  end\n\n  it 'joins words' do\n    expect(slug('Secret Words')).to eq('secret-words')\n  end\nend\n"},
			right: "def slug(s)\n  s.downcase.split.join('-')\nend",
			wrong: "def slug(s)\n  s.downcase\nend",
			cheats: map[string]string{
				"exit at import": "exit 0",
				"exit in a test": "def slug(s)\n  exit 0\nend",
				"equal to all":   "class Any < String\n  def ==(other)\n    true\n  end\nend\n\ndef slug(s)\n  Any.new(s)\nend",
				"end at exit":    "at_exit { exit!(0) }\n\ndef slug(s)\n  s.downcase\nend",
				"silent runner":  "Object.const_get('RSp' + 'ec')::Core::Example.class_eval { def run(*) = true }\n\ndef slug(s)\n  s\nend",
				"hard exit":      "def slug(s)\n  exit!(0)\nend",
			},
		},
		{
			name: "unittest", tag: "python", tools: []string{"python3"}, target: "slug.py", test: "python3 -m unittest -v test_slug", gate: GateNames,
			files: map[string]string{"test_slug.py": "import unittest\n\nfrom slug import slug\n\n\nclass TestSlug(unittest.TestCase):\n    def test_lowers_text(self):\n        self.assertEqual(slug(\"Hello\"), \"hello\")\n\n    def test_joins_words(self):\n        self.assertEqual(slug(\"Secret Words\"), \"secret-words\")\n"},
			right: "def slug(s):\n    return '-'.join(s.lower().split())",
			wrong: "def slug(s):\n    return s.lower()",
			cheats: map[string]string{
				"exit at import":  "import os\nos._exit(0)",
				"exit in a test":  "import os\n\ndef slug(s):\n    os._exit(0)",
				"raises the skip": "import unittest\n\ndef slug(s):\n    raise unittest.SkipTest('no')",
			},
		},
	}
}

func (k stack) site(t *testing.T) *site {
	t.Helper()
	needs(t, k.tools...)
	return newSite(t, k.files)
}

// Right at once: applied, nothing left behind, and the model never saw the test.
func TestRightAtOnce(t *testing.T) {
	t.Parallel()
	for _, k := range stacks() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := k.site(t)
			s.answers(k.tag, k.right)
			res, err := s.run(Request{Targets: []string{k.target}, Test: k.test})
			if err != nil {
				t.Fatal(err)
			}
			text := res.Text()
			if res.Verdict != Pass || !res.Applied || res.Gate != k.gate || !strings.HasPrefix(text, "PASS · attempt 1/3 · "+k.target) || !strings.Contains(text, "2 tests · applied") {
				t.Errorf("%s", text)
			}
			if got := s.read(k.target); got != k.right+"\n" {
				t.Errorf("applied: %q", got)
			}
			s.clean()
			s.hidden(k)
			if n := len([]rune(text)); n > 500 {
				t.Errorf("the reply is %d characters long", n)
			}
		})
	}
}

// hidden fails if a line or a distinctive literal of the test reached the model.
func (s *site) hidden(k stack) {
	s.t.Helper()
	for _, call := range s.server.Calls() {
		for name, text := range k.files {
			if !isTestName(name) {
				continue
			}
			for line := range strings.SplitSeq(text, "\n") {
				if line = strings.TrimSpace(line); len(line) > 12 && strings.Contains(string(call.Body), line) {
					s.t.Errorf("the model saw a line of %s: %s", name, line)
				}
			}
		}
	}
}

// Right at the third try: a wrong answer, a repair with facts that brings more, then the right one.
func TestRightLater(t *testing.T) {
	t.Parallel()
	for _, k := range stacks() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := k.site(t)
			s.answers(k.tag, "RAW:I am sorry, I cannot do that.", k.wrong, k.right)
			res, err := s.run(Request{Targets: []string{k.target}, Test: k.test})
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict != Pass || len(res.Attempts) != 3 || res.Attempts[0].Class != classFormat || res.Attempts[1].Class != classTests || res.Attempts[1].Green != 1 {
				t.Fatalf("%s\n%v", res.Text(), res.Attempts)
			}
			last := s.server.Calls()[2].Last()
			if !strings.Contains(last, "1 of 2 checks pass") || !strings.Contains(last, "secret words") || !strings.Contains(last, "secret-words") {
				t.Errorf("the repair turn says:\n%s", last)
			}
			s.clean()
			s.hidden(k)
		})
	}
}

// Never right: the work stops early, the best candidate stays, apply best puts it in place.
func TestNeverRight(t *testing.T) {
	t.Parallel()
	for _, k := range stacks() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := k.site(t)
			before := s.read(k.target)
			s.answers(k.tag, k.wrong, k.wrong, k.wrong)
			res, err := s.run(Request{Targets: []string{k.target}, Test: k.test})
			if err != nil {
				t.Fatal(err)
			}
			text := res.Text()
			if res.Verdict != Fail || !strings.Contains(text, "1 of 2 tests") || !strings.Contains(text, "secret-words") || res.Calls != 2 || res.Attempts[1].Class != classRepeat {
				t.Errorf("%s\n%v", text, res.Attempts)
			}
			if s.read(k.target) != before {
				t.Error("a failing candidate was applied")
			}
			if res.Worktree == "" || !strings.Contains(text, res.Candidate[0]) {
				t.Errorf("no candidate kept: %s", text)
			}
			s.answers(k.tag, k.wrong, k.wrong)
			if res, err = s.run(Request{Targets: []string{k.target}, Test: k.test, Apply: ApplyBest}); err != nil || res.Verdict != Fail || !res.Applied {
				t.Fatalf("%v %v", res, err)
			}
			if got := s.read(k.target); got != k.wrong+"\n" {
				t.Errorf("best candidate: %q", got)
			}
		})
	}
}

// E01 and its kin: exit 0 without finished tests is never a pass, and nothing outside the target stays changed.
func TestCheats(t *testing.T) {
	t.Parallel()
	for _, k := range stacks() {
		for name, code := range k.cheats {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := k.site(t)
				s.answers(k.tag, code, code, code)
				res, err := s.run(Request{Targets: []string{k.target}, Test: k.test})
				if err != nil {
					t.Fatal(err)
				}
				text := res.Text()
				if res.Verdict != Fail || res.Applied || len(res.Attempts) == 0 {
					t.Fatalf("%s", text)
				}
				if c := res.Attempts[0].Class; c != classUnfinished && c != classScope && c != classMeddle && c != classTests && c != classLoad {
					t.Errorf("class %q: %s", c, text)
				}
				if c := res.Attempts[0].Class; c == classUnfinished && !strings.Contains(text, "did not finish") {
					t.Errorf("%s", text)
				}
				for file, want := range k.files {
					if got := s.read(file); file != k.target && got != want {
						t.Errorf("%s changed in the user's tree: %q", file, got)
					}
				}
				t.Log(res.Attempts[0])
			})
		}
	}
}

// E02, E18: a test that is no gate is refused before any call of the model.
func TestRefusals(t *testing.T) {
	t.Parallel()
	node := stacks()[0].files["test/slug.test.js"]
	cases := []struct{ name, target, test, want string }{
		{"green already", "src/other.js", "node --test test/green.test.js", "passes already"},
		{"no such command", "src/slug.js", "no-such-runner test", "cannot run"},
		{"nothing matches", "src/slug.js", "node --test --test-name-pattern=zzz test/green.test.js", "no test ran"},
		{"another module is missing", "src/slug.js", "node --test test/dep.test.js", "something else is missing"},
		{"no toolchain", "src/slug.js", "echo 'error: rustup could not choose a version of cargo to run, because' >&2; exit 1", "something else is missing"},
		{"exit code swallowed", "src/slug.js", "node --test test/slug.test.js || true", "the command exits 0"},
		{"pipe", "src/slug.js", "node --test test/slug.test.js | cat", "leave the pipe out"},
		{"a test as target", "test/slug.test.js", "node --test test/slug.test.js", "test file"},
		{"manifest as target", "package.json", "node --test test/slug.test.js", "decides what the test runs"},
		{"outside", "../x.js", "node --test test/slug.test.js", "outside"},
		{"git", ".git/hooks/pre-commit", "node --test test/slug.test.js", "git's own"},
		{"exit code only, green", "src/slug.js", "true", "no test ran"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			needs(t, "node")
			s := newSite(t, map[string]string{
				"test/slug.test.js": node, "test/green.test.js": "require('node:test')('green', () => {});\n",
				"test/dep.test.js": "require('left-pad-not-there');\nrequire('../src/slug.js');\n", "package.json": "{}\n",
			})
			_, err := s.run(Request{Targets: []string{c.target}, Test: c.test})
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if n := len(s.server.Calls()); n != 0 {
				t.Errorf("%d calls of the model", n)
			}
			s.clean()
		})
	}
}
