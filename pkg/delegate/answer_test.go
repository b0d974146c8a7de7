package delegate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/pkg/llm"
	"legwork/pkg/repo"
)

// bare is a call that only reads answers.
func bare(targets ...string) *call {
	c := &call{res: &Result{Targets: targets}, req: Request{Spec: "write it"}}
	for _, rel := range targets {
		c.langs = append(c.langs, languageOf(rel))
		c.before = append(c.before, repo.Original{Rel: rel})
	}
	return c
}

// having is a call for one file that exists.
func having(rel, text string, spec ...string) *call {
	c := bare(rel)
	c.before[0] = repo.Original{Rel: rel, Exists: true, Data: []byte(text)}
	c.req.Spec = strings.Join(append(spec, "write it"), "\n")
	return c
}

const js = "function a() {\n  return 1;\n}\nmodule.exports = { a };"

// F05, F06, F07, F08: one file is picked by rule, byte for byte, or the form is at fault.
func TestPick(t *testing.T) {
	t.Parallel()
	readme := "# Title\n\n```sh\nmake\n```\n\nText\n\n```js\nrun();\n```\n\nEnd"
	cases := []struct{ name, target, answer, want, why string }{
		{"one block", "a.js", "```javascript\n" + js + "\n```", js, ""},
		{"prose around", "a.js", "Sure! Here it is:\n\n```js\n" + js + "\n```\n\nIt returns 1.", js, ""},
		{"tilde fence", "a.js", "~~~js\n" + js + "\n~~~", js, ""},
		{"no tag", "a.js", "```\n" + js + "\n```", js, ""},
		{"no fence, code", "a.js", js, js, ""},
		{"no fence, prose", "a.js", "I think you should use a function called a that returns 1 and export it.", "", "no code block"},
		{"fence never closed, not cut", "a.js", "```js\n" + js, js, ""},
		{"with a shell line", "a.js", "```js\n" + js + "\n```\nRun it:\n```bash\nnode a.js\n```", js, ""},
		{"with an example of use", "a.js", "```js\n" + js + "\n```\nUse:\n```js\na();\n```", js, ""},
		{"named block of two", "a.js", "`b.js`:\n```js\nfunction b() { return 2; }\nmodule.exports = { b };\n```\n`a.js`:\n```js\n" + js + "\n```", js, ""},
		{"two that fit", "a.js", "```js\n" + js + "\n```\nor\n```js\nconst a = () => {\n return 1;\n};\nmodule.exports = { a };\n```", "", "2 code blocks"},
		{"wrong language", "a.js", "```python\ndef a():\n    return 1\n```", "", "no javascript block"},
		{"a diff", "a.js", "```diff\n--- a/a.js\n+++ b/a.js\n@@ -1 +1 @@\n-x\n+y\n```", "", "diff"},
		{"empty block", "a.js", "```js\n\n```", "", "no javascript block"},
		{"readme with inner fences", "README.md", "```markdown\n" + readme + "\n```", readme, ""},
		{"four marks outside", "README.md", "````md\n" + readme + "\n```\nbare\n```\n````", readme + "\n```\nbare\n```", ""},
		{"fence inside a string", "a.js", "```js\nconst f = `\n    ```\n`;\nmodule.exports = f;\n```", "const f = `\n    ```\n`;\nmodule.exports = f;", ""},
		{"think tag in code", "a.js", "```js\nconst open = '<think>';\nmodule.exports = open;\n```", "const open = '<think>';\nmodule.exports = open;", ""},
		{"path comment", "src/a.js", "```js\n// src/a.js\n" + js + "\n```", js, ""},
	}
	for _, c := range cases {
		files, why := bare(c.target).pick(c.answer)
		if c.why != "" {
			if !strings.Contains(why, c.why) {
				t.Errorf("%s: why %q, want %q", c.name, why, c.why)
			}
			continue
		}
		if why != "" || files[c.target] != c.want {
			t.Errorf("%s: %q\n%s", c.name, why, cmp.Diff(c.want, files[c.target]))
		}
	}
}

func TestPickSeveral(t *testing.T) {
	t.Parallel()
	const a, b = "const N = 1;\nmodule.exports = { N };", "const { N } = require('./a.js');\nmodule.exports = () => N;"
	fence := func(text string) string { return "```js\n" + text + "\n```\n" }
	cases := []struct{ name, answer, a, b, why string }{
		{"paths above", "src/a.js\n" + fence(a) + "\n**src/b.js**\n" + fence(b), a, b, ""},
		{"the second imports the first", "`src/a.js`\n" + fence(a) + "`src/b.js`\n" + fence(b), a, b, ""},
		{"the importing file comes first", "### src/b.js\n" + fence(b) + "### src/a.js\n" + fence(a), a, b, ""},
		{"base names", "a.js:\n" + fence(a) + "b.js:\n" + fence(b), a, b, ""},
		{"path in the fence", "```js src/a.js\n" + a + "\n```\n```js src/b.js\n" + b + "\n```\n", a, b, ""},
		{"path comments", fence("// src/a.js\n"+a) + fence("// b.js\n"+b), a, b, ""},
		{"a name inside another", "data.js is not asked for\n" + fence("x") + "src/a.js\n" + fence(a) + "src/b.js\n" + fence(b), a, b, ""},
		{"no name at all, in the order asked for", fence(a) + "and\n" + fence(b), a, b, ""},
		{"one sentence for both", "Here are src/a.js and src/b.js:\n" + fence(a) + fence(b), a, b, ""},
		{"one named, one not", fence(a) + "src/b.js\n" + fence(b), a, b, ""},
		{"an example of use behind", "src/a.js\n" + fence(a) + "src/b.js\n" + fence(b) + "Use b.js so:\n" + fence("b();"), a, b, ""},
		{"a shell line behind", "src/a.js\n" + fence(a) + "src/b.js\n" + fence(b) + "```sh\nnode src/b.js\n```\n", a, b, ""},
		{"one file missing", "src/a.js\n" + fence(a), "", "", "src/b.js"},
		{"three without names for two", fence(a) + fence(b) + fence("c();"), "", "", "src/a.js"},
	}
	for _, k := range cases {
		files, why := bare("src/a.js", "src/b.js").pick(k.answer)
		if k.why != "" {
			if !strings.Contains(why, k.why) {
				t.Errorf("%s: why %q, want %q", k.name, why, k.why)
			}
			continue
		}
		if why != "" || files["src/a.js"] != k.a || files["src/b.js"] != k.b {
			t.Errorf("%s: %q %q", k.name, why, files)
		}
	}
}

func TestSearchBlocks(t *testing.T) {
	t.Parallel()
	c := bare("a.js")
	c.before[0] = repo.Original{Rel: "a.js", Exists: true, Data: []byte("one\ntwo\nthree\ntwo\n")}
	block := func(search, replace string) string {
		return "<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n"
	}
	files, why := c.pick("Here:\n" + block("three\n", "3\n"))
	if why != "" || files["a.js"] != "one\ntwo\n3\ntwo\n" {
		t.Errorf("%q %q", why, files["a.js"])
	}
	for _, bad := range []string{block("two\n", "2\n"), block("four\n", "4\n"), block("", "x\n")} {
		if _, why := c.pick(bad); !strings.Contains(why, "whole file") {
			t.Errorf("%q for %q", why, bad)
		}
	}
}

// F07 and the model's other endings are neither written nor tested.
func TestEndings(t *testing.T) {
	t.Parallel()
	for _, o := range []llm.Outcome{llm.CutOff, llm.Empty, llm.Looped} {
		_, f := bare("a.js").files(t.Context(), &llm.Answer{Outcome: o, Text: "```js\nfunction a() {"})
		if f.class != string(o) {
			t.Errorf("%s: %+v", o, f)
		}
	}
}

func TestStripTests(t *testing.T) {
	t.Parallel()
	cases := []struct{ target, text, want string }{
		{"a.py", "import re\nimport pytest\n\ndef a():\n    return 1\n\n@pytest.mark.slow\ndef test_a():\n    assert a() == 1\n\nif __name__ == \"__main__\":\n    pytest.main()\n", "import re\n\ndef a():\n    return 1\n\n"},
		{"a.py", "def main():\n    pass\n\nif __name__ == '__main__':\n    main()\n", "def main():\n    pass\n\nif __name__ == '__main__':\n    main()\n"},
		{"a.js", "const test = require('node:test');\nfunction a() {}\nmodule.exports = a;\n\ntest('a (b', () => {\n  a(')');\n});\n", "function a() {}\nmodule.exports = a;\n\n"},
		{"a.js", "function test(x) { return x; }\nmodule.exports = test;\n", "function test(x) { return x; }\nmodule.exports = test;\n"},
		{"a.go", "package a\n\nimport (\n\t\"strings\"\n\t\"testing\"\n)\n\nfunc A() string { return strings.ToUpper(\"}\") }\n\nfunc TestA(t *testing.T) {\n\tif A() != \"}\" {\n\t\tt.Fatal()\n\t}\n}\n", "package a\n\nimport (\n\t\"strings\"\n)\n\nfunc A() string { return strings.ToUpper(\"}\") }\n\n"},
		{"a.rs", "pub fn a() {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn x() { a(); }\n}\n", "pub fn a() {}\n\n"},
	}
	for _, c := range cases {
		if got, _ := stripTests(languageOf(c.target), c.text, nil); got != c.want {
			t.Errorf("%s: %s", c.target, cmp.Diff(c.want, got))
		}
	}
}

// A repeat with other blanks is the same candidate. Comments count: some are directives, and what looks like one
// may be code; so do blanks in strings, and in files that are no code.
func TestNormal(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, a, b string
		same       bool
	}{
		{"a.py", "def a():\n    return 1\n", "def a():  \n\n    return 1\n\n\n", true},
		{"a.py", "def a():\n    return '# no comment'\n", "def a():\n    return '# comment'\n", false},
		{"a.py", "def a():\n    return 1\n", "def a():\n  return 1\n", false},
		{"a.py", "def a():\r\n    return 1\r\n", "def a():\n    return 1\n", true},
		{"a.py", "T = '''\na\n\nb\n'''\n", "T = '''\na\nb\n'''\n", false},
		{"a.js", "x.replace(/^https?:\\/\\//, '');\n", "x.replace(/^https?:\\/\\//, '').trim();\n", false},
		{"a.sh", "[ $# -ne 1 ]\n", "[ $# -ne 2 ]\n", false},
		{"a.go", "package a\n\nvar D string\n", "package a\n\n//go:embed d.txt\nvar D string\n", false},
		{"a.md", "a\nb\n", "a\n\nb\n", false},
	}
	for _, c := range cases {
		if same := normal(languageOf(c.name), c.a) == normal(languageOf(c.name), c.b); same != c.same {
			t.Errorf("%s: %q and %q: %v", c.name, c.a, c.b, same)
		}
	}
}

func TestWrong(t *testing.T) {
	t.Parallel()
	if why := wrong(languageOf("a.py"), "const a = 1;\nlet b = 2;\nfunction c() {}\nmodule.exports = { c };\n", ""); !strings.Contains(why, "javascript") {
		t.Errorf("wrong language: %q", why)
	}
	prompt := "The function takes a text and gives back a list of numbers in order.\nEvery number must be larger than the one that stands before it.\nAn empty text gives an empty list, and nothing is ever thrown at all.\n"
	if why := wrong(languageOf("a.py"), prompt, prompt); !strings.Contains(why, "repeats") {
		t.Errorf("echo: %q", why)
	}
	if why := wrong(languageOf("a.py"), "def a():\n    return 1\n", prompt); why != "" {
		t.Errorf("good code: %q", why)
	}
}

func TestDeclaredTests(t *testing.T) {
	t.Parallel()
	cases := []struct{ file, text, want string }{
		{"test_a.py", "def test_one():\n    def test_inner():\n        pass\n\nclass TestX:\n    def test_two(self):\n        pass\n\ndef helper():\n    pass\n", "test_one test_two"},
		{"a.test.js", "test('it\\'s one', () => {});\n  it(\"two\", f);\ntest.skip('three', f);\ntest(`four ${x}`, f);\n// test('five', f)\n", "it\\'s one two"},
		{"a_test.go", "func TestA(t *testing.T) {}\nfunc helper() {}\n", "TestA"},
		{"a.rs", "#[test]\nfn one() {}\n#[test]\n#[should_panic]\nfn two() {}\nfn three() {}\n", "one two"},
	}
	for _, c := range cases {
		if got := strings.Join(declaredTests(languageOf(c.file), c.text), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.file, got, c.want)
		}
	}
}

func TestDecides(t *testing.T) {
	t.Parallel()
	for _, rel := range []string{"package.json", "a/conftest.py", "Makefile", ".github/workflows/ci.yml", "jest.config.mjs", "go.mod", "sub/Cargo.toml", "tsconfig.build.json", ".husky/pre-commit", "node_modules/x/index.js"} {
		if !decides(rel) {
			t.Errorf("%s is allowed", rel)
		}
	}
	for _, rel := range []string{"src/makefile.js", "lib/package.js", "config.py", "src/github.ts"} {
		if decides(rel) {
			t.Errorf("%s is refused", rel)
		}
	}
	for _, c := range []struct {
		rel, command string
		want         bool
	}{
		{"Makefile", "pytest -q t.py", false},
		{"Makefile", "make test", true},
		{"Makefile", "sh run.sh", true},
		{"package.json", "npx jest", true},
		{"go.mod", "CGO_ENABLED=0 go test ./...", true},
		{".github/workflows/ci.yml", "pytest -q t.py", false},
		{".github/workflows/ci.yml", "python3 check.py .github/workflows/ci.yml", true},
		{"Dockerfile", "pytest && docker build .", true},
		{".git/config", "pytest", true},
		{"src/a.py", "pytest", false},
	} {
		if used(c.rel, c.command) != c.want {
			t.Errorf("%s used by %q: %v", c.rel, c.command, !c.want)
		}
	}
	for _, rel := range []string{"a.test.js", "test_a.py", "a_test.go", "tests/x.rs", "spec/a_spec.rb", "__tests__/a.ts"} {
		if !isTestName(rel) {
			t.Errorf("%s is no test", rel)
		}
	}
	for _, rel := range []string{"src/latest.js", "contest.py", "a.go", "attest/x.py"} {
		if isTestName(rel) {
			t.Errorf("%s is a test", rel)
		}
	}
}

func FuzzBlocks(f *testing.F) {
	f.Add("```js\nx\n```")
	f.Add("````\n```\n````\n~~~\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, b := range blocks(text) {
			if len(b.text) > len(text) {
				t.Fatal("a block is longer than its text")
			}
		}
		for _, name := range []string{"a.js", "a.py", "a.go", "a.rs"} {
			l := languageOf(name)
			if got, _ := stripTests(l, text, nil); len(got) > len(text) {
				t.Fatal("stripping made it longer")
			}
			normal(l, text)
			c := having(name, text)
			c.req.Test = "run " + name
			if why := c.leavesOut(0, map[string]string{name: text}); why != "" {
				t.Fatalf("%s lacks what it has: %s", name, why)
			}
			c.putTests(0, "x\n"+text)
		}
	})
}
