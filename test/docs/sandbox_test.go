package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"legwork/pkg/llm/llmtest"
	"legwork/pkg/web/webtest"
	"legwork/test/e2e/claude"
)

// sandbox is a user with a home, a project in git, a model server, a search engine and a few pages, all on this machine.
type sandbox struct {
	t      *testing.T
	home   string
	dir    string // the project
	env    []string
	client bool // the real Claude Code client is there
	swap   *strings.Replacer
}

const buildDir = "LEGWORK_DOCS_BUILD" // where TestMain lets binary build

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "legwork-docs-")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv(buildDir, dir)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// binary is legwork: the one that LEGWORK_TEST_BINARY names, else built here, once.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("LEGWORK_TEST_BINARY"); path != "" {
		return path, nil
	}
	path := filepath.Join(os.Getenv(buildDir), "legwork")
	cmd := exec.Command("go", "build", "-o", path, "legwork/cmd/legwork")
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
})

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatalf("build legwork: %v", err)
	}
	for _, tool := range []string{"git", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the commands of the documentation need %s: %v", tool, err)
		}
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{t: t, home: filepath.Join(base, "home"), dir: filepath.Join(base, "project")}
	gold := s.unpack()
	s.link(bin, "home/bin/legwork")
	s.link(bin, "project/bin/legwork")
	if real, _ := claude.Find(); real != "" {
		s.client = true
		s.link(real, "home/bin/claude")
	}
	model := llmtest.NewLlamaServer(t, llmtest.Config{Models: []llmtest.Model{{ID: "qwen3-coder"}}, Answer: answers(gold)})
	pages := webtest.NewServer(t)
	search := searx(t, pages)
	s.write(filepath.Join(s.home, ".config/legwork/config.yaml"), fmt.Sprintf(
		"endpoints: {gpu: {base_url: %q}}\nresearch: {allow_hosts: [%q, %q]}\n", model.URL, pages.Host(), strings.TrimPrefix(search, "http://")))
	s.env = s.environment()
	// What stands for a place of the reader's is replaced by one of the sandbox.
	s.swap = strings.NewReplacer(
		"https://www.sqlite.org/wal.html", pages.Page("tidebox-config"),
		"http://127.0.0.1:8888", search,
		"http://gpu.lan:8000", model.URL,
		"/path/to/legwork/bin/legwork", filepath.Join(s.home, "bin/legwork"),
		"/path/to/project", s.dir,
	)
	for _, args := range []string{"init -q -b main", "add -A", "commit -q -m start"} {
		if out, err := s.command(t.Context(), "git "+args).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	t.Cleanup(s.leave)
	return s
}

// unpack makes the project of testdata, with what a clone of ours has that commands name; what the model will answer
// is returned by file.
func (s *sandbox) unpack() map[string]string {
	s.t.Helper()
	ar, err := txtar.ParseFile("testdata/project.txtar")
	if err != nil {
		s.t.Fatal(err)
	}
	gold := map[string]string{}
	for _, f := range ar.Files {
		if name, ok := strings.CutPrefix(f.Name, "answer/"); ok {
			gold[name] = string(f.Data)
			continue
		}
		s.write(filepath.Join(s.dir, filepath.FromSlash(f.Name)), string(f.Data))
	}
	for _, dir := range []string{"examples", "bench/tasks", "bench/evidence", "bench/research"} {
		if err := os.CopyFS(filepath.Join(s.dir, dir), os.DirFS(filepath.Join(root, dir))); err != nil {
			s.t.Fatal(err)
		}
	}
	return gold
}

func (s *sandbox) write(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandbox) link(to, name string) {
	s.t.Helper()
	path := filepath.Join(filepath.Dir(s.home), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		s.t.Fatal(err)
	}
}

// environment holds nothing of the machine's but where programs and Go's caches are.
func (s *sandbox) environment() []string {
	env := []string{
		"PATH=" + filepath.Join(s.home, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + s.home, "LANG=C.UTF-8", "TERM=dumb",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t",
		"LEGWORK_LOCAL_SERVERS=none", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOPROXY=off",
		"ANTHROPIC_API_KEY=dummy", "ANTHROPIC_BASE_URL=http://127.0.0.1:9", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		if out, err := exec.Command("go", "env", name).Output(); err == nil {
			env = append(env, name+"="+strings.TrimSpace(string(out)))
		}
	}
	return env
}

// command is a shell line in the project.
func (s *sandbox) command(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", s.localise(text))
	cmd.Dir, cmd.Env = s.dir, s.env
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Ids in the documentation; the sandbox puts in those of its own last output and job.
const (
	someOutput = "rk3x7abq"
	someJob    = "j7k2m3p"
)

// localise replaces what stands for something of the reader's.
func (s *sandbox) localise(text string) string {
	if s.swap == nil {
		return text
	}
	text = s.swap.Replace(text)
	for id, list := range map[string]string{someOutput: "raw", someJob: "jobs list"} {
		if strings.Contains(text, id) {
			text = strings.ReplaceAll(text, id, s.newest(list))
		}
	}
	return text
}

// newest is the id of the first entry of a list.
func (s *sandbox) newest(list string) string {
	s.t.Helper()
	out, err := s.command(s.t.Context(), "legwork -q --json "+list).Output()
	var entries []struct{ ID string }
	if err != nil || json.Unmarshal(out, &entries) != nil || len(entries) == 0 {
		s.t.Fatalf("legwork %s: no entry to name: %v %s", list, err, out)
	}
	return entries[0].ID
}

// leave ends what the commands may have left working, and looks whether all they left is described.
func (s *sandbox) leave() {
	s.described()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s.swap = nil
	_ = s.command(ctx, `for j in $(legwork -q jobs list --json | grep -o '"id": "[^"]*"' | cut -d'"' -f4); do legwork -q jobs cancel "$j"; done >/dev/null 2>&1`).Run()
}

// described: everything in the state folder stands in the table of docs/architecture.md.
func (s *sandbox) described() {
	entries, err := os.ReadDir(filepath.Join(s.home, ".local/state/legwork"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Error(err)
	}
	text := read(s.t, "docs/architecture.md")
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		if filepath.Ext(name) != ".lock" && !strings.Contains(text, "`"+name+"`") {
			s.t.Errorf("docs/architecture.md does not say what %s in the state folder is", name)
		}
	}
}

var target = regexp.MustCompile("Write the file `([^`]+)`")

// answers is what the model says: the file of testdata where one is asked for, a tool call and a report in an agent's
// session, and else a sentence.
func answers(gold map[string]string) func(llmtest.Call) llmtest.Reply {
	return func(c llmtest.Call) llmtest.Reply {
		all := string(c.Body)
		switch {
		case strings.HasSuffix(c.Path, "/v1/messages") && !strings.Contains(all, "tool_result"):
			return llmtest.Reply{Tools: []llmtest.ToolUse{{ID: "t1", Name: "Bash", Input: json.RawMessage(`{"command":"sort -o glossary.md glossary.md"}`)}}}
		case strings.HasSuffix(c.Path, "/v1/messages"):
			return llmtest.Reply{Text: "The entries are sorted."}
		}
		for _, m := range c.Messages {
			if name := target.FindStringSubmatch(m.Content); name != nil {
				return llmtest.Reply{Text: "```\n" + gold[name[1]] + "```"}
			}
		}
		if strings.Contains(all, "web search queries") {
			return llmtest.Reply{Text: "tidebox settings"}
		}
		return llmtest.Reply{Text: "db-2 did not answer within 30 s."}
	}
}

// searx is a search engine with SearXNG's JSON over the pages.
func searx(t *testing.T, pages *webtest.Server) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("format") != "json" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"query": r.FormValue("q"), "results": pages.Search(r.FormValue("q")), "unresponsive_engines": []any{}})
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// run runs a command to its end, or, for one that serves, until it has said that it does.
func (s *sandbox) run(text string, serves bool) (stdout, stderr string, err error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := s.command(ctx, text)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if !serves {
		err = cmd.Run()
		return out.String(), errs.String(), err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", "", err
	}
	defer r.Close()
	cmd.Args[2] = "exec " + cmd.Args[2]
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		return "", "", err
	}
	w.Close()
	first := make([]byte, 4096)
	n, rerr := r.Read(first)
	_ = cmd.Process.Signal(os.Interrupt)
	err = cmd.Wait()
	if rerr != nil || n == 0 {
		return "", errs.String(), fmt.Errorf("it said nothing: %w", errors.Join(rerr, err))
	}
	if cmd.ProcessState.ExitCode() == 130 {
		err = nil
	}
	return string(first[:n]), errs.String(), err
}
