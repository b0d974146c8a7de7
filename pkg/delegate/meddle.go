package delegate

import (
	"path"
	"regexp"
	"strings"
)

// meddling is code that has no business in a file under test: it reaches for the test runner, or makes values
// equal to everything. What such code prints or notes of its tests proves nothing, so it is not run.
type meddling struct {
	family string
	re     string // matched against the code without comments; strings stay
	what   string
}

// meddlings is the table. Runtime checks (see evidence.go) catch what ends, empties or fakes a run; these
// catch what makes the judge itself say yes.
func meddlings() []meddling {
	return []meddling{
		{"javascript", `\bassert(?:\.strict)?(?:\.\w+|\[[^\]\n]+\])\s*=[^=>]`, "changes the assertions"},
		{"javascript", `require\(\s*['"](?:node:)?assert(?:/strict)?['"]\s*\)(?:\.\w+|\[[^\]\n]+\])+\s*=[^=>]`, "changes the assertions"},
		{"javascript", `Object\.(?:assign|definePropert(?:y|ies)|setPrototypeOf)\(\s*(?:assert\b|require\(\s*['"](?:node:)?assert)`, "changes the assertions"},
		{"javascript", `\bAssertionError\b\s*(?:\.prototype|=[^=])`, "changes the assertions"},
		{"javascript", `(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*['"](?:node:test(?:/\w+)?|vitest|@jest/globals|mocha|chai|@vitest/\w+|jest-\w+|expect)['"]`, "loads the test runner"},
		{"javascript", `\b(?:globalThis|global)(?:\.|\[\s*['"])(?:expect|test|it|describe|assert|beforeEach|afterEach|jest|vi)\b['"\]\s]*=[^=>]`, "replaces the test runner's functions"},
		{"javascript", `\b(?:globalThis|global)\s*\[[^\]\n]*\]\s*=[^=>]|(?:Object\.(?:assign|definePropert(?:y|ies))|Reflect\.(?:set|defineProperty))\(\s*(?:globalThis|global)\b`, "changes what all files see"},
		{"javascript", `\bexpect\.extend\(|\b(?:jest|vi)\.(?:mock|fn|spyOn)\(`, "uses the test runner"},
		{"javascript", `\bModule(?:\.prototype\.\w+|\._\w+)\s*=[^=>]|\b_load\s*=[^=>]|\bsyncBuiltinESMExports\b|\bprocess\.(?:binding|reallyExit)\b`, "changes how modules load or the process ends"},
		{"python", `\b_pytest\b|\bpluggy\b`, "reaches into the test runner"},
		{"python", `(?m)^\s*(?:import|from)\s+(?:pytest|unittest|nose|hypothesis)\b|(?:import_module|__import__)\(\s*['"](?:pytest|unittest)`, "loads the test runner"},
		{"python", `\bsys\.modules\s*(?:\[[^\]\n]*(?:test|conftest|pytest)|\.(?:values|items|copy|keys)\b)|\bgc\.get_(?:objects|referrers)\b`, "searches the running tests"},
		{"python", `\b(?:builtins|__builtins__)\s*(?:\.\w+|\[[^\]\n]+\])\s*=[^=]|setattr\(\s*(?:builtins|__builtins__)`, "replaces what Python itself has"},
		{"python", `def __(?:eq|ne|contains|instancecheck)__\([^)]*\)[^:\n]*:\s*return (?:True|False)\s*(?:$|\n|;)`, "makes values that are equal to everything"},
		{"python", `__(?:eq|ne)__['"]?\s*[=:]\s*lambda[^:\n]*:\s*(?:True|False)\b`, "makes values that are equal to everything"},
		{"python", `\bco_consts\b|\bf_(?:code|back|locals)\b|\bsys\._getframe\(|\binspect\.(?:stack|currentframe|getouterframes|getsource)\(`, "looks at the code that calls it"},
		{"go", `&\s*os\.Args\b|\bos\.Args\s*=[^=]|"-{0,2}test\.\w*"|\bflag\.Set\(\s*"test\.|\bflag\.Lookup\(\s*"test\.`, "changes what the test runs"},
		{"go", `(?m)^\s*(?:import\s+)?(?:\w+\s+|_\s+)?"testing(?:/\w+)?"`, "loads the test runner"},
		{"ruby", `\b(?:RSpec|Minitest|Test::Unit)\b`, "reaches into the test runner"},
		{"ruby", `def (?:==|eql\?|===|equal\?)\s*\(?\s*\w*\s*\)?\s*(?:=|;|\n)?\s*true\b`, "makes values that are equal to everything"},
		{"rust", `impl\b[^{;]*\bPartialEq\b[^{]*\{\s*fn eq\([^)]*\)\s*->\s*bool\s*\{\s*true\s*\}`, "makes values that are equal to everything"},
	}
}

// meddles says what a candidate does to its judge; "" for all that does nothing of the kind. What the task or
// the file as it was speaks of is the caller's wish.
func (c *call) meddles(i int, text string) string {
	l := c.langs[i]
	code := stripComments(l, text)
	wish := c.wish()
	if c.before[i].Exists {
		wish += "\n" + string(c.before[i].Data)
	}
	for _, m := range meddlings() {
		if m.family != l.family() {
			continue
		}
		re := regexp.MustCompile(m.re)
		found := re.FindString(code)
		if found == "" || re.MatchString(wish) || strings.Contains(wish, strings.TrimSpace(found)) {
			continue
		}
		return "the file " + m.what + " (" + clip(strings.TrimSpace(firstLine(found)), 80) + "); it may not"
	}
	if c.res.Gate == GateExitOnly {
		if found := c.ends(i, text); found != "" {
			return "it ends the process when it is loaded (" + clip(found, 80) + "): the exit code would say nothing of the test"
		}
	}
	for _, rel := range c.test.files {
		base := path.Base(rel)
		if !isTestName(base) && !c.namedItself(rel) {
			continue // a fixture beside the tests
		}
		if strings.Contains(code, base) && !strings.Contains(wish, base) {
			return "the file names the test (" + base + "); it may not"
		}
	}
	return ""
}
