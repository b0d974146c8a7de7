package claude

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Left lists the processes that still run with this client's home in their environment: itself, its servers, their
// children. It waits a while for them to end.
func (c *Client) Left() []string {
	var left []string
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left = left[:0]
		all, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range all {
			env, err := os.ReadFile(file)
			if err != nil || !bytes.Contains(env, []byte(c.Home)) {
				continue
			}
			cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			left = append(left, strings.ReplaceAll(string(cmd), "\x00", " "))
		}
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}
