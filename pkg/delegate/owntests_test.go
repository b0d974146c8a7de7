package delegate

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A target's own tests are what they were, wherever the model puts, changes or leaves out its own.
func TestPutTests(t *testing.T) {
	t.Parallel()
	rust := "pub fn a() -> i32 { 0 }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn x() { assert_eq!(a(), \"}\".len() as i32); }\n}\n"
	python := "import pytest\nimport os\n\nCASES = [1, 2]\nSEP = '-'\n\n\ndef a(x):\n    return SEP\n\n\ndef check(x):\n    assert a(x) == x\n\n\n@pytest.mark.parametrize('x', CASES)\ndef test_a(x):\n    check(x)\n"
	own := "\n\nCASES = [1, 2]\n\n\ndef check(x):\n    assert a(x) == x\n\n\n@pytest.mark.parametrize('x', CASES)\ndef test_a(x):\n    check(x)\n"
	unit := "import unittest\n\n\ndef a():\n    return 0\n\n\nclass Some(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(a(), 1)\n# a note\n    def test_b(self):\n        self.assertEqual(a(), 2)\n\n\nif __name__ == '__main__':\n    unittest.main()\n"
	node := "const { test } = require('node:test');\nexports.a = () => 0;\n\ntest('one', () => {\n  assert(a() === 1);\n});\n"
	cases := []struct{ name, file, was, answer, want string }{
		{"rust, the assertion changed", "a.rs", rust, strings.Replace(strings.Replace(rust, "{ 0 }", "{ 1 }", 1), "\"}\".len() as i32", "1", 1), strings.Replace(rust, "{ 0 }", "{ 1 }", 1)},
		{"rust, left out", "a.rs", rust, "pub fn a() -> i32 { 1 }\n", strings.Replace(rust, "{ 0 }", "{ 1 }", 1)},
		{"rust, others added", "a.rs", rust, "#[test]\nfn y() {}\n\npub fn a() -> i32 { 1 }\n\n#[cfg(all(test, feature = \"x\"))]\nmod more {}\n", strings.Replace(rust, "{ 0 }", "{ 1 }", 1)},
		{"rust, no test", "a.rs", "#[cfg(not(test))]\nfn a() {}\n#[cfg_attr(test, derive(Debug))]\nstruct S;\n", "fn b() {}\n", "fn b() {}\n"},
		{"python, all changed", "a.py", python, "SEP = '+'\nCASES = [1]\n\n\ndef check(x):\n    pass\n\n\ndef a(x):\n    return x\n\n\ndef test_a():\n    check(1)\n", "import pytest\nSEP = '+'\nCASES = [1, 2]\n\n\ndef check(x):\n    assert a(x) == x\n\n\ndef a(x):\n    return x\n\n\n@pytest.mark.parametrize('x', CASES)\ndef test_a(x):\n    check(x)\n"},
		{"python, left out", "a.py", python, "SEP = '+'\n\n\ndef a(x):\n    return x\n", "import pytest\nSEP = '+'\n\n\ndef a(x):\n    return x\n" + own},
		{"python, some left, in another order", "a.py", python, "def test_a():\n    pass\n\n\ndef a(x):\n    return x\n\n\nCASES = []\n", "import pytest\ndef a(x):\n    return x\n" + own},
		{"python, in place", "a.py", python, strings.Replace(strings.Replace(python, "return SEP", "return x", 1), "== x", "== a(x)", 1), strings.Replace(python, "return SEP", "return x", 1)},
		{"unittest, left out but for the main block", "a.py", unit, "def a():\n    return 1\n\n\nif __name__ == '__main__':\n    unittest.main(exit=False)\n", "import unittest\ndef a():\n    return 1\n" + unit[strings.Index(unit, "\n\nclass"):]},
		{"node, the title changed", "a.js", node, "'use strict';\nexports.a = () => 1;\n\ntest('two', () => {});\n", "'use strict';\nconst { test } = require('node:test');\nexports.a = () => 1;\n\ntest('one', () => {\n  assert(a() === 1);\n});\n"},
		{"a function of that name that is none", "a.js", "function test(x) {}\ntest('a');\n", "function test(x) { return x; }\ntest('b');\n", "function test(x) { return x; }\ntest('b');\n"},
	}
	for _, k := range cases {
		c := having(k.file, k.was)
		c.req.Test = "run " + k.file
		if got := c.putTests(0, k.was); got != k.was {
			t.Errorf("%s: the file itself changes: %s", k.name, cmp.Diff(k.was, got))
		}
		if got := strings.TrimRight(c.putTests(0, k.answer), "\n") + "\n"; got != k.want {
			t.Errorf("%s: %s", k.name, cmp.Diff(k.want, got))
		}
	}
}

// What is called like a test and asked for stays as the model writes it.
func TestAskedForTestNames(t *testing.T) {
	t.Parallel()
	c := bare("app.py")
	c.req.Spec = "class TestimonialStore keeps rows. test_connection(url) checks the scheme."
	text := "class TestimonialStore:\n    pass\n\n\nclass TestBed:\n    def run(self):\n        pass\n\n\ndef test_connection(url):\n    return True\n\n\nTEMPLATE = '''\ndef test_it():\n    pass\n'''\n\n\nif __name__ == '__main__':\n    test_connection('x')\n"
	got, n := stripTests(c.langs[0], text+"\n\ndef test_more(\n    a,\n):\n    '''\nx\n'''\n    assert a\n", c.stays(0))
	if n != 1 || strings.TrimRight(got, "\n") != strings.TrimRight(text, "\n") {
		t.Errorf("%d cut: %s", n, cmp.Diff(text, got))
	}
	c = having("tool.py", "def f():\n    pass\n\n\nif __name__ == '__main__':\n    doctest.testmod()\n")
	if got, n := stripTests(c.langs[0], c.original(0), c.stays(0)); n != 0 || got != c.original(0) {
		t.Errorf("what the file had is cut: %q", got)
	}
	c = having("conn.py", "def test_connection(url):\n    return False\n", "test_connection(url) checks the scheme.")
	c.req.Test = "pytest -q test_conn.py"
	if own := c.ownTests(0); len(own) > 0 {
		t.Errorf("the code under test is taken for a test: %v", own)
	}
}

// The file's own tests judge, not what the model makes of them.
func TestOwnTestsJudge(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, tag, target, test, was string
		files                        map[string]string
		tools                        []string
		answer                       string
		class                        string
	}{
		{
			"cargo", "rust", "src/lib.rs", "cargo test -q --offline",
			"pub fn slug(s: &str) -> String {\n    todo!()\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn joins_words() {\n        assert_eq!(slug(\"Secret Words\"), \"secret-words\");\n    }\n}\n",
			map[string]string{"Cargo.toml": "[package]\nname = \"slug\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", ".gitignore": "target\n"},
			[]string{"cargo"},
			"pub fn slug(s: &str) -> String {\n    s.to_lowercase()\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn joins_words() {\n        assert_eq!(slug(\"Secret Words\"), \"secret words\");\n    }\n}\n", classTests,
		},
		{
			"pytest", "python", "slug.py", "pytest -q slug.py", "def slug(s):\n    raise NotImplementedError\n\n\ndef test_joins():\n    assert slug('Secret Words') == 'secret-words'\n", nil,
			[]string{"pytest"},
			"def slug(s):\n    return s.lower()\n\n\ndef test_joins():\n    assert slug('Secret Words') == 'secret words'\n", classTests,
		},
		{
			"a test put out of force", "python", "slug.py", "pytest -q slug.py", "def slug(s):\n    raise NotImplementedError\n\n\ndef test_joins():\n    assert slug('Secret Words') == 'secret-words'\n", nil,
			[]string{"pytest"},
			"def slug(s):\n    return s.lower()\n\n\ndef test_joins():\n    assert slug('Secret Words') == 'secret words'\n\n\ntest_joins.skip = True\n", classMeddle,
		},
		{
			"doctest", "python", "slug.py", "pytest -q --doctest-modules slug.py", "def slug(s):\n    \"\"\"\n    >>> slug('Secret Words')\n    'secret-words'\n    \"\"\"\n    raise NotImplementedError\n", nil,
			[]string{"pytest"},
			"def slug(s):\n    \"\"\"\n    >>> slug('Secret Words')\n    'secret words'\n    \"\"\"\n    return s.lower()\n", classScope,
		},
		{
			"rust documentation", "rust", "src/lib.rs", "cargo test -q --offline",
			"/// ```\n/// assert_eq!(slug::slug(\"A B\"), \"a-b\");\n/// ```\npub fn slug(s: &str) -> String {\n    todo!()\n}\n",
			map[string]string{"Cargo.toml": "[package]\nname = \"slug\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", ".gitignore": "target\n"},
			[]string{"cargo"},
			"/// ```\n/// assert_eq!(slug::slug(\"A B\"), \"a b\");\n/// ```\npub fn slug(s: &str) -> String {\n    s.to_lowercase()\n}\n", classScope,
		},
		{
			"node", "javascript", "slug.js", "node --test slug.js",
			"const test = require('node:test');\nconst assert = require('node:assert');\n\nfunction slug(s) {\n  return s;\n}\n\ntest('joins', () => {\n  assert.strictEqual(slug('A B'), 'a-b');\n});\n", nil,
			[]string{"node"},
			"const test = require('node:test');\nconst assert = require('node:assert');\n\nfunction slug(s) {\n  return s.toLowerCase();\n}\n\ntest('joins', () => {\n  assert.strictEqual(slug('A B'), 'a b');\n});\n", classTests,
		},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			needs(t, k.tools...)
			files := map[string]string{k.target: k.was}
			maps.Copy(files, k.files)
			s := newSite(t, files)
			s.answers(k.tag, k.answer, k.answer, k.answer)
			res, err := s.run(Request{Targets: []string{k.target}, Test: k.test})
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict != Fail || res.Attempts[0].Class != k.class || s.read(k.target) != k.was {
				t.Errorf("%v\n%s", res.Attempts, res.Text())
			}
			if calls := s.server.Calls(); k.class == classScope && (len(calls) < 2 || !strings.Contains(calls[1].Last(), "must stay exactly as they are")) {
				t.Error("the model is not told")
			}
		})
	}
}

// Tests that cannot be put back are no part of a target.
func TestStrangeTests(t *testing.T) {
	t.Parallel()
	for rel, text := range map[string]string{
		"slug.rb": "require 'minitest/autorun'\ndef slug(s) = s\nclass TestSlug < Minitest::Test\nend\n", "slug.zig": "fn slug() void {}\n\ntest \"joins\" {\n}\n",
		"A.php": "<?php\nclass SlugCase extends \\PHPUnit\\Framework\\TestCase {}\n",
	} {
		s := shellSite(t)
		put(t, s.dir, rel, text)
		_, err := s.run(Request{Targets: []string{rel}, Test: "sh check.sh"})
		if refused := (*RefusedError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "tests of its own") {
			t.Errorf("%s: %v", rel, err)
		}
	}
	if strange("notes.txt", "@Test\n") || strange("spec.rb", "def describe(x)\nend\n") {
		t.Error("prose or code taken for tests")
	}
}
