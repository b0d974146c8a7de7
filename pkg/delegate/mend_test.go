package delegate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rules put right what cannot load, and nothing else.
func TestMend(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, target string
		s            surface
		in, want     string // want "": unchanged
	}{
		{
			"exports above a class", "a.js",
			surface{module: modCommon, names: []string{"Cache"}},
			"module.exports = { Cache };\n\nclass Cache {\n}\n", "class Cache {\n}\n\nmodule.exports = { Cache };\n",
		},
		{
			"exports above an arrow", "a.js",
			surface{module: modCommon, names: []string{"clamp"}},
			"exports.clamp = clamp;\nconst clamp = (x) => x;\n", "const clamp = (x) => x;\n\nexports.clamp = clamp;\n",
		},
		{"exports above a function work", "a.js", surface{module: modCommon, names: []string{"f"}}, "module.exports = { f };\nfunction f() {}\n", ""},
		{"exports above a class, used later only", "a.js", surface{module: modCommon, names: []string{"f"}}, "module.exports = { f: () => new A() };\nclass A {}\n", ""},
		{
			"nothing exported", "a.js",
			surface{module: modES, names: []string{"range"}},
			"function range() {}\n", "function range() {}\n\nexport { range };\n",
		},
		{
			"nothing exported, CommonJS", "a.js",
			surface{module: modCommon, names: []string{"a", "b"}},
			"const a = () => 1;\nfunction b() {}\n", "const a = () => 1;\nfunction b() {}\n\nmodule.exports.a = a;\nmodule.exports.b = b;\n",
		},
		{
			"exported whole, wanted by name", "a.js",
			surface{module: modCommon, names: []string{"f"}},
			"function f() {}\nmodule.exports = f;\n", "function f() {}\nmodule.exports = f;\n\nmodule.exports.f = f;\n",
		},
		{
			"exported by name, wanted whole", "a.js",
			surface{module: modCommon, whole: true},
			"function f() {}\nmodule.exports = { f };\n", "function f() {}\nmodule.exports = { f };\n\nmodule.exports = Object.assign(f, module.exports);\n",
		},
		{
			"default export wanted", "a.mjs",
			surface{module: modES, whole: true},
			"export function f() {}\n", "export function f() {}\n\nexport default f;\n",
		},
		{
			"named export wanted", "a.mjs",
			surface{module: modES, names: []string{"f"}},
			"export default function f() {}\n", "export default function f() {}\n\nexport { f };\n",
		},
		{"two functions, neither wanted", "a.js", surface{module: modCommon, names: []string{"x"}}, "function f() {}\nfunction g() {}\n", ""},
		{
			"another spelling", "a.js",
			surface{module: modCommon, names: []string{"parseLine"}},
			"function parse_line() {}\nfunction g() {}\nmodule.exports = { parse_line };\n",
			"function parse_line() {}\nfunction g() {}\nmodule.exports = { parse_line };\n\nmodule.exports.parseLine = parse_line;\n",
		},
		{
			"CommonJS in an ES package", "a.js",
			surface{module: modES, names: []string{"f", "g"}},
			"const fs = require('fs');\nconst { join: j } = require('path');\nfunction f() {}\nfunction h() {}\nmodule.exports = { f, g: h };\n",
			"import fs from 'fs';\nimport { join as j } from 'path';\nfunction f() {}\nfunction h() {}\nexport { f, h as g };\n",
		},
		{
			"ES in a CommonJS package", "a.js",
			surface{module: modCommon, names: []string{"f"}},
			"import fs from 'fs';\nimport { join as j } from 'path';\n\nexport function f() {}\n",
			"const fs = require('fs');\nconst { join: j } = require('path');\n\nfunction f() {}\nmodule.exports.f = f;\n",
		},
		{
			"ES default in a CommonJS package", "a.js",
			surface{module: modCommon, whole: true},
			"export default class A {}\n", "class A {}\n\nmodule.exports = A;\n",
		},
		{"ES words in a string", "a.js", surface{module: modCommon, names: []string{"f"}}, "const s = `\nexport function f`;\nmodule.exports = { f: () => s };\n", ""},
		{
			"a built-in not imported", "a.js",
			surface{module: modCommon, names: []string{"f"}},
			"exports.f = (p) => path.basename(p);\n", "const path = require('node:path');\nexports.f = (p) => path.basename(p);\n",
		},
		{"a parameter named like a built-in", "a.js", surface{module: modCommon, names: []string{"f"}}, "exports.f = (path) => path.split('/');\n", ""},
		{
			"writes to a getter", "a.js",
			surface{module: modCommon, names: []string{"A"}},
			"class A {\n  constructor() {\n    this.m = [];\n    this.size = 0;\n  }\n  add(x) {\n    this.m.push(x);\n    this.size++;\n  }\n  get size() {\n    return this.m.length;\n  }\n}\nexports.A = A;\n",
			"class A {\n  constructor() {\n    this.m = [];\n  }\n  add(x) {\n    this.m.push(x);\n  }\n  get size() {\n    return this.m.length;\n  }\n}\nexports.A = A;\n",
		},
		{
			"modules used and not imported", "a.py",
			surface{names: []string{"f"}},
			"\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\n\n\ndef f(x):\n    return re.sub('a', 'b', math.floor(x))\n",
			"\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\nimport math\nimport re\n\n\ndef f(x):\n    return re.sub('a', 'b', math.floor(x))\n",
		},
		{
			"names of the library", "a.py",
			surface{names: []string{"f"}},
			"def f(x: List[int]):\n    return Counter(x)\n", "from collections import Counter\nfrom typing import List\ndef f(x: List[int]):\n    return Counter(x)\n",
		},
		{"bound names are no modules", "a.py", surface{names: []string{"f"}}, "def f(string, re=None):\n    copy = string.lower()\n    return [copy.strip() for io in copy if io.isalpha()]\n", ""},
		{"imported under another name", "a.py", surface{names: []string{"f"}}, "import regex as re\nfrom os import path\n\ndef f(x):\n    return re.sub('', '', path.join(x))\n", ""},
		{
			"another name", "a.py",
			surface{names: []string{"vowels"}},
			"def count_vowels(t):\n    return {}\n", "def count_vowels(t):\n    return {}\n\n\nvowels = count_vowels\n",
		},
		{"two names", "a.py", surface{names: []string{"vowels"}}, "def a(t):\n    pass\n\n\ndef b(t):\n    pass\n", ""},
		{"a wanted constant", "a.py", surface{names: []string{"LIMIT", "f"}}, "LIMIT = 3\n\n\ndef f(t):\n    pass\n", ""},
		{
			"another package, imports missing and left over", "x/a.go",
			surface{pkg: "slug"},
			"package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc F(s string) string { return fmt.Sprint(strings.ToLower(s)) }\n",
			"package slug\n\nimport (\n\t\"strings\"\n)\n\nimport (\n\t\"fmt\"\n)\n\nfunc F(s string) string { return fmt.Sprint(strings.ToLower(s)) }\n",
		},
		{"a variable named like a package", "x/a.go", surface{pkg: "x"}, "package x\n\nfunc F(path []string) int {\n\tsort := b{}\n\treturn sort.n\n}\n\ntype b struct{ n int }\n", ""},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := &call{res: &Result{Targets: []string{k.target}}, langs: []language{languageOf(k.target)}, surfaces: []surface{k.s}}
			got, told := c.mend(map[string]string{k.target: k.in})
			want := k.want
			if want == "" {
				want = k.in
			}
			if diff := cmp.Diff(want, got[k.target]); diff != "" || (len(told) > 0) != (k.want != "") {
				t.Errorf("%v %s", told, diff)
			}
			if again, _ := c.mend(got); again[k.target] != got[k.target] {
				t.Errorf("a second time:\n%s", again[k.target])
			}
		})
	}
}

// What a rule puts right costs no call of the model, and the verdict tells it.
func TestMendedPass(t *testing.T) {
	t.Parallel()
	k := stacks()[0]
	s := k.site(t)
	s.answers(k.tag, strings.NewReplacer("exports.slug = ", "const slug = ").Replace(k.right))
	res, err := s.run(Request{Targets: []string{k.target}, Test: k.test})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != Pass || res.Calls != 1 || len(res.Attempts[0].Mended) != 1 || !strings.Contains(res.Text(), "put right by rule") || !strings.Contains(s.read(k.target), "module.exports.slug = slug;") {
		t.Errorf("%s\n%s", res.Text(), s.read(k.target))
	}
	if said := s.server.Calls()[0].Last(); !strings.Contains(said, "CommonJS module. It ends with `module.exports = { slug };`") {
		t.Errorf("the task says:\n%s", said)
	}
	s.hidden(k)
}

// The import of a module that is not there is left out when nothing depends on it.
func TestDropIdleImport(t *testing.T) {
	t.Parallel()
	for _, k := range []struct{ name, file, module, in, want string }{
		{"unused", "a.js", "lodash", "import _ from 'lodash';\nexport const f = (s) => s;\n", "export const f = (s) => s;\n"},
		{"used", "a.js", "lodash", "import _ from 'lodash';\nexport const f = (s) => _.trim(s);\n", ""},
		{"a global", "a.js", "errors", "const { RangeError } = require('errors');\nthrow new RangeError('x');\n", "throw new RangeError('x');\n"},
		{"one of two is used", "a.js", "x", "import { a, b as c } from 'x';\nexport const f = () => c();\n", ""},
		{"only for its effect", "a.js", "x", "import 'x';\nexport const f = 1;\n", "export const f = 1;\n"},
		{"unused", "a.py", "numpy", "import numpy as np\n\n\ndef f(x):\n    return x\n", "\n\ndef f(x):\n    return x\n"},
		{"used", "a.py", "numpy", "import numpy as np\n\n\ndef f(x):\n    return np.sum(x)\n", ""},
		{"from", "a.py", "attrs", "from attrs.x import a, b\n\n\ndef f(x):\n    return x.a\n", "\n\ndef f(x):\n    return x.a\n"},
	} {
		want := k.want
		if want == "" {
			want = k.in
		}
		if got := dropIdleImport(languageOf(k.file), k.in, k.module); got != want {
			t.Errorf("%s, %s: %q", k.file, k.name, got)
		}
	}
}
