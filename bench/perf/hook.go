package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// hookRows measures what our hooks add to a Bash call: from the request on stdio to the reply. The client's own share
// of a hook is not in it.
func hookRows(l *lab) ([]row, error) {
	s, _, err := l.start(l.bin, "mcp")
	if err != nil {
		return nil, err
	}
	defer s.end()
	if _, err := io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return nil, err
	}
	var rows []row
	for _, c := range []struct {
		what   string
		size   int
		limit  float64
		folded bool
	}{
		{"a Bash result of 1 kB, left as it is", 1 << 10, 60, false},
		{"a passing run of 25 kB, folded", 25 << 10, 60, true},
		{"a passing run of 100 kB, folded", 100 << 10, 150, true},
		{"a passing run of 1 MB, folded", 1 << 20, 300, true},
	} {
		args, err := l.bashResult(passingRun(c.size))
		if err != nil {
			return nil, err
		}
		ms, reply, err := l.timeCalls(s, "hook_shrink", args)
		if err != nil {
			return nil, err
		}
		if folded := strings.Contains(reply, "0 failed"); folded != c.folded {
			return nil, fmt.Errorf("%s: %.300s", c.what, reply)
		}
		rows = append(rows, row{what: c.what, how: fmt.Sprintf("PostToolUse over stdio, median of %d", l.runs), limit: c.limit, got: ms, unit: "ms"})
	}
	ms, _, err := l.timeCalls(s, "hook_permission", map[string]any{"command": "cd web && npm test 2>&1 | tail -20", "mode": "default", "dir": l.dir})
	if err != nil {
		return nil, err
	}
	rows = append(rows, row{what: "a command judged by the permission rules", how: fmt.Sprintf("PreToolUse over stdio, median of %d", l.runs), limit: 60, got: ms, unit: "ms"})
	cut := "Exit code 1\n" + passingRun(5000) + "\n\n... [20011 characters truncated] ...\n\n" + passingRun(5000)
	ms, _, err = l.timeCalls(s, "hook_failure", map[string]any{"command": "npm test", "error": cut})
	if err != nil {
		return nil, err
	}
	return append(rows, row{what: "a cut failure explained", how: fmt.Sprintf("PostToolUseFailure over stdio, median of %d", l.runs), limit: 60, got: ms, unit: "ms"}), nil
}

func passingRun(size int) string {
	var b strings.Builder
	b.WriteString("TAP version 13\n")
	n := 0
	for ; b.Len() < size; n++ {
		fmt.Fprintf(&b, "[worker %d] connected to queue orders-%02d in %d ms\nok %d - case %04d holds\n", n%4, n%16, n*37%90, n+1, n+1)
	}
	fmt.Fprintf(&b, "1..%d\n", n)
	return b.String()
}

// bashResult is what Claude Code gives the hook: the first 30,000 characters, and a file when there is more.
func (l *lab) bashResult(text string) (map[string]any, error) {
	args := map[string]any{
		"command": "npm test", "stdout": text[:min(len(text), 30_000)], "stderr": "", "interrupted": "false", "is_image": "false",
		"transcript": filepath.Join(l.dir, "session.jsonl"), "dir": l.dir,
	}
	if len(text) <= 30_000 {
		return args, nil
	}
	file := filepath.Join(l.dir, "saved.txt")
	args["persisted"] = file
	return args, os.WriteFile(file, []byte(text), 0o600)
}

// timeCalls calls a tool again and again and gives the median in milliseconds and the last reply.
func (l *lab) timeCalls(s *session, tool string, args map[string]any) (ms float64, reply string, err error) {
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args},
	})
	if err != nil {
		return 0, "", err
	}
	var all []time.Duration
	for range l.runs {
		begin := time.Now()
		if _, err := s.in.Write(append(line, '\n')); err != nil {
			return 0, "", err
		}
		if reply, err = s.out.ReadString('\n'); err != nil {
			return 0, "", err
		}
		all = append(all, time.Since(begin))
	}
	return median(all), reply, nil
}
