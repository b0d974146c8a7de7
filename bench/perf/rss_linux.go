package main

import (
	"os/exec"
	"syscall"
)

// peakRSS of an ended process, in MiB.
func peakRSS(cmd *exec.Cmd) float64 {
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return float64(u.Maxrss) / 1024
	}
	return 0
}
