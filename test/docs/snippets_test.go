package docs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"gopkg.in/yaml.v3"

	"legwork/pkg/config"
)

// foreign begins the first line of YAML that is not ours.
var foreign = []string{"# settings.yml of SearXNG", "# config.yaml of LiteLLM"}

// Settings in the documentation are settings: as the user's file, or as a project's, they load without a warning.
func TestSettingsLoad(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.lang != "yaml" {
				continue
			}
			seen++
			var any map[string]any
			if err := yaml.Unmarshal([]byte(b.text), &any); err != nil {
				t.Errorf("%s:%d: %v", d.name, b.line, err)
			}
			if slices.ContainsFunc(foreign, func(f string) bool { return strings.HasPrefix(b.text, f) }) {
				continue
			}
			name := "config/config.yaml"
			if strings.HasPrefix(b.text, "# .legwork.yaml") {
				name = "project/.legwork.yaml"
			}
			for _, w := range load(t, name, b.text) {
				t.Errorf("%s:%d: %s", d.name, b.line, w)
			}
		}
	}
	if seen == 0 {
		t.Error("no settings found")
	}
}

func load(t *testing.T, name, text string) []config.Warning {
	t.Helper()
	home := t.TempDir()
	path := filepath.Join(home, name)
	for _, dir := range []string{filepath.Dir(path), filepath.Join(home, "project")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{
		Dir: filepath.Join(home, "project"), Env: []string{"HOME=" + home, "LEGWORK_CONFIG_HOME=" + filepath.Join(home, "config")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Defaults.Model == "" && len(cfg.View()) == 0 {
		t.Fatal("nothing was read")
	}
	return cfg.Warnings
}

// The entries for MCP clients start a server that introduces itself and lists the tools.
func TestClientEntries(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.lang != "json" {
				continue
			}
			if !gjson.Valid(b.text) {
				t.Errorf("%s:%d: this is not JSON", d.name, b.line)
			}
			for _, key := range []string{"mcpServers", "servers"} {
				entry := gjson.Get(b.text, key+".legwork")
				if !entry.Exists() {
					continue
				}
				seen++
				tools := newSandbox(t).tools(entry)
				if !slices.Contains(tools, "offload") {
					t.Errorf("%s:%d: its tools are %v", d.name, b.line, tools)
				}
			}
		}
	}
	if seen < 3 {
		t.Errorf("%d entries are too few", seen)
	}
}

// tools starts the server of an entry as a client does, and asks for its tools.
func (s *sandbox) tools(entry gjson.Result) []string {
	s.t.Helper()
	var e struct {
		Command string
		Args    []string
		Env     map[string]string
	}
	if err := json.Unmarshal([]byte(s.localise(strings.ReplaceAll(entry.Raw, "${workspaceFolder}", "/path/to/project"))), &e); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.Command, e.Args...)
	cmd.Dir, cmd.Env = s.home, slices.Clone(s.env)
	for k, v := range e.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	replies := bufio.NewReader(out)
	ask := func(id int, method, params string) gjson.Result {
		s.t.Helper()
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		for {
			l, err := replies.ReadString('\n')
			if err != nil && err != io.EOF {
				s.t.Fatal(err)
			}
			if r := gjson.Parse(l); r.Get("id").Int() == int64(id) || err == io.EOF {
				return r
			}
		}
	}
	ask(1, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var names []string
	for _, tool := range ask(2, "tools/list", "{}").Get("result.tools").Array() {
		names = append(names, tool.Get("name").Str)
	}
	return names
}
