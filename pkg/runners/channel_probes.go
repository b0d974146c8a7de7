package runners

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// probe is one kind of side channel.
type probe struct {
	name string
	// fits says that the program reports through this channel and that nothing in
	// its arguments stands against it.
	fits func(program) bool
	// attach writes what the probe needs and sets variables; it may decide that
	// the environment stands against it and do nothing.
	attach func(c *Channel, progs []program) error
	// sure says that a program that fits reports for certain; nil: always.
	sure func(program) bool
	// harmless: it may be set for a command that hides what it starts, because nothing
	// changes where the runner is not there or the variables do not get to it.
	harmless bool
}

// probes is the table of side channels.
func probes() []probe {
	return []probe{
		{name: "node guard", fits: isNode, attach: attachGuard, harmless: true},
		{name: "node:test", fits: isNodeTest, attach: attachNodeTest, sure: func(p program) bool { return p.has("--test") || p.speaksOf("node:test") }},
		{name: "mocha", fits: func(p program) bool { return p.name == "mocha" && !p.assigns("MOCHA_OPTIONS") }, attach: attachMocha, harmless: true},
		{name: "playwright", fits: func(p program) bool {
			return p.name == "playwright" && len(p.args) > 0 && p.args[0] == "test" && !p.assigns("PW_TEST_REPORTER")
		}, attach: attachPlaywright},
		{name: "pytest", fits: isPytest, attach: attachPytest, harmless: true},
		{name: "unittest", fits: isUnittest, attach: attachUnittest, sure: func(p program) bool { return p.name == "unittest" || p.speaksOf("unittest") }, harmless: true},
		{name: "go test", fits: isGoTest, attach: attachGo, harmless: true},
		{name: "cargo test", fits: isCargoTest, attach: attachCargo, harmless: true},
		{name: "rspec", fits: func(p program) bool { return p.name == "rspec" && !p.assigns("SPEC_OPTS") }, attach: attachRspec, harmless: true},
		{name: "googletest", fits: func(p program) bool {
			return strings.Contains(p.path, "/") && !p.assigns("GTEST_OUTPUT") && !p.has("--gtest_output")
		}, attach: attachGtest, sure: func(program) bool { return false }, harmless: true}, // any program may be one
		{name: "ctest", fits: func(p program) bool { return p.name == "ctest" }, attach: attachCtest},
		{name: "prove", fits: func(p program) bool { return p.name == "prove" && !p.assigns("PERL_TEST_HARNESS_DUMP_TAP") }, attach: attachProve, harmless: true},
	}
}

// plainPrograms start no test runner, or one that our variables do not get to.
var plainPrograms = strings.Fields("cd pushd popd echo printf test [ true false : export set unset exit wait trap ulimit umask source read local mkdir rmdir rm cp mv ln ls cat grep egrep fgrep " +
	"sed awk sort uniq diff cmp touch head tail wc tr cut tee sleep chmod find basename dirname date mktemp pwd which git tar unzip curl docker podman ssh " +
	"gcc cc clang g++ c++ clang++ rustc tsc eslint prettier ruff mypy")

// hides says that a program may start test runners that the command does not name.
func hides(p program) bool {
	switch {
	case p.name == "node":
		return !p.has("--test")
	case slices.Contains(nodePrograms, p.name), slices.Contains(plainPrograms, p.name):
		return false
	case p.name == "go" || p.name == "cargo":
		return len(p.args) > 0 && p.args[0] == "run"
	}
	return !slices.Contains([]string{"pytest", "py.test", "unittest", "gotestsum", "rspec", "ctest", "prove"}, p.name)
}

// speaksOf says that a word stands in the file that an interpreter is given.
func (p program) speaksOf(word string) bool {
	for _, a := range p.args {
		if strings.HasPrefix(a, "-") {
			continue
		}
		file := a
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.dir, a)
		}
		b, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(b), word)
	}
	return false
}

// nodePrograms run JavaScript in node, so that a hook can be loaded.
var nodePrograms = []string{"node", "jest", "vitest", "mocha", "tape", "tap", "ava", "jasmine", "playwright", "uvu", "ts-node", "tsx", "react-scripts"}

func isNode(p program) bool {
	return slices.Contains(nodePrograms, p.name) && !p.assigns("NODE_OPTIONS")
}

// attachGuard loads a hook that notes who calls process.exit. The same hook adds
// report arguments for jest and vitest, which have no variable for them.
func attachGuard(c *Channel, progs []program) error {
	marks := map[string]string{"REPORT": c.report("node.jsonl"), "JEST": "", "VITEST": ""}
	for _, p := range progs {
		switch {
		case p.name == "jest" && jestFits(p):
			marks["JEST"] = c.report("jest.json")
			c.parts = append(c.parts, part{name: "jest", file: c.report("jest.json"), read: readJest})
		case p.name == "vitest" && vitestFits(p, p.dir):
			marks["VITEST"] = c.report("vitest.json")
			c.parts = append(c.parts, part{name: "vitest", file: c.report("vitest.json"), read: readJest})
		}
	}
	if !c.sure {
		marks["JEST"] = c.report("jest.json")
		c.parts = append(c.parts, part{name: "jest", file: marks["JEST"], read: readJest})
	}
	path, err := c.write("node_guard.cjs", marks)
	if err != nil {
		return err
	}
	c.add("NODE_OPTIONS", "--require="+path)
	c.parts = append(c.parts, part{name: "node guard", guard: true, file: marks["REPORT"], read: readEvents})
	return nil
}

func jestFits(p program) bool {
	return !p.has("--json") && !p.has("--outputFile") && !p.has("--watch") && !p.has("--watchAll") && !p.has("--listTests") && !p.has("--showConfig") && !p.has("--init")
}

// vitestFits also looks at the configuration: reporters named there would be
// replaced by those of a command line.
func vitestFits(p program, dir string) bool {
	for _, a := range p.args {
		if strings.HasPrefix(a, "--outputFile") || a == "bench" || a == "list" || a == "--watch" || a == "-w" || a == "watch" || a == "dev" {
			return false
		}
	}
	if p.has("--reporter") {
		return true
	}
	for _, pattern := range []string{"vitest.config.*", "vite.config.*", "vitest.workspace.*"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is well formed
		for _, f := range files {
			if b, err := os.ReadFile(f); err != nil || strings.Contains(string(b), "reporters") {
				return false
			}
		}
	}
	return true
}

func isNodeTest(p program) bool {
	if p.name != "node" || p.assigns("NODE_OPTIONS") || p.has("--watch") || p.has("-e") || p.has("-p") || p.has("--eval") || p.has("--print") {
		return false
	}
	for _, a := range p.args {
		if strings.HasPrefix(a, "--test-reporter") {
			return false // a second reporter needs destinations for all of them
		}
	}
	return len(p.args) > 0
}

// attachNodeTest names two reporters: ours, and the one node would have used,
// since naming one takes the default away.
func attachNodeTest(c *Channel, progs []program) error {
	runs := 0
	for _, p := range progs {
		if p.name == "node" {
			runs++
		}
	}
	if runs != 1 || strings.Contains(c.lookup("NODE_OPTIONS"), "--test-reporter") {
		return nil // destinations are truncated: a second run would wipe out the first
	}
	major := nodeMajor(c)
	if major < 20 {
		return nil
	}
	usual := "spec"
	if major < 23 {
		usual = "tap"
	}
	path, err := c.write("node_report.mjs", nil)
	if err != nil {
		return err
	}
	report := c.report("node-test.jsonl")
	c.add("NODE_OPTIONS", "--test-reporter="+usual+" --test-reporter-destination=stdout --test-reporter="+path+" --test-reporter-destination="+report)
	c.parts = append(c.parts, part{name: "node:test", file: report, read: readEvents})
	return nil
}

// nodeMajor asks the node that the run will find for its version; 0 if unknown.
func nodeMajor(c *Channel) int {
	bin := lookPath("node", c.lookup("PATH"), c.setup.Dir)
	if bin == "" {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "--version")
	cmd.Env = []string{"PATH=" + c.lookup("PATH"), "HOME=" + c.lookup("HOME")}
	out, err := cmd.Output()
	if err != nil {
		return 0
	}
	return atoi(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"))
}

func lookPath(name, path, dir string) string {
	for d := range strings.SplitSeq(path, string(os.PathListSeparator)) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		f := filepath.Join(d, name)
		if st, err := os.Stat(f); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
			return f
		}
	}
	return ""
}

func attachMocha(c *Channel, _ []program) error {
	report := c.report("mocha.jsonl")
	path, err := c.write("mocha_hooks.cjs", map[string]string{"REPORT": report})
	if err != nil {
		return err
	}
	c.add("MOCHA_OPTIONS", "--require "+path)
	c.parts = append(c.parts, part{name: "mocha", file: report, read: readEvents})
	return nil
}

func attachPlaywright(c *Channel, _ []program) error {
	if c.lookup("PW_TEST_REPORTER") != "" {
		return nil
	}
	report := c.report("playwright.jsonl")
	path, err := c.write("playwright_report.cjs", map[string]string{"REPORT": report})
	if err != nil {
		return err
	}
	c.env["PW_TEST_REPORTER"] = path
	c.parts = append(c.parts, part{name: "playwright", file: report, read: readEvents})
	return nil
}

func isPytest(p program) bool {
	return (p.name == "pytest" || p.name == "py.test") && !p.assigns("PYTEST_ADDOPTS") && !p.assigns("PYTHONPATH")
}

func attachPytest(c *Channel, _ []program) error {
	report := c.report("pytest.jsonl")
	if _, err := c.write("legwork_pytest_probe.py", map[string]string{"REPORT": report}); err != nil {
		return err
	}
	c.prepend("PYTHONPATH", c.dir)
	if c.sure {
		c.add("PYTEST_ADDOPTS", "-p legwork_pytest_probe")
	} // else sitecustomize adds it, which is there only when the plug-in is
	c.parts = append(c.parts, part{name: "pytest", file: report, read: readEvents})
	return nil
}

func isUnittest(p program) bool {
	if p.assigns("PYTHONPATH") {
		return false
	}
	return p.name == "unittest" || p.name == "python" && len(p.args) > 0 && strings.Contains(filepath.Base(p.args[0]), "test")
}

func attachUnittest(c *Channel, _ []program) error {
	report := c.report("unittest.jsonl")
	hook := ""
	if slices.ContainsFunc(c.parts, func(p part) bool { return p.name == "pytest" && !p.sure }) {
		hook = "-p legwork_pytest_probe"
	}
	if _, err := c.write("sitecustomize.py", map[string]string{"REPORT": report, "PYTEST": hook}); err != nil {
		return err
	}
	if !strings.HasPrefix(c.env["PYTHONPATH"], c.dir) {
		c.prepend("PYTHONPATH", c.dir)
	}
	c.parts = append(c.parts, part{name: "unittest", file: report, read: readEvents})
	return nil
}

func isGoTest(p program) bool {
	for _, a := range p.args {
		switch strings.TrimPrefix(a, "-") {
		case "-exec", "exec", "c", "-c", "-list", "list", "n", "-n":
			return false
		}
		if strings.HasPrefix(a, "-exec=") || strings.HasPrefix(a, "-list=") || strings.HasPrefix(a, "-fuzz") {
			return false
		}
	}
	return (p.name == "go" && len(p.args) > 0 && p.args[0] == "test" || p.name == "gotestsum") && !p.assigns("GOFLAGS") && !p.assigns("GOOS") && !p.assigns("GOARCH")
}

// attachGo takes the result cache away, so it is for gates only.
func attachGo(c *Channel, _ []program) error {
	flags := c.lookup("GOFLAGS")
	if !c.setup.Gate || strings.Contains(flags, "-exec") || c.lookup("GOOS") != "" || c.lookup("GOARCH") != "" {
		return nil
	}
	if flags == "" {
		flags = goEnvFile(c)
		if strings.Contains(flags, "-exec") || strings.ContainsAny(flags, "'\"") {
			return nil
		}
		if flags != "" {
			c.env["GOFLAGS"] = flags
		}
	}
	report := c.report("go.tsv")
	path, err := c.write("go_exec.sh", map[string]string{"REPORT": report})
	if err != nil {
		return err
	}
	c.add("GOFLAGS", "-exec="+path)
	c.parts = append(c.parts, part{name: "go test", file: report, read: readWrapper})
	return nil
}

// goEnvFile is the GOFLAGS of "go env -w", which the variable would hide.
func goEnvFile(c *Channel) string {
	path := c.lookup("GOENV")
	if path == "off" {
		return ""
	}
	if path == "" {
		config := c.lookup("XDG_CONFIG_HOME")
		if config == "" {
			config = filepath.Join(c.lookup("HOME"), ".config")
		}
		if runtime.GOOS == "darwin" {
			config = filepath.Join(c.lookup("HOME"), "Library", "Application Support")
		}
		path = filepath.Join(config, "go", "env")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for l := range strings.SplitSeq(string(b), "\n") {
		if v, ok := strings.CutPrefix(l, "GOFLAGS="); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func isCargoTest(p program) bool {
	args := p.args
	if len(args) > 0 && strings.HasPrefix(args[0], "+") {
		args = args[1:]
	}
	return p.name == "cargo" && len(args) > 0 && (args[0] == "test" || args[0] == "t") && !p.has("--target") && !p.has("--no-run")
}

// rustTriples are the hosts whose name is certain enough to set a runner for.
var rustTriples = map[string][]string{
	"linux/amd64":  {"X86_64_UNKNOWN_LINUX_GNU", "X86_64_UNKNOWN_LINUX_MUSL"},
	"linux/arm64":  {"AARCH64_UNKNOWN_LINUX_GNU", "AARCH64_UNKNOWN_LINUX_MUSL"},
	"darwin/amd64": {"X86_64_APPLE_DARWIN"}, "darwin/arm64": {"AARCH64_APPLE_DARWIN"},
}

func attachCargo(c *Channel, _ []program) error {
	triples := rustTriples[runtime.GOOS+"/"+runtime.GOARCH]
	for _, t := range triples {
		if c.lookup("CARGO_TARGET_"+t+"_RUNNER") != "" {
			return nil
		}
	}
	// The harness warns about its --logfile option: not for runs whose text a user reads.
	if !c.setup.Gate || len(triples) == 0 || c.lookup("CARGO_BUILD_TARGET") != "" || cargoRunner(c) {
		return nil
	}
	report := c.report("cargo.tsv")
	path, err := c.write("cargo_run.sh", map[string]string{"REPORT": report})
	if err != nil {
		return err
	}
	for _, t := range triples {
		c.env["CARGO_TARGET_"+t+"_RUNNER"] = path
	}
	c.parts = append(c.parts, part{name: "cargo test", file: report, read: readWrapper})
	return nil
}

// cargoRunner says that the project or the user has a runner or a target of
// their own configured.
func cargoRunner(c *Channel) bool {
	home := c.lookup("CARGO_HOME")
	if home == "" {
		home = filepath.Join(c.lookup("HOME"), ".cargo")
	}
	files := []string{filepath.Join(home, "config.toml"), filepath.Join(home, "config")}
	for d := c.setup.Dir; ; d = filepath.Dir(d) {
		files = append(files, filepath.Join(d, ".cargo", "config.toml"), filepath.Join(d, ".cargo", "config"))
		if d == filepath.Dir(d) {
			break
		}
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && (strings.Contains(string(b), "runner") || strings.Contains(string(b), "target =")) {
			return true
		}
	}
	return false
}

func attachRspec(c *Channel, _ []program) error {
	report := c.report("rspec.jsonl")
	path, err := c.write("rspec_probe.rb", map[string]string{"REPORT": report})
	if err != nil {
		return err
	}
	c.add("SPEC_OPTS", "--require "+path)
	c.parts = append(c.parts, part{name: "rspec", file: report, read: readEvents})
	return nil
}

func attachGtest(c *Channel, _ []program) error {
	if c.lookup("GTEST_OUTPUT") != "" {
		return nil
	}
	dir := c.report("gtest")
	c.env["GTEST_OUTPUT"] = "json:" + dir + "/"
	c.parts = append(c.parts, part{name: "googletest", file: dir, read: readGtest})
	return nil
}

func attachProve(c *Channel, _ []program) error {
	if c.lookup("PERL_TEST_HARNESS_DUMP_TAP") != "" {
		return nil
	}
	dir := c.report("prove")
	c.env["PERL_TEST_HARNESS_DUMP_TAP"] = dir
	c.parts = append(c.parts, part{name: "prove", file: dir, read: readProve})
	return nil
}

// attachCtest needs nothing: ctest always writes its log; what is older than the
// run is not looked at.
func attachCtest(c *Channel, progs []program) error {
	dir := c.setup.Dir
	for _, p := range progs {
		if p.name != "ctest" {
			continue
		}
		dir = p.dir
		for i, a := range p.args {
			if a == "--test-dir" && i+1 < len(p.args) {
				dir = filepath.Join(dir, p.args[i+1])
			} else if v, ok := strings.CutPrefix(a, "--test-dir="); ok {
				dir = filepath.Join(dir, v)
			}
		}
	}
	c.begun = time.Now()
	c.parts = append(c.parts, part{name: "ctest", file: filepath.Join(dir, "Testing", "Temporary", "LastTest.log"), read: readCtest})
	return nil
}
