package delegate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	slugGo      = "package slug\n\nimport \"strings\"\n\nfunc Slug(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), \"-\") }\n"
	slugGoTests = "package slug\n\nimport \"testing\"\n\nfunc TestLowersText(t *testing.T) {\n\tif got := Slug(\"Hello\"); got != \"hello\" {\n\t\tt.Errorf(\"got %q\", got)\n\t}\n}\n\nfunc TestJoinsWords(t *testing.T) {\n\tif got := Slug(\"Secret Words\"); got != \"secret-words\" {\n\t\tt.Errorf(\"got %q\", got)\n\t}\n}\n"
	slugRBTests = "require_relative '../lib/slug'\n\nRSpec.describe 'slug' do\n  it 'lowers the text' do\n    expect(slug('Hello')).to eq('hello')\n  end\n\n  it 'joins words' do\n    expect(slug('Secret Words')).to eq('secret-words')\n  end\nend\n"
	goMod       = "module example.com/slug\n\ngo 1.22\n"
	other       = "package other\n\nimport \"testing\"\n\n"
)

// gateCase is one candidate before one gate.
type gateCase struct {
	name    string
	tools   []string
	files   map[string]string
	modules bool // the runners of JavaScript are there
	target  string
	test    string
	tag     string
	code    string
	verdict string
}

func (k gateCase) run(t *testing.T) {
	t.Helper()
	needs(t, k.tools...)
	s := newSite(t, k.files)
	if _, err := os.Stat(filepath.Join(s.dir, "t.sh")); err == nil {
		if err := os.Chmod(filepath.Join(s.dir, "t.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
		s.git("add", "-A")
		s.git("commit", "-q", "-m", "mode")
	}
	if k.modules {
		if err := os.Symlink(jsRunners(t), filepath.Join(s.dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	s.answers(k.tag, k.code, k.code, k.code)
	res, err := s.run(Request{Targets: []string{k.target}, Test: k.test})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != k.verdict || res.Applied != (k.verdict == Pass) {
		t.Errorf("want %s:\n%s", k.verdict, res.Text())
	}
}

func each(t *testing.T, list []gateCase) {
	t.Helper()
	for _, k := range list {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			k.run(t)
		})
	}
}

// Where nothing but the exit code is known, code that ends the process when it is loaded is no pass.
func TestExitCodeOnlyGate(t *testing.T) {
	t.Parallel()
	sh := map[string]string{"check.sh": ". ./lib.sh\n[ \"$(slug 'A B')\" = a-b ] || exit 1\n"}
	py := map[string]string{"check_slug.py": "from slug import slug\nassert slug('A B') == 'a-b'\nprint('ok')\n"}
	js := map[string]string{"check.js": "const assert = require('assert');\nconst { slug } = require('./slug.js');\nassert.strictEqual(slug('A B'), 'a-b');\nconsole.log('ok');\n"}
	php := map[string]string{"check.php": "<?php\nrequire 'slug.php';\nif (slug('A B') !== 'a-b') { exit(1); }\n"}
	rb := map[string]string{"check.rb": "require_relative 'slug'\nraise 'bad' unless slug('A B') == 'a-b'\n"}
	each(t, []gateCase{
		{"shell exit", nil, sh, false, "lib.sh", "sh check.sh", "sh", "slug() {\n  echo \"$1\"\n}\n\nslug \"$@\"\nexit 0\n", Fail},
		{"shell trap", nil, sh, false, "lib.sh", "sh check.sh", "sh", "trap 'exit 0' EXIT\nslug() {\n  echo \"$1\"\n}\n", Fail},
		{"shell right", nil, sh, false, "lib.sh", "sh check.sh", "sh", "# exit codes are kept\nslug() {\n  [ -n \"$1\" ] || return 1\n  echo \"$1\" | tr 'A-Z ' 'a-z-'\n}\n", Pass},
		{
			"shell program", nil,
			map[string]string{"check.sh": "[ \"$(sh slug.sh 'A B')\" = a-b ]\n"},
			false, "slug.sh", "sh check.sh", "sh",
			"echo \"$1\" | tr 'A-Z ' 'a-z-'\nexit 0\n", Pass,
		},
		{"python exit", []string{"python3"}, py, false, "slug.py", "python3 check_slug.py", "python", "import sys\n\n\ndef slug(s):\n    return s\n\n\ndef main():\n    return 0\n\n\nsys.exit(main())\n", Fail},
		{"python right", []string{"python3"}, py, false, "slug.py", "python3 check_slug.py", "python", slugPy + "\n\nif __name__ == '__main__':\n    import sys\n    sys.exit(0)\n", Pass},
		{"python error shown", []string{"python3"}, py, false, "slug.py", "python3 check_slug.py || true; test -f slug.py", "python", "def slug(s):\n    return s\n", Fail},
		{"node swallows", []string{"node"}, js, false, "slug.js", "node check.js", "javascript", "process.on('uncaughtException', (err) => {\n  console.error('Uncaught:', err.message);\n});\nexports.slug = (s) => s;\n", Fail},
		{"node right", []string{"node"}, js, false, "slug.js", "node check.js", "javascript", slugJS, Pass},
		{"php exit", []string{"php"}, php, false, "slug.php", "php check.php", "php", "<?php\nfunction slug($s) { return $s; }\necho slug('x');\nexit;\n", Fail},
		{"php right", []string{"php"}, php, false, "slug.php", "php check.php", "php", "<?php\nfunction slug($s) { return str_replace(' ', '-', strtolower($s)); }\n", Pass},
		{"ruby exit", []string{"ruby"}, rb, false, "slug.rb", "ruby check.rb", "ruby", "def slug(s)\n  s\nend\n\nputs slug('x')\nexit\n", Fail},
	})
}

// Behind make and scripts the runners' own reports count too, when they come.
func TestHiddenRunners(t *testing.T) {
	t.Parallel()
	makes := func(command string, files map[string]string) map[string]string {
		files["Makefile"] = ".PHONY: test\ntest:\n\t@" + command + "\n"
		return files
	}
	script := func(command string, files map[string]string) map[string]string {
		files["t.sh"] = "#!/bin/sh\nexec " + command + "\n"
		return files
	}
	rspec := func() map[string]string {
		return map[string]string{".rspec": "--format documentation\n", "spec/slug_spec.rb": slugRBTests}
	}
	gofiles := func() map[string]string { return map[string]string{"go.mod": goMod, "slug_test.go": slugGoTests} }
	exits := "package slug\n\nimport \"os\"\n\nfunc init() {\n\tif len(os.Args) < 20 {\n\t\tos.Exit(0)\n\t}\n}\n\nfunc Slug(s string) string { return s }\n"
	each(t, []gateCase{
		{"make rspec exit", []string{"make", "rspec"}, makes("rspec spec/slug_spec.rb", rspec()), false, "lib/slug.rb", "make test", "ruby", "def slug(s)\n  if s.include?(' ')\n    warn 'usage: slug WORD'\n    exit\n  end\n  s.downcase\nend\n", Fail},
		{"make rspec right", []string{"make", "rspec"}, makes("rspec spec/slug_spec.rb", rspec()), false, "lib/slug.rb", "make test", "ruby", "def slug(s)\n  s.downcase.split.join('-')\nend\n", Pass},
		{"make go exit", []string{"make", "go"}, makes("go test ./...", gofiles()), false, "slug.go", "make test", "go", exits, Fail},
		{"make go exit, from a folder that options cannot name", []string{"make", "go"}, makes("go test ./...", gofiles()), false, "slug.go", "make test", "go", exits, Fail},
		{"make go right", []string{"make", "go"}, makes("go test ./...", gofiles()), false, "slug.go", "make test", "go", slugGo, Pass},
		{"make pytest right", []string{"make", "python3"}, makes("PYTHONPATH=. python3 -m pytest -q", map[string]string{"test_slug.py": slugPyTests}), false, "slug.py", "make test", "python", slugPy, Pass},
		{"script pytest", []string{"python3"}, script("python3 -m pytest -q test_slug.py", map[string]string{"test_slug.py": slugPyTests}), false, "slug.py", "./t.sh", "python", slugPy, Pass},
		{"script pytest exit", []string{"python3"}, script("python3 -m pytest -q test_slug.py", map[string]string{"test_slug.py": slugPyTests}), false, "slug.py", "./t.sh", "python", "import os\n\n\ndef slug(s):\n    if ' ' in s:\n        print('.. [100%]\\n2 passed in 0.01s', flush=True)\n        os._exit(0)\n    return s.lower()\n", Fail},
		{"script go", []string{"go"}, script("go test ./...", gofiles()), false, "slug.go", "./t.sh", "go", slugGo, Pass},
		{"script node", []string{"node"}, script("node --test test/", map[string]string{"test/slug.test.js": slugJSTests}), false, "src/slug.js", "./t.sh", "javascript", slugJS, Pass},
		{"script rspec", []string{"rspec"}, script("rspec spec/slug_spec.rb", rspec()), false, "lib/slug.rb", "./t.sh", "ruby", "def slug(s)\n  s.downcase.split.join('-')\nend\n", Pass},
		{"a program that ends itself", []string{"node"}, map[string]string{"check.sh": "[ \"$(node src/slug.js 'A B')\" = a-b ]\n"}, false, "src/slug.js", "sh check.sh", "javascript", "console.log(process.argv[2].toLowerCase().split(' ').join('-'));\nprocess.exit(0);\n", Pass},
	})
}

// Right code passes, however the test is started.
func TestRightCodePasses(t *testing.T) {
	t.Parallel()
	jest := "const { slug } = require('../src/slug.js');\ntest('lowers the text', () => expect(slug('Hello')).toBe('hello'));\ntest('joins words', () => expect(slug('Secret Words')).toBe('secret-words'));\n"
	mocha := strings.ReplaceAll(slugJSTests, "const test = require('node:test');\n", "const test = it;\n")
	byHand := "const assert = require('assert');\nconst { slug } = require('../src/slug.js');\nlet bad = 0;\nfunction test(name, fn) { try { fn(); console.log('ok ' + name); } catch (e) { bad++; console.error('FAIL ' + name + ': ' + e.message); } }\n" +
		"test('lowers the text', () => assert.strictEqual(slug('Hello'), 'hello'));\ntest('joins words', () => assert.strictEqual(slug('Secret Words'), 'secret-words'));\nprocess.exit(bad ? 1 : 0);\n"
	called := slugPyTests + "\n\nif __name__ == '__main__':\n    test_lowers_text()\n    test_joins_words()\n    print('all ok')\n"
	shapes := map[string]string{"package.json": "{}", ".gitignore": "node_modules\n"}
	with := func(test string) map[string]string {
		return map[string]string{"package.json": shapes["package.json"], ".gitignore": shapes[".gitignore"], "test/slug.test.js": test}
	}
	js, py, exit := []string{"node"}, []string{"python3"}, "exports.slug = () => process.exit(0);\n"
	each(t, []gateCase{
		{"go -run", []string{"go"}, map[string]string{"go.mod": goMod, "slug_test.go": slugGoTests, "other/o.go": "package other\n", "other/o_test.go": other + "func TestOther(t *testing.T) {}\n"}, false, "slug.go", "go test -run 'TestLowersText|TestJoinsWords' ./...", "go", slugGo, Pass},
		{"go benchmark", []string{"go"}, map[string]string{"go.mod": goMod, "slug_test.go": slugGoTests, "other/o.go": "package other\n", "other/o_test.go": other + "func BenchmarkOther(b *testing.B) {}\n"}, false, "slug.go", "go test ./...", "go", slugGo, Pass},
		{"node jest", js, with(jest), true, "src/slug.js", "node --experimental-vm-modules node_modules/jest/bin/jest.js test/slug.test.js", "javascript", slugJS, Pass},
		{"node jest exit", js, with(jest), true, "src/slug.js", "node --experimental-vm-modules node_modules/jest/bin/jest.js test/slug.test.js", "javascript", exit, Fail},
		{"mocha parallel", js, with(mocha), true, "src/slug.js", "npx mocha --parallel test/slug.test.js", "javascript", slugJS, Pass},
		{"mocha parallel exit", js, with(mocha), true, "src/slug.js", "npx mocha --parallel test/slug.test.js", "javascript", exit, Fail},
		{"mocha parallel exit at import", js, with(mocha), true, "src/slug.js", "npx mocha --parallel test/slug.test.js", "javascript", "process.exit(0);\n", Fail},
		{"python by hand", py, map[string]string{"test_slug.py": called}, false, "slug.py", "python3 test_slug.py", "python", slugPy, Pass},
		{"python by hand exit", py, map[string]string{"test_slug.py": called}, false, "slug.py", "python3 test_slug.py", "python", "raise SystemExit\n", Fail},
		{"python by hand exit in a test", py, map[string]string{"test_slug.py": called}, false, "slug.py", "python3 test_slug.py", "python", "import sys\n\n\ndef slug(s):\n    if ' ' in s:\n        sys.exit()\n    return s.lower()\n", Fail},
		{"python by hand usage", py, map[string]string{"test_slug.py": called}, false, "slug.py", "python3 test_slug.py", "python", "import sys\n\n\n" + slugPy + "\n\ndef main():\n    if len(sys.argv) < 2:\n        sys.exit('usage: slug WORD')\n    print(slug(sys.argv[1]))\n\n\nif __name__ == '__main__':\n    sys.exit(main())\n", Pass},
		{"node by hand", js, map[string]string{"test/run.js": byHand}, false, "src/slug.js", "node test/run.js", "javascript", slugJS, Pass},
		{"node by hand wrong", js, map[string]string{"test/run.js": byHand}, false, "src/slug.js", "node test/run.js", "javascript", "exports.slug = (s) => s;\n", Fail},
		{"node by hand exit", js, map[string]string{"test/run.js": byHand}, false, "src/slug.js", "node test/run.js", "javascript", exit, Fail},
		{"a test that exits itself", js, map[string]string{"test-slug.js": "const assert = require('assert');\nconst { slug } = require('./slug.js');\nassert.strictEqual(slug('Hello'), 'hello');\nprocess.exit(0);\n"}, false, "slug.js", "node test-slug.js", "javascript", slugJS, Pass},
		{"a fixture's name", js, map[string]string{"test/page.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\nconst { page } = require('../src/page.js');\ntest('a folder has a page', () => assert.strictEqual(page('/a/'), '/a/index.html'));\n", "test/site/index.html": "<p>hi</p>\n"}, false, "src/page.js", "node --test test/", "javascript", "exports.page = (p) => (p.endsWith('/') ? p + 'index.html' : p);\n", Pass},
		{"the test's name", js, map[string]string{"test/slug.test.js": slugJSTests}, false, "src/slug.js", "node --test test/", "javascript", slugJS + "const seen = 'slug.test.js';\n", Fail},
	})
}

// What one attempt leaves behind, ignored by git, the next one does not find.
func TestAttemptsLeaveNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{".gitignore": "*.db\nout/\nkept/\n", ".worktreeinclude": "kept/\n", "check.sh": "[ -f kept/mine ] && sh store.sh init && [ \"$(sh store.sh get)\" = 7 ]\n"})
	put(t, s.dir, "kept/mine", "x\n")
	s.answers("sh", "case $1 in init) mkdir -p out; echo 7 > s.db; echo 7 > out/x; echo 7 > kept/x;; get) echo wrong;; esac\n",
		"case $1 in init) true;; get) cat s.db;; esac\n", "case $1 in init) true;; get) cat out/x kept/x | head -1;; esac\n")
	res, err := s.run(Request{Targets: []string{"store.sh"}, Test: "sh check.sh", Spec: "init stores 7, get prints it.", Attempts: 3})
	if err != nil || res.Verdict != Fail || len(res.Attempts) != 3 {
		t.Errorf("%v %s", err, res.Text())
	}
}
