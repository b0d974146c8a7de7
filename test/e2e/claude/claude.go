// Package claude runs the pinned Claude Code client for tests: in a home of its own, with an environment that holds
// nothing of the machine's, against a scripted backend, and with no way to the network.
//
// Pitfall: the client answers a closed stdin at once but waits three seconds for an open, silent one.
package claude

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// Client is an installation of Claude Code with a scratch home.
type Client struct {
	Bin  string
	Home string // also where its XDG and temporary folders are
	Dir  string // working folder of its runs
	Env  []string

	t testing.TB
}

// New finds the client (Find) and makes its home; the test is skipped when there is no client.
func New(t testing.TB) *Client {
	t.Helper()
	bin, why := Find()
	if bin == "" {
		t.Skip(why)
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{Bin: bin, Home: filepath.Join(home, "home"), Dir: filepath.Join(home, "project"), t: t}
	for _, dir := range []string{c.Home, c.Dir, c.path("tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c.Env = []string{
		"HOME=" + c.Home, "PATH=" + c.searchPath(), "TMPDIR=" + c.path("tmp"), "TERM=dumb", "LANG=C.UTF-8",
		"XDG_CONFIG_HOME=" + c.path(".config"), "XDG_STATE_HOME=" + c.path(".state"), "XDG_CACHE_HOME=" + c.path(".cache"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"ANTHROPIC_API_KEY=dummy", "ANTHROPIC_BASE_URL=http://127.0.0.1:9", // until Print names a backend
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_MCP_STARTUP_WAIT_MS=25000", // a busy machine must not change what the first request holds
		// Whatever still wants out meets a closed port.
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost",
	}
	return c
}

// toolchains are what a user's machine need not have.
var toolchains = []string{"go", "gofmt", "node", "nodejs", "npm", "npx", "corepack", "bun", "deno"}

// searchPath is this machine's PATH without toolchains: a folder that holds one is stood in for by links to the rest.
// A client that is a script keeps its interpreter.
func (c *Client) searchPath() string {
	all := os.Getenv("PATH")
	if runtime.GOOS == "windows" || isScript(c.Bin) {
		return all
	}
	var out []string
	for i, dir := range filepath.SplitList(all) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		has := func(e os.DirEntry) bool { return slices.Contains(toolchains, e.Name()) }
		if !slices.ContainsFunc(entries, has) {
			out = append(out, dir)
			continue
		}
		links := c.path("path", strconv.Itoa(i))
		if err := os.MkdirAll(links, 0o700); err != nil {
			c.t.Fatal(err)
		}
		for _, e := range slices.DeleteFunc(entries, has) {
			if err := os.Symlink(filepath.Join(dir, e.Name()), filepath.Join(links, e.Name())); err != nil {
				c.t.Fatal(err)
			}
		}
		out = append(out, links)
	}
	return strings.Join(out, string(os.PathListSeparator))
}

func isScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == "#!"
}

func (c *Client) path(elem ...string) string {
	return filepath.Join(append([]string{c.Home}, elem...)...)
}

// Find looks for the client: $LEGWORK_TEST_CLAUDE, then where `make test` installs it. It returns why there is none.
func Find() (bin, why string) {
	if bin := os.Getenv("LEGWORK_TEST_CLAUDE"); bin != "" {
		return bin, ""
	}
	_, file, _, _ := runtime.Caller(0)
	var roots []string
	if cache := os.Getenv("XDG_CACHE_HOME"); cache != "" {
		roots = append(roots, filepath.Join(cache, "legwork/e2e/node_modules"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		roots = append(roots, filepath.Join(home, ".cache/legwork/e2e/node_modules"))
	}
	roots = append(roots, filepath.Join(filepath.Dir(file), "../node_modules"))
	arch := strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
	name := strings.Replace(runtime.GOOS, "windows", "win32", 1) + "-" + arch
	for _, root := range roots {
		for _, dir := range []string{name, name + "-musl"} {
			for _, exe := range []string{"claude", "claude.exe"} {
				bin := filepath.Join(root, "@anthropic-ai", "claude-code-"+dir, exe)
				if exec.Command(bin, "--version").Run() == nil { //nolint:noctx,gosec // the file just named; musl and glibc builds exist side by side
					return bin, ""
				}
			}
		}
	}
	return "", "the Claude Code client is not installed; `make test` installs it with npm, or set LEGWORK_TEST_CLAUDE"
}

// Setenv sets a variable for all later runs.
func (c *Client) Setenv(name, value string) {
	c.Env = append(c.Env, name+"="+value)
}

// Result is one run of the client.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Run runs the client with stdin closed. It is given two minutes.
func (c *Client) Run(args ...string) Result {
	c.t.Helper()
	return c.RunContext(c.t.Context(), args...)
}

// RunContext is Run; when ctx ends the client gets SIGINT and ten seconds.
func (c *Client) RunContext(outer context.Context, args ...string) Result {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(outer, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Bin, args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil && outer.Err() == nil {
		c.t.Fatalf("claude %q did not end: %v\nstdout: %s\nstderr: %s", args, err, out.String(), errs.String())
	}
	if cmd.ProcessState == nil {
		c.t.Fatalf("claude %q: %v", args, err)
	}
	return Result{Stdout: out.String(), Stderr: errs.String(), Code: cmd.ProcessState.ExitCode()}
}

// Must is Run that fails the test on a non-zero status. It returns stdout.
func (c *Client) Must(args ...string) string {
	c.t.Helper()
	r := c.Run(args...)
	if r.Code != 0 {
		c.t.Fatalf("claude %q: status %d\nstdout: %s\nstderr: %s", args, r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// Model is the name that Print gives the model: none the client knows.
const Model = "scripted-model"

// Print runs `claude -p` with prompt against the backend at url and returns its events. args are more flags.
func (c *Client) Print(url, prompt string, args ...string) Events {
	c.t.Helper()
	return c.PrintContext(c.t.Context(), url, prompt, args...)
}

// PrintContext is Print; when ctx ends the client gets SIGINT.
func (c *Client) PrintContext(ctx context.Context, url, prompt string, args ...string) Events {
	c.t.Helper()
	c.Setenv("ANTHROPIC_BASE_URL", url)
	argv := append([]string{"-p", "--output-format", "stream-json", "--verbose", "--model", Model, "--max-turns", "10"}, args...)
	r := c.RunContext(ctx, append(argv, "--", prompt)...)
	ev := Events{Run: r}
	for line := range strings.Lines(r.Stdout) {
		if gjson.Valid(line) {
			ev.All = append(ev.All, gjson.Parse(line))
		}
	}
	return ev
}

// Events is what stream-json told.
type Events struct {
	Run Result
	All []gjson.Result
}

// Of are the events of a type and, unless it is "", a subtype.
func (e Events) Of(kind, subtype string) []gjson.Result {
	var out []gjson.Result
	for _, ev := range e.All {
		if ev.Get("type").Str == kind && (subtype == "" || ev.Get("subtype").Str == subtype) {
			out = append(out, ev)
		}
	}
	return out
}

// Init is the first event: tools, servers, plugins, commands.
func (e Events) Init() gjson.Result {
	if all := e.Of("system", "init"); len(all) > 0 {
		return all[0]
	}
	return gjson.Result{}
}

// OK tells whether the run ended as it should.
func (e Events) OK() bool {
	all := e.Of("result", "")
	return e.Run.Code == 0 && len(all) == 1 && !all[0].Get("is_error").Bool()
}
