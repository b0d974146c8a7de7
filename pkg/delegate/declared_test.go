package delegate

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"legwork/pkg/repo"
)

func TestDeclared(t *testing.T) {
	t.Parallel()
	cases := []struct{ file, text, want string }{
		{"a.py", "import os\nfrom x import y\nA = 1\nB, C = 2, 3\nd: int = 4\nx.y = 5\n\ndef f(\n    a,\n):\n    def g():\n        pass\n\n@dec\nclass K(Base):\n    '''\ndef no():\n    '''\n# a note\n    def m(self):\n        def n():\n            pass\n\nasync def h(): pass\n\nif A:\n    def i():\n        pass\nelse:\n    def i():\n        pass\n", "A B C K K.m d f h i"},
		{"a.js", "const fs = require('fs');\nconst { b } = require('x');\nfunction f() { function g() {} }\nconst h = (s) => s.replace(/^\\/\\/(\"|')/, '');\nclass K extends L {\n  #p() {}\n  static m() { if (x) {} }\n  get n() { return 1; }\n  o = () => 2;\n}\nexports.e = 1;\nmodule.exports = { f, q: h };\nconst t = `${a.map((x) => `}{${x}`)}`;\nlet z;\n", "K K.m K.n K.o e f h q t z"},
		{"a.ts", "export interface I { a: string }\ntype T = { b: number };\nexport default abstract class K<T> {\n  private m<U>(u: U): void {}\n}\nexport enum E { A }\n", "E I K K.m T"},
		{"a.go", "package a\n\nimport \"fmt\"\n\nconst A, B = 1, 2\n\ntype T[X any] struct{}\n\nfunc (t *T[X]) M() {}\n\nfunc F() { fmt.Print() }\n\nvar _ = 1\n", "A B F T T.M"},
		{"a.go", "package a\n\nfunc F() {\n\nfunc (t *T) M() {}\n", "F"},
		{"a.rs", "use a::b;\nconst Q: char = '\"';\npub(crate) struct S<'a>(&'a str);\nimpl S<'_> {\n    pub const fn new() -> Self { fn inner() {} todo!() }\n    fn m(&self) -> &str { r#\"}{\"# }\n}\nmacro_rules! mac { () => {} }\npub mod x;\n", "Q S m mac new x"},
		{"a.rb", "module M\n  LIMIT = 3\n  class K < B\n    def self.a; end\n    def b?\n    end\n  end\nend\n# def no\n", "K LIMIT M a b?"},
		{"a.php", "<?php\nconst A = 1;\nfunction f($x) { return fn() => 1; }\nfinal class K {\n  const B = 2;\n  public static function m() {}\n}\n", "A B K f m"},
		{"a.sh", "#!/bin/sh\nf() {\n  echo $#\n}\nfunction g-h {\n  :\n}\n", "f g-h"},
		{"A.java", "public class A {\n  private int n;\n  public static <T> List<T> f(T t) {\n    if (n > 0) { return g(t); }\n    return null;\n  }\n}\n", "A f"},
		{"a.c", "#include <x.h>\n#define MAX 3\nstruct s {\n  int a;\n};\nstatic int *f(int a,\n              int b)\n{\n  if (a) { g(b); }\n}\nint g(int);\n", "MAX f s"},
		{"a.css", "a { b: c }\n", ""},
	}
	for _, c := range cases {
		got := strings.Join(slices.Sorted(maps.Keys(declared(languageOf(c.file), c.text))), " ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.file, got, c.want)
		}
	}
}

// What the file had and the answer has not is told, unless the task speaks of it.
func TestLeavesOut(t *testing.T) {
	t.Parallel()
	py := "LIMIT = 3\n\n\ndef precious(x):\n    return x\n\n\ndef b():\n    return 0\n"
	class := "class K {\n  a() { return 1; }\n  b() { return 2; }\n  _c() {}\n}\nmodule.exports = { K };\n"
	cases := []struct{ name, file, was, now, spec, want string }{
		{"all there", "a.py", py, py, "", ""},
		{"a function", "a.py", py, "LIMIT = 3\n\ndef b():\n    return 1\n", "b() returns 1.", "precious"},
		{"two names", "a.py", py, "def b():\n    return 1\n", "b() returns 1.", "LIMIT, precious"},
		{"asked for", "a.py", py, "LIMIT = 3\n\ndef b():\n    return 1\n", "b() returns 1. Remove precious.", ""},
		{"renamed", "a.py", py, "LIMIT = 3\n\ndef dear(x):\n    return x\n\ndef b():\n    return 1\n", "precious becomes dear.", ""},
		{"another is removed", "a.py", py, "LIMIT = 3\n\ndef precious(x):\n    return x\n", "Remove precious.", "b"},
		{"in general", "a.py", py, "LIMIT = 3\n\ndef b():\n    return 1\n", "Delete all unused functions.", ""},
		{"what the code removes", "a.py", py, "LIMIT = 3\n\ndef b():\n    return 1\n", "b() removes blanks from the text.", "precious"},
		{"in another form", "a.py", py, "from c import precious\n\ntry:\n    LIMIT = 3\nexcept E:\n    pass\n\nb = lambda: 1\n", "", ""},
		{"in a comment", "a.py", py, "LIMIT = 3\n\n# def precious(x): as before\n\ndef b():\n    return 1\n", "", "precious"},
		{"a method", "a.js", class, "class K {\n  a() { return 2; }\n}\nmodule.exports = { K };\n", "", "K.b"},
		{"a method of another form", "a.js", class, "class K {\n  a() { return 2; }\n  b = () => 3;\n}\nmodule.exports = { K };\n", "", ""},
		{"an export", "a.js", "exports.a = () => 1;\nexports.b = () => 2;\n", "exports.b = () => 3;\n", "", "a"},
		{"exported otherwise", "a.js", "exports.a = () => 1;\nexports.b = () => 2;\n", "function a() {}\nconst b = () => 3;\nmodule.exports = { a, b };\n", "", ""},
		{"one of two of a name", "a.rs", "impl A {\n    fn new() {}\n}\nimpl B {\n    fn new() {}\n}\n", "impl A {\n    fn new() {}\n}\n", "", "new"},
		{"a placeholder", "a.py", py, "LIMIT = 3\n\n# ... existing code ...\n\ndef precious(x):\n    return x\n\ndef b():\n    return 1\n", "", "existing code"},
		{"an empty placeholder", "a.js", "function f() {\n  a();\n}\n", "function f() {\n  // ...\n}\n", "", "// ..."},
		{"words of its own", "a.js", "function f() {}\n", "function f(...rest) {\n  // the rest of the line\n  return [\n    ...rest,\n  ];\n}\n", "", ""},
		{"a new file", "b.py", "", "def x():\n    pass\n", "", ""},
	}
	for _, k := range cases {
		c := having(k.file, k.was, k.spec)
		got := c.leavesOut(0, map[string]string{k.file: k.now})
		if k.want == "" && got != "" || k.want != "" && (!strings.Contains(got, k.want) || !strings.HasSuffix(got, "; send the whole file")) {
			t.Errorf("%s: %q, want %q", k.name, got, k.want)
		}
	}
}

// Code that goes from one target to another is not lost.
func TestMovedBetweenTargets(t *testing.T) {
	t.Parallel()
	c := bare("a.py", "b.py")
	c.before[0] = repo.Original{Rel: "a.py", Exists: true, Data: []byte("def f():\n    pass\n\ndef g():\n    pass\n")}
	files := map[string]string{"a.py": "def g():\n    pass\n", "b.py": "def f():\n    pass\n"}
	if got := c.lost(0, files); len(got) > 0 {
		t.Errorf("lost: %v", got)
	}
	files["b.py"] = "x = 1\n"
	if got := c.lost(0, files); len(got) != 1 || got[0] != "f" {
		t.Errorf("lost: %v", got)
	}
}

// The user's code that no test covers does not go under a PASS.
func TestLostFunction(t *testing.T) {
	t.Parallel()
	needs(t, "pytest")
	was := "def precious(x):\n    return x * 42  # not committed\n\n\ndef b():\n    return 0\n"
	part, whole := "def b():\n    return 1\n", strings.Replace(was, "return 0", "return 1", 1)
	for _, k := range []struct {
		name    string
		answers []string
		why     string
	}{
		{"never whole", []string{part, part + "\n# b\n", part + "\n# c\n"}, "the answer leaves out precious; send the whole file"},
		{"whole when told", []string{part, whole}, ""},
		{"the change shown again", []string{"RAW:```python\n" + whole + "```\nThe change is only this:\n```python\n" + part + "```\n"}, ""},
	} {
		s := newSite(t, map[string]string{"slug.py": part, "test_slug.py": "from slug import b\n\n\ndef test_b():\n    assert b() == 1\n"})
		put(t, s.dir, "slug.py", was)
		s.answers("python", k.answers...)
		res, err := s.run(Request{Targets: []string{"slug.py"}, Test: "pytest -q test_slug.py", Spec: "b() returns 1."})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case k.why != "" && (res.Verdict != Fail || s.read("slug.py") != was || !strings.Contains(res.Text(), k.why)):
			t.Errorf("%s: %s", k.name, res.Text())
		case k.why == "" && (res.Verdict != Pass || s.read("slug.py") != whole):
			t.Errorf("%s: %s", k.name, res.Text())
		}
	}
}

// A pass of a refactoring that changes comments only says so, and so does a file without names that shrinks.
func TestRemarks(t *testing.T) {
	t.Parallel()
	needs(t, "pytest")
	s := newSite(t, map[string]string{"f.py": "def f():\n    return 1\n", "test_f.py": "from f import f\n\n\ndef test_f():\n    assert f() == 1\n"})
	s.answers("python", "def f():\n    return 1  # one\n")
	res, err := s.run(Request{Targets: []string{"f.py"}, Test: "pytest -q test_f.py", Spec: "Make it shorter.", AllowGreen: true})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Pass || !strings.Contains(res.Text(), "looks like comments only") {
		t.Errorf("%s", res.Text())
	}
	put(t, s.dir, "a.css", strings.Repeat("a {\n  b: c;\n}\n", 5))
	put(t, s.dir, "check.sh", "grep -q red a.css\n")
	s.answers("css", "b {\n  color: red;\n}\n")
	res, err = s.run(Request{Targets: []string{"a.css"}, Test: "sh check.sh", Spec: "b is red."})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Pass || !strings.Contains(res.Text(), "a.css keeps 5 of the 15 lines it had") {
		t.Errorf("%s", res.Text())
	}
}

// The keys of an exported object are names; their arguments and bodies are not.
func TestExportedObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"module.exports = { slug() { throw new Error('x') } }":                                              "slug",
		"module.exports = {\n  slug(text, by = ',') {\n    const a = 1, b = 2\n    return f(a, b)\n  },\n}": "slug",
		"exports = module.exports = { a, b: 1, async c() {}, get d() { return { e: 1 } }, *f() {} }":        "a b c d f",
		"export { g, h as i }": "g i",
	} {
		names, _ := exported(masked(javascript(), text))
		if got := strings.Join(slices.Sorted(maps.Keys(names)), " "); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
