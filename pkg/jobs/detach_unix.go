//go:build unix

package jobs

import "syscall"

// detachments are the ways to start a process that outlives this one, the best first.
func detachments() []*syscall.SysProcAttr { return []*syscall.SysProcAttr{{Setsid: true}} }
