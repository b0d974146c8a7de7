package delegate

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// language is what we know of a kind of source file.
type language struct {
	name string
	exts []string
	tags []string // what stands behind a fence
	line string   // comment to the end of the line
	open string   // block comment
	shut string
	// mark matches lines that only this family of languages has; it tells a wrong language.
	mark string
	// tests match names of test files.
	tests []string
	// declared finds the names of tests in a test file, in group 1.
	declared string
}

// languages is the table; the last entry stands for everything else.
func languages() []language {
	js := `^\s*(?:export |import .* from |const \w+ ?=|let \w+|function \w|async function|module\.exports|class \w+ .*\{$)`
	jsTests := []string{"*.test.*", "*.spec.*", "*-test.*", "*_test.*", "test.js", "test.mjs", "test.cjs", "test.ts", "test-*.js", "test-*.mjs"}
	jsDeclared := `(?m)^\s*(?:test|it)(?:\.only)?\(\s*(?:"((?:[^"\\\n]|\\.)+)"|'((?:[^'\\\n]|\\.)+)'|` + "`((?:[^`\\\\$]|\\\\.)+)`" + `)`
	return []language{
		{"javascript", []string{".js", ".mjs", ".cjs", ".jsx"}, []string{"js", "javascript", "mjs", "cjs", "jsx", "node"}, "//", "/*", "*/", js, jsTests, jsDeclared},
		{"typescript", []string{".ts", ".tsx", ".mts", ".cts"}, []string{"ts", "typescript", "tsx"}, "//", "/*", "*/", js, jsTests, jsDeclared},
		{"python", []string{".py", ".pyi"}, []string{"py", "python", "python3"}, "#", "", "", `^\s*(?:def \w+\(.*:$|class \w+.*:$|from [\w.]+ import |import \w+$|elif .*:$|@\w+)`, []string{"test_*.py", "*_test.py", "conftest.py"}, `(?m)^\s*(?:async )?def (test\w*)\(`},
		{"go", []string{".go"}, []string{"go", "golang"}, "//", "/*", "*/", `^(?:package \w+$|func (?:\(\w+ \*?\w+\) )?\w+\(|import \($)|:= `, []string{"*_test.go"}, `(?m)^func ((?:Test|Example|Fuzz)\w*)\(`},
		{"rust", []string{".rs"}, []string{"rust", "rs"}, "//", "/*", "*/", `^\s*(?:pub )?(?:fn \w+.*(?:->|\{)|use \w+::|impl |struct \w+|enum \w+|mod \w+|let mut )`, nil, `#\[test\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn (\w+)`},
		{"ruby", []string{".rb"}, []string{"ruby", "rb"}, "#", "", "", `^\s*(?:def \w+|require '|module [A-Z]\w*$|class [A-Z]\w*(?: < .*)?$|end$)`, []string{"*_spec.rb", "*_test.rb", "test_*.rb"}, ""},
		{"java", []string{".java"}, []string{"java"}, "//", "/*", "*/", `^\s*(?:public|private|protected) .*[{;]$|^import [\w.]+;$|^package [\w.]+;$`, []string{"*Test.java", "*Tests.java", "Test*.java"}, ""},
		{"c", []string{".c", ".h", ".cc", ".cpp", ".hpp", ".cxx"}, []string{"c", "cpp", "c++", "cc", "h"}, "//", "/*", "*/", `^\s*#include [<"]|^\s*(?:int|void|char|static|struct) .*[{;]$`, []string{"test_*.c", "*_test.c", "*_test.cc", "*_test.cpp", "test_*.cpp"}, `(?m)^\s*TEST(?:_[FP])?\(\s*\w+\s*,\s*(\w+)`},
		{"php", []string{".php"}, []string{"php"}, "//", "/*", "*/", `^<\?php|^\s*(?:public )?function \w+\(|^\s*\$\w+ ?=`, []string{"*Test.php"}, `function (test\w+)\(`},
		{"shell", []string{".sh", ".bash"}, []string{"sh", "bash", "shell", "zsh"}, "#", "", "", `^#!.*sh$|^\s*(?:fi|done|esac)$|^\w+\(\) ?\{`, []string{"*.bats"}, ""},
		{"markdown", []string{".md", ".markdown"}, []string{"md", "markdown"}, "", "", "", "", nil, ""},
		{"json", []string{".json"}, []string{"json"}, "", "", "", "", nil, ""},
		{"yaml", []string{".yaml", ".yml"}, []string{"yaml", "yml"}, "#", "", "", "", nil, ""},
		{"html", []string{".html", ".htm"}, []string{"html"}, "", "<!--", "-->", "", nil, ""},
		{"css", []string{".css", ".scss"}, []string{"css", "scss"}, "", "/*", "*/", "", nil, ""},
		{"sql", []string{".sql"}, []string{"sql"}, "--", "/*", "*/", "", nil, ""},
		{"text", nil, []string{"text", "txt", "plaintext"}, "", "", "", "", nil, ""},
	}
}

// languageOf goes by the extension.
func languageOf(rel string) language {
	all := languages()
	ext := strings.ToLower(path.Ext(rel))
	for _, l := range all {
		if slices.Contains(l.exts, ext) {
			return l
		}
	}
	return all[len(all)-1]
}

// family groups languages that answer for each other.
func (l language) family() string {
	if l.name == "typescript" {
		return "javascript"
	}
	return l.name
}

// tagged finds the language of a fence's tag; false for none and for unknown ones.
func tagged(tag string) (language, bool) {
	for _, l := range languages() {
		if slices.Contains(l.tags, strings.ToLower(tag)) {
			return l, true
		}
	}
	return language{}, false
}

// isTestName tells by name and folder whether a file belongs to the tests.
func isTestName(rel string) bool {
	dir, base := path.Split(rel)
	for _, l := range languages() {
		if len(l.exts) > 0 && !slices.Contains(l.exts, strings.ToLower(path.Ext(base))) && path.Ext(base) != ".bats" {
			continue
		}
		for _, p := range l.tests {
			if ok, _ := path.Match(p, base); ok {
				return true
			}
		}
	}
	for part := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		switch part {
		case "test", "tests", "__tests__", "spec", "specs", "e2e", "testdata":
			return true
		}
	}
	return false
}

// decider is a kind of file that decides what a gate runs; a target of this kind would let the model choose
// its own judge. users are the programs that read it; none: any may.
type decider struct {
	names []string
	users []string
}

// deciders is the table.
func deciders() []decider {
	js := []string{"node", "npm", "npx", "yarn", "pnpm", "bun", "bunx", "deno", "jest", "vitest", "mocha", "ava", "tap", "tape", "playwright", "tsc", "tsx", "ts-node", "jasmine"}
	python := []string{"python", "python3", "pytest", "py.test", "tox", "nox", "uv", "poetry", "pipenv", "hatch", "coverage", "unittest"}
	return []decider{
		{[]string{
			"package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lockb", ".npmrc", "tsconfig*.json", "jsconfig.json", ".babelrc*", "babel.config.*",
			"jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.workspace.*", "vite.config.*", ".mocharc*", "karma.conf.*", "playwright.config.*", "ava.config.*",
			".taprc", "bunfig.toml", "deno.json*",
		}, js},
		{[]string{"conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "setup.py", "pyproject.toml", "noxfile.py", "sitecustomize.py", "usercustomize.py"}, python},
		{[]string{"go.mod", "go.sum", "go.work", "go.work.sum"}, []string{"go", "gotestsum"}},
		{[]string{"Cargo.toml", "Cargo.lock", "build.rs", "rust-toolchain*"}, []string{"cargo", "rustc"}},
		{[]string{"Gemfile", "Gemfile.lock", "Rakefile", ".rspec", "spec_helper.rb"}, []string{"ruby", "rspec", "bundle", "rake"}},
		{[]string{"Makefile", "makefile", "GNUmakefile", "*.mk", "CMakeLists.txt", "CTestTestfile.cmake", "meson.build"}, []string{"make", "gmake", "cmake", "ctest", "meson", "ninja"}},
		{[]string{"Justfile", "justfile", "Taskfile.y*ml"}, []string{"just", "task"}},
		{[]string{"pom.xml", "build.gradle*", "settings.gradle*"}, []string{"mvn", "gradle", "mvnw", "gradlew", "java"}},
		{[]string{"phpunit.xml*", "composer.json", "composer.lock"}, []string{"php", "phpunit", "composer"}},
		{[]string{"*.csproj", "*.sln"}, []string{"dotnet"}},
		{[]string{"mix.exs"}, []string{"mix", "elixir"}},
		{[]string{"Dockerfile", ".dockerignore"}, []string{"docker", "podman"}},
		{[]string{".gitlab-ci.yml", ".travis.yml", "Jenkinsfile"}, []string{"gitlab-runner", "act"}},
		{[]string{".gitattributes", ".gitmodules", ".gitignore", ".env", ".envrc", "*.bats"}, nil},
	}
}

// deciderDirs are folders whose every file decides something, with the programs that read them.
func deciderDirs() []decider {
	return []decider{
		{[]string{".github", ".circleci"}, []string{"act", "actionlint"}},
		{[]string{".cargo"}, []string{"cargo"}},
		{[]string{".husky", ".git", "node_modules", ".venv", "venv", ".vscode", ".claude"}, nil},
	}
}

// deciding finds the entry of the tables that a file belongs to.
func deciding(rel string) (decider, bool) {
	dir, base := path.Split(rel)
	for _, d := range deciders() {
		for _, p := range d.names {
			if ok, _ := path.Match(p, base); ok {
				return d, true
			}
		}
	}
	for part := range strings.SplitSeq(dir, "/") {
		for _, d := range deciderDirs() {
			if slices.Contains(d.names, part) {
				return d, true
			}
		}
	}
	return decider{}, false
}

// decides tells files that decide a gate, or the project's automation.
func decides(rel string) bool { _, ok := deciding(rel); return ok }

// used says that a file decides what this command runs. A command whose programs are not all known may use
// every file: scripts call what they like.
func used(rel, command string) bool {
	d, ok := deciding(rel)
	if !ok || d.users == nil {
		return ok
	}
	known := false
	for _, other := range append(deciders(), deciderDirs()...) {
		known = known || slices.Contains(other.users, program(command))
	}
	return !known || slices.Contains(d.users, program(command)) || strings.ContainsAny(command, ";&|$`(") || strings.Contains(command, path.Base(rel))
}

// program is the name of the first program of a command, assignments in front left out.
func program(command string) string {
	for w := range strings.FieldsSeq(command) {
		if !strings.Contains(w, "=") {
			return path.Base(w)
		}
	}
	return ""
}

// byproduct tells files that test runners and interpreters leave behind: no change that matters.
func byproduct(rel string) bool {
	base := path.Base(rel)
	for _, p := range []string{"*.pyc", ".coverage", ".coverage.*", "*.profraw", "*.gcda", "*.gcno", "*.tsbuildinfo", "coverage.xml", "*.egg-info", "Cargo.lock", ".eslintcache", ".phpunit.result.cache"} {
		if ok, _ := path.Match(p, base); ok {
			return true
		}
	}
	for part := range strings.SplitSeq(path.Dir(rel), "/") {
		switch part {
		case "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "coverage", ".nyc_output", "target", ".cache", ".jest", "htmlcov", "Testing":
			return true
		}
	}
	return false
}

// declaredTests lists the literal names of tests in a test file's text.
func declaredTests(l language, text string) []string {
	if l.declared == "" {
		return nil
	}
	if l.name == "python" {
		text = collected(text)
	}
	var out []string
	for _, m := range regexp.MustCompile(l.declared).FindAllStringSubmatch(text, -1) {
		for _, g := range m[1:] {
			if g != "" && !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
	}
	return out
}

// collected leaves the lines of a Python file whose functions a runner collects: those at the top level and
// in classes. A function inside another one is a helper, whatever its name.
func collected(text string) string {
	var out []string
	inClass := false
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimLeft(line, " \t")
		switch indent := len(line) - len(trimmed); {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ')' || trimmed[0] == ']' || trimmed[0] == '}':
		case indent == 0:
			inClass = strings.HasPrefix(line, "class ")
			out = append(out, line)
		case inClass && (indent == 4 || line[0] == '\t' && indent == 1):
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
