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

// deciders are files that decide what a gate runs, by name or pattern; a target of this kind would let
// the model choose its own judge.
func deciders() []string {
	return []string{
		"package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lockb", ".npmrc", "tsconfig*.json", "jsconfig.json", ".babelrc*", "babel.config.*",
		"jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.workspace.*", "vite.config.*", ".mocharc*", "karma.conf.*", "playwright.config.*", "ava.config.*",
		".taprc", "bunfig.toml", "deno.json*", "conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "setup.py", "pyproject.toml", "noxfile.py", "sitecustomize.py", "usercustomize.py",
		"go.mod", "go.sum", "go.work", "go.work.sum", "Cargo.toml", "Cargo.lock", "build.rs", "rust-toolchain*", "Gemfile", "Gemfile.lock", "Rakefile", ".rspec", "spec_helper.rb",
		"Makefile", "makefile", "GNUmakefile", "*.mk", "CMakeLists.txt", "CTestTestfile.cmake", "meson.build", "Justfile", "justfile", "Taskfile.y*ml",
		"pom.xml", "build.gradle*", "settings.gradle*", "phpunit.xml*", "composer.json", "composer.lock", "*.csproj", "*.sln", "mix.exs", "Dockerfile", ".gitlab-ci.yml",
		".travis.yml", "Jenkinsfile", ".gitattributes", ".gitmodules", ".gitignore", ".env", ".envrc", "*.bats",
	}
}

// deciderDirs are folders whose every file decides something.
func deciderDirs() []string {
	return []string{".github", ".circleci", ".husky", ".cargo", ".git", "node_modules", ".venv", "venv", ".vscode", ".claude"}
}

// decides says why a file may not be written: it decides the gate, or the project's automation.
func decides(rel string) bool {
	dir, base := path.Split(rel)
	for _, p := range deciders() {
		if ok, _ := path.Match(p, base); ok {
			return true
		}
	}
	for part := range strings.SplitSeq(dir, "/") {
		if slices.Contains(deciderDirs(), part) {
			return true
		}
	}
	return false
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
