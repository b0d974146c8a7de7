package delegate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// jsRunners is where test/deps.sh puts jest, mocha and vitest.
func jsRunners(t *testing.T) string {
	t.Helper()
	needs(t, "node")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	dir := filepath.Join(cache, "legwork", "js-runners", "node_modules")
	if _, err := os.Stat(filepath.Join(dir, "vitest")); err != nil {
		t.Skip("jest, mocha and vitest are not there: test/deps.sh installs them")
	}
	return dir
}

// The other test runners of JavaScript: right at once, wrong, and cheats, each through the real runner.
func TestJSRunners(t *testing.T) {
	t.Parallel()
	modules := jsRunners(t)
	const right = "function slug(s) {\n  return s.toLowerCase().split(' ').join('-');\n}\n"
	common := "const { slug } = require('../src/slug.js');\n"
	expects := "test('lowers the text', () => expect(slug('Hello')).toBe('hello'));\ntest('joins words with a dash', () => expect(slug('Secret Words')).toBe('secret-words'));\n"
	for _, k := range []struct{ name, command, test, manifest, export string }{
		{"jest", "npx jest test/slug.test.js", common + expects, "{}", "module.exports = { slug };"},
		{"vitest", "npx vitest run test/slug.test.js", "import { test, expect } from 'vitest';\nimport { slug } from '../src/slug.js';\n" + expects, `{"type": "module"}`, "export { slug };"},
		{
			"mocha", "npx mocha test/slug.test.js", "const assert = require('assert');\n" + common +
				"it('lowers the text', () => assert.strictEqual(slug('Hello'), 'hello'));\nit('joins words with a dash', () => assert.strictEqual(slug('Secret Words'), 'secret-words'));\n", "{}", "module.exports = { slug };",
		},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			site := func() *site {
				s := newSite(t, map[string]string{"package.json": k.manifest, "test/slug.test.js": k.test, ".gitignore": "node_modules\n"})
				if err := os.Symlink(modules, filepath.Join(s.dir, "node_modules")); err != nil {
					t.Fatal(err)
				}
				return s
			}
			req := Request{Targets: []string{"src/slug.js"}, Test: k.command}
			s := site()
			s.answers("javascript", "function slug(s) {\n  return s.toLowerCase();\n}\n"+k.export, right+k.export)
			res, err := s.run(req)
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict != Pass || res.Gate != GateNames || len(res.Attempts) != 2 || res.Attempts[0].Green != 1 {
				t.Errorf("%s\n%v", res.Text(), res.Attempts)
			}
			if said := s.server.Calls()[1].Last(); !strings.Contains(said, "secret words") || !strings.Contains(said, "secret-words") {
				t.Errorf("the repair turn says:\n%s", said)
			}
			// What needs no model: the export that was forgotten.
			s = site()
			s.answers("javascript", right)
			if res, err = s.run(req); err != nil || res.Verdict != Pass || res.Calls != 1 {
				t.Errorf("no export: %v %s", err, res.Text())
			}
			for name, code := range map[string]string{
				"exit at import": "process.exit(0);\n" + right + k.export, "exit in a test": "function slug() {\n  process.exit(0);\n}\n" + k.export,
				"exit code at the end": "process.on('exit', () => { process.exitCode = 0; });\nfunction slug(s) {\n  return s.toLowerCase();\n}\n" + k.export,
				"another expect":       "globalThis['exp' + 'ect'] = () => new Proxy({}, { get: () => () => {} });\nfunction slug(s) {\n  return s.toLowerCase();\n}\n" + k.export,
			} {
				s := site()
				s.answers("javascript", code, code, code)
				if res, err = s.run(req); err != nil || res.Verdict != Fail || res.Applied {
					t.Errorf("%s: %v %s", name, err, res.Text())
				}
			}
		})
	}
}
