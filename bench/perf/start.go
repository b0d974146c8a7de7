package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"perf","version":"1"}}}` + "\n"

// session is a running `legwork mcp`.
type session struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (l *lab) start(argv ...string) (*session, time.Duration, error) {
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // stopped by the caller
	cmd.Env, cmd.Dir, cmd.Stderr = append(l.env(), "LEGWORK_BIN="+l.bin), l.dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	s := &session{cmd, in, bufio.NewReader(out)}
	if _, err := io.WriteString(in, initialize); err != nil {
		return nil, 0, err
	}
	line, err := s.out.ReadString('\n')
	took := time.Since(begin)
	if err != nil || !strings.Contains(line, "serverInfo") {
		return nil, 0, fmt.Errorf("initialize: %q, %w", line, err)
	}
	return s, took, nil
}

func (s *session) end() {
	s.in.Close()
	_ = s.cmd.Wait()
}

func startAndStop(l *lab) ([]row, error) {
	launcher := []string{"sh", filepath.Join(l.repo, "bin", "legwork")}
	direct, rss, err := l.starts([]string{l.bin, "mcp"})
	if err != nil {
		return nil, err
	}
	launched, _, err := l.starts(append(launcher, "mcp"))
	if err != nil {
		return nil, err
	}
	hook, err := l.hook(append(launcher, "hook", "session-start"))
	if err != nil {
		return nil, err
	}
	rows := []row{
		{what: "process start → initialize reply", how: fmt.Sprintf("binary, median of %d", l.runs), limit: 15, got: direct, unit: "ms"},
		{what: "process start → initialize reply", how: fmt.Sprintf("launcher, median of %d", l.runs), limit: 30, got: launched, unit: "ms"},
		{what: "idle RSS", how: "after initialize and 1 s", limit: 25, got: rss, unit: "MiB"},
		{what: "SessionStart hook", how: fmt.Sprintf("launcher, median of %d", l.runs), limit: 25, got: hook, unit: "ms"},
	}
	for _, end := range []string{"EOF", "SIGINT", "SIGTERM"} {
		worst, err := l.gone(end)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{what: "gone after " + end + " with all children", how: "worst of 5, a command with a grandchild running", limit: 200, got: worst, unit: "ms"})
	}
	return rows, nil
}

func (l *lab) starts(argv []string) (ms, rss float64, err error) {
	var all []time.Duration
	for i := range l.runs {
		s, took, err := l.start(argv...)
		if err != nil {
			return 0, 0, err
		}
		all = append(all, took)
		if i == 0 {
			time.Sleep(time.Second)
			rss = memory(s.cmd.Process.Pid, "VmRSS")
		}
		s.end()
	}
	return median(all), rss, nil
}

// memory reads a field of /proc/PID/status in MiB; 0 where there is none.
// output runs a program to its end and returns what it printed and its peak memory in MiB (0 where there is no
// /proc). The kernel's own figure for an ended child will not do: it counts from the memory of the parent at the
// start. So the peak is read while the program runs; what it takes in its last two milliseconds is not seen.
func output(cmd *exec.Cmd) (out []byte, peak float64, err error) {
	var b bytes.Buffer
	cmd.Stdout = &b
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return b.Bytes(), peak, err
		case <-tick.C:
			peak = max(peak, memory(cmd.Process.Pid, "VmHWM"))
		}
	}
}

func memory(pid int, field string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == field+":" {
			kb, _ := strconv.ParseFloat(f[1], 64)
			return kb / 1024
		}
	}
	return 0
}

func (l *lab) hook(argv []string) (float64, error) {
	var all []time.Duration
	for range l.runs {
		cmd := exec.Command(argv[0], argv[1:]...)                                                                           //nolint:noctx // ends by itself
		cmd.Env, cmd.Dir = append(l.env(), "LEGWORK_BIN="+l.bin, "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=a-session"), l.dir // so that it notes the start
		begin := time.Now()
		if out, err := cmd.Output(); err != nil || len(out) == 0 {
			return 0, fmt.Errorf("hook: %q, %w", out, err)
		}
		all = append(all, time.Since(begin))
	}
	return median(all), nil
}

// gone measures from the end of the session until the server and what it ran are no more.
func (l *lab) gone(end string) (float64, error) {
	var worst time.Duration
	for range 5 {
		s, _, err := l.start(l.bin, "mcp")
		if err != nil {
			return 0, err
		}
		pidFile := filepath.Join(l.dir, "pids")
		_ = os.Remove(pidFile)
		call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"offload","arguments":{"question":"what?","command":"sleep 300 & echo $! $$ > ` + pidFile + `; wait"}}}` + "\n"
		if _, err := io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+call); err != nil {
			return 0, err
		}
		pids, err := waitForPids(pidFile)
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		switch end {
		case "EOF":
			s.in.Close()
		case "SIGINT":
			_ = s.cmd.Process.Signal(syscall.SIGINT)
		case "SIGTERM":
			_ = s.cmd.Process.Signal(syscall.SIGTERM)
		}
		_ = s.cmd.Wait()
		for _, pid := range pids {
			for alive(pid) {
				if time.Since(begin) > 10*time.Second {
					return 0, fmt.Errorf("pid %d still lives 10 s after %s", pid, end)
				}
				time.Sleep(time.Millisecond)
			}
		}
		worst = max(worst, time.Since(begin))
		s.in.Close()
	}
	return float64(worst.Microseconds()) / 1000, nil
}

func waitForPids(file string) ([]int, error) {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(file)
		if f := strings.Fields(string(b)); err == nil && len(f) == 2 {
			a, err1 := strconv.Atoi(f[0])
			b, err2 := strconv.Atoi(f[1])
			return []int{a, b}, errors.Join(err1, err2)
		}
	}
	return nil, errors.New("the command did not start")
}

// alive is false for a zombie: it holds nothing but its entry.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}
